#include "cli/cli.h"

#define WIDTH 79		/* columns of a line */
#define OPTION_COLUMN 25	/* where the text of an option begins */

static void
print_options(FILE *to, unsigned options)
{
	fputs("\nOptions:\n", to);
	for (const struct cli_option *o = cli_options; o->name != NULL; o++) {
		char letter[] = { '-', o->letter, ',', '\0' };
		int n;

		if (o->commands != 0 && (o->commands & options) == 0)
			continue;
		n = fprintf(to, "  %3s --%s%s%s ", o->letter != '\0' ? letter : "", o->name,
		    o->argument != NULL ? " " : "", o->argument != NULL ? o->argument : "");
		fprintf(to, "%*s", n > 0 && n < OPTION_COLUMN ? OPTION_COLUMN - n : 0, "");
		output_wrapped(to, o->help, OPTION_COLUMN, WIDTH);
	}
}

static void
print_overview(FILE *to)
{
	fputs("gt-recover brings crashed coding agents in tmux back with their context.\n\nUsage:\n", to);
	for (const struct command *c = commands; c->name != NULL; c++) {
		struct buf left = BUF_INIT, args = BUF_INIT;

		cli_command_usage(c, &args);
		buf_fmt(&left, "gt-recover%s%s%s%s", *c->name != '\0' ? " " : "", c->name,
		    args.len > 0 ? " " : "", args.data);
		if (left.len > 30)
			fprintf(to, "  %s\n%33s%s\n", left.data, "", c->summary);
		else
			fprintf(to, "  %-30s %s\n", left.data, c->summary);
		buf_release(&left);
		buf_release(&args);
	}
	print_options(to, ~0u);
	fputs("\nExit status: 0 done, 1 failed, 2 usage or configuration, 3 some done and some not, 4 "
	      "nothing to recover or declined,\n"
	      "5 delivered but not acknowledged in time, 6 refused by a guard, 7 scrub --check found "
	      "something, 75 try again.\n"
	      "More: man gt-recover, man gt.toml\n",
	    to);
}

void
cli_print_help(FILE *to, const struct command *c)
{
	struct buf args = BUF_INIT;

	if (c == NULL) {
		print_overview(to);
		return;
	}
	cli_command_usage(c, &args);
	fprintf(to, "Usage: gt-recover%s%s %s\n\n%s\n", *c->name != '\0' ? " " : "", c->name, args.data,
	    c->summary);
	buf_release(&args);
	if (c->details != NULL)
		output_wrapped(to, c->details, 0, WIDTH);
	print_options(to, cli_command_options(c));
}

int
cmd_help(const struct cli *cli, struct err *e)
{
	const struct command *c = NULL;

	if (cli->n_args > 0) {
		c = cli_find_command(cli->args[0]);
		if (c == NULL) {
			err_set(e, GT_USAGE, "usage", "there is no command %.60s", cli->args[0]);
			return err_hint(e, "gt-recover help lists them");
		}
	}
	cli_print_help(stdout, c);
	return GT_OK;
}

int
cmd_version(const struct cli *cli, struct err *e)
{
	(void)e;
	if (cli->json)
		printf("{\"schema_version\": 1, \"version\": \"%s\"}\n", GT_VERSION);
	else
		printf("gt-recover %s\n", GT_VERSION);
	return GT_OK;
}
