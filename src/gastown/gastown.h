#ifndef GASTOWN_GASTOWN_H
#define GASTOWN_GASTOWN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct err;
struct session_starts;
struct town;
struct town_list;

/* ---- heartbeat ---- */

/*
 * <town>/.runtime/heartbeats/<session>.json, written by every gt command that runs in a session
 * (gastown, internal/polecat/heartbeat.go). An agent that builds for an hour runs none: an old
 * heartbeat proves nothing, and a live process outweighs a missing one. "exiting" says that an
 * agent was ended on purpose.
 */
struct heartbeat {
	int64_t at;		/* ms since 1970; -1: unknown */
	char state[16];  /* "working" (the default), "idle", "exiting" (in gt done), "stuck", others */
	char bead[64];		/* foreign; "" none */
};

bool heartbeat_read(const struct town *t, const char *session, struct heartbeat *out);

/* ---- nudge ---- */

/*
 * The lock that Gas Town holds while it types into a session: flock(2) on
 * <town>/.runtime/nudge_queue/<session>/.lock (gastown, internal/tmux: nudgeFlockPath,
 * acquireFlockLock). The file is Gas Town's: made as it would make it, never removed.
 */
#define NUDGE_NONE (-2)		/* no town, no lock */
#define NUDGE_WAIT_MS 30000	/* as long as Gas Town itself waits */

/*
 * A descriptor for nudge_unlock, or NUDGE_NONE. -1: "nudge-busy" (GT_AGAIN, held after wait_ms;
 * polled every 100 ms), "interrupted" (GT_AGAIN, *stop was set), "nudge-lock" (the file cannot be
 * made).
 */
int nudge_lock(
    const struct town *t, const char *session, int wait_ms, const volatile sig_atomic_t *stop, struct err *e);
/* Also for NUDGE_NONE and -1. */
void nudge_unlock(int fd);

/* ---- role ---- */

/* Who a session is in Gas Town, by GT_ROLE, by its name or by its working directory. */
enum town_role_kind {
	TOWN_ROLE_NONE,		/* no role of Gas Town */
	TOWN_ROLE_POLECAT,
	TOWN_ROLE_CREW,		/* a person's own */
	TOWN_ROLE_MAYOR,
	TOWN_ROLE_DEACON,
	TOWN_ROLE_WITNESS,
	TOWN_ROLE_REFINERY,
	TOWN_ROLE_BOOT,
	TOWN_ROLE_DOG,
	TOWN_ROLE_OVERSEER		/* a person */
};

#define TOWN_ROLE_NAME_MAX 64
/* How Gas Town's first words to a session begin, an argument of its agent. */
#define TOWN_BEACON "[GAS TOWN]"

struct town_role {
	enum town_role_kind kind;
	char rig[TOWN_ROLE_NAME_MAX];	/* "" when the role has none or it is not known */
	char name[TOWN_ROLE_NAME_MAX];	/* of a polecat, crew or dog */
};

/*
 * GT_ROLE: "<rig>/polecats/<name>", "<rig>/crew/<name>", "<rig>/witness", "<rig>/refinery",
 * "mayor", "deacon", "deacon/boot", "dog", "deacon/dogs/<name>", "overseer", and the bare words of
 * before 2026 ("polecat", with GT_RIG and GT_POLECAT). Trust it before GT_POLECAT, which
 * coordinators may carry from elsewhere (gastown issues 1707, 1708). -1: anything else, out is
 * TOWN_ROLE_NONE.
 */
int town_role(const char *gt_role, struct town_role *out);

/*
 * By the session's name: "hq-mayor", "<prefix>-witness", "<prefix>-crew-<name>", "<prefix>-<name>",
 * and January 2026's "gt-<rig>-<name>" and "gt-boot" if the town has such directories. Only
 * prefixes of known rigs count; else -1 (TOWN_ROLE_NONE).
 */
int town_session_role(const struct town *t, const char *session, struct town_role *out);
/* By a path below the town's root, as a pane's start path. -1 (TOWN_ROLE_NONE): none. */
int town_path_role(const struct town *t, const char *path, struct town_role *out);
/* gt's present name of the role's session, heap; NULL: none (plain, an unknown rig). */
char *town_session_name(const struct town *t, const struct town_role *role);

