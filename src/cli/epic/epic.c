#include <unistd.h>

#include "cli/epic/epic.h"
#include "cli/records/verbs.h"
#include "base/io.h"
#include "config/config.h"
#include "records/agents/agents.h"
#include "records/hooks/hooks.h"
#include "recover/upkeep/upkeep.h"
#include "scrub/scrub.h"
#include "store/store.h"

struct unfinished_scan {
	struct verb_job *j;
	struct scrub *scrub;
	struct timestamp now;
	json_t *list;
};

/* Of an ACTIVE one without a process, or with one of another boot or host, nobody knows. */
static bool
is_dead(const struct session *x, const struct unfinished_scan *r)
{
	return x->state != SESSION_ENDED && session_is_gone(x, &r->now);
}

static bool
has_unfinished(const struct activity *a)
{
	for (size_t i = 0; i < a->n_files; i++)
		if (activity_file_unfinished(a, &a->files[i]))
			return true;
	return false;
}

static int
add(const struct activity *a, const struct session *x, struct unfinished_scan *r, struct err *e)
{
	if (r->scrub == NULL && (r->scrub = app_scrub(&r->j->w, e)) == NULL)
		return -1;
	for (size_t i = 0; i < a->n_files; i++) {
		const struct activity_file *f = &a->files[i];
		struct clean_text *path;
		json_t *o;

		if (!activity_file_unfinished(a, f))
			continue;
		path = scrub_string(r->scrub, f->path);
		o = json_object();
		json_put(o, "path", clean_bytes(path));
		json_put(o, "tool", f->tool);
		json_put(o, "agent_uuid", x->agent_uuid);
		json_put(o, "session", x->session);
		json_put_int(o, "began_at", f->began);
		json_array_append_new(r->list, o);
		clean_free(path);
	}
	return 0;
}

static int
row(const struct activity *a, void *arg, struct err *e)
{
	struct unfinished_scan *r = arg;
	struct session x;
	int ret;

	if (a->agent_uuid == NULL || !has_unfinished(a))
		return 0;
	ret = session_load(r->j->store, a->agent_uuid, &x, e);
	if (ret > 0) {
		bool last = x.cursor_session_id != NULL && strcmp(x.cursor_session_id, a->conversation) == 0;

		ret = last && is_dead(&x, r) ? add(a, &x, r, e) : 0;
	}
	session_release(&x);
	return ret;
}

/*
 * Files that an agent was writing when it died, as its hooks told (records/hooks/hooks.h): of
 * each session that has not ended, whose process is known to be gone, in its last conversation.
 * An array of {path, tool, agent_uuid, session, began_at}, paths clean; empty without a store.
 * New reference, NULL with err.
 */
static json_t *
epic_unfinished_read(struct verb_job *j, struct err *e)
{
	struct unfinished_scan r = { .j = j, .list = json_array() };

	timestamp_now(&r.now);
	if (j->store != NULL && activity_each(j->store, NULL, row, &r, e) != 0) {
		json_decref(r.list);
		r.list = NULL;
	}
	scrub_free(r.scrub);
	return r.list;
}

/* The same for people, with ages before `now` (ms since 1970); nothing when there is none. */
static void
epic_unfinished_print(struct buf *out, const json_t *list, int64_t now)
{
	size_t i;
	json_t *o;

	if (json_array_size(list) > 0)
		buf_str(out, "\nHalf-written files:\n");
	json_array_foreach((json_t *)(uintptr_t)list, i, o) {
		const char *session = json_text(o, "session", NULL);

		buf_str(out, "  ! ");
		output_foreign(out, json_text(o, "path", ""), 0);
		buf_fmt(out, "\n     └─ %s began ", json_text(o, "tool", "a write"));
		epic_screen_age(out, now - json_number(o, "began_at", now));
		buf_str(out, session != NULL ? " ago in the session " : " ago by the agent ");
		output_foreign(out, session != NULL ? session : json_text(o, "agent_uuid", ""), 0);
		buf_str(out, ", which has ended: check the file before continuing\n");
	}
}

/* The dump of the epic that the argument names; new reference, NULL with err. */
static json_t *
make(struct verb_job *j, struct err *e)
{
	struct epic_list list;
	struct timestamp now;
	json_t *dump = NULL;

	if (epic_read(j, j->cli.args[0], &list, &now, e) == 0)
		dump = epic_export_json(j->store, &list.v[0], now.wall_ms, e);
	epic_list_release(&list);
	return dump;
}

