#ifndef STORE_REDIS_PRIVATE_H
#define STORE_REDIS_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "store/backend.h"

/* What the files of the Redis backend share: redis.c (the six calls), redis_link.c (the connection), redis_url.c, redis_script.c. */

struct redis_address {
	char *path;			/* of a unix socket; NULL: host and port */
	char *host;
	int port;
	int db;
	char *user;			/* NULL: the default one */
	char *password_file;		/* absolute; NULL: the environment */
	char *shown;			/* for messages; never a password */
};

/* -1 with err, "state". */
int redis_address_parse(struct redis_address *a, const char *url, const char *dir, struct err *e);
/* The password, heap; "" when there is none; NULL with err. */
char *redis_address_password(const struct redis_address *a, struct err *e);
void redis_address_release(struct redis_address *a);

struct redis_store {
	struct store base;
	struct redis_address at;
	redisContext *link;		/* NULL: not connected */
	char *identity;			/* what gt-recover:store holds; NULL: a look at a store that nobody has made */
	int patience_ms;		/* how long a call waits for an answer, and again for a server that is coming back */
	bool opened;			/* it was connected once: from now on a server that is gone may come back */
	bool look;
	int64_t ahead;			/* the server's clock before ours since boot, ms */
};

/* One argument of a command. */
struct redis_word {
	const char *p;
	size_t n;
};

/*
 * Connects unless connected, waits until `until` (clock_mono_ms) when the server was there before, and sees to it that the server is
 * durable and the data ours. What a killed server wrote and never synced is synced by the first to come. -1 with err.
 */
int redis_link(struct redis_store *s, int64_t until, struct err *e);
/*
 * Sends a command and takes its answer, once; until: as redis_link. NULL with err; then *lost says that the connection broke on the way,
 * and the command may have been carried out. An error that the server answers is NULL, too, and not lost.
 */
redisReply *redis_send(struct redis_store *s, const struct redis_word *words, size_t n, int64_t until, bool *lost,
    struct err *e);
/* The same for what may be sent again: until it is answered or our patience ends. */
redisReply *redis_ask(struct redis_store *s, const struct redis_word *words, size_t n, struct err *e);
void redis_unlink(struct redis_store *s);

/* Is r a text, and that one? */
bool redis_says(const redisReply *r, const char *text);
/* The i-th text of an answer of several; NULL: it has no such. */
const redisReply *redis_text_at(const redisReply *r, size_t i);
/* An answer that none of our scripts gives. -1. */
int redis_strange(const struct redis_store *s, struct err *e);

/* Scripts; each says above itself what it takes and answers. */
extern const char redis_script_open[], redis_script_get[], redis_script_scan[], redis_script_commit[], redis_script_settle[],
    redis_script_strangers[];

#endif
