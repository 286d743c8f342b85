#ifndef STORE_STORE_PRIVATE_H
#define STORE_STORE_PRIVATE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/db.h"
#include "base/timestamp.h"
#include "store/store.h"

/* ---- checksums ---- */

/* XXH64 of n bytes. */
uint64_t store_hash(const char *text, size_t n, uint64_t seed);
/* Of a record: XXH64 over its value, tag, key and version, each the seed of the next one's hash. */
uint64_t store_checksum(const char *key, int64_t version, const char *tag, const char *value);
/* A key's kind is what stands before its first colon; 0: it has none, and is of the kind "". */
size_t store_kind_length(const char *key);

/* A number of records, and the sum of their checksums. */
struct store_tally {
	uint64_t n, sum;
};

/*
 * What proves that a scan left nothing out. `whole`: the scan is of a whole kind and tag, whose
 * tally is wanted. `twin`: the backend compares the rows with its second index, unless the tally
 * proves them.
 */
struct scan_proof {
	bool whole, twin;
	struct store_tally rows;	/* what was read */
	/* of the whole: what should be there, when the last rows were read, and when the first were */
	struct store_tally kept, first;
	bool begun;			/* first is set */
};
/* Sets kept, and first when it is the first. */
void store_proof_keep(struct scan_proof *p, const struct store_tally *kept);

/* ---- backend ---- */

/*
 * What a backend offers to store.c; nobody else includes this. A backend's own struct begins with
 * struct store. store.c has checked the changes (sizes, JSON, no key twice) before commit is
 * called.
 */
struct backend {
	void (*close)(struct store *s);
	int64_t (*now)(struct store *s);
	int (*get)(struct store *s, const char *key, struct record *out, struct err *e);
	/* `proof` says what is to be compared, and receives it. */
	int (*scan)(struct store *s, const char *prefix, const char *tag, const char *after, size_t limit,
	    struct records *out, struct scan_proof *proof, struct err *e);
	enum commit (*commit)(struct store *s, const struct change *changes, size_t n, struct err *e);
	int (*lock)(struct store *s, struct err *e);
	void (*unlock)(struct store *s);
	/* As store_check; NULL: reads verify themselves. */
	int (*check)(struct store *s, struct err *e);
	/* As store_size_read and store_shrink; NULL: it has no file of ours. */
	int (*size)(struct store *s, struct store_size *out, struct err *e);
	int (*shrink)(struct store *s, int64_t until, struct err *e);
	/* Fills err "corrupt": the records of prefix and tag are not what the tally has. -1. */
	int (*damaged)(struct store *s, const char *what, struct err *e);
	/* NULL: no other program can write there. */
	int (*foreign_keys)(struct store *s, const char *prefix, const char *suffix,
	    void (*found)(const char *key, void *arg), void *arg, struct err *e);
	/* As store_foreign_get; NULL as above. */
	int (*foreign_get)(struct store *s, const char *key, struct buf *out, struct err *e);
};

struct store {
	const struct backend *calls;
	/* heap; whose the records of store/store_private.h are; NULL: one machine's alone */
	char *host;
	bool locked;			/* by store_lock */
};

/* For store_open, store_open_readonly, store_open_brief. */
enum store_use { STORE_WORK, STORE_LOOK, STORE_BRIEF };

/* path is absolute. NULL with err. */
struct store *sqlite_open(const char *path, enum store_use use, struct err *e);
/* As store_restore. */
int sqlite_restore(const char *path, struct store_restored *out, struct err *e);
/* As store_backup_info. */
int sqlite_backup_info(const char *path, struct store_backup *out, struct err *e);

/* As store_prune_damaged. */
size_t sqlite_prune_damaged(const char *path, size_t keep);

/*
 * url begins as Redis's do; dir is where a relative password_file starts from. look:
 * store_open_readonly. NULL with err.
 */
struct store *redis_open(const char *url, const char *dir, bool look, struct err *e);

/* For backends. Reads everything, and compares it with the tally. -1 with err. */
int store_scan_all(struct store *s, struct err *e);
/* Remembers an error "corrupt" for store_met_damage. */
void store_note_damage(const struct err *e);
/* Another one was faster at this key: fills err, COMMIT_CONFLICT. */
enum commit store_conflict(const char *key, struct err *e);
/*
 * Keys compare byte by byte: the first one behind all those with the prefix, heap; NULL: there is
 * no such end.
 */
