#include <unistd.h>

#include "cli/cli_private.h"
#include "base/utf8.h"
#include "beads/beads.h"
#include "recover/upkeep/upkeep.h"
#include "scrub/scrub.h"

/* The table of `list`: a row for each agent, cut to the terminal; below it the refusals, each once. */

enum { STATE, TARGET, AGENT, WHEN, CAUSE, TASK, COLUMNS };
#define GAP 2
#define TASK_MOST 80			/* columns, also where nothing is cut */

static const char *const heads[COLUMNS] = {
	[STATE] = "STATE", [TARGET] = "TARGET", [AGENT] = "AGENT", [WHEN] = "WHEN", [CAUSE] = "CAUSE",
	[TASK] = "TASK",
};
/* What a narrow terminal takes away, in this order: columns down to `least`; 0: it is left out. */
static const struct { int column; size_t least; } cuts[] = {
	{ TASK, 16 }, { AGENT, 0 }, { CAUSE, 7 }, { STATE, 8 }, { TARGET, 20 }, { TASK, 10 }, { TARGET, 12 },
	{ CAUSE, 0 },
};

struct list_row {
	size_t place;			/* in all */
	unsigned rank;			/* rows of a lower one stand first */
	const char *color;		/* of its state */
	char *cell[COLUMNS];
};

struct rows {
	const struct list_table *t;
	struct list_row *v;
	size_t n;
	size_t width[COLUMNS];		/* 0: left out */
	bool ascii, color;
	struct scrub *scrub;		/* NULL until it is needed */
};

/* ---- rows ---- */

static void
rate(struct list_row *row, const struct candidate *c, const struct refusal *no)
{
	/* red, yellow, yellow, cyan, faint, green */
	static const char *const colors[] = {
		"\033[31m", "\033[33m", "\033[33m", "\033[36m", "\033[2m", "\033[32m",
	};

	row->rank = c->status == AGENT_LIVE ? 5 : candidate_has_ended(c) ? 4 : c->status == AGENT_REMOTE ? 3
	    : c->status == AGENT_UNKNOWN ? 2 : no->name != NULL ? 1 : 0;
	row->color = colors[row->rank];
}

static struct scrub *
scrub_for(struct rows *r, const struct candidate *c)
{
	if (r->scrub == NULL)
		r->scrub = app_scrub(r->t->w, NULL);
	if (r->scrub != NULL)
		candidate_learn(r->t->w, r->scrub, c);
	return r->scrub;
}

/* Its bead, or what was asked of it last, or where it worked. */
static char *
task_text(struct rows *r, const struct candidate *c, const struct bead *bead)
{
	struct buf b = BUF_INIT;
	char *message = NULL;

	if (bead->id != NULL) {
		output_foreign(&b, bead->id, 40);
		if (bead->title != NULL && clean_len(bead->title) > 0) {
			buf_chr(&b, ' ');
			output_foreign(&b, clean_bytes(bead->title), TASK_MOST);
		}
		return buf_detach(&b);
	}
	if ((detect_status_crashed(c->status) || c->status == AGENT_LIVE) && c->record == NULL &&
	    scrub_for(r, c) != NULL)
		message = gather_last_message(r->t->w, c, r->scrub);
	if (message != NULL) {
		message[strcspn(message, "\n")] = '\0';
		buf_chr(&b, '"');
		output_foreign(&b, message, TASK_MOST);
		buf_chr(&b, '"');
	} else {
		cmd_list_where(&b, c);
		if (detect_status_crashed(c->status) && strcmp(c->profile->transcript, "none") == 0)
			buf_str(&b, " (no transcript, screen only)");
	}
	free(message);
	return buf_detach(&b);
}

static char *
agent_text(const struct candidate *c)
{
	const char *team, *member = candidate_teammate(c, &team);
	struct buf b = BUF_INIT;

	if (member == NULL)
		return xstrdup(c->profile->name);
	output_foreign(&b, member, 30);
	buf_chr(&b, '@');
	output_foreign(&b, team, 30);
	return buf_detach(&b);
}