static int
epic_inspect(struct verb_job *j, struct err *e)
{
	json_t *dump = make(j, e);

	if (dump == NULL)
		return -1;
	output_stored_json(dump);
	return GT_OK;
}

static int
epic_export(struct verb_job *j, struct err *e)
{
	const char *path = j->cli.output;
	struct buf text = BUF_INIT;
	json_t *dump = make(j, e);
	int ret;

	if (dump == NULL)
		return -1;
	if (path == NULL) {
		output_stored_json(dump);
		return GT_OK;
	}
	json_print(&text, dump, true);
	json_decref(dump);
	ret = io_write_durable(path, text.data, text.len, "epic-export", e);
	buf_release(&text);
	if (ret != 0)
		return -1;
	output_line(&j->say, "Saved.");
	return GT_OK;
}

static json_t *
read_dump(const struct verb_job *j, struct err *e)
{
	struct buf text = BUF_INIT;
	json_t *o = NULL;

	if (j->cli.n_args == 0)
		return cli_input_object("epic import", EPIC_EXPORT_MAX, NULL, 0, e);
	if (io_read_file(j->cli.args[0], EPIC_EXPORT_MAX, &text, e) == 0 &&
	    (o = json_parse(text.data, text.len, "the export", e)) == NULL)
		e->code = GT_USAGE;
	buf_release(&text);
	return o;
}

static int
epic_import(struct verb_job *j, struct err *e)
{
	json_t *dump = read_dump(j, e);
	struct scrub *s = dump != NULL ? app_scrub(&j->w, e) : NULL;
	char *id = NULL;
	int ret = s != NULL ? epic_import_json(j->store, dump, s, &id, e) : -1;

	if (ret >= 0 && j->cli.json) {
		json_t *v = output_object();

		json_put(v, "id", id);
		json_put_flag(v, "changed", ret == 1);
		output_json(v);
	} else if (ret >= 0) {
		puts(id);
		if (ret == 0)
			output_line(&j->say, "Already imported, identical.");
	}
	free(id);
	scrub_free(s);
	json_decref(dump);
	return ret >= 0 ? GT_OK : -1;
}

static bool
confirmed(const struct verb_job *j, const struct epic *x)
{
	struct buf text = BUF_INIT;
	char answer[16];

	if (j->cli.yes)
		return true;
	epic_screen_abandon(&text, x);
	buf_str(&text, "Continue? [y/N]: ");
	output_text(stdout, text.data);
	buf_release(&text);
	fflush(stdout);
	return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

/* Nothing is deleted of what may be at work. */
static int
check_dead(const struct verb_job *j, const struct epic *x, struct err *e)
{
	if (x->alive) {
		err_set(e, GT_REFUSED, "live", "an agent of the epic %.200s is running", x->id);
		return err_hint(e, "End it first; nothing was changed");
	}
	for (size_t i = 0; i < x->n; i++)
		for (size_t k = 0; k < json_array_size(x->sprints[i].agents); k++) {
			const char *agent = json_text(json_array_get(x->sprints[i].agents, k), "agentId", "");
			struct session session;
			int found =
			    session_load(j->store, sprint_agent_session(&x->sprints[i], agent), &session, e);
			bool elsewhere = found > 0 && session_is_elsewhere(&session);

			if (elsewhere) {
				err_set(e, GT_REFUSED, "elsewhere",
				    "its agent %.60s is active on the host %.60s; cannot tell from here "
				    "whether it is alive",
				    agent, session.host);
				err_hint(e,
				    "Abandon it there, or, if that host no longer exists: gt-recover "
				    "records session suspend %.60s",
				    agent);
			}
			session_release(&session);
			if (found < 0 || elsewhere)
				return -1;
		}
	if (x->young) {
		err_set(e, GT_AGAIN, "young",
		    "the epic %.200s reported just now: it may be running", x->id);
		return err_hint(e,
		    "It counts as interrupted after 3 x checkpoint_interval without a report; nothing "
		    "was changed");
	}
	return 0;
}

/* The branches that are there. */
static void
put_wips(struct buf *out, const struct epic *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		if (x->sprints[i].wip == NULL)
			continue;
		buf_str(out, n++ == 0 ? "✓ WIP branches preserved: " : ", ");
		output_foreign(out, x->sprints[i].wip, 0);
	}
	if (n > 0)
		buf_chr(out, '\n');
}

