#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover/recover_private.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/spawn.h"
#include "detect/detect.h"
#include "gastown/gastown.h"
#include "process/proc.h"
#include "scrub/scrub.h"

/*
 * Without job control a shell waits on when its command is stopped (SIGSTOP, Ctrl-Z). With it, as
 * an interactive one has it, it would take the stopped command for done, come to its own end, and
 * end it.
 */
#define NO_JOBS                                                                                              \
	"case $2 in */bash|*/zsh|*/ksh|*/dash|*/sh) set -- \"$1\" \"$2\" \"set +m; $3\" \"set +m; $4\";; "   \
	"esac; "

/* mv is the claim: of any number of starts only one can rename the file. */
static const char wrapper_plain[] =
    "if mv -- \"$1\" \"$1.taken\" 2>/dev/null && [ -r \"$1.taken\" ]; then "
    "exec 3<\"$1.taken\"; rm -f -- \"$1.taken\"; exec \"$2\" -c \"$4\"; fi; "
    "exec \"$2\" -c \"$3\"";

/*
 * A person typed the agent's name into a shell of their own: only a shell that has read the same
 * start-up files finds it again (PATH by a version manager, an alias). The shell comes back when
 * the agent ends; set -m, because an interactive shell that was replaced by its command takes the
 * terminal with it, and only a parent with job control fetches it back.
 */
static const char wrapper_shell[] =
    NO_JOBS
    "set -m; "
    "if mv -- \"$1\" \"$1.taken\" 2>/dev/null && [ -r \"$1.taken\" ]; then "
    "exec 3<\"$1.taken\"; rm -f -- \"$1.taken\"; \"$2\" -l -i -c \"$4\"; exec 3<&-; "
    "else \"$2\" -l -i -c \"$3\"; fi; "
    "set +m; exec \"$2\" -l";

static const char wrapper_login[] =
    NO_JOBS
    "if mv -- \"$1\" \"$1.taken\" 2>/dev/null && [ -r \"$1.taken\" ]; then "
    "exec 3<\"$1.taken\"; rm -f -- \"$1.taken\"; exec \"$2\" -l -i -c \"$4\"; fi; "
    "exec \"$2\" -l -i -c \"$3\"";

static const char *const wrappers[] = { wrapper_plain, wrapper_login, wrapper_shell };

static int
respawn_failed(const char *why, const struct pane *p, struct err *e)
{
	struct buf words = BUF_INIT;

	if (strstr(why, "still active") != NULL) {
		err_set(e, GT_AGAIN, "taken", "pane %s was just restarted by another program", p->id);
		return err_hint(e, "nothing was changed; gt-recover list shows the agent");
	}
	if (strstr(why, "can't find pane") != NULL)
		return err_set(e, GT_FAIL, "gone", "pane %s is gone", p->id);
	scrub_first_line(&words, why, 200, NULL);
	err_set(e, GT_FAIL, "tmux", "tmux could not restart the pane: %s", words.data);
	buf_release(&words);
	return -1;
}

enum respawn_wrapping {
	WRAP_PLAIN,
	/* through a login shell, for a tmux server started from who knows where; so a pane stays */
	WRAP_LOGIN,
	WRAP_SHELL		/* the same, and a shell comes back when the agent ends */
};

/* Appends `sh -c WRAPPER gt-recover PROMPT SHELL COMMAND FED`, each quoted for tmux. */
static void
respawn_command(struct buf *out, const struct respawn *r, enum respawn_wrapping how)
{
	const char *argv[] = { "sh", "-c", wrappers[how], "gt-recover", r->prompt_path, r->launch->shell,
		r->command, r->fed };

	for (size_t i = 0; i < sizeof argv / sizeof argv[0] && argv[i] != NULL; i++) {
		quote_arg(out, argv[i]);
		buf_chr(out, ' ');
	}
}

