#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "detect/detect_private.h"
#include "app/app.h"
#include "process/proc.h"
#include "base/buf.h"
#include "conversation/conversation.h"
#include "records/recovery/recovery.h"

/* A record is written within a moment of the start; tmux's times are whole seconds. */
#define SLACK_MS 5000
#define GRAIN_MS 100	/* of the times of processes and files */

/* What the hints point to. */
struct transcript_evidence {
	struct agent_pid_files records;
	/* the one of the candidate's process, into records or the candidate; NULL: none that is certain */
	const struct agent_pid_file *own;
	const char **held, **suspects;	/* into records */
	size_t n_held, cap_held, n_suspects, cap_suspects;
	char *worktree, *town;
	char *teammate;			/* the conversation of a member of an agent team; heap, NULL: none */
	struct fingerprint said;
	struct time_span life;
	bool exact;			/* the life's beginning is that of the process */
};

static void
findings_release(struct transcript_evidence *f)
{
	agent_pid_files_release(&f->records);
	free(f->held);
	free(f->suspects);
	free(f->worktree);
	free(f->town);
	free(f->teammate);
	fingerprint_release(&f->said);
}

/*
 * The life of the agent, as far as it is known; else the pane tells: it began after its session
 * or its shell.
 */
static void
set_life(const struct candidate *c, struct transcript_evidence *f)
{
	struct time_span *life = &f->life;

	/* of a missing one only the last snapshot is known, and it may have lived on */
	life->ended = c->status == AGENT_LIVE || c->status == AGENT_MISSING ? 0
	    : c->crashed_at > 0                                             ? c->crashed_at + 999
									    : 0;
	/* what lives in the pane now is not what is asked for */
	if (c->status == AGENT_RESPAWNED || c->status == AGENT_RESTORED)
		return;
	life->began = c->status == AGENT_LIVE ? proc_began_ms(c->agent_pid) : c->began;
	f->exact = life->began != 0;
	if (!f->exact && !c->pane.dead)
		life->began = proc_began_ms(c->pane.pid);
	if (life->began == 0)
		life->began = c->pane.session_created * 1000;
}

static bool
of_this_life(const struct agent_pid_file *s, const struct time_span *life)
{
	int64_t from = s->started > 0 ? s->started : s->written * 1000;

	return from >= life->began - SLACK_MS && (life->ended == 0 || from <= life->ended + SLACK_MS);
}

/* At or below a process, now: of one process the way up is shorter than all of /proc. */
static bool
runs_below(pid_t pid, pid_t ancestor)
{
	struct proc p = { .ppid = pid };

	for (int depth = 0; depth < 64 && p.ppid > 1; depth++)
		if (p.ppid == ancestor)
			return true;
		else if (proc_read(p.ppid, &p) != 0)
			return false;
	return false;
}

/*
 * How sure it is that a record is of this candidate's process: PID_FILE_SAME_PANE when it can be
 * no other's.
 */
static enum pid_file_match
whose(const struct candidate *c, const struct agent_pid_file *s, const struct time_span *life)
{
	const struct pane *p = &c->pane;
	struct pid_file_place where = { p->session, p->id, c->cwd, p->server_start };

	if (agent_pid_file_is_alive(s))
		return c->status != AGENT_RESPAWNED && !p->dead && runs_below(s->pid, p->pid)
		    ? PID_FILE_SAME_PANE
		    : PID_FILE_ELSEWHERE;
	/* a pid is used again, and a dead process may have had the same as an older one */
	if (c->status == AGENT_LIVE || !of_this_life(s, life))
		return PID_FILE_ELSEWHERE;
	if (p->dead && s->pid == p->pid)
		return PID_FILE_SAME_PANE;
	/* else a process that a shell in this pane had started, maybe */
	return agent_pid_file_match(s, &where);
}

static void
add_id(const char ***list, size_t *n, size_t *cap, const char *id)
{
	*list = vec_room(*list, *n, cap, sizeof **list);
	(*list)[(*n)++] = id;
}

