#include "cli/cli_private.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "config/config.h"
#include "recover/upkeep/upkeep.h"
#include "snapshot/pass/pass.h"

#define PLAN_INDENT 14

int
cli_batch_open(struct cli_batch *r, const struct cli *cli, struct err *e)
{
	char *log_file;
	int ret = 0;

	memset(r, 0, sizeof *r);
	r->cli = cli;
	output_init(&r->say, cli);
	if (cli_open_app(cli, &r->w, e) != 0)
		return -1;
	r->results = json_array();
	log_file = config_path(r->w.config, "log_file");
	if (log_file != NULL && config_flag(r->w.config, "enabled"))
		ret = output_open_log(&r->say, log_file, e);
	free(log_file);
	return ret;
}

static void
forget(struct cli_batch *r)
{
	for (size_t i = 0; r->beads != NULL && i < r->all.n; i++)
		bead_release(&r->beads[i]);
	free(r->beads);
	free(r->no);
	free(r->chosen);
	free(r->later);
	candidate_list_release(&r->all);
	r->beads = NULL;
	r->no = NULL;
	r->chosen = NULL;
	r->later = NULL;
}

int
cli_batch_detect(struct cli_batch *r, struct err *e)
{
	int ret;

	forget(r);
	if (r->recorded)
		ret = detect_recorded(&r->w, &r->all, snapshot_detect(&r->w, &r->all, e), e);
	else
		ret =
		    snapshot_detect(&r->w, &r->all, e) != 0 || detect_lines(&r->w, &r->all, e) != 0 ? -1 : 0;
	cli_tell_reset(&r->w);
	if (ret != 0) {
		forget(r);
		return -1;
	}
	r->beads = xcalloc(r->all.n, sizeof *r->beads);
	r->no = xcalloc(r->all.n, sizeof *r->no);
	r->chosen = xcalloc(r->all.n, sizeof *r->chosen);
	r->later = xcalloc(r->all.n, sizeof *r->later);
	if (cmd_list_beads(&r->w, &r->all, r->beads, e) != 0)
		return -1;
	for (size_t i = 0; i < r->all.n; i++)
		r->no[i] = recovery_refusal(&r->w, &r->all.v[i], &r->beads[i], false, r->cli->include_infra);
	snapshot_lookup_lines(&r->w, &r->all);
	return 0;
}

void
cli_batch_close(struct cli_batch *r)
{
	forget(r);
	json_decref(r->results);
	output_release(&r->say);
	cli_close_app(&r->w);
}

/* With --all: the login that all of them use is broken then. */
#define LOGINS_MOST 2
/* Named while they are waited for. */
#define NAMES_MOST 5
static const struct refusal no_login = { "login-halt", "two agents before it came up and were not logged in",
    "mend the login, then run gt-recover --all again" };

static void
count_result(struct cli_batch *r, int code)
{
	if (code == 0)
		r->recovered++;
	else if (code == GT_UNACKED)
		r->unacknowledged++;
	else if (code == GT_REFUSED)
		r->refused++;
	else
		r->failed++;
	r->again += code == GT_AGAIN;
}

/* Into the ledger; what cannot be noted is no reason not to go on. */
static void
note_refusal(struct cli_batch *r, const struct candidate *c, const char *name, const char *sentence)
{
	struct refusal_record record = { .name = name,
		.sentence = sentence,
		.session = c->pane.session,
		.socket = c->pane.socket_path,
		.pane_id = c->pane.id,
		.server_pid = c->pane.server_pid,
		.server_start = c->pane.server_start,
		.pane_pid = recovery_crash_pid(&r->w, c) };
	struct store *store = app_store(&r->w, true, NULL);

	if (store != NULL)
		attempt_note_refusal(store, &record, NULL);
}

