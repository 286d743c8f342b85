#include <unistd.h>

#include "cli/cli_private.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/utf8.h"
#include "beads/beads.h"
#include "config/config.h"
#include "records/agents/agents.h"
#include "recover/upkeep/upkeep.h"
#include "scrub/scrub.h"
#include "snapshot/pass/pass.h"
#include "store/store.h"

#define OLD_MS (15 * 60000)		/* three passes of a timer that runs every five minutes */

/* ---- reading ---- */

static bool
lists_session(const struct fleet_host *x, const struct session *s)
{
	size_t i;
	json_t *o;

	json_array_foreach(x->agents, i, o) {
		if (s->session != NULL && strcmp(json_text(o, "name", ""), s->session) == 0)
			return true;
	}
	return false;
}

static struct fleet_host *
host_of(struct fleet *f, const char *id)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->v[i].id, id) == 0)
			return &f->v[i];
	f->v = vec_room(f->v, f->n, &f->cap, sizeof *f->v);
	f->v[f->n] = (struct fleet_host){ .id = xstrdup(id), .name = xstrdup(id), .agents = json_array() };
	return &f->v[f->n++];
}

static void
add_session(struct fleet *f, const struct session *s)
{
	struct fleet_host *x = host_of(f, s->host);
	json_t *o;

	if (lists_session(x, s))
		return;
	o = json_object();
	json_put(o, "name", s->session != NULL ? s->session : s->agent_uuid);
	json_put(o, "socket", s->socket);
	json_put(o, "agent", s->provider_name);
	json_put(o, "class", "unknown");
	json_put(o, "agent_uuid", s->agent_uuid);
	json_put(o, "state", session_state_name(s->state));
	json_put_flag(o, "recoverable", false);
	json_array_append_new(x->agents, o);
}

static void
drop_own(struct fleet *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (host_is_other(f->v[i].id)) {
			f->v[n++] = f->v[i];
		} else {
			free(f->v[i].id);
			free(f->v[i].name);
			json_decref(f->v[i].agents);
		}
	f->n = n;
}

/*
 * All hosts but this one; none without a store. Sessions of the ledger that a host did not tell
 * of are appended to its agents. record_fleet_release.
 */
static int
cli_fleet_others(struct app *w, struct fleet *out, struct err *e)
{
	struct store *store = app_store(w, false, e);
	struct session_list open = { .n = 0 };
	int ret;

	memset(out, 0, sizeof *out);
	if (store == NULL)
		return e->code == 0 ? 0 : -1;
	ret = *store_host(store) != '\0' &&
		(record_fleet_read(store, out, e) != 0 ||
		    session_list_read(store, SESSION_ACTIVE, &open, e) != 0 ||
		    session_list_read(store, SESSION_SUSPENDED, &open, e) != 0)
	    ? -1
	    : 0;
	drop_own(out);
	for (size_t i = 0; i < open.n && ret == 0; i++)
		if (host_is_other(open.v[i].host))
			add_session(out, &open.v[i]);
	session_list_release(&open);
	return ret;
}

/* ---- for people ---- */

static void
cli_fleet_print_own(void)
{
	char name[HOST_MAX + 1];

	host_name(name);
	printf("%s (this host)\n", name);
}

static void
print_agent(const json_t *o, size_t width, int64_t now)
{
	const char *reason = json_text(o, "crash_reason", NULL), *state = json_text(o, "state", NULL),
		   *no = json_text(o, "refusal", NULL);
	int64_t crashed = json_number(o, "crashed_at", 0);
	struct buf name = BUF_INIT, agent = BUF_INIT, how = BUF_INIT;

	output_foreign(&name, json_text(o, "name", "?"), 40);
	output_foreign(&agent, json_text(o, "agent", "-"), 20);
	if (state != NULL)
		buf_fmt(&how, "recorded as %s", state);
	else if (reason != NULL)
		output_foreign(&how, reason, 20);
	if (crashed > 0) {
		buf_str(&how, how.len > 0 ? ", " : "");
		clock_age(&how, now - crashed);
		buf_str(&how, " ago");
	}
	if (no != NULL && crashed > 0) {
		buf_str(&how, ", ");
		output_foreign(&how, no, 20);
	}
	printf("  %s%*s  %-9s %-8s %s\n", name.data, (int)(width - utf8_width(name.data, name.len)), "",
	    json_text(o, "class", "unknown"), agent.data, how.data != NULL ? how.data : "");
	buf_release(&name);
	buf_release(&agent);
	buf_release(&how);
}

