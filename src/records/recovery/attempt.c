#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "records/recovery/recovery.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "process/proc.h"
#include "records/records_private.h"
#include "tmux/tmux.h"

static const char *const phase_names[PHASES] = { "detected", "captured", "respawned", "delivered",
	"acknowledged", "failed" };

static const struct record_field times[] = {
	F_INT(attempt, "detected", times[PHASE_DETECTED], FIELD_OPTIONAL, 0),
	F_INT(attempt, "captured", times[PHASE_CAPTURED], FIELD_OPTIONAL, 0),
	F_INT(attempt, "respawned", times[PHASE_RESPAWNED], FIELD_OPTIONAL, 0),
	F_INT(attempt, "delivered", times[PHASE_DELIVERED], FIELD_OPTIONAL, 0),
	F_INT(attempt, "acknowledged", times[PHASE_ACKNOWLEDGED], FIELD_OPTIONAL, 0),
	F_INT(attempt, "failed", times[PHASE_FAILED], FIELD_OPTIONAL, 0),
};
static bool
is_in_shell(const void *attempt)
{
	return ((const struct attempt *)attempt)->in_shell;
}

/* The last phase that it entered: each one has its time. */
static const char *
last_phase(const void *attempt)
{
	const struct attempt *a = attempt;
	size_t phase = PHASES - 1;

	while (phase > 0 && a->times[phase] == 0)
		phase--;
	return phase_names[phase];
}

static const struct record_field fields[] = {
	F_WORD(attempt, "id", id, 0),
	F_TEXT(attempt, "session", session, 0),
	F_TEXT(attempt, "socket", socket, 0),
	F_TEXT(attempt, "pane_id", pane_id, 0),
	F_TEXT(attempt, "agent", agent, 0),
	F_TEXT(attempt, "class", class, 0),
	F_TEXT(attempt, "reason", reason, 0),
	F_TEXT(attempt, "cwd", cwd, 0),
	F_TEXT(attempt, "via", via, 0),
	F_TEXT(attempt, "delivery", delivery, 0),
	F_TEXT(attempt, "proof", proof, 0),
	F_TEXT(attempt, "why", why, 0),
	F_TEXT(attempt, "source", source, 0),
	F_TEXT(attempt, "transcript", transcript, 0),
	F_TEXT(attempt, "previous", previous, 0),
	F_TEXT(attempt, "remain_on_exit", remain_on_exit, 0),
	F_INT(attempt, "server_pid", server_pid, 0, 0),
	F_INT(attempt, "server_start", server_start, 0, 0),
	F_INT(attempt, "made_pid", made_pid, 0, 0),
	F_INT(attempt, "made_start", made_start, 0, 0),
	F_INT(attempt, "pane_pid", pane_pid, 0, 0),
	F_INT(attempt, "new_pid", new_pid, 0, 0),
	F_INT(attempt, "pid_ns", pid_ns, 0, 0),
	F_INT(attempt, "pane_dead_time", pane_dead_time, 0, 0),
	F_INT(attempt, "crashed_at", crashed_at, 0, 0),
	F_INT(attempt, "lines", lines, 0, 0),
	F_INT(attempt, "tokens", tokens, 0, 0),
	F_FLAG(attempt, "pasted", pasted),
	F_FLAG(attempt, "stood_dead", was_dead),
	F_FLAG_WHEN(attempt, "in_shell", in_shell, is_in_shell),
	F_OBJECT("times", times, NULL),
};
const struct record_type attempt_type = { .prefix = "attempt:", RECORD_SELF(attempt),
	.id = offsetof(struct attempt, id), .id_size = FIELD_SIZE(attempt, id),
	RECORD_STATE(attempt, phase, phase_names), .tag = last_phase,
	.refusal = "is not an attempt in a known phase", .fields = FIELDS(fields) };

const char *
attempt_phase_name(enum attempt_phase p)
{
	return phase_names[p];
}

bool
attempt_phase_is_final(enum attempt_phase p)
{
	return p == PHASE_ACKNOWLEDGED || p == PHASE_FAILED;
}

void
attempt_init(struct attempt *a)
{
	memset(a, 0, sizeof *a);
	memcpy(a->id, "gtr-", 4);
	io_random_hex(a->id + 4, 8);
}

void
attempt_release(struct attempt *a)
{
	record_free(&attempt_type, a);
}

void
attempt_list_release(struct attempt_list *list)
{
	record_list_free(&attempt_type, list);
}

/* --- the record --- */

static char *
pane_key(const struct attempt *a)
{
	return record_key_on_server("pane", a->server_pid, a->server_start, a->pane_id, a->socket);
}

