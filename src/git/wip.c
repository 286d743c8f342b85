#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "git/git_private.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/encode.h"
#include "base/io.h"
#include "base/utf8.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"

#define HEADS "refs/heads/"
#define OURS "refs/gt-recover/"
#define NAME_MAX_BYTES 100
#define FORMAT                                                                                               \
	"--format=%(refname)%00%(objectname)%00%(tree)%00%(committerdate:unix)%00%(trailers:key=" WIP_TREE   \
	",key=" WIP_BASE ")%00%(worktreepath)%00"  /* struct ref */

/* ---- names ---- */

/*
 * One part of a ref's name: letters, digits, "_", "-" and "." within; of what was changed a hash
 * tells it apart from others.
 */
static void
put_part(struct buf *out, const char *text)
{
	size_t n = strlen(text), from = out->len;
	bool changed = n > NAME_MAX_BYTES || n == 0;
	char hash[65];

	for (size_t i = 0; i < n && i < NAME_MAX_BYTES; i++) {
		char c = text[i];
		bool good = (isalnum((unsigned char)c) && (unsigned char)c < 0x80) || c == '_' || c == '-' ||
		    (c == '.' && i > 0 && i + 1 < n && text[i + 1] != '.');

		changed = changed || !good;
		buf_chr(out, good ? c : '-');
	}
	changed = changed || str_ends(out->data + from, ".lock");
	if (!changed)
		return;
	sha256_hex(text, n, hash);
	buf_fmt(out, "-%.8s", hash);
}

static const char *
without(const char *text, const char *front)
{
	return str_starts(text, front) && text[strlen(front)] != '\0' ? text + strlen(front) : text;
}

char *
wip_ref_of_sprint(const char *epic, size_t place, const char *sprint)
{
	struct buf out = BUF_INIT;

	buf_str(&out, HEADS "epic-");
	put_part(&out, without(epic, "epic-"));
	buf_str(&out, "/sprint-");
	if (place > 0)
		buf_fmt(&out, "%zu", place);
	else
		put_part(&out, without(sprint, "sprint-"));
	buf_str(&out, "-wip");
	return buf_detach(&out);
}

char *
wip_ref_of_session(const char *session)
{
	struct buf out = BUF_INIT;

	buf_str(&out, OURS "wip/");
	put_part(&out, session);
	return buf_detach(&out);
}

const char *
wip_ref_short(const char *ref)
{
	return str_starts(ref, HEADS) ? ref + strlen(HEADS) : ref;
}

/* ---- which one ---- */

/* A ref as git tells of it; strings are git's answer. */
struct ref {
	const char *name, *commit, *tree, *seconds, *trailers, *checked_out;
};

/* The next one of the answer, or false. */
static bool
next_ref(char **p, const char *end, struct ref *r)
{
	const char **fields[] = { &r->name, &r->commit, &r->tree, &r->seconds, &r->trailers,
		&r->checked_out };

	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		size_t n = strnlen(*p, (size_t)(end - *p));

		if (*p + n >= end)
			return false;
		*fields[i] = *p;
		*p += n + 1;
	}
	*p += **p == '\n';
	return true;
}

/*
 * What stands behind that key, up to a newline or the end; "": it is not there. (git 2.39 takes
 * one trailer's key a format.)
 */
static const char *
trailer(const struct ref *r, const char *key)
{
	for (const char *line = r->trailers; *line != '\0';
	    line += strcspn(line, "\n"), line += *line == '\n')
		if (str_starts(line, key))
			return line + strlen(key);
	return "";
}

struct choice {
	char *base, *mine;			/* as wanted; with the work tree's word in it. Heap */
	char *folder;				/* of base; heap */
	struct ref base_ref, mine_ref;		/* name NULL: there is none */
	bool in_the_way;			/* a branch has the name of the folder */
};

static char *
with_word(const char *ref, const char *word)
{
	size_t n = strlen(ref) - (str_ends(ref, "-wip") ? strlen("-wip") : 0);

	return xasprintf("%.*s-%s%s", (int)n, ref, word, ref + n);
}

static void
choice_init(struct choice *c, char *base, const char *word)
{
	memset(c, 0, sizeof *c);
	c->base = base;
	c->mine = with_word(base, word);
	c->folder = xstrndup(base, (size_t)(strrchr(base, '/') - base));
}

static void
choice_release(struct choice *c)
{
	free(c->base);
	free(c->mine);
	free(c->folder);
}

static int
look(struct wip_work *w, struct choice *c, struct buf *out, struct err *e)
{
	const char *ask[] = { "for-each-ref", FORMAT, c->base, c->mine, c->folder, NULL };
	struct ref r;
	char *p;

	if (wip_git(&w->v, "for-each-ref", ask, NULL, out, e) != 0)
		return -1;
	p = out->data;
	while (next_ref(&p, out->data + out->len, &r)) {
		if (strcmp(r.name, c->base) == 0)
			c->base_ref = r;
		else if (strcmp(r.name, c->mine) == 0)
			c->mine_ref = r;
		c->in_the_way = c->in_the_way || strcmp(r.name, c->folder) == 0;
	}
	return 0;
}

