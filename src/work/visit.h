#ifndef WORK_VISIT_H
#define WORK_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

#define VISIT_SETTINGS 256
#define VISIT_ARGS 64

/*
 * A visit of a repository: calls of git in a directory, by one deadline for all of them. Nothing of the repository's configuration is run:
 * no hooks, file system monitor, signature programs, filters (visit_silence), or fetching of missing objects. The index is not refreshed.
 * Variables that redirect git (GIT_DIR, GIT_INDEX_FILE, …) are not handed on; words are in English.
 */
struct visit {
	const char *dir;
	const char *args[VISIT_ARGS];	/* git and its options up to -C DIR */
	size_t n_args;
	const char **env;		/* ours without GIT_*, and with what keeps git quiet; strings borrowed but for the settings */
	size_t n_env;
	char *settings[2 * VISIT_SETTINGS + 16];
	size_t n_settings;
	int64_t until;
};

/* dir must live as long as the visit. visit_release in any case. */
void visit_init(struct visit *v, const char *dir, int deadline_ms);
void visit_release(struct visit *v);

/* For this and all later calls a variable of git's, NAME=VALUE, heap, which is taken over. At most 15. */
void visit_setting(struct visit *v, char *setting);

/*
 * A filter (git-lfs, or any command that somebody wrote into .git/config) would be run by status on files whose time changed. Each one
 * is switched off by name, through the environment: with -c a name could hold a "=" and escape. Too many of them: -1, name "git".
 */
int visit_silence(struct visit *v, struct err *e);

/* Runs git with further arguments (NULL ends them). Its exit status, or -1 with err: "not-installed", "timeout", "too-large". */
int visit_git(struct visit *v, const char *const *more, struct buf *out, struct buf *errout, struct err *e);
/* The same with bytes for its standard input. */
int visit_feed(struct visit *v, const char *const *more, const struct buf *in, struct buf *out, struct buf *errout, struct err *e);
/* Is its time over? Then with err, "timeout". */
bool visit_late(const struct visit *v, struct err *e);

#endif
