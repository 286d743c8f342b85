#ifndef REVIVE_TIMER_READ_H
#define REVIVE_TIMER_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "town/town.h"

struct err;
struct timer;

/* What timer_install wrote, read back; a person may have changed it since. */
struct timer_found {
	bool systemd;			/* a pair of units; false: a line of the crontab */
	char *schedule;			/* the five fields of a crontab, one blank between them; "OnUnitActiveSec=300s" */
	int64_t interval_ms;		/* 0: the schedule is none that we write */
	char *command;			/* of the crontab: what cron hands to sh; NULL for units */
	struct town_list args;		/* the program first */
	struct town_list env;		/* "K=V" that the line or the unit sets */
	bool ours;			/* it runs gt-recover snapshot, and every word of it is understood */
};

/* Pure. A line of a crontab without its newline; the texts of both units. */
void timer_read_line(const char *line, size_t n, struct timer_found *out);
void timer_read_units(const char *service, size_t n, const char *timer, size_t m, struct timer_found *out);
void timer_found_release(struct timer_found *f);

/* The value of a variable that it sets (borrowed); NULL when it sets none. */
const char *timer_found_env(const struct timer_found *f, const char *name);

/*
 * What is installed for this timer's id, into found[0] and [1]: units first. How many, or -1 with err (the crontab cannot be read, its
 * markers do not stand in a pair, a unit cannot be read).
 */
int timer_found_read(const struct timer *t, struct timer_found found[2], struct err *e);

#endif
