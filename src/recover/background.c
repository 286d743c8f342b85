#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recover/recover_private.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/spawn.h"
#include "config/config.h"
#include "detect/detect.h"

#define LOOK_MS 100

static int
ask_claude(const struct candidate *c, int64_t timeout_ms, struct err *e)
{
	const char *const argv[] = { "claude", "respawn", c->background, NULL };
	struct buf said = BUF_INIT;
	/* elsewhere its service refuses the session where ANTHROPIC_BASE_URL names a gateway */
	struct spawn s = { .argv = argv, .cwd = c->cwd, .out = &said, .errout = &said,
		.timeout_ms = (int)timeout_ms };
	int ret = spawn_run(&s, e);

	if (ret == 0 && s.status != 0) {
		ret = err_set(e, GT_FAIL, "respawn", "claude respawn %s ended with status %d", c->background,
		    s.status);
		err_hint(e, "run it by hand to see its output");
	}
	buf_wipe(&said);
	return ret;
}

/* Its transcript was written to since: the new process read it and goes on with it. */
static bool
wrote_since(const struct candidate *c, const struct agent_background *b, int64_t from, char **path)
{
	struct stat st;

	free(*path);
	*path = transcript_path(c->config_dir, b->cwd, b->session_id);
	return *path != NULL && stat(*path, &st) == 0 &&
	    (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000 >= from;
}

static int
wait_for_transcript(struct recovery *r, int64_t from, int64_t until, struct err *e)
{
	const struct candidate *c = r->c;
	struct agent_background b;
	char *path = NULL;
	bool up = false, done = false, lost = false;

	while (!done && !lost && clock_mono_ms() < until && *r->w->stop == 0) {
		if (agent_background_read(c->config_dir, c->background, &b)) {
			up = b.stand == BACKGROUND_LIVE && strcmp(b.session_id, c->session_id) == 0;
			done = up && wrote_since(c, &b, from, &path);
			lost = !up && b.stand == BACKGROUND_GIVEN_UP && b.written * 1000 >= from;
			if (up && !r->started)
				recovery_report(r, PROGRESS_STARTED);
			r->started = r->started || up;
			r->attempt.new_pid = b.pid;
			agent_background_release(&b);
		}
		if (!done)
			clock_sleep_ms(LOOK_MS);
	}
	if (done)
		record_set(&r->attempt.transcript, path);
	free(path);
	if (done)
		return 0;
	if (*r->w->stop != 0)
		return recovery_interrupted(e);
	err_set(e, lost ? GT_FAIL : GT_UNACKED, lost ? "died" : "unacknowledged", "background session %s %s",
	    c->background,
	    lost     ? "was started, and its service gave up"
		: up ? "runs, but not in its transcript"
		     : "did not start in time");
	return err_hint(e, "claude logs %s shows its last output, claude agents its state", c->background);
}

int
recovery_respawn_background(struct recovery *r, struct err *e)
{
	const struct candidate *c = r->c;
	struct refusal no = recovery_refusal(r->w, c, NULL, r->named, r->include_infra);
	int64_t timeout_ms = config_ms(r->w->config, "ready_timeout"), from = clock_wall_ms();
	int64_t until = clock_mono_ms() + timeout_ms;
	struct agent_background now;
	bool failed;

	if (no.name != NULL)
		return recovery_refuse(&no, e);
	failed = agent_background_read(c->config_dir, c->background, &now) &&
	    (now.stand == BACKGROUND_FAILED || now.stand == BACKGROUND_GIVEN_UP);
	agent_background_release(&now);
	if (!failed) {
		err_set(e, GT_AGAIN, "changed", "background session %s changed during the check",
		    c->background);
		return err_hint(e, "nothing was changed; gt-recover list shows its new state");
	}
	recovery_report(r, PROGRESS_STARTING);
	r->attempt.times[PHASE_RESPAWNED] = from;
	record_set(&r->attempt.via, "respawn");
	if (ask_claude(c, timeout_ms, e) != 0 || wait_for_transcript(r, from, until, e) != 0)
		return -1;
	record_set(&r->attempt.proof, "transcript");
	return 0;
}
