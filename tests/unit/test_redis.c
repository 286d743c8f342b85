/*
 * The Redis store alone: who is let in, what is refused, what stands in the server. What every
 * backend does: test_conformance.c.
 */
#include "test.h"

#include <string.h>

#include "redis_house.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "store/store.h"
#include "store/store_private.h"

#define COUNT(v) (sizeof (v) / sizeof (v)[0])

static struct redis_house *
home_of(void **state)
{
	if (*state == NULL) {
		print_message("skipped: redis-server is not installed\n");
		skip();
	}
	return *state;
}

static int
setup(void **state)
{
	struct redis_house *h = NULL;

	if (redis_installed()) {
		h = xcalloc(1, sizeof *h);
		redis_house_init(h);
	}
	*state = h;
	return 0;
}

static int
teardown(void **state)
{
	struct redis_house *h = *state;

	if (h != NULL)
		redis_house_release(h);
	free(h);
	return 0;
}

static enum commit
put(struct store *s, const char *key, int64_t expect, const char *tag, const char *value, struct err *e)
{
	struct change c = { CHANGE_PUT, key, expect, tag, value };

	return store_commit(s, &c, 1, e);
}

static void
assert_raw(const struct redis_house *h, const char *command, const char *answer)
{
	char *text = redis_raw_do(h, command);

	assert_string_equal(text, answer);
	free(text);
}

static void
assert_refused(const struct redis_house *h, const char *name, const char *word)
{
	struct err e = ERR_INIT;

	assert_null(store_open(h->url, h->dir, &e));
	assert_string_equal(e.name, name);
	assert_non_null(strstr(e.msg, word));
	assert_true(e.hint[0] != '\0');
}

static struct store *
open_well(const struct redis_house *h)
{
	struct err e = ERR_INIT;
	struct store *s = store_open(h->url, h->dir, &e);

	if (s == NULL)
		fail_msg("%s", e.msg);
	return s;
}

/* As a host that never recorded anything. */
static void
forget_commits(const struct redis_house *h)
{
	char *path = io_join(h->dir, "redis.seen");

	unlink(path);
	free(path);
}

/* What other programs and people see: plain JSON at the key, the rest beside it. */
static void
test_keys_in_the_server(void **state)
{
	struct redis_house *h = home_of(state);
	struct store *s = open_well(h);
	struct change gone = { .kind = CHANGE_DELETE, .key = "epic:e1:state", .expect = STORE_ANY };
	char *row;

	assert_int_equal(
	    put(s, "epic:e1:state", STORE_ABSENT, "in_progress", "{\"epicId\":\"e1\"}", NULL), COMMIT_DONE);
	assert_raw(h, "GET epic:e1:state", "{\"epicId\":\"e1\"}");
	row = redis_raw_do(h, "HGET gt-recover:records epic:e1:state");
	assert_true(strtoll(row, NULL, 10) > INT64_C(1600000000000));
	assert_non_null(strstr(row, " in_progress"));
	free(row);
	assert_raw(h, "ZCARD gt-recover:tag:in_progress", "1");
	assert_int_equal(put(s, "epic:e1:state", STORE_ANY, "completed", "{}", NULL), COMMIT_DONE);
	assert_raw(h, "ZCARD gt-recover:tag:in_progress", "0");
	assert_raw(h, "ZCARD gt-recover:tag:completed", "1");
	assert_int_equal(store_commit(s, &gone, 1, NULL), COMMIT_DONE);
	assert_raw(h, "EXISTS epic:e1:state", "0");
	assert_raw(h, "ZCARD gt-recover:keys", "0");
	assert_raw(h, "HLEN gt-recover:records", "0");
	store_close(s);
}

static void
set(const struct redis_house *h, const char *setting, const char *value)
{
	char *command = xasprintf("CONFIG SET %s %s", setting, value);

	assert_raw(h, command, "OK");
	free(command);
}

