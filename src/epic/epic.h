#ifndef EPIC_EPIC_H
#define EPIC_EPIC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "records/records.h"

struct app;
struct buf;
struct epic;
struct epic_source;
struct epic_sprint;
struct epic_survey;
struct record;
struct scrub;
struct store;
struct timestamp;

/* ---- epic ---- */

/*
 * An epic as its records tell it (epic/epic.h): its sprints in the order of sprints[], then
 * those that name it without being listed. Of a sprint the newer of two tellers is believed: its
 * own record, or the epic's entry.
 */
struct epic_file {
	char *path, *last, *next;		/* last, next: sections, may be NULL */
	int64_t line;				/* 0: not known */
	double confidence;			/* < 0: not known */
	bool completed;
	int64_t at;				/* when it was told, ms since 1970 */
	size_t told;				/* its place among those that were told */
};

enum sprint_state { SPRINT_COMPLETED, SPRINT_IN_PROGRESS, SPRINT_STARTING, SPRINT_WAITING };

struct epic_need {
	char *id;
	size_t place;				/* of the sprint in this epic, from 1; 0: it is none of it */
	bool resolved;				/* it is completed, or its interface is there */
	bool completed;
};

struct epic_sprint {
	char *id;
	enum sprint_state state;
	double progress;			/* percent */
	double confidence;			/* < 0: not known */
	struct epic_file *files;		/* those in progress last, the newest at the end */
	size_t n_files, files_cap, completed;
	struct epic_need *needs;
	size_t n_needs;
	json_t *record;				/* sprint:<id>:state, NULL: there is none */
	json_t *agents; /* array of agent:<id>:state, with "agentId"; of one without: that alone */
	json_t *ready;				/* interface:<id>:ready, NULL: there is none */
	json_t *files_record;			/* sprint:<id>:files, NULL: there is none */
	/* ms since 1970, 0: not known; heard: the newest sign of life */
	int64_t started, last_seen_at;
	/* array of the ids of its agents' hosts (base/host.h), each once */
	json_t *hosts;
	/*
	 * heap: where its work in progress is committed (recover/upkeep/upkeep.h); NULL: nobody
	 * looked, or it is not
	 */
	char *wip;
	int64_t wip_at;
	bool alive;				/* a process of one of its agents runs here */
	/* it has agents, and none of them runs, for certain (records/agents/agents.h) */
	bool gone;
	/* what stands under its id names another epic: only the entry in sprints[] is its own */
	bool foreign;
	json_t *gone_agents;			/* id -> true: no process of it runs, for certain */
	json_t *living_agents;			/* id -> true: a process of it runs on this machine */
	bool interrupted;			/* it is under way, and its agents are not (epic_list_read) */
};

struct epic {
	char *id;
	const struct epic_source *source;	/* where it is kept besides our records; NULL: nowhere */
	json_t *record;
	struct epic_sprint *sprints;
	size_t n;
	/* as above; checkpoint: the newest one; never later than `now` */
	int64_t started, checkpoint, last_seen_at;
	bool alive;
	bool interrupted;			/* or a sprint of it is */
	/* it is not, but only because something was heard of it just now */
	bool young;
};

/* How a source was read (epic_survey). */
struct epic_source_report {
	const struct epic_source *source;
	size_t epics;				/* that it has, completed ones too */
	struct err error;			/* why it could not be read; code 0: it could */
};

#define EPIC_SOURCES 8				/* rows of the table of sources, at most */

struct epic_list {
	struct epic *v;
	size_t n, cap;
	/* by epic_survey alone; found: array of {source, key, status}, NULL: none */
	struct epic_source_report sources[EPIC_SOURCES];
	size_t n_sources;
	json_t *found;
};

