#include <unistd.h>

#include "cli/cli_private.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "config/config.h"
#include "records/recovery/recovery.h"
#include "scrub/scrub.h"
#include "snapshot/pass/pass.h"

/* show: the reading half of a recovery, for a person to look at. It also reads living agents. */

/* Release g and all in any case. */
static int
gather_candidate(struct verb_job *j, struct candidate_list *all, struct candidate **c, struct gathered *g,
    struct err *e)
{
	int64_t until = 0;
	int ret;

	memset(all, 0, sizeof *all);
	memset(g, 0, sizeof *g);
	buf_init(&g->prompt);
	if (j->cli.n_args != 1) {
		err_set(e, GT_USAGE, "usage", "%s needs the name of one session", j->cli.command);
		return err_hint(e, "gt-recover list shows the sessions");
	}
	ret = snapshot_detect(&j->w, all, e);
	while (ret == 0 && cli_pick_again(&j->w, all, j->cli.args, 1, &until)) {
		candidate_list_release(all);
		ret = snapshot_detect(&j->w, all, e);
	}
	if (ret != 0 && cli_no_server(&j->w, e))
		ret = 0;
	cli_warn_exposed(&j->w, &all->exposed);
	if (ret != 0 || (*c = cli_pick_named(all, j->cli.args[0], e)) == NULL)
		return -1;
	if (cli_choose_conversation(*c, j->cli.conversation, e) != 0)
		return -1;
	return gather(&j->w, *c, j->cli.scope, g, e);
}

static json_t *
json_bead(const struct bead *b)
{
	json_t *v = json_object();

	json_put(v, "id", b->id);
	json_put(v, "status", b->status);
	json_put(v, "assignee", b->assignee);
	json_put(v, "title", b->title != NULL ? clean_bytes(b->title) : NULL);
	json_put(v, "description", b->description != NULL ? clean_bytes(b->description) : NULL);
	json_put(v, "handoff", b->handoff != NULL ? clean_bytes(b->handoff) : NULL);
	json_put_flag(v, "closed", b->closed);
	return v;
}

static json_t *
json_snapshot(const struct gathered *g)
{
	json_t *v;

	if (g->snapshot.at == 0)
		return json_null();
	v = json_object();
	json_put_int(v, "taken_at", g->snapshot.at);
	json_put_int(v, "lines", (int64_t)g->snapshot.rows);
	json_put_flag(v, "used", g->snapshot.used);
	return v;
}

/* New reference. */
static json_t *
json_context(const struct candidate *c, const struct gathered *g)
{
	json_t *v = conversation_json(&g->conversation), *warnings = json_array();

	json_put_int(v, "schema_version", OUTPUT_SCHEMA);
	json_put(v, "session", c->pane.session);
	json_put(v, "agent", c->profile->name);
	json_put(v, "class", detect_status_name(c->status));
	json_put(v, "previous_recovery", g->earlier.id);
	json_put(v, "transcript", g->found.path);
	json_put(v, "transcript_by", transcript_found_name(g->found.how));
	json_put_int(v, "transcript_rivals", (int64_t)g->found.rivals);
	json_put_int(v, "transcript_records", (int64_t)g->records);
	json_put_int(v, "transcript_unknown_records", (int64_t)g->unknown_records);
	json_object_set_new(v, "snapshot", json_snapshot(g));
	json_object_set_new(
	    v, "raw_scrollback", json_bytes(clean_bytes(g->capture.text), clean_len(g->capture.text)));
	json_object_set_new(v, "bead", g->bead.id != NULL ? json_bead(&g->bead) : json_null());
	json_put(v, "git", g->git != NULL ? clean_bytes(g->git) : NULL);
	json_put(v, "checkpoint", g->checkpoint != NULL ? clean_bytes(g->checkpoint) : NULL);
	for (size_t i = 0; i < g->n_warnings; i++)
		json_array_append_new(warnings, json_bytes(g->warnings[i], strlen(g->warnings[i])));
	json_object_set_new(v, "warnings", warnings);
	return v;
}

#define MOST_LINES 12

/* One line of output a line of the value; one longer than `width` columns is cut (0: none is). */
static void
print_lines(const char *name, const char *value, size_t width)
{
	int n = 0;

	while (value != NULL && *value != '\0' && n < MOST_LINES) {
		size_t len = strcspn(value, "\n");
		struct buf b = BUF_INIT;

		utf8_escape(&b, value, len, isatty(STDOUT_FILENO) ? 0 : width);
		output_fitted(stdout, n++ == 0 ? name : "", b.data, 21);
		buf_release(&b);
		value += len + (value[len] == '\n');
	}
	if (value != NULL && *value != '\0')
		printf("%-20s ...\n", "");
}

