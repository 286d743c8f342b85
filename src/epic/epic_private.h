#ifndef EPIC_EPIC_PRIVATE_H
#define EPIC_EPIC_PRIVATE_H

#include <stdbool.h>

#include "base/timestamp.h"
#include "epic/epic.h"
#include "process/kernel.h"

/* ---- checkpoint_schema_private ---- */

/* What a member of a shape holds. PAST: a time that is not later than the checkpoint's arrival. */
enum member_type {
	MEMBER_TEXT, MEMBER_ID, MEMBER_TIME, MEMBER_PAST, MEMBER_STATUS, MEMBER_PERCENT, MEMBER_COUNT,
	MEMBER_SHARE, MEMBER_FLAG, MEMBER_TEXTS, MEMBER_OBJECT, MEMBER_OBJECTS,
	MEMBER_LINKS
};

struct checkpoint_member {
	const char *name;			/* NULL: behind the last one */
	enum member_type type;
	const struct checkpoint_member *inner;		/* of OBJECT and OBJECTS */
	bool required;
};

/* ---- shelf ---- */

/*
 * All records of epics, by kind: id, without the word in front -> {id, value, source}. Of one that
 * two places tell of, the newer telling wins, member by member; one of a live source always.
 */
struct epic_shelf {
	json_t *of[EPIC_RECORD_KINDS];
	json_t *of_sprint;			/* id of a sprint -> array of its agents */
	json_t *of_epic;			/* id of an epic -> array of ids of sprints */
};

void epic_shelf_init(struct epic_shelf *shelf);
void epic_shelf_release(struct epic_shelf *shelf);
/* o is released. source NULL: our own record. */
void epic_shelf_put(struct epic_shelf *shelf, enum epic_record_kind at, const char *id, json_t *o,
    const struct epic_source *source);
/* Borrowed; NULL: there is none. */
json_t *epic_shelf_get(const struct epic_shelf *shelf, enum epic_record_kind at, const char *id);
int epic_shelf_read(struct store *s, struct epic_shelf *shelf, struct err *e);
/* Once, when all is there: fills of_sprint and of_epic. */
void epic_shelf_index(struct epic_shelf *shelf);
/* Without the word that may stand in front of it. */
const char *epic_bare_id(const char *id, const char *front);

/* ---- epic_private ---- */

/* The files of a sprint: those of its own record and those of sprint:<id>:files (NULL: none). */
void epic_files_read(struct epic_sprint *x, const json_t *files);
/* As epic_list_read, of what is on the shelf. s may be NULL. */
int epic_list_make(struct store *s, struct epic_shelf *shelf, const char *id, int64_t interval,
    const struct timestamp *now, struct epic_list *out, struct err *e);

/* ---- survey ---- */

/* What the sources of Claude Code know of each other (claude.c). */
struct epic_claude {
	json_t *dirs;				/* configuration directories; NULL: nobody looked yet */
	/*
	 * conversation, or id of a team's member -> its process {pid, start, ns, boot}; "ended": a
	 * person ended it
	 */
	json_t *processes;
	struct procs procs;			/* all, where a member was looked for */
	bool listed;
};

/* What the readers of a survey share. */
struct epic_survey {
	struct app *w;
	struct store *store;			/* may be NULL */
	const char *id;				/* the one that is asked for; NULL: all */
	struct timestamp now;
	struct epic_shelf shelf;
	struct scrub *scrub;			/* made on first use */
	const struct epic_source *source;	/* the one that is read */
	struct epic_claude claude;
	struct epic_list *out;
};

#define EPIC_OLD_MS ((int64_t)7 * 24 * 60 * 60 * 1000)	/* untouched for so long: shown by its id alone */

const struct epic_claude *epic_claude(struct epic_survey *survey);
void epic_claude_release(struct epic_claude *c);
json_t *epic_claude_process(const struct timestamp *now, int64_t pid, int64_t start, int64_t ns, bool ended);
json_t *epic_claude_find_member(struct epic_survey *survey, const char *id);
int64_t epic_claude_mtime(const char *path);	/* ms since 1970; 0: it is not there */
/* Calls row for each name in a directory but hidden ones. False: one row said so, or err is set. */
bool epic_claude_each(const char *dir, bool (*row)(const char *dir, const char *name, void *arg), void *arg,
    struct err *e);
json_t *epic_claude_json(const char *path, struct err *e);	/* new reference; NULL with err */
/* Appends the files that the end of a transcript shows as written, as files of a sprint. */
void epic_claude_files(const char *path, bool completed, json_t *list);
/* id -> true of the tasks that the end of a transcript shows as taken and not given back. */
void epic_claude_tasks(const char *path, json_t *tasks);

/*
 * Puts what a source tells, which is released: adapted to the shape and without its secrets. Notes it
 * in out->found with its status. False: it is no object.
 */
bool epic_survey_put(struct epic_survey *survey, enum epic_record_kind at, const char *id, json_t *o);

/*
 * Another program's object, which is released, as a record of ours: adapted and scrubbed. NULL: it has
 * too many values within values.
 */
json_t *epic_adapt(struct scrub *scrub, enum epic_record_kind at, const char *id, json_t *o, int64_t now);
/* The id in its other spelling, heap; NULL: there is none. */
char *epic_record_twin(enum epic_record_kind at, const char *id);

/* All records that are known of an epic, its agents' last. A value other than 0 ends it. */
typedef int epic_record_row(enum epic_record_kind at, const char *id, json_t *o, void *arg, struct err *e);
int epic_each_record(const struct epic *x, epic_record_row *row, void *arg, struct err *e);

int epic_foreign_read(struct epic_survey *survey, struct err *e);
int epic_workflow_read(struct epic_survey *survey, struct err *e);
int epic_team_read(struct epic_survey *survey, struct err *e);
int epic_tasks_read(struct epic_survey *survey, struct err *e);

/* ---- checkpoint_schema ---- */

/*
 * Makes what another program wrote fit the shape, in place: times in both forms, other words for a
 * state, paths in the place of files. What does not fit is left out; nothing is filled in.
 */
void checkpoint_adapt(enum checkpoint_kind shape, const char *id, json_t *o, int64_t now);

#endif
