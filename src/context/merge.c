#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "context/merge.h"
#include "context/align.h"
#include "context/exchange.h"
#include "context/likeness.h"
#include "base/buf.h"

#define NEAR 8			/* exchanges in which a fragment is looked for */
#define FRAGMENT 12		/* letters; a shorter one could stand anywhere */
#define PIECE 4			/* letters, of what the transcript should have had */
#define TURN 256		/* exchanges of a turn in which the calls of a folded line are looked for */

/* Two sources, the fuller (a transcript, or an older screen) and the newer, on their way into one. */
struct weave {
	struct conversation *a, *b, *out;
	struct likeness *la, *lb;
	size_t *pair;		/* of b */
	unsigned char *taken;	/* of a: 1 when b has it too */
	bool screens;		/* a is a screen as well */
	size_t budget;		/* letters that may still be compared for fragments */
};

static struct likeness *
look_at(const struct conversation *c)
{
	struct likeness *l = xcalloc(c->n + 1, sizeof *l);

	for (size_t i = 0; i < c->n; i++)
		likeness_init(&l[i], &c->v[i]);
	/* the last words may have been cut by the end of what was seen */
	for (size_t i = c->n; i-- > 0 && l[i].kind != LIKENESS_USER;)
		if (l[i].kind == LIKENESS_WORDS) {
			l[i].open = true;
			break;
		}
	return l;
}

static void
swap_text(char **a, char **b)
{
	char *t = *a;

	*a = *b;
	*b = t;
}

/* a's exchange, with what only b can know of it; b's is spent. */
static void
join(const struct weave *w, struct exchange *a, struct exchange *b)
{
	bool open = a->status == STATUS_RUNNING || a->status == STATUS_WAITING;

	if (open) {
		a->status = b->status;
		if (a->tool != NULL && (w->screens || a->content[0] == '\0' || b->status == STATUS_COMPLETE || b->status == STATUS_FAILED))
			swap_text(&a->content, &b->content);
	} else if (a->tool == NULL && a->status == STATUS_COMPLETE && b->status == STATUS_INTERRUPTED)
		a->status = STATUS_INTERRUPTED;
	if (a->tool != NULL && a->input == NULL)
		swap_text(&a->input, &b->input);
	exchange_release(b);
}

/* Of two screens the newer holds, unless it shows less of the same. */
static void
join_screens(struct exchange *a, struct exchange *b)
{
	bool ended = b->status != STATUS_RUNNING && b->status != STATUS_WAITING;

	if (b->tool == NULL && strlen(a->content) > strlen(b->content) && a->status == b->status && ended)
		swap_text(&a->content, &b->content);
	if (b->tool != NULL && b->input == NULL)
		swap_text(&a->input, &b->input);
	exchange_release(a);
}

/* "Searched for 1 pattern, read 3 files": 4 calls. */
static size_t
folded_calls(const struct exchange *x)
{
	size_t sum = 0;

	for (const char *p = x->content; *p != '\0' && *p != '\n' && sum < 1000; p++)
		if (isdigit((unsigned char)*p)) {
			char *end;

			sum += strtoul(p, &end, 10) % 1000;
			p = end - 1;
		}
	return sum > 0 ? sum : 1;
}

/* True when the turn of a's exchange i holds a call that b does not show. */
static bool
turn_has_call(const struct weave *w, size_t i)
{
	for (size_t k = i, n = 0; k-- > 0 && n < TURN && w->la[k].kind != LIKENESS_USER; n++)
		if (w->la[k].kind == LIKENESS_CALL && !w->taken[k])
			return true;
	for (size_t k = i, n = 0; k < w->a->n && n < TURN && w->la[k].kind != LIKENESS_USER; n++, k++)
		if (w->la[k].kind == LIKENESS_CALL && !w->taken[k])
			return true;
	return false;
}

static bool
stands_in(struct weave *w, const struct buf *letters, const struct exchange *x)
{
	struct buf b = BUF_INIT;
	bool found;

	if (x->content == NULL || strlen(x->content) > w->budget)
		return false;
	w->budget -= strlen(x->content);
	likeness_letters(&b, x->content);
	found = memmem(b.data, b.len, letters->data, letters->len) != NULL;
	buf_release(&b);
	return found;
}

/*
 * A row or paragraph of b that nobody could take apart, and that stands in one of the last exchanges. Where the transcript goes on
 * behind it with `next`, it knows of all that was said: words of its own on the screen are a piece of a prompt that looked like a
 * marker, or of what was painted twice.
 */
