#include <stdlib.h>
#include <string.h>

#include "revive/verify.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/profile.h"
#include "agent/ready.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "base/err.h"
#include "context/screen.h"
#include "context/transcript_find.h"
#include "tmux/pane.h"

static enum state
state_of_note(const struct session_file *s)
{
	if (strcmp(s->status, "idle") == 0)
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

/* Where the agent keeps its records, by its own environment: it may have another HOME than we. */
static char *
config_dir_of(pid_t agent)
{
	size_t n = 0;
	char *block = proc_environ(agent, &n), *dir;

	if (block == NULL)
		return session_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	dir = session_config_dir(environ_get(block, n, "CLAUDE_CONFIG_DIR"), environ_get(block, n, "HOME"));
	explicit_bzero(block, n);
	free(block);
	return dir;
}

static void
look_at_records(pid_t agent, const struct procs *procs, const struct pane *p, const char *id, int64_t since_ms, struct look *out)
{
	char *dir = config_dir_of(agent), *cwd = proc_cwd(agent);
	struct session_file note;
	bool noted = false;

	if (dir == NULL || cwd == NULL)
		goto out;
	/* the note is the real process's; a shim may stand above it */
	for (size_t i = 0; i < procs->n && !noted; i++)
		if (procs_below(procs, procs->v[i].pid, p->pid) && session_file_read(dir, procs->v[i].pid, &note)) {
			noted = note.start == 0 || note.start == procs->v[i].start;
			if (!noted)
				session_file_release(&note);
		}
	if (noted) {
		out->transcript = transcript_path(dir, note.cwd, note.session_id);
		if (out->transcript != NULL && (transcript_ack(out->transcript, id, &out->ack, NULL) != 0 || out->ack == ACK_NONE)) {
			free(out->transcript);
			out->transcript = NULL;
		}
		if (*note.status != '\0') {
			out->state = state_of_note(&note);
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

/* The screen is the last word on dialogs and drafts: "idle" in the note can be older than what a person sees. */
static int
look_at_screen(struct tmux *t, const struct pane *p, const struct profile *profile, const char *id, struct look *out, struct err *e)
{
	struct buf text = BUF_INIT;
	enum state seen;

	/* scrollback too: a prompt that was taken has long scrolled off the screen when the agent is idle again */
	if (tmux_do(t, false, &text, e, "capture-pane", "-p", "-t", p->id, "-S", "-2000", NULL) != 0) {
		buf_wipe(&text);
		/* the pane may have vanished since it was listed: the next look says so for certain */
		if (strcmp(e->name, "tmux") != 0)
			return -1;
		err_clear(e);
		out->state = STATE_STARTING;
		return 0;
	}
	out->id_on_screen = memmem(text.data, text.len, id, strlen(id)) != NULL;
	out->login = screen_shows_login(text.data, text.len, profile->dialect);
	seen = state_of_screen(ready_screen(profile, text.data, text.len));
	if (!out->by_note || seen == STATE_DIALOG || (out->state == STATE_IDLE && seen != STATE_STARTING))
		out->state = seen;
	buf_wipe(&text);
	return 0;
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
