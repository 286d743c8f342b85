#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "install/install_private.h"
#include "base/encode.h"
#include "base/err.h"
#include "base/io.h"
#include "base/spawn.h"
#include "scrub/scrub.h"

#define FILE_MAX ((size_t)16 << 20)

struct artifact *
artifact_add(struct artifact_set *in, char *path, const char *owner,
    void (*render)(const struct artifact *, struct buf *), const void *of)
{
	struct artifact *a = &in->v[in->n++];

	*a = (struct artifact){ path, owner, ARTIFACT_SEAL, render, of, 0600 };
	return a;
}

void
artifact_release(struct artifact_set *in)
{
	for (size_t i = 0; i < in->n; i++)
		free(in->v[i].path);
	free(in->dir);
	memset(in, 0, sizeof *in);
}

/* ---- marks ---- */

static bool
is_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* text with a second line that holds the SHA-256 of all others. */
static void
put_sealed(struct buf *out, const char *owner, const char *text, size_t n)
{
	size_t first = strcspn(text, "\n") + 1;
	char sum[65];

	sha256_hex(text, n, sum);
	buf_add(out, text, first);
	buf_fmt(out, "# Written by gt-recover install %s, sha256 %s\n", owner, sum);
	buf_add(out, text + first, n - first);
}

static bool
is_sealed(const struct buf *text, const char *owner)
{
	const char *mark = strchr(text->data, '\n'), *rest = mark != NULL ? strchr(mark + 1, '\n') : NULL;
	struct buf bare = BUF_INIT, again = BUF_INIT;
	bool same = false;

	if (rest != NULL) {
		buf_add(&bare, text->data, (size_t)(mark + 1 - text->data));
		buf_str(&bare, rest + 1);
		put_sealed(&again, owner, bare.data, bare.len);
		same = is_same(&again, text);
	}
	buf_release(&bare);
	buf_release(&again);
	return same;
}

static void
put_marker(struct buf *out, const struct artifact *a, const char *which)
{
	buf_fmt(out, "# %s %s (gt-recover %s)\n", a->owner, which,
	    a->path == NULL ? "install timer" : "setup");
}

/* The first line that is this marker, or NULL. */
static const char *
find_marker(const struct buf *text, const struct artifact *a, const char *which, size_t *n)
{
	struct buf marker = BUF_INIT;
	const char *found = NULL, *end = text->data + text->len;

	put_marker(&marker, a, which);
	/* the last line of a file may lack its newline */
	*n = marker.len - 1;
	for (const char *at = text->data; at < end && found == NULL; ) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((nl != NULL ? nl : end) - at);

		if (len == *n && memcmp(at, marker.data, len) == 0)
			found = at;
		at += len + 1;
	}
	buf_release(&marker);
	return found;
}

static int
find_block(const struct artifact *a, const struct buf *tab, size_t *from, size_t *to, struct err *e)
{
	size_t n;
	const char *first = find_marker(tab, a, "begins", &n), *last = find_marker(tab, a, "ends", &n);

	if (first == NULL && last == NULL) {
		/* above the lines of a file, whose last one may lack its newline */
		*from = a->path == NULL ? *from : 0;
		*to = a->path == NULL ? *to : 0;
		return 0;
	}
	if (first == NULL || last < first) {
		err_set(e, GT_FAIL, "timer",
		    "in %.300s the lines \"# %s begins\" and \"… ends\" do not match",
		    a->path != NULL ? a->path : "the crontab", a->owner);
		return err_hint(e, "%s; remove these lines, then run the command again",
		    a->path != NULL ? "edit it" : "crontab -e");
	}
	*from = (size_t)(first - tab->data);
	*to = (size_t)(last - tab->data) + n;
	*to += *to < tab->len;
	return 1;
}

/*
 * The shell function, from its first line to its last, with the newline that was put in front. 0 when it
 * has no last line: an older one, or a person's.
 */
static int
find_tail(const struct artifact *a, const struct buf *text, size_t *from, size_t *to)
{
	char *mark = xasprintf("# gt-recover %s", a->owner), *end = xasprintf("\n%s ends\n", mark);
	const char *first = strstr(text->data, mark), *last = first != NULL ? strstr(first, end) : NULL;

	if (last != NULL) {
		const char *before = first > text->data ? first - 1 : first;

		*to = (size_t)(last - text->data) + strlen(end);
		/* an empty line, or the end of a line that had none, unless others follow it now */
		if (before > text->data && before[-1] != '\n' && *to < text->len)
			before = first;
		*from = (size_t)(before - text->data);
	}
	free(mark);
	free(end);
	return first != NULL;
}

void
artifact_print(const struct artifact *a, struct buf *out)
{
	struct buf text = BUF_INIT;

	a->render(a, &text);
	if (a->mark == ARTIFACT_BLOCK)
		put_marker(out, a, "begins");
	if (a->mark == ARTIFACT_SEAL)
		put_sealed(out, a->owner, text.data, text.len);
	else
		buf_add(out, text.data, text.len);
	if (a->mark == ARTIFACT_BLOCK)
		put_marker(out, a, "ends");
	buf_release(&text);
}

