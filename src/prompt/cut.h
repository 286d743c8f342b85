#ifndef PROMPT_CUT_H
#define PROMPT_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * A foreign text on its way into a fence, within a room. Pure. All costs are of the text as the prompt will hold it, with the
 * backslashes of fence_at.
 */
struct room {
	size_t cost;		/* hundredths of a token (tokens.h) */
	size_t lines;
};

#define ROOM_ALL ((struct room){ (size_t)-1, (size_t)-1 })
bool room_holds(struct room room, struct room what);
struct room room_less(struct room room, struct room what);	/* what is left, never below 0 */
struct room room_of(const char *p, size_t n);			/* what a text takes */

/*
 * A text cleaned (fence_data), with every line that is not empty at column `indent`, and with a newline at its end unless it is empty.
 * Blank lines at the end of the source are left out.
 */
struct cut {
	struct buf text;
	struct room full;	/* of the text */
	size_t indent;
	/* of a giant only its two ends are laid out; between them stands a line of ours */
	size_t gap_at;		/* offset of that line, (size_t)-1: none */
	ssize_t gap_lines;	/* what it stands for: lines beyond those that its neighbours begin or end */
	size_t gap_bytes;
};

#define CUT_INIT { .text = BUF_INIT, .gap_at = (size_t)-1 }

/* `most` is the most that will be asked of it: memory goes with that, not with n. t is CUT_INIT or released. */
void cut_lay(struct cut *t, const char *p, size_t n, const char *nonce, size_t indent, struct room most);
void cut_release(struct cut *t);

/*
 * Appends the text; what does not fit loses its middle, where a line says how much: "… 812 lines left out …", or bytes, of a
 * long line. Takes at most the room, CUT_LEAST at least. Returns the lines left out.
 */
size_t cut_put(struct buf *out, const struct cut *t, struct room room);
#define CUT_LEAST ((struct room){ 1600, 1 })

/*
 * The newest lines that fit, as an offset into a text made by fence_data; of a last line that alone is too long its end. The text
 * has no newline behind its last line, or has one.
 */
size_t cut_tail(const char *p, size_t n, struct room room);

size_t cut_lines(const char *p, size_t n);	/* a last line without newline counts */

#endif
