#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gastown/gastown.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"

#define FILE_MAX ((size_t)64 << 10)

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

#define POLL_MS 100

static int
no_lock(const char *path, struct err *e)
{
	err_set(e, GT_FAIL, "nudge-lock", "Gas Town's lock %s cannot be opened: %s", path, strerror(errno));
	return err_hint(e,
	    "without it gt and gt-recover could type into each other's text; see that the folder is yours");
}

/* The directories below the root one by one, as the names stand in the path, then the file. */
static int
open_lock(const char *root, char *path, struct err *e)
{
	int fd;

	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL;
	    slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return no_lock(path, e);
		*slash = '/';
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
	return fd >= 0 ? fd : no_lock(path, e);
}

static int
take_lock(int fd, int wait_ms, const volatile sig_atomic_t *stop, struct err *e)
{
	int64_t until = clock_mono_ms() + wait_ms;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(e, GT_FAIL, "nudge-lock", "Gas Town's nudge lock cannot be taken: %s",
			    strerror(errno));
		if (*stop != 0)
			return err_set(e, GT_AGAIN, "interrupted",
			    "stopped by you while Gas Town was typing into the session");
		if (clock_mono_ms() >= until) {
			err_set(e, GT_AGAIN, "nudge-busy",
			    "Gas Town has been typing into this session for %d seconds", wait_ms / 1000);
			return err_hint(e,
			    "nothing was typed; run gt-recover for this session again when gt nudge has "
			    "finished");
		}
		clock_sleep_ms(POLL_MS);
	}
	return 0;
}

int
nudge_lock(
    const struct town *t, const char *session, int wait_ms, const volatile sig_atomic_t *stop, struct err *e)
{
	const char *root = town_root(t);
	char *name, *path;
	int fd;

	if (root == NULL)
		return NUDGE_NONE;
	name = xstrdup(session);
	for (char *p = strchr(name, '/'); p != NULL; p = strchr(p, '/'))
		*p = '_';
	path = xasprintf("%s/.runtime/nudge_queue/%s/.lock", root, name);
	fd = open_lock(root, path, e);
	if (fd >= 0 && take_lock(fd, wait_ms, stop, e) != 0) {
		close(fd);
		fd = -1;
	}
	free(name);
	free(path);
	return fd;
}

void
nudge_unlock(int fd)
{
	if (fd >= 0)
		close(fd);
}
