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
struct town_role;

/* ---- heartbeat ---- */

/*
 * What Gas Town notes of a session while it lives (gastown, internal/polecat/heartbeat.go): every
 * gt command that is run in it writes <town>/.runtime/heartbeats/<session>.json. An agent that
 * builds for an hour runs none: an old beat proves nothing, and a process that lives on this host
 * outweighs any that is missing. The state is worth reading: an agent that said it was exiting
 * was ended on purpose.
 */
struct heartbeat {
	int64_t at;		/* ms since 1970; -1: not known */
	char state[16];  /* "working" (also when none was said), "idle", "exiting" (in gt done), "stuck", or
			    what a later gt says */
	char bead[64];		/* "" when none was said; foreign */
};

/* True when there is one that can be read. */
bool heartbeat_read(const struct town *t, const char *session, struct heartbeat *out);

/* ---- nudge ---- */

/*
 * The lock that Gas Town holds while it types into a session, so that nobody else does:
 * <town>/.runtime/nudge_queue/<session>/.lock, flock(2) (gastown, internal/tmux: nudgeFlockPath,
 * acquireFlockLock). The file is Gas Town's: made as it would make it, never removed.
 */
#define NUDGE_NONE (-2)		/* no town: there is nobody to lock out */
#define NUDGE_WAIT_MS 30000	/* as long as Gas Town itself waits */

/*
 * A descriptor for nudge_unlock, or NUDGE_NONE. -1: name "nudge-busy" (GT_AGAIN, still held after
 * wait_ms, which is asked for every 100 ms), "interrupted" (GT_AGAIN, *stop was set),
 * "nudge-lock" (the file cannot be made).
 */
int nudge_lock(
    const struct town *t, const char *session, int wait_ms, const volatile sig_atomic_t *stop, struct err *e);
/* Also for NUDGE_NONE and -1. */
void nudge_unlock(int fd);

/* ---- role ---- */

/*
 * Who a session is in Gas Town, told by GT_ROLE, by the session's name or by the directory that
 * it works in.
 */
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

struct town_role {
	enum town_role_kind kind;
	char rig[TOWN_ROLE_NAME_MAX];	/* "" when the role has none or it is not known */
	char name[TOWN_ROLE_NAME_MAX];	/* of a polecat, crew or dog */
};

/*
 * GT_ROLE: "<rig>/polecats/<name>", "<rig>/crew/<name>", "<rig>/witness", "<rig>/refinery",
 * "mayor", "deacon", "deacon/boot", "dog", "deacon/dogs/<name>", "overseer", and the bare words
 * of before 2026 ("polecat", with GT_RIG and GT_POLECAT beside it). Trust it before GT_POLECAT,
 * which coordinators may carry from elsewhere (gastown issues 1707, 1708). 0; -1 for anything
 * else, out is then TOWN_ROLE_NONE.
 */
int town_role(const char *gt_role, struct town_role *out);

/*
 * The role that a session's name tells: "hq-mayor", "<prefix>-witness", "<prefix>-crew-<name>",
 * "<prefix>-<name>", and January 2026's "gt-<rig>-<name>" and "gt-boot" where the town's
 * directories bear it out. Only prefixes of known rigs count: -1 (TOWN_ROLE_NONE) otherwise.
 */
int town_session_role(const struct town *t, const char *session, struct town_role *out);
/*
 * The role that a path below the town's root tells, as a pane's start path. -1 (TOWN_ROLE_NONE)
 * when it tells none.
 */
int town_path_role(const struct town *t, const char *path, struct town_role *out);
/* The name that gt gives the role's session now, heap; NULL when it has none (plain, an unknown rig). */
char *town_session_name(const struct town *t, const struct town_role *role);

bool role_is(const struct town_role *a, const struct town_role *b);	/* the same agent */
const char *role_word(enum town_role_kind kind);		/* "polecat", …; "agent" for plain */
/* everything but polecats and plain: only with --include-infra */
bool role_is_infra(enum town_role_kind kind);
/* "<rig>/polecats/<name>" and so on, as GT_ROLE and hooked work have it; heap. "" for plain. */
char *role_address(const struct town_role *role);

/*
 * Where a polecat or crew works, the likeliest first: <town>/<rig>/polecats/<name>/<rig>, then
 * without the last part. Those that exist.
 */
void town_workdirs(const struct town *t, const struct town_role *role, struct town_list *out);

