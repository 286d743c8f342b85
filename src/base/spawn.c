#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sys.h"

extern char **environ;

enum { IN, OUT, ERR, PIPES };

struct child {
	pid_t pid;
	int fd[PIPES];		/* our ends, -1 when closed */
	size_t fed;
	int64_t until;		/* the deadline */
};

static struct {
	bool set;
	mode_t mask;
	struct rlimit core;
} handed_on;

void
spawn_hands_on(mode_t mask, const struct rlimit *core)
{
	handed_on.mask = mask;
	handed_on.core = *core;
	handed_on.set = true;
}

void
spawn_hand_on_exec(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (handed_on.set) {
		umask(handed_on.mask);
		setrlimit(RLIMIT_CORE, &handed_on.core);
	}
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The absolute entries of a PATH, heap. */
static char *
absolute_path(const char *path)
{
	struct buf b = BUF_INIT;

	for (size_t n; *path != '\0'; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		if (path[0] == '/')
			buf_fmt(&b, "%s%.*s", b.len > 0 ? ":" : "", (int)n, path);
	}
	return buf_detach(&b);
}

char *
spawn_find_program(const char *name, const char *path)
{
	int why = ENOENT;

	for (size_t n; *path != '\0'; path += n + (path[n] == ':')) {
		char *file;
		struct stat st;

		n = strcspn(path, ":");
		if (n == 0)
			continue;
		file = xasprintf("%.*s/%s", (int)n, path, name);
		if (access(file, X_OK) == 0 && stat(file, &st) == 0 && S_ISREG(st.st_mode))
			return file;
		if (errno == EACCES)
			why = EACCES;
		free(file);
	}
	errno = why;
	return NULL;
}

/* Where a child in another directory finds its program, and what environment it gets. */
struct elsewhere {
	char *program;		/* heap */
	char *path;		/* "PATH=…", heap; NULL: none in the environment */
	const char **env;	/* heap */
};

static void
elsewhere_release(struct elsewhere *x)
{
	free(x->program);
	free(x->path);
	free(x->env);
}

/* -1 with errno. */
static int
elsewhere_make(struct elsewhere *x, const struct spawn *s)
{
	const char *const *env = s->env != NULL ? s->env : (const char *const *)environ;
	const char *ours = getenv("PATH");
	char *path = absolute_path(ours != NULL ? ours : "/bin:/usr/bin");
	size_t n = 0;

	memset(x, 0, sizeof *x);
	x->program =
	    strchr(s->argv[0], '/') != NULL ? xstrdup(s->argv[0]) : spawn_find_program(s->argv[0], path);
	free(path);
	if (x->program == NULL)
		return -1;
	while (env[n] != NULL)
		n++;
	x->env = xcalloc(n + 1, sizeof *x->env);
	for (size_t i = 0; i < n; i++) {
		x->env[i] = env[i];
		if (x->path != NULL || !str_starts(env[i], "PATH="))
			continue;
		path = absolute_path(env[i] + strlen("PATH="));
		x->path = xasprintf("PATH=%s", path);
		x->env[i] = x->path;
		free(path);
	}
	return 0;
}

/* As posix_spawnp. */
static int
spawn_program(const struct spawn *s, const posix_spawn_file_actions_t *fa, const posix_spawnattr_t *at,
    pid_t *pid)
{
	char *const *argv = (char *const *)s->argv;
	struct elsewhere x;
	int r;

	if (s->cwd == NULL)
		return posix_spawnp(
		    pid, argv[0], fa, at, argv, s->env != NULL ? (char *const *)s->env : environ);
	r = elsewhere_make(&x, s) != 0
	    ? errno
	    : posix_spawn(pid, x.program, fa, at, argv, (char *const *)x.env);
	elsewhere_release(&x);
	return r;
}

/* The return value is an errno, as posix_spawn's is. */
static int
start_child(const struct spawn *s, int theirs[PIPES], pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t all, none;
	mode_t mask = 0;
	int r;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&at);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&at, 0);
	posix_spawnattr_setsigdefault(&at, &all);
	posix_spawnattr_setsigmask(&at, &none);
	for (int i = IN; i < PIPES; i++) {
		if (theirs[i] >= 0)
			posix_spawn_file_actions_adddup2(&fa, theirs[i], i);
		else
			posix_spawn_file_actions_addopen(
			    &fa, i, "/dev/null", i == IN ? O_RDONLY : O_WRONLY, 0);
	}
	if (s->cwd != NULL)
		posix_spawn_file_actions_addchdir_np(&fa, s->cwd);
	sys_close_rest(&fa);
	if (handed_on.set)
		mask = umask(handed_on.mask);
	r = spawn_program(s, &fa, &at, pid);
	if (handed_on.set)
		umask(mask);
	/* not around the spawning, or we had it for a moment, too */
	if (handed_on.set && r == 0)
		sys_limit_core(*pid, &handed_on.core);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	return r;
}

static int
open_child(const struct spawn *s, struct child *c, struct err *e)
{
	bool want[PIPES] = { s->in != NULL, s->out != NULL, s->errout != NULL };
	int theirs[PIPES] = { -1, -1, -1 };
	int r = 0;

	for (int i = IN; i < PIPES && r == 0; i++) {
		int p[2];

		if (!want[i])
			continue;
		if (pipe2(p, O_CLOEXEC) != 0) {
			r = errno;
			break;
		}
		theirs[i] = p[i == IN ? 0 : 1];
		c->fd[i] = p[i == IN ? 1 : 0];
		fcntl(c->fd[i], F_SETFL, O_NONBLOCK);
	}
	if (r == 0)
		r = start_child(s, theirs, &c->pid);
	for (int i = IN; i < PIPES; i++)
		close_fd(&theirs[i]);
	if (r == 0)
		return 0;
	for (int i = IN; i < PIPES; i++)
		close_fd(&c->fd[i]);
	errno = r;
	if (r == ENOENT && (s->cwd == NULL || access(s->cwd, X_OK) == 0))
		return err_set(e, GT_FAIL, "not-installed", "the program \"%s\" is not in PATH", s->argv[0]);
	return err_sys(e, GT_FAIL, "spawn", "%s cannot be started", s->argv[0]);
}

