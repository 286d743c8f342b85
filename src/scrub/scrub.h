#ifndef SCRUB_SCRUB_H
#define SCRUB_SCRUB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct buf;
struct clean_text;
struct err;
struct scrub;
struct scrub_place;

/* ---- scrub ---- */

/*
 * Text that has been through the scrubber: the only text that capture files, context, prompt and
 * mail accept. The struct is opaque and only src/scrub makes one, so the compiler carries the
 * promise. Bytes are followed by a NUL.
 */

const char *clean_bytes(const struct clean_text *t);	/* valid until clean_free; NULL gives "" */
size_t clean_len(const struct clean_text *t);
void clean_free(struct clean_text *t);			/* NULL is fine */

/*
 * What stands for a secret: [REDACTED:kind], for the second of its kind [REDACTED:kind#2] and so
 * on, the same one for the same secret in all texts of a scrubber, whatever name or spelling it
 * has there; […] on the rows into which a secret was broken. Ordinals of placeholders that a text
 * brings with it are not given again. 16,384 values are kept apart; each later one has an ordinal
 * of its own every time.
 *
 * A scrubber holds the rules and the known values of one recovery. Canaries are run when it is
 * made, a few of ours and all of the user's: rules that do not find their own samples are an
 * error, never a text that merely looks clean. A pattern of ours is compiled, and has to find its
 * canary, when a text first needs it; where that fails, rows that need it are withheld and
 * scrub_broken names it. `user_rules` is the path of a further rule file (key rules of
 * [recovery.scrub]) or NULL. NULL with err on failure.
 */
struct scrub *scrub_new(const char *user_rules, struct err *e);
void scrub_free(struct scrub *s);			/* overwrites the known values */

/*
 * For filters: what scrub_text takes out beside secrets (escape sequences, controls, invisible
 * runes, bytes that are no UTF-8) stays byte for byte outside of secrets. Secrets are still found
 * across it. A sequence that holds a secret goes. The result is not fit for a terminal, for a
 * snapshot or for a prompt: only a command that gives text back to its user sets this.
 */
void scrub_keep_controls(struct scrub *s);

/* A never-redact pattern (key allow of [recovery.scrub]). Before values are learned and texts scrubbed. */
int scrub_allow(struct scrub *s, const char *regex, struct err *e);

/*
 * A secret known by value, from the environment of the pane's processes or its start command.
 * Taken only when the name looks like a secret's and the value is at least 8 bytes with two kinds
 * of characters; kept in memory only.
 */
void scrub_learn(struct scrub *s, const char *name, const char *value);
/* KEY=VALUE strings, each ended by a NUL, as in /proc/PID/environ. */
void scrub_learn_environ(struct scrub *s, const char *block, size_t n);
/* Every value that the rules find in a text, as that of a file with credentials. */
void scrub_learn_text(struct scrub *s, const char *p, size_t n);
/*
 * A value that a rule finds in one text is replaced wherever it stands in that text and in the
 * later ones of this scrubber. This forgets those values (not the learned ones), before texts of
 * another origin.
 */
void scrub_forget(struct scrub *s);
/* How many of them there are: more than before means that an earlier text may hold one. */
size_t scrub_searched(const struct scrub *s);
/*
 * How many more values can be learned; each counts once. Beyond that they are not taken: use a
 * further scrubber.
 */
size_t scrub_room(const struct scrub *s);

/*
 * Scrubs text of a screen whose rows are `width` columns wide (0: not a screen, lines are
 * logical; -1: a screen of unknown width, as filters get it: full rows are told by their
 * neighbours). Of terminal escape sequences only colours stay, of controls tab, newline and
 * carriage return; invisible runes and those that turn the direction of the text go, but those
 * that belong to a character before them (T16, T17). Line count is kept, valid UTF-8 stays valid
 * and bytes that are none become U+FFFD. A second pass changes nothing: rows near what was
 * replaced are looked at again, as others may be joined now (with width -1 a row is full when
 * none near by is longer), and those in which something is found again and again are withheld, as
 * is a row on which a rule failed (match limit, memory): "[scrub: row withheld]". Never NULL.
 */
struct clean_text *scrub_text(struct scrub *s, const char *p, size_t n, int width);
/* The same of a text that the caller has no more use for, without a copy of it: it is empty then. */
struct clean_text *scrub_buf(struct scrub *s, struct buf *text, int width);
struct clean_text *scrub_string(struct scrub *s, const char *text);	/* NULL gives NULL */

/*
 * What was replaced in the last text: in which row (from 0), by which kind (or the row was
 * withheld) and ordinal; in no order.
 */
#define SCRUB_WITHHELD ((size_t)-1)
struct scrub_place {
	size_t row;
	size_t kind;
	unsigned ordinal;
};
const struct scrub_place *scrub_places(const struct scrub *s, size_t *n);

