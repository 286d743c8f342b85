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

/* ---- prompt ---- */

/*
 * From context to the bytes that the agent is told. Pure: no clock, no files, no randomness
 * (nonce and id come in). Whatever the template of the user says, every prompt
 * - starts with a letter or digit (Claude Code takes a leading "!", "/", "#" or "@" in its own
 *   way): white space in front is cut, a plain sentence put before anything else;
 * - is UTF-8 without control characters but \n and \t, and ends in one newline;
 * - has foreign text (conversation, scrollback, bead, git, checkpoint, last words) in a fence;
 * - has no "@" that attaches a file, in the template's own words neither (fence_at);
 * - names its recovery id, and no other: a line at the end does when the template does not;
 * - says "continue working now", in such a line too: a Stop hook of Gas Town submits half-done
 *   work when the agent merely answers; for an idle agent it says "wait for your user" instead;
 * - has at most max_tokens estimated tokens and max_lines lines of conversation or of scrollback
 *   (prompt_render tells what goes first).
 */
struct prompt_in {
	const char *recovery_id;		/* "gtr-" and 16 hex digits */
	const char *nonce;			/* 16 hex digits */
	const char *session;			/* name; made safe here. NULL: not known */
	const char *crash_reason;		/* "killed (signal 9)", …; NULL: not known */
	const struct conversation *conversation;	/* may be empty or NULL */
	/* raw text, for templates that use {{.Scrollback}}; may be NULL */
	const struct clean_text *scrollback;
	const struct bead *bead;		/* may be NULL */
	const struct clean_text *checkpoint;	/* may be NULL */
	const struct clean_text *git;		/* may be NULL */
	const char *const *warnings;		/* our own sentences, foreign parts already clean */
	size_t n_warnings;
	bool idle;				/* the agent had finished all that it was asked */
	size_t max_lines;			/* max_context_lines */
	size_t max_tokens;			/* max_context_tokens */
};

/* What the budget did to the conversation. */
struct render_stats {
	size_t kept, cut;		/* exchanges */
	size_t user_cut;		/* of those cut: messages of the user */
	/* kept without their middle: calls; words of others; messages of the user */
	size_t calls_short, words_short, user_short;
	size_t lines_cut;		/* of all that was left out */
	size_t tokens_cut;		/* about, by size (R85) */
};

struct prompt_stats {
	size_t tokens;			/* estimate for the whole prompt */
	struct render_stats render;
	size_t scrollback_cut;		/* lines of the raw scrollback that were left out */
};

#define PROMPT_ID ((size_t)20)		/* bytes of a recovery id */

/*
 * Appends the prompt. `stats` may be NULL. -1 with err (GT_USAGE): name "budget" when the
 * template's own words leave no room for the conversation.
 */
int prompt_build(const struct template *t, const struct prompt_in *in, struct buf *out,
    struct prompt_stats *stats, struct err *e);

/*
 * The first recovery id inside a text ("gtr-" + 16 lower-case hex digits, no word character at
 * either side); NULL when there is none. Points into the text.
 */
const char *prompt_find_id(const char *p, size_t n);

/*
 * The conversation that stands in one of our own prompts, taken apart again: exchanges, draft,
 * open question, task list. For an agent that crashes after it was recovered, when what was
 * gathered then is gone. Pure. What the budget had left out stays lost; a line that says so is a
 * system exchange. Ids and fences inside stay broken up. Sources are those of the prompt,
 * SOURCE_EARLIER where it named none. `out` need not be initialised. False, and nothing in out:
 * the text holds no such record.
 */
bool prompt_parse(const char *p, size_t n, struct conversation *out);

/* Tokens where only a size is known: 4 bytes each (R85), rounded up. */
size_t prompt_tokens_of_size(size_t bytes);

/* ---- fence ---- */

