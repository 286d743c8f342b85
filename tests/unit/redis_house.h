#ifndef TESTS_UNIT_REDIS_HOUSE_H
#define TESTS_UNIT_REDIS_HOUSE_H

/* A redis-server of the test's own: on a unix socket in a private directory, as durable as the store wants it, and gone with the test. */

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
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
	char *text = r == NULL ? xstrdup("(none)") : r->type == REDIS_REPLY_INTEGER ? xasprintf("%lld", r->integer) :
	    r->str != NULL ? xstrdup(r->str) : xstrdup("");

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

	h->pid = fork();
	if (h->pid == 0) {
		int null = open("/dev/null", O_RDWR);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
			_exit(126);
		execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", h->socket, "--unixsocketperm", "700",
		    "--dir", h->dir, "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--daemonize", "no",
		    "--auto-aof-rewrite-percentage", "0", "--logfile", "redis.log", (char *)NULL);
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

/* With it goes a child of it that rewrites its file, and would leave another one in a directory that is gone. */
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

static inline void
redis_house_init(struct redis_house *h)
{
	h->dir = temp_dir();
	h->socket = io_join(h->dir, "redis.sock");
	h->url = xasprintf("redis+unix://%s", h->socket);
	redis_house_start(h);
}

static inline void
redis_house_release(struct redis_house *h)
{
	redis_house_kill(h);
	free(h->socket);
	free(h->url);
	temp_remove(h->dir);
}

#endif
