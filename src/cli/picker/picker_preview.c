#include "cli/picker/picker_private.h"
#include "base/utf8.h"
#include "config/config.h"
#include "scrub/scrub.h"

#define EXCHANGES 60			/* the newest of the conversation */
#define LINES_EACH 14			/* of one exchange: its first, then the last ones */

static void
add_line(struct picker_row *row, enum picker_kind kind, struct buf *text)
{
	row->line = vec_room(row->line, row->n_lines, &row->cap, sizeof *row->line);
	row->line[row->n_lines].kind = kind;
	row->line[row->n_lines++].text = buf_detach(text);
}

static void __attribute__((format(printf, 3, 4)))
add_fact(struct picker_row *row, enum picker_kind kind, const char *fmt, ...)
{
	struct buf raw = BUF_INIT, text = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(&raw, fmt, ap);
	va_end(ap);
	output_foreign(&text, raw.data, 0);
	add_line(row, kind, &text);
	buf_release(&raw);
}

static size_t
count_lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; n++) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return n;
}

/* Text of the conversation: its first lines and its last ones. */
static void
add_text(struct picker_row *row, enum picker_kind kind, const char *lead, const char *text)
{
	size_t all = count_lines(text);

	for (size_t i = 0, n; *text != '\0'; i++, text += n + (text[n] == '\n')) {
		struct buf b = BUF_INIT;

		n = strcspn(text, "\n");
		if (all > LINES_EACH && i >= LINES_EACH / 2 && i < all - LINES_EACH / 2) {
			if (i > LINES_EACH / 2)
				continue;
			buf_fmt(&b, "  [%zu lines more]", all - 2 * (LINES_EACH / 2));
		} else {
			buf_str(&b, i == 0 ? lead : "  ");
			utf8_escape(&b, text, n, 0);
		}
		add_line(row, kind, &b);
	}
}

static void
add_call(struct picker_row *row, enum picker_kind kind, const char *lead, const struct exchange *x)
{
	struct buf b = BUF_INIT;

	buf_fmt(&b, "%s(%s)", x->tool, x->input != NULL ? x->input : "");
	if (x->status != STATUS_COMPLETE)
		buf_fmt(&b, " %s", exchange_status_name(x->status));
	/* one line: what was called, not what it printed */
	add_fact(row, kind, "%s%s", lead, output_shown(b.data, 200));
	buf_release(&b);
}

static void
add_conversation(struct picker_row *row, const struct conversation *talk, const char *agent)
{
	size_t from = talk->n > EXCHANGES ? talk->n - EXCHANGES : 0;
	char *lead = xasprintf("%s: ", agent);

	for (size_t i = from; i < talk->n; i++) {
		const struct exchange *x = &talk->v[i];

		if (exchange_is_banner(x))
			continue;
		if (x->tool != NULL)
			add_call(row, PICKER_TOOL, "  ", x);
		else if (x->role == ROLE_USER)
			add_text(row, PICKER_USER, "You: ", x->content);
		else
			add_text(
			    row, PICKER_AGENT, x->role == ROLE_ASSISTANT ? lead : "System: ", x->content);
	}
	free(lead);
}

/* The newest call that was never answered. */
static void
add_half_done(struct picker_row *row, const struct conversation *talk)
{
	for (size_t i = talk->n; i > 0; i--) {
		const struct exchange *x = &talk->v[i - 1];

		if (x->tool == NULL || (x->status != STATUS_RUNNING && x->status != STATUS_WAITING))
			continue;
		add_call(row, PICKER_WARNING, "Half done: ", x);
		return;
	}
}

static void
add_way(struct picker_row *row, const struct resume_request *ask, const struct gathered *g)
{
	const char *way = ask->resumed ? "Resumes its own conversation" : "New conversation";
	struct buf tokens = BUF_INIT;

	output_short(&tokens, g->stats.tokens);
	if (ask->no != NULL)
		add_fact(row, PICKER_FACT, "%s: %s; prompt of about %s tokens", way, ask->no->sentence,
		    tokens.data);
	else
		add_fact(row, PICKER_FACT, "%s; prompt of about %s tokens", way, tokens.data);
	buf_release(&tokens);
}

static void
add_gathered(struct picker_row *row, const struct candidate *c, const struct resume_request *ask,
    const struct gathered *g)
{
	const struct conversation *talk = &g->conversation;

	add_way(row, ask, g);
	if (g->bead.id != NULL)
		add_fact(row, PICKER_FACT, "Bead: %s %s", g->bead.id,
		    g->bead.title != NULL ? clean_bytes(g->bead.title) : "");
	add_half_done(row, talk);
	if (talk->question != NULL)
		add_fact(row, PICKER_WARNING, "Open question: %s", output_shown(talk->question, 200));
	if (talk->draft != NULL)
		add_fact(row, PICKER_WARNING, "Typed but not sent: %s", output_shown(talk->draft, 200));
	row->facts = row->n_lines;
	add_conversation(row, talk, c->profile->label);
}

static int
gather_row(struct picker *p, const struct candidate *c, struct picker_row *row, struct err *e)
{
	struct cli_batch *r = p->batch;
	struct resume_request ask = { .via = r->cli->via };
	struct gathered g;
	struct attempt sample;
	int ret;

	attempt_init(&sample);
	ask.recovery_id = sample.id;
	if (ask.via == NULL)
		ask.via = config_text(r->w.config, "via");
	ret = gather(&r->w, c, r->cli->scope, &g, e);
	if (ret == 0)
		ret = resume_prompt(&r->w, c, &ask, &g, e);
	if (ret == 0)
		add_gathered(row, c, &ask, &g);
	gather_release(&g);
	attempt_release(&sample);
	return ret;
}

void
picker_preview_read(struct picker *p, struct picker_row *row)
{
	const struct candidate *c = &p->batch->all.v[row->place];
	char *reason = gather_reason(c);
	struct err e = ERR_INIT;

	row->read = true;
	add_fact(row, PICKER_FACT, "%s: %s, %s", c->profile->label, row->state, reason);
	add_fact(row, PICKER_FACT, "%s %s", *c->pane.id == '%' ? c->pane.id : "no pane", row->where);
	free(reason);
	if (row->no.name != NULL) {
		add_fact(row, PICKER_WARNING, "Not recoverable now: %s", row->no.sentence);
		add_fact(row, PICKER_WARNING, "Hint: %s", row->no.hint);
	}
	if (c->record != NULL)
		add_fact(row, PICKER_FACT, "Only its record is left: restarts without its conversation");
	else if (c->status != AGENT_REMOTE && gather_row(p, c, row, &e) != 0)
		add_fact(row, PICKER_WARNING, "Cannot read its context: %s", e.msg);
	if (row->facts == 0)
		row->facts = row->n_lines;
}

void
picker_preview_release(struct picker_row *row)
{
	for (size_t i = 0; i < row->n_lines; i++)
		free(row->line[i].text);
	free(row->line);
}
