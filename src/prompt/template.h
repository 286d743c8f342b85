#ifndef PROMPT_TEMPLATE_H
#define PROMPT_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

/*
 * A small subset of Go's text/template, with Go's meaning:
 *
 *	{{.Name}}				the field's value
 *	{{if .Name}}...{{else}}...{{end}}	true when the value is not empty; else may be missing; may nest
 *	{{- ... -}}				trims white space beside the action (a blank must follow "{{-" and stand before "-}}")
 *	slash-star ... star-slash in {{ }}	a comment
 *
 * Names are those of template_names; anything else is an error when the template is read, with its line. Values are put in as they are
 * and never expanded again: "{{" inside a value is two braces.
 */
struct template;

enum field {
	FIELD_SCROLLBACK, FIELD_EXCHANGES, FIELD_BEAD, FIELD_CHECKPOINT, FIELD_GIT, FIELD_SESSION, FIELD_CRASH_REASON,
	FIELD_LAST_USER_MESSAGE, FIELD_LAST_AGENT_ACTION, FIELD_WARNINGS, FIELD_RECOVERY_ID, FIELDS
};

extern const char *const template_names[FIELDS];	/* "Scrollback", … */

#define TEMPLATE_MAX ((size_t)256 << 10)		/* bytes of a template; more is refused */

/*
 * `text` is copied. `what` names the source in messages: a path, or "the built-in template". NULL with err (GT_USAGE, name
 * "template", message "WHAT, line N: …").
 */
struct template *template_new(const char *text, size_t n, const char *what, struct err *e);
/* The template that is compiled in (templates/recovery.md). */
struct template *template_default(struct err *e);
void template_free(struct template *t);

/* True when the template uses the field anywhere, in a condition too. */
bool template_uses(const struct template *t, enum field f);
/* How often the field's value would be printed by template_run with these values. */
size_t template_prints(const struct template *t, const char *const values[FIELDS], enum field f);

/* values[i] may be NULL or "" (both false in {{if}}). Appends. */
void template_run(const struct template *t, const char *const values[FIELDS], struct buf *out);
/* As template_run, but a newline stands for each value: only the template's own words. */
void template_words(const struct template *t, const char *const values[FIELDS], struct buf *out);

#endif
