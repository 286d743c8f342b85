#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "recover/recover_private.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/io.h"
#include "config/config.h"
#include "detect/detect.h"
#include "epic/epic.h"
#include "git/git.h"
#include "process/oom.h"
#include "records/agents/agents.h"
#include "recover/upkeep/upkeep.h"
#include "screen/screen.h"
#include "scrub/scrub.h"
#include "snapshot/pass/pass.h"

/*
 * What was gathered once more through its scrubber, if that has found values since it sought only
 * `sought` of them: what the transcript calls by its name stands on the screen, or earlier in the
 * transcript, without one.
 */
static void
gather_scrub_again(struct gathered *g, size_t sought)
{
	struct clean_text **texts[] = { &g->capture.text, &g->bead.title, &g->bead.description,
		&g->bead.notes, &g->bead.handoff, &g->git, &g->checkpoint };

	if (scrub_searched(g->scrub) == sought)
		return;
	transcript_rescrub(&g->conversation, g->scrub);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct clean_text *old = *texts[i];

		if (old != NULL)
			*texts[i] = scrub_text(g->scrub, clean_bytes(old), clean_len(old), 0);
		clean_free(old);
	}
}

/*
 * The epic may know the agent by its id or by its conversation; either may be NULL. 1: one of them, 0:
 * none.
 */
static int
brief_agent(struct app *w, const char *agent, const char *conversation, const char *session, const char *cwd,
    struct scrub *s, struct clean_text **checkpoint, struct err *e)
{
	const char *const names[] = { agent, conversation };
	struct store *store = app_store(w, false, e);
	struct buf text = BUF_INIT;
	size_t before;
	int ret = store == NULL && e->code != 0 ? -1 : 0;

	if (clean_len(*checkpoint) > 0)
		buf_fmt(&text, "%s\n", clean_bytes(*checkpoint));
	before = text.len;
	for (size_t i = 0; i < 2 && ret == 0; i++)
		if (store != NULL && names[i] != NULL)
			ret = epic_write_briefing(store, names[i], cwd,
			    (double)config_int(w->config, "epics.resume_threshold"), &text, e);
	if (ret >= 0)
		wip_describe(w, agent, session, cwd, &text);
	if (ret >= 0 && text.len > before) {
		clean_free(*checkpoint);
		*checkpoint = scrub_text(s, text.data, text.len, 0);
	}
	buf_release(&text);
	return ret;
}

int
gather_agent_briefing(struct app *w, const char *agent, const char *session, const char *cwd, struct scrub *s,
    struct clean_text **checkpoint, struct err *e)
{
	return brief_agent(w, agent, NULL, session, cwd, s, checkpoint, e) < 0 ? -1 : 0;
}

/*
 * The same for the agent whose session alone is recorded with the candidate's tmux session, else for the
 * one that has this conversation (NULL: not known). 1: an epic waits for it.
 */
static int
gather_epic_briefing(struct app *w, const struct candidate *c, const char *conversation, struct scrub *s,
    struct clean_text **checkpoint, struct err *e)
{
	char *agent = NULL;
	int ret;

	err_clear(e);
	ret = recovery_find_session(w, c, &agent, e);
	if (ret == 0)
		ret = brief_agent(w, agent, conversation, c->pane.session, c->cwd, s, checkpoint, e);
	record_set(&agent, NULL);
	return ret;
}

/* bytes of a transcript that are read for each token of the budget: long outputs lose most of theirs */
#define ROOM_A_TOKEN ((size_t)16)

static const unsigned char builtin_prompt[] = {
#include "recovery.md.inc"
};
static const unsigned char builtin_nudge[] = {
#include "resume.md.inc"
};

static const struct {
	const char *text_key, *file_key, *file_name, *what;
	const unsigned char *builtin;
	size_t n;
} templates[] = {
	{ "prompts.template", "prompts.template_file", "template_file", "the built-in template",
	    builtin_prompt, sizeof builtin_prompt },
	{ "prompts.resume_template", "prompts.resume_template_file", "resume_template_file",
	    "the built-in template of resume", builtin_nudge, sizeof builtin_nudge },
};

