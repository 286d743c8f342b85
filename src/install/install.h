#ifndef INSTALL_INSTALL_H
#define INSTALL_INSTALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "gastown/gastown.h"

struct buf;
struct err;
struct hook_adapter;
struct hook_call;
struct timer;
struct town_list;

/* ---- managed_file ---- */

/*
 * Files of ours among those of other programs: the second line of each holds the SHA-256 of the
 * rest. One that does not agree was changed by a person, or is not ours, and is neither replaced
 * nor removed.
 */
struct managed_file {
	char *path;
	struct buf text;
};

/* The first line (with its newline), the mark, the rest. what: of `gt-recover install WHAT`. */
void install_file_text(struct buf *out, const char *what, const char *first, const char *rest);
/* A file that still is as some version of us wrote it. */
bool install_file_is_ours(const struct buf *text, const char *what);

/*
 * Writes or removes n files, at most MANAGED_FILES_MAX, in their order or against it; none before
 * all are known to be ours or missing. *changed: one was written, *was: one was there. Names:
 * "edited" (which file), those of io_write_durable.
 */
#define MANAGED_FILES_MAX 4
int install_files(const struct managed_file *v, size_t n, const char *what, bool *changed, struct err *e);
int install_files_remove(const struct managed_file *v, size_t n, const char *what, bool *was, struct err *e);

/* ---- gastown_plugin ---- */

/*
 * The plugin by which Gas Town's daemon runs `gt-recover patrol`:
 * <town>/plugins/gt-recover/plugin.md, TOML between two lines of +++ and words for an agent, and
 * run.sh beside it, which the daemon runs itself, without an agent, with execution.timeout
 * (gastown, internal/plugin: types.go, runner.go of 2026-04). A cooldown of two minutes: within
 * the three for which the witness believes a heartbeat. The files are sealed
 * (install/install.h). (`gt plugin sync --clean` takes away what is not in its source;
 * install it again then.)
 */
enum { PLUGIN_RUN, PLUGIN_MD, PLUGIN_FILES };

struct gastown_plugin {
	char *dir;
	struct managed_file file[PLUGIN_FILES];	/* run.sh, plugin.md */
};

/* town: its root. args: options for patrol, --town among them. */
void install_plugin_init(
    struct gastown_plugin *p, const char *town, const char *program, const struct town_list *args);
void install_plugin_release(struct gastown_plugin *p);

/* *changed: a file was written, for it was missing or an older one of ours. Names: those of install_files. */
int install_plugin(const struct gastown_plugin *p, bool *changed, struct err *e);
/* *was: there was one. Name "edited". */
int install_plugin_remove(const struct gastown_plugin *p, bool *was, struct err *e);

/* ---- hooks ---- */

/*
 * `gt-recover hook EVENT` among the hooks of an agent's settings (records/hooks/hooks.h:
 * which file, which events, which form). Its text is edited in place: every byte that is not ours
 * stays, and what is taken out again leaves the file as it was (a "hooks" or a list of an event
 * that was there and empty goes, too). Ours is the command that is added alone: a program called
 * gt-recover, "hook EVENT", and no options but --town, --config and --agent; what a person put
 * around or behind it is his, and stays. Later events of Claude Code (SubagentStart,
 * PostToolUseFailure) are left out: one that does not know an event (1.0.128 does not know that
 * one) reads nothing of settings that name it, permissions neither. A call that failed is known
 * by the agent's next one instead (records/hooks/hooks.h).
 *
 * JSON that jansson refuses, or with a key twice, and hooks of another form are left alone: name
 * "settings". An agent with a plugin has a file of its own (install/install.h).
 */

struct hook_call {
	const struct hook_adapter *row;
	const char *command;		/* the program, quoted for sh */
	const char *options;		/* what stands behind the event, "" or with a blank in front */
};

/* Where the agent's file lies, by our environment: the folder of the row's file, heap. NULL: no HOME. */
char *hooks_folder(const struct hook_adapter *row);

/* The line that the agent runs; appended to out. */
void hooks_line(struct buf *out, const struct hook_call *call, const char *event);

/*
 * text: what the file holds, empty when there is none. *added: events that are told now, 0 when
 * it has just these already.
 */
int hooks_add(struct buf *text, const struct hook_call *call, size_t *added, struct err *e);
int hooks_remove(const struct hook_adapter *row, struct buf *text, size_t *removed, struct err *e);

/* Only what hooks_add would put into an empty file. */
void hooks_print(struct buf *out, const struct hook_call *call);

/*
 * The same on the file, whose mode and links stay; it is made if missing, and such a one is removed
 * again when nothing else stands in it. One that was there stays, as {} when it was empty.
 */
int hooks_install(const char *path, const struct hook_call *call, size_t *added, struct err *e);
int hooks_uninstall(const struct hook_adapter *row, const char *path, size_t *removed, struct err *e);

/*
 * For reading alone: of how many events ours is there, and in *command (heap, NULL: of none) the
 * line of the first.
 */
int hooks_status(const struct hook_adapter *row, const char *path, size_t *n, char **command, struct err *e);
/*
 * Has a person switched all hooks off in that file ("disableAllHooks": true), ours among them?
 * False also when it cannot be read.
 */
bool hooks_are_off(const char *path);

/* ---- opencode_plugin ---- */

/*
 * OpenCode has no hooks in its settings: it loads every file of its folder plugin/. Ours,
 * templates/opencode.js, calls `gt-recover hook EVENT` with what Claude Code's hooks are given,
 * waits for it at most a second, and never lets an error out. The file is sealed
 * (install/install.h): one that a person changed is neither replaced nor removed (name
 * "edited").
 */
