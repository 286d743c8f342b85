#ifndef REVIVE_TIMER_H
#define REVIVE_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "town/town.h"

struct buf;
struct err;

/*
 * What runs a command of ours regularly: a pair of systemd user units where there is a user manager (`systemctl --user` answers), else a
 * block of the user's crontab between two markers, other lines of which are never touched. Both name everything that a login would have
 * set: cron's environment is all but empty. `startup` runs once a boot: @reboot, or when the user manager starts.
 */
struct timer {
	char *id;			/* "gt-recover-snapshot", with six hex digits of the town's root behind it in a town: one timer of a kind a town */
	const char *what;		/* "snapshot", "patrol", "startup": the command that it runs */
	char *program;			/* absolute */
	struct town_list args;		/* the command's words, the command first */
	struct town_list env;		/* "K=V" */
	int64_t interval_ms;
};

/* what: borrowed. `town`: its root, NULL for none. */
void timer_init(struct timer *t, const char *what, const char *town);
void timer_release(struct timer *t);
/* What cannot stand in a unit or a crontab: control characters, a crontab line of more than 990 bytes (cron 3.0 takes 1000). Name "timer". */
int timer_check(const struct timer *t, struct err *e);

/* The texts. Pure. */
void timer_service(const struct timer *t, struct buf *out);
void timer_unit(const struct timer *t, struct buf *out);
void timer_crontab(const struct timer *t, struct buf *out);
/*
 * The crontab `old` with the block of this timer set (block NULL: without it) in *out. -1, name "timer": a marker stands alone, so that
 * nobody can say which lines are ours.
 */
int timer_edit(const struct timer *t, const char *old, size_t n, const char *block, struct buf *out, struct err *e);

/* Where in the crontab this timer's block stands, markers and all: 1 found, 0 there is none, -1 as timer_edit. */
int timer_block(const struct timer *t, const char *tab, size_t n, size_t *from, size_t *to, struct err *e);
/* The user's crontab as it is; empty when there is none. 0, 1 when there is no cron, -1. */
int timer_crontab_read(struct buf *out, struct err *e);

enum timer_kind { TIMER_NONE, TIMER_SYSTEMD, TIMER_CRONTAB, TIMER_BOTH };
/* Which of the two would be used here. */
enum timer_kind timer_kind(void);
/* The path of a unit ("service", "timer"), heap; NULL without HOME. */
char *timer_path(const struct timer *t, const char *what);

/*
 * Installs it, again and again to the same end, and takes away what the other kind had. Names: "timer" (a program of theirs failed, its words in
 * the message), "not-installed" (neither systemd nor cron), those of io_write_durable.
 */
int timer_install(const struct timer *t, enum timer_kind kind, struct err *e);
/* *was tells what there was. Not an error when there was none. */
int timer_remove(const struct timer *t, enum timer_kind *was, struct err *e);

#endif
