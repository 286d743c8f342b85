#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "install/install.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/encode.h"
#include "base/spawn.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"

#define MINUTE_MS 60000
#define LINE_MAX_BYTES 990
#define CRONTAB_MAX ((size_t)1 << 20)

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
	    "# Written by gt-recover install timer; gt-recover uninstall timer%s takes it "
	    "away.\n[Unit]\nDescription=%s\n\n",
	    is(t, "patrol") ? " patrol" : "",
	    is(t, "patrol")        ? "Recovery of crashed coding agents"
		: is(t, "startup") ? "Coding agents' records after a restart"
				   : "Snapshots of coding agents' panes");
}

void
timer_service(const struct timer *t, struct buf *out)
{
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
	for (size_t i = 0; i < t->args.n; i++) {
		buf_chr(out, ' ');
		unit_word(out, t->args.v[i], true);
	}
	buf_chr(out, '\n');
}

void
timer_unit(const struct timer *t, struct buf *out)
{
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

static void
cron_word(struct buf *out, const char *word)
{
	struct buf b = BUF_INIT;

	quote_sh(&b, word);
	/* a bare % ends the command, in quotes too */
	for (size_t i = 0; i < b.len; i++) {
		if (b.data[i] == '%')
			buf_chr(out, '\\');
		buf_chr(out, b.data[i]);
	}
	buf_release(&b);
}

static void
cron_line(const struct timer *t, struct buf *out)
{
	if (is(t, "startup"))
		buf_str(out, "@reboot");
	else
		cron_schedule(out, t->interval_ms);
	for (size_t i = 0; i < t->env.n; i++) {
		size_t name = strcspn(t->env.v[i], "=");

		buf_fmt(out, " %.*s=", (int)name, t->env.v[i]);
		cron_word(out, t->env.v[i] + name + 1);
	}
	buf_chr(out, ' ');
	cron_word(out, t->program);
	for (size_t i = 0; i < t->args.n; i++) {
		buf_chr(out, ' ');
		cron_word(out, t->args.v[i]);
	}
	buf_chr(out, '\n');
}

static void
marker(const struct timer *t, const char *what, struct buf *out)
{
	buf_fmt(out, "# %s %s (gt-recover install timer)\n", t->id, what);
}

void
timer_crontab(const struct timer *t, struct buf *out)
{
	marker(t, "begins", out);
	cron_line(t, out);
	marker(t, "ends", out);
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
	cron_line(t, &line);
	much = line.len > LINE_MAX_BYTES;
	buf_release(&line);
	if (control)
		err_set(e, GT_USAGE, "timer",
		    "a path or a socket's name has a control character, which no timer can hold");
	else if (much)
		err_set(e, GT_USAGE, "timer",
		    "the line would be longer than %d bytes, which cron does not take", LINE_MAX_BYTES);
	else
		return 0;
	return err_hint(e, "name the town and the sockets with --town and -L, by shorter paths");
}

/* The line `text` within n bytes, from its beginning on; its end, or NULL. */
static const char *
find_line(const char *p, size_t n, const struct buf *text)
{
	for (const char *at = p, *end = p + n; at < end; ) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t len = nl != NULL ? (size_t)(nl - at) : (size_t)(end - at);

		/* the marker's text has its newline, the last line of a file may lack it */
		if (len == text->len - 1 && memcmp(at, text->data, len) == 0)
			return at;
		at += len + 1;
	}
	return NULL;
}

int
timer_block(const struct timer *t, const char *tab, size_t n, size_t *from, size_t *to, struct err *e)
{
	struct buf begins = BUF_INIT, ends = BUF_INIT;
	const char *first, *last;
	int ret;

	marker(t, "begins", &begins);
	marker(t, "ends", &ends);
	first = find_line(tab, n, &begins);
	last = find_line(tab, n, &ends);
	ret = first != NULL;
	if ((first != NULL) != (last != NULL) || last < first) {
		err_set(e, GT_FAIL, "timer",
		    "in the crontab the lines \"# %s begins\" and \"… ends\" do not stand in a pair", t->id);
		ret = err_hint(e, "crontab -e; remove what is left of them, then run the command again");
	} else if (first != NULL) {
		*from = (size_t)(first - tab);
		*to = (size_t)(last - tab) + ends.len - 1;
		*to += *to < n;
	}
	buf_release(&begins);
	buf_release(&ends);
	return ret;
}

