#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "revive/credentials.h"
#include "revive/gather.h"
#include "revive/briefing.h"
#include "revive/detect.h"
#include "revive/halfdone.h"
#include "revive/recall.h"
#include "revive/rescrub.h"
#include "revive/sources.h"
#include "revive/world.h"
#include "agent/liveness.h"
#include "agent/profile.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/utf8.h"
#include "context/merge.h"
#include "context/screen.h"
#include "context/task.h"
#include "context/transcript.h"
#include "prompt/template.h"
#include "scrub/scrub.h"
#include "town/config.h"
#include "work/bead_cli.h"
#include "work/checkpoint.h"
#include "work/git.h"

#define ROOM_A_TOKEN ((size_t)16)	/* bytes of a transcript that are read for each token of the budget: long outputs lose most of theirs */

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
	{ "prompts.template", "prompts.template_file", "template_file", "the built-in template", builtin_prompt, sizeof builtin_prompt },
	{ "prompts.resume_template", "prompts.resume_template_file", "resume_template_file", "the built-in template of resume", builtin_nudge,
	    sizeof builtin_nudge },
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

char *
gather_reason(const struct candidate *c)
{
	if (c->class == CLASS_LIVE)
		return xstrdup("running");
	if (c->class == CLASS_UNKNOWN)
		return xstrdup(c->doubt);
	if (c->class == CLASS_ZOMBIE)
		return xstrdup("its process died, the shell stayed");
	if (c->class == CLASS_RESPAWNED)
		return xstrdup(c->reason == REASON_SERVER_EXIT ? "its tmux server ended, and it was started afresh without its context" :
		    "it died, and was started afresh without its context");
	if (c->class == CLASS_RESTORED)
		return xstrdup("its tmux server ended, and the session came back empty");
	if (c->record != NULL)
		return xstrdup(c->crashed_at > 0 ? "it is suspended, and only its record tells of it" :
		    "its process is gone, and only its record tells of it");
	if (c->class == CLASS_MISSING)
		return xstrdup(c->reason == REASON_SERVER_EXIT ? "its tmux server ended" : c->reason == REASON_STOPPED ?
		    "it was ended, and its session with it" : "it died, and its session with it");
	if (c->pane.dead_signal > 0)
		return xasprintf("killed by signal %d (SIG%s)", c->pane.dead_signal,
		    sigabbrev_np(c->pane.dead_signal) != NULL ? sigabbrev_np(c->pane.dead_signal) : "?");
	if (c->pane.dead_status >= 0)
		return xasprintf("exited with status %d", c->pane.dead_status);
	return xstrdup("died, how is not known");
}

static void
learn_environments(struct scrub *s, const struct candidate *c)
{
	char *block;
	size_t n;

	for (size_t i = 0; i < c->pane.n_env; i++)
		scrub_learn_environ(s, c->pane.env[i], strlen(c->pane.env[i]) + 1);
	for (size_t i = 0; i < c->launch.program && i < c->launch.n_words; i++)
		if (strchr(c->launch.words[i].text, '=') != NULL)
			scrub_learn_environ(s, c->launch.words[i].text, strlen(c->launch.words[i].text) + 1);
	if (!c->pane.dead && (block = proc_environ(c->class == CLASS_LIVE ? c->agent_pid : c->pane.pid, &n)) != NULL) {
		scrub_learn_environ(s, block, n);
		explicit_bzero(block, n);
		free(block);
	}
}

void
gather_learn(struct world *w, struct scrub *s, const struct candidate *c)
{
	if (config_flag(w->config, "scrub.known_values"))
		learn_environments(s, c);
	if (config_flag(w->config, "scrub.known_files")) {
		const char *home = pane_env(&c->pane, "HOME");

		credentials_learn(s, home != NULL ? home : getenv("HOME"), c->cwd);
		credentials_learn_agent(s, c->config_dir);
	}
}

static void
warn_about_work(struct world *w, const struct candidate *c, struct gathered *g)
{
	const char *id = g->talk.session_id != NULL ? g->talk.session_id : c->pane.dead && c->note.pid == c->pane.pid ? c->note.session_id : NULL;
	struct town_list list = TOWN_LIST_INIT;

	halfdone_warnings(w, c, &g->talk, g->earlier.untold, id, g->git, g->scrub, &list);
	for (size_t i = 0; i < list.n; i++)
		warn(g, "%s", list.v[i]);
	town_list_release(&list);
}

