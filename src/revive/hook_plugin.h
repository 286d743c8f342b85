#ifndef REVIVE_HOOK_PLUGIN_H
#define REVIVE_HOOK_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct hook_call;

/*
 * OpenCode has no hooks in its settings: it loads every file of its folder plugin/. Ours, templates/opencode.js, calls `gt-recover hook
 * EVENT` with what Claude Code's hooks are given, waits for it at most a second, and never lets an error out. The file is sealed
 * (revive/sealed.h): one that a person changed is neither replaced nor removed (name "edited").
 */
void hook_plugin_print(struct buf *out, const struct hook_call *call);
int hook_plugin_install(const char *path, const struct hook_call *call, bool *changed, struct err *e);
int hook_plugin_remove(const char *path, bool *was, struct err *e);

/* For reading alone: *command (heap, NULL: there is none) is the line of the first event; *edited: a person changed it. */
int hook_plugin_look(const char *path, char **command, bool *edited, struct err *e);

#endif
