#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tmux/tmux.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/spawn.h"
#include "base/sys.h"
#include "config/trust.h"
#include "base/utf8.h"

#define MAX_ARGS 32
#define PROBE "$_"

extern char **environ;

void
tmux_init(struct tmux *t, const char *socket)
{
	char *path;

	t->socket = xstrdup(socket);
	t->timeout_ms = TMUX_TIMEOUT_MS;
	t->program = NULL;
	path = tmux_socket_path(t);
	t->as_owner = trust_owner_command(path);
	free(path);
}

void
tmux_release(struct tmux *t)
{
	free(t->socket);
	free(t->as_owner);
	free(t->program);
	t->socket = t->as_owner = t->program = NULL;
}

char *
tmux_socket_path(const struct tmux *t)
{
	const char *dir = getenv("TMUX_TMPDIR");

	if (strchr(t->socket, '/') != NULL)
		return xstrdup(t->socket);
	return xasprintf(
	    "%s/tmux-%u/%s", dir != NULL && *dir != '\0' ? dir : "/tmp", (unsigned)getuid(), t->socket);
}

int
tmux_number(const char *version)
{
	int major = 0, minor = 0, at = 0;

	while (*version != '\0' && !isdigit((unsigned char)*version))
		version++;
	if (sscanf(version, "%3d.%3d%n", &major, &minor, &at) < 2)
		return 0;
	return major * 10000 + minor * 100 +
	    (version[at] >= 'a' && version[at] <= 'z' ? version[at] - 'a' + 1 : 0);
}

void
tmux_batch_init(struct tmux_batch *b)
{
	memset(b, 0, sizeof *b);
	buf_init(&b->text);
	buf_init(&b->out);
	buf_init(&b->errout);
	io_random_hex(b->nonce, 8);
}

void
tmux_batch_release(struct tmux_batch *b)
{
	buf_wipe(&b->text);
	buf_wipe(&b->out);
	buf_release(&b->errout);
	free(b->raw);
	free(b->from);
	free(b->to);
	b->raw = NULL;
	b->from = b->to = NULL;
}

static size_t
tmux_batch_addv(struct tmux_batch *b, const char *const *argv)
{
	for (size_t i = 0; argv[i] != NULL; i++) {
		if (i > 0)
			buf_chr(&b->text, ' ');
		quote_arg(&b->text, argv[i]);
	}
	buf_fmt(&b->text, "\ndisplay-message -p '" PROBE "%s %zu'\n", b->nonce, b->n);
	if (b->each != NULL)
		buf_str(&b->text, "run-shell -d 0\n");
	b->raw = vec_room(b->raw, b->n, &b->cap, sizeof *b->raw);
	b->raw[b->n] = strcmp(argv[0], "capture-pane") == 0;
	return b->n++;
}

static size_t
add_va(struct tmux_batch *b, const char *name, va_list ap)
{
	const char *argv[MAX_ARGS + 1];
	size_t n = 0;

	for (const char *a = name; a != NULL; a = va_arg(ap, const char *)) {
		if (n == MAX_ARGS)
			die("a tmux command has more than %d arguments", MAX_ARGS);
		argv[n++] = a;
	}
	argv[n] = NULL;
	return tmux_batch_addv(b, argv);
}

size_t
tmux_batch_add(struct tmux_batch *b, const char *name, ...)
{
	va_list ap;
	size_t i;

	va_start(ap, name);
	i = add_va(b, name, ap);
	va_end(ap);
	return i;
}

/*
 * Who may rename in the socket's directory can put another socket there before tmux opens it. In a sticky
 * one, such as /tmp, our socket stays ours.
 */
static int
check_directory(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash == NULL ? xstrdup(".") : xstrndup(path, (size_t)(slash - path + 1));
	int ret = trust_path(dir, TRUST_STICKY, e);

	free(dir);
	if (ret == 0)
		return 0;
	if (e != NULL)
		e->code = GT_FAIL;
	err_add(e, "the tmux socket %s is not used", path);
	return err_hint(e, "chmod 700 its directory, or use a socket in a directory of your own");
}

/* With the sockets that are beside it. */
static int
no_server(const char *path, const char *shown, struct err *e)
{
	char *dir = xstrndup(path, (size_t)(strrchr(path, '/') != NULL ? strrchr(path, '/') - path : 0));
	DIR *d = opendir(*dir != '\0' ? dir : ".");
	struct buf names = BUF_INIT;

	for (struct dirent *f; d != NULL && (f = readdir(d)) != NULL && names.len < 200;)
		if (f->d_type == DT_SOCK && strcmp(f->d_name, strrchr(path, '/') + 1) != 0) {
			buf_str(&names, names.len > 0 ? ", " : "");
			utf8_escape(&names, f->d_name, strlen(f->d_name), 60);
		}
	if (d != NULL)
		closedir(d);
	free(dir);
	err_set(e, GT_FAIL, "no-server", "no tmux server runs on socket %s", shown);
	if (names.len > 0)
		err_hint(e, "name the right socket with -L (in that directory: %s)", names.data);
	else
		err_hint(e, "name the right socket with -L, or start the sessions first");
	buf_release(&names);
	return -1;
}

