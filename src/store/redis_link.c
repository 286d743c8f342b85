/*
 * The connection. A server that answers is asked first whether what it confirms is on its disk, and whether the data are ours; one that is
 * gone may come back.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/redis_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/moment.h"
#include "base/utf8.h"

#define FORMAT "1"
#define DIAL_MS 2000
#define PAUSE_MS 20
#define OLDEST_MAJOR 5			/* before it, a script that asks for the time could not write */

#define WORD(text) { (text), strlen(text) }
#define COUNT(v) (sizeof (v) / sizeof (v)[0])

bool
redis_says(const redisReply *r, const char *text)
{
	return r != NULL && (r->type == REDIS_REPLY_STRING || r->type == REDIS_REPLY_STATUS) && r->len == strlen(text) &&
	    memcmp(r->str, text, r->len) == 0;
}

const redisReply *
redis_text_at(const redisReply *r, size_t i)
{
	if (r == NULL || r->type != REDIS_REPLY_ARRAY || i >= r->elements || r->element[i]->type != REDIS_REPLY_STRING)
		return NULL;
	return r->element[i];
}

int
redis_strange(const struct redis_store *s, struct err *e)
{
	err_set(e, GT_FAIL, "protocol", "the store %s answered what no Redis server answers", s->at.shown);
	return err_hint(e, "Look at what listens there (redis-cli INFO server)");
}

void
redis_unlink(struct redis_store *s)
{
	if (s->link != NULL)
		redisFree(s->link);
	s->link = NULL;
}

static int
down(const struct redis_store *s, const char *why, struct err *e)
{
	err_set(e, GT_AGAIN, "store-down", "the Redis store %s cannot be reached: %s", s->at.shown, why);
	return err_hint(e, "Start the Redis server, or look at state in gt.toml, then run the command again");
}

/* What a server says may hold what it was sent: of a password's check the first word is enough, else a little more. */
static void
say_refusal(const struct redis_store *s, const redisReply *r, struct err *e)
{
	size_t word = strcspn(r->str, " ");
	struct buf shown = BUF_INIT;

	if (str_starts(r->str, "NOAUTH") || str_starts(r->str, "WRONGPASS") || str_starts(r->str, "NOPERM")) {
		err_set(e, GT_FAIL, "auth", "the Redis store %s does not let gt-recover in (%.*s)", s->at.shown,
		    (int)(word < 20 ? word : 20), r->str);
		err_hint(e, "Give the password by password_file in the address, or by GT_RECOVER_REDIS_PASSWORD; the user needs every"
		    " command that reads and writes keys, EVAL, INFO and CONFIG GET");
		return;
	}
	utf8_escape(&shown, r->str, r->len, 160);
	err_set(e, GT_FAIL, "redis", "the Redis store %s refused: %s", s->at.shown, shown.data);
	if (str_starts(r->str, "MISCONF") || str_starts(r->str, "OOM"))
		err_hint(e, "Make room on the disk or in the memory of the Redis server, then run the command again");
	else if (str_starts(r->str, "READONLY"))
		err_hint(e, "Name the primary server in state, no replica");
	buf_release(&shown);
}

/* It has carried nothing out, and will soon: it reads its files, or another script works. */
static bool
not_yet(const redisReply *r)
{
	return r->type == REDIS_REPLY_ERROR && (str_starts(r->str, "LOADING") || str_starts(r->str, "BUSY "));
}

/* NULL: the connection broke. The library writes to a socket that may be closed, which would end us. */
static redisReply *
exchange(struct redis_store *s, const struct redis_word *words, size_t n)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	const char **argv = xcalloc(n, sizeof *argv);
	size_t *len = xcalloc(n, sizeof *len);
	redisReply *r;

	for (size_t i = 0; i < n; i++) {
		argv[i] = words[i].p;
		len[i] = words[i].n;
	}
	sigaction(SIGPIPE, &ignore, &before);
	r = redisCommandArgv(s->link, (int)n, argv, len);
	sigaction(SIGPIPE, &before, NULL);
	free(argv);
	free(len);
	return r;
}

static void
tell_break(struct redis_store *s, struct err *e)
{
	/* a socket with a time limit answers EAGAIN when it is over */
	bool late = s->link->err == REDIS_ERR_IO && errno == EAGAIN;

	down(s, late ? "it does not answer" : s->link->errstr[0] != '\0' ? s->link->errstr : "the connection broke", e);
	redis_unlink(s);
}

/* The same, waiting for a server that is not ready yet. */
static redisReply *
converse(struct redis_store *s, const struct redis_word *words, size_t n, bool *lost, struct err *e)
{
	int64_t until = clock_mono_ms() + s->patience_ms;
	redisReply *r;

	*lost = false;
	while ((r = exchange(s, words, n)) != NULL && not_yet(r) && clock_mono_ms() < until) {
		freeReplyObject(r);
		clock_sleep_ms(PAUSE_MS);
	}
	if (r == NULL) {
		*lost = true;
		tell_break(s, e);
	} else if (r->type == REDIS_REPLY_ERROR) {
		say_refusal(s, r, e);
		freeReplyObject(r);
		r = NULL;
	}
	return r;
}

