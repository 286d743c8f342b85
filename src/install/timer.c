#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "install/install_private.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/encode.h"
#include "base/err.h"
#include "base/io.h"
#include "tmux/tmux.h"

#define MINUTE_MS 60000
#define LINE_MAX_BYTES 990

void
timer_init(struct timer *t, const char *what, const char *town)
{
	char hex[65];

	memset(t, 0, sizeof *t);
	if (town != NULL)
		sha256_hex(town, strlen(town), hex);
	t->what = what;
	t->id = town != NULL ? xasprintf("gt-recover-%s-%.6s", what, hex) : xasprintf("gt-recover-%s", what);
}

void
timer_release(struct timer *t)
{
	free(t->id);
	free(t->program);
	town_list_release(&t->args);
	town_list_release(&t->env);
	memset(t, 0, sizeof *t);
}

/* ---- texts ---- */

long long
timer_passes(const struct timer *t, bool systemd)
{
	return !systemd && t->interval_ms < MINUTE_MS && t->interval_ms > 0
	    ? (MINUTE_MS + t->interval_ms - 1) / t->interval_ms
	    : 1;
}

/* Its words behind the program. */
static void
command_words(const struct timer *t, enum timer_kind kind, struct town_list *out)
{
	for (size_t i = 0; i < t->args.n; i++)
		town_list_add(out, xstrdup(t->args.v[i]));
	if (t->passes) {
		town_list_add(out, xstrdup("--passes"));
		town_list_add(out, xasprintf("%lld", timer_passes(t, kind == TIMER_SYSTEMD)));
	}
}

/* One word of a unit file: systemd.syntax(7), and for commands systemd.service(5). */
static void
unit_word(struct buf *out, const char *word, bool command)
{
	buf_chr(out, '"');
	for (const char *p = word; *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			buf_chr(out, '\\');
		else if (*p == '%' || (*p == '$' && command))
			buf_chr(out, *p);
		buf_chr(out, *p);
	}
	buf_chr(out, '"');
}

static bool
is(const struct timer *t, const char *what)
{
	return strcmp(t->what, what) == 0;
}

static void
head(const struct timer *t, struct buf *out)
{
	buf_fmt(out,
	    "# Written by gt-recover install timer; to remove it: gt-recover uninstall timer%s\n"
	    "[Unit]\n"
	    "Description=%s\n"
	    "\n",
	    is(t, "patrol") ? " patrol" : "",
	    is(t, "patrol")        ? "Recovery of crashed coding agents"
		: is(t, "startup") ? "Coding agents' records after a restart"
				   : "Snapshots of coding agents' panes");
}

static void
render_service(const struct artifact *a, struct buf *out)
{
	const struct timer *t = a->of;
	struct town_list words = TOWN_LIST_INIT;

	command_words(t, TIMER_SYSTEMD, &words);
	head(t, out);
	/*
	 * a tmux server that patrol or startup starts, and its agents, must neither end with the
	 * unit (T41) nor stand back behind everything
	 */
	buf_str(out,
	    is(t, "snapshot") ? "[Service]\nType=oneshot\nNice=10\n"
			      : "[Service]\nType=oneshot\nKillMode=process\n");
	for (size_t i = 0; i < t->env.n; i++) {
		buf_str(out, "Environment=");
		unit_word(out, t->env.v[i], false);
		buf_chr(out, '\n');
	}
	buf_str(out, "ExecStart=");
	unit_word(out, t->program, true);
	for (size_t i = 0; i < words.n; i++) {
		buf_chr(out, ' ');
		unit_word(out, words.v[i], true);
	}
	buf_chr(out, '\n');
	town_list_release(&words);
}

static void
render_unit(const struct artifact *a, struct buf *out)
{
	const struct timer *t = a->of;

	head(t, out);
	if (is(t, "startup"))
		buf_str(out, "[Timer]\nOnStartupSec=1s\n");
	else
		buf_fmt(out, "[Timer]\nOnActiveSec=5s\nOnUnitActiveSec=%llds\n",
		    (long long)(t->interval_ms / 1000));
	buf_fmt(out, "AccuracySec=1s\nUnit=%s.service\n\n[Install]\nWantedBy=timers.target\n", t->id);
}

/*
 * At least as often as asked for, as far as cron can: it knows whole minutes, and steps begin
 * anew with each hour and day.
 */