int
epic_abandon_one(struct verb_job *j, const struct epic *x, struct err *e)
{
	size_t n;

	if (check_dead(j, x, e) != 0)
		return -1;
	if (!j->cli.yes && (j->cli.no_input || j->cli.json)) {
		err_set(e, GT_USAGE, "needs-yes", "epic abandon deletes records and needs --yes without "
		    "a terminal");
		return err_hint(e, "use --yes");
	}
	if (!confirmed(j, x)) {
		output_line(&j->say, "Nothing was changed.");
		return GT_NOTHING;
	}
	/* what another program keeps becomes ours first: a copy of it stays */
	if (x->source != NULL && epic_keep(j->store, x, NULL, NULL, e) != 0)
		return -1;
	if (epic_delete(j->store, x, &n, e) != 0)
		return -1;
	if (j->cli.json) {
		json_t *v = output_object();

		json_put(v, "id", x->id);
		json_put_int(v, "deleted", (int64_t)n);
		output_json(v);
	} else {
		struct buf text = BUF_INIT;

		buf_fmt(&text, "✓ Epic abandoned\n✓ %zu record%s deleted from the store\n", n,
		    n == 1 ? "" : "s");
		put_wips(&text, x);
		output_text(stdout, text.data);
		buf_release(&text);
	}
	return GT_OK;
}

static int
epic_abandon(struct verb_job *j, struct err *e)
{
	struct epic_list list;
	struct timestamp now;
	int ret = epic_read(j, j->cli.args[0], &list, &now, e);

	if (ret == 0) {
		epic_find_wips(j, &list, true);
		ret = epic_abandon_one(j, &list.v[0], e);
	}
	epic_list_release(&list);
	return ret;
}

#define WIPS 20				/* sprints that git is asked about, twice each */

/* For people: names in place of ids. */
static int
name_hosts(struct store *s, struct epic_list *list, struct err *e)
{
	struct fleet fleet = { .n = 0 };
	int ret = record_fleet_read(s, &fleet, e);

	for (size_t i = 0; i < list->n && ret == 0; i++)
		for (size_t k = 0; k < list->v[i].n; k++) {
			json_t *hosts = list->v[i].sprints[k].hosts;

			for (size_t h = 0; h < json_array_size(hosts); h++)
				json_array_set_new(hosts, h,
				    json_string(record_fleet_name(
					&fleet, json_string_value(json_array_get(hosts, h)))));
		}
	record_fleet_release(&fleet);
	return ret;
}

int
epic_read(struct verb_job *j, const char *id, struct epic_list *out, struct timestamp *now, struct err *e)
{
	store_timestamp(j->store, now);
	if (epic_survey(&j->w, j->store, id, config_ms(j->w.config, "epics.checkpoint_interval"), now, out,
		e) != 0)
		return -1;
	if (j->store == NULL)
		return 0;
	return *store_host(j->store) != '\0' ? name_hosts(j->store, out, e) : 0;
}

char *
epic_workspace(struct verb_job *j, const struct epic *x, const struct epic_sprint *one)
{
	const char *place = json_text(x->record, "workspace", NULL);
	char *cwd = NULL;

	for (size_t i = 0; i < json_array_size(one->agents) && cwd == NULL; i++) {
		const json_t *agent = json_array_get(one->agents, i);
		const char *seen = json_text(json_object_get(agent, "process"), "cwd", NULL);
		struct session session;

		session_init(&session);
		if (j->store != NULL &&
		    session_load(j->store, json_text(agent, "sessionId", json_text(agent, "agentId", "")),
			&session, NULL) > 0 &&
		    session.workspace_path != NULL)
			cwd = xstrdup(session.workspace_path);
		else if (seen != NULL)
			cwd = xstrdup(seen);
		session_release(&session);
	}
	return cwd == NULL && place != NULL ? xstrdup(place) : cwd;
}

void
epic_greet(struct verb_job *j)
{
	if (j->store != NULL)
		output_line(&j->say, "Connecting to the store… ✓");
}

double
epic_threshold(const struct verb_job *j)
{
	return (double)config_int(j->w.config, "epics.resume_threshold");
}

/* What could not be read is named: silence about it would be an answer. */
static void
warn_unread(struct verb_job *j, const struct epic_list *list)
{
	for (size_t i = 0; i < list->n_sources; i++) {
		const struct epic_source_report *r = &list->sources[i];

		if (r->error.code != 0)
			output_warning(&j->say, "%s cannot be read: %s%s%s", r->source->title,
			    output_shown(r->error.msg, 0), *r->error.hint != '\0' ? "\n  " : "",
			    r->error.hint);
	}
}

