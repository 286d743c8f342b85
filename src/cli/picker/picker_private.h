#ifndef CLI_PICKER_PICKER_PRIVATE_H
#define CLI_PICKER_PICKER_PRIVATE_H

#include "cli/cli_private.h"

/*
 * The picker (cli/cli_private.h) in three files: what is chosen and which key does what (picker.c), the
 * curses screen (picker_screen.c), what is known of the highlighted agent (picker_preview.c). All texts are
 * escaped: no control byte of a pane reaches the terminal. Columns and lines are those of the screen.
 */

enum picker_kind { PICKER_FACT, PICKER_WARNING, PICKER_USER, PICKER_AGENT, PICKER_TOOL };

/* A line of the preview, before it is wrapped. */
struct picker_line {
	enum picker_kind kind;
	char *text;
};

struct picker_row {
	size_t place;			/* in batch.all */
	struct refusal no;		/* name NULL: may be chosen */
	bool marked;
	char *target, *state, *age, *cause, *where;
	char *words;			/* what a filter looks in, lower case */
	bool read;			/* the lines are those of picker_preview_read */
	struct picker_line *line;
	size_t n_lines, cap;
	size_t facts;			/* so many stand first: what is known beside the conversation */
};

struct picker {
	struct cli_batch *batch;
	struct picker_row *row;
	size_t n;
	size_t *shown, n_shown;		/* rows that the filter leaves */
	size_t at, top;			/* in shown: the highlighted one, the first on the screen */
	size_t back;			/* lines of the conversation scrolled back */
	struct buf filter;
	bool typing;			/* letters go into the filter */
	bool help;			/* the keys are shown in place of the preview */
	bool ascii, color;
	struct buf message;		/* in place of the keys until the next key; "" */
};

/* The highlighted row; NULL: the filter leaves none. */
struct picker_row *picker_current(const struct picker *p);

/* ---- picker_preview ---- */

/* Gathers, as `prompt` does, and keeps what is shown of it; changes nothing else. */
void picker_preview_read(struct picker *p, struct picker_row *row);
void picker_preview_release(struct picker_row *row);

/* ---- picker_screen ---- */

enum picker_key {
	PICKER_NONE = -1,		/* none within the time */
	PICKER_GONE = -2,		/* the terminal is closed */
	PICKER_UP = 0x110000, PICKER_DOWN, PICKER_PAGE_UP, PICKER_PAGE_DOWN, PICKER_FIRST, PICKER_LAST,
	PICKER_BACKSPACE, PICKER_RESIZED, PICKER_OTHER
};

/* Takes the terminal; false, and nothing is done to it, where it is not capable. */
bool picker_screen_open(struct picker *p);
/* Gives it back as it was; also done at exit and by signals that end the program. */
void picker_screen_close(void);
void picker_screen_draw(struct picker *p);
/* A rune or an enum picker_key. */
int32_t picker_screen_key(int wait_ms);
/* Lines of the list on the screen. */
size_t picker_screen_page(const struct picker *p);

#endif
