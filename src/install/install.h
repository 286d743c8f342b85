#ifndef INSTALL_INSTALL_H
#define INSTALL_INSTALL_H

#include <sys/types.h>

#include "base/buf.h"
#include "gastown/gastown.h"

struct tmux;

/* ---- artifact ---- */

/*
 * Text of ours in another program's place. The mark says which part of the file is ours:
 *
 *	NAME	all of it, by its name
 *	SEAL	all of it; its second line holds the SHA-256 of the rest. One that does not agree was
 *		edited by a person, or is not ours, and is neither replaced nor removed
 *	BLOCK	the lines between two markers, above those of a file, below those of the crontab
 *	TAIL	what was appended once; removed, never replaced
 *	HOOKS	the hooks of a JSON file that call us
 */
enum artifact_mark { ARTIFACT_NAME, ARTIFACT_SEAL, ARTIFACT_BLOCK, ARTIFACT_TAIL, ARTIFACT_HOOKS };

struct artifact {
	char *path;			/* NULL: the user's crontab */
	const char *owner;		/* in the mark; of NAME, SEAL and HOOKS the WHAT of install WHAT */
	enum artifact_mark mark;
	/* the text without its mark; `of` is borrowed */
	void (*render)(const struct artifact *a, struct buf *out);
	const void *of;
	mode_t mode;			/* 0: that of the file, found through links; 0600 for a new one */
};

/* What one `gt-recover install WHAT` writes, from the last to the first; removed from the first on. */
#define ARTIFACTS_MAX 2
struct artifact_set {
	struct artifact v[ARTIFACTS_MAX];
	size_t n;
	char *dir;			/* removed with them when nothing else is in it; NULL: none */
};
void artifact_release(struct artifact_set *in);

/* The text as it is installed, with its mark. */
void artifact_print(const struct artifact *a, struct buf *out);

enum artifact_state { ARTIFACT_ABSENT, ARTIFACT_CURRENT, ARTIFACT_OTHER, ARTIFACT_EDITED };

/*
 * Compares with what would be written; writes nothing. found (may be NULL): the file, of BLOCK the
 * block. -1: it cannot be read.
 */
int artifact_status(const struct artifact *a, enum artifact_state *state, struct buf *found, struct err *e);

/*
 * Nothing is written before all are known to be ours or absent. *changed: one was written, *was:
 * one was there. Names: "edited" (which file), "settings" (hooks of another form), "timer" (the
 * crontab), those of io_write_durable.
 */
int artifact_install(const struct artifact_set *in, bool *changed, struct err *e);
int artifact_remove(const struct artifact_set *in, bool *was, struct err *e);

/* ---- what is installed ---- */

/* How others call us. Borrowed by the set. */
struct artifact_call {
	const struct hook_adapter *row;	/* of hooks */
	const char *command;		/* the program, quoted for sh */
	const char *options;		/* behind the command's words; "" or with a blank in front */
	const char *town;		/* of the plugin: its root */
};

/*
 * Gas Town's daemon runs <town>/plugins/gt-recover/run.sh, without an agent and with
 * execution.timeout; plugin.md beside it is TOML between two lines of +++ and words for an agent
 * (gastown, internal/plugin: types.go, runner.go of 2026-04). Its cooldown of two minutes is
 * within the three for which the witness believes a heartbeat. `gt plugin sync --clean` removes
 * it.
 */
void artifact_plugin(struct artifact_set *in, const struct artifact_call *call);
/* The line that run.sh runs; appended to out. */
void artifact_patrol_line(struct buf *out, const struct artifact_call *call);

/*
 * /recovery:status and /recovery:resume of Claude Code: commands/recovery/{status,resume}.md below
 * its settings directory. -1 with "path": a character of the call has a meaning in such a file.
 */
int artifact_slash_commands(
    struct artifact_set *in, const char *settings, const struct artifact_call *call, struct err *e);

/* A function gt of the user's shell, so that `gt recover` works. No path: a shell that we do not know. */
void artifact_shim(struct artifact_set *in);

/*
 * The key of tmux, and the hook by which a restore of tmux-resurrect ends in a recovery, in a file of tmux
 * commands beside gt.toml; and the line that reads it in the user's tmux.conf. program: absolute, borrowed.
 * "no-home"; "not-written": tmux.conf is a symbolic link or read-only, the hint has the line.
 * artifact_release in any case.
 */
#define ARTIFACT_KEY "R"
int artifact_key(struct artifact_set *in, const char *program, struct err *e);
#define ARTIFACT_RESURRECT "@resurrect-hook-post-restore-all"
int artifact_resurrect(struct artifact_set *in, const char *program, struct err *e);
/* Of a server: is tmux-resurrect loaded, and whose is the hook that runs after its restore? */
struct resurrect_status {
	bool loaded, hooked;
	bool ours;			/* in the words that we write; a person may have written them */
	bool calls_us;			/* it runs gt-recover */
};
void artifact_resurrect_status(struct tmux *t, struct resurrect_status *out);
int artifact_tmux_conf(struct artifact_set *in, struct err *e);

