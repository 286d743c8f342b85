#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/moment.h"
#include "cmd/epic_slot.h"
#include "cmd/verb.h"
#include "epic/epic.h"
#include "epic/test_lock.h"
#include "ledger/session.h"
#include "store/store.h"

static void
read_clock(const struct verb_job *j, struct moment *now)
{
	moment_now(now);
	now->wall_ms = store_now(j->store);
}

static void
say_taken(struct verb_job *j, const struct lock *l)
{
	struct buf text = BUF_INIT;

	if (l->taken != NULL) {
		buf_str(&text, "    └─ Force releasing stale test lock: ");
		say_foreign(&text, l->taken, 200);
		say_exact(&j->say, "%s", text.data);
		buf_reset(&text);
	}
	buf_str(&text, "    └─ Test slot acquired ✅ (");
	say_foreign(&text, l->name, 60);
	buf_str(&text, ", for ");
	say_foreign(&text, l->holder, 60);
	buf_chr(&text, ')');
	say_exact(&j->say, "%s", text.data);
	buf_release(&text);
}

/* Of its agents one runs, here or for all that anybody knows on another host: then it may be running its tests. */
static bool
may_run(struct verb_job *j, const struct epic_sprint *x, const struct moment *now)
{
	bool may = false;

	for (size_t i = 0; i < json_array_size(x->agents) && !may; i++) {
		const char *id = sprint_session(x, json_text(json_array_get(x->agents, i), "agentId", ""));
		struct session session;

		may = session_load(j->store, id, &session, NULL) != 0 && (session_is_elsewhere(&session) || session_lives(&session, now));
		session_release(&session);
	}
	return may;
}

void
epic_slot_take(struct epic_slot *slot, struct verb_job *j, const struct epic_sprint *x, json_t *locks)
{
	struct err e = ERR_INIT;
	struct moment now;
	json_t *o;
	int ret;

	read_clock(j, &now);
	memset(slot, 0, sizeof *slot);
	if (may_run(j, x, &now) || (ret = test_lock_take(j->store, x, &now, &slot->lock, &e)) == 0)
		return;
	o = json_object();
	json_put(o, "name", test_lock_name(x));
	json_put(o, "sprint", x->id);
	json_put(o, "holder", ret > 0 ? slot->lock.holder : NULL);
	json_object_set_new(o, "fence", ret > 0 ? json_integer((json_int_t)slot->lock.fence) : json_null());
	json_put(o, "taken_over", ret > 0 ? slot->lock.taken : NULL);
	json_put(o, "error", ret < 0 ? e.name : NULL);
	json_array_append_new(locks, o);
	if (ret > 0) {
		say_taken(j, &slot->lock);
	} else {
		struct buf text = BUF_INIT;

		say_foreign(&text, e.msg, 0);
		say_warning(&j->say, "the test lock is not to be had: %s\n  The agents of this sprint are told to wait for it", text.data);
		buf_release(&text);
	}
}

void
epic_slot_bind(struct epic_slot *slot, struct verb_job *j, const struct epic_sprint *x)
{
	struct lock_holder who = { .name = slot->lock.name, .holder = slot->lock.holder, .fence = slot->lock.fence };
	struct err e = ERR_INIT;
	struct session session;
	struct moment now;
	struct lock l;

	if (slot->lock.name == NULL)
		return;
	read_clock(j, &now);
	if (session_load(j->store, sprint_session(x, who.holder), &session, &e) > 0 && session_lives(&session, &now)) {
		who.pid = session.pid;
		if (lock_renew(j->store, &who, &now, &l, &e) == 0)
			lock_release(&l);
	} else if (lock_put_back(j->store, &who, &now, &l, &e) >= 0) {
		/* it did not come back: others need not wait for the end of a lease */
		lock_release(&l);
	}
	session_release(&session);
	lock_release(&slot->lock);
}
