#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/app.h"
#include "process/oom.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/utf8.h"
#include "records/records.h"
#include "records/hooks/hooks.h"
#include "records/recovery/recovery.h"
#include "scrub/scrub.h"
#include "store/store.h"
#include "config/config.h"
#include "config/trust.h"
#include "gastown/gastown.h"
#include "beads/beads.h"

static int
make_state(struct app *w, struct err *e)
{
	char *made = town_state_make(w->town, e);

	if (made == NULL)
		return -1;
	free(made);
	return 0;
}

/* "from the backup of TIME (4m old): 30 sound records kept, 1 taken from the backup; lost: 1 (run:7)" */
static void
describe_restored(struct buf *out, const struct store_restored *m)
{
	struct buf at = BUF_INIT, age = BUF_INIT;

	clock_iso(&at, m->backup_at);
	clock_age(&age, clock_wall_ms() - m->backup_at);
	buf_fmt(out, "from the backup of %s (%s old): %zu sound record%s kept, %zu taken from the backup",
	    at.data, age.data, m->kept, m->kept == 1 ? "" : "s", m->restored);
	if (m->lost > 0) {
		buf_fmt(out, "; lost: %zu", m->lost);
		if (m->names[0] != '\0') {
			buf_str(out, " (");
			utf8_escape(out, m->names, strlen(m->names), 0);
			buf_str(out, ")");
		}
	}
	buf_release(&at);
	buf_release(&age);
}

/* What the store lost is told by an event, and by the sentence. */
static void
set_restored(struct app *w, const struct store_restored *m)
{
	char *log = io_join(w->state_dir, EVENT_LOG);
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	size_t events = 0;
	struct event ev = { .kind = "store.restored", .subject = "store" };

	/* a log that does not fit is left for event_export to refuse */
	event_restore(w->store, log, &events, &e);
	describe_restored(&text, m);
	buf_fmt(&text, "; %zu later event%s in the log alone", events, events == 1 ? " is" : "s are");
	ev.text = text.data;
	w->restored = xasprintf("the store was damaged: it was restored %s%s%s. The damaged file is %s",
	    text.data, e.code != 0 ? "; " : "", e.code != 0 ? e.msg : "", m->aside);
	event_commit(w->store, NULL, 0, &ev, NULL);
	buf_release(&text);
	free(log);
}

static struct store *
open_or_mend(struct app *w, bool make, struct err *e)
{
	const char *url = config_text(w->config, "state");
	struct store_restored m;
	int done;

	w->store = store_open(url, w->state_dir, e);
	if (w->store != NULL || !make || strcmp(e->name, "corrupt") != 0)
		return w->store;
	done = store_restore(url, w->state_dir, &m, e);
	if (done >= 0)
		w->store = store_open(url, w->state_dir, e);
	if (done > 0 && w->store != NULL)
		set_restored(w, &m);
	return w->store;
}

/*
 * After trouble with its disk a file system is mounted read-only, and then somebody wants to see what
 * there was. *e: why it cannot be opened for writing; stays so when it cannot be read either, unless
 * that says more.
 */
static struct store *
open_to_read(struct app *w, struct err *e)
{
	char *owner = trust_owner_command(w->state_dir);
	struct err own = ERR_INIT;

	if (owner != NULL && strcmp(e->name, "not-ours") == 0) {
		err_set(e, GT_FAIL, "other-user",
		    "the state directory %s belongs to another user: root does not change it", w->state_dir);
		err_hint(e, "%s", owner);
	}
	free(owner);
	if (strcmp(e->name, "other-user") != 0 && strcmp(e->name, "unwritable") != 0 &&
	    strcmp(e->name, "failed-over") != 0)
		return NULL;
	w->store = store_open_readonly(config_text(w->config, "state"), w->state_dir, &own);
	if (w->store == NULL && strcmp(own.name, "corrupt") == 0)
		*e = own;
	if (w->store != NULL) {
		w->reading = xcalloc(1, sizeof *w->reading);
		*w->reading = *e;
	}
	return w->store;
}

/* What cannot be noted now stays there for the next command. */
static void
replay_spool(struct app *w)
{
	char *spool = io_join(w->state_dir, HOOK_SPOOL);

	hook_spool_replay(w->store, spool, NULL, NULL);
	free(spool);
}

/* One of at least so many bytes. */
static bool
has_file(const struct app *w, const char *name, off_t least)
{
	char *path = io_join(w->state_dir, name);
	struct stat st;
	bool has = stat(path, &st) == 0 && st.st_size >= least;

	free(path);
	return has;
}