static bool
is_fragment(struct weave *w, const struct exchange *x, const struct exchange *next)
{
	struct buf letters = BUF_INIT;
	bool found = false;

	if ((x->role != ROLE_SYSTEM && next == NULL) || x->tool != NULL || likeness_banner(x))
		return false;
	likeness_letters(&letters, x->content);
	if (next != NULL && letters.len >= PIECE)
		found = stands_in(w, &letters, next);
	for (size_t i = 0; letters.len >= (next != NULL ? PIECE : FRAGMENT) && !found && i < NEAR && i < w->out->n; i++)
		found = w->out->v[w->out->n - 1 - i].source != x->source && stands_in(w, &letters, &w->out->v[w->out->n - 1 - i]);
	buf_release(&letters);
	return found;
}

struct gap {
	size_t a0, a1, b0, b1;
	size_t calls;		/* of a's in there, those that no folded line was held against */
};

/* The last open call of a's that shows nothing yet learns what the folded line says of it. */
static void
tell_open_call(struct weave *w, struct exchange *folded)
{
	for (size_t i = w->out->n, n = 0; i-- > 0 && n < NEAR; n++) {
		struct exchange *x = &w->out->v[i];

		if (x->tool == NULL || x->status != STATUS_RUNNING || x->content[0] != '\0')
			continue;
		if (strchr(folded->content, '\n') != NULL)
			swap_text(&x->content, &folded->content);
		return;
	}
}

/* True when all that b's exchange says is said already. */
static bool
is_said(struct weave *w, struct gap *gap, size_t i)
{
	struct exchange *x = &w->b->v[i];
	bool tail = gap->a1 == w->a->n, running = x->status == STATUS_RUNNING;
	size_t calls;

	if (w->screens || !x->folded)
		return is_fragment(w, x, !w->screens && !tail && gap->a1 > 0 ? &w->a->v[gap->a1] : NULL);
	calls = folded_calls(x);
	if (gap->calls >= calls || (gap->calls > 0 && running)) {
		gap->calls -= calls < gap->calls ? calls : gap->calls;
		if (running)
			tell_open_call(w, x);
		return true;
	}
	return gap->calls > 0 ? !tail : !tail && turn_has_call(w, gap->a1);
}

/* A session does not begin twice with nothing said: its banner was painted again. */
static bool
is_repaint(const struct conversation *out, const struct exchange *x)
{
	const struct exchange *last = out->n > 0 ? &out->v[out->n - 1] : NULL;

	return last != NULL && likeness_banner(x) && likeness_banner(last) && strcmp(last->content, x->content) == 0;
}

static void
put_newer(struct weave *w, struct gap *gap, size_t i)
{
	if (is_said(w, gap, i) || is_repaint(w->out, &w->b->v[i]))
		exchange_release(&w->b->v[i]);
	else
		conversation_take(w->out, &w->b->v[i]);
}

/* What stands between two exchanges of both. */
static void
put_gap(struct weave *w, struct gap *gap)
{
	bool behind = w->out->n > 0 && gap->a0 > 0;	/* there is something to remark on */
	bool folded = false;
	size_t i = gap->b0;

	for (; behind && i < gap->b1 && w->lb[i].kind == LIKENESS_SYSTEM && !likeness_banner(&w->b->v[i]); i++)
		put_newer(w, gap, i);
	for (size_t k = gap->b0; w->screens && k < gap->b1; k++)
		folded = folded || w->lb[k].kind == LIKENESS_FOLDED;
	for (size_t k = gap->a0; k < gap->a1; k++) {
		if (folded && w->la[k].kind == LIKENESS_FOLDED) {	/* the same line, grown since */
			exchange_release(&w->a->v[k]);
			continue;
		}
		gap->calls += w->la[k].kind == LIKENESS_CALL;
		conversation_take(w->out, &w->a->v[k]);
	}
	for (; i < gap->b1; i++)
		put_newer(w, gap, i);
}

static void
put_all(struct weave *w)
{
	struct gap gap = { .a0 = 0 };

	for (size_t i = 0; i <= w->b->n; i++) {
		bool end = i == w->b->n;
		size_t here = end ? w->a->n : w->pair[i];

		if (here == ALIGN_NONE)
			continue;
		gap.a1 = here;
		gap.b1 = i;
		gap.calls = 0;
		put_gap(w, &gap);
		if (end)
			break;
		if (w->screens) {
			join_screens(&w->a->v[here], &w->b->v[i]);
			conversation_take(w->out, &w->b->v[i]);
		} else {
			join(w, &w->a->v[here], &w->b->v[i]);
			conversation_take(w->out, &w->a->v[here]);
		}
		gap.a0 = here + 1;
		gap.b0 = i + 1;
	}
}

static void
put_whole(struct conversation *from, struct conversation *out)
{
	for (size_t i = 0; i < from->n; i++)
		conversation_take(out, &from->v[i]);
}