static void
print_field(const char *name, const char *value)
{
	print_lines(name, value, 100);
}

static const char *const how_found[] = {
	[FOUND_NONE] = "none found",
	[FOUND_RECORD] = "named by the agent's own record of its process",
	[FOUND_SNAPSHOT] = "named by a snapshot of the agent's pane",
	[FOUND_COMMAND] = "named by the start command",
	[FOUND_WORKTREE] = "named by .runtime/session_id", [FOUND_TOWN] = "named by the town's events",
	[FOUND_FAREWELL] = "named by the agent's last output",
	[FOUND_FOLDER] = "the only candidate in its directory",
	[FOUND_SHOWN] = "in its directory, with the same text as the screen",
	[FOUND_AMBIGUOUS] = "several candidates, none read",
};

static void
print_sources(const struct gathered *g)
{
	static const enum source order[] = { SOURCE_EARLIER, SOURCE_TRANSCRIPT, SOURCE_SNAPSHOT,
		SOURCE_SCREEN };
	struct buf b = BUF_INIT;

	for (size_t k = 0; k < sizeof order / sizeof order[0]; k++) {
		size_t n = 0;

		for (size_t i = 0; i < g->conversation.n; i++)
			n += g->conversation.v[i].source == order[k];
		if (n == 0)
			continue;
		buf_fmt(&b, b.len > 0 ? ", " : "");
		output_thousands(&b, n);
		buf_fmt(&b, order[k] == SOURCE_EARLIER ? " from an earlier recovery" : " from the %s",
		    exchange_source_name(order[k]));
	}
	print_field("Exchanges", b.len > 0 ? b.data : "none");
	print_lines("Transcript", g->found.path, 0);
	print_field(g->found.path == NULL ? "Transcript" : "", how_found[g->found.how]);
	buf_reset(&b);
	if (g->snapshot.at != 0) {
		output_thousands(&b, g->snapshot.rows);
		buf_str(&b, " lines, taken ");
		clock_age(&b, clock_wall_ms() - g->snapshot.at);
		buf_str(&b,
		    g->snapshot.used ? " ago: contains text that the pane has lost"
				     : " ago: adds nothing");
		print_field("Snapshot", b.data);
	}
	buf_release(&b);
}

static void
print_unknown(const char *name, size_t unknown, size_t all, const char *what)
{
	struct buf b = BUF_INIT;

	output_thousands(&b, unknown);
	buf_str(&b, " of ");
	output_thousands(&b, all);
	printf("%-20s %s %s not recognized\n", name, b.data, what);
	buf_release(&b);
}

/* Of a pane that was reset: what it showed last, which may be nowhere else any more. */
static void
print_screen(const struct candidate *c, const struct gathered *g)
{
	const char *text = clean_bytes(g->capture.text), *end = text + clean_len(g->capture.text), *at = end;

	for (int rows = 0; at > text && rows < c->pane.height; rows++)
		for (at--; at > text && at[-1] != '\n'; at--)
			;
	printf("\nLast screen:\n");
	while (at < end) {
		size_t len = strcspn(at, "\n");
		struct buf b = BUF_INIT;

		utf8_escape(&b, at, len, 0);
		puts(b.data != NULL ? b.data : "");
		buf_release(&b);
		at += len + (at[len] == '\n');
	}
}

static void
print_context_text(const struct candidate *c, const struct gathered *g, bool verbose)
{
	struct buf lines = BUF_INIT;
	char *action = conversation_last_action(&g->conversation);
	size_t asked = conversation_count(&g->conversation, ROLE_USER),
	       answers = conversation_count(&g->conversation, ROLE_ASSISTANT),
	       all = g->conversation.n + g->conversation.older.all;
	struct buf counts = BUF_INIT;

	print_field("Session", c->pane.session);
	print_field("Agent", c->profile->label);
	print_field("State", g->reason);
	output_thousands(&lines, g->capture.rows);
	printf("%-20s %s%s\n", "Scrollback", lines.data,
	    g->capture.cut ? " lines (older ones omitted)" : " lines");
	buf_fmt(&counts, "%zu user message%s, %zu agent response%s, %zu exchange%s in all", asked,
	    asked == 1 ? "" : "s", answers, answers == 1 ? "" : "s", all, all == 1 ? "" : "s");
	print_lines("Conversation", counts.data, 0);
	buf_release(&counts);
	print_sources(g);
	if (verbose)
		print_unknown("Reading", g->conversation.unknown_lines, g->conversation.lines, "lines");
	if (verbose && g->records > 0)
		print_unknown("", g->unknown_records, g->records, "records of the transcript");
	print_field("Last user message", conversation_last_user(&g->conversation));
	print_field("Last agent action", action);
	print_field("Draft, not sent", g->conversation.draft);
	print_field("Open question", g->conversation.question);
	print_field("Earlier recovery", g->earlier.id);
	print_field("Bead", g->bead.id);
	print_field("Bead title", clean_bytes(g->bead.title));
	print_field("Git", clean_bytes(g->git));
	print_field("Checkpoint", clean_bytes(g->checkpoint));
	for (size_t i = 0; i < g->n_warnings; i++)
		print_lines(i == 0 ? "Warnings" : "", g->warnings[i], 0);
	if (pane_is_reset(&c->pane) && clean_len(g->capture.text) > 0)
		print_screen(c, g);
	buf_release(&lines);
	free(action);
}

