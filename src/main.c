#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "base/spawn.h"
#include "base/sys.h"
#include "base/utf8.h"
#include "scrub/scrub.h"
#include "store/store.h"

static int
run(struct cli *cli, int argc, char **argv, struct err *e)
{
	const struct command *c = cli_parse(cli, argc, argv, e);

	if (c == NULL)
		return -1;
	if (cli->version)
		return cmd_version(cli, e);
	if (cli->help) {
		cli_print_help(stdout, *c->name != '\0' || cli->n_args > 0 ? c : NULL);
		return GT_OK;
	}
	return c->run != NULL ? c->run(cli, e) : cmd_verb_run(cli, c, e);
}

/* Arguments, paths and other foreign words may stand in a sentence of ours. */
static void
print_words(const char *before, const char *text)
{
	struct buf b = BUF_INIT;

	utf8_escape(&b, text, strlen(text), 0);
	output_fitted(stderr, before, b.data, 2);
	buf_release(&b);
}

static void
print_error(const struct cli *cli, const struct err *e)
{
	if (cli->json) {
		json_t *v = json_object();

		json_object_set_new(v, "error", output_error_json(e));
		output_event_or_object(cli, "error", v);
		return;
	}
	print_words("gt-recover: ", e->msg);
	if (e->hint[0] != '\0')
		print_words("  ", e->hint);
}

/*
 * What we hold in memory is not scrubbed yet: no core file, no peeking by other processes of this
 * user. None of it is for our children.
 */
static void
close_the_house(const char *argv0)
{
	struct rlimit core = { 0, 0 };

	getrlimit(RLIMIT_CORE, &core);
	spawn_hands_on(umask(077), &core);
	core.rlim_cur = 0;
	/* whoever started us may ignore it, and then no child's exit status reaches us */
	signal(SIGCHLD, SIG_DFL);
	/* a file that may not grow is an error of write, which is told */
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_CORE, &core);
	/* the library would leave out of an object what it has no memory for */
	json_set_alloc_funcs(xmalloc, free);
	sys_protect(argv0);
	if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
		setlocale(LC_CTYPE, "");
}

int
main(int argc, char **argv)
{
	struct cli cli = { .help = false };
	struct err e = ERR_INIT;
	bool hook = argc > 1 && strcmp(argv[1], "hook") == 0;
	int status;

	close_the_house(argv[0]);
	status = cli_start(argc, argv);
	if (status >= 0)
		return status;
	store_take_password();
	status = run(&cli, argc, argv, &e);
	/* an error of ours is nothing that an agent should stop at, or see */
	if (hook) {
		free(cli.sockets);
		return GT_OK;
	}
	if (status < 0) {
		scrub_error(&e, NULL);
		print_error(&cli, &e);
		status = e.code != 0 ? e.code : GT_FAIL;
	} else if (status == GT_OK && store_met_damage(&e)) {
		/* it answered with what it could read */
		print_words("gt-recover: ", e.msg);
		print_words("  ", e.hint);
		status = GT_FAIL;
	}
	free(cli.sockets);
	if (cli_stop_signal() != 0) {
		/* whoever started us is to see what ended us */
		fflush(stdout);
		signal(cli_stop_signal(), SIG_DFL);
		raise(cli_stop_signal());
	}
	if (fflush(stdout) != 0 || ferror(stdout) || fclose(stdout) != 0) {
		fputs("gt-recover: the answer could not be written to standard output\n", stderr);
		if (status == GT_OK)
			status = GT_FAIL;
	}
	return status;
}