static bool
is_better(const struct candidate *c, const struct agent_pid_file *s, const struct agent_pid_file *than)
{
	pid_t sure = c->status == AGENT_LIVE ? c->agent_pid : c->pane.pid;

	if (than == NULL || (s->pid == sure) != (than->pid == sure))
		return than == NULL || s->pid == sure;
	return s->written > than->written;
}

/*
 * The record of a living agent whose transcript is there: nothing else is of use then, and there
 * may be a hundred agents.
 */
static bool
own_record(const struct candidate *c, struct transcript_evidence *f)
{
	struct agent_pid_file s;
	char *path = NULL;

	if (c->status != AGENT_LIVE || !agent_pid_file_read(c->config_dir, c->agent_pid, &s))
		return false;
	if (agent_pid_file_is_alive(&s) && s.session_id != NULL && transcript_is_id(s.session_id))
		path = transcript_path(c->config_dir, s.cwd, s.session_id);
	if (path == NULL) {
		agent_pid_file_release(&s);
		return false;
	}
	free(path);
	f->records.v = vec_room(f->records.v, f->records.n, &f->records.cap, sizeof *f->records.v);
	f->records.v[f->records.n++] = s;
	f->own = &f->records.v[0];
	return true;
}

/* What other panes' agents were seen in is no conversation of this one. */
static void
hold_seen(struct app *w, const struct candidate *c, struct transcript_evidence *f)
{
	const struct seen_agent_list *seen = app_seen(w);
	const struct pane *p = &c->pane;

	for (size_t i = 0; i < seen->n; i++) {
		const struct seen_agent *x = &seen->v[i];
		bool same = x->server_pid == p->server_pid && x->server_start == p->server_start &&
		    strcmp(x->pane_id, p->id) == 0 && strcmp(x->socket, p->socket_path) == 0;

		if (!same && x->conversation != NULL)
			add_id(&f->held, &f->n_held, &f->cap_held, x->conversation);
	}
}

static void
read_records(struct app *w, const struct candidate *c, struct transcript_evidence *f)
{
	agent_pid_files_read(c->config_dir, &f->records);
	hold_seen(w, c, f);
	for (size_t i = 0; i < f->records.n; i++) {
		struct agent_pid_file *s = &f->records.v[i];
		enum pid_file_match how = whose(c, s, &f->life);

		if (how == PID_FILE_SAME_PANE && is_better(c, s, f->own))
			f->own = s;
		else if (how == PID_FILE_SAME_PLACE)
			add_id(&f->suspects, &f->n_suspects, &f->cap_suspects, s->session_id);
		else if (how == PID_FILE_ELSEWHERE)
			add_id(&f->held, &f->n_held, &f->cap_held, s->session_id);
	}
	/*
	 * it was there when the candidate was found; the first agent that starts since then
	 * removes those of the dead
	 */
	if (c->pid_record.session_id != NULL &&
	    ((c->own_pid_record && c->status != AGENT_LIVE) ||
		(f->own == NULL && whose(c, &c->pid_record, &f->life) == PID_FILE_SAME_PANE)))
		f->own = &c->pid_record;
}

/*
 * The session that the start command names; a fork gets a new id. What a recovery of ours started
 * had such flags taken out.
 */
static const char *
named_by_command(const struct launch *l)
{
	static const char *const flags[] = { "--session-id", "--resume", "-r" };
	const char *id = NULL;

	for (size_t i = l->program + 1; i < l->n_words; i++)
		if (strcmp(l->words[i].text, "--fork-session") == 0)
			return NULL;
	for (size_t k = 0; !l->wrapped && k < sizeof flags / sizeof flags[0]; k++) {
		const char *value = launch_flag(l, flags[k]);

		if (value != NULL && transcript_is_id(value))
			id = value;
	}
	return id;
}

/*
 * A banner is printed when a conversation begins, also after /clear; what stands above it is of
 * another file.
 */
