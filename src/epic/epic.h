#ifndef EPIC_EPIC_H
#define EPIC_EPIC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct moment;
struct store;

/*
 * An epic as its records tell it (epic/state.h): its sprints in the order of sprints[], then those that name it without being listed. Of a
 * sprint the newer of two tellers is believed: its own record, or the epic's entry.
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
	json_t *agents;				/* array of agent:<id>:state, with "agentId"; of one without: that alone */
	json_t *ready;				/* interface:<id>:ready, NULL: there is none */
	int64_t started, heard;			/* ms since 1970, 0: not known; heard: the newest sign of life */
	json_t *hosts;				/* array of the ids of its agents' hosts (base/host.h), each once */
	char *wip;				/* heap: where its work in progress is committed (revive/wip_pass.h); NULL: nobody looked, or it is not */
	int64_t wip_at;
	bool alive;				/* a process of one of its agents runs here */
	bool gone;				/* it has agents, and none of them runs, for certain (ledger/session.h) */
	bool foreign;				/* what stands under its id names another epic: only the entry in sprints[] is its own */
	bool interrupted;			/* it is under way, and its agents are not (epics_read) */
};

struct epic {
	char *id;
	json_t *record;
	struct epic_sprint *sprints;
	size_t n;
	int64_t started, checkpoint, heard;	/* as above; checkpoint: the newest one; never later than `now` */
	bool alive;
	bool interrupted;			/* or a sprint of it is */
	bool young;				/* it is not, but only because something was heard of it just now */
};

struct epics {
	struct epic *v;
	size_t n, cap;
};

/*
 * All epics that are not completed, by id; or the one that `id` names ("not-found", GT_NOTHING). An epic is interrupted when it has begun,
 * a sprint of it is open, no process of its agents runs on this machine (ledger/session.h), and nothing was heard of it for three beats of
 * `interval` ms, neither by checkpoints nor by the hooks of its agents (ledger/activity.h), here or on other hosts: a live process here
 * outweighs any silence. Where all agents of the sprints under way are known to be gone, nobody waits. While an agent of it runs, those
 * sprints are interrupted all of whose agents are known to be gone.
 */
int epics_read(struct store *s, const char *id, int64_t interval, const struct moment *now, struct epics *out, struct err *e);
void epics_release(struct epics *list);
/*
 * The ids of epics that other programs wrote straight into the Redis server (store_strangers), which epics_read does not see: array, each once, at most
 * 10,000, new reference. NULL with err.
 */
json_t *epics_strangers(struct store *s, struct err *e);

/* By what id the ledger knows an agent of it (ledger/session.h): its sessionId, else its own. Lives as long as the two. */
const char *sprint_session(const struct epic_sprint *x, const char *agent);

/* May it start: is nothing that it waits for missing? */
bool sprint_free(const struct epic_sprint *x);
/* Is there too little of it to go on from (percent, key resume_threshold)? */
bool sprint_early(const struct epic_sprint *x, double threshold);

/*
 * Steps are files and subtasks. What was in hand is lost: files in progress and each agent's next subtask, of a sprint that starts over all
 * of its steps. all 0: nothing to measure.
 */
struct epic_loss {
	size_t open, all;
};
struct epic_loss epic_loss(const struct epic *x, double threshold);

/*
 * How long its open sprints still take, side by side, at the pace that was measured, ms; for those without a pace the mean of the others.
 * -1: nothing to measure.
 */
int64_t epic_remaining(const struct epic *x, double threshold);

#endif
