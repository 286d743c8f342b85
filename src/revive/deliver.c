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

/* Who is pasted to, and what. */
struct delivery {
	struct tmux *t;
	const struct pane *p;
	const struct profile *profile;
	const char *id, *prompt;
	enum ready now;			/* at the last look */
	bool ours;			/* a draft, and it is the prompt alone */
};

static int
look(struct delivery *d, struct err *e)
{
	struct buf text = BUF_INIT;
	int ret = tmux_do(d->t, false, &text, e, "capture-pane", "-p", "-t", d->p->id, NULL);

	d->now = ret == 0 ? ready_screen(d->profile, text.data, text.len) : READY_UNKNOWN;
	d->ours = d->now == READY_DRAFT && ready_holds(d->profile, text.data, text.len, d->prompt);
	buf_wipe(&text);
	return ret;
}

/* Until the box holds the prompt, or is empty if `empty`, or the agent is at work; at most ms. */
static int
wait_for(struct delivery *d, bool empty, int ms, struct err *e)
{
	int64_t until = clock_mono_ms() + ms;

	do {
		if (look(d, e) != 0)
			return -1;
		if (d->now == READY_BUSY || (empty ? d->now == READY_IDLE : d->ours))
			return 0;
		clock_sleep_ms(50);
	} while (clock_mono_ms() < until);
	return 0;
}

static int
put_text(const struct delivery *d, struct err *e)
{
	const struct pane *p = d->p;
	const char *id = d->id;
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
	batch_add(&b, "set-buffer", "-b", id, d->prompt, NULL);
	i = batch_add(&b, "if-shell", "-F", "-t", p->id, ready.data, paste.data, drop.data, NULL);
	ret = batch_run(d->t, &b, e);
	out = ret == 0 ? batch_out(&b, i, &n) : NULL;
	if (ret == 0 && batch_failed(&b, NULL)) {
		tmux_do(d->t, true, NULL, NULL, "delete-buffer", "-b", id, NULL);
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

static int
press_enter(const struct delivery *d, bool literal, struct err *e)
{
	struct batch b;
	int ret;

	batch_init(&b);
	b.mutates = true;
	if (literal)
		batch_add(&b, "send-keys", "-t", d->p->id, "-l", "\r", NULL);
	else
		batch_add(&b, "send-keys", "-t", d->p->id, "Enter", NULL);
	ret = batch_run(d->t, &b, e);
	batch_release(&b);
	return ret;
}

int
deliver_paste(struct tmux *t, const struct pane *p, const struct profile *profile, const char *id, const char *prompt,
    struct err *e)
{
	struct delivery d = { .t = t, .p = p, .profile = profile, .id = id, .prompt = prompt };
	bool pressed = false;

	if (look(&d, e) != 0)
		return -1;
	if (d.now != READY_IDLE)
		return err_set(e, GT_UNACKED, "not-ready", "the agent in pane %s was not ready for a paste any more", p->id);
	if (put_text(&d, e) != 0 || wait_for(&d, false, 5000, e) != 0)
		return -1;
	for (int tries = 0; d.ours && tries < 4; tries++) {
		if (press_enter(&d, tries % 2 != 0, e) != 0 || wait_for(&d, true, 1500, e) != 0)
			return -1;
		pressed = true;
	}
	if (d.now == READY_BUSY || (pressed && !d.ours))
		return 0;
	err_set(e, GT_UNACKED, "not-submitted", "the prompt was pasted into pane %s, but it was not sent off", p->id);
	return err_hint(e, "attach, look at the input box and press Enter yourself");
}