static void
fill_cells(struct rows *r, struct list_row *row)
{
	const struct candidate *c = &r->t->all->v[row->place];
	const struct refusal *no = &r->t->no[row->place];
	const char *state = cmd_list_state(c, no->name != NULL);
	struct buf b = BUF_INIT;

	if (c->status == AGENT_LIVE && r->t->cli->live && scrub_for(r, c) != NULL)
		state = gather_live_state(r->t->w, c, r->scrub);
	rate(row, c, no);
	row->cell[STATE] = xstrdup(state);
	row->cell[TARGET] = xstrdup(output_target(c));
	row->cell[AGENT] = agent_text(c);
	cmd_list_when(&b, c);
	row->cell[WHEN] = buf_detach(&b);
	cmd_list_cause(&b, c);
	if (r->t->armed != NULL && arm_holds(r->t->armed, c)) {
		if (c->status == AGENT_LIVE)
			buf_reset(&b);
		buf_str(&b, b.len > 0 ? ", set up" : "armed");
	}
	row->cell[CAUSE] = buf_detach(&b);
	row->cell[TASK] = task_text(r, c, &r->t->beads[row->place]);
}

static int
compare_rows(const void *a, const void *b)
{
	const struct list_row *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void
release_rows(struct rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		for (int k = 0; k < COLUMNS; k++)
			free(r->v[i].cell[k]);
	free(r->v);
	scrub_free(r->scrub);
}

/* ---- widths ---- */

static void
measure_rows(struct rows *r)
{
	for (int k = 0; k < COLUMNS; k++) {
		r->width[k] = strlen(heads[k]);
		for (size_t i = 0; i < r->n; i++) {
			size_t n = utf8_width(r->v[i].cell[k], strlen(r->v[i].cell[k]));

			r->width[k] = n > r->width[k] ? n : r->width[k];
		}
	}
}

static size_t
table_width(const struct rows *r)
{
	size_t used = 0;

	for (int k = 0; k < COLUMNS; k++)
		used += r->width[k] > 0 ? r->width[k] + (used > 0 ? GAP : 0) : 0;
	return used;
}

static void
fit_rows(struct rows *r, size_t room)
{
	for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
		size_t *width = &r->width[cuts[i].column], all = table_width(r), over;

		over = all > room ? all - room : 0;
		if (over > 0 && cuts[i].least == 0)
			*width = 0;
		else if (over > 0 && *width > cuts[i].least)
			*width = *width - cuts[i].least > over ? *width - over : cuts[i].least;
	}
}

/* ---- printing ---- */

static void
print_text(const struct rows *r, const char *text)
{
	struct buf b = BUF_INIT;

	if (r->ascii) {
		output_ascii(&b, text);
		text = b.data;
	}
	fputs(text, stdout);
	buf_release(&b);
}

static void
print_cells(const struct rows *r, const char *const *cells, const char *color)
{
	size_t owed = 0;

	for (int k = 0; k < COLUMNS; k++) {
		struct buf b = BUF_INIT;
		bool colored = r->color && color != NULL && k == STATE;

		if (r->width[k] == 0)
			continue;
		utf8_escape(&b, cells[k], strlen(cells[k]), r->width[k]);
		printf("%*s%s", (int)owed, "", colored ? color : "");
		print_text(r, b.data);
		fputs(colored ? "\033[0m" : "", stdout);
		owed = r->width[k] - utf8_width(b.data, b.len) + GAP;
		buf_release(&b);
	}
	putchar('\n');
}

static void
print_wrapped(const struct rows *r, int column, const char *text)
{
	size_t room = output_columns(STDOUT_FILENO);
	struct buf b = BUF_INIT;

	if (r->ascii)
		output_ascii(&b, text);
	else
		buf_str(&b, text);
	printf("%*s", column, "");
	if (room > (size_t)column + 20)
		output_wrapped(stdout, b.data, column, room);
	else
		puts(b.data);
	buf_release(&b);
}

