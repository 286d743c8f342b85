#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover/recover_private.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "detect/detect.h"
#include "process/proc.h"
#include "scrub/scrub.h"
#include "transcript/transcript.h"

#define MOST ((size_t)4 << 20)		/* bytes of a file of a team */
#define TASK_MOST 300			/* characters of a task or message that the lead is told */
#define LEAD "team-lead"

/* A team of Claude Code: <config>/teams/session-<first 8 of the lead's id>. */
struct team {
	char *dir;
	json_t *config;		/* its config.json, NULL: there is none */
	json_t *inboxes;	/* messages by the member's name */
};

static json_t *
read_json(const char *dir, const char *folder, const char *name)
{
	char *path = xasprintf("%s%s/%s.json", dir, folder, name);
	struct buf b = BUF_INIT;
	json_t *v = io_read_file(path, MOST, &b, NULL) == 0 ? json_parse(b.data, b.len, path, NULL) : NULL;

	buf_release(&b);
	free(path);
	return v;
}

static void
team_release(struct team *t)
{
	free(t->dir);
	json_decref(t->config);
	json_decref(t->inboxes);
	memset(t, 0, sizeof *t);
}

static const char *
member_name(const json_t *member)
{
	const char *name = json_text(member, "name", "");

	return strchr(name, '/') != NULL || *name == '.' ? "" : name;
}

static json_t *
find_member(const json_t *config, const char *name)
{
	json_t *members = json_object_get(config, "members"), *m;
	size_t i;

	json_array_foreach(members, i, m)
		if (strcmp(member_name(m), name) == 0)
			return m;
	return NULL;
}

static void
team_read(struct team *t, const char *config_dir, const char *name)
{
	json_t *members, *m;
	size_t i;

	*t = (struct team){ .dir = xasprintf("%s/teams/%s", config_dir, name), .inboxes = json_object() };
	t->config = read_json(t->dir, "", "config");
	members = json_object_get(t->config, "members");
	json_array_foreach(members, i, m) {
		const char *owner = member_name(m);
		json_t *inbox = *owner != '\0' ? read_json(t->dir, "/inboxes", owner) : NULL;

		if (inbox != NULL)
			json_object_set_new(t->inboxes, owner, inbox);
	}
}

/* Members other than the lead. */
static size_t
count_members(const json_t *config)
{
	size_t n = json_array_size(json_object_get(config, "members"));

	return n - (find_member(config, LEAD) != NULL);
}

static size_t
count_unread(const struct team *t, const char *name)
{
	json_t *inbox = json_object_get(t->inboxes, name), *m;
	size_t i, n = 0;

	json_array_foreach(inbox, i, m)
		n += !json_flag(m, "read", true);
	return n;
}

/* What was kept of the team of the lead whose conversation that is; heap, NULL with err. */
static char *
kept_path(struct app *w, const char *id, bool make, struct err *e)
{
	char *name = xasprintf("%s.json", id), *path = app_path(w, "teams", name, make, e);

	free(name);
	return path;
}

static void
read_kept(struct app *w, const char *id, struct team *t)
{
	char *path = kept_path(w, id, false, NULL);
	struct buf b = BUF_INIT;
	json_t *v = path != NULL && io_read_private(path, MOST, &b, NULL) == 0
	    ? json_parse(b.data, b.len, path, NULL)
	    : NULL;

	*t = (struct team){ .config = json_incref(json_object_get(v, "config")),
		.inboxes = json_incref(json_object_get(v, "inboxes")) };
	if (json_text(v, "dir", NULL) != NULL)
		t->dir = xstrdup(json_text(v, "dir", NULL));
	json_decref(v);
	buf_release(&b);
	free(path);
}

/* The team that this conversation leads; false: none with teammates. team_release in any case. */
static bool
read_led(struct app *w, const struct candidate *c, const char *id, struct team *t)
{
	char *name = NULL;

	memset(t, 0, sizeof *t);
	if (c->config_dir == NULL || id == NULL || !transcript_has_pid_files(c->profile->transcript) ||
	    !transcript_is_id(id))
		return false;
	name = xasprintf("session-%.8s", id);
	team_read(t, c->config_dir, name);
	free(name);
	if (strcmp(json_text(t->config, "leadSessionId", ""), id) != 0)
		return false;
	if (count_members(t->config) == 0) {
		/* an earlier recovery was killed before it had put them back */
		team_release(t);
		read_kept(w, id, t);
	}
	return t->dir != NULL && count_members(t->config) > 0;
}

enum membership
recovery_membership(const struct candidate *c)
{
	const char *team, *name = candidate_teammate(c, &team);
	enum membership is = MEMBER_UNLISTED;
	struct team t;
	json_t *m;

	if (name == NULL || c->config_dir == NULL || strchr(team, '/') != NULL || strchr(name, '/') != NULL)
		return MEMBER_NONE;
	team_read(&t, c->config_dir, team);
	if ((m = find_member(t.config, name)) != NULL)
		is = !json_flag(m, "isActive", true) && count_unread(&t, name) == 0 ? MEMBER_DONE
										     : MEMBER_AT_WORK;
	team_release(&t);
	return is;
}