/* The name of a rule that does not work here, or NULL. */
const char *scrub_broken(const struct scrub *s);

/*
 * Over all texts: rows that were withheld; escape sequences, controls and invisible runes that
 * were taken out.
 */
size_t scrub_withheld(const struct scrub *s);
size_t scrub_removed(const struct scrub *s);

/* What a scrubber has replaced so far, over all its texts, kind by kind. */
size_t scrub_kinds(const struct scrub *s);
const char *scrub_kind(const struct scrub *s, size_t i, size_t *count);
size_t scrub_total(const struct scrub *s);

/*
 * Pieces of clean text stay clean: these are the only other ways to make one. A literal must be a
 * string constant of the program or text made of its own words and numbers.
 */
struct clean_text *clean_slice(const struct clean_text *t, size_t from, size_t to);
/* to these bytes of it, without a copy */
void clean_narrow(struct clean_text *t, size_t from, size_t to);
struct clean_text *clean_copy(const struct clean_text *t);

/* ---- credentials ---- */

/*
 * Teaches the scrubber the secrets in the files where programs usually keep them: of a home
 * (~/.netrc, ~/.aws/credentials, the agent's own token … the table stands in credentials.c) and
 * of a working directory (.env*). They are read into memory, learned and overwritten. At most 256
 * KiB of a file and 16 files of a directory; what is no regular file, or cannot be read, is
 * passed over. A scrubber reads each directory once in 5 s. NULL: none.
 */
void scrub_learn_files(struct scrub *s, const char *home, const char *dir);

/* The agent's own tokens in its configuration directory. */
void scrub_learn_agent_files(struct scrub *s, const char *config_dir);

/* ---- error ---- */

/*
 * Takes the secrets out of an error's words: a program that failed may have said them (tmux, gt,
 * a mailer), or a template or a configuration may hold them. Whoever writes an error down, prints
 * it or sends it calls this first; twice does no harm. `s` NULL: the built-in rules are used, and
 * words are withheld where even they do not work. An error without words, and NULL, stay as they
 * are.
 */
void scrub_error(struct err *e, struct scrub *s);

/*
 * Appends the first line of what a program said, scrubbed, then cut to so many columns, and safe
 * for a terminal. `s` as above; nothing is appended where the rules do not work. `said` may be
 * NULL.
 */
void scrub_first_line(struct buf *out, const char *said, size_t columns, struct scrub *s);

/* ---- secret_name ---- */

/*
 * Files that are known to hold secrets by nothing but their names; a path of a repository,
 * "a/b/.env". Case does not matter.
 */
bool scrub_is_secret_file(const char *path);

/* ---- stream ---- */

/*
 * Text of any size through a scrubber, in bounded memory: a window of it is scrubbed at a time,
 * with the last 512 rows (at most an eighth of the window) of the window before and as many of
 * the one behind it around what is given out, so that no seam cuts a secret that is shorter than
 * these. A value that is found in a window is sought in the whole of it and in all that follow,
 * not in those before.
 *
 * A row longer than a quarter of the window is withheld, and counted. The window holds 16 MiB
 * (STREAM_WINDOW) or 262,144 rows; the whole process then takes up to about twelve times as much
 * (make bench measures it).
 */
#define STREAM_WINDOW ((size_t)16 << 20)
#define STREAM_PLACES 10000

struct scrub_stream {
	struct scrub *s;
	int width;			/* as scrub_text's */
	size_t window;
	struct buf raw;
	size_t line;			/* where the last row of raw, which has no end yet, begins */
	size_t rows;			/* whole rows in raw */
	size_t given;			/* of these have been given out */
	size_t fresh;			/* where the first row stands that has not been in a window */
	size_t fresh_rows;		/* how many rows stand from there on */
	size_t row;			/* number of the first row of raw */
	bool dropping;			/* the row that arrives is withheld */

	/* what was replaced in what was given out */
	size_t *counts;			/* by kind (scrub_kind) */
	size_t found, changed, withheld;
	/* the first STREAM_PLACES of them, by row (from 0); then they are only counted */
	struct scrub_place *places;
	size_t n_places, cap_places;
};

void scrub_stream_init(struct scrub_stream *st, struct scrub *s, int width, size_t window);
void scrub_stream_release(struct scrub_stream *st);		/* overwrites what is not scrubbed yet */

/*
 * Takes n bytes more. Gives what is clean by now, for the caller to free, or NULL: more is
 * needed. n: at most a quarter of the window.
 */
struct clean_text *scrub_stream_put(struct scrub_stream *st, const char *p, size_t n);
/* The rest. Never NULL. */
struct clean_text *scrub_stream_end(struct scrub_stream *st);

#endif