bool role_is(const struct town_role *a, const struct town_role *b);	/* the same agent */
const char *role_word(enum town_role_kind kind);		/* "polecat", …; "agent" for plain */
/* all but polecats and plain: only with --include-infra */
bool role_is_infra(enum town_role_kind kind);
/* As GT_ROLE and hooked work have it; heap. "" for plain. */
char *role_address(const struct town_role *role);

/*
 * Existing working directories of a polecat or crew, the likeliest first:
 * <town>/<rig>/polecats/<name>/<rig>, then without the last part.
 */
void town_workdirs(const struct town *t, const struct town_role *role, struct town_list *out);

/*
 * n bytes that may be a part of a path and of a session's name: letters, digits, "_", "-" and "."
 * (rigs may have it), not first "." or "-", shorter than TOWN_ROLE_NAME_MAX.
 */
bool role_is_part(const char *s, size_t n);

/* ---- session_starts ---- */

/*
 * Which conversations an agent began, and whether the last start was meant. `gt prime` logs a
 * session_start with id and directory in the agent's SessionStart hook; two without anything
 * between that ends or gives out work on purpose mean that the first one crashed and its successor
 * knows nothing (facts: gas-town.md 5).
 *
 * Of the log's last 4 MiB. The hook also runs after a compaction and a --resume: starts in a row
 * with one id are one, the oldest. After /clear the same process logs a new id: first check that
 * the process is younger than before->at.
 */

/* Never NULL; empty without a town or a log. */
struct session_starts *town_starts_new(const struct town *t);
void town_starts_free(struct session_starts *s);

struct session_start {
	char *session_id;	/* foreign; before 2026-02 also "mayor-18592" (actor, pid) */
	char *cwd;		/* foreign; "" unknown */
	int64_t at;		/* ms since 1970; -1: unknown */
};

struct session_last_starts {
	const struct session_start *last, *previous;	/* borrowed; NULL: none in reach */
	/*
	 * What separates the two (or precedes the only one in reach): "handoff", "done", "sling",
	 * "spawn", "kill", "halt", "session_end", or "session_death" for one that gt caused (its
	 * notes of a crash, and the removal of what was dead, separate nothing). NULL: nothing.
	 */
	const char *separator;
	const char *after;	/* the same after the last start */
	/* <cwd>/.runtime/handoff_to_successor exists: a handoff before its gt prime */
	bool successor;
};

/*
 * Of this role; for TOWN_ROLE_NONE, or an actor in the log that we do not know, of this directory
 * (may be NULL; its .runtime is read).
 */
void town_starts_of(const struct session_starts *s, const struct town_role *role, const char *cwd,
    struct session_last_starts *out);

/* ---- start_note ---- */

/*
 * At an agent's start `gt prime` writes the conversation's id into <cwd>/.runtime/session_id (first
 * line) and a session_start into <town>/.events.jsonl. The next start in that place overwrites or
 * follows them: only those within the life of a process are its own.
 */
struct time_span {
	int64_t began, ended;	/* ms since 1970; 0: unknown */
};

/* Heap and foreign; NULL: none of that life. */
char *town_start_id_in_cwd(const char *cwd, const struct time_span *life);
/*
 * The newest in the town's events (last 4 MiB) by this role, or, with an unknown actor, in this
 * directory. `role` may be TOWN_ROLE_NONE, `cwd` NULL.
 */
char *town_start_id_in_log(
    const struct town *t, const struct town_role *role, const char *cwd, const struct time_span *life);

/* ---- town ---- */

/*
 * A Gas Town: its root, rigs, names of sessions and sockets (its code of 2026-04 and of January
 * 2026). Without a town everything here still answers: no rigs, the "default" socket, the user's
 * state directory. Nothing in the town is written but .gt and nudge locks.
 */

/*
 * dir (--town): a town's root, a directory with mayor/ (GT_USAGE, name "not-a-town"). NULL: the
 * outermost directory from here upward with mayor/town.json, else with mayor/; else GT_TOWN_ROOT,
 * then GT_ROOT, if they are such directories; else no town. Of those with a town.json, and of those
 * without, a trusted one comes before one that only config_safe admits.
 *
 * A town decides what gt runs. A found one counts only when its root, mayor/ and mayor/town.json
 * are trusted (config/trust.h), and the search ends at the first directory that another user owns
 * or everybody may write. A named one, by a variable too, is an error when one of the three belongs
 * to another user (GT_USAGE, name "not-ours"). In a town rigs.json, rigs and .beads are used only
 * when trusted. config_safe lifts all of it.
 */
