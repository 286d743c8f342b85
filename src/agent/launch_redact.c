#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "scrub/scrub.h"

#define MARK "[REDACTED:"
#define LEAST 8			/* a shorter value is that of many variables */

/* Two texts that are the same but for what the second has redacted, read side by side. */
struct redaction {
	const char *was, *was_end;	/* not read yet */
	const char *now, *now_end;
};

static const char *
next_mark(const char *p, const char *end)
{
	const char *hit = memmem(p, (size_t)(end - p), MARK, strlen(MARK));

	return hit != NULL ? hit : end;
}

/*
 * Up to the next mark of `now` and over it; what it stands for is was[0, *n). NULL: the texts
 * differ in other ways, too.
 */
static const char *
take_value(struct redaction *r, const char *mark, size_t *n)
{
	const char *close = memchr(mark, ']', (size_t)(r->now_end - mark)), *next, *value, *end;
	size_t plain = (size_t)(mark - r->now), behind;

	r->now = close != NULL ? close + 1 : r->now_end;
	if (r->was == NULL || (size_t)(r->was_end - r->was) < plain ||
	    memcmp(r->was, mark - plain, plain) != 0) {
		r->was = NULL;
		return NULL;
	}
	value = r->was + plain;
	next = next_mark(r->now, r->now_end);
	behind = (size_t)(next - r->now);
	if (next == r->now_end)
		end = (size_t)(r->was_end - value) >= behind ? r->was_end - behind : NULL;
	else
		end = memmem(value, (size_t)(r->was_end - value), r->now, behind);
	r->was = end;
	*n = end != NULL ? (size_t)(end - value) : 0;
	return end != NULL ? value : NULL;
}

static bool
is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* The word that ends at `end`, heap; NULL when there is none. */
static char *
word_before(const char *text, const char *end)
{
	const char *from = end;

	while (from > text && is_name_char(from[-1]))
		from--;
	return from < end ? xstrndup(from, (size_t)(end - from)) : NULL;
}

/* NAME= or --flag= in front of a mark; `blank`: --flag and blanks. */
static char *
name_in_front(const char *text, const char *mark, bool blank)
{
	const char *end = mark;
	char *name;

	if (end > text && (end[-1] == '"' || end[-1] == '\''))
		end--;
	if (!blank)
		return end > text && end[-1] == '=' ? word_before(text, end - 1) : NULL;
	while (end > text && end[-1] == ' ')
		end--;
	name = end < mark ? word_before(text, end) : NULL;
	if (name != NULL && name[0] == '-')
		return name;
	free(name);
	return NULL;
}

/* The variable that has the value; "NAME(part)": of which it is a part, or that is a part of it. */
static char *
name_by_value(const char *block, size_t n, const char *value, size_t len)
{
	const char *part = NULL;

	for (size_t i = 0; value != NULL && len >= LEAST && i < n; ) {
		size_t size = strnlen(block + i, n - i);
		const char *eq = memchr(block + i, '=', size);
		size_t has = eq != NULL ? size - (size_t)(eq + 1 - (block + i)) : 0;

		if (has == len && memcmp(eq + 1, value, len) == 0)
			return xstrndup(block + i, (size_t)(eq - (block + i)));
		if (part == NULL && has >= LEAST &&
		    (memmem(value, len, eq + 1, has) != NULL || memmem(eq + 1, has, value, len) != NULL))
			part = block + i;
		i += size + 1;
	}
	return part != NULL ? xasprintf("%.*s(part)", (int)strcspn(part, "="), part) : NULL;
}

void
launch_redact(
    struct launch_redacted *out, const struct launch *l, struct scrub *s, const char *block, size_t n_block)
{
	struct redaction r;
	const char *text, *mark;

	memset(out, 0, sizeof *out);
	out->text = scrub_string(s, l->command);
	if (out->text == NULL)
		return;
	text = clean_bytes(out->text);
	r = (struct redaction){ l->command, l->command + strlen(l->command), text,
		text + clean_len(out->text) };
	while ((mark = next_mark(r.now, r.now_end)) < r.now_end) {
		size_t n = 0;
		const char *value = take_value(&r, mark, &n);
		char *name = name_in_front(text, mark, false);

		if (name == NULL && block != NULL)
			name = name_by_value(block, n_block, value, n);
		if (name == NULL)
			name = name_in_front(text, mark, true);
		out->names = vec_room(out->names, out->n, &out->cap, sizeof *out->names);
		out->names[out->n++] = name != NULL ? name : xstrdup("value");
	}
}

void
launch_redacted_release(struct launch_redacted *x)
{
	clean_free(x->text);
	for (size_t i = 0; i < x->n; i++)
		free(x->names[i]);
	free(x->names);
	memset(x, 0, sizeof *x);
}
