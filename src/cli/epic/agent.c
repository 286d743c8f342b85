#include "cli/epic/epic.h"
#include "detect/detect.h"
#include "process/proc.h"
#include "records/recovery/recovery.h"

static const json_t *
agent_record(const struct epic_sprint *x, const char *agent)
{
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		if (strcmp(json_text(json_array_get(x->agents, i), "agentId", ""), agent) == 0)
			return json_array_get(x->agents, i);
	return NULL;
}

static bool
has_conversation(const struct candidate *c, const char *id)
{
	return id != NULL &&
	    ((c->session_id != NULL && strcmp(c->session_id, id) == 0) ||
		(c->pid_record.session_id != NULL && c->own_pid_record &&
		    strcmp(c->pid_record.session_id, id) == 0));
}

/* "name@team" */
static bool
is_member(const struct candidate *c, const char *agent)
{
	const char *team, *name = candidate_teammate(c, &team), *at = strchr(agent, '@');

	return name != NULL && at != NULL && strlen(name) == (size_t)(at - agent) &&
	    strncmp(name, agent, strlen(name)) == 0 && strcmp(team, at + 1) == 0;
}

static bool
has_seen(const struct candidate *c, const struct seen_agent *s, const char *conversation)
{
	return conversation != NULL && s->conversation != NULL &&
	    strcmp(s->conversation, conversation) == 0 && s->pane_id != NULL &&
	    strcmp(s->pane_id, c->pane.id) == 0 && s->server_pid == c->pane.server_pid &&
	    s->server_start == c->pane.server_start;
}

const struct candidate *
epic_candidate(
    struct app *w, const struct candidate_list *all, const struct epic_sprint *x, const char *agent)
{
	const json_t *o = agent_record(x, agent);
	const char *conversation = json_text(o, "sessionId", NULL);
	const struct seen_agent_list *seen = app_seen(w);
	int64_t pid = json_number(json_object_get(o, "process"), "pid", 0);

	for (size_t i = 0; i < all->n; i++) {
		const struct candidate *c = &all->v[i];
		bool same = has_conversation(c, conversation) || is_member(c, agent) ||
		    (pid > 0 && c->agent_pid == (pid_t)pid);

		for (size_t k = 0; k < seen->n && !same; k++)
			same = has_seen(c, &seen->v[k], conversation);
		if (same)
			return c;
	}
	return NULL;
}

bool
epic_agent_runs(const struct epic_sprint *x, const char *agent)
{
	const json_t *p = json_object_get(agent_record(x, agent), "process");
	int64_t pid = json_number(p, "pid", 0), start = json_number(p, "start", 0);

	return pid > 0 && start > 0 && proc_life((pid_t)pid, (uint64_t)start) != LIFE_GONE;
}

void
epic_started_pane(struct app *w, const char *attempt, char pane[24])
{
	struct store *s = app_store(w, false, NULL);
	struct attempt a;

	*pane = '\0';
	if (s == NULL || *attempt == '\0' || attempt_load(s, attempt, &a, NULL) != 1)
		return;
	if (a.new_pid > 0 && a.pane_id != NULL && proc_life((pid_t)a.new_pid, 0) != LIFE_GONE)
		snprintf(pane, 24, "%.20s", a.pane_id);
	attempt_release(&a);
}
