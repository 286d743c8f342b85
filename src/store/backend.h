#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include "store/store.h"

/*
 * What a backend offers to store.c; nobody else includes this. A backend's own struct begins with struct store. store.c has checked the
 * changes (sizes, JSON, no key twice) before commit is called.
 */
struct backend {
	void (*close)(struct store *s);
	int64_t (*now)(struct store *s);
	int (*get)(struct store *s, const char *key, struct record *out, struct err *e);
	int (*scan)(struct store *s, const char *prefix, const char *tag, const char *after, size_t limit, struct records *out,
	    struct err *e);
	enum commit (*commit)(struct store *s, const struct change *changes, size_t n, struct err *e);
	int (*hold)(struct store *s, struct err *e);
	void (*let_go)(struct store *s);
	/* NULL: no other program can write there. */
	int (*strangers)(struct store *s, const char *prefix, const char *suffix, void (*found)(const char *key, void *arg), void *arg,
	    struct err *e);
};

struct store {
	const struct backend *calls;
	char *host;			/* heap; whose the records of store/own.h are; NULL: one machine's alone */
};

/* path is absolute; look: store_look. NULL with err. */
struct store *sqlite_open(const char *path, bool look, struct err *e);
/* As store_mend. */
int sqlite_mend(const char *path, struct store_mended *out, struct err *e);
/* As store_backup. */
int sqlite_look_at_backup(const char *path, struct store_backup *out, struct err *e);

/* url begins as Redis's do; dir is where a relative password_file starts from. look: store_look. NULL with err. */
struct store *redis_open(const char *url, const char *dir, bool look, struct err *e);

/* For backends. Another one was faster at this key: fills err, COMMIT_CONFLICT. */
enum commit commit_conflict(const char *key, struct err *e);
/* Keys compare byte by byte: the first one behind all those with the prefix, heap; NULL: there is no such end. */
char *prefix_end(const char *prefix);
/* Appends, taking copies. */
void records_add(struct records *r, const char *key, int64_t version, const char *tag, const char *value);

#endif
