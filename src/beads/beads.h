#ifndef BEADS_BEADS_H
#define BEADS_BEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bd;
struct clean_text;
struct err;
struct scrub;

/* ---- bd ---- */

/*
 * The program bd, the only reader of beads in Dolt (bd >= 0.51; facts: gas-town.md 7.4): `bd
 * --readonly … --json` in the directory that holds .beads, with BEADS_DIR, BEADS_DOLT_AUTO_START=0
 * (else bd starts a server), without another database's variables. One serves a command.
 */

/* port of the Dolt server; NULL: by the environment and bd's files. */
struct bd *bd_new(const char *port);
void bd_free(struct bd *b);

/* The last error; code 0: none. */
const struct err *bd_last_error(const struct bd *b);

/* ---- bead ---- */

/*
 * What an agent was working on, from a beads database (SQLite era, bd <= 0.50.3 and beads_rust; gas
 * town facts 6 and 7). Nothing of theirs is written (base/db.h). Free text is scrubbed; texts are
 * cut at 64 KiB (and say so), words at 256 bytes.
 */
struct bead {
	char *id;			/* "gt-abc12"; NULL: none */
	/* as stored: hooked, in_progress, pinned, open, closed, tombstone, … */
	char *status;
	char *type;
	char *assignee;			/* as stored, either spelling */
	char *database;
	struct clean_text *title;
	struct clean_text *description;
	struct clean_text *notes;	/* design, acceptance criteria, notes, headed; or NULL */
	struct clean_text *handoff;	/* of the handoff mail or pinned role bead; or NULL */
	char *handoff_id;
	/* newest closed work of this assignee, when no open one is left; or NULL */
	char *last_closed;
	/*
	 * gt's note: working, spawning, done, nuked, idle, stuck, awaiting-gate, …; NULL: unknown
	 */
	char *agent_state;
	int64_t agent_since;		/* of that note, ms since 1970; 0: unknown */
	bool rig_stopped;		/* by the rig's bead: parked or docked */
	bool closed;			/* closed or a tombstone: not to be resumed */
};

#define BEAD_INIT { .id = NULL }

void bead_release(struct bead *b);

/*
 * The work of rig/polecat `name` (NULL rig: the name alone) in the databases in order (rig first,
 * then town); hint: a bead id from elsewhere (GT_WORK_BEAD), or NULL. In order: hooked; the hint;
 * the hook of the agent's bead; in progress; pinned; a closed hint (then `closed`); open and
 * unknown statuses. Mail, agents and the like are no work. The handoff: the newest open mail "🤝
 * HANDOFF: …", else the pinned bead "NAME Handoff", else "polecat Handoff". 0 also without a bead
 * (id NULL). -1: a database cannot be read (names of db_open_foreign, "not-beads"); never "no
 * work".
 */
int bead_find(const char *const *databases, size_t n, const char *rig, const char *name, const char *hint,
    struct scrub *s, struct bead *out, struct err *e);

/*
 * The database of a directory with .beads (in it, its parents, or itself): BEADS_DIR's meaning,
 * redirect files (up to 4), metadata.json, beads.db, any *.db. With a Dolt store (metadata.json
 * backend "dolt") a *.db is stale: NULL, *dolt set. Heap; NULL: none, or not trusted (town_trusts).
 */
char *bead_database(const char *dir, bool walk_up, bool *dolt);
/* The .beads of a Dolt store, found the same way. Heap or NULL. */
char *bead_dolt_dir(const char *dir, bool walk_up);

/* ---- bead_cli ---- */

/* bead_find for Dolt, through bd. Fields of a wrong type count as absent. */
struct bead_cli {
	struct bd *bd;
	/* .beads directories in order; the town's, with mail and role beads, is last */
	const char *const *dirs;
	size_t n;
	/* prefix of its beads, without the dash; NULL without a rig */
	const char *rig, *prefix;
	const char *name, *hint;	/* as for bead_find */
	/* hooked beads only, one call of bd a directory for all agents */
	bool quick;
};

/* 0 also without a bead. -1: as bd_query; never "no work". */
int bead_cli_find(const struct bead_cli *c, struct scrub *s, struct bead *out, struct err *e);

/* ---- checkpoint ---- */

/*
 * DIR/.polecat-checkpoint.json (gt checkpoint write) as lines "Step: …". Known fields only, at most
 * 8 KiB each, 30 files.
 *
 * 0 and *out NULL: none, older than 24 h (gas town facts 6), or more than five minutes ahead. The
 * age counts from timestamp, else mtime. -1, "checkpoint": unreadable.
 */
int bead_checkpoint_read(
    const char *dir, int64_t now_ms, struct scrub *s, struct clean_text **out, struct err *e);

#endif
