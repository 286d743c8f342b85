#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "transcript/transcript_private.h"
#include "transcript/transcript.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "conversation/conversation.h"
#include "scrub/scrub.h"

static const struct transcript_format *const readers[] = { &format_claude, &format_codex, &format_gemini,
	&format_qwen, &format_copilot, &format_pi, &format_auggie, &format_cline, &format_opencode };

const struct transcript_format *
transcript_format_find(const char *name)
{
	for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
		if (strcmp(readers[i]->name, name) == 0)
			return readers[i];
	return NULL;
}

bool
transcript_has_pid_files(const char *format)
{
	const struct transcript_format *how = transcript_format_find(format);

	return how != NULL && how->pid_files;
}

bool
transcript_is_checked(const char *format)
{
	const struct transcript_format *how = transcript_format_find(format);

	return how != NULL && how->checked;
}

#define MOST_COUNTED ((off_t)256 << 20)	/* bytes of a file of which all records are counted */

static void
order_lines(struct message_tree *c, bool all)
{
	free(c->order);
	c->order = xcalloc(c->n + 1, sizeof *c->order);
	c->n_order = 0;
	for (size_t i = c->n; i-- > 0;)
		c->order[c->n_order++] = (uint32_t)i;
	c->whole = all;
}

static void
index_one(struct transcript_reading *r, struct transcript_entry *record, struct json_slice text)
{
	if (!r->how->counts)
		record->words = record->kind > ENTRY_SYSTEM ? 0 :
		    text.n < UINT32_MAX ? (uint32_t)text.n : UINT32_MAX;
	r->unknown += record->kind == ENTRY_UNKNOWN;
	if (!entry_is_kept(record))
		return;
	if (record->side == r->chain.side)
		r->words += record->words;
	transcript_tree_add(&r->chain, record);
	if (r->how->link != NULL)
		r->how->link(&r->chain, text);
}

/*
 * The objects of a list in the record, newest first as all others, then the record. False: it is
 * told as one.
 */
static bool
index_list(struct transcript_reading *r, const struct transcript_entry *whole, struct json_slice text)
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
index_record(struct transcript_reading *r, off_t at, size_t n, struct err *e)
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
	if (ok == 1 && record.kind != ENTRY_UNKNOWN && r->how->heads &&
	    !(r->t.has_banner && r->t.has_session))
		r->how->header(&r->t, text);
	if (ok == 0)
		r->unknown++;
	else if (ok == 1 && !index_list(r, &record, text))
		index_one(r, &record, text);
	return ok < 0 ? -1 : 0;
}

static int
index_records(struct transcript_reading *r, uint64_t enough, struct err *e)
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
gather_entries(struct transcript_reading *r, uint64_t enough, struct err *e)
{
	uint64_t target = enough, have;

	for (;;) {
		if (!r->all && index_records(r, target, e) != 0)
			return -1;
		(r->how->order != NULL ? r->how->order : order_lines)(&r->chain, r->all);
		for (have = 0, r->first = r->chain.n_order; r->first > 0 && have < enough; r->first--)
			have += r->chain.v[r->chain.order[r->first - 1]].words;
		if (r->all || r->chain.whole || have >= enough)
			return 0;
		target = r->words * 2 > target ? r->words * 2 : target * 2;
	}
}

static int
emit_all(struct transcript_reading *r, struct err *e)
{
	struct transcript_builder *t = &r->t;
	struct json_slice text;

	t->older = !r->all || r->first > 0;
	if (!r->how->heads && json_slice_whole(r->pages->head.data, r->pages->head.len, &text))
		r->how->header(t, text);
	for (size_t i = r->first; i < r->chain.n_order; i++) {
		const struct transcript_entry *record = &r->chain.v[r->chain.order[i]];
		int ok;

		if (record->id != 0 && record->id == t->end)
			break;
		ok = record->kind <= ENTRY_ATTACHMENT
		    ? transcript_iter_read(r->pages, record->at, record->n, &text, e)
		    : 0;
		if (ok < 0)
			return -1;
		t->record = r->chain.order[i];
		if (ok == 1)
			r->how->emit(t, record, text);
	}
	builder_finish(t);
	return r->how->finish != NULL ? r->how->finish(r, e) : 0;
}