/* The commands as one text, for if-shell. */
static void
respawn_commands(struct buf *out, const struct pane *p, const struct respawn *r)
{
	const char *argv[8];
	struct buf cwd = BUF_INIT;
	size_t n = 0;

	if (r->zombie && strcmp(p->remain_on_exit, "on") != 0)
		buf_fmt(out, "set-option -p -t %s remain-on-exit on ; ", p->id);
	argv[n++] = "respawn-pane";
	if (r->zombie)
		argv[n++] = "-k";
	argv[n++] = "-t";
	argv[n++] = p->id;
	if (r->cwd != NULL) {
		quote_format(&cwd, r->cwd);
		argv[n++] = "-c";
		argv[n++] = cwd.data;
	}
	for (size_t i = 0; i < n; i++) {
		quote_arg(out, argv[i]);
		buf_chr(out, ' ');
	}
	respawn_command(out, r, r->zombie ? WRAP_SHELL : r->launch->login ? WRAP_LOGIN : WRAP_PLAIN);
	buf_release(&cwd);
}

/* Is it one of the directories that stand there, parted by colons? */
static bool
is_among(const char *path, const char *dir, size_t n)
{
	for (size_t len; *path != '\0'; path += len + (path[len] == ':')) {
		len = strcspn(path, ":");
		if (len == n && memcmp(path, dir, n) == 0)
			return true;
	}
	return false;
}

/*
 * "PATH=…" for the pane's command: the session's or the server's, then what ours has besides.
 * Cron has only ours, which finds no agent that a person installed; a server that was started at
 * boot has only its own.
 */
static int
find_path(struct tmux *t, const struct pane *p, struct buf *out, struct err *e)
{
	const char *ours = getenv("PATH");
	size_t theirs;

	buf_str(out, "PATH=");
	theirs = out->len;
	/* tmux looks up a name that is none of its formats in the environment */
	if (tmux_do(t, false, out, e, "display-message", "-p", "-t", p->id, "#{PATH}", NULL) != 0)
		return -1;
	for (size_t n; ours != NULL && *ours != '\0'; ours += n + (ours[n] == ':')) {
		n = strcspn(ours, ":");
		if (n == 0 || is_among(out->data + theirs, ours, n))
			continue;
		if (out->len > theirs)
			buf_chr(out, ':');
		buf_add(out, ours, n);
	}
	return 0;
}

int
respawn_pane(struct tmux *t, const struct pane *p, const struct respawn *r, struct err *e)
{
	struct buf ours = BUF_INIT, commands = BUF_INIT, path = BUF_INIT;
	const char *why, *said;
	struct tmux_batch b;
	size_t i, n = 0;
	int ret;

	if (find_path(t, p, &path, e) != 0) {
		buf_release(&path);
		return -1;
	}
	tmux_batch_init(&b);
	b.path = path.data;
	b.mutates = true;
	pane_guard(&ours, p);
	respawn_commands(&commands, p, r);
	i = tmux_batch_add(
	    &b, "if-shell", "-F", "-t", p->id, ours.data, commands.data, "display-message -p another", NULL);
	ret = tmux_batch_run(t, &b, e);
	said = ret == 0 ? tmux_batch_output(&b, i, &n) : NULL;
	if (ret == 0 && tmux_batch_failed(&b, &why))
		ret = respawn_failed(why, p, e);
	else if (said != NULL && n > 0)
		ret = err_set(
		    e, GT_FAIL, "gone", "pane %s is gone: another tmux server answers on its socket", p->id);
	tmux_batch_release(&b);
	buf_wipe(&commands);
	buf_release(&ours);
	buf_release(&path);
	return ret;
}

char *
respawn_remain_option(struct tmux *t, const struct pane *p, struct err *e)
{
	struct buf out = BUF_INIT;

	if (tmux_do(t, false, &out, e, "show-options", "-p", "-q", "-v", "-t", p->id, "remain-on-exit",
		NULL) != 0) {
		buf_release(&out);
		return NULL;
	}
	buf_cut(&out, strcspn(out.data, "\n"));
	return buf_detach(&out);
}

