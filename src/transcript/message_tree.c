#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transcript/transcript_private.h"
#include "base/buf.h"
#include "base/err.h"

uint64_t
entry_hash_id(struct json_slice name)
{
	uint64_t h = 0xcbf29ce484222325u;

	if (!json_slice_string(name) || name.n < 3)
		return 0;
	for (size_t i = 1; i + 1 < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 0x100000001b3u;
	return h != 0 ? h : 1;
}

/* n digits at p, or -1. */
static int
read_digits(const char *p, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		value = value * 10 + (p[i] - '0');
	}
	return value;
}

int64_t
entry_time(struct json_slice time)
{
	struct tm tm = { .tm_isdst = 0 };
	const char *p;
	int ms = 0;

	if (!json_slice_string(time) || time.n < 22)
		return 0;
	p = time.p + 1;
	if (p[4] != '-' || p[7] != '-' || p[10] != 'T' || p[13] != ':' || p[16] != ':')
		return 0;
	tm.tm_year = read_digits(p, 4) - 1900;
	tm.tm_mon = read_digits(p + 5, 2) - 1;
	tm.tm_mday = read_digits(p + 8, 2);
	tm.tm_hour = read_digits(p + 11, 2);
	tm.tm_min = read_digits(p + 14, 2);
	tm.tm_sec = read_digits(p + 17, 2);
	if (p[19] == '.' && time.n >= 26)
		ms = read_digits(p + 20, 3);
	if (tm.tm_year < 70 || tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 || tm.tm_mday > 31 ||
	    tm.tm_hour < 0 || tm.tm_min < 0 || tm.tm_sec < 0 || ms < 0)
		return 0;
	return (int64_t)timegm(&tm) * 1000 + ms;
}

bool
entry_is_kept(const struct transcript_entry *r)
{
	return r->kind <= ENTRY_QUEUE || r->id != 0;
}

/* lines among which the newest is looked for: a batch, and not so many that a clock set back deceives */
#define BATCH 64

/* What the order is made with; indexes into the records, TREE_NONE for none. */
struct tree_plan {
	struct message_tree *c;
	bool all;
	uint32_t *parent, *child, *sibling;	/* the first child is the one that stands first in the file */
	unsigned char *state;
	uint32_t *stack;
	uint32_t *line;		/* leaf first */
	size_t n_line;
};

enum { ON_LINE = 1, SEEN = 2, PASSED = 4 };

void
transcript_tree_release(struct message_tree *c)
{
	free(c->v);
	free(c->calls);
	free(c->order);
	*c = (struct message_tree){ .n = 0 };
}

uint32_t
transcript_tree_add(struct message_tree *c, const struct transcript_entry *r)
{
	if (c->n >= TREE_NONE - 1)
		die("a transcript with more records than can be counted");
	c->v = vec_room(c->v, c->n, &c->cap, sizeof *c->v);
	c->v[c->n] = *r;
	return (uint32_t)c->n++;
}

void
transcript_tree_add_call(struct message_tree *c, uint64_t call, uint32_t record, bool result)
{
	c->calls = vec_room(c->calls, c->n_calls, &c->cap_calls, sizeof *c->calls);
	c->calls[c->n_calls++] = (struct call_link){ call, record, result };
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

struct entry_id {
	uint64_t id;
	uint32_t record;
};

/* Of one name the newest line first: it is the one that counts. */
static int
by_name(const void *a, const void *b)
{
	const struct entry_id *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->record < y->record ? -1 : x->record > y->record;
}

static bool
takes_part(const struct tree_plan *p, uint32_t i)
{
	const struct transcript_entry *r = &p->c->v[i];

	return r->id != 0 && r->side == p->c->side;
}

static uint32_t
find_name(const struct entry_id *names, size_t n, uint64_t id)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (names[mid].id < id)
			from = mid + 1;
		else
			to = mid;
	}
	return from < n && names[from].id == id ? names[from].record : TREE_NONE;
}