/* Not even tried: what befell those before it would befall it. */
static int
refuse_untried(struct cli_batch *r, const struct candidate *c, const struct refusal *no)
{
	struct recovery one;
	struct err e = ERR_INIT;
	const char *name = output_shown(c->pane.session, 60);

	recovery_init(&one, &r->w, c);
	err_set(&e, GT_REFUSED, no->name, "refused: %s", no->sentence);
	err_hint(&e, "%s", no->hint);
	output_warning(&r->say, "%s: %s\n  %s", name, e.msg, e.hint);
	output_log(&r->say, "%s %s - refused error=%s", name, detect_status_name(c->status), e.name);
	note_refusal(r, c, no->name, no->sentence);
	json_array_append_new(r->results, output_recovery_json(&one, &e));
	count_result(r, GT_REFUSED);
	if (r->ended != NULL)
		r->ended(r, &one, &e);
	recovery_release(&one);
	return GT_REFUSED;
}

/* Refused by `name`, it is put off. */
static bool
may_wait(const struct cli_batch *r, size_t i, const char *name)
{
	return r->waits && name != NULL && strcmp(name, PLAN_TYPING) == 0 &&
	    recovery_quiet_in(r->all.v[i].pane.typed) > 0;
}

/* What the failed try saw: the last key, and the pane that was made for a missing session. */
static void
note_look(struct candidate *c, const struct recovery *one)
{
	struct pane *p = &c->pane;

	p->typed = one->typed > p->typed ? one->typed : p->typed;
	if (one->pane != &one->born)
		return;
	free(p->id);
	p->id = xstrdup(one->born.id);
	p->server_pid = one->born.server_pid;
	p->server_start = one->born.server_start;
}

static void
begin_one(struct cli_batch *r, const struct candidate *c, struct recovery *one)
{
	recovery_init(one, &r->w, c);
	one->named = r->named;
	one->include_infra = r->cli->include_infra;
	one->scope = r->cli->scope;
	one->via = r->cli->via;
	one->respawn = r->cli->respawn;
	one->executes = r->named && r->ended == NULL;
	one->report = output_progress;
	one->arg = &r->say;
}

/* Asks a person once which conversation is meant where that is in doubt. */
static int
try_one(struct cli_batch *r, struct candidate *c, struct recovery *one, json_t **rivals, struct err *e)
{
	int ret = c->record != NULL ? restart_recorded(one, e) : recovery_run(one, e);

	if (ret == 0 || strcmp(e->name, "ambiguous") != 0)
		return ret;
	fprintf(stderr, "%s: %s\n", output_shown(c->pane.session, 60), strchr(e->msg, ':') + 2);
	if (!cli_ask_conversation(c, &one->gathered, r->named && cli_has_person(r->cli), rivals))
		return -1;
	json_decref(*rivals);
	*rivals = NULL;
	err_clear(e);
	recovery_release(one);
	begin_one(r, c, one);
	return recovery_run(one, e);
}

/* Returns the exit status that this one alone would have. *started: an agent was started, well or not. */
static int
recover_one(struct cli_batch *r, size_t i, bool headed, bool *started)
{
	struct candidate *c = &r->all.v[i];
	json_t *rivals = NULL, *result;
	struct recovery one;
	struct err e = ERR_INIT;
	struct buf name = BUF_INIT;
	int code = 0;

	begin_one(r, c, &one);
	output_foreign(&name, c->pane.session, 60);
	if (headed)
		output_line(&r->say, "\n%s", name.data);
	if (try_one(r, c, &one, &rivals, &e) != 0) {
		code = e.code;
		if (strcmp(e.name, PLAN_TYPING) == 0)
			note_look(c, &one);
		r->later[i] = may_wait(r, i, e.name);
	}
	*started = one.attempt.times[PHASE_RESPAWNED] != 0;
	if (r->later[i])
		goto out;
	if (code != 0) {
		output_warning(&r->say, "%s: %s%s%s", name.data, output_shown(e.msg, 0),
		    *e.hint != '\0' ? "\n  " : "", output_shown(e.hint, 0));
	} else if (one.start_here) {
		snprintf(r->execute, sizeof r->execute, "%s", one.attempt.id);
		output_line(&r->say, "%s starts in this shell; the next gt-recover verifies that it goes on",
		    c->profile->label);
	} else if (strcmp(one.attempt.proof, "transcript") != 0) {
		output_line(
		    &r->say, "  (seen on its screen only: this agent keeps no record that could prove it)");
	}
	if ((code == 0 && !one.start_here) || code == GT_UNACKED)
		output_attach_hint(&r->say, &c->pane);
	output_log(&r->say, "%s %s %s %s %s%s%s", name.data, detect_status_name(c->status),
	    one.attempt.version > 0 ? one.attempt.id : "-",
	    one.attempt.version > 0 ? attempt_phase_name(one.attempt.phase) : "refused",
	    one.attempt.proof != NULL ? one.attempt.proof : "", code != 0 ? " error=" : "", e.name);
	if (code == GT_REFUSED)
		note_refusal(
		    r, c, e.name, e.msg + (str_starts(e.msg, "refused: ") ? strlen("refused: ") : 0));
	r->logins += code != 0 && strcmp(e.name, "login") == 0;
	result = output_recovery_json(&one, &e);
	if (rivals != NULL)
		json_object_set(json_object_get(result, "error"), "candidates", rivals);
	json_array_append_new(r->results, result);
	count_result(r, code);
	if (r->ended != NULL)
		r->ended(r, &one, &e);
out:
	json_decref(rivals);
	recovery_release(&one);
	buf_release(&name);
	return code;
}

