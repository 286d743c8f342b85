#ifndef TRANSCRIPT_LOCATE_LOCATE_PRIVATE_H
#define TRANSCRIPT_LOCATE_LOCATE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- fingerprint ---- */

/*
 * What a person said, as a mark by which a transcript can be told from another: the messages that
 * stand on a screen are looked for in the file. A screen wraps text, takes marks of markdown
 * away, expands tabs and cuts long messages in their middle, so only letters and digits are
 * compared, and only the beginning of a message. Commands ("/clear", "!ls") stand in the file in
 * another shape and count for nothing.
 */
#define FINGERPRINT_MAX 8

struct fingerprint {
	char *key[FINGERPRINT_MAX];	/* newest first; heap */
	bool open[FINGERPRINT_MAX];	/* the message may go on behind the key */
	size_t n;
};

/*
 * Takes a message, the newest first. False: it is no mark (a command, nothing but signs), or
 * there are enough.
 */
bool fingerprint_add(struct fingerprint *s, const char *text);
void fingerprint_release(struct fingerprint *s);

/*
 * The bit of key i: of two files, the one with the greater mask holds a newer message that the
 * other lacks.
 */
#define FINGERPRINT_BIT(i) (1U << (FINGERPRINT_MAX - 1 - (i)))

struct fingerprint_found {
	unsigned mask;		/* which keys a person's message in the file has */
	bool whole;		/* all of the file was read */
};

/* Reads at most the first MiB and the last 4 MiB of a transcript. -1: it cannot be read. */
int fingerprint_match(const struct fingerprint *s, const char *path, struct fingerprint_found *out);

/* ---- session_files ---- */

/*
 * The sessions that lie below the folder of an agent, each with what it says of itself; see
 * transcript/locate/locate.h.
 */
struct stored_session {
	char *id;
	char *path;		/* as transcript_read takes it */
	char *cwd;		/* NULL: it does not say */
	char *tty;		/* NULL likewise */
	pid_t pid;		/* 0 likewise */
	int64_t written;	/* ms since 1970 */
};

struct stored_sessions {
	struct stored_session *v;
	size_t n, cap;
};

#endif
