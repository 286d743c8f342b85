#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "prompt/prompt_private.h"
#include "prompt/prompt.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "conversation/conversation.h"

#define HEADING_NAME ((size_t)64)
#define HEADING_RESULT "Result:"
#define HEADING_QUESTION "Open question, not answered when the session died:"
#define HEADING_DRAFT "Typed by the user but never sent:"
#define HEADING_TASKS "Task list as last shown:"
#define HEADING_RAW "Raw text of the terminal (it could not be read as a conversation):"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const char *const role_words[] = {
	[ROLE_USER] = "User", [ROLE_ASSISTANT] = "Assistant", [ROLE_SYSTEM] = "System"
};
static const char *const source_words[] = {
	[SOURCE_SCREEN] = "screen", [SOURCE_TRANSCRIPT] = "transcript", [SOURCE_SNAPSHOT] = "snapshot",
	[SOURCE_EARLIER] = "earlier recovery",
};
/* What a status means to the agent that comes after; NULL for a thing that came to its end. */
static const char *const status_words[] = {
	[STATUS_COMPLETE] = NULL, [STATUS_RUNNING] = "cut off when the session died",
	[STATUS_WAITING] = "waiting for an answer when the session died",
	[STATUS_INTERRUPTED] = "interrupted", [STATUS_FAILED] = "failed",
};
/* The same of a call. */
static const char *const call_words[] = { "still running when the session died",
	"had not run when the session died" };
static const enum status call_status[] = { STATUS_RUNNING, STATUS_WAITING };

static void
tool_name(struct buf *out, const char *name, const char *nonce)
{
	struct buf line = BUF_INIT;
	size_t n = strnlen(name, HEADING_NAME);

	while (n > 0 && name[n] != '\0' && ((unsigned char)name[n] & 0xc0) == 0x80)
		n--;
	utf8_escape(&line, name, n, HEADING_NAME);
	fence_data(out, line.data, line.len, nonce);
	buf_release(&line);
}

/*
 * The line above an exchange in a prompt:
 *
 * 	User [screen] (waiting for an answer when the session died):
 * 	Tool Bash (still running when the session died): make all
 *
 * with a tool's name cut to HEADING_NAME bytes, the source only where it is asked for, and a
 * call's input only when it is short and of one line. It is written for the agent, and read again
 * when that agent crashes, too (prompt_parse).
 */
static void
prompt_heading_write(struct buf *out, const struct exchange *x, bool with_source, const char *nonce)
{
	const char *status = status_words[x->status];

	for (size_t i = 0; x->tool != NULL && i < COUNT(call_words); i++)
		if (x->status == call_status[i])
			status = call_words[i];
	if (x->tool != NULL) {
		buf_str(out, "Tool ");
		tool_name(out, x->tool, nonce);
	} else {
		buf_str(out, role_words[x->role]);
	}
	if (with_source)
		buf_fmt(out, " [%s]", source_words[x->source]);
	if (status != NULL)
		buf_fmt(out, " (%s)", status);
	buf_chr(out, ':');
}

/* Takes open + one of the words + close from the end of p; its index, or -1. */
static int
take_word(const char *p, size_t *n, const char *open, const char *const *words, size_t count, char close)
{
	size_t len, lead = strlen(open);

	for (size_t i = 0; i < count; i++) {
		if (words[i] == NULL)
			continue;
		len = strlen(words[i]);
		if (*n < lead + len + 1 || p[*n - 1] != close ||
		    memcmp(p + *n - 1 - len, words[i], len) != 0 ||
		    memcmp(p + *n - 1 - len - lead, open, lead) != 0)
			continue;
		*n -= lead + len + 1;
		return (int)i;
	}
	return -1;
}

/*
 * Reads such a line (without its newline) back into role, status, source and tool of x, which
 * must be empty; *rest is what stands behind the colon and its blank. False: it is no such line,
 * x is as it was.
 */
