#include <stdlib.h>
#include <string.h>

#include "beads/beads_private.h"
#include "base/buf.h"
#include "scrub/scrub.h"

#define RAW_MAX ((size_t)1 << 20)	/* what the scrubber is given of one field */
#define FIELD_MAX ((size_t)64 << 10)	/* what is kept of it */
#define WORD_MAX 256			/* id, status, type, assignee */

/* What describes the work itself; the handoff stays. */
static void
release_work(struct bead *b)
{
	free(b->id);
	free(b->status);
	free(b->type);
	free(b->assignee);
	free(b->database);
	clean_free(b->title);
	clean_free(b->description);
	clean_free(b->notes);
}

void
bead_release(struct bead *b)
{
	release_work(b);
	clean_free(b->handoff);
	free(b->handoff_id);
	free(b->last_closed);
	free(b->agent_state);
	memset(b, 0, sizeof *b);
}

/* --- fields --- */

/* At most max bytes: up to a line's end where one is near, never through a rune. */
static size_t
cut_to(const char *p, size_t n, size_t max)
{
	const char *nl;

	if (n <= max)
		return n;
	nl = memrchr(p + max - max / 4, '\n', max / 4);
	if (nl != NULL)
		return (size_t)(nl - p);
	while (max > 0 && ((unsigned char)p[max] & 0xc0) == 0x80)
		max--;
	return max;
}

/*
 * Scrubbed first, then cut, so that no piece of a secret is left that no rule would know (the far
 * larger cut before goes away with it). The sentence about the cut goes through the scrubber as
 * well, because nothing else makes clean text.
 */
static struct clean_text *
clean_field(struct scrub *s, const char *p)
{
	size_t n = p != NULL ? strlen(p) : 0;
	struct clean_text *whole, *cut;
	struct buf b = BUF_INIT;

	if (n == 0)
		return NULL;
	whole = scrub_text(s, p, cut_to(p, n, RAW_MAX), 0);
	if (n <= RAW_MAX && clean_len(whole) <= FIELD_MAX)
		return whole;
	buf_add(&b, clean_bytes(whole), cut_to(clean_bytes(whole), clean_len(whole), FIELD_MAX));
	buf_fmt(&b, "\n[cut: the field has %zu KiB, at most 64 KiB are read]\n", n >> 10);
	cut = scrub_text(s, b.data, b.len, 0);
	buf_release(&b);
	clean_free(whole);
	return cut;
}

/* A short word: scrubbed, one line, at most 256 bytes, heap. NULL for NULL and "". */
static char *
bead_word(struct scrub *s, const char *p)
{
	struct clean_text *t;
	char *word;

	if (p == NULL || p[0] == '\0')
		return NULL;
	t = scrub_text(s, p, cut_to(p, strlen(p), RAW_MAX), 0);
	word = xstrndup(clean_bytes(t), cut_to(clean_bytes(t), clean_len(t), WORD_MAX));
	word[strcspn(word, "\r\n")] = '\0';
	clean_free(t);
	return word;
}

static struct clean_text *
join_notes(struct scrub *s, const struct bead_issue *issue)
{
	const struct { const char *head, *text;
	} parts[] = {
		{ "Design", issue->design }, { "Acceptance criteria", issue->criteria },
		{ "Notes", issue->notes },
	};
	struct clean_text *out = NULL;
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		struct clean_text *t = clean_field(s, parts[i].text);

		if (t != NULL)
			buf_fmt(&b, "%s%s:\n%s", b.len > 0 ? "\n\n" : "", parts[i].head, clean_bytes(t));
		clean_free(t);
	}
	/* three pieces of at most 64 KiB, clean already: only the type has to be regained */
	if (b.len > 0)
		out = scrub_text(s, b.data, b.len, 0);
	buf_release(&b);
	return out;
}

char *
bead_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *p = text; p != NULL && *p != '\0'; p = strchr(p, '\n'), p += p != NULL) {
		size_t n;

		if (strncasecmp(p, key, len) != 0 || p[len] != ':')
			continue;
		p += len + 1;
		p += strspn(p, " \t");
		n = strcspn(p, " \t\r\n");
		return n > 0 && !(n == 4 && strncmp(p, "null", 4) == 0) ? xstrndup(p, n) : NULL;
	}
	return NULL;
}

/* --- ranks --- */

enum bead_rank
bead_rank_of(const char *status)
{
	return status == NULL                        ? BEAD_RANK_OPEN
	    : strcasecmp(status, "hooked") == 0      ? BEAD_RANK_HOOKED
	    : strcasecmp(status, "in_progress") == 0 ? BEAD_RANK_IN_PROGRESS
	    : strcasecmp(status, "pinned") == 0      ? BEAD_RANK_PINNED
						     : BEAD_RANK_OPEN;
}

bool
bead_is_closed(const char *status)
{
	return status != NULL && (strcasecmp(status, "closed") == 0 || strcasecmp(status, "tombstone") == 0);
}

/* --- the search --- */

void
bead_search_init(struct bead_search *q, const char *rig, const char *name, const char *hint, struct scrub *s,
    struct bead *out)
{
	*q = (struct bead_search){ .rig = rig, .name = name, .s = s, .out = out, .best = BEAD_RANK_NONE };
	q->hint = hint != NULL && hint[0] != '\0' ? hint : NULL;
	q->work = rig != NULL ? xasprintf("%s/polecats/%s", rig, name) : xstrdup(name);
	q->mail = rig != NULL ? xasprintf("%s/%s", rig, name) : xstrdup(name);
	memset(out, 0, sizeof *out);
}

int
bead_search_end(struct bead_search *q, int ret)
{
	free(q->work);
	free(q->mail);
	if (ret != 0) {
		bead_release(q->out);
	} else if (q->out->id != NULL && !q->out->closed) {
		free(q->out->last_closed);
		q->out->last_closed = NULL;
	}
	return ret;
}

void
bead_search_add_work(
    struct bead_search *q, const struct bead_issue *issue, const char *database, enum bead_rank rank)
{
	struct bead *b = q->out;

	release_work(b);
	b->id = bead_word(q->s, issue->id);
	b->status = bead_word(q->s, issue->status);
	b->type = bead_word(q->s, issue->type);
	b->assignee = bead_word(q->s, issue->assignee);
	b->title = clean_field(q->s, issue->title);
	b->description = clean_field(q->s, issue->description);
	b->notes = join_notes(q->s, issue);
	b->database = xstrdup(database);
	b->closed = rank == BEAD_RANK_CLOSED_HINT;
	q->best = rank;
}

void
bead_search_add_handoff(struct bead_search *q, const struct bead_issue *issue, int rank)
{
	if (q->handoff_rank != 0 && rank >= q->handoff_rank)
		return;
	clean_free(q->out->handoff);
	free(q->out->handoff_id);
	q->out->handoff = clean_field(q->s, issue->description);
	q->out->handoff_id = bead_word(q->s, issue->id);
	q->handoff_rank = rank;
}

void
bead_search_add_closed(struct bead_search *q, const char *id, double at)
{
	if (q->out->last_closed != NULL && at <= q->closed_at)
		return;
	free(q->out->last_closed);
	q->out->last_closed = bead_word(q->s, id);
	q->closed_at = at;
}

void
bead_search_set_agent(struct bead_search *q, const char *description, const char *column, int64_t changed)
{
	char *state = bead_line(description, "agent_state");

	if (q->out->agent_state == NULL) {
		q->out->agent_state = bead_word(q->s, state != NULL ? state : column);
		q->out->agent_since = changed;
	}
	free(state);
}
