#ifndef WORK_BEAD_H
#define WORK_BEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clean_text;
struct err;
struct scrub;

/*
 * The handoff: what the agent was working on, read from a beads database (SQLite era, bd <= 0.50.3 and beads_rust; schema and
 * queries: gas town facts 6 and 7). Nothing of theirs is ever written, not even a -shm file: see base/db.h.
 * Every string that a person or an agent wrote has passed the scrubber; texts are cut at 64 KiB (and say so), words at 256 bytes.
 */
struct bead {
	char *id;			/* "gt-abc12"; NULL: nothing found */
	char *status;			/* as stored: hooked, in_progress, pinned, open, closed, tombstone, … */
	char *type;
	char *assignee;			/* as stored, either spelling */
	char *database;			/* path it came from */
	struct clean_text *title;
	struct clean_text *description;
	struct clean_text *notes;	/* design, acceptance criteria and notes, headed; NULL: none */
	struct clean_text *handoff;	/* description of the handoff mail or pinned role bead, NULL: none */
	char *handoff_id;
	char *last_closed;		/* id of the newest closed work of this assignee when no open work is left; NULL: none */
	char *agent_state;		/* what gt noted of the agent: working, spawning, done, nuked, idle, stuck, awaiting-gate, …; NULL: not known */
	int64_t agent_since;		/* when it noted that, ms since 1970; 0: not known */
	bool rig_stopped;		/* the rig's own bead says that it is parked or docked */
	bool closed;			/* the named work is closed or a tombstone: not to be resumed */
};

#define BEAD_INIT { .id = NULL }

void bead_release(struct bead *b);

/*
 * Looks for the work of rig/polecat `name` (NULL rig: the name alone) in the databases, in their order (rig first, then town). `hint` is
 * a bead id that is known from elsewhere (GT_WORK_BEAD), or NULL. Order: hooked; the hint; the hook of the agent's own bead; in
 * progress; pinned; a closed hint (then `closed`); open and every status that is not known. Mail, agents and the like are no work. The
 * handoff is the agent's newest open mail "🤝 HANDOFF: …", else the pinned bead "NAME Handoff", else "polecat Handoff". 0 also when
 * there is no bead (id NULL). -1: a database is there but could not be read: the names of db_open_foreign, and "not-beads"; that is
 * never "no work".
 */
int bead_find(const char *const *databases, size_t n, const char *rig, const char *name, const char *hint,
    struct scrub *s, struct bead *out, struct err *e);

/*
 * The database file for a directory that has (or whose parents have) .beads, or is a .beads itself: BEADS_DIR's meaning, redirect files
 * (chains to 4), metadata.json, beads.db, any *.db. A Dolt store (metadata.json backend "dolt") makes a left-over *.db stale: NULL, and
 * *dolt is set. Heap, NULL when there is none.
 */
char *bead_database(const char *dir, bool walk_up, bool *dolt);
/* The .beads directory of a Dolt store, found the same way, for work/bead_cli.h. Heap, NULL when there is none or it is no Dolt store. */
char *bead_dolt(const char *dir, bool walk_up);

#endif
