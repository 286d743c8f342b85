#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/host.h"
#include "base/io.h"
#include "base/utf8.h"

/*
 * What is done inside the server, each script at one moment. A record is plain JSON at its own
 * key; beside all records stand
 *
 *     gt-recover:records     hash  key -> "VERSION SUM TAG"
 *     gt-recover:keys        sorted set of all keys, in the order of their bytes
 *     gt-recover:tag:TAG     the same of those with that tag
 *     gt-recover:tally       hash  KIND:TAG -> "N SUM", the records of a kind and tag, their sums
 *     gt-recover:checked     the run of the server in which all was last compared with the tally
 *     gt-recover:convert     while format 1 is converted: the last key that is done
 *     gt-recover:seq         counts commits; a new record's version, above all versions so far
 *     gt-recover:done        sorted set of the last commits' ids; "!ID": it was lost and must not
 *     come any more
 *     gt-recover:last        hash  commit -> id of the last one
 *     gt-recover:store       "FORMAT ID" of this store
 *     gt-recover:hosts       hash  host -> "BOOT SEEN", the boot id under which it was seen last,
 *     and when (ms since 1970)
 *     gt-recover:server      the run of the server that was seen last
 *     gt-recover:accepted    by hand: the run of a server that took over, and may be used (redis_failover.c)
 *     gt-recover:failover    the version from which on commits are later than the last take-over
 *     gt-recover:adopted     hash  key -> the text of another program that a record of ours replaced
 *
 * A script that fails on its way is not undone, so each looks at everything first and writes then.
 * SUM is the first 12 hex digits of SHA-1 over key, version, tag and value: what a script has, and
 * 48 bits, which its numbers add exactly.
 */
#define SUM_FUNCTIONS \
	"local function sum(key, version, tag, value)\n" \
	"  local text = key .. '\\0' .. version .. '\\0' .. tag .. '\\0' .. value\n" \
	"  return string.sub(redis.sha1hex(text), 1, 12)\n" \
	"end\n" \
	"local function count(key, tag, n, hex)\n" \
	"  local field = (string.match(key, '^([^:]*):') or '') .. ':' .. tag\n" \
	"  local was = redis.call('HGET', 'gt-recover:tally', field) or '0 0'\n" \
	"  local have, all = string.match(was, '^(%d+) (%d+)$')\n" \
	"  local total = (tonumber(all) + n * tonumber(hex, 16)) % 281474976710656\n" \
	"  local now = string.format('%.0f %.0f', tonumber(have) + n, total)\n" \
	"  redis.call('HSET', 'gt-recover:tally', field, now)\n" \
	"end\n"
/* The parts of a sound record, or nothing. */
#define SOUND_FUNCTION \
	"local function sound(key, row, value)\n" \
	"  local version, hex, tag = string.match(row or '', '^(%d+) (%x+) (.*)$')\n" \
	"  if not value or not version or sum(key, version, tag, value) ~= hex then return end\n" \
	"  if not redis.call('ZSCORE', 'gt-recover:keys', key) then return end\n" \
	"  if not redis.call('ZSCORE', 'gt-recover:tag:' .. tag, key) then return end\n" \
	"  return version, tag, hex\n" \
	"end\n"

/*
 * format, a new id, the server's run, "look" or "", the host, its boot id, for how long it is up
 * (ms), "promoted" or "", what this host knows of its last commit: identity, id, number ("": nothing),
 * "here" or "" when that was at another address.
 * Answers "ok", identity, the server's clock in ms, and for a look what a failover would be;
 * "convert": redis_script_convert first, "older" the same for a look; "accept": redis_script_accept
 * first; or "newer" or "machine" and what stands there: a machine that was up already when the host
 * was last seen under another boot id is another machine; or "failover" and "promoted", "commit" or
 * "emptied": this server may lack, or lacks, what another one had confirmed, or has nothing of this
 * host's store. A server that was killed may have read from the kernel's cache what is not on the
 * disk: the first write syncs all of it. A new store counts from the clock on, so that it repeats no
 * version of one that was here before.
 */
