#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/round.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cmd/choose.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/setup.h"
#include "cmd/told.h"
#include "ledger/refusal.h"
#include "revive/arm.h"
#include "revive/plan.h"
#include "revive/recall.h"
#include "revive/recorded.h"
#include "revive/recover.h"
#include "revive/restart.h"
#include "revive/takeup.h"
#include "town/config.h"
#include "work/bead.h"

int
round_open(struct round *r, const struct cli *cli, struct err *e)
{
	char *log_file;
	int ret = 0;

	memset(r, 0, sizeof *r);
	r->cli = cli;
	say_init(&r->say, cli);
	if (setup_world(cli, &r->w, e) != 0)
		return -1;
	r->results = json_array();
	log_file = config_path(r->w.config, "log_file");
	if (log_file != NULL && config_flag(r->w.config, "enabled"))
		ret = say_open_log(&r->say, log_file, e);
	free(log_file);
	return ret;
}

static void
forget(struct round *r)
{
	for (size_t i = 0; r->beads != NULL && i < r->all.n; i++)
		bead_release(&r->beads[i]);
	free(r->beads);
	free(r->no);
	free(r->chosen);
	candidates_release(&r->all);
	r->beads = NULL;
	r->no = NULL;
	r->chosen = NULL;
}

int
round_look(struct round *r, struct err *e)
{
	int ret;

	forget(r);
	if (r->recorded)
		ret = recorded_detect(&r->w, &r->all, e);
	else
		ret = detect(&r->w, &r->all, e) != 0 || detect_lines(&r->w, &r->all, e) != 0 ? -1 : 0;
	if (ret != 0) {
		forget(r);
		return -1;
	}
	r->beads = xcalloc(r->all.n, sizeof *r->beads);
	r->no = xcalloc(r->all.n, sizeof *r->no);
	r->chosen = xcalloc(r->all.n, sizeof *r->chosen);
	if (list_beads(&r->w, &r->all, r->beads, e) != 0)
		return -1;
	for (size_t i = 0; i < r->all.n; i++)
		r->no[i] = plan_refusal(&r->w, &r->all.v[i], &r->beads[i], false, r->cli->include_infra);
	recall_lines(&r->w, &r->all);
	return 0;
}

void
round_close(struct round *r)
{
	forget(r);
	json_decref(r->results);
	say_release(&r->say);
	setup_release(&r->w);
}

/* With --all: the login that all of them use is broken then. */
#define LOGINS_MOST 2
static const struct refusal no_login = { "login-halt", "two agents before it came up and were not logged in",
    "mend the login, then run gt-recover --all again" };

static void
count_result(struct round *r, int code)
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
note_refusal(struct round *r, const struct candidate *c, const char *name, const char *sentence)
{
	struct refused record = { .name = name, .sentence = sentence, .session = c->pane.session, .socket = c->pane.socket_path,
		.pane_id = c->pane.id, .server_pid = c->pane.server_pid, .server_start = c->pane.server_start, .pane_pid = c->pane.pid };
	struct store *store = world_store(&r->w, true, NULL);

	if (store != NULL)
		refusal_note(store, &record, NULL);
}

/* Not even tried: what befell those before it would befall it. */
static int
refuse_untried(struct round *r, const struct candidate *c, const struct refusal *no)
{
	struct recovery one;
	struct err e = ERR_INIT;
	struct buf name = BUF_INIT;

	recovery_init(&one, &r->w, c);
	err_set(&e, GT_REFUSED, no->name, "refused: %s", no->sentence);
	err_hint(&e, "%s", no->hint);
	say_foreign(&name, c->pane.session, 60);
	say_warning(&r->say, "%s: %s\n  %s", name.data, e.msg, e.hint);
	say_log(&r->say, "%s %s - refused error=%s", name.data, class_name(c->class), e.name);
	note_refusal(r, c, no->name, no->sentence);
	json_array_append_new(r->results, told_json(&one, &e));
	count_result(r, GT_REFUSED);
	if (r->ended != NULL)
		r->ended(r, &one, &e);
	recovery_release(&one);
	buf_release(&name);
	return GT_REFUSED;
}

/* Returns the exit status that this one alone would have. *started: an agent was started, well or not. */
static int
recover_one(struct round *r, const struct candidate *c, bool headed, bool *started)
{
	struct recovery one;
	struct err e = ERR_INIT;
	struct buf name = BUF_INIT, words = BUF_INIT, hint = BUF_INIT;
	int code = 0;

	recovery_init(&one, &r->w, c);
	one.named = r->named;
	one.include_infra = r->cli->include_infra;
	one.scope = r->cli->scope;
	one.via = r->cli->via;
	one.tell = told;
	one.arg = &r->say;
	say_foreign(&name, c->pane.session, 60);
	if (headed)
		say_line(&r->say, "\n%s", name.data);
	if ((c->record != NULL ? restart_recorded(&one, &e) : recover(&one, &e)) != 0) {
		code = e.code;
		say_foreign(&words, e.msg, 0);
		say_foreign(&hint, e.hint, 0);
		say_warning(&r->say, "%s: %s%s%s", name.data, words.data, hint.len > 0 ? "\n  " : "", hint.data);
	} else if (strcmp(one.attempt.proof, "transcript") != 0) {
		say_line(&r->say, "  (seen on its screen only: this agent keeps no record that could prove it)");
	}
	if (code == 0 || code == GT_UNACKED)
		told_attach(&r->say, &c->pane);
	say_log(&r->say, "%s %s %s %s %s%s%s", name.data, class_name(c->class), one.attempt.version > 0 ? one.attempt.id : "-",
	    one.attempt.version > 0 ? phase_name(one.attempt.phase) : "refused",
	    one.attempt.proof != NULL ? one.attempt.proof : "", code != 0 ? " error=" : "",
	    e.name);
	if (code == GT_REFUSED)
		note_refusal(r, c, e.name, e.msg + (str_starts(e.msg, "refused: ") ? strlen("refused: ") : 0));
	*started = one.attempt.times[PHASE_RESPAWNED] != 0;
	r->logins += code != 0 && strcmp(e.name, "login") == 0;
	json_array_append_new(r->results, told_json(&one, &e));
	count_result(r, code);
	if (r->ended != NULL)
		r->ended(r, &one, &e);
	recovery_release(&one);
	buf_release(&name);
	buf_release(&words);
	buf_release(&hint);
	return code;
}