static void
test_refuses_what_could_lose(void **state)
{
	static const struct {
		const char *setting, *bad, *good;
	} cases[] = {
		{ "appendfsync", "everysec", "always" },
		{ "appendfsync", "no", "always" },
		{ "no-appendfsync-on-rewrite", "yes", "no" },
		{ "maxmemory-policy", "allkeys-lru", "noeviction" },
		{ "appendonly", "no", "yes" },
	};
	struct redis_house *h = home_of(state);

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		set(h, cases[i].setting, cases[i].bad);
		assert_refused(h, "not-durable", cases[i].setting);
		set(h, cases[i].setting, cases[i].good);
		store_close(open_well(h));
	}
	assert_raw(h, "REPLICAOF 127.0.0.1 1", "OK");
	assert_refused(h, "not-durable", "replica");
	assert_raw(h, "REPLICAOF NO ONE", "OK");
	store_close(open_well(h));
}

static void
test_password(void **state)
{
	struct redis_house *h = home_of(state);
	char *file = io_join(h->dir, "password"), *plain = h->url;

	set(h, "requirepass", "sesame-0815");
	assert_refused(h, "auth", "denies access");
	h->url = xasprintf("%s?password_file=password", plain);
	temp_write(file, "wrong-4711\n");
	assert_int_equal(chmod(file, 0600), 0);
	assert_refused(h, "auth", "or password");
	temp_write(file, "sesame-0815\n");
	store_close(open_well(h));
	assert_int_equal(chmod(file, 0644), 0);
	assert_refused(h, "not-private", "password");
	free(h->url);
	h->url = plain;
	setenv("GT_RECOVER_REDIS_PASSWORD", "sesame-0815", 1);
	store_close(open_well(h));
	/* no child gets it, and the next opening knows it still */
	assert_null(getenv("GT_RECOVER_REDIS_PASSWORD"));
	store_close(open_well(h));
	setenv("GT_RECOVER_REDIS_PASSWORD", "", 1);
	assert_refused(h, "auth", "denies access");
	free(file);
}

static void
test_leaves_what_is_not_ours(void **state)
{
	struct redis_house *h = home_of(state);
	struct store *s = open_well(h);
	struct change c[] = {
		{ CHANGE_PUT, "ours", STORE_ABSENT, "t", "1" },
		{ CHANGE_PUT, "theirs", STORE_ABSENT, "t", "1" },
	};
	struct err e = ERR_INIT;
	struct record r;

	assert_raw(h, "LPUSH theirs x", "1");
	assert_int_equal(store_get(s, "theirs", &r, &e), 0);
	assert_int_equal(store_commit(s, c, 2, &e), COMMIT_ERROR);
	assert_string_equal(e.name, "not-ours");
	assert_raw(h, "LLEN theirs", "1");
	assert_raw(h, "EXISTS ours", "0");
	assert_int_equal(put(s, "gt-recover:store", STORE_ANY, "t", "1", &e), COMMIT_ERROR);
	assert_string_equal(e.name, "not-ours");
	/* a value that somebody took away is no empty record */
	assert_int_equal(put(s, "ours", STORE_ABSENT, "t", "1", &e), COMMIT_DONE);
	assert_raw(h, "DEL ours", "1");
	assert_int_equal(store_get(s, "ours", &r, &e), -1);
	assert_string_equal(e.name, "corrupt");
	store_close(s);
}

static void
test_whose_store_it_is(void **state)
{
	struct redis_house *h = home_of(state);
	struct store *s = open_well(h), *other;
	char *dir = temp_dir();
	struct err e = ERR_INIT;

	assert_int_equal(put(s, "a", STORE_ABSENT, "t", "1", NULL), COMMIT_DONE);
	/* emptied under our hands: nothing of ours goes into what comes after it */
	assert_raw(h, "FLUSHALL", "OK");
	assert_int_equal(put(s, "a", STORE_ANY, "t", "2", &e), COMMIT_ERROR);
	assert_string_equal(e.name, "replaced");
	assert_int_equal(e.code, GT_AGAIN);
	/* another host makes a store there */
	other = store_open(h->url, dir, &e);
	assert_non_null(other);
	store_close(other);
	assert_int_equal(put(s, "a", STORE_ANY, "t", "2", &e), COMMIT_ERROR);
	assert_string_equal(e.name, "replaced");
	assert_raw(h, "EXISTS a", "0");
	store_close(s);
	temp_remove(dir);
	assert_raw(h, "SET gt-recover:store 2", "OK");
	assert_refused(h, "newer", "later");
}

