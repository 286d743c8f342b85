#ifndef WORK_GIT_H
#define WORK_GIT_H

#include <stdbool.h>

struct clean_text;
struct err;
struct scrub;

/*
 * The state of the work tree that dir lies in, as a few readable lines: branch and its distance from upstream, HEAD, an unfinished merge
 * or rebase, a lock file that a killed git left behind, changed files (the first 30, and how many there are), stashes.
 *
 *	Branch polecat/toast, 3 commits ahead of origin/main
 *	HEAD 1a2b3c4 Parse the header
 *	2 files changed, 1 untracked
 *	modified   src/a.c
 *
 * Nothing is written: no index refresh (--no-optional-locks). Nothing of the repository's configuration is run: no hooks, file system
 * monitor, filters, signature programs, submodules, or fetching of missing objects. Variables that redirect git (GIT_DIR,
 * GIT_INDEX_FILE, …) are not handed on. 5 s in all.
 *
 * *out is NULL and the answer 0 when dir is no directory, lies in no repository, or git is not installed. -1: name "git" (it failed, for
 * instance because the repository belongs to another user), "timeout".
 */
int git_state(const char *dir, struct scrub *s, struct clean_text **out, struct err *e);

/* Does dir, or a folder above it, look like a work tree? For who would start a process for every agent outside of any. */
bool git_near(const char *dir);

#endif
