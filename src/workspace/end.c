#include <string.h>

#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "process/oom.h"
#include "tmux/tmux.h"
#include "workspace/workspace.h"

const char *
workspace_end_name(enum workspace_end end)
{
	static const char *const names[] = { "unclear", "reboot", "oom", "crash", "killed" };

	return names[end];
}

/* "tmux: server" */
static bool
fits_server(const void *arg, const char *comm)
{
	(void)arg;
	return str_starts(comm, "tmux");
}

#define BOOT_SLACK_MS 60000	/* a clock that was set */

enum boot { BOOT_UNCLEAR, BOOT_SAME, BOOT_EARLIER };

/* In which it ran. */
static enum boot
boot_of(struct app *w, const struct pane *p)
{
	enum boot found = BOOT_UNCLEAR;
	struct timestamp now;
	struct workspace x;
	const char *id;

	timestamp_now(&now);
	if (!workspace_read(w, p->socket_path, p->server_pid, p->server_start, NULL, &x))
		return p->server_start * 1000 < now.wall_ms - now.boot_ms - BOOT_SLACK_MS ? BOOT_EARLIER
											: BOOT_SAME;
	id = json_text(x.file, "boot_id", "");
	if (*id != '\0' && *now.boot_id != '\0')
		found = strcmp(id, now.boot_id) == 0 ? BOOT_SAME : BOOT_EARLIER;
	workspace_release(&x);
	return found;
}

enum workspace_end
workspace_end_report(struct app *w, const struct pane *p)
{
	struct oom_death d = { .pid = p->server_pid,
		.from = p->server_start * 1000,
		.until = clock_wall_ms(),
		.fits = fits_server };
	enum boot boot = p->server_pid > 0 ? boot_of(w, p) : BOOT_UNCLEAR;

	if (boot != BOOT_SAME)
		return boot == BOOT_EARLIER ? END_REBOOT : END_UNCLEAR;
	if (oom_killed(app_oom(w), &d))
		return END_OOM;
	d.fault = true;
	if (oom_killed(app_oom(w), &d))
		return END_CRASH;
	return app_oom(w)->readable ? END_KILLED : END_UNCLEAR;
}

enum workspace_end
workspace_end(struct app *w, const struct pane *p)
{
	enum workspace_end end = workspace_end_report(w, p);

	return end == END_KILLED ? END_UNCLEAR : end;
}