/*
 * A socket of another user may be fed by that user: what it prints would be believed, and what we
 * send would be read.
 */
static int
check_owner(const struct tmux *t, struct err *e)
{
	char *path = tmux_socket_path(t);
	struct stat st;
	int ret = 0;

	if (lstat(path, &st) != 0) {
		if (errno == EACCES) {
			err_sys(e, GT_FAIL, "denied", "the tmux socket %s cannot be reached", path);
			ret = err_hint(e, "it belongs to another user; run gt-recover as that user");
		} else {
			ret = no_server(path, path, e);
		}
	} else if (st.st_uid != geteuid() && t->as_owner != NULL) {
		/* whatever that user puts there, only that user's own agents are shown by it */
		ret = S_ISSOCK(st.st_mode) ? 0 : err_set(e, GT_FAIL, "no-server", "%s is not a socket", path);
	} else if (st.st_uid != geteuid()) {
		err_set(e, GT_FAIL, "not-ours", "the tmux socket %s belongs to user %u, not to you", path,
		    (unsigned)st.st_uid);
		ret = err_hint(e, "run gt-recover as that user");
	} else if (!S_ISSOCK(st.st_mode)) {
		err_set(e, GT_FAIL, "no-server", "%s is not a socket", path);
		ret = err_hint(e, "name a tmux socket with -L");
	} else {
		ret = check_directory(path, e);
	}
	free(path);
	return ret;
}

static int
refuse_to_change(const struct tmux *t, struct err *e)
{
	err_set(e, GT_FAIL, "other-user",
	    "the tmux server on socket %s belongs to another user: root does not change it", t->socket);
	return err_hint(e, "%s", t->as_owner);
}

/* tmux's words when its server went away, or hung up on what it does not understand. */
static bool
says_lost(const char *said)
{
	return strstr(said, "server exited") != NULL || strstr(said, "lost server") != NULL ||
	    strstr(said, "protocol version mismatch") != NULL;
}

/* tmux's own words when it could not even begin (3.3a). */
static int
cannot_begin(const struct tmux *t, const char *said, struct err *e)
{
	struct buf words = BUF_INIT;
	char *path;

	utf8_escape(&words, said, strcspn(said, "\n"), 200);
	if (strstr(said, "no server running") != NULL || strstr(said, "No such file") != NULL || strstr(said,
	    "Connection refused") != NULL) {
		path = tmux_socket_path(t);
		no_server(path, t->socket, e);
		free(path);
	} else if (strstr(said, "Permission denied") != NULL) {
		err_set(e, GT_FAIL, "denied", "the tmux socket %s may not be opened", t->socket);
		err_hint(e, "it belongs to another user; run gt-recover as that user");
	} else if (says_lost(said)) {
		err_set(e, GT_FAIL, "server-lost", "the tmux server on socket %s died during the call",
		    t->socket);
		err_hint(e, "run gt-recover again; the collected context is kept");
	} else {
		err_set(e, GT_FAIL, "tmux", "tmux on socket %s refused: %s", t->socket,
		    words.len > 0 ? words.data : "(no reason given)");
	}
	buf_release(&words);
	return -1;
}

/*
 * The output of a command ends where the line of its marker begins. A server that has put a
 * backslash before the marker has put one before each such $ of the output, too.
 */
static void
end_output(struct tmux_batch *b, size_t mark)
{
	size_t from = b->from[b->done], line = mark - strlen(PROBE);

	if (line > from && b->out.data[line - 1] == '\\') {
		line--;
		if (!b->raw[b->done])
			line = from + quote_undo_dollars(b->out.data + from, line - from);
	}
	b->to[b->done] = line;
}

/* Cuts what there is of the output at the markers. */
static void
split(void *arg)
{
	struct tmux_batch *b = arg;
	char mark[40];

	while (b->done < b->n) {
		int len = snprintf(mark, sizeof mark, "%s %zu\n", b->nonce, b->done);
		char *hit = memmem(b->out.data + b->looked, b->out.len - b->looked, mark, (size_t)len);

		if (hit == NULL) {
			size_t begun = b->out.len > (size_t)len ? b->out.len - (size_t)len : 0;

			b->looked = begun > b->looked ? begun : b->looked;
			return;
		}
		b->looked = (size_t)(hit - b->out.data) + (size_t)len;
		end_output(b, (size_t)(hit - b->out.data));
		if (++b->done < b->n)
			b->from[b->done] = b->looked;
		if (b->each != NULL)
			b->each(b->arg, b->done - 1);
	}
}