static void
print_host(const struct fleet_host *x, int64_t now)
{
	struct buf line = BUF_INIT;
	size_t width = 8, i;
	json_t *o;

	output_foreign(&line, x->name, HOST_MAX);
	if (strcmp(x->name, x->id) != 0)
		buf_fmt(&line, ", %s", x->id);
	buf_str(&line, x->seen_at > 0 ? " (seen " : " (no pass has run there yet)");
	if (x->seen_at > 0) {
		clock_age(&line, now - x->seen_at);
		buf_str(
		    &line, now - x->seen_at > OLD_MS ? " ago: current state unknown)" : " ago)");
	}
	puts(line.data);
	buf_release(&line);
	json_array_foreach(x->agents, i, o) {
		const char *name = output_shown(json_text(o, "name", "?"), 40);
		size_t n = utf8_width(name, strlen(name));

		width = n > width ? n : width;
	}
	json_array_foreach(x->agents, i, o) {
		print_agent(o, width, now);
	}
	if (x->left_out > 0)
		printf("  and %lld more\n", (long long)x->left_out);
}

/* For a person: this host's name, to be printed before its own list; the others after it. */
static void
cli_fleet_print(const struct fleet *f, int64_t now)
{
	for (size_t i = 0; i < f->n; i++) {
		putchar('\n');
		print_host(&f->v[i], now);
	}
}

/* ---- for programs ---- */

static void
put_host(json_t *o, const char *id, const char *name, bool here, int64_t seen_at)
{
	json_put(o, "host", *id != '\0' ? id : NULL);
	json_put(o, "host_name", name);
	json_put_flag(o, "here", here);
	json_object_set_new(o, "seen_at", seen_at > 0 ? json_integer((json_int_t)seen_at) : json_null());
}

/* For programs: hosts[], and the others' agents appended to sessions; each of them tells its host. */
static void
cli_fleet_json(json_t *v, json_t *sessions, const struct fleet *f, int64_t now)
{
	json_t *hosts = json_array(), *own = json_object(), *o;
	char name[HOST_MAX + 1];
	size_t i;

	host_name(name);
	put_host(own, host_id(), name, true, now);
	json_put_int(own, "agents", (int64_t)json_array_size(sessions));
	json_array_append_new(hosts, own);
	json_array_foreach(sessions, i, o) {
		put_host(o, host_id(), name, true, now);
	}
	for (size_t k = 0; k < f->n; k++) {
		const struct fleet_host *x = &f->v[k];

		own = json_object();
		put_host(own, x->id, x->name, false, x->seen_at);
		json_put_int(own, "agents", (int64_t)json_array_size(x->agents) + x->left_out);
		json_array_append_new(hosts, own);
		json_array_foreach(x->agents, i, o) {
			put_host(o, x->id, x->name, false, x->seen_at);
			json_array_append(sessions, o);
		}
	}
	json_object_set_new(v, "hosts", hosts);
}

static json_t *
strings_of_sources(const struct candidate *c, const struct bead *bead)
{
	json_t *v = json_array();

	if (c->lines > 0)
		json_array_append_new(v, json_string("scrollback"));
	if (c->snapshot_lines > 0)
		json_array_append_new(v, json_string("snapshot"));
	if (bead->id != NULL)
		json_array_append_new(v, json_string("bead"));
	if (c->record != NULL)
		json_array_append_new(v, json_string("record"));
	return v;
}

static void
put_or_null(json_t *v, const char *key, bool known, int64_t n)
{
	json_object_set_new(v, key, known ? json_integer(n) : json_null());
}

void
cmd_list_json_begin(struct list_json *x, struct app *w)
{
	*x = (struct list_json){ .w = w };
	cmd_list_armed(w, &x->armed);
}

void
cmd_list_json_end(struct list_json *x)
{
	armed_list_release(&x->armed);
	scrub_free(x->scrub);
	*x = (struct list_json){ .w = NULL };
}

/* Anybody may have named it. */
static void
put_scrubbed(json_t *v, const char *key, struct scrub *s, const char *text)
{
	struct clean_text *t = s != NULL && text != NULL ? scrub_string(s, text) : NULL;

	json_put(v, key, t != NULL && clean_len(t) > 0 ? clean_bytes(t) : NULL);
	clean_free(t);
}

static json_t *
window_json(const struct pane *p, struct scrub *s)
{
	json_t *v;

	if (*p->id != '%' || p->window_index < 0)
		return json_null();
	v = json_object();
	json_put_int(v, "index", p->window_index);
	put_scrubbed(v, "name", s, p->window_name);
	return v;
}

/* What the agent or a person wrote; null where it could not be looked through. */
static void
put_words(json_t *v, struct list_json *x, const struct candidate *c)
{
	char *message = NULL;

	if (x->scrub == NULL)
		x->scrub = app_scrub(x->w, NULL);
	if (x->scrub != NULL) {
		candidate_learn(x->w, x->scrub, c);
		if ((detect_status_crashed(c->status) || c->status == AGENT_LIVE) && c->record == NULL)
			message = gather_last_message(x->w, c, x->scrub);
	}
	json_object_set_new(v, "window", window_json(&c->pane, x->scrub));
	put_scrubbed(v, "title", x->scrub, c->pane.title);
	json_put(v, "last_user_message", message);
	free(message);
}


