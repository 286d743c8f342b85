#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "town/starts.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "town/role.h"
#include "town/town.h"
#include "town/town_log.h"

/* Whom an event is about: who wrote it, or whom it names. */
enum about { ABOUT_ACTOR, ABOUT_TARGET, ABOUT_ALL };

static const struct {
	const char *type;
	enum about about;
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
struct entry {
	size_t kind;
	struct role_name who;		/* ROLE_PLAIN: nobody whom we know */
	struct start start;
};

struct starts {
	struct entry *v;		/* the newest first */
	size_t n, cap;
};

/* gt writes agents as "rig/polecats/name", as "rig/name", as a session's name, or as a name beside the rig. */
static bool
names(const struct town *t, const char *rig, const char *text, struct role_name *out)
{
	const char *slash = strchr(text, '/'), *name = slash != NULL ? slash + 1 : text;
	size_t n = slash != NULL ? (size_t)(slash - text) : strlen(rig);

	if (town_role(text, out) == 0 || (slash == NULL && town_session_role(t, text, out) == 0))
		return true;
	if (slash != NULL)
		rig = text;
	if (!role_is_part(rig, n) || !role_is_part(name, strlen(name)))
		return false;
	*out = (struct role_name){ .kind = ROLE_POLECAT };
	memcpy(out->rig, rig, n);
	strcpy(out->name, name);
	return true;
}

static void
tell_target(const struct town *t, const json_t *v, struct role_name *out)
{
	static const char *const keys[] = { "target", "agent", "polecat", "session" };
	const json_t *payload = json_object_get(v, "payload");
	const char *rig = json_text(payload, "rig", "");

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (names(t, rig, json_text(payload, keys[i], ""), out))
			return;
	if (!names(t, rig, json_text(v, "actor", ""), out))
		*out = (struct role_name){ .kind = ROLE_PLAIN };
}

/* gt's own words for a death that it only found, or for what it cleared away when it was dead. */
static bool
is_found_dead(const json_t *v)
{
	const char *why = json_text(json_object_get(v, "payload"), "reason", "");

	return strncasecmp(why, "crash", 5) == 0 || strcasestr(why, "zombie") != NULL || strcasestr(why, "orphan") != NULL ||
	    strcasestr(why, "dead") != NULL || strcasestr(why, "died") != NULL;
}

static void
take(struct starts *s, const struct town *t, const json_t *v)
{
	const char *type = json_text(v, "type", "");
	struct entry *e;
	size_t kind = 0;

	while (kind < KINDS && strcmp(kinds[kind].type, type) != 0)
		kind++;
	if (kind == KINDS || (strcmp(type, "session_death") == 0 && is_found_dead(v)))
		return;
	s->v = vec_room(s->v, s->n, &s->cap, sizeof *s->v);
	e = &s->v[s->n++];
	*e = (struct entry){ .kind = kind };
	if (kinds[kind].about == ABOUT_TARGET)
		tell_target(t, v, &e->who);
	else if (!names(t, "", json_text(v, "actor", ""), &e->who))
		e->who = (struct role_name){ .kind = ROLE_PLAIN };
	if (kind == START) {
		e->start.session_id = xstrdup(json_text(json_object_get(v, "payload"), "session_id", ""));
		e->start.cwd = xstrdup(json_text(json_object_get(v, "payload"), "cwd", ""));
		e->start.at = clock_parse_iso(json_text(v, "ts", ""));
	}
}

struct starts *
starts_new(const struct town *t)
{
	struct starts *s = xcalloc(1, sizeof *s);
	const char *words[KINDS];
	struct town_log log;
	json_t *v;

	for (size_t i = 0; i < KINDS; i++)
		words[i] = kinds[i].type;
	if (town_log_open(&log, t))
		while ((v = town_log_older(&log, words, KINDS)) != NULL) {
			take(s, t, v);
			json_decref(v);
		}
	town_log_release(&log);
	return s;
}

void
starts_free(struct starts *s)
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
is_about(const struct entry *e, const struct role_name *role, const char *cwd)
{
	if (kinds[e->kind].about == ABOUT_ALL)
		return true;
	if (role->kind != ROLE_PLAIN && e->who.kind != ROLE_PLAIN)
		return role_is(&e->who, role);
	return e->kind == START && cwd != NULL && strcmp(e->start.cwd, cwd) == 0;
}

static bool
is_handing_over(const char *cwd)
{
	char *path = cwd != NULL ? io_join(cwd, ".runtime/handoff_to_successor") : NULL;
	bool yes = path != NULL && access(path, F_OK) == 0;

	free(path);
	return yes;
}

void
starts_of(const struct starts *s, const struct role_name *role, const char *cwd, struct starts_of *out)
{
	*out = (struct starts_of){ .successor = is_handing_over(cwd) };
	for (size_t i = 0; i < s->n && out->before == NULL; i++) {
		const struct entry *e = &s->v[i];

		if (!is_about(e, role, cwd))
			continue;
		if (e->kind != START && out->last == NULL)
			out->after = kinds[e->kind].type;
		else if (e->kind != START)
			out->between = kinds[e->kind].type;
		else if (out->last == NULL || (out->between == NULL && strcmp(e->start.session_id, out->last->session_id) == 0))
			out->last = &e->start;
		else
			out->before = &e->start;
	}
}
