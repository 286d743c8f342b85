#include <inttypes.h>
#include <unistd.h>

#include "cli/cli.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/spawn.h"
#include "config/config.h"
#include "detect/detect.h"
#include "gastown/gastown.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"
#include "snapshot/snapshot.h"
#include "store/store.h"
#include "tmux/tmux.h"

/*
 * How many agents are crashed, for a status line: what was seen of each agent (struct seen_agent),
 * compared with the kernel. tmux is not asked, so a pane that was closed after the last snapshot
 * counts until the next one. A crash starts a patrol in the background, and the same crashes again
 * after AGAIN_MS: somebody may have been typing then.
 */
#define AGAIN_MS 60000

struct status_job {
	const struct cli *cli;
	struct app w;
	struct store *store;
	struct timestamp now;
	char *snapshots;
	struct pane_states panes;	/* what the last pass saw of the server asked for last */
	bool panes_known;
	json_t *sessions;		/* those that crashed */
	uint64_t which;			/* sum over their identities */
};

/* The tmux server of the record, and no other process that has its pid by now. */
static bool
server_lives(const struct status_job *j, const struct seen_agent *x)
{
	int64_t seen = x->seen_at > x->died_at ? x->seen_at : x->died_at;
	struct proc p;

	return (uint64_t)x->pid_ns == j->now.pid_ns && proc_read((pid_t)x->server_pid, &p) == 0 &&
	    !proc_has_ended(&p) && proc_wall_ms(&p) < seen + 1000;
}

static bool
is_in_scope(const struct status_job *j, const struct seen_agent *x)
{
	bool in = j->cli->n_sockets == 0;

	for (size_t i = 0; i < j->cli->n_sockets && !in; i++) {
		struct tmux t;
		char *path;

		tmux_init(&t, j->cli->sockets[i]);
		path = tmux_socket_path(&t);
		in = strcmp(path, x->socket) == 0;
		free(path);
		tmux_release(&t);
	}
	return in;
}

/* By a snapshot that was taken after the agent was seen. Records of a server follow each other. */
static bool
pane_is_closed(struct status_job *j, const struct seen_agent *x)
{
	int64_t seen = x->seen_at > x->died_at ? x->seen_at : x->died_at;
	struct pane_states *all = &j->panes;
	bool closed;

	if (proc_life((pid_t)x->pane_pid, 0) != LIFE_GONE)
		return false;
	if (all->path == NULL || all->server_pid != x->server_pid || all->server_start != x->server_start) {
		snapshot_panes_release(all);
		j->panes_known = snapshot_panes_of_server(
		    all, j->snapshots, x->socket, (pid_t)x->server_pid, x->server_start);
	}
	closed = j->panes_known && all->written > seen;
	for (size_t i = 0; i < all->n; i++)
		closed = closed && strcmp(all->v[i].id, x->pane_id) != 0;
	return closed;
}

/* A recovery has started an agent in its pane since, which lives, or is not yet known to be dead. */
static bool
is_recovered(const struct status_job *j, const struct seen_agent *x)
{
	int64_t seen = x->seen_at > x->died_at ? x->seen_at : x->died_at;
	struct attempt a;
	bool back;

	if (attempt_latest(j->store, x->socket, x->server_pid, x->server_start, x->pane_id, &a, NULL) != 1)
		return false;
	back = a.phase != PHASE_FAILED && a.times[PHASE_RESPAWNED] >= seen &&
	    (a.new_pid == 0 || proc_life((pid_t)a.new_pid, 0) != LIFE_GONE);
	attempt_release(&a);
	return back;
}

/* The agents' profiles are read for the first one that is gone. */
static bool
has_exited(struct status_job *j, const struct seen_agent *x)
{
	struct err none = ERR_INIT;

	if (j->w.profiles == NULL)
		j->w.profiles = profile_list_new(j->w.config, &none);
	return j->w.profiles != NULL && detect_seen_exited(&j->w, j->store, x);
}

static bool
has_crashed(struct status_job *j, const struct seen_agent *x)
{
	bool gone = x->state == SEEN_DIED ||
	    (x->state == SEEN_ALIVE && x->pid != 0 &&
		proc_life_in((uint64_t)x->pid_ns, x->pid, x->pid_start, &j->now) == LIFE_GONE);

	return gone && x->remote == NULL && is_in_scope(j, x) && server_lives(j, x) && !is_recovered(j, x) &&
	    !pane_is_closed(j, x) && (x->state == SEEN_DIED || !has_exited(j, x));
}

