#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transcript/transcript_private.h"
#include "transcript/transcript.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "conversation/conversation.h"
#include "transcript/format/format_private.h"

static const struct transcript_format *const readers[] = { &format_codex, &format_gemini, &format_qwen,
	&format_copilot, &format_pi, &format_auggie, &format_cline, &format_opencode };

/* A file while it is read. */
struct format_reading {
	const struct transcript_format *how;
	struct transcript_iter *pages;
	struct message_tree chain;
	size_t lines, unknown;
	uint64_t words;		/* bytes of the records that speak, read so far */
	bool all;		/* read to the first */
	size_t first;		/* in the chain's order: where the exchanges begin */
};

const struct transcript_format *
transcript_format_find(const char *name)
{
	for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
		if (strcmp(readers[i]->name, name) == 0)
			return readers[i];
	return NULL;
}

static void
order_lines(struct message_tree *c)
{
	free(c->order);
	c->order = xcalloc(c->n + 1, sizeof *c->order);
	c->n_order = 0;
	for (size_t i = c->n; i-- > 0;)
		c->order[c->n_order++] = (uint32_t)i;
	c->whole = true;
}

void
transcript_order_tree(struct message_tree *c, bool all)
{
	transcript_tree_order(c, false, all);
}

static void
index_one(struct format_reading *r, struct transcript_entry *record, struct json_slice text)
{
	record->words = record->kind > ENTRY_SYSTEM ? 0 : text.n < UINT32_MAX ? (uint32_t)text.n : UINT32_MAX;
	r->words += record->words;
	if (record->kind == ENTRY_UNKNOWN)
		r->unknown++;
	else if (record->kind <= ENTRY_SYSTEM || record->id != 0)
		transcript_tree_add(&r->chain, record);
}

/*
 * The objects of a list in the record, newest first as all others, then the record. False: it is
 * told as one.
 */
static bool
index_list(struct format_reading *r, const struct transcript_entry *whole, struct json_slice text)
{
	struct json_slice list =
			      r->how->expand != NULL ? r->how->expand(text) : (struct json_slice){ NULL, 0 },
			  one;
	struct json_walk w = json_slice_walk(list);
	struct transcript_entry record = *whole;
	size_t from = r->chain.n;

	if (list.n == 0 || !r->pages->exact)
		return false;
	while (!w.object && json_walk_next(&w, NULL, &one)) {
		record = (struct transcript_entry){
			.kind = ENTRY_UNKNOWN, .at = whole->at + (one.p - text.p), .n = one.n
		};
		r->how->classify(one, &record);
		index_one(r, &record, one);
	}
	for (size_t to = r->chain.n; from + 1 < to; from++) {
		struct transcript_entry swap = r->chain.v[from];

		r->chain.v[from] = r->chain.v[--to];
		r->chain.v[to] = swap;
	}
	record = *whole;
	record.kind = ENTRY_LINK;
	index_one(r, &record, text);
	return true;
}

static int
index_record(struct format_reading *r, off_t at, size_t n, struct err *e)
{
	struct transcript_entry record = { .kind = ENTRY_UNKNOWN, .at = at, .n = n };
	struct json_slice text;
	int ok;

	if (n == 0)
		return 0;
	r->lines++;
	ok = transcript_iter_read(r->pages, at, n, &text, e);
	if (ok == 1)
		r->how->classify(text, &record);
	if (ok == 0)
		r->unknown++;
	else if (ok == 1 && !index_list(r, &record, text))
		index_one(r, &record, text);
	return ok < 0 ? -1 : 0;
}

static int
index_records(struct format_reading *r, uint64_t enough, struct err *e)
{
	off_t at;
	size_t n;
	int more = 1;

	while (r->words < enough && (more = transcript_iter_previous(r->pages, &at, &n, e)) == 1)
		if (index_record(r, at, n, e) != 0)
			return -1;
	r->all = r->all || more == 0;
	return more < 0 ? -1 : 0;
}

/* Records until their order, which may leave some aside, holds so many bytes. */
static int
gather_entries(struct format_reading *r, uint64_t enough, struct err *e)
{
	uint64_t target = enough, have;

	for (;;) {
		if (!r->all && index_records(r, target, e) != 0)
			return -1;
		if (r->how->order != NULL)
			r->how->order(&r->chain, r->all);
		else
			order_lines(&r->chain);
		for (have = 0, r->first = r->chain.n_order; r->first > 0 && have < enough; r->first--)
			have += r->chain.v[r->chain.order[r->first - 1]].words;
		if (r->all || have >= enough)
			return 0;
		target = r->words * 2 > target ? r->words * 2 : target * 2;
	}
}

static int
emit_headers(struct format_reading *r, struct transcript_builder *t, struct err *e)
{
	struct json_slice text;
	int ok = 1;

	if (!r->how->heads && json_slice_whole(r->pages->head.data, r->pages->head.len, &text))
		r->how->header(t, text);
	for (size_t i = 0; r->how->heads && ok >= 0 && i < r->chain.n && !(t->has_banner && t->has_session);
	    i++) {
		ok = transcript_iter_read(r->pages, r->chain.v[i].at, r->chain.v[i].n, &text, e);
		if (ok == 1)
			r->how->header(t, text);
	}
	return ok < 0 ? -1 : 0;
}