static void
seen(const struct redis_house *h, const char *host, const char *boot, int64_t at)
{
	redisContext *c = redis_raw(h);
	char *row = xasprintf("%s %lld", boot, (long long)at);
	redisReply *r = redisCommand(c, "HSET gt-recover:hosts %s %s", host, row);

	assert_true(r != NULL && r->type == REDIS_REPLY_INTEGER);
	freeReplyObject(r);
	redisFree(c);
	free(row);
}

/* Under one name a machine may be started again, but there cannot be two. */
static void
test_one_machine_a_host(void **state)
{
	struct redis_house *h = home_of(state);
	int64_t booted = clock_wall_ms() - clock_boot_ms();
	char *row, *again;

	assert_int_equal(host_set("west", NULL), 0);
	store_close(open_well(h));
	row = redis_raw_do(h, "HGET gt-recover:hosts west");
	assert_true(strlen(row) > 40);
	/* another boot, before this one */
	seen(h, "west", "0b3e", booted - 60000);
	store_close(open_well(h));
	again = redis_raw_do(h, "HGET gt-recover:hosts west");
	assert_memory_equal(row, again, 36);
	/* another boot, while this one was up already: another machine */
	seen(h, "west", "0b3e", booted + 60000);
	assert_refused(h, "other-machine", "another machine");
	/* a host of its own */
	assert_int_equal(host_set("east", NULL), 0);
	store_close(open_well(h));
	host_unset();
	free(row);
	free(again);
}

/* What is about a host's panes the other one does not see; all else both do. */
static void
test_hosts_own_records(void **state)
{
	struct redis_house *h = home_of(state);
	struct store *west, *east;
	struct records all = { 0 };
	struct change both[] = { { CHANGE_PUT, "pane:1.2:%3:main", STORE_ABSENT, "open", "1" },
		{ CHANGE_PUT, "attempt:a", STORE_ABSENT, "t", "2" },
		{ CHANGE_PUT, "run:r", STORE_ABSENT, "pending", "3" } };
	struct record r;

	assert_int_equal(host_set("west", NULL), 0);
	west = open_well(h);
	assert_int_equal(host_set("east", NULL), 0);
	east = open_well(h);
	assert_string_equal(store_host(west), "west");
	assert_int_equal(store_commit(west, both, 3, NULL), COMMIT_DONE);
	assert_raw(h, "GET pane@west:1.2:%%3:main", "1");
	assert_raw(h, "GET run:r", "3");
	assert_int_equal(store_get(west, "pane:1.2:%3:main", &r, NULL), 1);
	assert_string_equal(r.key, "pane:1.2:%3:main");
	store_record_release(&r);
	assert_int_equal(store_get(east, "pane:1.2:%3:main", &r, NULL), 0);
	assert_int_equal(store_scan(east, "attempt:", NULL, NULL, 0, &all, NULL), 0);
	assert_int_equal(all.n, 0);
	assert_int_equal(store_commit(east, both, 2, NULL), COMMIT_DONE);
	assert_int_equal(store_scan(west, "attempt:", "t", NULL, 0, &all, NULL), 0);
	assert_int_equal(all.n, 1);
	assert_string_equal(all.v[0].key, "attempt:a");
	assert_int_equal(store_scan(west, "attempt:", "t", all.v[0].key, 0, &all, NULL), 0);
	assert_int_equal(all.n, 1);
	assert_int_equal(store_get(east, "run:r", &r, NULL), 1);
	store_record_release(&r);
	store_records_release(&all);
	store_close(west);
	store_close(east);
	host_unset();
}

static redisReply *
eval(redisContext *c, const char *script, const char *a, const char *id, bool commit)
{
	if (commit)
		return redisCommand(c, "EVAL %s 0 %s %s put late 0 t {}", script, a, id);
	return redisCommand(c, "EVAL %s 0 %s %s", script, a, id);
}

/*
 * What was settled as lost stays lost, also when it comes in the end, from the buffer of an older
 * connection.
 */