json_t *
cmd_list_json(struct list_json *x, const struct candidate *c, const struct bead *bead,
    const struct refusal *no)
{
	json_t *v = json_object();
	bool pane = *c->pane.id == '%';
	char *target = pane && c->pane.window_index >= 0
	    ? xasprintf("%s:%d.%d", c->pane.session, c->pane.window_index, c->pane.index) : NULL;
	const char *team = NULL, *member = candidate_teammate(c, &team);

	json_put(v, "name", c->pane.session);
	json_put(v, "socket", c->pane.socket);
	json_put(v, "pane_id", pane ? c->pane.id : NULL);
	json_put(v, "target", target);
	json_put(v, "cwd", c->record != NULL ? c->record->workspace_path : c->cwd);
	if (!x->brief)
		put_words(v, x, c);
	json_put(v, "team", member != NULL ? team : NULL);
	json_put(v, "teammate", member);
	json_put(v, "agent", c->profile->name);
	json_put(v, "transcript_format",
	    strcmp(c->profile->transcript, "none") != 0 ? c->profile->transcript : NULL);
	json_put(v, "role", role_word(c->role.kind));
	json_put(v, "rig", *c->role.rig != '\0' ? c->role.rig : NULL);
	json_put(v, "class", detect_status_name(c->status));
	json_put(v, "crash_reason", c->reason != REASON_NONE ? detect_reason_name(c->reason) : NULL);
	put_or_null(v, "exit_status", c->pane.dead && c->pane.dead_status >= 0, c->pane.dead_status);
	put_or_null(v, "signal", c->pane.dead && candidate_signal(c) > 0, candidate_signal(c));
	put_or_null(v, "crashed_at", c->crashed_at > 0, c->crashed_at);
	put_or_null(v, "last_activity", c->pane.activity > 0, c->pane.activity * 1000);
	json_put_flag(v, "has_scrollback", c->lines > 0);
	json_put_int(v, "scrollback_lines", (int64_t)c->lines);
	json_put_int(v, "snapshot_lines", (int64_t)c->snapshot_lines);
	json_object_set_new(v, "sources", strings_of_sources(c, bead));
	json_put(v, "bead", bead->id);
	json_put(v, "agent_uuid", c->record != NULL ? c->record->agent_uuid : NULL);
	json_put(v, "remote", c->status == AGENT_REMOTE ? c->remote : NULL);
	json_put(v, "background_state", c->background != NULL ? c->background_state : NULL);
	json_put_flag(v, "viewer", c->viewer);
	json_put_flag(v, "recoverable", no->name == NULL);
	json_put(v, "refusal", no->name);
	json_put(v, "action", no->name == NULL ? "recover" : "none");
	json_put(v, "reason", no->name);
	json_put_flag(v, "armed", arm_holds(&x->armed, c));
	free(target);
	return v;
}

int
cmd_list_beads(struct app *w, const struct candidate_list *all, struct bead *beads, struct err *e)
{
	struct scrub *s = NULL;

	for (size_t i = 0; i < all->n; i++) {
		if (!detect_status_crashed(all->v[i].status))
			continue;
		/* its table is most of the work where nothing died */
		if (s == NULL && (s = app_scrub(w, e)) == NULL)
			return -1;
		candidate_bead(w, &all->v[i], s, &beads[i]);
	}
	if (w->bd != NULL && bd_last_error(w->bd)->code != 0)
		fprintf(stderr, "gt-recover: the work items of the agents are unknown: %s\n  %s\n",
		    bd_last_error(w->bd)->msg, bd_last_error(w->bd)->hint);
	scrub_free(s);
	return 0;
}

void
cmd_list_armed(struct app *w, struct armed_list *out)
{
	struct store *store = app_store(w, false, NULL);

	if (store != NULL)
		armed_list_read(store, out, NULL);
}

/* A name for each recoverable one: its pane's id where others have its session's. */
static void
print_names(const struct candidate_list *all, const struct refusal *no)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct pane *p = &all->v[i].pane;
		const char *name = all->v[i].namesake && *p->id == '%' ? p->id : p->session;

		/* as it is for a program (completions need that), made safe for a terminal */
		if (no[i].name == NULL)
			puts(isatty(STDOUT_FILENO) ? output_shown(name, 0) : name);
	}
}

