#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/integrity.h"
#include "ledger/attempt.h"
#include "ledger/event.h"
#include "ledger/key.h"
#include "ledger/run.h"
#include "ledger/run_session.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

struct walk {
	struct integrity *out;
	int64_t next;			/* the event that must come */
};

void
integrity_fault(struct integrity *out, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	if (out->n_faults++ >= INTEGRITY_TOLD)
		return;
	va_start(ap, fmt);
	buf_vfmt(&b, fmt, ap);
	va_end(ap);
	out->faults = vec_room(out->faults, out->n_faults - 1, &out->cap, sizeof *out->faults);
	out->faults[out->n_faults - 1] = buf_detach(&b);
}

static int
check_event(const struct event_row *ev, void *arg)
{
	struct walk *w = arg;

	if (ev->seq != w->next)
		integrity_fault(w->out, "event %lld stands where event %lld must be", (long long)ev->seq, (long long)w->next);
	w->next = ev->seq + 1;
	w->out->events++;
	return 0;
}

static int
check_events(struct store *s, struct integrity *out, struct err *e)
{
	struct walk w = { .out = out, .next = 1 };
	int64_t last;

	if (event_each(s, NULL, check_event, &w, e) != 0 || event_last(s, &last, e) != 0)
		return -1;
	if (last != w.next - 1)
		integrity_fault(out, "the last event is %lld, but the counter stands at %lld", (long long)w.next - 1, (long long)last);
	return 0;
}

/* The record of its pane must be open and name it: it keeps others from beginning. */
static int
check_open_attempt(struct store *s, const struct attempt *a, struct integrity *out, struct err *e)
{
	struct record r;
	char *key;
	json_t *v;
	int found;

	if (a->socket == NULL || a->pane_id == NULL) {
		integrity_fault(out, "the open attempt %s names no pane", a->id);
		return 0;
	}
	key = key_on_server("pane", a->server_pid, a->server_start, a->pane_id, a->socket);
	found = store_get(s, key, &r, e);
	v = found > 0 ? json_parse(r.value, strlen(r.value), key, NULL) : NULL;
	if (found >= 0 && (v == NULL || strcmp(r.tag, "open") != 0 || strcmp(json_text(v, "attempt", ""), a->id) != 0))
		integrity_fault(out, "the open attempt %s does not hold its pane", a->id);
	json_decref(v);
	if (found > 0)
		record_release(&r);
	free(key);
	return found < 0 ? -1 : 0;
}

int
integrity_damaged(struct integrity *out, const struct err *own, struct err *e)
{
	if (strcmp(own->name, "corrupt") == 0 || strcmp(own->name, "json") == 0 || strcmp(own->name, "newer") == 0 ||
	    strcmp(own->name, "blob") == 0) {
		integrity_fault(out, "%s", own->msg);
		return 0;
	}
	if (e != NULL)
		*e = *own;
	return -1;
}

static int
check_attempts(struct store *s, struct integrity *out, struct err *e)
{
	struct attempts all = { .n = 0 };
	struct err own = ERR_INIT;
	int ret = attempts_all(s, &all, &own);

	if (ret != 0)
		ret = integrity_damaged(out, &own, e);
	out->attempts = all.n;
	for (size_t i = 0; i < all.n && ret == 0; i++)
		if (!phase_final(all.v[i].phase))
			ret = check_open_attempt(s, &all.v[i], out, e);
	attempts_release(&all);
	return ret;
}

struct records_check {
	struct store *s;
	struct integrity *out;
};

/* What an open pane's record holds must be held for a reason: no new attempt is made for that pane. */
static int
check_pane(const struct record *r, void *arg, struct err *e)
{
	struct records_check *k = arg;
	json_t *v = json_parse(r->value, strlen(r->value), r->key, NULL);
	const char *id = json_text(v, "attempt", "");
	struct attempt a;
	int found = attempt_load(k->s, id, &a, e);

	if (found == 0)
		integrity_fault(k->out, "a pane is held by the attempt \"%.40s\", which does not exist", id);
	else if (found > 0 && phase_final(a.phase))
		integrity_fault(k->out, "a pane is held by the attempt %s, which has ended", a.id);
	if (found > 0)
		attempt_release(&a);
	json_decref(v);
	return found < 0 ? -1 : 0;
}

static int
check_run(const struct record *rec, void *arg, struct err *e)
{
	struct records_check *k = arg;
	struct run_session x = { .version = 0 };
	struct err own = ERR_INIT;
	struct run r;
	int found = 1, ret = 0;

	if (run_from_record(rec, &r, &own) != 0) {
		integrity_fault(k->out, "%s", own.msg);
		return 0;
	}
	if ((r.state == RUN_PENDING) != (r.runner_id == NULL) && !run_state_final(r.state))
		integrity_fault(k->out, "the run %.200s is %s and names %s runner", r.id, run_state_name(r.state),
		    r.runner_id == NULL ? "no" : "a");
	/* what has ended needs no session any more, and there may be very many */
	if (!run_state_final(r.state) && r.session_id != NULL)
		found = run_session_load(k->s, r.session_id, &x, &own);
	if (found == 0 || r.session_id == NULL)
		integrity_fault(k->out, "the run %.200s belongs to a session that has no record", r.id);
	else if (found < 0)
		ret = integrity_damaged(k->out, &own, e);
	run_session_release(&x);
	run_release(&r);
	return ret;
}

int
integrity_check(struct store *s, struct integrity *out, struct err *e)
{
	struct records_check k = { s, out };

	memset(out, 0, sizeof *out);
	if (check_events(s, out, e) != 0 || check_attempts(s, out, e) != 0)
		return -1;
	if (store_each(s, "pane:", "open", check_pane, &k, e) != 0)
		return -1;
	if (store_each(s, "run:", NULL, check_run, &k, e) != 0)
		return -1;
	return integrity_check_agents(s, out, e);
}

void
integrity_release(struct integrity *i)
{
	for (size_t k = 0; k < i->n_faults && k < INTEGRITY_TOLD; k++)
		free(i->faults[k]);
	free(i->faults);
	memset(i, 0, sizeof *i);
}
