#ifndef REVIVE_WORLD_H
#define REVIVE_WORLD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tmux/client.h"

struct bd;
struct config;
struct oom_log;
struct profiles;
struct scrub;
struct store;
struct town;

/*
 * What all of revive works in: configuration, town, agents' profiles, tmux servers, state. Made once by a command (cmd/setup.c), lent to
 * everything below; owns what it points to.
 */
struct world {
	struct config *config;
	struct town *town;
	struct profiles *profiles;
	char *state_dir;		/* absolute; may not exist yet */
	struct store *store;		/* NULL until world_store */
	char *mended;			/* a damaged store was restored: a sentence to be said, heap; else NULL */
	struct err store_trouble;	/* why it could not be opened; code 0: it was not tried, or could */
	struct tmux *servers;
	size_t n_servers;
	struct bd *bd;			/* NULL until world_bd */
	struct oom_log *oom;		/* NULL until world_oom */
	bool dry;			/* the store is a dry one (store_dry): no file is removed either */
	bool sockets_named;		/* -L was given: a server that is not there is an error */
	volatile sig_atomic_t *stop;	/* set by SIGINT, SIGTERM, SIGHUP: finish the step, then leave */
};

/* A store that is damaged is restored from its backup when `make` is true (store_mend), and `mended` set. */
/* The store, opened on first use, without `make` tried once a run; makes the state directory when `make` is true, else NULL without an error when there is no store yet. What hooks left in the spool is noted first (ledger/spool.h). */
struct store *world_store(struct world *w, bool make, struct err *e);
/* A file in a private folder of the state directory, made if `make`. Heap; NULL with err. */
char *world_path(struct world *w, const char *folder, const char *name, bool make, struct err *e);
/* The lock file of a pane (base/io.h, io_lock): who holds it is at work on it. Heap; NULL with err. */
char *world_pane_lock(struct world *w, int64_t server_pid, int64_t server_start, const char *pane_id, struct err *e);
/* A scrubber with the configured rules. NULL with err. */
struct scrub *world_scrub(struct world *w, struct err *e);
/* The one conversation with bd that this command has; made on first use, released with the world. */
struct bd *world_bd(struct world *w);
/* What the kernel killed for want of memory, as above. */
struct oom_log *world_oom(struct world *w);
struct tmux *world_server(struct world *w, const char *socket);

#endif