static int
overall(const struct cli_batch *r, size_t tried, int last)
{
	if (tried <= 1 || r->recovered == tried)
		return last;
	if (r->recovered > 0)
		return GT_SOME;
	if (r->again == tried)
		return GT_AGAIN;
	return r->refused >= tried && r->failed + r->unacknowledged == 0 ? GT_REFUSED
	    : r->unacknowledged == tried                                 ? GT_UNACKED
									 : GT_FAIL;
}

void
cli_batch_print_sum(struct cli_batch *r, size_t tried)
{
	if (tried > 1 || r->mass)
		output_line(&r->say, "\nfound=%zu recovered=%zu unacknowledged=%zu refused=%zu failed=%zu",
		    r->found, r->recovered, r->unacknowledged, r->refused, r->failed);
}

/* What the passes of one round have in common. */
struct pass {
	size_t tried;
	bool started;			/* an agent, at the last try */
	int last;			/* status of the last try */
};

static void
recover_chosen(struct cli_batch *r, struct pass *p)
{
	int64_t spacing = config_ms(r->w.config, "spacing"), until;
	size_t total = 0;

	for (size_t i = 0; i < r->all.n; i++)
		total += r->chosen[i];
	r->found += total;
	p->tried += total;
	/* that of our own pane is the last one: this process becomes its agent */
	for (size_t k = 0; k < 2 * r->all.n && cli_stop_signal() == 0; k++) {
		size_t i = k % r->all.n;

		if (!r->chosen[i] || r->all.v[i].own_pane != (k >= r->all.n))
			continue;
		if (r->mass && r->logins >= LOGINS_MOST) {
			p->last = refuse_untried(r, &r->all.v[i], &no_login);
			continue;
		}
		/* many agents that start at once fight for the machine and for the login */
		until = clock_mono_ms() + spacing;
		while (p->started && clock_mono_ms() < until && cli_stop_signal() == 0)
			clock_sleep_ms(50);
		p->last = recover_one(r, i, total > 1, &p->started);
		r->found -= r->later[i];
		p->tried -= r->later[i];
	}
}

/* ---- those in whose panes somebody types ---- */

struct put_off {
	char *id;			/* pane, and server as struct pane tells it */
	int64_t server_pid, server_start;
	bool found;
};