static void
link_records(struct tree_plan *p)
{
	size_t n = p->c->n, named = 0;
	struct entry_id *names = xcalloc(n, sizeof *names);

	for (uint32_t i = 0; i < n; i++) {
		p->parent[i] = p->child[i] = p->sibling[i] = TREE_NONE;
		if (takes_part(p, i))
			names[named++] = (struct entry_id){ p->c->v[i].id, i };
	}
	qsort(names, named, sizeof *names, by_name);
	for (uint32_t i = 0; i < n; i++) {	/* newest first, so that the lists come out oldest first */
		const struct transcript_entry *r = &p->c->v[i];
		uint64_t parent = r->parent != 0 ? r->parent : r->logical;
		uint32_t found;

		if (!takes_part(p, i) || parent == 0 || find_name(names, named, r->id) != i)
			continue;
		found = find_name(names, named, parent);
		p->parent[i] = found;
		if (found == TREE_NONE)
			continue;
		p->sibling[i] = p->child[found];
		p->child[found] = i;
	}
	free(names);
}

static bool
has_words(const struct transcript_entry *r)
{
	return r->kind <= ENTRY_ATTACHMENT;
}

/* The leaf of the conversation: what hangs last on the newest of the last lines. */
static uint32_t
last_leaf(const struct tree_plan *p)
{
	uint32_t leaf = TREE_NONE, child;
	size_t looked = 0;

	for (uint32_t i = 0; i < p->c->n && looked < BATCH; i++) {
		if (!takes_part(p, i) || !has_words(&p->c->v[i]))
			continue;
		looked++;
		if (leaf == TREE_NONE || p->c->v[i].time > p->c->v[leaf].time)
			leaf = i;
	}
	while (leaf != TREE_NONE && p->child[leaf] != TREE_NONE && !(p->state[leaf] & PASSED)) {
		p->state[leaf] |= PASSED;	/* records that hang on each other in a ring */
		for (child = p->child[leaf]; child != TREE_NONE; child = p->sibling[child])
			leaf = child;
	}
	return leaf;
}

static void
walk_up(struct tree_plan *p, uint32_t i)
{
	uint32_t older = 0;

	p->c->whole = true;
	while (i != TREE_NONE && !(p->state[i] & ON_LINE)) {
		const struct transcript_entry *r = &p->c->v[i];
		uint32_t up = p->parent[i];

		p->state[i] |= ON_LINE | SEEN;
		p->line[p->n_line++] = i;
		if (r->parent == 0 && r->logical == 0)
			return;
		if (up != TREE_NONE && !(p->state[up] & ON_LINE)) {
			i = up;
			continue;
		}
		p->c->whole = false;
		if (!p->all)
			return;
		older = older > i + 1 ? older : i + 1;
		while (older < p->c->n &&
		    (!takes_part(p, older) || !has_words(&p->c->v[older]) || (p->state[older] & ON_LINE)))
			older++;
		i = older < p->c->n ? older : TREE_NONE;
	}
}

/*
 * Does a branch beside the line belong to the conversation? When it is of the same answer as what
 * it hangs on, when it is a result, or when it is an answer that died over its call. Deeper in a
 * branch the same is asked again.
 */
static bool
belongs_to_branch(const struct tree_plan *p, const bool *open, uint32_t from, uint32_t i)
{
	const struct transcript_entry *r = &p->c->v[i], *up = &p->c->v[from];

	if (r->kind == ENTRY_ASSISTANT)
		return (r->message != 0 && r->message == up->message) || open[i];
	if (r->kind == ENTRY_USER)
		return !r->prompt && !r->meta && up->kind == ENTRY_ASSISTANT;
	return r->kind == ENTRY_LINK && up->kind != ENTRY_USER;
}

/* Appends what hangs on record i beside the line, parents first. */
static void
put_branches(struct tree_plan *p, const bool *open, uint32_t i)
{
	size_t depth = 0;

	p->stack[depth++] = i;
	while (depth > 0) {
		uint32_t at = p->stack[--depth];
		size_t first = depth;

		if (at != i)
			p->c->order[p->c->n_order++] = at;
		for (uint32_t k = p->child[at]; k != TREE_NONE; k = p->sibling[k])
			if (!(p->state[k] & SEEN) && belongs_to_branch(p, open, at, k)) {
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
mark_answer(const struct tree_plan *p, bool *open, uint32_t i)
{
	const struct transcript_entry *v = p->c->v;

	open[i] = true;
	for (uint32_t up = p->parent[i]; up != TREE_NONE && !open[up]; up = p->parent[up]) {
		if (v[up].message == 0 || v[up].message != v[i].message)
			return;
		open[up] = true;
	}
}

/* Which records are of an answer that holds a call without a result. */
static bool *
find_open(const struct tree_plan *p)
{
	const struct message_tree *c = p->c;
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
transcript_tree_order(struct message_tree *c, bool all)
{
	struct tree_plan p = { .c = c, .all = all };
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
