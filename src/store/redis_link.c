#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/timestamp.h"
#include "base/utf8.h"

#define PASSWORD_MAX 4096
#define COUNT(v) (sizeof (v) / sizeof (v)[0])

static char *kept;

void
store_take_password(void)
{
	const char *now = getenv(REDIS_PASSWORD_VARIABLE);

	if (now == NULL)
		return;
	free(kept);
	kept = xstrdup(now);
	unsetenv(REDIS_PASSWORD_VARIABLE);
}

static char *
redis_address_password(const struct redis_address *a, struct err *e)
{
	struct buf b = BUF_INIT;

	store_take_password();
	if (a->password_file == NULL)
		return xstrdup(kept != NULL ? kept : "");
	if (io_read_private(a->password_file, PASSWORD_MAX, &b, e) != 0) {
		buf_wipe(&b);
		err_add(e, "the password of the Redis store");
		err_hint(
		    e, "password_file must be a private file: chmod 600 FILE");
		return NULL;
	}
	while (b.len > 0 && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r'))
		buf_cut(&b, b.len - 1);
	return buf_detach(&b);
}

/*
 * The connection. A server that answers is asked first whether what it confirms is on its disk,
 * and whether the data are ours; one that is gone may come back.
 */

#define FORMAT "2"
#define DIAL_MS 2000
#define PAUSE_MS 20
#define CHUNK 65536
#define OLDEST_MAJOR 5			/* before it, a script that asks for the time could not write */

#define WORD(text) { (text), strlen(text) }

bool
redis_is_text(const redisReply *r, const char *text)
{
	return r != NULL && (r->type == REDIS_REPLY_STRING || r->type == REDIS_REPLY_STATUS) &&
	    r->len == strlen(text) && memcmp(r->str, text, r->len) == 0;
}

const redisReply *
redis_text_at(const redisReply *r, size_t i)
{
	if (r == NULL || r->type != REDIS_REPLY_ARRAY || i >= r->elements ||
	    r->element[i]->type != REDIS_REPLY_STRING)
		return NULL;
	return r->element[i];
}

int
redis_bad_reply(const struct redis_store *s, struct err *e)
{
	err_set(e, GT_FAIL, "protocol", "the store %s does not answer like a Redis server", s->at.shown);
	return err_hint(e, "Check the server: redis-cli INFO server");
}

void
redis_disconnect(struct redis_store *s)
{
	if (s->conn != NULL)
		redisFree(s->conn);
	s->conn = NULL;
}

static int
server_down(const struct redis_store *s, const char *why, struct err *e)
{
	err_set(e, GT_AGAIN, "store-down", "the Redis store %s cannot be reached: %s", s->at.shown, why);
	return err_hint(e, "Start the Redis server, or check state in gt.toml, then run the command again");
}

/*
 * What a server says may hold what it was sent: of a password's check the first word is enough,
 * else a little more.
 */
static void
set_refusal(const struct redis_store *s, const redisReply *r, struct err *e)
{
	size_t word = strcspn(r->str, " ");
	struct buf shown = BUF_INIT;

	if (str_starts(r->str, "NOAUTH") || str_starts(r->str, "WRONGPASS") || str_starts(r->str, "NOPERM") ||
	    strstr(r->str, "executing the script can't") != NULL ||
	    strstr(r->str, "ACL failure in script") != NULL) {
		err_set(e, GT_FAIL, "auth", "the Redis store %s denies access (%.*s)",
		    s->at.shown, (int)(word < 20 ? word : 20), r->str);
		err_hint(e,
		    "Set the password with password_file in the address, or GT_RECOVER_REDIS_PASSWORD; "
		    "the user needs all commands that read and write keys, EVAL, INFO and CONFIG GET");
		return;
	}
	utf8_escape(&shown, r->str, r->len, 160);
	err_set(e, GT_FAIL, "redis", "the Redis store %s refused: %s", s->at.shown, shown.data);
	/* before Redis 7 a script's refusal begins with other words */
	if (strstr(r->str, "MISCONF ") != NULL || strstr(r->str, "OOM command") != NULL)
		err_hint(e,
		    "Free disk space or memory of the Redis server, then run the command again");
	else if (str_starts(r->str, "READONLY"))
		err_hint(e, "Set state to the primary server, not to a replica");
	buf_release(&shown);
}

/* It has carried nothing out, and will soon: it reads its files, or another script works. */
static bool
not_yet(const redisReply *r)
{
	return r->type == REDIS_REPLY_ERROR && (str_starts(r->str, "LOADING") || str_starts(r->str, "BUSY "));
}

/* Why the connection is of no more use. false. */
static bool
broken(struct redis_store *s, const char *why)
{
	s->why = why;
	return false;
}

static bool
is_ready(struct redis_store *s, short events)
{
	struct pollfd p = { .fd = s->conn->fd, .events = events };

	for (;;) {
		int64_t left = s->until - clock_mono_ms();
		int n = left > 0 ? poll(&p, 1, (int)left) : 0;

		if (n > 0)
			return true;
		if (n == 0 && left <= 0)
			return broken(s, "it does not answer");
		if (n < 0 && errno != EINTR)
			return broken(s, strerror(errno));
	}
}

static bool
send_words(struct redis_store *s, const struct redis_word *words, size_t n)
{
	const char **argv = xcalloc(n, sizeof *argv);
	size_t *len = xcalloc(n, sizeof *len);
	int done = 0;
	bool sent;

	for (size_t i = 0; i < n; i++) {
		argv[i] = words[i].p;
		len[i] = words[i].n;
	}
	sent = redisAppendCommandArgv(s->conn, (int)n, argv, len) == REDIS_OK;
	while (sent && done == 0) {
		sent = is_ready(s, POLLOUT);
		if (sent && redisBufferWrite(s->conn, &done) != REDIS_OK)
			sent = broken(s, s->conn->errstr);
	}
	free(argv);
	free(len);
	return sent;
}

#if HIREDIS_MAJOR < 1
typedef int element_count;
#else
typedef size_t element_count;
#endif

static void *(*create_any_array)(const redisReadTask *, element_count);

static void *
create_array(const redisReadTask *task, element_count n)
{
	struct redis_store *s = task->privdata;

	s->elements += (size_t)n;
	return s->elements <= REDIS_MAX_ELEMENTS ? create_any_array(task, n) : NULL;
}

static void
limit_arrays(struct redis_store *s)
{
	static redisReplyObjectFunctions limited;

	if (create_any_array == NULL) {
		limited = *s->conn->reader->fn;
		create_any_array = limited.createArray;
		limited.createArray = create_array;
	}
	s->conn->reader->fn = &limited;
	s->conn->reader->privdata = s;
}

/* NULL: s->why. */
static redisReply *
take_reply(struct redis_store *s)
{
	char *chunk = xmalloc(CHUNK);
	size_t taken = 0;
	void *reply = NULL;

	s->elements = 0;
	while (reply == NULL) {
		ssize_t n = 0;

		if (redisGetReplyFromReader(s->conn, &reply) != REDIS_OK) {
			/* the library reports a refusal by create_array as "Out of memory" */
			s->strange = !broken(s, s->elements > REDIS_MAX_ELEMENTS ? "it has too many elements"
										 : s->conn->errstr);
			break;
		}
		if (reply != NULL || !is_ready(s, POLLIN))
			break;
		n = s->at.tls ? redis_tls_read(s, chunk, CHUNK) : read(s->conn->fd, chunk, CHUNK);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0) {
			broken(s, n < 0 ? strerror(errno) : "it closed the connection");
			break;
		}
		taken += (size_t)n;
		if (taken > REDIS_MAX_REPLY) {
			s->strange = !broken(s, "it is longer than " REDIS_MAX_REPLY_TEXT);
			break;
		}
		redisReaderFeed(s->conn->reader, chunk, (size_t)n);
	}
	free(chunk);
	return reply;
}

