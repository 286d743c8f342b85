#include <stdlib.h>
#include <string.h>

#include "recover/recover_private.h"
#include "app/app.h"
#include "process/proc.h"
#include "screen/screen.h"

/* A prompt that was taken has long scrolled off the screen when the agent is idle again. */
#define HISTORY_ROWS 2000

static enum probe_state
state_of_note(const struct agent_pid_file *s)
{
	if (agent_pid_file_is_idle(s))
		return PROBE_IDLE;
	if (strcmp(s->status, "waiting") == 0)
		return PROBE_DIALOG;
	return PROBE_BUSY;
}

static enum probe_state
state_of_screen(enum readiness r)
{
	static const enum probe_state states[] = {
		[READY_UNKNOWN] = PROBE_STARTING, [READY_IDLE] = PROBE_IDLE,
		[READY_DRAFT] = PROBE_DRAFT, [READY_BUSY] = PROBE_BUSY,
		[READY_DIALOG] = PROBE_DIALOG,
	};

	return states[r];
}

static void
look_at_records(pid_t agent, const char *format, const struct procs *procs, const struct pane *p,
    const char *id, int64_t since_ms, struct agent_probe *out)
{
	char *dir = agent_config_dir_of_pid(agent), *cwd = locate_place(dir, agent);
	struct agent_pid_file note;

	if (cwd == NULL && *p->path != '\0')
		cwd = xstrdup(p->path);
	if (dir == NULL || cwd == NULL)
		goto out;
	if (agent_pid_file_below(dir, procs, p->pid, &note)) {
		out->transcript = transcript_path(dir, note.cwd, note.session_id);
		out->own = out->transcript != NULL ? xstrdup(out->transcript) : NULL;
		if (out->transcript != NULL &&
		    (transcript_ack(out->transcript, format, id, &out->ack, NULL) != 0 ||
			out->ack == ACK_NONE)) {
			free(out->transcript);
			out->transcript = NULL;
		}
		if (*note.status != '\0') {
			out->state = state_of_note(&note);
			out->dialog = out->state == PROBE_DIALOG ? "a dialog" : NULL;
			out->by_note = true;
		}
		agent_pid_file_release(&note);
	}
	if (out->transcript == NULL)
		locate_ack(format, dir, cwd, id, since_ms, &out->ack, &out->transcript);
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
	const char *value = block != NULL ? proc_environ_get(block, n, name) : getenv(name);

	copy = value != NULL ? xstrdup(value) : NULL;
	if (block != NULL)
		explicit_bzero(block, n);
	free(block);
	return copy;
}

static void
look_at_sessions(
    pid_t agent, const struct profile *p, const char *id, int64_t since_ms, struct agent_probe *out)
{
	char *folder = profile_folder(p, variable_of, &agent);

	if (folder != NULL)
		locate_ack(p->transcript, folder, NULL, id, since_ms, &out->ack, &out->transcript);
	free(folder);
}

/*
 * Both must agree that the agent waits: the note knows nothing of drafts, of the transcript view
 * and of the Rewind menu (2.1.197 calls itself idle in both), and the screen may be older than
 * the note.
 */
static void
combine_states(struct agent_probe *out, const struct live_screen *s)
{
	enum probe_state seen = state_of_screen(s->says);

	if (seen == PROBE_DIALOG) {
		out->dialog = s->dialog;
	} else if (out->by_note && out->state == PROBE_IDLE && seen == PROBE_STARTING) {
		seen = PROBE_DIALOG;
		out->dialog = "something that covers its input box";
	} else if (out->by_note && out->state != PROBE_IDLE) {
		return;
	}
	out->state = seen;
}

/*
 * A reset (pane_reset) moves the dead agent's last screen into the history, with tmux's row "Pane
 * is dead" below it: what the new agent wrote begins behind that row. 0 where the first n bytes
 * hold none.
 */