static void
cron_schedule(struct buf *out, int64_t ms)
{
	long long minutes = ms / MINUTE_MS;

	if (minutes <= 1)
		buf_str(out, "* * * * *");
	else if (minutes < 60)
		buf_fmt(out, "*/%lld * * * *", minutes);
	else if (minutes < 120)
		buf_str(out, "0 * * * *");
	else if (minutes < 24 * 60)
		buf_fmt(out, "0 */%lld * * *", minutes / 60);
	else
		buf_str(out, "0 0 * * *");
}

/* Variables, the program and its arguments as a simple command for sh. */
static void
sh_command(struct buf *out, const struct town_list *env, const struct town_list *words)
{
	for (size_t i = 0; i < env->n; i++) {
		size_t name = strcspn(env->v[i], "=");

		buf_fmt(out, "%.*s=", (int)name, env->v[i]);
		quote_sh(out, env->v[i][name] == '=' ? env->v[i] + name + 1 : "");
		buf_chr(out, ' ');
	}
	for (size_t i = 0; i < words->n; i++) {
		buf_str(out, i > 0 ? " " : "");
		quote_sh(out, words->v[i]);
	}
}

static void
render_crontab(const struct artifact *a, struct buf *out)
{
	const struct timer *t = a->of;
	struct town_list words = TOWN_LIST_INIT;
	struct buf command = BUF_INIT;

	town_list_add(&words, xstrdup(t->program));
	command_words(t, TIMER_CRONTAB, &words);
	sh_command(&command, &t->env, &words);
	if (is(t, "startup"))
		buf_str(out, "@reboot");
	else
		cron_schedule(out, t->interval_ms);
	buf_chr(out, ' ');
	/* a bare % ends the command, in quotes too */
	for (size_t i = 0; i < command.len; i++) {
		if (command.data[i] == '%')
			buf_chr(out, '\\');
		buf_chr(out, command.data[i]);
	}
	buf_chr(out, '\n');
	town_list_release(&words);
	buf_release(&command);
}

static bool
has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return true;
	return false;
}

int
timer_check(const struct timer *t, struct err *e)
{
	struct buf line = BUF_INIT;
	bool control = has_control(t->program), much;

	for (size_t i = 0; i < t->args.n; i++)
		control = control || has_control(t->args.v[i]);
	for (size_t i = 0; i < t->env.n; i++)
		control = control || has_control(t->env.v[i]);
	render_crontab(&(struct artifact){ .of = t }, &line);
	much = line.len > LINE_MAX_BYTES;
	buf_release(&line);
	if (control)
		err_set(e, GT_USAGE, "timer",
		    "a timer cannot contain a path or socket name with a control character");
	else if (much)
		err_set(e, GT_USAGE, "timer",
		    "the line would be longer than the %d bytes that cron accepts", LINE_MAX_BYTES);
	else
		return 0;
	return err_hint(e, "use shorter paths for --town and -L");
}

/* ---- programs ---- */

static int
systemctl(const char *verb, const char *option, const char *unit, struct err *e)
{
	const char *argv[6] = { "systemctl", "--user", verb };
	char *what = xasprintf("systemctl --user %s", verb);
	struct buf words = BUF_INIT;
	size_t n = 3;
	int ret;

	if (option != NULL)
		argv[n++] = option;
	if (unit != NULL)
		argv[n++] = unit;
	ret = artifact_run(what, argv, NULL, NULL, &words, e);
	buf_release(&words);
	free(what);
	return ret;
}

enum timer_kind
timer_kind(void)
{
	return systemctl("show-environment", NULL, NULL, NULL) == 0 ? TIMER_SYSTEMD : TIMER_CRONTAB;
}

int
timer_artifacts(struct artifact_set *in, const struct timer *t, enum timer_kind kind, struct err *e)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	bool has_xdg = xdg != NULL && xdg[0] == '/';
	const char *dir = has_xdg ? "systemd/user" : ".config/systemd/user", *base = has_xdg ? xdg : home;

	*in = (struct artifact_set){ .n = 0 };
	if (kind == TIMER_CRONTAB) {
		artifact_add(in, NULL, t->id, render_crontab, t)->mark = ARTIFACT_BLOCK;
		return 0;
	}
	if (base == NULL || base[0] != '/')
		base = NULL;
	for (int i = 0; i < 2; i++) {
		const char *suffix = i == 0 ? "service" : "timer";
		char *path =
		    base != NULL ? xasprintf("%s/%s/%s.%s", base, dir, t->id, suffix) : xstrdup(t->id);

		artifact_add(in, path, "timer", i == 0 ? render_service : render_unit, t)->mark =
		    ARTIFACT_NAME;
	}
	if (base == NULL)
		return err_set(e, GT_USAGE, "no-home", "cannot locate the directory of units: HOME is "
		    "not set");
	return 0;
}

