#ifndef APP_APP_H
#define APP_APP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tmux/tmux.h"

struct bd;
struct config;
struct oom_log;
struct profile_list;
struct scrub;
struct seen_agent_list;
struct store;
struct town;

/*
 * What all of revive works in: configuration, town, agents' profiles, tmux servers, state. Made
 * once by a command (cli/open.c), lent to everything below; owns what it points to.
 */
struct app {
	struct config *config;
	struct town *town;
	struct profile_list *profiles;
	char *state_dir;		/* absolute; may not exist yet */
	struct store *store;		/* NULL until app_store */
	/* a damaged store was restored: a sentence to be said, heap; else NULL */
	char *restored;
	/* the store cannot be written and was opened for reading alone: why, heap; else NULL */
	struct err *reading;
	/* sessions whose dead pane this run has reset, heap: said unless quiet, then n_reset is 0 */
	char **reset;
	size_t n_reset, cap_reset;
	bool quiet;
	struct err store_trouble;	/* why it could not be opened; code 0: it was not tried, or could */
	struct tmux *servers;
	size_t n_servers;
	struct bd *bd;			/* NULL until app_bd */
	struct oom_log *oom;		/* NULL until app_oom */
	struct seen_agent_list *seen;	/* NULL until app_seen */
	/* the store is a dry one (store_overlay): no file is removed either */
	bool dry;
	bool look_only;			/* --dry-run, doctor: dead panes stay as they are (detect/detect.h) */
	bool sockets_named;		/* -L was given: a server that is not there is an error */
	volatile sig_atomic_t *stop;	/* set by SIGINT, SIGTERM, SIGHUP: finish the step, then leave */
};

/*
 * A store that is damaged is restored from its backup when `make` is true (store_restore), and
 * `restored` set. One that cannot be written, on a file system that is mounted read-only say, is
 * opened for reading when `make` is false, and `reading` set; root reads another user's in the same
 * way.
 *
 * The store, opened on first use, without `make` tried once a run; makes the state directory when
 * `make` is true, else NULL without an error when there is no store yet. A state directory that
 * writers refuse is an error for readers too (town_state_check). What hooks left in the
 * spool is noted first (records/hooks/hooks.h).
 */
struct store *app_store(struct app *w, bool make, struct err *e);
/* Before a fork: a store is not used in two processes. Opened again on next use. */
void app_close_store(struct app *w);
/* A file in a private folder of the state directory, made if `make`. Heap; NULL with err. */
char *app_path(struct app *w, const char *folder, const char *name, bool make, struct err *e);
/* The lock file of a pane (base/io.h, io_lock): who holds it is at work on it. Heap; NULL with err. */
char *app_pane_lock(struct app *w, int64_t server_pid, int64_t server_start, const char *pane_id,
    struct err *e);
/* A scrubber with the configured rules. NULL with err. */
struct scrub *app_scrub(struct app *w, struct err *e);
/* The one conversation with bd that this command has; made on first use, released with the context. */
struct bd *app_bd(struct app *w);
/* What the kernel killed for want of memory, as above. */
struct oom_log *app_oom(struct app *w);
/* What is known of agents from their first sight on, as it was when this was first asked; may be empty. */
const struct seen_agent_list *app_seen(struct app *w);
struct tmux *app_server(struct app *w, const char *socket);

#endif
