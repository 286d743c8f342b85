#ifndef TRANSCRIPT_TRANSCRIPT_PRIVATE_H
#define TRANSCRIPT_TRANSCRIPT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/json.h"
#include "conversation/conversation.h"
#include "transcript/transcript.h"

struct err;
struct grammar;
struct message_tree;
struct scrub;
struct sqlite3;
struct transcript_format;
struct transcript_reading;
struct transcript_tail;

/* ---- long_line ---- */

/*
 * A line of JSON too long to be held: of each string only the beginning and the end are kept, a
 * quarter of a mebibyte each, cut at blanks, with the number of bytes left out between them. Fed
 * in pieces of any size.
 */
struct long_line {
	/* valid JSON when the line was; empty when even so more than 32 MiB were left */
	struct buf out;
	struct buf tail;	/* a ring */
	size_t seen;		/* bytes of the string at hand */
	size_t head;		/* where in out it begins */
	int escape;		/* digits of \\uXXXX still to come; -1: behind a backslash */
	char in_string, full;
};

void transcript_long_init(struct long_line *l);
void transcript_long_release(struct long_line *l);		/* overwrites */
void transcript_long_add(struct long_line *l, const char *p, size_t n);

/* ---- scrub_batch ---- */

/*
 * The scrubber's cost is per call, and a transcript's strings are many and short. They are scrubbed
 * together, with a row between them over which no rule reaches (a PEM block ends there), and
 * handed out by their line counts, which the scrubber keeps.
 */
enum batch_field {
	BATCH_INPUT, BATCH_CONTENT, BATCH_TOOL, BATCH_BANNER, BATCH_SESSION, BATCH_QUESTION,
	BATCH_DRAFT,
	BATCH_TASKS
};

struct scrub_batch {
	struct scrub *s;
	struct conversation *c;		/* its exchanges may be added to, not removed, before the flush */
	struct buf raw;
	struct scrub_batch_slot *v;
	size_t n, cap;
	size_t lines, bytes;		/* without a scrubber: of the texts that were put */
};

void transcript_scrub_init(struct scrub_batch *b, struct scrub *s, struct conversation *c);
void transcript_scrub_release(struct scrub_batch *b);		/* overwrites what is not scrubbed yet */
/*
 * Sets a field of an exchange, or of the conversation, once flushed; a later text replaces an
 * earlier. May flush.
 */
void transcript_scrub_put(struct scrub_batch *b, size_t exchange, enum batch_field field, const char *p,
    size_t n);
void transcript_scrub_flush(struct scrub_batch *b);

/* ---- builder ---- */

/*
 * Turns what the formats tell of records into exchanges: calls meet their results, a call without
 * one is at work or was cut off, every string passes the scrubber. With `search` it keeps nothing
 * and only sees whether the person's words hold that, and what came behind them.
 */
struct builder_mark {		/* of an exchange */
	uint64_t answer;	/* of the model, 0: none */
	uint64_t id;		/* of a call, 0: none is known */
	uint32_t record;	/* that told it */
	bool call, answered;
	bool asks;		/* the call asks the person */
};

struct transcript_builder {
	struct scrub_batch wash;
	struct conversation *out;
	struct builder_mark *marks;	/* beside the exchanges, by index */
	size_t cap_marks;
	void *calls;			/* tree of the calls by the hash of their ids */
	uint64_t answer;		/* of the model, any number, 0: none; calls of one run side by side */
	uint32_t record;		/* the one at hand, an index that the caller sets */
	size_t stopped;			/* exchanges when the person stopped the agent the last time */
	size_t settled;			/* exchanges before it are of an earlier process of the agent */
	struct grammar *grammar;	/* of the agent's screen, where a format needs it; NULL at first */
	/* hash of the id of the record from which on nothing holds; 0: none */
	uint64_t end;
	/* there are older records than those told: a result without its call is one of theirs */
	bool older;
	bool has_banner, has_session;
	uint64_t command;		/* hash of the id of the last record that names a slash command */
	/* without a scrubber, which keeps no words: the first ones of the user, raw */
	struct buf first;
	int64_t first_at;

	const char *search;		/* set instead of builder_init; NULL: keep exchanges */
	bool asked;			/* the person's words hold it */
	bool answered, refused;		/* the model said or called something; an error came instead */
	bool answered_behind, refused_behind;	/* … in the same record, behind what was asked */
};

/* s NULL: the exchanges are told without their words, to be counted */
void builder_init(struct transcript_builder *t, struct scrub *s, struct conversation *out);
void builder_release(struct transcript_builder *t);
void builder_reset(struct transcript_builder *t);	/* nothing was told but session and version */

