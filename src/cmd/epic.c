#include <string.h>

#include "base/err.h"
#include "cmd/checkpoint.h"
#include "cmd/verb.h"

static int
signal_ready(struct verb_job *j, struct err *e)
{
	return checkpoint_take(j, "epic signal", SHAPE_SIGNAL, e);
}

static const struct verb verbs[] = {
	{ "signal", signal_ready, 1, 1, .writes = true },
};

int
cmd_epic(const struct cli *cli, struct err *e)
{
	return verb_run(cli, verbs, sizeof verbs / sizeof verbs[0], e);
}