static void
report_found(struct verb_job *j, const struct epic_list *list, int64_t now)
{
	struct buf out = BUF_INIT;

	epic_screen_found(&out, list, now);
	if (out.len > 0) {
		buf_cut(&out, out.len - 1);
		output_exact(&j->say, "%s", out.data);
	}
	warn_unread(j, list);
	buf_release(&out);
}

static json_t *
sources_json(const struct epic_list *list)
{
	json_t *v = json_array();

	for (size_t i = 0; i < list->n_sources; i++) {
		const struct epic_source_report *r = &list->sources[i];
		json_t *o = json_object();

		json_put(o, "name", r->source->name);
		json_put_int(o, "epics", (int64_t)r->epics);
		json_object_set_new(
		    o, "error", r->error.code != 0 ? output_error_json(&r->error) : json_null());
		json_array_append_new(v, o);
	}
	return v;
}

/* 0: all could be read, or one was found all the same. */
static int
unread_status(const struct epic_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].interrupted)
			return GT_OK;
	for (size_t i = 0; i < list->n_sources; i++)
		if (list->sources[i].error.code != 0)
			return GT_SOME;
	return GT_OK;
}

void
epic_find_wips(struct verb_job *j, struct epic_list *list, bool all)
{
	size_t left = WIPS;

	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->v[i].n && left > 0; k++) {
			struct epic_sprint *one = &list->v[i].sprints[k];
			char *cwd = NULL;

			if ((!all && !list->v[i].interrupted) || one->state == SPRINT_COMPLETED ||
			    one->state == SPRINT_WAITING)
				continue;
			if ((cwd = epic_workspace(j, &list->v[i], one)) != NULL) {
				one->wip = wip_sprint_ref(&list->v[i], k, cwd, &one->wip_at);
				left--;
			}
			free(cwd);
		}
}

static int
status(struct verb_job *j, struct err *e)
{
	const char *id = j->cli.n_args > 0 ? j->cli.args[0] : NULL;
	struct buf out = BUF_INIT;
	struct timestamp now;
	struct epic_list list;
	json_t *half = NULL;
	int ret;

	epic_greet(j);
	output_line(&j->say, "Scanning for interrupted executions...");
	ret = epic_read(j, id, &list, &now, e);
	if (ret == 0 && (half = epic_unfinished_read(j, e)) == NULL)
		ret = -1;
	if (ret == 0)
		epic_find_wips(j, &list, id != NULL);
	if (ret == 0)
		report_found(j, &list, now.wall_ms);
	if (ret == 0 && j->cli.json) {
		json_t *v = json_array(), *o = output_object();

		for (size_t i = 0; i < list.n; i++)
			if (id != NULL || list.v[i].interrupted)
				json_array_append_new(
				    v, epic_screen_json(&list.v[i], now.wall_ms, epic_threshold(j)));
		json_object_set_new(o, "epics", v);
		json_object_set_new(o, "sources", sources_json(&list));
		json_object_set(o, "half_written", half);
		output_json(o);
	} else if (ret == 0) {
		epic_screen_status(&out, &list, id != NULL, now.wall_ms, epic_threshold(j));
		epic_unfinished_print(&out, half, now.wall_ms);
		output_text(stdout, out.data);
	}
	if (ret == 0)
		ret = unread_status(&list);
	json_decref(half);
	buf_release(&out);
	epic_list_release(&list);
	return ret;
}

static int
signal_ready(struct verb_job *j, struct err *e)
{
	return cmd_checkpoint_commit(j, "epic signal", CHECKPOINT_SIGNAL, e);
}

const struct verb epic_verbs[] = {
	{ "status", status, 0, 1, .writes = false },
	{ "resume", epic_resume, 1, 1, .writes = true,
	    .options = OPT_ASK | OPT_TMUX | OPT_DRY | OPT_SPRINTS },
	{ "inspect", epic_inspect, 1, 1, .writes = false },
	{ "export", epic_export, 1, 1, .options = OPT_OUTPUT },
	{ "import", epic_import, 0, 1, .writes = true },
	{ "abandon", epic_abandon, 1, 1, .writes = true, .options = OPT_ASK },
	{ "signal", signal_ready, 1, 1, .writes = true },
	{ .name = NULL },
};