/*
 * True for n bytes that may be a part of a path and of a session's name: letters, digits, "_",
 * "-" and, unlike gt's own rule for sessions, ".", which rigs may have; not first "." or "-", and
 * shorter than TOWN_ROLE_NAME_MAX.
 */
bool role_is_part(const char *s, size_t n);

/* ---- session_starts ---- */

/*
 * Which conversations an agent of the town began, and whether the step from the one before to the
 * last was meant. `gt prime` logs a session_start in the agent's SessionStart hook, with the
 * provider's id and the directory; two of them without anything between that ends or gives out
 * work on purpose say that the first one crashed and that its successor knows nothing (facts:
 * gas-town.md 5).
 *
 * Read once for all agents: what is older than the log's last 4 MiB is not known, and an agent
 * without a start there has none. The hook also runs after a compaction and a --resume, with the
 * same id: starts that follow each other with one id are one start, the oldest. After /clear the
 * same process logs a new id: who takes two starts for a crash looks first whether the process is
 * younger than before->at.
 */

/* never NULL; empty without a town or a log */
struct session_starts *town_starts_new(const struct town *t);
void town_starts_free(struct session_starts *s);

struct session_start {
	char *session_id; /* foreign; of gt before 2026-02 also "mayor-18592" (actor and pid), which is no
			     conversation's */
	char *cwd;		/* foreign; "" when it was not said */
	int64_t at;		/* ms since 1970; -1: not known */
};

struct session_last_starts {
	const struct session_start *last, *previous;	/* lent by starts; NULL: none in reach */
	/*
	 * What came between the two and parts them (also when only the last one is in reach):
	 * "handoff", "done", "sling", "spawn", "kill", "halt", "session_end", or "session_death"
	 * for one that gt itself brought about (its own notes of a crash, and the removal of what
	 * was dead already, part nothing). NULL: nothing, so that the one before ended without
	 * being asked.
	 */
	const char *separator;
	const char *after;	/* the same behind the last start; NULL: nothing */
	/* <cwd>/.runtime/handoff_to_successor is there: a handoff is under way, gt prime has not run yet */
	bool successor;
};

/*
 * Of this role; of TOWN_ROLE_NONE, or where the log names nobody whom we know, of this directory
 * (may be NULL; its .runtime is looked at).
 */
void town_starts_of(const struct session_starts *s, const struct town_role *role, const char *cwd,
    struct session_last_starts *out);

/* ---- start_note ---- */

/*
 * What Gas Town wrote down when an agent's conversation began: `gt prime` in the agent's
 * SessionStart hook puts the conversation's id into <cwd>/.runtime/session_id (first line), and a
 * line of type session_start into <town>/.events.jsonl. Both are overwritten or followed by the
 * next start in that place, so only those of the life of a process are its own.
 */
struct time_span {
	int64_t began, ended;	/* ms since 1970; 0: not known */
};

/* The id, heap and foreign; NULL when there is none of that life. */
char *town_start_id_in_cwd(const char *cwd, const struct time_span *life);
/*
 * The newest of the town's events (its last 4 MiB) that this role wrote, or, where the actor is
 * none that we know, one in this directory. `role` may be TOWN_ROLE_NONE, `cwd` NULL.
 */
char *town_start_id_in_log(
    const struct town *t, const struct town_role *role, const char *cwd, const struct time_span *life);

/* ---- town ---- */

/*
 * What we know of Gas Town: where its root is, which rigs it has, how it names sessions and
 * sockets (its code of 2026-04 and of January 2026, whose names are still about). Outside of any
 * town everything here still answers: no rigs, the "default" socket, the user's own state
 * directory. Nothing is ever written into the town but below .gt, and its own lock file while
 * something is typed (gastown/gastown.h).
 */

/*
 * `dir` (--town) must be a town's root: a directory with mayor/ (GT_USAGE, name "not-a-town").
 * NULL: the outermost directory from here upward with mayor/town.json, or else with mayor/; or
 * else GT_TOWN_ROOT, then GT_ROOT, when they are such directories; or else no town. Of those with a
 * town.json, and of those without, one that is trusted comes before one that only config_safe admits.
 * Free with town_free.
 *
 * A town decides what gt runs. So a found one counts only when its root, mayor/ and mayor/town.json are
 * trusted (config/trust.h), and the way up ends at the first directory that another user owns or everybody
 * may write. A named one, by a variable too, is an error when one of the three belongs to another user
 * (GT_USAGE, name "not-ours"). Inside a town rigs.json, rigs and .beads are used only when trusted.
 * config_safe lifts all of it.
 */
