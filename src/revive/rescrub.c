#include "revive/rescrub.h"
#include "revive/gather.h"
#include "context/wash.h"
#include "scrub/scrub.h"

void
rescrub(struct gathered *g, size_t sought)
{
	struct clean_text **texts[] = { &g->capture.text, &g->bead.title, &g->bead.description, &g->bead.notes, &g->bead.handoff,
	    &g->git, &g->checkpoint };

	if (scrub_sought(g->scrub) == sought)
		return;
	wash_conversation(&g->talk, g->scrub);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct clean_text *old = *texts[i];

		if (old != NULL)
			*texts[i] = scrub_text(g->scrub, clean_bytes(old), clean_len(old), 0);
		clean_free(old);
	}
}
