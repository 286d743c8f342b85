#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/remake.h"
#include "revive/detect.h"
#include "revive/memory.h"
#include "revive/respawn.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/spawn.h"
#include "ledger/attempt.h"
#include "scrub/error.h"
#include "tmux/client.h"
#include "tmux/pane.h"
#include "tmux/quote.h"
#include "town/town.h"

#define MOST_LINKS 64			/* lives in a row of one agent */
#define GT_TIMEOUT_MS 120000		/* gt waits for the agent's first prompt (ClaudeStartTimeout is 60 s to 180 s) */

static bool
in_path(const char *program)
{
	const char *path = getenv("PATH");
	bool found = false;

	while (path != NULL && *path != '\0' && !found) {
		size_t n = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)n, path, program);

		found = n > 0 && access(file, X_OK) == 0;
		free(file);
		path += n + (path[n] == ':');
	}
	return found;
}

bool
remake_by_gt(const struct world *w, const struct candidate *c)
{
	return c->class == CLASS_MISSING && town_root(w->town) != NULL && c->role.kind == ROLE_POLECAT && *c->role.rig != '\0' &&
	    town_rig(w->town, c->role.rig) != NULL && in_path("gt");
}

/* ---- is it still missing? ---- */

/*
 * Sessions that another recovery made again get their other windows; all panes of such a one were started by our wrapper, for attempts that
 * our store knows: what a gt-recover with another state directory made is somebody else's.
 */
struct namesakes {
	size_t n, ours;
	struct pane *one;		/* into the list */
};

static bool
is_for(const struct attempt *a, const struct candidate *c)
{
	return *a->pane_id != '%' || (a->server_pid == c->pane.server_pid && a->server_start == c->pane.server_start &&
	    strcmp(a->pane_id, c->pane.id) == 0);
}

/*
 * By a recovery of another agent of that session. One that was made for this very crash is its answer, and so is one that took over from it
 * after its agent had died, in the pane that it had made. Who is known without a pane (candidate_without_pane) is the only agent of its
 * session, as far as anybody can tell.
 */
static bool
is_ours(struct world *w, const struct pane *p, const struct candidate *c)
{
	struct store *store = world_store(w, false, NULL);
	struct attempt a, before;
	char id[21];
	bool answers;

	if (*c->pane.id != '%' || store == NULL || !respawn_id(p, id) || attempt_load(store, id, &a, NULL) != 1)
		return false;
	answers = is_for(&a, c);
	for (int i = 0; i < MOST_LINKS && !answers && a.previous != NULL && attempt_load(store, a.previous, &before, NULL) == 1; i++) {
		attempt_release(&a);
		a = before;
		answers = is_for(&a, c);
	}
	attempt_release(&a);
	return !answers;
}

static void
find_namesakes(struct world *w, struct panes *list, const struct candidate *c, struct namesakes *out)
{
	*out = (struct namesakes){ .n = 0 };
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i].session, c->pane.session) != 0)
			continue;
		out->one = &list->v[i];
		out->n++;
		out->ours += is_ours(w, &list->v[i], c);
	}
}

/* No server has no panes. */
static int
look(struct world *w, const struct candidate *c, struct panes *list, struct err *e)
{
	memset(list, 0, sizeof *list);
	if (panes_look(world_server(w, c->pane.socket), list, e) == 0)
		return 0;
	if (strcmp(e->name, "no-server") != 0)
		return -1;
	err_clear(e);
	return 0;
}

/* As look; one that is there, and not by us alone for its other agents, is an error. */
static int
look_again(struct world *w, const struct candidate *c, struct panes *list, struct namesakes *there, struct err *e)
{
	if (look(w, c, list, e) != 0)
		return -1;
	find_namesakes(w, list, c, there);
	if (there->n == there->ours)
		return 0;
	err_set(e, GT_AGAIN, "changed", "the session is there again: somebody else has made it");
	return err_hint(e, "nothing was done to it; run gt-recover list to see what it is now");
}

int
remake_check(struct world *w, const struct candidate *c, struct err *e)
{
	struct namesakes there;
	struct panes list;
	int ret = look_again(w, c, &list, &there, e);

	panes_release(&list);
	return ret;
}

int
remake_find(struct world *w, const struct candidate *c, const char *recovery_id, struct pane *born, struct err *e)
{
	struct panes list;
	int found = look(w, c, &list, e) == 0 ? 0 : -1;

	for (size_t i = 0; found == 0 && i < list.n; i++)
		if (respawn_was_by(&list.v[i], recovery_id)) {
			*born = list.v[i];
			list.v[i] = list.v[--list.n];
			found = 1;
		}
	panes_release(&list);
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
		char *pair = xasprintf("%s=%s", names->v[i], getenv(names->v[i]) != NULL ? getenv(names->v[i]) : "");

		argument(out, "-e", pair);
		explicit_bzero(pair, strlen(pair));
		free(pair);
	}
}

/*
 * Prints the new pane's id. The second command is on its way before tmux can notice that the first one's program ended: an agent that
 * fails at once does not take the session with it. Nor is it run when the first one failed: the session is somebody else's then.
 */