struct town *town_new(const char *dir, struct err *e);
void town_free(struct town *t);

const char *town_root(const struct town *t);	/* absolute; NULL: no town */
/* the same with symbolic links resolved, as /proc and tmux tell paths */
const char *town_real_root(const struct town *t);
/*
 * Why a part of this town is not used, or a town that would be in use if safe_directories listed it: other
 * users can change it. NULL: nothing.
 */
const struct err *town_doubt(const struct town *t);
/* Why a town on the way up is not used, whether or not another one is in use. NULL: there is none. */
const struct err *town_skipped(const struct town *t);
/*
 * Is the path trusted (`allow` as of trust_path), or safe (config_safe)? An e without an error
 * gets the reason why not.
 */
bool town_trusts(const char *path, unsigned allow, struct err *e);
/*
 * What was wrong with the town's own files (a rigs.json that is no JSON), one sentence; NULL:
 * nothing. Directories then tell the rigs.
 */
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
	bool registered; /* the prefix stands in rigs.json, the rig's config.json or routes.jsonl; else it is
			    gt's default "gt" */
};
size_t town_rigs(const struct town *t);
const struct rig *town_rig_at(const struct town *t, size_t i);
const struct rig *town_rig(const struct town *t, const char *name);	/* NULL when there is none */

/* The polecats that have a directory, by name. */
void town_polecats(const struct town *t, const char *rig, struct town_list *out);

/*
 * Directories that hold a .beads, in the order of reading: the rig's (<town>/<rig>,
 * <town>/<rig>/mayor/rig, what routes.jsonl says), then the town's. `rig` may be NULL or "".
 */
void town_bead_dirs(const struct town *t, const char *rig, struct town_list *out);

/*
 * The port of the town's Dolt server, as gt finds it: listener.port in .dolt-data/config.yaml,
 * GT_DOLT_PORT, the env of mayor/daemon.json. Digits, heap; NULL when nothing says it.
 */
char *town_dolt_port(const struct town *t);

/*
 * Names of the tmux sockets to look at, in order and each once: GT_TMUX_SOCKET when it names one,
 * <name>-<6 hex> of the town, its older <name>, GT_TOWN_SOCKET, "default". ($TMUX's own is a
 * path, and the caller's.)
 */
void town_sockets(const struct town *t, struct town_list *out);

/*
 * State. The path: <town>/.gt, else $XDG_STATE_HOME/gt-recover, else ~/.local/state/gt-recover;
 * without any NULL with err (name "no-home"). Heap. town_state_make makes the directory too
 * (0700, and a .gitignore of "*" in a town), and checks it.
 */
char *town_state_path(const struct town *t, struct err *e);
char *town_state_make(const struct town *t, struct err *e);
/*
 * Outside of a town each directory above the state directory, up to the root, must be trusted or sticky,
 * as OpenSSH's StrictModes wants it of a key's: whoever can rename one of them can replace the state. It
 * must itself be this user's, or absent. 0, or -1 with err (name "not-ours"). Readers call it too.
 */
int town_state_check(const struct town *t, const char *dir, struct err *e);
/*
 * snapshot_dir as an absolute path: from the town's root; without a town from the state
 * directory, for which ".gt/" then stands. Heap.
 */
char *town_snapshot_dir(const struct town *t, const struct config *c, struct err *e);

/*
 * Whether Gas Town wants nothing started. Looked at afresh each time; the mayor is exempt from
 * ESTOP (gastown, internal/estop).
 */
enum town_halt {
	TOWN_RUNS,
	TOWN_ESTOP,		/* <town>/ESTOP or <town>/ESTOP.<rig> exists */
	TOWN_SHUTDOWN		/* <town>/daemon/shutdown.lock is held, or it cannot be told */
};
enum town_halt town_halted(const struct town *t, const struct town_role *role);
/*
 * A rig that was parked or docked (gt rig park): <town>/.beads-wisp/config/<rig>.json has
 * "status" "parked" or "docked" among its values and not among what is blocked. That it stands on
 * a label of the rig's bead is beads/bead's to tell. (gastown, internal/wisp.)
 */
bool town_rig_parked(const struct town *t, const char *rig);
/*
 * gt adds, removes or mends this polecat at the moment: it holds
 * <rig>/.runtime/locks/polecat-<name>.lock, or it cannot be told.
 */
bool town_polecat_locked(const struct town *t, const struct town_role *role);

#endif