int
timer_edit(
    const struct timer *t, const char *old, size_t n, const char *block, struct buf *out, struct err *e)
{
	size_t from, to;
	int found = timer_block(t, old, n, &from, &to, e);

	if (found < 0)
		return -1;
	if (found == 0) {
		buf_add(out, old, n);
		if (block != NULL && n > 0 && old[n - 1] != '\n')
			buf_chr(out, '\n');
		buf_str(out, block != NULL ? block : "");
	} else {
		buf_add(out, old, from);
		buf_str(out, block != NULL ? block : "");
		buf_add(out, old + to, n - to);
	}
	return 0;
}

/* ---- programs ---- */

/* Runs it; its exit status, or -1 with err. words: what it said on standard error. */
static int
call(const char *const *argv, const struct buf *in, struct buf *out, struct buf *words, struct err *e)
{
	struct spawn s = { .argv = argv,
		.in = in != NULL ? in->data : NULL,
		.in_len = in != NULL ? in->len : 0,
		.out = out,
		.errout = words,
		.max_out = CRONTAB_MAX,
		.timeout_ms = 30000 };

	return spawn_run(&s, e) == 0 ? s.status : -1;
}

static int
failed(const char *what, const struct buf *words, struct err *e)
{
	struct buf shown = BUF_INIT;

	scrub_first_line(&shown, words->data, 200, NULL);
	err_set(e, GT_FAIL, "timer", "%s failed: %s", what, shown.len > 0 ? shown.data : "(no reason given)");
	buf_release(&shown);
	return -1;
}

static int
systemctl(const char *verb, const char *option, const char *unit, struct err *e)
{
	const char *argv[6] = { "systemctl", "--user", verb };
	struct buf words = BUF_INIT;
	size_t n = 3;
	int status;

	if (option != NULL)
		argv[n++] = option;
	if (unit != NULL)
		argv[n++] = unit;
	status = call(argv, NULL, NULL, &words, e);
	if (status > 0) {
		char *what = xasprintf("systemctl --user %s", verb);

		status = failed(what, &words, e);
		free(what);
	}
	buf_release(&words);
	return status;
}

enum timer_kind
timer_kind(void)
{
	return systemctl("show-environment", NULL, NULL, NULL) == 0 ? TIMER_SYSTEMD : TIMER_CRONTAB;
}

char *
timer_path(const struct timer *t, const char *what)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (xdg != NULL && xdg[0] == '/')
		return xasprintf("%s/systemd/user/%s.%s", xdg, t->id, what);
	return home != NULL && home[0] == '/' ? xasprintf("%s/.config/systemd/user/%s.%s", home, t->id, what)
					      : NULL;
}

int
timer_crontab_read(struct buf *out, struct err *e)
{
	static const char *const argv[] = { "crontab", "-l", NULL };
	struct buf words = BUF_INIT;
	struct err own = ERR_INIT;
	int status = call(argv, NULL, out, &words, &own), ret = 0;

	if (status < 0 && strcmp(own.name, "not-installed") == 0) {
		ret = 1;
	} else if (status < 0) {
		if (e != NULL)
			*e = own;
		ret = -1;
	} else if (status != 0 && strstr(words.data, "no crontab") == NULL) {
		/* whatever it is: a crontab that cannot be read must not be replaced by ours */
		ret = failed("crontab -l", &words, e);
	}
	if (ret == 0 && status != 0)
		buf_reset(out);
	buf_release(&words);
	return ret;
}

