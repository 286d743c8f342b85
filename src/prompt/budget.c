#include <string.h>

#include "prompt/prompt_private.h"
#include "prompt/prompt.h"

#define NONE ((size_t)-1)
#define LONG ((size_t)200)	/* bytes of a line that may lose its middle */
#define DOT "\xc2\xb7"		/* fence_data's: nothing is cut right before it */

bool
budget_holds(struct budget room, struct budget what)
{
	return what.cost <= room.cost && what.lines <= room.lines;
}

struct budget
budget_less(struct budget room, struct budget what)
{
	room.cost -= what.cost < room.cost ? what.cost : room.cost;
	room.lines -= what.lines < room.lines ? what.lines : room.lines;
	return room;
}

struct budget
budget_of(const char *p, size_t n)
{
	return (struct budget){ fence_cost(p, n), prompt_count_lines(p, n) };
}

size_t
prompt_count_lines(const char *p, size_t n)
{
	size_t lines = 0;
	const char *end = p + n, *q;

	while (p < end && (q = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		lines++;
		p = q + 1;
	}
	return lines + (p < end);
}

static bool
inside_rune(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Cleans a piece and puts its lines at their column. */
static void
lay_piece(struct elided_text *t, const char *p, size_t n, const char *nonce)
{
	struct buf clean = BUF_INIT;
	size_t from = 0;

	fence_data(&clean, p, n, nonce);
	while (from < clean.len) {
		const char *q = memchr(clean.data + from, '\n', clean.len - from);
		size_t to = q == NULL ? clean.len : (size_t)(q - clean.data);

		for (size_t i = 0; i < t->indent && to > from; i++)
			buf_chr(&t->text, ' ');
		buf_add(&t->text, clean.data + from, to - from);
		buf_chr(&t->text, '\n');
		from = to + 1;
	}
	buf_release(&clean);
}

static void
put_gap_note(struct buf *out, size_t indent, ssize_t lines, size_t bytes)
{
	for (size_t i = 0; i < indent; i++)
		buf_chr(out, ' ');
	if (lines > 1)
		buf_fmt(out, "… %zd lines left out …\n", lines);
	else
		buf_fmt(out, "… %zu bytes left out …\n", bytes);
}

/* Bytes that are looked at from each end: what they cost is more than `most`. */
static size_t
window_bytes(struct budget most)
{
	size_t bytes;

	if (__builtin_mul_overflow(most.cost / TOKEN_COST + 1, TOKEN_BYTES_MOST, &bytes) || bytes > NONE / 4)
		return NONE / 4;
	return bytes + 4096;
}

void
prompt_elide_layout(
    struct elided_text *t, const char *p, size_t n, const char *nonce, size_t indent, struct budget most)
{
	size_t side = window_bytes(most), from, to;

	*t = (struct elided_text)ELIDED_INIT;
	t->indent = indent;
	while (n > 0 && (p[n - 1] == '\n' || p[n - 1] == ' '))
		n--;
	if (n / 2 <= side) {
		lay_piece(t, p, n, nonce);
	} else {
		for (from = side; inside_rune(p[from]); from--)
			;
		for (to = n - side; inside_rune(p[to]); to++)
			;
		lay_piece(t, p, from, nonce);
		t->gap_at = t->text.len;
		t->gap_lines = (ssize_t)prompt_count_lines(p + from, to - from) - (p[from - 1] != '\n') -
		    (p[to - 1] != '\n');
		t->gap_bytes = to - from;
		put_gap_note(&t->text, indent, t->gap_lines, t->gap_bytes);
		lay_piece(t, p + to, n - to, nonce);
	}
	t->full = budget_of(t->text.data, t->text.len);
}

void
prompt_elide_release(struct elided_text *t)
{
	buf_release(&t->text);
	*t = (struct elided_text)ELIDED_INIT;
}

/* Where the last line of p[from..n) begins, which may have a newline behind it. */
static size_t
line_start(const char *p, size_t from, size_t n)
{
	const char *q = memrchr(p + from, '\n', n - 1 - from);

	return q == NULL ? from : (size_t)(q - p) + 1;
}

/* How many bytes of the beginning are whole lines within the room, which becomes smaller. */
static size_t
first_lines(const char *p, size_t n, struct budget *room)
{
	size_t at = 0;

	while (at < n && room->lines > 0) {
		const char *q = memchr(p + at, '\n', n - at);
		size_t to = q == NULL ? n : (size_t)(q - p) + 1;
		struct budget line;

		if ((to - at) / TOKEN_BYTES_MOST > room->cost / TOKEN_COST)
			break;
		line = budget_of(p + at, to - at);
		if (line.cost > room->cost)
			break;
		*room = budget_less(*room, line);
		at = to;
	}
	return at;
}

/* Where the last whole lines begin that are within the room. */
static size_t
last_lines(const char *p, size_t n, struct budget *room)
{
	size_t at = n;

	while (at > 0 && room->lines > 0) {
		size_t from = line_start(p, 0, at);
		struct budget line;

		if ((at - from) / TOKEN_BYTES_MOST > room->cost / TOKEN_COST)
			break;
		line = budget_of(p + from, at - from);
		if (line.cost > room->cost)
			break;
		*room = budget_less(*room, line);
		at = from;
	}
	return at;
}

/* What a piece of a line costs as a line of its own. */
static size_t
piece_cost(struct buf *tmp, const char *p, size_t n, size_t indent)
{
	buf_reset(tmp);
	for (size_t i = 0; i < indent; i++)
		buf_chr(tmp, ' ');
	buf_add(tmp, p, n);
	buf_chr(tmp, '\n');
	return fence_cost(tmp->data, tmp->len);
}

/*
 * How many bytes of the beginning (or of the end) of one long line have a cost within `most`:
 * about as many as can be. Each try is shorter by an eighth at least, so that all tries together
 * are linear.
 */
static size_t
piece_that_fits(const char *p, size_t n, size_t most, size_t indent, bool end)
{
	struct buf tmp = BUF_INIT;
	size_t len = most / TOKEN_COST * TOKEN_BYTES_MOST, cost;

	if (len > n)
		len = n;
	while (len > 0) {
		while (len > 0 && len < n && inside_rune(end ? p[n - len] : p[len]))
			len--;
		if (!end && len + 2 <= n && memcmp(p + len, DOT, 2) == 0) {
			len--;
			continue;
		}
		cost = len == 0 ? 0 : piece_cost(&tmp, end ? p + n - len : p, len, indent);
		if (cost <= most)
			break;
		len = len / 8 * 7 < len - 1 ? len / 8 * 7 : len - 1;
	}
	buf_release(&tmp);
	return len;
}

size_t
prompt_elide_put(struct buf *out, const struct elided_text *t, struct budget room)
{
	const char *p = t->text.data;
	size_t n = t->text.len, from, to, at;
	struct budget head, tail;
	ssize_t lines;

	if (budget_holds(room, t->full)) {
		buf_add(out, p, n);
		return t->gap_at == NONE ? 0 : t->gap_lines > 1 ? (size_t)t->gap_lines : 1;
	}
	room = budget_less(room, ELIDED_LEAST);
	head = (struct budget){ room.cost / 3, (room.lines + 1) / 3 };
	tail = budget_less(room, head);
	from = first_lines(p, n, &head);
	tail.cost += head.cost;
	tail.lines += head.lines;
	at = (size_t)((const char *)memchr(p, '\n', n) - p);
	if (from == 0 && head.lines > 0 && at > LONG) {
		from = piece_that_fits(p, at, head.cost, 0, false);
		tail.lines -= from > 0;
		tail.cost -= head.cost;
	}
	to = from + last_lines(p + from, n - from, &tail);
	at = line_start(p, from, n);
	if (to == n && tail.lines > 0 && n - at > LONG) {
		to = n - 1 - piece_that_fits(p + at, n - 1 - at, tail.cost, t->indent, true);
		to += to == n - 1;
	}
	lines = (ssize_t)prompt_count_lines(p + from, to - from);
	at = to - from;
	if (t->gap_at != NONE && t->gap_at >= from && t->gap_at < to) {
		lines += t->gap_lines - 1;
		at += t->gap_bytes;
	}
	buf_add(out, p, from);
	if (from > 0 && p[from - 1] != '\n')
		buf_chr(out, '\n');
	put_gap_note(out, t->indent, lines, at);
	for (size_t i = 0; i < t->indent && to < n && p[to - 1] != '\n'; i++)
		buf_chr(out, ' ');
	buf_add(out, p + to, n - to);
	return lines > 1 ? (size_t)lines : 1;
}

size_t
prompt_elide_to_tail(const char *p, size_t n, struct budget room)
{
	struct budget rest = room;
	size_t at = last_lines(p, n, &rest);

	if (at < n || n == 0 || room.lines == 0)
		return at;
	at = line_start(p, 0, n);
	return n - piece_that_fits(p + at, n - at, room.cost, 0, true);
}

#define WHOLE ((size_t)1 << 30)		/* a level at which nothing is cut */
/* the level at which the newest of weight 1 may have the whole room */
#define UNIT ((size_t)1 << 16)

struct allocation {
	struct budget_share *v;
	size_t n;
	struct budget room;
	bool cost_binds, lines_bind;	/* all together would take more than there is */
	size_t level[BUDGET_RANKS];
};

static size_t
add_capped(size_t a, size_t b)
{
	return a + b < a ? (size_t)-1 : a + b;
}

/* room * level * weight / age, in doubles: exactness is of no use here. */
static size_t
allowance(size_t room, size_t level, const struct budget_share *s)
{
	double share = (double)room * (double)level / (double)UNIT * (double)s->weight * (double)BUDGET_AGE /
	    (double)(BUDGET_AGE + s->age);

	return share < (double)room ? (size_t)share : room;
}

/* Sets what one may have at its rank's level. */
static void
set_allowance(const struct allocation *g, struct budget_share *s)
{
	size_t level = g->level[s->rank];

	s->most = BUDGET_ALL;
	s->kept = true;
	if (level == WHOLE)
		return;
	if (g->cost_binds)
		s->most.cost = allowance(g->room.cost, level, s);
	if (g->lines_bind)
		s->most.lines = allowance(g->room.lines, level, s);
	if (budget_holds(s->most, s->full))
		return;
	if (s->rank == BUDGET_CORE) {
		if (s->most.cost < s->least.cost)
			s->most.cost = s->least.cost;
		if (s->most.lines < s->least.lines)
			s->most.lines = s->least.lines;
	} else if (!budget_holds(s->most, s->least)) {
		s->kept = false;
	}
}

static void
add_cost(struct budget *sum, size_t cost, size_t lines)
{
	sum->cost = add_capped(sum->cost, cost);
	sum->lines = add_capped(sum->lines, lines);
}

static void
add_share(struct budget *sum, const struct budget_share *s)
{
	size_t lines =
	    budget_holds(s->most, s->full) ? s->full.lines : add_capped(s->full.lines, BUDGET_TORN);

	add_cost(sum, s->full.cost < s->most.cost ? s->full.cost : s->most.cost,
	    lines < s->most.lines ? lines : s->most.lines);
}

/* True when everything at its level fits. */
static bool
all_fit(const struct allocation *g)
{
	struct budget sum = { 0, 0 };
	bool gap = false, user = false;		/* something is missing before this place; of the user */

	for (size_t i = 0; i < g->n; i++) {
		struct budget_share *s = &g->v[i];

		set_allowance(g, s);
		if (s->kept) {
			add_share(&sum, s);
			gap = user = false;
			continue;
		}
		if (!gap)
			add_cost(&sum, BUDGET_GAP.cost, BUDGET_GAP.lines);
		if (!user && (s->rank == BUDGET_USER || s->rank == BUDGET_PAST)) {
			add_cost(&sum, BUDGET_GAP_USER, 0);
			user = true;
		}
		gap = true;
	}
	return budget_holds(g->room, sum);
}

static void
measure_all(struct allocation *g)
{
	struct budget sum = { 0, 0 };

	for (size_t i = 0; i < g->n; i++) {
		sum.cost = add_capped(sum.cost, g->v[i].full.cost);
		sum.lines = add_capped(sum.lines, add_capped(g->v[i].full.lines, BUDGET_TORN));
	}
	g->cost_binds = sum.cost > g->room.cost;
	g->lines_bind = sum.lines > g->room.lines;
}

/*
 * Finds the highest level of the rank, `least` or above, at which everything fits; `least` when
 * there is none.
 */
static void
lower_level(struct allocation *g, enum budget_rank r, size_t least)
{
	size_t low = least, high = g->level[r];

	while (high > low + 1) {
		g->level[r] = low + (high - low) / 2;
		if (all_fit(g))
			low = g->level[r];
		else
			high = g->level[r];
	}
	g->level[r] = low;
}

void
budget_allocate(struct budget_share *v, size_t n, struct budget room)
{
	/* a giant of the last turn shrinks to an eighth of the room before small old things go */
	static const struct {
		enum budget_rank rank;
		size_t least;
	} steps[] = {
		{ BUDGET_PAST, 0 }, { BUDGET_OLD, UNIT / 256 }, { BUDGET_TURN, UNIT / 8 }, { BUDGET_OLD, 0 },
		{ BUDGET_TURN, 0 }, { BUDGET_USER, 0 }, { BUDGET_CORE, 0 },
	};
	struct allocation g = { .v = v, .n = n, .room = room };

	measure_all(&g);
	for (int r = 0; r < BUDGET_RANKS; r++)
		g.level[r] = WHOLE;
	for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !all_fit(&g); i++)
		lower_level(&g, steps[i].rank, steps[i].least);
	all_fit(&g);
}