static int
read_pipe(int *fd, struct buf *b, size_t max, const char *name, struct err *e)
{
	ssize_t r;

	buf_grow(b, 65536);
	r = read(*fd, b->data + b->len, 65536);
	if (r < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (r <= 0) {
		close_fd(fd);
		return 0;
	}
	b->len += (size_t)r;
	b->data[b->len] = '\0';
	if (b->len > max)
		return err_set(e, GT_FAIL, "too-large", "%s printed more than %zu bytes", name, max);
	return 0;
}

static int
take_out(const struct spawn *s, struct child *c, size_t max, struct err *e)
{
	size_t had = s->out->len;
	int64_t began;

	if (read_pipe(&c->fd[OUT], s->out, max, s->argv[0], e) != 0)
		return -1;
	if (s->on_out != NULL && s->out->len > had) {
		began = clock_mono_ms();
		s->on_out(s->arg);
		c->until += clock_mono_ms() - began;
	}
	return 0;
}

static void
feed_stdin(const struct spawn *s, struct child *c)
{
	ssize_t w = 0;

	if (c->fed < s->in_len)
		w = write(c->fd[IN], (const char *)s->in + c->fed, s->in_len - c->fed);
	if (w < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (w > 0)
		c->fed += (size_t)w;
	/* EPIPE is no error of ours: a program may answer before it has read everything */
	if (w < 0 || c->fed == s->in_len)
		close_fd(&c->fd[IN]);
}

static int
poll_pipes(const struct spawn *s, struct child *c, struct err *e)
{
	size_t max = s->max_out != 0 ? s->max_out : (size_t)64 << 20;

	while (c->fd[IN] >= 0 || c->fd[OUT] >= 0 || c->fd[ERR] >= 0) {
		struct pollfd p[PIPES];
		int64_t left = c->until - clock_mono_ms();
		int n;

		for (int i = IN; i < PIPES; i++)
			p[i] = (struct pollfd){ .fd = c->fd[i], .events = i == IN ? POLLOUT : POLLIN };
		if (left <= 0)
			return err_set(e, GT_AGAIN, "timeout", "%s timed out", s->argv[0]);
		n = poll(p, PIPES, (int)left);
		if (n < 0 && errno != EINTR)
			return err_sys(e, GT_FAIL, "spawn", "waiting for %s failed", s->argv[0]);
		if (n <= 0)
			continue;
		if (p[IN].revents != 0)
			feed_stdin(s, c);
		if (p[OUT].revents != 0 && take_out(s, c, max, e) != 0)
			return -1;
		if (p[ERR].revents != 0 && read_pipe(&c->fd[ERR], s->errout, max, s->argv[0], e) != 0)
			return -1;
	}
	return 0;
}

bool
spawn_wait(pid_t pid, int64_t until, int *status)
{
	struct pollfd p = { .fd = sys_child_fd(pid), .events = POLLIN };
	bool ended = false;

	for (;;) {
		pid_t r = waitpid(pid, status, WNOHANG);
		int64_t left = until - clock_mono_ms();

		ended = r == pid || (r < 0 && errno == ECHILD);
		if (ended || left <= 0)
			break;
		if (p.fd >= 0)
			poll(&p, 1, (int)left);
		else
			clock_sleep_ms(1);
	}
	close_fd(&p.fd);
	return ended;
}

/*
 * Ends the child and what it started: the group is its own. It is reaped last, since a reaped
 * leader's number may be another group's.
 */
static void
end_group(pid_t pid, int *status)
{
	int64_t until = clock_mono_ms() + 300;
	siginfo_t ended = { .si_pid = 0 };

	kill(-pid, SIGTERM);
	while (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0 &&
	    clock_mono_ms() < until)
		clock_sleep_ms(2);
	kill(-pid, SIGKILL);
	spawn_wait(pid, clock_mono_ms() + 2000, status);
}

int
spawn_run(struct spawn *s, struct err *e)
{
	struct child c = { .fd = { -1, -1, -1 },
		.until = clock_mono_ms() + (s->timeout_ms != 0 ? s->timeout_ms : 10000) };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int status = 0, ret;

	sigaction(SIGPIPE, &ignore, &before);
	ret = open_child(s, &c, e);
	if (ret == 0) {
		ret = poll_pipes(s, &c, e);
		for (int i = IN; i < PIPES; i++)
			close_fd(&c.fd[i]);
		if (ret == 0 && !spawn_wait(c.pid, c.until, &status))
			ret = err_set(e, GT_AGAIN, "timeout", "%s did not exit in time", s->argv[0]);
		if (ret != 0)
			end_group(c.pid, &status);
	}
	sigaction(SIGPIPE, &before, NULL);
	s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return ret;
}

bool
spawn_in_path(const char *program, const char *path)
{
	char *file;
	bool found;

	if (strchr(program, '/') != NULL)
		return access(program, X_OK) == 0;
	file = path != NULL ? spawn_find_program(program, path) : NULL;
	found = file != NULL;
	free(file);
	return found;
}

pid_t
spawn_background(struct err *e)
{
	pid_t child = fork();
	int null;

	if (child < 0)
		err_sys(e, GT_FAIL, "spawn", "no process can be started in the background");
	if (child != 0)
		return child;
	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= 2; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			_exit(1);
	return 0;
}
