#include <ctype.h>
#include <unistd.h>

#include "cli/picker/picker_private.h"
#include "base/clock.h"
#include "base/utf8.h"

/* The highlight rests so long before its preview is gathered: who moves on waits for none. */
#define REST_MS 120
#define IDLE_MS 250
#define CTRL(letter) ((letter) & 0x1f)
#define ESCAPE 0x1b

enum picker_verdict { GO_ON, LEAVE, RECOVER };

struct picker_row *
picker_current(const struct picker *p)
{
	return p->at < p->n_shown ? &p->row[p->shown[p->at]] : NULL;
}

/* ---- rows ---- */

static char *
lowered(const char *text)
{
	char *s = xstrdup(text);

	for (char *c = s; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	return s;
}

static void
fill_row(struct picker *p, struct picker_row *row, size_t place, bool offered)
{
	const struct cli_batch *r = p->batch;
	const struct candidate *c = &r->all.v[place];
	const char *bead = r->beads[place].id;
	struct buf b = BUF_INIT;
	char *words;

	/* the age is that of each drawing */
	row->place = place;
	if (!offered)
		row->no = recovery_refusal(&p->batch->w, c, &r->beads[place], true, true);
	if (!offered && row->no.name == NULL)
		row->no = r->no[place];
	row->target = xstrdup(output_target(c));
	row->state = xstrdup(cmd_list_state(c, !offered));
	cmd_list_cause(&b, c);
	row->cause = buf_detach(&b);
	cmd_list_where(&b, c);
	row->where = buf_detach(&b);
	words = xasprintf("%s %s %s %s %s %s", row->target, row->state, c->profile->name, row->cause,
	    row->where, bead != NULL ? bead : "");
	row->words = lowered(words);
	free(words);
}

static void
fill_rows(struct picker *p, const bool *offered)
{
	struct cli_batch *r = p->batch;

	p->row = xcalloc(r->all.n, sizeof *p->row);
	p->shown = xcalloc(r->all.n, sizeof *p->shown);
	for (size_t i = 0; i < r->all.n; i++)
		if (offered[i])
			fill_row(p, &p->row[p->n++], i, true);
	for (size_t i = 0; i < r->all.n; i++)
		if (!offered[i] && r->all.v[i].status != AGENT_LIVE && !candidate_has_ended(&r->all.v[i]))
			fill_row(p, &p->row[p->n++], i, false);
}

static void
release_rows(struct picker *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct picker_row *row = &p->row[i];

		free(row->target);
		free(row->state);
		free(row->age);
		free(row->cause);
		free(row->where);
		free(row->words);
		picker_preview_release(row);
	}
	free(p->row);
	free(p->shown);
	buf_release(&p->filter);
	buf_release(&p->message);
}

/* ---- filter ---- */

/* Each word of the filter occurs in the row. */
static bool
passes(const struct picker_row *row, const char *filter)
{
	bool all = true;

	for (size_t n; *filter != '\0' && all; filter += n) {
		char *word;

		filter += strspn(filter, " ");
		n = strcspn(filter, " ");
		word = xstrndup(filter, n);
		all = strstr(row->words, word) != NULL;
		free(word);
	}
	return all;
}

static void
apply_filter(struct picker *p)
{
	char *filter = lowered(p->filter.data);

	p->n_shown = 0;
	for (size_t i = 0; i < p->n; i++)
		if (passes(&p->row[i], filter))
			p->shown[p->n_shown++] = i;
	p->at = p->top = p->back = 0;
	free(filter);
}

static void
edit_filter(struct picker *p, int32_t key)
{
	size_t len = p->filter.len;

	if (key == PICKER_BACKSPACE) {
		while (len > 0 && ((unsigned char)p->filter.data[--len] & 0xc0) == 0x80)
			;
		p->typing = p->filter.len > 0;
		buf_cut(&p->filter, len);
	} else if (key == CTRL('u')) {
		buf_reset(&p->filter);
	} else if (key >= ' ' && key < PICKER_UP && !utf8_hidden(key) && len < 60) {
		utf8_put(&p->filter, key);
	}
	apply_filter(p);
}

/* ---- keys ---- */

static void
move(struct picker *p, long by)
{
	long last = (long)p->n_shown - 1, at = (long)p->at + by;

	p->at = at < 0 || last < 0 ? 0 : (size_t)(at > last ? last : at);
	p->back = 0;
}

static void
refuse(struct picker *p, const struct picker_row *row)
{
	buf_reset(&p->message);
	buf_fmt(&p->message, "%s cannot be recovered now: %s", row->target, row->no.sentence);
}

static void
mark(struct picker *p)
{
	struct picker_row *row = picker_current(p);

	if (row != NULL && row->no.name != NULL)
		refuse(p, row);
	else if (row != NULL)
		row->marked = !row->marked;
	if (row != NULL && row->no.name == NULL)
		move(p, 1);
}

