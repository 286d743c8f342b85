#ifndef INSTALL_INSTALL_PRIVATE_H
#define INSTALL_INSTALL_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "install/install.h"

/* One more artifact, sealed, with mode 0600. path: owned. */
struct artifact *artifact_add(struct artifact_set *in, char *path, const char *owner,
    void (*render)(const struct artifact *, struct buf *), const void *of);

/* The file of an artifact, or the crontab, before and after. */
struct artifact_place {
	char *path;			/* links resolved; NULL: the crontab */
	bool there;
	mode_t mode;
	struct buf old, new;
	size_t from, to;		/* in old: what is ours, or where it goes */
	enum artifact_state state;
};

/*
 * From there and old: new (put: with ours as of today, else without it), from, to and state. Pure.
 * -1: "settings", or "timer": a marker stands alone, so that our lines have no bounds.
 */
int artifact_edit(const struct artifact *a, bool put, struct artifact_place *p, struct err *e);

/* Runs a program. -1 with "WHAT failed: …", and what it said on standard error in words. */
int artifact_run(const char *what, const char *const *argv, const struct buf *in, struct buf *out,
    struct buf *words, struct err *e);

/*
 * text: a file of hooks, empty when there is none. *n: how many events were added, 0 when the file
 * has just these; how many were removed, how many are there.
 */
int hooks_add(struct buf *text, const struct artifact_call *call, size_t *n, struct err *e);
int hooks_remove(const struct hook_adapter *row, struct buf *text, size_t *n, struct err *e);
int hooks_count(
    const struct hook_adapter *row, const struct buf *text, size_t *n, char **first, struct err *e);

/* Pure: a crontab's line without its newline; the texts of both units. Not state. */
void timer_read_line(const char *line, size_t n, struct timer_status *out);
void timer_read_units(const struct buf *service, const struct buf *timer, struct timer_status *out);

#endif