/* ---- the file, or the crontab ---- */

static void
place_release(struct artifact_place *p)
{
	free(p->path);
	buf_wipe(&p->old);
	buf_wipe(&p->new);
}

int
artifact_run(const char *what, const char *const *argv, const struct buf *in, struct buf *out,
    struct buf *words, struct err *e)
{
	struct buf shown = BUF_INIT;
	struct spawn s = { .argv = argv,
		.in = in != NULL ? in->data : NULL,
		.in_len = in != NULL ? in->len : 0,
		.out = out,
		.errout = words,
		.max_out = FILE_MAX,
		.timeout_ms = 30000 };
	int ret = spawn_run(&s, e) == 0 ? s.status : -1;

	if (ret > 0) {
		scrub_first_line(&shown, words->data, 200, NULL);
		ret = err_set(e, GT_FAIL, "timer", "%s failed: %s", what,
		    shown.len > 0 ? shown.data : "(no reason given)");
	}
	buf_release(&shown);
	return ret;
}

/* The user's crontab; empty when there is none, and without cron. */
static int
read_crontab(struct buf *out, struct err *e)
{
	static const char *const argv[] = { "crontab", "-l", NULL };
	struct buf words = BUF_INIT;
	struct err own = ERR_INIT;
	int ret = artifact_run("crontab -l", argv, NULL, out, &words, &own);

	/* whatever else fails: a crontab that cannot be read must not be replaced by ours */
	if (ret != 0 && (strcmp(own.name, "not-installed") == 0 ||
			    (strcmp(own.name, "timer") == 0 && strstr(words.data, "no crontab") != NULL))) {
		buf_reset(out);
		ret = 0;
	} else if (ret != 0 && e != NULL) {
		*e = own;
	}
	buf_release(&words);
	return ret;
}

static int
write_crontab(const struct buf *text, struct err *e)
{
	static const char *const argv[] = { "crontab", "-", NULL };
	struct buf words = BUF_INIT;
	int ret = artifact_run("crontab -", argv, text, NULL, &words, e);

	buf_release(&words);
	return ret;
}

static int
read_place(const struct artifact *a, struct artifact_place *p, struct err *e)
{
	struct err own = ERR_INIT;
	struct stat st;

	*p = (struct artifact_place){ .there = true, .mode = 0600, .old = BUF_INIT, .new = BUF_INIT };
	if (a->path == NULL)
		return read_crontab(&p->old, e);
	p->path = a->mode == 0 ? realpath(a->path, NULL) : NULL;
	if (p->path == NULL)
		p->path = xstrdup(a->path);
	if (a->mode == 0 && stat(p->path, &st) == 0)
		p->mode = st.st_mode & 07777;
	if (io_read_file(p->path, FILE_MAX, &p->old, &own) == 0)
		return 0;
	p->there = false;
	if (strcmp(own.name, "not-found") == 0)
		return 0;
	if (e != NULL)
		*e = own;
	return -1;
}

/* Adds the tail, without replacing the file: its mode, links and bytes stay. */
static int
append(const struct artifact_place *p, struct err *e)
{
	FILE *f;
	int ret;

	/* fish reads a folder that a new home lacks; one that cannot be made shows at fopen */
	io_make_parents(p->path, NULL);
	f = fopen(p->path, "ae");
	ret = f != NULL && fputs(p->new.data + p->old.len, f) >= 0 && fflush(f) == 0 ? 0 : -1;
	if (ret != 0)
		err_sys(e, GT_FAIL, "unwritable", "%s cannot be written", p->path);
	if (f != NULL && fclose(f) != 0 && ret == 0)
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be written", p->path);
	return ret;
}

static int
write_place(const struct artifact *a, const struct artifact_place *p, struct err *e)
{
	if (p->path == NULL)
		return write_crontab(&p->new, e);
	if (a->mark == ARTIFACT_TAIL && p->new.len > p->old.len)
		return append(p, e);
	if (p->new.len == 0)
		return unlink(p->path) == 0 && io_sync_parent(p->path) == 0
		    ? 0
		    : err_sys(e, GT_FAIL, "unwritable", "%s cannot be removed", p->path);
	if (io_make_parents(p->path, e) != 0 ||
	    io_write_durable(p->path, p->new.data, p->new.len, "install", e) != 0)
		return -1;
	return p->mode == 0600 || chmod(p->path, p->mode) == 0
	    ? 0
	    : err_sys(e, GT_FAIL, "unwritable", "the mode of %s cannot be set", p->path);
}

/* ---- what will stand there ---- */

/* Behind the last brace of a file of hooks that we made; a program that writes into it drops it. */
#define MADE "\n\n"