static void
test_a_late_commit_is_refused(void **state)
{
	struct redis_house *h = home_of(state);
	struct store *s = open_well(h);
	const char *identity = ((struct redis_store *)s)->identity;
	redisContext *c = redis_raw(h);
	redisReply *r;

	assert_non_null(c);
	r = eval(c, redis_script_resolve, identity, "id1", false);
	assert_true(redis_is_text(redis_text_at(r, 0), "never"));
	freeReplyObject(r);
	r = eval(c, redis_script_commit, identity, "id1", true);
	assert_true(redis_is_text(redis_text_at(r, 0), "never"));
	freeReplyObject(r);
	assert_raw(h, "EXISTS late", "0");
	r = eval(c, redis_script_commit, identity, "id2", true);
	assert_true(redis_is_text(redis_text_at(r, 0), "done"));
	freeReplyObject(r);
	r = eval(c, redis_script_resolve, identity, "id2", false);
	assert_true(redis_is_text(redis_text_at(r, 0), "done"));
	freeReplyObject(r);
	assert_raw(h, "EXISTS late", "1");
	redisFree(c);
	store_close(s);
}

/* The server closed an idle connection, or was restarted meanwhile: that is no error of anybody's. */
static void
test_reconnects(void **state)
{
	struct redis_house *h = home_of(state);
	struct store *s = open_well(h);
	char *before, *after;
	struct record r;

	assert_int_equal(put(s, "a", STORE_ABSENT, "t", "1", NULL), COMMIT_DONE);
	assert_raw(h, "CLIENT KILL TYPE normal SKIPME yes", "1");
	assert_int_equal(put(s, "b", STORE_ABSENT, "t", "1", NULL), COMMIT_DONE);
	before = redis_raw_do(h, "GET gt-recover:server");
	redis_house_kill(h);
	redis_house_start(h);
	assert_int_equal(store_get(s, "b", &r, NULL), 1);
	store_record_release(&r);
	/* the first to come wrote something, and so synced what the killed server had not */
	after = redis_raw_do(h, "GET gt-recover:server");
	assert_string_not_equal(before, after);
	assert_true(store_now(s) > INT64_C(1600000000000));
	free(before);
	free(after);
	store_close(s);
}

/* The answer to a commit is lost: another connection finds it by its id, and it is made once. */
static void
test_lost_answer(void **state)
{
	struct redis_house *h = home_of(state);
#ifdef GT_FAULTS
	struct store *s = open_well(h);
	struct err e = ERR_INIT;
	struct record before, after;

	assert_int_equal(put(s, "a", STORE_ABSENT, "t", "1", &e), COMMIT_DONE);
	assert_int_equal(store_get(s, "a", &before, &e), 1);
	setenv("GT_FAULT", "store-committed=eio", 1);
	assert_int_equal(put(s, "a", before.version, "t", "2", &e), COMMIT_DONE);
	unsetenv("GT_FAULT");
	assert_int_equal(store_get(s, "a", &after, &e), 1);
	assert_int_equal(after.version, before.version + 1);
	store_record_release(&before);
	store_record_release(&after);
	store_close(s);
#else
	(void)h;
	print_message("skipped: needs a test build (make FAULTS=1)\n");
	skip();
#endif
}

static void
raw(const struct redis_house *h, const char *command)
{
	free(redis_raw_do(h, command));
}

static int
count_row(const struct record *r, void *arg, struct err *e)
{
	(void)r;
	(void)e;
	++*(size_t *)arg;
	return 0;
}

/* Whatever parts of a record do not agree, it is no answer; nor is a list that lacks one. */
static void
test_damage_is_seen(void **state)
{
	static const char *const damages[] = { "SET run:5 {\"n\":6}", "HSET gt-recover:records run:5 rubbish",
		"DEL run:5", "ZREM gt-recover:tag:pending run:5", "ZREM gt-recover:keys run:5",
		"HDEL gt-recover:records run:5", "HSET gt-recover:tally run:pending rubbish" };
	struct redis_house *h = home_of(state);
	struct err e = ERR_INIT;

	for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
		struct store *s;
		struct record r;
		char key[16];
		size_t n = 0;

		raw(h, "FLUSHALL");
		forget_commits(h);
		s = open_well(h);
		for (int k = 0; k < 9; k++) {
			snprintf(key, sizeof key, "run:%d", k);
			assert_int_equal(put(s, key, STORE_ABSENT, "pending", "{\"n\":5}", &e), COMMIT_DONE);
		}
		assert_int_equal(store_check(s, &e), 0);
		raw(h, damages[i]);
		/* of the tally alone a single record knows nothing */
		assert_int_equal(store_get(s, "run:5", &r, &e), i < 6 ? -1 : 1);
		store_record_release(&r);
		assert_int_equal(store_each(s, "run:", "pending", count_row, &n, &e), -1);
		assert_string_equal(e.name, "corrupt");
		if (i < 6)
			assert_int_equal(put(s, "run:5", STORE_ANY, "pending", "{}", &e), COMMIT_ERROR);
		/* once in a run of the server, before a pass ends anybody */
		assert_int_equal(store_check(s, &e), 0);
		raw(h, "DEL gt-recover:checked");
		assert_int_equal(store_check(s, &e), -1);
		assert_string_equal(e.name, "corrupt");
		store_close(s);
	}
}

