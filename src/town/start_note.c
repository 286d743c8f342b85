#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "town/start_note.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "town/town.h"

#define NOTE_MAX ((size_t)4 << 10)
#define EVENTS_TAIL ((off_t)4 << 20)
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

/* The end of the town's log of events; a first line that the cut tore apart is no JSON. */
static bool
read_events(const char *root, struct buf *out)
{
	char *path = io_join(root, ".events.jsonl");
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool ok = false;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (st.st_size > EVENTS_TAIL)
			lseek(fd, st.st_size - EVENTS_TAIL, SEEK_SET);
		/* others may write while we read */
		ok = io_read_all(fd, path, (size_t)EVENTS_TAIL * 2, out, NULL) == 0;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return ok;
}

static bool
is_ours(const char *actor, const char *at, const struct role_name *role, const char *cwd)
{
	struct role_name who;

	if (role->kind != ROLE_PLAIN && town_role(actor, &who) == 0)
		return who.kind == role->kind && strcmp(who.rig, role->rig) == 0 && strcmp(who.name, role->name) == 0;
	return cwd != NULL && strcmp(at, cwd) == 0;
}

static char *
take_event(const char *line, size_t n, const struct role_name *role, const char *cwd, const struct life *life)
{
	json_t *v = memmem(line, n, "session_start", strlen("session_start")) != NULL ? json_parse(line, n, "event", NULL) : NULL;
	const json_t *payload = json_object_get(v, "payload");
	const char *id = json_text(payload, "session_id", "");
	char *found = NULL;

	if (strcmp(json_text(v, "type", ""), "session_start") == 0 && *id != '\0' &&
	    within(life, clock_parse_iso(json_text(v, "ts", ""))) &&
	    is_ours(json_text(v, "actor", ""), json_text(payload, "cwd", ""), role, cwd))
		found = xstrdup(id);
	json_decref(v);
	return found;
}

char *
start_note_event(const struct town *t, const struct role_name *role, const char *cwd, const struct life *life)
{
	struct buf text = BUF_INIT;
	char *found = NULL;
	size_t end, from;

	if (town_root(t) == NULL || !read_events(town_root(t), &text)) {
		buf_release(&text);
		return NULL;
	}
	for (end = text.len; end > 0 && found == NULL; end = from > 0 ? from - 1 : 0) {
		const char *nl = memrchr(text.data, '\n', end);

		from = nl != NULL ? (size_t)(nl - text.data) + 1 : 0;
		found = take_event(text.data + from, end - from, role, cwd, life);
	}
	buf_release(&text);
	return found;
}