static void
warn_about_reading(struct gathered *g)
{
	if (g->talk.draft != NULL)
		warn(g, "A message was typed but never sent; it stands apart from the conversation.");
	if (g->talk.unknown_lines > 0)
		warn(g, "%zu of %zu lines of the screen were not understood; they stand in place as they were.", g->talk.unknown_lines,
		    g->talk.lines);
	if (g->talk.limit)
		warn(g, "The last screen showed a usage limit or a login problem.");
	if (scrub_total(g->scrub) > 0)
		warn(g, scrub_total(g->scrub) == 1 ? "%zu secret was replaced by [REDACTED:kind]." :
		    "%zu secrets were replaced by [REDACTED:kind].", scrub_total(g->scrub));
	if (scrub_withheld(g->scrub) > 0)
		warn(g, "Rows on which the search for secrets gave up are withheld: [scrub: row withheld].");
}

static void
add_once(struct town_list *l, char *path)
{
	for (size_t i = 0; path != NULL && i < l->n; i++)
		if (strcmp(l->v[i], path) == 0) {
			free(path);
			return;
		}
	if (path != NULL)
		town_list_add(l, path);
}

/* Where beads may be: files of SQLite, and .beads directories of Dolt stores. */
struct bead_places {
	struct town_list files, dolts;
};

static void
add_place(struct bead_places *p, const char *dir, bool walk_up)
{
	bool dolt;

	add_once(&p->files, bead_database(dir, walk_up, &dolt));
	if (dolt)
		add_once(&p->dolts, bead_dolt(dir, walk_up));
}

/* What the session says, the town's in their order, the folder of the work itself. */
static void
find_places(struct world *w, const struct candidate *c, struct bead_places *p)
{
	const char *beads_dir = pane_env(&c->pane, "BEADS_DIR");
	struct town_list dirs = TOWN_LIST_INIT;

	*p = (struct bead_places){ TOWN_LIST_INIT, TOWN_LIST_INIT };
	if (beads_dir != NULL)
		add_place(p, beads_dir, false);
	town_bead_dirs(w->town, c->role.rig, &dirs);
	for (size_t i = 0; i < dirs.n; i++)
		add_place(p, dirs.v[i], false);
	if (p->files.n == 0 && p->dolts.n == 0)
		add_place(p, c->cwd, true);
	town_list_release(&dirs);
}

/* GT_ROLE's rig and name; outside a town the actor that beads itself is told. `quick`: what a list needs to know. */
static int
find_bead(struct world *w, const struct candidate *c, bool quick, struct scrub *s, struct bead *out, struct err *e)
{
	const char *hint = pane_env(&c->pane, "GT_WORK_BEAD"), *actor = pane_env(&c->pane, "BD_ACTOR");
	const char *name = *c->role.name != '\0' ? c->role.name : actor != NULL ? actor : "";
	const char *rig_name = *c->role.rig != '\0' ? c->role.rig : NULL;
	const struct rig *rig = rig_name != NULL ? town_rig(w->town, rig_name) : NULL;
	struct bead_places p;
	int ret = 0;

	find_places(w, c, &p);
	if (p.dolts.n > 0 && (*name != '\0' || hint != NULL)) {
		const struct bead_cli cli = { .bd = world_bd(w), .dirs = (const char *const *)p.dolts.v, .n = p.dolts.n, .rig = rig_name,
			.prefix = rig != NULL ? rig->prefix : NULL, .name = name, .hint = hint, .quick = quick };

		ret = bead_cli_find(&cli, s, out, e);
	}
	if (ret == 0 && out->id == NULL && p.files.n > 0 && (*name != '\0' || hint != NULL)) {
		bead_release(out);
		ret = bead_find((const char *const *)p.files.v, p.files.n, rig_name, name, hint, s, out, e);
	}
	town_list_release(&p.files);
	town_list_release(&p.dolts);
	return ret;
}

void
gather_bead(struct world *w, const struct candidate *c, struct scrub *s, struct bead *out)
{
	if (find_bead(w, c, true, s, out, NULL) != 0)
		bead_release(out);
}

/* What stands in the pane is what died. */
static bool
reads_pane(const struct candidate *c)
{
	return class_has_pane(c->class) && c->class != CLASS_RESPAWNED;
}

/* Says of a snapshot that was read whether it is a part of the conversation. */
static void
warn_about_snapshot(const struct recall *r, bool gone, struct gathered *g)
{
	struct buf at = BUF_INIT;

	for (size_t i = 0; i < g->talk.n; i++)
		g->snapshot.used = g->snapshot.used || g->talk.v[i].source == SOURCE_SNAPSHOT;
	if (g->snapshot.used) {
		clock_iso(&at, r->shot.taken_at);
		warn(g, gone ? "What your screen had shown is from a snapshot, taken at %s; what came after it is known from your transcript alone." :
		    r->own ? "A part of the conversation is from a snapshot of your screen, taken at %s: the screen did not hold it any more." :
		    "The conversation is from a snapshot of this session's screen, taken at %s, before its tmux server ended.", at.data);
		buf_release(&at);
	}
}