static void
warn(struct gathered *g, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(&b, fmt, ap);
	va_end(ap);
	g->warnings = vec_room(g->warnings, g->n_warnings, &g->cap_warnings, sizeof *g->warnings);
	g->warnings[g->n_warnings++] = buf_detach(&b);
}

/* strsignal's are sentences, and only glibc has the names. */
const char *
gather_signal_name(int signal)
{
	static const char *const names[] = {
		[SIGHUP] = "SIGHUP",
		[SIGINT] = "SIGINT",
		[SIGQUIT] = "SIGQUIT",
		[SIGILL] = "SIGILL",
		[SIGTRAP] = "SIGTRAP",
		[SIGABRT] = "SIGABRT",
		[SIGBUS] = "SIGBUS",
		[SIGFPE] = "SIGFPE",
		[SIGKILL] = "SIGKILL",
		[SIGUSR1] = "SIGUSR1",
		[SIGSEGV] = "SIGSEGV",
		[SIGUSR2] = "SIGUSR2",
		[SIGPIPE] = "SIGPIPE",
		[SIGALRM] = "SIGALRM",
		[SIGTERM] = "SIGTERM",
		[SIGXCPU] = "SIGXCPU",
		[SIGXFSZ] = "SIGXFSZ",
		[SIGSYS] = "SIGSYS",
	};
	bool known = (size_t)signal < sizeof names / sizeof names[0] && names[signal] != NULL;

	return known ? names[signal] : "no name";
}

char *
gather_reason(const struct candidate *c)
{
	int signal = candidate_signal(c);

	if (c->background != NULL && c->status != AGENT_UNKNOWN)
		return xasprintf("background session, %s", c->background_state);
	if (c->viewer && (c->status == AGENT_LIVE || detect_status_crashed(c->status)))
		return xstrdup(c->status == AGENT_LIVE ? "shows background sessions"
						       : "it showed background sessions, which are "
						           "unaffected");
	if (c->status == AGENT_LIVE)
		return xstrdup("running");
	if (c->status == AGENT_UNKNOWN)
		return xstrdup(c->unknown_reason);
	if (c->status == AGENT_REMOTE)
		return xasprintf("%s %s",
		    c->agent_pid != 0 ? "behind" : "the connection ended; it ran through", c->remote);
	if (c->reason == REASON_OOM)
		return xstrdup("killed by the kernel: out of memory (SIGKILL)");
	if (c->status == AGENT_ZOMBIE)
		return xstrdup("agent died, shell still open");
	if (c->status == AGENT_RESPAWNED)
		return xstrdup(c->reason == REASON_SERVER_EXIT ? "its tmux server ended, and it was "
								 "restarted without its context"
							       : "it crashed, and was restarted without "
								 "its context");
	if (c->status == AGENT_RESTORED)
		return xstrdup("its tmux server ended, and the session came back empty");
	if (c->record != NULL)
		return xstrdup(c->crashed_at > 0 ? "suspended; only its record is left" :
		    "its process ended; only its record is left");
	if (c->status == AGENT_MISSING)
		return xstrdup(c->reason == REASON_SERVER_EXIT ? "its tmux server ended"
			: c->reason == REASON_STOPPED          ? "it was ended, and its session closed"
							       : "it crashed, and its session closed");
	if (signal > 0)
		return xasprintf("killed by signal %d (%s)", signal, gather_signal_name(signal));
	if (c->pane.dead_status >= 0)
		return xasprintf("exited with status %d", c->pane.dead_status);
	return xstrdup("crashed, cause unknown");
}

