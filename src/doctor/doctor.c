#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor/doctor_private.h"
#include "doctor/doctor.h"
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

#define STATE "State"

/* In the order of the answer. The store is open from the first check of State to its last. */
static const struct doctor_check checks[] = {
	{ "Settings", "gt.toml", "which one is read, and who may write it", doctor_gt_toml },
	{ "Settings", "patrol", "auto_recover, [recovery.mail]", doctor_patrol },
	{ "Settings", "template",
	    "prompts.template, prompts.template_file, prompts.resume_template, prompts.resume_template_file",
	    doctor_template },
	{ "Settings", "rules", "scrub.rules, scrub.allow", doctor_scrub_rules },
	{ "Gas Town", "root", "the town that is worked in", doctor_town_root },
	{ "Gas Town", "rigs", "rigs.json, config.json, routes.jsonl", doctor_town_rigs },
	{ "Gas Town", "beads", "where hooked work is kept, and the programs bd and gt", doctor_town_beads },
	{ "Gas Town", "halted", "ESTOP, daemon/shutdown.lock", doctor_town_halt },
	{ STATE, "directory", "owner and rights of the state directory", doctor_state_dir },
	{ STATE, "disk", "its file system and the room there", doctor_state_disk },
	{ STATE, "containers", "records of processes in other containers", doctor_containers },
	{ STATE, "sqlite", "the version of the library", doctor_sqlite },
	{ STATE, "store", "whether it opens; integrity_check and every checksum", doctor_store },
	{ STATE, "backup", "the newest copy of the store, its age, the same checks", doctor_backup },
	{ STATE, "records", "the rules of the ledger", doctor_rules },
	{ STATE, "events", "events.jsonl against the store, line for line", doctor_events },
	{ STATE, "attempts", "recoveries that never ended", doctor_open_attempts },
	{ STATE, "quarantine", "sessions that crashed again and again", doctor_quarantine },
	{ STATE, "prompts", "prompts that nobody took", doctor_prompts },
	{ STATE, "spool", "what hooks could not tell the store yet", doctor_spool },
	{ STATE, "epics", "epics that a crash interrupted", doctor_epics },
	{ STATE, "wip", "refs of work in progress that nobody needs any more", doctor_wip },
	{ STATE, "strangers", "epics that other programs wrote straight into the store",
	    doctor_foreign_keys },
	{ "tmux", "program", "tmux -V, faults of that version", doctor_tmux },
	{ "tmux", "servers", "whether each server answers", doctor_servers },
	{ "tmux", "history", "history-limit of agents' panes against max_context_lines", doctor_history },
	{ "tmux", "armed", "whether agents' panes are kept when they die", doctor_armed },
	{ "tmux", "exposed", "panes of agents that end this version of tmux when somebody looks at them dead",
	    doctor_exposed },
	{ "Agents", "crashed", "agents that were not brought back yet", doctor_crashed },
	{ "Agents", "programs", "the programs of agents that run here, in PATH", doctor_programs },
	{ "Agents", "notes", "each agent's own note of its process", doctor_pid_files },
	{ "Agents", "transcripts", "the transcript of each live agent", doctor_transcripts },
	{ "Agents", "hooks", "our hooks in settings.json, and the program that they call", doctor_hooks },
	{ "Agents", "other-hooks", "the same of other agents: hooks.json, settings.json, plugin",
	    doctor_other_hooks },
	{ "Agents", "retention", "cleanupPeriodDays in settings.json", doctor_retention },
	{ "Snapshots", "files", "owner and rights of the snapshots, room", doctor_snapshot_dir },
	{ "Snapshots", "age", "the newest snapshot of each live agent", doctor_fresh },
	{ "Timer", "installed", "systemd user units, the crontab", doctor_timer_there },
	{ "Timer", "period", "how often it runs against snapshot_interval", doctor_timer_period },
	{ "Timer", "words", "program, sockets and PATH against those of today", doctor_timer_words },
	{ "Timer", "running", "cron daemon, user manager, linger", doctor_timer_runs },
	{ "Timer", "bare", "its command line, run in an empty environment with --dry-run",
	    doctor_timer_bare },
	{ "Timer", "boot", "what runs startup after a reboot: systemd user units, a line @reboot",
	    doctor_timer_boot },
};

#define N_CHECKS (sizeof checks / sizeof checks[0])

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
	for (size_t i = 0; i < N_CHECKS && *w->stop == 0; i++) {
		d->now = &checks[i];
		if (i > 0 && strcmp(checks[i - 1].group, STATE) == 0 && strcmp(checks[i].group, STATE) != 0)
			close_store(d);
		checks[i].look(d);
	}
	close_store(d);
}

void
doctor_refused(struct doctor *d, const struct err *why)
{
	memset(d, 0, sizeof *d);
	for (size_t i = 0; i < N_CHECKS; i++) {
		d->now = &checks[i];
		if (i == 0)
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
