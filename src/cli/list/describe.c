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

static const char *const states[] = {
	[AGENT_DEAD] = "crashed", [AGENT_ZOMBIE] = "crashed to shell", [AGENT_RESTORED] = "gone",
	[AGENT_MISSING] = "gone", [AGENT_RESPAWNED] = "restarted", [AGENT_LIVE] = "live",
	[AGENT_UNKNOWN] = "unknown", [AGENT_REMOTE] = "remote",
};

/* Those that are told in other words than their names. */
static const char *const causes[] = {
	[REASON_OOM] = "out of memory", [REASON_SERVER_EXIT] = "tmux ended",
	[REASON_PROCESS_DIED] = "agent died", [REASON_LIMIT] = "usage limit",
};

const char *
cmd_list_state(const struct candidate *c, bool refused)
{
	if (c->status == AGENT_LIVE || c->status == AGENT_REMOTE || c->status == AGENT_UNKNOWN)
		return states[c->status];
	if (candidate_has_ended(c) || c->reason == REASON_STOPPED)
		return "exited";
	if (refused)
		return "refused";
	return states[c->status];
}

const char *
cmd_list_word(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof states / sizeof states[0]; i++)
		if (strcmp(detect_status_name((enum agent_status)i), name) == 0)
			return states[i];
	for (size_t i = 0; name != NULL && i < sizeof causes / sizeof causes[0]; i++)
		if (causes[i] != NULL && strcmp(detect_reason_name((enum crash_cause)i), name) == 0)
			return causes[i];
	return name;
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
		buf_str(out, causes[REASON_OOM]);
	else if (c->reason == REASON_LIMIT)
		buf_str(out, causes[REASON_LIMIT]);
	else if (c->record != NULL)
		buf_str(out, c->record->state == SESSION_SUSPENDED ? "suspended" : "process gone");
	else if (c->status == AGENT_RESTORED || c->reason == REASON_SERVER_EXIT)
		buf_str(out, causes[REASON_SERVER_EXIT]);
	else if (c->reason == REASON_STOPPED)
		buf_str(out, "stopped");
	else if (c->status == AGENT_ZOMBIE || c->status == AGENT_RESPAWNED)
		buf_str(out, causes[REASON_PROCESS_DIED]);
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
