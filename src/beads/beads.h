#ifndef BEADS_BEADS_H
#define BEADS_BEADS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bd;
struct bead;
struct clean_text;
struct err;
struct scrub;

/* ---- bd ---- */

/*
 * The program bd, which alone can read beads that live in Dolt (bd >= 0.51; facts: gas-town.md
 * 7.4): `bd --readonly … --json`, in the directory that holds .beads, with BEADS_DIR set,
 * BEADS_DOLT_AUTO_START=0 (or bd would start a server of its own) and without what another
 * database left in the environment. One of these serves a whole command.
 */

/* `port` of the town's Dolt server, or NULL: what the environment and bd's own files say. */
struct bd *bd_new(const char *port);
void bd_free(struct bd *b);

/* The last thing that went wrong; code 0: nothing did. */
const struct err *bd_last_error(const struct bd *b);

/* ---- bead ---- */

/*
 * The handoff: what the agent was working on, read from a beads database (SQLite era, bd <=
 * 0.50.3 and beads_rust; schema and queries: gas town facts 6 and 7). Nothing of theirs is ever
 * written, not even a -shm file: see base/db.h. Every string that a person or an agent wrote has
 * passed the scrubber; texts are cut at 64 KiB (and say so), words at 256 bytes.
 */
struct bead {
	char *id;			/* "gt-abc12"; NULL: nothing found */
	/* as stored: hooked, in_progress, pinned, open, closed, tombstone, … */
	char *status;
	char *type;
	char *assignee;			/* as stored, either spelling */
	char *database;			/* path it came from */
	struct clean_text *title;
	struct clean_text *description;
	struct clean_text *notes;	/* design, acceptance criteria and notes, headed; NULL: none */
	struct clean_text *handoff;	/* description of the handoff mail or pinned role bead, NULL: none */
	char *handoff_id;
	/* id of the newest closed work of this assignee when no open work is left; NULL: none */
	char *last_closed;
	/*
	 * what gt noted of the agent: working, spawning, done, nuked, idle, stuck, awaiting-gate,
	 * …; NULL: not known
	 */
	char *agent_state;
	int64_t agent_since;		/* when it noted that, ms since 1970; 0: not known */
	bool rig_stopped;		/* the rig's own bead says that it is parked or docked */
	bool closed;			/* the named work is closed or a tombstone: not to be resumed */
};

#define BEAD_INIT { .id = NULL }

void bead_release(struct bead *b);

/*
 * Looks for the work of rig/polecat `name` (NULL rig: the name alone) in the databases, in their
 * order (rig first, then town). `hint` is a bead id that is known from elsewhere (GT_WORK_BEAD),
 * or NULL. Order: hooked; the hint; the hook of the agent's own bead; in progress; pinned; a
 * closed hint (then `closed`); open and every status that is not known. Mail, agents and the like
 * are no work. The handoff is the agent's newest open mail "🤝 HANDOFF: …", else the pinned bead
 * "NAME Handoff", else "polecat Handoff". 0 also when there is no bead (id NULL). -1: a database
 * is there but could not be read: the names of db_open_foreign, and "not-beads"; that is never
 * "no work".
 */
int bead_find(const char *const *databases, size_t n, const char *rig, const char *name, const char *hint,
    struct scrub *s, struct bead *out, struct err *e);

/*
 * The database file for a directory that has (or whose parents have) .beads, or is a .beads
 * itself: BEADS_DIR's meaning, redirect files (chains to 4), metadata.json, beads.db, any *.db. A
 * Dolt store (metadata.json backend "dolt") makes a left-over *.db stale: NULL, and *dolt is set.
 * Heap, NULL when there is none, and where it is not trusted (town_trusts).
 */
char *bead_database(const char *dir, bool walk_up, bool *dolt);
/*
 * The .beads directory of a Dolt store, found the same way, for beads/beads.h. Heap, NULL when
 * there is none or it is no Dolt store.
 */
char *bead_dolt_dir(const char *dir, bool walk_up);

/* ---- bead_cli ---- */

/*
 * bead_find of beads/beads.h for beads that live in Dolt: the same order, the same cleaning, asked
 * of the program bd. The answers are foreign JSON: fields of a wrong type count as absent.
 */
struct bead_cli {
	struct bd *bd;
	/* .beads directories, in their order; the last one is the town's, where mail and role beads are */
	const char *const *dirs;
	size_t n;
	/* prefix of the rig's beads, without the dash: names the agent's own bead. NULL without a rig */
	const char *rig, *prefix;
	const char *name, *hint;	/* as bead_find has them */
	/* for lists: what is hooked and nothing else, one call of bd a directory for all agents together */
	bool quick;
};

/* 0 also when there is no bead (out->id NULL). -1: as bd_query; never "no work". */
int bead_cli_find(const struct bead_cli *c, struct scrub *s, struct bead *out, struct err *e);

/* ---- checkpoint ---- */

/*
 * The note that an agent of Gas Town wrote about itself (gt checkpoint write):
 * DIR/.polecat-checkpoint.json, as readable lines, "Step: …". Known fields only; each at most 8
 * KiB, 30 files.
 *
 * *out is NULL and the answer 0 when there is none, when it is older than 24 h (gas town facts 6)
 * or dated more than five minutes ahead: a clock that jumped makes its age unknown. Its age
 * counts from the field timestamp, else from the file's time of change. -1: name "checkpoint":
 * the file is there and cannot be read as one.
 */
int bead_checkpoint_read(
    const char *dir, int64_t now_ms, struct scrub *s, struct clean_text **out, struct err *e);

#endif
