#ifndef TESTS_UNIT_REDIS_HOUSE_H
#define TESTS_UNIT_REDIS_HOUSE_H

/*
 * A redis-server of the test's own: on a unix socket in a private directory, as durable as the
 * store wants it, and gone with the test.
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <hiredis/hiredis.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "store/store.h"
#include "temp.h"

#define REDIS_DEADLINE_MS 30000

struct redis_house {
	char *dir;
	char *socket;
	char *url;
	pid_t pid;		/* 0: not running */
	int port;		/* 0: only the socket */
	rlim_t most;		/* bytes of a file of its; 0: any */
};

static inline bool
redis_installed(void)
{
	return system("command -v redis-server >/dev/null 2>&1") == 0;
}

/* The test's own connection, to look behind the store; NULL: nobody is there. */
static inline redisContext *
redis_raw(const struct redis_house *h)
{
	redisContext *c = redisConnectUnix(h->socket);

	if (c != NULL && c->err == 0)
		return c;
	if (c != NULL)
		redisFree(c);
	return NULL;
}

/* A command of words without blanks, on a connection of its own; its answer as text, heap. */
static inline char *
redis_raw_do(const struct redis_house *h, const char *command)
{
	redisContext *c = redis_raw(h);
	redisReply *r = c != NULL ? redisCommand(c, command) : NULL;
	char *text = r == NULL               ? xstrdup("(none)")
	    : r->type == REDIS_REPLY_INTEGER ? xasprintf("%lld", r->integer)
	    : r->str != NULL                 ? xstrdup(r->str)
					     : xstrdup("");

	if (r != NULL)
		freeReplyObject(r);
	if (c != NULL)
		redisFree(c);
	return text;
}

static inline void
redis_house_start(struct redis_house *h)
{
	int64_t until = clock_mono_ms() + REDIS_DEADLINE_MS;
	pid_t parent = getpid();
	bool ready = false;
	char port[16];

	snprintf(port, sizeof port, "%d", h->port);
	h->pid = fork();
	if (h->pid == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
		    dup2(null, 2) < 0)
			_exit(126);
		if (h->most > 0) {
			signal(SIGXFSZ, SIG_IGN);
			setrlimit(RLIMIT_FSIZE, &(struct rlimit){ h->most, h->most });
		}
		execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--unixsocket", h->socket,
		    "--unixsocketperm", "700", "--dir", h->dir, "--appendonly", "yes", "--appendfsync",
		    "always", "--save", "", "--daemonize", "no", "--auto-aof-rewrite-percentage", "0",
		    "--repl-diskless-sync-delay", "0",
		    "--logfile", "redis.log", (char *)NULL);
		_exit(127);
	}
	while (!ready && clock_mono_ms() < until) {
		char *pong = redis_raw_do(h, "PING");

		ready = strcmp(pong, "PONG") == 0 || strncmp(pong, "NOAUTH", 6) == 0;
		free(pong);
		if (!ready)
			clock_sleep_ms(5);
	}
	if (!ready)
		abort();
}

/*
 * With it goes a child of it that rewrites its file, and would leave another one in a directory
 * that is gone.
 */
static inline void
redis_house_kill(struct redis_house *h)
{
	int64_t until = clock_mono_ms() + REDIS_DEADLINE_MS;

	if (h->pid > 0) {
		kill(-h->pid, SIGKILL);
		waitpid(h->pid, NULL, 0);
		while (kill(-h->pid, 0) == 0 && clock_mono_ms() < until)
			clock_sleep_ms(1);
	}
	h->pid = 0;
}

/* Its append-only files are gone: a directory, before Redis 7 one file. */
static inline void
redis_house_empty(const struct redis_house *h)
{
	static const char *const names[] = { "appendonlydir", "appendonly.aof" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		temp_remove(io_join(h->dir, names[i]));
}

static inline void
redis_house_init(struct redis_house *h)
{
	h->dir = temp_dir();
	h->socket = io_join(h->dir, "redis.sock");
	h->url = xasprintf("redis+unix://%s", h->socket);
	redis_house_start(h);
}

/* A port of loopback on which nobody listens. */
static inline int
redis_free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) != 0)
		abort();
	close(fd);
	return ntohs(at.sin_port);
}

