#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transcript/transcript.h"
#include "transcript/locate/locate.h"
#include "transcript/transcript_private.h"

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

static enum exit_kind
read_end(struct transcript_tail *t)
{
	for (int i = 0; i < LINES_MOST; i++) {
		const char *line;
		bool tells;
		off_t at;
		size_t n;

		if (transcript_tail_previous(t, &at, &n, NULL) != 1 ||
		    transcript_tail_line(t, at, n, &line, &n, NULL) != 0)
			break;
		if (i == 0 && is_goodbye(line, n))
			return EXIT_CLEAN;
		if (names_version(line, n, &tells))
			return tells ? EXIT_KILLED : EXIT_UNKNOWN;
	}
	return EXIT_UNKNOWN;
}

/* copilot: the last event */
static enum exit_kind
read_last_event(struct transcript_tail *t)
{
	static const char shutdown[] = "\"type\":\"session.shutdown\"";
	const char *line;
	off_t at;
	size_t n;

	if (transcript_tail_previous(t, &at, &n, NULL) != 1 ||
	    transcript_tail_line(t, at, n, &line, &n, NULL) != 0)
		return EXIT_UNKNOWN;
	return memmem(line, n, shutdown, strlen(shutdown)) != NULL ? EXIT_CLEAN : EXIT_KILLED;
}

static enum exit_kind
read_tail(const char *transcript, enum exit_kind (*read)(struct transcript_tail *t))
{
	int fd = open(transcript, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum exit_kind how = EXIT_UNKNOWN;
	struct transcript_tail t;

	if (fd < 0)
		return how;
	if (transcript_tail_init_fd(&t, fd, NULL) == 0) {
		how = read(&t);
		transcript_tail_release(&t);
	}
	close(fd);
	return how;
}

enum exit_kind
transcript_exit_kind(const char *format, const char *transcript)
{
	if (strcmp(format, "claude") == 0)
		return read_tail(transcript, read_end);
	if (strcmp(format, "copilot") == 0)
		return read_tail(transcript, read_last_event);
	if (strcmp(format, "codex") == 0)
		return locate_last_turn(transcript) == TURN_RUNS ? EXIT_KILLED : EXIT_UNKNOWN;
	return EXIT_UNKNOWN;
}

enum exit_kind
transcript_session_exit(const char *config_dir, const char *cwd, const char *session_id)
{
	bool known = config_dir != NULL && cwd != NULL && session_id != NULL && transcript_is_id(session_id);
	char *path = known ? transcript_path(config_dir, cwd, session_id) : NULL;
	enum exit_kind how = path != NULL ? transcript_exit_kind("claude", path) : EXIT_UNKNOWN;

	free(path);
	return how;
}
