#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapshot/pass/pass.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/encode.h"
#include "base/fault.h"
#include "base/io.h"
#include "base/timestamp.h"
#include "detect/detect.h"
#include "gastown/gastown.h"
#include "process/proc.h"
#include "records/agents/agents.h"
#include "records/hooks/hooks.h"
#include "records/recovery/recovery.h"
#include "scrub/scrub.h"
#include "transcript/transcript.h"

/* The last sign of life is renewed no sooner. */
#define RENEW_MS (5 * 60 * 1000)
#define MEMORY_STEP ((int64_t)64 << 20)
#define WORD_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct agent_noting {
	struct app *w;
	const struct candidate_list *all;
	struct store *store;
	struct seen_agent *v;		/* to be written */
	size_t n, cap;
};

static void
replace(char **field, const char *text)
{
	if (text == NULL)
		return;
	free(*field);
	*field = xstrdup(text);
}

#define VARIABLES_MOST 40

/* Keys, addresses, proxies and certificates, what chooses a model or a provider, an environment's place. */
static bool
is_needed(const char *name)
{
	static const char *const begins[] = { "ANTHROPIC_", "CLAUDE_", "AWS_", "GOOGLE_", "GEMINI_",
		"OPENAI_", "AZURE_", "VERTEX_", "CODEX_", "OPENCODE_" };
	static const char *const ends[] = { "_KEY", "_TOKEN", "_BASE_URL", "_PROXY", "_proxy" };
	static const char *const words[] = { "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "SSL_CERT_FILE",
		"VIRTUAL_ENV", "CONDA_PREFIX" };
	bool yes = false;

	for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
		yes = yes || str_starts(name, begins[i]);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		yes = yes || str_ends(name, ends[i]);
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		yes = yes || strcmp(name, words[i]) == 0;
	return yes;
}

static void
note_variables(const char *block, size_t size, struct seen_agent *x)
{
	struct buf names = BUF_INIT;
	size_t n = 0;

	for (size_t at = 0; block != NULL && at < size && n < VARIABLES_MOST; at += strlen(block + at) + 1) {
		char *name = xstrndup(block + at, strcspn(block + at, "="));

		if (is_needed(name) && name[strspn(name, WORD_CHARS)] == '\0')
			buf_fmt(&names, "%s%s", n++ > 0 ? " " : "", name);
		free(name);
	}
	if (n > 0)
		replace(&x->variables, names.data);
	buf_release(&names);
}

/* Its own arguments, without secrets; each time a scrubber learns what the agent's environment holds. */
static void
note_command(struct app *w, const struct candidate *c, struct seen_agent *x)
{
	struct scrub *s = c->launch.command != NULL ? app_scrub(w, NULL) : NULL;
	struct launch_redacted shape;
	struct buf names = BUF_INIT;
	char *block;
	size_t n = 0;

	if (s == NULL)
		return;
	candidate_learn(w, s, c);
	block = proc_environ(c->agent_pid, &n);
	launch_redact(&shape, &c->launch, s, block, n);
	if (shape.text != NULL)
		replace(&x->command, clean_bytes(shape.text));
	x->wrapper = c->launch.wrapper;
	for (size_t i = 0; i < shape.n; i++)
		buf_fmt(&names, "%s%s", i > 0 ? " " : "", shape.names[i]);
	if (names.len > 0)
		replace(&x->redacted, names.data);
	note_variables(block, n, x);
	launch_redacted_release(&shape);
	buf_release(&names);
	if (block != NULL)
		explicit_bzero(block, n);
	free(block);
	scrub_free(s);
}

/* The conversation of a pid file, and its transcript once that is there. True: they changed. */
static bool
note_conversation(const struct candidate *c, const struct agent_pid_file *note, struct seen_agent *x)
{
	char *path;
	bool changed = note->session_id != NULL &&
	    (x->conversation == NULL || strcmp(x->conversation, note->session_id) != 0);

	if (changed) {
		replace(&x->conversation, note->session_id);
		free(x->transcript);
		x->transcript = NULL;
	}
	if (x->transcript == NULL && x->conversation != NULL && c->config_dir != NULL) {
		const char *cwd = note->cwd != NULL && *note->cwd != '\0' ? note->cwd : c->cwd;

		path = transcript_is_id(x->conversation)
			   ? transcript_path(c->config_dir, cwd, x->conversation)
			   : NULL;
		changed = changed || path != NULL;
		x->transcript = path;
	}
	return changed;
}

static void
note_place(const struct candidate *c, struct seen_agent *x)
{
	const struct pane *p = &c->pane;
	struct timestamp now;

	timestamp_now(&now);
	replace(&x->session, p->session);
	replace(&x->socket, p->socket_path);
	replace(&x->pane_id, p->id);
	replace(&x->agent, c->profile->name);
	replace(&x->cwd, c->cwd);
	replace(&x->config_dir, c->config_dir);
	x->server_pid = p->server_pid;
	x->server_start = p->server_start;
	x->pane_pid = p->pid;
	x->pid_ns = (int64_t)now.pid_ns;
}

