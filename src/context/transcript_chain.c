#include <stdlib.h>
#include <string.h>

#include "context/transcript_chain.h"
#include "base/buf.h"
#include "base/err.h"

#define BATCH 64	/* lines among which the newest is looked for: a batch, and not so many that a clock set back deceives */

/* What the order is made with; indexes into the records, CHAIN_NONE for none. */
struct plan {
	struct chain *c;
	bool side, all;
	uint32_t *parent, *child, *sibling;	/* the first child is the one that stands first in the file */
	unsigned char *state;
	uint32_t *stack;
	uint32_t *line;		/* leaf first */
	size_t n_line;
};

enum { ON_LINE = 1, SEEN = 2, PASSED = 4 };

void
chain_release(struct chain *c)
{
	free(c->v);
	free(c->calls);
	free(c->order);
	*c = (struct chain){ .n = 0 };
}

uint32_t
chain_add(struct chain *c, const struct record *r)
{
	if (c->n >= CHAIN_NONE - 1)
		die("a transcript with more records than can be counted");
	c->v = vec_room(c->v, c->n, &c->cap, sizeof *c->v);
	c->v[c->n] = *r;
	return (uint32_t)c->n++;
}

void
chain_add_call(struct chain *c, uint64_t call, uint32_t record, bool result)
{
	c->calls = vec_room(c->calls, c->n_calls, &c->cap_calls, sizeof *c->calls);
	c->calls[c->n_calls++] = (struct call_link){ call, record, result, SIZE_MAX };
}

static int
by_call(const void *a, const void *b)
{
	const struct call_link *x = a, *y = b;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	if (x->result != y->result)
		return x->result ? 1 : -1;
	return x->record < y->record ? -1 : x->record > y->record;
}

struct call_link *
chain_call(struct chain *c, uint64_t call, bool result)
{
	size_t from = 0, to = c->n_calls;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct call_link *l = &c->calls[mid];

		if (l->call < call || (l->call == call && l->result < result))
			from = mid + 1;
		else
			to = mid;
	}
	if (from < c->n_calls && c->calls[from].call == call && c->calls[from].result == result)
		return &c->calls[from];
	return NULL;
}

struct name {
	uint64_t id;
	uint32_t record;
};

/* Of one name the newest line first: it is the one that counts. */
static int
by_name(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->record < y->record ? -1 : x->record > y->record;
}

static bool
takes_part(const struct plan *p, uint32_t i)
{
	const struct record *r = &p->c->v[i];

	return r->id != 0 && r->side == p->side;
}

static uint32_t
find_name(const struct name *names, size_t n, uint64_t id)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (names[mid].id < id)
			from = mid + 1;
		else
			to = mid;
	}
	return from < n && names[from].id == id ? names[from].record : CHAIN_NONE;
}

static void
link_records(struct plan *p)
{
	size_t n = p->c->n, named = 0;
	struct name *names = xcalloc(n, sizeof *names);

	for (uint32_t i = 0; i < n; i++) {
		p->parent[i] = p->child[i] = p->sibling[i] = CHAIN_NONE;
		if (takes_part(p, i))
			names[named++] = (struct name){ p->c->v[i].id, i };
	}
	qsort(names, named, sizeof *names, by_name);
	for (uint32_t i = 0; i < n; i++) {	/* newest first, so that the lists come out oldest first */
		const struct record *r = &p->c->v[i];
		uint64_t parent = r->parent != 0 ? r->parent : r->logical;
		uint32_t found;

		if (!takes_part(p, i) || parent == 0 || find_name(names, named, r->id) != i)
			continue;
		found = find_name(names, named, parent);
		p->parent[i] = found;
		if (found == CHAIN_NONE)
			continue;
		p->sibling[i] = p->child[found];
		p->child[found] = i;
	}
	free(names);
}

static bool
speaks(const struct record *r)
{
	return r->kind <= RECORD_ATTACHMENT;
}

/* The leaf of the conversation: what hangs last on the newest of the last lines. */
static uint32_t
last_leaf(const struct plan *p)
{
	uint32_t leaf = CHAIN_NONE, child;
	size_t looked = 0;

	for (uint32_t i = 0; i < p->c->n && looked < BATCH; i++) {
		if (!takes_part(p, i) || !speaks(&p->c->v[i]))
			continue;
		looked++;
		if (leaf == CHAIN_NONE || p->c->v[i].time > p->c->v[leaf].time)
			leaf = i;
	}
	while (leaf != CHAIN_NONE && p->child[leaf] != CHAIN_NONE && !(p->state[leaf] & PASSED)) {
		p->state[leaf] |= PASSED;	/* records that hang on each other in a ring */
		for (child = p->child[leaf]; child != CHAIN_NONE; child = p->sibling[child])
			leaf = child;
	}
	return leaf;
}