const char redis_script_open[] =
    "local store = redis.call('GET', 'gt-recover:store')\n"
    "local time = redis.call('TIME')\n"
    "local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))\n"
    "local older = store and string.match(store, '^1 ') or redis.call('EXISTS', 'gt-recover:convert') == 1\n"
    "if older then return {ARGV[4] == 'look' and 'older' or 'convert', store} end\n"
    "if store and string.match(store, '^(%d+) ') ~= ARGV[1] then return {'newer', store} end\n"
    "local host, seen = string.match(redis.call('HGET', 'gt-recover:hosts', ARGV[5]) or '', '^(.*) (%d+)$')\n"
    "if host and host ~= ARGV[6] and now - ARGV[7] + 1000 < tonumber(seen) then return {'machine', host} "
    "end\n"
    "local lost, server = false, redis.call('GET', 'gt-recover:server')\n"
    "if store and server and server ~= ARGV[3] and ARGV[8] == 'promoted' then lost = 'promoted' end\n"
    "local floor = redis.call('GET', 'gt-recover:failover') or '0'\n"
    "if store and ARGV[9] == store and tonumber(ARGV[11]) >= tonumber(floor) and\n"
    "    not redis.call('ZSCORE', 'gt-recover:done', ARGV[10]) then\n"
    "  local first = redis.call('ZRANGE', 'gt-recover:done', 0, 0, 'WITHSCORES')[2]\n"
    "  if not first or tonumber(first) < tonumber(ARGV[11]) then lost = 'commit' end\n"
    "end\n"
    "local was, is = string.match(ARGV[9], ' (.*)$'), store and string.match(store, ' (.*)$')\n"
    "local anew = was and was ~= is and tonumber(ARGV[11]) >= tonumber(floor)\n"
    "if ARGV[12] == 'here' and anew then lost = 'emptied' end\n"
    "if ARGV[4] == 'look' then return {'ok', store or '', now, lost or ''} end\n"
    "if lost and redis.call('GET', 'gt-recover:accepted') == ARGV[3] then return {'accept'} end\n"
    "if lost then return {'failover', lost} end\n"
    "if not store then\n"
    "  store = ARGV[1] .. ' ' .. ARGV[2]\n"
    "  redis.call('SET', 'gt-recover:seq', now)\n"
    "  redis.call('SET', 'gt-recover:store', store)\n"
    "end\n"
    "if host ~= ARGV[6] or now - seen > 10000 then redis.call('HSET', 'gt-recover:hosts', ARGV[5], ARGV[6] "
    ".. ' ' .. now) end\n"
    "if redis.call('GET', 'gt-recover:server') ~= ARGV[3] then redis.call('SET', 'gt-recover:server', "
    "ARGV[3]) end\n"
    "return {'ok', store, now}\n";

/*
 * The server's run, accepted by hand. No version of a record and no fence of before holds from here
 * on: those that got lost may be in use somewhere.
 */
const char redis_script_accept[] =
    SUM_FUNCTIONS SOUND_FUNCTION
    "if redis.call('GET', 'gt-recover:accepted') ~= ARGV[1] then return {'done'} end\n"
    "local time = redis.call('TIME')\n"
    "local seq = tonumber(redis.call('GET', 'gt-recover:seq') or '0')\n"
    "local floor = string.format('%.0f', math.max(seq, time[1] * 1000 + math.floor(time[2] / 1000)) + 1)\n"
    "local at = 0\n"
    "redis.call('HLEN', 'gt-recover:tally')\n"
    "repeat\n"
    "  local keys = redis.call('ZRANGE', 'gt-recover:keys', at, at + 999)\n"
    "  for _, key in ipairs(keys) do\n"
    "    local value, row = redis.call('GET', key), redis.call('HGET', 'gt-recover:records', key)\n"
    "    local version, tag, was = sound(key, row, value)\n"
    "    if version then\n"
    "      local hex = sum(key, floor, tag, value)\n"
    "      redis.call('HSET', 'gt-recover:records', key, floor .. ' ' .. hex .. ' ' .. tag)\n"
    "      count(key, tag, -1, was)\n"
    "      count(key, tag, 1, hex)\n"
    "    end\n"
    "  end\n"
    "  at = at + 1000\n"
    "until #keys == 0\n"
    "redis.call('SET', 'gt-recover:seq', floor)\n"
    "redis.call('SET', 'gt-recover:failover', floor)\n"
    "redis.call('SET', 'gt-recover:server', ARGV[1])\n"
    "redis.call('DEL', 'gt-recover:accepted')\n"
    "return {'done'}\n";

/*
 * How many keys. Converts so many records of format 1, whose row is "VERSION TAG", and answers
 * "more" or "done". From the first call on a client that knows format 1 alone is refused, and
 * nobody commits before the last one.
 */
