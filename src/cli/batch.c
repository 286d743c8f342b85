#include "cli/cli_private.h"
#include "base/clock.h"
#include "base/sys.h"
#include "base/utf8.h"
#include "config/config.h"
#include "recover/upkeep/upkeep.h"
#include "snapshot/pass/pass.h"

int
cli_batch_open(struct cli_batch *r, const struct cli *cli, struct err *e)
{
	char *log_file;
	int ret = 0;

	memset(r, 0, sizeof *r);
	r->cli = cli;
	buf_init(&r->missing);
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
		ret = detect_background(&r->w, &r->all, snapshot_detect(&r->w, &r->all, e), e);
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
	buf_release(&r->missing);
	output_release(&r->say);
	cli_close_app(&r->w);
}

/* Named while they are waited for. */
#define NAMES_MOST 5
/* For an agent that starts, when nobody knows what it used before. */
#define MEMORY_LEAST ((int64_t)256 << 20)
/* Of the last ten seconds, in hundredths of a percent: every process waited for memory. */
#define PRESSURE_MOST 1000

const struct refusal cli_no_login = { "login-halt", "two agents before it started without a login",
    "log in, then run gt-recover --all again" };
static const struct refusal no_memory = { "memory",
    "killed by the kernel (out of memory), and memory is still low",
    "free memory, then: gt-recover SESSION" };