static int
dial(struct redis_store *s, struct err *e)
{
	struct timeval dialing = { .tv_sec = DIAL_MS / 1000 }, answering = { s->patience_ms / 1000, s->patience_ms % 1000 * 1000 };

	s->link = s->at.path != NULL ? redisConnectUnixWithTimeout(s->at.path, dialing) :
	    redisConnectWithTimeout(s->at.host, s->at.port, dialing);
	if (s->link == NULL)
		return down(s, "no memory", e);
	if (s->link->err != 0 || redisSetTimeout(s->link, answering) != REDIS_OK) {
		down(s, s->link->errstr, e);
		redis_unlink(s);
		return -1;
	}
	fcntl(s->link->fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

static int
log_in(struct redis_store *s, struct err *e)
{
	char *password = redis_address_password(&s->at, e), db[16];
	struct redis_word auth[3] = { WORD("AUTH") }, chosen[2] = { WORD("SELECT") };
	size_t n = 1;
	redisReply *r;
	bool lost;

	if (password == NULL)
		return -1;
	if (password[0] != '\0') {
		if (s->at.user != NULL)
			auth[n++] = (struct redis_word)WORD(s->at.user);
		auth[n++] = (struct redis_word)WORD(password);
		r = exchange(s, auth, n);
		explicit_bzero(password, strlen(password));
		free(password);
		if (r == NULL) {
			tell_break(s, e);
			return -1;
		}
		if (r->type == REDIS_REPLY_ERROR) {
			err_set(e, GT_FAIL, "auth", "the Redis store %s does not take the user or the password", s->at.shown);
			err_hint(e, "Look at password_file in the address, at GT_RECOVER_REDIS_PASSWORD, and at requirepass of the server");
			freeReplyObject(r);
			return -1;
		}
		freeReplyObject(r);
	} else {
		free(password);
	}
	snprintf(db, sizeof db, "%d", s->at.db);
	chosen[1] = (struct redis_word)WORD(db);
	r = converse(s, chosen, 2, &lost, e);
	if (r == NULL)
		return -1;
	freeReplyObject(r);
	return 0;
}

static int
not_durable(const struct redis_store *s, const char *what, struct err *e)
{
	err_set(e, GT_FAIL, "not-durable", "the Redis store %s could lose what it has confirmed: %s", s->at.shown, what);
	return err_hint(e, "Set in its redis.conf: appendonly yes, appendfsync always, no-appendfsync-on-rewrite no, maxmemory-policy"
	    " noeviction; then restart it, or set the same by redis-cli CONFIG SET");
}

/* The value of a line of INFO, "name:value\r\n", cut to out. false: it has no such. */
static bool
info_field(const redisReply *info, const char *name, char *out, size_t size)
{
	size_t n = strlen(name);

	for (const char *at = info->str; (at = strstr(at, name)) != NULL; at += n) {
		if ((at == info->str || at[-1] == '\n') && at[n] == ':') {
			snprintf(out, size, "%.*s", (int)strcspn(at + n + 1, "\r\n"), at + n + 1);
			return true;
		}
	}
	return false;
}

static int
check_server(struct redis_store *s, char *run, size_t size, struct err *e)
{
	const struct redis_word words[] = { WORD("INFO") };
	char version[32], role[32], cluster[8] = "0";
	redisReply *r;
	bool lost, known;

	r = converse(s, words, COUNT(words), &lost, e);
	if (r == NULL)
		return -1;
	known = r->type == REDIS_REPLY_STRING && info_field(r, "run_id", run, size) &&
	    info_field(r, "redis_version", version, sizeof version) && info_field(r, "role", role, sizeof role);
	if (known)
		(void)info_field(r, "cluster_enabled", cluster, sizeof cluster);
	freeReplyObject(r);
	if (!known)
		return redis_strange(s, e);
	if (strtol(version, NULL, 10) < OLDEST_MAJOR) {
		err_set(e, GT_FAIL, "redis", "the Redis server of the store %s is too old", s->at.shown);
		return err_hint(e, "gt-recover needs Redis %d or later, or Valkey", OLDEST_MAJOR);
	}
	if (strcmp(role, "master") != 0)
		return not_durable(s, "it is a replica of another server", e);
	return strcmp(cluster, "0") == 0 ? 0 : not_durable(s, "it is part of a cluster", e);
}

static int
check_setting(struct redis_store *s, const redisReply *all, const char *name, const char *wanted, struct err *e)
{
	char what[160];

	if (all->type != REDIS_REPLY_ARRAY)
		return redis_strange(s, e);
	for (size_t i = 0; i + 1 < all->elements; i += 2) {
		if (!redis_says(all->element[i], name))
			continue;
		if (redis_says(all->element[i + 1], wanted))
			return 0;
		snprintf(what, sizeof what, "its %s is not \"%s\"", name, wanted);
		return not_durable(s, what, e);
	}
	snprintf(what, sizeof what, "it does not tell its %s", name);
	return not_durable(s, what, e);
}

static int
check_settings(struct redis_store *s, struct err *e)
{
	static const struct {
		const char *pattern, *name, *wanted;
	} settings[] = {
		{ "*append*", "appendonly", "yes" },
		{ NULL, "appendfsync", "always" },
		{ NULL, "no-appendfsync-on-rewrite", "no" },
		{ "maxmemory-policy", "maxmemory-policy", "noeviction" },
	};
	redisReply *r = NULL;
	int ret = 0;

	for (size_t i = 0; i < COUNT(settings) && ret == 0; i++) {
		bool lost;

		if (settings[i].pattern != NULL) {
			const struct redis_word words[] = { WORD("CONFIG"), WORD("GET"), WORD(settings[i].pattern) };

			if (r != NULL)
				freeReplyObject(r);
			r = converse(s, words, COUNT(words), &lost, e);
		}
		ret = r != NULL ? check_setting(s, r, settings[i].name, settings[i].wanted, e) : -1;
	}
	if (r != NULL)
		freeReplyObject(r);
	return ret;
}

static int
take_identity(struct redis_store *s, const redisReply *r, struct err *e)
{
	const redisReply *said = redis_text_at(r, 0), *identity = redis_text_at(r, 1), *now = redis_text_at(r, 2);

	if (redis_says(said, "newer")) {
		err_set(e, GT_FAIL, "newer", "the Redis store %s was made by a later gt-recover", s->at.shown);
		return err_hint(e, "Use that gt-recover, or another database");
	}
	if (redis_says(said, "machine")) {
		err_set(e, GT_REFUSED, "other-machine", "another machine uses the Redis store %s as the host %s: its agents would look dead here",
		    s->at.shown, s->base.host);
		return err_hint(e, "Give each of the two a name of its own: host = \"NAME\" in [recovery] of gt.toml");
	}
	if (!redis_says(said, "ok") || identity == NULL || now == NULL)
		return redis_strange(s, e);
	if (identity->len == 0) {
		err_set(e, GT_FAIL, "not-found", "the Redis store %s holds no records yet", s->at.shown);
		return -1;
	}
	if (s->identity != NULL && !redis_says(identity, s->identity)) {
		err_set(e, GT_AGAIN, "replaced", "the Redis store %s was emptied or replaced while this command ran", s->at.shown);
		return err_hint(e, "Run the command again: it will see the new state");
	}
	if (s->identity == NULL)
		s->identity = xstrndup(identity->str, identity->len);
	s->ahead = strtoll(now->str, NULL, 10) - clock_boot_ms();
	return 0;
}

static int
introduce(struct redis_store *s, const char *run, struct err *e)
{
	char id[33], up[24];
	struct moment now;
	redisReply *r;
	bool lost;
	int ret;

	io_random_hex(id, 16);
	moment_now(&now);
	snprintf(up, sizeof up, "%" PRId64, now.boot_ms);
	{
		const struct redis_word words[] = { WORD("EVAL"), WORD(redis_script_open), WORD("0"), WORD(FORMAT), WORD(id), WORD(run),
		    WORD(s->look ? "look" : ""), WORD(s->base.host), WORD(now.boot_id), WORD(up) };

		r = converse(s, words, COUNT(words), &lost, e);
	}
	if (r == NULL)
		return -1;
	ret = take_identity(s, r, e);
	freeReplyObject(r);
	return ret;
}

static int
connect_once(struct redis_store *s, struct err *e)
{
	char run[64];

	if (dial(s, e) == 0 && log_in(s, e) == 0 && check_server(s, run, sizeof run, e) == 0 && check_settings(s, e) == 0 &&
	    introduce(s, run, e) == 0) {
		s->opened = true;
		return 0;
	}
	redis_unlink(s);
	return -1;
}

int
redis_link(struct redis_store *s, int64_t until, struct err *e)
{
	struct err own = ERR_INIT;

	if (e == NULL)
		e = &own;
	while (s->link == NULL && connect_once(s, e) != 0) {
		if (!s->opened || strcmp(e->name, "store-down") != 0 || clock_mono_ms() >= until)
			return -1;
		clock_sleep_ms(PAUSE_MS);
	}
	return 0;
}

redisReply *
redis_send(struct redis_store *s, const struct redis_word *words, size_t n, int64_t until, bool *lost, struct err *e)
{
	*lost = false;
	return redis_link(s, until, e) == 0 ? converse(s, words, n, lost, e) : NULL;
}

redisReply *
redis_ask(struct redis_store *s, const struct redis_word *words, size_t n, struct err *e)
{
	int64_t until = clock_mono_ms() + s->patience_ms;
	redisReply *r;
	bool lost;

	do {
		r = redis_send(s, words, n, until, &lost, e);
	} while (r == NULL && lost && clock_mono_ms() < until);
	return r;
}
