#ifndef REVIVE_SEEN_H
#define REVIVE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "context/album.h"

struct err;
struct pane;

/*
 * What the last pass of `snapshot` saw of each pane of a server, so that one in which nothing happened costs nothing:
 * <snapshot_dir>/state-<hash of the socket>.json, 0600. A hint, no record: one that is lost or damaged means that all is captured again.
 *
 * A pane is as it was when nothing that tmux counts has changed since (time of the last output, history in rows and bytes, cursor, size,
 * screen, title, process, death), and the last output was in an earlier second than the look at it: tmux tells seconds, and more may
 * have come in the same one.
 */
struct seen_pane {
	char *id;			/* "%5" */
	char session[ALBUM_KEY];
	pid_t pid;
	int64_t looked, activity;	/* seconds since 1970 */
	int64_t history_size, history_bytes;
	int cursor_x, cursor_y, width, height;
	bool alternate, dead;
	int64_t dead_time;
	char title[ALBUM_KEY];		/* hash */
	bool agent;			/* an agent's; the rest is 0 and "" for others */
	char *file;			/* its newest snapshot; NULL: none yet */
	char *richer;			/* what that one refers to */
	size_t bytes;			/* of its text */
	bool here;			/* of this pass; not kept */
};

struct seen {
	char *path;
	pid_t server_pid;
	int64_t server_start;
	struct seen_pane *v;
	size_t n, cap;
	bool changed;			/* since it was read */
	int64_t written;		/* seen_of_life: when the file was, ms since 1970 */
	pid_t other_pid;		/* the file tells of an earlier life of the server: that one; 0: it does not */
	int64_t other_start;
};

/*
 * What the last pass saw of a life of a server, which may be over: the states of the lives before the present one are kept, too
 * (state-<hash>-<server's pid>-<start>.json). False when it is not known. seen_release.
 */
bool seen_of_life(struct seen *s, const char *dir, const char *socket_path, pid_t server_pid, int64_t server_start);

/* The state of the server that panes like this one belong to; of another life of it nothing is known. Never fails. */
void seen_read(struct seen *s, const char *dir, const struct pane *p);
/* Durable; only when something changed. Panes that are not `here` are left out. */
int seen_write(struct seen *s, struct err *e);
void seen_release(struct seen *s);

/* What is known of a pane, NULL: nothing. */
struct seen_pane *seen_find(struct seen *s, const struct pane *p);
bool seen_same(const struct seen_pane *was, const struct pane *p);
/*
 * Takes over what the pane is now (looked: when it was listed, seconds; 0: it will be looked at again). Another process or session begins
 * anew: file and richer are forgotten. The pointer is valid until the next.
 */
struct seen_pane *seen_put(struct seen *s, const struct pane *p, int64_t looked);

/* Its snapshots are not there any more, or not its own. */
void seen_forget(struct seen_pane *x);

/*
 * Sets `held` of what the states in the album's directory refer to. Removes the states of lives that are over and were last written before
 * `before` (ms since 1970).
 */
void seen_hold(struct album *a, int64_t before);

#endif