const char redis_script_convert[] =
    SUM_FUNCTIONS
    "local at = redis.call('GET', 'gt-recover:convert')\n"
    "local id = string.match(redis.call('GET', 'gt-recover:store') or '', '^1 (.*)$')\n"
    "if not at and not id then return {'done'} end\n"
    "redis.call('HLEN', 'gt-recover:tally')\n"
    "local from = at and at ~= '' and '(' .. at or '-'\n"
    "local keys = redis.call('ZRANGEBYLEX', 'gt-recover:keys', from, '+', 'LIMIT', 0, ARGV[1])\n"
    "if id then redis.call('SET', 'gt-recover:store', '2 ' .. id) end\n"
    "for _, key in ipairs(keys) do\n"
    "  local row = redis.call('HGET', 'gt-recover:records', key) or ''\n"
    "  local version, tag = string.match(row, '^(%d+) (.*)$')\n"
    "  local value = redis.call('GET', key)\n"
    "  if version and value then\n"
    "    local hex = sum(key, version, tag, value)\n"
    "    redis.call('HSET', 'gt-recover:records', key, version .. ' ' .. hex .. ' ' .. tag)\n"
    "    count(key, tag, 1, hex)\n"
    "  end\n"
    "end\n"
    "if #keys == 0 then redis.call('DEL', 'gt-recover:convert') return {'done'} end\n"
    "redis.call('SET', 'gt-recover:convert', keys[#keys])\n"
    "return {'more'}\n";

/*
 * key. Answers nothing for no record; "VERSION SUM TAG" and the value; one text alone when the
 * value, the row, the sum and the sets do not agree.
 */
const char redis_script_get[] =
    SUM_FUNCTIONS SOUND_FUNCTION
    "local row = redis.call('HGET', 'gt-recover:records', ARGV[1])\n"
    "if not row and not redis.call('ZSCORE', 'gt-recover:keys', ARGV[1]) then return {} end\n"
    "local value = row and redis.call('GET', ARGV[1])\n"
    "if not sound(ARGV[1], row, value) then return {row or ''} end\n"
    "return {row, value}\n";

/*
 * set of keys, first, last (as ZRANGEBYLEX has them), how many, how many bytes of values are
 * enough, the tag ("" with the next empty: any), "tag" or "", the kind whose tally is wanted ("*": all
 * kinds), "tally" or "". Answers the tally, "N SUM", then key, row, value in turn; two texts at the
 * end are a key and its row where the record is not sound.
 */
const char redis_script_scan[] =
    SUM_FUNCTIONS SOUND_FUNCTION
    "local keys = redis.call('ZRANGEBYLEX', ARGV[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])\n"
    "local n, total = 0, 0\n"
    "if ARGV[9] == 'tally' then\n"
    "  local all = redis.call('HGETALL', 'gt-recover:tally')\n"
    "  for i = 1, #all, 2 do\n"
    "    local kind, tag = string.match(all[i], '^([^:]*):(.*)$')\n"
    "    if (ARGV[8] == '*' or kind == ARGV[8]) and (ARGV[7] == '' or tag == ARGV[6]) then\n"
    "      local have, sums = string.match(all[i + 1], '^(%d+) (%d+)$')\n"
    "      n, total = n + (tonumber(have) or 0), (total + (tonumber(sums) or 0)) % 281474976710656\n"
    "    end\n"
    "  end\n"
    "end\n"
    "local out, size = {string.format('%.0f %.0f', n, total)}, 0\n"
    "for _, key in ipairs(keys) do\n"
    "  local value, row = redis.call('GET', key), redis.call('HGET', 'gt-recover:records', key) or ''\n"
    "  out[#out + 1] = key\n"
    "  out[#out + 1] = row\n"
    "  local version, tag = sound(key, row, value)\n"
    "  if not version or (ARGV[7] == 'tag' and tag ~= ARGV[6]) then return out end\n"
    "  out[#out + 1] = value\n"
    "  size = size + #value\n"
    "  if size >= tonumber(ARGV[5]) then return out end\n"
    "end\n"
    "return out\n";

/*
 * identity, commit id, then for each change: "put", "delete" or "check", key, expected version
 * (-1: any, -2: another program's text, which is kept), tag, value. Answers "done" and, where
 * something was written, the commit's number; "conflict", "foreign" or "damaged" and the key;
 * "replaced"; "never" when redis_script_resolve was faster.
 */