/*
 * NULL: the connection broke, or s->until has passed. The library writes to a socket that may be
 * closed, which would end us.
 */
static redisReply *
send_once(struct redis_store *s, const struct redis_word *words, size_t n)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	redisReply *r = NULL;

	s->why = "no memory";
	s->strange = false;
	sigaction(SIGPIPE, &ignore, &before);
	if (send_words(s, words, n))
		r = take_reply(s);
	sigaction(SIGPIPE, &before, NULL);
	return r;
}

static void
report_break(struct redis_store *s, struct err *e)
{
	if (s->strange) {
		err_set(e, GT_FAIL, "protocol", "the store %s sent an invalid reply: %s", s->at.shown,
		    s->why);
		err_hint(e,
		    "Check the server (redis-cli INFO server), and large values of other programs "
		    "(redis-cli --bigkeys)");
	} else {
		server_down(s, s->why, e);
	}
	redis_disconnect(s);
}

/* The same, waiting for a server that is not ready yet. */
static redisReply *
send_until_ready(struct redis_store *s, const struct redis_word *words, size_t n, bool *lost, struct err *e)
{
	redisReply *r;

	*lost = false;
	while ((r = send_once(s, words, n)) != NULL && not_yet(r) && clock_mono_ms() < s->until) {
		freeReplyObject(r);
		clock_sleep_ms(PAUSE_MS);
	}
	if (r == NULL) {
		*lost = true;
		report_break(s, e);
	} else if (r->type == REDIS_REPLY_ERROR) {
		set_refusal(s, r, e);
		freeReplyObject(r);
		r = NULL;
	}
	return r;
}