/* Living ones and those that ended on purpose are left out, unless asked for; how many of the latter. */
static size_t
choose_shown(const struct cli *cli, const struct candidate_list *all, bool *shown)
{
	size_t ended = 0;

	for (size_t i = 0; i < all->n; i++) {
		bool over = candidate_has_ended(&all->v[i]);

		ended += over && cli->verbose == 0;
		shown[i] = all->v[i].status == AGENT_LIVE ? cli->live : !over || cli->verbose > 0;
	}
	return ended;
}

static void
print_list(const struct cli *cli, struct app *w, const struct candidate_list *all, const struct bead *beads,
    const struct refusal *no, const struct armed_list *armed)
{
	bool *shown = xcalloc(all->n + 1, sizeof *shown);
	size_t ended = choose_shown(cli, all, shown);
	struct list_table t = { .cli = cli, .w = w, .all = all, .beads = beads, .no = no, .armed = armed,
		.shown = shown, .summary = !cli->quiet };

	if (cli->names)
		print_names(all, no);
	else
		cmd_list_table(&t);
	free(shown);
	if (cli->names || cli->quiet)
		return;
	cli_warn_ended(w, all);
	if (all->n == 0) {
		fputs("No agent sessions on the tmux servers searched.\n", stderr);
		cli_past_hint();
	} else if (ended > 0) {
		fprintf(stderr, "%zu ended on purpose; to see %s: gt-recover list -v\n", ended,
		    ended == 1 ? "it" : "them");
	}
}

static void
print_all(const struct cli *cli, struct app *w, const struct candidate_list *all, const struct bead *beads,
    const struct refusal *no, const struct fleet *fleet)
{
	int64_t now = w->store != NULL ? store_now(w->store) : clock_wall_ms();
	struct armed_list armed = { .n = 0 };

	if (cli->json) {
		json_t *v = output_object(), *sessions = json_array();
		struct list_json x;

		cmd_list_json_begin(&x, w);
		for (size_t i = 0; i < all->n; i++)
			json_array_append_new(sessions, cmd_list_json(&x, &all->v[i], &beads[i], &no[i]));
		cmd_list_json_end(&x);
		if (cli->fleet)
			cli_fleet_json(v, sessions, fleet, now);
		json_object_set_new(v, "sessions", sessions);
		json_object_set_new(v, "ended_servers", cli_ended_json(w, all));
		output_json(v);
	} else {
		cmd_list_armed(w, &armed);
		if (cli->fleet && !cli->names)
			cli_fleet_print_own();
		print_list(cli, w, all, beads, no, &armed);
		if (cli->fleet && !cli->names)
			cli_fleet_print(fleet, now);
	}
	armed_list_release(&armed);
}

/* Where no tmux server runs there is nothing; and a host may want to know of the others. */
static int
detect_for_list(const struct cli *cli, struct app *w, struct candidate_list *all, struct err *e)
{
	if (detect_recorded(w, all, snapshot_detect(w, all, e), e) == 0 || cli_no_server(w, e))
		return 0;
	if (!cli->fleet || strcmp(e->name, "no-server") != 0)
		return -1;
	err_clear(e);
	return 0;
}

int
cmd_list(const struct cli *cli, struct err *e)
{
	struct candidate_list all = { .n = 0 };
	struct fleet fleet = { .n = 0 };
	struct refusal *no = NULL;
	struct bead *beads = NULL;
	struct app w;
	int ret = -1;

	if (cli->n_args > (cli->past ? 1 : 0))
		return cli_no_arguments(cli, e);
	if (cli_open_app(cli, &w, e) != 0)
		return -1;
	if (cli_is_disabled(cli, &w)) {
		cli_close_app(&w);
		return GT_OK;
	}
	if (cli->past) {
		ret = cli_past(cli, &w, e);
		goto out;
	}
	if (detect_for_list(cli, &w, &all, e) != 0 || (cli->fleet && cli_fleet_others(&w, &fleet, e) != 0))
		goto out;
	cli_warn_state(&w);
	cli_warn_server(&all.trouble);
	cli_warn_exposed(&w, &all.exposed);
	cli_warn_unwritten(&all.unwritten);
	snapshot_lookup_lines(&w, &all);
	no = xcalloc(all.n, sizeof *no);
	beads = xcalloc(all.n, sizeof *beads);
	if (cmd_list_beads(&w, &all, beads, e) != 0)
		goto out;
	for (size_t i = 0; i < all.n; i++)
		no[i] = recovery_refusal(&w, &all.v[i], &beads[i], false, cli->include_infra);
	print_all(cli, &w, &all, beads, no, &fleet);
	ret = GT_OK;
out:
	for (size_t i = 0; beads != NULL && i < all.n; i++)
		bead_release(&beads[i]);
	free(beads);
	free(no);
	record_fleet_release(&fleet);
	candidate_list_release(&all);
	cli_close_app(&w);
	return ret;
}