static int
overall(const struct round *r, size_t tried, int last)
{
	if (tried <= 1 || r->recovered == tried)
		return last;
	if (r->recovered > 0)
		return GT_SOME;
	if (r->again == tried)
		return GT_AGAIN;
	return r->refused >= tried && r->failed + r->unacknowledged == 0 ? GT_REFUSED : r->unacknowledged == tried ? GT_UNACKED : GT_FAIL;
}

void
round_sum(struct round *r, size_t tried)
{
	if (tried > 1 || r->mass)
		say_line(&r->say, "\nfound=%zu recovered=%zu unacknowledged=%zu refused=%zu failed=%zu", r->found, r->recovered,
		    r->unacknowledged, r->refused, r->failed);
}

int
round_recover(struct round *r)
{
	int64_t spacing = config_ms(r->w.config, "spacing");
	size_t total = 0;
	bool started = false;
	int last = GT_NOTHING;

	for (size_t i = 0; i < r->all.n; i++)
		total += r->chosen[i];
	r->found += total;
	for (size_t i = 0; i < r->all.n && setup_stopped() == 0; i++) {
		if (!r->chosen[i])
			continue;
		if (r->mass && r->logins >= LOGINS_MOST) {
			last = refuse_untried(r, &r->all.v[i], &no_login);
			continue;
		}
		/* many agents that start at once fight for the machine and for the login */
		for (int64_t until = clock_mono_ms() + spacing; started && clock_mono_ms() < until && setup_stopped() == 0; )
			clock_sleep_ms(50);
		last = recover_one(r, &r->all.v[i], total > 1, &started);
	}
	round_sum(r, total);
	return overall(r, total, last);
}

size_t
round_choose(struct round *r)
{
	size_t n = 0;

	takeup_pending(&r->w, &r->all, r->chosen);
	for (size_t i = 0; i < r->all.n; i++) {
		r->chosen[i] = r->chosen[i] || r->no[i].name == NULL;
		n += r->chosen[i];
	}
	return n;
}

void
round_count_refused(struct round *r)
{
	for (size_t i = 0; i < r->all.n; i++) {
		const struct candidate *c = &r->all.v[i];

		if (r->chosen[i] || !candidate_crashed(c) || r->no[i].name == NULL)
			continue;
		r->found++;
		r->refused++;
		note_refusal(r, c, r->no[i].name, r->no[i].sentence);
	}
}

static void
print_planned(const struct round *r, size_t i)
{
	const struct candidate *c = &r->all.v[i];
	struct buf name = BUF_INIT, age = BUF_INIT, lines = BUF_INIT;
	size_t pad;

	say_foreign(&name, c->pane.session, 40);
	pad = utf8_width(name.data, name.len) < 24 ? 24 - utf8_width(name.data, name.len) : 0;
	choose_age(&age, c);
	say_short(&lines, candidate_lines(c));
	printf("%s %s%*s  %-20s ", r->chosen[i] ? "would recover" : "would not    ", name.data, (int)pad, "", age.data);
	if (r->chosen[i] && !class_crashed(c->class))
		puts("started already, to be looked after until it has taken its prompt up");
	else if (r->chosen[i])
		printf("%s%s, %s, %s\n", c->record != NULL ? "its record alone" : lines.data, c->record != NULL ? "" : " lines context", class_name(c->class), c->profile->name);
	else
		printf("%s (%s)\n", r->no[i].sentence, r->no[i].name);
	buf_release(&name);
	buf_release(&age);
	buf_release(&lines);
}

void
round_plan(struct round *r)
{
	struct armed_list armed = { .n = 0 };
	json_t *v, *sessions;

	if (r->cli->json) {
		list_armed(&r->w, &armed);
		v = say_object();
		sessions = json_array();
		for (size_t i = 0; i < r->all.n; i++)
			if (r->chosen[i] || candidate_crashed(&r->all.v[i]))
				json_array_append_new(sessions, list_json(&r->all.v[i], &r->beads[i], &r->no[i],
				    arm_holds(&armed, &r->all.v[i])));
		json_put_flag(v, "dry_run", true);
		json_object_set_new(v, "sessions", sessions);
		say_json(v);
		armed_list_release(&armed);
		return;
	}
	/* first what would be done */
	for (int would = 1; would >= 0; would--)
		for (size_t i = 0; i < r->all.n; i++)
			if (r->chosen[i] == would && (would || (candidate_crashed(&r->all.v[i]) && r->no[i].name != NULL)))
				print_planned(r, i);
}