/* Another answer of the model begins, with calls of its own. */
void builder_answer(struct transcript_builder *t);
/*
 * Words of the person, the model, or the program. text is empty then; nothing but blanks is not
 * told. at: ms of the wall clock, 0: not known.
 */
void builder_message(
    struct transcript_builder *t, enum role role, enum status status, int64_t at, struct buf *text);
/* The model calls a tool: a string holds the input as JSON, or as it is. */
void builder_tool_call(struct transcript_builder *t, struct json_slice id, struct json_slice name,
    struct json_slice input, int64_t at);
/* The same without the input; the exchange, SIZE_MAX where none are kept. */
size_t builder_call(struct transcript_builder *t, struct json_slice id, struct json_slice name, int64_t at);
/* What a call was made with, in place of what was told before; text is empty then. */
void builder_input(struct transcript_builder *t, size_t exchange, struct buf *text);
/*
 * What became of a call; text is empty then. Of one that was not told a call without name and
 * input, unless it may be an older one: SIZE_MAX then, otherwise the exchange.
 */
size_t builder_tool_result(
    struct transcript_builder *t, struct json_slice id, enum status status, int64_t at, struct buf *text);
/* Was the call of another builder's mark told to this one, too? */
bool builder_told_call(const struct transcript_builder *t, const struct builder_mark *m);
bool builder_has_call(const struct transcript_builder *t, struct json_slice id);
/* The person stopped the model: its last words or calls, or the prompt that has no answer yet. */
void builder_interrupt(struct transcript_builder *t, int64_t at);
/* What an older part of the conversation was shortened to. Nothing without words. */
void builder_summary(struct transcript_builder *t, struct json_slice text, int64_t at);
/* The person took back the last of what was told, with the last `prompts` prompts. */
void builder_rollback(struct transcript_builder *t, size_t prompts);
/* The task list, one task a line. text is empty then. */
void builder_tasks(struct transcript_builder *t, struct buf *text);
/* The model's turn ended; it has not, as soon as the person or the model says or calls something more. */
void builder_turn_over(struct transcript_builder *t);
/* A usage or auth limit holds the agent up, until the person's next words. */
void builder_limit(struct transcript_builder *t, bool limit);
/*
 * The agent's version (BATCH_BANNER), its id of the conversation (FIELD_SESSION): the first that
 * is told counts.
 */
void builder_header(struct transcript_builder *t, enum batch_field field, struct json_slice text);
/* Everything was told: calls without a result are at work when nothing followed, cut off otherwise. */
void builder_finish(struct transcript_builder *t);

/* ---- entry ---- */

/*
 * A record, as far as the order of the conversation needs it; its words stay in the file. Names
 * (uuids, message ids, ids of calls) are kept as 64-bit hashes: two that fall together cost an
 * exchange its place, nothing else.
 */
enum entry_kind {
	ENTRY_USER, ENTRY_ASSISTANT, ENTRY_SYSTEM, ENTRY_ATTACHMENT,
	ENTRY_QUEUE,		/* a prompt was queued, taken from the queue, or removed */
	ENTRY_LINK,		/* says nothing, but others hang on it (progress) */
	ENTRY_NOTE,		/* the program's own book-keeping */
	ENTRY_UNKNOWN		/* a type that no rule knows */
};

struct transcript_entry {
	off_t at;		/* the line */
	size_t n;
	uint64_t id, parent, logical;	/* 0: none; logical: the parent across a compaction */
	uint64_t message;	/* what the blocks of one answer have in common */
	int64_t time;		/* ms of the wall clock, 0 when not told */
	uint32_t words;		/* bytes that it may add to exchanges, as the file writes them */
	uint8_t kind;
	bool side;		/* a sub-agent's */
	bool meta;		/* not the person's, not the model's: put in by the program */
	bool prompt;		/* words of the user's side, no results */
};

/* A call's id in a record: where it was made, or where its result stands. */
struct call_link {
	uint64_t call;
	uint32_t record;	/* index of the record */
	bool result;
};

/* Does it tell something, or may others hang on it? */
bool entry_is_kept(const struct transcript_entry *r);

uint64_t entry_hash_id(struct json_slice name);		/* the hash; 0 for what is no string or empty */
int64_t entry_time(struct json_slice time);		/* "2026-11-21T20:16:03.704Z"; 0 for anything else */

/* ---- json_document ---- */

/*
 * A session file that is one JSON object, of which one member is the list of what was said
 * (auggie's, cline's, what opencode exports): where the objects of that list lie, found in one
 * pass over the bytes, whatever they are, with sixteen bytes for each of them. The other members
 * come together as an object of their own.
 */
struct json_span {
	off_t at;
	size_t n;
};

struct json_document {
	struct json_span *v;		/* oldest first */
	size_t n, cap;
	struct buf head; /* "{…}": the other members, those of up to half a mebibyte, two mebibytes in all */
	bool torn;		/* the object does not close */
};