static void
warn_about_work(struct app *w, const struct candidate *c, struct gathered *g)
{
	const char *id = g->conversation.session_id != NULL    ? g->conversation.session_id
	    : c->pane.dead && c->pid_record.pid == c->pane.pid ? c->pid_record.session_id
							       : NULL;
	struct town_list list = TOWN_LIST_INIT;
	struct background_list background = { .n = 0 };
	/* a living agent's are its own affair */
	bool known = c->status != AGENT_LIVE && g->found.path != NULL &&
	    transcript_background(g->found.path, c->profile->transcript, g->scrub, &background);

	gather_unfinished_warnings(w, c, &g->conversation, g->earlier.untold, id, known ? &background : NULL,
	    g->git, g->scrub, &list);
	if (c->status != AGENT_LIVE && gather_promises_report(&g->conversation, known))
		town_list_add(&list,
		    xstrdup("The record tells of work in the background that would report to you "
			    "(sub-agents, workflows, monitors, schedules, wake-ups, shells). It ended with "
			    "the session that began it, unless it is named here: do not wait for it."));
	for (size_t i = 0; i < list.n; i++)
		warn(g, "%s", list.v[i]);
	town_list_release(&list);
	g->died_from = g->n_warnings;
	gather_died(&background, false, &list);
	for (size_t i = 0; i < list.n; i++)
		warn(g, "%s", list.v[i]);
	town_list_release(&list);
	gather_died(&background, true, &g->died_resumed);
	transcript_background_release(&background);
}

/* The newest exchange that is no remark of a program; NULL: nobody said anything. */
static const struct exchange *
last_words(const struct conversation *talk)
{
	for (size_t i = talk->n; i-- > 0;)
		if (talk->v[i].role != ROLE_SYSTEM || talk->v[i].tool != NULL)
			return &talk->v[i];
	return NULL;
}

/*
 * Had the agent finished its last turn, and left nothing open? In doubt not. An agent with a role in
 * a town has work that stands elsewhere.
 */
static bool
is_idle(const struct candidate *c, const struct gathered *g)
{
	const struct conversation *talk = &g->conversation;
	const struct exchange *last = last_words(talk);
	bool noted = c->own_pid_record && c->pid_record.status != NULL && *c->pid_record.status != '\0';
	char *unsure = detect_transcript_warning(c, &g->found);
	bool sure = unsure == NULL && !g->earlier.lost && !g->earlier.untold;

	free(unsure);
	/* a prompt of the last half second is in no transcript */
	if (!sure || (noted && !agent_pid_file_is_idle(&c->pid_record)))
		return false;
	if (c->status == AGENT_LIVE || c->record != NULL || c->role.kind != TOWN_ROLE_NONE ||
	    g->bead.id != NULL || clean_len(g->checkpoint) > 0 || g->n_warnings > g->work_from ||
	    talk->draft != NULL || talk->question != NULL || talk->limit || conversation_has_open_task(talk))
		return false;
	if (last == NULL)	/* its note says that it waited; a conversation of its own would be found */
		return noted && (g->found.how == FOUND_NONE || g->records > 0);
	return talk->turn_over && last->role == ROLE_ASSISTANT && last->tool == NULL &&
	    last->status == STATUS_COMPLETE && last->source == SOURCE_TRANSCRIPT;
}

/* Where the kernel's log may not be read, the count of its cgroup is a hint at why it was killed. */
static void
warn_about_memory(struct app *w, const struct candidate *c, struct gathered *g)
{
	int64_t n;

	if (c->reason != REASON_KILLED || candidate_signal(c) != SIGKILL || app_oom(w)->readable)
		return;
	n = oom_cgroup_kills_of(c->pane.server_pid);
	if (n > 0)
		warn(g,
		    "Memory may have run out: the kernel's log cannot be read here, but in the memory "
		    "cgroup of this tmux server it has killed %lld process%s for that.",
		    (long long)n, n == 1 ? "" : "es");
}