struct town *town_new(const char *dir, struct err *e);
void town_free(struct town *t);

const char *town_root(const struct town *t);	/* absolute; NULL: no town */
/* symbolic links resolved, as in /proc and tmux */
const char *town_real_root(const struct town *t);
/*
 * Why a part of this town is not used, or a town that safe_directories would admit: other users can
 * change it. NULL: nothing.
 */
const struct err *town_doubt(const struct town *t);
/* Why a town on the way up is not used, even if another one is. NULL: none. */
const struct err *town_skipped(const struct town *t);
/*
 * The path is trusted (`allow` as of trust_path) or safe (config_safe). An e without an error gets
 * the reason why not.
 */
bool town_trusts(const char *path, unsigned allow, struct err *e);
/*
 * What is wrong with the town's files (a rigs.json that is no JSON), one sentence; NULL: nothing.
 * The directories then define the rigs.
 */
const char *town_warning(const struct town *t);

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
	bool registered; /* its prefix is in rigs.json, config.json or routes.jsonl; else it is "gt" */
};
size_t town_rigs(const struct town *t);
const struct rig *town_rig_at(const struct town *t, size_t i);
const struct rig *town_rig(const struct town *t, const char *name);	/* NULL: none */

/* Those with a directory, by name. */
void town_polecats(const struct town *t, const char *rig, struct town_list *out);

/*
 * Directories with a .beads, in the order of reading: the rig's (<town>/<rig>,
 * <town>/<rig>/mayor/rig, routes.jsonl), then the town's. `rig` may be NULL or "".
 */
void town_bead_dirs(const struct town *t, const char *rig, struct town_list *out);

/*
 * The Dolt server's port, as gt finds it: listener.port in .dolt-data/config.yaml, GT_DOLT_PORT,
 * the env of mayor/daemon.json. Digits, heap; NULL: unknown.
 */
char *town_dolt_port(const struct town *t);

/*
 * tmux sockets to look at, in order, each once: GT_TMUX_SOCKET, <name>-<6 hex> of the town, its
 * older <name>, GT_TOWN_SOCKET, "default". ($TMUX's is a path, and the caller's.)
 */
void town_sockets(const struct town *t, struct town_list *out);

/*
 * <town>/.gt, else $XDG_STATE_HOME/gt-recover, else ~/.local/state/gt-recover; heap. NULL:
 * "no-home". town_state_make makes it (0700, in a town with a .gitignore of "*") and checks it.
 */
char *town_state_path(const struct town *t, struct err *e);
char *town_state_make(const struct town *t, struct err *e);
/*
 * Outside of a town each directory above, up to the root, must be trusted or sticky, as OpenSSH's
 * StrictModes: whoever can rename one can replace the state. It must be this user's, or absent. -1:
 * "not-ours". Readers call it too.
 */
int town_state_check(const struct town *t, const char *dir, struct err *e);
/*
 * snapshot_dir, absolute: from the town's root; without a town from the state directory, which then
 * replaces ".gt/". Heap.
 */
char *town_snapshot_dir(const struct town *t, const struct config *c, struct err *e);

/*
 * Does Gas Town want nothing started? Read each time; ESTOP exempts the mayor (gastown,
 * internal/estop).
 */
enum town_halt {
	TOWN_RUNS,
	TOWN_ESTOP,		/* <town>/ESTOP or <town>/ESTOP.<rig> exists */
	TOWN_SHUTDOWN		/* <town>/daemon/shutdown.lock is held, or unreadable */
};
enum town_halt town_halted(const struct town *t, const struct town_role *role);
/*
 * Parked or docked (gt rig park): <town>/.beads-wisp/config/<rig>.json has "status" "parked" or
 * "docked" among its values and not among the blocked ones (gastown, internal/wisp). A label of the
 * rig's bead may say so too: struct bead.
 */
bool town_rig_parked(const struct town *t, const char *rig);
/* gt adds, removes or mends it: <rig>/.runtime/locks/polecat-<name>.lock is held, or unreadable. */
bool town_polecat_locked(const struct town *t, const struct town_role *role);

#endif
