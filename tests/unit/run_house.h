#ifndef TESTS_UNIT_RUN_HOUSE_H
#define TESTS_UNIT_RUN_HOUSE_H

/* A store with runs in it, and a clock that the test sets. */

#include "test.h"
#include "temp.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/timestamp.h"
#include "records/runs/runs.h"
#include "store/store.h"

#define SECOND ((int64_t)1000)
#define START ((int64_t)1795292163000)

struct house {
	char *dir;
	struct store *s;
	struct timestamp now;
	struct err e;
};

static inline struct house
house(void)
{
	struct house h = {
		.dir = temp_dir(), .now = { START, 1000 * SECOND, "boot-a", "", 0 }, .e = ERR_INIT
	};

	h.s = store_open("sqlite", h.dir, &h.e);
	assert_non_null(h.s);
	return h;
}

static inline void
leave(struct house *h)
{
	store_close(h->s);
	temp_remove(h->dir);
}

static inline void
later(struct house *h, int64_t seconds)
{
	h->now.wall_ms += seconds * SECOND;
	h->now.boot_ms += seconds * SECOND;
}

static inline void
create(struct house *h, const char *id, const char *session)
{
	struct run r = { .id = (char *)(uintptr_t)id,
		.session_id = (char *)(uintptr_t)session,
		.prompt = (char *)(uintptr_t)"test" },
		   out;

	assert_int_equal(run_create(h->s, &r, NULL, &h->now, &out, &h->e), 1);
	run_release(&out);
}

/* What a verb answers; its name too when it failed. */
static inline int
step(struct house *h, const char *verb, const char *id, const char *runner, int64_t fence)
{
	const struct run_holder holder = { id, runner, fence, NULL };
	struct run out;
	int ret;

	err_clear(&h->e);
	if (strcmp(verb, "claim") == 0)
		ret = run_claim(h->s, &holder, &h->now, &out, &h->e);
	else if (strcmp(verb, "start") == 0)
		ret = run_start(h->s, &holder, &h->now, &out, &h->e);
	else if (strcmp(verb, "stop") == 0)
		ret = run_stop(h->s, id, &h->now, &out, &h->e);
	else
		ret = run_finish(
		    h->s, &holder, (enum run_state)run_state_parse(verb), "a sentence", &h->now, &out, &h->e);
	if (ret >= 0)
		run_release(&out);
	return ret;
}

static inline const char *
state(struct house *h, const char *id)
{
	struct run r;
	enum run_state now;

	assert_int_equal(run_load(h->s, id, &r, &h->e), 1);
	now = r.state;
	run_release(&r);
	return run_state_name(now);
}

static inline const char *
session(struct house *h, const char *id)
{
	struct run_session x;
	enum run_session_status now;

	assert_int_equal(run_session_load(h->s, id, &x, &h->e), 1);
	now = x.status;
	run_session_release(&x);
	return run_session_status_name(now);
}

static inline char *
error_of(struct house *h, const char *id)
{
	struct run r;
	char *error;

	assert_int_equal(run_load(h->s, id, &r, &h->e), 1);
	error = xstrdup(r.error != NULL ? r.error : "(none)");
	run_release(&r);
	return error;
}

static inline struct run_report
recover(struct house *h, enum run_mode mode)
{
	const struct run_recovery how = { .mode = mode, .threshold_ms = 300 * SECOND };
	struct run_report out;

	assert_int_equal(run_recover(h->s, &how, &h->now, &out, &h->e), 0);
	return out;
}

#endif
