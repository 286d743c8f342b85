#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "prompt/talk.h"
#include "prompt/fence.h"
#include "prompt/heading.h"
#include "prompt/share.h"
#include "prompt/tokens.h"
#include "context/exchange.h"
#include "base/buf.h"
#include "base/utf8.h"

#define LINES_LEAST ((size_t)32)
#define LEAST ((struct room){ 15000, 6 })	/* the heading of any exchange, two notes, and a line or two */
#define INPUT_BYTES ((size_t)400)	/* a longer input stands in lines of its own */
#define SECTIONS 3
#define UNFINISHED 4			/* calls and words without an end that belong to the core */
#define WORDS_WEIGHT 4			/* the agent's words against its calls */

/* A part of the text: an exchange or a section. */
struct item {
	const struct exchange *x;	/* NULL: a section */
	const char *title, *text;	/* of a section */
};

struct talk {
	const struct conversation *c;
	const char *nonce;
	struct room room;
	bool mixed;			/* more than one source */
	struct item *v;
	struct share *shares;		/* one an item */
	size_t n;
	struct talk_stats *stats;
};

static bool
users(const struct exchange *x)
{
	return x->role == ROLE_USER && x->tool == NULL;
}

/* A text at column 2 within the room, which becomes smaller. Returns the lines left out. */
static size_t
block(struct buf *out, const struct talk *t, const char *text, struct room *room)
{
	struct cut cut;
	size_t before = out->len, left;

	cut_lay(&cut, text, strlen(text), t->nonce, 2, *room);
	left = cut_put(out, &cut, *room);
	*room = room_less(*room, room_of(out->data + before, out->len - before));
	cut_release(&cut);
	return left;
}

/* What the input may take of the room of both: half, and what the result leaves of its own half. */
static size_t
half(size_t room, size_t result)
{
	return result < room / 2 ? room - result : room / 2;
}

static size_t
call_blocks(struct buf *out, const struct talk *t, const struct exchange *x, bool input, struct room room)
{
	struct cut in = CUT_INIT, result = CUT_INIT;
	size_t before = out->len, left = 0;

	if (input)
		cut_lay(&in, x->input, strlen(x->input), t->nonce, 2, room);
	if (x->content[0] != '\0') {
		cut_lay(&result, x->content, strlen(x->content), t->nonce, 2, room);
		room = room_less(room, room_of(HEADING_RESULT "\n", 8));
	}
	left += cut_put(out, &in, (struct room){ half(room.cost, result.full.cost), half(room.lines, result.full.lines) });
	room = room_less(room, room_of(out->data + before, out->len - before));
	if (x->content[0] != '\0') {
		buf_str(out, HEADING_RESULT "\n");
		left += cut_put(out, &result, room);
	}
	cut_release(&in);
	cut_release(&result);
	return left;
}

/* Puts a short input behind the heading, which began at `from`. False: there it has no place. */
static bool
inline_input(struct buf *out, size_t from, const struct talk *t, const struct exchange *x, struct room room)
{
	size_t before = out->len;

	if (strpbrk(x->input, "\r\n") != NULL || strlen(x->input) > INPUT_BYTES)
		return false;
	buf_chr(out, ' ');
	fence_data(out, x->input, strlen(x->input), t->nonce);
	if (fence_cost(out->data + from, out->len - from) <= room.cost / 2)
		return true;
	buf_cut(out, before);
	return false;
}

static size_t
exchange_text(struct buf *out, const struct talk *t, const struct exchange *x, struct room room)
{
	size_t before = out->len;
	bool apart;

	heading_write(out, x, t->mixed, t->nonce);
	apart = x->tool != NULL && x->input != NULL && !inline_input(out, before, t, x, room);
	buf_chr(out, '\n');
	room = room_less(room, room_of(out->data + before, out->len - before));
	return x->tool != NULL ? call_blocks(out, t, x, apart, room) : block(out, t, x->content, &room);
}

/* An item whole or cut to the room, ended by an empty line. Returns the lines left out. */
static size_t
item_text(struct buf *out, const struct talk *t, const struct item *it, struct room room)
{
	size_t left;

	room = room_less(room, room_of("\n", 1));
	if (it->x != NULL) {
		left = exchange_text(out, t, it->x, room);
	} else {
		buf_fmt(out, "%s\n", it->title);
		room = room_less(room, (struct room){ 2000, 1 });
		left = block(out, t, it->text, &room);
	}
	buf_chr(out, '\n');
	return left;
}