static bool
prompt_heading_read(const char *line, size_t n, struct exchange *x, const char **rest)
{
	const char *colon = line, *end = line + n;
	bool call = n > 5 && memcmp(line, "Tool ", 5) == 0;
	int status, source, role = -1, of_call;
	size_t len;

	do {
		colon = memchr(colon, ':', (size_t)(end - colon));
		if (colon == NULL)
			return false;
	} while (++colon < end && *colon != ' ');
	*rest = colon < end ? colon + 1 : end;
	len = (size_t)(colon - 1 - line);
	of_call = take_word(line, &len, " (", call_words, COUNT(call_words), ')');
	status = of_call >= 0 ? (int)call_status[of_call] :
				take_word(line, &len, " (", status_words, COUNT(status_words), ')');
	source = take_word(line, &len, " [", source_words, COUNT(source_words), ']');
	for (size_t i = 0; !call && i < COUNT(role_words); i++)
		if (strlen(role_words[i]) == len && memcmp(line, role_words[i], len) == 0)
			role = (int)i;
	if (call ? len <= 5 : role < 0)
		return false;
	x->role = call ? ROLE_ASSISTANT : (enum role)role;
	x->status = status < 0 ? STATUS_COMPLETE : (enum status)status;
	x->source = source < 0 ? SOURCE_EARLIER : (enum source)source;
	x->tool = call ? xstrndup(line + 5, len - 5) : NULL;
	return true;
}

#define CORE_LEAST ((size_t)3)		/* the newest exchange, the last and the first message of the user */
#define LINES_LEAST ((size_t)32)
/* the heading of any exchange, two notes, and a line or two */
#define LEAST ((struct budget){ 15000, 6 })
#define INPUT_BYTES ((size_t)400)	/* a longer input stands in lines of its own */
#define SECTIONS 3
#define UNFINISHED 4			/* calls and words without an end that belong to the core */
#define WORDS_WEIGHT 4			/* the agent's words against its calls */

/* A part of the text: an exchange or a section. */
struct render_item {
	const struct exchange *x;	/* NULL: a section */
	const char *title, *text;	/* of a section */
};

struct renderer {
	const struct conversation *c;
	const char *nonce;
	struct budget room;
	bool mixed;			/* more than one source */
	char *tasks;			/* the list in words */
	struct render_item *v;
	struct budget_share *shares;		/* one an item */
	size_t n;
	struct render_stats *stats;
};

static bool
is_users(const struct exchange *x)
{
	return x->role == ROLE_USER && x->tool == NULL;
}

/* A text at column 2 within the room, which becomes smaller. Returns the lines left out. */
static size_t
put_block(struct buf *out, const struct renderer *t, const char *text, struct budget *room)
{
	struct elided_text cut;
	size_t before = out->len, left;

	prompt_elide_layout(&cut, text, strlen(text), t->nonce, 2, *room);
	left = prompt_elide_put(out, &cut, *room);
	*room = budget_less(*room, budget_of(out->data + before, out->len - before));
	prompt_elide_release(&cut);
	return left;
}

/* What the input may take of the room of both: half, and what the result leaves of its own half. */
static size_t
half_budget(size_t room, size_t result)
{
	return result < room / 2 ? room - result : room / 2;
}

static size_t
call_blocks(
    struct buf *out, const struct renderer *t, const struct exchange *x, bool input, struct budget room)
{
	struct elided_text in = ELIDED_INIT, result = ELIDED_INIT;
	size_t before = out->len, left = 0;

	if (input)
		prompt_elide_layout(&in, x->input, strlen(x->input), t->nonce, 2, room);
	if (x->content[0] != '\0') {
		prompt_elide_layout(&result, x->content, strlen(x->content), t->nonce, 2, room);
		room = budget_less(room, budget_of(HEADING_RESULT "\n", 8));
	}
	left += prompt_elide_put(out, &in,
	    (struct budget){
		half_budget(room.cost, result.full.cost), half_budget(room.lines, result.full.lines) });
	room = budget_less(room, budget_of(out->data + before, out->len - before));
	if (x->content[0] != '\0') {
		buf_str(out, HEADING_RESULT "\n");
		left += prompt_elide_put(out, &result, room);
	}
	prompt_elide_release(&in);
	prompt_elide_release(&result);
	return left;
}