static void
add_commands(struct batch *b, const struct candidate *c, const struct respawn *how, const struct pane *beside)
{
	struct buf line = BUF_INIT, name = BUF_INIT;

	if (beside != NULL) {
		buf_str(&line, "new-window -d -P -F '#{pane_id}' ");
		argument(&line, "-t", beside->session_id);
	} else {
		buf_str(&line, "new-session -d -P -F '#{pane_id}' ");
		quote_given(&name, c->pane.session);
		format_argument(&line, "-s", name.data);
		buf_fmt(&line, "-x %d -y %d ", c->pane.width, c->pane.height);
	}
	format_argument(&line, "-c", c->cwd);
	carry(&line, &c->carried);
	respawn_command(&line, how, WRAP_LOGIN);
	if (beside == NULL && is_target(c->pane.session)) {
		buf_reset(&name);
		buf_fmt(&name, "=%s:", c->pane.session);
		buf_str(&line, "; set-option -p -q ");
		argument(&line, "-t", name.data);
		buf_str(&line, "remain-on-exit on");
	}
	batch_add(b, "if-shell", "-F", "1", line.data, NULL);
	buf_wipe(&line);
	buf_release(&name);
}

static int
refused(const struct batch *b, const struct candidate *c, struct err *e)
{
	struct buf words = BUF_INIT;
	const char *why = "";

	batch_failed(b, &why);
	if (strstr(why, "duplicate session") != NULL) {
		err_set(e, GT_AGAIN, "taken", "the session was made again by somebody else just now");
		return err_hint(e, "nothing was changed; run gt-recover list to see what lives there");
	}
	error_words(&words, why, 200, NULL);
	err_set(e, GT_FAIL, "tmux", "tmux could not make the session again: %s", words.len > 0 ? words.data : "(no reason given)");
	buf_release(&words);
	return err_hint(e, "its directory was %s", c->cwd);
}

static int
find_born(struct tmux *t, const char *id, size_t n, struct pane *born, struct err *e)
{
	struct panes list = { .n = 0 };
	int ret = panes_look(t, &list, e);
	bool found = false;

	for (size_t i = 0; ret == 0 && i < list.n && !found; i++)
		if (strlen(list.v[i].id) == n && memcmp(list.v[i].id, id, n) == 0) {
			*born = list.v[i];
			list.v[i] = list.v[--list.n];
			found = true;
		}
	panes_release(&list);
	if (ret == 0 && found && strcmp(born->remain_on_exit, "on") != 0)
		tmux_do(t, true, NULL, NULL, "set-option", "-p", "-t", born->id, "remain-on-exit", "on", NULL);
	if (ret == 0 && !found)
		ret = err_set(e, GT_FAIL, "gone", "the session was made again and ended at once");
	return ret;
}

int
remake_session(struct world *w, const struct candidate *c, const struct respawn *how, struct pane *born, struct err *e)
{
	struct tmux *t = world_server(w, c->pane.socket);
	struct namesakes there;
	struct panes list;
	struct batch b;
	const char *id;
	size_t n = 0;
	int ret = look_again(w, c, &list, &there, e);

	batch_init(&b);
	if (ret != 0)
		goto out;
	b.mutates = b.starts = true;
	add_commands(&b, c, how, there.one);
	ret = batch_run(t, &b, e);
	id = ret == 0 ? batch_out(&b, 0, &n) : NULL;
	if (ret == 0 && (id == NULL || n < 2 || *id != '%'))
		ret = refused(&b, c, e);
	else if (ret == 0)
		ret = find_born(t, id, n, born, e);
out:
	batch_release(&b);
	panes_release(&list);
	return ret;
}

/* ---- by Gas Town ---- */

static int
call_gt(struct world *w, const struct candidate *c, struct err *e)
{
	char *who = xasprintf("%s/%s", c->role.rig, c->role.name);
	const char *argv[] = { "gt", "session", "start", who, NULL };
	struct buf out = BUF_INIT, said = BUF_INIT, words = BUF_INIT;
	struct spawn s = { .argv = argv, .cwd = town_root(w->town), .out = &out, .errout = &said, .timeout_ms = GT_TIMEOUT_MS };
	int ret = spawn_run(&s, e);

	if (ret == 0 && s.status != 0) {
		error_words(&words, said.data, 200, NULL);
		err_set(e, GT_FAIL, "gt", "gt session start %s failed with status %d: %s", who, s.status, words.data != NULL ? words.data : "");
		ret = err_hint(e, "run it by hand in the town to see why");
	}
	buf_release(&out);
	buf_release(&said);
	buf_release(&words);
	free(who);
	return ret;
}

int
remake_gt(struct world *w, const struct candidate *c, struct pane *born, struct err *e)
{
	bool found = false;

	if (call_gt(w, c, e) != 0)
		return -1;
	/* gt chooses the socket */
	for (size_t k = 0; k < w->n_servers && !found; k++) {
		struct panes list = { .n = 0 };
		struct namesakes there;

		if (panes_list(&w->servers[k], &list, NULL) == 0) {
			find_namesakes(w, &list, c, &there);
			if (there.one != NULL) {
				*born = *there.one;
				*there.one = list.v[--list.n];
				found = true;
			}
		}
		panes_release(&list);
	}
	if (found)
		return 0;
	err_set(e, GT_FAIL, "gone", "gt session start succeeded, but no session of that name is there");
	return err_hint(e, "look at gt session list");
}
