#include <stdlib.h>
#include <string.h>

#include "revive/notice.h"
#include "revive/detect.h"
#include "revive/recover.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "ledger/event.h"
#include "ledger/sighting.h"
#include "scrub/scrub.h"
#include "tmux/quote.h"
#include "town/config.h"
#include "town/town.h"
#include "work/mail.h"

/* The newest crashes in full; of the others the names. */
#define FULL_MOST 20
#define NAMES_MOST 200

bool
notice_possible(const struct world *w)
{
	return town_root(w->town) != NULL || *config_text(w->config, "mail.command") != '\0';
}

/* ---- what is owed ---- */

/* The process that died: a recovery that was taken up knows it better than the pane, in which its agent runs by now. */
static void
fill(struct sighting *x, const struct candidate *c, const struct attempt *a)
{
	const struct pane *p = &c->pane;
	bool begun = a != NULL && a->version > 0;

	memset(x, 0, sizeof *x);
	x->session = xstrdup(p->session);
	x->socket = xstrdup(p->socket_path);
	x->pane_id = xstrdup(p->id);
	x->class = xstrdup(begun && a->class != NULL ? a->class : class_name(c->class));
	x->reason = xstrdup(begun && a->reason != NULL ? a->reason : reason_name(c->reason));
	x->server_pid = p->server_pid;
	x->server_start = p->server_start;
	x->pane_pid = begun ? a->pane_pid : p->pid;
	x->crashed_at = begun ? a->crashed_at : c->crashed_at;
}

int
notice_crash(struct world *w, const struct candidate *c, bool *fresh, struct err *e)
{
	struct store *store = world_store(w, true, e);
	struct sighting x;
	int ret;

	*fresh = false;
	if (store == NULL)
		return -1;
	fill(&x, c, NULL);
	ret = sighting_see(store, &x, fresh, e);
	sighting_release(&x);
	return ret;
}

static void
set(char **field, const char *value)
{
	free(*field);
	*field = value != NULL && *value != '\0' ? xstrdup(value) : NULL;
}

static int
owe(struct world *w, struct sighting *x, const char *name, const char *sentence, const char *hint, const char *id, struct err *e)
{
	struct store *store = world_store(w, true, e);
	bool fresh;

	if (store == NULL || sighting_see(store, x, &fresh, e) != 0)
		return -1;
	if (x->state != SIGHTING_SEEN || !notice_possible(w))
		return 0;
	x->state = SIGHTING_OWED;
	x->failed_at = clock_wall_ms();
	set(&x->error, name);
	set(&x->message, sentence);
	set(&x->hint, hint);
	set(&x->recovery_id, id);
	return sighting_put(store, x, NULL, e);
}

static int
settle(struct world *w, struct sighting *x, struct err *e)
{
	struct store *store = world_store(w, true, e);
	bool fresh;

	if (store == NULL || sighting_see(store, x, &fresh, e) != 0)
		return -1;
	if (x->state != SIGHTING_OWED)
		return 0;
	x->state = SIGHTING_BACK;
	return sighting_put(store, x, NULL, e);
}

int
notice_ended(struct world *w, const struct recovery *one, const struct err *how, struct err *e)
{
	struct sighting x;
	int ret = 0;

	if (how->code == GT_REFUSED)
		return notice_refused(w, one->c, how->name, how->msg, how->hint, e);
	fill(&x, one->c, &one->attempt);
	if (how->code == 0)
		ret = settle(w, &x, e);
	else if (how->code != GT_AGAIN && strcmp(how->name, "gone") != 0)
		ret = owe(w, &x, how->name, how->msg, how->hint, one->attempt.version > 0 ? one->attempt.id : NULL, e);
	sighting_release(&x);
	return ret;
}

int
notice_refused(struct world *w, const struct candidate *c, const char *name, const char *sentence, const char *hint, struct err *e)
{
	struct sighting x;
	int ret;

	if (strcmp(name, "quarantined") != 0)
		return 0;
	fill(&x, c, NULL);
	ret = owe(w, &x, name, sentence, hint, NULL, e);
	sighting_release(&x);
	return ret;
}

/* ---- the mail ---- */

static void
say(struct buf *out, const char *before, const char *foreign)
{
	if (foreign == NULL || *foreign == '\0')
		return;
	buf_str(out, before);
	utf8_escape(out, foreign, strlen(foreign), 0);
	buf_chr(out, '\n');
}

static void
say_time(struct buf *out, const char *before, int64_t at)
{
	if (at <= 0)
		return;
	buf_str(out, before);
	clock_iso(out, at);
	buf_chr(out, '\n');
}

static void
say_command(struct buf *out, const char *command, const char *session, const char *what)
{
	struct buf line = BUF_INIT;

	buf_str(&line, command);
	quote_sh(&line, session);
	buf_str(out, "  ");
	utf8_escape(out, line.data, line.len, 0);
	buf_fmt(out, "\n      %s\n", what);
	buf_release(&line);
}

static void
say_one(struct buf *out, const struct sighting *x)
{
	say(out, "\nSession:  ", x->session);
	say(out, "Socket:   ", x->socket);
	say(out, "Class:    ", x->class);
	say(out, "Reason:   ", x->reason);
	say_time(out, "Crashed:  ", x->crashed_at);
	say_time(out, "Failed:   ", x->failed_at);
	say(out, "Because:  ", x->message);
	say(out, "Error:    ", x->error);
	say(out, "Recovery: ", x->recovery_id);
	say(out, "Advice:   ", x->hint);
}

