#ifndef REVIVE_MEMORY_H
#define REVIVE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "context/album.h"
#include "context/snapshot.h"

struct candidate;
struct candidates;
struct pane;
struct panes;
struct scrub;
struct starts;
struct tmux;
struct world;

/*
 * What the snapshots know of sessions that are not there any more (missing.h), or are there again without their agents: the classes
 * `missing` and `restored` of detect.h (`respawned` is afresh.h). Reads only: the directory of snapshots, of a few the part before the
 * rows, /proc.
 */
struct memory_server {
	const char *socket;		/* as the world calls it */
	char *path;			/* as tmux does */
	bool runs;
	pid_t pid;			/* 0: it does not run, or has no session that would tell */
	int64_t start;			/* seconds since 1970 */
};

struct memory {
	struct world *w;
	struct album album;
	struct scrub *scrub;		/* made when the first snapshot is opened */
	bool broken;			/* the snapshots cannot be read: nothing is remembered */
	struct memory_server *servers;
	size_t n_servers, cap_servers;
	struct starts *starts;		/* read when the first live agent of the town is looked at */
	char (*keys)[ALBUM_KEY];	/* of the sessions and panes that are there */
	size_t n_keys, cap_keys;
};

void memory_init(struct memory *m, struct world *w);
void memory_release(struct memory *m);

/* A server that answered, and all its panes; or one that does not run (panes NULL). What was not told of is not judged. */
void memory_saw(struct memory *m, const struct tmux *t, const struct panes *panes);

/* What was told: is a session of that name on any of the servers; was every server of the world told of; does none of them run. */
bool memory_has_session(const struct memory *m, const char *session);
bool memory_saw_all(const struct memory *m);
bool memory_servers_gone(const struct memory *m);
/* Made when first asked for; the scrubber is NULL when it cannot be. Owned by m. */
struct scrub *memory_scrub(struct memory *m);
struct starts *memory_starts(struct memory *m);

/*
 * A pane in which an idle shell stands and nothing tells of an agent, or only its screen: true when its session was brought back empty after its server
 * had died (tmux-resurrect and its like): a snapshot of an older life of the server knows an agent in a session of that name, which worked in
 * the same directory and is dead. Profile, command, place, class and reason are set then. `weak` unless the start command or the screen bear it out.
 */
bool memory_restored(struct memory *m, struct candidate *c, bool shows_agent);

/* The head of the newest snapshot of the session that is not newer than `until` (ms since 1970, 0: any). False: none. snapshot_release. */
bool memory_session(struct memory *m, const char *socket_path, const char *session, int64_t until, char name[ALBUM_NAME],
    struct snapshot *head);

/* The head of a snapshot of that name. snapshot_release when true. */
bool memory_head(struct memory *m, const char *name, struct snapshot *head);
/* The server of a socket, NULL: it was not asked. Of the sessions and panes that are there, or of another list: is it one of them? */
const struct memory_server *memory_server_of(const struct memory *m, const char *path);
bool memory_has_key(char (*keys)[ALBUM_KEY], size_t n, const char *key);
/* The pane as it was; nothing of it is there any more. */
void memory_old_pane(const struct snapshot *head, const char *socket, struct pane *p);
/* That crash has been answered: the agent was brought back and ended later, or in another session. */
bool memory_answered(struct memory *m, const struct snapshot *head);
/* The process of a snapshot still lives: the same pid, started at the same time. */
bool memory_lives(const struct snapshot *head);
/* Profile, role, command, directories, record: from the head to the candidate, whose pane is known. False: the agent is none that we know. */
bool memory_identity(struct memory *m, const struct snapshot *head, const char *name, struct candidate *c);

#endif