static size_t
behind_death(const char *text, size_t n)
{
	static const char row[] = "Pane is dead (";
	size_t from = 0;

	for (size_t at = 0; at < n;) {
		const char *nl = memchr(text + at, '\n', n - at);
		size_t next = nl != NULL ? (size_t)(nl - text) + 1 : n;

		if (next - at >= sizeof row && memcmp(text + at, row, sizeof row - 1) == 0)
			from = next;
		at = next;
	}
	return from;
}

/* Does the id stand anywhere but behind the word of a start inside a shell (shell/start.h)? */
static bool
shows_prompt(const char *text, size_t n, const char *id)
{
	static const char word[] = "start";
	const char *end = text + n, *hit = text;

	while ((hit = memmem(hit, (size_t)(end - hit), id, strlen(id))) != NULL) {
		const char *before = hit;

		while (before > text && strchr(" \r\n", before[-1]) != NULL)
			before--;
		if (before - text < (ptrdiff_t)sizeof word - 1 ||
		    memcmp(before - (sizeof word - 1), word, sizeof word - 1) != 0)
			return true;
		hit += strlen(id);
	}
	return false;
}

static int
look_at_screen(struct tmux *t, const struct pane *p, const struct profile *profile, const char *id,
    struct agent_probe *out, struct err *e)
{
	struct live_screen s;
	int ret = agent_screen_read(t, p, profile, id, HISTORY_ROWS, &s, e);

	if (ret == 0 && s.over) {
		/* it was alive when it was listed: the next look says for certain */
		out->state = PROBE_STARTING;
	} else if (ret == 0) {
		size_t from = p->reset_pid > 0 ? behind_death(s.text.data, s.screen) : 0;

		out->id_on_screen = memmem(s.text.data, s.text.len, id, strlen(id)) != NULL;
		out->told_on_screen = shows_prompt(s.text.data, s.text.len, id);
		out->login = screen_shows_login(s.text.data + from, s.text.len - from, profile->grammar);
		out->marked = s.marked;
		combine_states(out, &s);
	}
	agent_screen_release(&s);
	return ret;
}

int
recovery_probe(struct app *w, const struct pane *was, const struct profile *p, const char *recovery_id,
    int64_t since_ms, struct agent_probe *out, struct err *e)
{
	struct tmux *t = app_server(w, was->socket);
	struct pane now = { .pid = 0 };
	struct procs procs = { .n = 0 };
	const struct proc *agent;
	int ret = 0;

	memset(out, 0, sizeof *out);
	out->state = PROBE_STARTING;
	if (pane_reread(t, was, &now, e) != 0) {
		if (strcmp(e->name, "gone") != 0 && strcmp(e->name, "no-server") != 0 &&
		    strcmp(e->name, "server-lost") != 0)
			return -1;
		err_clear(e);
		out->state = PROBE_GONE;
		return 0;
	}
	if (now.dead) {
		out->state = PROBE_DIED;
		out->status = now.dead_status;
		out->signal = now.dead_signal;
	} else if ((ret = proc_list(&procs, e)) == 0) {
		agent = proc_list_agent(&procs, now.pid, profile_list_has_process, w->profiles);
		out->agent = agent != NULL ? agent->pid : 0;
		out->shell_back = agent == NULL && proc_list_waiting_shell(&procs, now.pid) != 0;
		if (agent != NULL && transcript_has_pid_files(p->transcript))
			look_at_records(agent->pid, p->transcript, &procs, &now, recovery_id, since_ms, out);
		else if (agent != NULL && strcmp(p->transcript, "none") != 0)
			look_at_sessions(agent->pid, p, recovery_id, since_ms, out);
		if (agent != NULL)
			ret = look_at_screen(t, &now, p, recovery_id, out, e);
	}
	proc_list_release(&procs);
	pane_release(&now);
	return ret;
}

void
recovery_probe_release(struct agent_probe *l)
{
	free(l->transcript);
	free(l->own);
	memset(l, 0, sizeof *l);
}
