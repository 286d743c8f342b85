#include <string.h>

#include "epic/epic.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timestamp.h"
#include "tmux/tmux.h"

const char *
sprint_test_lock_name(const struct epic_sprint *x)
{
	return json_text(json_object_get(x->record, "tests"), "lock", NULL);
}

static bool
is_agent(const struct epic_sprint *x, const char *word)
{
	for (size_t i = 0; i < json_array_size(x->agents); i++)
		if (strcmp(json_text(json_array_get(x->agents, i), "agentId", ""), word) == 0)
			return true;
	return false;
}

/* An agent of the sprint, or the sprint itself, has it by that word. */
static bool
is_of(const struct epic_sprint *x, const char *word)
{
	return is_agent(x, word) || epic_record_same_id(EPIC_RECORD_SPRINT, word, x->id);
}

bool
sprint_test_lock_is_own(const struct epic_sprint *x, const struct lock *l, const struct timestamp *now)
{
	return !l->held || is_of(x, l->holder) || lock_stale_reason(l, now) != NULL;
}

/*
 * Gives back what the crashed sprint has by a word alone; of a process the lock itself knows
 * whether it lives.
 */
static int
put_back(struct store *s, const struct epic_sprint *x, const struct lock *had, const struct timestamp *now,
    struct err *e)
{
	const struct lock_holder who = { .name = had->name, .holder = had->holder, .fence = had->fence };
	struct lock l;

	if (!had->held || had->pid != 0 || !is_of(x, had->holder) || lock_stale_reason(had, now) != NULL)
		return 0;
	if (lock_unlock(s, &who, now, &l, e) < 0)
		return -1;
	lock_release(&l);
	return 1;
}

int
sprint_test_lock_take(struct store *s, const struct epic_sprint *x, const struct timestamp *now,
    struct lock *out, struct err *e)
{
	struct lock_holder who = { .name = sprint_test_lock_name(x),
		.holder = json_text(json_array_get(x->agents, 0), "agentId", NULL) };
	struct lock had;
	int found, freed, ret = -1;

	memset(out, 0, sizeof *out);
	if (who.name == NULL || who.holder == NULL)
		return 0;
	if ((found = lock_load(s, who.name, &had, e)) < 0)
		return -1;
	if (found > 0 && is_agent(x, had.holder))
		who.holder = had.holder;
	freed = found > 0 ? put_back(s, x, &had, now, e) : 0;
	if (freed >= 0 && lock_acquire(s, &who, now, out, e) >= 0) {
		if (freed > 0)
			out->taken_from = xasprintf("%s had it, but the sprint crashed", had.holder);
		ret = 1;
	}
	lock_release(&had);
	return ret;
}

static void
put_command(struct buf *out, const char *verb, const char *name, const char *agent)
{
	buf_fmt(out, "gt-recover records lock %s ", verb);
	quote_sh(out, name);
	buf_chr(out, ' ');
	quote_sh(out, agent);
}

int
sprint_test_lock_describe(struct store *s, const struct epic_sprint *x, const char *agent,
    const struct timestamp *now, struct buf *out, struct err *e)
{
	const char *name = sprint_test_lock_name(x);
	bool held;
	struct lock l;
	int found = name != NULL ? lock_load(s, name, &l, e) : 0;

	if (name == NULL || found < 0)
		return found < 0 ? -1 : 0;
	held = found > 0 && l.held && lock_stale_reason(&l, now) == NULL;
	if (held && strcmp(l.holder, agent) == 0) {
		buf_fmt(out, "  You have the test lock %s, number %lld. While the tests run: ", name,
		    (long long)l.fence);
		put_command(out, "renew", name, agent);
		buf_str(out, "\n  When they have ended: ");
		put_command(out, "release", name, agent);
	} else {
		buf_fmt(out, "  The test lock %s is %s%s. Run tests only with it: ", name,
		    held ? "held by " : "free", held ? l.holder : "");
		put_command(out, "acquire", name, agent);
		buf_str(out, " (status 75: try again later), and release it afterwards");
	}
	buf_chr(out, '\n');
	if (found > 0)
		lock_release(&l);
	return 0;
}
