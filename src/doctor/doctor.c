#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor/doctor_private.h"
#include "app/app.h"
#include "base/buf.h"
#include "config/config.h"
#include "scrub/scrub.h"
#include "store/store.h"

char *
doctor_find_program(const char *path, const char *name)
{
	struct stat st;

	for (const char *p = path != NULL ? path : ""; *p != '\0'; p += strcspn(p, ":"), p += *p == ':') {
		size_t n = strcspn(p, ":");
		char *file = xasprintf("%.*s/%s", (int)n, p, name);

		if (n > 0 && access(file, X_OK) == 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode))
			return file;
		free(file);
	}
	return NULL;
}

char *
doctor_existing_path(const char *path)
{
	char *at = xstrdup(path), *slash;

	while (access(at, F_OK) != 0 && (slash = strrchr(at, '/')) != NULL && slash != at)
		*slash = '\0';
	if (access(at, F_OK) != 0)
		strcpy(at, "/");
	return at;
}

int64_t
doctor_free_bytes(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 ? (int64_t)fs.f_bavail * (int64_t)fs.f_frsize : -1;
}

size_t
doctor_open_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	struct stat st;
	size_t n = 0;

	while (d != NULL && (f = readdir(d)) != NULL)
		if (fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			n += (st.st_mode & 077) != 0 || st.st_uid != geteuid();
	if (d != NULL)
		closedir(d);
	return n;
}

/* In the order of the answer, each ended by a row without a group. */
static const struct doctor_check *const groups[] = { doctor_settings_checks, doctor_state_checks,
	doctor_tmux_checks, doctor_agents_checks, doctor_snapshots_checks, doctor_timer_checks };

/* The check behind this one, the first behind NULL; NULL at the end. */
static const struct doctor_check *
next_check(const struct doctor_check *c, size_t *group)
{
	if (c == NULL)
		*group = 0;
	else if ((++c)->group != NULL)
		return c;
	else
		++*group;
	return *group < sizeof groups / sizeof groups[0] ? groups[*group] : NULL;
}

const char *
doctor_verdict_name(enum verdict v)
{
	static const char *const names[] = { "ok", "note", "warning", "error", "skipped" };

	return names[v];
}

size_t
doctor_count(const struct doctor *d, enum verdict v)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += d->v[i].verdict == v;
	return n;
}

bool
doctor_is_live(const struct candidate *c)
{
	return c->status == AGENT_LIVE || c->status == AGENT_RESPAWNED;
}

size_t
doctor_live(const struct doctor *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->agents.n; i++)
		n += doctor_is_live(&d->agents.v[i]);
	return n;
}

void
doctor_report(struct doctor *d, enum verdict v, const char *hint, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(&b, fmt, ap);
	va_end(ap);
	d->v = vec_room(d->v, d->n, &d->cap, sizeof *d->v);
	d->v[d->n++] = (struct doctor_finding){ d->now, v, buf_detach(&b),
		hint != NULL && *hint != '\0' ? xstrdup(hint) : NULL };
}

void
doctor_report_err(struct doctor *d, enum verdict v, const struct err *e)
{
	struct err clean = *e;

	scrub_error(&clean, NULL);
	doctor_report(d, v, clean.hint, "%s", clean.msg);
}

static void
close_store(struct doctor *d)
{
	if (d->store != NULL)
		store_close(d->store);
	d->store = NULL;
}

void
doctor_run(struct doctor *d, struct app *w, const struct timer *today, const struct err *no_timer)
{
	struct err unused = ERR_INIT;
	size_t group = 0;

	memset(d, 0, sizeof *d);
	d->w = w;
	d->today = today;
	d->no_timer = *no_timer;
	/* a server that was named and is not there is a finding, and no reason to look at no other */
	w->sockets_named = false;
	w->look_only = true;
	/* why there are none is told by the group tmux, server by server */
	(void)detect(w, &d->agents, &unused);
	d->store = store_open_readonly(config_text(w->config, "state"), w->state_dir, &d->no_store);
	if (d->store != NULL)
		(void)armed_list_read(d->store, &d->armed, NULL);
	while ((d->now = next_check(d->now, &group)) != NULL && *w->stop == 0) {
		if (groups[group] == doctor_tmux_checks)
			close_store(d);
		d->now->look(d);
	}
	close_store(d);
}

void
doctor_refused(struct doctor *d, const struct err *why)
{
	size_t group = 0;

	memset(d, 0, sizeof *d);
	while ((d->now = next_check(d->now, &group)) != NULL) {
		if (d->n == 0)
			doctor_report_err(d, VERDICT_ERROR, why);
		else
			doctor_report(d, VERDICT_SKIPPED, NULL, "the settings cannot be read");
	}
}

void
doctor_release(struct doctor *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].sentence);
		free(d->v[i].hint);
	}
	free(d->v);
	candidate_list_release(&d->agents);
	armed_list_release(&d->armed);
	close_store(d);
	memset(d, 0, sizeof *d);
}