void hooks_plugin_print(struct buf *out, const struct hook_call *call);
int hooks_plugin_install(const char *path, const struct hook_call *call, bool *changed, struct err *e);
int hooks_plugin_remove(const char *path, bool *was, struct err *e);

/*
 * For reading alone: *command (heap, NULL: there is none) is the line of the first event;
 * *edited: a person changed it.
 */
int hooks_plugin_status(const char *path, char **command, bool *edited, struct err *e);

/* ---- slash_commands ---- */

/*
 *  /recovery:status and /recovery:resume in Claude Code: commands/recovery/status.md and
 *  resume.md below its settings directory (a folder's name stands in front of its commands').
 *  status has Claude Code run `gt-recover epic status` itself and hand over what it prints;
 *  resume tells the agent to show the plan, to ask the person, and only then to start anything.
 *  The files are sealed (install/install.h).
 */
enum { SLASH_STATUS, SLASH_RESUME, SLASH_FILES };

struct slash_commands {
	char *dir;
	struct managed_file file[SLASH_FILES];
};

/*
 * settings: Claude Code's directory. command: the program, quoted for sh; options: what stands
 * behind it. -1 with "path": a character stands in these words that means something in such a
 * file. install_slash_release in any case.
 */
int install_slash_init(
    struct slash_commands *b, const char *settings, const char *command, const char *options, struct err *e);
void install_slash_release(struct slash_commands *b);

/* As install_plugin and install_plugin_remove. */
int install_slash_commands(const struct slash_commands *b, bool *changed, struct err *e);
int install_slash_remove(const struct slash_commands *b, bool *was, struct err *e);

/* ---- timer ---- */

/*
 * What runs a command of ours regularly: a pair of systemd user units where there is a user
 * manager (`systemctl --user` answers), else a block of the user's crontab between two markers,
 * other lines of which are never touched. Both name everything that a login would have set:
 * cron's environment is all but empty. `startup` runs once a boot: @reboot, or when the user
 * manager starts.
 */
struct timer {
	char *id; /* "gt-recover-snapshot", with six hex digits of the town's root behind it in a town: one
		     timer of a kind a town */
	const char *what;		/* "snapshot", "patrol", "startup": the command that it runs */
	char *program;			/* absolute */
	struct town_list args;		/* the command's words, the command first */
	struct town_list env;		/* "K=V" */
	int64_t interval_ms;
};

/* what: borrowed. `town`: its root, NULL for none. */
void timer_init(struct timer *t, const char *what, const char *town);
void timer_release(struct timer *t);
/*
 * What cannot stand in a unit or a crontab: control characters, a crontab line of more than 990
 * bytes (cron 3.0 takes 1000). Name "timer".
 */
int timer_check(const struct timer *t, struct err *e);

/* The texts. Pure. */
void timer_service(const struct timer *t, struct buf *out);
void timer_unit(const struct timer *t, struct buf *out);
void timer_crontab(const struct timer *t, struct buf *out);
/*
 * The crontab `old` with the block of this timer set (block NULL: without it) in *out. -1, name
 * "timer": a marker stands alone, so that nobody can say which lines are ours.
 */
int timer_edit(
    const struct timer *t, const char *old, size_t n, const char *block, struct buf *out, struct err *e);

/*
 * Where in the crontab this timer's block stands, markers and all: 1 found, 0 there is none, -1
 * as timer_edit.
 */
int timer_block(const struct timer *t, const char *tab, size_t n, size_t *from, size_t *to, struct err *e);
/* The user's crontab as it is; empty when there is none. 0, 1 when there is no cron, -1. */
int timer_crontab_read(struct buf *out, struct err *e);

enum timer_kind { TIMER_NONE, TIMER_SYSTEMD, TIMER_CRONTAB, TIMER_BOTH };
/* Which of the two would be used here. */
enum timer_kind timer_kind(void);
/* The path of a unit ("service", "timer"), heap; NULL without HOME. */
char *timer_path(const struct timer *t, const char *what);

/*
 * Installs it, again and again to the same end, and takes away what the other kind had. Names:
 * "timer" (a program of theirs failed, its words in the message), "not-installed" (neither
 * systemd nor cron), those of io_write_durable.
 */
int timer_install(const struct timer *t, enum timer_kind kind, struct err *e);
/* *was tells what there was. Not an error when there was none. */
int timer_remove(const struct timer *t, enum timer_kind *was, struct err *e);

/* ---- timer_read ---- */

/* What timer_install wrote, read back; a person may have changed it since. */
struct timer_status {
	bool systemd;			/* a pair of units; false: a line of the crontab */
	char *schedule; /* the five fields of a crontab, one blank between them; "OnUnitActiveSec=300s" */
	int64_t interval_ms;		/* 0: the schedule is none that we write */
	char *command;			/* of the crontab: what cron hands to sh; NULL for units */
	struct town_list args;		/* the program first */
	struct town_list env;		/* "K=V" that the line or the unit sets */
	bool ours;			/* it runs gt-recover snapshot, and every word of it is understood */
};

/* Pure. A line of a crontab without its newline; the texts of both units. */
void timer_read_line(const char *line, size_t n, struct timer_status *out);
void timer_read_units(const char *service, size_t n, const char *timer, size_t m, struct timer_status *out);
void timer_status_release(struct timer_status *f);

/* The value of a variable that it sets (borrowed); NULL when it sets none. */
const char *timer_status_env(const struct timer_status *f, const char *name);

/*
 * What is installed for this timer's id, into found[0] and [1]: units first. How many, or -1 with
 * err (the crontab cannot be read, its markers do not stand in a pair, a unit cannot be read).
 */
int timer_status_read(const struct timer *t, struct timer_status found[2], struct err *e);

#endif
