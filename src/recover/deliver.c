#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recover/recover_private.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/fault.h"
#include "config/config.h"
#include "conversation/conversation.h"
#include "detect/detect.h"
#include "gastown/gastown.h"
#include "process/proc.h"
#include "scrub/scrub.h"
#include "transcript/transcript.h"

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
	enum readiness now;			/* so, too */
	bool ours;			/* a draft, and it is the prompt alone */
	bool marked;			/* it was pasted into this pane */
	bool over;			/* the pane is dead or gone, of which the caller's next look tells */
};

static int
look_at_box(struct delivery *d, struct err *e)
{
	struct live_screen s;
	int ret = agent_screen_read(d->t, d->p, d->profile, d->id, 0, &s, e);

	d->now = ret == 0 ? s.says : READY_UNKNOWN;
	d->pid = s.pid;
	d->marked = ret == 0 && s.marked;
	d->over = d->over || (ret == 0 && s.over);
	d->ours = d->now == READY_DRAFT && agent_box_holds(d->profile, s.text.data, s.text.len, d->prompt);
	agent_screen_release(&s);
	return ret;
}

/* What the agent's own note says, where it keeps one; its word against that of the screen means not ready. */
static int
note_agrees(const struct delivery *d, bool *agrees, struct err *e)
{
	struct procs procs = { .n = 0 };
	const struct proc *agent;
	struct agent_pid_file note;
	char *dir = NULL;

	*agrees = true;
	if (proc_list(&procs, e) != 0)
		return -1;
	agent = proc_list_agent(&procs, d->pid, profile_is_process, d->profile);
	if (agent != NULL && transcript_has_pid_files(d->profile->transcript))
		dir = agent_config_dir_of_pid(agent->pid);
	if (dir != NULL && agent_pid_file_below(dir, &procs, d->pid, &note)) {
		*agrees = agent_pid_file_is_idle(&note);
		agent_pid_file_release(&note);
	}
	free(dir);
	proc_list_release(&procs);
	return 0;
}

/* Ready for a paste, or holding ours: twice, and the same each time. */
static int
not_ready(const struct delivery *d, struct err *e)
{
	return err_set(
	    e, GT_UNACKED, "not-ready", "the agent in pane %s is no longer ready for a paste", d->p->id);
}

