#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "records/recovery/recovery.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "process/proc.h"
#include "records/records.h"
#include "store/store.h"
#include "tmux/tmux.h"

#define N(table) (sizeof table / sizeof table[0])

static const char *const phase_names[PHASES] = { "detected", "captured", "respawned", "delivered",
	"acknowledged", "failed" };

static const struct {
	const char *key;
	size_t at;
} texts[] = {
	{ "session", offsetof(struct attempt, session) },
	{ "socket", offsetof(struct attempt, socket) },
	{ "pane_id", offsetof(struct attempt, pane_id) },
	{ "agent", offsetof(struct attempt, agent) },
	{ "class", offsetof(struct attempt, class) },
	{ "reason", offsetof(struct attempt, reason) },
	{ "cwd", offsetof(struct attempt, cwd) },
	{ "via", offsetof(struct attempt, via) },
	{ "delivery", offsetof(struct attempt, delivery) },
	{ "proof", offsetof(struct attempt, proof) },
	{ "why", offsetof(struct attempt, why) },
	{ "source", offsetof(struct attempt, source) },
	{ "transcript", offsetof(struct attempt, transcript) },
	{ "previous", offsetof(struct attempt, previous) },
	{ "remain_on_exit", offsetof(struct attempt, remain_on_exit) },
}, numbers[] = {
	{ "server_pid", offsetof(struct attempt, server_pid) },
	{ "server_start", offsetof(struct attempt, server_start) },
	{ "made_pid", offsetof(struct attempt, made_pid) },
	{ "made_start", offsetof(struct attempt, made_start) },
	{ "pane_pid", offsetof(struct attempt, pane_pid) },
	{ "new_pid", offsetof(struct attempt, new_pid) },
	{ "pid_ns", offsetof(struct attempt, pid_ns) },
	{ "pane_dead_time", offsetof(struct attempt, pane_dead_time) },
	{ "crashed_at", offsetof(struct attempt, crashed_at) },
	{ "lines", offsetof(struct attempt, lines) },
	{ "tokens", offsetof(struct attempt, tokens) },
};

static char **
attempt_text_field(const struct attempt *a, size_t i)
{
	return (char **)((uintptr_t)a + texts[i].at);
}

static int64_t *
attempt_number_field(const struct attempt *a, size_t i)
{
	return (int64_t *)((uintptr_t)a + numbers[i].at);
}

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
	for (size_t i = 0; i < N(texts); i++)
		free(*attempt_text_field(a, i));
	memset(a, 0, sizeof *a);
}

void
attempt_list_release(struct attempt_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		attempt_release(&list->v[i]);
	free(list->v);
	memset(list, 0, sizeof *list);
}

void
attempt_set(char **field, const char *value)
{
	char *copy = value != NULL ? xstrdup(value) : NULL;

	free(*field);
	*field = copy;
}

/* --- the record --- */

/* The record as it will be in `phase`, entered `now` unless it has been entered before. */
static char *
attempt_value(const struct attempt *a, enum attempt_phase phase, int64_t now)
{
	json_t *o = json_object(), *times = json_object();
	struct buf out = BUF_INIT;

	json_put(o, "id", a->id);
	for (size_t i = 0; i < N(texts); i++)
		json_put(o, texts[i].key, *attempt_text_field(a, i));
	for (size_t i = 0; i < N(numbers); i++)
		json_put_int(o, numbers[i].key, *attempt_number_field(a, i));
	json_put_flag(o, "pasted", a->pasted);
	json_put_flag(o, "stood_dead", a->was_dead);
	if (a->in_shell)
		json_put_flag(o, "in_shell", true);
	for (int p = 0; p < PHASES; p++)
		if (a->times[p] != 0 || (enum attempt_phase)p == phase)
			json_put_int(times, phase_names[p], a->times[p] != 0 ? a->times[p] : now);
	json_object_set_new(o, "times", times);
	json_print(&out, o, false);
	json_decref(o);
	return buf_detach(&out);
}

