#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "app/app.h"
#include "process/proc.h"

static bool
has_lost_conversation(struct detection *d, const struct candidate *c)
{
	struct transcript_found found;
	char *folder = transcript_folder(c->config_dir, c->cwd);
	bool yes = folder != NULL && detect_find_transcript(d->w, c, NULL, NULL, &found, NULL) == 0;

	if (yes) {
		yes = found.how == FOUND_AMBIGUOUS;
		transcript_found_release(&found);
	}
	free(folder);
	return yes;
}

static enum claim_answer
explain_place(struct detection *d, struct claim *x, struct candidate *c)
{
	const struct pane_claim *pane = x->about;
	const struct profile *claude = profile_find(d->w->profiles, "claude");

	/* a shell that waits for its agent tells of no other */
	if (*c->pane.place != '\0' && *c->pane.filled == '\0')
		return CLAIM_OPEN;
	if (!pane->empty_shell || c->profile != NULL || !c->typed || c->config_dir == NULL || claude == NULL)
		return CLAIM_OPEN;
	c->profile = claude;
	c->status = AGENT_ZOMBIE;
	c->by_place = true;
	if (!has_lost_conversation(d, c)) {
		c->profile = NULL;
		c->by_place = false;
		c->status = AGENT_DEAD;
		return CLAIM_OPEN;
	}
	c->reason = REASON_UNKNOWN;
	c->low_confidence = true;
	c->crashed_at = c->pane.activity * 1000;
	return CLAIM_AGENT;
}

const struct agent_source detect_from_place = {
	.name = "place", .bit = FROM_PLACE, .adds_to = FROM_PANES, .explain = explain_place,
};
