#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recover/recover_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "detect/detect.h"
#include "screen/screen.h"

/* What a list shows of an agent, read without gathering. */

#define MESSAGE_ROOM ((size_t)48 << 10)	/* of a transcript */
#define TAIL ((size_t)192 << 10)		/* bytes of a long file that are looked at first */
#define SCREEN_ROWS 60
#define ID_DIGITS 16

/* A prompt of an earlier recovery has its id. */
static bool
is_recovery_prompt(const char *text)
{
	while ((text = strstr(text, "gtr-")) != NULL) {
		size_t n = 0;

		text += strlen("gtr-");
		while (isxdigit((unsigned char)text[n]))
			n++;
		if (n == ID_DIGITS)
			return true;
	}
	return false;
}

/* The exchanges at the end of a file of lines, which is much longer. */
static bool
read_tail(const char *path, const char *format, struct scrub *s, struct conversation *talk)
{
	int fd = str_ends(path, ".jsonl") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct stat st;
	struct buf b = BUF_INIT;	/* not scrubbed yet */
	const char *line;
	ssize_t n;
	bool read = false;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > (off_t)(2 * TAIL)) {
		buf_grow(&b, TAIL);
		n = pread(fd, b.data, TAIL, st.st_size - (off_t)TAIL);
		b.len = n > 0 ? (size_t)n : 0;
	}
	/* the first line has lost its beginning */
	if ((line = memchr(b.data, '\n', b.len)) != NULL)
		read = transcript_read_bytes(line + 1, (size_t)(b.data + b.len - line - 1), format, s,
			   MESSAGE_ROOM, talk, NULL) == 0;
	buf_wipe(&b);
	if (fd >= 0)
		close(fd);
	if (read && conversation_last_user(talk) == NULL) {
		conversation_release(talk);
		read = false;
	}
	return read;
}

static bool
read_end(struct app *w, const struct candidate *c, struct scrub *s, struct conversation *talk)
{
	struct transcript_found found = { .path = NULL };
	bool read = false;

	if (strcmp(c->profile->transcript, "none") == 0)
		return false;
	if (detect_find_transcript(w, c, NULL, c->session_id, &found, NULL) == 0 && found.path != NULL)
		read = read_tail(found.path, c->profile->transcript, s, talk) ||
		    transcript_read(found.path, c->profile->transcript, s, MESSAGE_ROOM, talk, NULL) == 0;
	transcript_found_release(&found);
	return read;
}

char *
gather_last_message(struct app *w, const struct candidate *c, struct scrub *s)
{
	struct conversation talk = CONVERSATION_INIT;
	char *last = NULL;

	if (!read_end(w, c, s, &talk))
		return NULL;
	for (size_t i = talk.n; i > 0 && last == NULL; i--) {
		const struct exchange *x = &talk.v[i - 1];

		if (x->role == ROLE_USER && x->tool == NULL && *x->content != '\0' &&
		    !is_recovery_prompt(x->content))
			last = xstrdup(x->content);
	}
	conversation_release(&talk);
	return last;
}

static bool
asks_on_screen(struct app *w, const struct candidate *c, struct scrub *s)
{
	struct conversation screen = CONVERSATION_INIT;
	struct capture capture;
	bool asks = false;

	if (capture_pane(app_server(w, c->pane.socket), &c->pane, false, SCREEN_ROWS, s, &capture, NULL) != 0)
		return false;
	screen_read(capture.text, capture.style, capture.width, c->profile->grammar, &screen);
	asks = screen.question != NULL;
	conversation_release(&screen);
	capture_release(&capture);
	return asks;
}

const char *
gather_live_state(struct app *w, const struct candidate *c, struct scrub *s)
{
	static const struct { const char *status, *state; } states[] = {
		{ "busy", "working" }, { "waiting", "needs permission" }, { "idle", "idle" },
		{ "shell", "idle" },
	};
	struct conversation talk = CONVERSATION_INIT;
	struct agent_pid_file note = { .status = NULL };
	const char *state = NULL;

	if (c->config_dir != NULL && c->agent_pid > 0 &&
	    agent_pid_file_read(c->config_dir, c->agent_pid, &note)) {
		for (size_t i = 0; i < sizeof states / sizeof states[0] && note.status != NULL; i++)
			if (strcmp(note.status, states[i].status) == 0)
				state = states[i].state;
		agent_pid_file_release(&note);
	}
	if (state != NULL)
		return state;
	if (asks_on_screen(w, c, s))
		return "needs permission";
	if (!read_end(w, c, s, &talk))
		return "live";
	state = talk.turn_over ? "idle" : "working";
	conversation_release(&talk);
	return state;
}