static void
word_of(const char *top, char word[WIP_WORD])
{
	char hash[65];

	sha256_hex(top, strlen(top), hash);
	memcpy(word, hash, WIP_WORD - 1);
	word[WIP_WORD - 1] = '\0';
}

/* 1: that word is another work tree's of this repository, which is there. */
static int
is_other_tree(struct wip_work *w, const char *word, struct err *e)
{
	static const char *const ask[] = { "worktree", "list", "--porcelain", NULL };
	struct buf out = BUF_INIT;
	int ret = wip_git(&w->v, "worktree list", ask, NULL, &out, e);
	char *save = NULL;

	for (char *line = strtok_r(out.data, "\n", &save); line != NULL && ret == 0;
	    line = strtok_r(NULL, "\n", &save)) {
		char other[WIP_WORD];

		if (!str_starts(line, "worktree "))
			continue;
		word_of(line + 9, other);
		ret = strncmp(word, other, WIP_WORD - 1) == 0 && access(line + 9, F_OK) == 0;
	}
	buf_release(&out);
	return ret;
}

static int
take(struct wip_work *w, const char *name, const struct ref *r, struct err *e)
{
	free(w->out->ref);
	w->out->ref = xstrdup(name);
	memset(&w->tip, 0, sizeof w->tip);
	if (r->name == NULL)
		return 0;
	if (*r->checked_out != '\0' && w->ask != NULL) {
		err_set(e, GT_REFUSED, "checked-out",
		    "the branch %.200s, which has uncommitted work, is checked out in a work tree",
		    wip_ref_short(name));
		return err_hint(
		    e, "Switch to another branch there; git restore takes files out of it without a switch");
	}
	if (strlen(r->commit) >= sizeof w->tip.commit || strlen(r->tree) >= sizeof w->tip.tree ||
	    *r->tree == '\0')
		return err_set(e, GT_FAIL, "git", "the ref %.200s is not a commit", name);
	memcpy(w->tip.commit, r->commit, strlen(r->commit) + 1);
	memcpy(w->tip.tree, r->tree, strlen(r->tree) + 1);
	if (wip_hash(trailer(r, WIP_BASE ": "), w->tip.base) != 0)
		*w->tip.base = '\0';
	w->tip.at = (int64_t)strtoll(r->seconds, NULL, 10) * 1000;
	return 0;
}

/* Which ref is this work tree's: sets out->ref and tip. */
static int
wip_choose_ref(struct wip_work *w, const char *wanted, struct err *e)
{
	struct buf out = BUF_INIT;
	struct choice c;
	int ret, other = 0;

	word_of(w->out->top, w->word);
	choice_init(&c, xstrdup(wanted), w->word);
	ret = look(w, &c, &out, e);
	if (ret == 0 && c.in_the_way && str_starts(wanted, HEADS)) {
		char *elsewhere = xasprintf(OURS "%s", wanted + strlen(HEADS));

		choice_release(&c);
		choice_init(&c, elsewhere, w->word);
		ret = look(w, &c, &out, e);
	}
	if (ret == 0 && c.mine_ref.name == NULL && c.base_ref.name != NULL) {
		const char *word = trailer(&c.base_ref, WIP_TREE ": ");
		size_t n = strcspn(word, "\n");

		other = w->ask != NULL && *c.base_ref.checked_out != '\0';
		if (!other && (n != WIP_WORD - 1 || strncmp(word, w->word, n) != 0))
			other = is_other_tree(w, word, e);
		ret = other < 0 ? -1 : 0;
	}
	if (ret == 0)
		ret = c.mine_ref.name != NULL || other > 0 ? take(w, c.mine, &c.mine_ref, e)
							   : take(w, c.base, &c.base_ref, e);
	choice_release(&c);
	buf_release(&out);
	return ret;
}

/* As wip_each. */
static int
wip_refs(struct wip_work *w, void (*row)(const char *ref, int64_t at, void *arg), void *arg, struct err *e)
{
	static const char *const ask[] = { "for-each-ref", FORMAT, OURS, HEADS "epic-*/sprint-*-wip", NULL };
	struct buf out = BUF_INIT;
	struct ref r;
	int ret = wip_git(&w->v, "for-each-ref", ask, NULL, &out, e);
	char *p = out.data;

	while (ret == 0 && next_ref(&p, out.data + out.len, &r))
		if (strcspn(trailer(&r, WIP_TREE ": "), "\n") == WIP_WORD - 1)
			row(r.name, (int64_t)strtoll(r.seconds, NULL, 10) * 1000, arg);
	buf_release(&out);
	return ret;
}

