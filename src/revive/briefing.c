#include <string.h>

#include "revive/briefing.h"
#include "revive/adopt.h"
#include "revive/candidate.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/err.h"
#include "epic/brief.h"
#include "ledger/session.h"
#include "scrub/scrub.h"
#include "town/config.h"

int
briefing_of(struct world *w, const char *agent, const char *cwd, struct scrub *s, struct clean_text **checkpoint, struct err *e)
{
	struct store *store = world_store(w, false, e);
	struct buf text = BUF_INIT;
	int ret = 0;

	if (clean_len(*checkpoint) > 0)
		buf_fmt(&text, "%s\n", clean_bytes(*checkpoint));
	if (store != NULL)
		ret = brief_write(store, agent, cwd, (double)config_int(w->config, "epics.resume_threshold"), &text, e);
	else if (e->code != 0)
		ret = -1;
	if (ret > 0) {
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
	if (ret == 0 && agent != NULL)
		ret = briefing_of(w, agent, c->cwd, s, checkpoint, e);
	session_set(&agent, NULL);
	return ret;
}