/* In the place of what the screen showed, where there is no screen. */
static void
adopt_snapshot(struct recall *r, struct gathered *g)
{
	if (!r->found)
		return;
	clean_free(g->capture.text);
	g->capture.text = r->shot.text;
	g->capture.rows = r->shot.rows;
	g->capture.cut = r->shot.cut;
	r->shot.text = NULL;
}

/*
 * The agent's own record, what its screen shows, and what a snapshot of it had shown. A record that cannot be read leaves the screens. A
 * snapshot that cannot be read is none.
 */
static void
read_sources(struct world *w, const struct candidate *c, size_t room, struct gathered *g)
{
	struct conversation screen = CONVERSATION_INIT, record = CONVERSATION_INIT, old = CONVERSATION_INIT;
	struct err soft = ERR_INIT;
	struct recall r;
	bool told = c->class == CLASS_MISSING && c->lost_id != NULL;	/* the ledger knows better than what was on the screen before */
	bool later;		/* and that is of a life behind the snapshot */
	struct sources_seen seen;
	char *unsure;

	screen_read(g->capture.text, g->capture.style, c->pane.width, c->profile->dialect, &screen);
	if (g->capture.cut)
		screen.truncated_at = 0;
	recall(w, c, g->scrub, &r, &soft);
	later = told && r.own && c->crashed_at > r.shot.taken_at;
	if (!reads_pane(c) && r.found && !later)
		recall_read(&r, c->profile->dialect, &old);
	seen = (struct sources_seen){ .screen = told ? NULL : reads_pane(c) ? &screen : &old,
		.text = reads_pane(c) ? clean_bytes(g->capture.text) : NULL, .scrub = g->scrub };
	if (sources_transcript(w, c, &seen, r.own && !told ? r.shot.session_id : c->lost_id, &g->found,
	    &soft) != 0 || (g->found.path != NULL &&
	    transcript_read(g->found.path, c->profile->transcript, g->scrub, room, &record, &soft) != 0))
		warn(g, "Your own transcript could not be read; the conversation is what the screen showed.");
	unsure = sources_warning(c, &g->found);
	if (unsure != NULL)
		warn(g, "%s", unsure);
	free(unsure);
	g->records = record.lines;
	g->unknown_records = record.unknown_lines;
	g->snapshot.at = r.found ? r.shot.taken_at : 0;
	g->snapshot.rows = r.found ? r.shot.rows : 0;
	if (reads_pane(c) && recall_adds(&r, g->capture.text, &screen, &record))
		recall_read(&r, c->profile->dialect, &old);
	merge(&record, &old, &screen, &g->talk);
	warn_about_snapshot(&r, !reads_pane(c), g);
	if (!reads_pane(c))
		adopt_snapshot(&r, g);
	recall_release(&r);
	if (g->talk.session_id == NULL && g->found.session_id != NULL)
		g->talk.session_id = xstrdup(g->found.session_id);
}

static int
read_conversation(struct world *w, const struct candidate *c, struct gathered *g, struct err *e)
{
	struct earlier_in in = {
		.w = w, .c = c, .scrub = g->scrub, .room = (size_t)config_int(w->config, "max_context_tokens") * ROOM_A_TOKEN,
	};

	read_sources(w, c, in.room, g);
	in.transcript = g->found.path;
	if (earlier_unfold(&in, &g->talk, &g->earlier, e) != 0)
		return -1;
	if (g->earlier.empty)
		warn(g, "The context of the earlier recovery %s cannot be read any more; only what came after it is here.", g->earlier.id);
	else if (g->earlier.lost)
		warn(g, "The context of the earlier recovery %s cannot be read any more; what came before it was put together again from "
		    "what you were told then.", g->earlier.id);
	return 0;
}

