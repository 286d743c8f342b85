#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_private.h"
#include "base/buf.h"
#include "base/err.h"

/* What other programs keep in the same database. */

#define WORD(text) { (text), strlen(text) }
#define COUNT(v) (sizeof (v) / sizeof (v)[0])

/* key, most bytes. Answers "text" and the text of another program, "large", or "none". */
static const char script_get[] =
    "local ours = redis.call('HEXISTS', 'gt-recover:records', ARGV[1]) == 1\n"
    "if ours or redis.call('TYPE', ARGV[1]).ok ~= 'string' then return {'none'} end\n"
    "if redis.call('STRLEN', ARGV[1]) > tonumber(ARGV[2]) then return {'large'} end\n"
    "return {'text', redis.call('GET', ARGV[1])}\n";

/* cursor (SCAN), pattern. Answers the next cursor and the keys of texts that are no records of ours. */
static const char script_keys[] =
    "local step = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 1000)\n"
    "local out = {step[1]}\n"
    "for _, key in ipairs(step[2]) do\n"
    "  local ours = redis.call('HEXISTS', 'gt-recover:records', key) == 1\n"
    "  if not ours and redis.call('TYPE', key).ok == 'string' then out[#out + 1] = key end\n"
    "end\n"
    "return out\n";

int
redis_foreign_keys(struct store *base, const char *prefix, const char *suffix,
    void (*found)(const char *key, void *arg), void *arg, struct err *e)
{
	struct redis_store *s = (struct redis_store *)base;
	char *pattern = xasprintf("%s*%s", prefix, suffix), *cursor = xstrdup("0");
	int ret = 0;

	do {
		const struct redis_word words[] = { WORD("EVAL"), WORD(script_keys), WORD("0"),
			WORD(cursor), WORD(pattern) };
		redisReply *r = redis_ask(s, words, COUNT(words), e);
		const redisReply *next = redis_text_at(r, 0);

		if (r == NULL || next == NULL) {
			ret = r != NULL ? redis_bad_reply(s, e) : -1;
		} else {
			free(cursor);
			cursor = xstrdup(next->str);
			for (size_t i = 1; i < r->elements; i++)
				if (redis_text_at(r, i) != NULL)
					found(r->element[i]->str, arg);
		}
		if (r != NULL)
			freeReplyObject(r);
	} while (ret == 0 && strcmp(cursor, "0") != 0);
	free(pattern);
	free(cursor);
	return ret;
}

int
redis_foreign_get(struct store *base, const char *key, struct buf *out, struct err *e)
{
	struct redis_store *s = (struct redis_store *)base;
	char most[24];
	int ret = -1;

	snprintf(most, sizeof most, "%zu", STORE_MAX_VALUE);
	const struct redis_word words[] = { WORD("EVAL"), WORD(script_get), WORD("0"),
		WORD(key), WORD(most) };
	redisReply *r = redis_ask(s, words, COUNT(words), e);
	const redisReply *text = redis_text_at(r, 1);

	if (r != NULL && redis_is_text(redis_text_at(r, 0), "none"))
		ret = 0;
	else if (r != NULL && redis_is_text(redis_text_at(r, 0), "large"))
		err_set(e, GT_FAIL, "too-large", "the text of another program at the key %.200s is too large",
		    key);
	else if (text != NULL && redis_is_text(redis_text_at(r, 0), "text")) {
		buf_add(out, text->str, text->len);
		ret = 1;
	} else if (r != NULL) {
		redis_bad_reply(s, e);
	}
	if (r != NULL)
		freeReplyObject(r);
	return ret;
}
