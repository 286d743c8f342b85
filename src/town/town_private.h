#ifndef TOWN_TOWN_PRIVATE_H
#define TOWN_TOWN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

struct rig;
struct town_list;

/*
 * What the files behind town.h share: town.c (the root, and whether the town runs), town_rig.c (rigs, their prefixes and beads),
 * town_place.c (sockets and state). Nobody else includes this.
 */
struct route {
	char *prefix;		/* with its dash: "gt-" */
	char *path;		/* from the root; "." is the town */
};

struct town {
	char *root;
	char *real;		/* root with symbolic links resolved: tmux and /proc tell paths so */
	char *warning;
	struct rig *rigs;
	size_t n_rigs, cap_rigs;
	struct route *routes;
	size_t n_routes, cap_routes;
};

/* Fills in rigs, routes and warning from the files below root. */
void town_read_rigs(struct town *t);
void town_free_rigs(struct town *t);

/* Adds unless it is there already; takes the string either way. */
void town_list_add_once(struct town_list *l, char *owned);
bool town_dir_below(const char *dir, const char *name);
/* A variable of the environment; NULL when it is unset or empty. */
const char *town_env(const char *name);

#endif
