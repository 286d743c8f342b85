#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover/upkeep/upkeep_private.h"
#include "recover/upkeep/upkeep.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/spawn.h"
#include "base/utf8.h"
#include "config/config.h"
#include "detect/detect.h"
#include "gastown/gastown.h"
#include "records/records.h"
#include "recover/recover.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"

#define TIMEOUT_MS 30000
#define WORDS_MAX 300			/* columns of the mailer's own words in an error */

extern char **environ;

enum { TO, SUBJECT, ACTOR, VARIABLES };

/*
 * Our environment with these in the place of those of the same names. The vector is heap, the
 * strings are borrowed.
 */
static const char **
environment(char *const own[VARIABLES])
{
	size_t n = 0, k = 0;
	const char **env;

	while (environ[n] != NULL)
		n++;
	env = xcalloc(n + VARIABLES + 1, sizeof *env);
	for (size_t i = 0; i < n; i++) {
		bool ours = false;

		for (int j = 0; j < VARIABLES; j++)
			ours = ours || strncmp(environ[i], own[j], strcspn(own[j], "=") + 1) == 0;
		if (!ours)
			env[k++] = environ[i];
	}
	for (int j = 0; j < VARIABLES; j++)
		env[k++] = own[j];
	return env;
}

/* The first line of what it said. */
static int
refused(const struct mail *m, const struct spawn *run, struct scrub *s, struct err *e)
{
	struct buf shown = BUF_INIT;

	scrub_first_line(&shown, run->errout->data, WORDS_MAX, s);
	err_set(e, GT_FAIL, "mail", "%s ended with status %d%s%s",
	    *m->command != '\0' ? "the command of [recovery.mail]" : "gt mail send", run->status,
	    shown.len > 0 ? ": " : "", shown.data);
	buf_release(&shown);
	return -1;
}

int
mail_send(const struct mail *m, struct scrub *s, struct err *e)
{
	const char *const own[] = { "sh", "-c", m->command, NULL };
	const char *const gt[] = { "gt", "mail", "send", m->to, "-s", clean_bytes(m->subject), "--stdin",
		NULL };
	char *variables[VARIABLES] = { xasprintf("GT_MAIL_TO=%s", m->to),
		xasprintf("GT_MAIL_SUBJECT=%s", clean_bytes(m->subject)), xstrdup("BD_ACTOR=gt-recover") };
	const char **env = environment(variables);
	struct buf words = BUF_INIT;
	struct spawn run = { .argv = *m->command != '\0' ? own : gt,
		.env = env,
		.cwd = m->town,
		.in = clean_bytes(m->body),
		.in_len = clean_len(m->body),
		.errout = &words,
		.timeout_ms = TIMEOUT_MS };
	int ret = -1;

	if (*m->command == '\0' && m->town == NULL)
		err_set(e, GT_FAIL, "no-mailer",
		    "cannot send mail: no Gas Town and no command in [recovery.mail]");
	else if (fault_point("mail") != 0)
		err_sys(e, GT_FAIL, "mail", "the mail cannot be sent");
	else if (spawn_run(&run, e) == 0)
		ret = run.status == 0 ? 0 : refused(m, &run, s, e);
	if (ret == 0 && fault_point("mail-sent") != 0)
		ret = err_sys(e, GT_AGAIN, "timeout", "it is unknown whether the mail was sent");
	for (int i = 0; i < VARIABLES; i++)
		free(variables[i]);
	free(env);
	buf_release(&words);
	return ret;
}

/* The newest crashes in full; of the others the names. */
#define FULL_MOST 20
#define NAMES_MOST 200

/* Whether there is anybody to tell: a town, or a command of [recovery.mail]. */
static bool
mail_is_possible(const struct app *w)
{
	return town_root(w->town) != NULL || *config_text(w->config, "mail.command") != '\0';
}

/* ---- what is owed ---- */

/*
 * The process that died: a recovery that was taken up knows it better than the pane, in which its
 * agent runs by now.
 */
static void
fill(struct app *w, struct crash_record *x, const struct candidate *c, const struct attempt *a)
{
	const struct pane *p = &c->pane;
	bool begun = a != NULL && a->version > 0;

	memset(x, 0, sizeof *x);
	x->session = xstrdup(p->session);
	x->socket = xstrdup(p->socket_path);
	x->pane_id = xstrdup(p->id);
	x->class = xstrdup(begun && a->class != NULL ? a->class : detect_status_name(c->status));
	x->reason = xstrdup(begun && a->reason != NULL ? a->reason : detect_reason_name(c->reason));
	x->server_pid = p->server_pid;
	x->server_start = p->server_start;
	x->pane_pid = begun ? a->pane_pid : recovery_crash_pid(w, c);
	x->crashed_at = begun ? a->crashed_at : c->crashed_at;
}