static int
emit_all(struct format_reading *r, struct transcript_builder *t, struct err *e)
{
	t->older = !r->all || r->first > 0;
	if (emit_headers(r, t, e) != 0)
		return -1;
	for (size_t i = r->first; i < r->chain.n_order; i++) {
		const struct transcript_entry *record = &r->chain.v[r->chain.order[i]];
		struct json_slice text;
		int ok;

		if (record->id != 0 && record->id == t->end)
			break;
		ok = record->kind <= ENTRY_SYSTEM
		    ? transcript_iter_read(r->pages, record->at, record->n, &text, e)
		    : 0;

		if (ok < 0)
			return -1;
		if (ok == 1)
			r->how->emit(t, record, text);
	}
	builder_finish(t);
	return 0;
}

/* May there be older words, and room for them? */
static bool
room_left(const struct format_reading *r, const struct conversation *c, size_t max_bytes)
{
	size_t sum = 0;

	for (size_t i = 0; i < c->n; i++)
		sum += strlen(c->v[i].content) + (c->v[i].input != NULL ? strlen(c->v[i].input) : 0);
	return sum <= max_bytes && (r->first > 0 || !r->all);
}

/*
 * How much of a record is words only shows when it was told: when they turn out to be fewer than
 * wanted, again with twice the records, which is linear in the end.
 */
static int
transcript_format_read(const struct transcript_format *reader, struct transcript_iter *p, struct scrub *s,
    size_t max_bytes, struct conversation *out, struct err *e)
{
	struct format_reading r = { .how = reader, .pages = p };
	uint64_t enough = max_bytes > 0 ? (uint64_t)max_bytes + max_bytes / 4 : UINT64_MAX;
	bool again = true;
	int ret = 0;

	*out = (struct conversation)CONVERSATION_INIT;
	while (again) {
		struct transcript_builder t;

		conversation_release(out);
		builder_init(&t, s, out);
		ret = gather_entries(&r, enough, e) != 0 || emit_all(&r, &t, e) != 0 ? -1 : 0;
		builder_release(&t);
		again = ret == 0 && room_left(&r, out, max_bytes);
		enough = enough <= UINT64_MAX / 2 ? enough * 2 : UINT64_MAX;
	}
	/* one JSON object that does not close */
	out->lines = r.lines + (p->list.torn && p->tail != NULL && p->tail->end > 0);
	out->unknown_lines = r.unknown + (out->lines - r.lines);
	if (conversation_limit(out, max_bytes > 0 ? max_bytes : SIZE_MAX) || r.first > 0 || !r.all)
		out->truncated_at = 0;
	transcript_tree_release(&r.chain);
	if (ret != 0)
		conversation_release(out);
	return ret;
}

#define MOST_PIPE ((size_t)1 << 30)

static int
read_claude(
    int fd, const char *path, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	struct transcript_tail t;
	int ret;

	if (transcript_tail_init_fd(&t, fd, e) != 0)
		return -1;
	ret = claude_read(&t, path, false, s, max_bytes, out, e);
	transcript_tail_release(&t);
	return ret;
}

/* Claude Code's own reader knows more than the others; false: it is asked for. */
static bool
is_other(const char *format, const struct transcript_format **how)
{
	*how = NULL;
	if (strcmp(format, "claude") == 0)
		return false;
	*how = transcript_format_find(format);
	return true;
}

int
transcript_no_format(const char *format, struct err *e)
{
	err_set(e, GT_USAGE, "format", "transcripts of the format \"%.40s\" cannot be read", format);
	return err_hint(e, "known are claude, codex, gemini, qwen, copilot, pi, auggie, cline and opencode");
}

static int
read_book(const struct transcript_format *how, struct transcript_file *b, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e)
{
	int ret = transcript_format_read(how, &b->pages, s, max_bytes, out, e);

	transcript_file_close(b);
	return ret;
}

int
transcript_read(const char *path, const char *format, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e)
{
	const struct transcript_format *how;
	struct transcript_file b;
	int fd, ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (is_other(format, &how))
		return how == NULL                                ? transcript_no_format(format, e)
		    : transcript_file_open(&b, how, path, e) != 0 ? -1
								  : read_book(how, &b, s, max_bytes, out, e);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, GT_FAIL, errno == ENOENT ? "not-found" : "transcript",
		    "the transcript %s cannot be opened", path);
	ret = read_claude(fd, path, s, max_bytes, out, e);
	close(fd);
	return ret;
}

int
transcript_read_bytes(const char *p, size_t n, const char *format, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e)
{
	const struct transcript_format *how;
	struct transcript_file b;
	struct transcript_tail t;
	int ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (is_other(format, &how))
		return how == NULL ? transcript_no_format(format, e)
		    : transcript_file_open_bytes(&b, how, p, n, e) != 0
		    ? -1
		    : read_book(how, &b, s, max_bytes, out, e);
	transcript_tail_init_bytes(&t, p, n);
	ret = claude_read(&t, NULL, false, s, max_bytes, out, e);
	transcript_tail_release(&t);
	return ret;
}

int
transcript_read_fd(
    int fd, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	struct buf all = BUF_INIT;
	const struct transcript_format *how;
	struct transcript_file b;
	struct stat st;
	int ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (is_other(format, &how) && how == NULL)
		return transcript_no_format(format, e);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (how == NULL)
			return read_claude(fd, NULL, s, max_bytes, out, e);
		return transcript_file_open_fd(&b, how, fd, e) != 0
		    ? -1
		    : read_book(how, &b, s, max_bytes, out, e);
	}
	ret = io_read_all(fd, "the transcript", MOST_PIPE, &all, e);
	if (ret == 0)
		ret = transcript_read_bytes(all.data, all.len, format, s, max_bytes, out, e);
	buf_wipe(&all);
	return ret;
}