/* Only growth by a quarter is worth a write of its own. True: it is. */
static bool
note_memory(struct seen_agent *x)
{
	int64_t now = proc_memory((pid_t)x->pid);
	bool much = now > x->memory + x->memory / 4 + MEMORY_STEP;

	if (now > x->memory)
		x->memory = now;
	return much;
}

/* True: there is something to write. */
static bool
note_living(struct app *w, const struct candidate *c, struct seen_agent *x)
{
	int64_t now = clock_wall_ms(), ticks = (int64_t)proc_ticks(c->agent_pid);
	struct agent_pid_file note = { .session_id = NULL };
	bool changed, known = x->version != 0 && x->pid == c->agent_pid && x->pid_start == ticks &&
	    x->pane_pid == c->pane.pid;

	if (ticks == 0)
		return false;
	if (!known) {
		int64_t version = x->version;

		seen_agent_release(x);
		x->version = version;
		note_place(c, x);
		x->pid = c->agent_pid;
		x->pid_start = ticks;
		x->program = proc_path(c->agent_pid, PROC_PROGRAM);
		replace(&x->remote, c->remote);
		replace(&x->remote_hint, c->remote_hint);
		if (c->remote == NULL)
			note_command(w, c, x);
	}
	if (c->config_dir != NULL && c->remote == NULL)
		agent_pid_file_read(c->config_dir, c->agent_pid, &note);
	/* where it began, wherever its process is now */
	if (!known && note.cwd != NULL && *note.cwd != '\0')
		replace(&x->cwd, note.cwd);
	changed = note_memory(x);
	changed = note_conversation(c, &note, x) || changed || !known || x->state != SEEN_ALIVE ||
	    now - x->seen_at >= fault_wait_ms("GT_RENEW_MS", RENEW_MS) || now < x->seen_at;
	agent_pid_file_release(&note);
	x->state = SEEN_ALIVE;
	x->died_at = 0;
	if (changed)
		x->seen_at = now;
	return changed;
}

/*
 * Is the one pid file that a dead agent left in this directory its own? Then no other pane that lost
 * an agent may be in that directory, nor another such file.
 */
static bool
is_only_one(const struct agent_noting *b, const struct candidate *c)
{
	struct agent_pid_files files = { .n = 0 };
	const char *cwd = c->pid_record.cwd;
	size_t here = 0;

	if (c->config_dir == NULL || c->pid_record.session_id == NULL || *cwd == '\0')
		return false;
	for (size_t i = 0; i < b->all->n; i++) {
		const struct candidate *other = &b->all->v[i];

		if (other != c && other->status != AGENT_LIVE && other->cwd != NULL &&
		    strcmp(other->cwd, cwd) == 0)
			return false;
	}
	agent_pid_files_read(c->config_dir, &files);
	for (size_t i = 0; i < files.n; i++)
		here += strcmp(files.v[i].cwd, cwd) == 0 && !agent_pid_file_is_alive(&files.v[i]);
	agent_pid_files_release(&files);
	return here == 1;
}

/* The first sight of its end fixes when it died. */
static bool
note_dead(const struct agent_noting *b, const struct candidate *c, struct seen_agent *x)
{
	bool own = c->own_pid_record || is_only_one(b, c);
	bool same = x->version != 0 && x->pane_pid == c->pane.pid &&
	    (!own || x->pid == 0 || x->pid == c->pid_record.pid);
	int64_t version = x->version;

	if (same && x->state != SEEN_ALIVE)
		return own && note_conversation(c, &c->pid_record, x);
	if (!same && c->low_confidence)
		return false;
	if (!same) {
		seen_agent_release(x);
		x->version = version;
		note_place(c, x);
		x->pid = own ? c->pid_record.pid : 0;
		x->pid_start = own ? (int64_t)c->pid_record.start : 0;
	}
	if (own)
		note_conversation(c, &c->pid_record, x);
	x->died_at = c->crashed_at;
	x->state = c->reason == REASON_STOPPED || (same && detect_seen_exited(b->w, b->store, x))
		       ? SEEN_EXITED
		       : SEEN_DIED;
	return true;
}

