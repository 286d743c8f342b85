#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover/upkeep/upkeep.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/json.h"
#include "base/spawn.h"
#include "base/utf8.h"
#include "config/config.h"
#include "detect/detect.h"
#include "recover/recover.h"
#include "scrub/scrub.h"

#define TIMEOUT_MS 10000		/* of the command */
#define LAST_WORDS_MAX 2000		/* bytes */

/* ---- the attached clients ---- */

/* display-message expands formats and the conversions of strftime. */
static void
add_message(struct buf *out, const struct candidate *c)
{
	struct buf words = BUF_INIT, escaped = BUF_INIT;
	char *reason = gather_reason(c);

	utf8_escape(&words, c->pane.session, strlen(c->pane.session), 60);
	buf_fmt(&words, ": %s crashed (%s)", c->profile->name, reason);
	quote_format(&escaped, words.data);
	buf_str(out, "gt-recover: ");
	for (const char *p = escaped.data; *p != '\0'; p++)
		buf_str(out, *p == '%' ? "%%" : (char[]){ *p, '\0' });
	free(reason);
	buf_release(&words);
	buf_release(&escaped);
}

void
upkeep_show_crash(struct app *w, const struct candidate *c)
{
	struct tmux *t = *c->pane.id == '%' ? app_server(w, c->pane.socket) : NULL;
	struct buf clients = BUF_INIT, text = BUF_INIT;
	struct err none = ERR_INIT;

	if (t != NULL &&
	    tmux_do(t, false, &clients, &none, "list-clients", "-F", "#{client_name}", NULL) == 0)
		add_message(&text, c);
	for (const char *p = text.len > 0 ? clients.data : NULL; p != NULL && *p != '\0';
	    p += strcspn(p, "\n"), p += *p == '\n') {
		char *client = xstrndup(p, strcspn(p, "\n"));

		/* one that has left meanwhile is no trouble */
		err_clear(&none);
		tmux_do(t, false, NULL, &none, "display-message", "-c", client, text.data, NULL);
		free(client);
	}
	buf_release(&clients);
	buf_release(&text);
}

/* ---- what the command gets ---- */

/* The agent's last words in plain text, cut from the front; NULL: none. Borrowed. */
static const char *
last_words(const struct conversation *c)
{
	for (size_t i = c->n; i > 0; i--) {
		const struct exchange *x = &c->v[i - 1];
		size_t n = strlen(x->content), cut = n > LAST_WORDS_MAX ? n - LAST_WORDS_MAX : 0;

		if (x->role != ROLE_ASSISTANT || x->tool != NULL || n == 0)
			continue;
		while (((unsigned char)x->content[cut] & 0xc0) == 0x80)
			cut++;
		return x->content + cut;
	}
	return NULL;
}

static void
put_scrubbed(json_t *v, const char *key, struct scrub *s, const char *foreign)
{
	struct clean_text *clean = scrub_string(s, foreign);

	json_put(v, key, clean != NULL ? clean_bytes(clean) : NULL);
	clean_free(clean);
}

/* One line of JSON, heap; NULL with err. */
static char *
describe_crash(struct app *w, const struct candidate *c, struct err *e)
{
	struct scrub *s = app_scrub(w, e);
	struct gathered g = { .n_warnings = 0 };
	struct err none = ERR_INIT;
	struct buf when = BUF_INIT, text = BUF_INIT;
	json_t *v;

	if (s == NULL)
		return NULL;
	buf_init(&g.prompt);
	/* what cannot be read is missing in the object; the crash is reported all the same */
	gather(w, c, "lines", &g, &none);
	clock_iso(&when, c->crashed_at > 0 ? c->crashed_at : clock_wall_ms());
	v = json_object();
	json_put_int(v, "schema_version", 1);
	put_scrubbed(v, "session", s, c->pane.session);
	put_scrubbed(v, "socket", s, c->pane.socket_path);
	json_put(v, "pane", *c->pane.id == '%' ? c->pane.id : NULL);
	json_put(v, "agent", c->profile->name);
	json_put(v, "cause", detect_reason_name(c->reason));
	json_put(v, "when", when.data);
	json_put(v, "conversation",
	    g.conversation.session_id != NULL ? g.conversation.session_id : c->session_id);
	json_put(v, "last_words", last_words(&g.conversation));
	json_print(&text, v, false);
	buf_chr(&text, '\n');
	json_decref(v);
	gather_release(&g);
	scrub_free(s);
	buf_release(&when);
	return buf_detach(&text);
}

/* ---- the command ---- */

void
upkeep_on_crash(struct app *w, struct on_crash *x, const struct candidate *c, struct err *e)
{
	char *line;

	if (*config_text(w->config, "on_crash") == '\0' || (line = describe_crash(w, c, e)) == NULL)
		return;
	x->lines = vec_room(x->lines, x->n, &x->cap, sizeof *x->lines);
	x->lines[x->n++] = line;
}

/* In the child: each crash in turn; what failed goes into the pipe, a line each. */
static void
run_all(const char *command, const struct on_crash *x, int to)
{
	const char *const argv[] = { "sh", "-c", command, NULL };

	for (size_t i = 0; i < x->n; i++) {
		struct buf said = BUF_INIT, line = BUF_INIT;
		struct spawn run = { .argv = argv, .in = x->lines[i], .in_len = strlen(x->lines[i]),
			.errout = &said, .timeout_ms = fault_wait_ms("GT_ON_CRASH_MS", TIMEOUT_MS) };
		struct err e = ERR_INIT;

		if (spawn_run(&run, &e) != 0)
			buf_str(&line, e.msg);
		else if (run.status != 0)
			buf_fmt(&line, "status %d%s", run.status, said.len > 0 ? ": " : "");
		if (e.code == 0 && run.status != 0)
			scrub_first_line(&line, said.data, 200, NULL);
		if (line.len > 0) {
			buf_chr(&line, '\n');
			io_write_all(to, line.data, line.len);
		}
		buf_release(&said);
		buf_release(&line);
	}
}

int
upkeep_on_crash_start(struct app *w, struct on_crash *x, struct err *e)
{
	int ends[2];

	if (x->n == 0 || x->pid > 0)
		return 0;
	if (pipe(ends) != 0)
		return err_sys(e, GT_FAIL, "spawn", "the command on_crash was not run");
	x->pid = fork();
	if (x->pid == 0) {
		close(ends[0]);
		run_all(config_text(w->config, "on_crash"), x, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	if (x->pid < 0) {
		err_sys(e, GT_FAIL, "spawn", "the command on_crash was not run");
		close(ends[0]);
		return -1;
	}
	x->from = ends[0];
	return 0;
}

int
upkeep_on_crash_end(struct on_crash *x, struct err *e)
{
	struct buf said = BUF_INIT;
	struct err none = ERR_INIT;
	int status = 0;

	if (x->pid > 0) {
		/* ends when the child does: each command has its own limit */
		io_read_all(x->from, "on_crash", 1 << 20, &said, &none);
		close(x->from);
		spawn_wait(x->pid, clock_mono_ms() + TIMEOUT_MS, &status);
	}
	for (size_t i = 0; i < x->n; i++)
		free(x->lines[i]);
	free(x->lines);
	*x = (struct on_crash){ .n = 0 };
	if (said.len > 0)
		err_set(e, GT_FAIL, "on-crash", "the command on_crash failed: %.*s",
		    (int)strcspn(said.data, "\n"), said.data);
	buf_release(&said);
	return e->code == 0 ? 0 : -1;
}
