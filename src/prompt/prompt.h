#ifndef PROMPT_PROMPT_H
#define PROMPT_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

struct bead;
struct buf;
struct clean_text;
struct conversation;
struct err;
struct template;

/*
 * From context to the bytes that the agent is told. Pure: no clock, no files, no randomness (nonce and id come in).
 *
 * Foreign text (conversation, scrollback, bead, git, checkpoint) stands between fence lines that carry the nonce and is said to be data; the
 * nonce inside the data is broken up. The result starts with a plain word (a leading "!" would run as a shell command, "/" as a slash
 * command), has no control characters but \n and \t, and "@" before a path character is followed by U+2060 word joiner … see prompt.c for
 * how attachments ("@/path") are neutralised.
 * It says "continue working now": a Stop hook of Gas Town submits half-done work when the agent merely answers.
 */
struct prompt_in {
	const char *recovery_id;		/* "gtr-" and 16 hex digits */
	const char *nonce;			/* 16 hex digits */
	const char *session;			/* name, escaped by us */
	const char *crash_reason;		/* "killed (signal 9)", … */
	const struct conversation *talk;	/* may be empty */
	const struct clean_text *scrollback;	/* raw text, for templates that use {{.Scrollback}}; may be NULL */
	const struct bead *bead;		/* may be NULL */
	const struct clean_text *checkpoint;	/* may be NULL */
	const struct clean_text *git;		/* may be NULL */
	const char *const *warnings;		/* our own sentences, foreign parts already clean */
	size_t n_warnings;
	size_t max_lines;			/* max_context_lines */
	size_t max_tokens;			/* max_context_tokens; 4 bytes a token until a better estimate (R85) */
};

struct prompt_stats {
	size_t tokens;			/* estimate for the whole prompt */
	size_t exchanges_kept;
	size_t exchanges_cut;		/* older ones that the budget left out */
	size_t lines_cut;
};

int prompt_build(const struct template *t, const struct prompt_in *in, struct buf *out, struct prompt_stats *stats, struct err *e);

size_t prompt_tokens(const char *p, size_t n);

/* The recovery id inside a text ("gtr-" + 16 hex) at or after `from`; NULL when there is none. Valid as long as the text. */
const char *prompt_find_id(const char *p, size_t n);

#endif