/* Adds the placeholders of a text that are not in the list yet: each secret has one of its own. */
static void
note_placeholders(struct town_list *l, const char *text)
{
	static const char open[] = "[REDACTED:";

	for (const char *p = text != NULL ? strstr(text, open) : NULL; p != NULL; p = strstr(p + 1, open)) {
		size_t n = strcspn(p, "]\n"), i = 0;

		while (i < l->n && !(strlen(l->v[i]) == n && memcmp(l->v[i], p, n) == 0))
			i++;
		if (i == l->n && p[n] == ']')
			town_list_add(l, xstrndup(p, n));
	}
}

/* The secrets of what the prompt tells, each counted once, in however many sources it stood. */
static size_t
count_secrets(const struct gathered *g)
{
	const struct conversation *c = &g->conversation;
	const char *texts[] = { c->draft, c->question, c->tasks, clean_bytes(g->bead.title),
		clean_bytes(g->bead.description), clean_bytes(g->bead.notes), clean_bytes(g->bead.handoff),
		clean_bytes(g->git), clean_bytes(g->checkpoint) };
	struct town_list found = TOWN_LIST_INIT;
	size_t n;

	for (size_t i = 0; i < c->n; i++) {
		note_placeholders(&found, c->v[i].tool);
		note_placeholders(&found, c->v[i].input);
		note_placeholders(&found, c->v[i].content);
	}
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		note_placeholders(&found, texts[i]);
	n = found.n;
	town_list_release(&found);
	return n;
}

static void
warn_about_reading(struct gathered *g)
{
	size_t secrets = count_secrets(g);

	if (g->conversation.draft != NULL)
		warn(g, "A message was typed but never sent; it stands apart from the conversation.");
	if (g->capture.lost)
		warn(g,
		    "The file that kept the last screen cannot be read any more; this is what the pane's "
		    "history still held.");
	if (g->conversation.limit)
		warn(g, "The last screen showed a usage limit or a login problem.");
	if (secrets > 0)
		warn(g,
		    secrets == 1 ? "%zu secret was replaced by [REDACTED:kind]."
				 : "%zu secrets were replaced by [REDACTED:kind].",
		    secrets);
	if (scrub_withheld(g->scrub) > 0)
		warn(g, "Rows on which the search for secrets gave up are withheld: [scrub: row withheld].");
}

/*
 * What is told of the snapshot that was found, and whether it is a part of the conversation. Its
 * rows stand in the place of the screen where no pane shows one.
 */
static void
adopt_snapshot(struct snapshot_lookup *r, bool shown, struct gathered *g)
{
	struct buf at = BUF_INIT;

	g->snapshot.at = r->snapshot.taken_at;
	g->snapshot.rows = r->snapshot.rows;
	for (size_t i = 0; i < g->conversation.n; i++)
		g->snapshot.used = g->snapshot.used || g->conversation.v[i].source == SOURCE_SNAPSHOT;
	if (g->snapshot.used) {
		clock_iso(&at, r->snapshot.taken_at);
		warn(g,
		    !shown ? "What the screen had shown is from a snapshot, taken at %s; what came after "
			     "it is known from the transcript alone."
			: r->own ? "A part of the conversation is from a snapshot of the screen, taken at "
				   "%s: the screen did not hold it any more."
				 : "The conversation is from a snapshot of this session's screen, taken at "
				   "%s, before its tmux server ended.",
		    at.data);
		buf_release(&at);
	}
	if (shown)
		return;
	clean_free(g->capture.text);
	g->capture.text = r->snapshot.text;
	g->capture.rows = r->snapshot.rows;
	g->capture.cut = r->snapshot.cut;
	r->snapshot.text = NULL;
}

