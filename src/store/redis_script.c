/*
 * What is done inside the server, each script at one moment. A record is plain JSON at its own key; beside all records stand
 *
 *     gt-recover:records     hash  key -> "VERSION TAG"
 *     gt-recover:keys        sorted set of all keys, in the order of their bytes
 *     gt-recover:tag:TAG     the same of those with that tag
 *     gt-recover:seq         counts commits; a new record's version, above all versions so far
 *     gt-recover:done        sorted set of the last commits' ids; "!ID": it was lost and must not come any more
 *     gt-recover:store       "FORMAT ID" of this store
 *     gt-recover:hosts       hash  host -> "BOOT SEEN", the boot id under which it was seen last, and when (ms since 1970)
 *     gt-recover:server      the run of the server that was seen last
 *
 * A script that fails on its way is not undone, so each looks at everything first and writes then.
 */
#include "store/redis_private.h"

/*
 * format, a new id, the server's run, "look" or "", the host, its boot id, for how long it is up (ms). Answers "ok", identity, the server's
 * clock in ms; or "newer" or "machine" and what stands there: a machine that was up already when the host was last seen under another boot
 * id is another machine. A server that was killed may have read from the kernel's cache what is not on the disk: the first write syncs all
 * of it. A new store counts from the clock on, so that it repeats no version of one that was here before.
 */
const char redis_script_open[] =
    "local store = redis.call('GET', 'gt-recover:store')\n"
    "local time = redis.call('TIME')\n"
    "local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))\n"
    "if store and string.match(store, '^(%d+) ') ~= ARGV[1] then return {'newer', store} end\n"
    "local host, seen = string.match(redis.call('HGET', 'gt-recover:hosts', ARGV[5]) or '', '^(.*) (%d+)$')\n"
    "if host and host ~= ARGV[6] and now - ARGV[7] + 1000 < tonumber(seen) then return {'machine', host} end\n"
    "if ARGV[4] == 'look' then return {'ok', store or '', now} end\n"
    "if not store then\n"
    "  store = ARGV[1] .. ' ' .. ARGV[2]\n"
    "  redis.call('SET', 'gt-recover:seq', now)\n"
    "  redis.call('SET', 'gt-recover:store', store)\n"
    "end\n"
    "if host ~= ARGV[6] or now - seen > 10000 then redis.call('HSET', 'gt-recover:hosts', ARGV[5], ARGV[6] .. ' ' .. now) end\n"
    "if redis.call('GET', 'gt-recover:server') ~= ARGV[3] then redis.call('SET', 'gt-recover:server', ARGV[3]) end\n"
    "return {'ok', store, now}\n";

/* key. Answers nothing for no record; "VERSION TAG" and the value; "VERSION TAG" alone when somebody took the value away. */
const char redis_script_get[] =
    "local row = redis.call('HGET', 'gt-recover:records', ARGV[1])\n"
    "if not row then return {} end\n"
    "local value = redis.call('GET', ARGV[1])\n"
    "if not value then return {row} end\n"
    "return {row, value}\n";

/*
 * set of keys, first, last (as ZRANGEBYLEX has them), how many, how many bytes of values are enough. Answers key, row, value in turn; two
 * texts at the end are a key and its row without a value.
 */
const char redis_script_scan[] =
    "local keys = redis.call('ZRANGEBYLEX', ARGV[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])\n"
    "local out, size = {}, 0\n"
    "for _, key in ipairs(keys) do\n"
    "  local value = redis.call('GET', key)\n"
    "  out[#out + 1] = key\n"
    "  out[#out + 1] = redis.call('HGET', 'gt-recover:records', key) or ''\n"
    "  if not value then return out end\n"
    "  out[#out + 1] = value\n"
    "  size = size + #value\n"
    "  if size >= tonumber(ARGV[5]) then return out end\n"
    "end\n"
    "return out\n";

/*
 * identity, commit id, then for each change: "put", "delete" or "check", key, expected version (-1: any), tag, value. Answers "done";
 * "conflict" or "foreign" and the key; "replaced"; "never" when redis_script_settle was faster.
 */
const char redis_script_commit[] =
    "if redis.call('GET', 'gt-recover:store') ~= ARGV[1] then return {'replaced'} end\n"
    "if redis.call('ZSCORE', 'gt-recover:done', '!' .. ARGV[2]) then return {'never'} end\n"
    "redis.call('ZCARD', 'gt-recover:keys')\n"
    "local versions, tags, writes = {}, {}, false\n"
    "for i = 3, #ARGV, 5 do\n"
    "  local key, version, tag = ARGV[i + 1], '0', false\n"
    "  local row = redis.call('HGET', 'gt-recover:records', key)\n"
    "  if row then version, tag = string.match(row, '^(%d+) (.*)$')\n"
    "  elseif redis.call('EXISTS', key) == 1 then return {'foreign', key} end\n"
    "  if ARGV[i + 2] ~= '-1' and ARGV[i + 2] ~= version then return {'conflict', key} end\n"
    "  versions[i], tags[i] = version, tag\n"
    "  if ARGV[i] == 'put' then redis.call('ZCARD', 'gt-recover:tag:' .. ARGV[i + 3]) end\n"
    "  if ARGV[i] == 'put' or (ARGV[i] == 'delete' and tag) then writes = true end\n"
    "end\n"
    "if not writes then return {'done'} end\n"
    "local seq = redis.call('INCR', 'gt-recover:seq')\n"
    "for i = 3, #ARGV, 5 do\n"
    "  local key, tag = ARGV[i + 1], tags[i]\n"
    "  if tag and (ARGV[i] == 'delete' or (ARGV[i] == 'put' and tag ~= ARGV[i + 3])) then\n"
    "    redis.call('ZREM', 'gt-recover:tag:' .. tag, key)\n"
    "  end\n"
    "  if ARGV[i] == 'put' then\n"
    "    local version = tag and tonumber(versions[i]) + 1 or seq\n"
    "    redis.call('SET', key, ARGV[i + 4])\n"
    "    redis.call('HSET', 'gt-recover:records', key, string.format('%.0f ', version) .. ARGV[i + 3])\n"
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
    "return {'done'}\n";

/*
 * identity, commit id. Answers "done", "replaced", or "never": the commit was not made, and is refused should it come yet; it may stand in
 * the buffer of a connection that we gave up.
 */
const char redis_script_settle[] =
    "if redis.call('GET', 'gt-recover:store') ~= ARGV[1] then return {'replaced'} end\n"
    "if redis.call('ZSCORE', 'gt-recover:done', ARGV[2]) then return {'done'} end\n"
    "redis.call('ZADD', 'gt-recover:done', redis.call('GET', 'gt-recover:seq'), '!' .. ARGV[2])\n"
    "return {'never'}\n";

/* cursor (SCAN), pattern. Answers the next cursor and the keys of texts that are no records of ours. */
const char redis_script_strangers[] =
    "local step = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 1000)\n"
    "local out = {step[1]}\n"
    "for _, key in ipairs(step[2]) do\n"
    "  if redis.call('HEXISTS', 'gt-recover:records', key) == 0 and redis.call('TYPE', key).ok == 'string' then out[#out + 1] = key end\n"
    "end\n"
    "return out\n";
