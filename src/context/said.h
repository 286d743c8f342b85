#ifndef CONTEXT_SAID_H
#define CONTEXT_SAID_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What a person said, as a mark by which a transcript can be told from another: the messages that stand on a screen are looked for in the
 * file. A screen wraps text, takes marks of markdown away, expands tabs and cuts long messages in their middle, so only letters and digits
 * are compared, and only the beginning of a message. Commands ("/clear", "!ls") stand in the file in another shape and count for nothing.
 */
#define SAID_MAX 8

struct said {
	char *key[SAID_MAX];	/* newest first; heap */
	bool open[SAID_MAX];	/* the message may go on behind the key */
	size_t n;
};

/* Takes a message, the newest first. False: it is no mark (a command, nothing but signs), or there are enough. */
bool said_add(struct said *s, const char *text);
void said_release(struct said *s);

/* The bit of key i: of two files, the one with the greater mask holds a newer message that the other lacks. */
#define SAID_BIT(i) (1U << (SAID_MAX - 1 - (i)))

struct said_seen {
	unsigned mask;		/* which keys a person's message in the file has */
	bool whole;		/* all of the file was read */
};

/* Reads at most the first MiB and the last 4 MiB of a transcript. -1: it cannot be read. */
int said_look(const struct said *s, const char *path, struct said_seen *out);

#endif
