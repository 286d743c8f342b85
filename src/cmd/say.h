#ifndef CMD_SAY_H
#define CMD_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <jansson.h>

struct cli;
struct buf;
struct err;

/* How things are put to a person: words and progress on stderr, data on stdout. Foreign text is escaped here, nowhere else. */
struct say {
	bool quiet;
	bool json;
	bool color;		/* on stderr */
	bool live;		/* stderr is a terminal: a waiting line may be rewritten in place */
	bool waiting;		/* such a line stands there */
	int verbose;
	int log;		/* descriptor of log_file, -1: none */
};

void say_init(struct say *s, const struct cli *cli);
void say_release(struct say *s);
/* Opens log_file (0600, appended to). What goes there never holds scrollback: only say_log writes it. */
int say_open_log(struct say *s, const char *path, struct err *e);
/* A line with the time in front, into log_file; with -v to stderr too. Foreign parts must be escaped. */
void say_log(struct say *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * The same with a level: a warning goes to stderr always, info with -v, debug with -vv; all but debug, and that with -vv, into log_file.
 */
enum say_level { SAY_WARNING, SAY_INFO, SAY_DEBUG };
void say_level(struct say *s, enum say_level level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A whole line to stderr, unless quiet; on a terminal it is broken at blanks. */
void say_line(struct say *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, never broken: what a person may want to copy. */
void say_exact(struct say *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "✓ …" in green; only for what is proven. */
void say_done(struct say *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "! …" in yellow. Not silenced by quiet. */
void say_warning(struct say *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The line that is rewritten while we wait: "Waiting for … 12s". On no terminal: once when it begins, then every 30 s. */
void say_waiting(struct say *s, const char *what, int64_t elapsed_ms);

/* Columns of the terminal behind a descriptor; 0 when there is none, or one too narrow to be true. */
size_t say_columns(int fd);

/* "2,341" · "2.3k" from 1,000 on, else "891" · "12 lines" / "1 line" */
void say_thousands(struct buf *out, size_t n);
void say_short(struct buf *out, size_t n);
/* Foreign text, at most width columns. */
void say_foreign(struct buf *out, const char *text, size_t width);

/* Prints {"schema_version": 1, …} to stdout; takes the reference. */
void say_json(json_t *v);
/* A new object with schema_version in it. */
json_t *say_object(void);

#endif