/* Removes the units; a manager that does not answer has none running. True when there were some. */
static bool
stop_units(const struct timer *t)
{
	char *unit = xasprintf("%s.timer", t->id);
	struct artifact_set in;
	bool had = false;

	if (timer_artifacts(&in, t, TIMER_SYSTEMD, NULL) == 0) {
		if (access(in.v[1].path, F_OK) == 0)
			systemctl("disable", "--now", unit, NULL);
		artifact_remove(&in, &had, NULL);
	}
	if (had)
		systemctl("daemon-reload", NULL, NULL, NULL);
	artifact_release(&in);
	free(unit);
	return had;
}

static int
remove_block(const struct timer *t, bool *had, struct err *e)
{
	struct artifact_set in;
	int ret = timer_artifacts(&in, t, TIMER_CRONTAB, e);

	if (ret == 0)
		ret = artifact_remove(&in, had, e);
	artifact_release(&in);
	return ret;
}

int
timer_install(const struct timer *t, enum timer_kind kind, struct err *e)
{
	char *unit = xasprintf("%s.timer", t->id);
	struct err own = ERR_INIT;
	struct artifact_set in = { .n = 0 };
	bool changed;
	int ret = timer_check(t, &own) == 0 ? timer_artifacts(&in, t, kind, &own) : -1;

	if (ret == 0)
		ret = artifact_install(&in, &changed, &own);
	if (ret != 0 && kind == TIMER_CRONTAB && strcmp(own.name, "not-installed") == 0) {
		err_set(&own, GT_FAIL, "not-installed",
		    "no systemd user manager and no crontab");
		err_hint(&own,
		    "run the command of gt-recover install timer --print with another scheduler");
	} else if (ret == 0 && kind == TIMER_CRONTAB) {
		stop_units(t);
	} else if (ret == 0) {
		/* restart: also when it ran with another interval */
		if (systemctl("daemon-reload", NULL, NULL, &own) != 0 ||
		    systemctl("enable", NULL, unit, &own) != 0 || systemctl("restart", NULL, unit, &own) != 0)
			ret = -1;
		else
			ret = remove_block(t, &changed, &own);
	}
	if (ret != 0 && e != NULL)
		*e = own;
	artifact_release(&in);
	free(unit);
	return ret;
}

int
timer_remove(const struct timer *t, enum timer_kind *was, struct err *e)
{
	bool units = stop_units(t), block = false;
	int ret = remove_block(t, &block, e);

	*was = units && block ? TIMER_BOTH : units ? TIMER_SYSTEMD : block ? TIMER_CRONTAB : TIMER_NONE;
	return ret;
}

/* ---- what is installed ---- */

static bool
is_our_program(const void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "gt-recover") == 0;
}

static bool
runs_snapshot(const struct timer_status *f)
{
	return f->args.n >= 2 && f->args.v[0][0] == '/' && str_ends(f->args.v[0], "/gt-recover") &&
	    strcmp(f->args.v[1], "snapshot") == 0;
}

/* Of a schedule that cron_schedule writes; 0 for others. */
static int64_t
cron_interval(const char *schedule)
{
	int64_t found = 0;

	for (int64_t minutes = 1; minutes <= 24 * 60 && found == 0; minutes += minutes < 60 ? 1 : 60) {
		struct buf b = BUF_INIT;

		cron_schedule(&b, minutes * MINUTE_MS);
		if (strcmp(b.data, schedule) == 0)
			found = minutes * MINUTE_MS;
		buf_release(&b);
	}
	return found;
}

