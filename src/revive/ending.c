#include <stdlib.h>
#include <string.h>

#include "revive/ending.h"
#include "revive/tidy.h"
#include "revive/world.h"
#include "agent/profile.h"
#include "context/trail.h"
#include "context/transcript.h"
#include "ledger/attempt.h"

int
ending_acknowledged(struct world *w, struct attempt *a, struct err *e)
{
	if (attempt_advance(w->store, a, PHASE_ACKNOWLEDGED, e) != 0)
		return -1;
	tidy_prompt(w, a->id);
	return 0;
}

int
ending_failed(struct world *w, struct attempt *a, const char *why, struct err *e)
{
	if (attempt_fail(w->store, a, why, e) != 0)
		return -1;
	tidy_prompt(w, a->id);
	return 0;
}

static void
look_for_it(const struct world *w, const struct attempt *a, const char *config_dir, enum ack *ack, char **path)
{
	const struct profile *p = a->agent != NULL ? profiles_find(w->profiles, a->agent) : NULL;

	if (p == NULL || strcmp(p->transcript, "claude") == 0)
		transcript_search(config_dir, a->cwd, a->id, a->times[PHASE_RESPAWNED], ack, path);
	else if (strcmp(p->transcript, "none") != 0)
		trail_search(p->transcript, config_dir, a->id, a->times[PHASE_RESPAWNED], ack, path);
}

int
ending_judged(struct world *w, struct attempt *a, const char *config_dir, const char *why, struct err *e)
{
	enum ack ack = ACK_NONE;
	char *path = NULL;
	int ret;

	if (config_dir != NULL && a->cwd != NULL && a->times[PHASE_RESPAWNED] != 0)
		look_for_it(w, a, config_dir, &ack, &path);
	if (ack == ACK_ANSWERED) {
		attempt_set(&a->proof, "transcript");
		attempt_set(&a->transcript, path);
		ret = ending_acknowledged(w, a, e);
	} else {
		ret = ending_failed(w, a, why, e);
	}
	free(path);
	return ret;
}
