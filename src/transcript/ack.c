#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "transcript/transcript_private.h"
#include "transcript/transcript.h"
#include "base/buf.h"
#include "base/err.h"

#define MOST ((uint64_t)64 << 20)	/* bytes of records that are looked at */
#define BATCH 50	/* records of a tree before the question among which an answer to it may stand */

/* A record and what it says; newest first. */
struct ack_proof {
	uint64_t id, parent;
	bool asked, answered, refused, answered_behind, refused_behind;
	enum { UNKNOWN, WALKED, BELOW, ELSEWHERE } place;	/* below a record that asked? */
};

struct ack_proofs {
	const struct transcript_format *how;
	const char *sought;
	struct json_span *passed;	/* records, newest first; told from the first one on that holds it */
	size_t n_passed, cap_passed, told;
	struct ack_proof *v;
	size_t n, cap;
	struct ack_proof **by_id;	/* sorted */
	bool tree;
	bool found;
	bool answered;		/* the model said something in what was looked at so far */
	bool settled;		/* older records can change nothing */
	size_t since;		/* records looked at since one asked; of a tree */
};

static void
note_result(struct ack_proof *p, const struct transcript_builder *t)
{
	p->asked = t->asked;
	p->answered = t->answered;
	p->refused = t->refused;
	p->answered_behind = t->answered_behind;
	p->refused_behind = t->refused_behind;
}

static void
search_text(struct ack_proofs *all, struct json_slice text)
{
	bool may_ask = memmem(text.p, text.n, all->sought, strlen(all->sought)) != NULL;
	struct transcript_entry r = { .kind = ENTRY_UNKNOWN };
	struct transcript_builder t;

	all->since += all->since > 0;
	all->how->classify(text, &r);
	if (!entry_is_kept(&r) || r.side || (!all->tree && all->answered && !may_ask))
		return;
	all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
	all->v[all->n] = (struct ack_proof){ .id = r.id, .parent = r.parent };
	t = (struct transcript_builder){ .search = all->sought };
	if (r.kind <= ENTRY_ATTACHMENT)
		(all->how->search != NULL ? all->how->search : all->how->emit)(&t, &r, text);
	note_result(&all->v[all->n++], &t);
	all->settled = !all->tree && t.asked && (all->answered || t.answered_behind);
	all->answered = all->answered || t.answered;
	if (all->tree && t.asked)
		all->since = 1;
	builder_release(&t);
}

/* What stands in front of all records may hold the first prompt. */
static void
search_head(struct ack_proofs *all, const struct transcript_iter *p)
{
	struct json_slice text;
	struct transcript_builder t = { .search = all->sought };

	if (!json_slice_whole(p->head.data, p->head.len, &text))
		return;
	all->how->header(&t, text);
	if (t.asked) {
		all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
		all->v[all->n] = (struct ack_proof){ .id = 0 };
		note_result(&all->v[all->n++], &t);
	}
	builder_release(&t);
}

static int
search_passed(struct ack_proofs *all, struct transcript_iter *p, struct err *e)
{
	struct json_slice text;
	int ok = 1;

	for (; all->told < all->n_passed && !all->settled && ok >= 0; all->told++) {
		ok = transcript_iter_read(p, all->passed[all->told].at, all->passed[all->told].n, &text, e);
		if (ok == 1)
			search_text(all, text);
	}
	return ok < 0 ? -1 : 0;
}

static int
search_records(struct ack_proofs *all, struct transcript_iter *p, struct err *e)
{
	struct json_span at;
	uint64_t seen = 0;
	const char *text;
	size_t n;
	int more = 1;

	while (!all->settled && all->since <= BATCH && seen < MOST &&
	    (more = transcript_iter_previous(p, &at.at, &at.n, e)) == 1) {
		seen += at.n + 1;
		if (transcript_iter_bytes(p, at.at, at.n, &text, &n, e) != 0)
			return -1;
		all->passed = vec_room(all->passed, all->n_passed, &all->cap_passed, sizeof *all->passed);
		all->passed[all->n_passed++] = at;
		all->found = all->found || memmem(text, n, all->sought, strlen(all->sought)) != NULL;
		if (all->found && search_passed(all, p, e) != 0)
			return -1;
	}
	if (more < 0)
		return -1;
	search_head(all, p);
	return all->n > 0 ? search_passed(all, p, e) : 0;
}

