#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cmd/choose.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "cmd/told.h"
#include "ledger/refusal.h"
#include "revive/arm.h"
#include "revive/detect.h"
#include "revive/plan.h"
#include "revive/recall.h"
#include "revive/recover.h"
#include "revive/respawn.h"
#include "revive/world.h"
#include "town/config.h"

/* The bare command: the picker, SESSION…, --all and --dry-run. */

struct job {
	const struct cli *cli;
	struct world w;
	struct say say;
	struct candidates all;
	struct bead *beads;
	struct refusal *no;
	bool *chosen;
	bool named;			/* a person chose: consent */
	json_t *results;
	size_t found, recovered, unacknowledged, refused, failed;
	size_t logins;			/* agents that came up and were not logged in */
};

/* With --all: the login that all of them use is broken then. */
#define LOGINS_MOST 2
static const struct refusal no_login = { "login-halt", "two agents before it came up and were not logged in",
    "mend the login, then run gt-recover --all again" };

static void
count_result(struct job *j, int code)
{
	if (code == 0)
		j->recovered++;
	else if (code == GT_UNACKED)
		j->unacknowledged++;
	else if (code == GT_REFUSED)
		j->refused++;
	else
		j->failed++;
}

/* Into the ledger; what cannot be noted is no reason not to go on. */
static void
note_refusal(struct job *j, const struct candidate *c, const char *name, const char *sentence)
{
	struct refused r = { .name = name, .sentence = sentence, .session = c->pane.session, .socket = c->pane.socket_path,
		.pane_id = c->pane.id, .server_pid = c->pane.server_pid, .server_start = c->pane.server_start, .pane_pid = c->pane.pid };
	struct store *store = world_store(&j->w, true, NULL);

	if (store != NULL)
		refusal_note(store, &r, NULL);
}

/* Not even tried: what befell those before it would befall it. */
static int
refuse_untried(struct job *j, const struct candidate *c, const struct refusal *no)
{
	struct recovery r;
	struct err e = ERR_INIT;
	struct buf name = BUF_INIT;

	recovery_init(&r, &j->w, c);
	err_set(&e, GT_REFUSED, no->name, "refused: %s", no->sentence);
	err_hint(&e, "%s", no->hint);
	say_foreign(&name, c->pane.session, 60);
	say_warning(&j->say, "%s: %s\n  %s", name.data, e.msg, e.hint);
	say_log(&j->say, "%s %s - refused error=%s", name.data, class_name(c->class), e.name);
	note_refusal(j, c, no->name, no->sentence);
	json_array_append_new(j->results, told_json(&r, &e));
	count_result(j, GT_REFUSED);
	recovery_release(&r);
	buf_release(&name);
	return GT_REFUSED;
}

/* Returns the exit status that this one alone would have. *started: an agent was started, well or not. */
static int
recover_one(struct job *j, const struct candidate *c, bool headed, bool *started)
{
	struct recovery r;
	struct err e = ERR_INIT;
	struct buf name = BUF_INIT, words = BUF_INIT, hint = BUF_INIT;
	int code = 0;

	recovery_init(&r, &j->w, c);
	r.named = j->named;
	r.include_infra = j->cli->include_infra;
	r.scope = j->cli->scope;
	r.tell = told;
	r.arg = &j->say;
	say_foreign(&name, c->pane.session, 60);
	if (headed)
		say_line(&j->say, "\n%s", name.data);
	if (recover(&r, &e) != 0) {
		code = e.code;
		say_foreign(&words, e.msg, 0);
		say_foreign(&hint, e.hint, 0);
		say_warning(&j->say, "%s: %s%s%s", name.data, words.data, hint.len > 0 ? "\n  " : "", hint.data);
	} else if (strcmp(r.attempt.proof, "transcript") != 0) {
		say_line(&j->say, "  (seen on its screen only: this agent keeps no record that could prove it)");
	}
	if (code == 0 || code == GT_UNACKED)
		told_attach(&j->say, &c->pane);
	say_log(&j->say, "%s %s %s %s %s%s%s", name.data, class_name(c->class), r.attempt.version > 0 ? r.attempt.id : "-",
	    r.attempt.version > 0 ? phase_name(r.attempt.phase) : "refused",
	    r.attempt.proof != NULL ? r.attempt.proof : "", code != 0 ? " error=" : "",
	    e.name);
	if (code == GT_REFUSED)
		note_refusal(j, c, e.name, e.msg + (str_starts(e.msg, "refused: ") ? strlen("refused: ") : 0));
	*started = r.attempt.times[PHASE_RESPAWNED] != 0;
	j->logins += code != 0 && strcmp(e.name, "login") == 0;
	json_array_append_new(j->results, told_json(&r, &e));
	count_result(j, code);
	recovery_release(&r);
	buf_release(&name);
	buf_release(&words);
	buf_release(&hint);
	return code;
}

