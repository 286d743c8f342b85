#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/sys.h"
#include "base/spawn.h"
#include "config/config.h"

/*
 * Several recoveries at once. A recovery blocks, so each has a process of its own, with a store handle
 * and locks of its own; it tells this one what it does in JSON lines on a pipe:
 *
 *	{"mark":"!","text":"…"}		a line for people
 *	{"state":"…","done":true,"waited_ms":0}	what it does now
 *	{"answered":true}		its agent has answered: what follows waits for nobody
 *	{"end":{…}}			struct batch_outcome
 *
 * When this process is killed its recoveries are killed, too, and the next run takes them up. Nothing
 * that befalls one of them keeps this process waiting: one that is stopped for STOPPED_MOST_MS, or that
 * takes OVERTIME_MS longer than the waits of gt.toml, is killed.
 */

#define LOOK_MS 50
#define LINE_MOST (1 << 20)
/* After so long an agent uses about as much memory as it did before. */
#define GROWS_MS 10000
#define STOPPED_MOST_MS 10000
/* Each of its tmux, git and bd calls, and the locks of the store, have bounds of seconds. */
#define OVERTIME_MS (5 * 60 * 1000)

enum step { STEP_WAITS, STEP_RUNS, STEP_ENDED };

struct worker {
	size_t i;			/* of the batch's candidates */
	enum step step;
	size_t login;			/* the first worker of the same credential file */
	bool answered;			/* of that first one: the credential file is in order */
	bool back;			/* its own agent has answered */
	pid_t pid;
	int fd;				/* -1: none, or at its end */
	int64_t started_at, until;	/* clock_mono_ms: the end of its time */
	int64_t stopped_since;		/* clock_mono_ms; 0: it is not stopped */
	const char *why;		/* it was killed for; NULL: it was not */
	char *state;			/* what it does now, heap; NULL: not known yet */
	int64_t state_since;		/* clock_mono_ms */
	struct buf in;
};

struct pool {
	struct cli_batch *r;
	struct worker *v;
	size_t n, running;
	int64_t started_at;		/* clock_mono_ms of the last start; 0: none yet */
	int64_t short_since;		/* of memory (cli_batch_has_memory) */
	int64_t drawn_at;		/* clock_mono_ms: the rows of those that run */
	bool stopped;			/* the signal was passed on */
	int last;
	struct batch_outcome *ended;
};

/* ---- in the process of a recovery ---- */

static json_t *
outcome_json(const struct batch_outcome *o)
{
	json_t *v = json_object();

	json_put_int(v, "code", o->e.code);
	json_put(v, "name", o->e.name);
	json_put(v, "msg", o->e.msg);
	json_put(v, "hint", o->e.hint);
	json_put_flag(v, "started", o->started);
	json_put_flag(v, "later", o->later);
	json_put_flag(v, "asks", o->asks);
	json_put_int(v, "typed", o->typed);
	json_put(v, "pane", o->pane);
	json_put_int(v, "server_pid", o->server_pid);
	json_put_int(v, "server_start", o->server_start);
	if (o->result != NULL)
		json_object_set(v, "result", o->result);
	return v;
}

static void __attribute__((noreturn))
run_worker(struct cli_batch *r, size_t i, int fd)
{
	struct batch_outcome o;
	json_t *end = json_object();

	/* who listens may be killed */
	signal(SIGPIPE, SIG_IGN);
	/* the other process says these */
	r->w.n_reset = 0;
	r->w.restored = NULL;
	r->say.pipe = fd;
	r->say.live = false;
	r->say.waiting = 0;
	if (r->attempt != NULL)
		r->attempt(r, i, &o);
	else
		cli_batch_try(r, i, 0, true, &o);
	json_object_set_new(end, "end", outcome_json(&o));
	cli_tell_reset(&r->w);
	if (r->w.restored != NULL)
		output_warning(&r->say, "%s", r->w.restored);
	app_close_store(&r->w);
	output_send(&r->say, end);
	_exit(0);
}

/* ---- in the supervisor ---- */

