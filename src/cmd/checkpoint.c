#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cmd/checkpoint.h"
#include "cmd/input.h"
#include "cmd/verb.h"
#include "epic/shape.h"
#include "epic/state.h"
#include "scrub/scrub.h"
#include "store/store.h"

/* What was read, without its secrets, and says so. New reference. */
static json_t *
clean(struct verb_job *j, enum shape shape, const json_t *o, struct err *e)
{
	struct scrub *s = world_scrub(&j->w, e);
	json_t *cleaned;

	if (s == NULL)
		return NULL;
	cleaned = shape_clean(shape, o, s, e);
	if (cleaned != NULL && scrub_total(s) > 0)
		say_warning(&j->say, "secrets were taken out of the checkpoint");
	scrub_free(s);
	return cleaned;
}

int
checkpoint_take(struct verb_job *j, const char *command, enum shape shape, struct err *e)
{
	const char *id = j->cli.args[0];
	json_t *o = input_object(command, SHAPE_MAX, NULL, 0, e), *cleaned = NULL;
	char *key = NULL;
	int ret = -1;

	if (o != NULL && shape_take(shape, id, o, store_now(j->store), e) == 0 && (cleaned = clean(j, shape, o, e)) != NULL)
		ret = state_write(j->store, shape, id, cleaned, &key, e);
	if (ret == 0 && j->cli.json) {
		json_t *v = say_object();

		json_put(v, "key", key);
		json_object_set(v, shape_name(shape), cleaned);
		say_json(v);
	} else if (ret == 0 && j->cli.verbose > 0) {
		say_line(&j->say, "It is on disk.");
	}
	free(key);
	json_decref(cleaned);
	json_decref(o);
	return ret == 0 ? GT_OK : -1;
}

static int
epic(struct verb_job *j, struct err *e)
{
	return checkpoint_take(j, "checkpoint epic", SHAPE_EPIC, e);
}

static int
sprint(struct verb_job *j, struct err *e)
{
	return checkpoint_take(j, "checkpoint sprint", SHAPE_SPRINT, e);
}

static int
agent(struct verb_job *j, struct err *e)
{
	return checkpoint_take(j, "checkpoint agent", SHAPE_AGENT, e);
}

static int
file(struct verb_job *j, struct err *e)
{
	return checkpoint_take(j, "checkpoint file", SHAPE_FILE, e);
}

static const struct verb verbs[] = {
	{ "epic", epic, 1, 1, .writes = true },
	{ "sprint", sprint, 1, 1, .writes = true },
	{ "agent", agent, 1, 1, .writes = true },
	{ "file", file, 1, 1, .writes = true },
};

int
cmd_checkpoint(const struct cli *cli, struct err *e)
{
	return verb_run(cli, verbs, sizeof verbs / sizeof verbs[0], e);
}
