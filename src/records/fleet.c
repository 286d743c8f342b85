#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/records.h"
#include "base/buf.h"
#include "base/err.h"

#define PREFIX "host:"
#define SCHEMA 1
#define MOST_BYTES (STORE_MAX_VALUE / 2)

/* As many agents as fit. *left: how many do not. New reference. */
static json_t *
those_that_fit(const json_t *agents, int64_t *left)
{
	json_t *out = json_array();
	size_t bytes = 0, n = json_array_size(agents), i;

	for (i = 0; i < n; i++) {
		struct buf one = BUF_INIT;

		json_print(&one, json_array_get(agents, i), false);
		bytes += one.len;
		buf_release(&one);
		if (bytes > MOST_BYTES)
			break;
		json_array_append(out, json_array_get(agents, i));
	}
	*left = (int64_t)(n - i);
	return out;
}

static int
put_host(struct store *s, const json_t *agents, int64_t expect, int64_t seen_at, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", store_host(s)), *value, name[HOST_MAX + 1];
	json_t *o = json_object();
	struct timestamp now;
	enum commit answer;
	int64_t left;

	timestamp_now(&now);
	host_name(name);
	json_put_int(o, "schema_version", SCHEMA);
	json_put(o, "name", name);
	json_put(o, "boot_id", now.boot_id);
	json_put_int(o, "seen_at", seen_at);
	json_object_set_new(o, "agents", those_that_fit(agents, &left));
	json_put_int(o, "left_out", left);
	value = record_value(o);
	answer = store_commit(s, &(struct change){ CHANGE_PUT, key, expect, "host", value }, 1, e);
	free(key);
	free(value);
	/* two commands of one host at the same time have seen the same */
	if (answer == COMMIT_CONFLICT && e != NULL)
		err_clear(e);
	return answer == COMMIT_DONE || answer == COMMIT_CONFLICT ? 0 : -1;
}

int
record_fleet_join(struct store *s, struct err *e)
{
	char *key = xasprintf(PREFIX "%s", store_host(s));
	struct record r = { .key = NULL };
	json_t *none = json_array();
	int found = *store_host(s) != '\0' ? store_get(s, key, &r, e) : 1;
	int ret = found == 0 ? put_host(s, none, STORE_ABSENT, 0, e) : found > 0 ? 0 : -1;

	json_decref(none);
	store_record_release(&r);
	free(key);
	return ret;
}

int
record_fleet_publish(struct store *s, const json_t *agents, struct err *e)
{
	return *store_host(s) != '\0' ? put_host(s, agents, STORE_ANY, store_now(s), e) : 0;
}

static int
add_host(const struct record *r, void *arg, struct err *e)
{
	json_t *o = record_object(r, "host", SCHEMA, e), *agents = json_object_get(o, "agents");
	struct fleet *out = arg;
	struct fleet_host *x;

	if (o == NULL)
		return -1;
	out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
	x = &out->v[out->n++];
	*x = (struct fleet_host){ .id = xstrdup(r->key + strlen(PREFIX)),
		.seen_at = json_number(o, "seen_at", 0),
		.agents = json_is_array(agents) ? json_incref(agents) : json_array(),
		.left_out = json_number(o, "left_out", 0) };
	x->name = xstrdup(*json_text(o, "name", "") != '\0' ? json_text(o, "name", "") : x->id);
	snprintf(x->boot_id, sizeof x->boot_id, "%s", json_text(o, "boot_id", ""));
	json_decref(o);
	return 0;
}

int
record_fleet_read(struct store *s, struct fleet *out, struct err *e)
{
	return store_each(s, PREFIX, NULL, add_host, out, e);
}

void
record_fleet_release(struct fleet *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].id);
		free(f->v[i].name);
		json_decref(f->v[i].agents);
	}
	free(f->v);
	memset(f, 0, sizeof *f);
}

const char *
record_fleet_name(const struct fleet *f, const char *id)
{
	if (id == NULL || *id == '\0')
		return NULL;
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->v[i].id, id) == 0)
			return f->v[i].name;
	return id;
}