int
respawn_restore_option(struct tmux *t, const struct pane *p, const char *before, struct err *e)
{
	struct buf ours = BUF_INIT, command = BUF_INIT;
	char *now = respawn_remain_option(t, p, e);
	int ret = now != NULL ? 0 : -1;

	if (ret == 0 && strcmp(now, "on") == 0) {
		pane_guard(&ours, p);
		buf_fmt(
		    &command, "set-option -p %s-t %s remain-on-exit ", *before == '\0' ? "-u " : "", p->id);
		if (*before != '\0')
			quote_arg(&command, before);
		ret = tmux_do(t, true, NULL, e, "if-shell", "-F", "-t", p->id, ours.data, command.data, NULL);
	}
	free(now);
	buf_release(&ours);
	buf_release(&command);
	return ret;
}

#define MOST_LINKS 64			/* lives in a row of one agent */
/* gt waits for the agent's first prompt (ClaudeStartTimeout is 60 s to 180 s) */
#define GT_TIMEOUT_MS 120000

/* ---- is it still missing? ---- */

/*
 * Sessions that another recovery made again get their other windows; all panes of such a one were
 * started by our wrapper, for attempts that our store knows: what a gt-recover with another state
 * directory made is somebody else's. Shells of a workspace that was built again wait for their agents.
 */
struct namesakes {
	size_t n, ours;
	struct pane *one;		/* into the list */
};

static bool
is_for(const struct attempt *a, const struct candidate *c)
{
	return *a->pane_id != '%' ||
	    (a->server_pid == c->pane.server_pid && a->server_start == c->pane.server_start &&
		strcmp(a->pane_id, c->pane.id) == 0);
}

/*
 * By a recovery of another agent of that session. One that was made for this very crash is its
 * answer, and so is one that took over from it after its agent had died, in the pane that it had
 * made. Who is known without a pane (detect/detect.h) is the only agent of its session, as
 * far as anybody can tell.
 */
static bool
is_ours(struct app *w, const struct pane *p, const struct candidate *c)
{
	struct store *store = app_store(w, false, NULL);
	struct attempt a, before;
	char id[21];
	bool answers;

	if (*c->pane.id != '%' || store == NULL || !attempt_id_of_pane(p, id) ||
	    attempt_load(store, id, &a, NULL) != 1)
		return false;
	answers = is_for(&a, c);
	for (int i = 0; i < MOST_LINKS && !answers && a.previous != NULL &&
	    attempt_load(store, a.previous, &before, NULL) == 1;
	    i++) {
		attempt_release(&a);
		a = before;
		answers = is_for(&a, c);
	}
	attempt_release(&a);
	return !answers;
}

static void
find_namesakes(struct app *w, struct panes *list, const struct candidate *c, struct namesakes *out)
{
	*out = (struct namesakes){ .n = 0 };
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i].session, c->pane.session) != 0)
			continue;
		out->one = &list->v[i];
		out->n++;
		out->ours += *list->v[i].place != '\0' || is_ours(w, &list->v[i], c);
	}
}

/* No server has no panes. */
static int
list_server(struct app *w, const struct candidate *c, struct panes *list, struct err *e)
{
	memset(list, 0, sizeof *list);
	if (pane_list_bare(app_server(w, c->pane.socket), list, e) == 0)
		return 0;
	if (strcmp(e->name, "no-server") != 0)
		return -1;
	err_clear(e);
	return 0;
}

/* The pane that a rebuilt workspace has in the place of the candidate's; NULL: none. */
static const struct pane *
find_place(const struct panes *list, const struct candidate *c)
{
	char *places = pane_places(&c->pane);
	const struct pane *found = NULL;

	for (size_t i = 0; i < list->n && found == NULL; i++)
		if (pane_place_is_same(list->v[i].place, places))
			found = &list->v[i];
	free(places);
	return found;
}