/* Puts a short input behind the heading, which began at `from`. False: there it has no place. */
static bool
inline_input(
    struct buf *out, size_t from, const struct renderer *t, const struct exchange *x, struct budget room)
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
exchange_text(struct buf *out, const struct renderer *t, const struct exchange *x, struct budget room)
{
	size_t before = out->len;
	bool apart;

	prompt_heading_write(out, x, t->mixed, t->nonce);
	apart = x->tool != NULL && x->input != NULL && !inline_input(out, before, t, x, room);
	buf_chr(out, '\n');
	room = budget_less(room, budget_of(out->data + before, out->len - before));
	return x->tool != NULL ? call_blocks(out, t, x, apart, room) : put_block(out, t, x->content, &room);
}

/* An item whole or cut to the room, ended by an empty line. Returns the lines left out. */
static size_t
item_text(struct buf *out, const struct renderer *t, const struct render_item *it, struct budget room)
{
	size_t left;

	room = budget_less(room, budget_of("\n", 1));
	if (it->x != NULL) {
		left = exchange_text(out, t, it->x, room);
	} else {
		buf_fmt(out, "%s\n", it->title);
		room = budget_less(room, (struct budget){ 2000, 1 });
		left = put_block(out, t, it->text, &room);
	}
	buf_chr(out, '\n');
	return left;
}

/* What the item takes when nothing is left out; for one that cannot fit anyway only that. */
static struct budget
item_full(struct buf *tmp, const struct renderer *t, const struct render_item *it)
{
	size_t most = t->room.cost / TOKEN_COST * TOKEN_BYTES_MOST;
	size_t bytes = it->x == NULL
	    ? strlen(it->text)
	    : strlen(it->x->content) + (it->x->input == NULL ? 0 : strlen(it->x->input));

	if (bytes > most)
		return BUDGET_ALL;
	buf_reset(tmp);
	item_text(tmp, t, it, BUDGET_ALL);
	return budget_of(tmp->data, tmp->len);
}

/* The exchanges from `first` on, without the program's banners, and the sections. */
static void
list_items(struct renderer *t, size_t first)
{
	const struct conversation *c = t->c;
	char *tasks = t->tasks = c->tasks != NULL ? conversation_tasks_list(c->tasks) : NULL;
	const struct render_item more[SECTIONS] = {
		{ NULL, HEADING_QUESTION, c->question },
		{ NULL, HEADING_DRAFT, c->draft },
		{ NULL, HEADING_TASKS, tasks },
	};

	t->v = xcalloc(c->n + SECTIONS, sizeof *t->v);
	t->shares = xcalloc(c->n + SECTIONS, sizeof *t->shares);
	for (size_t i = first; i < c->n; i++) {
		t->mixed |= c->v[i].source != c->v[0].source;
		if (!exchange_is_banner(&c->v[i]))
			t->v[t->n++].x = &c->v[i];
	}
	for (size_t i = 0; i < SECTIONS; i++)
		if (more[i].text != NULL && more[i].text[0] != '\0')
			t->v[t->n++] = more[i];
}

/*
 * Where the last turn begins: the last message that the agent got and that is no command of the
 * user's own; n: nowhere.
 */
static size_t
last_turn(const struct conversation *c)
{
	size_t other = c->n;

	for (size_t i = c->n; i-- > 0;) {
		const struct exchange *x = &c->v[i];

		if (!is_users(x) || x->content[0] == '\0' || x->status == STATUS_WAITING)
			continue;
		if (x->content[0] != '/' && x->content[0] != '!')
			return i;
		if (other == c->n)
			other = i;
	}
	return other;
}

/* The last summary of a compaction; n: there is none. */
static size_t
last_summary(const struct renderer *t, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (t->v[i].x->role == ROLE_SYSTEM && str_starts(t->v[i].x->content, CONVERSATION_SUMMARY))
			return i;
	return n;
}

static void
promote_to_core(struct renderer *t, size_t i, size_t *places)
{
	if (*places == 0 || t->shares[i].rank == BUDGET_CORE)
		return;
	t->shares[i] = (struct budget_share){ .rank = BUDGET_CORE, .weight = 1 };
	--*places;
}