/* Its hook could not ask tmux for the name of its session in time. */
static void
name_session(const struct agent_noting *b, const struct candidate *c)
{
	struct tmux *t = app_server(b->w, c->pane.socket);
	struct panes all = { .n = 0 };
	const struct pane *only;
	struct session told;

	if (activity_in_place(b->store, c->pane.server_pid, c->pane.id, &told, NULL) != 1)
		return;
	if (told.state == SESSION_ACTIVE && told.session == NULL && told.pid == c->agent_pid &&
	    pane_list_bare(t, &all, NULL) == 0 && (only = pane_list_only(&all, c->pane.id)) != NULL) {
		record_set(&told.session, only->session);
		session_record(b->store, &told, NULL, NULL);
	}
	pane_list_release(&all);
	session_release(&told);
}

static void
note_candidate(struct agent_noting *b, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	bool living = c->status == AGENT_LIVE || c->status == AGENT_RESPAWNED ||
		 (c->status == AGENT_REMOTE && c->agent_pid != 0), write;
	struct seen_agent x = { .version = 0 };

	if (!detect_status_has_pane(c->status) || *p->id != '%' || c->profile == NULL || c->record != NULL ||
	    (!living && c->status != AGENT_DEAD && c->status != AGENT_ZOMBIE) ||
	    seen_agent_load(b->store, p->socket_path, p->server_pid, p->server_start, p->id, &x, NULL) < 0)
		return;
	write = living ? note_living(b->w, c, &x) : note_dead(b, c, &x);
	if (write && living)
		name_session(b, c);
	if (!write) {
		seen_agent_release(&x);
		return;
	}
	b->v = vec_room(b->v, b->n, &b->cap, sizeof *b->v);
	b->v[b->n++] = x;
}

int
snapshot_note_agents(struct app *w, const struct candidate_list *list, struct err *e)
{
	struct agent_noting b = { .w = w, .all = list };
	int ret = 0;

	if (w->look_only || w->dry || list->n == 0)
		return 0;
	b.store = app_store(w, true, e);
	if (b.store == NULL)
		return -1;
	for (size_t i = 0; i < list->n; i++)
		note_candidate(&b, &list->v[i]);
	if (b.n > 0 && seen_agent_put(b.store, b.v, b.n, e) != 0) {
		/* another pass was faster, and saw the same */
		ret = e != NULL && e->code == GT_AGAIN ? 0 : -1;
		if (ret == 0)
			err_clear(e);
	}
	for (size_t i = 0; i < b.n; i++)
		seen_agent_release(&b.v[i]);
	free(b.v);
	return ret;
}

/* ---- whether any of them changed ---- */

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of pid files, "1234.json", in an order of their own. */
static void
put_pid_files(struct buf *out, const char *config_dir)
{
	char *path = io_join(config_dir, "sessions");
	struct town_list names = TOWN_LIST_INIT;
	DIR *d = opendir(path);
	struct dirent *f;

	while (d != NULL && (f = readdir(d)) != NULL)
		if (f->d_name[0] != '.')
			town_list_add(&names, xstrdup(f->d_name));
	if (d != NULL)
		closedir(d);
	if (names.n > 1)
		qsort(names.v, names.n, sizeof *names.v, by_name);
	for (size_t i = 0; i < names.n; i++)
		buf_fmt(out, "%s ", names.v[i]);
	town_list_release(&names);
	free(path);
}

static void
put_agents(struct app *w, struct buf *out)
{
	const struct seen_agent_list *seen = app_seen(w);
	char *own = agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));

	for (size_t i = 0; i < seen->n; i++) {
		const struct seen_agent *x = &seen->v[i];
		bool runs = x->pid > 0 && x->state == SEEN_ALIVE &&
		    proc_life((pid_t)x->pid, (uint64_t)x->pid_start) != LIFE_GONE;

		buf_fmt(out, "%lld.%lld%c ", (long long)x->pid, (long long)x->pid_start, runs ? '+' : '-');
		/* those of one directory are mostly neighbours */
		if (x->config_dir != NULL && (own == NULL || strcmp(x->config_dir, own) != 0) &&
		    (i == 0 || seen->v[i - 1].config_dir == NULL ||
			strcmp(seen->v[i - 1].config_dir, x->config_dir) != 0))
			put_pid_files(out, x->config_dir);
	}
	if (own != NULL)
		put_pid_files(out, own);
	free(own);
}

bool
snapshot_agents_changed(struct app *w)
{
	char *path = app_path(w, "timer", "agents", false, NULL), sum[65];
	struct buf now = BUF_INIT, was = BUF_INIT;
	bool changed;

	put_agents(w, &now);
	sha256_hex(now.data, now.len, sum);
	changed = path == NULL || io_read_file(path, 64, &was, NULL) != 0 || was.len != 64 ||
	    memcmp(was.data, sum, 64) != 0;
	if (changed && path != NULL && !w->dry && !w->look_only && io_make_parents(path, NULL) == 0)
		io_write_synced(path, sum, 64, "timer-mark", NULL);
	buf_release(&was);
	buf_release(&now);
	free(path);
	return changed;
}
