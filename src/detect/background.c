#include <stdlib.h>
#include <string.h>

#include "detect/detect_private.h"
#include "agent/agent.h"
#include "app/app.h"
#include "base/buf.h"

static void
set_stand(const struct agent_background *b, struct candidate *c)
{
	c->status = b->stand == BACKGROUND_LIVE		? AGENT_LIVE
	    : b->stand == BACKGROUND_RESTARTING ? AGENT_UNKNOWN
						: AGENT_MISSING;
	c->given_up = b->stand == BACKGROUND_GIVEN_UP;
	if (c->status == AGENT_UNKNOWN)
		c->unknown_reason = "background session; its own service is starting it again";
	else if (c->status == AGENT_MISSING)
		c->reason = REASON_PROCESS_DIED;
	c->background_state = xstrdup(c->status == AGENT_MISSING ? "failed" : b->state);
	c->crashed_at = c->status == AGENT_LIVE ? 0 : b->written * 1000;
}

static enum claim_answer
explain_background(struct detection *d, struct claim *x, struct candidate *c)
{
	const struct agent_background *b = x->about;
	struct app *w = d->w;
	char *command;

	c->profile = profile_find(w->profiles, "claude");
	c->unknown_reason = "";
	if (c->profile == NULL)
		return CLAIM_OPEN;
	set_stand(b, c);
	candidate_without_pane(&w->servers[0], xstrdup(b->id), b->cwd, &c->pane);
	c->pane.activity = b->written;
	c->background = xstrdup(b->id);
	c->cwd = xstrdup(b->cwd);
	c->config_dir = agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	c->agent_pid = b->pid;
	c->session_id = xstrdup(b->session_id);
	c->pid_record.session_id = xstrdup(b->session_id);
	command = xasprintf("claude respawn %s", b->id);
	launch_command(
	    &c->launch, command, c->pane.default_shell, profile_list_has_program, w->profiles);
	c->command_source = COMMAND_RECORD;
	free(command);
	if (b->needs_key && getenv("ANTHROPIC_API_KEY") == NULL)
		c->missing_secret =
		    xstrdup("its service had ANTHROPIC_API_KEY, and this environment has not");
	return CLAIM_AGENT;
}

static void
forget_background(struct claim *x)
{
	agent_background_release(x->about);
	free(x->about);
}

static int
list_background(struct detection *d, struct claim_list *out, struct err *e)
{
	char *dir = agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	struct agent_backgrounds all = { .n = 0 };

	(void)e;
	if (dir != NULL && d->w->n_servers > 0)
		agent_backgrounds_read(dir, &all);
	for (size_t i = 0; i < all.n; i++) {
		struct agent_background *about;
		struct claim *x;

		if (all.v[i].stand == BACKGROUND_ENDED)
			continue;
		x = detect_add_claim(out);
		x->about = about = xmalloc(sizeof *about);
		*about = all.v[i];
		memset(&all.v[i], 0, sizeof all.v[i]);
		x->key.conversation = xstrdup(about->session_id);
	}
	agent_backgrounds_release(&all);
	free(dir);
	return 0;
}

const struct agent_source detect_from_background = {
	.name = "background", .bit = FROM_BACKGROUND, .list = list_background,
	.explain = explain_background, .forget = forget_background,
};