struct store *
app_store(struct app *w, bool make, struct err *e)
{
	struct err trouble = ERR_INIT;

	if (w->store != NULL && make && w->reading != NULL) {
		if (e != NULL)
			*e = *w->reading;
		return NULL;
	}
	if (w->store != NULL)
		return w->store;
	if (!make) {
		bool there;

		/* whoever holds it was waited for once; to ask for each agent again would take minutes */
		if (w->store_trouble.code != 0 ||
		    town_state_check(w->town, w->state_dir, &w->store_trouble) != 0) {
			if (e != NULL)
				*e = w->store_trouble;
			return NULL;
		}
		/* hooks may have told before there was a store */
		there = has_file(w, "recover.db", 0) || has_file(w, HOOK_SPOOL, 1);
		if (!there && strcmp(config_text(w->config, "state"), "sqlite") == 0)
			return NULL;
	}
	if (make && make_state(w, e) != 0)
		return NULL;
	if (open_or_mend(w, make, &trouble) == NULL && (make || open_to_read(w, &trouble) == NULL)) {
		w->store_trouble = trouble;
		if (e != NULL)
			*e = trouble;
	} else if (w->reading == NULL) {
		/* for its name: without it others show the id */
		if (make)
			record_fleet_join(w->store, NULL);
		if (!w->look_only && has_file(w, HOOK_SPOOL, 1))
			replay_spool(w);
	}
	return w->store;
}

void
app_close_store(struct app *w)
{
	if (w->store != NULL && w->reading == NULL) {
		store_close(w->store);
		w->store = NULL;
	}
}

char *
app_path(struct app *w, const char *folder, const char *name, bool make, struct err *e)
{
	char *dir = io_join(w->state_dir, folder), *path;

	if (make && (make_state(w, e) != 0 || io_private_dir(dir, e) != 0)) {
		free(dir);
		return NULL;
	}
	path = io_join(dir, name);
	free(dir);
	return path;
}

char *
app_pane_lock(struct app *w, int64_t server_pid, int64_t server_start, const char *pane_id, struct err *e)
{
	char *name = xasprintf("pane-%lld-%lld-%s.lock", (long long)server_pid, (long long)server_start,
	    pane_id + (*pane_id == '%'));
	char *path = app_path(w, "locks", name, true, e);

	free(name);
	return path;
}

/* One pattern a line; blank lines are none. */
static int
allow_lines(struct scrub *s, const char *p, struct err *e)
{
	int ret = 0;

	for (int line = 1; ret == 0 && *p != '\0'; line++) {
		size_t n = strcspn(p, "\r\n");
		char *regex = xstrndup(p, n);

		if (n > 0 && scrub_allow(s, regex, e) != 0)
			ret = err_add(e, "line %d", line);
		free(regex);
		p += n;
		p += *p == '\r';
		p += *p == '\n';
	}
	return ret;
}

struct scrub *
app_scrub(struct app *w, struct err *e)
{
	char *rules = config_path(w->config, "scrub.rules");
	struct scrub *s = scrub_new(rules, e);

	free(rules);
	if (s != NULL && allow_lines(s, config_text(w->config, "scrub.allow"), e) != 0) {
		scrub_free(s);
		return NULL;
	}
	return s;
}

struct bd *
app_bd(struct app *w)
{
	char *port = w->bd == NULL ? town_dolt_port(w->town) : NULL;

	if (w->bd == NULL)
		w->bd = bd_new(port);
	free(port);
	return w->bd;
}

struct oom_log *
app_oom(struct app *w)
{
	if (w->oom == NULL)
		w->oom = xcalloc(1, sizeof *w->oom);
	return w->oom;
}

const struct seen_agent_list *
app_seen(struct app *w)
{
	static const struct seen_agent_list none;
	struct store *s = w->state_dir != NULL && w->seen == NULL ? app_store(w, false, NULL) : NULL;

	if (s != NULL) {
		w->seen = xcalloc(1, sizeof *w->seen);
		seen_agent_list(s, w->seen, NULL);
	}
	return w->seen != NULL ? w->seen : &none;
}

struct tmux *
app_server(struct app *w, const char *socket)
{
	for (size_t i = 0; i < w->n_servers; i++)
		if (strcmp(w->servers[i].socket, socket) == 0)
			return &w->servers[i];
	die("the socket of a pane belongs to no known tmux server");
}