static void
set_outcome(struct batch_outcome *o, const json_t *v)
{
	*o = (struct batch_outcome){ .e.code = (int)json_number(v, "code", GT_FAIL),
		.started = json_flag(v, "started", false),
		.later = json_flag(v, "later", false),
		.asks = json_flag(v, "asks", false),
		.typed = json_number(v, "typed", 0),
		.server_pid = json_number(v, "server_pid", 0),
		.server_start = json_number(v, "server_start", 0),
		.result = json_incref(json_object_get(v, "result")) };
	snprintf(o->e.name, sizeof o->e.name, "%s", json_text(v, "name", ""));
	snprintf(o->e.msg, sizeof o->e.msg, "%s", json_text(v, "msg", ""));
	snprintf(o->e.hint, sizeof o->e.hint, "%s", json_text(v, "hint", ""));
	snprintf(o->pane, sizeof o->pane, "%s", json_text(v, "pane", ""));
}

/* It was killed, or could not be begun: what it left half done is taken up by the next run. */
static void
set_lost(struct pool *p, const struct worker *w, const char *why)
{
	struct batch_outcome *o = &p->ended[w->i];
	struct recovery one;

	recovery_init(&one, &p->r->w, &p->r->all.v[w->i]);
	err_set(&o->e, GT_FAIL, "interrupted", "%s", why);
	err_hint(&o->e, "to finish it: gt-recover %.60s", output_name(one.c, 60));
	o->result = output_recovery_json(&one, &o->e);
	if (p->r->attempted == NULL)
		output_warning(&p->r->say, "%s: %s\n  %s", output_name(one.c, 60), o->e.msg, o->e.hint);
	recovery_release(&one);
}

/* The place of its agent among all of the batch, from 1. */
static size_t
place_of(const struct pool *p, const struct worker *w)
{
	return p->r->begun + (size_t)(w - p->v) + 1;
}

static void
note_end(struct pool *p, struct worker *w)
{
	struct batch_outcome *o = &p->ended[w->i];

	w->step = STEP_ENDED;
	/* one that was refused has shown nothing of the login */
	if (o->e.code == 0 || (o->started && strcmp(o->e.name, "login") != 0))
		p->v[w->login].answered = true;
	if (o->asks)
		return;
	p->last = cli_batch_note(p->r, w->i, o);
	if (p->r->attempted != NULL)
		p->r->attempted(p->r, w->i, o);
}

/* On a terminal it stands in a row that is rewritten (draw_rows). */
static void
take_state(struct pool *p, struct worker *w, const json_t *v)
{
	struct cli_output *say = &p->r->say;
	const char *name = output_name(&p->r->all.v[w->i], 60), *words = json_text(v, "state", "");
	size_t place = place_of(p, w);
	int64_t waited = json_number(v, "waited_ms", 0);

	if (!say->live && json_flag(v, "done", false))
		output_done(say, "[%zu/%zu] %s  %s", place, p->r->total, name, words);
	else if (!say->live && waited >= 30000)
		output_line(say, "[%zu/%zu] %s  %s %lld s", place, p->r->total, name, words,
		    (long long)waited / 1000);
	free(w->state);
	w->state = xstrdup(words);
	w->state_since = clock_mono_ms() - waited;
}

/* One row for each that runs, each second, and when something has changed. */
static void
draw_rows(struct pool *p)
{
	int64_t now = clock_mono_ms();
	struct buf *text;
	const char **rows;
	size_t n = 0;

	if (!p->r->say.live || p->running == 0 || (p->drawn_at != 0 && now - p->drawn_at < 1000))
		return;
	text = xcalloc(p->n, sizeof *text);
	rows = xcalloc(p->n, sizeof *rows);
	for (size_t k = 0; k < p->n; k++) {
		const struct worker *w = &p->v[k];

		if (w->step != STEP_RUNS || w->back)
			continue;
		buf_fmt(&text[k], "  [%zu/%zu] %s  %s ", place_of(p, w), p->r->total,
		    output_name(&p->r->all.v[w->i], 60),
		    w->state != NULL		? w->state
			: p->r->attempt != NULL ? "starting again…"
						: "reading its context…");
		clock_age(&text[k], now - (w->state != NULL ? w->state_since : w->started_at));
		rows[n++] = text[k].data;
	}
	output_rows(&p->r->say, rows, n);
	p->drawn_at = now;
	for (size_t k = 0; k < p->n; k++)
		buf_release(&text[k]);
	free(text);
	free(rows);
}

