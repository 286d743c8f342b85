#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recover/recover_private.h"
#include "detect/detect.h"
#include "app/app.h"
#include "process/proc.h"
#include "config/config.h"

/* tmux's times are whole seconds, and what was under way is still written */
#define SLACK_MS 5000

enum why {
	NO_FLAG, NO_STDIN, UNCLEAR, TRIED, UNTOLD, STALE, AMBIGUOUS, NONE, UNSURE, FOREIGN, IN_USE,
	MOVED_ON, SPLIT, EMPTY, TORN, BROKEN, LARGE,
	WHYS
};

static const struct resume_refusal reasons[WHYS] = {
	[NO_FLAG] = { "no-flag", "this agent cannot resume a conversation" },
	[NO_STDIN] = { "no-stdin", "its start command takes no prompt" },
	[UNCLEAR] = { "unclear-command", "its start command is ambiguous" },
	[TRIED] = { "tried", "already tried for this crash without success" },
	[UNTOLD] = { "untold",
	    "an earlier recovery's context was never delivered" },
	[STALE] = { "stale", "the recorded conversation no longer exists" },
	[AMBIGUOUS] = { "ambiguous", "several conversations may be its own" },
	[NONE] = { "no-transcript", "no conversation found" },
	[UNSURE] = { "unsure", "its conversation is known by its directory only" },
	[FOREIGN] = { "foreign",
	    "its conversation is in another directory or configuration" },
	[IN_USE] = { "in-use", "another process uses its conversation" },
	[MOVED_ON] = { "moved-on", "its conversation was continued after the crash" },
	[SPLIT] = { "split", "its conversation is in several files, which its next start deletes" },
	[EMPTY] = { "empty", "its conversation has no answer yet" },
	[TORN] = { "torn", "its transcript has a truncated line" },
	[BROKEN] = { "broken", "its transcript is incomplete" },
	[LARGE] = { "too-large", "its conversation is larger than max_context_tokens" },
};

const struct resume_refusal *
resume_judge(const struct resume_facts *f)
{
	const bool stands[WHYS] = {
		[NO_FLAG] = !f->has_flag, [NO_STDIN] = !f->can_tell, [UNCLEAR] = !f->clear,
		[TRIED] = f->tried, [UNTOLD] = f->untold, [STALE] = f->gone,
		[AMBIGUOUS] = f->how == FOUND_AMBIGUOUS, [NONE] = f->how == FOUND_NONE,
		[UNSURE] = f->how == FOUND_FOLDER,
		[FOREIGN] = !f->in_place || f->stand == TRANSCRIPT_FOREIGN, [IN_USE] = f->in_use,
		[MOVED_ON] = f->moved_on, [SPLIT] = f->split, [EMPTY] = f->stand == TRANSCRIPT_EMPTY,
		[TORN] = f->stand == TRANSCRIPT_TORN, [BROKEN] = f->stand == TRANSCRIPT_BROKEN,
		[LARGE] = f->stand == TRANSCRIPT_LARGE || f->tokens >= f->most_tokens,
	};

	for (size_t i = 0; i < WHYS; i++)
		if (stands[i])
			return &reasons[i];
	return NULL;
}

/* The transcript's path is that of the agent's own directory and configuration, and no link leads there. */
static bool
lies_in_place(const struct candidate *c, const struct transcript_found *found)
{
	char *path = c->config_dir != NULL ? transcript_path(c->config_dir, c->cwd, found->session_id) : NULL;
	struct stat a, b;
	bool same = path != NULL && stat(path, &a) == 0 && stat(found->path, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino;

	free(path);
	return same;
}

static bool
written_since(const struct candidate *c, const char *path)
{
	struct stat st;

	return c->pane.dead && c->pane.dead_time > 0 && stat(path, &st) == 0 &&
	    (int64_t)st.st_mtim.tv_sec * 1000 > c->pane.dead_time * 1000 + SLACK_MS;
}

/*
 * Of this crash: an agent that was started since then and took it up would have made another
 * attempt the newest.
 */
static bool
was_tried(struct app *w, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	struct store *store = app_store(w, false, NULL);
	struct attempt a;
	char id[21];
	bool vain;
	int found = store == NULL
	    ? 0
	    : attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL);

	if (store != NULL && found == 0 && detect_status_has_pane(c->status) && attempt_id_of_pane(p, id))
		found = attempt_load(store, id, &a, NULL);
	if (found != 1)
		return false;
	vain = a.via != NULL && strcmp(a.via, "resume") == 0 && a.phase != PHASE_ACKNOWLEDGED &&
	    a.times[PHASE_RESPAWNED] != 0;
	attempt_release(&a);
	return vain;
}

static bool
is_clear(const struct candidate *c, const char *id)
{
	char *command = launch_with_resume(&c->launch, c->profile, id);
	bool clear = command != NULL;

	if (clear)
		explicit_bzero(command, strlen(command));
	free(command);
	return clear;
}

static void
look_at_file(const struct candidate *c, const struct transcript_found *found, struct resume_facts *out)
{
	struct transcript_check s;

	out->in_place = lies_in_place(c, found);
	out->in_use = transcript_in_use(c->profile, c->config_dir, found->session_id);
	out->moved_on = written_since(c, found->path);
	out->stand = TRANSCRIPT_BROKEN;
	if (transcript_check_integrity(found->path, found->session_id, out->most_tokens * 4, &s, NULL) != 0)
		return;
	out->stand = s.integrity;
	out->tokens = prompt_tokens_of_size(s.bytes) > s.charged ? prompt_tokens_of_size(s.bytes) : s.charged;
}

