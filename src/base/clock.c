#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sys.h"

static int64_t
now_ms(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) != 0)
		die("the clock %d cannot be read", (int)id);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
clock_wall_ms(void)
{
	return now_ms(CLOCK_REALTIME);
}

int64_t
clock_mono_ms(void)
{
	return now_ms(CLOCK_MONOTONIC);
}

int64_t
clock_boot_ms(void)
{
	return now_ms(sys_boot_clock());
}

void
clock_sleep_ms(int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

void
clock_age(struct buf *out, int64_t ms)
{
	int64_t s = ms < 0 ? 0 : ms / 1000;

	if (s < 60)
		buf_fmt(out, "%llds", (long long)s);
	else if (s < 3600)
		buf_fmt(out, "%lldm", (long long)(s / 60));
	else if (s < 172800)
		buf_fmt(out, "%lldh", (long long)(s / 3600));
	else
		buf_fmt(out, "%lldd", (long long)(s / 86400));
}

void
clock_iso(struct buf *out, int64_t wall_ms)
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;
	char text[32];

	gmtime_r(&s, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	buf_fmt(out, "%s.%03dZ", text, (int)(wall_ms % 1000));
}

int64_t
clock_parse_iso(const char *text)
{
	struct tm tm = { 0 };
	const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int hours, minutes, taken = 0;
	int64_t at;

	if (p == NULL)
		return -1;
	at = (int64_t)timegm(&tm) * 1000;
	if (*p == '.') {
		for (int i = 1, unit = 100; i <= 3 && isdigit((unsigned char)p[i]); i++, unit /= 10)
			at += (p[i] - '0') * unit;
		p += 1 + strspn(p + 1, "0123456789");
	}
	if (strcmp(p, "Z") == 0)
		return at;
	if ((*p != '+' && *p != '-') || sscanf(p + 1, "%2d:%2d%n", &hours, &minutes, &taken) != 2 ||
	    p[1 + taken] != '\0')
		return -1;
	return at - (*p == '-' ? -1 : 1) * ((int64_t)hours * 60 + minutes) * 60000;
}

int
clock_parse_duration(const char *text, int64_t *ms, struct err *e)
{
	static const struct { const char *unit; int64_t ms; } units[] = {
		{ "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 },
	};
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (isdigit((unsigned char)text[0]) && errno == 0) {
		if (n == 0 && *end == '\0') {
			*ms = 0;
			return 0;
		}
		for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
			if (strcmp(end, units[i].unit) == 0 && !__builtin_mul_overflow(n, units[i].ms, ms))
				return 0;
	}
	return err_set(e, GT_USAGE, "duration",
	    "\"%s\" is not a duration; write a whole number and a unit: 250ms, 30s, 5m, 72h or 7d", text);
}