#define SHELL_MS 3000	/* until a new shell has read its files */

/* Nobody has used it: an idle shell, in which no recovery has started an agent. */
static bool
is_unused(const struct pane *p)
{
	int64_t until = clock_mono_ms() + SHELL_MS;
	struct procs procs;
	bool waits;

	if (p->dead || *p->filled != '\0')
		return false;
	for (;;) {
		if (proc_list(&procs, NULL) != 0)
			return false;
		waits = proc_list_waiting_shell(&procs, p->pid) == p->pid;
		proc_list_release(&procs);
		if (waits || clock_mono_ms() >= until)
			return waits;
		clock_sleep_ms(50);
	}
}

/*
 * As list_server. A session that is there, and not by us alone for its other agents, is an error, unless
 * it only lost the pane; so is a pane in the candidate's place that is used.
 */
static int
look_again(
    struct app *w, const struct candidate *c, struct panes *list, struct namesakes *there, struct err *e)
{
	const struct pane *place;

	if (list_server(w, c, list, e) != 0)
		return -1;
	find_namesakes(w, list, c, there);
	place = find_place(list, c);
	if (place != NULL ? is_unused(place) : c->beside || there->n == there->ours)
		return 0;
	if (place != NULL && *place->filled != '\0')
		err_set(e, GT_AGAIN, "changed", "its session exists again: a recovery started it in %s",
		    place->id);
	else if (place != NULL)
		err_set(e, GT_AGAIN, "changed", "the pane created for it is in use, %s", place->id);
	else
		err_set(e, GT_AGAIN, "changed", "the session exists again: another program created it");
	return err_hint(e, "nothing was changed; gt-recover list shows its new state");
}

int
respawn_check_gone(struct app *w, const struct candidate *c, struct err *e)
{
	struct namesakes there;
	struct panes list;
	int ret = look_again(w, c, &list, &there, e);

	pane_list_release(&list);
	return ret;
}

/* A pane that was made for an agent of which no other place was left: it is its place now. */
static void
mark_place(struct tmux *t, const struct candidate *c, const struct pane *born)
{
	char *places = pane_places(&c->pane);
	struct buf line = BUF_INIT;

	buf_fmt(&line, "set-option -p -t %s remain-on-exit on", born->id);
	if (*born->place == '\0') {
		buf_fmt(&line, " ; set-option -p -t %s " PANE_FILLED " 1", born->id);
		buf_fmt(&line, " ; set-option -p -t %s " PANE_PLACE " ", born->id);
		quote_arg(&line, places);
	}
	if (*born->place == '\0' || strcmp(born->remain_on_exit, "on") != 0)
		tmux_do(t, true, NULL, NULL, "if-shell", "-F", "1", line.data, NULL);
	buf_release(&line);
	free(places);
}

int
respawn_find_session(
    struct app *w, const struct candidate *c, const char *recovery_id, struct pane *born, struct err *e)
{
	struct panes list;
	int found = list_server(w, c, &list, e) == 0 ? 0 : -1;

	for (size_t i = 0; found == 0 && i < list.n; i++)
		if (attempt_started(&list.v[i], recovery_id)) {
			*born = list.v[i];
			list.v[i] = list.v[--list.n];
			found = 1;
		}
	pane_list_release(&list);
	if (found > 0)
		mark_place(app_server(w, c->pane.socket), c, born);
	return found;
}

/* ---- by ourselves ---- */

static void
argument(struct buf *out, const char *option, const char *value)
{
	buf_fmt(out, "%s ", option);
	quote_arg(out, value);
	buf_chr(out, ' ');
}

/* One that tmux expands (T3). */
static void
format_argument(struct buf *out, const char *option, const char *value)
{
	struct buf text = BUF_INIT;

	quote_format(&text, value);
	argument(out, option, text.data != NULL ? text.data : "");
	buf_release(&text);
}

