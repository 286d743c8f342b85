#ifndef RECORDS_RECORDS_PRIVATE_H
#define RECORDS_RECORDS_PRIVATE_H

#include "records/records.h"

/* ---- event ---- */

#define EVENT_COUNTER "counter:event"
char *event_numbers_json(const struct event_numbers *n);	/* the value of that record, heap */

/* ---- schema ---- */

/*
 * One table per kind of record: its key prefix, its states (the record's tag) and its fields. It
 * encodes, decodes, loads, lists and frees the struct. A new kind is a struct and a table.
 *
 * Members are written in the order of the table. Reading takes them in any order, ignores members
 * that no field names, and refuses a record of a later schema ("newer") and one that is torn, in no
 * known state or indexed under another tag than its value gives ("corrupt").
 */
enum field_kind {
	FIELD_TEXT,		/* char *, heap; NULL is null */
	FIELD_WORD,		/* char[size] */
	FIELD_INT,		/* int64_t or uint64_t */
	FIELD_TIME,		/* int64_t, ms; 0 is null */
	FIELD_FLAG,		/* bool */
	FIELD_OBJECT,		/* members of the same struct; null where `when` answers false */
	FIELD_LIST		/* objects: struct record_list of structs of `size` bytes */
};

#define FIELD_OPTIONAL 1	/* left out when "" or 0 */
#define FIELD_FILLED 2		/* TEXT: absent is "" */
#define FIELD_REQUIRED 4	/* TEXT: without it the record is corrupt, an element of a list is skipped */

struct record_fields {
	const struct record_field *v;
	size_t n;
};

struct record_field {
	const char *name;
	size_t offset;
	enum field_kind kind;
	unsigned flags;
	size_t size;			/* WORD, LIST */
	int64_t otherwise;		/* INT: when absent */
	struct record_fields inner;	/* OBJECT, LIST */
	bool (*when)(const void *x);	/* x is the struct of the table; NULL: always written */
};

/* The offset of a member whose type is checked. */
#define FIELD_AT(s, m, ...) (offsetof(struct s, m) + _Generic(((struct s *)0)->m, __VA_ARGS__))
#define FIELD_SIZE(s, m) sizeof(((struct s *)0)->m)
#define F_TEXT(s, name, m, flags) \
	{ name, FIELD_AT(s, m, char *: 0), FIELD_TEXT, flags, 0, 0, { NULL, 0 }, NULL }
#define F_WORD(s, name, m, flags) \
	{ name, FIELD_AT(s, m[0], char: 0), FIELD_WORD, flags, FIELD_SIZE(s, m), 0, { NULL, 0 }, NULL }
#define F_TEXT_WHEN(s, name, m, when) \
	{ name, FIELD_AT(s, m, char *: 0), FIELD_TEXT, 0, 0, 0, { NULL, 0 }, when }
#define F_INT(s, name, m, flags, otherwise) \
	{ name, FIELD_AT(s, m, int64_t: 0, uint64_t: 0), FIELD_INT, flags, 0, otherwise, { NULL, 0 }, NULL }
#define F_INT_WHEN(s, name, m, when) \
	{ name, FIELD_AT(s, m, int64_t: 0, uint64_t: 0), FIELD_INT, 0, 0, 0, { NULL, 0 }, when }
#define F_TIME(s, name, m) { name, FIELD_AT(s, m, int64_t: 0), FIELD_TIME, 0, 0, 0, { NULL, 0 }, NULL }
#define F_FLAG(s, name, m) { name, FIELD_AT(s, m, bool: 0), FIELD_FLAG, 0, 0, 0, { NULL, 0 }, NULL }
#define F_FLAG_WHEN(s, name, m, when) \
	{ name, FIELD_AT(s, m, bool: 0), FIELD_FLAG, 0, 0, 0, { NULL, 0 }, when }
#define F_OBJECT(name, table, when) { name, 0, FIELD_OBJECT, 0, 0, 0, FIELDS(table), when }
/* `list`, `count` and `room` are members of the struct that lie as in struct record_list. */
#define FIELD_STEP(s, from, to) (offsetof(struct s, to) - offsetof(struct s, from))
#define F_LIST(s, name, list, count, room, table) \
	{ name, offsetof(struct s, list) + 0 * sizeof(struct { \
	    _Static_assert(FIELD_STEP(s, list, count) == FIELD_STEP(record_list, v, n) && \
		FIELD_STEP(s, list, room) == FIELD_STEP(record_list, v, cap), #list); \
	    char c; }), FIELD_LIST, 0, sizeof *((struct s *)0)->list, 0, FIELDS(table), NULL }
#define FIELDS(table) { table, sizeof table / sizeof table[0] }

struct record_type {
	const char *prefix;		/* "runner:" */
	int schema;			/* newest schema_version that is known; 0: the record has none */
	size_t size, version;		/* of the struct; offset of its int64_t version */
	/*
	 * What follows the prefix in the key: offset of a char *, or with id_size of a char[id_size].
	 * A field at the same offset is written, and read from the key. key: makes the key of a kind
	 * without an id.
	 */
	size_t id, id_size;
	char *(*key)(const void *x);
	/* State by which the tag goes: a bool or an enum. Without tags the record has no state. */
	size_t state, state_size;
	const char *const *tags;
	size_t n_tags;
	const char *(*tag)(const void *x);	/* for kinds whose state follows from other members */
	const char *refusal;		/* of one with no such tag: "is no run in a known state" */
	struct record_fields fields;
};
#define RECORD_SELF(s) .size = sizeof(struct s), .version = FIELD_AT(s, version, int64_t: 0)
#define RECORD_ID(s, m) .id = FIELD_AT(s, m, char *: 0)
#define RECORD_STATE(s, m, names) \
	.state = offsetof(struct s, m), .state_size = FIELD_SIZE(s, m), .tags = names, \
	.n_tags = sizeof names / sizeof names[0] + 0 * sizeof(struct { \
	    _Static_assert(FIELD_SIZE(s, m) == sizeof(bool) || FIELD_SIZE(s, m) == sizeof(unsigned), #m); \
	    char c; })

/* As each struct { struct kind *v; size_t n, cap; } lies in memory. */
struct record_list {
	void *v;
	size_t n, cap;
};

char *record_encode(const struct record_type *t, const void *x);	/* JSON, heap */
/* x is overwritten, and empty on -1. */
int record_decode(const struct record_type *t, const struct record *r, void *x, struct err *e);
char *record_key_of(const struct record_type *t, const void *x);	/* heap */
/* 1 found, 0 absent, -1; x is overwritten, and empty unless 1. */
int record_load(struct store *s, const struct record_type *t, const char *id, void *x, struct err *e);
int record_load_key(struct store *s, const struct record_type *t, const char *key, void *x, struct err *e);
/* After a commit: the version that the next one has to expect. 1, 0 absent, -1. */
int record_read_version(struct store *s, const struct record_type *t, void *x, struct err *e);
/* Appends those with this tag (NULL: all), by key. list: as struct record_list, of the kind. */
int record_list_read(
    struct store *s, const struct record_type *t, const char *tag, void *list, struct err *e);
void record_free(const struct record_type *t, void *x);	/* its memory; x is zeroed */
void record_list_free(const struct record_type *t, void *list);

extern const struct record_type lock_type, session_type, tree_type, message_type, activity_type, run_type,
    run_session_type, runner_type, attempt_type, crash_type, armed_type, seen_type;

#endif
