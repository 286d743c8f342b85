#ifndef TOWN_TOWN_H
#define TOWN_TOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "town/role.h"

struct config;
struct err;

/*
 * What we know of Gas Town: where its root is, which rigs it has, how it names sessions and sockets (its code of 2026-04 and of January
 * 2026, whose names are still about). Outside of any town everything here still answers: no rigs, the "default" socket, the user's own
 * state directory. Nothing is ever written into the town but below .gt, and its own lock file while something is typed (town/nudge.h).
 */
struct town;

/*
 * `dir` (--town) must be a town's root: a directory with mayor/ (GT_USAGE, name "not-a-town"). NULL: the outermost directory from here
 * upward with mayor/town.json, or else with mayor/; or else GT_TOWN_ROOT, then GT_ROOT, when they are such directories; or else no town.
 * Never NULL for a NULL `dir`. Free with town_free.
 */
struct town *town_new(const char *dir, struct err *e);
void town_free(struct town *t);

const char *town_root(const struct town *t);	/* absolute; NULL: no town */
const char *town_real_root(const struct town *t);	/* the same with symbolic links resolved, as /proc and tmux tell paths */
/* What was wrong with the town's own files (a rigs.json that is no JSON), one sentence; NULL: nothing. Directories then tell the rigs. */
const char *town_warning(const struct town *t);

/* Strings on the heap, and what owns them. */
struct town_list {
	char **v;
	size_t n, cap;
};
#define TOWN_LIST_INIT { .v = NULL }
void town_list_add(struct town_list *l, char *owned);
void town_list_release(struct town_list *l);

/* Rigs, longest prefix first. */
struct rig {
	char *name;
	char *prefix;		/* of its beads and sessions, without the dash: "gt" */
	bool registered;	/* the prefix stands in rigs.json, the rig's config.json or routes.jsonl; else it is gt's default "gt" */
};
size_t town_rigs(const struct town *t);
const struct rig *town_rig_at(const struct town *t, size_t i);
const struct rig *town_rig(const struct town *t, const char *name);	/* NULL when there is none */

/* The polecats that have a directory, by name. */
void town_polecats(const struct town *t, const char *rig, struct town_list *out);

/*
 * Directories that hold a .beads, in the order of reading: the rig's (<town>/<rig>, <town>/<rig>/mayor/rig, what routes.jsonl says),
 * then the town's. `rig` may be NULL or "".
 */
void town_bead_dirs(const struct town *t, const char *rig, struct town_list *out);
/* The directory that routes.jsonl gives for a bead's id ("gt-abc": the longest prefix wins), heap; NULL when there is none. */
char *town_bead_route(const struct town *t, const char *bead);

/*
 * The port of the town's Dolt server, as gt finds it: listener.port in .dolt-data/config.yaml, GT_DOLT_PORT, the env of mayor/daemon.json.
 * Digits, heap; NULL when nothing says it.
 */
char *town_dolt_port(const struct town *t);

/*
 * Names of the tmux sockets to look at, in order and each once: GT_TMUX_SOCKET when it names one, <name>-<6 hex> of the town, its older
 * <name>, GT_TOWN_SOCKET, "default". ($TMUX's own is a path, and the caller's.)
 */
void town_sockets(const struct town *t, struct town_list *out);

/*
 * State. The path: <town>/.gt, else $XDG_STATE_HOME/gt-recover, else ~/.local/state/gt-recover; without any NULL with err (name
 * "no-home"). Heap. town_state_make makes the directory too (0700, and a .gitignore of "*" in a town).
 */
char *town_state_path(const struct town *t, struct err *e);
char *town_state_make(const struct town *t, struct err *e);
/* snapshot_dir as an absolute path: from the town's root; without a town from the state directory, for which ".gt/" then stands. Heap. */
char *town_snapshot_dir(const struct town *t, const struct config *c, struct err *e);

/* Whether Gas Town wants nothing started. Looked at afresh each time; the mayor is exempt from ESTOP (gastown, internal/estop). */
enum town_halt {
	TOWN_RUNS,
	TOWN_ESTOP,		/* <town>/ESTOP or <town>/ESTOP.<rig> exists */
	TOWN_SHUTDOWN		/* <town>/daemon/shutdown.lock is held, or it cannot be told */
};
enum town_halt town_halted(const struct town *t, const struct role_name *role);
/*
 * A rig that was parked or docked (gt rig park): <town>/.beads-wisp/config/<rig>.json has "status" "parked" or "docked" among its values
 * and not among what is blocked. That it stands on a label of the rig's bead is work/bead's to tell. (gastown, internal/wisp.)
 */
bool town_rig_parked(const struct town *t, const char *rig);
/* gt adds, removes or mends this polecat at the moment: it holds <rig>/.runtime/locks/polecat-<name>.lock, or it cannot be told. */
bool town_polecat_locked(const struct town *t, const struct role_name *role);

#endif