const char redis_script_commit[] =
    SUM_FUNCTIONS SOUND_FUNCTION
    "if redis.call('GET', 'gt-recover:store') ~= ARGV[1] then return {'replaced'} end\n"
    "if redis.call('ZSCORE', 'gt-recover:done', '!' .. ARGV[2]) then return {'never'} end\n"
    "redis.call('HLEN', 'gt-recover:tally')\n"
    "local versions, tags, sums, theirs, writes = {}, {}, {}, {}, false\n"
    "for i = 3, #ARGV, 5 do\n"
    "  local key, version, tag = ARGV[i + 1], '0', false\n"
    "  local row = redis.call('HGET', 'gt-recover:records', key)\n"
    "  if row then\n"
    "    version, tag, sums[i] = sound(key, row, redis.call('GET', key))\n"
    "    if not version then return {'damaged', key} end\n"
    "  elseif redis.call('ZSCORE', 'gt-recover:keys', key) then return {'damaged', key}\n"
    "  elseif redis.call('EXISTS', key) == 1 then\n"
    "    if ARGV[i + 2] ~= '-2' or redis.call('TYPE', key).ok ~= 'string' then return {'foreign', key} end\n"
    "    theirs[i], version = redis.call('GET', key), '-2'\n"
    "  end\n"
    "  if ARGV[i + 2] ~= '-1' and ARGV[i + 2] ~= version then return {'conflict', key} end\n"
    "  versions[i], tags[i] = version, tag\n"
    "  if ARGV[i] == 'put' then redis.call('ZCARD', 'gt-recover:tag:' .. ARGV[i + 3]) end\n"
    "  if ARGV[i] == 'put' or (ARGV[i] == 'delete' and (tag or theirs[i])) then writes = true end\n"
    "end\n"
    "if not writes then return {'done'} end\n"
    /* what a user may not do, or there is no memory for, fails here: none of these changes anything */
    "for i = 3, #ARGV, 5 do\n"
    "  local there = (tags[i] or theirs[i]) and 'NX' or 'XX'\n"
    "  if ARGV[i] ~= 'check' then redis.call('SET', ARGV[i + 1], '', there) end\n"
    "end\n"
    "for _, set in ipairs({'gt-recover:keys', 'gt-recover:done', 'gt-recover:tag:'}) do\n"
    "  redis.call('ZREM', set, '')\n"
    "  redis.call('ZADD', set, 'XX', 0, '')\n"
    "  redis.call('ZREMRANGEBYRANK', set, 1, 0)\n"
    "end\n"
    "redis.call('HDEL', 'gt-recover:records', '')\n"
    "if next(theirs) then redis.call('HDEL', 'gt-recover:adopted', '') end\n"
    "redis.call('DEL', 'gt-recover:accepted')\n"
    "local seq = redis.call('INCR', 'gt-recover:seq')\n"
    "redis.call('HSET', 'gt-recover:last', 'commit', ARGV[2])\n"
    "for i = 3, #ARGV, 5 do\n"
    "  local key, tag = ARGV[i + 1], tags[i]\n"
    "  if tag and (ARGV[i] == 'delete' or (ARGV[i] == 'put' and tag ~= ARGV[i + 3])) then\n"
    "    redis.call('ZREM', 'gt-recover:tag:' .. tag, key)\n"
    "  end\n"
    "  if tag and ARGV[i] ~= 'check' then count(key, tag, -1, sums[i]) end\n"
    "  if theirs[i] and ARGV[i] ~= 'check' then\n"
    "    redis.call('HSET', 'gt-recover:adopted', key, theirs[i])\n"
    "    redis.call('DEL', key)\n"
    "  end\n"
    "  if ARGV[i] == 'put' then\n"
    "    local version = string.format('%.0f', tag and tonumber(versions[i]) + 1 or seq)\n"
    "    local hex = sum(key, version, ARGV[i + 3], ARGV[i + 4])\n"
    "    redis.call('SET', key, ARGV[i + 4])\n"
    "    redis.call('HSET', 'gt-recover:records', key, version .. ' ' .. hex .. ' ' .. ARGV[i + 3])\n"
    "    count(key, ARGV[i + 3], 1, hex)\n"
    "    redis.call('ZADD', 'gt-recover:keys', 0, key)\n"
    "    redis.call('ZADD', 'gt-recover:tag:' .. ARGV[i + 3], 0, key)\n"
    "  elseif ARGV[i] == 'delete' and tag then\n"
    "    redis.call('DEL', key)\n"
    "    redis.call('HDEL', 'gt-recover:records', key)\n"
    "    redis.call('ZREM', 'gt-recover:keys', key)\n"
    "  end\n"
    "end\n"
    "redis.call('ZADD', 'gt-recover:done', seq, ARGV[2])\n"
    "redis.call('ZREMRANGEBYRANK', 'gt-recover:done', 0, -65537)\n"
    "return {'done', string.format('%.0f', seq)}\n";

