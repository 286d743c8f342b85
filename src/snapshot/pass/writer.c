#include <stdlib.h>
#include <string.h>

#include "snapshot/pass/pass_private.h"
#include "detect/detect.h"
#include "snapshot/snapshot.h"
#include "app/app.h"
#include "agent/agent.h"
#include "process/proc.h"
#include "base/timestamp.h"
#include "base/buf.h"
#include "base/clock.h"
#include "scrub/scrub.h"
#include "beads/beads.h"
#include "git/git.h"

#define GIT_MS 3000

struct place {
	char *cwd;
	char *git;			/* NULL: no repository, or not known */
};

void
snapshot_writer_release(struct snapshot_writer *s)
{
	for (size_t i = 0; i < s->n_places; i++) {
		free(s->places[i].cwd);
		free(s->places[i].git);
	}
	free(s->places);
	free(s->dir);
	memset(s, 0, sizeof *s);
}

static const char *
git_of(struct snapshot_writer *s, const char *cwd, struct scrub *scrub)
{
	struct clean_text *state = NULL;
	int64_t began = clock_mono_ms();
	struct place *p;

	for (size_t i = 0; i < s->n_places; i++)
		if (strcmp(s->places[i].cwd, cwd) == 0)
			return s->places[i].git;
	if (s->git_ms < GIT_MS && git_in_work_tree(cwd) && git_state(cwd, scrub, &state, NULL) != 0)
		state = NULL;
	s->git_ms += clock_mono_ms() - began;
	s->places = vec_room(s->places, s->n_places, &s->cap_places, sizeof *s->places);
	p = &s->places[s->n_places++];
	p->cwd = xstrdup(cwd);
	p->git = state != NULL ? xstrdup(clean_bytes(state)) : NULL;
	clean_free(state);
	return p->git;
}

/* What the session and the agent's process have in their environment, as one block. */
static void
environment_of(const struct candidate *c, struct buf *out)
{
	char *block;
	size_t n;

	for (size_t i = 0; i < c->pane.n_env; i++)
		buf_add(out, c->pane.env[i], strlen(c->pane.env[i]) + 1);
	if (c->status == AGENT_LIVE && (block = proc_environ(c->agent_pid, &n)) != NULL) {
		buf_add(out, block, n);
		explicit_bzero(block, n);
		free(block);
	}
}

static char *
clean_string(struct scrub *scrub, const char *text)
{
	struct clean_text *t = scrub_string(scrub, text);
	char *copy = t != NULL ? xstrdup(clean_bytes(t)) : NULL;

	clean_free(t);
	return copy;
}

static void
set_pane(const struct candidate *c, struct scrub *scrub, struct snapshot *out)
{
	const struct pane *p = &c->pane;
	struct timestamp now;

	timestamp_now(&now);
	out->pid_ns = now.pid_ns;
	out->session = xstrdup(p->session);
	out->socket = xstrdup(p->socket_path);
	out->server_pid = p->server_pid;
	out->server_start = p->server_start;
	out->pane = xstrdup(p->id);
	out->pane_pid = p->pid;
	out->width = p->width;
	out->height = p->height;
	out->history_limit = p->history_limit;
	out->alternate = p->alternate;
	out->dead = p->dead;
	out->title = clean_string(scrub, p->title);
	out->place = xstrdup(p->place);
	out->window_id = xstrdup(p->window_id);
	out->window_name = clean_string(scrub, p->window_name);
}

static void
set_process(const struct candidate *c, struct snapshot *out)
{
	struct proc proc;

	if (c->status == AGENT_LIVE && proc_read(c->agent_pid, &proc) == 0) {
		out->pid = c->agent_pid;
		out->pid_start = proc.start;
	} else if (c->pid_record.session_id != NULL) {
		out->pid = c->pid_record.pid;
		out->pid_start = c->pid_record.start;
	}
}

static void
set_command(const struct candidate *c, struct scrub *scrub, struct snapshot *out)
{
	struct launch_redacted shape;
	struct buf block = BUF_INIT;

	if (c->launch.command == NULL)
		return;
	environment_of(c, &block);
	launch_redact(&shape, &c->launch, scrub, block.data, block.len);
	buf_wipe(&block);
	out->shell = xstrdup(c->launch.shell);
	out->command = xstrdup(clean_bytes(shape.text));
	out->secrets = shape.names;
	out->n_secrets = shape.n;
	out->wrapper = c->launch.wrapper;
	shape.names = NULL;
	shape.n = 0;
	launch_redacted_release(&shape);
}