static char *
pane_value(const struct attempt *a)
{
	return xasprintf("{\"attempt\":\"%s\"}", a->id);
}

/* The record as it is in that phase, entered `now` unless it was before; the event goes with it. */
static void
put_attempt(struct txn *t, const struct attempt *a, enum attempt_phase phase, int64_t now)
{
	char *kind = xasprintf(
	    "attempt.%s", phase == a->phase && a->version != 0 ? "noted" : phase_names[phase]);
	struct attempt next = *a;

	next.phase = phase;
	if (next.times[phase] == 0)
		next.times[phase] = now;
	txn_put(t, &attempt_type, &next);
	txn_event(t, kind, a->id, a->session,
	    a->version == 0 ? a->reason : phase == PHASE_FAILED ? a->why : NULL);
	txn_event_on(t, a->socket);
	free(kind);
}

/* The attempt that the record of a pane names; 1 found, 0 absent, -1. */
static int
load_named(struct store *s, const struct record *pane, struct attempt *out, struct err *e)
{
	json_t *v = json_parse(pane->value, strlen(pane->value), pane->key, e);
	int found = v != NULL ? attempt_load(s, json_text(v, "attempt", ""), out, e) : -1;

	json_decref(v);
	return found;
}

/* --- begin --- */

/* 1 with err "locked" when the pane's newest attempt is still open, 0 when it is not, -1. */
static int
pane_taken(struct store *s, const struct record *pane, struct err *e)
{
	struct attempt other;
	int found = strcmp(pane->tag, "open") == 0 ? load_named(s, pane, &other, e) : 0;

	if (found <= 0)
		return found;
	if (!attempt_phase_is_final(other.phase)) {
		err_set(e, GT_AGAIN, "locked", "the recovery %s of this pane is not finished (%s)", other.id,
		    attempt_phase_name(other.phase));
		err_hint(e, "Another gt-recover may be running: run the command again in a moment");
	} else {
		found = 0;
	}
	attempt_release(&other);
	return found;
}

static int
begin_commit(struct store *s, struct attempt *a, int64_t pane_version, struct err *e)
{
	struct txn t = { .s = s };
	int64_t now = store_now(s);
	int ret;

	put_attempt(&t, a, PHASE_DETECTED, now);
	txn_write(&t, pane_key(a), pane_version, "open", pane_value(a));
	ret = txn_commit(&t, e) == COMMIT_DONE ? 0 : -1;
	if (ret == 0) {
		a->times[PHASE_DETECTED] = now;
		ret = record_read_version(s, &attempt_type, a, e) == 1 ? 0 : -1;
	} else if (strcmp(e->name, "conflict") == 0) {
		err_set(e, GT_AGAIN, "locked",
		    "another gt-recover started to recover this pane at the same time");
	}
	return ret;
}

bool
attempt_is_contained(const struct attempt *a)
{
	struct timestamp now;
	int64_t last = 0;

	timestamp_now(&now);
	for (int i = 0; i < PHASES; i++)
		if (a->times[i] > last)
			last = a->times[i];
	return last > now.wall_ms - now.boot_ms && timestamp_other_space((uint64_t)a->pid_ns, &now) &&
	    proc_life_in((uint64_t)a->pid_ns, 0, 0, &now) == LIFE_ELSEWHERE &&
	    now.wall_ms - last <= PROC_SEEN_MS;
}

int
attempt_begin(struct store *s, struct attempt *a, struct err *e)
{
	struct record pane = { 0 };
	struct err own = ERR_INIT;
	struct timestamp now;
	char *pane_name;
	int ret = -1, found;

	if (e == NULL)
		e = &own;
	if (a->session == NULL || a->socket == NULL || a->pane_id == NULL || a->version != 0)
		die("an attempt was started twice, or without session, socket and pane");
	pane_name = pane_key(a);
	a->phase = PHASE_DETECTED;
	timestamp_now(&now);
	a->pid_ns = (int64_t)now.pid_ns;
	found = store_get(s, pane_name, &pane, e);
	if (found == 0 || (found > 0 && pane_taken(s, &pane, e) == 0))
		ret = begin_commit(s, a, pane.version, e);
	store_record_release(&pane);
	free(pane_name);
	return ret;
}

/* --- advance --- */

static bool
legal(enum attempt_phase from, enum attempt_phase to)
{
	if (attempt_phase_is_final(from))
		return false;
	if (from == to || to == PHASE_FAILED)
		return true;
	return from == PHASE_DETECTED ? to == PHASE_CAPTURED : to > from;
}