/* The library waits for each byte anew: from here on it only reads what is there, and is_ready() waits. */
static int
dial_server(struct redis_store *s, struct err *e)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct timeval dialing = { .tv_sec = DIAL_MS / 1000 };
	int secured = 1;

	s->conn = s->at.path != NULL ? redisConnectUnixWithTimeout(s->at.path, dialing) :
	    redisConnectWithTimeout(s->at.host, s->at.port, dialing);
	if (s->conn == NULL)
		return server_down(s, "no memory", e);
	if (s->conn->err != 0) {
		server_down(s, s->conn->errstr, e);
		redis_disconnect(s);
		return -1;
	}
	fcntl(s->conn->fd, F_SETFD, FD_CLOEXEC);
	if (s->at.tls) {
		sigaction(SIGPIPE, &ignore, &before);
		secured = redis_tls_start(s, DIAL_MS, e);
		sigaction(SIGPIPE, &before, NULL);
	}
	if (secured != 1) {
		if (secured == 0)
			server_down(s, s->conn->errstr, e);
		redis_disconnect(s);
		return -1;
	}
	fcntl(s->conn->fd, F_SETFL, O_NONBLOCK);
	s->conn->flags &= ~REDIS_BLOCK;
	limit_arrays(s);
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
		r = send_once(s, auth, n);
		explicit_bzero(password, strlen(password));
		free(password);
		if (r == NULL) {
			report_break(s, e);
			return -1;
		}
		if (r->type == REDIS_REPLY_ERROR) {
			err_set(e, GT_FAIL, "auth",
			    "the Redis store %s rejects the user or password", s->at.shown);
			err_hint(e,
			    "Check password_file in the address, GT_RECOVER_REDIS_PASSWORD, and "
			    "requirepass of the server");
			freeReplyObject(r);
			return -1;
		}
		freeReplyObject(r);
	} else {
		free(password);
	}
	snprintf(db, sizeof db, "%d", s->at.db);
	chosen[1] = (struct redis_word)WORD(db);
	r = send_until_ready(s, chosen, 2, &lost, e);
	if (r == NULL)
		return -1;
	freeReplyObject(r);
	return 0;
}

static int
not_durable(const struct redis_store *s, const char *what, struct err *e)
{
	err_set(e, GT_FAIL, "not-durable", "the Redis store %s could lose what it has confirmed: %s",
	    s->at.shown, what);
	return err_hint(e,
	    "Set in its redis.conf: appendonly yes, appendfsync always, no-appendfsync-on-rewrite no, "
	    "maxmemory-policy"
	    " noeviction; then restart it, or set the same by redis-cli CONFIG SET");
}

