#ifndef CMD_SETUP_H
#define CMD_SETUP_H

#include <stdbool.h>

struct cli;
struct err;
struct scrub;
struct world;

/* From the command line to a world (revive/world.h). Nothing is made on disk. */

/* Configuration, town and profiles; no tmux. */
int setup_config(const struct cli *cli, struct world *w, struct err *e);
/*
 * The same, and the tmux servers: those of -L, else the town's, its legacy name, `default`, and that of $TMUX. Signals are
 * caught from here on.
 */
int setup_world(const struct cli *cli, struct world *w, struct err *e);
void setup_release(struct world *w);
/* A scrubber for the filters, with the rules of gt.toml. */
struct scrub *setup_scrub(const struct cli *cli, struct err *e);

/* enabled = false: says so on stderr, with --json in an object on stdout; the command then answers 0. */
bool setup_disabled(const struct cli *cli, const struct world *w);

/* Warns of a server that was left out (candidates.trouble), if there was one. */
void setup_trouble(const struct err *trouble);

/* The error for a command that takes no arguments; returns -1. */
int setup_no_arguments(const struct cli *cli, struct err *e);

/* The signal that asked us to stop, 0: none. */
int setup_stopped(void);

#endif
