#include <stdlib.h>
#include <string.h>

#include "context/transcript_proof.h"
#include "base/err.h"
#include "context/transcript.h"
#include "context/transcript_book.h"
#include "context/transcript_reader.h"
#include "context/transcript_teller.h"

#define MOST ((uint64_t)64 << 20)	/* bytes of records that are looked at */

/* A record and what it says; newest first. */
struct proof {
	uint64_t id, parent;
	bool asked, answered, refused, answered_behind, refused_behind;
	enum { UNKNOWN, WALKED, BELOW, ELSEWHERE } place;	/* below a record that asked? */
};

struct proofs {
	const struct reader *how;
	const char *sought;
	struct proof *v;
	size_t n, cap;
	struct proof **by_id;	/* sorted */
	bool tree;
	bool answered;		/* the model said something in what was looked at so far */
	bool settled;		/* older records can change nothing */
};

static void
note(struct proof *p, const struct teller *t)
{
	p->asked = t->asked;
	p->answered = t->answered;
	p->refused = t->refused;
	p->answered_behind = t->answered_behind;
	p->refused_behind = t->refused_behind;
}

static void
look_at(struct proofs *all, struct json_slice text)
{
	bool may_ask = memmem(text.p, text.n, all->sought, strlen(all->sought)) != NULL;
	struct record r = { .kind = RECORD_UNKNOWN };
	struct teller t;

	all->how->open(text, &r);
	if ((r.kind > RECORD_SYSTEM && r.id == 0) || (!all->tree && all->answered && !may_ask))
		return;
	all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
	all->v[all->n] = (struct proof){ .id = r.id, .parent = r.parent };
	teller_seek(&t, all->sought);
	if (r.kind <= RECORD_SYSTEM)
		all->how->tell(&t, &r, text);
	note(&all->v[all->n++], &t);
	all->settled = !all->tree && t.asked && (all->answered || t.answered_behind);
	all->answered = all->answered || t.answered;
	teller_release(&t);
}

/* What stands in front of all records may hold the first prompt. */
static void
look_at_head(struct proofs *all, const struct pages *p)
{
	struct json_slice text;
	struct teller t;

	if (!json_slice_whole(p->head.data, p->head.len, &text))
		return;
	teller_seek(&t, all->sought);
	all->how->head(&t, text);
	if (t.asked) {
		all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
		all->v[all->n] = (struct proof){ .id = 0 };
		note(&all->v[all->n++], &t);
	}
	teller_release(&t);
}

static int
look_at_all(struct proofs *all, struct pages *p, struct err *e)
{
	uint64_t seen = 0;
	off_t at;
	size_t n;
	int more = 1;

	while (!all->settled && seen < MOST && (more = pages_previous(p, &at, &n, e)) == 1) {
		struct json_slice text;
		int ok = n > 0 ? pages_read(p, at, n, &text, e) : 0;

		if (ok < 0)
			return -1;
		seen += n + 1;
		if (ok == 1)
			look_at(all, text);
	}
	look_at_head(all, p);
	return more < 0 ? -1 : 0;
}

/* ---- what follows from it ---- */

static enum ack
better(enum ack a, enum ack b)
{
	static const int rank[] = { [ACK_NONE] = 0, [ACK_RECEIVED] = 1, [ACK_REFUSED] = 2, [ACK_ANSWERED] = 3 };

	return rank[b] > rank[a] ? b : a;
}

static enum ack
own(const struct proof *p)
{
	return !p->asked ? ACK_NONE : p->answered_behind ? ACK_ANSWERED : p->refused_behind ? ACK_REFUSED : ACK_RECEIVED;
}

/* Records in a row: what stands behind is an answer. */
static enum ack
judge_row(const struct proofs *all)
{
	enum ack found = ACK_NONE;
	bool answered = false, refused = false;

	for (size_t i = 0; i < all->n; i++) {
		const struct proof *p = &all->v[i];

		found = better(found, own(p));
		if (p->asked && (answered || refused))
			found = better(found, answered ? ACK_ANSWERED : ACK_REFUSED);
		answered = answered || p->answered;
		refused = refused || p->refused;
	}
	return found;
}

static int
compare(const void *a, const void *b)
{
	const struct proof *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static struct proof *
find(const struct proofs *all, uint64_t id)
{
	struct proof key = { .id = id }, *at = &key, **found;

	found = id != 0 ? bsearch(&at, all->by_id, all->n, sizeof *all->by_id, compare) : NULL;
	return found != NULL ? *found : NULL;
}

/* Walks up until somebody knows, then tells all on the way: every record is asked once. */
static bool
descends(const struct proofs *all, struct proof *p)
{
	struct proof *at = p;
	bool below = false;

	while (at != NULL && at->place == UNKNOWN) {
		struct proof *up = find(all, at->parent);

		at->place = WALKED;
		below = up != NULL && up->asked;
		at = below ? NULL : up;
	}
	below = below || (at != NULL && at->place == BELOW);
	for (at = p; at != NULL && at->place == WALKED; at = find(all, at->parent))
		at->place = below ? BELOW : ELSEWHERE;
	return p->place == BELOW;
}

/* A tree: an answer hangs below its question. */
static enum ack
judge_tree(struct proofs *all)
{
	enum ack found = ACK_NONE;

	all->by_id = xcalloc(all->n + 1, sizeof(struct proof *));
	for (size_t i = 0; i < all->n; i++) {
		all->by_id[i] = &all->v[i];
		found = better(found, own(&all->v[i]));
	}
	qsort(all->by_id, all->n, sizeof *all->by_id, compare);
	for (size_t i = 0; found != ACK_NONE && i < all->n; i++)
		if ((all->v[i].answered || all->v[i].refused) && descends(all, &all->v[i]))
			found = better(found, all->v[i].answered ? ACK_ANSWERED : ACK_REFUSED);
	free(all->by_id);
	return found;
}

int
proof_find(const struct reader *how, const char *path, const char *sought, enum ack *out, struct err *e)
{
	struct proofs all = { .how = how, .sought = sought, .tree = how->order == order_tree };
	struct book b;
	int ret;

	*out = ACK_NONE;
	if (book_open(&b, how, path, e) != 0)
		return -1;
	ret = look_at_all(&all, &b.pages, e);
	if (ret == 0)
		*out = all.tree ? judge_tree(&all) : judge_row(&all);
	book_close(&b);
	free(all.v);
	return ret;
}
