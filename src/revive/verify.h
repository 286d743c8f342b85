#ifndef REVIVE_VERIFY_H
#define REVIVE_VERIFY_H

#include <stdbool.h>
#include <sys/types.h>

#include "context/transcript.h"

struct err;
struct pane;
struct profile;
struct world;

/*
 * One look at an agent that was started: is it there, what does it do, has it our prompt? Reads only.
 */
enum state {
	STATE_GONE,		/* pane or server is another, or vanished */
	STATE_DIED,		/* the new agent died */
	STATE_STARTING,		/* no agent's process yet, or nothing to tell by */
	STATE_IDLE,		/* waits for input */
	STATE_DRAFT,		/* text stands in its input box */
	STATE_BUSY,
	STATE_DIALOG		/* something else has the keyboard; it is never answered by us */
};

struct look {
	enum state state;
	pid_t agent;		/* 0: none */
	enum ack ack;
	char *transcript;	/* with our id in it; NULL: none */
	bool by_note;		/* sessions/<pid>.json told a state, too */
	const char *dialog;	/* of STATE_DIALOG: what it is, "a permission dialog"; the profile's, or static */
	bool marked;		/* our prompt was pasted into this pane (SIGHT_MARK) */
	int status, signal;	/* of STATE_DIED; -1 unknown */
	bool id_on_screen;
	bool login;		/* its screen says that it is not logged in */
	bool shell_back;		/* no agent, and an idle shell in its place */
};

/*
 * since_ms (since 1970): transcripts that did not change after it are not read.
 */
int verify_look(struct world *w, const struct pane *was, const struct profile *p, const char *recovery_id, int64_t since_ms,
    struct look *out, struct err *e);
void look_release(struct look *l);

#endif