/* ---- hooks ---- */

/*
 * `gt-recover hook EVENT` among the hooks of an agent's settings (records/hooks/hooks.h: which
 * file, which events, which form). The text is edited in place: every byte that is not ours
 * stays, and removal restores the file; a "hooks" or a list of an event left empty goes, too, and
 * a file that we made and nobody filled. Ours is a simple command: a program called gt-recover,
 * "hook EVENT", and no options but --town, --config and --agent. SubagentStart and
 * PostToolUseFailure are left out: Claude Code 1.0.128 does not know the latter, and then ignores
 * all settings of the file, permissions among them.
 *
 * Left alone, name "settings": JSON that jansson refuses, or with a key twice, and hooks of
 * another form. HOOK_FORM_PLUGIN (OpenCode) is a sealed file of our own, templates/opencode.js,
 * which waits at most a second for the hook and never throws.
 */

/* Where the agent's settings are, by our environment, heap. NULL: no HOME. */
char *hooks_folder(const struct hook_adapter *row);
void artifact_hooks(struct artifact_set *in, const char *folder, const struct artifact_call *call);

/* The line that the agent runs; appended to out. */
void hooks_line(struct buf *out, const struct artifact_call *call, const char *event);

/* How many events call us, and the line of the first (heap, NULL: none). */
struct hooks_status {
	enum artifact_state state;
	size_t n;
	char *command;
};
int hooks_status(const struct artifact *a, struct hooks_status *out, struct err *e);
/* Has a person switched all hooks off in that file ("disableAllHooks": true)? */
bool hooks_are_off(const char *path);

/* ---- timer ---- */

/*
 * What runs a command of ours regularly: two systemd user units where `systemctl --user` answers,
 * else a block of the user's crontab. Both set the environment that a login would have set.
 * `startup` runs once a boot: @reboot, or when the user manager starts.
 */
struct timer {
	/* "gt-recover-snapshot", in a town with six hex digits of its root behind it */
	char *id;
	const char *what;		/* the command that it runs: "snapshot", "patrol", "startup" */
	char *program;			/* absolute */
	struct town_list args;		/* the command first */
	struct town_list env;		/* "K=V" */
	int64_t interval_ms;
	/* it makes passes, several in a minute with cron: --passes */
	bool passes;
};

/* what: borrowed. town: its root, NULL for none. */
void timer_init(struct timer *t, const char *what, const char *town);
void timer_release(struct timer *t);
/* Name "timer": a control character, or a crontab line over 990 bytes (cron 3.0 takes 1000). */
int timer_check(const struct timer *t, struct err *e);

enum timer_kind { TIMER_NONE, TIMER_SYSTEMD, TIMER_CRONTAB, TIMER_BOTH };
/* Which of the two would be used here. */
enum timer_kind timer_kind(void);

/*
 * The units (service, timer), or the block. t is borrowed. -1, name "no-home": there is no place
 * for units; they have no path then, and can be printed alone.
 */
int timer_artifacts(struct artifact_set *in, const struct timer *t, enum timer_kind kind, struct err *e);

/*
 * Installs it and removes what the other kind had. Names: "timer" (systemctl or crontab failed,
 * their words in the message), "not-installed" (neither systemd nor cron).
 */
int timer_install(const struct timer *t, enum timer_kind kind, struct err *e);
/* Of t only its id is read. *was: what there was; none is no error. */
int timer_remove(const struct timer *t, enum timer_kind *was, struct err *e);

/* How often it would run there: cron knows whole minutes. */
int64_t timer_interval(const struct timer *t, bool systemd);
/* How many passes one command makes there: cron starts one a minute at most. */
long long timer_passes(const struct timer *t, bool systemd);

/* What is installed under a timer's id; a person may have changed it since. */
struct timer_status {
	enum artifact_state state;	/* against what would be written today */
	bool systemd;			/* a pair of units; false: a block of the crontab */
	char *schedule;			/* the five fields of a crontab; "OnUnitActiveSec=300s" */
	int64_t interval_ms;		/* 0: the schedule is none that we write */
	char *command;			/* what cron hands to sh; NULL for units */
	struct town_list args;		/* the program first */
	struct town_list env;		/* "K=V" that the line or the unit sets */
	bool ours;			/* it runs gt-recover snapshot, as we would write it */
};

/* The units, or the block: 1 found, 0 absent, -1: it cannot be read. */
int timer_status_read(const struct timer *t, enum timer_kind kind, struct timer_status *out, struct err *e);
/* The value of a variable that it sets (borrowed), or NULL. */
const char *timer_status_env(const struct timer_status *f, const char *name);
void timer_status_release(struct timer_status *f);

#endif
