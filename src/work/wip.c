#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work/wip_private.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/utf8.h"
#include "scrub/scrub.h"
#include "tmux/quote.h"

#define DEADLINE_MS 20000
#define FILES_SHOWN 20
#define TRIES 3
#define WHO "gt-recover"

void
wip_release(struct wip *w)
{
	free(w->top);
	free(w->ref);
	free(w->left);
	memset(w, 0, sizeof *w);
}

int
wip_git(struct visit *v, const char *what, const char *const *more, const struct buf *in, struct buf *out, struct err *e)
{
	int status = visit_feed(v, more, in, out, NULL, e);

	if (status <= 0)
		return status;
	return err_set(e, GT_FAIL, "git", "git %s failed in %.300s (exit status %d)", what, v->dir, status);
}

int
wip_hash(const char *answer, char hash[65])
{
	size_t n = strspn(answer, "0123456789abcdef");

	if (n < 40 || n > 64 || (answer[n] != '\n' && answer[n] != '\0'))
		return -1;
	memcpy(hash, answer, n);
	hash[n] = '\0';
	return 0;
}

/* ---- the repository ---- */

/* 1 with out->top, 0 there is no work tree, -1. */
static int
find_top(struct visit *v, struct wip *out, struct err *e)
{
	static const char *const ask[] = { "rev-parse", "--show-toplevel", NULL };
	struct buf top = BUF_INIT, words = BUF_INIT;
	int status = visit_git(v, ask, &top, &words, e), ret;

	if (status == 0) {
		ret = top.len > 1 && top.data[0] == '/';
		if (ret > 0)
			out->top = xstrndup(top.data, top.len - 1);
	} else if (status < 0) {
		ret = e != NULL && strcmp(e->name, "not-installed") == 0 ? 0 : -1;
		if (ret == 0)
			err_clear(e);
	} else if (strstr(words.data, "dubious ownership") != NULL) {
		ret = err_set(e, GT_FAIL, "git", "git refuses the repository of %s: it belongs to another user", v->dir);
	} else {
		ret = 0;
	}
	buf_release(&top);
	buf_release(&words);
	return ret;
}

/* HEAD's commit and tree, and what checkpoints differ from: before the first commit there is neither, and that is the empty tree. */
static int
read_head(struct wip_work *w, struct err *e)
{
	static const char *const commit[] = { "rev-parse", "-q", "--verify", "HEAD^{commit}", NULL };
	static const char *const tree[] = { "rev-parse", "-q", "--verify", "HEAD^{tree}", NULL };
	static const char *const empty[] = { "hash-object", "-t", "tree", "--stdin", NULL };
	struct buf out = BUF_INIT, none = BUF_INIT;
	int status = visit_git(&w->v, commit, &out, NULL, e);

	if (status == 0 && wip_hash(out.data, w->head) == 0) {
		status = wip_git(&w->v, "rev-parse", tree, NULL, &out, e) == 0 && wip_hash(out.data, w->head_tree) == 0 ? 0 : -1;
		memcpy(w->base, w->head, sizeof w->base);
	} else if (status >= 0) {
		status = wip_git(&w->v, "hash-object", empty, &none, &out, e) == 0 && wip_hash(out.data, w->base) == 0 ? 0 : -1;
	}
	buf_release(&none);
	buf_release(&out);
	return status < 0 ? -1 : 0;
}

/* 1 there is a work tree, and this is the visit of it; 0; -1. */
static int
begin(struct wip_work *w, const char *dir, const struct wip_ask *ask, struct wip *out, struct err *e)
{
	struct visit first;
	struct stat st;
	int ret;

	memset(w, 0, sizeof *w);
	memset(out, 0, sizeof *out);
	buf_init(&w->status);
	w->ask = ask;
	w->out = out;
	if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
		return 0;
	visit_init(&first, dir, DEADLINE_MS);
	ret = find_top(&first, out, e);
	visit_release(&first);
	if (ret <= 0)
		return ret;
	visit_init(&w->v, out->top, DEADLINE_MS);
	visit_init(&w->private, out->top, DEADLINE_MS);
	return visit_silence(&w->v, e) == 0 ? 1 : -1;
}

static void
end(struct wip_work *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->entries[i].path);
	free(w->entries);
	buf_release(&w->status);
	visit_release(&w->v);
	visit_release(&w->private);
}

/* What is in the room is ours, also what a run that was killed left there. */
static void
empty_room(const char *room)
{
	DIR *d = opendir(room);
	struct dirent *one;

	while (d != NULL && (one = readdir(d)) != NULL)
		if (one->d_name[0] != '.')
			unlinkat(dirfd(d), one->d_name, 0);
	if (d != NULL)
		closedir(d);
}