static int
edit_hooks(const struct artifact *a, bool put, struct artifact_place *p, struct err *e)
{
	const struct artifact_call *call = a->of;
	size_t there = 0, n;

	p->to = p->old.len;
	buf_add(&p->new, p->old.data, p->old.len);
	if ((p->old.len > 0 && hooks_count(call->row, &p->old, &there, NULL, e) != 0) ||
	    (put && hooks_add(&p->new, call, &n, e) != 0) ||
	    (!put && there > 0 && hooks_remove(call->row, &p->new, &n, e) != 0))
		return -1;
	p->state = there == 0 ? ARTIFACT_ABSENT : put && n == 0 ? ARTIFACT_CURRENT : ARTIFACT_OTHER;
	if (put && !p->there)
		buf_str(&p->new, MADE);
	else if (!put && strcmp(p->new.data, "{}" MADE) == 0)
		buf_reset(&p->new);
	return 0;
}

/* Where ours is in the old text, or where it goes. 1: it is there, 0, -1. */
static int
find_place(const struct artifact *a, struct artifact_place *p, struct err *e)
{
	p->to = p->old.len;
	if (a->mark == ARTIFACT_NAME || a->mark == ARTIFACT_SEAL)
		return p->there;
	p->from = p->old.len;
	if (a->mark == ARTIFACT_BLOCK)
		return find_block(a, &p->old, &p->from, &p->to, e);
	return find_tail(a, &p->old, &p->from, &p->to);
}

int
artifact_edit(const struct artifact *a, bool put, struct artifact_place *p, struct err *e)
{
	struct buf today = BUF_INIT;
	size_t n = p->old.len;
	int found = a->mark == ARTIFACT_HOOKS ? 0 : find_place(a, p, e);

	if (a->mark == ARTIFACT_HOOKS)
		return edit_hooks(a, put, p, e);
	if (found < 0)
		return -1;
	if (put)
		artifact_print(a, &today);
	if (found > 0 && put &&
	    (a->mark == ARTIFACT_TAIL ||
		(p->to - p->from == today.len && memcmp(p->old.data + p->from, today.data, today.len) == 0)))
		p->state = ARTIFACT_CURRENT;
	else if (found > 0)
		p->state = (a->mark == ARTIFACT_SEAL && !is_sealed(&p->old, a->owner)) ||
			(a->mark == ARTIFACT_TAIL && p->from == p->to) ? ARTIFACT_EDITED : ARTIFACT_OTHER;
	buf_add(&p->new, p->old.data, p->from);
	/* one newline in front of a tail: it ends the last line, or is an empty one, and goes with it */
	if (put && found == 0 &&
	    (a->mark == ARTIFACT_TAIL || (n > 0 && p->from == n && p->old.data[n - 1] != '\n')))
		buf_chr(&p->new, '\n');
	buf_add(&p->new, today.data, today.len);
	buf_add(&p->new, p->old.data + p->to, n - p->to);
	buf_release(&today);
	return 0;
}

/* ---- the verbs ---- */

int
artifact_status(const struct artifact *a, enum artifact_state *state, struct buf *found, struct err *e)
{
	struct artifact_place p;
	int ret = read_place(a, &p, e);

	if (ret == 0)
		ret = artifact_edit(a, true, &p, e);
	*state = p.state;
	if (ret == 0 && found != NULL && p.state != ARTIFACT_ABSENT)
		buf_add(found, p.old.data + p.from, p.to - p.from);
	place_release(&p);
	return ret;
}

/* Reads and edits all of them, before one is written. */
static int
prepare(const struct artifact_set *in, bool put, struct artifact_place *places, struct err *e)
{
	for (size_t i = 0; i < in->n; i++) {
		struct artifact_place *p = &places[i];

		if (read_place(&in->v[i], p, e) != 0 || artifact_edit(&in->v[i], put, p, e) != 0)
			return -1;
		if (p->path != NULL && in->v[i].mark != ARTIFACT_TAIL)
			io_sweep(p->path);
		if (p->state == ARTIFACT_EDITED) {
			err_set(e, GT_FAIL, "edited",
			    "%.300s was changed by hand or not written by gt-recover; left unchanged",
			    p->path);
			return err_hint(e, "move it away, or compare it with gt-recover install %s --print",
			    in->v[i].owner);
		}
	}
	return 0;
}

static int
apply(const struct artifact_set *in, bool put, bool *any, struct err *e)
{
	struct artifact_place p[ARTIFACTS_MAX] = { { .old = BUF_INIT, .new = BUF_INIT },
		{ .old = BUF_INIT, .new = BUF_INIT } };
	int ret = prepare(in, put, p, e);

	*any = false;
	for (size_t i = 0; i < in->n && ret == 0; i++) {
		size_t at = put ? in->n - 1 - i : i;

		if (p[at].state == (put ? ARTIFACT_CURRENT : ARTIFACT_ABSENT))
			continue;
		*any = true;
		ret = write_place(&in->v[at], &p[at], e);
	}
	for (size_t i = 0; i < ARTIFACTS_MAX; i++)
		place_release(&p[i]);
	return ret;
}

int
artifact_install(const struct artifact_set *in, bool *changed, struct err *e)
{
	return apply(in, true, changed, e);
}

int
artifact_remove(const struct artifact_set *in, bool *was, struct err *e)
{
	int ret = apply(in, false, was, e);

	/* fails while a person keeps something else there */
	if (ret == 0 && in->dir != NULL)
		rmdir(in->dir);
	return ret;
}