/* What the item takes when nothing is left out; for one that cannot fit anyway only that. */
static struct room
item_full(struct buf *tmp, const struct talk *t, const struct item *it)
{
	size_t most = t->room.cost / TOKEN * TOKEN_BYTES_MOST;
	size_t bytes = it->x == NULL ? strlen(it->text) : strlen(it->x->content) + (it->x->input == NULL ? 0 : strlen(it->x->input));

	if (bytes > most)
		return ROOM_ALL;
	buf_reset(tmp);
	item_text(tmp, t, it, ROOM_ALL);
	return room_of(tmp->data, tmp->len);
}

/* The exchanges from `first` on, and the sections. */
static void
list_items(struct talk *t, size_t first)
{
	const struct conversation *c = t->c;
	const struct item more[SECTIONS] = {
		{ NULL, HEADING_QUESTION, c->question },
		{ NULL, HEADING_DRAFT, c->draft },
		{ NULL, HEADING_TASKS, c->tasks },
	};

	t->v = xcalloc(c->n + SECTIONS, sizeof *t->v);
	t->shares = xcalloc(c->n + SECTIONS, sizeof *t->shares);
	for (size_t i = first; i < c->n; i++) {
		t->mixed |= c->v[i].source != c->v[0].source;
		t->v[t->n++].x = &c->v[i];
	}
	for (size_t i = 0; i < SECTIONS; i++)
		if (more[i].text != NULL && more[i].text[0] != '\0')
			t->v[t->n++] = more[i];
}

/* Where the last turn begins: the last message that the agent got and that is no command of the user's own; n: nowhere. */
static size_t
last_turn(const struct conversation *c)
{
	size_t other = c->n;

	for (size_t i = c->n; i-- > 0;) {
		const struct exchange *x = &c->v[i];

		if (!users(x) || x->content[0] == '\0' || x->status == STATUS_WAITING)
			continue;
		if (x->content[0] != '/' && x->content[0] != '!')
			return i;
		if (other == c->n)
			other = i;
	}
	return other;
}

static void
promote(struct talk *t, size_t i, size_t *places)
{
	if (*places == 0 || t->shares[i].rank == RANK_CORE)
		return;
	t->shares[i] = (struct share){ .rank = RANK_CORE, .weight = 1 };
	--*places;
}

/* How many the core may have: half of the room holds their least. */
static size_t
core_places(const struct talk *t)
{
	size_t by_cost = t->room.cost / (LEAST.cost + SHARE_GAP.cost + SHARE_GAP_USER) / 2;
	size_t by_lines = t->room.lines / (LEAST.lines + SHARE_GAP.lines) / 2;
	size_t places = by_cost < by_lines ? by_cost : by_lines;

	return places > 2 ? places : 2;
}

/* Takes the core out, the most important first. `turn` is the exchange that begins the last turn, of n exchanges. */
static void
find_core(struct talk *t, size_t n, size_t turn)
{
	size_t places = core_places(t);

	if (n > 0)
		promote(t, n - 1, &places);
	if (turn < n)
		promote(t, turn, &places);
	for (size_t i = n; i < t->n; i++)
		promote(t, i, &places);
	places = places < UNFINISHED ? places : UNFINISHED;
	for (size_t i = n; i-- > 0 && places > 0;)
		if (t->v[i].x->status == STATUS_RUNNING || t->v[i].x->status == STATUS_WAITING)
			promote(t, i, &places);
}

/* Ranks, weights and ages. */
static void
rank(struct talk *t)
{
	size_t n = t->n, turn, users_newer = 0;

	while (n > 0 && t->v[n - 1].x == NULL)
		n--;
	turn = n > 0 ? last_turn(t->c) : 0;
	for (size_t i = t->n; i-- > 0;) {
		const struct exchange *x = t->v[i].x;
		struct share *s = &t->shares[i];

		s->weight = x == NULL || x->tool == NULL ? WORDS_WEIGHT : 1;
		if (x == NULL || users(x)) {
			s->rank = RANK_USER;
			s->age = x == NULL ? 0 : users_newer++;
		} else {
			s->rank = i > turn || turn == n ? RANK_TURN : RANK_OLD;
			s->age = n - 1 - i;
		}
	}
	find_core(t, n, turn);
}

/* A line for the exchanges that are missing between two that are there. */
static void
gap(struct buf *out, size_t n, size_t of_user)
{
	if (n == 0)
		return;
	buf_fmt(out, "(%zu older exchange%s left out", n, n == 1 ? "" : "s");
	if (of_user > 0)
		buf_fmt(out, ", %zu of them the user's", of_user);
	buf_str(out, ")\n\n");
}

static void
count_cut(struct talk_stats *s, const struct exchange *x)
{
	size_t content = strlen(x->content), input = x->input == NULL ? 0 : strlen(x->input);

	s->cut++;
	s->user_cut += users(x);
	s->lines_cut += cut_lines(x->content, content) + (input == 0 ? 0 : cut_lines(x->input, input));
	s->tokens_cut += tokens_of_size(content + input);
}