/*
 * identity, commit id. Answers "done" and its number, "replaced", or "never": the commit was not made, and is
 * refused should it come yet; it may stand in the buffer of a connection that we gave up.
 */
const char redis_script_resolve[] =
    "if redis.call('GET', 'gt-recover:store') ~= ARGV[1] then return {'replaced'} end\n"
    "local at = redis.call('ZSCORE', 'gt-recover:done', ARGV[2])\n"
    "if at then return {'done', at} end\n"
    "redis.call('ZADD', 'gt-recover:done', redis.call('GET', 'gt-recover:seq'), '!' .. ARGV[2])\n"
    "return {'never'}\n";

/*
 * The store in a Redis server, which several may share: the six calls. Each is one script
 * (redis_script.c). The server confirms what is on its disk; when its answer to a commit is lost,
 * another connection asks by the commit's id, and forbids what did not come so far.
 */

#define PATIENCE_MS 10000
/* records of one script, while which the server does nothing else */
#define BATCH ((size_t)100)
#define BATCH_BYTES ((size_t)1 << 20)
#define OWN_KEYS "gt-recover:"
#define SUM_MASK ((UINT64_C(1) << 48) - 1)
#define WORDS_OF_CHANGE 5

#define WORD(text) { (text), strlen(text) }
#define COUNT(v) (sizeof (v) / sizeof (v)[0])

static int64_t
redis_now(struct store *base)
{
	struct redis_store *s = (struct redis_store *)base;
	const struct redis_word words[] = { WORD("TIME") };
	redisReply *r;
	bool lost;

	r = s->conn != NULL ? redis_send(s, words, COUNT(words), 0, &lost, NULL) : NULL;
	if (redis_text_at(r, 0) != NULL && redis_text_at(r, 1) != NULL)
		s->ahead = strtoll(r->element[0]->str, NULL, 10) * 1000 +
		    strtoll(r->element[1]->str, NULL, 10) / 1000 - clock_boot_ms();
	if (r != NULL)
		freeReplyObject(r);
	return clock_boot_ms() + s->ahead;
}

/* Somebody else wrote at our keys. -1. */
static int
damaged_key(const struct redis_store *s, const char *key, struct err *e)
{
	struct buf shown = BUF_INIT;
	struct err own = ERR_INIT;

	utf8_escape(&shown, key, strlen(key), 120);
	if (e == NULL)
		e = &own;
	err_set(e, GT_FAIL, "corrupt",
	    "the Redis store %s is damaged: the record %s is incomplete or does not match its checksum",
	    s->at.shown, shown.data);
	err_hint(e,
	    "The keys were changed by hand, or the server's files are corrupt: restore its " REDIS_FILES
	    " from a backup, or DEL the key, and HDEL and ZREM it in gt-recover:*");
	store_note_damage(e);
	buf_release(&shown);
	return -1;
}

/* "VERSION SUM TAG"; the tag points into row. false: it is none. */
static bool
read_row(const redisReply *row, int64_t *version, uint64_t *sum, const char **tag)
{
	char *end;

	if (row == NULL)
		return false;
	*version = strtoll(row->str, &end, 10);
	if (*version < 1 || *end != ' ')
		return false;
	*sum = strtoull(end + 1, &end, 16);
	*tag = end + 1;
	return *end == ' ';
}

static int
redis_get(struct store *base, const char *key, struct record *out, struct err *e)
{
	struct redis_store *s = (struct redis_store *)base;
	const struct redis_word words[] = { WORD("EVAL"), WORD(redis_script_get), WORD("0"), WORD(key) };
	redisReply *r = redis_ask(s, words, COUNT(words), e);
	const redisReply *value = redis_text_at(r, 1);
	const char *tag;
	int64_t version;
	uint64_t sum;
	int ret = 0;

	if (r == NULL)
		return -1;
	if (r->type != REDIS_REPLY_ARRAY) {
		ret = redis_bad_reply(s, e);
	} else if (r->elements > 0 &&
	    (value == NULL || !read_row(redis_text_at(r, 0), &version, &sum, &tag))) {
		ret = damaged_key(s, key, e);
	} else if (r->elements > 0) {
		*out = (struct record){ .key = xstrdup(key),
			.version = version,
			.tag = xstrdup(tag),
			.value = xstrdup(value->str) };
		ret = 1;
	}
	freeReplyObject(r);
	return ret;
}