static void
wait_for_quiet(struct cli_batch *r, size_t n)
{
	struct buf names = BUF_INIT;
	int64_t ms = 0, until;
	size_t shown = 0;

	for (size_t i = 0; i < r->all.n; i++) {
		const struct candidate *c = &r->all.v[i];
		int64_t left = r->later[i] ? recovery_quiet_in(c->pane.typed) : 0;

		ms = left > ms ? left : ms;
		if (!r->later[i] || shown++ >= NAMES_MOST)
			continue;
		buf_str(&names, names.len > 0 ? ", " : "");
		output_foreign(&names, c->pane.session, 60);
	}
	if (n > NAMES_MOST)
		buf_fmt(&names, " and %zu more", n - NAMES_MOST);
	if (ms > 0)
		output_line(&r->say, "\nwaiting %lld s: somebody types in %s", (long long)(ms + 999) / 1000,
		    names.data);
	for (until = clock_mono_ms() + ms; clock_mono_ms() < until && cli_stop_signal() == 0; )
		clock_sleep_ms(50);
	buf_release(&names);
}

static struct put_off *
list_put_off(const struct cli_batch *r, size_t *n)
{
	struct put_off *list = xcalloc(r->all.n + 1, sizeof *list);

	*n = 0;
	for (size_t i = 0; i < r->all.n; i++) {
		const struct pane *p = &r->all.v[i].pane;

		if (r->later[i])
			list[(*n)++] = (struct put_off){ xstrdup(p->id), p->server_pid, p->server_start,
			    false };
	}
	return list;
}

static bool
was_put_off(struct put_off *list, size_t n, const struct pane *p)
{
	for (size_t i = 0; i < n; i++)
		if (!list[i].found && strcmp(list[i].id, p->id) == 0 && list[i].server_pid == p->server_pid &&
		    list[i].server_start == p->server_start)
			return list[i].found = true;
	return false;
}

/* Those that are refused now are not tried again. */
static void
choose_put_off(struct cli_batch *r, struct put_off *list, size_t n, struct pass *p)
{
	cli_batch_choose(r);
	for (size_t i = 0; i < r->all.n; i++) {
		if (!was_put_off(list, n, &r->all.v[i].pane)) {
			r->chosen[i] = false;
			continue;
		}
		if (r->chosen[i])
			continue;
		r->found++;
		p->tried++;
		p->last = refuse_untried(r, &r->all.v[i], &r->no[i]);
	}
}

/* A second look, as a person may have done anything in the meantime, and the only further try. */
static void
recover_put_off(struct cli_batch *r, struct pass *p)
{
	struct err e = ERR_INIT;
	size_t n;
	struct put_off *list = list_put_off(r, &n);

	r->waits = false;
	if (n > 0 && cli_stop_signal() == 0)
		wait_for_quiet(r, n);
	if (n > 0 && (cli_stop_signal() != 0 || cli_batch_detect(r, &e) != 0)) {
		r->found += n;
		p->tried += n;
		if (e.code != 0) {
			output_warning(&r->say, "%s%s%s", e.msg, *e.hint != '\0' ? "\n  " : "", e.hint);
			r->failed += n;
			p->last = e.code;
		}
	} else if (n > 0) {
		choose_put_off(r, list, n, p);
		recover_chosen(r, p);
	}
	for (size_t i = 0; i < n; i++)
		free(list[i].id);
	free(list);
}

int
cli_batch_recover(struct cli_batch *r)
{
	struct pass p = { .last = GT_NOTHING };

	recover_chosen(r, &p);
	recover_put_off(r, &p);
	cli_batch_print_sum(r, p.tried);
	return overall(r, p.tried, p.last);
}

size_t
cli_batch_choose(struct cli_batch *r)
{
	size_t n = 0;

	recovery_find_pending(&r->w, &r->all, r->chosen, r->later);
	for (size_t i = 0; i < r->all.n; i++) {
		/* it lives, and its prompt may have to be pasted while somebody types there */
		if (r->later[i])
			r->no[i] = recovery_typing();
		r->chosen[i] = !r->later[i] && (r->chosen[i] || r->no[i].name == NULL);
		r->later[i] = !r->chosen[i] && may_wait(r, i, r->no[i].name);
		n += r->chosen[i] || r->later[i];
	}
	return n;
}

