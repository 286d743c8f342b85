#ifndef CLI_EPIC_EPIC_H
#define CLI_EPIC_EPIC_H

#include "cli/cli.h"
#include "epic/epic.h"

struct app;
struct candidate;
struct candidate_list;

/* ---- epic ---- */

/* The verbs of `epic`, in several files: exit status, or -1 with err. */
int epic_resume(struct verb_job *j, struct err *e);

/* Asks, unless --yes was given, and deletes. */
int epic_abandon_one(struct verb_job *j, const struct epic *x, struct err *e);

/* One epic, or all that are not completed (id NULL), and the store's time. epic_list_release in any case. */
int epic_read(struct verb_job *j, const char *id, struct epic_list *out, struct timestamp *now,
    struct err *e);
/* Where the paths of a sprint start: an agent's workspace, else the epic's. Heap, NULL: nobody knows. */
char *epic_workspace(struct verb_job *j, const struct epic *x, const struct epic_sprint *one);
/* Asks git on which refs the work of open sprints is committed, of interrupted epics or of all. */
void epic_find_wips(struct verb_job *j, struct epic_list *list, bool all);
/* Says that the store answered. */
void epic_greet(struct verb_job *j);
double epic_threshold(const struct verb_job *j);

/* ---- agent ---- */

/*
 * What detect found of an agent whose session nobody recorded: by its conversation, its name in a team,
 * its process, or its address in Gas Town. NULL: nothing.
 */
const struct candidate *epic_candidate(struct app *w, const struct candidate_list *all,
    const struct epic_sprint *x, const char *agent);
/* The process that its source noted runs. */
bool epic_agent_runs(const struct epic_sprint *x, const char *agent);
/* The pane in which an attempt has started an agent that lives; else "". */
void epic_started_pane(struct app *w, const char *attempt, char pane[24]);

/* ---- plan ---- */

/*
 * How an epic is resumed: the words of seed S3's step 5 and of its recovery strategies. They
 * depend on their arguments alone.
 */
struct epic_plan {
	const struct epic *x;
	const bool *chosen;			/* one for each sprint */
	/*
	 * when its last file was written to disk, ms since 1970, one for each sprint; 0: it is
	 * not there; < 0: nobody knows where it is
	 */
	const int64_t *saved;
	double threshold;
	bool restart;				/* the way 2: all from the beginning */
	/* its sprints were chosen by name: also those that run, whose agents may have died alone */
	bool named;
};

/*
 * Do agents of it come back: is it chosen, not completed, and free to start? While the epic runs
 * only sprints that are interrupted do, and, where they are named, those that run or wait.
 */
bool epic_plan_open(const struct epic_plan *p, size_t i);
/*
 * Ids of a sprint's agents: those that it lists, and those whose records name it, but no
 * validator that is done; and validators that had begun. Of one that starts over only the first
 * two, whole. New reference: id -> true.
 */
json_t *epic_plan_agents(const struct epic_plan *p, size_t i);

/*
 * What --dry-run --json says of it: id, way ("resume", "restart", "starting"; null: its agents
 * are left alone), agents[]. New reference.
 */
json_t *epic_plan_json(const struct epic_plan *p, size_t i);
void epic_plan_title(struct buf *out, const struct epic_plan *p);
/*
 * What becomes of the sprint at that place, from 0, and where it stood; then its agents, behind
 * these words.
 */
void epic_plan_sprint(struct buf *out, const struct epic_plan *p, size_t i, const char *agents);
/* What --dry-run says: all sprints. */
void epic_plan_all(struct buf *out, const struct epic_plan *p);
/* The end. active: of which sprints an agent is back. all: nothing failed. */
void epic_plan_summary(struct buf *out, const struct epic_plan *p, const bool *active, bool all);

/* ---- screen ---- */

/*
 * The screens of seed S3, as text: what they say depends on their arguments alone. Times are UTC,
 * now and ages in ms.
 */

/* "45 seconds", "2 minutes", "3 hours", "2 days" */
void epic_screen_age(struct buf *out, int64_t ms);
/* "2025-10-10 20:45:37 UTC" */
void epic_screen_time(struct buf *out, int64_t ms);
/* ✓, !, ✗ or - and "Sprint 2 (id)" of the one at that place, from 0. */
void epic_screen_name(struct buf *out, const struct epic *x, size_t i, double threshold);
/* 20 places, "████░░…" */
void epic_screen_bar(struct buf *out, double percent);

/* Lines below a sprint: of its last file (it has one), of something that it waits for. */
void epic_screen_last_file(struct buf *out, int indent, const struct epic_sprint *x);
void epic_screen_need(struct buf *out, int indent, const struct epic_need *need);

/*
 * What a scan found: the keys of interrupted epics and of their open sprints, how old the newest
 * checkpoint and the newest heartbeat are. Nothing when none is interrupted.
 */
void epic_screen_found(struct buf *out, const struct epic_list *list, int64_t now);
/* `epic status`: the interrupted ones of the list, or all of it when one was asked for by its id. */
void epic_screen_status(struct buf *out, const struct epic_list *list, bool all, int64_t now,
    double threshold);
/* `epic resume`: what was interrupted, with the four ways on from there. */
void epic_screen_prompt(struct buf *out, const struct epic *x, int64_t now, double threshold);
/* What abandoning deletes, without the question. */
void epic_screen_abandon(struct buf *out, const struct epic *x);

/* One of --json's epics[]. New reference. */
json_t *epic_screen_json(const struct epic *x, int64_t now, double threshold);

/* ---- slot ---- */

/*
 * The test lock of a sprint that is resumed (epic/epic.h): taken, told, and given to the
 * process of its agent.
 */
struct epic_slot {
	struct lock lock;			/* name NULL: there is none, or somebody else has it */
};

#endif
