#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "revive/doctor.h"
#include "revive/hook_plugin.h"
#include "revive/hooks.h"
#include "revive/timer.h"
#include "revive/world.h"
#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "epic/epic.h"
#include "ledger/hook_row.h"
#include "ledger/spool.h"
#include "store/store.h"
#include "tmux/quote.h"
#include "town/config.h"

/* What agents' hooks and orchestrators tell: is it told, does it come in, what did a crash interrupt. */

#define AGAIN "gt-recover install hooks"
#define HOUR_MS ((int64_t)3600000)
#define NAMES 5

/* Do the hooks call this program? */
static bool
calls(const char *command, const char *program)
{
	struct buf words = BUF_INIT;
	bool yes;

	quote_sh(&words, program);
	buf_str(&words, " hook ");
	yes = str_starts(command, words.data);
	buf_release(&words);
	return yes;
}

/* The program that a hook's line calls, heap: what quote_sh made of a path without quotes in it. */
static char *
program_of(const char *command)
{
	bool quoted = *command == '\'';
	const char *from = command + quoted;

	return xstrndup(from, strcspn(from, quoted ? "'" : " "));
}

/* hint: the command that mends it; who: "" or "Codex: ". */
static void
tell_installed(struct doctor *d, const struct hook_row *row, size_t n, const char *command, const char *hint, const char *who)
{
	char *program = program_of(command);

	if (access(program, X_OK) != 0)
		doctor_tell(d, VERDICT_ERROR, hint, "%sthey call %s, which is not there", who, program);
	else if (n < row->n_events)
		doctor_tell(d, VERDICT_WARNING, hint, "%s%zu of %zu are installed", who, n, row->n_events);
	else if (d->today != NULL && !calls(command, d->today->program))
		doctor_tell(d, VERDICT_NOTE, hint, "%sthey call %s; this is %s", who, program, d->today->program);
	else
		doctor_tell(d, VERDICT_OK, NULL, "%sinstalled", who);
	free(program);
}

void
doctor_hooks(struct doctor *d)
{
	const struct hook_row *row = hook_row_find(NULL);
	char *dir = hooks_folder(row), *path, *command = NULL;
	struct err e = ERR_INIT;
	size_t n;

	if (dir == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, "neither CLAUDE_CONFIG_DIR nor HOME says where Claude Code's settings are");
		return;
	}
	path = io_join(dir, row->file);
	if (hooks_look(row, path, &n, &command, &e) != 0)
		doctor_tell_err(d, VERDICT_WARNING, &e);
	else if (n == 0)
		doctor_tell(d, VERDICT_NOTE, AGAIN, "not installed: which file an agent was writing is known by its transcript alone");
	else if (hooks_are_off(path))
		doctor_tell(d, VERDICT_WARNING, "take it out of the settings, or set it to false", "installed, but \"disableAllHooks\" is true in %s",
		    path);
	else
		tell_installed(d, row, n, command, AGAIN, "");
	free(command);
	free(path);
	free(dir);
}

static int
look(const struct hook_row *row, const char *path, size_t *n, char **command, bool *edited, struct err *e)
{
	*edited = false;
	if (row->form != HOOK_PLUGIN)
		return hooks_look(row, path, n, command, e);
	*n = row->n_events;
	return hook_plugin_look(path, command, edited, e);
}

/* True when something was told of it. */
static bool
look_at_other(struct doctor *d, const struct hook_row *row)
{
	const struct profile *p = profiles_find(d->w->profiles, row->agent);
	char *dir = hooks_folder(row), *path = dir != NULL ? io_join(dir, row->file) : NULL, *command = NULL;
	char *hint = xasprintf(AGAIN " --agent %s", row->agent), *who = xasprintf("%s: ", p != NULL ? p->label : row->agent);
	size_t before = d->n, n = 0;
	struct err e = ERR_INIT;
	bool edited;

	if (path == NULL || access(dir, F_OK) != 0)
		;
	else if (look(row, path, &n, &command, &edited, &e) != 0)
		doctor_tell_err(d, VERDICT_WARNING, &e);
	else if (edited)
		doctor_tell(d, VERDICT_NOTE, NULL, "%s%s was changed by hand", who, path);
	else if (command != NULL)
		tell_installed(d, row, n, command, hint, who);
	else
		doctor_tell(d, VERDICT_NOTE, hint, "%snot installed: which file it was writing is known by what it writes down itself alone", who);
	free(command);
	free(hint);
	free(who);
	free(path);
	free(dir);
	return d->n > before;
}

