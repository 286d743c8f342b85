#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transcript/transcript.h"
#include "base/buf.h"
#include "base/err.h"
#include "transcript/format/format_private.h"

#define PICTURE ((size_t)6400)
#define BATCH 64		/* lines among which a record may stand before its parent */
/* of what is read much may lie beside the conversation: rewound, or of sub-agents */
#define BESIDE 4
#define MOST_RECORDS ((size_t)500000)

struct integrity_scan {
	struct transcript_tail tail;
	struct message_tree chain;
	struct integrity_part {
		size_t bytes;
		bool compaction, summary, answer;
	} *parts;		/* beside the records of the chain */
	size_t cap_parts;
	size_t bytes;		/* of all of them */
	size_t charged;
	size_t since;		/* lines since the newest compaction, which counts; 0: none was seen */
	bool all, torn, named, foreign;
};

/* What the model is sent of the content of a message, or of a result. Thinking of older turns is not. */
static size_t
content_bytes(struct json_slice content, bool results)
{
	struct json_walk w = json_slice_walk(content);
	struct json_slice block;
	size_t sum = json_slice_string(content) ? content.n : 0;

	while (!w.object && json_walk_next(&w, NULL, &block)) {
		struct json_slice type = json_slice_get(block, "type");

		if (results && json_slice_is(type, "tool_result"))
			sum += content_bytes(json_slice_get(block, "content"), false);
		else if (json_slice_is(type, "image"))
			sum += PICTURE;
		else if (!json_slice_is(type, "thinking") && !json_slice_is(type, "redacted_thinking"))
			sum += block.n;
	}
	return sum;
}

static size_t
number_of(struct json_slice v)
{
	size_t n = 0;

	for (size_t i = 0; i < v.n && v.p[i] >= '0' && v.p[i] <= '9' && n < SIZE_MAX / 100; i++)
		n = n * 10 + (size_t)(v.p[i] - '0');
	return n;
}

static size_t
usage_tokens(struct json_slice message)
{
	struct json_slice usage = json_slice_get(message, "usage");

	return number_of(json_slice_get(usage, "input_tokens")) +
	    number_of(json_slice_get(usage, "cache_creation_input_tokens")) +
	    number_of(json_slice_get(usage, "cache_read_input_tokens")) +
	    number_of(json_slice_get(usage, "output_tokens"));
}

static void
take_record(struct integrity_scan *r, struct json_slice record, const struct claude_record *p, size_t unseen,
    const char *session_id)
{
	struct integrity_part part = { .bytes = content_bytes(p->blocks, true) + p->attachment.n + unseen,
		.summary = p->summary };
	struct transcript_entry rec = { .at = 0 };

	claude_record_entry(p, &rec);
	if (!r->named && json_slice_string(p->session)) {
		r->named = true;
		r->foreign = !json_slice_is(p->session, session_id);
	}
	if (rec.id == 0 || rec.side)
		return;
	part.compaction = rec.kind == ENTRY_SYSTEM && json_slice_is(p->subtype, "compact_boundary");
	part.answer = rec.kind == ENTRY_ASSISTANT && !p->api_error;
	if (part.compaction) {
		rec.logical = 0;	/* the conversation begins here for the model */
		r->since += r->since == 0;
	}
	if (part.answer && r->charged == 0 && r->since == 0)
		r->charged = usage_tokens(p->message);
	transcript_tree_add(&r->chain, &rec);
	format_claude.link(&r->chain, record);
	r->parts = vec_room(r->parts, r->chain.n - 1, &r->cap_parts, sizeof *r->parts);
	r->parts[r->chain.n - 1] = part;
	r->bytes += part.bytes;
}