/* Where in the order the record stands that was told first. */
static size_t
place_of(const struct message_tree *c, uint32_t record)
{
	size_t i = 0;

	while (i < c->n_order && c->order[i] != record)
		i++;
	return i;
}

/* The first message of the user that was left out goes before all that was told. */
static void
put_first(struct conversation *c, struct scrub *s, const struct transcript_builder *count)
{
	struct clean_text *words = scrub_text(s, count->first.data, count->first.len, 0);
	struct exchange *x = conversation_add(c, ROLE_USER, NULL, NULL, xstrdup(clean_bytes(words))), first;
	struct older_count own = { .all = 0 };

	x->source = SOURCE_TRANSCRIPT;
	x->at = count->first_at;
	first = *x;
	memmove(c->v + 1, c->v, (c->n - 1) * sizeof *c->v);
	c->v[0] = first;
	c->older.all--;
	c->older.users--;
	exchange_count_older(&own, &c->v[0]);
	c->older.lines -= own.lines < c->older.lines ? own.lines : c->older.lines;
	c->older.bytes -= count->first.len < c->older.bytes ? count->first.len : c->older.bytes;
	clean_free(words);
}

/* Tells the records before `to` in their order to a builder. */
static int
emit_older(struct transcript_reading *r, struct transcript_builder *t, size_t to, struct err *e)
{
	struct json_slice text;
	int ok = 0;

	for (size_t i = 0; i < to && ok >= 0; i++) {
		const struct transcript_entry *record = &r->chain.v[r->chain.order[i]];

		ok = record->kind <= ENTRY_ATTACHMENT
		    ? transcript_iter_read(r->pages, record->at, record->n, &text, e)
		    : 0;
		if (ok == 1)
			r->how->emit(t, record, text);
	}
	return ok < 0 ? -1 : 0;
}

/*
 * Counts what is older than what was told, with the user's first message kept: a second look at the
 * records, which keeps no words. 1; 0: the file is too large for that; -1.
 */
static int
count_older(struct transcript_reading *r, struct scrub *s, struct conversation *out, struct err *e)
{
	uint32_t told = r->first < r->chain.n_order ? r->chain.order[r->first] : 0;
	struct conversation bare = CONVERSATION_INIT;
	struct transcript_builder count;
	int ret;

	if (r->pages->tail != NULL && r->pages->tail->size > MOST_COUNTED)
		return 0;
	if (!r->all && index_records(r, UINT64_MAX, e) != 0)
		return -1;
	(r->how->order != NULL ? r->how->order : order_lines)(&r->chain, r->all);
	builder_init(&count, NULL, &bare);
	ret = emit_older(r, &count, place_of(&r->chain, told), e);
	for (size_t i = 0; i < bare.n && ret == 0; i++)
		if (!builder_told_call(&r->t, &count.marks[i]))
			exchange_count_older(&out->older, &bare.v[i]);
	out->older.lines += count.wash.lines;
	out->older.bytes += count.wash.bytes;
	if (ret == 0 && count.first.len > 0)
		put_first(out, s, &count);
	builder_release(&count);
	conversation_release(&bare);
	return ret == 0 ? 1 : ret;
}

/* May older records belong to the conversation? */
static bool
has_older(const struct transcript_reading *r)
{
	return r->first > 0 || !(r->all || r->chain.whole);
}

/* May there be older words, and room for them? */
static bool
room_left(const struct transcript_reading *r, const struct conversation *c, size_t max_bytes)
{
	size_t sum = 0;

	for (size_t i = 0; i < c->n; i++)
		sum += strlen(c->v[i].content) + (c->v[i].input != NULL ? strlen(c->v[i].input) : 0);
	return sum <= max_bytes && has_older(r);
}

/*
 * How much of a record is words only shows when it was told, where its format does not count
 * them: when they turn out to be fewer than wanted, again with twice the records, which is linear
 * in the end.
 */
static int
read_records(struct transcript_reading *r, struct scrub *s, size_t max_bytes, struct conversation *out,
    struct err *e)
{
	/* JSON writes "\n" and quotes in two bytes: a quarter more than is wanted */
	uint64_t enough = max_bytes > 0 ? (uint64_t)max_bytes + max_bytes / 4 : UINT64_MAX;
	struct transcript_iter *p = r->pages;
	bool again = true, older;
	int ret = 0;