/* A record that cannot be read leaves the screens. */
static void
read_record(struct app *w, const struct candidate *c, const struct screen_evidence *seen,
    const struct snapshot_lookup *r, size_t room, struct gathered *g, struct conversation *record)
{
	struct err soft = ERR_INIT;
	char *unsure;

	if (detect_find_transcript(
		w, c, seen, r->own ? r->snapshot.session_id : c->session_id, &g->found, &soft) != 0 ||
	    (g->found.path != NULL &&
		transcript_read(g->found.path, c->profile->transcript, g->scrub, room, record, &soft) != 0))
		warn(g, "The transcript could not be read; the conversation is what the screen showed.");
	unsure = detect_transcript_warning(c, &g->found);
	if (unsure != NULL)
		warn(g, "%s", unsure);
	free(unsure);
	g->records = record->lines;
	g->unknown_records = record->unknown_lines;
}

/*
 * The agent's own record, what its screen shows, and what a snapshot of it had shown. A snapshot
 * that cannot be read is none.
 */
static void
read_sources(struct app *w, const struct candidate *c, size_t room, struct gathered *g)
{
	struct conversation screen = CONVERSATION_INIT, record = CONVERSATION_INIT, old = CONVERSATION_INIT;
	struct screen_evidence seen = { .scrub = g->scrub };
	bool shown = detect_status_has_screen(c->status);
	struct snapshot_lookup r;

	screen_read(g->capture.text, g->capture.style, g->capture.width, c->profile->grammar, &screen);
	if (g->capture.cut)
		screen.truncated_at = 0;
	snapshot_lookup(w, c, g->scrub, &r, NULL);
	if (!shown && r.found && !(r.own && c->snapshot_is_older))
		snapshot_lookup_read(&r, c->profile->grammar, &old);
	seen.screen = shown ? &screen : &old;
	seen.text = shown ? clean_bytes(g->capture.text) : NULL;
	read_record(w, c, &seen, &r, room, g, &record);
	if (shown && snapshot_lookup_adds(&r, g->capture.text, &screen, &record))
		snapshot_lookup_read(&r, c->profile->grammar, &old);
	conversation_merge(&record, &old, &screen, &g->conversation);
	if (r.found)
		adopt_snapshot(&r, shown, g);
	snapshot_lookup_release(&r);
	if (g->conversation.session_id == NULL && g->found.session_id != NULL)
		g->conversation.session_id = xstrdup(g->found.session_id);
}

static int
read_conversation(struct app *w, const struct candidate *c, struct gathered *g, struct err *e)
{
	struct previous_input in = {
		.w = w,
		.c = c,
		.scrub = g->scrub,
		.room = (size_t)config_int(w->config, "max_context_tokens") * ROOM_A_TOKEN,
	};

	read_sources(w, c, in.room, g);
	in.transcript = g->found.path;
	if (gather_previous(&in, &g->conversation, &g->earlier, e) != 0)
		return -1;
	if (g->earlier.empty)
		warn(g,
		    "The context of the earlier recovery %s cannot be read any more; only what came after it "
		    "is here.",
		    g->earlier.id);
	else if (g->earlier.lost)
		warn(g,
		    "The context of the earlier recovery %s cannot be read any more; what came before it was "
		    "put together again from "
		    "what you were told then.",
		    g->earlier.id);
	return 0;
}