char *store_prefix_end(const char *prefix);
/* Appends, taking copies. */
void store_records_add(struct records *r, const char *key, int64_t version, const char *tag,
    const char *value);

/* ---- own ---- */

/*
 * Several hosts share a store. What is about one host's panes and tmux servers (a table of kinds
 * in own.c) each has for itself: on the host west the key attempt:x stands as attempt@west:x.
 * Nothing above store.c sees that, so that no rule about panes can reach another host's.
 */

/* ---- redis_private ---- */

/*
 * What the files of the Redis backend share: redis.c (the six calls), redis_connect.c (the
 * connection), redis_url.c, redis_script.c.
 */

/*
 * The limit of a reply in bytes. Our largest reply is a page of a scan: less than 1 MiB of
 * values, one value of STORE_MAX_VALUE (4 MiB), 100 keys of 2 KiB and their rows, in all less
 * than 6 MiB. A longer reply comes from no Redis server, or holds another program's value at one
 * of our keys.
 */
#define REDIS_MAX_REPLY ((size_t)16 << 20)
#define REDIS_MAX_REPLY_TEXT "16 MiB"
/*
 * The limit of the elements of all its arrays: hiredis allocates an array when it reads the
 * header, before the elements arrive. Our largest replies are a page of a scan (300 elements) and
 * of SCAN with COUNT 1000, which may answer some more.
 */
#define REDIS_MAX_ELEMENTS ((size_t)65536)

#define REDIS_PASSWORD_VARIABLE "GT_RECOVER_REDIS_PASSWORD"

/* What a server keeps on disk, for hints. */
#define REDIS_FILES "append-only files (appendonlydir; appendonly.aof before Redis 7)"

struct redis_address {
	char *path;			/* of a unix socket; NULL: host and port */
	char *host;
	int port;
	int db;
	char *user;			/* NULL: the default one */
	char *password_file;		/* absolute; NULL: the environment */
	bool tls;
	char *ca_file;			/* absolute; NULL: what the system believes */
	char *cert_file;		/* absolute; NULL: none */
	char *key_file;			/* absolute; NULL: in cert_file */
	char *shown;			/* for messages; never a password */
};

/* -1 with err, "state". */
int redis_address_parse(struct redis_address *a, const char *url, const char *dir, struct err *e);
/* The password, heap; "" when there is none; NULL with err. */
void redis_address_release(struct redis_address *a);

struct redis_store {
	struct store base;
	struct redis_address at;
	redisContext *conn;		/* NULL: not connected */
	/* what gt-recover:store holds; NULL: a look at a store that nobody has made */
	char *identity;
	/*
	 * The deadline of a conversation, however many bytes arrive meanwhile. Connecting and
	 * checking the server is one conversation, each command with its reply another. A call
	 * waits as long again for a server that is coming back.
	 */
	int patience_ms;
	int64_t until;		/* end of the current conversation (clock_mono_ms) */
	const char *why;	/* what broke the last conversation; valid until redis_disconnect */
	bool strange;		/* it was an invalid reply: asking again is useless */
	size_t elements;	/* of the reply that is being read, so far */
	/* it was connected once: from now on a server that is gone may come back */
	bool opened;
	bool readonly;
	char run[64];			/* of the server */
	/* it was a replica, and became the primary since it started: how far it had followed; else "" */
	char took_over_at[24];
	char doubt[16];			/* readonly: the reason by which a writer would be refused; else "" */
	char *seen;			/* file: what this host knows of its last commit */
	int64_t ahead;			/* the server's clock before ours since boot, ms */
};

/* Whether this program was built with a hiredis that has TLS; the other two do nothing without. */
bool redis_tls_known(void);
/*
 * TLS on a new connection that still blocks, and whose server must show a valid certificate for
 * its host. 1; 0: conn->errstr says why it broke; -1 with err, "tls".
 */
int redis_tls_start(struct redis_store *s, int wait_ms, struct err *e);
/* As read(2) does it; -1 with ECONNRESET at the end, too. */
ssize_t redis_tls_read(struct redis_store *s, char *to, size_t n);

/* One argument of a command. */
struct redis_word {
	const char *p;
	size_t n;
};