/* Sets or takes away the block; *had: it was there. 1: there is no cron. */
static int
edit_crontab(const struct timer *t, const char *block, bool *had, struct err *e)
{
	static const char *const argv[] = { "crontab", "-", NULL };
	struct buf old = BUF_INIT, bare = BUF_INIT, new = BUF_INIT, words = BUF_INIT;
	int ret = timer_crontab_read(&old, e), status;

	*had = false;
	if (ret == 0 && timer_edit(t, old.data, old.len, NULL, &bare, e) == 0 &&
	    timer_edit(t, old.data, old.len, block, &new, e) == 0) {
		*had = bare.len != old.len;
		if (new.len != old.len || memcmp(new.data, old.data, old.len) != 0) {
			status = call(argv, &new, NULL, &words, e);
			ret = status > 0 ? failed("crontab -", &words, e) : status;
		}
	} else if (ret == 0) {
		ret = -1;
	}
	buf_release(&old);
	buf_release(&bare);
	buf_release(&new);
	buf_release(&words);
	return ret;
}

static int
write_unit(
    const struct timer *t, const char *what, void (*text)(const struct timer *, struct buf *), struct err *e)
{
	char *path = timer_path(t, what);
	struct buf b = BUF_INIT, old = BUF_INIT;
	int ret = -1;

	if (path == NULL)
		return err_set(e, GT_USAGE, "no-home", "there is no place for units: HOME is not set");
	text(t, &b);
	if (io_read_file(path, CRONTAB_MAX, &old, NULL) == 0 && old.len == b.len &&
	    memcmp(old.data, b.data, b.len) == 0)
		ret = 0;
	else if (io_make_parents(path, e) == 0)
		ret = io_write_durable(path, b.data, b.len, "timer", e);
	buf_release(&b);
	buf_release(&old);
	free(path);
	return ret;
}

/* True when one was there. */
static bool
remove_units(const struct timer *t)
{
	static const char *const kinds[] = { "timer", "service" };
	bool had = false;

	for (size_t i = 0; i < 2; i++) {
		char *path = timer_path(t, kinds[i]);

		had = (path != NULL && unlink(path) == 0) || had;
		free(path);
	}
	return had;
}

static bool
has_units(const struct timer *t)
{
	char *path = timer_path(t, "timer");
	bool yes = path != NULL && access(path, F_OK) == 0;

	free(path);
	return yes;
}

/* Away with the units; a manager that does not answer has none running. */
static bool
stop_units(const struct timer *t)
{
	char *unit = xasprintf("%s.timer", t->id);
	bool had = has_units(t);

	if (had)
		systemctl("disable", "--now", unit, NULL);
	had = remove_units(t) || had;
	if (had)
		systemctl("daemon-reload", NULL, NULL, NULL);
	free(unit);
	return had;
}

static int
install_units(const struct timer *t, struct err *e)
{
	char *unit = xasprintf("%s.timer", t->id);
	int ret = -1;

	if (write_unit(t, "service", timer_service, e) == 0 && write_unit(t, "timer", timer_unit, e) == 0 &&
	    systemctl("daemon-reload", NULL, NULL, e) == 0 && systemctl("enable", NULL, unit, e) == 0)
		/* also when it ran with another interval */
		ret = systemctl("restart", NULL, unit, e);
	free(unit);
	return ret;
}

int
timer_install(const struct timer *t, enum timer_kind kind, struct err *e)
{
	struct buf block = BUF_INIT;
	bool had;
	int ret;

	if (timer_check(t, e) != 0)
		return -1;
	if (kind == TIMER_SYSTEMD) {
		if (install_units(t, e) != 0)
			return -1;
		return edit_crontab(t, NULL, &had, e) < 0 ? -1 : 0;
	}
	timer_crontab(t, &block);
	ret = edit_crontab(t, block.data, &had, e);
	buf_release(&block);
	if (ret == 1) {
		err_set(e, GT_FAIL, "not-installed",
		    "neither a systemd user manager answers nor is crontab installed");
		return err_hint(e,
		    "gt-recover install timer --print shows what to run, by whatever starts programs "
		    "regularly here");
	}
	if (ret == 0)
		stop_units(t);
	return ret;
}

int
timer_remove(const struct timer *t, enum timer_kind *was, struct err *e)
{
	bool units = stop_units(t), line;
	int ret = edit_crontab(t, NULL, &line, e);

	*was = units && line ? TIMER_BOTH : units ? TIMER_SYSTEMD : line ? TIMER_CRONTAB : TIMER_NONE;
	return ret < 0 ? -1 : 0;
}