static void
count_short(struct talk_stats *s, const struct exchange *x, size_t lines, size_t bytes)
{
	size_t all = strlen(x->content) + (x->input == NULL ? 0 : strlen(x->input));

	if (x->tool != NULL)
		s->calls_short++;
	else if (users(x))
		s->user_short++;
	else
		s->words_short++;
	s->lines_cut += lines;
	s->tokens_cut += all > bytes ? tokens_of_size(all - bytes) : 0;
}

static void
print(struct buf *out, const struct talk *t)
{
	size_t missing = 0, of_user = 0, before, left;

	for (size_t i = 0; i < t->n; i++) {
		const struct exchange *x = t->v[i].x;
		const struct share *s = &t->shares[i];

		if (!s->kept) {
			if (x != NULL) {
				missing++;
				of_user += users(x);
				count_cut(t->stats, x);
			}
			continue;
		}
		gap(out, missing, of_user);
		missing = of_user = 0;
		before = out->len;
		left = item_text(out, t, &t->v[i], room_holds(s->most, s->full) ? ROOM_ALL : s->most);
		t->stats->kept += x != NULL;
		if (left > 0 && x != NULL)
			count_short(t->stats, x, left, out->len - before);
	}
	gap(out, missing, of_user);
}

/* With less it is better left out: of a call its heading should stand, of words some lines. */
static struct room
item_least(struct buf *tmp, const struct talk *t, const struct item *it)
{
	struct room line, least = LEAST;

	if (it->x == NULL || it->x->tool == NULL)
		return LEAST;
	buf_reset(tmp);
	heading_write(tmp, it->x, t->mixed, t->nonce);
	if (it->x->input != NULL)
		inline_input(tmp, 0, t, it->x, LEAST);
	line = room_of(tmp->data, tmp->len);
	least.cost = 2 * line.cost + 3 * CUT_LEAST.cost;
	return least.cost < LEAST.cost ? least : LEAST;
}

/* Shares the room out and prints. */
static void
print_items(struct buf *out, struct talk *t)
{
	struct buf tmp = BUF_INIT;

	for (size_t i = 0; i < t->n; i++) {
		t->shares[i].full = item_full(&tmp, t, &t->v[i]);
		t->shares[i].least = t->shares[i].rank == RANK_CORE ? LEAST : item_least(&tmp, t, &t->v[i]);
	}
	share_out(t->shares, t->n, t->room);
	print(out, t);
	buf_release(&tmp);
}

/* Text that nobody could take apart: its newest rows, as they are. */
static void
raw_text(struct buf *out, const struct talk *t, const char *text, struct room room)
{
	static const char title[] = HEADING_RAW "\n";
	struct buf clean = BUF_INIT;
	size_t from, left;

	fence_data(&clean, text, strlen(text), t->nonce);
	while (clean.len > 0 && (clean.data[clean.len - 1] == '\n' || clean.data[clean.len - 1] == ' '))
		buf_cut(&clean, clean.len - 1);
	buf_chr(&clean, '\n');
	buf_str(out, title);
	room = room_less(room, room_of(title, strlen(title)));
	from = room_holds(room, room_of(clean.data, clean.len)) ? 0 :
	    cut_tail(clean.data, clean.len, room_less(room, (struct room){ 3000, 2 }));
	left = cut_lines(clean.data, from);
	if (from > 0)
		buf_fmt(out, "… %zu older lines left out …\n", left);
	buf_add(out, clean.data + from, clean.len - from);
	buf_chr(out, '\n');
	t->stats->kept = 1;
	t->stats->words_short = from > 0;
	t->stats->lines_cut += left;
	t->stats->tokens_cut += tokens_of_size(from);
	buf_release(&clean);
}

void
talk_text(struct buf *out, const struct conversation *c, const char *nonce, struct room room, struct talk_stats *stats)
{
	struct talk t = { .c = c, .nonce = nonce, .room = room, .stats = stats };
	bool raw = c->n == 1 && c->v[0].role == ROLE_SYSTEM && c->v[0].tool == NULL;
	struct buf more = BUF_INIT;

	*stats = (struct talk_stats){ .kept = 0 };
	if (room.lines < LINES_LEAST)
		room.lines = t.room.lines = LINES_LEAST;
	if (raw)
		t.room = (struct room){ room.cost / 2, room.lines / 2 };
	list_items(&t, raw ? 1 : 0);
	rank(&t);
	print_items(&more, &t);
	if (raw)
		raw_text(out, &t, c->v[0].content, room_less(room, room_less(room_of(more.data, more.len), room_of("\n", 1))));
	buf_add(out, more.data, more.len);
	buf_release(&more);
	free(t.v);
	free(t.shares);
}
