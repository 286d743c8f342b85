#include <stdlib.h>
#include <string.h>

#include "install/install.h"
#include "agent/agent.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "tmux/tmux.h"

#define MINUTE_MS ((int64_t)60000)
#define UNIT_MAX ((size_t)64 << 10)

/* The last part of the path, and the first word behind it. */
static bool
runs_snapshot(const struct timer_status *f)
{
	const char *slash;

	if (f->args.n < 2 || f->args.v[0][0] != '/')
		return false;
	slash = strrchr(f->args.v[0], '/');
	return strcmp(slash + 1, "gt-recover") == 0 && strcmp(f->args.v[1], "snapshot") == 0;
}

/* ---- crontab ---- */

/* The forms that timer.c writes; 0 for others. */
static int64_t
cron_interval(const char *schedule)
{
	static const struct { const char *text; int64_t ms;
	} whole[] = {
		{ "* * * * *", MINUTE_MS }, { "0 * * * *", 60 * MINUTE_MS },
		{ "0 0 * * *", 24 * 60 * MINUTE_MS },
	};
	char *end;
	long n;

	for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
		if (strcmp(schedule, whole[i].text) == 0)
			return whole[i].ms;
	if (str_starts(schedule, "*/")) {
		n = strtol(schedule + 2, &end, 10);
		return n > 0 && n < 60 && strcmp(end, " * * * *") == 0 ? n * MINUTE_MS : 0;
	}
	if (str_starts(schedule, "0 */")) {
		n = strtol(schedule + 4, &end, 10);
		return n > 0 && n < 24 && strcmp(end, " * * *") == 0 ? n * 60 * MINUTE_MS : 0;
	}
	return 0;
}

/* The five fields, one blank between them; where the command begins. */
static size_t
take_schedule(const char *line, size_t n, struct buf *out)
{
	size_t at = 0;

	for (int field = 0; field < 5; field++) {
		while (at < n && (line[at] == ' ' || line[at] == '\t'))
			at++;
		if (field > 0)
			buf_chr(out, ' ');
		while (at < n && line[at] != ' ' && line[at] != '\t')
			buf_chr(out, line[at++]);
	}
	while (at < n && (line[at] == ' ' || line[at] == '\t'))
		at++;
	return at;
}

static bool
is_our_program(const void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "gt-recover") == 0;
}

/* The words of the simple command: assignments, the program, its arguments. */
static void
take_words(const struct launch *l, struct timer_status *out)
{
	for (size_t i = 0; i < l->n_words; i++)
		town_list_add(i < l->program ? &out->env : &out->args, xstrdup(l->words[i].text));
}

/* The command is these words and nothing else: said again as timer.c says it, it is the same to the byte. */
static bool
is_complete_unit(const struct timer_status *f)
{
	struct buf b = BUF_INIT;
	bool same;

	for (size_t i = 0; i < f->env.n; i++) {
		size_t name = strcspn(f->env.v[i], "=");

		buf_fmt(&b, "%.*s=", (int)name, f->env.v[i]);
		quote_sh(&b, f->env.v[i][name] == '=' ? f->env.v[i] + name + 1 : "");
		buf_chr(&b, ' ');
	}
	for (size_t i = 0; i < f->args.n; i++) {
		buf_str(&b, i > 0 ? " " : "");
		quote_sh(&b, f->args.v[i]);
	}
	same = strcmp(b.data, f->command) == 0;
	buf_release(&b);
	return same;
}

void
timer_read_line(const char *line, size_t n, struct timer_status *out)
{
	struct buf schedule = BUF_INIT, command = BUF_INIT;
	struct launch l;
	bool bare = false;
	size_t at;

	memset(out, 0, sizeof *out);
	at = take_schedule(line, n, &schedule);
	for (; at < n && !bare; at++) {
		/* what stands behind a bare % is the command's standard input */
		bare = line[at] == '%';
		if (line[at] == '\\' && at + 1 < n && line[at + 1] == '%')
			at++;
		if (!bare)
			buf_chr(&command, line[at]);
	}
	out->interval_ms = cron_interval(schedule.data);
	out->schedule = buf_detach(&schedule);
	out->command = buf_detach(&command);
	launch_command(&l, out->command, "/bin/sh", is_our_program, NULL);
	take_words(&l, out);
	launch_release(&l);
	out->ours = !bare && runs_snapshot(out) && is_complete_unit(out);
}

static int
read_tab(const struct timer *t, struct timer_status *out, struct err *e)
{
	struct buf tab = BUF_INIT;
	size_t from, to, line, end;
	int found = timer_crontab_read(&tab, e);

	if (found == 1)
		found = 0;
	else if (found == 0)
		found = timer_block(t, tab.data, tab.len, &from, &to, e);
	if (found > 0) {
		line = from + strcspn(tab.data + from, "\n") + 1;
		end = line + strcspn(tab.data + line, "\n");
		/* nothing at all between the markers: the line would be the second one */
		timer_read_line(tab.data + line, tab.data[line] == '#' ? 0 : end - line, out);
		/* more than one line: a person's hand */
		out->ours = out->ours && end + 1 < to && tab.data[end + 1] == '#';
	}
	buf_release(&tab);
	return found;
}

