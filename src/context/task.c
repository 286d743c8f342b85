#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "context/task.h"
#include "context/exchange.h"
#include "context/likeness.h"
#include "base/buf.h"

static bool
word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* The id ends here, and the text does not go on to one of its children. */
static bool
id_ends(const char *p)
{
	return !word(p[0]) && !(p[0] == '.' && isalnum((unsigned char)p[1]));
}

static bool
names(const char *text, const char *id)
{
	size_t n = strlen(id);

	for (const char *p = text; n > 0 && (p = strcasestr(p, id)) != NULL; p++)
		if ((p == text || !word(p[-1])) && id_ends(p + n))
			return true;
	return false;
}

/* "gt-" of "gt-abc.1": up to the last dash before the children. */
static size_t
prefix_len(const char *id)
{
	size_t n = strcspn(id, ".");

	while (n > 0 && id[n - 1] != '-')
		n--;
	return n;
}

/* True when the text holds an id of the same prefix. */
static bool
names_any(const char *text, const char *bead)
{
	size_t n = prefix_len(bead);
	char *prefix = xstrndup(bead, n);
	bool found = false;

	for (const char *p = text; n > 0 && !found && (p = strcasestr(p, prefix)) != NULL; p++)
		found = (p == text || !word(p[-1])) && isalnum((unsigned char)p[n]);
	free(prefix);
	return found;
}

static bool
hands_out(const char *text)
{
	static const char *const verbs[] = { "assigned", "hooked", "slung", "handoff" };

	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (names(text, verbs[i]))
			return true;
	return false;
}

static bool
is_clear(const struct exchange *x)
{
	static const char *const commands[] = { "/clear", "/reset", "/new" };

	for (size_t i = 0; x->role == ROLE_USER && i < sizeof commands / sizeof commands[0]; i++)
		if (str_starts(x->content, commands[i]) && strchr(" \n", x->content[strlen(commands[i])]) != NULL)
			return true;
	return false;
}

/* Words with which a session or other work begins. */
static bool
is_start(const struct exchange *x, const char *bead)
{
	if (x->role != ROLE_USER)
		return false;
	if (str_starts(x->content, "[GAS TOWN]"))
		return true;
	return bead != NULL && hands_out(x->content) && !names(x->content, bead) && names_any(x->content, bead);
}

/* The last that the transcript holds: with a banner before it the same conversation was taken up again. */
static size_t
last_recorded(const struct conversation *c)
{
	size_t i = c->n;

	while (i > 0 && c->v[i - 1].source != SOURCE_TRANSCRIPT)
		i--;
	return i;
}

/* Behind the last words of somebody. */
static size_t
words_end(const struct conversation *c)
{
	size_t i = c->n;

	while (i > 0 && c->v[i - 1].role == ROLE_SYSTEM && c->v[i - 1].tool == NULL)
		i--;
	return i;
}

size_t
task_begin(const struct conversation *c, const char *bead)
{
	size_t stretch = 0, named = c->n, recorded = last_recorded(c), words = words_end(c);
	bool resumed = false;	/* what stands before is of the transcript, and it goes on below */
	bool brought = false, open = bead != NULL;	/* open: the id was not yet named in this stretch */

	for (size_t i = 0; i < c->n; i++) {
		const struct exchange *x = &c->v[i];

		resumed = (resumed || x->source == SOURCE_TRANSCRIPT) && i < recorded;
		if (x->tool != NULL || x->role == ROLE_ASSISTANT) {
			brought = x->source == SOURCE_EARLIER;
			continue;
		}
		if (is_clear(x)) {
			stretch = i + 1;
			named = c->n;
			open = bead != NULL;
		} else if (is_start(x, bead) || (likeness_banner(x) && i < words && !brought && !resumed && x->source != SOURCE_EARLIER)) {
			stretch = i;
			open = bead != NULL;
		}
		if (open && names(x->content, bead)) {
			named = i;
			open = false;
		}
		if (x->source == SOURCE_EARLIER || x->role == ROLE_USER)
			brought = x->source == SOURCE_EARLIER;
	}
	return named < c->n ? named : stretch;
}

void
task_cut(struct conversation *c, const char *bead)
{
	size_t begin = task_begin(c, bead);

	for (size_t i = 0; i < begin; i++)
		exchange_release(&c->v[i]);
	if (begin > 0)
		memmove(c->v, c->v + begin, (c->n - begin) * sizeof *c->v);
	c->n -= begin;
}
