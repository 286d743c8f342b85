#ifndef GIT_GIT_H
#define GIT_GIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct clean_text;
struct err;
struct scrub;

/* ---- git ---- */

/*
 * The state of the work tree that dir lies in, as a few readable lines: branch and its distance
 * from upstream, HEAD, an unfinished merge or rebase, a lock file that a killed git left behind,
 * changed files (the first 30, and how many there are), stashes.
 *
 * 	Branch polecat/toast, 3 commits ahead of origin/main
 * 	HEAD 1a2b3c4 Parse the header
 * 	2 files changed, 1 untracked
 * 	modified   src/a.c
 *
 * Nothing is written: no index refresh (--no-optional-locks). Nothing of the repository's
 * configuration is run: no hooks, file system monitor, filters, signature programs, submodules,
 * or fetching of missing objects. Variables that redirect git (GIT_DIR, GIT_INDEX_FILE, …) are
 * not handed on. 5 s in all.
 *
 * *out is NULL and the answer 0 when dir is no directory, lies in no repository, or git is not
 * installed. -1: name "git" (it failed, for instance because the repository belongs to another
 * user), "timeout".
 */
int git_state(const char *dir, struct scrub *s, struct clean_text **out, struct err *e);

/*
 * Does dir, or a folder above it, look like a work tree? For who would start a process for every
 * agent outside of any.
 */
bool git_in_work_tree(const char *dir);

/* ---- wip ---- */

/*
 * Work in progress, as a commit of the repository that it is done in: what the work tree has now,
 * on a ref of its own. The person's index, HEAD, branches and files are not touched, and none of
 * their locks is taken: the tree is made in a private index, of HEAD's tree and what git status
 * names. A person's git may run at the same time, a rebase may be under way, index.lock may be
 * held. Filters, hooks and all else that the repository configures are not run, so that files
 * stand there as they are on disk. Objects and ref are written with core.fsync=all (git 2.36; an
 * older one syncs less), many objects by one syncfs before the tree is written.
 *
 * Untracked files are in it, ignored ones not. Left out, so that they are as in HEAD, and told:
 * what looks like a secret by its name (scrub/scrub.h), or holds one that HEAD's
 * file does not (the scrubber, by the very bytes that are committed); what a filter or an
 * encoding stands before (git-lfs, git-crypt); submodules and repositories within; files of more
 * than WIP_FILE_MAX, and what goes beyond WIP_TOTAL_MAX or WIP_FILES.
 *
 * A checkpoint's parent is the one before it, and HEAD where that does not contain it. The one
 * that is made of a work tree bears a word of that tree's path in its message, so that two work
 * trees of one repository do not take turns at one ref: the second gets it with that word in the
 * name, as does who finds it checked out; where a branch has the name of its folder, it goes
 * under refs/gt-recover/.
 */
#define WIP_FILE_MAX ((size_t)10 << 20)
#define WIP_TOTAL_MAX ((size_t)64 << 20)
#define WIP_FILES 5000
#define WIP_WORD 9			/* of a work tree: 8 hex digits and a NUL */

/*
 * refs/heads/epic-<id>/sprint-<n>-wip: n is the sprint's place, from 1; 0: it has none, and its
 * id stands there. Leading "epic-" and "sprint-" of the ids are not doubled, what a ref may not
 * have becomes "-", with a hash behind it. Heap.
 */
char *wip_ref_of_sprint(const char *epic, size_t place, const char *sprint);
/*
 * refs/gt-recover/wip/<session>: of a session without an epic; no branch, since nobody asked for
 * one. Heap.
 */
char *wip_ref_of_session(const char *session);
/* As git's commands take it: without refs/heads/. */
const char *wip_ref_short(const char *ref);

struct wip_request {
	const char *dir;		/* somewhere in the work tree */
	const char *ref;		/* that is wanted, one of the above */
	const char *subject;		/* of the message: one clean line */
	const char *files;		/* clean lines of files in progress; NULL: the changed files */
	const char *notes;		/* clean lines behind them; NULL: none */
	/* a private, empty directory that nobody else uses meanwhile; empty again afterwards */
	const char *room;
	struct scrub *scrub;
};

struct wip {
	char *top, *ref;		/* the work tree and the ref that was taken; heap */
	char commit[65];		/* the newest checkpoint; "": there is none */
	char base[65]; /* what HEAD was then, or the empty tree: what it differs from; "": it does not tell */
	int64_t at;			/* when it was made, ms since 1970; of wip_find */
	size_t files;			/* in it that differ from HEAD */
	size_t n_skipped;			/* files that were left out */
	char *skipped; /* the first of them, a clean line each, "- .env (its name)"; heap, "" for none */
};
void wip_release(struct wip *w);

/*
 * 1 committed; 0 nothing to do: no repository, git is not installed, or all is as in the last
 * checkpoint, or HEAD when there is none. -1: "checked-out" (GT_REFUSED: so are both refs that it
 * could take), "git", "timeout" (20 s in all), "too-large" (more changes than can be listed),
 * "changed" (GT_AGAIN: another one was faster), "unwritable". Release in any case. Fault points:
 * "wip-objects", "wip-ref".
 */
int wip_commit(const struct wip_request *ask, struct wip *out, struct err *e);

/*
 * The checkpoint of the work tree that dir lies in, under that ref: 1, 0 there is none, -1 as
 * above. Release in any case.
 */
int wip_find(const char *dir, const char *ref, struct wip *out, struct err *e);

/* The top of the work tree that dir lies in. Heap; NULL: there is none, or git does not tell. */
char *wip_top(const char *dir);
/*
 * Calls row for each ref of work in progress in that repository, whatever work tree it is of: all
 * below refs/gt-recover/, and sprints' branches that bear a work tree's word. at: when its newest
 * checkpoint was made, ms since 1970. -1 as above.
 */
int wip_each(const char *dir, void (*row)(const char *ref, int64_t at, void *arg), void *arg, struct err *e);

/*
 * The command, for sh, that takes all of it back: what the checkpoint holds differently from its
 * base is written, or deleted, in the work tree. All else there stays as it is, and so do what
 * was left out, HEAD and index. Only where there is a base. within: it has no path, to be run
 * anywhere in the work tree. The message of a checkpoint has the same for its ref.
 */
void wip_restore_command(struct buf *out, const struct wip *w, bool within);

#endif