/*
 * All epics that are not completed, by id; or the one that `id` names ("not-found", GT_NOTHING).
 * An epic is interrupted when it has begun, a sprint of it is open, no process of its agents runs
 * on this machine (records/agents/agents.h), and nothing was heard of it for three beats of
 * `interval` ms, neither by checkpoints nor by the hooks of its agents
 * (records/hooks/hooks.h), here or on other hosts: a live process here outweighs any silence.
 * Where all agents of the sprints under way are known to be gone, nobody waits. While an agent of
 * it runs, those sprints are interrupted all of whose agents are known to be gone.
 */
int epic_list_read(struct store *s, const char *id, int64_t interval, const struct timestamp *now,
    struct epic_list *out, struct err *e);
void epic_list_release(struct epic_list *list);

/*
 * By what id the ledger knows an agent of it (records/agents/agents.h): its sessionId, else its
 * own. Lives as long as the two.
 */
const char *sprint_agent_session(const struct epic_sprint *x, const char *agent);

/* May it start: is nothing that it waits for missing? */
bool sprint_can_start(const struct epic_sprint *x);
/* Is there too little of it to go on from (percent, key resume_threshold)? */
bool sprint_starts_over(const struct epic_sprint *x, double threshold);

/*
 * What a crash cost. `share` is the part of the work done that was not kept: of a sprint (last sign
 * of life - last checkpoint) / (last sign of life - start), by the epic's times where it has none,
 * and all of one that starts over; of the epic their mean, weighted by progress. < 0: unknown, as a
 * time or the progress of one of them is.
 *
 * Steps are files, subtasks and the steps of the sprints. Open is what was in hand: files in progress
 * and each agent's next subtask, steps under way, of a sprint that starts over all of them. steps 0:
 * none is known.
 */
struct epic_loss {
	double share;
	size_t open, steps;
};
struct epic_loss epic_loss(const struct epic *x, double threshold);

/*
 * How long its open sprints still take, side by side, at the pace that was measured, ms; for
 * those without a pace the mean of the others. -1: nothing to measure.
 */
int64_t epic_remaining(const struct epic *x, double threshold);

/* ---- briefing ---- */

/*
 * What an agent that comes back is told of its part in an epic: its task, the file and the
 * sections where it stood, whether the file was saved after the checkpoint (the disk is right
 * about content, the checkpoint about what comes next), tests with their counts, validators, what
 * it waits for with the contract of it. Plain text, clean as the records are. cwd: where its
 * paths start, may be NULL. threshold: key resume_threshold. 1, or 0 when no epic knows the agent
 * (an id of an agent, or its sessionId); -1 with err.
 */
int epic_write_briefing(
    struct store *s, const char *agent, const char *cwd, double threshold, struct buf *out, struct err *e);

/* ---- checkpoint_schema ---- */

/*
 * What a checkpoint may look like: the shapes of seed S3, as tables. Members that no shape knows
 * are kept as they are. null stands for "not known" everywhere but at ids.
 *
 * 	epic    epicId name status startTime lastCheckpoint totalSprints completedSprints
 * 	inProgressSprints waitingSprints
 * 		sprints[] {id status progress} dependencies {sprint: [sprints]}
 * 	sprint  sprintId epicId status phase progress startTime lastCheckpoint agents[] {id status
 * 	task} filesWritten[], filesInProgress[]
 * 		{path completed lastCompletedSection nextSection currentLine confidence} confidence {loop3
 * 		loop2}; and, beyond the seed's
 * 		sample, what its recovery strategies need: tests {run total last lock} (last: the last one
 * 		that passed), validators[] {id status score progress lastValidated
 * 		next}, waitStarted, productiveWork[], steps[] {id title status agent blockedBy[]}
 * 	agent   agentId sprintId epicId currentTask fileBeingEdited lineNumber taskProgress {started
 * 	estimatedCompletion
 * 		subtasksCompleted[] subtasksRemaining[]} context {dependencies[] relatedFiles[] testFile}
 * 		confidenceScore lastHeartbeat; and
 * 		sessionId, by which the ledger knows it (records/agents/agents.h) when that is not its own
 * 		id
 * 	file	one of filesInProgress[], and lastCheckpoint
 * 	signal	any object: the contract of an interface
 */