int
gather(struct app *w, const struct candidate *c, const char *scope, struct gathered *g, struct err *e)
{
	struct err soft = ERR_INIT;
	size_t sought;
	int brief;

	memset(g, 0, sizeof *g);
	g->conversation = (struct conversation)CONVERSATION_INIT;
	buf_init(&g->prompt);
	g->reason = gather_reason(c);
	if ((g->scrub = app_scrub(w, e)) == NULL)
		return -1;
	candidate_learn(w, g->scrub, c);
	if (!detect_status_has_screen(c->status))
		g->capture = (struct capture){ .text = scrub_string(g->scrub, ""), .width = c->pane.width };
	else if (capture_pane(app_server(w, c->pane.socket), &c->pane, detect_status_has_shell(c->status),
	    (size_t)config_int(w->config, "max_context_lines"), g->scrub, &g->capture, e) != 0)
		return -1;
	sought = scrub_searched(g->scrub);
	if (read_conversation(w, c, g, e) != 0)
		return -1;
	g->work_from = g->n_warnings;
	warn_about_memory(w, c, g);
	/*
	 * a database that cannot be read is not "no work": the agent is told so, and the plan
	 * refuses nothing on a guess
	 */
	if (candidate_find_bead(w, c, false, g->scrub, &g->bead, &soft) != 0)
		warn(g, "The bead could not be read (%s); look the work up before going on.", soft.msg);
	if (git_state(c->cwd, g->scrub, &g->git, &soft) != 0)
		warn(g, "The state of git could not be read.");
	if (bead_checkpoint_read(c->cwd, clock_wall_ms(), g->scrub, &g->checkpoint, &soft) != 0)
		warn(g, "There is a .polecat-checkpoint.json that could not be read.");
	if ((brief = gather_epic_briefing(w, c, g->found.session_id, g->scrub, &g->checkpoint, &soft)) < 0)
		warn(g, "What epics tell of this work could not be read.");
	if (strcmp(scope != NULL ? scope : config_text(w->config, "scope"), "task") == 0)
		conversation_cut_to_task(&g->conversation, g->bead.id);
	warn_about_work(w, c, g);
	g->work_to = g->n_warnings;
	g->idle = is_idle(c, g) && brief <= 0;
	if (recovery_team_describe(w, c, g->found.session_id, g->scrub, &g->checkpoint))
		g->idle = false;
	gather_scrub_again(g, sought);
	warn_about_reading(g);
	return 0;
}

/* It is a person's own, and goes into what we write like all that others wrote. */
static struct template *
own_template(struct scrub *s, const char *p, size_t n, const char *what, struct err *e)
{
	struct clean_text *text = s != NULL ? scrub_text(s, p, n, 0) : NULL;
	struct template *t =
	    template_new(text != NULL ? clean_bytes(text) : p, text != NULL ? clean_len(text) : n, what, e);

	clean_free(text);
	/* cppcheck-suppress CastIntegerToAddressAtReturn ; it takes the type's name for C++ */
	return t;
}

struct template *
gather_template(struct app *w, bool nudge, struct scrub *s, struct err *e)
{
	const char *text = config_text(w->config, templates[nudge].text_key);
	char *path = config_path(w->config, templates[nudge].file_key);
	struct buf b = BUF_INIT;
	struct template *t = NULL;

	if (path != NULL && io_read_file(path, (size_t)1 << 20, &b, e) != 0) {
		e->code = GT_USAGE;
		err_hint(e, "correct %s in %s", templates[nudge].file_name, config_file(w->config));
	} else if (path != NULL) {
		t = own_template(s, b.data, b.len, path, e);
	} else if (*text != '\0') {
		t = own_template(
		    s, text, strlen(text), config_origin(w->config, templates[nudge].text_key), e);
	} else {
		t = template_new(
		    (const char *)templates[nudge].builtin, templates[nudge].n, templates[nudge].what, e);
	}
	buf_release(&b);
	free(path);
	/* cppcheck-suppress CastIntegerToAddressAtReturn ; it takes the type's name for C++ */
	return t;
}

static struct prompt_in
all_of_it(const struct app *w, const struct candidate *c, const char *recovery_id, const struct gathered *g)
{
	bool nothing = g->idle && last_words(&g->conversation) == NULL;

	return (struct prompt_in){
		.recovery_id = recovery_id,
		.session = c->pane.session,
		.crash_reason = g->reason,
		.conversation = nothing ? NULL : &g->conversation,
		.scrollback = nothing ? NULL : g->capture.text,
		.bead = g->bead.id != NULL ? &g->bead : NULL,
		.checkpoint = g->checkpoint,
		.git = g->git,
		.warnings = (const char *const *)g->warnings,
		.n_warnings = g->n_warnings,
		.idle = g->idle,
		.max_lines = (size_t)config_int(w->config, "max_context_lines"),
		.max_tokens = (size_t)config_int(w->config, "max_context_tokens"),
	};
}

