#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recover/recover_private.h"
#include "detect/detect.h"
#include "app/app.h"
#include "process/orphan.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "records/hooks/hooks.h"
#include "scrub/scrub.h"
#include "gastown/gastown.h"

#define COMMAND_COLUMNS 160
#define PATH_COLUMNS 200
#define SHELLS_MAX 3
/* a file's time and a call's are of one clock, but the record of the call may be a moment late */
#define SLACK_MS 1000

static bool
is_one_of(const char *name, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

/* A shell that goes on behind a finished call: in the words of the screen and of the transcript. */
static bool
is_background(const struct exchange *x)
{
	return strcmp(x->tool, "Bash") == 0 &&
	    (str_starts(x->content, "Running in the background") ||
		str_starts(x->content, "Command running in background with ID"));
}

/* Other agents name files by their whole paths; the same words may stand for something else on a screen. */
static bool
writes_file(const struct exchange *x)
{
	static const char *const writers[] = { "Write", "Edit", "Update", "MultiEdit", "NotebookEdit", NULL };
	const struct hook_writer *w = NULL;

	for (size_t i = 0; i < hook_adapter_count() && w == NULL; i++)
		w = hook_adapter_writer(hook_adapter_at(i), x->tool);
	return is_one_of(x->tool, writers) ||
	    (w != NULL && w->key != NULL && x->input != NULL && *x->input == '/');
}

static enum unfinished_kind
kind_of(const struct exchange *x)
{
	static const char *const agents[] = { "Agent", "Agents", "Task", "Explore", NULL };

	if (strcmp(x->tool, "AskUserQuestion") == 0)
		return UNFINISHED_QUESTION;
	if (strcmp(x->tool, "ExitPlanMode") == 0)
		return UNFINISHED_PLAN;
	if (x->status == STATUS_WAITING)
		return UNFINISHED_PERMISSION;
	if (writes_file(x))
		return UNFINISHED_FILE;
	if (strcmp(x->tool, "Bash") == 0)
		return UNFINISHED_COMMAND;
	return is_one_of(x->tool, agents) ? UNFINISHED_AGENTS : UNFINISHED_CALL;
}

void
gather_unfinished(const struct conversation *talk, bool untold, struct unfinished_list *out)
{
	struct unfinished found[UNFINISHED_MAX];
	size_t n = 0, background = 0;

	for (size_t i = talk->n; i-- > 0 && n < UNFINISHED_MAX; ) {
		const struct exchange *x = &talk->v[i];

		if (x->tool == NULL || x->folded || (x->source == SOURCE_EARLIER && !untold))
			continue;
		if (x->status == STATUS_RUNNING || x->status == STATUS_WAITING) {
			found[n] = (struct unfinished){ kind_of(x), x };
			/* without a dialog it waits for a hook, or for a call before it */
			if (found[n].kind == UNFINISHED_PERMISSION && talk->question == NULL)
				found[n].kind = UNFINISHED_NOT_BEGUN;
			n++;
		} else if (x->status == STATUS_COMPLETE && is_background(x) && background++ < SHELLS_MAX)
			found[n++] = (struct unfinished){ UNFINISHED_BACKGROUND, x };
	}
	out->n = n;
	for (size_t i = 0; i < n; i++)
		out->v[i] = found[n - 1 - i];
}

/* Does the first line of a call's input name that file? A screen names files below cwd from there. */
static bool
is_path(const char *input, const char *path, const char *cwd)
{
	size_t n = cwd != NULL ? strlen(cwd) : 0, len = strcspn(input, "\n");

	if (strlen(path) == len && strncmp(path, input, len) == 0)
		return true;
	return n > 0 && strncmp(path, cwd, n) == 0 && path[n] == '/' && strlen(path + n + 1) == len &&
	    strncmp(path + n + 1, input, len) == 0;
}

/* Is it a call on that file that is open, or was made when the write began? */
static bool
is_reported(const struct exchange *x, const struct activity_file *f, const char *path, const char *cwd)
{
	if (x->tool == NULL || x->input == NULL || kind_of(x) != UNFINISHED_FILE)
		return false;
	if (x->status != STATUS_RUNNING && (x->at == 0 || x->at < f->began - SLACK_MS))
		return false;
	return is_path(x->input, path, cwd);
}

/*
 * The agent's hooks reported the write of this call and that it is over: its end, a later call, or
 * the end of the turn. An agent may die before its transcript has the result. A call that is known
 * from a screen alone has no time and stays open.
 */
static bool
is_over(const struct exchange *x, const struct activity *told, const char *cwd, struct scrub *s)
{
	bool over = false;

	for (size_t i = 0; i < told->n_files && !over && x->at > 0; i++) {
		const struct activity_file *f = &told->files[i];
		struct clean_text *path;

		if (f->agent != NULL || f->began < x->at || activity_file_unfinished(told, f))
			continue;
		path = scrub_string(s, f->path);
		over = path != NULL && is_path(x->input, clean_bytes(path), cwd);
		clean_free(path);
	}
	return over;
}

static void
drop_over(const struct activity *told, const char *cwd, struct scrub *s, struct unfinished_list *out)
{
	size_t n = 0;

	for (size_t i = 0; i < out->n; i++) {
		const struct exchange *x = out->v[i].x;

		if (out->v[i].kind != UNFINISHED_FILE || x->input == NULL || !is_over(x, told, cwd, s))
			out->v[n++] = out->v[i];
	}
	out->n = n;
}

void
gather_unfinished_add(const struct activity *told, const struct conversation *known, const char *cwd,
    struct scrub *s, struct conversation *talk, struct unfinished_list *out)
{
	size_t from = talk->n;

	drop_over(told, cwd, s, out);
	for (size_t i = told->n_files; i-- > 0; ) {
		const struct activity_file *f = &told->files[i];
		struct clean_text *path = activity_file_unfinished(told, f) ? scrub_string(s, f->path) : NULL;
		bool is_known = path == NULL || talk->n - from == UNFINISHED_MAX - out->n;

		for (size_t k = 0; k < known->n && !is_known; k++)
			is_known = is_reported(&known->v[k], f, clean_bytes(path), cwd);
		if (!is_known) {
			struct exchange *x = conversation_add(talk, ROLE_ASSISTANT,
			    xstrdup(f->tool != NULL ? f->tool : "Write"), xstrdup(clean_bytes(path)),
			    xstrdup(""));

			x->status = STATUS_RUNNING;
			x->at = f->began;
		}
		clean_free(path);
	}
	/* only now: each one that was added may have moved the others */
	for (size_t i = from; i < talk->n; i++)
		out->v[out->n++] = (struct unfinished){ UNFINISHED_FILE, &talk->v[i] };
}

/* The first line of a call's input: its path, command, question or task. */
static char *
first_line(const struct exchange *x, size_t columns)
{
	struct buf b = BUF_INIT;

	if (x->input != NULL)
		utf8_escape(&b, x->input, strcspn(x->input, "\n"), columns);
	return buf_detach(&b);
}

/* A command may have several lines: all of it, as far as there is room. */
static void
put_call(struct buf *b, const struct exchange *x)
{
	buf_fmt(b, "%s(", x->tool);
	if (x->input != NULL)
		utf8_escape(b, x->input, strlen(x->input), COMMAND_COLUMNS);
	buf_chr(b, ')');
}

/*
 * What git says of a path: the word of git_state's line ("modified src/a.c (staged)"). A line of
 * a folder stands for what is in it.
 */
static bool
git_word(const struct clean_text *git, const char *path, char word[11])
{
	const char *p = clean_bytes(git), *nl;

	for (; *p != '\0'; p = *nl != '\0' ? nl + 1 : nl) {
		size_t len = strcspn(p, "\n"), n;

		nl = p + len;
		if (len < 12 || p[10] != ' ' || p[11] == ' ')
			continue;
		n = strlen(path);
		if (p[len - 1] == '/' ? strncmp(path, p + 11, len - 11) != 0
				      : strncmp(p + 11, path, n) != 0 ||
			    (p[11 + n] != '\n' && p[11 + n] != '\0' && !str_starts(p + 11 + n, " (")))
			continue;
		n = 10;
		while (n > 0 && p[n - 1] == ' ')
			n--;
		memcpy(word, p, n);
		word[n] = '\0';
		return true;
	}
	return false;
}

static void
put_when(struct buf *b, int64_t changed, const struct exchange *x, int64_t crashed_at)
{
	struct buf age = BUF_INIT;
	int64_t base = x->at > 0 ? x->at : crashed_at;

	if (base <= 0)
		return;
	clock_age(&age, changed > base ? changed - base : base - changed);
	if (x->at > 0 && changed >= x->at - SLACK_MS)
		buf_fmt(b, ", changed %s after the call: all or a part of it may be written", age.data);
	else if (x->at > 0)
		buf_fmt(b, ", last changed %s before the call: nothing of it was written", age.data);
	else
		buf_fmt(b, ", last changed %s %s the crash", age.data, changed > base ? "after" : "before");
	buf_release(&age);
}

static void
report_file(const struct exchange *x, const struct unfinished_context *place, struct buf *b)
{
	const char *input = x->input != NULL ? x->input : "";
	char *shown = first_line(x, PATH_COLUMNS), *raw = xstrndup(input, strcspn(input, "\n"));
	char *path = *raw == '/' || place->cwd == NULL ? xstrdup(raw) : xasprintf("%s/%s", place->cwd, raw),
	     word[11];
	size_t cwd = place->cwd != NULL ? strlen(place->cwd) : 0;
	bool known = *raw == '/' || (place->cwd != NULL && *raw != '\0' && *raw != '~');
	const char *within = raw;
	struct stat st;

	if (cwd > 0 && *raw == '/' && strncmp(raw, place->cwd, cwd) == 0 && raw[cwd] == '/')
		within = raw + cwd + 1;
	buf_fmt(b, "%s(%s) was under way: ", x->tool, shown);
	if (!known || strstr(raw, "…") != NULL || strstr(raw, "[REDACTED:") != NULL) {
		buf_str(b, "the file may be half written or untouched");
	} else if (stat(path, &st) != 0) {
		buf_str(b, "there is no such file, nothing of it was written");
	} else {
		buf_fmt(b, "the file is there, %lld bytes", (long long)st.st_size);
		put_when(b, (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000, x,
		    place->crashed_at);
		if (place->git != NULL && git_word(place->git, within, word))
			buf_fmt(b, "; git calls it %s", word);
	}
	buf_str(b, ". Look at it before you go on.");
	free(shown);
	free(raw);
	free(path);
}

/* The same command: blanks do not count, and a screen's may be cut. */
static bool
is_command(const char *input, const char *command)
{
	for (;; input++, command++) {
		input += strspn(input, " \t\n");
		command += strspn(command, " \t\n");
		if (str_starts(input, "…"))
			return true;
		if (*input == '\0' || *command == '\0')
			return *input == *command;
		if (*input != *command)
			return false;
	}
}

static void
put_orphan(struct buf *b, const struct orphan *o, const struct unfinished_context *place)
{
	struct buf age = BUF_INIT;

	clock_age(&age, o->age_ms);
	buf_fmt(b, "pid %d, for %s", (int)o->pid, age.data);
	if (o->cwd != NULL && (place->cwd == NULL || strcmp(o->cwd, place->cwd) != 0))
		buf_fmt(b, ", in %s", o->cwd);
	if (o->output != NULL)
		buf_fmt(b, ", its output goes to %s", o->output);
	buf_release(&age);
}

static void
put_offer(struct buf *b, const struct orphan *o)
{
	buf_fmt(b, o->pgrp == o->pid ? "`kill -- -%d` ends it." : "`kill %d` ends it.", (int)o->pid);
}

/* The process of a command; all->n: none that is known. */
static size_t
find_orphan(const struct orphans *all, const bool used[ORPHANS_MAX], const char *command)
{
	size_t i = 0;

	while (i < all->n && (used[i] || command == NULL || !is_command(command, all->v[i].command)))
		i++;
	return i;
}

static void
report_command(
    const struct unfinished *h, const struct unfinished_context *place, bool used[ORPHANS_MAX], struct buf *b)
{
	const struct orphans *all = place->orphans;
	bool background = h->kind == UNFINISHED_BACKGROUND;
	size_t i = 0;

	if (all != NULL)
		i = find_orphan(all, used, h->x->input);
	put_call(b, h->x);
	buf_str(b, background ? " ran in the background" : " was running");
	if (all == NULL) {
		buf_str(b,
		    ": it may have done part of its work, and what it started may still run. Check before "
		    "you run it again.");
	} else if (i == all->n) {
		buf_str(b,
		    background ? "; no process of it was found: it has ended, or it died with the agent."
			       : "; no process of it was found. It may have done part of its work: check "
				 "before you run it again.");
	} else {
		used[i] = true;
		buf_str(
		    b, all->v[i].sure ? " and still runs (" : " and may still run: a process like it does (");
		put_orphan(b, &all->v[i], place);
		buf_str(b, "). Look at it before you run it again; ");
		put_offer(b, &all->v[i]);
	}
}

static void
report_call(const struct unfinished *h, struct buf *b)
{
	char *about = first_line(h->x, COMMAND_COLUMNS);

	switch (h->kind) {
	case UNFINISHED_QUESTION:
		buf_fmt(b, "A question to the person was open and got no answer%s%s",
		    *about != '\0' ? ": " : ".", about);
		break;
	case UNFINISHED_PLAN:
		buf_str(b, "Your plan waited for the person's agreement and did not get it.");
		break;
	case UNFINISHED_PERMISSION:
		put_call(b, h->x);
		buf_str(b, " was waiting for permission and did not run.");
		break;
	case UNFINISHED_NOT_BEGUN:
		put_call(b, h->x);
		buf_str(b, " had not begun: a hook or another call came before it. It did not run.");
		break;
	case UNFINISHED_AGENTS:
		buf_fmt(b,
		    "Sub-agents were running%s%s%s and died with this session. What they had not written to "
		    "disk is lost; look before "
		    "you start them again.",
		    *about != '\0' ? " (" : "", about, *about != '\0' ? ")" : "");
		break;
	default:
		put_call(b, h->x);
		buf_str(b, " was running: it may have done part of its work. Check before you run it again.");
		break;
	}
	free(about);
}

/* A shell that replaced itself has another command: then its output tells. */
static size_t
find_shell(const struct orphans *all, const bool used[ORPHANS_MAX], const struct background *x)
{
	size_t i = find_orphan(all, used, x->input);

	if (i < all->n || x->path == NULL)
		return i;
	for (i = 0; i < all->n; i++)
		if (!used[i] && all->v[i].output != NULL && strcmp(all->v[i].output, x->path) == 0)
			break;
	return i;
}

static void
put_words(struct buf *b, const char *text)
{
	utf8_escape(b, text != NULL ? text : "", text != NULL ? strlen(text) : 0, COMMAND_COLUMNS);
}

static void
report_shell(const struct background *x, const struct unfinished_context *place, bool used[ORPHANS_MAX],
    struct buf *b)
{
	const struct orphans *all = place->orphans;
	size_t i = all != NULL ? find_shell(all, used, x) : 0;

	buf_str(b, "Bash(");
	put_words(b, x->input);
	buf_str(b, ") ran in the background");
	if (all != NULL && i < all->n) {
		used[i] = true;
		buf_str(
		    b, all->v[i].sure ? " and still runs (" : " and may still run: a process like it does (");
		put_orphan(b, &all->v[i], place);
		buf_str(b, "), even if a notice says that it stopped; no notification comes when it ends. "
			   "Look at it before you run it again; ");
		put_offer(b, &all->v[i]);
		return;
	}
	buf_str(b, all != NULL ? "; no process of it was found: it has ended, or it died with the agent"
			       : "; it may still run");
	if (x->path != NULL)
		buf_fmt(b, ". Its output is in %s", x->path);
	buf_chr(b, '.');
}

/* A monitor's own end is told by gather_died; here its process, if that lives on. */
static void
report_monitor(const struct background *x, const struct unfinished_context *place, bool used[ORPHANS_MAX],
    struct buf *b)
{
	size_t i = place->orphans != NULL ? find_orphan(place->orphans, used, x->input) : SIZE_MAX;

	if (i == SIZE_MAX || i == place->orphans->n)
		return;
	used[i] = true;
	buf_str(b, "The process of your monitor \"");
	put_words(b, x->what);
	buf_str(b, "\" outlived the session (");
	put_orphan(b, &place->orphans->v[i], place);
	buf_str(b, "): its output does not reach you. If it is not wanted, ");
	put_offer(b, &place->orphans->v[i]);
}

/* Oldest first. */
static void
report_background(const struct unfinished_context *place, bool used[ORPHANS_MAX], struct town_list *out)
{
	for (size_t i = place->background->n; i-- > 0;) {
		const struct background *x = &place->background->v[i];
		struct buf b = BUF_INIT;

		if (x->kind == BACKGROUND_SHELL)
			report_shell(x, place, used, &b);
		else if (x->kind == BACKGROUND_MONITOR)
			report_monitor(x, place, used, &b);
		if (b.len > 0)
			town_list_add(out, buf_detach(&b));
		else
			buf_release(&b);
	}
}

/*
 * A call that went to the background by its words, and that the transcript's list does not have: it
 * ended, or its record does not name the task. Told of if its process lives on.
 */
static void
report_unlisted(const struct unfinished_list *l, const struct unfinished_context *place,
    bool used[ORPHANS_MAX], struct town_list *out)
{
	const struct orphans *all = place->orphans;

	for (size_t i = 0; all != NULL && i < l->n; i++) {
		struct buf b = BUF_INIT;

		if (l->v[i].kind != UNFINISHED_BACKGROUND ||
		    find_orphan(all, used, l->v[i].x->input) == all->n)
			continue;
		report_command(&l->v[i], place, used, &b);
		town_list_add(out, buf_detach(&b));
	}
}

/* Processes of this agent that are no call's that was told of. */
static void
report_orphans(const struct unfinished_context *place, const bool used[ORPHANS_MAX], struct town_list *out)
{
	const struct orphans *all = place->orphans;

	for (size_t i = 0; i < all->n; i++) {
		struct buf b = BUF_INIT;

		if (used[i])
			continue;
		buf_str(&b,
		    all->v[i].sure ? "A process of this agent still runs ("
				   : "A process that may be this agent's still runs (");
		put_orphan(&b, &all->v[i], place);
		buf_str(&b, "): ");
		utf8_escape(&b, all->v[i].command, strlen(all->v[i].command), COMMAND_COLUMNS);
		buf_str(&b, ". If it is not wanted, ");
		put_offer(&b, &all->v[i]);
		town_list_add(out, buf_detach(&b));
	}
	if (all->more > 0)
		town_list_add(out,
		    xasprintf("%zu more processes may be this agent's; look before you start anything again.",
			all->more));
}

void
gather_unfinished_report(
    const struct unfinished_list *l, const struct unfinished_context *place, struct town_list *out)
{
	bool used[ORPHANS_MAX] = { false };

	for (size_t i = 0; i < l->n; i++) {
		struct buf b = BUF_INIT;

		if (l->v[i].kind == UNFINISHED_BACKGROUND && place->background != NULL)
			continue;
		if (l->v[i].kind == UNFINISHED_FILE)
			report_file(l->v[i].x, place, &b);
		else if (l->v[i].kind == UNFINISHED_COMMAND || l->v[i].kind == UNFINISHED_BACKGROUND)
			report_command(&l->v[i], place, used, &b);
		else
			report_call(&l->v[i], &b);
		town_list_add(out, buf_detach(&b));
	}
	if (place->background != NULL) {
		report_background(place, used, out);
		report_unlisted(l, place, used, out);
	}
	if (place->orphans != NULL)
		report_orphans(place, used, out);
}

void
gather_unfinished_warnings(struct app *w, const struct candidate *c, const struct conversation *talk,
    bool untold, const char *session_id, const struct background_list *background,
    const struct clean_text *git, struct scrub *s, struct town_list *out)
{
	struct orphan_search by = { .session_id = session_id,
		.config_dir = c->config_dir,
		.cwd = c->cwd,
		.server_pid = c->pane.server_pid,
		.pane_id = c->pane.id,
		.is_agent = profile_list_has_process,
		.arg = w->profiles };
	struct unfinished_context place = {
		.cwd = c->cwd, .crashed_at = c->crashed_at, .git = git, .background = background
	};
	struct conversation heard = CONVERSATION_INIT;
	struct store *store = session_id != NULL ? app_store(w, false, NULL) : NULL;
	struct orphans orphans = { .n = 0 };
	struct unfinished_list list;
	struct activity told;

	gather_unfinished(talk, untold, &list);
	if (store != NULL) {
		if (activity_load(store, session_id, &told, NULL) > 0)
			gather_unfinished_add(&told, talk, c->cwd, s, &heard, &list);
		activity_release(&told);
	}
	/* a living agent's commands are its own affair */
	if (c->status != AGENT_LIVE && c->profile->background && orphan_list(&by, s, &orphans, NULL) == 0)
		place.orphans = &orphans;
	gather_unfinished_report(&list, &place, out);
	orphan_list_release(&orphans);
	conversation_release(&heard);
}