static bool
is_same_refusal(const struct refusal *a, const struct refusal *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->sentence, b->sentence) == 0 &&
	    strcmp(a->hint, b->hint) == 0;
}

/* What stands against it in words; false: nothing does. */
static bool
row_refusal(const struct rows *r, size_t i, struct refusal *out)
{
	const struct candidate *c = &r->t->all->v[r->v[i].place];

	*out = r->t->no[r->v[i].place];
	if (c->status == AGENT_UNKNOWN && *c->unknown_reason != '\0')
		out->sentence = c->unknown_reason;
	if (c->status == AGENT_REMOTE)
		*out = (struct refusal){ "remote", "its agent runs on another host", c->remote_hint };
	return out->name != NULL && c->status != AGENT_LIVE && !candidate_has_ended(c);
}

static void
print_refusals(const struct rows *r)
{
	bool *told = xcalloc(r->n + 1, sizeof *told), headed = false;

	for (size_t i = 0; i < r->n; i++) {
		struct buf names = BUF_INIT;
		struct refusal no, other;

		if (told[i] || !row_refusal(r, i, &no))
			continue;
		for (size_t k = i; k < r->n; k++)
			if (row_refusal(r, k, &other) && is_same_refusal(&no, &other)) {
				buf_fmt(&names, "%s%s", names.len > 0 ? ", " : "", r->v[k].cell[TARGET]);
				told[k] = true;
			}
		if (!headed)
			puts(r->t->summary ? "\nSkipped by --all:" : "");
		headed = true;
		buf_fmt(&names, ": %s (%s)", no.sentence, no.name);
		print_wrapped(r, 2, names.data);
		buf_reset(&names);
		buf_fmt(&names, "hint: %s", no.hint);
		print_wrapped(r, 4, names.data);
		buf_release(&names);
	}
	free(told);
}

static size_t
count_rank(const struct list_table *t, bool live)
{
	size_t n = 0;

	for (size_t i = 0; i < t->all->n; i++)
		n += live ? t->all->v[i].status == AGENT_LIVE
			  : detect_status_crashed(t->all->v[i].status) && t->no[i].name == NULL;
	return n;
}

static size_t
count_crashed(const struct list_table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->all->n; i++)
		n += t->all->v[i].status != AGENT_LIVE;
	return n;
}

/* What is not shown, and what to do next. */
static void
print_summary(const struct rows *r)
{
	const struct list_table *t = r->t;
	size_t live = count_rank(t, true), ready = count_rank(t, false);

	if (r->n > 0)
		putchar('\n');
	if (live > 0 && !t->cli->live)
		printf("%zu live agent%s; to see %s: gt-recover list --live\n", live, live == 1 ? "" : "s",
		    live == 1 ? "it" : "them");
	if (ready > 0)
		printf("%zu recoverable; next: gt-recover, or gt-recover --all\n", ready);
	else if (live > 0 || r->n > 0)
		puts(count_crashed(t) > 0 ? "No crashed agent is recoverable." : "No crashed agents.");
}

void
cmd_list_table(const struct list_table *t)
{
	struct rows r = { .t = t, .ascii = !output_is_utf8() };
	size_t room = output_columns(STDOUT_FILENO);

	r.color = output_has_color(t->cli, STDOUT_FILENO);
	r.v = xcalloc(t->all->n + 1, sizeof *r.v);
	for (size_t i = 0; i < t->all->n; i++)
		if (t->shown[i]) {
			r.v[r.n].place = i;
			fill_cells(&r, &r.v[r.n++]);
		}
	qsort(r.v, r.n, sizeof *r.v, compare_rows);
	measure_rows(&r);
	if (room > 0)
		fit_rows(&r, room);
	if (r.n > 0)
		print_cells(&r, heads, NULL);
	for (size_t i = 0; i < r.n; i++)
		print_cells(&r, (const char *const *)r.v[i].cell, r.v[i].color);
	print_refusals(&r);
	if (t->summary)
		print_summary(&r);
	release_rows(&r);
}
