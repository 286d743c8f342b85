#ifndef PROMPT_TEMPLATE_H
#define PROMPT_TEMPLATE_H

#include <stddef.h>

struct buf;
struct err;

/*
 * A small subset of Go's text/template: {{.Name}}, {{if .Name}}…{{else}}…{{end}} (may nest), {{- and -}} trim white space beside them, comments in {{ and }} with Go's slash-star.
 * Names are those of template_names; anything else is an error when the template is read, with its line. Values are put in as they are and
 * never expanded again.
 */
struct template;

enum field {
	FIELD_SCROLLBACK, FIELD_EXCHANGES, FIELD_BEAD, FIELD_CHECKPOINT, FIELD_GIT, FIELD_SESSION, FIELD_CRASH_REASON, FIELD_LAST_USER_MESSAGE,
	FIELD_LAST_AGENT_ACTION, FIELD_WARNINGS, FIELD_RECOVERY_ID, FIELDS
};

extern const char *const template_names[FIELDS];	/* "Scrollback", … */

/* `what` names the source in messages: a path, or "the built-in template". NULL with err (GT_USAGE, name "template"). */
struct template *template_new(const char *text, size_t n, const char *what, struct err *e);
void template_free(struct template *t);
/* True when the template uses the field anywhere. */
int template_uses(const struct template *t, enum field f);
/* values[i] may be NULL or "" (both false in {{if}}). */
void template_run(const struct template *t, const char *const values[FIELDS], struct buf *out);

#endif