/* Into a command line goes nothing that a shell reads. */
static bool
is_plain(const char *id)
{
	return *id != '\0' && *id != '-' &&
	    id[strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] == '\0';
}

bool
resume_is_there(const struct profile *p, const char *dir, const char *cwd, const char *id)
{
	return is_plain(id) && dir != NULL && locate_has_session(p->transcript, dir, cwd, id) &&
	    !locate_is_split(p->transcript, dir, id);
}

/* Of another agent, whose records tell less of their own state: what was read of it is all. */
static void
look_at_session(const struct candidate *c, const struct gathered *g, struct resume_facts *out)
{
	const struct transcript_found *found = &g->found;
	size_t bytes = 0;

	out->stand = TRANSCRIPT_EMPTY;
	for (size_t i = 0; i < g->conversation.n; i++) {
		const struct exchange *x = &g->conversation.v[i];

		if (x->source != SOURCE_TRANSCRIPT)
			continue;
		bytes += strlen(x->content) + (x->input != NULL ? strlen(x->input) : 0);
		if (x->role == ROLE_ASSISTANT)
			out->stand = TRANSCRIPT_WHOLE;
	}
	out->tokens = prompt_tokens_of_size(bytes);
	if (found->path == NULL)
		return;
	/*
	 * it was found below the agent's own folder, as one of its own directory, or it names the
	 * process itself
	 */
	out->in_place = is_plain(found->session_id);
	out->in_use = transcript_in_use(c->profile, c->config_dir, found->session_id);
	out->split = locate_is_split(c->profile->transcript, c->config_dir, found->session_id);
	out->moved_on = written_since(c, found->path);
}

/*
 * What is known of a candidate, whose context was gathered. Reads the transcript, /proc, the
 * records beside it and the store; changes nothing.
 */
static void
resume_look(struct app *w, const struct candidate *c, const struct gathered *g, struct resume_facts *out)
{
	const struct transcript_found *found = &g->found;
	const char *id = found->session_id != NULL ? found->session_id : "";

	*out = (struct resume_facts){ .how = found->how, .untold = g->earlier.untold,
		.most_tokens = (size_t)config_int(w->config, "max_context_tokens") };
	out->has_flag = *c->profile->resume != '\0' && strcmp(c->profile->transcript, "none") != 0;
	out->can_tell = out->has_flag && recovery_can_deliver(w, c);
	out->clear = out->can_tell && is_clear(c, id);
	if (!out->clear)
		return;
	out->tried = was_tried(w, c);
	out->gone = c->own_pid_record && c->pid_record.session_id != NULL &&
	    strcmp(c->pid_record.session_id, id) != 0;
	if (!transcript_is_checked(c->profile->transcript))
		look_at_session(c, g, out);
	else if (found->path != NULL && transcript_is_id(id))
		look_at_file(c, found, out);
}

int
resume_prompt(
    struct app *w, const struct candidate *c, struct resume_request *ask, struct gathered *g, struct err *e)
{
	struct resume_facts f;

	ask->resumed = false;
	ask->no = NULL;
	if (strcmp(ask->via, "inject") == 0)
		return gather_prompt(w, c, ask->recovery_id, g, e);
	resume_look(w, c, g, &f);
	f.in_use = f.in_use || ask->held;
	ask->no = resume_judge(&f);
	if (ask->no == NULL) {
		ask->resumed =
		    gather_resume_prompt(w, c, ask->recovery_id, f.most_tokens - f.tokens, g, e) == 0;
		ask->own_tokens = f.tokens;
		if (ask->resumed || strcmp(e->name, "budget") != 0)
			return ask->resumed ? 0 : -1;
		err_clear(e);
		ask->no = &reasons[LARGE];
	}
	return gather_prompt(w, c, ask->recovery_id, g, e);
}

int
resume_estimate(struct app *w, const struct candidate *c, const char *scope, const char *via,
    struct resume_estimate *out, struct err *e)
{
	struct resume_request ask = { .via = via != NULL ? via : config_text(w->config, "via") };
	struct attempt sample;
	struct gathered g;
	int ret;

	*out = (struct resume_estimate){ .tokens = -1,
		.via = c->background != NULL ? "respawn"
		    : c->record != NULL	     ? "restart"
		    : c->viewer		     ? "viewer"
					     : NULL };
	if (out->via != NULL)
		return 0;
	memset(&g, 0, sizeof g);
	buf_init(&g.prompt);
	/* an id of its own, as the recovery will have another one */
	attempt_init(&sample);
	ask.recovery_id = sample.id;
	ret = gather(w, c, scope, &g, e);
	if (ret == 0)
		ret = gather_check_doubt(&g, e);
	if (ret == 0)
		ret = resume_prompt(w, c, &ask, &g, e);
	if (ret == 0) {
		out->via = ask.resumed ? "resume" : "inject";
		out->no = ask.no;
		out->tokens = (int64_t)(g.stats.tokens + (ask.resumed ? ask.own_tokens : 0));
	}
	attempt_release(&sample);
	gather_release(&g);
	return ret;
}
