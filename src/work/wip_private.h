#ifndef WORK_WIP_PRIVATE_H
#define WORK_WIP_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "work/visit.h"
#include "work/wip.h"

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
	const struct wip_ask *ask;	/* NULL in wip_find */
	struct wip *out;
	struct visit v;			/* at the top of the work tree */
	struct visit private;		/* the same with an index of our own */
	struct buf status;		/* git's, of which entries was made */
	char head[65], head_tree[65];	/* "": nothing is committed yet */
	char base[65];			/* head, or the empty tree */
	char word[WIP_WORD];
	struct wip_tip tip;
	struct wip_entry *entries;
	size_t n, cap;
};

/* Runs git; a status other than 0 is an error that says that git failed at `what`. 0 or -1. */
int wip_git(struct visit *v, const char *what, const char *const *more, const struct buf *in, struct buf *out, struct err *e);
/* The first line of git's answer as an object's name. -1: it is none. */
int wip_hash(const char *answer, char hash[65]);

/* Which ref is this work tree's: sets out->ref and tip. */
int wip_choose_ref(struct wip_work *w, const char *wanted, struct err *e);

/* As wip_each. */
int wip_refs(struct wip_work *w, void (*row)(const char *ref, int64_t at, void *arg), void *arg, struct err *e);

/* The tree of the work tree; sets entries. */
int wip_tree(struct wip_work *w, char tree[65], struct err *e);
/* Does git status say something else since, or was a file written to that was read? 1, 0, -1. */
int wip_moved(struct wip_work *w, struct err *e);

/*
 * The bytes of a file, or where a link points to, through no link on the way; also the mode if it is not known. NULL: that is done; else
 * why not.
 */
const char *wip_read(int top, struct wip_entry *x, struct buf *out);

#endif
