#include "cli/records/verbs.h"
#include "scrub/scrub.h"
#include "store/store.h"

/* What was read, without its secrets, and says so. New reference. */
static json_t *
clean(struct verb_job *j, enum checkpoint_kind shape, const json_t *o, struct err *e)
{
	struct scrub *s = app_scrub(&j->w, e);
	json_t *cleaned;

	if (s == NULL)
		return NULL;
	cleaned = checkpoint_scrub(shape, o, s, e);
	if (cleaned != NULL && scrub_total(s) > 0)
		output_warning(&j->say, "secrets in the checkpoint were redacted");
	scrub_free(s);
	return cleaned;
}

/* What another program keeps there becomes a record of ours first, and stays in a copy. */
static int
adopt(struct verb_job *j, enum checkpoint_kind shape, const char *id, const json_t *o, struct err *e)
{
	struct scrub *s = app_scrub(&j->w, e);
	size_t n = 0;
	int ret = s != NULL ? epic_adopt(j->store, s, shape, id, o, &n, e) : -1;

	if (n > 0)
		output_line(&j->say,
		    "Adopted %zu key%s of another program (copy: the hash gt-recover:adopted).", n,
		    n == 1 ? "" : "s");
	scrub_free(s);
	return ret;
}

int
cmd_checkpoint_commit(struct verb_job *j, const char *command, enum checkpoint_kind shape, struct err *e)
{
	const char *id = j->cli.args[0];
	json_t *o = cli_input_object(command, CHECKPOINT_MAX, NULL, 0, e), *cleaned = NULL;
	char *key = NULL;
	int ret = -1;

	if (o != NULL && checkpoint_normalize(shape, id, o, store_now(j->store), e) == 0 &&
	    (cleaned = clean(j, shape, o, e)) != NULL && adopt(j, shape, id, cleaned, e) == 0)
		ret = checkpoint_commit(j->store, shape, id, cleaned, &key, e);
	if (ret == 0 && j->cli.json) {
		json_t *v = output_object();

		json_put(v, "key", key);
		json_object_set(v, checkpoint_kind_name(shape), cleaned);
		output_json(v);
	} else if (ret == 0 && j->cli.verbose > 0) {
		output_line(&j->say, "Saved.");
	}
	free(key);
	json_decref(cleaned);
	json_decref(o);
	return ret == 0 ? GT_OK : -1;
}

static int
epic(struct verb_job *j, struct err *e)
{
	return cmd_checkpoint_commit(j, "checkpoint epic", CHECKPOINT_EPIC, e);
}

static int
sprint(struct verb_job *j, struct err *e)
{
	return cmd_checkpoint_commit(j, "checkpoint sprint", CHECKPOINT_SPRINT, e);
}

static int
agent(struct verb_job *j, struct err *e)
{
	return cmd_checkpoint_commit(j, "checkpoint agent", CHECKPOINT_AGENT, e);
}

static int
file(struct verb_job *j, struct err *e)
{
	return cmd_checkpoint_commit(j, "checkpoint file", CHECKPOINT_FILE, e);
}

const struct verb checkpoint_verbs[] = {
	{ "epic", epic, 1, 1, .writes = true },
	{ "sprint", sprint, 1, 1, .writes = true },
	{ "agent", agent, 1, 1, .writes = true },
	{ "file", file, 1, 1, .writes = true },
	{ .name = NULL },
};