/* In the commit of what t holds already. */
static int
advance(struct txn *t, struct attempt *a, enum attempt_phase phase, struct err *e)
{
	int64_t now = store_now(t->s);
	int ret = 0;

	if (a->version == 0 || !legal(a->phase, phase))
		ret = err_set(e, GT_FAIL, "phase", "the recovery %s cannot go from %s to %s", a->id,
		    phase_names[a->phase], phase_names[phase]);
	else if (attempt_phase_is_final(phase))
		txn_write(t, pane_key(a), STORE_ANY, "closed", pane_value(a));
	else if (phase == PHASE_RESPAWNED && a->phase < phase)
		ret = crash_add(t, a->socket, a->session, now, e);
	if (ret == 0) {
		put_attempt(t, a, phase, now);
		ret = txn_commit(t, e) == COMMIT_DONE ? 0 : -1;
	}
	txn_release(t);
	if (ret != 0)
		return -1;
	a->version++;
	a->phase = phase;
	if (a->times[phase] == 0)
		a->times[phase] = now;
	return 0;
}

int
attempt_advance(struct store *s, struct attempt *a, enum attempt_phase phase, struct err *e)
{
	struct txn t = { .s = s };

	return advance(&t, a, phase, e);
}

int
attempt_respawn(struct txn *t, struct attempt *a, struct err *e)
{
	return advance(t, a, PHASE_RESPAWNED, e);
}

int
attempt_fail(struct store *s, struct attempt *a, const char *why, struct err *e)
{
	record_set(&a->why, why);
	return attempt_advance(s, a, PHASE_FAILED, e);
}

/* --- reading --- */

int
attempt_load(struct store *s, const char *id, struct attempt *out, struct err *e)
{
	return record_load(s, &attempt_type, id, out, e);
}

int
attempt_latest(struct store *s, const char *socket, int64_t server_pid, int64_t server_start,
    const char *pane_id, struct attempt *out, struct err *e)
{
	char *key = record_key_on_server("pane", server_pid, server_start, pane_id, socket);
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(out, 0, sizeof *out);
	if (found > 0)
		found = load_named(s, &r, out, e);
	store_record_release(&r);
	free(key);
	return found;
}

int
attempt_list_open(struct store *s, struct attempt_list *out, struct err *e)
{
	for (int p = 0; p < PHASES; p++)
		if (!attempt_phase_is_final((enum attempt_phase)p) &&
		    record_list_read(s, &attempt_type, phase_names[p], out, e) != 0)
			return -1;
	return 0;
}

int
attempt_list_all(struct store *s, struct attempt_list *out, struct err *e)
{
	return record_list_read(s, &attempt_type, NULL, out, e);
}

bool
attempt_started(const struct pane *p, const char *recovery_id)
{
	return strstr(p->start_command, recovery_id) != NULL;
}

bool
attempt_id_of_pane(const struct pane *p, char id[21])
{
	const char *at = p->start_command;

	while ((at = strstr(at, "/prompts/gtr-")) != NULL) {
		at += strlen("/prompts/");
		if (strspn(at + 4, "0123456789abcdef") == 16 && strncmp(at + 20, ".txt", 4) == 0) {
			memcpy(id, at, 20);
			id[20] = '\0';
			return true;
		}
	}
	return false;
}

static bool
is_same_refusal(const struct record *old, const struct refusal_record *r)
{
	json_t *v = json_parse(old->value, strlen(old->value), old->key, NULL);
	bool yes = strcmp(old->tag, r->name) == 0 && json_number(v, "pane_pid", -1) == r->pane_pid;

	json_decref(v);
	return yes;
}

int
attempt_note_refusal(struct store *s, const struct refusal_record *r, struct err *e)
{
	char *key = record_key_on_server("refused", r->server_pid, r->server_start, r->pane_id, r->socket),
	     *kind = xasprintf("refusal.%s", r->name);
	struct txn t = { .s = s };
	enum commit answer = COMMIT_DONE;
	struct record old;
	int found = store_get(s, key, &old, e);

	if (found == 0 || (found > 0 && !is_same_refusal(&old, r))) {
		txn_write(&t, xstrdup(key), old.version, r->name,
		    xasprintf("{\"pane_pid\":%lld}", (long long)r->pane_pid));
		txn_event(&t, kind, r->pane_id, r->session, r->sentence);
		txn_event_on(&t, r->socket);
		answer = txn_commit(&t, e);
	}
	store_record_release(&old);
	free(key);
	free(kind);
	/* another run that notes the same at this moment is as good */
	return found >= 0 && (answer == COMMIT_DONE || answer == COMMIT_CONFLICT) ? 0 : -1;
}