/* ---- the message ---- */

static void
put_path(struct wip_work *w, struct buf *out, const char *path)
{
	struct clean_text *clean = scrub_text(w->ask->scrub, path, strlen(path), 0);

	utf8_escape(out, clean_bytes(clean), clean_len(clean), 300);
	clean_free(clean);
}

static void
put_files(struct wip_work *w, struct buf *out)
{
	size_t shown = 0;

	buf_str(out, "\nFiles in progress:\n");
	if (w->ask->files != NULL) {
		buf_str(out, w->ask->files);
		return;
	}
	for (size_t i = 0; i < w->n; i++) {
		if (w->entries[i].why != NULL || shown++ >= FILES_SHOWN)
			continue;
		buf_str(out, "- ");
		put_path(w, out, w->entries[i].path);
		buf_str(out, w->entries[i].gone ? " (deleted)\n" : "\n");
	}
	if (shown > FILES_SHOWN)
		buf_fmt(out, "… and %zu more\n", shown - FILES_SHOWN);
	if (shown == 0)
		buf_str(out, "none, all is as in HEAD\n");
}

/* Sets what is told of those that were left out. */
static void
tell_left(struct wip_work *w)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < w->n; i++) {
		w->out->files += w->entries[i].why == NULL;
		if (w->entries[i].why == NULL || w->out->n_left++ >= FILES_SHOWN)
			continue;
		buf_str(&out, "- ");
		put_path(w, &out, w->entries[i].path);
		buf_fmt(&out, " (%s)\n", w->entries[i].why);
	}
	if (w->out->n_left > FILES_SHOWN)
		buf_fmt(&out, "… and %zu more\n", w->out->n_left - FILES_SHOWN);
	w->out->left = buf_detach(&out);
}

/*
 * In an index of its own that has what HEAD had: what the checkpoint holds as HEAD had it is thereby no change, and stays as it is on disk.
 * args: that commit and the checkpoint, or what prints both.
 */
static void
put_restore(struct buf *out, const char *top, const char *args)
{
	buf_str(out, "(");
	if (top != NULL) {
		buf_str(out, "cd ");
		quote_sh(out, top);
		buf_str(out, " && ");
	}
	buf_fmt(out, "set -- %s && d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && export GIT_INDEX_FILE=\"$d/index\" && "
	    "git read-tree \"$1\" && git read-tree --reset -u \"$1\" \"$2\")", args);
}

/* The ref may have moved on when that is read: both are those that it has then. */
static void
put_restore_of(struct buf *out, const char *ref)
{
	char *args = xasprintf("$(git log -1 --format='%%(trailers:key=" WIP_BASE ",valueonly) %%H' %s)", ref);

	put_restore(out, NULL, args);
	free(args);
}

static void
write_message(struct wip_work *w, struct buf *out)
{
	buf_fmt(out, "%s\n", w->ask->subject);
	put_files(w, out);
	if (w->ask->notes != NULL)
		buf_fmt(out, "\n%s", w->ask->notes);
	if (w->out->n_left > 0)
		buf_fmt(out, "\nLeft out, as in HEAD:\n%s", w->out->left);
	if (w->out->files > 0) {
		buf_str(out, "\nTo take it back: ");
		put_restore_of(out, w->out->ref);
		buf_chr(out, '\n');
	}
	buf_fmt(out, "\n🤖 Auto-checkpoint via " WHO "\n\n" WIP_TREE ": %s\n" WIP_BASE ": %s\n", w->word, w->base);
}

/* ---- the commit ---- */

static int
is_within(struct wip_work *w, struct err *e)
{
	const char *ask[] = { "merge-base", "--is-ancestor", w->head, w->tip.commit, NULL };
	int status = visit_git(&w->v, ask, NULL, NULL, e);

	return status < 0 ? -1 : status == 0;
}

