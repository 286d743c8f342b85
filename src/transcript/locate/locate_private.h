#ifndef TRANSCRIPT_LOCATE_LOCATE_PRIVATE_H
#define TRANSCRIPT_LOCATE_LOCATE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "transcript/locate/locate.h"

struct err;
struct session_row;

/* ---- sessions ---- */

/* A session below the folder of an agent, with what it says of itself. Strings are heap. */
struct stored_session {
	char *id;
	char *path;		/* as transcript_read takes it */
	char *cwd;		/* NULL: it does not say */
	char *tty;		/* NULL likewise */
	pid_t pid;		/* 0 likewise */
	int64_t written;	/* ms since 1970 */
	struct fingerprint_found seen;	/* of the screen's messages, once compared */
};

struct stored_sessions {
	struct stored_session *v;
	size_t n, cap;
};

/* What is listed: the sessions that were written to at or after since (ms since 1970). */
struct session_scan {
	const char *folder;		/* the agent's own */
	const char *cwd;		/* a project's; other agents' sessions say it themselves */
	int64_t since;
	struct stored_sessions *out;
};

/*
 * Where sessions lie below the folder, a pattern for each step down, and by which members they
 * name themselves.
 */
struct session_place {
	const char *place;
	bool line;			/* the members stand in the first line, not in the whole file */
	const char *id, *cwd, *tty, *pid;
	/* what stands beside the file; NULL: nothing */
	void (*more)(const struct session_scan *r, struct stored_session *t);
};

void locate_walk(const struct session_place *at, const struct session_scan *r);
/* copilot's more: the process that has the session, by the lock file beside it. */
void locate_lock_beside(const struct session_scan *r, struct stored_session *t);
/* gemini's more: the directory whose short name projects.json tells. */
void locate_project_cwd(const struct session_scan *r, struct stored_session *t);
int locate_database(const struct session_scan *r, struct err *e);	/* opencode's: one for all */

struct stored_session *locate_add(struct stored_sessions *out);
void locate_session_release(struct stored_session *t);
void locate_sessions_release(struct stored_sessions *t);

/* A process is looked for: its hints, and the sessions that there are, once listed. */
struct locate_search {
	const struct locate_hints *h;
	const struct session_row *row;
	struct stored_sessions all;
	bool listed;
};

/* One source of evidence; *out stays empty when it tells nothing. -1: a folder cannot be read. */
typedef int evidence_fn(
    struct locate_search *l, enum found how, struct transcript_found *out, struct err *e);

/* Was it written to in the life of the process? */
bool locate_in_lifetime(const struct locate_hints *h, const struct stored_session *t);

/* Appends a copy. */
void locate_add_rival(struct transcript_found *out, const struct stored_session *t);

/* ---- project ---- */

/* Claude Code's, whose sessions are not opened to be told apart: names and times, and the screen. */
int locate_projects(const struct session_scan *r, struct err *e);
/* Those of all directories; cwd stays unknown. */
int locate_all_projects(const struct session_scan *r);
/* The first directory that the beginning of a transcript names; heap, NULL: none. */
char *locate_project_place(const char *path);
char *locate_new_project(
    const char *folder, const char *cwd, int64_t since, const char *const *held, size_t n_held);
evidence_fn locate_by_id, locate_in_project;

#endif