void
doctor_other_hooks(struct doctor *d)
{
	bool any = false;

	for (size_t i = 0; i < hook_rows(); i++)
		if (hook_row_at(i) != hook_row_find(NULL) && look_at_other(d, hook_row_at(i)))
			any = true;
	if (!any)
		doctor_tell(d, VERDICT_SKIPPED, NULL, "no other agent with hooks has settings here");
}

void
doctor_spool(struct doctor *d)
{
	char *path = io_join(d->w->state_dir, SPOOL);
	struct stat st;
	int64_t age;

	if (stat(path, &st) != 0 || st.st_size == 0) {
		doctor_tell(d, VERDICT_OK, NULL, "nothing waits there");
	} else {
		age = clock_wall_ms() - (int64_t)st.st_mtim.tv_sec * 1000;
		doctor_tell(d, age > HOUR_MS ? VERDICT_WARNING : VERDICT_NOTE, "gt-recover session list takes it up, or says why it cannot",
		    "%lld bytes of what hooks told wait for the next command", (long long)st.st_size);
	}
	free(path);
}

void
doctor_epics(struct doctor *d)
{
	struct epics list = { .n = 0 };
	struct buf names = BUF_INIT;
	struct err e = ERR_INIT;
	struct moment now;
	size_t n = 0;

	if (d->store == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, "there is no store that could be read");
		return;
	}
	store_moment(d->store, &now);
	if (epics_read(d->store, NULL, config_ms(d->w->config, "epics.checkpoint_interval"), &now, &list, &e) != 0) {
		doctor_tell_err(d, VERDICT_ERROR, &e);
	} else {
		for (size_t i = 0; i < list.n; i++)
			if (list.v[i].interrupted && n++ < NAMES)
				buf_fmt(&names, "%s%s", n > 1 ? ", " : "", list.v[i].id);
		if (n > NAMES)
			buf_fmt(&names, " and %zu more", n - NAMES);
		if (n > 0)
			doctor_tell(d, VERDICT_NOTE, "gt-recover epic status shows them; epic resume or epic abandon ends that", "interrupted: %s",
			    names.data);
		else
			doctor_tell(d, VERDICT_OK, NULL, "none of %zu open ones was interrupted", list.n);
	}
	epics_release(&list);
	buf_release(&names);
}

/* A record of ours has a version beside it; what was SET at the same keys has none, and is never written over. */
void
doctor_strangers(struct doctor *d)
{
	struct buf names = BUF_INIT;
	struct err e = ERR_INIT;
	json_t *list = d->store != NULL ? epics_strangers(d->store, &e) : NULL;
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n && i < NAMES; i++) {
		const char *id = json_string_value(json_array_get(list, i));

		buf_str(&names, i > 0 ? ", " : "");
		utf8_escape(&names, id, strlen(id), 60);
	}
	if (n > NAMES)
		buf_fmt(&names, " and %zu more", n - NAMES);
	if (d->store == NULL)
		doctor_tell(d, VERDICT_SKIPPED, NULL, "there is no store that could be read");
	else if (list == NULL)
		doctor_tell_err(d, VERDICT_ERROR, &e);
	else if (n == 0)
		doctor_tell(d, VERDICT_OK, NULL, "none");
	else
		doctor_tell(d, VERDICT_WARNING, "give gt-recover another database of the server (state), then take each in: redis-cli GET epic:ID:state"
		    " | gt-recover checkpoint epic ID, and its sprints and agents so, too", "%zu that no command of ours sees: %s", n, names.data);
	json_decref(list);
	buf_release(&names);
}
