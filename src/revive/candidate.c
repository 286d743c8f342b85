#include <stdlib.h>
#include <string.h>

#include "revive/candidate.h"
#include "base/buf.h"
#include "ledger/session.h"
#include "tmux/client.h"

const char *
class_name(enum class c)
{
	static const char *const names[] = { "dead", "zombie", "restored", "missing", "respawned", "live", "unknown" };

	return names[c];
}

const char *
reason_name(enum reason r)
{
	static const char *const names[] = { "", "exited", "killed", "oom", "server_exit", "process_died", "stopped", "limit", "unknown" };

	return names[r];
}

bool
class_crashed(enum class c)
{
	return c < CLASS_LIVE;
}

bool
class_has_shell(enum class c)
{
	return c == CLASS_ZOMBIE || c == CLASS_RESTORED;
}

bool
class_has_pane(enum class c)
{
	return c != CLASS_MISSING;
}

size_t
candidate_lines(const struct candidate *c)
{
	return c->lines > 0 ? c->lines : c->snapshot_lines;
}

bool
candidate_is_over(const struct candidate *c)
{
	return c->class == CLASS_MISSING && c->reason == REASON_STOPPED;
}

bool
candidate_crashed(const struct candidate *c)
{
	return class_crashed(c->class) && !candidate_is_over(c);
}

void
candidate_release(struct candidate *c)
{
	pane_release(&c->pane);
	launch_release(&c->launch);
	session_file_release(&c->note);
	free(c->cwd);
	free(c->config_dir);
	free(c->snapshot);
	free(c->needs);
	free(c->lost_id);
	free(c->started_by);
	free(c->after);
	town_list_release(&c->carried);
	if (c->record != NULL)
		session_release(c->record);
	free(c->record);
	memset(c, 0, sizeof *c);
}

void
candidate_without_pane(const struct tmux *t, char *session, const char *cwd, struct pane *p)
{
	p->socket = xstrdup(t->socket);
	p->socket_path = tmux_socket_path(t);
	p->session = session;
	p->id = xstrdup(session);
	p->dead = true;
	p->dead_status = p->dead_signal = -1;
	p->width = 80;
	p->height = 24;
	p->remain_on_exit = xstrdup("off");
	p->start_path = xstrdup(cwd);
	p->default_shell = xstrdup("/bin/sh");
	p->session_id = xstrdup("");
	p->window_id = xstrdup("");
	p->dead_line = xstrdup("");
	p->command = xstrdup("");
	p->start_command = xstrdup("");
	p->path = xstrdup("");
	p->tty = xstrdup("");
	p->title = xstrdup("");
	p->window_name = xstrdup("");
}
