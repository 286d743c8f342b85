#ifndef REVIVE_BINDING_H
#define REVIVE_BINDING_H

#include <stdbool.h>

#include "revive/sealed.h"

struct err;

/*
 * /recovery:status and /recovery:resume in Claude Code: commands/recovery/status.md and resume.md below its settings directory (a folder's name
 * stands in front of its commands'). status has Claude Code run `gt-recover epic status` itself and hand over what it prints; resume tells the
 * agent to show the plan, to ask the person, and only then to start anything. The files are sealed (revive/sealed.h).
 */
enum { BINDING_STATUS, BINDING_RESUME, BINDING_FILES };

struct binding {
	char *dir;
	struct sealed file[BINDING_FILES];
};

/*
 * settings: Claude Code's directory. command: the program, quoted for sh; options: what stands behind it. -1 with "path": a character stands in
 * these words that means something in such a file. binding_release in any case.
 */
int binding_init(struct binding *b, const char *settings, const char *command, const char *options, struct err *e);
void binding_release(struct binding *b);

/* As plugin_install and plugin_remove. */
int binding_install(const struct binding *b, bool *changed, struct err *e);
int binding_remove(const struct binding *b, bool *was, struct err *e);

#endif