/* What another program wrote has neither version nor checksum: it is foreign, not damaged. */
static void
test_foreign_is_not_damaged(void **state)
{
	struct redis_house *h = home_of(state);
	struct store *s = open_well(h);
	struct err e = ERR_INIT;
	struct record r;
	size_t n = 0;

	assert_raw(h, "SET run:theirs text", "OK");
	assert_int_equal(store_get(s, "run:theirs", &r, &e), 0);
	assert_int_equal(store_each(s, "run:", NULL, count_row, &n, &e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(put(s, "run:theirs", STORE_ABSENT, "t", "1", &e), COMMIT_ERROR);
	assert_string_equal(e.name, "not-ours");
	assert_int_equal(store_check(s, &e), 0);
	store_close(s);
}

/* As 0.1.0 wrote it: rows without checksums, no tally. */
static void
test_format_1_is_converted(void **state)
{
	struct redis_house *h = home_of(state);
	struct err e = ERR_INIT;
	struct records all = { 0 };
	redisContext *c = redis_raw(h);
	struct store *s;
	char line[160];

	for (int i = 0; i < 1250; i++) {
		freeReplyObject(redisCommand(c, "SET run:%04d {\"n\":%d}", i, i));
		freeReplyObject(redisCommand(
		    c, "HSET gt-recover:records run:%04d %s", i, i % 2 ? "7 pending" : "8 done"));
		freeReplyObject(redisCommand(c, "ZADD gt-recover:keys 0 run:%04d", i));
		freeReplyObject(redisCommand(
		    c, "ZADD gt-recover:tag:%s 0 run:%04d", i % 2 ? "pending" : "done", i));
	}
	raw(h, "SET gt-recover:seq 1300");
	freeReplyObject(redisCommand(c, "SET gt-recover:store %s", "1 0123456789abcdef"));
	redisFree(c);
	/* a look changes nothing */
	assert_null(store_open_readonly(h->url, h->dir, &e));
	assert_string_equal(e.name, "older");
	s = open_well(h);
	assert_raw(h, "GET gt-recover:store", "2 0123456789abcdef");
	assert_raw(h, "EXISTS gt-recover:convert", "0");
	assert_int_equal(store_scan(s, "run:", NULL, NULL, 5000, &all, &e), 0);
	assert_int_equal(all.n, 1250);
	for (size_t i = 0; i < all.n; i++) {
		snprintf(line, sizeof line, "{\"n\":%zu}", i);
		assert_string_equal(all.v[i].value, line);
		assert_int_equal(all.v[i].version, i % 2 ? 7 : 8);
		assert_string_equal(all.v[i].tag, i % 2 ? "pending" : "done");
	}
	store_records_release(&all);
	assert_int_equal(store_check(s, &e), 0);
	assert_int_equal(put(s, "run:0001", 7, "done", "{}", &e), COMMIT_DONE);
	store_close(s);
}

static void
test_down(void **state)
{
	struct redis_house *h = home_of(state);
	struct err e = ERR_INIT;

	assert_null(store_open_readonly(h->url, h->dir, &e));
	assert_string_equal(e.name, "not-found");
	assert_raw(h, "DBSIZE", "0");
	redis_house_kill(h);
	assert_refused(h, "store-down", h->socket);
	assert_null(store_open(h->url, h->dir, &e));
	assert_int_equal(e.code, GT_AGAIN);
}

/* A short patience for what ends by it; for what ends by its bytes enough for a busy machine. */
static const struct {
	enum manner manner;
	const char *name, *word, *patience;
	int code;
} manners[] = {
	{ DRIP, "store-down", "does not answer", "300", GT_AGAIN },
	{ STALL, "store-down", "does not answer", "300", GT_AGAIN },
	{ FLOOD, "protocol", "longer than 16 MiB", "30000", GT_FAIL },
	{ NONSENSE, "protocol", "rotocol", "30000", GT_FAIL },
	{ ARRAY, "protocol", "too many elements", "1000", GT_FAIL },
	{ ARRAYS, "protocol", "too many elements", "1000", GT_FAIL },
};

/* So many conversations, and what a busy machine needs; DRIP goes on for longer. */
static void
assert_in_time(int64_t began, size_t i, int conversations)
{
	if (manners[i].code == GT_AGAIN)
		assert_true(clock_mono_ms() - began <= conversations * atoi(manners[i].patience) + 2500);
}

/* A conversation has one end, whatever comes meanwhile. */
static void
test_opening_has_an_end(void **state)
{
	struct redis_house *h = home_of(state);
#ifdef GT_FAULTS
	struct err e = ERR_INIT;
	struct peer p;
	char *url;

	peer_start(&p, h);
	url = xasprintf("redis://127.0.0.1:%d", p.port);
	for (size_t i = 0; i < COUNT(manners); i++) {
		int64_t began = clock_mono_ms();

		setenv("GT_REDIS_MS", manners[i].patience, 1);
		*p.manner = manners[i].manner;
		assert_null(store_open(url, h->dir, &e));
		assert_string_equal(e.name, manners[i].name);
		assert_int_equal(e.code, manners[i].code);
		assert_non_null(strstr(e.msg, manners[i].word));
		assert_in_time(began, i, 1);
	}
	unsetenv("GT_REDIS_MS");
	peer_end(&p);
	free(url);
#else
	(void)h;
	print_message("skipped: needs a test build (make FAULTS=1)\n");
	skip();
#endif
}

static void
behave(struct peer *p, struct store *s, enum manner manner, const char *patience)
{
	*p->manner = manner;
	((struct redis_store *)s)->patience_ms = atoi(patience);
}

/* The same on an open connection; and a commit without a whole answer is neither made nor not made. */
static void
test_every_command_has_an_end(void **state)
{
	struct redis_house *h = home_of(state);
	struct err e = ERR_INIT;
	struct store *s;
	struct record r;
	struct peer p;
	int64_t began;
	char *url;

	peer_start(&p, h);
	url = xasprintf("redis://127.0.0.1:%d", p.port);
	s = store_open(url, h->dir, &e);
	assert_non_null(s);
	assert_int_equal(put(s, "a", STORE_ABSENT, "t", "1", &e), COMMIT_DONE);
	for (size_t i = 0; i < COUNT(manners); i++) {
		behave(&p, s, manners[i].manner, manners[i].patience);
		began = clock_mono_ms();
		assert_int_equal(store_get(s, "a", &r, &e), -1);
		assert_string_equal(e.name, manners[i].name);
		assert_in_time(began, i, 2);
		behave(&p, s, RELAY, "30000");
		assert_int_equal(store_get(s, "a", &r, &e), 1);
		store_record_release(&r);
		behave(&p, s, manners[i].manner, manners[i].patience);
		began = clock_mono_ms();
		assert_int_equal(put(s, "a", STORE_ANY, "t", "2", &e), COMMIT_UNKNOWN);
		assert_string_equal(e.name, "unknown");
		assert_in_time(began, i, 3);
		behave(&p, s, RELAY, "30000");
		assert_int_equal(put(s, "a", STORE_ANY, "t", "3", &e), COMMIT_DONE);
	}
	store_close(s);
	peer_end(&p);
	free(url);
}

/* Our largest records go through: values of four MiB, and pages of them. */
static void
test_large_records(void **state)
{
	struct redis_house *h = home_of(state);
	struct store *s = open_well(h);
	char *value = xmalloc(STORE_MAX_VALUE + 1);
	struct records all = { 0 };
	struct err e = ERR_INIT;

	memset(value, '1', STORE_MAX_VALUE);
	value[0] = value[STORE_MAX_VALUE - 1] = '"';
	value[STORE_MAX_VALUE] = '\0';
	for (int i = 0; i < 3; i++) {
		char key[24];

		snprintf(key, sizeof key, "big:%d", i);
		if (put(s, key, STORE_ABSENT, "t", value, &e) != COMMIT_DONE)
			fail_msg("%s", e.msg);
	}
	assert_int_equal(store_scan(s, "big:", NULL, NULL, 0, &all, &e), 0);
	assert_int_equal(all.n, 3);
	assert_int_equal(strlen(all.v[2].value), STORE_MAX_VALUE);
	store_records_release(&all);
	store_close(s);
	free(value);
}

static void
test_addresses(void **state)
{
	static const struct {
		const char *url, *host;
		int port, db;
		const char *user, *password_file;
	} good[] = {
		{ "redis://localhost", "localhost", 6379, 0, NULL, NULL },
		{ "redis://10.0.0.7:7000/3", "10.0.0.7", 7000, 3, NULL, NULL },
		{ "redis://[::1]:7000/", "::1", 7000, 0, NULL, NULL },
		{ "redis://gt@host/2?password_file=/run/pw", "host", 6379, 2, "gt", "/run/pw" },
		{ "redis://host?password_file=pw", "host", 6379, 0, NULL, "/state/pw" },
	};
	static const char *const bad[] = { "redis://", "redis:///0", "redis:host", "redis://host:port",
		"redis://host:70000", "redis://host/x", "redis://host/-1", "redis://[::1]x",
		"redis://host?db=1", "redis://host?tls=no", "redis+unix://relative.sock",
		"redis+unix:///s?db=x", "rediss://host?db=1", "redis://host?ca_file=/ca" };
	struct redis_address a = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_int_equal(redis_address_parse(&a, good[i].url, "/state", &e), 0);
		assert_string_equal(a.host, good[i].host);
		assert_int_equal(a.port, good[i].port);
		assert_int_equal(a.db, good[i].db);
		assert_string_equal(a.user != NULL ? a.user : "", good[i].user != NULL ? good[i].user : "");
		if (good[i].password_file != NULL)
			assert_string_equal(a.password_file, good[i].password_file);
		else
			assert_null(a.password_file);
		redis_address_release(&a);
	}
	assert_int_equal(
	    redis_address_parse(&a, "redis+unix:///run/r.sock?db=4&password_file=pw", "/state", &e), 0);
	assert_string_equal(a.path, "/run/r.sock");
	assert_int_equal(a.db, 4);
	redis_address_release(&a);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_null(store_open(bad[i], "/state", &e));
		assert_string_equal(e.name, "state");
		assert_int_equal(e.code, GT_USAGE);
	}
	if (redis_tls_known()) {
		assert_int_equal(redis_address_parse(&a, "rediss://h:1/2?ca_file=ca&cert_file=/c&key_file=/k",
				     "/state", &e), 0);
		assert_true(a.tls);
		assert_string_equal(a.ca_file, "/state/ca");
		assert_string_equal(a.cert_file, "/c");
		assert_string_equal(a.key_file, "/k");
		redis_address_release(&a);
	} else {
		assert_null(store_open("rediss://host", "/state", &e));
		assert_string_equal(e.name, "state");
		assert_int_equal(e.code, GT_USAGE);
	}
	/* a password is neither taken from gt.toml nor shown */
	assert_null(store_open("redis://me:hush-4711@host/0", "/state", &e));
	assert_string_equal(e.name, "state");
	assert_null(strstr(e.msg, "hush"));
	assert_null(strstr(e.hint, "hush"));
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		WITH_SERVER(test_keys_in_the_server),
		WITH_SERVER(test_refuses_what_could_lose),
		WITH_SERVER(test_password),
		WITH_SERVER(test_leaves_what_is_not_ours),
		WITH_SERVER(test_whose_store_it_is),
		WITH_SERVER(test_one_machine_a_host),
		WITH_SERVER(test_hosts_own_records),
		WITH_SERVER(test_a_late_commit_is_refused),
		WITH_SERVER(test_reconnects),
		WITH_SERVER(test_lost_answer),
		WITH_SERVER(test_damage_is_seen),
		WITH_SERVER(test_foreign_is_not_damaged),
		WITH_SERVER(test_format_1_is_converted),
		WITH_SERVER(test_down),
		WITH_SERVER(test_opening_has_an_end),
		WITH_SERVER(test_every_command_has_an_end),
		WITH_SERVER(test_large_records),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests_name("redis", tests, NULL, NULL);
}
