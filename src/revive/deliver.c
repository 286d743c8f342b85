#include <stdio.h>
#include <string.h>

#include "revive/deliver.h"
#include "agent/profile.h"
#include "agent/ready.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "tmux/client.h"
#include "tmux/pane.h"

static int
screen_state(struct tmux *t, const struct pane *p, const struct profile *profile, enum ready *out, struct err *e)
{
	struct buf text = BUF_INIT;
	int ret = tmux_do(t, false, &text, e, "capture-pane", "-p", "-t", p->id, NULL);

	*out = ret == 0 ? ready_screen(profile, text.data, text.len) : READY_UNKNOWN;
	buf_wipe(&text);
	return ret;
}

/* Until the screen is in the state, at most ms. 1 reached, 0 not, -1 err; *last is what it was then. */
static int
wait_for(struct tmux *t, const struct pane *p, const struct profile *profile, enum ready want, enum ready or, int ms, enum ready *last,
    struct err *e)
{
	int64_t until = clock_mono_ms() + ms;

	do {
		if (screen_state(t, p, profile, last, e) != 0)
			return -1;
		if (*last == want || *last == or)
			return 1;
		clock_sleep_ms(50);
	} while (clock_mono_ms() < until);
	return 0;
}

static int
put_text(struct tmux *t, const struct pane *p, const char *id, const char *prompt, struct err *e)
{
	struct buf ready = BUF_INIT, drop = BUF_INIT, paste = BUF_INIT;
	struct batch b;
	const char *out;
	size_t i, n = 0;
	int ret;

	batch_init(&b);
	b.mutates = true;
	/* our own words all of them: ids of tmux and of the attempt */
	buf_str(&ready, "#{&&:#{!=:#{pane_dead},1},");
	pane_guard(&ready, p);
	buf_chr(&ready, '}');
	buf_fmt(&drop, "delete-buffer -b %s ; display-message -p dead", id);
	buf_fmt(&paste, "if-shell -F -t %s '#{pane_in_mode}' 'send-keys -X -t %s cancel' ; paste-buffer -d -p -b %s -t %s", p->id, p->id,
	    id, p->id);
	batch_add(&b, "set-buffer", "-b", id, prompt, NULL);
	i = batch_add(&b, "if-shell", "-F", "-t", p->id, ready.data, paste.data, drop.data, NULL);
	ret = batch_run(t, &b, e);
	out = ret == 0 ? batch_out(&b, i, &n) : NULL;
	if (ret == 0 && batch_failed(&b, NULL)) {
		tmux_do(t, true, NULL, NULL, "delete-buffer", "-b", id, NULL);
		ret = err_set(e, GT_FAIL, "gone", "pane %s vanished before the prompt could be pasted", p->id);
	} else if (out != NULL && n >= 4 && memcmp(out, "dead", 4) == 0) {
		ret = err_set(e, GT_FAIL, "dead", "the agent in pane %s died before the prompt could be pasted", p->id);
	}
	batch_release(&b);
	buf_release(&ready);
	buf_release(&drop);
	buf_release(&paste);
	return ret;
}

int
deliver_paste(struct tmux *t, const struct pane *p, const struct profile *profile, const char *id, const char *prompt,
    struct err *e)
{
	enum ready now;
	int got;

	if (screen_state(t, p, profile, &now, e) != 0)
		return -1;
	if (now != READY_IDLE)
		return err_set(e, GT_UNACKED, "not-ready", "the agent in pane %s was not ready for a paste any more", p->id);
	if (put_text(t, p, id, prompt, e) != 0)
		return -1;
	got = wait_for(t, p, profile, READY_DRAFT, READY_BUSY, 5000, &now, e);
	for (int tries = 0; got == 1 && now == READY_DRAFT && tries < 4; tries++) {
		const char *key = tries % 2 == 0 ? "Enter" : "\r";
		struct batch b;

		batch_init(&b);
		b.mutates = true;
		if (tries % 2 == 0)
			batch_add(&b, "send-keys", "-t", p->id, key, NULL);
		else
			batch_add(&b, "send-keys", "-t", p->id, "-l", key, NULL);
		got = batch_run(t, &b, e);
		batch_release(&b);
		if (got == 0)
			got = wait_for(t, p, profile, READY_BUSY, READY_IDLE, 1500, &now, e) < 0 ? -1 : 1;
	}
	if (got < 0)
		return -1;
	if (now == READY_BUSY || (got == 1 && now == READY_IDLE))
		return 0;
	err_set(e, GT_UNACKED, "not-submitted", "the prompt was pasted into pane %s, but it was not sent off", p->id);
	return err_hint(e, "attach, look at the input box and press Enter yourself");
}