/*
 * Connects unless connected, waits until `until` (clock_mono_ms) when the server was there
 * before, and sees to it that the server is durable and the data ours. What a killed server wrote
 * and never synced is synced by the first to come. -1 with err.
 */
int redis_connect(struct redis_store *s, int64_t until, struct err *e);
/*
 * Sends a command and takes its answer, once; until: as redis_connect. NULL with err; then *lost
 * says that the connection broke on the way, and the command may have been carried out. An error
 * that the server answers is NULL, too, and not lost.
 */
redisReply *redis_send(struct redis_store *s, const struct redis_word *words, size_t n, int64_t until,
    bool *lost, struct err *e);
/* The same for what may be sent again: until it is answered or our patience ends. */
redisReply *redis_ask(struct redis_store *s, const struct redis_word *words, size_t n, struct err *e);
void redis_disconnect(struct redis_store *s);
/* As store_foreign_keys and store_foreign_get. */
int redis_foreign_keys(struct store *base, const char *prefix, const char *suffix,
    void (*found)(const char *key, void *arg), void *arg, struct err *e);
int redis_foreign_get(struct store *base, const char *key, struct buf *out, struct err *e);

/* Is r a text, and that one? */
bool redis_is_text(const redisReply *r, const char *text);
/* The i-th text of an answer of several; NULL: it has no such. */
const redisReply *redis_text_at(const redisReply *r, size_t i);
/* An answer that none of our scripts gives. -1. */
int redis_bad_reply(const struct redis_store *s, struct err *e);

/*
 * A server that took over from another one may lack what that had confirmed (redis_failover.c).
 * Fills s->took_over_at from the server's INFO.
 */
void redis_note_promotion(struct redis_store *s, const redisReply *info);
/* This host's last commit: identity, id and number; "" for what is not known. */
struct redis_seen {
	char identity[48], id[40], seq[24];
	bool here;			/* it was made at this address and database, as far as is known */
};
void redis_read_seen(const struct redis_store *s, struct redis_seen *out);
/* After a commit; seq NULL: it wrote nothing. Errors are none: a file that is not there witnesses nothing. */
void redis_note_commit(const struct redis_store *s, const char *id, const redisReply *seq);
/* Of the answer "failover" of redis_script_open and its reason: "failed-over" or "emptied". -1. */
int redis_refuse_failover(const struct redis_store *s, const char *reason, struct err *e);
/* The value of a line of INFO, cut to out. false: it has no such. */
bool redis_info_field(const redisReply *info, const char *name, char *out, size_t size);

/* Scripts; each says above itself what it takes and answers. */
extern const char redis_script_open[], redis_script_get[], redis_script_scan[], redis_script_commit[],
    redis_script_resolve[], redis_script_convert[], redis_script_accept[];

/* ---- sqlite_private ---- */

/*
 * What the files of the SQLite backend share: sqlite.c (the six calls), and its lock, schema and
 * backup. Nobody else includes this.
 */

#define SQLITE_APP_ID 0x47545243		/* "GTRC" */
#define SQLITE_LOCK_WAIT_MS 10000

enum sqlite_sql {
	SQL_BEGIN, SQL_COMMIT, SQL_LOOK, SQL_BEFORE, SQL_SCAN, SQL_SCAN_TAG, SQL_TWIN, SQL_PUT, SQL_DELETE,
	SQL_NEXT, SQL_DONE, SQL_FORGET, SQL_TALLY, SQL_TALLY_PUT,
	SQL_COUNT
};

/* What the lock file says of a file that is known to be whole (sqlite_seal.c). */
struct sqlite_seal {
	struct timestamp at;		/* when it was checked: boot_id, boot_ms, wall_ms */
	uint64_t dev, ino, size;	/* the file after the last clean commit */
	uint64_t modified, changed;	/* ns since 1970 */
};

/* A row of table tally, its strings heap. */
struct sqlite_tally_line {
	char *kind, *tag;
	struct store_tally t;
	uint64_t mark;
};
/* Table tally, as it was read in this transaction; a hundred lines at most. */
struct sqlite_tally_lines {
	struct sqlite_tally_line *v;
	size_t n, cap;
	int64_t seq;			/* the number of the last commit */
	uint64_t marks;			/* the sum of the lines' marks */
	bool read;			/* in this transaction */
	bool kept;			/* in one before, when the file had the number `of` */
	unsigned of;
};