/* Where a pane of another session may be meant by such a name: "$1", "%0", "{last}" (T5). */
static bool
is_target(const char *session)
{
	return isalnum((unsigned char)*session) || *session == '_' || (unsigned char)*session >= 0x80;
}

/* The values of what its command had set and nobody kept are those of our own environment. */
static void
carry(struct buf *out, const struct town_list *names)
{
	for (size_t i = 0; i < names->n; i++) {
		char *pair =
		    xasprintf("%s=%s", names->v[i], getenv(names->v[i]) != NULL ? getenv(names->v[i]) : "");

		argument(out, "-e", pair);
		explicit_bzero(pair, strlen(pair));
		free(pair);
	}
}

/*
 * Prints the new pane's id. The second command is on its way before tmux can notice that the
 * first one's program ended: an agent that fails at once does not take the session with it. Nor
 * is it run when the first one failed: the session is somebody else's then.
 */
static void
add_commands(
    struct tmux_batch *b, const struct candidate *c, const struct respawn *how, const struct pane *beside)
{
	struct buf line = BUF_INIT, name = BUF_INIT;

	if (beside != NULL) {
		buf_str(&line, "new-window -d -P -F '#{pane_id}' ");
		argument(&line, "-t", beside->session_id);
	} else {
		buf_str(&line, "new-session -d -P -F '#{pane_id}' ");
		quote_stored(&name, c->pane.session);
		format_argument(&line, "-s", name.data);
		buf_fmt(&line, "-x %d -y %d ", c->pane.width, c->pane.height);
	}
	format_argument(&line, "-c", c->cwd);
	carry(&line, &c->inherited_env);
	respawn_command(&line, how, WRAP_LOGIN);
	if (beside == NULL && is_target(c->pane.session)) {
		buf_reset(&name);
		buf_fmt(&name, "=%s:", c->pane.session);
		buf_str(&line, "; set-option -p -q ");
		argument(&line, "-t", name.data);
		buf_str(&line, "remain-on-exit on");
	}
	tmux_batch_add(b, "if-shell", "-F", "1", line.data, NULL);
	buf_wipe(&line);
	buf_release(&name);
}

static int
creation_failed(const struct tmux_batch *b, const struct candidate *c, struct err *e)
{
	struct buf words = BUF_INIT;
	const char *why = "";

	tmux_batch_failed(b, &why);
	if (strstr(why, "duplicate session") != NULL) {
		err_set(e, GT_AGAIN, "taken", "the session was just created by another program");
		return err_hint(e, "nothing was changed; gt-recover list shows the agent");
	}
	scrub_first_line(&words, why, 200, NULL);
	err_set(e, GT_FAIL, "tmux", "tmux could not create the session: %s",
	    words.len > 0 ? words.data : "(no reason given)");
	buf_release(&words);
	return err_hint(e, "its directory was %s", c->cwd);
}

static int
find_born(
    struct tmux *t, const struct candidate *c, const char *id, size_t n, struct pane *born, struct err *e)
{
	struct panes list = { .n = 0 };
	int ret = pane_list_bare(t, &list, e);
	bool found = false;

	for (size_t i = 0; ret == 0 && i < list.n && !found; i++)
		if (strlen(list.v[i].id) == n && memcmp(list.v[i].id, id, n) == 0) {
			*born = list.v[i];
			list.v[i] = list.v[--list.n];
			found = true;
		}
	pane_list_release(&list);
	if (ret == 0 && found)
		mark_place(t, c, born);
	if (ret == 0 && !found)
		ret = err_set(e, GT_FAIL, "gone", "the session was created and ended at once");
	return ret;
}

