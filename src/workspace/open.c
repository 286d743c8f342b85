#include <stdlib.h>
#include <string.h>

#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "process/proc.h"
#include "tmux/tmux.h"
#include "workspace/workspace.h"

#define HOLDER "gt-recover-opens"
#define HOLDER_COMMAND "exec sleep 120"	/* it ends by itself if we cannot end it */
#define OPEN_MS 15000		/* the server's configuration may load plugins */
#define WAIT_MS 15000
#define APPEAR_MS 2000		/* a plugin may be loaded in the background */
#define TYPED_MS 1000		/* what was typed into shells has become a process */
#define LOOK_MS 100
#define AT_START_MS 30000	/* tmux-continuum restores when the server starts */
#define BEFORE_MARK_MS 60000	/* so long may a restore have taken that told of its end */

/* What the server says of other restorers. */
struct restorer {
	pid_t server_pid;
	bool automatic;			/* @continuum-restore is on */
	bool types;			/* @resurrect-processes: commands are typed into shells */
	int64_t server_start, mark;	/* s since 1970; mark: SERVER_RESTORED, 0: not set */
	bool held;			/* HOLDER is there */
	int64_t seen;			/* start of a restore that was seen, ms since 1970; 0: none was */
	char *script;			/* of tmux-resurrect's restore; NULL: none is loaded */
};

/* Heap; NULL: nothing. */
static char *
output_of(const struct tmux_batch *b, size_t i)
{
	size_t n = 0;
	const char *text = tmux_batch_output(b, i, &n);

	return text != NULL && n > 0 ? xstrndup(text, n) : NULL;
}

static int64_t
number_of(const struct tmux_batch *b, size_t i)
{
	char *text = output_of(b, i);
	int64_t n = text != NULL ? strtoll(text, NULL, 10) : 0;

	free(text);
	return n;
}

/* -1: no server, or it does not answer. */
static int
ask_server(struct tmux *t, struct restorer *out, struct err *e)
{
	static const char *const options[] = { "@continuum-restore", "@resurrect-restore-script-path",
		"@resurrect-processes", SERVER_RESTORED };
	struct tmux_batch b;
	char *automatic, *processes, *holder;
	int ret;

	*out = (struct restorer){ .script = NULL };
	tmux_batch_init(&b);
	tmux_batch_add(&b, "display-message", "-p", "#{pid}", NULL);
	tmux_batch_add(&b, "display-message", "-p", "#{start_time}", NULL);
	tmux_batch_add(&b, "display-message", "-p", "-t", "=" HOLDER ":", "#{session_name}", NULL);
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
		tmux_batch_add(&b, "show-options", "-gqv", options[i], NULL);
	ret = tmux_batch_run(t, &b, e);
	if (ret == 0) {
		holder = output_of(&b, 2);
		automatic = output_of(&b, 3);
		processes = output_of(&b, 5);
		*out = (struct restorer){ .server_pid = (pid_t)number_of(&b, 0),
			.server_start = number_of(&b, 1),
			.script = output_of(&b, 4),
			.types = processes != NULL && strcmp(processes, "false") != 0,
			.mark = number_of(&b, 6),
			.held = holder != NULL && strcmp(holder, HOLDER) == 0 };
		out->automatic = out->script != NULL && automatic != NULL && strcmp(automatic, "on") == 0;
		free(holder);
		free(automatic);
		free(processes);
	}
	tmux_batch_release(&b);
	return ret;
}

/* Its TMUX, "SOCKET,PID,SESSION", names the server; one that cannot be read counts. */
static bool
is_of_server(pid_t pid, pid_t server)
{
	size_t n;
	char *env = proc_environ(pid, &n);
	const char *value = env != NULL ? proc_environ_get(env, n, "TMUX") : NULL,
		   *comma = value != NULL ? strchr(value, ',') : NULL;
	bool is = comma == NULL || strtol(comma + 1, NULL, 10) == server;

	if (env != NULL)
		explicit_bzero(env, n);
	free(env);
	return is;
}

/* continuum_restore.sh waits a second, then runs tmux-resurrect's script. */
static bool
is_restore(const struct proc *p, const char *script)
{
	struct buf b = BUF_INIT;
	bool found = false;

	if (!proc_has_ended(p) && proc_arguments(p->pid, false, &b))
		for (size_t at = 0; at < b.len && !found; at += strlen(b.data + at) + 1)
			found = strcmp(b.data + at, script) == 0 ||
			    str_ends(b.data + at, "/continuum_restore.sh");
	buf_wipe(&b);
	return found;
}

