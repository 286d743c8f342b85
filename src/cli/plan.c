#include <stdarg.h>

#include "cli/cli_private.h"
#include "agent/agent.h"
#include "base/utf8.h"

#define PLAN_INDENT 14

/* What a plan's agents send at their first requests (resume_estimate), by those that are known. */
struct estimate_sum {
	int64_t tokens;
	size_t known, unknown;
};

static int
estimate(struct cli_batch *r, size_t i, struct estimate_sum *sum, struct resume_estimate *out,
    struct err *e)
{
	int ret = resume_estimate(&r->w, &r->all.v[i], r->cli->scope, r->cli->via, out, e);

	if (ret == 0 && out->tokens >= 0) {
		sum->tokens += out->tokens;
		sum->known++;
	} else {
		sum->unknown++;
	}
	return ret;
}

static void
print_below(const char *fmt, ...)
{
	struct buf line = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(&line, fmt, ap);
	va_end(ap);
	output_fitted(stdout, "", line.data, PLAN_INDENT);
	buf_release(&line);
}

/* A line of the plan, or a few, with the way of all.v[i] and its tokens; counts it. */
static void
print_estimate(struct cli_batch *r, size_t i, struct estimate_sum *sum)
{
	struct resume_estimate x;
	struct err e = ERR_INIT;
	struct buf tokens = BUF_INIT;

	if (estimate(r, i, sum, &x, &e) != 0) {
		print_below("%s", output_shown(e.msg, 0));
		return;
	}
	if (x.tokens >= 0)
		output_short(&tokens, (size_t)x.tokens);
	if (x.no != NULL) {
		print_below("new conversation with its context, about %s tokens", tokens.data);
		print_below("(%s: %s)", x.no->name, x.no->sentence);
	} else if (x.tokens >= 0) {
		print_below("%s, about %s tokens",
		    strcmp(x.via, "resume") == 0 ? "resumes its conversation"
						 : "new conversation with its context",
		    tokens.data);
	} else {
		print_below("%s",
		    strcmp(x.via, "restart") == 0	? "started from its record, tokens unknown"
			: strcmp(x.via, "viewer") == 0 ? "shows its session again, no tokens"
						       : "respawned by its service, tokens unknown");
	}
	buf_release(&tokens);
}

static void
print_estimate_sum(const struct estimate_sum *sum)
{
	struct buf tokens = BUF_INIT;

	if (sum->known + sum->unknown < 2)
		return;
	output_short(&tokens, (size_t)sum->tokens);
	printf("\n%zu agents, about %s tokens in their first requests", sum->known + sum->unknown,
	    tokens.data);
	if (sum->unknown > 0)
		printf("; %zu unknown", sum->unknown);
	putchar('\n');
	buf_release(&tokens);
}

/* via, not_resumed and tokens of one that is chosen; null of the others. */
static void
put_estimate(struct cli_batch *r, size_t i, json_t *v, struct estimate_sum *sum)
{
	struct resume_estimate x = { .tokens = -1 };
	struct err e = ERR_INIT;

	if (r->chosen[i] && detect_status_crashed(r->all.v[i].status))
		estimate(r, i, sum, &x, &e);
	json_put(v, "via", e.code == 0 ? x.via : NULL);
	json_put(v, "not_resumed", x.no != NULL ? x.no->name : NULL);
	if (x.tokens >= 0)
		json_put_int(v, "tokens", x.tokens);
	else
		json_object_set_new(v, "tokens", json_null());
}

static void
print_command(struct cli_batch *r, const struct candidate *c)
{
	struct buf command = BUF_INIT;
	const char *why;

	if (recovery_uses_gt(&r->w, c))
		print_below("started by gt session start");
	else if (cli_plan_command(&r->w, c, &command, &why)) {
		print_below("started by: %s", command.data);
		print_below("(%s)", why);
	}
	buf_release(&command);
}

