#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "cmd/say.h"
#include "ledger/run_recover.h"
#include "town/config.h"

#define THRESHOLD_MAX ((int64_t)365 * 86400)	/* seconds, as in gt.toml */

static int
read_threshold(const char *text, int64_t *ms, struct err *e)
{
	long long n;

	errno = 0;
	n = strtoll(text, NULL, 10);
	if (*text == '\0' || strspn(text, "0123456789") != strlen(text) || errno != 0 || n > THRESHOLD_MAX) {
		err_set(e, GT_USAGE, "usage", "--threshold takes whole seconds from 0 to %lld", (long long)THRESHOLD_MAX);
		return err_hint(e, "for example: --threshold 300");
	}
	*ms = n * 1000;
	return 0;
}

int
run_recovery_read(const struct cli *cli, const struct config *c, struct run_recovery *how, struct err *e)
{
	int mode = run_mode_of(cli->mode != NULL ? cli->mode : config_text(c, "runs.mode"));

	if (mode < 0) {
		err_set(e, GT_USAGE, "usage", "--mode takes none, stale or all, not \"%.40s\"", cli->mode);
		return err_hint(e, "stale settles what is old and what its runner left; all settles everything, also under living runners");
	}
	*how = (struct run_recovery){ .mode = (enum run_mode)mode, .threshold_ms = config_ms(c, "runs.threshold"),
		.claimed_fails = strcmp(config_text(c, "runs.claimed_to"), "failed") == 0, .dry_run = cli->dry_run };
	return cli->threshold != NULL ? read_threshold(cli->threshold, &how->threshold_ms, e) : 0;
}

json_t *
run_recovery_json(const struct run_recovery *how, const struct run_report *r)
{
	json_t *o = json_object();

	if (how->mode == RUN_MODE_STALE) {
		json_put_int(o, "reset_to_pending", (int64_t)r->reset_to_pending);
		json_put_int(o, "marked_failed", (int64_t)r->marked_failed);
		json_put_int(o, "marked_stopped", (int64_t)r->marked_stopped);
	} else if (how->mode == RUN_MODE_ALL) {
		json_put_int(o, "claimed", (int64_t)r->claimed);
		json_put_int(o, "running", (int64_t)r->running);
		json_put_int(o, "stopping", (int64_t)r->stopping);
	}
	return o;
}

void
run_recovery_tell(struct say *s, const struct run_recovery *how, const struct run_report *r)
{
	struct buf counts = BUF_INIT;
	json_t *o = run_recovery_json(how, r);

	json_print(&counts, o, false);
	if (how->mode == RUN_MODE_NONE)
		say_level(s, SAY_INFO, "Run recovery disabled");
	else if (how->dry_run)
		say_level(s, SAY_INFO, "Run recovery (%s) would do: %s", run_mode_name(how->mode), counts.data);
	else if (how->mode == RUN_MODE_ALL)
		say_level(s, SAY_WARNING, "Aggressive recovery completed: %s; the registry of runners was not asked", counts.data);
	else if (r->reset_to_pending + r->marked_failed + r->marked_stopped > 0)
		say_level(s, SAY_INFO, "Stale run recovery completed: %s", counts.data);
	else
		say_level(s, SAY_DEBUG, "No stale runs to recover");
	if (r->kept_by_runner > 0)
		say_level(s, SAY_INFO, "%zu old run%s left to a living runner", r->kept_by_runner, r->kept_by_runner == 1 ? "" : "s");
	json_decref(o);
	buf_release(&counts);
}
