#include <string.h>

#include "recover/recover_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "conversation/conversation.h"
#include "gastown/gastown.h"
#include "transcript/transcript.h"

#define COLUMNS 160

static void
put_cut_words(struct buf *b, const char *text)
{
	utf8_escape(b, text != NULL ? text : "", text != NULL ? strlen(text) : 0, COLUMNS);
}

static void
put_quoted(struct buf *b, const char *text)
{
	buf_chr(b, '"');
	put_cut_words(b, text);
	buf_chr(b, '"');
}

/* A resumed Claude Code reports sub-agents and workflows itself (2.1.330). */
static void
put_end(struct buf *b, bool resumed)
{
	buf_str(b,
	    resumed ? " ended with the session, as a notice of Claude Code says, too."
		    : " ended with the session: no notification will come.");
}

static void
report_agent(const struct background *x, bool resumed, struct buf *b)
{
	buf_str(b, "The sub-agent ");
	put_quoted(b, x->what);
	put_end(b, resumed);
	if (x->done != NULL) {
		buf_str(b, " Its last words: ");
		put_quoted(b, x->done);
		buf_chr(b, '.');
	}
	if (x->path != NULL)
		buf_fmt(b, " Its transcript: %s.", x->path);
	if (resumed)
		buf_fmt(b, " To continue it: SendMessage to '%s'.", x->id);
	else {
		buf_str(b, " If its work is still needed, start it again: Agent with the prompt ");
		put_quoted(b, x->input);
		buf_chr(b, '.');
	}
}

static void
report_workflow(const struct background *x, bool resumed, struct buf *b)
{
	buf_str(b, "The workflow ");
	put_quoted(b, x->what);
	buf_fmt(b, " (run %s)", x->id);
	put_end(b, resumed);
	if (x->done != NULL) {
		buf_chr(b, ' ');
		utf8_escape(b, x->done, strlen(x->done), 2 * COLUMNS);
		buf_chr(b, '.');
	}
	if (x->path == NULL)
		return;
	buf_fmt(b, " To start it again: Workflow with scriptPath %s", x->path);
	if (resumed)
		buf_fmt(b, " and resumeFromRunId %s.", x->id);
	else
		buf_fmt(b, "; it starts from its beginning, since run %s belongs to the old session.", x->id);
}

static void
report_monitor_end(const struct background *x, struct buf *b)
{
	buf_str(b, "The monitor ");
	put_quoted(b, x->what);
	buf_str(b, " ended with the session: its events do not reach you. To start it again: "
		   "Monitor with the command ");
	put_quoted(b, x->input);
	buf_chr(b, '.');
}

static void
report_cron(const struct background *x, bool resumed, struct buf *b)
{
	const char *when = x->when != NULL ? x->when : x->what != NULL ? x->what : "?";

	buf_fmt(b, "The schedule %s (%s: ", x->id, when);
	put_quoted(b, x->input);
	if (x->durable)
		buf_str(b,
		    ") is durable: .claude/scheduled_tasks.json keeps it. CronList shows whether it runs.");
	else if (resumed)
		buf_str(b, ") is restored with your conversation: check with CronList.");
	else
		buf_fmt(b,
		    ") ended with the session. To create it again: CronCreate with that cron expression and "
		    "prompt%s.",
		    x->recurring ? "" : ", recurring false");
}

/* Claude Code does not report it, however the agent was started. */
static void
report_wakeup(const struct background *x, struct buf *b)
{
	buf_str(b, "Your wake-up that was due at ");
	clock_iso(b, x->due);
	buf_str(b, " is lost: nothing wakes you. To continue the loop: ScheduleWakeup with the prompt ");
	put_quoted(b, x->input);
	buf_chr(b, '.');
}

void
gather_died(const struct background_list *l, bool resumed, struct town_list *out)
{
	for (size_t i = l->n; i-- > 0;) {
		const struct background *x = &l->v[i];
		struct buf b = BUF_INIT;

		if (x->kind == BACKGROUND_AGENT)
			report_agent(x, resumed, &b);
		else if (x->kind == BACKGROUND_WORKFLOW)
			report_workflow(x, resumed, &b);
		else if (x->kind == BACKGROUND_MONITOR)
			report_monitor_end(x, &b);
		else if (x->kind == BACKGROUND_CRON)
			report_cron(x, resumed, &b);
		else if (x->kind == BACKGROUND_WAKEUP)
			report_wakeup(x, &b);
		if (b.len > 0)
			town_list_add(out, buf_detach(&b));
		else
			buf_release(&b);
	}
}

bool
gather_promises_report(const struct conversation *talk, bool known)
{
	static const struct { const char *tool, *words; } promises[] = {
		{ "Agent", "working in the background" }, { "Agent", "Backgrounded agent" },
		{ "Task", "working in the background" }, { "Workflow", "in background" },
		{ "Monitor", "Monitor started" }, { "CronCreate", "Scheduled " },
		{ "ScheduleWakeup", "Next wakeup scheduled" }, { "Bash", "unning in background with ID" },
	};

	for (size_t i = 0; i < talk->n; i++) {
		const struct exchange *x = &talk->v[i];
		bool other = x->source == SOURCE_EARLIER || (!known && x->status == STATUS_COMPLETE);

		for (size_t k = 0; other && x->tool != NULL && k < sizeof promises / sizeof promises[0]; k++)
			if (strcmp(x->tool, promises[k].tool) == 0 &&
			    strstr(x->content, promises[k].words) != NULL)
				return true;
	}
	return false;
}
