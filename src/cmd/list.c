#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/profile.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cmd/choose.h"
#include "cmd/cmd.h"
#include "cmd/fleet.h"
#include "cmd/list.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "ledger/fleet.h"
#include "ledger/session.h"
#include "revive/arm.h"
#include "revive/detect.h"
#include "revive/gather.h"
#include "revive/plan.h"
#include "revive/recall.h"
#include "revive/recorded.h"
#include "revive/world.h"
#include "scrub/scrub.h"
#include "store/store.h"
#include "town/config.h"
#include "work/bd.h"

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

json_t *
list_json(const struct candidate *c, const struct bead *bead, const struct refusal *no, bool armed)
{
	json_t *v = json_object();

	json_put(v, "name", c->pane.session);
	json_put(v, "socket", c->pane.socket);
	json_put(v, "pane_id", *c->pane.id == '%' ? c->pane.id : NULL);
	json_put(v, "agent", c->profile->name);
	json_put(v, "transcript", strcmp(c->profile->transcript, "none") != 0 ? c->profile->transcript : NULL);
	json_put(v, "role", role_word(c->role.kind));
	json_put(v, "rig", *c->role.rig != '\0' ? c->role.rig : NULL);
	json_put(v, "class", class_name(c->class));
	json_put(v, "crash_reason", c->reason != REASON_NONE ? reason_name(c->reason) : NULL);
	put_or_null(v, "exit_status", c->pane.dead && c->pane.dead_status >= 0, c->pane.dead_status);
	put_or_null(v, "signal", c->pane.dead && c->pane.dead_signal > 0, c->pane.dead_signal);
	put_or_null(v, "crashed_at", c->crashed_at > 0, c->crashed_at);
	put_or_null(v, "last_activity", c->pane.activity > 0, c->pane.activity * 1000);
	json_put_flag(v, "has_scrollback", c->lines > 0);
	json_put_int(v, "scrollback_lines", (int64_t)c->lines);
	json_put_int(v, "snapshot_lines", (int64_t)c->snapshot_lines);
	json_object_set_new(v, "sources", strings_of_sources(c, bead));
	json_put(v, "bead", bead->id);
	json_put(v, "agent_uuid", c->record != NULL ? c->record->agent_uuid : NULL);
	json_put(v, "workspace", c->record != NULL ? c->record->workspace_path : NULL);
	json_put_flag(v, "recoverable", no->name == NULL);
	json_put(v, "refusal", no->name);
	json_put_flag(v, "armed", armed);
	return v;
}

static void
print_row(const struct candidate *c, const struct bead *bead, const struct refusal *no, bool armed, size_t width)
{
	struct buf name = BUF_INIT, how = BUF_INIT, lines = BUF_INIT;
	char *reason = gather_reason(c);

	say_foreign(&name, c->pane.session, width);
	buf_str(&how, reason);
	if (class_crashed(c->class)) {
		buf_str(&how, ", ");
		clock_age(&how, c->crashed_at > 0 ? clock_wall_ms() - c->crashed_at : 0);
		buf_str(&how, " ago, ");
		say_short(&lines, candidate_lines(c));
		if (c->record != NULL) {
			buf_str(&how, "in ");
			say_foreign(&how, c->record->workspace_path, 80);
		} else {
			buf_fmt(&how, "%s lines%s", lines.data, strcmp(c->profile->transcript, "none") != 0 ? "" : " of its screen alone");
		}
		if (bead->id != NULL)
			buf_fmt(&how, ", bead %s", bead->id);
	}
	if (armed)
		buf_str(&how, ", armed");
	printf("%s%*s  %-9s %-8s %s\n", name.data, (int)(width - utf8_width(name.data, name.len)), "",
	    class_name(c->class), c->profile->name,
	    how.data);
	if (no->name != NULL && class_crashed(c->class))
		printf("%*s  not by itself: %s (%s)\n%*s  %s\n", (int)width, "", no->sentence, no->name, (int)width, "", no->hint);
	buf_release(&name);
	buf_release(&how);
	buf_release(&lines);
	free(reason);
}

int
list_beads(struct world *w, const struct candidates *all, struct bead *beads, struct err *e)
{
	struct scrub *s = NULL;

	for (size_t i = 0; i < all->n; i++) {
		if (!class_crashed(all->v[i].class))
			continue;
		/* its table is most of the work where nothing died */
		if (s == NULL && (s = world_scrub(w, e)) == NULL)
			return -1;
		gather_bead(w, &all->v[i], s, &beads[i]);
	}
	if (w->bd != NULL && bd_trouble(w->bd)->code != 0)
		fprintf(stderr, "gt-recover: the work of the agents is not known: %s\n  %s\n", bd_trouble(w->bd)->msg, bd_trouble(w->bd)->hint);
	scrub_free(s);
	return 0;
}

void
list_armed(struct world *w, struct armed_list *out)
{
	struct store *store = world_store(w, false, NULL);

	if (store != NULL)
		armed_read(store, out, NULL);
}

/* As it is for a program (completions need that), made safe for a person's terminal. */
static void
print_name(const char *session)
{
	struct buf name = BUF_INIT;

	if (isatty(STDOUT_FILENO))
		say_foreign(&name, session, 0);
	else
		buf_str(&name, session);
	puts(name.data);
	buf_release(&name);
}