/* ---- units ---- */

/*
 * One word as timer.c writes it: quoted, with \" \\ %% and, in commands, $$. False: it is not of
 * that form.
 */
static bool
take_unit_word(const char **text, const char *end, bool command, struct buf *out)
{
	const char *p = *text;

	if (p == end || *p++ != '"')
		return false;
	for (; p < end && *p != '"'; p++) {
		if (*p == '\\' || *p == '%' || (*p == '$' && command)) {
			if (p + 1 == end || (*p == '\\' ? p[1] != '"' && p[1] != '\\' : p[1] != *p))
				return false;
			p++;
		}
		buf_chr(out, *p);
	}
	if (p == end)
		return false;
	*text = p + 1;
	return true;
}

static bool
take_unit_words(const char *p, const char *end, bool command, struct town_list *out)
{
	bool good = true;

	while (good && p < end) {
		struct buf word = BUF_INIT;

		good = take_unit_word(&p, end, command, &word) && (p == end || *p == ' ');
		if (good)
			town_list_add(out, buf_detach(&word));
		buf_release(&word);
		while (p < end && *p == ' ')
			p++;
	}
	return good;
}

/* The value of "NAME=" at the beginning of this line, or NULL. */
static const char *
setting(const char *line, const char *end, const char *name)
{
	size_t n = strlen(name);

	return (size_t)(end - line) > n && memcmp(line, name, n) == 0 && line[n] == '=' ? line + n + 1 : NULL;
}

static void
read_service(const char *p, const char *stop, struct timer_status *out)
{
	out->ours = true;
	while (p < stop) {
		const char *nl = memchr(p, '\n', (size_t)(stop - p)), *end = nl != NULL ? nl : stop;
		const char *start = setting(p, end, "ExecStart"), *env = setting(p, end, "Environment");

		if (start != NULL)
			out->ours =
			    out->args.n == 0 && take_unit_words(start, end, true, &out->args) && out->ours;
		else if (env != NULL)
			out->ours = take_unit_words(env, end, false, &out->env) && out->ours;
		p = end + 1;
	}
	out->ours = out->ours && runs_snapshot(out);
}

static void
read_timer_unit(const char *p, const char *stop, struct timer_status *out)
{
	while (p < stop) {
		const char *nl = memchr(p, '\n', (size_t)(stop - p)), *end = nl != NULL ? nl : stop;
		const char *value = setting(p, end, "OnUnitActiveSec");

		if (value != NULL) {
			char *text = xstrndup(value, (size_t)(end - value));

			free(out->schedule);
			out->schedule = xasprintf("OnUnitActiveSec=%s", text);
			if (clock_parse_duration(text, &out->interval_ms, NULL) != 0)
				out->interval_ms = 0;
			free(text);
		}
		p = end + 1;
	}
	if (out->schedule == NULL)
		out->schedule = xstrdup("without OnUnitActiveSec");
}

void
timer_read_units(const char *service, size_t n, const char *timer, size_t m, struct timer_status *out)
{
	memset(out, 0, sizeof *out);
	out->systemd = true;
	read_service(service, service + n, out);
	read_timer_unit(timer, timer + m, out);
}

static int
read_units(const struct timer *t, struct timer_status *out, struct err *e)
{
	char *service = timer_path(t, "service"), *timer = timer_path(t, "timer");
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct err own = ERR_INIT;
	int found = 0;

	if (service != NULL && io_read_file(timer, UNIT_MAX, &b, &own) == 0)
		found = io_read_file(service, UNIT_MAX, &a, &own) == 0 ? 1 : -1;
	else if (service != NULL && strcmp(own.name, "not-found") != 0)
		found = -1;
	if (found > 0)
		timer_read_units(a.data, a.len, b.data, b.len, out);
	else if (found < 0 && e != NULL)
		*e = own;
	buf_release(&a);
	buf_release(&b);
	free(service);
	free(timer);
	return found;
}

/* ---- both ---- */

int
timer_status_read(const struct timer *t, struct timer_status found[2], struct err *e)
{
	int units = read_units(t, &found[0], e), tab;

	if (units < 0)
		return -1;
	tab = read_tab(t, &found[units], e);
	if (tab < 0) {
		if (units > 0)
			timer_status_release(&found[0]);
		return -1;
	}
	return units + tab;
}

const char *
timer_status_env(const struct timer_status *f, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < f->env.n; i++)
		if (strncmp(f->env.v[i], name, n) == 0 && f->env.v[i][n] == '=')
			return f->env.v[i] + n + 1;
	return NULL;
}

void
timer_status_release(struct timer_status *f)
{
	free(f->schedule);
	free(f->command);
	town_list_release(&f->args);
	town_list_release(&f->env);
	memset(f, 0, sizeof *f);
}
