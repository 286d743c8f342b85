#include <dirent.h>
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
#include "transcript/locate/locate.h"

#define MOST ((uint64_t)64 << 20)	/* bytes of records that are looked at */

/* A record and what it says; newest first. */
struct ack_proof {
	uint64_t id, parent;
	bool asked, answered, refused, answered_behind, refused_behind;
	enum { UNKNOWN, WALKED, BELOW, ELSEWHERE } place;	/* below a record that asked? */
};

struct ack_proofs {
	const struct transcript_format *how;
	const char *sought;
	struct ack_proof *v;
	size_t n, cap;
	struct ack_proof **by_id;	/* sorted */
	bool tree;
	bool answered;		/* the model said something in what was looked at so far */
	bool settled;		/* older records can change nothing */
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

	all->how->classify(text, &r);
	if ((r.kind > ENTRY_SYSTEM && r.id == 0) || (!all->tree && all->answered && !may_ask))
		return;
	all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
	all->v[all->n] = (struct ack_proof){ .id = r.id, .parent = r.parent };
	builder_init_search(&t, all->sought);
	if (r.kind <= ENTRY_SYSTEM)
		all->how->emit(&t, &r, text);
	note_result(&all->v[all->n++], &t);
	all->settled = !all->tree && t.asked && (all->answered || t.answered_behind);
	all->answered = all->answered || t.answered;
	builder_release(&t);
}

/* What stands in front of all records may hold the first prompt. */
static void
search_head(struct ack_proofs *all, const struct transcript_iter *p)
{
	struct json_slice text;
	struct transcript_builder t;

	if (!json_slice_whole(p->head.data, p->head.len, &text))
		return;
	builder_init_search(&t, all->sought);
	all->how->header(&t, text);
	if (t.asked) {
		all->v = vec_room(all->v, all->n, &all->cap, sizeof *all->v);
		all->v[all->n] = (struct ack_proof){ .id = 0 };
		note_result(&all->v[all->n++], &t);
	}
	builder_release(&t);
}

static int
search_records(struct ack_proofs *all, struct transcript_iter *p, struct err *e)
{
	uint64_t seen = 0;
	off_t at;
	size_t n;
	int more = 1;

	while (!all->settled && seen < MOST && (more = transcript_iter_previous(p, &at, &n, e)) == 1) {
		struct json_slice text;
		int ok = n > 0 ? transcript_iter_read(p, at, n, &text, e) : 0;

		if (ok < 0)
			return -1;
		seen += n + 1;
		if (ok == 1)
			search_text(all, text);
	}
	search_head(all, p);
	return more < 0 ? -1 : 0;
}

/* ---- what follows from it ---- */

static enum ack
better_ack(enum ack a, enum ack b)
{
	static const int rank[] = {
		[ACK_NONE] = 0, [ACK_RECEIVED] = 1, [ACK_REFUSED] = 2, [ACK_ANSWERED] = 3
	};

	return rank[b] > rank[a] ? b : a;
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
	for (size_t i = 0; found != ACK_NONE && i < all->n; i++)
		if ((all->v[i].answered || all->v[i].refused) && descends_from_ack(all, &all->v[i]))
			found = better_ack(found, all->v[i].answered ? ACK_ANSWERED : ACK_REFUSED);
	free(all->by_id);
	return found;
}

/*
 * transcript_ack for the formats of transcript/transcript_private.h. What was taken back counts:
 * the agent was told.
 */
static int
transcript_find_ack(
    const struct transcript_format *how, const char *path, const char *sought, enum ack *out, struct err *e)
{
	struct ack_proofs all = { .how = how, .sought = sought, .tree = how->order == transcript_tree_order };
	struct transcript_file b;
	int ret;

	*out = ACK_NONE;
	if (transcript_file_open(&b, how, path, e) != 0)
		return -1;
	ret = search_records(&all, &b.pages, e);
	if (ret == 0)
		*out = all.tree ? judge_tree(&all) : judge_row(&all);
	transcript_file_close(&b);
	free(all.v);
	return ret;
}

#define MAX_TAIL ((off_t)64 << 20)
#define BATCH 50	/* lines before the question among which an answer to it may stand */

/* What is kept of a record: enough to walk from an answer up to its question. */
struct ack_link {
	uint64_t id, parent;
	bool answer, error;
	enum { LINK_UNKNOWN, LINK_WALKED, LINK_BELOW, LINK_ELSEWHERE } place;	/* below the question? */
};

/* A line that has been passed, newest first; looked into only when the question is found. */
struct ack_line {
	off_t at;
	size_t n;
};

struct ack_links {
	struct ack_line *lines;
	size_t n_lines, cap_lines;
	struct ack_link *v;		/* sorted by id */
	size_t n, cap;
	uint64_t question;	/* of the user message with the recovery id; 0: none */
};

static bool
text_has(struct json_slice text, const char *id)
{
	return json_slice_string(text) && memmem(text.p, text.n, id, strlen(id)) != NULL;
}

static bool
content_has(struct json_slice content, const char *id)
{
	struct json_walk w = json_slice_walk(content);
	struct json_slice block;

	if (text_has(content, id))
		return true;
	while (!w.object && json_walk_next(&w, NULL, &block))
		if (text_has(json_slice_get(block, "text"), id))
			return true;
	return false;
}

/* The name of the user message in the line that holds the id, 0 when it is none. */
static uint64_t
find_question(const char *line, size_t n, const char *id)
{
	struct entry_parts p;

	if (memmem(line, n, id, strlen(id)) == NULL || !entry_parse(line, n, &p) || p.side ||
	    !json_slice_is(p.type, "user"))
		return 0;
	return content_has(p.blocks, id) ? entry_hash_id(p.uuid) : 0;
}