#define FILES_SHOWN 20
#define TRIES 3
#define WHO "gt-recover"

void
wip_release(struct wip *w)
{
	free(w->top);
	free(w->ref);
	free(w->skipped);
	memset(w, 0, sizeof *w);
}

int
wip_git(struct git_run *v, const char *what, const char *const *more, const struct buf *in, struct buf *out,
    struct err *e)
{
	int status = git_run_with_input(v, more, in, out, NULL, e);

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
find_top(struct git_run *v, struct wip *out, struct err *e)
{
	static const char *const ask[] = { "rev-parse", "--show-toplevel", NULL };
	struct buf top = BUF_INIT, words = BUF_INIT;
	int status = git_run_command(v, ask, &top, &words, e), ret;

	if (status == 0) {
		ret = top.len > 1 && top.data[0] == '/';
		if (ret > 0)
			out->top = xstrndup(top.data, top.len - 1);
	} else if (status < 0) {
		ret = e != NULL && strcmp(e->name, "not-installed") == 0 ? 0 : -1;
		if (ret == 0)
			err_clear(e);
	} else if (strstr(words.data, "dubious ownership") != NULL) {
		ret = err_set(e, GT_FAIL, "git",
		    "git refuses the repository of %s: it belongs to another user", v->dir);
	} else {
		ret = 0;
	}
	buf_release(&top);
	buf_release(&words);
	return ret;
}

/*
 * HEAD's commit and tree, and what checkpoints differ from: before the first commit there is
 * neither, and that is the empty tree.
 */
static int
read_head(struct wip_work *w, struct err *e)
{
	static const char *const commit[] = { "rev-parse", "-q", "--verify", "HEAD^{commit}", NULL };
	static const char *const tree[] = { "rev-parse", "-q", "--verify", "HEAD^{tree}", NULL };
	static const char *const empty[] = { "hash-object", "-t", "tree", "--stdin", NULL };
	struct buf out = BUF_INIT, none = BUF_INIT;
	int status = git_run_command(&w->v, commit, &out, NULL, e);

	if (status == 0 && wip_hash(out.data, w->head) == 0) {
		status = wip_git(&w->v, "rev-parse", tree, NULL, &out, e) == 0 &&
			wip_hash(out.data, w->head_tree) == 0
		    ? 0
		    : -1;
		memcpy(w->base, w->head, sizeof w->base);
	} else if (status >= 0) {
		status = wip_git(&w->v, "hash-object", empty, &none, &out, e) == 0 &&
			wip_hash(out.data, w->base) == 0
		    ? 0
		    : -1;
	}
	buf_release(&none);
	buf_release(&out);
	return status < 0 ? -1 : 0;
}

/* 1 there is a work tree, and this is the visit of it; 0; -1. */
static int
begin(struct wip_work *w, const char *dir, const struct wip_request *ask, struct wip *out, struct err *e)
{
	struct git_run first;
	int ret;

	memset(w, 0, sizeof *w);
	memset(out, 0, sizeof *out);
	buf_init(&w->status);
	w->ask = ask;
	w->out = out;
	if (!io_is_dir(dir))
		return 0;
	git_run_init(&first, dir, WIP_DEADLINE_MS);
	ret = find_top(&first, out, e);
	git_run_release(&first);
	if (ret <= 0)
		return ret;
	git_run_init(&w->v, out->top, WIP_DEADLINE_MS);
	git_run_init(&w->private, out->top, WIP_DEADLINE_MS);
	return git_run_disable_filters(&w->v, e) == 0 ? 1 : -1;
}

static void
end(struct wip_work *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->entries[i].path);
	free(w->entries);
	buf_release(&w->status);
	git_run_release(&w->v);
	git_run_release(&w->private);
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
format_skipped(struct wip_work *w)
{
	struct buf out = BUF_INIT;

	for (size_t i = 0; i < w->n; i++) {
		w->out->files += w->entries[i].why == NULL;
		if (w->entries[i].why == NULL || w->out->n_skipped++ >= FILES_SHOWN)
			continue;
		buf_str(&out, "- ");
		put_path(w, &out, w->entries[i].path);
		buf_fmt(&out, " (%s)\n", w->entries[i].why);
	}
	if (w->out->n_skipped > FILES_SHOWN)
		buf_fmt(&out, "… and %zu more\n", w->out->n_skipped - FILES_SHOWN);
	w->out->skipped = buf_detach(&out);
}

/*
 * For who has git alone: in an index of its own that has what HEAD had, so that what the checkpoint holds
 * as HEAD had it is no change, and stays as it is on disk. The ref may have moved on when that is read:
 * commit and base are those that it has then.
 */
static void
put_restore(struct buf *out, const char *ref)
{
	buf_fmt(out,
	    "(set -- $(git log -1 --format='%%(trailers:key=" WIP_BASE ",valueonly) %%H' %s) && "
	    "d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && export GIT_INDEX_FILE=\"$d/index\" && "
	    "git read-tree \"$1\" && git read-tree --reset -u \"$1\" \"$2\")", ref);
}

static void
write_message(struct wip_work *w, struct buf *out)
{
	buf_fmt(out, "%s\n", w->ask->subject);
	put_files(w, out);
	if (w->ask->notes != NULL)
		buf_fmt(out, "\n%s", w->ask->notes);
	if (w->out->n_skipped > 0)
		buf_fmt(out, "\nLeft out, as in HEAD:\n%s", w->out->skipped);
	if (w->out->files > 0) {
		buf_str(out, "\nTo take it back: ");
		put_restore(out, w->out->ref);
		buf_chr(out, '\n');
	}
	buf_fmt(out, "\n🤖 Auto-checkpoint via " WHO "\n\n" WIP_TREE ": %s\n" WIP_BASE ": %s\n", w->word,
	    w->base);
}

/* ---- the commit ---- */

static int
is_within(struct wip_work *w, struct err *e)
{
	const char *ask[] = { "merge-base", "--is-ancestor", w->head, w->tip.commit, NULL };
	int status = git_run_command(&w->v, ask, NULL, NULL, e);

	return status < 0 ? -1 : status == 0;
}

static int
commit_tree(struct wip_work *w, const char *tree, char commit[65], struct err *e)
{
	const char *ask[12] = { "-c", "core.fsync=all", "-c", "i18n.commitEncoding=UTF-8", "commit-tree",
		tree };
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
		ret = err_set(
		    e, GT_FAIL, "git", "git commit-tree answered something else in %.300s", w->out->top);
	buf_release(&message);
	buf_release(&out);
	return ret;
}

static int
move_ref(struct wip_work *w, const char *commit, struct err *e)
{
	char none[65] = "";
	const char *ask[] = { "-c", "core.fsync=all", "update-ref", "-m", WHO ": work in progress",
		w->out->ref, commit, *w->tip.commit != '\0' ? w->tip.commit : none, NULL };
	int status;

	memset(none, '0', strlen(commit));
	if (fault_point("wip-ref") != 0)
		return err_sys(e, GT_FAIL, "git", "cannot write the ref %.200s", w->out->ref);
	status = git_run_command(&w->v, ask, NULL, NULL, e);
	if (status <= 0)
		return status;
	err_set(e, GT_AGAIN, "changed",
	    "the ref %.200s in %.200s could not be updated: another process may have changed it", w->out->ref,
	    w->out->top);
	return err_hint(e,
	    "The next pass retries; if it fails again, look for a conflicting ref: git for-each-ref");
}

static int
commit(struct wip_work *w, struct err *e)
{
	char tree[65] = "", made[65];
	const char *last = tree;
	int moved = 1;

	for (const char *who = "AUTHOR\0COMMITTER\0"; *who != '\0'; who += strlen(who) + 1) {
		git_run_set_config(&w->v, xasprintf("GIT_%s_NAME=" WHO, who));
		git_run_set_config(&w->v, xasprintf("GIT_%s_EMAIL=" WHO "@localhost", who));
	}
	git_run_set_config(&w->private, xasprintf("GIT_INDEX_FILE=%s/index", w->ask->room));
	/*
	 * a person's git may be in the middle of a checkout; an agent that writes without a pause
	 * is taken as it is
	 */
	for (int i = 0; i < TRIES && moved > 0; i++) {
		empty_room(w->ask->room);
		if (read_head(w, e) != 0 || wip_choose_ref(w, w->ask->ref, e) != 0 ||
		    wip_tree(w, tree, e) != 0)
			return -1;
		memcpy(w->out->commit, w->tip.commit, sizeof w->out->commit);
		memcpy(w->out->base, w->tip.base, sizeof w->out->base);
		last = *w->tip.commit != '\0' ? w->tip.tree : w->head_tree;
		if (strcmp(tree, last) == 0 || (*last == '\0' && w->n == 0))
			break;
		moved = wip_has_changed(w, e);
	}
	format_skipped(w);
	if (moved < 0 || strcmp(tree, last) == 0 || (*last == '\0' && w->out->files == 0))
		return moved < 0 ? -1 : 0;
	if (commit_tree(w, tree, made, e) != 0 || move_ref(w, made, e) != 0)
		return -1;
	memcpy(w->out->commit, made, sizeof made);
	memcpy(w->out->base, w->base, sizeof w->out->base);
	return 1;
}

int
wip_commit(const struct wip_request *ask, struct wip *out, struct err *e)
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
