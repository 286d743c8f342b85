#ifndef BASE_ERR_H
#define BASE_ERR_H

/*
 * The error of a function that returned -1; functions never print and never exit. `code` is the
 * exit status (man gt-recover, EXIT STATUS), `name` a stable word for --json and tests
 * ("no-server", "locked"), `msg` a sentence without a full stop, `hint` what to do next. None may
 * hold scrollback, environment values or start commands.
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

/* These return -1, for `return err_set(...)`. e may be NULL. */
int err_set(struct err *e, int code, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * As err_set, with ": " and the text of errno; for errors of the machine (disk, room, read-only,
 * descriptors) with its hint.
 */
int err_sys(struct err *e, int code, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Call it after err_set. */
int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "PREFIX: " in front of the message. */
int err_add(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* NULL is fine. */
void err_clear(struct err *e);

/* Ends the program, exit 1, with what to do about it. */
void err_no_memory(void) __attribute__((noreturn));
/*
 * The answer is given, and what follows is made again by the next run (the event log, a backup): want of
 * memory there ends the program with the status of the answer, without a word.
 */
void err_answered(int status);

/* A broken invariant: one line to stderr, exit 1. Never for bad input. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