enum checkpoint_kind {
	CHECKPOINT_EPIC, CHECKPOINT_SPRINT, CHECKPOINT_AGENT, CHECKPOINT_FILE, CHECKPOINT_SIGNAL,
	CHECKPOINT_KINDS
};

#define CHECKPOINT_MAX ((size_t)1 << 20)		/* bytes of a checkpoint, as JSON */
#define CHECKPOINT_SPRINTS 1000			/* of an epic */
#define CHECKPOINT_DEPTH 64				/* values within values */

const char *checkpoint_kind_name(enum checkpoint_kind shape);	/* "epic", … */

/*
 * Checks the object and makes it uniform, in place: times (RFC 3339, or ms since 1970) become RFC
 * 3339 in UTC, the missing own id becomes `id`, the missing time of the checkpoint `now` (ms
 * since 1970), as does any time at which something was, where it is later; missing counters are
 * counted. `starting` counts as in progress. Names, all GT_USAGE: "checkpoint" (the sentence
 * names the member and what was expected), "counters" (they do not agree with sprints[]), "id".
 */
int checkpoint_normalize(enum checkpoint_kind shape, const char *id, json_t *o, int64_t now, struct err *e);

/* Counts sprints[] of an epic into its counters. */
void checkpoint_count_sprints(json_t *epic);

/*
 * The object, which checkpoint_normalize took, without its secrets, new reference: all strings
 * and names of members but those that the shape has as ids or as one of its four states. Deeper
 * than CHECKPOINT_DEPTH: NULL with err ("checkpoint", GT_USAGE).
 */
json_t *checkpoint_scrub(enum checkpoint_kind shape, const json_t *o, struct scrub *s, struct err *e);

/* A time that a shape holds, ms since 1970; 0 when it is absent. And the way back. */
int64_t checkpoint_time(const json_t *o, const char *member);
void checkpoint_set_time(json_t *o, const char *member, int64_t ms);

/* ---- epic_store ---- */

/*
 * Where checkpoints stand in the store, and how they are written. The tag is the state:
 *
 * 	epic:<id>:state			completed, in_progress, starting, waiting
 * 	sprint:<id>:state		the same
 * 	sprint:<id>:files               files           checkpoints of single files, the newest of
 * 	each path: {files: [...]}
 * 	agent:<id>:state                agent           what it told last; one that tells its
 * 	heartbeat alone keeps the rest
 * 	agent:<id>:checkpoint           agent           what it told last but heartbeats: where it can
 * 	go on
 * 	interface:<sprint>:ready	ready		{sprintId, readyAt, contract}
 *
 * Ids are free text (record_check_id). "epic-" in front of an epic's and "sprint-" in front of a
 * sprint's may stand there or not: a record is found by either, and made under the id that was
 * told first.
 */
#define EPIC_RECORD_SCHEMA 1

enum epic_record_kind {
	EPIC_RECORD_EPIC, EPIC_RECORD_SPRINT, EPIC_RECORD_AGENT, EPIC_RECORD_FILES, EPIC_RECORD_READY,
	EPIC_RECORD_CHECKPOINT,
	EPIC_RECORD_KINDS
};

/* Heap. */
char *epic_record_key(enum epic_record_kind at, const char *id);
/* The id in a record's key: not for keys of other kinds. Heap. */
char *epic_record_id(enum epic_record_kind at, const char *key);
/* Is it a record of that kind? */
int epic_record_is(enum epic_record_kind at, const char *key);
/* Do two ids name the same epic (or sprint)? */
int epic_record_same_id(enum epic_record_kind at, const char *a, const char *b);
/* What all records of a kind start with, for scans: "epic:". */
const char *epic_record_prefix(enum epic_record_kind at);

/*
 * The record that an id names, in either spelling; *o: its value, new reference, may be NULL. 1
 * found, 0 absent (r is empty), -1 err.
 */
