#include "cli/cli_private.h"
#include "agent/agent.h"

#define PLAN_INDENT 14

static int
estimate(struct cli_batch *r, size_t i, struct cli_estimate_sum *sum, struct resume_estimate *out,
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

void
cli_print_estimate(struct cli_batch *r, size_t i, struct cli_estimate_sum *sum)
{
	struct resume_estimate x;
	struct err e = ERR_INIT;
	struct buf tokens = BUF_INIT;

	if (estimate(r, i, sum, &x, &e) != 0) {
		printf("%*s%s\n", PLAN_INDENT, "", output_shown(e.msg, 0));
		return;
	}
	if (x.tokens >= 0)
		output_short(&tokens, (size_t)x.tokens);
	if (x.no != NULL)
		printf("%*snew conversation with its context, about %s tokens\n%*s(%s: %s)\n", PLAN_INDENT,
		    "", tokens.data, PLAN_INDENT, "", x.no->name, x.no->sentence);
	else if (x.tokens >= 0)
		printf("%*s%s, about %s tokens\n", PLAN_INDENT, "",
		    strcmp(x.via, "resume") == 0 ? "resumes its conversation"
						 : "new conversation with its context",
		    tokens.data);
	else
		printf("%*s%s\n", PLAN_INDENT, "",
		    strcmp(x.via, "restart") == 0	? "started by its record, tokens unknown"
			: strcmp(x.via, "viewer") == 0 ? "shows its session again, no tokens of its own"
						       : "respawned by its service, tokens unknown");
	buf_release(&tokens);
}

void
cli_print_estimate_sum(const struct cli_estimate_sum *sum)
{
	struct buf tokens = BUF_INIT;

	if (sum->known + sum->unknown < 2)
		return;
	output_short(&tokens, (size_t)sum->tokens);
	printf("\n%zu agents, about %s tokens at their first requests", sum->known + sum->unknown,
	    tokens.data);
	if (sum->unknown > 0)
		printf("; %zu unknown", sum->unknown);
	putchar('\n');
	buf_release(&tokens);
}

void
cli_put_estimate(struct cli_batch *r, size_t i, json_t *v, struct cli_estimate_sum *sum)
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