/*
 * Our own tmux surroundings would give commands a default target on another server. path:
 * "PATH=…", or NULL for ours.
 */
static const char **
clean_environment(const char *path)
{
	size_t n = 0, k = 0;
	const char **env;

	while (environ[n] != NULL)
		n++;
	env = xcalloc(n + 2, sizeof *env);
	for (size_t i = 0; i < n; i++)
		if (!str_starts(environ[i], "TMUX=") && !str_starts(environ[i], "TMUX_PANE=") &&
		    (path == NULL || !str_starts(environ[i], "PATH=")))
			env[k++] = environ[i];
	if (path != NULL)
		env[k++] = path;
	return env;
}

static int
no_tmux(struct err *e)
{
	err_set(e, GT_FAIL, "no-tmux", "tmux is not installed or not in PATH");
	return err_hint(e, "install the package tmux");
}

static int
program_version(const char *program, struct buf *out, struct err *e)
{
	const char *argv[] = { program, "-V", NULL };
	struct spawn s = { .argv = argv, .out = out, .max_out = 4096, .timeout_ms = TMUX_TIMEOUT_MS };
	struct err own = ERR_INIT;

	if (e == NULL)
		e = &own;
	if (spawn_run(&s, e) != 0)
		return strcmp(e->name, "not-installed") == 0 ? no_tmux(e) : -1;
	if (s.status != 0)
		return err_set(e, GT_FAIL, "tmux", "tmux -V ended with status %d", s.status);
	buf_cut(out, strcspn(out->data, "\n"));
	return 0;
}

int
tmux_version(struct buf *out, struct err *e)
{
	return program_version("tmux", out, e);
}

/* The program of the process that listens on the socket, heap; NULL: there is none that we may run. */
static char *
server_program(const struct tmux *t, pid_t *pid)
{
	char *path = tmux_socket_path(t);
	uid_t uid;

	*pid = io_listener(path, &uid);
	free(path);
	/* nothing that another user chose is run */
	return *pid > 0 && uid == geteuid() && t->as_owner == NULL ? sys_program_of(*pid) : NULL;
}

static int
refuse_version(const struct tmux *t, pid_t pid, struct err *e)
{
	char target[256] = "", *link = pid > 0 ? sys_program_of(pid) : NULL;

	if (link != NULL && readlink(link, target, sizeof target - 1) > 0)
		target[strcspn(target, "\n")] = '\0';
	free(link);
	err_set(e, GT_FAIL, "server-version",
	    "the tmux server on socket %s is alive, but it is another version than the tmux in PATH and does "
	    "not understand it", t->socket);
	if (t->as_owner != NULL)
		return err_hint(e, "%s", t->as_owner);
	return err_hint(e, "put the directory of the server's own tmux first in PATH%s%s",
	    *target != '\0' ? ": " : "", target);
}

/* "3.3a" of "tmux 3.3a", where the first word is what the program was called as; NULL: another form. */
static const char *
version_word(const struct buf *b)
{
	const char *blank = strchr(b->data, ' ');

	return blank != NULL && blank[1] != '\0' && strchr(blank + 1, ' ') == NULL ? blank + 1 : NULL;
}

/*
 * The client was hung up on. 1: by a living server of another version, whose program the next call
 * runs. 0: by none. -1: that program cannot be run here, *e says so.
 */
static int
find_program(struct tmux *t, const char *said, struct err *e)
{
	struct buf own = BUF_INIT, theirs = BUF_INIT;
	char *program;
	pid_t pid;
	int ret = 0;

	if (t->program != NULL || !says_lost(said))
		return 0;
	program = server_program(t, &pid);
	if (pid == 0)
		return 0;
	if (program == NULL || program_version(program, &theirs, NULL) != 0 ||
	    version_word(&theirs) == NULL || program_version("tmux", &own, NULL) != 0)
		ret = refuse_version(t, pid, e);
	else if (version_word(&own) == NULL || strcmp(version_word(&own), version_word(&theirs)) != 0)
		ret = 1;
	if (ret == 1)
		t->program = program;
	else
		free(program);
	buf_release(&own);
	buf_release(&theirs);
	return ret;
}

/* The server may have ended since, and its pid be another process's. */
static const char *
client_program(struct tmux *t)
{
	char *now;
	pid_t pid;

	if (t->program != NULL) {
		now = server_program(t, &pid);
		if (now == NULL || strcmp(now, t->program) != 0) {
			free(t->program);
			t->program = NULL;
		}
		free(now);
	}
	return t->program != NULL ? t->program : "tmux";
}