int
gather(struct world *w, const struct candidate *c, const char *scope, struct gathered *g, struct err *e)
{
	struct err soft = ERR_INIT;
	size_t sought;

	memset(g, 0, sizeof *g);
	g->talk = (struct conversation)CONVERSATION_INIT;
	buf_init(&g->prompt);
	g->reason = gather_reason(c);
	if ((g->scrub = world_scrub(w, e)) == NULL)
		return -1;
	gather_learn(w, g->scrub, c);
	if (!reads_pane(c))
		g->capture.text = scrub_string(g->scrub, "");
	else if (capture_pane(world_server(w, c->pane.socket), &c->pane, class_has_shell(c->class),
	    (size_t)config_int(w->config, "max_context_lines"), g->scrub, &g->capture, e) != 0)
		return -1;
	sought = scrub_sought(g->scrub);
	if (read_conversation(w, c, g, e) != 0)
		return -1;
	g->work_from = g->n_warnings;
	/* a database that cannot be read is not "no work": the agent is told so, and the plan refuses nothing on a guess */
	if (find_bead(w, c, false, g->scrub, &g->bead, &soft) != 0)
		warn(g, "The bead could not be read (%s); look your work up before you go on.", soft.msg);
	if (git_state(c->cwd, g->scrub, &g->git, &soft) != 0)
		warn(g, "The state of git could not be read.");
	if (checkpoint_read(c->cwd, clock_wall_ms(), g->scrub, &g->checkpoint, &soft) != 0)
		warn(g, "There is a .polecat-checkpoint.json that could not be read.");
	if (briefing_read(w, c, g->scrub, &g->checkpoint, &soft) != 0)
		warn(g, "What epics tell of your work could not be read.");
	if (strcmp(scope != NULL ? scope : config_text(w->config, "scope"), "task") == 0)
		task_cut(&g->talk, g->bead.id);
	warn_about_work(w, c, g);
	g->work_to = g->n_warnings;
	rescrub(g, sought);
	warn_about_reading(g);
	return 0;
}

/* It is a person's own, and goes into what we write like all that others wrote. */
static struct template *
own_template(struct scrub *s, const char *p, size_t n, const char *what, struct err *e)
{
	struct clean_text *text = s != NULL ? scrub_text(s, p, n, 0) : NULL;
	struct template *t = template_new(text != NULL ? clean_bytes(text) : p, text != NULL ? clean_len(text) : n, what, e);

	clean_free(text);
	/* cppcheck-suppress CastIntegerToAddressAtReturn ; it takes the type's name for C++ */
	return t;
}

struct template *
gather_template(struct world *w, bool nudge, struct scrub *s, struct err *e)
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
		t = own_template(s, text, strlen(text), config_origin(w->config, templates[nudge].text_key), e);
	} else {
		t = template_new((const char *)templates[nudge].builtin, templates[nudge].n, templates[nudge].what, e);
	}
	buf_release(&b);
	free(path);
	/* cppcheck-suppress CastIntegerToAddressAtReturn ; it takes the type's name for C++ */
	return t;
}

static struct prompt_in
all_of_it(const struct world *w, const struct candidate *c, const char *recovery_id, const struct gathered *g)
{
	return (struct prompt_in){
		.recovery_id = recovery_id, .session = c->pane.session, .crash_reason = g->reason, .talk = &g->talk,
		.scrollback = g->capture.text, .bead = g->bead.id != NULL ? &g->bead : NULL, .checkpoint = g->checkpoint, .git = g->git,
		.warnings = (const char *const *)g->warnings, .n_warnings = g->n_warnings,
		.max_lines = (size_t)config_int(w->config, "max_context_lines"),
		.max_tokens = (size_t)config_int(w->config, "max_context_tokens"),
	};
}

static int
write_prompt(struct world *w, bool nudge, struct prompt_in *in, struct gathered *g, struct err *e)
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
gather_prompt(struct world *w, const struct candidate *c, const char *recovery_id, struct gathered *g, struct err *e)
{
	struct prompt_in in = all_of_it(w, c, recovery_id, g);

	return write_prompt(w, false, &in, g, e);
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
		bool open = x->source == SOURCE_TRANSCRIPT && (x->status == STATUS_RUNNING || x->status == STATUS_WAITING);

		if (open || (i >= last && x->role != ROLE_SYSTEM))
			part.v[part.n++] = *x;
	}
	return part;
}

int
gather_nudge(struct world *w, const struct candidate *c, const char *recovery_id, size_t max_tokens, struct gathered *g, struct err *e)
{
	struct conversation part = lacking(&g->talk);
	struct prompt_in in = all_of_it(w, c, recovery_id, g);
	int ret;

	in.talk = &part;
	in.scrollback = NULL;
	in.warnings += g->work_from;
	in.n_warnings = g->work_to - g->work_from;
	in.max_tokens = max_tokens;
	ret = write_prompt(w, true, &in, g, e);
	free(part.v);
	return ret;
}

void
gathered_release(struct gathered *g)
{
	scrub_free(g->scrub);
	capture_release(&g->capture);
	conversation_release(&g->talk);
	bead_release(&g->bead);
	clean_free(g->git);
	clean_free(g->checkpoint);
	for (size_t i = 0; i < g->n_warnings; i++)
		free(g->warnings[i]);
	free(g->warnings);
	transcript_found_release(&g->found);
	earlier_release(&g->earlier);
	free(g->reason);
	buf_release(&g->prompt);
	memset(g, 0, sizeof *g);
}
