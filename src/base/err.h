#ifndef BASE_ERR_H
#define BASE_ERR_H

/*
 * One error type for the whole program. Functions return 0, or -1 with a struct err filled; they
 * never print and never exit. `code` is the exit status that the error leads to when nothing else
 * decides it (man gt-recover, EXIT STATUS). `name` is a short stable word for --json and for
 * tests ("no-server", "locked"); `msg` is one sentence without a full stop; `hint` says what to
 * do next. None of them may hold scrollback, environment values or start commands.
 */
enum {
	GT_OK = 0,		/* done, on disk */
	GT_FAIL = 1,		/* it was tried and failed */
	GT_USAGE = 2,		/* command line, configuration or template */
	GT_SOME = 3,		/* several were asked for; some done, some not */
	GT_NOTHING = 4,		/* nothing to recover, or declined */
	GT_UNACKED = 5,		/* delivered, not acknowledged in time */
	GT_REFUSED = 6,		/* a guard refused */
	GT_FOUND = 7,		/* scrub --check found something */
	GT_AGAIN = 75		/* try again: locked, busy */
};

struct err {
	int code;		/* 0: no error */
	char name[32];
	char msg[640];
	char hint[320];
};

#define ERR_INIT { .code = 0 }

/* All of these return -1, so that `return err_set(...)` reads well. e may be NULL. */
int err_set(struct err *e, int code, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * As err_set, with ": " and the text of errno appended; for errors of the machine (disk, room,
 * read-only, descriptors) also with the hint, which the caller's own replaces.
 */
int err_sys(struct err *e, int code, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Sets what to do next. Call it after err_set. */
int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "prefix: " in front of the message. */
int err_add(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Clears e for another use; NULL is fine. */
void err_clear(struct err *e);

/* A broken invariant or no memory: prints one line to stderr and exits 1. Never for bad input. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
