#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "revive/deliver.h"
#include "revive/sight.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/profile.h"
#include "agent/ready.h"
#include "agent/session_file.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "tmux/client.h"
#include "tmux/pane.h"
#include "town/nudge.h"

/* Between the two looks that must agree. */
#define AGREE_MS 200
#define SHOWN_MS 5000
#define SENT_MS 1500

/* Who is pasted to, and what. */
struct delivery {
	struct tmux *t;
	const struct pane *p;
	const struct profile *profile;
	const char *id, *prompt;
	pid_t pid;			/* the pane's, at the last look */
	enum ready now;			/* so, too */
	bool ours;			/* a draft, and it is the prompt alone */
	bool marked;			/* it was pasted into this pane */
	bool over;			/* the pane is dead or gone, of which the caller's next look tells */
};

static int
look(struct delivery *d, struct err *e)
{
	struct sight s;
	int ret = sight_take(d->t, d->p, d->profile, d->id, 0, &s, e);

	d->now = ret == 0 ? s.says : READY_UNKNOWN;
	d->pid = s.pid;
	d->marked = ret == 0 && s.marked;
	d->over = d->over || (ret == 0 && s.over);
	d->ours = d->now == READY_DRAFT && ready_holds(d->profile, s.text.data, s.text.len, d->prompt);
	sight_release(&s);
	return ret;
}

/* What the agent's own note says, where it keeps one; its word against that of the screen means not ready. */
static int
note_agrees(const struct delivery *d, bool *agrees, struct err *e)
{
	struct procs procs = { .n = 0 };
	const struct proc *agent;
	struct session_file note;
	char *dir = NULL;

	*agrees = true;
	if (procs_read(&procs, e) != 0)
		return -1;
	agent = procs_agent(&procs, d->pid, profile_is_process, d->profile);
	if (agent != NULL && strcmp(d->profile->transcript, "claude") == 0)
		dir = session_config_dir_of(agent->pid);
	if (dir != NULL && session_file_below(dir, &procs, d->pid, &note)) {
		*agrees = session_file_idle(&note);
		session_file_release(&note);
	}
	free(dir);
	procs_release(&procs);
	return 0;
}

/* Ready for a paste, or holding ours: twice, and the same each time. */
static int
not_ready(const struct delivery *d, struct err *e)
{
	return err_set(e, GT_UNACKED, "not-ready", "the agent in pane %s was not ready for a paste any more", d->p->id);
}

static int
find_ready(struct delivery *d, struct err *e)
{
	bool agrees = false;

	for (int i = 0; i < 2; i++) {
		if (i > 0)
			clock_sleep_ms(AGREE_MS);
		if (look(d, e) != 0 || note_agrees(d, &agrees, e) != 0)
			return -1;
		if (d->over || !agrees || !(d->marked ? d->ours : d->now == READY_IDLE))
			return not_ready(d, e);
	}
	return 0;
}

/* Until the box holds the prompt, or is empty if `empty`, or the agent is at work; at most ms. */
static int
wait_for(struct delivery *d, bool empty, int ms, struct err *e)
{
	int64_t until = clock_mono_ms() + ms;

	do {
		if (look(d, e) != 0)
			return -1;
		if (d->over || d->now == READY_BUSY || (empty ? d->now == READY_IDLE : d->ours))
			return 0;
		clock_sleep_ms(50);
	} while (clock_mono_ms() < until);
	return 0;
}

/* `and` is one more condition, "1" for none. Our own words all of them: ids of tmux and of the attempt. */
static void
guard(struct buf *out, const struct delivery *d, const char *and)
{
	buf_str(out, "#{&&:#{!=:#{pane_dead},1},#{&&:");
	pane_guard(out, d->p);
	buf_fmt(out, ",%s}}", and);
}

/* Runs `commands` behind leaving copy mode when the guard holds, else `otherwise`. *held: it did, and the pane was there. */
static int
run_guarded(const struct delivery *d, struct batch *b, const char *and, const char *commands, const char *otherwise, bool *held,
    struct err *e)
{
	struct buf condition = BUF_INIT, then = BUF_INIT, no = BUF_INIT;
	const char *out;
	size_t i, n = 0;
	int ret;