static void
set_agent(struct snapshot_writer *s, const struct candidate *c, struct scrub *scrub,
    const struct pane_state *x, struct snapshot *out)
{
	struct transcript_found found;
	/* the record of a dead process may be gone, and the last one tells of it */
	struct snapshot last = SNAPSHOT_INIT;
	struct bead bead = BEAD_INIT;
	const char *git = git_of(s, c->cwd, scrub);

	out->agent = xstrdup(c->profile->name);
	out->role = xstrdup(role_word(c->role.kind));
	out->address = c->role.kind != TOWN_ROLE_NONE ? role_address(&c->role) : NULL;
	out->cwd = xstrdup(c->cwd);
	out->config_dir = c->config_dir != NULL ? xstrdup(c->config_dir) : NULL;
	out->git = git != NULL ? xstrdup(git) : NULL;
	if (c->pane.dead && x->file != NULL)
		snapshot_file_read_head(s->dir, x->file, scrub, &last, NULL);
	if (detect_find_transcript(s->w, c, NULL, last.session_id, &found, NULL) == 0) {
		out->session_id = found.session_id != NULL ? xstrdup(found.session_id) : NULL;
		out->transcript = found.path != NULL ? xstrdup(found.path) : NULL;
	}
	transcript_found_release(&found);
	snapshot_release(&last);
	candidate_bead(s->w, c, scrub, &bead);
	out->bead = bead.id != NULL ? xstrdup(bead.id) : NULL;
	bead_release(&bead);
}

/* Names go up, whatever the clock does. */
static int64_t
next_time(const struct pane_state *x)
{
	int64_t now = clock_wall_ms(), last = x->file != NULL ? strtoll(x->file, NULL, 10) : 0;

	return now > last ? now : last + 1;
}

static int
write_it(struct snapshot_writer *s, const struct candidate *c, const struct buf *body, size_t bytes,
    struct pane_state *x, struct err *e)
{
	const struct pane *p = &c->pane;
	const char *richer = x->file != NULL && bytes < x->bytes / 2 ? x->file : x->base_snapshot;
	char session[SNAPSHOT_KEY], pane[SNAPSHOT_KEY], name[SNAPSHOT_NAME],
	    *refer = richer != NULL ? xstrdup(richer) : NULL;
	int64_t at = next_time(x);
	struct buf whole = BUF_INIT;
	int ret;

	snapshot_session_key(session, p->socket_path, p->session);
	snapshot_pane_key(pane, p->socket_path, p->server_pid, p->server_start, p->id);
	snapshot_file_name(name, at, session, pane);
	snapshot_whole(&whole, body->data, body->len, at, refer);
	ret = snapshot_file_write(s->dir, name, whole.data, whole.len, e);
	buf_release(&whole);
	if (ret != 0) {
		free(refer);
		return -1;
	}
	free(x->file);
	free(x->base_snapshot);
	x->file = xstrdup(name);
	x->base_snapshot = refer;
	x->bytes = bytes;
	return 0;
}

enum snapshot_outcome
snapshot_write_pane(struct snapshot_writer *s, const struct candidate *c, struct scrub *scrub,
    struct capture *capture, struct pane_state *x, struct err *e)
{
	size_t bytes = clean_len(capture->text);
	struct snapshot shot = SNAPSHOT_INIT;
	struct buf body = BUF_INIT;
	enum snapshot_outcome end = OUTCOME_WRITTEN;

	if (bytes == 0 && x->file != NULL && x->bytes > 0)
		return OUTCOME_KEPT;
	set_pane(c, scrub, &shot);
	set_process(c, &shot);
	set_command(c, scrub, &shot);
	set_agent(s, c, scrub, x, &shot);
	shot.rows = capture->rows;
	shot.cut = capture->cut;
	shot.style = capture->style;
	shot.text = capture->text;
	snapshot_body(&body, &shot);
	shot.style = NULL;
	shot.text = NULL;
	snapshot_release(&shot);
	if (x->file != NULL && snapshot_file_equals(s->dir, x->file, body.data, body.len))
		end = OUTCOME_SAME;
	else if (write_it(s, c, &body, bytes, x, e) != 0)
		end = OUTCOME_FAILED;
	buf_release(&body);
	return end;
}