static int
overall(const struct job *j, size_t tried, int last)
{
	if (tried <= 1 || j->recovered == tried)
		return last;
	if (j->recovered > 0)
		return GT_SOME;
	return j->refused >= tried && j->failed + j->unacknowledged == 0 ? GT_REFUSED : j->unacknowledged == tried ? GT_UNACKED : GT_FAIL;
}

static void
tell_sum(struct job *j, size_t tried)
{
	if (tried > 1 || j->cli->all)
		say_line(&j->say, "\nfound=%zu recovered=%zu unacknowledged=%zu refused=%zu failed=%zu", j->found, j->recovered,
		    j->unacknowledged, j->refused, j->failed);
}

static int
recover_chosen(struct job *j)
{
	int64_t spacing = config_ms(j->w.config, "spacing");
	size_t total = 0;
	bool started = false;
	int last = GT_NOTHING;

	for (size_t i = 0; i < j->all.n; i++)
		total += j->chosen[i];
	j->found += total;
	for (size_t i = 0; i < j->all.n && setup_stopped() == 0; i++) {
		if (!j->chosen[i])
			continue;
		if (j->cli->all && j->logins >= LOGINS_MOST) {
			last = refuse_untried(j, &j->all.v[i], &no_login);
			continue;
		}
		/* many agents that start at once fight for the machine and for the login */
		for (int64_t until = clock_mono_ms() + spacing; started && clock_mono_ms() < until && setup_stopped() == 0; )
			clock_sleep_ms(50);
		last = recover_one(j, &j->all.v[i], total > 1, &started);
	}
	tell_sum(j, total);
	return overall(j, total, last);
}

static void
print_planned(const struct job *j, size_t i)
{
	const struct candidate *c = &j->all.v[i];
	struct buf name = BUF_INIT, age = BUF_INIT, lines = BUF_INIT;
	size_t pad;

	say_foreign(&name, c->pane.session, 40);
	pad = utf8_width(name.data, name.len) < 24 ? 24 - utf8_width(name.data, name.len) : 0;
	choose_age(&age, c);
	say_short(&lines, c->lines);
	printf("%s %s%*s  %-20s ", j->chosen[i] ? "would recover" : "would not    ", name.data, (int)pad, "", age.data);
	if (j->chosen[i] && !class_crashed(c->class))
		puts("started already, to be looked after until it has taken its prompt up");
	else if (j->chosen[i])
		printf("%s lines context, %s, %s\n", lines.data, class_name(c->class), c->profile->name);
	else
		printf("%s (%s)\n", j->no[i].sentence, j->no[i].name);
	buf_release(&name);
	buf_release(&age);
	buf_release(&lines);
}

static void
print_plan(struct job *j)
{
	struct armed_list armed = { .n = 0 };
	json_t *v, *sessions;

	if (j->cli->json) {
		list_armed(&j->w, &armed);
		v = say_object();
		sessions = json_array();
		for (size_t i = 0; i < j->all.n; i++)
			if (j->chosen[i] || class_crashed(j->all.v[i].class))
				json_array_append_new(sessions, list_json(&j->all.v[i], &j->beads[i], &j->no[i],
				    arm_holds(&armed, &j->all.v[i])));
		json_put_flag(v, "dry_run", true);
		json_object_set_new(v, "sessions", sessions);
		say_json(v);
		armed_list_release(&armed);
		return;
	}
	/* first what would be done */
	for (int would = 1; would >= 0; would--)
		for (size_t i = 0; i < j->all.n; i++)
			if (j->chosen[i] == would && (would || (class_crashed(j->all.v[i].class) && j->no[i].name != NULL)))
				print_planned(j, i);
}

