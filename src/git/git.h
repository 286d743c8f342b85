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
 * The state of dir's work tree in a few lines: branch and distance from upstream, HEAD, an
 * unfinished merge or rebase, a stale lock file, changed files (30, and how many), stashes.
 *
 *	Branch polecat/toast, 3 commits ahead of origin/main
 *	HEAD 1a2b3c4 Parse the header
 *	2 files changed, 1 untracked
 *	modified   src/a.c
 *
 * Nothing is written (--no-optional-locks), nothing that the repository configures is run (see
 * struct git_run). 5 s in all.
 *
 * 0 and *out NULL: no directory, no repository, no git. -1: "git" (it failed, as in another user's
 * repository), "timeout".
 */
int git_state(const char *dir, struct scrub *s, struct clean_text **out, struct err *e);

/* Does dir, or one above, look like a work tree? Starts no process. */
bool git_in_work_tree(const char *dir);

/* ---- wip ---- */

/*
 * Work in progress: a commit of what the work tree has, on a ref of its own. The person's index,
 * HEAD, branches and files are not touched, none of their locks is taken: a private index gets
 * HEAD's tree and what git status names. Git of a person may run, a rebase be under way, index.lock
 * be held. Nothing configured (filters, hooks) is run: files are committed as on disk. Objects and
 * ref are written with core.fsync=all (git 2.36; older ones sync less), many objects by one syncfs
 * before the tree.
 *
 * Untracked files are in it, ignored ones not. Left out, as in HEAD, and reported: what looks like
 * a secret by its name (scrub/scrub.h) or holds one that HEAD's file does not (the committed bytes
 * are scrubbed); what has a filter or an encoding (git-lfs, git-crypt); submodules and nested
 * repositories; files over WIP_FILE_MAX, and what exceeds WIP_TOTAL_MAX or WIP_FILES.
 *
 * The parent is the checkpoint before, and HEAD where that does not contain it. The message has a
 * word of the work tree's path, so that two work trees do not alternate on one ref: the second gets
 * it with that word in the name, as does one that finds it checked out; where a branch has the name
 * of its folder, it goes under refs/gt-recover/.
 */
#define WIP_FILE_MAX ((size_t)10 << 20)
#define WIP_TOTAL_MAX ((size_t)64 << 20)
#define WIP_FILES 5000
#define WIP_WORD 9			/* 8 hex digits and a NUL */

/*
 * refs/heads/epic-<id>/sprint-<n>-wip: n is the sprint's place, from 1; 0: its id instead. Leading
 * "epic-" and "sprint-" are not doubled; characters that a ref may not have become "-", with a hash
 * behind. Heap.
 */
char *wip_ref_of_sprint(const char *epic, size_t place, const char *sprint);
/* refs/gt-recover/wip/<session>, without an epic. Heap. */
char *wip_ref_of_session(const char *session);
/* Without refs/heads/. */
const char *wip_ref_short(const char *ref);

struct wip_request {
	const char *dir;		/* in the work tree */
	const char *ref;		/* one of the above */
	const char *subject;		/* of the message, clean */
	const char *files;		/* clean lines; NULL: the changed files */
	const char *notes;		/* clean lines, or NULL */
	/* a private, empty directory; empty again afterwards */
	const char *room;
	struct scrub *scrub;
};

struct wip {
	char *top, *ref;		/* work tree and used ref; heap */
	char commit[65];		/* the newest checkpoint; "": none */
	char base[65]; /* HEAD then, or the empty tree; "": unknown */
	int64_t at;			/* ms since 1970; of wip_find */
	size_t files;			/* that differ from HEAD */
	size_t n_skipped;			/* left out */
	char *skipped; /* the first, clean lines "- .env (its name)"; heap */
};
void wip_release(struct wip *w);

/*
 * 1 committed; 0: no repository, no git, or nothing since the last checkpoint or HEAD. -1:
 * "checked-out" (GT_REFUSED: both possible refs are), "git", "timeout" (20 s in all), "too-large"
 * (too many changes to list), "changed" (GT_AGAIN: another one was faster), "unwritable". Release
 * in any case. Fault points: "wip-objects", "wip-ref".
 */
int wip_commit(const struct wip_request *ask, struct wip *out, struct err *e);

/* The checkpoint of dir's work tree under that ref: 1, 0 none, -1 as above. Release in any case. */
int wip_find(const char *dir, const char *ref, struct wip *out, struct err *e);

/* The top of dir's work tree. Heap; NULL: none. */
char *wip_top(const char *dir);
/*
 * Each ref of work in progress of that repository: all below refs/gt-recover/, and sprints'
 * branches with a work tree's word. at: of its newest checkpoint, ms since 1970. -1 as above.
 */
int wip_each(const char *dir, void (*row)(const char *ref, int64_t at, void *arg), void *arg, struct err *e);

/*
 * Writes and deletes what the checkpoint changed against its base (there must be one), or of that only
 * what is below the paths, relative to the top. A file that is as the checkpoint has it stays, one that
 * differs from both is somebody's newer work: then nothing is written, "uncommitted" (GT_REFUSED). HEAD,
 * the index and files that were left out stay. n: files that were restored, or with dry_run would be.
 * room: a private directory. 0 or -1, also as above.
 */
int wip_restore(const struct wip *w, const char *const *paths, size_t n_paths, const char *room, bool dry_run,
    size_t *n, struct err *e);
/* git's table of what it changed, at most 78 columns wide. Foreign text. */
int wip_stat(const struct wip *w, struct buf *out, struct err *e);
/* Deletes the ref, unless it moved on: git keeps its commits for some weeks. */
int wip_delete(const struct wip *w, struct err *e);

#endif