static void
read_fingerprint(const struct conversation *talk, struct fingerprint *out)
{
	for (size_t i = talk->n; i-- > 0; ) {
		const struct exchange *x = &talk->v[i];

		if (x->source == SOURCE_EARLIER ||
		    (x->role == ROLE_SYSTEM && str_starts(x->content, "Claude Code v")))
			return;
		if (x->role != ROLE_USER || x->tool != NULL || x->status == STATUS_WAITING)
			continue;
		if (str_starts(x->content, "/clear"))
			return;
		fingerprint_add(out, x->content);
	}
}

static void
set_ids(const struct candidate *c, const struct conversation *screen, const struct transcript_evidence *f,
    struct locate_hints *h)
{
	const char *command = named_by_command(&c->launch),
		   *farewell = screen != NULL && screen->farewell ? screen->resume_id : NULL;

	if (f->own != NULL) {
		h->id[FOUND_RECORD] = f->own->session_id;
		h->record_cwd = f->own->cwd;
	} else if (f->teammate != NULL) {
		h->id[FOUND_RECORD] = f->teammate;
	}
	/* the last words are of the end, the command is of the beginning */
	if (farewell == NULL || command == NULL || strcmp(farewell, command) == 0)
		h->id[FOUND_COMMAND] = command;
	h->id[FOUND_WORKTREE] = f->worktree;
	h->id[FOUND_TOWN] = f->town;
	h->id[FOUND_FAREWELL] = farewell;
}

/* What is known of any agent's process. */
static void
set_hints(const struct candidate *c, struct transcript_evidence *f, struct locate_hints *h)
{
	set_life(c, f);
	*h = (struct locate_hints){ .format = c->profile->transcript,
		.folder = c->config_dir,
		.cwd = c->cwd,
		.tty = c->pane.tty,
		.pid = c->status == AGENT_LIVE ? c->agent_pid
		    : c->pane.dead             ? c->pane.pid
					       : 0,
		.lives = c->status == AGENT_LIVE,
		.launch = &c->launch,
		.ended = f->life.ended };
	h->began = f->life.began == 0 ? 0 : f->life.began - (f->exact ? GRAIN_MS : SLACK_MS);
}

bool
detect_has_background(const struct candidate *c)
{
	struct transcript_evidence f = { .own = NULL };
	struct locate_hints h;

	if (c->config_dir == NULL)
		return false;
	set_hints(c, &f, &h);
	return locate_has_server(&h);
}

/* What a person said, instead of all evidence. */
static void
take_chosen(const struct candidate *c, struct transcript_found *out)
{
	char *path = strcmp(c->conversation, CONVERSATION_NONE) != 0 && transcript_is_id(c->conversation)
	    ? transcript_path(c->config_dir, c->cwd, c->conversation)
	    : NULL;

	if (path != NULL)
		*out = (struct transcript_found){ .how = FOUND_CHOSEN, .path = path,
			.session_id = xstrdup(c->conversation) };
}

/* A recovery was made from it, whatever pane that was in. */
static bool
was_gone_on_with(const struct attempt_list *all, const char *path)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].phase == PHASE_ACKNOWLEDGED && all->v[i].source != NULL &&
		    strcmp(all->v[i].source, path) == 0)
			return true;
	return false;
}

static int64_t
written_at(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * 1000 : 0;
}

/*
 * Of a pane that tells nothing a conversation of its directory is no more than a candidate. One that ended
 * by itself, that a program had begun, that a recovery answered, or that was written to when the pane
 * showed nothing new any more, is none: an agent draws while it writes.
 */