/* True when the screen shows where a session began, or nothing of any. */
static bool
is_another(const struct conversation *c, const struct likeness *l)
{
	bool words = c->unknown_lines > 0;

	for (size_t i = 0; i < c->n; i++) {
		if (likeness_banner(&c->v[i]))
			return true;
		words = words || l[i].cost > 0 || l[i].kind == LIKENESS_FOLDED;
	}
	return !words;
}

/* True when the oldest exchange is b's. */
static bool
weave(struct conversation *a, struct conversation *b, bool screens, struct conversation *out)
{
	struct weave w = { .a = a, .b = b, .out = out, .screens = screens, .la = look_at(a), .lb = look_at(b), .budget = 1 << 16 };
	size_t first = 0;
	bool newer;

	w.pair = xreallocarray(NULL, b->n + 1, sizeof *w.pair);
	w.taken = xcalloc(a->n + 1, 1);
	align(w.la, a->n, w.lb, b->n, w.pair);
	for (size_t i = 0; i < b->n; i++)
		if (w.pair[i] != ALIGN_NONE)
			w.taken[w.pair[i]] = 1;
	for (size_t i = 0; i < a->n; i++)
		w.budget += 8 * w.la[i].n;
	while (first < b->n && w.pair[first] == ALIGN_NONE)
		first++;
	newer = a->n == 0 || (first < b->n && first > 0 && w.pair[first] == 0);
	if (first == b->n && !screens && is_another(b, w.lb)) {
		put_whole(b, out);
		put_whole(a, out);
		newer = b->n > 0;
	} else
		put_all(&w);
	free(w.la);
	free(w.lb);
	free(w.pair);
	free(w.taken);
	return newer;
}

/* The words of `from` go to `to` where it has none. */
static void
give(char **to, char **from)
{
	if (*to == NULL)
		swap_text(to, from);
}

/* What the newest screen says of the moment. */
static void
take_state(struct conversation *out, struct conversation *screen)
{
	swap_text(&out->draft, &screen->draft);
	swap_text(&out->tasks, &screen->tasks);
	swap_text(&out->question, &screen->question);
	swap_text(&out->resume_id, &screen->resume_id);
	give(&out->banner, &screen->banner);
	give(&out->session_id, &screen->session_id);
	out->lines = screen->lines;
	out->unknown_lines = screen->unknown_lines;
	out->limit = screen->limit;
	out->farewell = screen->farewell;
}

/* The prompt that was put back into the box. */
static void
settle_draft(struct conversation *out)
{
	struct exchange draft = { .role = ROLE_USER, .content = out->draft }, *x = NULL;
	struct likeness l, m;

	for (size_t i = out->n; i-- > 0 && out->v[i].role != ROLE_ASSISTANT;)
		if (out->v[i].role == ROLE_USER) {
			x = &out->v[i];
			break;
		}
	if (x == NULL || out->draft == NULL || x->source != SOURCE_TRANSCRIPT || x->status != STATUS_COMPLETE)
		return;
	likeness_init(&l, &draft);
	likeness_init(&m, x);
	if (l.n == m.n && l.whole == m.whole)
		x->status = STATUS_INTERRUPTED;
}

static bool
is_there(const struct conversation *c)
{
	return c != NULL && (c->n > 0 || c->lines > 0);
}

void
merge(struct conversation *transcript, struct conversation *snapshot, struct conversation *screen, struct conversation *out)
{
	struct conversation none[3] = { CONVERSATION_INIT, CONVERSATION_INIT, CONVERSATION_INIT }, seen = CONVERSATION_INIT;
	struct conversation *t = transcript != NULL ? transcript : &none[0], *old = snapshot != NULL ? snapshot : &none[1];
	struct conversation *new = screen != NULL ? screen : &none[2], *last = is_there(screen) ? new : old;
	ssize_t cut;

	*out = (struct conversation)CONVERSATION_INIT;
	for (size_t i = 0; i < old->n; i++)
		old->v[i].source = old->v[i].source == SOURCE_SCREEN ? SOURCE_SNAPSHOT : old->v[i].source;
	cut = weave(old, new, true, &seen) ? new->truncated_at : old->truncated_at;
	seen.unknown_lines = last->unknown_lines;	/* rows that may be words: they go on behind */
	out->truncated_at = weave(t, &seen, false, out) ? cut : t->truncated_at;
	take_state(out, is_there(last) ? last : t);
	give(&out->banner, &t->banner);
	give(&out->banner, &old->banner);
	free(out->session_id);
	out->session_id = NULL;
	give(&out->session_id, &t->session_id);
	give(&out->session_id, &new->session_id);
	give(&out->session_id, &old->session_id);
	settle_draft(out);
	conversation_release(&seen);
	conversation_release(t);
	conversation_release(old);
	conversation_release(new);
}
