#include <stdlib.h>
#include <string.h>

#include "revive/verify.h"
#include "revive/sight.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/profile.h"
#include "agent/ready.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "base/err.h"
#include "context/screen.h"
#include "context/trail.h"
#include "context/transcript_find.h"
#include "context/transcript_place.h"
#include "tmux/pane.h"

/* A prompt that was taken has long scrolled off the screen when the agent is idle again. */
#define HISTORY_ROWS 2000

static enum state
state_of_note(const struct session_file *s)
{
	if (session_file_idle(s))
		return STATE_IDLE;
	if (strcmp(s->status, "waiting") == 0)
		return STATE_DIALOG;
	return STATE_BUSY;
}

static enum state
state_of_screen(enum ready r)
{
	static const enum state states[] = {
		[READY_UNKNOWN] = STATE_STARTING, [READY_IDLE] = STATE_IDLE, [READY_DRAFT] = STATE_DRAFT, [READY_BUSY] = STATE_BUSY,
		[READY_DIALOG] = STATE_DIALOG,
	};

	return states[r];
}

static void
look_at_records(pid_t agent, const struct procs *procs, const struct pane *p, const char *id, int64_t since_ms, struct look *out)
{
	char *dir = session_config_dir_of(agent), *cwd = proc_cwd(agent);
	struct session_file note;

	if (dir == NULL || cwd == NULL)
		goto out;
	if (session_file_below(dir, procs, p->pid, &note)) {
		out->transcript = transcript_path(dir, note.cwd, note.session_id);
		if (out->transcript != NULL &&
		    (transcript_ack(out->transcript, "claude", id, &out->ack, NULL) != 0 || out->ack == ACK_NONE)) {
			free(out->transcript);
			out->transcript = NULL;
		}
		if (*note.status != '\0') {
			out->state = state_of_note(&note);
			out->dialog = out->state == STATE_DIALOG ? "a dialog" : NULL;
			out->by_note = true;
		}
		session_file_release(&note);
	}
	if (out->transcript == NULL)
		transcript_search(dir, cwd, id, since_ms, &out->ack, &out->transcript);
out:
	free(dir);
	free(cwd);
}

/* A variable of the agent's process, or ours where its environment may not be read. */
static char *
variable_of(const void *pid, const char *name)
{
	size_t n;
	char *block = proc_environ(*(const pid_t *)pid, &n), *copy;
	const char *value = block != NULL ? environ_get(block, n, name) : getenv(name);

	copy = value != NULL ? xstrdup(value) : NULL;
	if (block != NULL)
		explicit_bzero(block, n);
	free(block);
	return copy;
}

static void
look_at_sessions(pid_t agent, const struct profile *p, const char *id, int64_t since_ms, struct look *out)
{
	char *folder = profile_folder(p, variable_of, &agent);

	if (folder != NULL)
		trail_search(p->transcript, folder, id, since_ms, &out->ack, &out->transcript);
	free(folder);
}

/*
 * Both must agree that the agent waits: the note knows nothing of drafts, of the transcript view and of the Rewind menu (2.1.197 calls itself
 * idle in both), and the screen may be older than the note.
 */
static void
join(struct look *out, const struct sight *s)
{
	enum state seen = state_of_screen(s->says);

	if (seen == STATE_DIALOG) {
		out->dialog = s->dialog;
	} else if (out->by_note && out->state == STATE_IDLE && seen == STATE_STARTING) {
		seen = STATE_DIALOG;
		out->dialog = "something that hides its input box";
	} else if (out->by_note && out->state != STATE_IDLE) {
		return;
	}
	out->state = seen;
}

static int
look_at_screen(struct tmux *t, const struct pane *p, const struct profile *profile, const char *id, struct look *out, struct err *e)
{
	struct sight s;
	int ret = sight_take(t, p, profile, id, HISTORY_ROWS, &s, e);

	if (ret == 0 && s.over) {
		/* it was alive when it was listed: the next look says for certain */
		out->state = STATE_STARTING;
	} else if (ret == 0) {
		out->id_on_screen = memmem(s.text.data, s.text.len, id, strlen(id)) != NULL;
		out->login = screen_shows_login(s.text.data, s.text.len, profile->dialect);
		out->marked = s.marked;
		join(out, &s);
	}
	sight_release(&s);
	return ret;
}

int
verify_look(struct world *w, const struct pane *was, const struct profile *p, const char *recovery_id, int64_t since_ms,
    struct look *out, struct err *e)
{
	struct tmux *t = world_server(w, was->socket);
	struct pane now = { .pid = 0 };
	struct procs procs = { .n = 0 };
	const struct proc *agent;
	int ret = 0;

	memset(out, 0, sizeof *out);
	out->state = STATE_STARTING;
	if (pane_again(t, was, &now, e) != 0) {
		if (strcmp(e->name, "gone") != 0 && strcmp(e->name, "no-server") != 0 && strcmp(e->name, "server-lost") != 0)
			return -1;
		err_clear(e);
		out->state = STATE_GONE;
		return 0;
	}
	if (now.dead) {
		out->state = STATE_DIED;
		out->status = now.dead_status;
		out->signal = now.dead_signal;
	} else if ((ret = procs_read(&procs, e)) == 0) {
		agent = procs_agent(&procs, now.pid, profiles_is_process, w->profiles);
		out->agent = agent != NULL ? agent->pid : 0;
		out->shell_back = agent == NULL && procs_idle_shell(&procs, now.pid);
		if (agent != NULL && strcmp(p->transcript, "claude") == 0)
			look_at_records(agent->pid, &procs, &now, recovery_id, since_ms, out);
		else if (agent != NULL && strcmp(p->transcript, "none") != 0)
			look_at_sessions(agent->pid, p, recovery_id, since_ms, out);
		if (agent != NULL)
			ret = look_at_screen(t, &now, p, recovery_id, out, e);
	}
	procs_release(&procs);
	pane_release(&now);
	return ret;
}

void
look_release(struct look *l)
{
	free(l->transcript);
	memset(l, 0, sizeof *l);
}