	builder_init(&r->t, s, out);
	while (again) {
		ret = gather_entries(r, enough, e) != 0 || emit_all(r, e) != 0 ? -1 : 0;
		again = ret == 0 && !r->how->counts && room_left(r, out, max_bytes);
		enough = enough <= UINT64_MAX / 2 ? enough * 2 : UINT64_MAX;
		if (again)
			builder_reset(&r->t);
	}
	/* one JSON object that does not close */
	out->lines = r->lines + (p->list.torn && p->tail != NULL && p->tail->end > 0);
	out->unknown_lines = r->unknown + (out->lines - r->lines);
	older = has_older(r);
	if (ret == 0 && older && !r->chain.side) {
		ret = count_older(r, s, out, e);
		older = ret == 0;
		ret = ret < 0 ? -1 : 0;
	}
	conversation_limit(out, max_bytes > 0 ? max_bytes : SIZE_MAX);
	if (older || out->older.all > 0)
		out->truncated_at = 0;
	builder_release(&r->t);
	transcript_tree_release(&r->chain);
	if (ret != 0)
		conversation_release(out);
	return ret;
}

#define MOST_PIPE ((size_t)1 << 30)

int
transcript_no_format(const char *format, struct err *e)
{
	err_set(e, GT_USAGE, "format", "transcripts of the format \"%.40s\" cannot be read", format);
	return err_hint(e, "known are claude, codex, gemini, qwen, copilot, pi, auggie, cline and opencode");
}

/* An open file, which is closed. path: for the sub-agents' files, NULL: they are left out. */
static int
read_opened(struct transcript_file *b, const struct transcript_format *how, const char *path, bool side,
    struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	struct transcript_reading r = { .how = how, .pages = &b->pages, .path = path, .chain.side = side };
	int ret = read_records(&r, s, max_bytes, out, e);

	transcript_file_close(b);
	return ret;
}

int
transcript_read(const char *path, const char *format, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e)
{
	const struct transcript_format *how = transcript_format_find(format);
	struct transcript_file b;

	*out = (struct conversation)CONVERSATION_INIT;
	if (how == NULL)
		return transcript_no_format(format, e);
	if (transcript_file_open(&b, how, path, e) != 0)
		return -1;
	return read_opened(&b, how, path, false, s, max_bytes, out, e);
}

int
transcript_read_side(const char *path, const struct transcript_format *how, struct scrub *s, size_t max_bytes,
    struct conversation *out)
{
	struct transcript_file b;

	*out = (struct conversation)CONVERSATION_INIT;
	if (transcript_file_open(&b, how, path, NULL) != 0)
		return -1;
	return read_opened(&b, how, NULL, true, s, max_bytes, out, NULL);
}

int
transcript_read_bytes(const char *p, size_t n, const char *format, struct scrub *s, size_t max_bytes,
    struct conversation *out, struct err *e)
{
	const struct transcript_format *how = transcript_format_find(format);
	struct transcript_file b;

	*out = (struct conversation)CONVERSATION_INIT;
	if (how == NULL)
		return transcript_no_format(format, e);
	if (transcript_file_open_bytes(&b, how, p, n, e) != 0)
		return -1;
	return read_opened(&b, how, NULL, false, s, max_bytes, out, e);
}

int
transcript_read_fd(
    int fd, const char *format, struct scrub *s, size_t max_bytes, struct conversation *out, struct err *e)
{
	const struct transcript_format *how = transcript_format_find(format);
	struct buf all = BUF_INIT;
	struct transcript_file b;
	struct stat st;
	int ret;

	*out = (struct conversation)CONVERSATION_INIT;
	if (how == NULL)
		return transcript_no_format(format, e);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (transcript_file_open_fd(&b, how, fd, e) != 0)
			return -1;
		return read_opened(&b, how, NULL, false, s, max_bytes, out, e);
	}
	ret = io_read_all(fd, "the transcript", MOST_PIPE, &all, e);
	if (ret == 0)
		ret = transcript_read_bytes(all.data, all.len, format, s, max_bytes, out, e);
	buf_wipe(&all);
	return ret;
}