static int
check_server(struct redis_store *s, char *run, size_t size, struct err *e)
{
	const struct redis_word words[] = { WORD("INFO") };
	char version[32], role[32], cluster[8] = "0";
	redisReply *r;
	bool lost, known;

	r = send_until_ready(s, words, COUNT(words), &lost, e);
	if (r == NULL)
		return -1;
	known = r->type == REDIS_REPLY_STRING && redis_info_field(r, "run_id", run, size) &&
	    redis_info_field(r, "redis_version", version, sizeof version) &&
	    redis_info_field(r, "role", role, sizeof role);
	if (known) {
		(void)redis_info_field(r, "cluster_enabled", cluster, sizeof cluster);
		redis_note_promotion(s, r);
	}
	freeReplyObject(r);
	if (!known)
		return redis_bad_reply(s, e);
	if (strtol(version, NULL, 10) < OLDEST_MAJOR) {
		err_set(e, GT_FAIL, "redis", "the Redis server of the store %s is too old", s->at.shown);
		return err_hint(e, "gt-recover needs Redis %d or later, or Valkey", OLDEST_MAJOR);
	}
	if (strcmp(role, "master") != 0)
		return not_durable(s, "it is a replica of another server", e);
	return strcmp(cluster, "0") == 0 ? 0 : not_durable(s, "it is part of a cluster", e);
}

static int
check_setting(
    struct redis_store *s, const redisReply *all, const char *name, const char *wanted, struct err *e)
{
	char what[160];

	if (all->type != REDIS_REPLY_ARRAY)
		return redis_bad_reply(s, e);
	for (size_t i = 0; i + 1 < all->elements; i += 2) {
		if (!redis_is_text(all->element[i], name))
			continue;
		if (redis_is_text(all->element[i + 1], wanted))
			return 0;
		snprintf(what, sizeof what, "its %s is not \"%s\"", name, wanted);
		return not_durable(s, what, e);
	}
	snprintf(what, sizeof what, "it does not report its %s", name);
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
			const struct redis_word words[] = { WORD("CONFIG"), WORD("GET"),
				WORD(settings[i].pattern) };

			if (r != NULL)
				freeReplyObject(r);
			r = send_until_ready(s, words, COUNT(words), &lost, e);
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
	const redisReply *said = redis_text_at(r, 0), *identity = redis_text_at(r, 1),
			 *now = redis_text_at(r, 2);

	if (redis_is_text(said, "newer")) {
		err_set(
		    e, GT_FAIL, "newer", "the Redis store %s was created by a later gt-recover", s->at.shown);
		return err_hint(e, "Use that gt-recover, or another database");
	}
	if (redis_is_text(said, "older")) {
		err_set(e, GT_AGAIN, "older", "the Redis store %s is from an older gt-recover",
		    s->at.shown);
		return err_hint(e, "The next command that writes converts it");
	}
	if (redis_is_text(said, "machine")) {
		err_set(e, GT_REFUSED, "other-machine",
		    "another machine uses the Redis store %s with the same host name %s",
		    s->at.shown, s->base.host);
		return err_hint(
		    e, "Set a unique name on each machine: host = \"NAME\" in [recovery] of gt.toml");
	}
	if (redis_is_text(said, "failover"))
		return redis_refuse_failover(s, identity != NULL ? identity->str : "", e);
	if (!redis_is_text(said, "ok") || identity == NULL || now == NULL)
		return redis_bad_reply(s, e);
	if (redis_text_at(r, 3) != NULL)
		snprintf(s->doubt, sizeof s->doubt, "%s", r->element[3]->str);
	if (identity->len == 0 && s->doubt[0] != '\0')
		return redis_refuse_failover(s, s->doubt, e);
	if (identity->len == 0) {
		err_set(e, GT_FAIL, "not-found", "the Redis store %s holds no records yet", s->at.shown);
		return -1;
	}
	if (s->identity != NULL && !redis_is_text(identity, s->identity)) {
		err_set(e, GT_AGAIN, "replaced",
		    "the Redis store %s was emptied or replaced while this command ran", s->at.shown);
		return err_hint(e, "Run the command again");
	}
	if (s->identity == NULL)
		s->identity = xstrndup(identity->str, identity->len);
	s->ahead = strtoll(now->str, NULL, 10) - clock_boot_ms();
	return 0;
}