static inline void
redis_house_release(struct redis_house *h)
{
	redis_house_kill(h);
	free(h->socket);
	free(h->url);
	temp_remove(h->dir);
}

/*
 * A proxy between the store and the server, on loopback. It forwards requests. Replies it
 * forwards (RELAY), or replaces: by a byte now and then, half a reply, a reply without end, no
 * Redis reply, the header of a huge array, those of two large ones. DRIP ends after 5 s, so that a store that waits for it fails the test and does not
 * hang it.
 */
enum manner { RELAY, DRIP, STALL, FLOOD, NONSENSE, ARRAY, ARRAYS };

struct peer {
	volatile enum manner *manner;	/* shared with its process */
	pid_t pid;
	int port;
};

static inline bool
send_all(int to, const char *data, size_t n)
{
	for (size_t k = 0; k < n; ) {
		ssize_t w = send(to, data + k, n - k, MSG_NOSIGNAL);

		if (w <= 0)
			return false;
		k += (size_t)w;
	}
	return true;
}

static inline bool
misbehave(int to, enum manner manner)
{
	static char many[1 << 16];

	memset(many, 'x', sizeof many);
	if (manner == STALL)
		return send_all(to, "*2\r\n$4\r\ndo", 11);
	if (manner == NONSENSE)
		return send_all(to, "HTTP/1.1 400 Bad Request\r\n", 26);
	if (manner == ARRAY)
		return send_all(to, "*100000000\r\n", 12);
	if (manner == ARRAYS)
		return send_all(to, "*40000\r\n*40000\r\n", 16);
	if (manner == DRIP && send_all(to, "$100\r\n", 6))
		for (int i = 0; i < 100 && send_all(to, many, 1); i++)
			clock_sleep_ms(50);
	if (manner == FLOOD && send_all(to, "$1000000000\r\n", 13))
		for (int i = 0; i < 2000 && send_all(to, many, sizeof many); i++)
			;
	return false;
}

static inline void
serve(int store, int server, const volatile enum manner *manner)
{
	struct pollfd p[] = { { .fd = store, .events = POLLIN }, { .fd = server, .events = POLLIN } };
	static char data[1 << 16];
	bool whole = true;

	while (whole && poll(p, 2, -1) > 0)
		for (int i = 0; i < 2 && whole; i++) {
			ssize_t n = p[i].revents != 0 ? read(p[i].fd, data, sizeof data) : -1;

			if (p[i].revents == 0)
				continue;
			if (i == 0 || *manner == RELAY)
				whole = n > 0 && send_all(p[1 - i].fd, data, (size_t)n);
			else
				whole = n > 0 && misbehave(store, *manner);
		}
	close(store);
	close(server);
}

static inline void
peer_start(struct peer *p, const struct redis_house *h)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un real = { .sun_family = AF_UNIX };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof at;

	snprintf(real.sun_path, sizeof real.sun_path, "%s", h->socket);
	p->manner = mmap(NULL, sizeof *p->manner, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->manner == MAP_FAILED || fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
	    listen(fd, 8) != 0 || getsockname(fd, (struct sockaddr *)&at, &n) != 0)
		abort();
	p->port = ntohs(at.sin_port);
	p->pid = fork();
	if (p->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			int store = accept(fd, NULL, NULL), server = socket(AF_UNIX, SOCK_STREAM, 0);

			if (store < 0 || connect(server, (struct sockaddr *)&real, sizeof real) != 0)
				_exit(1);
			serve(store, server, p->manner);
		}
	}
	close(fd);
}

static inline void
peer_end(struct peer *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	munmap((void *)p->manner, sizeof *p->manner);
}

#endif