int
mail_note_crash(struct app *w, const struct candidate *c, bool *fresh, struct err *e)
{
	struct store *store = app_store(w, true, e);
	struct crash_record x;
	int ret;

	*fresh = false;
	if (store == NULL)
		return -1;
	fill(w, &x, c, NULL);
	ret = crash_record_note(store, &x, fresh, e);
	crash_record_release(&x);
	return ret;
}

static void
set(char **field, const char *value)
{
	free(*field);
	*field = value != NULL && *value != '\0' ? xstrdup(value) : NULL;
}

/* What changes a record that was just noted: false where there is nothing to change. */
typedef bool change_fn(struct app *w, struct crash_record *x, const void *arg);

static int
note_and_change(struct app *w, struct crash_record *x, change_fn *change, const void *arg, struct err *e)
{
	struct store *store = app_store(w, true, e);
	int ret = -1;

	for (int i = 0; i < CRASH_ROUNDS && store != NULL; i++) {
		bool fresh;

		if (crash_record_note(store, x, &fresh, e) != 0)
			return -1;
		ret = change(w, x, arg) ? crash_record_put(store, x, NULL, e) : 0;
		if (ret == 0 || !crash_record_conflict(e))
			break;
	}
	if (ret == 0)
		err_clear(e);
	return ret;
}

struct failure {
	const char *name, *sentence, *hint, *id;
};

static bool
owe(struct app *w, struct crash_record *x, const void *arg)
{
	const struct failure *f = arg;

	if (x->state != CRASH_SEEN || !mail_is_possible(w))
		return false;
	x->state = CRASH_OWED;
	x->failed_at = clock_wall_ms();
	set(&x->error, f->name);
	set(&x->message, f->sentence);
	set(&x->hint, f->hint);
	set(&x->recovery_id, f->id);
	return true;
}

static bool
came_back(struct app *w, struct crash_record *x, const void *arg)
{
	(void)w, (void)arg;
	if (x->state != CRASH_OWED)
		return false;
	x->state = CRASH_RECOVERED;
	return true;
}

int
mail_note_result(struct app *w, const struct recovery *one, const struct err *how, struct err *e)
{
	struct crash_record x;
	int ret = 0;

	if (how->code == GT_REFUSED)
		return mail_note_refusal(w, one->c, how->name, how->msg, how->hint, e);
	fill(w, &x, one->c, &one->attempt);
	if (how->code == 0)
		ret = note_and_change(w, &x, came_back, NULL, e);
	else if (how->code != GT_AGAIN && strcmp(how->name, "gone") != 0)
		ret = note_and_change(w, &x, owe,
		    &(struct failure){ how->name, how->msg, how->hint,
			one->attempt.version > 0 ? one->attempt.id : NULL },
		    e);
	crash_record_release(&x);
	return ret;
}

int
mail_note_refusal(struct app *w, const struct candidate *c, const char *name, const char *sentence,
    const char *hint, struct err *e)
{
	struct crash_record x;
	int ret;

	if (strcmp(name, "quarantined") != 0)
		return 0;
	fill(w, &x, c, NULL);
	ret = note_and_change(w, &x, owe, &(struct failure){ name, sentence, hint, NULL }, e);
	crash_record_release(&x);
	return ret;
}

/* ---- the mail ---- */

static void
add_line(struct buf *out, const char *before, const char *foreign)
{
	if (foreign == NULL || *foreign == '\0')
		return;
	buf_str(out, before);
	utf8_escape(out, foreign, strlen(foreign), 0);
	buf_chr(out, '\n');
}

static void
add_time(struct buf *out, const char *before, int64_t at)
{
	if (at <= 0)
		return;
	buf_str(out, before);
	clock_iso(out, at);
	buf_chr(out, '\n');
}

static void
add_command_line(struct buf *out, const char *command, const char *session, const char *what)
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
add_failure(struct buf *out, const struct crash_record *x)
{
	add_line(out, "\nSession:  ", x->session);
	add_line(out, "Socket:   ", x->socket);
	add_line(out, "Class:    ", x->class);
	add_line(out, "Reason:   ", x->reason);
	add_time(out, "Crashed:  ", x->crashed_at);
	add_time(out, "Failed:   ", x->failed_at);
	add_line(out, "Because:  ", x->message);
	add_line(out, "Error:    ", x->error);
	add_line(out, "Recovery: ", x->recovery_id);
	add_line(out, "Advice:   ", x->hint);
}