static int
attempt_from_record(const struct record *r, struct attempt *a, struct err *e)
{
	const char *id = strchr(r->key, ':') + 1;
	json_t *o = json_parse(r->value, strlen(r->value), r->key, e), *times;
	int phase = 0;

	memset(a, 0, sizeof *a);
	if (o == NULL)
		return -1;
	while (phase < PHASES && strcmp(phase_names[phase], r->tag) != 0)
		phase++;
	if (phase == PHASES || strlen(id) != sizeof a->id - 1) {
		json_decref(o);
		return err_set(
		    e, GT_FAIL, "corrupt", "the record %.40s is no attempt in a known phase", r->key);
	}
	memcpy(a->id, id, sizeof a->id);
	a->version = r->version;
	a->phase = (enum attempt_phase)phase;
	for (size_t i = 0; i < N(texts); i++)
		attempt_set(attempt_text_field(a, i), json_text(o, texts[i].key, NULL));
	for (size_t i = 0; i < N(numbers); i++)
		*attempt_number_field(a, i) = json_number(o, numbers[i].key, 0);
	a->pasted = json_flag(o, "pasted", false);
	a->was_dead = json_flag(o, "stood_dead", false);
	a->in_shell = json_flag(o, "in_shell", false);
	times = json_object_get(o, "times");
	for (int p = 0; p < PHASES; p++)
		a->times[p] = json_number(times, phase_names[p], 0);
	json_decref(o);
	return 0;
}

static char *
pane_key(const char *socket, int64_t server_pid, int64_t server_start, const char *pane_id)
{
	return record_key_on_server("pane", server_pid, server_start, pane_id, socket);
}

static char *
attempt_key(const char *id)
{
	return xasprintf("attempt:%s", id);
}

static char *
pane_value(const struct attempt *a)
{
	return xasprintf("{\"attempt\":\"%s\"}", a->id);
}

static int
commit_attempt(struct store *s, const struct change *c, size_t n, const struct attempt *a, const char *kind,
    const char *words, struct err *e)
{
	struct event ev = { .kind = kind, .subject = a->id, .session = a->session, .text = words };

	return event_commit(s, c, n, &ev, e) == COMMIT_DONE ? 0 : -1;
}

/* --- begin --- */

/* 1 with err "locked" when the pane's newest attempt is still open, 0 when it is not, -1. */
static int
pane_taken(struct store *s, const struct record *pane, struct err *e)
{
	struct attempt other;
	json_t *v;
	int found;

	if (strcmp(pane->tag, "open") != 0)
		return 0;
	v = json_parse(pane->value, strlen(pane->value), pane->key, e);
	if (v == NULL)
		return -1;
	found = attempt_load(s, json_text(v, "attempt", ""), &other, e);
	json_decref(v);
	if (found <= 0)
		return found;
	if (!attempt_phase_is_final(other.phase)) {
		err_set(e, GT_AGAIN, "locked", "the recovery %s of this pane is not finished (%s)", other.id,
		    attempt_phase_name(other.phase));
		err_hint(e, "Another gt-recover may be at work on it: run the command again in a moment");
	} else {
		found = 0;
	}
	attempt_release(&other);
	return found;
}