/* Format 1, a piece at a time: the server answers others between them. */
static int
convert_records(struct redis_store *s, struct err *e)
{
	const struct redis_word words[] = { WORD("EVAL"), WORD(redis_script_convert), WORD("0"),
		WORD("1000") };
	bool lost, more = true;

	while (more) {
		redisReply *r;

		s->until = clock_mono_ms() + s->patience_ms;
		r = send_until_ready(s, words, COUNT(words), &lost, e);
		if (r == NULL)
			return -1;
		more = redis_is_text(redis_text_at(r, 0), "more");
		if (!more && !redis_is_text(redis_text_at(r, 0), "done")) {
			freeReplyObject(r);
			return redis_bad_reply(s, e);
		}
		freeReplyObject(r);
	}
	s->until = clock_mono_ms() + s->patience_ms;
	return 0;
}

/* A server that took over, and that somebody has accepted. */
static int
accept_server(struct redis_store *s, const char *run, struct err *e)
{
	const struct redis_word words[] = { WORD("EVAL"), WORD(redis_script_accept), WORD("0"), WORD(run) };
	bool lost;
	redisReply *r = send_until_ready(s, words, COUNT(words), &lost, e);

	if (r == NULL)
		return -1;
	freeReplyObject(r);
	return 0;
}

static int
set_identity(struct redis_store *s, const char *run, struct err *e)
{
	char id[33], up[24];
	struct timestamp now;
	struct redis_seen seen;
	int steps = 3, ret;	/* to convert, to accept, to open */
	bool more, lost;

	io_random_hex(id, 16);
	timestamp_now(&now);
	redis_read_seen(s, &seen);
	snprintf(up, sizeof up, "%" PRId64, now.boot_ms);
	do {
		const struct redis_word words[] = { WORD("EVAL"), WORD(redis_script_open), WORD("0"),
			WORD(FORMAT), WORD(id), WORD(run), WORD(s->readonly ? "look" : ""),
			WORD(s->base.host), WORD(now.boot_id), WORD(up),
			WORD(s->took_over_at[0] != '\0' ? "promoted" : ""), WORD(seen.identity),
			WORD(seen.id), WORD(seen.seq), WORD(seen.here ? "here" : "") };
		redisReply *r = send_until_ready(s, words, COUNT(words), &lost, e);
		bool convert, accept;

		if (r == NULL)
			return -1;
		convert = redis_is_text(redis_text_at(r, 0), "convert");
		accept = redis_is_text(redis_text_at(r, 0), "accept");
		more = --steps > 0 && (convert || accept);
		ret = more && convert ? convert_records(s, e)
		    : more            ? accept_server(s, run, e)
				      : take_identity(s, r, e);
		freeReplyObject(r);
	} while (more && ret == 0);
	return ret;
}

static int
connect_once(struct redis_store *s, struct err *e)
{
	s->until = clock_mono_ms() + s->patience_ms;
	if (dial_server(s, e) == 0 && log_in(s, e) == 0 &&
	    check_server(s, s->run, sizeof s->run, e) == 0 && check_settings(s, e) == 0 &&
	    set_identity(s, s->run, e) == 0) {
		s->opened = true;
		return 0;
	}
	redis_disconnect(s);
	return -1;
}

int
redis_connect(struct redis_store *s, int64_t until, struct err *e)
{
	struct err own = ERR_INIT;

	if (e == NULL)
		e = &own;
	while (s->conn == NULL && connect_once(s, e) != 0) {
		if (!s->opened || strcmp(e->name, "store-down") != 0 || clock_mono_ms() >= until)
			return -1;
		clock_sleep_ms(PAUSE_MS);
	}
	return 0;
}

redisReply *
redis_send(
    struct redis_store *s, const struct redis_word *words, size_t n, int64_t until, bool *lost, struct err *e)
{
	*lost = false;
	if (redis_connect(s, until, e) != 0)
		return NULL;
	s->until = clock_mono_ms() + s->patience_ms;
	return send_until_ready(s, words, n, lost, e);
}

redisReply *
redis_ask(struct redis_store *s, const struct redis_word *words, size_t n, struct err *e)
{
	int64_t until = clock_mono_ms() + s->patience_ms;
	redisReply *r;
	bool lost;

	do {
		r = redis_send(s, words, n, until, &lost, e);
	} while (r == NULL && lost && !s->strange && clock_mono_ms() < until);
	return r;
}