static int
commit_tree(struct wip_work *w, const char *tree, char commit[65], struct err *e)
{
	const char *ask[12] = { "-c", "core.fsync=all", "-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree };
	struct buf message = BUF_INIT, out = BUF_INIT;
	int within = *w->tip.commit != '\0' && *w->head != '\0' ? is_within(w, e) : 0, ret = -1;
	size_t n = 6;

	if (*w->tip.commit != '\0') {
		ask[n++] = "-p";
		ask[n++] = w->tip.commit;
	}
	if (*w->head != '\0' && within == 0) {
		ask[n++] = "-p";
		ask[n++] = w->head;
	}
	ask[n] = NULL;
	write_message(w, &message);
	if (within >= 0)
		ret = wip_git(&w->v, "commit-tree", ask, &message, &out, e);
	if (ret == 0 && wip_hash(out.data, commit) != 0)
		ret = err_set(e, GT_FAIL, "git", "git commit-tree answered something else in %.300s", w->out->top);
	buf_release(&message);
	buf_release(&out);
	return ret;
}

static int
move_ref(struct wip_work *w, const char *commit, struct err *e)
{
	char none[65] = "";
	const char *ask[] = { "-c", "core.fsync=all", "update-ref", "-m", WHO ": work in progress", w->out->ref, commit,
		*w->tip.commit != '\0' ? w->tip.commit : none, NULL };
	int status;

	memset(none, '0', strlen(commit));
	if (fault_point("wip-ref") != 0)
		return err_sys(e, GT_FAIL, "git", "cannot write the ref %.200s", w->out->ref);
	status = visit_git(&w->v, ask, NULL, NULL, e);
	if (status <= 0)
		return status;
	err_set(e, GT_AGAIN, "changed", "the ref %.200s in %.200s could not be moved: another process may have been faster", w->out->ref,
	    w->out->top);
	return err_hint(e, "The next pass tries again; if it goes on, look for a ref that stands in its way with git for-each-ref");
}

static int
commit(struct wip_work *w, struct err *e)
{
	char tree[65] = "", made[65];
	const char *last = tree;
	int moved = 1;

	for (const char *who = "AUTHOR\0COMMITTER\0"; *who != '\0'; who += strlen(who) + 1) {
		visit_setting(&w->v, xasprintf("GIT_%s_NAME=" WHO, who));
		visit_setting(&w->v, xasprintf("GIT_%s_EMAIL=" WHO "@localhost", who));
	}
	visit_setting(&w->private, xasprintf("GIT_INDEX_FILE=%s/index", w->ask->room));
	/* a person's git may be in the middle of a checkout; an agent that writes without a pause is taken as it is */
	for (int i = 0; i < TRIES && moved > 0; i++) {
		empty_room(w->ask->room);
		if (read_head(w, e) != 0 || wip_choose_ref(w, w->ask->ref, e) != 0 || wip_tree(w, tree, e) != 0)
			return -1;
		memcpy(w->out->commit, w->tip.commit, sizeof w->out->commit);
		memcpy(w->out->base, w->tip.base, sizeof w->out->base);
		last = *w->tip.commit != '\0' ? w->tip.tree : w->head_tree;
		if (strcmp(tree, last) == 0 || (*last == '\0' && w->n == 0))
			break;
		moved = wip_moved(w, e);
	}
	tell_left(w);
	if (moved < 0 || strcmp(tree, last) == 0 || (*last == '\0' && w->out->files == 0))
		return moved < 0 ? -1 : 0;
	if (commit_tree(w, tree, made, e) != 0 || move_ref(w, made, e) != 0)
		return -1;
	memcpy(w->out->commit, made, sizeof made);
	memcpy(w->out->base, w->base, sizeof w->out->base);
	return 1;
}

int
wip_commit(const struct wip_ask *ask, struct wip *out, struct err *e)
{
	struct wip_work w;
	int ret = begin(&w, ask->dir, ask, out, e);

	empty_room(ask->room);
	if (ret > 0)
		ret = commit(&w, e);
	empty_room(ask->room);
	end(&w);
	return ret;
}

char *
wip_top(const char *dir)
{
	struct wip_work w;
	struct wip found;
	char *top;

	begin(&w, dir, NULL, &found, NULL);
	top = found.top;
	found.top = NULL;
	end(&w);
	wip_release(&found);
	return top;
}

int
wip_each(const char *dir, void (*row)(const char *ref, int64_t at, void *arg), void *arg, struct err *e)
{
	struct wip_work w;
	struct wip found;
	int ret = begin(&w, dir, NULL, &found, e);

	if (ret > 0)
		ret = wip_refs(&w, row, arg, e);
	end(&w);
	wip_release(&found);
	return ret;
}

int
wip_find(const char *dir, const char *ref, struct wip *out, struct err *e)
{
	struct wip_work w;
	int ret = begin(&w, dir, NULL, out, e);

	if (ret > 0)
		ret = wip_choose_ref(&w, ref, e);
	if (ret == 0 && *w.tip.commit != '\0') {
		memcpy(out->commit, w.tip.commit, sizeof out->commit);
		memcpy(out->base, w.tip.base, sizeof out->base);
		out->at = w.tip.at;
		ret = 1;
	}
	end(&w);
	return ret;
}

void
wip_restore_command(struct buf *out, const struct wip *w, bool within)
{
	char *args = xasprintf("%s %s", w->base, w->commit);

	put_restore(out, within ? NULL : w->top, args);
	free(args);
}