/* Lines until the newest compaction and a batch before it, or until there are so many bytes or records. */
static int
read_lines(struct integrity_scan *r, const char *session_id, size_t bytes, size_t records, struct err *e)
{
	off_t at;
	size_t n, len;
	const char *p;
	int got = 1;

	while (!r->torn && r->bytes < bytes && r->chain.n < records && r->since <= BATCH &&
	    (got = transcript_tail_previous(&r->tail, &at, &n, e)) == 1) {
		struct claude_record parts;
		struct json_slice record;

		if (transcript_tail_line(&r->tail, at, n, &p, &len, e) != 0)
			return -1;
		r->since += r->since > 0;
		if (len == 0)
			continue;
		r->torn = !json_slice_whole(p, len, &record) || *record.p != '{' ||
		    !claude_record_parse(record, &parts);
		if (!r->torn)
			take_record(r, record, &parts, n > len ? n - len : 0, session_id);
	}
	r->all = got == 0;
	return got < 0 ? -1 : 0;
}

static void
judge_order(const struct integrity_scan *r, struct transcript_check *out)
{
	const struct message_tree *c = &r->chain;
	bool answered = false;

	for (size_t i = 0; i < c->n_order; i++) {
		out->bytes += r->parts[c->order[i]].bytes;
		answered = answered || r->parts[c->order[i]].answer || r->parts[c->order[i]].summary;
	}
	out->charged = r->charged;
	if (!answered)
		out->integrity = TRANSCRIPT_EMPTY;
	else if (!c->whole ||
	    (r->parts[c->order[0]].compaction && (c->n_order < 2 || !r->parts[c->order[1]].summary)))
		out->integrity = TRANSCRIPT_BROKEN;
}

static int
read_all(struct integrity_scan *r, const char *session_id, size_t enough, struct transcript_check *out,
    struct err *e)
{
	size_t most = enough < SIZE_MAX / BESIDE / 2 ? enough * BESIDE : SIZE_MAX / 2,
	       bytes = enough < most ? enough : most, records = MOST_RECORDS / 8;

	for (;;) {
		if (read_lines(r, session_id, bytes, records, e) != 0)
			return -1;
		if (r->torn || r->foreign) {
			out->integrity = r->torn ? TRANSCRIPT_TORN : TRANSCRIPT_FOREIGN;
			return 0;
		}
		transcript_tree_order(&r->chain, false);
		if (r->chain.whole || r->all)
			break;
		if (r->bytes >= most || r->chain.n >= MOST_RECORDS) {
			out->integrity = TRANSCRIPT_LARGE;
			return 0;
		}
		/*
		 * the newest compaction lies on a branch that was given up, or there is more room
		 * to look in
		 */
		r->since = 0;
		bytes = bytes > most / 2 ? most : bytes * 2;
		records = records > MOST_RECORDS / 2 ? MOST_RECORDS : records * 2;
	}
	judge_order(r, out);
	return 0;
}

static bool
ends_line(int fd, off_t size)
{
	char last;

	return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last == '\n';
}

int
transcript_check_integrity(
    const char *path, const char *session_id, size_t enough, struct transcript_check *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), ret = -1;
	struct integrity_scan r = { .since = 0 };
	struct stat st;

	*out = (struct transcript_check){ .integrity = TRANSCRIPT_FOREIGN };
	if (fd < 0 && lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0) {
		err_sys(e, GT_FAIL, "transcript", "the transcript %s cannot be opened", path);
		goto out;
	}
	ret = 0;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		goto out;
	out->integrity = st.st_size == 0 ? TRANSCRIPT_EMPTY
	    : ends_line(fd, st.st_size)  ? TRANSCRIPT_WHOLE
					 : TRANSCRIPT_TORN;
	if (out->integrity == TRANSCRIPT_WHOLE && (ret = transcript_tail_init_fd(&r.tail, fd, e)) == 0) {
		ret = read_all(&r, session_id, enough, out, e);
		transcript_tail_release(&r.tail);
	}
	transcript_tree_release(&r.chain);
	free(r.parts);
out:
	if (fd >= 0)
		close(fd);
	return ret;
}
