#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/sys.h"

/* Of a test's clock: how far it is ahead. */
#ifdef GT_FAULTS
static int64_t ahead = -1;

static int64_t
clock_ahead(void)
{
	if (ahead < 0)
		ahead = fault_wait_ms("GT_CLOCK_AHEAD", 0);
	return ahead;
}
#else
#define clock_ahead() 0
#endif

static int64_t
now_ms(clockid_t id)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) != 0)
		die("the clock %d cannot be read", (int)id);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000 + clock_ahead();
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
clock_sleep_until(int64_t mono_ms)
{
	int64_t left = mono_ms - clock_mono_ms();

#ifdef GT_FAULTS
	const char *pace = getenv("GT_CLOCK");

	if (pace != NULL && strcmp(pace, "fast") == 0 && left > 0) {
		ahead += left;
		return;
	}
#endif
	if (left > 0)
		clock_sleep_ms((int)left);
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

#define DAY_MS ((int64_t)86400000)

/*
 * Days from 1970-01-01 to the first of March of that year, which begins with it: a leap day is its last.
 * Not timegm and gmtime: where time_t has 32 bits they end in 2038.
 */
static int64_t
days_to_march(int64_t year)
{
	return year * 365 + year / 4 - year / 100 + year / 400 - 719468;
}

/* Of a month from March (0) to February (11): days of the year before it, 31, 30, 31, 30, 31 and again. */
static int
days_to_month(int month)
{
	return (153 * month + 2) / 5;
}

void
clock_iso(struct buf *out, int64_t wall_ms)
{
	int64_t days, of_day, year;
	int month = 11;

	wall_ms = wall_ms < 0 ? 0 : wall_ms;
	days = wall_ms / DAY_MS;
	of_day = wall_ms % DAY_MS;
	year = 1970 + days / 365;
	while (days_to_march(year) > days)
		year--;
	days -= days_to_march(year);
	while (days_to_month(month) > days)
		month--;
	buf_fmt(out, "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ", (long long)(year + (month >= 10)),
	    month < 10 ? month + 3 : month - 9, (int)days - days_to_month(month) + 1,
	    (int)(of_day / 3600000), (int)(of_day / 60000 % 60), (int)(of_day / 1000 % 60),
	    (int)(of_day % 1000));
}

/* As timegm: a field that is too large goes on in the next. */
static int64_t
seconds_of(const struct tm *tm)
{
	int month = tm->tm_mon < 2 ? tm->tm_mon + 10 : tm->tm_mon - 2;
	int64_t year = 1900 + (int64_t)tm->tm_year - (tm->tm_mon < 2);
	int64_t days = days_to_march(year) + days_to_month(month) + tm->tm_mday - 1;

	return days * 86400 + tm->tm_hour * 3600 + tm->tm_min * 60 + tm->tm_sec;
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
	at = seconds_of(&tm) * 1000;
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
	    "\"%s\" is not a duration; write an integer and a unit: 250ms, 30s, 5m, 72h or 7d", text);
}