static void
doubt_place(struct app *w, const struct candidate *c, struct transcript_found *f)
{
	struct transcript_found left = { .how = FOUND_AMBIGUOUS };
	const char *format = c->profile->transcript;
	struct attempt_list answered = { .n = 0 };
	struct store *s = app_store(w, false, NULL);

	if (f->how != FOUND_FOLDER && f->how != FOUND_SHOWN && f->how != FOUND_AMBIGUOUS)
		return;
	if (f->how == FOUND_FOLDER || f->how == FOUND_SHOWN) {
		f->rival = xcalloc(1, sizeof *f->rival);
		f->rival[f->rivals++] = (struct found_rival){ xstrdup(f->path), xstrdup(f->session_id), 0 };
	}
	if (s != NULL)
		attempt_list_all(s, &answered, NULL);
	for (size_t i = 0; i < f->rivals; i++) {
		struct found_rival *r = &f->rival[i];

		r->written = written_at(r->path);
		if (r->written > c->pane.activity * 1000 + SLACK_MS || was_gone_on_with(&answered, r->path) ||
		    transcript_exit_kind(format, r->path) != EXIT_KILLED || transcript_is_headless(r->path))
			continue;
		left.rival = xreallocarray(left.rival, left.rivals + 1, sizeof *left.rival);
		left.rival[left.rivals++] = *r;
		*r = (struct found_rival){ NULL, NULL, 0 };
	}
	attempt_list_release(&answered);
	transcript_found_release(f);
	*f = left.rivals > 0 ? left : (struct transcript_found){ .how = FOUND_NONE };
}

int
detect_find_transcript(struct app *w, const struct candidate *c, const struct screen_evidence *seen,
    const char *snapshot_id, struct transcript_found *out, struct err *e)
{
	bool known = c->status == AGENT_MISSING && c->session_id != NULL;
	const struct conversation *screen = seen != NULL && !known ? seen->screen : NULL;
	struct transcript_evidence f = { .own = NULL };
	bool notes = transcript_has_pid_files(c->profile->transcript);
	struct locate_hints h;
	int ret;

	memset(out, 0, sizeof *out);
	if (known)
		snapshot_id = c->session_id;
	/* what it shows is not its own */
	if (c->config_dir == NULL || c->viewer)
		return 0;
	if (c->conversation != NULL) {
		take_chosen(c, out);
		return 0;
	}
	set_hints(c, &f, &h);
	h.id[FOUND_SNAPSHOT] = snapshot_id;
	h.screen = seen != NULL ? seen->text : NULL;
	h.scrub = seen != NULL ? seen->scrub : NULL;
	if (notes && !own_record(c, &f)) {
		const char *team, *member = candidate_teammate(c, &team);

		if (member != NULL)
			f.teammate = locate_teammate(c->config_dir, c->cwd, team, member);
		read_records(w, c, &f);
		f.worktree = town_start_id_in_cwd(c->cwd, &f.life);
		f.town = town_start_id_in_log(w->town, &c->role, c->cwd, &f.life);
		if (screen != NULL)
			read_fingerprint(screen, &f.said);
	}
	if (notes)
		set_ids(c, screen, &f, &h);
	h.held = f.held;
	h.n_held = f.n_held;
	h.suspects = f.suspects;
	/* a pid file of its directory is as much any other's */
	h.n_suspects = c->by_place ? 0 : f.n_suspects;
	h.fingerprint = &f.said;
	h.screen_at = c->status == AGENT_MISSING ? c->crashed_at : 0;
	ret = locate_session(&h, out, e);
	if (c->by_place)
		doubt_place(w, c, out);
	/* that a conversation lies in a directory which is guessed does not confirm the guess */
	if (out->how == FOUND_FOLDER && c->pane.start_guessed && strcmp(c->cwd, c->pane.start_path) == 0) {
		transcript_found_release(out);
		*out = (struct transcript_found){ .how = FOUND_NONE };
	}
	findings_release(&f);
	return ret;
}

char *
detect_transcript_warning(const struct candidate *c, const struct transcript_found *f)
{
	if (strcmp(c->profile->transcript, "none") == 0)
		return xasprintf("The transcript of %s cannot be read: this is only what its screen "
				 "showed.",
		    c->profile->label);
	if (f->how != FOUND_AMBIGUOUS)
		return NULL;
	return xasprintf("%zu transcripts may be this session's: other agents worked in the same "
			 "directory at the time. None was read; the conversation is what the screen "
			 "showed.",
	    f->rivals);
}
