#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/*
 * Milliseconds. Wall clock since 1970 for what people read; monotonic for deadlines; boottime for
 * ages on one boot.
 */
int64_t clock_wall_ms(void);
int64_t clock_mono_ms(void);
int64_t clock_boot_ms(void);

void clock_sleep_ms(int ms);			/* returns early when a signal arrives */

/* "42s", "5m", "3h", "2d" for an age in ms; negative ages print "0s". */
void clock_age(struct buf *out, int64_t ms);
/* UTC, "2026-11-21T20:16:03.704Z" */
void clock_iso(struct buf *out, int64_t wall_ms);
/* RFC 3339, with or without fractions and with any offset, to ms since 1970. -1 when it is something else. */
int64_t clock_parse_iso(const char *text);
/*
 * "250ms", "30s", "5m", "72h", "7d" to ms; a bare number is refused (0 alone is allowed). 0 or -1
 * with err (name "duration").
 */
int clock_parse_duration(const char *text, int64_t *ms, struct err *e);

#endif
