#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context/parting.h"
#include "context/trail.h"
#include "context/transcript_place.h"
#include "context/transcript_tail.h"

/* How far from the end a record is looked for that names the version: the last ones of 2.1.330 do not. */
#define LINES_MOST 60

static bool
is_goodbye(const char *line, size_t n)
{
	static const char *const marks[] = { "{\"type\":\"last-prompt\"", "{\"type\":\"cost-state\"" };
	bool yes = false;

	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
		yes = yes || (n > strlen(marks[i]) && memcmp(line, marks[i], strlen(marks[i])) == 0);
	return yes;
}

/* Inside a JSON string the quotes would be escaped: this is a key. */
static bool
names_version(const char *line, size_t n, bool *tells)
{
	static const char key[] = "\"version\":\"";
	const char *at = memmem(line, n, key, strlen(key));
	char text[32];
	size_t left;
	int v[3];

	if (at == NULL)
		return false;
	at += strlen(key);
	left = (size_t)(line + n - at);
	snprintf(text, sizeof text, "%.*s", (int)(left < sizeof text ? left : sizeof text - 1), at);
	*tells = sscanf(text, "%d.%d.%d", &v[0], &v[1], &v[2]) == 3 &&
	    (v[0] > 2 || (v[0] == 2 && (v[1] > 1 || (v[1] == 1 && v[2] >= 197))));
	return true;
}

static enum parting
read_end(struct tail *t)
{
	for (int i = 0; i < LINES_MOST; i++) {
		const char *line;
		bool tells;
		off_t at;
		size_t n;

		if (tail_previous(t, &at, &n, NULL) != 1 || tail_line(t, at, n, &line, &n, NULL) != 0)
			break;
		if (i == 0 && is_goodbye(line, n))
			return PARTING_GOODBYE;
		if (names_version(line, n, &tells))
			return tells ? PARTING_NONE : PARTING_UNKNOWN;
	}
	return PARTING_UNKNOWN;
}

/* copilot: the last event */
static enum parting
read_last_event(struct tail *t)
{
	static const char shutdown[] = "\"type\":\"session.shutdown\"";
	const char *line;
	off_t at;
	size_t n;

	if (tail_previous(t, &at, &n, NULL) != 1 || tail_line(t, at, n, &line, &n, NULL) != 0)
		return PARTING_UNKNOWN;
	return memmem(line, n, shutdown, strlen(shutdown)) != NULL ? PARTING_GOODBYE : PARTING_NONE;
}

static enum parting
read_tail(const char *transcript, enum parting (*read)(struct tail *t))
{
	int fd = open(transcript, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum parting how = PARTING_UNKNOWN;
	struct tail t;

	if (fd < 0)
		return how;
	if (tail_init_file(&t, fd, NULL) == 0) {
		how = read(&t);
		tail_release(&t);
	}
	close(fd);
	return how;
}

enum parting
parting_of(const char *format, const char *transcript)
{
	if (strcmp(format, "claude") == 0)
		return read_tail(transcript, read_end);
	if (strcmp(format, "copilot") == 0)
		return read_tail(transcript, read_last_event);
	if (strcmp(format, "codex") == 0)
		return trail_turn(transcript) == TURN_RUNS ? PARTING_NONE : PARTING_UNKNOWN;
	return PARTING_UNKNOWN;
}

enum parting
parting_of_session(const char *config_dir, const char *cwd, const char *session_id)
{
	bool known = config_dir != NULL && cwd != NULL && session_id != NULL && transcript_is_id(session_id);
	char *path = known ? transcript_path(config_dir, cwd, session_id) : NULL;
	enum parting how = path != NULL ? parting_of("claude", path) : PARTING_UNKNOWN;

	free(path);
	return how;
}