/* All that the filter leaves; where all of these are marked already, none of them. */
static void
mark_all(struct picker *p)
{
	bool all = true;

	for (size_t i = 0; i < p->n_shown; i++)
		all &= p->row[p->shown[i]].marked || p->row[p->shown[i]].no.name != NULL;
	for (size_t i = 0; i < p->n_shown; i++)
		p->row[p->shown[i]].marked = !all && p->row[p->shown[i]].no.name == NULL;
}

static size_t
count_marked(const struct picker *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->row[i].marked;
	return n;
}

/* What is marked, else the highlighted one. */
static enum picker_verdict
accept_choice(struct picker *p)
{
	struct picker_row *row = picker_current(p);

	if (count_marked(p) > 0)
		return RECOVER;
	if (row == NULL)
		return GO_ON;
	if (row->no.name != NULL) {
		refuse(p, row);
		return GO_ON;
	}
	row->marked = true;
	return RECOVER;
}

static enum picker_verdict
escape(struct picker *p)
{
	if (!p->typing && !p->help && p->filter.len == 0)
		return LEAVE;
	if (!p->help) {
		p->typing = false;
		buf_reset(&p->filter);
		apply_filter(p);
	}
	p->help = false;
	return GO_ON;
}

/* Keys that mean the same while a filter is typed. False: it is none of them. */
static bool
press_common(struct picker *p, int32_t key, enum picker_verdict *v)
{
	long page = (long)picker_screen_page(p);

	switch (key) {
	case PICKER_UP: move(p, -1); break;
	case PICKER_DOWN: move(p, 1); break;
	case PICKER_FIRST: move(p, -(long)p->n); break;
	case PICKER_LAST: move(p, (long)p->n); break;
	case PICKER_PAGE_UP: move(p, -page); break;
	case PICKER_PAGE_DOWN: move(p, page); break;
	case '\t': mark(p); break;
	case '\r':
	case '\n': *v = accept_choice(p); break;
	case ESCAPE: *v = escape(p); break;
	case CTRL('d'): *v = LEAVE; break;
	default: return false;
	}
	/* who moves or marks has typed enough: the letters are keys again */
	if (*v == GO_ON && key != ESCAPE)
		p->typing = false;
	return true;
}

static enum picker_verdict
press(struct picker *p, int32_t key)
{
	enum picker_verdict v = GO_ON;

	buf_reset(&p->message);
	if (key == PICKER_RESIZED || key == PICKER_OTHER || press_common(p, key, &v))
		return v;
	if (p->typing) {
		edit_filter(p, key);
		return GO_ON;
	}
	switch (key) {
	case 'j': move(p, 1); break;
	case 'k': move(p, -1); break;
	case 'g': move(p, -(long)p->n); break;
	case 'G': move(p, (long)p->n); break;
	case 'J': p->back -= p->back > 0; break;
	case 'K': p->back++; break;
	case ' ': mark(p); break;
	case 'a': mark_all(p); break;
	case '/': p->typing = true; break;
	case PICKER_BACKSPACE: p->typing = p->filter.len > 0; break;
	case '?': p->help = !p->help; break;
	case 'q': return LEAVE;
	default: buf_str(&p->message, "? shows the keys; / filters"); break;
	}
	return GO_ON;
}

static void
update_ages(struct picker *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct buf b = BUF_INIT;

		cmd_list_when(&b, &p->batch->all.v[p->row[i].place]);
		free(p->row[i].age);
		p->row[i].age = buf_detach(&b);
	}
}

static enum picker_verdict
run_screen(struct picker *p)
{
	enum picker_verdict v = GO_ON;

	while (v == GO_ON && cli_stop_signal() == 0) {
		struct picker_row *row = picker_current(p);
		int32_t key;

		update_ages(p);
		picker_screen_draw(p);
		key = picker_screen_key(row != NULL && !row->read ? REST_MS : IDLE_MS);
		if (key == PICKER_GONE)
			return LEAVE;
		if (key != PICKER_NONE)
			v = press(p, key);
		else if (row != NULL && !row->read)
			picker_preview_read(p, row);
	}
	return cli_stop_signal() != 0 ? LEAVE : v;
}

int
cli_picker_run(struct cli_batch *r, const bool *offered)
{
	struct picker p = { .batch = r, .filter = BUF_INIT, .message = BUF_INIT };
	int count = 0;

	if (r->cli->plain || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return CLI_PICKER_UNFIT;
	p.color = output_has_color(r->cli, STDOUT_FILENO);
	p.ascii = !output_is_utf8();
	fill_rows(&p, offered);
	apply_filter(&p);
	if (!picker_screen_open(&p)) {
		release_rows(&p);
		return CLI_PICKER_UNFIT;
	}
	if (run_screen(&p) == RECOVER)
		for (size_t i = 0; i < p.n; i++)
			if (p.row[i].marked) {
				r->chosen[p.row[i].place] = true;
				count++;
			}
	picker_screen_close();
	release_rows(&p);
	return count;
}