static bool
is_running(struct restorer *r)
{
	struct procs procs = { .n = 0 };
	bool found = false;

	if (proc_list(&procs, NULL) == 0)
		for (size_t i = 0; i < procs.n; i++) {
			int64_t began = proc_wall_ms(&procs.v[i]);

			if (!is_restore(&procs.v[i], r->script) ||
			    !is_of_server(procs.v[i].pid, r->server_pid))
				continue;
			found = true;
			if (r->seen == 0 || began < r->seen)
				r->seen = began;
		}
	proc_list_release(&procs);
	return found;
}

static bool
is_between(int64_t at, int64_t from, int64_t until)
{
	return at >= from - 1000 && at <= until + 1000;
}

/* It began while tmux-resurrect restored. */
static bool
was_restored(const struct restorer *r, const struct pane *p)
{
	int64_t at = proc_began_ms(p->pid), start = r->server_start * 1000, mark = r->mark * 1000;

	return at > 0 && *p->place == '\0' &&
	    ((r->seen > 0 && is_between(at, r->seen, clock_wall_ms())) ||
		(r->automatic && is_between(at, start, start + AT_START_MS)) ||
		(mark > 0 && is_between(at, mark - BEFORE_MARK_MS, mark)));
}

/* Panes that were restored get the place in which they stand. True: one did. */
static bool
mark_places(struct app *w, struct tmux *t, const struct restorer *r)
{
	struct panes list = { .n = 0 };
	struct tmux_batch b;
	bool any;

	tmux_batch_init(&b);
	b.mutates = true;
	if (t->as_owner == NULL && pane_list_bare(t, &list, NULL) == 0)
		for (size_t i = 0; i < list.n; i++) {
			const struct pane *p = &list.v[i];
			char *places = was_restored(r, p) ? workspace_origin(w, p) : NULL;

			if (places != NULL)
				tmux_batch_add(&b, "set-option", "-p", "-t", p->id, PANE_PLACE, places, NULL);
			free(places);
		}
	any = b.n > 0 && tmux_batch_run(t, &b, NULL) == 0;
	tmux_batch_release(&b);
	pane_list_release(&list);
	return any;
}

static int
start_server(struct tmux *t, struct err *e)
{
	struct tmux_batch b;
	int ret, timeout = t->timeout_ms;

	tmux_batch_init(&b);
	b.mutates = b.starts = true;
	tmux_batch_add(&b, "new-session", "-d", "-s", HOLDER, "-c", "/", HOLDER_COMMAND, NULL);
	tmux_batch_add(&b, "set-option", "-w", "-t", "=" HOLDER ":", "remain-on-exit", "off", NULL);
	t->timeout_ms = OPEN_MS;
	ret = tmux_batch_run(t, &b, e);
	t->timeout_ms = timeout;
	if (ret == 0)
		ret = tmux_batch_error(&b, "new-session", e);
	tmux_batch_release(&b);
	return ret;
}

int
workspace_open(
    struct app *w, struct tmux *t, bool start, struct workspace_opened *out, struct err *e)
{
	struct err why = ERR_INIT;
	struct restorer r;
	int ret = ask_server(t, &r, &why);
	int64_t begun = clock_mono_ms(), until;

	*out = (struct workspace_opened){ .started = false };
	if (ret != 0 && start && strcmp(why.name, "no-server") == 0) {
		err_clear(&why);
		ret = start_server(t, &why);
		out->timed_out = ret != 0 && strcmp(why.name, "server-silent") == 0;
		out->started = ret == 0 || out->timed_out;
		ret = ret == 0 ? ask_server(t, &r, &why) : -1;
	}
	out->left = ret == 0 && r.held && !out->started;
	until = begun + WAIT_MS;
	for (int64_t now = begun; ret == 0 && r.script != NULL && now < until && *w->stop == 0;
	     clock_sleep_ms(LOOK_MS), now = clock_mono_ms()) {
		bool runs = is_running(&r);

		out->waited = out->waited || runs;
		out->timed_out = runs && now + LOOK_MS >= until;
		if (!runs && (out->waited || !out->started || !r.automatic || now - begun > APPEAR_MS))
			break;
	}
	/* one that its configuration runs in the foreground was over before the server answered */
	out->waited = out->waited || (out->started && r.automatic);
	if (out->waited && r.types)
		clock_sleep_ms(TYPED_MS);
	if (ret == 0 && (r.script != NULL || r.mark > 0))
		out->changed = mark_places(w, t, &r);
	free(r.script);
	if (ret != 0 && e != NULL)
		*e = why;
	return ret;
}

void
workspace_close(struct tmux *t, const struct workspace_opened *o)
{
	static const char end[] = "kill-session -t =" HOLDER;

	/* another run may still need one that was there already */
	if (o->started || o->left)
		tmux_do(t, true, NULL, NULL, "if-shell", "-F", "-t", "=" HOLDER ":",
		    o->started ? "#{session_attached}"
			       : "#{||:#{session_attached},#{==:#{server_sessions},1}}",
		    "", end, NULL);
}
