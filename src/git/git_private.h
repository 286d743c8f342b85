#ifndef GIT_GIT_PRIVATE_H
#define GIT_GIT_PRIVATE_H

#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "git/git.h"

/* ---- git_run ---- */

#define GIT_RUN_SETTINGS 256
#define GIT_RUN_ARGS 64

/*
 * Calls of git in a directory by one deadline. No configured program is run: no hooks, file system
 * monitor, signature programs, submodules, filters (git_run_disable_filters), no fetching of
 * missing objects. The index is not refreshed. GIT_DIR, GIT_INDEX_FILE and the like are not passed
 * on; messages are in English.
 */
struct git_run {
	const char *dir;
	const char *args[GIT_RUN_ARGS];	/* git, its options, -C DIR */
	size_t n_args;
	/* ours without GIT_*, and quiet; strings borrowed but for settings */
	const char **env;
	size_t n_env;
	char *settings[2 * GIT_RUN_SETTINGS + 16];
	size_t n_settings;
	int64_t until;
};

/* dir is borrowed. Release in any case. */
void git_run_init(struct git_run *v, const char *dir, int deadline_ms);
void git_run_release(struct git_run *v);

/* For all later calls: NAME=VALUE, heap, taken over. At most 15. */
void git_run_set_config(struct git_run *v, char *setting);

/*
 * Filters (git-lfs, any command of .git/config) would run on files whose time changed. Each is
 * switched off by name, through the environment: with -c a name with "=" escapes. Too many: -1,
 * "git".
 */
int git_run_disable_filters(struct git_run *v, struct err *e);

/* Exit status, or -1: "not-installed", "timeout", "too-large". more: ended by NULL. */
int git_run_command(
    struct git_run *v, const char *const *more, struct buf *out, struct buf *errout, struct err *e);
/* With standard input. */
int git_run_with_input(struct git_run *v, const char *const *more, const struct buf *in, struct buf *out,
    struct buf *errout, struct err *e);
/* Its time is over: err "timeout". */
bool git_run_timed_out(const struct git_run *v, struct err *e);

/* What is behind n fields of a line, each with its blank; NULL: the line has fewer. */
const char *git_skip_fields(const char *line, int n);

/* ---- wip_private ---- */

/* Trailers of the message: the work tree's word, and struct wip's base. */
#define WIP_TREE "Work-tree"
#define WIP_BASE "Base"

#define WIP_DEADLINE_MS 20000

/* Differs from HEAD. */
struct wip_entry {
	char *path;			/* from the top */
	char mode[8];			/* "100644"; "": unknown */
	char hash[65];			/* to be committed; "": not known yet */
	bool gone;
	const char *why;		/* why it is left out; NULL: it is not */
	struct timespec mtime;		/* when read; 0: it was not */
	off_t size;
};

/* A ref's commit. */
struct wip_tip {
	char commit[65], tree[65];	/* "": none */
	char base[65];			/* "": unknown */
	int64_t at;			/* ms since 1970 */
};

struct wip_work {
	const struct wip_request *ask;	/* NULL in wip_find */
	struct wip *out;
	struct git_run v;			/* at the top of the work tree */
	struct git_run private;		/* with a private index */
	struct buf status;		/* git's, the source of entries */
	char head[65], head_tree[65];	/* "": no commit yet */
	char base[65];			/* head, or the empty tree */
	char word[WIP_WORD];
	struct wip_tip tip;
	struct wip_entry *entries;
	size_t n, cap;
};

/* An exit status other than 0 is an error that names `what`. 0 or -1. */
int wip_git(struct git_run *v, const char *what, const char *const *more, const struct buf *in,
    struct buf *out, struct err *e);
/* The first line of an answer as an object's name; -1: none. */
int wip_hash(const char *answer, char hash[65]);

/* The tree of the work tree; sets entries. */
int wip_tree(struct wip_work *w, char tree[65], struct err *e);
/* git status differs, or a read file was written, since: 1, 0, -1. */
int wip_has_changed(struct wip_work *w, struct err *e);

#endif