static void
print_planned(struct cli_batch *r, size_t i, size_t width, struct estimate_sum *sum)
{
	const struct candidate *c = &r->all.v[i];
	struct buf name = BUF_INIT, age = BUF_INIT, lines = BUF_INIT, line = BUF_INIT;
	size_t pad;

	buf_str(&name, output_name(c, 40));
	pad = width - utf8_width(name.data, name.len);
	cli_pick_age(&age, c);
	output_short(&lines, candidate_lines(c));
	buf_fmt(&line, "%s %s%*s  %-18s ",
	    r->chosen[i]      ? "would recover"
		: r->later[i] ? "would wait   "
			      : "would not    ",
	    name.data, (int)pad, "", age.data);
	if (r->chosen[i] && !detect_status_crashed(c->status))
		buf_str(&line, "already started, waiting for it to acknowledge its prompt");
	else if (r->chosen[i])
		buf_fmt(&line, "%s%s, %s, %s", c->record != NULL ? "record only" : lines.data,
		    c->record != NULL	      ? ""
			: candidate_lines(c) == 1 ? " line context"
						  : " lines context",
		    cmd_list_state(c, false), c->profile->name);
	else
		buf_fmt(&line, "%s (%s)", r->no[i].sentence, r->no[i].name);
	output_fitted(stdout, "", line.data, 0);
	buf_release(&line);
	if (r->chosen[i] && detect_status_crashed(c->status)) {
		print_estimate(r, i, sum);
		print_command(r, c);
	}
	buf_release(&name);
	buf_release(&age);
	buf_release(&lines);
}

/* A crash, or a living agent whose prompt is not pasted while somebody types there. */
static bool
is_left_out(const struct cli_batch *r, size_t i)
{
	return candidate_crashed(&r->all.v[i]) ||
	    (r->no[i].name != NULL && strcmp(r->no[i].name, PLAN_TYPING) == 0);
}

static bool
is_planned(const struct cli_batch *r, size_t i)
{
	return r->chosen[i] || (is_left_out(r, i) && r->no[i].name != NULL);
}

static json_t *
planned_json(struct cli_batch *r, size_t i, struct list_json *x, struct estimate_sum *sum)
{
	const struct candidate *c = &r->all.v[i];
	json_t *v = cmd_list_json(x, c, &r->beads[i], &r->no[i]);
	struct buf command = BUF_INIT;
	const char *why;
	bool known = detect_status_crashed(c->status) && !recovery_uses_gt(&r->w, c) &&
	    cli_plan_command(&r->w, c, &command, &why);

	json_put(v, "action", r->chosen[i] ? "recover" : r->later[i] ? "wait" : "none");
	json_put(v, "reason", r->chosen[i] ? NULL : r->no[i].name);
	json_put(v, "start_command", known ? command.data : NULL);
	json_put(v, "start_command_by", known ? detect_command_source_name(c->command_source) : NULL);
	put_estimate(r, i, v, sum);
	buf_release(&command);
	return v;
}

void
cli_batch_print_plan(struct cli_batch *r, json_t *more)
{
	struct estimate_sum sum = { .tokens = 0 };
	struct list_json x;
	json_t *v, *sessions;
	size_t width = 0, planned = 0;

	if (r->cli->json) {
		cmd_list_json_begin(&x, &r->w);
		v = json_object();
		sessions = json_array();
		for (size_t i = 0; i < r->all.n; i++)
			if (r->chosen[i] || is_left_out(r, i))
				json_array_append_new(sessions, planned_json(r, i, &x, &sum));
		json_put_flag(v, "dry_run", true);
		json_put_int(v, "tokens", sum.tokens);
		json_put_int(v, "tokens_unknown", (int64_t)sum.unknown);
		json_object_set_new(v, "sessions", sessions);
		if (more != NULL)
			json_object_update(v, more);
		json_decref(more);
		output_event_or_object(r->cli, "plan", v);
		cmd_list_json_end(&x);
		return;
	}
	for (size_t i = 0; i < r->all.n; i++) {
		const char *name = output_name(&r->all.v[i], 40);
		size_t n = utf8_width(name, strlen(name));

		width = is_planned(r, i) && n > width ? n : width;
		planned += is_planned(r, i);
	}
	if (planned == 0)
		output_line(&r->say, "Nothing to recover.");
	/* first what would be done */
	for (int would = 1; would >= 0; would--)
		for (size_t i = 0; i < r->all.n; i++)
			if (r->chosen[i] == would && is_planned(r, i))
				print_planned(r, i, width, &sum);
	print_estimate_sum(&sum);
}