static int
nothing(struct job *j, const char *why)
{
	if (j->cli->json) {
		json_t *v = say_object();

		json_object_set_new(v, "results", json_array());
		say_json(v);
	}
	say_line(&j->say, "%s", why);
	return GT_NOTHING;
}

static size_t
choose_all(struct job *j)
{
	size_t n = 0;

	recover_pending(&j->w, &j->all, j->chosen);
	for (size_t i = 0; i < j->all.n; i++) {
		j->chosen[i] = j->chosen[i] || j->no[i].name == NULL;
		n += j->chosen[i];
	}
	return n;
}

/* Somebody answers: a terminal, or a pipe in which the answer already stands (printf 'all\n' | gt-recover). */
static bool
somebody_answers(const struct cli *cli)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat st;
	int c;

	if (cli->no_input || cli->json)
		return false;
	if (isatty(STDIN_FILENO))
		return isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
	if (fstat(STDIN_FILENO, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode)))
		return false;
	if (poll(&p, 1, 200) <= 0 || (c = getchar()) == EOF)
		return false;
	ungetc(c, stdin);
	return true;
}

static int
run_picker(struct job *j, struct err *e)
{
	bool *offered;
	size_t n = 0;
	int picked;

	if (!somebody_answers(j->cli))
		return -2;
	offered = xcalloc(j->all.n, sizeof *offered);
	for (size_t i = 0; i < j->all.n; i++) {
		struct refusal no = plan_refusal(&j->w, &j->all.v[i], &j->beads[i], true, j->cli->include_infra);
		struct refusal hidden = j->no[i];

		/* what a person may want all the same is offered; infrastructure only when asked for */
		offered[i] = no.name == NULL && (hidden.name == NULL || strcmp(hidden.name, "infra") != 0);
		n += offered[i];
	}
	if (n == 0) {
		free(offered);
		return nothing(j, "Nothing to recover.");
	}
	picked = choose_ask(&j->all, offered, j->chosen, isatty(STDIN_FILENO), e);
	free(offered);
	if (picked < 0)
		return -1;
	if (picked == 0)
		return nothing(j, "Nothing was recovered.");
	j->named = true;
	return recover_chosen(j);
}