/* ---- record_iter ---- */

/*
 * The records of a session file, newest first, one at a time and wherever they lie: a line each,
 * the objects of a list in one JSON object, or rows of an SQLite database. Flat memory: sixteen
 * bytes a record for the last two, and the record at hand.
 */
struct transcript_iter {
	struct transcript_tail *tail;		/* borrowed; NULL: rows */
	struct sqlite3 *db;		/* borrowed; NULL: bytes */
	char *session;			/* of the rows */
	struct json_document list;		/* spans: of rows their numbers */
	size_t left;			/* spans not given yet */
	int by_span;
	struct buf head;		/* JSON that tells of the session itself; may be empty or torn */
	struct buf page;		/* the row at hand */
	int exact;			/* what was read last is byte for byte what stands there */
};

/* The record before the one given last: 1, 0 when there is no more, -1 on a read error. */
int transcript_iter_previous(struct transcript_iter *p, off_t *at, size_t *n, struct err *e);
/* Its bytes, or its JSON, valid until the next call: 1, 0 when it is torn or none, -1 on a read error. */
int transcript_iter_bytes(
    struct transcript_iter *p, off_t at, size_t n, const char **text, size_t *len, struct err *e);
int transcript_iter_read(struct transcript_iter *p, off_t at, size_t n, struct json_slice *out,
    struct err *e);

/* ---- reverse_lines ---- */

/*
 * The lines of a file from its end, in flat memory: a window of a mebibyte and at most one line.
 * The file may grow meanwhile, its end is fixed at init; one that shrinks has lines that read
 * empty. Lines longer than 8 MiB (an image, a huge output) come with the middle of their long
 * JSON strings left out, and say so there; they stay valid JSON.
 */
struct transcript_tail {
	int fd;			/* -1: all bytes are in the window */
	struct buf room;	/* the window's, when there is a file */
	const char *window;
	off_t from;		/* offset of the window */
	size_t n;
	off_t end;		/* the next line ends here; -1: no more */
	off_t size;		/* of all of it */
	struct buf line;	/* one that the window does not hold */
};

/* fd: a regular file, borrowed. */
int transcript_tail_init_fd(struct transcript_tail *t, int fd, struct err *e);
void transcript_tail_init_bytes(struct transcript_tail *t, const char *p, size_t n);	/* borrowed */
/* overwrites what was read */
void transcript_tail_release(struct transcript_tail *t);

/* The line before the one given last, without its newline: 1, 0 when there is no more, -1 on a read error. */
int transcript_tail_previous(struct transcript_tail *t, off_t *at, size_t *n, struct err *e);
/* Its text; valid until the next call. */
int transcript_tail_line(
    struct transcript_tail *t, off_t at, size_t n, const char **p, size_t *len, struct err *e);

/* ---- file ---- */

/*
 * An open session file of whatever kind its reader's format is; its records are `pages`. Paths:
 * - opencode's is that of its database, "#" and the session's id behind it; without an id the
 *   session that was changed last. -wal and -shm are read with it, as base/db.h says; nothing of
 *   theirs is touched.
 * - cline's is <id>.messages.json; as long as there is none, and for <id>.json, the other one is taken.
 */
struct transcript_file {
	int fd;			/* -1: none that is ours */
	struct transcript_tail tail;
	struct sqlite3 *db;
	struct transcript_iter pages;
};

/*
 * Names: "not-found", "transcript", and for a database those of db_open_foreign. A file that did
 * not open needs no close.
 */
int transcript_file_open(
    struct transcript_file *b, const struct transcript_format *how, const char *path, struct err *e);
/* a regular file, borrowed */
int transcript_file_open_fd(
    struct transcript_file *b, const struct transcript_format *how, int fd, struct err *e);
/* borrowed; no database */
int transcript_file_open_bytes(
    struct transcript_file *b, const struct transcript_format *how, const char *p, size_t n, struct err *e);
void transcript_file_close(struct transcript_file *b);

/* ---- format ---- */

enum last_turn { TURN_UNKNOWN, TURN_RUNS, TURN_OVER };

/*
 * One format of session files (transcript/format/NAME.c): which records there are, in which order
 * they hold, what they tell. Everything else is the same for all of them and stands in
 * transcript/transcript.c.
 */
struct transcript_format {
	const char *name;
	/* the member of one JSON object that holds the records; NULL: a record a line */
	const char *list;
	const char *older_list; /* the same for files of older versions that begin with a line "{"; NULL:
				   there are none */
	/* each record tells session and version, the newest counts; false: pages.head does */
	bool heads;
	bool database;		/* or it is an SQLite database of opencode's shape: "file#session" */
	/*
	 * The other of the two files in which a session may lie, heap; *fuller: it tells more. NULL
	 * for a path of another form. NULL: there is one.
	 */
	char *(*other_file)(const char *path, bool *fuller);
	bool counts;		/* classify tells how many words a record adds; false: all of it may be */

