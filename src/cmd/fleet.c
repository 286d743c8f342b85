#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cmd/fleet.h"
#include "cmd/say.h"
#include "ledger/fleet.h"
#include "ledger/session.h"
#include "revive/world.h"
#include "store/store.h"

#define OLD_MS (15 * 60000)		/* three passes of a timer that runs every five minutes */

/* ---- reading ---- */

static bool
tells_of(const struct fleet_host *x, const struct session *s)
{
	size_t i;
	json_t *o;

	json_array_foreach(x->agents, i, o) {
		if (s->session != NULL && strcmp(json_text(o, "name", ""), s->session) == 0)
			return true;
	}
	return false;
}

static struct fleet_host *
host_of(struct fleet *f, const char *id)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->v[i].id, id) == 0)
			return &f->v[i];
	f->v = vec_room(f->v, f->n, &f->cap, sizeof *f->v);
	f->v[f->n] = (struct fleet_host){ .id = xstrdup(id), .name = xstrdup(id), .agents = json_array() };
	return &f->v[f->n++];
}

static void
add_session(struct fleet *f, const struct session *s)
{
	struct fleet_host *x = host_of(f, s->host);
	json_t *o;

	if (tells_of(x, s))
		return;
	o = json_object();
	json_put(o, "name", s->session != NULL ? s->session : s->agent_uuid);
	json_put(o, "socket", s->socket);
	json_put(o, "agent", s->provider_name);
	json_put(o, "class", "unknown");
	json_put(o, "agent_uuid", s->agent_uuid);
	json_put(o, "state", session_state_name(s->state));
	json_put_flag(o, "recoverable", false);
	json_array_append_new(x->agents, o);
}

static void
drop_own(struct fleet *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (host_is_other(f->v[i].id)) {
			f->v[n++] = f->v[i];
		} else {
			free(f->v[i].id);
			free(f->v[i].name);
			json_decref(f->v[i].agents);
		}
	f->n = n;
}

int
fleet_others(struct world *w, struct fleet *out, struct err *e)
{
	struct store *store = world_store(w, false, e);
	struct sessions open = { .n = 0 };
	int ret;

	memset(out, 0, sizeof *out);
	if (store == NULL)
		return e->code == 0 ? 0 : -1;
	ret = *store_host(store) != '\0' && (fleet_read(store, out, e) != 0 || sessions_read(store, SESSION_ACTIVE, &open, e) != 0 ||
	    sessions_read(store, SESSION_SUSPENDED, &open, e) != 0) ? -1 : 0;
	drop_own(out);
	for (size_t i = 0; i < open.n && ret == 0; i++)
		if (host_is_other(open.v[i].host))
			add_session(out, &open.v[i]);
	sessions_release(&open);
	return ret;
}

/* ---- for people ---- */

void
fleet_print_own(void)
{
	char name[HOST_MAX + 1];

	host_name(name);
	printf("%s (this host)\n", name);
}

static void
print_agent(const json_t *o, size_t width, int64_t now)
{
	const char *reason = json_text(o, "crash_reason", NULL), *state = json_text(o, "state", NULL), *no = json_text(o, "refusal", NULL);
	int64_t crashed = json_number(o, "crashed_at", 0);
	struct buf name = BUF_INIT, agent = BUF_INIT, how = BUF_INIT;

	say_foreign(&name, json_text(o, "name", "?"), 40);
	say_foreign(&agent, json_text(o, "agent", "-"), 20);
	if (state != NULL)
		buf_fmt(&how, "recorded as %s", state);
	else if (reason != NULL)
		say_foreign(&how, reason, 20);
	if (crashed > 0) {
		buf_str(&how, how.len > 0 ? ", " : "");
		clock_age(&how, now - crashed);
		buf_str(&how, " ago");
	}
	if (no != NULL && crashed > 0) {
		buf_str(&how, ", ");
		say_foreign(&how, no, 20);
	}
	printf("  %s%*s  %-9s %-8s %s\n", name.data, (int)(width - utf8_width(name.data, name.len)), "", json_text(o, "class", "unknown"),
	    agent.data, how.data != NULL ? how.data : "");
	buf_release(&name);
	buf_release(&agent);
	buf_release(&how);
}

static void
print_host(const struct fleet_host *x, int64_t now)
{
	struct buf line = BUF_INIT;
	size_t width = 8, i;
	json_t *o;

	say_foreign(&line, x->name, HOST_MAX);
	if (strcmp(x->name, x->id) != 0)
		buf_fmt(&line, ", %s", x->id);
	buf_str(&line, x->seen_at > 0 ? " (seen " : " (patrol has not run there yet)");
	if (x->seen_at > 0) {
		clock_age(&line, now - x->seen_at);
		buf_str(&line, now - x->seen_at > OLD_MS ? " ago: what runs there now is not known)" : " ago)");
	}
	puts(line.data);
	buf_release(&line);
	json_array_foreach(x->agents, i, o) {
		struct buf name = BUF_INIT;

		say_foreign(&name, json_text(o, "name", "?"), 40);
		width = utf8_width(name.data, name.len) > width ? utf8_width(name.data, name.len) : width;
		buf_release(&name);
	}
	json_array_foreach(x->agents, i, o) {
		print_agent(o, width, now);
	}
	if (x->left_out > 0)
		printf("  and %lld more\n", (long long)x->left_out);
}

void
fleet_print(const struct fleet *f, int64_t now)
{
	for (size_t i = 0; i < f->n; i++) {
		putchar('\n');
		print_host(&f->v[i], now);
	}
}

/* ---- for programs ---- */

static void
put_host(json_t *o, const char *id, const char *name, bool here, int64_t seen_at)
{
	json_put(o, "host", *id != '\0' ? id : NULL);
	json_put(o, "host_name", name);
	json_put_flag(o, "here", here);
	json_object_set_new(o, "seen_at", seen_at > 0 ? json_integer((json_int_t)seen_at) : json_null());
}

void
fleet_json(json_t *v, json_t *sessions, const struct fleet *f, int64_t now)
{
	json_t *hosts = json_array(), *own = json_object(), *o;
	char name[HOST_MAX + 1];
	size_t i;

	host_name(name);
	put_host(own, host_id(), name, true, now);
	json_put_int(own, "agents", (int64_t)json_array_size(sessions));
	json_array_append_new(hosts, own);
	json_array_foreach(sessions, i, o) {
		put_host(o, host_id(), name, true, now);
	}
	for (size_t k = 0; k < f->n; k++) {
		const struct fleet_host *x = &f->v[k];

		own = json_object();
		put_host(own, x->id, x->name, false, x->seen_at);
		json_put_int(own, "agents", (int64_t)json_array_size(x->agents) + x->left_out);
		json_array_append_new(hosts, own);
		json_array_foreach(x->agents, i, o) {
			put_host(o, x->id, x->name, false, x->seen_at);
			json_array_append(sessions, o);
		}
	}
	json_object_set_new(v, "hosts", hosts);
}

/* ---- telling ---- */

void
fleet_note(struct world *w, struct say *say, json_t *sessions)
{
	struct buf words = BUF_INIT;
	struct err e = ERR_INIT;
	struct store *store = world_store(w, true, &e);

	if (store == NULL || fleet_tell(store, sessions, &e) != 0) {
		say_foreign(&words, e.msg, 0);
		say_warning(say, "the other hosts are not told of the agents here: %s", words.data);
	}
	json_decref(sessions);
	buf_release(&words);
}