static bool
confirmed(const struct cli *cli, size_t n)
{
	char answer[16];

	if (cli->yes)
		return true;
	if (n == 1)
		fputs("Recover this session? [y/N]: ", stdout);
	else
		printf("Recover these %zu sessions? [y/N]: ", n);
	fflush(stdout);
	return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

/* Crashed ones that --all leaves alone are part of its sum. */
static void
count_left_out(struct job *j)
{
	for (size_t i = 0; i < j->all.n; i++) {
		const struct candidate *c = &j->all.v[i];

		if (j->chosen[i] || !class_crashed(c->class) || j->no[i].name == NULL)
			continue;
		j->found++;
		j->refused++;
		note_refusal(j, c, j->no[i].name, j->no[i].sentence);
	}
}

static int
run_all(struct job *j, struct err *e)
{
	size_t n = choose_all(j);
	int ret;

	bool terminal = isatty(STDIN_FILENO) && !j->cli->no_input && !j->cli->json;

	/* --json is one object: there the error below */
	if (j->cli->dry_run || (!j->cli->yes && !j->cli->json))
		print_plan(j);
	if (j->cli->dry_run)
		return n == 0 ? GT_NOTHING : GT_OK;
	if (n == 0) {
		count_left_out(j);
		ret = nothing(j, "Nothing to recover.");
		tell_sum(j, 0);
		return ret;
	}
	if (!j->cli->yes && !terminal) {
		err_set(e, GT_USAGE, "needs-yes", "--all needs --yes where nobody can be asked; this was the plan");
		return err_hint(e, "gt-recover --all --yes");
	}
	if (!confirmed(j->cli, n))
		return nothing(j, "Nothing was recovered.");
	count_left_out(j);
	return recover_chosen(j);
}

static int
run_named(struct job *j, struct err *e)
{
	j->named = true;
	for (size_t i = 0; i < j->cli->n_args; i++) {
		struct candidate *c = choose_named(&j->all, j->cli->args[i], e);

		if (c == NULL)
			return -1;
		j->chosen[c - j->all.v] = true;
		j->no[c - j->all.v] = plan_refusal(&j->w, c, &j->beads[c - j->all.v], true, true);
	}
	if (!j->cli->dry_run)
		return recover_chosen(j);
	for (size_t i = 0; i < j->all.n; i++) {
		const struct refusal *no = &j->no[i];

		if (j->chosen[i] && no->name != NULL) {
			err_set(e, GT_REFUSED, no->name, "refused: %s", no->sentence);
			return err_hint(e, "%s", no->hint);
		}
	}
	/* of the others nothing was asked */
	for (size_t i = 0; i < j->all.n; i++)
		if (!j->chosen[i])
			j->all.v[i].class = CLASS_LIVE;
	print_plan(j);
	return GT_OK;
}

static int
check_choices(const struct cli *cli, struct err *e)
{
	if (cli->via != NULL && strcmp(cli->via, "auto") != 0 && strcmp(cli->via, "inject") != 0) {
		err_set(e, GT_USAGE, "usage", "--via takes auto or inject in this version, not \"%.40s\"", cli->via);
		return err_hint(e, "inject starts the agent afresh and hands it its context");
	}
	if (cli->scope != NULL && strcmp(cli->scope, "task") != 0 && strcmp(cli->scope, "lines") != 0) {
		err_set(e, GT_USAGE, "usage", "--scope takes task or lines, not \"%.40s\"", cli->scope);
		return err_hint(e, "lines: the newest max_context_lines lines");
	}
	if (cli->all && cli->n_args > 0) {
		err_set(e, GT_USAGE, "usage", "--all and a session's name do not go together");
		return err_hint(e, "leave one of them out");
	}
	return 0;
}

static int
run(struct job *j, struct err *e)
{
	int ret;

	if (j->cli->via == NULL && strcmp(config_text(j->w.config, "via"), "resume") == 0) {
		err_set(e, GT_USAGE, "usage", "via = \"resume\" is not in this version (%s)", config_origin(j->w.config, "via"));
		return err_hint(e, "set it to auto or inject, or give --via inject");
	}
	if (detect(&j->w, &j->all, e) != 0 || detect_lines(&j->w, &j->all, e) != 0)
		return -1;
	j->beads = xcalloc(j->all.n, sizeof *j->beads);
	j->no = xcalloc(j->all.n, sizeof *j->no);
	j->chosen = xcalloc(j->all.n, sizeof *j->chosen);
	if (list_beads(&j->w, &j->all, j->beads, e) != 0)
		return -1;
	for (size_t i = 0; i < j->all.n; i++)
		j->no[i] = plan_refusal(&j->w, &j->all.v[i], &j->beads[i], false, j->cli->include_infra);
	recall_lines(&j->w, &j->all);
	setup_trouble(&j->all.trouble);
	if (j->cli->n_args > 0)
		return run_named(j, e);
	if (j->cli->all || j->cli->dry_run)
		return run_all(j, e);
	ret = run_picker(j, e);
	return ret == -2 ? cmd_list(j->cli, e) : ret;
}

int
cmd_recover(const struct cli *cli, struct err *e)
{
	struct job j = { .cli = cli };
	char *log_file;
	int ret;

	if (check_choices(cli, e) != 0 || setup_world(cli, &j.w, e) != 0)
		return -1;
	say_init(&j.say, cli);
	if (setup_disabled(cli, &j.w)) {
		setup_release(&j.w);
		return GT_OK;
	}
	log_file = config_path(j.w.config, "log_file");
	j.results = json_array();
	ret = log_file != NULL && say_open_log(&j.say, log_file, e) != 0 ? -1 : run(&j, e);
	free(log_file);
	if (ret >= 0 && cli->json && json_array_size(j.results) > 0) {
		json_t *v = say_object();

		json_object_set(v, "results", j.results);
		say_json(v);
	}
	if (!cli->dry_run)
		setup_export(&j.w);
	json_decref(j.results);
	for (size_t i = 0; j.beads != NULL && i < j.all.n; i++)
		bead_release(&j.beads[i]);
	free(j.beads);
	free(j.no);
	free(j.chosen);
	candidates_release(&j.all);
	say_release(&j.say);
	setup_release(&j.w);
	return ret;
}