static size_t
count_over(const struct candidates *all)
{
	size_t over = 0;

	for (size_t i = 0; i < all->n; i++)
		over += candidate_is_over(&all->v[i]);
	return over;
}

/* A server that died is one thing that happened, however many agents went with it. */
static void
tell_servers(const struct candidates *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct pane *p = &all->v[i].pane;
		struct buf socket = BUF_INIT;
		size_t n = 0, before = 0;

		for (size_t k = 0; k < all->n; k++) {
			const struct pane *q = &all->v[k].pane;
			bool same = all->v[k].class == CLASS_MISSING && all->v[k].reason == REASON_SERVER_EXIT && q->server_pid == p->server_pid &&
			    q->server_start == p->server_start && strcmp(q->socket_path, p->socket_path) == 0;

			n += same;
			before += same && k < i;
		}
		if (n < 2 || before > 0 || all->v[i].class != CLASS_MISSING || all->v[i].reason != REASON_SERVER_EXIT)
			continue;
		say_foreign(&socket, p->socket, 40);
		fprintf(stderr, "The tmux server on socket %s ended, and %zu agents with it.\n", socket.data, n);
		buf_release(&socket);
	}
}

static void
print_list(const struct cli *cli, const struct candidates *all, const struct bead *beads, const struct refusal *no,
    const struct armed_list *armed)
{
	size_t width = 8, over = cli->verbose > 0 ? 0 : count_over(all);

	for (size_t i = 0; i < all->n; i++) {
		struct buf name = BUF_INIT;
		size_t n;

		if (over > 0 && candidate_is_over(&all->v[i]))
			continue;
		say_foreign(&name, all->v[i].pane.session, 40);
		n = utf8_width(name.data, name.len);
		width = n > width ? n : width;
		buf_release(&name);
	}
	for (size_t i = 0; i < all->n; i++) {
		if (!cli->names && over > 0 && candidate_is_over(&all->v[i]))
			continue;
		if (!cli->names)
			print_row(&all->v[i], &beads[i], &no[i], arm_holds(armed, &all->v[i]), width);
		else if (no[i].name == NULL)
			print_name(all->v[i].pane.session);
	}
	if (cli->names || cli->quiet)
		return;
	tell_servers(all);
	if (all->n == 0)
		fputs("No agents' sessions on the tmux servers that were looked at.\n", stderr);
	else if (over > 0)
		fprintf(stderr, "%zu that %s ended on purpose %s not shown; -v shows %s.\n", over, over == 1 ? "was" : "were",
		    over == 1 ? "is" : "are", over == 1 ? "it" : "them");
}

static void
print_all(const struct cli *cli, struct world *w, const struct candidates *all, const struct bead *beads, const struct refusal *no,
    const struct fleet *fleet)
{
	int64_t now = w->store != NULL ? store_now(w->store) : clock_wall_ms();
	struct armed_list armed = { .n = 0 };

	list_armed(w, &armed);
	if (cli->json) {
		json_t *v = say_object(), *sessions = json_array();

		for (size_t i = 0; i < all->n; i++)
			json_array_append_new(sessions, list_json(&all->v[i], &beads[i], &no[i], arm_holds(&armed, &all->v[i])));
		if (cli->fleet)
			fleet_json(v, sessions, fleet, now);
		json_object_set_new(v, "sessions", sessions);
		say_json(v);
	} else {
		if (cli->fleet && !cli->names)
			fleet_print_own();
		print_list(cli, all, beads, no, &armed);
		if (cli->fleet && !cli->names)
			fleet_print(fleet, now);
	}
	armed_list_release(&armed);
}

/* A host may have no tmux server, and want to know of the others. */
static int
look(const struct cli *cli, struct world *w, struct candidates *all, struct err *e)
{
	if (recorded_detect(w, all, e) == 0)
		return 0;
	if (!cli->fleet || strcmp(e->name, "no-server") != 0)
		return -1;
	err_clear(e);
	return 0;
}

int
cmd_list(const struct cli *cli, struct err *e)
{
	struct candidates all = { .n = 0 };
	struct fleet fleet = { .n = 0 };
	struct refusal *no = NULL;
	struct bead *beads = NULL;
	struct world w;
	int ret = -1;

	if (cli->n_args > 0)
		return setup_no_arguments(cli, e);
	if (setup_world(cli, &w, e) != 0)
		return -1;
	if (setup_disabled(cli, &w)) {
		setup_release(&w);
		return GT_OK;
	}
	if (look(cli, &w, &all, e) != 0 || (cli->fleet && fleet_others(&w, &fleet, e) != 0))
		goto out;
	setup_trouble(&all.trouble);
	recall_lines(&w, &all);
	no = xcalloc(all.n, sizeof *no);
	beads = xcalloc(all.n, sizeof *beads);
	if (list_beads(&w, &all, beads, e) != 0)
		goto out;
	for (size_t i = 0; i < all.n; i++)
		no[i] = plan_refusal(&w, &all.v[i], &beads[i], false, cli->include_infra);
	print_all(cli, &w, &all, beads, no, &fleet);
	ret = GT_OK;
out:
	for (size_t i = 0; beads != NULL && i < all.n; i++)
		bead_release(&beads[i]);
	free(beads);
	free(no);
	fleet_release(&fleet);
	candidates_release(&all);
	setup_release(&w);
	return ret;
}
