#ifndef REVIVE_HOOKS_H
#define REVIVE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct hook_row;

/*
 * `gt-recover hook EVENT` among the hooks of an agent's settings (ledger/hook_row.h: which file, which events, which form). Its text is edited
 * in place: every byte that is not ours stays, and what is taken out again leaves the file as it was (a "hooks" or a list of an event that was
 * there and empty goes, too). Ours is the command that is added alone: a program called gt-recover, "hook EVENT", and no options but --town,
 * --config and --agent; what a person put around or behind it is his, and stays. Later events of Claude Code (SubagentStart,
 * PostToolUseFailure) are left out: one that does not know an event (1.0.128 does not know that one) reads nothing of settings that name it,
 * permissions neither. A call that failed is known by the agent's next one instead (ledger/activity.h).
 *
 * JSON that jansson refuses, or with a key twice, and hooks of another form are left alone: name "settings". An agent with a plugin has a file
 * of its own (revive/hook_plugin.h).
 */

struct hook_call {
	const struct hook_row *row;
	const char *command;		/* the program, quoted for sh */
	const char *options;		/* what stands behind the event, "" or with a blank in front */
};

/* Where the agent's file lies, by our environment: the folder of the row's file, heap. NULL: no HOME. */
char *hooks_folder(const struct hook_row *row);

/* The line that the agent runs; appended to out. */
void hook_line(struct buf *out, const struct hook_call *call, const char *event);

/* text: what the file holds, empty when there is none. *added: events that are told now, 0 when it has just these already. */
int hooks_add(struct buf *text, const struct hook_call *call, size_t *added, struct err *e);
int hooks_remove(const struct hook_row *row, struct buf *text, size_t *removed, struct err *e);

/* Only what hooks_add would put into an empty file. */
void hooks_print(struct buf *out, const struct hook_call *call);

/*
 * The same on the file, whose mode and links stay; it is made if missing, and such a one is removed
 * again when nothing else stands in it. One that was there stays, as {} when it was empty.
 */
int hooks_install(const char *path, const struct hook_call *call, size_t *added, struct err *e);
int hooks_uninstall(const struct hook_row *row, const char *path, size_t *removed, struct err *e);

/* For reading alone: of how many events ours is there, and in *command (heap, NULL: of none) the line of the first. */
int hooks_look(const struct hook_row *row, const char *path, size_t *n, char **command, struct err *e);
/* Has a person switched all hooks off in that file ("disableAllHooks": true), ours among them? False also when it cannot be read. */
bool hooks_are_off(const char *path);

#endif