static void
walk_up(struct plan *p, uint32_t i)
{
	uint32_t older = 0;

	p->c->whole = true;
	while (i != CHAIN_NONE && !(p->state[i] & ON_LINE)) {
		const struct record *r = &p->c->v[i];
		uint32_t up = p->parent[i];

		p->state[i] |= ON_LINE | SEEN;
		p->line[p->n_line++] = i;
		if (r->parent == 0 && r->logical == 0)
			return;
		if (up != CHAIN_NONE && !(p->state[up] & ON_LINE)) {
			i = up;
			continue;
		}
		p->c->whole = false;
		if (!p->all)
			return;
		older = older > i + 1 ? older : i + 1;
		while (older < p->c->n && (!takes_part(p, older) || !speaks(&p->c->v[older]) || (p->state[older] & ON_LINE)))
			older++;
		i = older < p->c->n ? older : CHAIN_NONE;
	}
}

/*
 * Does a branch beside the line belong to the conversation? When it is of the same answer as what it hangs on, when it is a result, or when
 * it is an answer that died over its call. Deeper in a branch the same is asked again.
 */
static bool
belongs(const struct plan *p, const bool *open, uint32_t from, uint32_t i)
{
	const struct record *r = &p->c->v[i], *up = &p->c->v[from];

	if (r->kind == RECORD_ASSISTANT)
		return (r->message != 0 && r->message == up->message) || open[i];
	if (r->kind == RECORD_USER)
		return !r->prompt && !r->meta && up->kind == RECORD_ASSISTANT;
	return r->kind == RECORD_LINK && up->kind != RECORD_USER;
}

/* Appends what hangs on record i beside the line, parents first. */
static void
put_branches(struct plan *p, const bool *open, uint32_t i)
{
	size_t depth = 0;

	p->stack[depth++] = i;
	while (depth > 0) {
		uint32_t at = p->stack[--depth];
		size_t first = depth;

		if (at != i)
			p->c->order[p->c->n_order++] = at;
		for (uint32_t k = p->child[at]; k != CHAIN_NONE; k = p->sibling[k])
			if (!(p->state[k] & SEEN) && belongs(p, open, at, k)) {
				p->state[k] |= SEEN;
				p->stack[depth++] = k;
			}
		for (size_t a = first, b = depth; a + 1 < b; a++) {	/* the stack gives the last first */
			uint32_t swap = p->stack[a];

			p->stack[a] = p->stack[--b];
			p->stack[b] = swap;
		}
	}
}

/* The records above it that are of the same answer. */
static void
mark_answer(const struct plan *p, bool *open, uint32_t i)
{
	const struct record *v = p->c->v;

	open[i] = true;
	for (uint32_t up = p->parent[i]; up != CHAIN_NONE && !open[up]; up = p->parent[up]) {
		if (v[up].message == 0 || v[up].message != v[i].message)
			return;
		open[up] = true;
	}
}

/* Which records are of an answer that holds a call without a result. */
static bool *
find_open(const struct plan *p)
{
	const struct chain *c = p->c;
	bool *open = xcalloc(c->n + 1, sizeof *open);

	for (size_t i = 0; i < c->n_calls;) {
		size_t to = i;

		while (to < c->n_calls && c->calls[to].call == c->calls[i].call)
			to++;
		for (; i < to; i++)
			if (!c->calls[to - 1].result)
				mark_answer(p, open, c->calls[i].record);
	}
	return open;
}

void
chain_order(struct chain *c, bool side, bool all)
{
	struct plan p = { .c = c, .side = side, .all = all };
	size_t n = c->n + 1;
	bool *open;

	if (c->n_calls > 0)
		qsort(c->calls, c->n_calls, sizeof *c->calls, by_call);
	free(c->order);
	c->order = xcalloc(n, sizeof *c->order);
	c->n_order = 0;
	p.parent = xcalloc(n, sizeof *p.parent);
	p.child = xcalloc(n, sizeof *p.child);
	p.sibling = xcalloc(n, sizeof *p.sibling);
	p.stack = xcalloc(n, sizeof *p.stack);
	p.line = xcalloc(n, sizeof *p.line);
	p.state = xcalloc(n, sizeof *p.state);
	link_records(&p);
	open = find_open(&p);
	walk_up(&p, last_leaf(&p));
	for (size_t i = p.n_line; i-- > 0;) {
		c->order[c->n_order++] = p.line[i];
		put_branches(&p, open, p.line[i]);
	}
	free(p.parent);
	free(p.child);
	free(p.sibling);
	free(p.stack);
	free(p.line);
	free(p.state);
	free(open);
}