struct sqlite_store {
	struct store base;
	sqlite3 *db;
	sqlite3_stmt *prepared[SQL_COUNT];	/* NULL until the first use */
	char *path;
	char *lock;
	int lock_fd;			/* -1: the lock file is not ours now */
	bool committing;		/* that is written into it */
	bool held;			/* by store_lock: a commit does not give it back */
	/* until when the busy handler waits for others; 0: it has not begun */
	int64_t patience;
	int64_t seq;			/* of the last commit of ours */
	struct sqlite_seal seal;
	bool sealed;			/* the file was as the seal says when our commit began */
	bool readonly;			/* for reading alone */
	bool plain;			/* of a schema without checksums */
	struct sqlite_tally_lines tallies;
	bool brief;			/* store_open_brief */
	/* the disk failed: what this process has cached proves nothing any more */
	bool broken;
};

/*
 * Makes the tables and views of a new file, brings those of an older schema up to ours in one
 * transaction, and refuses what is not ours ("not-ours"), of a later schema ("newer") or without
 * one ("corrupt"). Fault points: "store-create", "store-migrate".
 */
int sqlite_schema(struct sqlite_store *s, struct err *e);
extern const struct db_layout sqlite_layout;

/* The lock file that writers queue at, heap. */
char *sqlite_lock_path(const char *path);
/*
 * Takes it, unless it is ours already; what a killed writer left visible and not synced is synced
 * first. sqlite_lock: to commit, which it notes in the file. -1 with err ("locked", or of the
 * disk). settled: the change is synced, or was not made.
 */
int sqlite_enter(struct sqlite_store *s, struct err *e);
int sqlite_lock(struct sqlite_store *s, struct err *e);
void sqlite_leave(struct sqlite_store *s, bool settled);
/*
 * SQLite's busy handler; store: a struct sqlite_store. It may take the lock file: whatever reads
 * ends with sqlite_leave.
 */
int sqlite_busy(void *store, int count);
/* The same for who is about to read, unless a living writer sees to it. */
int sqlite_sync_left(struct sqlite_store *s, struct err *e);
/* The note alone, for who took the lock file otherwise. -1 with errno. */
int sqlite_mark(int lock, bool committing);
/* Is the note there? Who holds the lock file knows then that its writer died. */
bool sqlite_is_left(int lock);
#define SQLITE_IDLE '-'			/* the first byte of the lock file when nobody commits */

/*
 * Schema 4 has checksums (docs/decisions/0014-records-that-a-disk-cannot-change.md), schema 5 views
 * that SQLite 3.37 can read, schema 6 views that an open need not parse. Schemas before it are
 * converted.
 */
#define STORE_SCHEMA 6
#define STORE_SCHEMA_TEXT "6"
#define SQLITE_CHECKSUMS 4
/* The kind of two tallies of the store's own: "seq" counts commits, "schema" repeats user_version. */
#define SQLITE_OWN_KIND ":"

/* The SQL functions that the schema and sqlite_verify need: record_sum, wrap_sum, key_kind, tally_mark. */
int sqlite_add_functions(sqlite3 *db, struct err *e);
uint64_t sqlite_tally_mark(const char *kind, const char *tag, const struct store_tally *t);
/* What a commit does to one tally, and to a few of them; by wraps below 0. */
struct sqlite_tally_change {
	char *kind, *tag;
	struct store_tally by;
};
struct sqlite_tally_changes {
	struct sqlite_tally_change *v;
	size_t n, cap;
};
/* A record of that key, tag and checksum: n 1, it is there; -1, it is gone. */
void sqlite_count_change(
    struct sqlite_tally_changes *t, const char *key, const char *tag, int n, uint64_t sum);
/* Writes them all, and the number of the commit. -1 with err. */
int sqlite_apply_tallies(
    struct sqlite_store *s, struct sqlite_tally_changes *t, int64_t seq, struct err *e);
void sqlite_tally_changes_release(struct sqlite_tally_changes *t);
/* The tally of a whole kind ("": of all), or of one tag of it. */
int sqlite_read_tally(
    struct sqlite_store *s, const char *prefix, const char *tag, struct store_tally *out, struct err *e);

