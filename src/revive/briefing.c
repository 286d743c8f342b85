#include <string.h>

#include "revive/briefing.h"
#include "revive/adopt.h"
#include "revive/candidate.h"
#include "revive/wip_pass.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/err.h"
#include "epic/brief.h"
#include "ledger/session.h"
#include "scrub/scrub.h"
#include "town/config.h"

int
briefing_of(struct world *w, const char *agent, const char *session, const char *cwd, struct scrub *s, struct clean_text **checkpoint,
    struct err *e)
{
	struct store *store = world_store(w, false, e);
	struct buf text = BUF_INIT;
	size_t before;
	int ret = store == NULL && e->code != 0 ? -1 : 0;

	if (clean_len(*checkpoint) > 0)
		buf_fmt(&text, "%s\n", clean_bytes(*checkpoint));
	before = text.len;
	if (store != NULL && agent != NULL)
		ret = brief_write(store, agent, cwd, (double)config_int(w->config, "epics.resume_threshold"), &text, e);
	if (ret >= 0)
		wip_tell(w, agent, session, cwd, &text);
	if (ret >= 0 && text.len > before) {
		clean_free(*checkpoint);
		*checkpoint = scrub_text(s, text.data, text.len, 0);
	}
	buf_release(&text);
	return ret < 0 ? -1 : 0;
}

int
briefing_read(struct world *w, const struct candidate *c, struct scrub *s, struct clean_text **checkpoint, struct err *e)
{
	char *agent = NULL;
	int ret;

	err_clear(e);
	ret = adopt_agent(w, c, &agent, e);
	if (ret == 0)
		ret = briefing_of(w, agent, c->pane.session, c->cwd, s, checkpoint, e);
	session_set(&agent, NULL);
	return ret;
}