static int
find_ready(struct delivery *d, struct err *e)
{
	bool agrees = false;

	for (int i = 0; i < 2; i++) {
		if (i > 0)
			clock_sleep_ms(AGREE_MS);
		if (look_at_box(d, e) != 0 || note_agrees(d, &agrees, e) != 0)
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
		if (look_at_box(d, e) != 0)
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

/*
 * Runs `commands` behind leaving copy mode when the guard holds, else `otherwise`. *held: it did,
 * and the pane was there.
 */
static int
run_guarded(const struct delivery *d, struct tmux_batch *b, const char *and, const char *commands,
    const char *otherwise, bool *held, struct err *e)
{
	struct buf condition = BUF_INIT, then = BUF_INIT, no = BUF_INIT;
	const char *out;
	size_t i, n = 0;
	int ret;

	b->mutates = true;
	guard(&condition, d, and);
	buf_fmt(&then, "if-shell -F -t %s '#{pane_in_mode}' 'send-keys -X -t %s cancel' ; %s", d->p->id,
	    d->p->id, commands);
	buf_fmt(&no, "%sdisplay-message -p no", otherwise);
	i = tmux_batch_add(b, "if-shell", "-F", "-t", d->p->id, condition.data, then.data, no.data, NULL);
	ret = tmux_batch_run(d->t, b, e);
	out = ret == 0 ? tmux_batch_output(b, i, &n) : NULL;
	*held =
	    ret == 0 && !tmux_batch_failed(b, NULL) && (out == NULL || n < 2 || memcmp(out, "no", 2) != 0);
	buf_release(&condition);
	buf_release(&then);
	buf_release(&no);
	return ret;
}

static int
put_text(const struct delivery *d, struct err *e)
{
	char *commands = xasprintf("set-option -p -t %s %s %s ; paste-buffer -d -p -b %s -t %s", d->p->id,
	    PASTE_MARK, d->id, d->id, d->p->id);
	char *drop = xasprintf("delete-buffer -b %s ; ", d->id),
	     *fresh = xasprintf("#{!=:#{%s},%s}", PASTE_MARK, d->id);
	struct tmux_batch b;
	bool held = false;
	int ret;

	tmux_batch_init(&b);
	tmux_batch_add(&b, "set-buffer", "-b", d->id, d->prompt, NULL);
	ret = run_guarded(d, &b, fresh, commands, drop, &held, e);
	tmux_batch_release(&b);
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
	struct tmux_batch b;
	bool held = false;
	int ret;

	tmux_batch_init(&b);
	ret = run_guarded(d, &b, "1", commands, "", &held, e);
	tmux_batch_release(&b);
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

	if (proc_list(&procs, NULL) != 0)
		return;
	agent = proc_list_agent(&procs, d->pid, profile_is_process, d->profile);
	if (agent != NULL)
		kill(agent->pid, SIGWINCH);
	proc_list_release(&procs);
}

static int
paste_prompt(struct delivery *d, struct err *e)
{
	if (put_text(d, e) != 0 || wait_for(d, false, fault_wait_ms("GT_SHOWN_MS", SHOWN_MS), e) != 0)
		return -1;
	if (d->over || d->now != READY_IDLE)
		return 0;
	wake(d);
	return wait_for(d, false, fault_wait_ms("GT_SHOWN_MS", SHOWN_MS), e);
}

static int
send_off(struct delivery *d, struct err *e)
{
	for (int tries = 0; d->ours && !d->over && tries < 4; tries++) {
		if (press_enter(d, tries % 2 != 0, e) != 0 ||
		    wait_for(d, true, fault_wait_ms("GT_SENT_MS", SENT_MS), e) != 0)
			return -1;
	}
	if (!d->ours || d->over)
		return 0;
	err_set(e, GT_UNACKED, "not-submitted", "the prompt was pasted into pane %s, but not submitted",
	    d->p->id);
	return err_hint(e, "attach, check the input box and press Enter");
}

/*
 * Naming the session lifts it. A pane that cannot be read is no obstacle here: nothing can be
 * pasted into it either, and the next look tells why.
 */
static int
check_quiet(struct recovery *r, struct err *e)
{
	struct refusal no = recovery_typing();
	struct pane now = { .pid = 0 };

	if (r->named)
		return 0;
	if (pane_reread(app_server(r->w, r->pane->socket), r->pane, &now, e) != 0) {
		err_clear(e);
		return 0;
	}
	r->typed = now.typed;
	pane_release(&now);
	return recovery_typed_since_start(&r->attempt, r->typed) ? recovery_refuse(&no, e) : 0;
}

/*
 * One paste of the prompt into a living, idle agent, and the Enter that sends it. The caller has
 * looked (recovery_probe) and has committed that it pastes.
 *
 * Gas Town's nudge lock is held from the first look to the last, so that nobody of the town types
 * in between. Two looks must agree that the agent waits with an empty box: its own note, where it
 * keeps one, and its screen. The text goes into a buffer of its own and from there as one
 * bracketed paste. The batch that pastes is guarded by tmux itself: the pane lives (paste-buffer
 * to a dead one crashes tmux 3.3a with every session in it, T37), the server is the same, and
 * this id was not pasted into it yet; in one breath with the paste the pane is marked with the id
 * (PASTE_MARK). So of two that are late to paste the same prompt one does, and where the mark is
 * missing nothing arrived. Copy mode is left first, it eats keys (T14).
 *
 * Enter follows only when the input box holds the paste, the paste alone, and no dialog is open:
 * an Enter sent blind accepts whatever is there, and a person may have typed in the same moment.
 * It carries the same guard. When it does not take the text out of the box, a literal CR is tried
 * (tmux 3.7b, T34). A paste that does not show within five seconds: the agent is sent SIGWINCH,
 * which wakes one that does not read its terminal while nobody looks at it, as Gas Town tells of
 * Claude Code; it changes nothing else.
 *
 * A box that holds this paste already, unsent, because an earlier run ended in between, only gets
 * its Enter.
 *
 * 0: it was typed, and the next look tells what became of it: it was sent off, the pane died, the
 * agent went to work before the Enter, a person's text stands beside it, or it did not show yet.
 * In the last three cases the box is looked at again, and the function called again. -1, nothing
 * was typed: name "not-ready" (also when the pane died, another run was faster, or what stands in
 * the box is not this paste alone), PLAN_TYPING (GT_REFUSED), "nudge-busy" and "interrupted"
 * (GT_AGAIN), "nudge-lock". -1, name "not-submitted": Enter does not take it out of the box.
 */
static int
recovery_paste(struct recovery *r, const char *prompt, struct err *e)
{
	struct app *w = r->w;
	struct delivery d = { .t = app_server(w, r->pane->socket),
		.p = r->pane,
		.profile = r->c->profile,
		.id = r->attempt.id,
		.prompt = prompt };
	int lock = nudge_lock(w->town, r->pane->session, NUDGE_WAIT_MS, w->stop, e), ret = -1;

	if (lock == -1)
		return -1;
	/* the lock may have been waited for */
	if (find_ready(&d, e) == 0 && check_quiet(r, e) == 0 && (d.marked || paste_prompt(&d, e) == 0))
		ret = send_off(&d, e);
	nudge_unlock(lock);
	return ret;
}

/* How long an agent must sit idle without our prompt before we believe that its start command ate it. */
#define EATEN_MS 8000
/* How long an agent that keeps no record is watched after the prompt was taken. */
#define NO_RECORD_MS 10000
#define LOOK_MS 200
/* Between two tries to send off what stands in the box. */
#define AGAIN_MS 1000
/* How long a shell must stand idle where the agent should be. */
#define SHELL_BACK_MS 3000

void
recovery_report(struct recovery *r, enum recovery_progress what)
{
	if (r->report != NULL)
		r->report(r, what, r->arg);
}

void
recovery_reset_option(struct recovery *r, struct attempt *a)
{
	if (a->remain_on_exit != NULL &&
	    respawn_restore_option(app_server(r->w, r->pane->socket), r->pane, a->remain_on_exit, NULL) == 0)
		record_set(&a->remain_on_exit, NULL);
}

/* What the waiting loop remembers between looks. */
struct wait {
	int64_t begun, told;		/* monotonic ms */
	int64_t idle_since;		/* 0: not idle at the last look */
	int64_t up_since;		/* 0: not ready or busy yet */
	int64_t shell_since;		/* 0: no idle shell stands in the agent's place */
	int64_t retry_at;		/* no paste before */
	/* 0: neither text nor a dialog kept the prompt out at the last look */
	int64_t blocked_since;
};

int
recovery_interrupted(struct err *e)
{
	err_set(e, GT_AGAIN, "interrupted", "interrupted while waiting for the agent");
	return err_hint(e,
	    "nothing is lost: run gt-recover for this session again; it delivers nothing twice");
}

/* As `claude -p` does. */
static int
answered_and_ended(struct recovery *r, struct err *e)
{
	err_clear(e);
	recovery_report(r, PROGRESS_RESUMING);
	return 1;
}

/* 1: it answered and ended with status 0; -1. */
static int
agent_died(struct recovery *r, const struct agent_probe *l, struct err *e)
{
	err_set(e, GT_FAIL, "died", "%s crashed again right after its start (%s %d)", r->c->profile->label,
	    l->signal > 0 ? "signal" : "status", l->signal > 0 ? l->signal : l->status);
	r->attempt.was_dead = true;
	recovery_finish_judged(r->w, &r->attempt, r->c->config_dir, e->msg, NULL);
	if (r->attempt.phase == PHASE_ACKNOWLEDGED && l->status == 0 && l->signal <= 0)
		return answered_and_ended(r, e);
	if (r->attempt.phase == PHASE_ACKNOWLEDGED)
		err_set(e, GT_FAIL, "died", "%s answered its prompt and crashed again",
		    r->c->profile->label);
	else if (r->attempt.via != NULL && strcmp(r->attempt.via, "resume") == 0)
		return err_hint(e,
		    "the pane may show the reason; the next recovery starts a new conversation with the "
		    "full context");
	return err_hint(
	    e, "its context is kept for the next recovery; the pane may show the reason");
}

/* A zombie's shell comes back when the agent's command ends, here at once. 1: it had answered; -1. */
static int
agent_ended(struct recovery *r, struct err *e)
{
	err_set(e, GT_FAIL, "died", "the start command of %s ended at once; the pane is back at its shell",
	    r->c->profile->label);
	recovery_reset_option(r, &r->attempt);
	recovery_finish_judged(r->w, &r->attempt, r->c->config_dir, e->msg, NULL);
	if (r->attempt.phase == PHASE_ACKNOWLEDGED)
		return answered_and_ended(r, e);
	return err_hint(e,
	    "the pane may show the reason; the command is from [recovery.agents.%s] or from the pane",
	    r->c->profile->name);
}

static int
not_logged_in(const struct recovery *r, struct err *e)
{
	err_set(e, GT_UNACKED, "login", "%s is running, but not logged in", r->c->profile->label);
	return err_hint(
	    e, "log in and ask it to continue, or end it and run gt-recover for this session again");
}

static int
timed_out(struct recovery *r, const struct agent_probe *l, struct err *e)
{
	const char *who = r->c->profile->label;

	if (l->login)
		return not_logged_in(r, e);
	if (l->state == PROBE_DIALOG) {
		err_set(e, GT_UNACKED, "dialog", "%s shows %s: answer or close it first", who,
		    l->dialog);
		return err_hint(e, "attach and answer it; then run gt-recover for this session again");
	}
	if (l->state == PROBE_DRAFT && l->marked) {
		err_set(
		    e, GT_UNACKED, "not-submitted", "the prompt is in the input box of "
		        "%s, not submitted", who);
		return err_hint(
		    e, "attach, check the input box for other text, and press Enter");
	}
	if (l->state == PROBE_DRAFT) {
		err_set(e, GT_UNACKED, "draft", "the input box of %s has unsent text", who);
		return err_hint(e, "submit or clear it; then run gt-recover for this session again");
	}
	if (l->state == PROBE_STARTING) {
		err_set(e, GT_FAIL, "not-ready", "%s did not become ready in time", who);
		return err_hint(e, "check the pane; ready_timeout in gt.toml sets the time limit");
	}
	err_set(e, GT_UNACKED, "unacknowledged", "%s did not acknowledge the prompt in time", who);
	if (l->state == PROBE_IDLE && l->marked && l->ack == ACK_NONE)
		return err_hint(e,
		    "the prompt was submitted; if the agent did not receive it, run gt-recover records "
		    "release for this session, end the agent and recover it again");
	return err_hint(
	    e, "run gt-recover for this session again; it delivers nothing twice");
}

static int
acknowledged(struct recovery *r, const struct agent_probe *l, const char *proof, struct err *e)
{
	record_set(&r->attempt.proof, proof);
	record_set(&r->attempt.transcript, l->transcript);
	r->attempt.new_pid = l->agent;
	recovery_reset_option(r, &r->attempt);
	if (recovery_finish_acked(r->w, &r->attempt, e) != 0)
		return -1;
	if (!r->c->viewer)
		recovery_report(r, PROGRESS_RESUMING);
	return 0;
}

static int
delivered(struct recovery *r, const struct agent_probe *l, struct err *e)
{
	if (r->injected)
		return 0;
	r->injected = true;
	r->attempt.new_pid = l->agent;
	if (r->attempt.phase < PHASE_DELIVERED &&
	    attempt_advance(r->store, &r->attempt, PHASE_DELIVERED, e) != 0)
		return -1;
	recovery_report(r, PROGRESS_INJECTED);
	return 0;
}

static bool
prompt_consumed(const struct recovery *r)
{
	return r->prompt_path == NULL || access(r->prompt_path, F_OK) != 0;
}

/*
 * The agent sits there, idle, and its record does not know our prompt; or our prompt stands in
 * its box, unsent (recover_private.h tells it from a person's text). That a paste was committed says
 * nothing: the mark on the pane does. Where there is no record nothing tells a prompt that was
 * eaten from one that was taken and answered: then rather not told than told twice.
 */
static bool
must_paste(const struct recovery *r, const struct agent_probe *l, const struct wait *t, int64_t now)
{
	bool first = strcmp(r->attempt.delivery, "paste") == 0;
	bool eaten = !l->id_on_screen && strcmp(r->c->profile->transcript, "none") != 0;

	if (l->ack != ACK_NONE || !prompt_consumed(r) || !profile_delivers(r->c->profile, DELIVER_PASTE))
		return false;
	if (l->marked)
		return l->state == PROBE_DRAFT && now >= t->retry_at;
	return l->state == PROBE_IDLE && (first || eaten) && t->idle_since != 0 &&
	    now - t->idle_since >= (first ? LOOK_MS : fault_wait_ms("GT_EATEN_MS", EATEN_MS));
}

static int
note_paste(struct recovery *r, bool pasted, const char *delivery, struct err *e)
{
	r->attempt.pasted = pasted;
	record_set(&r->attempt.delivery, delivery);
	return attempt_advance(r->store, &r->attempt, r->attempt.phase, e);
}

/* 0: pasted, or nothing was typed and the wait goes on. */
static int
paste_once(struct recovery *r, bool marked, struct wait *t, struct err *e)
{
	struct buf prompt = BUF_INIT;
	char *before;
	int ret = -1, found;

	if (check_quiet(r, e) != 0)
		return -1;
	before = xstrdup(r->attempt.delivery);
	found = gather_load_saved(r->w, r->attempt.id, NULL, &prompt, e);
	if (found == 0)
		err_set(e, GT_FAIL, "context-lost", "the saved context of %s no "
		    "longer exists", r->attempt.id);
	if (found != 1 || note_paste(r, true, "paste", e) != 0)
		goto out;
	recovery_report(r, PROGRESS_PASTING);
	ret = recovery_paste(r, prompt.data, e);
	if (ret != 0 && strcmp(e->name, "not-ready") == 0) {
		err_clear(e);
		t->idle_since = 0;
		t->retry_at = clock_mono_ms() + AGAIN_MS;
		ret = marked ? 0 : note_paste(r, false, before, e);
	} else if (ret != 0 && !marked && strcmp(e->name, PLAN_TYPING) == 0) {
		note_paste(r, false, before, NULL);
	}
out:
	buf_wipe(&prompt);
	free(before);
	return ret;
}

/* An agent that keeps no record: the id on its screen, followed by work, is the most there can be. */
static int
judge_without_record(struct recovery *r, const struct agent_probe *l, const struct wait *t, int64_t now,
    bool *done, struct err *e)
{
	bool handed = prompt_consumed(r) && (strcmp(r->attempt.delivery, "paste") != 0 || r->attempt.pasted);

	*done = false;
	if (!handed || l->agent == 0)
		return 0;
	if (l->id_on_screen && delivered(r, l, e) != 0)
		return -1;
	if (r->injected && l->state == PROBE_BUSY) {
		*done = true;
		return acknowledged(r, l, "screen", e);
	}
	if (t->up_since == 0 || now - t->up_since < fault_wait_ms("GT_NO_RECORD_MS", NO_RECORD_MS))
		return 0;
	if (r->attempt.phase < PHASE_DELIVERED &&
	    attempt_advance(r->store, &r->attempt, PHASE_DELIVERED, e) != 0)
		return -1;
	err_set(e, GT_UNACKED, "no-proof",
	    "the prompt was delivered to %s, which keeps no transcript to verify it",
	    r->c->profile->label);
	return err_hint(e, "attach and check");
}

/* Of the end of a transcript. */
#define READ_MOST ((size_t)256 << 10)

/* Has the model said something since then? */
static bool
worked_since(struct app *w, const char *path, const char *format, int64_t since)
{
	struct conversation talk = CONVERSATION_INIT;
	bool worked = false;
	struct scrub *s;
	struct stat st;

	/* it is asked at every look */
	if (stat(path, &st) != 0 || (int64_t)st.st_mtim.tv_sec * 1000 + 999 < since)
		return false;
	s = app_scrub(w, NULL);
	if (s != NULL && transcript_read(path, format, s, READ_MOST, &talk, NULL) == 0)
		for (size_t i = 0; i < talk.n && !worked; i++)
			worked = talk.v[i].role == ROLE_ASSISTANT && talk.v[i].status != STATUS_FAILED &&
			    talk.v[i].at > since;
	conversation_release(&talk);
	scrub_free(s);
	return worked;
}

/*
 * The agent took the prompt, as its screen shows, and could not record it: the disk was full. Of
 * an earlier recovery only, whose wait is over, and once its record shows work that came later.
 */
static bool
went_on_unrecorded(const struct recovery *r, const struct agent_probe *l)
{
	return r->taken_up && l->ack == ACK_NONE && l->told_on_screen && l->own != NULL &&
	    prompt_consumed(r) &&
	    worked_since(r->w, l->own, r->c->profile->transcript, r->attempt.times[PHASE_RESPAWNED]);
}

#define LACKING_MOST 5

/* Variables that the agent was seen with before, and that the new one did not get. */
static void
find_lacking(struct recovery *r, pid_t agent)
{
	const struct pane *p = &r->c->pane;
	struct seen_agent x = { .version = 0 };
	struct buf names = BUF_INIT;
	size_t n = 0, found = 0;
	char *block = proc_environ(agent, &n);

	if (block != NULL &&
	    seen_agent_load(r->store, p->socket_path, p->server_pid, p->server_start, p->id, &x, NULL) == 1)
		for (const char *at = x.variables; at != NULL && *at != '\0' && found < LACKING_MOST;
		    at += strspn(at, " ")) {
			char *name = xstrndup(at, strcspn(at, " "));

			if (proc_environ_get(block, n, name) == NULL)
				buf_fmt(&names, "%s%s", found++ > 0 ? ", " : "", name);
			at += strlen(name);
			free(name);
		}
	if (found > 0)
		record_set(&r->lacking, names.data);
	if (block != NULL)
		explicit_bzero(block, n);
	free(block);
	seen_agent_release(&x);
	buf_release(&names);
}

#define VIEWER_MS 1500	/* one that cannot show what it is asked to ends at once */

/* It is told nothing: that it stays up is all. As judge_look. */
static int
judge_viewer(struct recovery *r, const struct agent_probe *l, struct wait *t, int64_t now, struct err *e)
{
	t->idle_since = l->agent == 0 ? 0 : t->idle_since != 0 ? t->idle_since : now;
	if (t->idle_since == 0 || now - t->idle_since < VIEWER_MS)
		return 0;
	return acknowledged(r, l, "screen", e) != 0 ? -1 : 1;
}

/* One round. 1 done, 0 wait on, -1 err. */
static int
judge_look(struct recovery *r, const struct agent_probe *l, struct wait *t, struct err *e)
{
	int64_t now = clock_mono_ms();
	bool up = l->state == PROBE_IDLE || l->state == PROBE_BUSY || l->state == PROBE_DRAFT, done = false;

	if (l->state == PROBE_GONE)
		return err_set(e, GT_FAIL, "gone",
		    "pane %s or its tmux server ended during the start of the agent", r->pane->id);
	if (l->state == PROBE_DIED)
		return agent_died(r, l, e);
	if (l->agent != 0 && !r->started) {
		r->started = true;
		find_lacking(r, l->agent);
		recovery_report(r, PROGRESS_STARTED);
	}
	t->up_since = !up ? 0 : t->up_since != 0 ? t->up_since : now;
	t->blocked_since = r->injected || (l->state != PROBE_DRAFT && l->state != PROBE_DIALOG) ? 0 :
	    t->blocked_since != 0 ? t->blocked_since : now;
	t->shell_since = !l->shell_back ? 0 : t->shell_since != 0 ? t->shell_since : now;
	if (t->shell_since != 0 && now - t->shell_since >= fault_wait_ms("GT_SHELL_BACK_MS", SHELL_BACK_MS))
		return agent_ended(r, e);
	if (r->c->viewer)
		return judge_viewer(r, l, t, now, e);
	t->idle_since = l->state != PROBE_IDLE ? 0 : t->idle_since != 0 ? t->idle_since : now;
	if (l->ack != ACK_NONE && delivered(r, l, e) != 0)
		return -1;
	if (l->ack == ACK_ANSWERED)
		return acknowledged(r, l, "transcript", e) != 0 ? -1 : 1;
	if (l->ack == ACK_REFUSED && l->login)
		return not_logged_in(r, e);
	if (l->ack == ACK_REFUSED) {
		err_set(e, GT_UNACKED, "model-error",
		    "%s received the prompt, but its model answered with an error", r->c->profile->label);
		return err_hint(e, "a usage limit, the login or the network; attach and check");
	}
	if (went_on_unrecorded(r, l))
		return delivered(r, l, e) != 0 || acknowledged(r, l, "transcript", e) != 0 ? -1 : 1;
	if (must_paste(r, l, t, now))
		return paste_once(r, l->marked, t, e);
	if (strcmp(r->c->profile->transcript, "none") == 0 &&
	    judge_without_record(r, l, t, now, &done, e) != 0)
		return -1;
	return done;
}

static const char *
what_for(const struct recovery *r, const struct agent_probe *l)
{
	if (l->state == PROBE_DIALOG)
		return "a dialog in the pane to be answered";
	if (l->state == PROBE_DRAFT)
		return "unsent text in the input box";
	if (l->agent == 0)
		return "the agent to start";
	if (r->c->viewer)
		return "the viewer to stay up";
	return r->injected ? "the agent to answer" : "the agent to take the prompt";
}

int
recovery_wait_for_ack(struct recovery *r, struct err *e)
{
	int64_t ready_ms = config_ms(r->w->config, "ready_timeout"),
		ack_ms = config_ms(r->w->config, "ack_timeout");
	struct wait t = { .begun = clock_mono_ms() };
	int done = 0;

	while (done == 0) {
		struct agent_probe l;
		int64_t now;

		if (recovery_probe(r->w, r->pane, r->c->profile, r->attempt.id,
			r->attempt.times[PHASE_RESPAWNED] - 2000, &l, e) != 0)
			return -1;
		recovery_team_put_back(r, false);
		done = judge_look(r, &l, &t, e);
		now = clock_mono_ms();
		if (done == 0 && *r->w->stop != 0)
			done = recovery_interrupted(e);
		if (done == 0 &&
		    now - t.begun > (t.up_since == 0 && !r->injected ? ready_ms : ready_ms + ack_ms))
			done = timed_out(r, &l, e);
		if (done == 0 && t.up_since != 0 && now - t.up_since > ack_ms)
			done = timed_out(r, &l, e);
		if (done == 0 && t.blocked_since != 0 && now - t.blocked_since > ready_ms)
			done = timed_out(r, &l, e);
		if (done == 0 && now - t.begun >= 1000) {
			r->waiting_for = what_for(r, &l);
			r->waited_ms = now - t.begun;
			recovery_report(r, PROGRESS_WAITING);
		}
		recovery_probe_release(&l);
		if (done == 0)
			clock_sleep_ms(LOOK_MS);
	}
	return done < 0 ? -1 : 0;
}
