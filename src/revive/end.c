#include <signal.h>
#include <string.h>

#include "revive/end.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/oom.h"
#include "agent/profile.h"

#define COMM 15		/* the kernel keeps so much of a name */

static bool
fits_agent(const void *arg, const char *comm)
{
	const struct candidate *c = arg;
	const struct profile *p = c->profile;

	if (c->launch.name != NULL && strncmp(comm, c->launch.name, COMM) == 0)
		return true;
	return (p != NULL && profile_is_process(p, comm)) || proc_is_runtime(comm);
}

static bool
fits_pane(const void *arg, const char *comm)
{
	return fits_agent(arg, comm) || proc_is_shell(comm);
}

static bool
out_of_memory(struct world *w, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	/* tmux may learn of a death late; until then nobody else can have the pid */
	struct oom_death d = { .pid = p->pid, .from = p->activity * 1000, .until = (p->dead_time + 1) * 1000, .fits = fits_pane, .arg = c };

	if (p->dead_time <= 0 || p->pid <= 0)
		return false;
	if (d.from > d.until)
		d.from = d.until;
	if (p->dead_signal == SIGKILL && oom_killed(world_oom(w), &d))
		return true;
	if (c->note.session_id == NULL || c->note.pid == p->pid)
		return false;
	d.pid = c->note.pid;
	d.fits = fits_agent;
	return oom_killed(world_oom(w), &d);
}

enum reason
end_reason(struct world *w, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	bool by_nine = p->dead_signal == SIGKILL || p->dead_status == 128 + SIGKILL;

	if (by_nine && out_of_memory(w, c))
		return REASON_OOM;
	if (p->dead_signal > 0)
		return REASON_KILLED;
	if (p->dead_status < 0)
		return REASON_UNKNOWN;
	/* ended on its own, or asked to by SIGHUP or SIGTERM, which Claude Code answers with 129 and 143 */
	if (p->dead_status == 0 || p->dead_status == 129 || p->dead_status == 143)
		return REASON_STOPPED;
	return REASON_EXITED;
}
