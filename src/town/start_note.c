#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "town/start_note.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "town/role.h"
#include "town/town_log.h"

#define NOTE_MAX ((size_t)4 << 10)
/* the hook runs a moment after the start; the time of a death is known to the second */
#define SLACK_MS 5000

static bool
within(const struct life *life, int64_t at)
{
	return at >= 0 && (life->began == 0 || at >= life->began - SLACK_MS) && (life->ended == 0 || at <= life->ended + SLACK_MS);
}

char *
start_note_worktree(const char *cwd, const struct life *life)
{
	char *path = io_join(cwd, ".runtime/session_id"), *id = NULL;
	struct buf text = BUF_INIT;
	struct stat st;

	if (stat(path, &st) == 0 && within(life, (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000) &&
	    io_read_file(path, NOTE_MAX, &text, NULL) == 0 && strcspn(text.data, "\r\n") > 0)
		id = xstrndup(text.data, strcspn(text.data, "\r\n"));
	buf_release(&text);
	free(path);
	return id;
}

static bool
is_ours(const char *actor, const char *at, const struct role_name *role, const char *cwd)
{
	struct role_name who;

	if (role->kind != ROLE_PLAIN && town_role(actor, &who) == 0)
		return role_is(&who, role);
	return cwd != NULL && strcmp(at, cwd) == 0;
}

static char *
take_event(const json_t *v, const struct role_name *role, const char *cwd, const struct life *life)
{
	const json_t *payload = json_object_get(v, "payload");
	const char *id = json_text(payload, "session_id", "");

	if (strcmp(json_text(v, "type", ""), "session_start") != 0 || *id == '\0' ||
	    !within(life, clock_parse_iso(json_text(v, "ts", ""))) ||
	    !is_ours(json_text(v, "actor", ""), json_text(payload, "cwd", ""), role, cwd))
		return NULL;
	return xstrdup(id);
}

char *
start_note_event(const struct town *t, const struct role_name *role, const char *cwd, const struct life *life)
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