static void
add_crash(struct status_job *j, const struct seen_agent *x)
{
	char *name = xasprintf("%s %s %lld %lld", x->socket, x->pane_id, (long long)x->pid,
		 (long long)x->pid_start);
	json_t *v = json_object();
	uint64_t sum = 14695981039346656037u;	/* FNV-1a */

	for (const char *p = name; *p != '\0'; p++)
		sum = (sum ^ (unsigned char)*p) * 1099511628211u;
	j->which += sum;
	json_put(v, "name", x->session);
	json_put(v, "pane_id", x->pane_id);
	json_put(v, "agent", x->agent);
	json_array_append_new(j->sessions, v);
	free(name);
}

static int
count_crashes(struct status_job *j, struct err *e)
{
	struct seen_agent_list all = { .n = 0 };
	int ret = 0;

	j->store = app_store(&j->w, false, e);
	if (j->store == NULL)
		return e->code == 0 ? 0 : -1;
	if ((j->snapshots = town_snapshot_dir(j->w.town, j->w.config, e)) == NULL)
		return -1;
	timestamp_now(&j->now);
	ret = seen_agent_list(j->store, &all, e);
	for (size_t i = 0; i < all.n && ret == 0; i++)
		if (has_crashed(j, &all.v[i]))
			add_crash(j, &all.v[i]);
	seen_agent_list_release(&all);
	return ret;
}

/* Whether a patrol is to be started for these crashes now; notes that it is. */
static bool
is_due(struct status_job *j)
{
	char *path = app_path(&j->w, "locks", "patrol.asked", true, NULL);
	struct buf before = BUF_INIT, now = BUF_INIT;
	struct err none = ERR_INIT;
	uint64_t which = 0;
	int64_t at = 0;
	bool due;

	if (path == NULL)
		return false;
	if (io_read_private(path, 100, &before, &none) != 0 ||
	    sscanf(before.data, "%" SCNx64 " %" SCNd64, &which, &at) != 2)
		at = 0;
	due = which != j->which || j->now.wall_ms < at || j->now.wall_ms - at >= AGAIN_MS;
	err_clear(&none);
	buf_fmt(&now, "%" PRIx64 " %" PRId64 "\n", j->which, j->now.wall_ms);
	if (due)
		io_write_synced(path, now.data, now.len, "patrol-asked", &none);
	buf_release(&before);
	buf_release(&now);
	free(path);
	return due;
}

static bool
wants_pass(struct status_job *j)
{
	return json_array_size(j->sessions) > 0 &&
	    (config_flag(j->w.config, "auto_recover") || *config_text(j->w.config, "on_crash") != '\0') &&
	    is_due(j);
}

static void
print_status(struct status_job *j, bool starts)
{
	size_t n = json_array_size(j->sessions);

	if (j->cli->json) {
		json_t *v = output_object();

		json_put_int(v, "crashed", (int64_t)n);
		json_put_flag(v, "patrol_started", starts);
		json_object_set(v, "sessions", j->sessions);
		output_json(v);
	} else if (n > 0) {
		printf("%zu crashed\n", n);
	}
}

/* Records and connections are closed: the child opens its own. */
static int
start_pass(const struct cli *cli, struct err *e)
{
	struct cli patrol = *cli;
	struct err none = ERR_INIT;
	pid_t child;

	patrol.command = "patrol";
	patrol.quiet = patrol.queued = true;
	patrol.json = false;
	fflush(stdout);
	child = spawn_background(e);
	if (child == 0) {
		cmd_patrol(&patrol, &none);
		_exit(0);
	}
	return child < 0 ? -1 : 0;
}

int
cmd_status(const struct cli *cli, struct err *e)
{
	struct status_job j = { .cli = cli };
	bool starts = false;
	int ret;

	if (cli_open_config(cli, &j.w, e) != 0)
		return -1;
	if (cli_is_disabled(cli, &j.w)) {
		cli_close_app(&j.w);
		return GT_OK;
	}
	j.sessions = json_array();
	ret = count_crashes(&j, e);
	starts = ret == 0 && wants_pass(&j);
	if (ret == 0)
		print_status(&j, starts);
	json_decref(j.sessions);
	snapshot_panes_release(&j.panes);
	free(j.snapshots);
	cli_close_app(&j.w);
	if (starts)
		ret = start_pass(cli, e);
	return ret == 0 ? GT_OK : -1;
}
