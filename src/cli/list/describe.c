#include "cli/cli_private.h"
#include "base/clock.h"
#include "records/agents/agents.h"

/* An agent in the words of a row: the list's and the picker's. */

const char *
output_target(const struct candidate *c)
{
	static struct buf ring[4];
	static size_t next;
	struct buf *b = &ring[next++ % (sizeof ring / sizeof ring[0])];
	const char *team;

	if (b->data == NULL)
		buf_init(b);
	buf_reset(b);
	output_foreign(b, c->pane.session, 0);
	if (*c->pane.id == '%' && (c->namesake || candidate_teammate(c, &team) != NULL))
		output_place(b, c);
	return b->data;
}

const char *
cmd_list_state(const struct candidate *c, bool refused)
{
	if (c->status == AGENT_LIVE)
		return "live";
	if (c->status == AGENT_REMOTE)
		return "remote";
	if (c->status == AGENT_UNKNOWN)
		return "unknown";
	if (candidate_has_ended(c) || c->reason == REASON_STOPPED)
		return "exited";
	if (refused)
		return "refused";
	switch (c->status) {
	case AGENT_DEAD: return "crashed";
	case AGENT_ZOMBIE: return "crashed to shell";
	case AGENT_RESPAWNED: return "restarted";
	default: return "gone";
	}
}

void
cmd_list_when(struct buf *out, const struct candidate *c)
{
	int64_t at = c->crashed_at;

	if (c->status == AGENT_LIVE && c->pane.activity > 0)
		at = c->pane.activity * 1000;
	if (at <= 0) {
		buf_chr(out, '-');
		return;
	}
	clock_age(out, clock_wall_ms() - at);
	if (c->status != AGENT_LIVE)
		buf_str(out, " ago");
}

void
cmd_list_cause(struct buf *out, const struct candidate *c)
{
	int signal = candidate_signal(c);

	if (c->background != NULL && c->status != AGENT_UNKNOWN)
		buf_fmt(out, "background, %s", output_shown(c->background_state, 20));
	else if (c->status == AGENT_LIVE)
		buf_chr(out, '-');
	else if (c->status == AGENT_UNKNOWN)
		buf_str(out, "unknown");
	else if (c->status == AGENT_REMOTE)
		buf_str(out, output_shown(c->remote, 40));
	else if (c->reason == REASON_OOM)
		buf_str(out, "out of memory");
	else if (c->reason == REASON_LIMIT)
		buf_str(out, "usage limit");
	else if (c->record != NULL)
		buf_str(out, c->record->state == SESSION_SUSPENDED ? "suspended" : "process gone");
	else if (c->status == AGENT_RESTORED || c->reason == REASON_SERVER_EXIT)
		buf_str(out, "tmux ended");
	else if (c->reason == REASON_STOPPED)
		buf_str(out, "stopped");
	else if (c->status == AGENT_ZOMBIE || c->status == AGENT_RESPAWNED)
		buf_str(out, "agent died");
	else if (c->status == AGENT_MISSING)
		buf_str(out, "session closed");
	else if (signal > 0)
		buf_str(out, gather_signal_name(signal));
	else if (c->pane.dead_status >= 0)
		buf_fmt(out, "exit %d", c->pane.dead_status);
	else
		buf_str(out, "unknown");
}

void
cmd_list_where(struct buf *out, const struct candidate *c)
{
	const char *path = c->record != NULL ? c->record->workspace_path : c->cwd, *home = getenv("HOME");
	size_t n = home != NULL ? strlen(home) : 0;

	if (path == NULL || *path == '\0')
		path = "-";
	if (n > 1 && strncmp(path, home, n) == 0 && (path[n] == '/' || path[n] == '\0')) {
		buf_chr(out, '~');
		path += n;
	}
	output_foreign(out, path, 0);
}
