#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prompt/prompt.h"
#include "base/buf.h"
#include "base/err.h"

/*
 * A template is a flat list of nodes. IF and ELSE carry the index to go on at: IF when its field
 * is empty, ELSE when the branch before it was taken. END is only a place to go to.
 */
enum node_kind { NODE_TEXT, NODE_FIELD, NODE_IF, NODE_ELSE, NODE_END };

struct template_node {
	enum node_kind kind;
	enum template_field field;	/* FIELD, IF */
	const char *text;	/* TEXT; inside template.text */
	size_t len;
	size_t jump;		/* IF, ELSE */
	size_t line;		/* where it began */
};

struct template {
	char *text;
	struct template_node *v;
	size_t n, cap;
};

/* Where the reader stands. */
struct template_reader {
	struct template *t;
	const char *what;
	const char *p, *end;
	size_t line;
	bool trim;		/* the action before ended in "-}}" */
	struct err *e;
};

/* One {{...}}: its words without braces, trim marks and blanks at both ends. */
struct template_action {
	const char *p;
	size_t len;
	bool trim_left, trim_right;
	const char *after;	/* first byte behind "}}" */
};

#define NESTING 32		/* {{if}} inside {{if}}; more is a mistake */

const char *const template_names[TEMPLATE_FIELDS] = {
	[TEMPLATE_SCROLLBACK] = "Scrollback",
	[TEMPLATE_EXCHANGES] = "Exchanges",
	[TEMPLATE_BEAD] = "Bead",
	[TEMPLATE_CHECKPOINT] = "Checkpoint",
	[TEMPLATE_GIT] = "Git",
	[TEMPLATE_SESSION] = "Session",
	[TEMPLATE_CRASH_REASON] = "CrashReason",
	[TEMPLATE_LAST_USER_MESSAGE] = "LastUserMessage",
	[TEMPLATE_LAST_AGENT_ACTION] = "LastAgentAction",
	[TEMPLATE_WARNINGS] = "Warnings",
	[TEMPLATE_RECOVERY_ID] = "RecoveryID",
	[TEMPLATE_IDLE] = "Idle",
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool
is_word(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && memcmp(p, word, n) == 0;
}

static int
template_error(const struct template_reader *r, size_t line, const char *text)
{
	err_set(r->e, GT_USAGE, "template", "%s, line %zu: %s", r->what, line, text);
	return err_hint(
	    r->e, "a template knows {{.Name}} and {{if .Name}}...{{else}}...{{end}}; see gt.toml(5)");
}

static struct template_node *
add_node(struct template_reader *r, enum node_kind kind)
{
	struct template *t = r->t;
	struct template_node *n;

	t->v = vec_room(t->v, t->n, &t->cap, sizeof *t->v);
	n = &t->v[t->n++];
	*n = (struct template_node){ .kind = kind, .line = r->line };
	return n;
}

static void
add_text(struct template_reader *r, const char *p, const char *end, bool trim_right)
{
	struct template_node *n;

	if (r->trim)
		while (p < end && is_blank(*p))
			p++;
	if (trim_right)
		while (end > p && is_blank(end[-1]))
			end--;
	if (p == end)
		return;
	n = add_node(r, NODE_TEXT);
	n->text = p;
	n->len = (size_t)(end - p);
}

static void
count_lines(struct template_reader *r, const char *from, const char *to)
{
	for (; from < to; from++)
		r->line += *from == '\n';
}

/* The byte behind the comment that starts at p, NULL when it has no end. */
static const char *
comment_end(const char *p, const char *end)
{
	const char *q = memmem(p + 2, (size_t)(end - p) - 2, "*/", 2);

	return q == NULL ? NULL : q + 2;
}

/* Reads the action at r->p, which stands on "{{". */
static int
read_action(struct template_reader *r, struct template_action *a)
{
	const char *p = r->p + 2, *close, *from;

	a->trim_left = a->trim_right = false;
	if (r->end - p >= 2 && p[0] == '-' && is_blank(p[1])) {
		a->trim_left = true;
		p++;
	}
	while (p < r->end && is_blank(*p))
		p++;
	from = p;
	if (r->end - p >= 2 && p[0] == '/' && p[1] == '*' && (from = comment_end(p, r->end)) == NULL)
		return template_error(r, r->line, "a comment is not closed with */");
	close = memmem(from, (size_t)(r->end - from), "}}", 2);
	if (close == NULL)
		return template_error(r, r->line, "{{ without }}");
	a->after = close + 2;
	if (close - from >= 2 && close[-1] == '-' && is_blank(close[-2])) {
		a->trim_right = true;
		close--;
	}
	while (close > p && is_blank(close[-1]))
		close--;
	a->p = p;
	a->len = (size_t)(close - p);
	return 0;
}

static int
read_field(const struct template_reader *r, const char *p, size_t n, enum template_field *f)
{
	char text[400];
	size_t used;

	for (size_t i = 0; i < TEMPLATE_FIELDS; i++) {
		if (n > 1 && p[0] == '.' && is_word(p + 1, n - 1, template_names[i])) {
			*f = (enum template_field)i;
			return 0;
		}
	}
	used =
	    (size_t)snprintf(text, sizeof text, "unknown field %.*s; known are", (int)(n < 40 ? n : 40), p);
	for (size_t i = 0; i < TEMPLATE_FIELDS; i++)
		used += (size_t)snprintf(
		    text + used, sizeof text - used, "%s .%s", i ? "," : "", template_names[i]);
	return template_error(r, r->line, text);
}

/*
 * Puts one action into the list. `open` holds the indexes of the {{if}} (or its {{else}}) that
 * wait for their end.
 */
static int
put_action(struct template_reader *r, const struct template_action *a, size_t open[NESTING], size_t *depth)
{
	struct template *t = r->t;
	struct template_node *n;

	if (a->len >= 4 && memcmp(a->p, "/*", 2) == 0)
		return comment_end(a->p, a->p + a->len) == a->p + a->len ? 0 :
		    template_error(r, r->line, "a comment must stand alone between {{ and }}");
	if (is_word(a->p, a->len, "end")) {
		if (*depth == 0)
			return template_error(r, r->line, "{{end}} without {{if}}");
		t->v[open[--*depth]].jump = t->n;
		add_node(r, NODE_END);
		return 0;
	}
	if (is_word(a->p, a->len, "else")) {
		if (*depth == 0)
			return template_error(r, r->line, "{{else}} without {{if}}");
		if (t->v[open[*depth - 1]].kind == NODE_ELSE)
			return template_error(r, r->line, "a second {{else}} in one {{if}}");
		t->v[open[*depth - 1]].jump = t->n + 1;
		open[*depth - 1] = t->n;
		add_node(r, NODE_ELSE);
		return 0;
	}
	if (a->len > 3 && memcmp(a->p, "if", 2) == 0 && is_blank(a->p[2])) {
		const char *p = a->p + 2;

		while (is_blank(*p))
			p++;
		if (*depth == NESTING)
			return template_error(r, r->line, "too many {{if}} inside each other");
		open[(*depth)++] = t->n;
		n = add_node(r, NODE_IF);
		return read_field(r, p, (size_t)(a->p + a->len - p), &n->field);
	}
	if (a->len > 0 && a->p[0] == '.') {
		n = add_node(r, NODE_FIELD);
		return read_field(r, a->p, a->len, &n->field);
	}
	return template_error(
	    r, r->line, "not understood; only {{.Name}}, {{if .Name}}, {{else}} and {{end}} are");
}

static int
read_all(struct template_reader *r)
{
	size_t open[NESTING], depth = 0;
	struct template_action a = { .p = NULL };
	const char *brace, *text;

	while (r->p < r->end) {
		brace = memmem(r->p, (size_t)(r->end - r->p), "{{", 2);
		if (brace == NULL) {
			add_text(r, r->p, r->end, false);
			break;
		}
		text = r->p;
		count_lines(r, text, brace);
		r->p = brace;
		if (read_action(r, &a) == -1)
			return -1;
		add_text(r, text, brace, a.trim_left);
		r->trim = a.trim_right;
		if (put_action(r, &a, open, &depth) == -1)
			return -1;
		count_lines(r, brace, a.after);
		r->p = a.after;
	}
	if (depth > 0)
		return template_error(r, r->t->v[open[depth - 1]].line, "{{if}} without {{end}}");
	return 0;
}

struct template *
template_new(const char *text, size_t n, const char *what, struct err *e)
{
	struct template *t = xcalloc(1, sizeof *t);
	struct template_reader r = { .t = t, .what = what, .line = 1, .e = e };

	if (n > TEMPLATE_MAX) {
		template_error(&r, 1, "the template is longer than 256 KiB");
		goto fail;
	}
	if (n > 0 && memchr(text, '\0', n) != NULL) {
		template_error(&r, 1, "the template holds NUL bytes");
		goto fail;
	}
	t->text = xstrndup(n > 0 ? text : "", n);
	r.p = t->text;
	r.end = t->text + n;
	if (read_all(&r) == -1)
		goto fail;
	return t;
fail:
	template_free(t);
	return NULL;
}

void
template_free(struct template *t)
{
	if (t == NULL)
		return;
	free(t->v);
	free(t->text);
	free(t);
}

/* The next node to print at or after index i: TEXT or FIELD; NULL at the end. *i is moved behind it. */
static const struct template_node *
next_node(const struct template *t, const char *const values[TEMPLATE_FIELDS], size_t *i)
{
	while (*i < t->n) {
		const struct template_node *n = &t->v[*i];

		if (n->kind == NODE_TEXT || n->kind == NODE_FIELD) {
			++*i;
			return n;
		}
		if (n->kind == NODE_ELSE ||
		    (n->kind == NODE_IF && (values[n->field] == NULL || values[n->field][0] == '\0')))
			*i = n->jump;
		else
			++*i;
	}
	return NULL;
}

size_t
template_prints(const struct template *t, const char *const values[TEMPLATE_FIELDS], enum template_field f)
{
	const struct template_node *n;
	size_t i = 0, times = 0;

	while ((n = next_node(t, values, &i)) != NULL)
		times += n->kind == NODE_FIELD && n->field == f;
	return times;
}

/* A value, or where only the template's own words are asked for a newline, stands for a field. */
static void
print_nodes(const struct template *t, const char *const values[TEMPLATE_FIELDS], bool words, struct buf *out)
{
	const struct template_node *n;
	size_t i = 0;

	while ((n = next_node(t, values, &i)) != NULL) {
		if (n->kind == NODE_TEXT)
			buf_add(out, n->text, n->len);
		else if (words)
			buf_chr(out, '\n');
		else if (values[n->field] != NULL)
			buf_str(out, values[n->field]);
	}
}

void
template_run(const struct template *t, const char *const values[TEMPLATE_FIELDS], struct buf *out)
{
	print_nodes(t, values, false, out);
}

void
template_words(const struct template *t, const char *const values[TEMPLATE_FIELDS], struct buf *out)
{
	print_nodes(t, values, true, out);
}