void
cli_batch_count_refused(struct cli_batch *r)
{
	for (size_t i = 0; i < r->all.n; i++) {
		const struct candidate *c = &r->all.v[i];

		if (r->chosen[i] || r->later[i] || !candidate_crashed(c) || r->no[i].name == NULL)
			continue;
		r->found++;
		r->refused++;
		note_refusal(r, c, r->no[i].name, r->no[i].sentence);
	}
}

static void
print_command(struct cli_batch *r, const struct candidate *c)
{
	struct buf command = BUF_INIT;
	const char *why;

	if (recovery_uses_gt(&r->w, c))
		printf("%*sstarted by gt session start\n", PLAN_INDENT, "");
	else if (cli_plan_command(&r->w, c, &command, &why))
		printf("%*sstarted by: %s\n%*s(%s)\n", PLAN_INDENT, "", command.data, PLAN_INDENT, "", why);
	buf_release(&command);
}

static void
print_planned(struct cli_batch *r, size_t i)
{
	const struct candidate *c = &r->all.v[i];
	struct buf name = BUF_INIT, age = BUF_INIT, lines = BUF_INIT;
	size_t pad;

	output_foreign(&name, c->pane.session, 40);
	pad = utf8_width(name.data, name.len) < 24 ? 24 - utf8_width(name.data, name.len) : 0;
	cli_pick_age(&age, c);
	output_short(&lines, candidate_lines(c));
	printf("%s %s%*s  %-20s ",
	    r->chosen[i]      ? "would recover"
		: r->later[i] ? "would wait   "
			      : "would not    ",
	    name.data, (int)pad, "", age.data);
	if (r->chosen[i] && !detect_status_crashed(c->status))
		puts("started already, to be looked after until it has taken its prompt up");
	else if (r->chosen[i])
		printf("%s%s, %s, %s\n", c->record != NULL ? "its record alone" : lines.data,
		    c->record != NULL ? "" : " lines context", detect_status_name(c->status),
		    c->profile->name);
	else
		printf("%s (%s)\n", r->no[i].sentence, r->no[i].name);
	if (r->chosen[i] && detect_status_crashed(c->status))
		print_command(r, c);
	buf_release(&name);
	buf_release(&age);
	buf_release(&lines);
}

/* A crash, or a living agent whose prompt is not pasted while somebody types there. */
static bool
is_left_out(const struct cli_batch *r, size_t i)
{
	return candidate_crashed(&r->all.v[i]) ||
	    (r->no[i].name != NULL && strcmp(r->no[i].name, PLAN_TYPING) == 0);
}

static json_t *
plan_json(struct cli_batch *r, size_t i, const struct armed_list *armed)
{
	const struct candidate *c = &r->all.v[i];
	json_t *v = cmd_list_json(c, &r->beads[i], &r->no[i], arm_holds(armed, c));
	struct buf command = BUF_INIT;
	const char *why;
	bool known = detect_status_crashed(c->status) && !recovery_uses_gt(&r->w, c) &&
	    cli_plan_command(&r->w, c, &command, &why);

	json_put(v, "start_command", known ? command.data : NULL);
	json_put(v, "start_command_by", known ? detect_command_source_name(c->command_source) : NULL);
	buf_release(&command);
	return v;
}

void
cli_batch_print_plan(struct cli_batch *r)
{
	struct armed_list armed = { .n = 0 };
	json_t *v, *sessions;

	if (r->cli->json) {
		cmd_list_armed(&r->w, &armed);
		v = output_object();
		sessions = json_array();
		for (size_t i = 0; i < r->all.n; i++)
			if (r->chosen[i] || is_left_out(r, i))
				json_array_append_new(sessions, plan_json(r, i, &armed));
		json_put_flag(v, "dry_run", true);
		json_object_set_new(v, "sessions", sessions);
		output_json(v);
		armed_list_release(&armed);
		return;
	}
	/* first what would be done */
	for (int would = 1; would >= 0; would--)
		for (size_t i = 0; i < r->all.n; i++)
			if (r->chosen[i] == would &&
			    (would || (is_left_out(r, i) && r->no[i].name != NULL)))
				print_planned(r, i);
}