/* Reads table tally, unless it was read in this transaction; "corrupt" when a line is missing or changed. */
int sqlite_read_tallies(struct sqlite_store *s, struct err *e);
/* At the end of a transaction of ours that changed something, and of one that did not. */
void sqlite_forget_tallies(struct sqlite_store *s);
void sqlite_keep_tallies(struct sqlite_store *s);
int sqlite_last_commit(struct sqlite_store *s, int64_t *seq, struct err *e);
/* Is it of the kind of that key or prefix ("": of any)? */
bool sqlite_tally_covers(const struct sqlite_tally_line *l, const char *key);

/* A statement, prepared once; whoever steps it resets it, or it keeps the file locked. NULL with err. */
sqlite3_stmt *sqlite_prepare(struct sqlite_store *s, enum sqlite_sql which, struct err *e);
/* Runs a statement that answers no rows. -1 with err. */
int sqlite_run(struct sqlite_store *s, sqlite3_stmt *st, struct err *e);
/* Fills err from a result of SQLite; damage is noted in the lock file. -1. */
int sqlite_error(struct sqlite_store *s, int rc, struct err *e);
void sqlite_bind_word(sqlite3_stmt *st, int i, const char *word);	/* lent */

/* Makes table tally anew from table record. */
extern const char sqlite_retally[];
/* The SQL that brings a file of that schema, at least 1, up to ours; heap. */
char *sqlite_migration(int64_t from);
/* Does the tally say that the file is of our schema? user_version is one bit away from another. */
bool sqlite_says_schema(sqlite3 *db);
/*
 * The whole file: SQLite's integrity_check, each record's checksum, each tally. -1 with err,
 * "corrupt" when one does not hold. Of a schema before 4: integrity_check alone.
 */
int sqlite_verify(sqlite3 *db, struct err *e);
/* Fills err: damaged, and what shows it. -1. */
int sqlite_damaged(struct sqlite_store *s, const char *what, struct err *e);
/* As store_check. */
int sqlite_check_now(struct store *base, struct err *e);

/*
 * Takes into `to`, a copy of a backup of schema 4, what is sound in the damaged file at path and
 * newer. Fills kept, restored, lost and names of *out. An unreadable file has nothing sound. -1:
 * `to` cannot be written.
 */
int sqlite_salvage(const char *path, sqlite3 *to, struct store_restored *out, struct err *e);
/* A checked copy of an older schema, before it is converted: PATH.schema-N. Then a new backup. */
int sqlite_keep_schema(struct sqlite_store *s, int64_t schema, struct err *e);
void sqlite_backup_now(struct sqlite_store *s);

/*
 * At an open, after sqlite_sync_left: runs sqlite_verify unless the seal in the lock file holds, and seals.
 * Waits for nobody, and may leave the lock file ours (sqlite_leave). -1 with err, "corrupt" above all;
 * never for the sake of the seal.
 */
int sqlite_check(struct sqlite_store *s, struct err *e);
/* Before a commit: notes whether the file is as the seal says. */
void sqlite_seal_take(struct sqlite_store *s);
/* After it: writes the first byte of the lock file and, if so, seals the changed file. -1 with errno. */
int sqlite_seal_renew(struct sqlite_store *s, char first);
void sqlite_seal_break(int lock);
/* Damage was met: the next open checks. */
void sqlite_distrust(struct sqlite_store *s);

/*
 * After the commit with that number, under the writers' lock: makes the backup when it is due.
 * One that cannot be made leaves the old one, and is tried again when it is due the next time.
 * Fault point: "store-backup".
 */
void sqlite_backup(struct sqlite_store *s, int64_t seq);
bool sqlite_has_backup(const char *path);
/* A file whose header lacks our id, with our tables in it, and beside it a backup that has the id. */
bool sqlite_is_own_file(const char *path);

/* As store_size_read and store_shrink. Fault point: "store-shrink". */
int sqlite_read_size(struct store *base, struct store_size *out, struct err *e);
int sqlite_shrink(struct store *base, int64_t until, struct err *e);

bool sqlite_is_damage(const struct err *e);
/* Says of a damaged file what to do; other errors stay as they are. -1. */
int sqlite_damage_hint(const char *path, struct err *e);
/* A fault point speaks in errno; the store answers as SQLite would have done. -1. */
int sqlite_injected(struct sqlite_store *s, struct err *e);

#endif