	b->mutates = true;
	guard(&condition, d, and);
	buf_fmt(&then, "if-shell -F -t %s '#{pane_in_mode}' 'send-keys -X -t %s cancel' ; %s", d->p->id, d->p->id, commands);
	buf_fmt(&no, "%sdisplay-message -p no", otherwise);
	i = batch_add(b, "if-shell", "-F", "-t", d->p->id, condition.data, then.data, no.data, NULL);
	ret = batch_run(d->t, b, e);
	out = ret == 0 ? batch_out(b, i, &n) : NULL;
	*held = ret == 0 && !batch_failed(b, NULL) && (out == NULL || n < 2 || memcmp(out, "no", 2) != 0);
	buf_release(&condition);
	buf_release(&then);
	buf_release(&no);
	return ret;
}

static int
put_text(const struct delivery *d, struct err *e)
{
	char *commands = xasprintf("set-option -p -t %s %s %s ; paste-buffer -d -p -b %s -t %s", d->p->id, SIGHT_MARK, d->id, d->id,
	    d->p->id);
	char *drop = xasprintf("delete-buffer -b %s ; ", d->id), *fresh = xasprintf("#{!=:#{%s},%s}", SIGHT_MARK, d->id);
	struct batch b;
	bool held = false;
	int ret;

	batch_init(&b);
	batch_add(&b, "set-buffer", "-b", d->id, d->prompt, NULL);
	ret = run_guarded(d, &b, fresh, commands, drop, &held, e);
	batch_release(&b);
	if (ret == 0 && !held) {
		/* where the pane is gone, nothing has deleted it */
		tmux_do(d->t, false, NULL, NULL, "delete-buffer", "-b", d->id, NULL);
		ret = not_ready(d, e);
	}
	free(commands);
	free(drop);
	free(fresh);
	return ret;
}

static int
press_enter(struct delivery *d, bool literal, struct err *e)
{
	char *commands = xasprintf("send-keys -t %s %s", d->p->id, literal ? "-H 0d" : "Enter");
	struct batch b;
	bool held = false;
	int ret;

	batch_init(&b);
	ret = run_guarded(d, &b, "1", commands, "", &held, e);
	batch_release(&b);
	d->over = d->over || (ret == 0 && !held);
	free(commands);
	return ret;
}

/* Its terminal's size may have changed, says this signal; nobody who does not ask for it is disturbed. */
static void
wake(const struct delivery *d)
{
	struct procs procs = { .n = 0 };
	const struct proc *agent;

	if (procs_read(&procs, NULL) != 0)
		return;
	agent = procs_agent(&procs, d->pid, profile_is_process, d->profile);
	if (agent != NULL)
		kill(agent->pid, SIGWINCH);
	procs_release(&procs);
}

static int
paste(struct delivery *d, struct err *e)
{
	if (put_text(d, e) != 0 || wait_for(d, false, SHOWN_MS, e) != 0)
		return -1;
	if (d->over || d->now != READY_IDLE)
		return 0;
	wake(d);
	return wait_for(d, false, SHOWN_MS, e);
}

static int
send_off(struct delivery *d, struct err *e)
{
	for (int tries = 0; d->ours && !d->over && tries < 4; tries++) {
		if (press_enter(d, tries % 2 != 0, e) != 0 || wait_for(d, true, SENT_MS, e) != 0)
			return -1;
	}
	if (!d->ours || d->over)
		return 0;
	err_set(e, GT_UNACKED, "not-submitted", "the prompt was pasted into pane %s, but it was not sent off", d->p->id);
	return err_hint(e, "attach, look at the input box and press Enter yourself");
}

int
deliver_paste(struct world *w, const struct pane *p, const struct profile *profile, const char *id, const char *prompt,
    struct err *e)
{
	struct delivery d = { .t = world_server(w, p->socket), .p = p, .profile = profile, .id = id, .prompt = prompt };
	int lock = nudge_lock(w->town, p->session, NUDGE_WAIT_MS, w->stop, e), ret = -1;

	if (lock == -1)
		return -1;
	if (find_ready(&d, e) == 0 && (d.marked || paste(&d, e) == 0))
		ret = send_off(&d, e);
	nudge_unlock(lock);
	return ret;
}