/* One run of a client; what it printed is in b. */
static int
run_client(struct tmux *t, struct tmux_batch *b, struct err *e)
{
	const char *argv[] = { client_program(t), "-u", strchr(t->socket, '/') != NULL ? "-S" : "-L",
		t->socket, "start-server", ";", "source-file", "-", NULL };
	const char **env;
	struct spawn s = { .argv = argv,
		.in = b->text.data,
		.in_len = b->text.len,
		.out = &b->out,
		.errout = &b->errout,
		.max_out = (size_t)256 << 20,
		.timeout_ms = t->timeout_ms,
		.on_out = b->each != NULL ? split : NULL,
		.arg = b };
	int ret;

	if (!b->starts)
		memmove(argv + 4, argv + 6, 3 * sizeof *argv);
	env = clean_environment(b->path);
	s.env = env;
	ret = spawn_run(&s, e);
	free(env);
	if (ret != 0 && strcmp(e->name, "timeout") == 0) {
		err_set(e, GT_AGAIN, "server-silent",
		    "the tmux server on socket %s did not answer within %d s", t->socket,
		    t->timeout_ms / 1000);
		return err_hint(e,
		    "it is stopped or overloaded; try again");
	}
	if (ret != 0 && strcmp(e->name, "not-installed") == 0)
		return no_tmux(e);
	if (ret != 0)
		return -1;
	b->status = s.status;
	if (s.status > 128) {
		err_set(e, GT_AGAIN, "server-silent",
		    "tmux was ended by signal %d during a call to socket %s", s.status - 128, t->socket);
		return err_hint(
		    e, "whether the call took effect is not known; try again, gt-recover looks first");
	}
	split(b);
	return 0;
}

int
tmux_batch_run(struct tmux *t, struct tmux_batch *b, struct err *e)
{
	struct err own = ERR_INIT;
	int other;

	if (e == NULL)
		e = &own;
	if (b->mutates && t->as_owner != NULL)
		return refuse_to_change(t, e);
	if (check_owner(t, e) != 0) {
		if (!b->starts || strcmp(e->name, "no-server") != 0)
			return -1;
		err_clear(e);
	}
	if (b->mutates && fault_point("tmux") != 0)
		return err_sys(e, GT_FAIL, "tmux", "tmux cannot be called");
	b->from = xcalloc(b->n, sizeof *b->from);
	b->to = xcalloc(b->n, sizeof *b->to);
	if (run_client(t, b, e) != 0)
		return -1;
	other = b->done == 0 && b->errout.len > 0 ? find_program(t, b->errout.data, e) : 0;
	if (other > 0) {
		/* it has taken nothing of the batch */
		buf_cut(&b->errout, 0);
		other = run_client(t, b, e);
	}
	if (other < 0)
		return -1;
	if (b->done == 0 && b->n > 0)
		return cannot_begin(t, b->errout.len > 0 ? b->errout.data : b->out.data, e);
	if (b->done < b->n)
		return cannot_begin(t, b->errout.len > 0 ? b->errout.data : "server exited", e);
	return 0;
}

const char *
tmux_batch_output(const struct tmux_batch *b, size_t i, size_t *len)
{
	size_t n;

	if (i >= b->done)
		return NULL;
	n = b->to[i] - b->from[i];
	if (n > 0 && b->out.data[b->to[i] - 1] == '\n')
		n--;
	*len = n;
	return b->out.data + b->from[i];
}

bool
tmux_batch_failed(const struct tmux_batch *b, const char **why)
{
	if (why != NULL)
		*why = b->errout.len > 0 ? b->errout.data : "";
	return b->status != 0;
}

int
tmux_batch_error(const struct tmux_batch *b, const char *name, struct err *e)
{
	struct buf words = BUF_INIT;
	const char *why;

	if (!tmux_batch_failed(b, &why))
		return 0;
	utf8_escape(&words, why, strcspn(why, "\n"), 200);
	err_set(e, GT_FAIL, "tmux", "tmux %s: %s", name, words.data);
	buf_release(&words);
	return -1;
}

int
tmux_do(struct tmux *t, bool mutates, struct buf *out, struct err *e, const char *name, ...)
{
	struct tmux_batch b;
	const char *text;
	va_list ap;
	size_t n = 0;
	int ret;

	tmux_batch_init(&b);
	b.mutates = mutates;
	va_start(ap, name);
	add_va(&b, name, ap);
	va_end(ap);
	ret = tmux_batch_run(t, &b, e);
	if (ret == 0)
		ret = tmux_batch_error(&b, name, e);
	if (ret == 0 && out != NULL) {
		text = tmux_batch_output(&b, 0, &n);
		buf_add(out, text, n);
	}
	tmux_batch_release(&b);
	return ret;
}
