/*
 * Agents leave by trees, when all members have ended and are old enough. A table of bits has, by the hash of
 * its name, each agent of a tree that stays: first whoever stays for itself, then, walk by walk over all
 * links, whoever is next to one of them, until a walk adds nobody. It has one size however many agents there
 * are. Two may share a bit: then a tree stays until a sweep with another seed.
 */
#include <stdlib.h>
#include <string.h>

#include "records/history/history_private.h"
#include "base/encode.h"
#include "base/io.h"

#define BYTES ((size_t)1 << 20)

static uint64_t
hash_name(uint64_t seed, const char *agent)
{
	uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325);

	for (; *agent != '\0'; agent++)
		h = (h ^ (unsigned char)*agent) * UINT64_C(0x100000001b3);
	return (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 32;
}

bool
history_is_held(const struct history_hold *d, const char *agent)
{
	uint64_t bit = hash_name(d->seed, agent) % (BYTES * 8);

	return (d->bits[bit / 8] >> bit % 8 & 1) != 0;
}

void
history_hold(struct history_hold *d, const char *agent)
{
	uint64_t bit = hash_name(d->seed, agent) % (BYTES * 8);

	d->grown = d->grown || !history_is_held(d, agent);
	d->bits[bit / 8] |= (unsigned char)(1u << bit % 8);
}

void
history_hold_begin(struct history_hold *d)
{
	char hex[9];

	history_hold_release(d);
	io_random_hex(hex, 4);
	*d = (struct history_hold){ .bits = xcalloc(1, BYTES), .seed = strtoull(hex, NULL, 16) };
}

void
history_hold_release(struct history_hold *d)
{
	free(d->bits);
	*d = (struct history_hold){ 0 };
}

bool
history_hold_load(struct history_hold *d, const json_t *state)
{
	const char *text = json_text(state, "hold", "");
	struct buf bits = BUF_INIT;

	*d = (struct history_hold){ .seed = (uint64_t)json_number(state, "seed", 0),
		.grown = json_flag(state, "grown", false) };
	if (base64_take(&bits, text, strlen(text)) == 0 && bits.len == BYTES)
		d->bits = (unsigned char *)buf_detach(&bits);
	buf_release(&bits);
	return d->bits != NULL;
}

void
history_hold_save(const struct history_hold *d, json_t *state)
{
	struct buf text = BUF_INIT;

	if (d->bits == NULL)
		return;
	base64_put(&text, d->bits, BYTES);
	json_put(state, "hold", text.data);
	json_put_int(state, "seed", (int64_t)d->seed);
	json_put_flag(state, "grown", d->grown);
	buf_release(&text);
}

/* A made root belongs to the tree that it was taken from. */
void
history_hold_row(struct history_hold *d, const struct record *r, bool stays)
{
	const char *agent = strchr(r->key, ':') + 1;
	struct json_slice o;
	char *above;

	if (stays)
		history_hold(d, agent);
	if (!json_slice_whole(r->value, strlen(r->value), &o))
		return;
	above = json_slice_copy(json_slice_get(o, "parent"), NULL);
	if (above == NULL)
		above = json_slice_copy(json_slice_get(o, "adopted_from"), NULL);
	if (above != NULL && history_is_held(d, agent))
		history_hold(d, above);
	else if (above != NULL && history_is_held(d, above))
		history_hold(d, agent);
	free(above);
}

/* With its link and blob, unless somebody made it anew. */
int
history_take_agent(struct history *h, const struct record *r, struct json_slice o, struct err *e)
{
	const char *agent = r->key + strlen("session:");
	char *node = xasprintf("tree:%s", agent), *blob = xasprintf("blob:%s", agent);
	struct record link;
	int ret = store_get(h->s, node, &link, e);

	(void)o;
	if (ret > 0 && strcmp(link.tag, "ended") != 0) {
		h->conflict = true;
		ret = 0;
	} else if (ret >= 0) {
		history_take(h, r);
		if (ret > 0)
			history_take(h, &link);
		ret = history_take_key(h, blob, e);
	}
	store_record_release(&link);
	free(node);
	free(blob);
	return ret < 0 ? -1 : 0;
}
