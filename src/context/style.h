#ifndef CONTEXT_STYLE_H
#define CONTEXT_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/*
 * Colours and attributes of a screen, as hints for its reader. `capture-pane -e` writes them as SGR sequences whose state carries over line
 * ends (measured on tmux 3.3a): a row without any sequence looks like the end of the row above it.
 *
 * Only what every theme keeps is told: attributes, whether there is a background, and what kind of colour a bullet has, by its hue and not
 * by its number (themes dark, light and ANSI, 8 to 2^24 colours). With NO_COLOR there is nothing, so nobody may need it.
 */
enum {
	STYLE_BACK = 1,		/* the first cell has a background of its own */
	STYLE_DIM = 2,		/* the first cell is dim */
	STYLE_ITALIC = 4,	/* the first cell is italic */
	STYLE_NAME_BOLD = 8,	/* the first character at column 2 or further right, behind a marker, is bold */
	STYLE_TAIL_DIM = 16	/* the last character is dim */
};

/* What the colour of the first character says when it is an item's bullet. */
enum bullet {
	BULLET_UNKNOWN,		/* the default colour, or one that says nothing */
	BULLET_WORDS,		/* near white or near black */
	BULLET_PENDING,		/* grey */
	BULLET_OK,		/* greenish */
	BULLET_FAILED,		/* reddish */
	BULLET_ERROR		/* yellowish */
};

struct row_style {
	uint8_t marks;		/* STYLE_… or'ed; a blank row has none */
	uint8_t bullet;		/* enum bullet */
};

struct style {
	struct row_style *v;	/* one a row of the text */
	size_t n, cap;
};

/*
 * Takes every escape sequence and shift character out of the text, in place: colours, links (OSC 8), anything else. Line ends always stay; a
 * string sequence that does not end in its row loses only its head. One pass, linear. Heap; NULL when no row has anything to tell.
 */
struct style *style_strip(struct buf *text);
void style_free(struct style *s);			/* NULL is fine */

/* Keeps the first, the last n rows. NULL is fine. */
void style_head(struct style *s, size_t n);
void style_tail(struct style *s, size_t n);
/* Of row i, counted from 0; nothing known behind the last row and for NULL. */
struct row_style style_row(const struct style *s, size_t i);

#endif
