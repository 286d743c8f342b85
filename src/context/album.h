#ifndef CONTEXT_ALBUM_H
#define CONTEXT_ALBUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct scrub;
struct snapshot;

/*
 * The directory of snapshots (key snapshot_dir; 0700, files 0600): MS-SESSION-PANE.json, when it was taken and hashes of whose it is,
 * so that no name of a session becomes a path, and nobody has to open a file to know whether it is wanted.
 * What else stands in there (states of the last pass, the lock) is left alone.
 */
#define ALBUM_KEY 13			/* 12 hex digits and a NUL */
#define ALBUM_NAME 48

struct album_entry {
	int64_t at;			/* ms since 1970 */
	char session[ALBUM_KEY], pane[ALBUM_KEY];
	char name[ALBUM_NAME];		/* the file's */
	bool held;			/* something refers to it: it stays */
	bool gone;			/* to be removed */
};

struct album {
	char *dir;
	struct album_entry *v;		/* the oldest first */
	size_t n, cap;
};

/* A session on a socket (path, as the server calls it), whatever server runs there. */
void album_session_key(char out[ALBUM_KEY], const char *socket, const char *session);
/* A pane of one life of a server. */
void album_pane_key(char out[ALBUM_KEY], const char *socket, pid_t server_pid, int64_t server_start, const char *pane);
void album_name(char out[ALBUM_NAME], int64_t at, const char *session_key, const char *pane_key);

/* Lists the directory; one that is not there is empty. -1: "read". */
int album_read(const char *dir, struct album *out, struct err *e);
void album_release(struct album *a);

/* The newest of a session or of a pane (the other key NULL) that is not newer than `until` (0: any), or NULL. */
const struct album_entry *album_newest(const struct album *a, const char *session_key, const char *pane_key, int64_t until);
/* The entry of that file name, or NULL. */
struct album_entry *album_find(struct album *a, const char *name);

/*
 * Retention: of each session the newest `keep` stay, and of these what is not older than age_ms, but the newest of each session always and
 * what is held. Sets `gone`. Pure.
 */
void album_expire(struct album *a, size_t keep, int64_t age_ms, int64_t now);
/*
 * Removes what is gone, and what writers that were killed left behind: nobody else may be writing. What cannot be removed stays for the next
 * time. How many snapshots went.
 */
size_t album_remove(struct album *a);

/* Writes a whole snapshot (snapshot_whole) under that name: durable after the album_sync that follows the last one. */
int album_write(const char *dir, const char *name, const char *p, size_t n, struct err *e);
/* -1: "write". */
int album_sync(const char *dir, struct err *e);
/* Reads one; errors of io_read_private and snapshot_parse. */
int album_load(const char *dir, const char *name, struct scrub *s, struct snapshot *out, struct err *e);
/* The same without its rows (snapshot_parse_head): who was there, without the cost of scrubbing what it showed. */
int album_head(const char *dir, const char *name, struct scrub *s, struct snapshot *out, struct err *e);
/* Whether the file holds this body (snapshot_body), whenever it was taken. False also when it cannot be read. */
bool album_tells(const char *dir, const char *name, const char *body, size_t n);
/* The rows of one and the pid of its pane, without reading more of it than that. False when it cannot be read. */
bool album_glance(const char *dir, const char *name, size_t *rows, pid_t *pane_pid);

#endif
