#ifndef REVIVE_HOOKS_H
#define REVIVE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#define HOOKS 7				/* events that are told */

struct buf;
struct err;

/*
 * `gt-recover hook EVENT` among the hooks of Claude Code's settings.json. Its text is edited in place: every byte that is not ours stays,
 * and what is taken out again leaves the file as it was (a "hooks" or a list of an event that was there and empty goes, too).
 * Ours is the command that is added alone: a program called gt-recover, "hook EVENT", and no options but --town and --config; what a
 * person put around or behind it is his, and stays. Later events (SubagentStart, PostToolUseFailure) are left out:
 * a Claude Code that does not know an event (1.0.128 does not know that one) reads nothing of settings that name it, permissions neither.
 * A call that failed is known by the agent's next one instead (ledger/activity.h).
 *
 * JSON that jansson refuses, or with a key twice, and hooks of another form are left alone: name "settings".
 */

/*
 * text: what the file holds, empty when there is none. command: the program, quoted for sh; options: what stands behind the event. *added: 0
 * when it has just these already.
 */
int hooks_add(struct buf *text, const char *command, const char *options, size_t *added, struct err *e);
int hooks_remove(struct buf *text, size_t *removed, struct err *e);

/* Only what hooks_add would put into an empty file. */
void hooks_print(struct buf *out, const char *command, const char *options);

/*
 * The same on the file, whose mode and links stay; it is made if missing, and such a one is removed
 * again when nothing else stands in it. One that was there stays, as {} when it was empty.
 */
int hooks_install(const char *path, const char *command, const char *options, size_t *added, struct err *e);
int hooks_uninstall(const char *path, size_t *removed, struct err *e);

/* For reading alone: of how many events ours is there, and in *command (heap, NULL: of none) the line of the first. */
int hooks_look(const char *path, size_t *n, char **command, struct err *e);
/* Has a person switched all hooks off in that file ("disableAllHooks": true), ours among them? False also when it cannot be read. */
bool hooks_are_off(const char *path);

#endif
