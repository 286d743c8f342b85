#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gastown/gastown_private.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"

#define LOG_TAIL ((off_t)4 << 20)

static bool
town_log_open(struct town_log *l, const struct town *t)
{
	char *path = town_root(t) != NULL ? io_join(town_root(t), ".events.jsonl") : NULL;
	int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct stat st;
	bool ok = false;

	*l = (struct town_log){ .text = BUF_INIT };
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (st.st_size > LOG_TAIL)
			lseek(fd, st.st_size - LOG_TAIL, SEEK_SET);
		/* others may write while we read */
		ok = io_read_all(fd, path, (size_t)LOG_TAIL * 2, &l->text, NULL) == 0;
	}
	l->end = ok ? l->text.len : 0;
	if (fd >= 0)
		close(fd);
	free(path);
	return ok;
}

/* True when there is such a file; release it in any case. */
static void
town_log_release(struct town_log *l)
{
	buf_release(&l->text);
	*l = (struct town_log){ .text = BUF_INIT };
}

static bool
has_word(const char *line, size_t len, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memmem(line, len, words[i], strlen(words[i])) != NULL)
			return true;
	return false;
}

/*
 * The next older event whose line has one of these words, which keeps the others from being
 * parsed: "session_start", …. Its type may be another one all the same. New reference; NULL at
 * the oldest line.
 */
static json_t *
town_log_older(struct town_log *l, const char *const *words, size_t n)
{
	while (l->end > 0) {
		const char *nl = memrchr(l->text.data, '\n', l->end);
		size_t from = nl != NULL ? (size_t)(nl - l->text.data) + 1 : 0, len = l->end - from;
		const char *line = l->text.data + from;
		json_t *v = has_word(line, len, words, n) ? json_parse(line, len, "event", NULL) : NULL;

		l->end = from > 0 ? from - 1 : 0;
		if (v != NULL)
			return v;
	}
	return NULL;
}

#define NOTE_MAX ((size_t)4 << 10)
/* the hook runs a moment after the start; the time of a death is known to the second */
#define SLACK_MS 5000

static bool
is_within(const struct time_span *life, int64_t at)
{
	return at >= 0 && (life->began == 0 || at >= life->began - SLACK_MS) &&
	    (life->ended == 0 || at <= life->ended + SLACK_MS);
}

