#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct buf;
struct err;
struct timer;
struct world;

/* The command line after main has read it. Strings point into argv. */
struct cli {
	const char *command;
	const char *const *args;	/* what stands behind the command */
	size_t n_args;
	const char *town, *config;
	const char **sockets;
	size_t n_sockets;
	const char *via, *scope, *agent, *color, *since, *mode, *threshold, *output, *sprints, *lease;
	bool json, dry_run, yes, no_input, quiet, all, include_infra, names, print, report, check, no_known, transcript, verify, undelivered, fleet;
	int verbose;			/* 0 warnings, 1 info, 2 debug */
};

/* One bit an option, so that the table can say which command takes which; OPT_COMMON are taken by all. */
enum {
	OPT_TMUX = 1 << 0,		/* --town -L --config */
	OPT_ACT = 1 << 1,		/* -y --no-input --all --via --scope --include-infra; with OPT_DRY */
	OPT_LIST = 1 << 2,		/* --names --fleet --include-infra */
	OPT_AGENT = 1 << 3,		/* --agent */
	OPT_SCRUB = 1 << 4,		/* --report --check --no-known --config */
	OPT_PRINT = 1 << 5,		/* --print */
	OPT_SCOPE = 1 << 6,		/* --scope --include-infra */
	OPT_DRY = 1 << 7,		/* -n */
	OPT_INFRA = 1 << 8,		/* --include-infra */
	OPT_SINCE = 1 << 9,		/* --since --town --config */
	OPT_VERIFY = 1 << 10,		/* --verify */
	OPT_VIA = 1 << 11,		/* --via, for one that does not act */
	OPT_RUNS = 1 << 12,		/* --mode --threshold */
	OPT_PLACE = 1 << 13,		/* --town --config */
	OPT_UNDELIVERED = 1 << 14,	/* --undelivered */
	OPT_EPIC = 1 << 15,		/* --output --sprints -y --no-input */
	OPT_LEASE = 1 << 16,		/* --lease */
	OPT_HOOKS = 1 << 17		/* --agent, whose hooks */
};

struct command {
	const char *name;		/* NULL ends the table; "" is the bare command */
	int (*run)(const struct cli *cli, struct err *e);	/* exit status, or -1 with err */
	unsigned options;
	const char *args;		/* for usage */
	const char *summary;		/* one line */
	const char *details;		/* for help COMMAND; may be NULL */
};

extern const struct command commands[];
const struct command *command_find(const char *name);

int cmd_recover(const struct cli *cli, struct err *e);
int cmd_list(const struct cli *cli, struct err *e);
int cmd_context(const struct cli *cli, struct err *e);
int cmd_prompt(const struct cli *cli, struct err *e);
int cmd_snapshot(const struct cli *cli, struct err *e);
int cmd_parse(const struct cli *cli, struct err *e);
int cmd_scrub(const struct cli *cli, struct err *e);
int cmd_config(const struct cli *cli, struct err *e);
int cmd_install(const struct cli *cli, struct err *e);
int cmd_uninstall(const struct cli *cli, struct err *e);
/* install and uninstall, when the word behind it is timer, plugin or hooks. */
int cmd_timer(const struct cli *cli, bool install, struct err *e);
int cmd_plugin(const struct cli *cli, bool install, struct err *e);
int cmd_hooks(const struct cli *cli, bool install, struct err *e);
int cmd_binding(const struct cli *cli, bool install, struct err *e);
/* What install timer would write now for this command ("snapshot", "patrol"). -1 as timer_check; timer_release in any case. */
int timer_today(const struct cli *cli, const struct world *w, const char *what, struct timer *t, struct err *e);
int cmd_arm(const struct cli *cli, struct err *e);
int cmd_disarm(const struct cli *cli, struct err *e);
int cmd_log(const struct cli *cli, struct err *e);
int cmd_stats(const struct cli *cli, struct err *e);
int cmd_patrol(const struct cli *cli, struct err *e);
int cmd_startup(const struct cli *cli, struct err *e);
int cmd_release(const struct cli *cli, struct err *e);
int cmd_run(const struct cli *cli, struct err *e);
int cmd_runner(const struct cli *cli, struct err *e);
int cmd_session(const struct cli *cli, struct err *e);
int cmd_agent(const struct cli *cli, struct err *e);
int cmd_message(const struct cli *cli, struct err *e);
int cmd_epic(const struct cli *cli, struct err *e);
int cmd_checkpoint(const struct cli *cli, struct err *e);
int cmd_lock(const struct cli *cli, struct err *e);
/* Always silent, and 0: main.c sees to it. */
int cmd_hook(const struct cli *cli, struct err *e);
int cmd_doctor(const struct cli *cli, struct err *e);
int cmd_help(const struct cli *cli, struct err *e);
int cmd_version(const struct cli *cli, struct err *e);

/* help for one command, or for the whole program (NULL), to `to`. */
void help_print(FILE *to, const struct command *c);

#endif