/* Adds the records of one answer, and what proves them; *bytes of values. */
static int
take_records(struct redis_store *s, const redisReply *r, struct records *out, struct scan_proof *proof,
    size_t *bytes, struct err *e)
{
	const redisReply *kept = redis_text_at(r, 0);
	struct store_tally tally;
	char *end;

	if (kept == NULL)
		return redis_bad_reply(s, e);
	tally.n = strtoull(kept->str, &end, 10);
	tally.sum = strtoull(end, NULL, 10);
	store_proof_keep(proof, &tally);
	for (size_t i = 1; i < r->elements; i += 3) {
		const redisReply *key = redis_text_at(r, i), *value = redis_text_at(r, i + 2);
		const char *tag;
		int64_t version;
		uint64_t sum;

		if (key == NULL)
			return redis_bad_reply(s, e);
		if (value == NULL || !read_row(redis_text_at(r, i + 1), &version, &sum, &tag))
			return damaged_key(s, key->str, e);
		store_records_add(out, key->str, version, tag, value->str);
		proof->rows.n++;
		proof->rows.sum = (proof->rows.sum + sum) & SUM_MASK;
		*bytes += value->len;
	}
	return 0;
}

static int
redis_scan(struct store *base, const char *prefix, const char *tag, const char *after, size_t limit,
    struct records *out, struct scan_proof *proof, struct err *e)
{
	struct redis_store *s = (struct redis_store *)base;
	char *set = tag != NULL ? xasprintf(OWN_KEYS "tag:%s", tag) : xstrdup(OWN_KEYS "keys");
	char *end = store_prefix_end(prefix), *last = end != NULL ? xasprintf("(%s", end) : xstrdup("+"),
	     *kind = prefix[0] != '\0' ? xstrndup(prefix, store_kind_length(prefix)) : xstrdup("*"), *first,
	     wanted[24], enough[24];
	size_t had = out->n, n, asked, bytes;
	int ret = 0;

	first =
	    after != NULL && strcmp(after, prefix) >= 0 ? xasprintf("(%s", after) : xasprintf("[%s", prefix);
	snprintf(enough, sizeof enough, "%zu", BATCH_BYTES);
	do {
		asked = limit - (out->n - had) < BATCH ? limit - (out->n - had) : BATCH;
		snprintf(wanted, sizeof wanted, "%zu", asked);
		n = out->n;
		bytes = 0;
		{
			const struct redis_word words[] = { WORD("EVAL"), WORD(redis_script_scan), WORD("0"),
				WORD(set), WORD(first), WORD(last), WORD(wanted), WORD(enough),
				WORD(tag != NULL ? tag : ""), WORD(tag != NULL ? "tag" : ""), WORD(kind),
				WORD(proof->whole ? "tally" : "") };
			redisReply *r = redis_ask(s, words, COUNT(words), e);

			ret = r != NULL ? take_records(s, r, out, proof, &bytes, e) : -1;
			if (r != NULL)
				freeReplyObject(r);
		}
		n = out->n - n;
		if (n > 0) {
			free(first);
			first = xasprintf("(%s", out->v[out->n - 1].key);
		}
	} while (ret == 0 && n > 0 && (n == asked || bytes >= BATCH_BYTES) && out->n - had < limit);
	free(set);
	free(end);
	free(kind);
	free(first);
	free(last);
	return ret;
}

static enum commit
refuse_key(const struct redis_store *s, const char *key, struct err *e)
{
	struct buf shown = BUF_INIT;

	utf8_escape(&shown, key, strlen(key), 120);
	err_set(e, GT_FAIL, "not-ours", "the key %s in the Redis store %s belongs to another program",
	    shown.data, s->at.shown);
	err_hint(e, "Use a separate database: state = \"redis://HOST:PORT/DB\"");
	buf_release(&shown);
	return COMMIT_ERROR;
}

