#ifndef LEDGER_SIGHTING_H
#define LEDGER_SIGHTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct event;
struct store;

/*
 * What `patrol` knows of a crash, so that a pass every few minutes tells of it once: the record
 * sighting:<server>:<pane>@<pid that died>:<socket>, tagged by its state.
 *
 *	seen -> owed -> mailed | given-up		owed -> back
 *
 * Owed: its recovery failed, and somebody is to be told. A crash is the process that died in the pane (pane_pid; of a zombie its shell). A
 * recovery that started an agent which died at once has therefore made a new crash; one that waits for an answer still is the old one.
 */
enum sighting_state { SIGHTING_SEEN, SIGHTING_OWED, SIGHTING_MAILED, SIGHTING_GIVEN_UP, SIGHTING_BACK };

struct sighting {
	int64_t version;		/* of the record; 0: there is none */
	enum sighting_state state;

	/* heap; the first three are required, the others may be NULL */
	char *session, *socket, *pane_id;
	char *class, *reason;
	char *error;			/* name of the error, or of the guard: "died", "quarantined" */
	char *message, *hint;		/* sentences, as they are shown to people */
	char *recovery_id;

	int64_t server_pid, server_start, pane_pid;
	int64_t crashed_at;		/* ms since 1970; 0: unknown */
	int64_t failed_at;
	int64_t tries;			/* to send the mail */
	bool unsure;			/* of the last try nobody knows whether the mail went out */
};

struct sightings {
	struct sighting *v;
	size_t n, cap;
};

/*
 * Notes a crash, with the event crash.seen when it is new (*fresh). Fills version and, when it was known, all that the record holds. Another
 * run that notes it in the same moment: known.
 */
int sighting_see(struct store *s, struct sighting *x, bool *fresh, struct err *e);
/* Commits it as it is, with the event when ev is not NULL. Name "conflict", GT_AGAIN. */
int sighting_put(struct store *s, struct sighting *x, const struct event *ev, struct err *e);
/* All of them in one commit, and one event. */
int sightings_put(struct store *s, struct sightings *list, const struct event *ev, struct err *e);
/* Those for which a mail is owed, appended. */
int sightings_owed(struct store *s, struct sightings *out, struct err *e);

void sighting_release(struct sighting *x);
void sightings_release(struct sightings *list);

#endif
