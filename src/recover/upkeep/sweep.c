#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recover/upkeep/upkeep_private.h"
#include "recover/upkeep/upkeep.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "config/config.h"
#include "records/history/history.h"
#include "records/hooks/hooks.h"
#include "store/store.h"

#define BUDGET_MS 1000
#define MIB ((int64_t)1 << 20)

char *
upkeep_sweep_state(const struct app *w)
{
	return io_join(w->state_dir, "retention.json");
}

/* Its time that is left belongs to the file. */
static int
sweep_records(struct app *w, struct store *store, bool *left, struct err *e)
{
	char *state = upkeep_sweep_state(w), *log = io_join(w->state_dir, EVENT_LOG),
	     *archive = config_path(w->config, "archive");
	struct history_limits limits = { .age_ms = config_ms(w->config, "keep_history"),
		.count = config_int(w->config, "keep_history_count"),
		.crashes_ms = config_ms(w->config, "attempt_window"),
		.budget_ms = BUDGET_MS,
		.state = state,
		.log = log,
		.archive = archive };
	int64_t until = clock_mono_ms() + BUDGET_MS, most = config_int(w->config, "event_log_mib") * MIB;
	struct history_report out;
	int ret = history_sweep(store, &limits, &out, e);

	*left = out.left > 0;
	if (ret == 0 && !out.backlog)
		ret = store_shrink(store, until, e);
	if (ret == 0)
		ret = history_trim_log(store, log, most, e) < 0 ? -1 : 0;
	free(archive);
	free(log);
	free(state);
	return ret;
}

/* What writers of these files left that died before they gave them their name. */
static void
sweep_unnamed(const struct app *w)
{
	char *state = upkeep_sweep_state(w), *spool = io_join(w->state_dir, HOOK_SPOOL),
	     *dropped = xasprintf("%s.dropped", spool);

	io_sweep(state);
	io_sweep(dropped);
	free(dropped);
	free(spool);
	free(state);
}

/* Files of ours that nothing was written to for so long. */
static void
expire_archive(const struct app *w)
{
	char *dir = config_path(w->config, "archive");
	int64_t age = config_ms(w->config, "archive_age"), now = clock_wall_ms();
	DIR *d = dir != NULL && age > 0 ? opendir(dir) : NULL;
	struct dirent *f;
	struct stat st;

	while (d != NULL && (f = readdir(d)) != NULL)
		if (str_starts(f->d_name, "history-") && str_ends(f->d_name, ".jsonl.gz") &&
		    fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		    st.st_uid == geteuid() && now - (int64_t)st.st_mtime * 1000 > age)
			unlinkat(dirfd(d), f->d_name, 0);
	if (d != NULL)
		closedir(d);
	free(dir);
}

/* The count of dropped hook reports, once nobody has to hear of them any more. */
static void
expire_dropped(const struct app *w)
{
	char *spool = io_join(w->state_dir, HOOK_SPOOL), *name = xasprintf("%s.dropped", spool);
	int64_t last;

	if (hook_spool_dropped(spool, &last) > 0 &&
	    clock_wall_ms() - last > config_ms(w->config, "snapshot_age"))
		unlink(name);
	free(name);
	free(spool);
}

bool
upkeep_sweep(struct app *w, struct err *e)
{
	const char *url = config_text(w->config, "state");
	int64_t keep = config_int(w->config, "damaged_keep");
	struct err own = ERR_INIT;
	struct store *store;
	bool left = false;

	if (w->dry || w->look_only || (store = app_store(w, false, NULL)) == NULL)
		return false;
	sweep_unnamed(w);
	sweep_records(w, store, &left, &own);
	if (keep > 0)
		store_prune_damaged(url, w->state_dir, (size_t)keep);
	expire_archive(w);
	expire_dropped(w);
	upkeep_tidy_folders(w);
	/* another command is at it */
	if (strcmp(own.name, "locked") != 0 && e != NULL)
		*e = own;
	return left;
}
