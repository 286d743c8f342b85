#include <stdlib.h>
#include <string.h>

#include "prompt/unfold.h"
#include "prompt/fence.h"
#include "prompt/heading.h"
#include "base/buf.h"
#include "context/exchange.h"

/* What the lines at column 2 belong to. */
enum part { PART_NONE, PART_INPUT, PART_CONTENT, PART_QUESTION, PART_DRAFT, PART_TASKS, PART_RAW };

struct unfold {
	struct conversation *c;
	struct exchange x;		/* the one that is being read */
	bool any;			/* x holds something */
	enum part part;
	struct buf text;		/* of the part */
};

/* Text without the blank lines at its end. */
static char *
take_text(struct buf *b)
{
	while (b->len > 0 && b->data[b->len - 1] == '\n')
		buf_cut(b, b->len - 1);
	return conversation_text(b);
}

static void
end_part(struct unfold *u)
{
	char **to[] = {
		[PART_INPUT] = &u->x.input, [PART_CONTENT] = &u->x.content, [PART_RAW] = &u->x.content, [PART_QUESTION] = &u->c->question,
		[PART_DRAFT] = &u->c->draft, [PART_TASKS] = &u->c->tasks,
	};

	if (u->part != PART_NONE && u->text.len > 0 && *to[u->part] == NULL)
		*to[u->part] = take_text(&u->text);
	buf_reset(&u->text);
	u->part = PART_NONE;
}

static void
end_exchange(struct unfold *u)
{
	end_part(u);
	if (!u->any)
		return;
	if (u->x.content == NULL)
		u->x.content = xstrdup("");
	conversation_take(u->c, &u->x);
	u->x = (struct exchange){ .role = ROLE_SYSTEM };
	u->any = false;
}

static void
begin(struct unfold *u, enum role role, enum part part)
{
	end_exchange(u);
	if (part == PART_RAW || part == PART_CONTENT) {
		u->x = (struct exchange){ .role = role, .source = SOURCE_EARLIER };
		u->any = true;
	}
	u->part = part;
}

static bool
is(const char *line, size_t n, const char *text)
{
	return strlen(text) == n && memcmp(line, text, n) == 0;
}

static void
read_line(struct unfold *u, const char *line, size_t n)
{
	struct exchange x = { .role = ROLE_SYSTEM };
	const char *rest;

	if (u->part == PART_RAW || n == 0 || (n >= 2 && line[0] == ' ' && line[1] == ' ')) {
		size_t skip = u->part == PART_RAW || n == 0 ? 0 : 2;

		buf_add(&u->text, line + skip, n - skip);
		buf_chr(&u->text, '\n');
	} else if (is(line, n, HEADING_RESULT) && u->any && u->x.tool != NULL) {
		end_part(u);
		u->part = PART_CONTENT;
	} else if (is(line, n, HEADING_QUESTION)) {
		begin(u, ROLE_SYSTEM, PART_QUESTION);
	} else if (is(line, n, HEADING_DRAFT)) {
		begin(u, ROLE_SYSTEM, PART_DRAFT);
	} else if (is(line, n, HEADING_TASKS)) {
		begin(u, ROLE_SYSTEM, PART_TASKS);
	} else if (is(line, n, HEADING_RAW)) {
		begin(u, ROLE_SYSTEM, PART_RAW);
	} else if (heading_read(line, n, &x, &rest)) {
		end_exchange(u);
		u->x = x;
		u->any = true;
		u->part = x.tool != NULL ? PART_INPUT : PART_CONTENT;
		buf_add(&u->text, rest, (size_t)(line + n - rest));
	} else {	/* "(5 older exchanges left out here)" */
		begin(u, ROLE_SYSTEM, PART_CONTENT);
		buf_add(&u->text, line, n);
		end_exchange(u);
		u->c->truncated_at = 0;
	}
}

/* The lines between the fence of the conversation; *escaped: "@" has a backslash before it. */
static const char *
find_record(const char *p, size_t n, size_t *len, bool *escaped)
{
	static const char open[] = "[record ", what[] = " begins: conversation. ";
	size_t lead = strlen(open), head = lead + FENCE_NONCE + strlen(what);
	const char *end = p + n, *nl, *close;
	char *mark;

	for (; (size_t)(end - p) >= head; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			return NULL;
		if (memcmp(p, open, lead) == 0 && memcmp(p + lead + FENCE_NONCE, what, strlen(what)) == 0)
			break;
	}
	if ((size_t)(end - p) < head)
		return NULL;
	nl = memchr(p, '\n', (size_t)(end - p));
	*escaped = memmem(p, (size_t)(nl - p), "\"\\@\"", 4) != NULL;
	mark = xasprintf("[record %.*s ends]", FENCE_NONCE, p + lead);
	close = memmem(nl, (size_t)(end - nl), mark, strlen(mark));
	free(mark);
	*len = (size_t)((close != NULL ? close : end) - (nl + 1));	/* a prompt that was cut off has no end */
	return nl + 1;
}

bool
prompt_unfold(const char *p, size_t n, struct conversation *out)
{
	struct unfold u = { .c = out, .text = BUF_INIT };
	struct buf plain = BUF_INIT;
	bool escaped = false;

	*out = (struct conversation)CONVERSATION_INIT;
	p = find_record(p, n, &n, &escaped);
	if (p == NULL)
		return false;
	if (escaped)
		fence_at_undo(&plain, p, n);
	else
		buf_add(&plain, p, n);
	for (size_t i = 0; i < plain.len;) {
		const char *nl = memchr(plain.data + i, '\n', plain.len - i);
		size_t len = nl != NULL ? (size_t)(nl - plain.data) - i : plain.len - i;

		read_line(&u, plain.data + i, len);
		i += len + 1;
	}
	end_exchange(&u);
	buf_release(&u.text);
	buf_release(&plain);
	return true;
}
