#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "revive/doctor.h"
#include "revive/hooks.h"
#include "revive/timer.h"
#include "revive/world.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "epic/epic.h"
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

static void
tell_installed(struct doctor *d, size_t n, const char *command)
{
	char *program = program_of(command);

	if (access(program, X_OK) != 0)
		doctor_tell(d, VERDICT_ERROR, AGAIN, "they call %s, which is not there", program);
	else if (n < HOOKS)
		doctor_tell(d, VERDICT_WARNING, AGAIN, "%zu of %d are installed", n, HOOKS);
	else if (d->today != NULL && !calls(command, d->today->program))
		doctor_tell(d, VERDICT_NOTE, AGAIN, "they call %s; this is %s", program, d->today->program);
	else
		doctor_tell(d, VERDICT_OK, NULL, "installed");
	free(program);
}

void
doctor_hooks(struct doctor *d)
{
	char *dir = session_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME")), *path, *command = NULL;
	struct err e = ERR_INIT;
	size_t n;

	if (dir == NULL) {
		doctor_tell(d, VERDICT_SKIPPED, NULL, "neither CLAUDE_CONFIG_DIR nor HOME says where Claude Code's settings are");
		return;
	}
	path = io_join(dir, "settings.json");
	if (hooks_look(path, &n, &command, &e) != 0)
		doctor_tell_err(d, VERDICT_WARNING, &e);
	else if (n == 0)
		doctor_tell(d, VERDICT_NOTE, AGAIN, "not installed: which file an agent was writing is known by its transcript alone");
	else if (hooks_are_off(path))
		doctor_tell(d, VERDICT_WARNING, "take it out of the settings, or set it to false", "installed, but \"disableAllHooks\" is true in %s",
		    path);
	else
		tell_installed(d, n, command);
	free(command);
	free(path);
	free(dir);
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