/* In the place of the shell that stands there. Only one of several racers finds it unfilled. */
static void
add_fill(struct tmux_batch *b, const struct candidate *c, const struct respawn *how, const struct pane *p)
{
	struct buf guard = BUF_INIT, line = BUF_INIT;

	buf_str(&guard, "#{&&:");
	pane_guard(&guard, p);
	buf_fmt(&guard, ",#{&&:#{==:#{pane_pid},%lld},#{==:#{" PANE_FILLED "},}}}", (long long)p->pid);
	buf_fmt(&line, "set-option -p -t %s " PANE_FILLED " 1 ; set-option -p -t %s remain-on-exit on ; "
	    "respawn-pane -k -t %s ", p->id, p->id, p->id);
	format_argument(&line, "-c", c->cwd);
	carry(&line, &c->inherited_env);
	respawn_command(&line, how, c->typed ? WRAP_SHELL : WRAP_LOGIN);
	buf_fmt(&line, "; display-message -p -t %s '#{pane_id}'", p->id);
	tmux_batch_add(
	    b, "if-shell", "-F", "-t", p->id, guard.data, line.data, "display-message -p another", NULL);
	buf_wipe(&line);
	buf_release(&guard);
}

int
respawn_session(
    struct app *w, const struct candidate *c, const struct respawn *how, struct pane *born, struct err *e)
{
	struct tmux *t = app_server(w, c->pane.socket);
	struct namesakes there;
	struct panes list;
	const struct pane *place;
	struct tmux_batch b;
	const char *id;
	size_t n = 0;
	int ret = look_again(w, c, &list, &there, e);

	tmux_batch_init(&b);
	if (ret != 0)
		goto out;
	b.mutates = b.starts = true;
	place = find_place(&list, c);
	if (place != NULL)
		add_fill(&b, c, how, place);
	else
		add_commands(&b, c, how, there.one);
	ret = tmux_batch_run(t, &b, e);
	id = ret == 0 ? tmux_batch_output(&b, 0, &n) : NULL;
	if (ret == 0 && (id == NULL || n < 2 || *id != '%'))
		ret = creation_failed(&b, c, e);
	else if (ret == 0)
		ret = find_born(t, c, id, n, born, e);
out:
	tmux_batch_release(&b);
	pane_list_release(&list);
	return ret;
}

/* ---- by Gas Town ---- */

static int
call_gt(struct app *w, const struct candidate *c, struct err *e)
{
	char *who = xasprintf("%s/%s", c->role.rig, c->role.name);
	const char *argv[] = { "gt", "session", "start", who, NULL };
	struct buf out = BUF_INIT, said = BUF_INIT, words = BUF_INIT;
	struct spawn s = { .argv = argv,
		.cwd = town_root(w->town),
		.out = &out,
		.errout = &said,
		.timeout_ms = GT_TIMEOUT_MS };
	int ret = spawn_run(&s, e);

	if (ret == 0 && s.status != 0) {
		scrub_first_line(&words, said.data, 200, NULL);
		err_set(e, GT_FAIL, "gt", "gt session start %s failed with status %d: %s", who, s.status,
		    words.data != NULL ? words.data : "");
		ret = err_hint(e, "run it by hand in the town to see why");
	}
	buf_release(&out);
	buf_release(&said);
	buf_release(&words);
	free(who);
	return ret;
}

int
respawn_with_gt(struct app *w, const struct candidate *c, struct pane *born, struct err *e)
{
	bool found = false;

	if (call_gt(w, c, e) != 0)
		return -1;
	/* gt chooses the socket */
	for (size_t k = 0; k < w->n_servers && !found; k++) {
		struct panes list = { .n = 0 };
		struct namesakes there;

		if (pane_list(&w->servers[k], &list, NULL) == 0) {
			find_namesakes(w, &list, c, &there);
			if (there.one != NULL) {
				*born = *there.one;
				*there.one = list.v[--list.n];
				found = true;
			}
		}
		pane_list_release(&list);
	}
	if (found)
		return 0;
	err_set(e, GT_FAIL, "gone", "gt session start succeeded, but the session does not exist");
	return err_hint(e, "check gt session list");
}
