#ifndef CMD_SETUP_H
#define CMD_SETUP_H

#include <stdbool.h>
#include <stdint.h>

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
/* Filters read standard input: a terminal there is a usage error. */
int setup_no_terminal(struct err *e);
/* A scrubber for the filters, with the rules of gt.toml; unless no_known it knows the secrets of our own environment and files. */
struct scrub *setup_scrub(const struct cli *cli, struct err *e);

/*
 * Brings events.jsonl in the state directory up to the store, if this run opened it. What cannot be written is said on stderr and is no
 * failure of the command: the store has it, and the next run writes it.
 */
void setup_export(struct world *w);

/* enabled = false: says so on stderr, with --json in an object on stdout; the command then answers 0. */
bool setup_disabled(const struct cli *cli, const struct world *w);

/* Warns of a server that was left out (candidates.trouble), if there was one. */
void setup_trouble(const struct err *trouble);

/*
 * For those who call us later, from another directory, heap: this program's own path, NULL when /proc does not tell; a path of the command
 * line made absolute.
 */
char *setup_program(void);
char *setup_absolute(const char *path);

/* --since as ms since 1970: that long ago, 0 without it. */
int setup_since(const struct cli *cli, int64_t *since, struct err *e);

/* Is --via, if it was given, one of its words? */
int setup_via(const struct cli *cli, struct err *e);

/* The error for a command that takes no arguments; returns -1. */
int setup_no_arguments(const struct cli *cli, struct err *e);

/* The signal that asked us to stop, 0: none. */
int setup_stopped(void);

#endif