/* ---- what follows from it ---- */

static enum ack
better_ack(enum ack a, enum ack b)
{
	return b > a ? b : a;
}

static enum ack
own_ack(const struct ack_proof *p)
{
	return !p->asked         ? ACK_NONE
	    : p->answered_behind ? ACK_ANSWERED
	    : p->refused_behind  ? ACK_REFUSED
				 : ACK_RECEIVED;
}

/* Records in a row: what stands behind is an answer. */
static enum ack
judge_row(const struct ack_proofs *all)
{
	enum ack found = ACK_NONE;
	bool answered = false, refused = false;

	for (size_t i = 0; i < all->n; i++) {
		const struct ack_proof *p = &all->v[i];

		found = better_ack(found, own_ack(p));
		if (p->asked && (answered || refused))
			found = better_ack(found, answered ? ACK_ANSWERED : ACK_REFUSED);
		answered = answered || p->answered;
		refused = refused || p->refused;
	}
	return found;
}

static int
by_entry_id(const void *a, const void *b)
{
	const struct ack_proof *const *x = a, *const *y = b;

	return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

static struct ack_proof *
find_proof(const struct ack_proofs *all, uint64_t id)
{
	struct ack_proof key = { .id = id }, *at = &key, **found;

	found = id != 0 ? bsearch(&at, all->by_id, all->n, sizeof *all->by_id, by_entry_id) : NULL;
	return found != NULL ? *found : NULL;
}

/* Walks up until somebody knows, then tells all on the way: every record is asked once. */
static bool
descends_from_ack(const struct ack_proofs *all, struct ack_proof *p)
{
	struct ack_proof *at = p;
	bool below = false;

	while (at != NULL && at->place == UNKNOWN) {
		struct ack_proof *up = find_proof(all, at->parent);

		at->place = WALKED;
		below = up != NULL && up->asked;
		at = below ? NULL : up;
	}
	below = below || (at != NULL && at->place == BELOW);
	for (at = p; at != NULL && at->place == WALKED; at = find_proof(all, at->parent))
		at->place = below ? BELOW : ELSEWHERE;
	return p->place == BELOW;
}

static void
share_asked(const struct ack_proof *of, struct ack_proof *p)
{
	p->asked = p->asked || (of->asked && of->id == p->id);
}

/* A tree: an answer hangs below its question. */
static enum ack
judge_tree(struct ack_proofs *all)
{
	enum ack found = ACK_NONE;

	all->by_id = xcalloc(all->n + 1, sizeof(struct ack_proof *));
	for (size_t i = 0; i < all->n; i++) {
		all->by_id[i] = &all->v[i];
		found = better_ack(found, own_ack(&all->v[i]));
	}
	qsort(all->by_id, all->n, sizeof *all->by_id, by_entry_id);
	for (size_t i = 1; i < all->n; i++)	/* of one id any may be found */
		share_asked(all->by_id[i - 1], all->by_id[i]);
	for (size_t i = all->n; i-- > 1;)
		share_asked(all->by_id[i], all->by_id[i - 1]);
	for (size_t i = 0; found != ACK_NONE && i < all->n; i++)
		if ((all->v[i].answered || all->v[i].refused) && descends_from_ack(all, &all->v[i]))
			found = better_ack(found, all->v[i].answered ? ACK_ANSWERED : ACK_REFUSED);
	free(all->by_id);
	return found;
}

/* What was taken back counts: the agent was told. */
int
transcript_ack(const char *path, const char *format, const char *recovery_id, enum ack *out, struct err *e)
{
	struct ack_proofs all = { .how = transcript_format_find(format), .sought = recovery_id };
	struct transcript_file b;
	int ret;

	*out = ACK_NONE;
	if (all.how == NULL)
		return transcript_no_format(format, e);
	all.tree = all.how->order == transcript_tree_order;
	if (transcript_file_open(&b, all.how, path, e) != 0)
		return -1;
	ret = search_records(&all, &b.pages, e);
	if (ret == 0)
		*out = all.tree ? judge_tree(&all) : judge_row(&all);
	transcript_file_close(&b);
	free(all.passed);
	free(all.v);
	return ret;
}
