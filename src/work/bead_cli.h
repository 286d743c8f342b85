#ifndef WORK_BEAD_CLI_H
#define WORK_BEAD_CLI_H

#include <stdbool.h>
#include <stddef.h>

struct bd;
struct bead;
struct err;
struct scrub;

/*
 * bead_find of work/bead.h for beads that live in Dolt: the same order, the same cleaning, asked of the program bd. The answers are
 * foreign JSON: fields of a wrong type count as absent.
 */
struct bead_cli {
	struct bd *bd;
	const char *const *dirs;	/* .beads directories, in their order; the last one is the town's, where mail and role beads are */
	size_t n;
	const char *rig, *prefix;	/* prefix of the rig's beads, without the dash: names the agent's own bead. NULL without a rig */
	const char *name, *hint;	/* as bead_find has them */
	bool quick;			/* for lists: what is hooked and nothing else, one call of bd a directory for all agents together */
};

/* 0 also when there is no bead (out->id NULL). -1: as bd_ask; never "no work". */
int bead_cli_find(const struct bead_cli *c, struct scrub *s, struct bead *out, struct err *e);

#endif