/* How many the core may have: half of the room holds their least. */
static size_t
core_places(const struct renderer *t)
{
	size_t by_cost = t->room.cost / (LEAST.cost + BUDGET_GAP.cost + BUDGET_GAP_USER) / 2;
	size_t by_lines = t->room.lines / (LEAST.lines + BUDGET_GAP.lines) / 2;
	size_t places = by_cost < by_lines ? by_cost : by_lines;

	return places > CORE_LEAST ? places : CORE_LEAST;
}

/*
 * Takes the core out, the most important first. `turn` is the exchange that begins the last turn,
 * of n exchanges, `summary` the last summary.
 */
static void
find_core(struct renderer *t, size_t n, size_t turn, size_t summary)
{
	size_t places = core_places(t);

	size_t first = 0;

	while (first < n && !is_users(t->v[first].x))
		first++;
	if (n > 0)
		promote_to_core(t, n - 1, &places);
	if (turn < n)
		promote_to_core(t, turn, &places);
	if (first < n)
		promote_to_core(t, first, &places);
	if (summary < n)
		promote_to_core(t, summary, &places);
	for (size_t i = n; i < t->n; i++)
		promote_to_core(t, i, &places);
	places = places < UNFINISHED ? places : UNFINISHED;
	for (size_t i = n; i-- > 0 && places > 0;)
		if (t->v[i].x->status == STATUS_RUNNING || t->v[i].x->status == STATUS_WAITING)
			promote_to_core(t, i, &places);
}

/* Ranks, weights and ages. */
static void
rank_items(struct renderer *t)
{
	size_t n = t->n, turn, summary, users_newer = 0;

	while (n > 0 && t->v[n - 1].x == NULL)
		n--;
	turn = n > 0 ? last_turn(t->c) : 0;
	summary = last_summary(t, n);
	for (size_t i = t->n; i-- > 0;) {
		const struct exchange *x = t->v[i].x;
		struct budget_share *s = &t->shares[i];

		s->weight = x == NULL || x->tool == NULL ? WORDS_WEIGHT : 1;
		if (x == NULL || is_users(x)) {
			s->rank = BUDGET_USER;
			s->age = x == NULL ? 0 : users_newer++;
		} else {
			s->rank = i > turn || turn == n ? BUDGET_TURN : BUDGET_OLD;
			s->age = n - 1 - i;
		}
		if (i < summary && summary < n)
			s->rank = BUDGET_PAST;
	}
	find_core(t, n, turn, summary);
}

/* A line for the exchanges that are missing between two that are there. */
static void
put_gap(struct buf *out, size_t n, size_t of_user)
{
	if (n == 0)
		return;
	buf_fmt(out, "(%zu older exchange%s left out", n, n == 1 ? "" : "s");
	if (of_user > 0)
		buf_fmt(out, ", %zu of them the user's", of_user);
	buf_str(out, ")\n\n");
}

static void
count_cut(struct render_stats *s, const struct exchange *x)
{
	size_t content = strlen(x->content), input = x->input == NULL ? 0 : strlen(x->input);

	s->cut++;
	s->user_cut += is_users(x);
	s->lines_cut +=
	    prompt_count_lines(x->content, content) + (input == 0 ? 0 : prompt_count_lines(x->input, input));
	s->tokens_cut += prompt_tokens_of_size(content + input);
}

static void
count_short(struct render_stats *s, const struct exchange *x, size_t lines, size_t bytes)
{
	size_t all = strlen(x->content) + (x->input == NULL ? 0 : strlen(x->input));

	if (x->tool != NULL)
		s->calls_short++;
	else if (is_users(x))
		s->user_short++;
	else
		s->words_short++;
	s->lines_cut += lines;
	s->tokens_cut += all > bytes ? prompt_tokens_of_size(all - bytes) : 0;
}

/*
 * The item before which the exchanges stood that were never read: behind the user's first message,
 * which is kept. A banner of the screen may stand before that.
 */
static size_t
find_older(const struct renderer *t)
{
	size_t i = 0;

	while (i < t->n && t->v[i].x != NULL && t->v[i].x->role == ROLE_SYSTEM &&
	    t->v[i].x->source != SOURCE_TRANSCRIPT)
		i++;
	return i + (i < t->n && t->v[i].x != NULL && is_users(t->v[i].x));
}