	/* Its kind, time, id and parent, where it has them; ENTRY_UNKNOWN for a type that no rule knows. */
	void (*classify)(struct json_slice record, struct transcript_entry *out);
	/* Adds the calls and results in the record that c was given last. NULL: the order needs none. */
	void (*link)(struct message_tree *c, struct json_slice record);
	/* The order in which they hold, as transcript_tree_order makes it. NULL: as they stand. */
	void (*order)(struct message_tree *c, bool all);
	/*
	 * A list in the record whose objects are records of their own, behind all that was before
	 * them. NULL: never.
	 */
	struct json_slice (*expand)(struct json_slice record);
	void (*emit)(
	    struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record);
	/* Session and version, and what else is not said in records. */
	void (*header)(struct transcript_builder *t, struct json_slice record);
	/* What the records tell only together, once all are exchanges. NULL: nothing. */
	int (*finish)(struct transcript_reading *r, struct err *e);
	/* emit for a search, where less than emit's rules is asked of a record. NULL: emit */
	void (*search)(
	    struct transcript_builder *t, const struct transcript_entry *r, struct json_slice record);
	/* Was the agent ended or killed, by the end of its file? NULL: last_turn tells, or nothing. */
	enum exit_kind (*exit_kind)(struct transcript_tail *t);
	/* Was it at work when it wrote last? NULL: it does not tell. */
	enum last_turn (*last_turn)(struct transcript_tail *t);
	/* What it had left at work, raw, from the end of its file at that path. NULL: it does not tell. */
	void (*background)(struct transcript_tail *t, const char *path, struct scrub *s,
	    struct background_list *out);
	bool pid_files;			/* the agent keeps a note of each process (agent/agent.h) */
	bool checked;			/* transcript_check_integrity reads it */
};

enum last_turn transcript_last_turn(const struct transcript_format *how, const char *path);

const struct transcript_format *transcript_format_find(const char *name);	/* NULL: there is none */

extern const struct transcript_format format_claude, format_codex, format_gemini, format_qwen, format_copilot,
    format_pi, format_auggie, format_cline, format_opencode;

/* ---- message_tree ---- */

/*
 * Records into the order of the conversation. Measured on 1.0.128 to 2.1.330:
 * - the lines of one batch are not in order; each record names its parent, and the last leaf's
 *   line of parents is the conversation;
 * - calls of one answer follow each other as parent and child, each result hangs on its own call:
 *   branches that belong to it;
 * - a prompt sent again after "rewind", or after Esc before any answer, is a sibling of the old
 *   one: the old branch was given up;
 * - a compaction begins a new root that names its logical parent;
 * - a call that never got its result because the agent died is left aside by the next start: a
 *   dead branch of one answer. It is kept. A prompt without any answer stays in the line.
 */
struct message_tree {
	/* newest line first; the caller adds, transcript_tree_order only reads */
	struct transcript_entry *v;
	size_t n, cap;
	struct call_link *calls;
	size_t n_calls, cap_calls;
	bool side;		/* the order is that of the sub-agents' records, not the session's */
	uint32_t *order;	/* after transcript_tree_order: indexes into v, oldest first */
	size_t n_order;
	/* no parent that the order asks for is missing; otherwise older lines may hold it */
	bool whole;
};

#define TREE_NONE UINT32_MAX

void transcript_tree_release(struct message_tree *c);
/* The index, for its calls. */
uint32_t transcript_tree_add(struct message_tree *c, const struct transcript_entry *r);
void transcript_tree_add_call(struct message_tree *c, uint64_t call, uint32_t record, bool result);

/*
 * Fills order: by parents, as the newest record's line goes. Linear but for sorting, whatever the
 * records say: rings of parents and parents that are nowhere are cut, and the line goes on with
 * the record before, when `all` says that no older lines are left.
 */
void transcript_tree_order(struct message_tree *c, bool all);

/* ---- reading ---- */

/* A file while it is read. */
struct transcript_reading {
	const struct transcript_format *how;
	const char *path;		/* NULL: not known */
	struct transcript_iter *pages;
	struct message_tree chain;
	struct transcript_builder t;
	size_t lines, unknown;
	uint64_t words;		/* bytes that the records read so far may add */
	bool all;		/* read to the first */
	size_t first;		/* in the chain's order: where the exchanges begin */
};

/* transcript_read of the sub-agents' records in a file. */
int transcript_read_side(const char *path, const struct transcript_format *how, struct scrub *s,
    size_t max_bytes, struct conversation *out);

#endif
