#ifndef TMUX_CLIENT_H
#define TMUX_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;

/*
 * The only file that starts tmux. A server is addressed by the name of its socket (tmux -L) or, with a slash in it, by its path (-S).
 *
 * Commands go in batches to `tmux -u -L S source-file -` on standard input (fact T36): nothing stands in argv for ps to show, one
 * process serves any number of commands, there is no 16 KB limit. Between the commands a marker with a random nonce is printed, so that
 * each output is known to be its command's. -u: without it names are mangled under cron (T9). Every call has a deadline (T23).
 */
struct tmux {
	char *socket;
	int timeout_ms;
};

#define TMUX_TIMEOUT_MS 5000

void tmux_init(struct tmux *t, const char *socket);
void tmux_release(struct tmux *t);
/* The path of the server's socket by tmux's own rule ($TMUX_TMPDIR or /tmp, tmux-UID, name). Heap. */
char *tmux_socket_path(const struct tmux *t);

/* What `tmux -V` says ("tmux 3.3a"), without its newline. Names: "no-tmux", those of spawn_run. */
int tmux_version(struct buf *out, struct err *e);

struct batch {
	struct buf text;		/* the commands, may hold secrets: wiped on release */
	struct buf out, errout;
	char nonce[17];
	size_t n;			/* commands so far */
	size_t *from, *to;		/* output of command i in out, once it is whole */
	size_t done;			/* commands whose output is whole */
	size_t looked;			/* up to here of out there is no further marker */
	/*
	 * NULL: nothing. Called in turn for each command as its output is whole, while tmux works on; batch_out(i) holds until it returns. To be
	 * set before commands are added: a server writes nothing before its list of commands is done or has to wait, so that it is made to wait
	 * for nothing behind each. It attends to its other clients then, too.
	 */
	void (*each)(void *arg, size_t i);
	void *arg;
	/* "PATH=…" of what is started: tmux gives a pane that it makes or respawns its client's, not the session's (3.3a). NULL: ours. */
	const char *path;
	bool mutates;			/* passes the fault point "tmux" */
	bool starts;			/* starts the server when none runs; it must make a session then, or tmux ends again (T39) */
	int status;			/* tmux's exit status: 1 when any command failed */
};

void batch_init(struct batch *b);
void batch_release(struct batch *b);
/* Adds a command of NULL-ended arguments, each quoted exactly. Returns its index. */
size_t batch_add(struct batch *b, const char *name, ...) __attribute__((sentinel));
size_t batch_addv(struct batch *b, const char *const *argv);

/*
 * Runs the batch. 0 also when single commands failed: see batch_failed. -1:
 * "no-server" (nothing runs there), "not-ours" (socket of another user), "denied", "server-lost" (it died under our call),
 * "server-silent" (GT_AGAIN: stopped or overloaded; deadline passed), "no-tmux" (not installed), "tmux" (it refused the batch).
 */
int batch_run(struct tmux *t, struct batch *b, struct err *e);

/* Output of command i, without its last newline. NULL when the command did not run. */
const char *batch_out(const struct batch *b, size_t i, size_t *len);
/* True when at least one command failed; *why is then tmux's first error line (names panes and sessions: escape before printing). */
bool batch_failed(const struct batch *b, const char **why);
/* The same as an error that names the command (name "tmux"); 0 when none failed. */
int batch_error(const struct batch *b, const char *name, struct err *e);

/* One command by itself; as batch_run, and a failing command is an error too (name "tmux"). out may be NULL. */
int tmux_do(struct tmux *t, bool mutates, struct buf *out, struct err *e, const char *name, ...) __attribute__((sentinel));

#endif