static int
render_prompt(struct app *w, bool nudge, struct prompt_in *in, struct gathered *g, struct err *e)
{
	struct template *t = gather_template(w, nudge, g->scrub, e);
	char nonce[17];
	int ret;

	if (t == NULL)
		return -1;
	io_random_hex(nonce, 8);
	in->nonce = nonce;
	buf_reset(&g->prompt);
	ret = prompt_build(t, in, &g->prompt, &g->stats, e);
	template_free(t);
	return ret;
}

int
gather_prompt(
    struct app *w, const struct candidate *c, const char *recovery_id, struct gathered *g, struct err *e)
{
	struct prompt_in in = all_of_it(w, c, recovery_id, g);
	const char **all = xcalloc(g->n_warnings + 1, sizeof *all);
	int ret;

	for (size_t i = 0; i < g->n_warnings; i++)
		all[i] = g->warnings[i];
	in.warnings = all;
	/* no word for the person: only an agent that starts afresh has to do something about it */
	if (conversation_has_open_task(&g->conversation))
		all[in.n_warnings++] = "Your task list starts empty in this session, unless "
		    "CLAUDE_CODE_TASK_LIST_ID names a shared one: add the tasks that are still open to it.";
	ret = render_prompt(w, false, &in, g, e);
	free(all);
	return ret;
}

/* What the agent's next start finds in no transcript; borrows the exchanges. Free v. */
static struct conversation
lacking(const struct conversation *talk)
{
	struct conversation part = { .draft = talk->draft, .question = talk->question, .truncated_at = -1 };
	size_t last = 0;	/* behind the last exchange that is in the transcript */

	part.v = xcalloc(talk->n, sizeof *part.v);
	for (size_t i = 0; i < talk->n; i++)
		if (talk->v[i].source == SOURCE_TRANSCRIPT || talk->v[i].source == SOURCE_EARLIER)
			last = i + 1;
	for (size_t i = 0; i < talk->n; i++) {
		const struct exchange *x = &talk->v[i];
		bool open = x->source == SOURCE_TRANSCRIPT &&
		    (x->status == STATUS_RUNNING || x->status == STATUS_WAITING);

		/* of the program's own words only those of its failure: a crash's report */
		if (open || (i >= last && (x->role != ROLE_SYSTEM || x->status == STATUS_FAILED)))
			part.v[part.n++] = *x;
	}
	return part;
}

int
gather_resume_prompt(struct app *w, const struct candidate *c, const char *recovery_id, size_t max_tokens,
    struct gathered *g, struct err *e)
{
	struct conversation part = lacking(&g->conversation);
	struct prompt_in in = all_of_it(w, c, recovery_id, g);
	const char **all;
	size_t n = 0;
	int ret;

	all = xcalloc(g->work_to + g->died_resumed.n + 1, sizeof *all);
	for (size_t i = g->work_from; i < g->died_from; i++)
		all[n++] = g->warnings[i];
	for (size_t i = 0; i < g->died_resumed.n; i++)
		all[n++] = g->died_resumed.v[i];
	in.conversation = &part;
	in.scrollback = NULL;
	in.warnings = all;
	in.n_warnings = n;
	in.max_tokens = max_tokens;
	ret = render_prompt(w, true, &in, g, e);
	free(all);
	free(part.v);
	return ret;
}

void
gather_release(struct gathered *g)
{
	scrub_free(g->scrub);
	capture_release(&g->capture);
	conversation_release(&g->conversation);
	bead_release(&g->bead);
	clean_free(g->git);
	clean_free(g->checkpoint);
	for (size_t i = 0; i < g->n_warnings; i++)
		free(g->warnings[i]);
	free(g->warnings);
	town_list_release(&g->died_resumed);
	transcript_found_release(&g->found);
	gather_previous_release(&g->earlier);
	free(g->reason);
	buf_release(&g->prompt);
	memset(g, 0, sizeof *g);
}