static void
take_line(struct pool *p, struct worker *w, const char *text, size_t n)
{
	const char *name = output_name(&p->r->all.v[w->i], 60);
	json_t *v = json_parse(text, n, "the report of a recovery", NULL), *end = json_object_get(v, "end");
	const char *mark = json_text(v, "mark", ""), *words = json_text(v, "text", "");
	size_t place = place_of(p, w);

	p->drawn_at = 0;
	if (end != NULL)
		set_outcome(&p->ended[w->i], end);
	else if (json_flag(v, "answered", false))
		w->back = p->v[w->login].answered = true;
	else if (json_object_get(v, "state") != NULL)
		take_state(p, w, v);
	else if (strcmp(mark, "!") == 0)
		output_warning(&p->r->say, "[%zu/%zu] %s: %s", place, p->r->total, name, words);
	else if (*mark != '\0')
		output_done(&p->r->say, "[%zu/%zu] %s  %s", place, p->r->total, name, words);
	else
		output_line(&p->r->say, "[%zu/%zu] %s  %s", place, p->r->total, name, words);
	json_decref(v);
}

/* What it has written so far. False: there is no more now, or at all. */
static bool
read_worker(struct pool *p, struct worker *w)
{
	const char *end;
	char chunk[4096];
	size_t used = 0;
	ssize_t n = read(w->fd, chunk, sizeof chunk);

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0 || w->in.len >= LINE_MOST)
		return false;
	buf_add(&w->in, chunk, (size_t)n);
	for (; (end = memchr(w->in.data + used, '\n', w->in.len - used)) != NULL;
	    used = (size_t)(end - w->in.data) + 1)
		take_line(p, w, w->in.data + used, (size_t)(end - w->in.data) - used);
	memmove(w->in.data, w->in.data + used, w->in.len - used);
	buf_cut(&w->in, w->in.len - used);
	return true;
}

/* Its end counts, not that of its pipe, which what it started may hold open. */
static void
end_worker(struct pool *p, struct worker *w)
{
	while (read_worker(p, w))
		;
	close(w->fd);
	w->fd = -1;
	p->running--;
	if (p->ended[w->i].result == NULL && !p->ended[w->i].later && !p->ended[w->i].asks)
		set_lost(p, w, w->why != NULL ? w->why : "its recovery was interrupted");
	note_end(p, w);
}

/* Has it ended, or been stopped for too long, or taken too long? */
static void
check_worker(struct pool *p, struct worker *w)
{
	int64_t now = clock_mono_ms();
	int status;
	pid_t pid;

	while ((pid = waitpid(w->pid, &status, WNOHANG | WUNTRACED | WCONTINUED)) == w->pid) {
		if (!WIFSTOPPED(status) && !WIFCONTINUED(status))
			break;
		w->stopped_since = WIFSTOPPED(status) ? now : 0;
	}
	if (pid == w->pid || (pid < 0 && errno == ECHILD)) {
		end_worker(p, w);
		return;
	}
	if (w->why != NULL)
		return;
	if (w->stopped_since != 0 &&
	    now - w->stopped_since >= fault_wait_ms("GT_STOPPED_MS", STOPPED_MOST_MS))
		w->why = "its recovery was stopped by a signal and ended";
	else if (now >= w->until)
		w->why = "its recovery timed out and was ended";
	if (w->why != NULL)
		kill(w->pid, SIGKILL);
}

static void
start_worker(struct pool *p, struct worker *w)
{
	pid_t supervisor = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0) {
		set_lost(p, w, "cannot start its recovery: no pipe");
		note_end(p, w);
		return;
	}
	app_close_store(&p->r->w);
	fflush(NULL);
	w->pid = fork();
	if (w->pid == 0) {
		/* a recoverer that is killed is killed as a whole: the next run takes all of it up */
		sys_end_with(supervisor);
		close(fds[0]);
		for (size_t k = 0; k < p->n; k++)
			if (p->v[k].fd >= 0)
				close(p->v[k].fd);
		run_worker(p->r, w->i, fds[1]);
	}
	close(fds[1]);
	if (w->pid < 0) {
		close(fds[0]);
		set_lost(p, w, "cannot start its recovery: no process");
		note_end(p, w);
		return;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	w->fd = fds[0];
	w->step = STEP_RUNS;
	p->running++;
	p->drawn_at = 0;
	w->started_at = p->started_at = clock_mono_ms();
	w->until = p->started_at + config_ms(p->r->w.config, "ready_timeout") +
	    config_ms(p->r->w.config, "ack_timeout") + fault_wait_ms("GT_OVERTIME_MS", OVERTIME_MS);
}

/* The next in the order of the plan whose credential file is in order, or which finds that out. */
static struct worker *
next_worker(struct pool *p)
{
	for (size_t k = 0; k < p->n; k++) {
		bool tried = p->v[p->v[k].login].answered, busy = false;

		if (p->v[k].step != STEP_WAITS)
			continue;
		for (size_t m = 0; m < p->n && !tried; m++)
			busy = busy || (p->v[m].step == STEP_RUNS && p->v[m].login == p->v[k].login);
		if (!busy)
			return &p->v[k];
	}
	return NULL;
}

