#include <stdlib.h>

#include "revive/ending.h"
#include "revive/tidy.h"
#include "revive/world.h"
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

int
ending_judged(struct world *w, struct attempt *a, const char *config_dir, const char *why, struct err *e)
{
	enum ack ack = ACK_NONE;
	char *path = NULL;
	int ret;

	if (config_dir != NULL && a->cwd != NULL && a->times[PHASE_RESPAWNED] != 0)
		transcript_search(config_dir, a->cwd, a->id, a->times[PHASE_RESPAWNED], &ack, &path);
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