int epic_record_find(
    struct store *s, enum epic_record_kind at, const char *id, struct record *r, json_t **o, struct err *e);

/*
 * Commits a checkpoint that checkpoint_normalize took and checkpoint_scrub cleaned. A sprint's
 * goes, in the same commit, into the sprints[] of its epic where it is listed, and the counters
 * there. New records and new states are told by an event ("epic.in_progress", "sprint.completed",
 * "interface.ready"); mere progress is none. *key (heap, may be NULL): of the record. Names:
 * "too-large" (GT_USAGE); "other-epic" (GT_REFUSED: a sprint under whose id stands one of another
 * epic).
 */
int checkpoint_commit(
    struct store *s, enum checkpoint_kind shape, const char *id, const json_t *o, char **key, struct err *e);

/*
 * The sprint is at its beginning, in one commit: starting, 0 %, no files, tests or validators, in
 * its epic's sprints[], too. Its agents and its test lock stay. One without a record gets one.
 * epic: whose it is.
 */
int sprint_reset(struct store *s, const char *epic, const char *sprint, struct err *e);

/* A record's value without "schema_version", new reference. NULL with err, also for a wrong tag. */
json_t *epic_record_object(const struct record *r, struct err *e);
/* The other way: o is released. Heap; NULL with err: "too-large". */
char *epic_record_value(json_t *o, struct err *e);
/* The tag of a record of that kind with this value: a constant. */
const char *epic_record_tag(enum epic_record_kind at, const json_t *o);

/* ---- export ---- */

#define EPIC_EXPORT_MAX ((size_t)64 << 20)		/* bytes of JSON that epic_import_json reads */

/*
 * An epic with all that is known of it, in seed S3's shape: epic {id name status crashTime
 * lastCheckpoint crashDuration (seconds)}, sprints[] {id status progress filesCompleted[]
 * filesInProgress[] lastCheckpoint {file function line confidence}}; and records {key: value}, by
 * which it is imported again unchanged. now: ms since 1970. New reference, or NULL with err.
 */
json_t *epic_export_json(struct store *s, const struct epic *x, int64_t now, struct err *e);

/*
 * Commits the records of a dump, all or none, with the event epic.imported; *id (heap): the
 * epic's. Each is checked and cleaned as a checkpoint is. 1 done; 0 they all stand there already;
 * -1: "exists" (GT_REFUSED: one of them stands there with another value), "dump" (GT_USAGE),
 * "checkpoint", "counters".
 */
int epic_import_json(struct store *s, const json_t *dump, struct scrub *scrub, char **id, struct err *e);

/*
 * Deletes all records of an epic, and the locks of its sprints' tests that nobody else has, in
 * one commit with the event epic.abandoned. *n: how many. "conflict" (GT_AGAIN): something of it
 * was written meanwhile.
 */
int epic_delete(struct store *s, const struct epic *x, size_t *n, struct err *e);

/* ---- source ---- */

/*
 * Where epics are kept besides our own records. A row of the table in source.c reads one such place
 * and puts what it finds, in the shapes of checkpoints, beside our records; what two places tell of
 * one id is one epic (shelf.c). Formats: docs/epics.md.
 */
struct epic_source {
	const char *name;			/* for programs: "workflows" */
	const char *title;			/* for people: "Claude Code workflows" */
	bool live;				/* it is the original, our records a copy of it */
	/* Reads all it has. -1 with err: it cannot be read. */
	int (*read)(struct epic_survey *survey, struct err *e);
};

const struct epic_source *epic_source_by_name(const char *name);	/* NULL: no such */

/*
 * As epic_list_read, of all sources. A source that cannot be read leaves its reason in out->sources
 * and hinders no other. s may be NULL: then nothing is recorded yet. -1 with err: our own
 * records cannot be read, or the id is in none ("not-found", GT_NOTHING, when all could be read;
 * "unread", GT_FAIL, when one could not).
 */
int epic_survey(struct app *w, struct store *s, const char *id, int64_t interval,
    const struct timestamp *now, struct epic_list *out, struct err *e);