static void
put_item(struct buf *out, const struct renderer *t)
{
	const struct older_count *older = &t->c->older;
	size_t missing = 0, of_user = 0, place = find_older(t), before, left;

	t->stats->cut += older->all;
	t->stats->user_cut += older->users;
	t->stats->lines_cut += older->lines;
	t->stats->tokens_cut += prompt_tokens_of_size(older->bytes);
	for (size_t i = 0; i < t->n || i == place; i++) {
		const struct exchange *x = i < t->n ? t->v[i].x : NULL;
		const struct budget_share *s = &t->shares[i];

		if (i == place) {
			missing += older->all;
			of_user += older->users;
		}
		if (i == t->n)
			break;
		if (!s->kept) {
			if (x != NULL) {
				missing++;
				of_user += is_users(x);
				count_cut(t->stats, x);
			}
			continue;
		}
		put_gap(out, missing, of_user);
		missing = of_user = 0;
		before = out->len;
		left = item_text(out, t, &t->v[i], budget_holds(s->most, s->full) ? BUDGET_ALL : s->most);
		t->stats->kept += x != NULL;
		if (left > 0 && x != NULL)
			count_short(t->stats, x, left, out->len - before);
	}
	put_gap(out, missing, of_user);
}

/* With less it is better left out: of a call its heading should stand, of words some lines. */
static struct budget
item_least(struct buf *tmp, const struct renderer *t, const struct render_item *it)
{
	struct budget line, least = LEAST;

	if (it->x == NULL || it->x->tool == NULL)
		return LEAST;
	buf_reset(tmp);
	prompt_heading_write(tmp, it->x, t->mixed, t->nonce);
	if (it->x->input != NULL)
		inline_input(tmp, 0, t, it->x, LEAST);
	line = budget_of(tmp->data, tmp->len);
	least.cost = 2 * line.cost + 3 * ELIDED_LEAST.cost;
	return least.cost < LEAST.cost ? least : LEAST;
}

/* Shares the room out and prints. */
static void
print_items(struct buf *out, struct renderer *t)
{
	struct buf tmp = BUF_INIT;

	for (size_t i = 0; i < t->n; i++) {
		t->shares[i].full = item_full(&tmp, t, &t->v[i]);
		t->shares[i].least = t->shares[i].rank == BUDGET_CORE ? LEAST : item_least(&tmp, t, &t->v[i]);
	}
	budget_allocate(t->shares, t->n, t->room);
	put_item(out, t);
	buf_release(&tmp);
}

/* Text that nobody could take apart: its newest rows, as they are. */
static void
raw_text(struct buf *out, const struct renderer *t, const char *text, struct budget room)
{
	static const char title[] = HEADING_RAW "\n";
	struct buf clean = BUF_INIT;
	size_t from, left;

	fence_data(&clean, text, strlen(text), t->nonce);
	while (clean.len > 0 && (clean.data[clean.len - 1] == '\n' || clean.data[clean.len - 1] == ' '))
		buf_cut(&clean, clean.len - 1);
	buf_chr(&clean, '\n');
	buf_str(out, title);
	room = budget_less(room, budget_of(title, strlen(title)));
	from = budget_holds(room, budget_of(clean.data, clean.len)) ? 0 :
	    prompt_elide_to_tail(clean.data, clean.len, budget_less(room, (struct budget){ 3000, 2 }));
	left = prompt_count_lines(clean.data, from);
	if (from > 0)
		buf_fmt(out, "… %zu older lines left out …\n", left);
	buf_add(out, clean.data + from, clean.len - from);
	buf_chr(out, '\n');
	t->stats->kept = 1;
	t->stats->words_short = from > 0;
	t->stats->lines_cut += left;
	t->stats->tokens_cut += prompt_tokens_of_size(from);
	buf_release(&clean);
}

void
prompt_render(struct buf *out, const struct conversation *c, const char *nonce, struct budget room,
    struct render_stats *stats)
{
	struct renderer t = { .c = c, .nonce = nonce, .room = room, .stats = stats };
	bool raw = c->n == 1 && c->v[0].role == ROLE_SYSTEM && c->v[0].tool == NULL;
	struct buf more = BUF_INIT;