static int
by_link_id(const void *a, const void *b)
{
	const struct ack_link *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* From the end to some lines before the first line with the question, or to the limit. */
static int
pass_lines(struct ack_links *l, struct transcript_tail *t, const char *id, struct err *e)
{
	off_t floor = t->end > MAX_TAIL ? t->end - MAX_TAIL : 0;
	struct ack_line line;
	size_t since = 0;
	int r = 1;

	while (since < BATCH && (r = transcript_tail_previous(t, &line.at, &line.n, e)) == 1) {
		const char *p;
		size_t n;
		uint64_t question;

		if (line.at < floor)
			break;
		if (transcript_tail_line(t, line.at, line.n, &p, &n, e) != 0)
			return -1;
		l->lines = vec_room(l->lines, l->n_lines, &l->cap_lines, sizeof *l->lines);
		l->lines[l->n_lines++] = line;
		question = find_question(p, n, id);
		since = question != 0 ? 0 : since + (l->question != 0);
		if (question != 0)
			l->question = question;
	}
	return r < 0 ? -1 : 0;
}

static int
link_lines(struct ack_links *l, struct transcript_tail *t, struct err *e)
{
	for (size_t i = 0; l->question != 0 && i < l->n_lines; i++) {
		struct entry_parts parts;
		const char *p;
		size_t n;

		if (transcript_tail_line(t, l->lines[i].at, l->lines[i].n, &p, &n, e) != 0)
			return -1;
		if (!entry_parse(p, n, &parts) || parts.side || entry_hash_id(parts.uuid) == 0)
			continue;
		l->v = vec_room(l->v, l->n, &l->cap, sizeof *l->v);
		l->v[l->n++] = (struct ack_link){ .id = entry_hash_id(parts.uuid),
			.parent = entry_hash_id(parts.parent),
			.answer = json_slice_is(parts.type, "assistant"),
			.error = parts.api_error };
	}
	if (l->n > 0)
		qsort(l->v, l->n, sizeof *l->v, by_link_id);
	return 0;
}

static struct ack_link *
find_link(const struct ack_links *l, uint64_t id)
{
	struct ack_link key = { .id = id };

	return l->n > 0 && id != 0 ? bsearch(&key, l->v, l->n, sizeof *l->v, by_link_id) : NULL;
}

/* Walks up until somebody knows, then tells all on the way: every link is asked once. */
static bool
descends_from_question(const struct ack_links *l, struct ack_link *k)
{
	struct ack_link *at = k;
	bool below = false;

	while (at != NULL && at->place == LINK_UNKNOWN) {
		at->place = LINK_WALKED;
		below = at->parent == l->question;
		at = below ? NULL : find_link(l, at->parent);
	}
	below = below || (at != NULL && at->place == LINK_BELOW);
	for (at = k; at != NULL && at->place == LINK_WALKED; at = find_link(l, at->parent))
		at->place = below ? LINK_BELOW : LINK_ELSEWHERE;
	return k->place == LINK_BELOW;
}

static enum ack
judge_links(const struct ack_links *l)
{
	enum ack found = ACK_RECEIVED;

	if (l->question == 0)
		return ACK_NONE;
	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i].answer || !descends_from_question(l, &l->v[i]))
			continue;
		if (!l->v[i].error)
			return ACK_ANSWERED;
		found = ACK_REFUSED;
	}
	return found;
}

static int
ack_claude(const char *path, const char *recovery_id, enum ack *out, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = -1;
	struct ack_links l = { .n = 0 };
	struct transcript_tail t;

	*out = ACK_NONE;
	if (fd < 0)
		return err_sys(e, GT_FAIL, "transcript", "the transcript %s cannot be opened", path);
	if (transcript_tail_init_fd(&t, fd, e) == 0) {
		if (pass_lines(&l, &t, recovery_id, e) == 0 && link_lines(&l, &t, e) == 0) {
			*out = judge_links(&l);
			ret = 0;
		}
		transcript_tail_release(&t);
	}
	free(l.lines);
	free(l.v);
	close(fd);
	return ret;
}

int
transcript_ack(const char *path, const char *format, const char *recovery_id, enum ack *out, struct err *e)
{
	const struct transcript_format *how;

	*out = ACK_NONE;
	if (strcmp(format, "claude") == 0)
		return ack_claude(path, recovery_id, out, e);
	if ((how = transcript_format_find(format)) == NULL)
		return transcript_no_format(format, e);
	return transcript_find_ack(how, path, recovery_id, out, e);
}

void
transcript_search(const char *config_dir, const char *cwd, const char *recovery_id, int64_t since_ms,
    enum ack *out, char **path)
{
	char *folder = transcript_folder(config_dir, cwd);
	DIR *dir = folder != NULL ? opendir(folder) : NULL;
	struct dirent *d;

	*out = ACK_NONE;
	*path = NULL;
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		char *file;
		struct stat st;
		enum ack ack;

		if (!str_ends(d->d_name, ".jsonl"))
			continue;
		file = io_join(folder, d->d_name);
		if (stat(file, &st) == 0 && (int64_t)st.st_mtime * 1000 + 999 >= since_ms &&
		    ack_claude(file, recovery_id, &ack, NULL) == 0 && ack > *out) {
			*out = ack;
			free(*path);
			*path = xstrdup(file);
		}
		free(file);
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
}