/* To those whose agents start, which have not taken it yet. */
static int64_t
promised_memory(struct pool *p)
{
	int64_t sum = 0;

	for (size_t k = 0; k < p->n; k++)
		if (p->v[k].step == STEP_RUNS && clock_mono_ms() - p->v[k].started_at < GROWS_MS)
			sum += cli_batch_memory_of(p->r, p->v[k].i);
	return sum;
}

static size_t
count_in_flight(const struct pool *p)
{
	size_t n = 0;

	for (size_t k = 0; k < p->n; k++)
		n += p->v[k].step == STEP_RUNS && !p->v[k].back;
	return n;
}

/* Starts at most one. False: all have ended, or none is begun any more. */
static bool
start_next(struct pool *p)
{
	struct worker *w = next_worker(p);
	const struct refusal *no = NULL;
	bool halt = p->r->mass && p->r->logins >= LOGINS_MOST;

	if (w == NULL || cli_stop_signal() != 0)
		return p->running > 0;
	if (halt) {
		no = &cli_no_login;
	} else {
		if (count_in_flight(p) >= (size_t)config_int(p->r->w.config, "parallel") ||
		    (p->started_at != 0 &&
			clock_mono_ms() < p->started_at + config_ms(p->r->w.config, "spacing")) ||
		    !cli_batch_has_memory(p->r, w->i, promised_memory(p), &p->short_since, &no))
			return true;
	}
	if (no != NULL) {
		if (p->r->attempted == NULL) {
			cli_batch_refuse(p->r, w->i, no, &p->ended[w->i]);
		} else {
			err_set(&p->ended[w->i].e, GT_REFUSED, no->name, "refused: %s", no->sentence);
			err_hint(&p->ended[w->i].e, "%s", no->hint);
		}
		note_end(p, w);
	} else {
		start_worker(p, w);
	}
	return true;
}

static void
wait_for_workers(struct pool *p)
{
	struct pollfd *fds = xcalloc(p->n, sizeof *fds);

	for (size_t k = 0; k < p->n; k++)
		fds[k] = (struct pollfd){ .fd = p->v[k].fd, .events = POLLIN };
	/* a signal of a terminal went to all of them, another one to this process alone */
	for (size_t k = 0; k < p->n && cli_stop_signal() != 0 && !p->stopped; k++)
		if (p->v[k].step == STEP_RUNS)
			kill(p->v[k].pid, cli_stop_signal());
	p->stopped = cli_stop_signal() != 0;
	if (poll(fds, p->n, LOOK_MS) > 0)
		for (size_t k = 0; k < p->n; k++)
			if (fds[k].revents != 0)
				read_worker(p, &p->v[k]);
	for (size_t k = 0; k < p->n; k++)
		if (p->v[k].step == STEP_RUNS)
			check_worker(p, &p->v[k]);
	free(fds);
}

static bool
same_login(const struct candidate *a, const struct candidate *b)
{
	return a->profile == b->profile && profile_shares_login(a->profile, a->config_dir) &&
	    (a->config_dir == NULL) == (b->config_dir == NULL) &&
	    (a->config_dir == NULL || strcmp(a->config_dir, b->config_dir) == 0);
}

struct batch_outcome *
cli_batch_overlap(struct cli_batch *r, const size_t *list, size_t n, int *last)
{
	struct pool p = { .r = r, .n = n, .last = *last };

	p.v = xcalloc(n, sizeof *p.v);
	p.ended = xcalloc(r->all.n, sizeof *p.ended);
	for (size_t k = 0; k < n; k++) {
		p.v[k] = (struct worker){ .i = list[k], .fd = -1, .login = k, .in = BUF_INIT };
		for (size_t m = 0; m < k && p.v[k].login == k; m++)
			if (same_login(&r->all.v[list[m]], &r->all.v[list[k]]))
				p.v[k].login = m;
	}
	while (start_next(&p)) {
		draw_rows(&p);
		wait_for_workers(&p);
	}
	output_rows(&r->say, NULL, 0);
	for (size_t k = 0; k < n; k++) {
		buf_release(&p.v[k].in);
		free(p.v[k].state);
	}
	*last = p.last;
	free(p.v);
	return p.ended;
}
