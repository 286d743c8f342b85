#include <stdlib.h>
#include <string.h>

#include "recover/upkeep/upkeep.h"
#include "app/app.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "config/config.h"
#include "epic/epic.h"
#include "records/agents/agents.h"
#include "records/hooks/hooks.h"
#include "records/recovery/recovery.h"
#include "scrub/scrub.h"
#include "store/store.h"

/* The conversation of an agent: that of its session in the ledger, else the id in its epic. Heap. */
static char *
conversation_of(struct store *s, const json_t *agent)
{
	const char *id = json_text(agent, "sessionId", json_text(agent, "agentId", ""));
	struct session session;
	char *found = NULL;

	session_init(&session);
	if (s != NULL && session_load(s, id, &session, NULL) > 0 && session.cursor_session_id != NULL)
		found = xstrdup(session.cursor_session_id);
	session_release(&session);
	return found != NULL ? found : xstrdup(id);
}

/* As its source, its hooks or a pass over the panes know it. */
static char *
find_transcript(const json_t *agent, void *arg)
{
	struct app *w = arg;
	struct store *s = app_store(w, false, NULL);
	const struct seen_agent_list *seen = app_seen(w);
	const char *told = json_text(agent, "transcript", NULL);
	char *conversation = conversation_of(s, agent), *found = told != NULL ? xstrdup(told) : NULL;
	struct activity a;

	if (found == NULL && s != NULL && activity_load(s, conversation, &a, NULL) > 0) {
		found = a.transcript != NULL ? xstrdup(a.transcript) : NULL;
		activity_release(&a);
	}
	for (size_t i = 0; i < seen->n && found == NULL; i++)
		if (seen->v[i].conversation != NULL && seen->v[i].transcript != NULL &&
		    strcmp(seen->v[i].conversation, conversation) == 0)
			found = xstrdup(seen->v[i].transcript);
	free(conversation);
	return found;
}

/* What another program keeps in the store is kept there. */
static bool
is_kept_elsewhere(const struct epic *x)
{
	return x->source != NULL && !x->source->live;
}

static int
checkpoint_all(struct app *w, struct epic_list *list, struct epic_pass *out, struct err *e)
{
	struct epic_pass_tools tools = { .transcript = find_transcript, .arg = w };
	const struct epic **v = xcalloc(list->n + 1, sizeof *v);
	struct store *store;
	size_t n = 0;
	int ret = 0;

	for (size_t i = 0; i < list->n && ret == 0; i++) {
		if (!list->v[i].alive || is_kept_elsewhere(&list->v[i]))
			continue;
		if (tools.scrub == NULL && (tools.scrub = app_scrub(w, e)) == NULL)
			ret = -1;
		else if (epic_checkpoint(&list->v[i], &tools, out->at))
			v[n++] = &list->v[i];
	}
	if (ret == 0 && n > 0 && !w->dry && !w->look_only)
		ret = (store = app_store(w, true, e)) != NULL ? epic_keep_all(store, v, n, &out->records, e)
							      : -1;
	out->open = n;
	scrub_free(tools.scrub);
	free(v);
	return ret;
}

int
upkeep_checkpoint_epics(struct app *w, struct epic_pass *out, struct err *e)
{
	struct store *store = app_store(w, false, e);
	struct epic_list list = { .n = 0 };
	struct timestamp now;
	int ret;

	memset(out, 0, sizeof *out);
	if (store == NULL && e->code != 0)
		return -1;
	store_timestamp(store, &now);
	out->at = now.wall_ms;
	ret = epic_survey(w, store, NULL, config_ms(w->config, "epics.checkpoint_interval"), &now, &list, e);
	for (size_t i = 0; i < list.n_sources; i++)
		if (list.sources[i].error.code != 0 && out->unread.code == 0) {
			out->unread = list.sources[i].error;
			err_add(&out->unread, "%s cannot be read", list.sources[i].source->title);
		}
	if (ret == 0)
		ret = checkpoint_all(w, &list, out, e);
	epic_list_release(&list);
	return ret;
}
