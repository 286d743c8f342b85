#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "town/heartbeat.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "town/role.h"
#include "town/town.h"

#define FILE_MAX ((size_t)64 << 10)
#define BEAT_MS ((int64_t)3 * 60 * 1000)

static bool
read_note(const struct town *t, const char *folder, const char *session, const char *ending, struct buf *out)
{
	char *path;
	bool ok;

	if (town_root(t) == NULL || !role_is_part(session, strlen(session)))
		return false;
	path = xasprintf("%s/.runtime/%s/%s%s", town_root(t), folder, session, ending);
	ok = io_read_file(path, FILE_MAX, out, NULL) == 0;
	free(path);
	return ok;
}

bool
heartbeat_read(const struct town *t, const char *session, struct heartbeat *out)
{
	struct buf text = BUF_INIT;
	json_t *v = NULL;
	bool ok;

	*out = (struct heartbeat){ .at = -1 };
	if (read_note(t, "heartbeats", session, ".json", &text))
		v = json_parse(text.data, text.len, "heartbeat", NULL);
	ok = json_is_object(v);
	if (ok) {
		out->at = clock_parse_iso(json_text(v, "timestamp", ""));
		snprintf(out->state, sizeof out->state, "%s", json_text(v, "state", ""));
		if (out->state[0] == '\0')
			snprintf(out->state, sizeof out->state, "working");
		snprintf(out->bead, sizeof out->bead, "%s", json_text(v, "bead", ""));
	}
	json_decref(v);
	buf_release(&text);
	return ok;
}

bool
heartbeat_stale(const struct heartbeat *h, int64_t now)
{
	return h->at >= 0 && now - h->at >= 3 * BEAT_MS;
}

bool
heartbeat_pid(const struct town *t, const char *session, struct noted_pid *out)
{
	struct buf text = BUF_INIT;
	char *end = NULL;
	long pid = 0;

	*out = (struct noted_pid){ .pid = 0 };
	if (read_note(t, "pids", session, ".pid", &text)) {
		pid = strtol(text.data, &end, 10);
		if (pid > 0 && pid <= INT_MAX && (*end == '|' || *end == '\n' || *end == '\0')) {
			out->pid = (pid_t)pid;
			snprintf(out->start, sizeof out->start, "%.*s", *end == '|' ? (int)strcspn(end + 1, "\r\n") : 0, end + (*end == '|'));
		}
	}
	buf_release(&text);
	return out->pid > 0;
}