/* What the budget left of the conversation. */
static void
put_stats(json_t *v, const struct prompt_stats *s)
{
	json_t *o = json_object();

	json_put_int(v, "exchanges_kept", (int64_t)s->render.kept);
	json_put_int(v, "exchanges_cut", (int64_t)s->render.cut);
	json_put_int(v, "user_messages_cut", (int64_t)s->render.user_cut);
	json_put_int(o, "calls", (int64_t)s->render.calls_short);
	json_put_int(o, "words", (int64_t)s->render.words_short);
	json_put_int(o, "user_messages", (int64_t)s->render.user_short);
	json_object_set_new(v, "shortened", o);
	json_put_int(v, "lines_cut", (int64_t)(s->render.lines_cut + s->scrollback_cut));
	json_put_int(v, "tokens_cut", (int64_t)s->render.tokens_cut);
}

static void
put_prompt(json_t *v, const struct gathered *g, const struct resume_request *ask)
{
	json_object_set_new(v, "prompt", json_bytes(g->prompt.data, g->prompt.len));
	json_put(v, "via", ask->resumed ? "resume" : "inject");
	json_put(v, "not_resumed", ask->no != NULL ? ask->no->name : NULL);
	json_put_int(v, "tokens", (int64_t)g->stats.tokens);
	put_stats(v, &g->stats);
}

static void
show_json(const struct verb_job *j, const struct candidate *c, const struct gathered *g,
    const struct resume_request *ask)
{
	json_t *v = j->cli.prompt ? output_object() : json_context(c, g);

	if (!j->cli.context)
		put_prompt(v, g, ask);
	output_json(v);
}

static void
show_text(const struct verb_job *j, const struct candidate *c, const struct gathered *g,
    const struct resume_request *ask)
{
	struct buf tokens = BUF_INIT;

	if (j->cli.prompt) {
		fwrite(g->prompt.data, 1, g->prompt.len, stdout);
		return;
	}
	print_context_text(c, g, j->cli.verbose > 0);
	if (j->cli.context)
		return;
	output_thousands(&tokens, g->stats.tokens);
	buf_fmt(&tokens, " tokens, %s; to read it: gt-recover show %s --prompt",
	    ask->resumed ? "after its own conversation" : "in a new conversation", output_name(c, 60));
	print_lines("Prompt", tokens.data, 0);
	if (!ask->resumed && ask->no != NULL)
		print_lines("Not resumed", ask->no->sentence, 0);
	buf_release(&tokens);
}

int
cmd_show(struct verb_job *j, struct err *e)
{
	struct candidate_list all;
	struct candidate *c = NULL;
	struct cli_targets targets;
	struct gathered g;
	struct attempt sample;
	struct resume_request ask = { .via = j->cli.via };
	int ret;

	if (j->cli.context && j->cli.prompt) {
		err_set(e, GT_USAGE, "usage", "--context cannot be combined with --prompt");
		return err_hint(e, "without either, show prints a summary");
	}
	if (cli_check_via(&j->cli, e) != 0)
		return -1;
	/* an id of its own, as the recovery will have another one */
	attempt_init(&sample);
	ask.recovery_id = sample.id;
	if (ask.via == NULL)
		ask.via = config_text(j->w.config, "via");
	cli_targets_init(&targets, &j->w, &j->cli);
	j->cli.args = (const char *const *)targets.words;
	ret = gather_candidate(j, &all, &c, &g, e);
	if (ret == 0 && !j->cli.context)
		ret = resume_prompt(&j->w, c, &ask, &g, e);
	if (ret == 0 && j->cli.json)
		show_json(j, c, &g, &ask);
	else if (ret == 0)
		show_text(j, c, &g, &ask);
	cli_targets_release(&targets);
	attempt_release(&sample);
	gather_release(&g);
	candidate_list_release(&all);
	return ret == 0 ? GT_OK : -1;
}