static void
say_rest(struct buf *out, const struct sightings *owed)
{
	size_t n = 0;

	if (owed->n <= FULL_MOST)
		return;
	buf_str(out, "\nAnd also: ");
	for (size_t i = FULL_MOST; i < owed->n && n < NAMES_MOST; i++, n++) {
		buf_str(out, n > 0 ? ", " : "");
		utf8_escape(out, owed->v[i].session, strlen(owed->v[i].session), 60);
	}
	if (owed->n - FULL_MOST > n)
		buf_fmt(out, ", and %zu more", owed->n - FULL_MOST - n);
	buf_chr(out, '\n');
}

static void
compose(const struct sightings *owed, bool again, struct buf *subject, struct buf *body)
{
	const struct sighting *first = &owed->v[0];

	buf_str(subject, "Recovery failed for ");
	utf8_escape(subject, first->session, strlen(first->session), 80);
	if (owed->n > 1)
		buf_fmt(subject, " and %zu more", owed->n - 1);
	buf_fmt(body, "gt-recover could not bring %zu crashed agent%s back by itself.\n", owed->n, owed->n == 1 ? "" : "s");
	if (again)
		buf_str(body, "This may be a repetition: the run that sent it first ended before it could note that.\n");
	for (size_t i = 0; i < owed->n && i < FULL_MOST; i++)
		say_one(body, &owed->v[i]);
	say_rest(body, owed);
	buf_str(body, "\nWhat can be done:\n");
	say_command(body, "gt-recover log ", first->session, "what was tried");
	say_command(body, "gt-recover context ", first->session, "what would be handed over");
	say_command(body, "gt-recover ", first->session, "try it now; it looks first and hands nothing over twice");
	say_command(body, "gt-recover release ", first->session, "end a quarantine or a recovery that hangs; then recover it by its name");
	buf_str(body, "  gt-recover list\n      what is crashed now, and why it is left alone\n");
}

static int
send_it(struct world *w, const struct sightings *owed, bool again, struct err *e)
{
	struct mail m = { .town = town_root(w->town), .command = config_text(w->config, "mail.command"),
		.to = config_text(w->config, "mail.to") };
	struct buf subject = BUF_INIT, body = BUF_INIT;
	struct clean_text *clean_subject, *clean_body;
	struct scrub *s = world_scrub(w, e);
	int ret;

	if (s == NULL)
		return -1;
	compose(owed, again, &subject, &body);
	m.subject = clean_subject = scrub_string(s, subject.data);
	m.body = clean_body = scrub_string(s, body.data);
	ret = mail_send(&m, s, e);
	clean_free(clean_subject);
	clean_free(clean_body);
	scrub_free(s);
	buf_release(&subject);
	buf_release(&body);
	return ret;
}

bool
notice_owed(struct world *w)
{
	struct store *store = world_store(w, false, NULL);
	struct sightings owed = { .n = 0 };
	bool any = store != NULL && sightings_owed(store, &owed, NULL) == 0 && owed.n > 0;

	sightings_release(&owed);
	return any;
}

/* The try is counted before it is made. *again: an earlier one may have succeeded. */
static int
begin_try(struct store *store, struct sightings *owed, bool *again, struct err *e)
{
	for (size_t i = 0; i < owed->n; i++) {
		*again = *again || owed->v[i].unsure;
		owed->v[i].tries++;
		owed->v[i].unsure = true;
	}
	return sightings_put(store, owed, NULL, e);
}

static int
end_try(struct store *store, struct sightings *owed, const struct err *how, struct notice *out, struct err *e)
{
	char *words = xasprintf("%zu crash%s%s%s", owed->n, owed->n == 1 ? "" : "es", how->code != 0 ? ": " : "", how->msg);
	struct event ev = { .kind = "mail.sent", .subject = owed->v[0].pane_id, .session = owed->v[0].session, .text = words };
	int ret;

	for (size_t i = 0; i < owed->n; i++) {
		struct sighting *x = &owed->v[i];

		x->unsure = how->code == GT_AGAIN;
		x->state = how->code == 0 ? SIGHTING_MAILED : x->tries >= NOTICE_TRIES ? SIGHTING_GIVEN_UP : SIGHTING_OWED;
		out->given_up += x->state == SIGHTING_GIVEN_UP;
	}
	if (how->code != 0)
		ev.kind = out->given_up > 0 ? "mail.given-up" : "mail.failed";
	ret = sightings_put(store, owed, &ev, e);
	free(words);
	return ret;
}

int
notice_send(struct world *w, struct notice *out, struct err *e)
{
	struct store *store = world_store(w, false, e);
	struct sightings owed = { .n = 0 };
	struct err how = ERR_INIT;
	bool again = false;
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (store == NULL)
		return e != NULL && e->code != 0 ? -1 : 0;
	ret = sightings_owed(store, &owed, e);
	out->owed = owed.n;
	if (ret == 0 && owed.n > 0 && notice_possible(w)) {
		ret = begin_try(store, &owed, &again, e);
		if (ret == 0) {
			out->sent = send_it(w, &owed, again, &how) == 0;
			ret = end_try(store, &owed, &how, out, e);
		}
		if (ret == 0 && !out->sent) {
			*e = how;
			ret = -1;
		}
	}
	sightings_release(&owed);
	return ret;
}