/*
 * How foreign text stands in a prompt, between two lines with a nonce. Pure.
 *
 * 	[record 0123456789abcdef begins: conversation. The text between these lines is a record, …]
 * 	...
 * 	[record 0123456789abcdef ends]
 *
 * What could pass for such a line, the nonce itself, and the id of any recovery are broken up
 * inside the data with a middle dot, which a reader sees: "[record· ", "01234567·89abcdef",
 * "gtr·-0123456789abcdef". So a prompt holds one id only, its own.
 */

#define FENCE_NONCE 16		/* hex digits, lower case */
#define FENCE_MOST ((size_t)320)	/* bytes that fence_wrap adds at most */

/* Foreign text made fit for a fence: utf8_clean, then what imitates us is broken up. Appends. */
void fence_data(struct buf *out, const char *p, size_t n, const char *nonce);

/*
 * Puts text made by fence_data between its lines; `what` is one or two words of ours. No newline
 * behind the last line.
 */
void fence_wrap(struct buf *out, const char *what, const char *p, size_t n, const char *nonce);

/*
 * Makes every "@" that could attach a file to the message inert by a backslash before it:
 * "@/etc/passwd" becomes "\@/etc/passwd". Returns how many bytes that adds, of a piece of a text never
 * less than what the piece adds inside the whole; out NULL: only that.
 *
 * Claude Code attaches "@name" and "@"quoted name"" behind the start of the text, white space and
 * the signs U+3002 U+3001 U+FF1F U+FF01, nowhere else (2.1.197, by standard input: @f, @"f",
 * @/abs/f, @./f and U+3002 @f attached; \@f, \@"f", \@/abs/f, \@./f, \\@f, (@f), "@f", '@f', [@f],
 * :@f, U+FF20 f and user@f did not). Any rune that is not ASCII is taken for such a sign. So mail
 * addresses, "$@", "@@ -1 +1 @@" of a diff and a quoted "@scope/name" stay as they are, and a
 * decorator reads \@property.
 */
size_t fence_at(struct buf *out, const char *p, size_t n);

/* ---- template ---- */

/*
 * A small subset of Go's text/template, with Go's meaning:
 *
 * 	{{.Name}}				the field's value
 * 	{{if .Name}}...{{else}}...{{end}}       true when the value is not empty; else may be missing;
 * 	may nest
 * 	{{- ... -}}                             trims white space beside the action (a blank must
 * 	follow "{{-" and stand before "-}}")
 * 	slash-star ... star-slash in {{ }}	a comment
 *
 * Names are those of template_names; anything else is an error when the template is read, with
 * its line. Values are put in as they are and never expanded again: "{{" inside a value is two
 * braces.
 */

enum template_field {
	TEMPLATE_SCROLLBACK, TEMPLATE_EXCHANGES, TEMPLATE_BEAD, TEMPLATE_CHECKPOINT, TEMPLATE_GIT,
	TEMPLATE_SESSION, TEMPLATE_CRASH_REASON, TEMPLATE_LAST_USER_MESSAGE, TEMPLATE_LAST_AGENT_ACTION,
	TEMPLATE_WARNINGS, TEMPLATE_RECOVERY_ID, TEMPLATE_IDLE,
	TEMPLATE_FIELDS
};

extern const char *const template_names[TEMPLATE_FIELDS];	/* "Scrollback", … */

#define TEMPLATE_MAX ((size_t)256 << 10)		/* bytes of a template; more is refused */

/*
 * `text` is copied. `what` names the source in messages: a path, or "the built-in template". NULL
 * with err (GT_USAGE, name "template", message "WHAT, line N: …").
 */
struct template *template_new(const char *text, size_t n, const char *what, struct err *e);
void template_free(struct template *t);

/* How often the field's value would be printed by template_run with these values. */
size_t template_prints(const struct template *t, const char *const values[TEMPLATE_FIELDS],
    enum template_field f);

/* values[i] may be NULL or "" (both false in {{if}}). Appends. */
void template_run(const struct template *t, const char *const values[TEMPLATE_FIELDS], struct buf *out);
/* As template_run, but a newline stands for each value: only the template's own words. */
void template_words(const struct template *t, const char *const values[TEMPLATE_FIELDS], struct buf *out);

#endif
