#ifndef GIT_GIT_PRIVATE_H
#define GIT_GIT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "git/git.h"

struct buf;
struct err;

/* ---- git_run ---- */

#define GIT_RUN_SETTINGS 256
#define GIT_RUN_ARGS 64

/*
 * A visit of a repository: calls of git in a directory, by one deadline for all of them. Nothing
 * of the repository's configuration is run: no hooks, file system monitor, signature programs,
 * filters (git_run_disable_filters), or fetching of missing objects. The index is not refreshed.
 * Variables that redirect git (GIT_DIR, GIT_INDEX_FILE, …) are not handed on; words are in
 * English.
 */
struct git_run {
	const char *dir;
	const char *args[GIT_RUN_ARGS];	/* git and its options up to -C DIR */
	size_t n_args;
	/* ours without GIT_*, and with what keeps git quiet; strings borrowed but for the settings */
	const char **env;
	size_t n_env;
	char *settings[2 * GIT_RUN_SETTINGS + 16];
	size_t n_settings;
	int64_t until;
};

/* dir must live as long as the visit. git_run_release in any case. */
void git_run_init(struct git_run *v, const char *dir, int deadline_ms);
void git_run_release(struct git_run *v);

/* For this and all later calls a variable of git's, NAME=VALUE, heap, which is taken over. At most 15. */
void git_run_set_config(struct git_run *v, char *setting);

/*
 * A filter (git-lfs, or any command that somebody wrote into .git/config) would be run by status
 * on files whose time changed. Each one is switched off by name, through the environment: with -c
 * a name could hold a "=" and escape. Too many of them: -1, name "git".
 */
int git_run_disable_filters(struct git_run *v, struct err *e);

/*
 * Runs git with further arguments (NULL ends them). Its exit status, or -1 with err:
 * "not-installed", "timeout", "too-large".
 */
int git_run_command(
    struct git_run *v, const char *const *more, struct buf *out, struct buf *errout, struct err *e);
/* The same with bytes for its standard input. */
int git_run_with_input(struct git_run *v, const char *const *more, const struct buf *in, struct buf *out,
    struct buf *errout, struct err *e);
/* Is its time over? Then with err, "timeout". */
bool git_run_timed_out(const struct git_run *v, struct err *e);

/* ---- wip_private ---- */

/* Trailers of a checkpoint's message: the word of its work tree, and struct wip's base. */
#define WIP_TREE "Work-tree"
#define WIP_BASE "Base"

/* A file that differs from HEAD. */
struct wip_entry {
	char *path;			/* from the top of the work tree */
	char mode[8];			/* "100644"; "": git did not tell */
	char hash[65];			/* of what is to be committed; "": not known yet */
	bool gone;
	const char *why;		/* it is left out; NULL: it is not */
	struct timespec mtime;		/* when it was read; 0: it was not */
	off_t size;
};

/* The commit that a ref had. */
struct wip_tip {
	char commit[65], tree[65];	/* "": there is none */
	char base[65];			/* "": it does not tell */
	int64_t at;			/* ms since 1970 */
};

struct wip_work {
	const struct wip_request *ask;	/* NULL in wip_find */
	struct wip *out;
	struct git_run v;			/* at the top of the work tree */
	struct git_run private;		/* the same with an index of our own */
	struct buf status;		/* git's, of which entries was made */
	char head[65], head_tree[65];	/* "": nothing is committed yet */
	char base[65];			/* head, or the empty tree */
	char word[WIP_WORD];
	struct wip_tip tip;
	struct wip_entry *entries;
	size_t n, cap;
};

/* Runs git; a status other than 0 is an error that says that git failed at `what`. 0 or -1. */
int wip_git(struct git_run *v, const char *what, const char *const *more, const struct buf *in,
    struct buf *out, struct err *e);
/* The first line of git's answer as an object's name. -1: it is none. */
int wip_hash(const char *answer, char hash[65]);

/* The tree of the work tree; sets entries. */
int wip_tree(struct wip_work *w, char tree[65], struct err *e);
/* Does git status say something else since, or was a file written to that was read? 1, 0, -1. */
int wip_has_changed(struct wip_work *w, struct err *e);

#endif