int
recovery_team_keep(struct recovery *r, struct err *e)
{
	const char *id = r->gathered.found.session_id;
	struct buf b = BUF_INIT;
	struct team t;
	char *path;
	json_t *v;
	int ret = 0;

	if (!r->resumed || r->w->dry)
		return 0;
	if (read_led(r->w, r->c, id, &t)) {
		path = kept_path(r->w, id, true, e);
		v = json_object();
		json_put(v, "dir", t.dir);
		json_object_set(v, "config", t.config);
		json_object_set(v, "inboxes", t.inboxes);
		json_print(&b, v, false);
		ret = path != NULL ? io_write_durable(path, b.data, b.len, "team", e) : -1;
		json_decref(v);
		free(path);
		buf_wipe(&b);
	}
	team_release(&t);
	return ret;
}

static void
write_json(const char *path, const json_t *v)
{
	struct buf b = BUF_INIT;

	json_print(&b, v, true);
	io_write_durable(path, b.data, b.len, "team", NULL);
	buf_wipe(&b);
}

static bool
is_same_message(const json_t *a, const json_t *b)
{
	static const char *const keys[] = { "msg_id", "from", "timestamp", "text" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (strcmp(json_text(a, keys[i], ""), json_text(b, keys[i], "")) != 0)
			return false;
	return true;
}

static bool
has_message(const json_t *inbox, const json_t *message)
{
	size_t i;
	json_t *m;

	json_array_foreach(inbox, i, m) {
		if (is_same_message(m, message))
			return true;
	}
	return false;
}

/* What was kept, and behind it what has come since. New reference; NULL: nothing of it is missing. */
static json_t *
join_inbox(const json_t *kept, const json_t *now)
{
	json_t *both = json_array(), *m;
	size_t i, missing = 0;

	json_array_foreach(kept, i, m) {
		if (!has_message(now, m)) {
			json_array_append(both, m);
			missing++;
		}
	}
	if (missing == 0) {
		json_decref(both);
		return NULL;
	}
	json_array_foreach(now, i, m) {
		json_array_append(both, m);
	}
	return both;
}

/*
 * Those of teammates: each that is not there, and once also the messages that are not in one that was
 * begun since; Claude Code takes out what was read. What lay in the lead's own it is told by its prompt.
 * True: one was written.
 */
static bool
put_back_inboxes(const struct team *kept, bool again)
{
	char *dir = io_join(kept->dir, "inboxes");
	const char *name;
	json_t *inbox;
	bool wrote = false;

	json_object_foreach(kept->inboxes, name, inbox) {
		char *path = xasprintf("%s/%s.json", dir, name);
		bool there = access(path, F_OK) == 0;
		json_t *now = there && !again ? read_json(dir, "", name) : NULL,
		       *put = !there	    ? json_incref(inbox)
			   : now != NULL ? join_inbox(inbox, now)
					 : NULL;

		if (put != NULL && strcmp(name, LEAD) != 0 && io_make_parents(path, NULL) == 0) {
			write_json(path, put);
			wrote = true;
		}
		json_decref(put);
		json_decref(now);
		free(path);
	}
	free(dir);
	return wrote;
}

/* Another process leads it than when that was kept: pid and start, since pids are reused. */
static bool
has_new_lead(const json_t *config, const struct team *kept)
{
	const json_t *lead = json_object_get(config, "leadProcess");

	return lead != NULL && !json_equal(lead, json_object_get(kept->config, "leadProcess"));
}

/* A teammate by its start command, as Claude Code writes one. New reference. */
static json_t *
member_of_command(const struct candidate *c, const char *name)
{
	static const char *const flags[][2] = { { "agentId", "--agent-id" }, { "color", "--agent-color" },
		{ "agentType", "--agent-type" }, { "model", "--model" } };
	json_t *m = json_object();

	json_put(m, "name", name);
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (launch_flag(&c->launch, flags[i][1]) != NULL)
			json_put(m, flags[i][0], launch_flag(&c->launch, flags[i][1]));
	json_put_int(m, "joinedAt", clock_wall_ms());
	json_object_set_new(m, "subscriptions", json_array());
	json_put(m, "prompt", "");
	json_put_flag(m, "planModeRequired", false);
	json_put(m, "cwd", c->cwd);
	json_put(m, "backendType", "tmux");
	json_put_flag(m, "isActive", true);
	return m;
}

/*
 * After the end of a server a teammate may stand in a pane of another id, and the old one be another's.
 * A lead that lost its terminal removes its team as it ends: then the teammate joins the team that the
 * lead has founded anew when it resumed.
 */
static void
note_member(const struct recovery *r)
{
	const char *team, *name = candidate_teammate(r->c, &team),
		   *lead = launch_flag(&r->c->launch, "--parent-session-id");
	struct team t;
	json_t *m;

	if (name == NULL || r->w->dry || r->c->config_dir == NULL || r->pane == NULL ||
	    strchr(team, '/') != NULL)
		return;
	team_read(&t, r->c->config_dir, team);
	m = find_member(t.config, name);
	if (m == NULL && lead != NULL && strcmp(json_text(t.config, "leadSessionId", ""), lead) == 0 &&
	    json_is_array(json_object_get(t.config, "members"))) {
		m = member_of_command(r->c, name);
		json_array_append_new(json_object_get(t.config, "members"), m);
	}
	if (m != NULL && strcmp(json_text(m, "tmuxPaneId", ""), r->pane->id) != 0) {
		char *path = io_join(t.dir, "config.json");

		json_put(m, "tmuxPaneId", r->pane->id);
		write_json(path, t.config);
		free(path);
	}
	team_release(&t);
}

void
recovery_team_put_back(struct recovery *r, bool last)
{
	const char *source = r->attempt.source, *slash = source != NULL ? strrchr(source, '/') : NULL;
	char *id = slash != NULL ? xstrndup(slash + 1, TRANSCRIPT_ID_CHARS) : NULL, *path;
	struct team kept;
	json_t *config, *members, *m;
	size_t i, missing = 0;

	note_member(r);
	if (id == NULL || r->w->dry || r->attempt.via == NULL || strcmp(r->attempt.via, "resume") != 0 ||
	    !transcript_is_id(id)) {
		free(id);
		return;
	}
	read_kept(r->w, id, &kept);
	config = kept.dir != NULL ? read_json(kept.dir, "", "config") : NULL;
	members = json_object_get(kept.config, "members");
	if (strcmp(json_text(config, "leadSessionId", ""), id) == 0 && has_new_lead(config, &kept)) {
		json_array_foreach(members, i, m) {
			if (find_member(config, member_name(m)) == NULL) {
				json_array_append(json_object_get(config, "members"), m);
				missing++;
			}
		}
		path = io_join(kept.dir, "config.json");
		r->inboxes_back = put_back_inboxes(&kept, r->inboxes_back) || r->inboxes_back;
		if (missing > 0)
			write_json(path, config);
		free(path);
	}
	path = last && kept.dir != NULL ? kept_path(r->w, id, false, NULL) : NULL;
	if (path != NULL)
		unlink(path);
	free(path);
	free(id);
	json_decref(config);
	team_release(&kept);
}

static bool
is_alive(const struct procs *p, const char *agent_id)
{
	for (size_t i = 0; i < p->n; i++)
		if (proc_has_argument(&p->v[i], agent_id, NULL))
			return true;
	return false;
}

static void
put_line(struct buf *out, const char *text)
{
	size_t n = strnlen(text, TASK_MOST);

	while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		buf_chr(out, (unsigned char)text[i] < ' ' ? ' ' : text[i]);
	buf_str(out, text[n] != '\0' ? "…\n" : "\n");
}

static void
put_teammates(struct buf *out, const struct team *t)
{
	json_t *members = json_object_get(t->config, "members"), *m;
	struct procs procs = { .n = 0 };
	bool listed = proc_list(&procs, NULL) == 0;
	size_t i;

	json_array_foreach(members, i, m) {
		bool idle = !json_flag(m, "isActive", true),
		     alive = is_alive(&procs, json_text(m, "agentId", " "));

		if (strcmp(member_name(m), LEAD) == 0)
			continue;
		buf_fmt(out, "- %s: ", member_name(m));
		buf_str(out, !listed         ? "state unknown"
			: alive && idle      ? "alive, idle"
			: alive              ? "alive, at work"
			: idle               ? "finished, its process ended"
					     : "its process ended in the middle of its work");
		if (count_unread(t, member_name(m)) > 0)
			buf_fmt(out, ", %zu unread in its inbox", count_unread(t, member_name(m)));
		buf_str(out, "; task: ");
		put_line(out, json_text(m, "prompt", "not recorded"));
	}
	proc_list_release(&procs);
}

bool
recovery_team_describe(
    struct app *w, const struct candidate *c, const char *id, struct scrub *s, struct clean_text **out)
{
	struct buf text = BUF_INIT;
	struct team t;
	size_t i, unread = 0;
	json_t *m;

	if (read_led(w, c, id, &t)) {
		unread = count_unread(&t, LEAD);
		if (clean_len(*out) > 0)
			buf_fmt(&text, "%s\n", clean_bytes(*out));
		buf_fmt(&text, "You lead the agent team %s. When you died, its teammates were:\n",
		    json_text(t.config, "name", "?"));
		put_teammates(&text, &t);
		if (unread > 0)
			buf_str(&text, "Messages to you that you had not read:\n");
		json_array_foreach(json_object_get(t.inboxes, LEAD), i, m) {
			if (json_flag(m, "read", true))
				continue;
			buf_str(&text, "- from ");
			buf_str(&text, json_text(m, "from", "?"));
			buf_str(&text, ": ");
			put_line(&text, json_text(m, "text", ""));
		}
		clean_free(*out);
		*out = scrub_buf(s, &text, 0);
	}
	buf_release(&text);
	team_release(&t);
	return unread > 0;
}
