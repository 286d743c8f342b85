#ifndef REVIVE_PLUGIN_H
#define REVIVE_PLUGIN_H

#include <stdbool.h>

#include "revive/sealed.h"

struct err;
struct town_list;

/*
 * The plugin by which Gas Town's daemon runs `gt-recover patrol`: <town>/plugins/gt-recover/plugin.md, TOML between two lines of +++ and words
 * for an agent, and run.sh beside it, which the daemon runs itself, without an agent, with execution.timeout (gastown, internal/plugin:
 * types.go, runner.go of 2026-04). A cooldown of two minutes: within the three for which the witness believes a heartbeat.
 * The files are sealed (revive/sealed.h). (`gt plugin sync --clean` takes away what is not in its source; install it again then.)
 */
enum { PLUGIN_RUN, PLUGIN_MD, PLUGIN_FILES };

struct plugin {
	char *dir;
	struct sealed file[PLUGIN_FILES];	/* run.sh, plugin.md */
};

/* town: its root. args: options for patrol, --town among them. */
void plugin_init(struct plugin *p, const char *town, const char *program, const struct town_list *args);
void plugin_release(struct plugin *p);

/* *changed: a file was written, for it was missing or an older one of ours. Names: those of sealed_install. */
int plugin_install(const struct plugin *p, bool *changed, struct err *e);
/* *was: there was one. Name "edited". */
int plugin_remove(const struct plugin *p, bool *was, struct err *e);

#endif