int64_t
timer_interval(const struct timer *t, bool systemd)
{
	struct buf b = BUF_INIT;
	int64_t ms = t->interval_ms / 1000 * 1000;

	if (!systemd) {
		cron_schedule(&b, t->interval_ms);
		ms = cron_interval(b.data);
		buf_release(&b);
	}
	return ms;
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

void
timer_read_line(const char *line, size_t n, struct timer_status *out)
{
	struct buf schedule = BUF_INIT, command = BUF_INIT, again = BUF_INIT;
	struct launch l;
	bool bare = false;

	memset(out, 0, sizeof *out);
	for (size_t at = take_schedule(line, n, &schedule); at < n && !bare; at++) {
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
	for (size_t i = 0; i < l.n_words; i++)
		town_list_add(i < l.program ? &out->env : &out->args, xstrdup(l.words[i].text));
	launch_release(&l);
	sh_command(&again, &out->env, &out->args);
	out->ours = !bare && runs_snapshot(out) && strcmp(again.data, out->command) == 0;
	buf_release(&again);
}

/* The words of a line of unit_word's. False: written again they are another text. */
static bool
take_unit_words(const char *p, size_t n, bool command, struct town_list *out)
{
	struct buf again = BUF_INIT;
	bool same;

	for (size_t at = 0; at < n; at += 2) {
		struct buf word = BUF_INIT;

		for (at++; at < n && p[at] != '"'; at++) {
			at += at + 1 < n && (p[at] == '\\' || p[at] == '%' || (p[at] == '$' && command));
			buf_chr(&word, p[at]);
		}
		buf_str(&again, again.len > 0 ? " " : "");
		unit_word(&again, word.data, command);
		town_list_add(out, buf_detach(&word));
	}
	same = again.len == n && memcmp(again.data, p, n) == 0;
	buf_release(&again);
	return same;
}

/* The value of "NAME=" at the beginning of this line, or NULL. */
static const char *
setting(const char *line, const char *end, const char *name)
{
	size_t n = strlen(name);

	return (size_t)(end - line) > n && memcmp(line, name, n) == 0 && line[n] == '=' ? line + n + 1 : NULL;
}

void
timer_read_units(const struct buf *service, const struct buf *timer, struct timer_status *out)
{
	const char *end, *value;

	memset(out, 0, sizeof *out);
	out->systemd = true;
	out->ours = true;
	for (const char *p = service->data; *p != '\0'; p = end + (*end == '\n')) {
		end = p + strcspn(p, "\n");
		if ((value = setting(p, end, "ExecStart")) != NULL)
			out->ours = out->args.n == 0 &&
			    take_unit_words(value, (size_t)(end - value), true, &out->args) && out->ours;
		else if ((value = setting(p, end, "Environment")) != NULL)
			out->ours =
			    take_unit_words(value, (size_t)(end - value), false, &out->env) && out->ours;
	}
	out->ours = out->ours && runs_snapshot(out);
	for (const char *p = timer->data; *p != '\0'; p = end + (*end == '\n')) {
		end = p + strcspn(p, "\n");
		if ((value = setting(p, end, "OnUnitActiveSec")) == NULL)
			continue;
		free(out->schedule);
		out->schedule = xstrndup(p, (size_t)(end - p));
		if (clock_parse_duration(strchr(out->schedule, '=') + 1, &out->interval_ms, NULL) != 0)
			out->interval_ms = 0;
	}
	if (out->schedule == NULL)
		out->schedule = xstrdup("without OnUnitActiveSec");
}

static int
read_block(const struct artifact *a, struct timer_status *out, struct err *e)
{
	struct buf text = BUF_INIT;
	enum artifact_state state;
	size_t line, end;
	int ret = artifact_status(a, &state, &text, e);

	if (ret == 0 && state != ARTIFACT_ABSENT) {
		line = strcspn(text.data, "\n") + 1;
		end = line + strcspn(text.data + line, "\n");
		/* nothing between the markers: this line is the second one */
		timer_read_line(text.data + line, text.data[line] == '#' ? 0 : end - line, out);
		/* more than one line: a person's hand */
		out->ours = out->ours && end + 1 < text.len && text.data[end + 1] == '#';
		out->state = state;
		ret = 1;
	}
	buf_release(&text);
	return ret;
}

static int
read_units(
    const struct artifact *service, const struct artifact *timer, struct timer_status *out, struct err *e)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	enum artifact_state state[2];
	int ret = artifact_status(timer, &state[1], &b, e);

	if (ret == 0 && state[1] != ARTIFACT_ABSENT) {
		ret = artifact_status(service, &state[0], &a, e);
		if (ret == 0 && state[0] == ARTIFACT_ABSENT)
			/* for its error */
			ret = io_read_file(service->path, 0, &a, e);
		if (ret == 0) {
			timer_read_units(&a, &b, out);
			out->state = state[0] == ARTIFACT_CURRENT ? state[1] : state[0];
			ret = 1;
		}
	}
	buf_release(&a);
	buf_release(&b);
	return ret;
}

int
timer_status_read(const struct timer *t, enum timer_kind kind, struct timer_status *out, struct err *e)
{
	struct artifact_set in;
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (timer_artifacts(&in, t, kind, NULL) == 0)
		ret = kind == TIMER_CRONTAB ? read_block(&in.v[0], out, e)
					    : read_units(&in.v[0], &in.v[1], out, e);
	artifact_release(&in);
	return ret;
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