/*
 * Commits what is known of an epic as our own records, so that it survives its source and can be
 * worked with: one commit, none when they are the same already. What another program keeps at a key
 * is copied first (STORE_ADOPT). *n: how many records it wrote, *adopted: how many of them replaced
 * another program's text; both may be NULL.
 */
int epic_keep(struct store *s, const struct epic *x, size_t *n, size_t *adopted, struct err *e);
/*
 * The same for several, in one commit; but what another program keeps at a key is left as it is, and so
 * is the checkpoint to which an agent goes back.
 */
int epic_keep_all(struct store *s, const struct epic *const *v, size_t n_epics, size_t *n, struct err *e);

/*
 * Makes a checkpoint of an epic that is under way, in x alone: at `now` (ms since 1970) its agents that
 * run give a sign of life, and what it and its sprints with such an agent are known to have is kept. Of a
 * sprint whose files nobody tells, those that its agents' transcripts show as written are in progress.
 * False: no process of it runs, or it is interrupted; x is as it was.
 */
struct epic_pass_tools {
	char *(*transcript)(const json_t *agent, void *arg);	/* its path, heap; NULL: unknown */
	void *arg;
	struct scrub *scrub;
};
bool epic_checkpoint(struct epic *x, const struct epic_pass_tools *tools, int64_t now);

/*
 * Takes over what another program keeps at the keys that a checkpoint of this kind and id will
 * change: the record, for an agent its two, and the epic that the record or `o` names. *adopted: how
 * many.
 */
int epic_adopt(struct store *s, struct scrub *scrub, enum checkpoint_kind shape, const char *id,
    const json_t *o, size_t *adopted, struct err *e);

/* ---- role ---- */

/* What an agent does: its part in an epic. */
struct epic_role {
	char *agent;				/* its id; heap */
	json_t *state;				/* agent:<id>:checkpoint, NULL: there is none */
	const struct epic *epic;		/* in list */
	const struct epic_sprint *sprint;	/* its sprint, in epic */
	struct epic_list list;
};

/*
 * agent: its id, or its sessionId. 1, or 0 when no epic knows it, or no sprint of its epic; -1
 * with err. interval and now: as epic_list_read. epic_role_release in any case.
 */
int epic_role_find(struct store *s, const char *agent, int64_t interval, const struct timestamp *now,
    struct epic_role *out, struct err *e);
/* The place of its sprint in the epic's sprints[], from 1; 0: it is not listed there. */
size_t epic_role_place(const struct epic_role *x);
void epic_role_release(struct epic_role *x);

/* ---- test_lock ---- */

/*
 * The lock under which a sprint's tests ran when it crashed: the one that its record names in
 * tests.lock (records/records.h). What ran under it is dead with its agents, so that it is taken
 * from them, for the one who runs all tests again. now: as in records/records.h.
 */

/* Its name; NULL: the sprint has none. */
const char *sprint_test_lock_name(const struct epic_sprint *x);

/*
 * Takes it for an agent of the sprint: who had it, if he is one of them, else the first. Stale is
 * what records/records.h calls so, and what an agent of this sprint has by its word alone, for the
 * sprint has crashed; that is put back first. out: as lock_acquire left it; `taken` says from
 * whom. 1 taken; 0 the sprint has no lock or no agent; -1: "held" (GT_AGAIN: somebody else has
 * it, or a process that lives).
 */
int sprint_test_lock_take(struct store *s, const struct epic_sprint *x, const struct timestamp *now,
    struct lock *out, struct err *e);

/* May it go with the sprint? It is free, stale, or an agent's of it. */
bool sprint_test_lock_is_own(const struct epic_sprint *x, const struct lock *l, const struct timestamp *now);

/* What the agent is told of it. -1 with err. */
int sprint_test_lock_describe(struct store *s, const struct epic_sprint *x, const char *agent,
    const struct timestamp *now, struct buf *out, struct err *e);

#endif