char *
town_start_id_in_cwd(const char *cwd, const struct time_span *life)
{
	char *path = io_join(cwd, ".runtime/session_id"), *id = NULL;
	struct buf text = BUF_INIT;
	struct stat st;

	if (stat(path, &st) == 0 &&
	    is_within(life, (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000) &&
	    io_read_file(path, NOTE_MAX, &text, NULL) == 0 && strcspn(text.data, "\r\n") > 0)
		id = xstrndup(text.data, strcspn(text.data, "\r\n"));
	buf_release(&text);
	free(path);
	return id;
}

static bool
is_ours(const char *actor, const char *at, const struct town_role *role, const char *cwd)
{
	struct town_role who;

	if (role->kind != TOWN_ROLE_NONE && town_role(actor, &who) == 0)
		return role_is(&who, role);
	return cwd != NULL && strcmp(at, cwd) == 0;
}

static char *
take_event(const json_t *v, const struct town_role *role, const char *cwd, const struct time_span *life)
{
	const json_t *payload = json_object_get(v, "payload");
	const char *id = json_text(payload, "session_id", "");

	if (strcmp(json_text(v, "type", ""), "session_start") != 0 || *id == '\0' ||
	    !is_within(life, clock_parse_iso(json_text(v, "ts", ""))) ||
	    !is_ours(json_text(v, "actor", ""), json_text(payload, "cwd", ""), role, cwd))
		return NULL;
	return xstrdup(id);
}

char *
town_start_id_in_log(
    const struct town *t, const struct town_role *role, const char *cwd, const struct time_span *life)
{
	static const char *const words[] = { "session_start" };
	struct town_log log;
	char *found = NULL;
	json_t *v;

	if (town_log_open(&log, t))
		while (found == NULL && (v = town_log_older(&log, words, 1)) != NULL) {
			found = take_event(v, role, cwd, life);
			json_decref(v);
		}
	town_log_release(&log);
	return found;
}

/* Whom an event is about: who wrote it, or whom it names. */
enum start_about { ABOUT_ACTOR, ABOUT_TARGET, ABOUT_ALL };

static const struct {
	const char *type;
	enum start_about about;
} kinds[] = {
	{ "session_start", ABOUT_ACTOR },
	{ "session_end", ABOUT_ACTOR },
	{ "session_death", ABOUT_TARGET },
	{ "handoff", ABOUT_ACTOR },
	{ "done", ABOUT_ACTOR },
	{ "sling", ABOUT_TARGET },
	{ "spawn", ABOUT_TARGET },
	{ "kill", ABOUT_TARGET },
	{ "halt", ABOUT_ALL },
};

enum { KINDS = sizeof kinds / sizeof kinds[0], START = 0 };

/* One event that matters. */
struct start_entry {
	size_t kind;
	struct town_role who;		/* TOWN_ROLE_NONE: nobody whom we know */
	struct session_start start;
};

struct session_starts {
	struct start_entry *v;		/* the newest first */
	size_t n, cap;
};

/*
 * gt writes agents as "rig/polecats/name", as "rig/name", as a session's name, or as a name
 * beside the rig.
 */
static bool
parse_agent(const struct town *t, const char *rig, const char *text, struct town_role *out)
{
	const char *slash = strchr(text, '/'), *name = slash != NULL ? slash + 1 : text;
	size_t n = slash != NULL ? (size_t)(slash - text) : strlen(rig);

	if (town_role(text, out) == 0 || (slash == NULL && town_session_role(t, text, out) == 0))
		return true;
	if (slash != NULL)
		rig = text;
	if (!role_is_part(rig, n) || !role_is_part(name, strlen(name)))
		return false;
	*out = (struct town_role){ .kind = TOWN_ROLE_POLECAT };
	memcpy(out->rig, rig, n);
	strcpy(out->name, name);
	return true;
}

static void
read_target(const struct town *t, const json_t *v, struct town_role *out)
{
	static const char *const keys[] = { "target", "agent", "polecat", "session" };
	const json_t *payload = json_object_get(v, "payload");
	const char *rig = json_text(payload, "rig", "");

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (parse_agent(t, rig, json_text(payload, keys[i], ""), out))
			return;
	if (!parse_agent(t, rig, json_text(v, "actor", ""), out))
		*out = (struct town_role){ .kind = TOWN_ROLE_NONE };
}

/* gt's own words for a death that it only found, or for what it cleared away when it was dead. */
static bool
is_found_dead(const json_t *v)
{
	const char *why = json_text(json_object_get(v, "payload"), "reason", "");

	return strncasecmp(why, "crash", 5) == 0 || strcasestr(why, "zombie") != NULL ||
	    strcasestr(why, "orphan") != NULL || strcasestr(why, "dead") != NULL ||
	    strcasestr(why, "died") != NULL;
}

static void
add_event(struct session_starts *s, const struct town *t, const json_t *v)
{
	const char *type = json_text(v, "type", "");
	struct start_entry *e;
	size_t kind = 0;

	while (kind < KINDS && strcmp(kinds[kind].type, type) != 0)
		kind++;
	if (kind == KINDS || (strcmp(type, "session_death") == 0 && is_found_dead(v)))
		return;
	s->v = vec_room(s->v, s->n, &s->cap, sizeof *s->v);
	e = &s->v[s->n++];
	*e = (struct start_entry){ .kind = kind };
	if (kinds[kind].about == ABOUT_TARGET)
		read_target(t, v, &e->who);
	else if (!parse_agent(t, "", json_text(v, "actor", ""), &e->who))
		e->who = (struct town_role){ .kind = TOWN_ROLE_NONE };
	if (kind == START) {
		e->start.session_id = xstrdup(json_text(json_object_get(v, "payload"), "session_id", ""));
		e->start.cwd = xstrdup(json_text(json_object_get(v, "payload"), "cwd", ""));
		e->start.at = clock_parse_iso(json_text(v, "ts", ""));
	}
}

struct session_starts *
town_starts_new(const struct town *t)
{
	struct session_starts *s = xcalloc(1, sizeof *s);
	const char *words[KINDS];
	struct town_log log;
	json_t *v;

	for (size_t i = 0; i < KINDS; i++)
		words[i] = kinds[i].type;
	if (town_log_open(&log, t))
		while ((v = town_log_older(&log, words, KINDS)) != NULL) {
			add_event(s, t, v);
			json_decref(v);
		}
	town_log_release(&log);
	return s;
}

void
town_starts_free(struct session_starts *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].start.session_id);
		free(s->v[i].start.cwd);
	}
	free(s->v);
	free(s);
}

static bool
is_about(const struct start_entry *e, const struct town_role *role, const char *cwd)
{
	if (kinds[e->kind].about == ABOUT_ALL)
		return true;
	if (role->kind != TOWN_ROLE_NONE && e->who.kind != TOWN_ROLE_NONE)
		return role_is(&e->who, role);
	return e->kind == START && cwd != NULL && strcmp(e->start.cwd, cwd) == 0;
}

void
town_starts_of(const struct session_starts *s, const struct town_role *role, const char *cwd,
    struct session_last_starts *out)
{
	*out = (struct session_last_starts){ .last = NULL };
	out->successor = cwd != NULL && io_has(cwd, ".runtime/handoff_to_successor");
	for (size_t i = 0; i < s->n && out->previous == NULL; i++) {
		const struct start_entry *e = &s->v[i];

		if (!is_about(e, role, cwd))
			continue;
		if (e->kind != START && out->last == NULL)
			out->after = kinds[e->kind].type;
		else if (e->kind != START)
			out->separator = kinds[e->kind].type;
		else if (out->last == NULL ||
		    (out->separator == NULL && strcmp(e->start.session_id, out->last->session_id) == 0))
			out->last = &e->start;
		else
			out->previous = &e->start;
	}
}