static void
count_result(struct cli_batch *r, const struct err *e)
{
	if (e->code == 0)
		r->recovered++;
	else if (e->code == GT_UNACKED)
		r->unacknowledged++;
	else if (e->code == GT_REFUSED)
		r->refused++;
	else
		r->failed++;
	r->again += e->code == GT_AGAIN;
	r->yielded += e->code == GT_AGAIN || (e->code != 0 && strcmp(e->name, "gone") == 0);
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

static void
add_missing(struct cli_batch *r, size_t i, const struct err *e)
{
	const char *name = output_name(&r->all.v[i], 60);

	buf_fmt(&r->missing, "\n  %s: %s", name, output_shown(e->msg, 0));
	if (e->hint[0] != '\0')
		buf_fmt(&r->missing, "\n    %s", output_shown(e->hint, 0));
	else
		buf_fmt(&r->missing, "\n    to try it again: gt-recover %s", name);
}

void
cli_batch_refuse(struct cli_batch *r, size_t i, const struct refusal *no, struct batch_outcome *out)
{
	const struct candidate *c = &r->all.v[i];
	const char *name = output_name(c, 60);
	struct recovery one;

	memset(out, 0, sizeof *out);
	recovery_init(&one, &r->w, c);
	err_set(&out->e, GT_REFUSED, no->name, "refused: %s", no->sentence);
	err_hint(&out->e, "%s", no->hint);
	output_warning(&r->say, "%s: %s\n  %s", name, out->e.msg, out->e.hint);
	output_log(&r->say, "%s %s - refused error=%s", output_shown(c->pane.session, 60),
	    detect_status_name(c->status), out->e.name);
	note_refusal(r, c, no->name, no->sentence);
	out->result = output_recovery_json(&one, &out->e);
	if (r->ended != NULL)
		r->ended(r, &one, &out->e);
	recovery_release(&one);
}

/* Refused by `name`, it is put off. */
static bool
may_wait(const struct cli_batch *r, size_t i, const char *name, int64_t typed)
{
	if (typed < r->all.v[i].pane.typed)
		typed = r->all.v[i].pane.typed;
	return r->waits && name != NULL && strcmp(name, PLAN_TYPING) == 0 && recovery_quiet_in(typed) > 0;
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

/*
 * Asks a person once which conversation is meant where that is in doubt; *asks: that is the caller's to
 * do, if there is a person.
 */
static int
try_one(struct cli_batch *r, struct candidate *c, struct recovery *one, json_t **rivals, bool *asks,
    struct err *e)
{
	int ret = c->record != NULL ? restart_recorded(one, e) : recovery_run(one, e);

	if (ret == 0 || strcmp(e->name, "ambiguous") != 0)
		return ret;
	if (*asks && (*asks = r->named && cli_has_person(r->cli)))
		return ret;
	fprintf(stderr, "%s: %s\n", output_name(c, 60), strchr(e->msg, ':') + 2);
	if (!cli_ask_conversation(c, &one->gathered, r->named && cli_has_person(r->cli), rivals))
		return -1;
	json_decref(*rivals);
	*rivals = NULL;
	err_clear(e);
	recovery_release(one);
	begin_one(r, c, one);
	return recovery_run(one, e);
}

/* What the failed try saw: the last key, and the pane that was made for a missing session. */
static void
note_look(struct batch_outcome *out, const struct candidate *c, const struct recovery *one)
{
	out->typed = one->typed > c->pane.typed ? one->typed : c->pane.typed;
	if (one->pane != &one->born)
		return;
	snprintf(out->pane, sizeof out->pane, "%s", one->born.id);
	out->server_pid = one->born.server_pid;
	out->server_start = one->born.server_start;
}

static void
report_ended(struct cli_batch *r, const char *name, const struct recovery *one, const struct err *e)
{
	const struct candidate *c = one->c;
	const char *hint = output_shown(e->hint, 0);
	bool beside = r->say.pipe >= 0;

	if (e->code != 0) {
		output_warning(&r->say, "%s%s%s%s%s", beside ? "" : name, beside ? "" : ": ",
		    output_shown(e->msg, 0), *hint != '\0' ? "\n  " : "", hint);
	} else if (one->start_here) {
		snprintf(r->execute, sizeof r->execute, "%s", one->attempt.id);
		output_line(&r->say, "%s starts in this shell; the next gt-recover verifies it",
		    c->profile->label);
	} else if (strcmp(one->attempt.proof, "transcript") != 0 && !c->viewer) {
		output_line(
		    &r->say, "  (seen on its screen only: this agent keeps no transcript to verify it)");
	}
	if (e->code == 0 && c->background != NULL)
		output_line(&r->say,
		    "%s runs again with its conversation; it received no message\n"
		    "Attach with: claude attach %s",
		    c->background, c->background);
	else if (((e->code == 0 && !one->start_here) || e->code == GT_UNACKED) && !beside)
		output_attach_hint(&r->say, one->pane);
	output_log(&r->say, "%s %s %s %s %s%s%s", output_shown(c->pane.session, 60),
	    detect_status_name(c->status), one->attempt.version > 0 ? one->attempt.id : "-",
	    one->attempt.version > 0 ? attempt_phase_name(one->attempt.phase) :
		e->code == 0 ? "restarted" : "refused",
	    one->attempt.proof != NULL ? one->attempt.proof : "", e->code != 0 ? " error=" : "", e->name);
}

void
cli_batch_try(struct cli_batch *r, size_t i, size_t place, bool beside, struct batch_outcome *out)
{
	struct candidate *c = &r->all.v[i];
	json_t *rivals = NULL;
	struct recovery one;
	struct buf name = BUF_INIT;
	struct err *e = &out->e;

	memset(out, 0, sizeof *out);
	out->asks = beside;
	begin_one(r, c, &one);
	buf_str(&name, output_name(c, 60));
	if (place > 0)
		output_line(&r->say, "\n[%zu/%zu] %s", place, r->total, name.data);
	if (try_one(r, c, &one, &rivals, &out->asks, e) == 0)
		out->asks = false;
	else if (strcmp(e->name, PLAN_TYPING) == 0)
		note_look(out, c, &one);
	out->started = one.attempt.times[PHASE_RESPAWNED] != 0;
	out->later = e->code != 0 && may_wait(r, i, e->name, out->typed);
	out->asks = out->asks && strcmp(e->name, "ambiguous") == 0;
	if (!out->later && !out->asks) {
		report_ended(r, name.data, &one, e);
		if (e->code == GT_REFUSED)
			note_refusal(r, c, e->name,
			    e->msg + (str_starts(e->msg, "refused: ") ? strlen("refused: ") : 0));
		out->result = output_recovery_json(&one, e);
		if (rivals != NULL)
			json_object_set(json_object_get(out->result, "error"), "candidates", rivals);
		if (r->ended != NULL)
			r->ended(r, &one, e);
	}
	json_decref(rivals);
	recovery_release(&one);
	buf_release(&name);
}

int
cli_batch_note(struct cli_batch *r, size_t i, const struct batch_outcome *o)
{
	struct pane *p = &r->all.v[i].pane;

	r->later[i] = o->later;
	p->typed = o->typed > p->typed ? o->typed : p->typed;
	if (o->pane[0] != '\0') {
		free(p->id);
		p->id = xstrdup(o->pane);
		p->server_pid = (pid_t)o->server_pid;
		p->server_start = o->server_start;
	}
	if (o->later)
		return o->e.code;
	r->logins += o->e.code != 0 && strcmp(o->e.name, "login") == 0;
	count_result(r, &o->e);
	if (o->e.code != 0 && r->attempted == NULL)
		add_missing(r, i, &o->e);
	if (r->attempt == NULL && r->cli->json_format != NULL && o->result != NULL)
		output_event("result", json_copy(o->result));
	return o->e.code;
}

int64_t
cli_batch_memory_of(struct cli_batch *r, size_t i)
{
	const struct seen_agent_list *seen = app_seen(&r->w);
	const struct pane *p = &r->all.v[i].pane;
	int64_t most = MEMORY_LEAST;

	for (size_t k = 0; k < seen->n; k++) {
		const struct seen_agent *x = &seen->v[k];

		if (x->memory > most && x->server_pid == p->server_pid &&
		    x->server_start == p->server_start && strcmp(x->pane_id, p->id) == 0 &&
		    strcmp(x->socket, p->socket_path) == 0)
			most = x->memory;
	}
	return most;
}

/* For what it used before it died, beside what is promised to those that start now. */
static bool
is_memory_short(int64_t used, int64_t promised, struct buf *why)
{
	struct sys_memory m;

	sys_memory(&m);
	if (m.available >= 0 && m.available < used + promised)
		buf_fmt(why, "%lld MiB available, %lld MiB needed", (long long)(m.available >> 20),
		    (long long)((used + promised) >> 20));
	else if (m.pressure >= PRESSURE_MOST)
		buf_fmt(why, "%d %% of the last 10 s spent waiting for memory", m.pressure / 100);
	return why->len > 0;
}

bool
cli_batch_has_memory(
    struct cli_batch *r, size_t i, int64_t promised, int64_t *since, const struct refusal **no)
{
	const char *name = output_name(&r->all.v[i], 60);
	struct buf why = BUF_INIT;
	bool wait = is_memory_short(cli_batch_memory_of(r, i), promised, &why);

	*no = NULL;
	if (wait && *since == 0) {
		*since = clock_mono_ms();
		output_warning(&r->say, "memory is low (%s): %s waits", why.data, name);
	} else if (wait && clock_mono_ms() - *since >= config_ms(r->w.config, "ready_timeout")) {
		wait = false;
		if (r->all.v[i].reason == REASON_OOM && !r->named)
			*no = &no_memory;
		else
			output_warning(
			    &r->say, "memory is still low (%s): starting %s anyway", why.data, name);
	}
	/* those that are refused do not wait in turn */
	if (!wait && *no == NULL)
		*since = 0;
	buf_release(&why);
	return !wait;
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

json_t *
cli_batch_json(const struct cli_batch *r)
{
	json_t *v = json_object();

	json_put_int(v, "found", (int64_t)r->found);
	json_put_int(v, "recovered", (int64_t)r->recovered);
	json_put_int(v, "unacknowledged", (int64_t)r->unacknowledged);
	json_put_int(v, "refused", (int64_t)r->refused);
	json_put_int(v, "failed", (int64_t)r->failed);
	if (r->cli->json_format == NULL)
		json_object_set(v, "results", r->results);
	return v;
}

static void
add_up(json_t *sum, json_t *v)
{
	const char *key;
	json_t *one, *had;

	json_object_foreach(v, key, one) {
		had = json_object_get(sum, key);
		if (json_is_array(one))
			json_array_extend(had, one);
		else if (json_is_integer(had))
			json_integer_set(had, json_integer_value(had) + json_integer_value(one));
	}
}

void
cli_batch_end_json(const struct cli_batch *r, json_t *v)
{
	if (r->cli->collected != NULL) {
		add_up(r->cli->collected, v);
		json_decref(v);
	} else {
		output_event_or_object(r->cli, "summary", v);
	}
}

void
cli_batch_print_sum(struct cli_batch *r, size_t tried)
{
	if (r->missing.len > 0 && (tried > 1 || r->mass))
		output_line(&r->say, "\nNot recovered:%s", r->missing.data);
	if (tried > 1 || r->mass)
		output_line(&r->say, "\nfound=%zu recovered=%zu unacknowledged=%zu refused=%zu failed=%zu",
		    r->found, r->recovered, r->unacknowledged, r->refused, r->failed);
}

/* What the passes of one round have in common. */
struct pass {
	size_t tried;
	bool started;			/* an agent, at the last try */
	int last;			/* status of the last try */
	int64_t short_since;		/* of memory (cli_batch_has_memory) */
};

/* False: a signal came. *no: it is not to be started. */
static bool
wait_for_start(struct cli_batch *r, size_t i, struct pass *p, bool many, const struct refusal **no)
{
	int64_t until = clock_mono_ms() + config_ms(r->w.config, "spacing");

	*no = NULL;
	if (r->mass && r->logins >= LOGINS_MOST) {
		*no = &cli_no_login;
		return true;
	}
	/* many agents that start at once fight for the machine and for the login */
	while (p->started && clock_mono_ms() < until && cli_stop_signal() == 0)
		clock_sleep_ms(50);
	while ((many || !r->named) && cli_stop_signal() == 0 &&
	    !cli_batch_has_memory(r, i, 0, &p->short_since, no))
		clock_sleep_ms(100);
	return cli_stop_signal() == 0;
}

static void
recover_next(struct cli_batch *r, size_t i, struct pass *p, size_t place, struct batch_outcome *o)
{
	const struct refusal *no;
	bool many = r->total > 1;

	if (!wait_for_start(r, i, p, many, &no))
		return;
	if (no != NULL) {
		cli_batch_refuse(r, i, no, o);
	} else {
		cli_batch_try(r, i, many ? place : 0, false, o);
		p->started = o->started;
	}
	p->last = cli_batch_note(r, i, o);
}

#define TURNS 4

/*
 * Background sessions come first, since a viewer would start its own; teammates follow their lead. That
 * of our own pane is the last: this process becomes its agent.
 */
static size_t
turn_of(const struct candidate *c)
{
	const char *team;

	if (c->background != NULL)
		return 0;
	return c->own_pane ? TURNS - 1 : candidate_teammate(c, &team) != NULL ? 2 : 1;
}

/* Those of a turn, beside each other. */
static void
recover_beside(struct cli_batch *r, struct pass *p, size_t turn, struct batch_outcome *ended)
{
	size_t *list = xcalloc(r->all.n + 1, sizeof *list), n = 0;
	struct batch_outcome *out;

	for (size_t i = 0; i < r->all.n; i++)
		if (r->chosen[i] && turn_of(&r->all.v[i]) == turn)
			list[n++] = i;
	if (n > 0) {
		out = cli_batch_overlap(r, list, n, &p->last);
		for (size_t k = 0; k < n; k++)
			ended[list[k]] = out[list[k]];
		free(out);
	}
	r->begun += n;
	free(list);
}

/* Before those that were not tried at all; takes the reference. */
static void
add_result(struct cli_batch *r, json_t *v)
{
	json_array_insert_new(r->results, json_array_size(r->results) - r->untried, v);
}

static void
recover_chosen(struct cli_batch *r, struct pass *p)
{
	static const struct err stopped = { .msg = "interrupted before it was tried" };
	struct batch_outcome *ended = xcalloc(r->all.n + 1, sizeof *ended);
	size_t total = 0, beside = 0;

	for (size_t i = 0; i < r->all.n; i++) {
		total += r->chosen[i];
		beside += r->chosen[i] && !r->all.v[i].own_pane;
	}
	r->found += total;
	p->tried += total;
	r->begun = 0;
	r->total = total;
	for (size_t turn = 0; turn < TURNS && cli_stop_signal() == 0; turn++) {
		bool first = turn == TURNS - 1 || beside <= 1 || config_int(r->w.config, "parallel") <= 1;

		if (!first)
			recover_beside(r, p, turn, ended);
		for (size_t i = 0; i < r->all.n && cli_stop_signal() == 0; i++) {
			if (!r->chosen[i] || turn_of(&r->all.v[i]) != turn || ended[i].result != NULL ||
			    ended[i].later)
				continue;
			r->begun += first;
			recover_next(r, i, p, r->begun, &ended[i]);
		}
	}
	for (size_t k = 0; k < TURNS * r->all.n; k++) {
		size_t i = k % r->all.n;

		if (!r->chosen[i] || turn_of(&r->all.v[i]) != k / r->all.n)
			continue;
		if (ended[i].result != NULL)
			add_result(r, ended[i].result);
		else if (!r->later[i])
			add_missing(r, i, &stopped);
		r->found -= r->later[i];
		p->tried -= r->later[i];
	}
	free(ended);
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
		buf_str(&names, output_name(c, 60));
	}
	if (n > NAMES_MOST)
		buf_fmt(&names, " and %zu more", n - NAMES_MOST);
	if (ms > 0)
		output_line(&r->say, "\n"
		    "waiting %lld s: someone is typing in %s", (long long)(ms + 999) / 1000,
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
	struct batch_outcome o;

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
		cli_batch_refuse(r, i, &r->no[i], &o);
		p->last = cli_batch_note(r, i, &o);
		add_result(r, o.result);
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
		r->later[i] = !r->chosen[i] && may_wait(r, i, r->no[i].name, 0);
		n += r->chosen[i] || r->later[i];
	}
	return n;
}

static void
report_refused(struct cli_batch *r, size_t i)
{
	struct recovery one;
	json_t *result;
	struct err e = ERR_INIT;

	err_set(&e, GT_REFUSED, r->no[i].name, "refused: %s", r->no[i].sentence);
	err_hint(&e, "%s", r->no[i].hint);
	add_missing(r, i, &e);
	recovery_init(&one, &r->w, &r->all.v[i]);
	result = output_recovery_json(&one, &e);
	if (r->cli->json_format != NULL)
		output_event("result", json_copy(result));
	json_array_append_new(r->results, result);
	r->untried++;
	recovery_release(&one);
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
		/* a pass of patrol meets the same ones every minute */
		if (r->cli->all)
			report_refused(r, i);
	}
}