/* The command of a commit; the numbers stand in `text`, which lives as long. */
static struct redis_word *
commit_words(struct redis_store *s, const char *id, const struct change *changes, size_t n, char (*text)[24])
{
	static const char *const kinds[] = {
		[CHANGE_PUT] = "put", [CHANGE_DELETE] = "delete", [CHANGE_CHECK] = "check"
	};
	struct redis_word *words = xcalloc(5 + n * WORDS_OF_CHANGE, sizeof *words), *w = words;

	*w++ = (struct redis_word)WORD("EVAL");
	*w++ = (struct redis_word)WORD(redis_script_commit);
	*w++ = (struct redis_word)WORD("0");
	*w++ = (struct redis_word)WORD(s->identity);
	*w++ = (struct redis_word)WORD(id);
	for (size_t i = 0; i < n; i++) {
		const struct change *c = &changes[i];
		bool put = c->kind == CHANGE_PUT;

		snprintf(text[i], sizeof text[i], "%" PRId64, c->expect);
		*w++ = (struct redis_word)WORD(kinds[c->kind]);
		*w++ = (struct redis_word)WORD(c->key);
		*w++ = (struct redis_word)WORD(text[i]);
		*w++ = (struct redis_word)WORD(put ? c->tag : "");
		*w++ = (struct redis_word)WORD(put ? c->value : "");
	}
	return words;
}

static enum commit
data_replaced(struct redis_store *s, struct err *e)
{
	err_set(e, GT_AGAIN, "replaced", "the Redis store %s was emptied or replaced while this command ran",
	    s->at.shown);
	err_hint(e, "Run the command again");
	return COMMIT_ERROR;
}

/* *again: it was not made, and never will be under that id. */
static enum commit
read_answer(struct redis_store *s, const redisReply *r, bool *again, struct err *e)
{
	const redisReply *said = redis_text_at(r, 0), *key = redis_text_at(r, 1);

	*again = redis_is_text(said, "never");
	if (redis_is_text(said, "done"))
		return COMMIT_DONE;
	if (redis_is_text(said, "conflict") && key != NULL)
		return store_conflict(key->str, e);
	if (redis_is_text(said, "foreign") && key != NULL)
		return refuse_key(s, key->str, e);
	if (redis_is_text(said, "damaged") && key != NULL) {
		damaged_key(s, key->str, e);
		return COMMIT_ERROR;
	}
	if (redis_is_text(said, "replaced"))
		return data_replaced(s, e);
	if (!*again)
		redis_bad_reply(s, e);
	return COMMIT_ERROR;
}

/* The connection broke under a commit: was it made? */
static enum commit
resolve_commit(struct redis_store *s, const char *id, bool *again, struct err *e)
{
	const struct redis_word words[] = { WORD("EVAL"), WORD(redis_script_resolve), WORD("0"),
		WORD(s->identity), WORD(id) };
	struct err why = ERR_INIT;
	redisReply *r = redis_ask(s, words, COUNT(words), &why);
	enum commit answer;

	*again = false;
	if (r == NULL && strcmp(why.name, "replaced") == 0)
		return data_replaced(s, e);
	if (r == NULL && strcmp(why.name, "failed-over") == 0) {
		err_set(e, GT_FAIL, "unknown", "%s; it is unknown whether the change was made", why.msg);
		err_hint(e, "%s", why.hint);
		return COMMIT_UNKNOWN;
	}
	if (r == NULL) {
		err_set(e, GT_FAIL, "unknown", "%s: it is unknown whether the change was made", why.msg);
		err_hint(e, "Start the Redis server, then run the command again");
		return COMMIT_UNKNOWN;
	}
	answer = read_answer(s, r, again, e);
	if (answer == COMMIT_DONE)
		redis_note_commit(s, id, redis_text_at(r, 1));
	freeReplyObject(r);
	return answer;
}

static enum commit
commit_once(
    struct redis_store *s, const struct change *changes, size_t n, int64_t until, bool *again, struct err *e)
{
	char id[33], (*text)[24] = xcalloc(n, sizeof *text);
	struct redis_word *words;
	enum commit answer = COMMIT_ERROR;
	redisReply *r;
	bool lost;

	io_random_hex(id, 16);
	words = commit_words(s, id, changes, n, text);
	*again = false;
	r = redis_send(s, words, 5 + n * WORDS_OF_CHANGE, until, &lost, e);
	if (r != NULL)
		answer = read_answer(s, r, again, e);
	if (answer == COMMIT_DONE)
		redis_note_commit(s, id, redis_text_at(r, 1));
	if (lost || (answer == COMMIT_DONE && fault_point("store-committed") != 0)) {
		redis_disconnect(s);
		answer = resolve_commit(s, id, again, e);
	}
	if (r != NULL)
		freeReplyObject(r);
	free(words);
	free(text);
	return answer;
}