static void
add_remaining(struct buf *out, const struct crash_record_list *owed)
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
compose(const struct crash_record_list *owed, bool again, struct buf *subject, struct buf *body)
{
	const struct crash_record *first = &owed->v[0];

	buf_str(subject, "Recovery failed for ");
	utf8_escape(subject, first->session, strlen(first->session), 80);
	if (owed->n > 1)
		buf_fmt(subject, " and %zu more", owed->n - 1);
	buf_fmt(body, "gt-recover could not recover %zu crashed agent%s.\n", owed->n,
	    owed->n == 1 ? "" : "s");
	if (again)
		buf_str(body,
		    "This mail may be a repetition: its first sender ended before recording it.\n");
	for (size_t i = 0; i < owed->n && i < FULL_MOST; i++)
		add_failure(body, &owed->v[i]);
	add_remaining(body, owed);
	buf_str(body, "\nNext steps:\n");
	add_command_line(body, "gt-recover log ", first->session, "show the attempts");
	add_command_line(body, "gt-recover show --context ", first->session, "show the collected context");
	add_command_line(
	    body, "gt-recover ", first->session, "try it now; nothing is delivered twice");
	add_command_line(body, "gt-recover records release ", first->session,
	    "end a quarantine or a hanging recovery; then recover it by name");
	buf_str(body, "  gt-recover list\n      show crashed agents and why each is skipped\n");
}

static int
send_it(struct app *w, const struct crash_record_list *owed, bool again, struct err *e)
{
	struct mail m = { .town = town_root(w->town), .command = config_text(w->config, "mail.command"),
		.to = config_text(w->config, "mail.to") };
	struct buf subject = BUF_INIT, body = BUF_INIT;
	struct clean_text *clean_subject, *clean_body;
	struct scrub *s = app_scrub(w, e);
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
mail_is_owed(struct app *w)
{
	struct store *store = app_store(w, false, NULL);
	struct crash_record_list owed = { .n = 0 };
	bool any = store != NULL && crash_record_list_owed(store, &owed, NULL) == 0 && owed.n > 0;

	crash_record_list_release(&owed);
	return any;
}

/* The try is counted before it is made. *again: an earlier one may have succeeded. */
static int
begin_try(struct store *store, struct crash_record_list *owed, bool *again, struct err *e)
{
	for (size_t i = 0; i < owed->n; i++) {
		*again = *again || owed->v[i].unsure;
		owed->v[i].tries++;
		owed->v[i].unsure = true;
	}
	return crash_record_list_put(store, owed, NULL, e);
}

static int
end_try(struct store *store, struct crash_record_list *owed, const struct err *how, struct mail_report *out,
    struct err *e)
{
	char *words = xasprintf(
	    "%zu crash%s%s%s", owed->n, owed->n == 1 ? "" : "es", how->code != 0 ? ": " : "", how->msg);
	struct event ev = { .kind = "mail.sent",
		.subject = owed->v[0].pane_id,
		.session = owed->v[0].session,
		.text = words };
	int ret;

	for (size_t i = 0; i < owed->n; i++) {
		struct crash_record *x = &owed->v[i];

		x->unsure = how->code == GT_AGAIN;
		x->state = how->code == 0    ? CRASH_MAILED
		    : x->tries >= MAIL_TRIES ? CRASH_GIVEN_UP
					     : CRASH_OWED;
		out->given_up += x->state == CRASH_GIVEN_UP;
	}
	if (how->code != 0)
		ev.kind = out->given_up > 0 ? "mail.given-up" : "mail.failed";
	ret = crash_record_list_put(store, owed, &ev, e);
	free(words);
	return ret;
}

int
mail_send_owed(struct app *w, struct mail_report *out, struct err *e)
{
	struct store *store = app_store(w, false, e);
	struct crash_record_list owed = { .n = 0 };
	struct err how = ERR_INIT;
	bool again = false;
	int ret = 0;

	memset(out, 0, sizeof *out);
	if (store == NULL)
		return e != NULL && e->code != 0 ? -1 : 0;
	ret = crash_record_list_owed(store, &owed, e);
	out->owed = owed.n;
	if (ret == 0 && owed.n > 0 && mail_is_possible(w)) {
		ret = begin_try(store, &owed, &again, e);
		if (crash_record_conflict(e)) {	/* another pass mails these */
			err_clear(e);
			out->owed = 0;
			crash_record_list_release(&owed);
			return 0;
		}
		if (ret == 0) {
			out->sent = send_it(w, &owed, again, &how) == 0;
			ret = end_try(store, &owed, &how, out, e);
		}
		if (ret == 0 && !out->sent) {
			*e = how;
			ret = -1;
		}
	}
	crash_record_list_release(&owed);
	return ret;
}