	*stats = (struct render_stats){ .kept = 0 };
	if (room.lines < LINES_LEAST)
		room.lines = t.room.lines = LINES_LEAST;
	if (raw)
		t.room = (struct budget){ room.cost / 2, room.lines / 2 };
	list_items(&t, raw ? 1 : 0);
	rank_items(&t);
	print_items(&more, &t);
	if (raw)
		raw_text(out, &t, c->v[0].content,
		    budget_less(room, budget_less(budget_of(more.data, more.len), budget_of("\n", 1))));
	buf_add(out, more.data, more.len);
	buf_release(&more);
	free(t.tasks);
	free(t.v);
	free(t.shares);
}

/* What the lines at column 2 belong to. */
enum parse_part { PART_NONE, PART_INPUT, PART_CONTENT, PART_QUESTION, PART_DRAFT, PART_TASKS, PART_RAW };

struct prompt_parser {
	struct conversation *c;
	struct exchange x;		/* the one that is being read */
	bool any;			/* x holds something */
	enum parse_part part;
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
end_part(struct prompt_parser *u)
{
	char **to[] = {
		[PART_INPUT] = &u->x.input, [PART_CONTENT] = &u->x.content, [PART_RAW] = &u->x.content,
		[PART_QUESTION] = &u->c->question, [PART_DRAFT] = &u->c->draft,
		[PART_TASKS] = &u->c->tasks,
	};

	if (u->part != PART_NONE && u->text.len > 0 && *to[u->part] == NULL) {
		char *text = take_text(&u->text);

		*to[u->part] = u->part == PART_TASKS ? conversation_tasks_from_list(text) : text;
		if (u->part == PART_TASKS)
			free(text);
	}
	buf_reset(&u->text);
	u->part = PART_NONE;
}

static void
end_exchange(struct prompt_parser *u)
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
begin_part(struct prompt_parser *u, enum role role, enum parse_part part)
{
	end_exchange(u);
	if (part == PART_RAW || part == PART_CONTENT) {
		u->x = (struct exchange){ .role = role, .source = SOURCE_EARLIER };
		u->any = true;
	}
	u->part = part;
}

static bool
is_line(const char *line, size_t n, const char *text)
{
	return strlen(text) == n && memcmp(line, text, n) == 0;
}

static void
read_line(struct prompt_parser *u, const char *line, size_t n)
{
	struct exchange x = { .role = ROLE_SYSTEM };
	const char *rest;

	if (u->part == PART_RAW || n == 0 || (n >= 2 && line[0] == ' ' && line[1] == ' ')) {
		size_t skip = u->part == PART_RAW || n == 0 ? 0 : 2;

		buf_add(&u->text, line + skip, n - skip);
		buf_chr(&u->text, '\n');
	} else if (is_line(line, n, HEADING_RESULT) && u->any && u->x.tool != NULL) {
		end_part(u);
		u->part = PART_CONTENT;
	} else if (is_line(line, n, HEADING_QUESTION)) {
		begin_part(u, ROLE_SYSTEM, PART_QUESTION);
	} else if (is_line(line, n, HEADING_DRAFT)) {
		begin_part(u, ROLE_SYSTEM, PART_DRAFT);
	} else if (is_line(line, n, HEADING_TASKS)) {
		begin_part(u, ROLE_SYSTEM, PART_TASKS);
	} else if (is_line(line, n, HEADING_RAW)) {
		begin_part(u, ROLE_SYSTEM, PART_RAW);
	} else if (prompt_heading_read(line, n, &x, &rest)) {
		end_exchange(u);
		u->x = x;
		u->any = true;
		u->part = x.tool != NULL ? PART_INPUT : PART_CONTENT;
		buf_add(&u->text, rest, (size_t)(line + n - rest));
	} else {	/* "(5 older exchanges left out here)" */
		begin_part(u, ROLE_SYSTEM, PART_CONTENT);
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
	*len = (size_t)((close != NULL ? close : end) - (nl + 1)); /* a prompt that was cut off has no end */
	return nl + 1;
}

bool
prompt_parse(const char *p, size_t n, struct conversation *out)
{
	struct prompt_parser u = { .c = out, .text = BUF_INIT };
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