static int
begin_commit(struct store *s, struct attempt *a, const char *pane_name, int64_t pane_version, struct err *e)
{
	int64_t now = store_now(s);
	char *key = attempt_key(a->id), *value = attempt_value(a, PHASE_DETECTED, now),
	     *pane_json = pane_value(a);
	struct change c[] = {
		{ CHANGE_PUT, key, STORE_ABSENT, phase_names[PHASE_DETECTED], value },
		{ CHANGE_PUT, pane_name, pane_version, "open", pane_json },
	};
	struct record stored = { 0 };
	int ret = commit_attempt(s, c, N(c), a, "attempt.detected", a->reason, e);

	if (ret == 0) {
		a->times[PHASE_DETECTED] = now;
		ret = store_get(s, key, &stored, e) == 1 ? 0 : -1;
		a->version = stored.version;
		store_record_release(&stored);
	} else if (strcmp(e->name, "conflict") == 0) {
		err_set(e, GT_AGAIN, "locked",
		    "another gt-recover began to recover this pane at the same moment");
	}
	free(key);
	free(value);
	free(pane_json);
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
	    proc_is_recent(now.wall_ms - last);
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
		die("an attempt was begun twice, or without session, socket and pane");
	pane_name = pane_key(a->socket, a->server_pid, a->server_start, a->pane_id);
	a->phase = PHASE_DETECTED;
	timestamp_now(&now);
	a->pid_ns = (int64_t)now.pid_ns;
	found = store_get(s, pane_name, &pane, e);
	if (found == 0 || (found > 0 && pane_taken(s, &pane, e) == 0))
		ret = begin_commit(s, a, pane_name, pane.version, e);
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

static int
advance(
    struct store *s, struct attempt *a, enum attempt_phase phase, const struct change *also, struct err *e)
{
	int64_t now = store_now(s);
	char *key, *value, *pane_name, *pane_json, *kind;
	struct crash_added added = { NULL, NULL };
	struct change c[3];
	size_t n = 1;
	int ret = 0;

	if (a->version == 0 || !legal(a->phase, phase))
		return err_set(e, GT_FAIL, "phase", "the recovery %s cannot go from %s to %s", a->id,
		    phase_names[a->phase], phase_names[phase]);
	key = attempt_key(a->id);
	value = attempt_value(a, phase, now);
	pane_name = pane_key(a->socket, a->server_pid, a->server_start, a->pane_id);
	pane_json = pane_value(a);
	kind = xasprintf("attempt.%s", phase == a->phase ? "noted" : phase_names[phase]);
	c[0] = (struct change){ CHANGE_PUT, key, a->version, phase_names[phase], value };
	if (attempt_phase_is_final(phase))
		c[n++] = (struct change){ CHANGE_PUT, pane_name, STORE_ANY, "closed", pane_json };
	else if (phase == PHASE_RESPAWNED && a->phase < phase)
		ret = crash_add(s, a->socket, a->session, now, &added, &c[n++], e);
	if (also != NULL)
		c[n++] = *also;
	if (ret == 0)
		ret = commit_attempt(s, c, n, a, kind, phase == PHASE_FAILED ? a->why : NULL, e);
	if (ret == 0) {
		a->version++;
		a->phase = phase;
		if (a->times[phase] == 0)
			a->times[phase] = now;
	}
	free(key);
	free(value);
	free(pane_name);
	free(pane_json);
	free(kind);
	crash_added_release(&added);
	return ret;
}

int
attempt_advance(struct store *s, struct attempt *a, enum attempt_phase phase, struct err *e)
{
	return advance(s, a, phase, NULL, e);
}

int
attempt_respawn(struct store *s, struct attempt *a, const struct change *also, struct err *e)
{
	return advance(s, a, PHASE_RESPAWNED, also, e);
}

int
attempt_fail(struct store *s, struct attempt *a, const char *why, struct err *e)
{
	attempt_set(&a->why, why);
	return attempt_advance(s, a, PHASE_FAILED, e);
}

/* --- reading --- */

int
attempt_load(struct store *s, const char *id, struct attempt *out, struct err *e)
{
	char *key = attempt_key(id);
	struct record r;
	int found = store_get(s, key, &r, e);

	memset(out, 0, sizeof *out);
	if (found > 0 && attempt_from_record(&r, out, e) != 0)
		found = -1;
	store_record_release(&r);
	free(key);
	return found;
}

int
attempt_latest(struct store *s, const char *socket, int64_t server_pid, int64_t server_start,
    const char *pane_id, struct attempt *out, struct err *e)
{
	char *key = pane_key(socket, server_pid, server_start, pane_id);
	struct record r;
	json_t *v;
	int found = store_get(s, key, &r, e);

	memset(out, 0, sizeof *out);
	if (found > 0) {
		v = json_parse(r.value, strlen(r.value), key, e);
		found = v != NULL ? attempt_load(s, json_text(v, "attempt", ""), out, e) : -1;
		json_decref(v);
	}
	store_record_release(&r);
	free(key);
	return found;
}

static int
add_attempt(const struct record *r, void *arg, struct err *e)
{
	struct attempt_list *out = arg;

	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	if (attempt_from_record(r, &out->v[out->n], e) != 0)
		return -1;
	out->n++;
	return 0;
}

static int
in_phase(struct store *s, const char *tag, struct attempt_list *out, struct err *e)
{
	return store_each(s, "attempt:", tag, add_attempt, out, e);
}

int
attempt_list_open(struct store *s, struct attempt_list *out, struct err *e)
{
	for (int p = 0; p < PHASES; p++)
		if (!attempt_phase_is_final((enum attempt_phase)p) &&
		    in_phase(s, phase_names[p], out, e) != 0)
			return -1;
	return 0;
}

int
attempt_list_all(struct store *s, struct attempt_list *out, struct err *e)
{
	return in_phase(s, NULL, out, e);
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
	char *key = record_key_on_server("refused", r->server_pid, r->server_start, r->pane_id, r->socket);
	char *value = xasprintf("{\"pane_pid\":%lld}", (long long)r->pane_pid),
	     *kind = xasprintf("refusal.%s", r->name);
	struct event ev = { .kind = kind, .subject = r->pane_id, .session = r->session, .text = r->sentence };
	struct record old;
	int found = store_get(s, key, &old, e), ret = found < 0 ? -1 : 0;

	if (found == 0 || (found > 0 && !is_same_refusal(&old, r))) {
		struct change c = { CHANGE_PUT, key, old.version, r->name, value };
		enum commit answer = event_commit(s, &c, 1, &ev, e);

		/* another run that notes the same at this moment is as good */
		ret = answer == COMMIT_DONE || answer == COMMIT_CONFLICT ? 0 : -1;
	}
	store_record_release(&old);
	free(key);
	free(value);
	free(kind);
	return ret;
}