static enum commit
redis_commit(struct store *base, const struct change *changes, size_t n, struct err *e)
{
	struct redis_store *s = (struct redis_store *)base;
	int64_t until = clock_mono_ms() + s->patience_ms;
	struct err own = ERR_INIT;
	enum commit answer;
	bool again;

	if (e == NULL)
		e = &own;
	if (s->readonly) {
		err_set(e, GT_FAIL, "read-only", "the Redis store %s was opened for reading", s->at.shown);
		return COMMIT_ERROR;
	}
	for (size_t i = 0; i < n; i++)
		if (str_starts(changes[i].key, OWN_KEYS))
			return refuse_key(s, changes[i].key, e);
	if (fault_point("store-commit") != 0) {
		err_sys(e, GT_FAIL, "io", "cannot write to the Redis store %s", s->at.shown);
		return COMMIT_ERROR;
	}
	do {
		answer = commit_once(s, changes, n, until, &again, e);
	} while (again && clock_mono_ms() < until);
	if (again) {
		err_set(e, GT_AGAIN, "store-down",
		    "the connection to the Redis store %s failed repeatedly: the change was not made",
		    s->at.shown);
		err_hint(e, "Check the Redis server and the network, then run the command again");
	}
	return answer;
}

/* There is nothing to queue at: who commits reads anew after a conflict. */
static int
redis_lock(struct store *base, struct err *e)
{
	(void)base;
	(void)e;
	return 0;
}

static void
redis_unlock(struct store *base)
{
	(void)base;
}

/* A missing record has no key that could be named. */
static int
redis_damaged(struct store *base, const char *what, struct err *e)
{
	const struct redis_store *s = (struct redis_store *)base;
	struct err own = ERR_INIT;

	if (e == NULL)
		e = &own;
	err_set(e, GT_FAIL, "corrupt", "the Redis store %s is damaged: %s", s->at.shown, what);
	err_hint(e, "Restore the server's " REDIS_FILES " from a backup");
	store_note_damage(e);
	return -1;
}

/* The end of a server is unclean unless it says otherwise: each run of it is checked once. */
static int
redis_check(struct store *base, struct err *e)
{
	struct redis_store *s = (struct redis_store *)base;
	const struct redis_word ask[] = { WORD("GET"), WORD(OWN_KEYS "checked") },
				note[] = { WORD("SET"), WORD(OWN_KEYS "checked"), WORD(s->run) };
	redisReply *r = s->readonly ? NULL : redis_ask(s, ask, COUNT(ask), e);
	bool checked = r != NULL && redis_is_text(r, s->run);

	if (s->readonly && s->doubt[0] != '\0')
		return redis_refuse_failover(s, s->doubt, e);
	if (r == NULL && !s->readonly)
		return -1;
	if (r != NULL)
		freeReplyObject(r);
	if (checked)
		return 0;
	if (store_scan_all(base, e) != 0)
		return -1;
	r = s->readonly ? NULL : redis_ask(s, note, COUNT(note), NULL);
	if (r != NULL)
		freeReplyObject(r);
	return 0;
}

static void
redis_close(struct store *base)
{
	struct redis_store *s = (struct redis_store *)base;

	redis_disconnect(s);
	redis_address_release(&s->at);
	free(s->identity);
	free(s->seen);
	free(s);
}

static const struct backend redis_calls = {
	.close = redis_close,
	.now = redis_now,
	.get = redis_get,
	.scan = redis_scan,
	.commit = redis_commit,
	.lock = redis_lock,
	.unlock = redis_unlock,
	.check = redis_check,
	.damaged = redis_damaged,
	.foreign_keys = redis_foreign_keys,
	.foreign_get = redis_foreign_get,
};

struct store *
redis_open(const char *url, const char *dir, bool look, struct err *e)
{
	struct redis_store *s = xcalloc(1, sizeof *s);

	s->base.calls = &redis_calls;
	s->readonly = look;
	s->patience_ms = fault_wait_ms("GT_REDIS_MS", PATIENCE_MS);
	if (*host_id() == '\0' && host_set("", e) != 0) {
		free(s);
		return NULL;
	}
	s->base.host = xstrdup(host_id());
	s->seen = io_join(dir, "redis.seen");
	if (redis_address_parse(&s->at, url, dir, e) == 0 && redis_connect(s, 0, e) == 0)
		return &s->base;
	store_close(&s->base);
	return NULL;
}
