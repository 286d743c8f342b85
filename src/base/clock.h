#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

struct buf;
struct err;

/*
 * Milliseconds: wall clock since 1970 for people; monotonic for deadlines; boottime for ages on one
 * boot.
 */
int64_t clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_boot_ms(void);

void clock_sleep_ms(int ms);			/* returns early when a signal arrives */
/*
 * Sleeps until the monotonic clock shows that; returns early when a signal arrives. In a test build with
 * GT_CLOCK=fast nobody sleeps: all three clocks are put ahead. GT_CLOCK_AHEAD: by so many ms from the start.
 */
void clock_sleep_until(int64_t mono_ms);

/* "42s", "5m", "3h", "2d" for an age in ms; negative ages print "0s". */
void clock_age(struct buf *out, int64_t ms);
/* UTC, "2026-11-21T20:16:03.704Z" */
void clock_iso(struct buf *out, int64_t wall_ms);
/* RFC 3339 with any offset, to ms since 1970; -1: something else. */
int64_t clock_parse_iso(const char *text);
/* "250ms", "30s", "5m", "72h", "7d", "0" to ms. -1: name "duration". */
int clock_parse_duration(const char *text, int64_t *ms, struct err *e);

#endif
