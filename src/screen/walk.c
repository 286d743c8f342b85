#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"
#include "base/pattern.h"
#include "conversation/conversation.h"

#define BANNER_ROWS 24	/* name, model, folder and news of a banner without a frame */
#define WELCOME_ROWS 60	/* of a boxed one */
#define LIMIT_ROWS 6	/* rows of words that may be the notice of a limit */

/* ---- rows of an item ---- */

/* The row's own kind; the groups of its rule are in m, -1 where it has none. */
static enum row_kind
match_row(const struct screen *s, size_t i, struct match *m)
{
	for (int k = 0; k < PATTERN_GROUPS; k++)
		m->start[k] = m->end[k] = (size_t)-1;
	return grammar_row(s->r.d, screen_row_text(&s->r, i), s->r.v[i].n, m);
}

char *
screen_group(const struct screen *s, size_t i, int g)
{
	struct buf b = BUF_INIT;
	struct match m;

	match_row(s, i, &m);
	if (m.start[g] == (size_t)-1)
		return NULL;
	buf_add(&b, screen_row_text(&s->r, i) + m.start[g], m.end[g] - m.start[g]);
	return conversation_text(&b);
}

/* Blanks in front of what row i of words says; no more than are the layout's. */
static size_t
margin_of(const struct screen *s, size_t i)
{
	size_t indent = screen_row_indent(&s->r, i);

	return indent < s->page->words_indent ? indent : s->page->words_indent;
}

size_t
screen_start(const struct screen *s, size_t i, int group)
{
	const char *p = screen_row_text(&s->r, i);
	size_t n = s->r.v[i].n, at;
	struct match m;
	enum row_kind own;

	if (s->page->unmarked && group == 1)
		return screen_row_indent(&s->r, i);
	own = match_row(s, i, &m);
	if (m.start[group] != (size_t)-1)
		return m.start[group];
	if (group != 1 || own == screen_row_kind(&s->r, i))
		return n;
	if (screen_row_kind(&s->r, i) != ROW_RESULT)
		return margin_of(s, i);
	/* behind the mark of a result stand two blanks, one where the first row left no room for both */
	at = screen_row_indent(&s->r, i) + sizeof "\xE2\x8E\xBF" - 1;
	for (int k = 0; k < 2 && at < n && p[at] == ' '; k++)
		at++;
	return at < n ? at : n;
}

bool
screen_start_has_cue(const struct screen *s, size_t i, enum cue what)
{
	size_t at = screen_start(s, i, 1);

	return grammar_has_cue(s->r.d, what, screen_row_text(&s->r, i) + at, s->r.v[i].n - at);
}

/* A text may end like the row that tells the mode; the banner goes on with the program's name. */
static bool
begins_banner(const struct screen *s, size_t i)
{
	char first = screen_row_text(&s->r, i)[0];

	return s->page->goes_on != GOES_ON_FLAT || first == '[' || first == 'C' ||
	    screen_row_kind(&s->r, i + 1) == ROW_BANNER;
}

/* Without marks and indentation a row is text unless it cannot be. */
static bool
is_flat_text(const struct screen *s, size_t i)
{
	switch (screen_row_kind(&s->r, i)) {
	case ROW_COLLAPSED:
	case ROW_THOUGHT:
	case ROW_TURN_END:
	case ROW_SPINNER:
		/* a paragraph of words stands behind a blank row, the program's own rows do not */
		return i > 0 && screen_row_kind(&s->r, i - 1) == ROW_BLANK;
	case ROW_DEAD:		/* tmux writes it below everything */
		for (i++; i < s->r.n && screen_row_kind(&s->r, i) == ROW_BLANK; i++)
			;
		return i < s->r.n;
	case ROW_BANNER:
		return !begins_banner(s, i);
	default:
		return false;
	}
}

bool
screen_is_text(const struct screen *s, size_t i)
{
	switch (screen_row_kind(&s->r, i)) {
	case ROW_BLANK:
	case ROW_BODY:
	case ROW_STRAY:
	case ROW_PROMPT_MORE:
	case ROW_FRAME:
	case ROW_HEAD:
	case ROW_HEAD_MAYBE:
		return true;
	case ROW_FOOT:
		return s->page->goes_on != GOES_ON_FLAT;
	default:
		return s->page->goes_on == GOES_ON_FLAT && is_flat_text(s, i);
	}
}

static bool
goes_on(const struct screen *s, size_t i, size_t indent)
{
	enum row_kind k = screen_row_kind(&s->r, i);

	if (s->page->goes_on == GOES_ON_FLAT)
		return screen_is_text(s, i);
	if (s->page->goes_on == GOES_ON_BODY)
		return k == ROW_BODY;
	if (k != ROW_BODY && k != ROW_STRAY)
		return false;
	/* the rest of a row that filled the pane stands at the left edge, if it was drawn wider than that */
	return screen_row_indent(&s->r, i) >= indent ||
	    (s->r.v[i - 1].n > 0 && screen_row_width(&s->r, i - 1) + 1 >= s->r.width);
}

size_t
screen_item_end(const struct screen *s, size_t i, size_t indent)
{
	size_t end = i + 1;

	for (i++; i < s->r.n && (screen_row_kind(&s->r, i) == ROW_BLANK || goes_on(s, i, indent)); i++)
		if (s->r.v[i].n > 0)
			end = i + 1;
	return end;
}

size_t
screen_below(const struct screen *s, size_t i)
{
	while (s->page->goes_on == GOES_ON_BODY && i < s->r.n && screen_row_kind(&s->r, i) == ROW_BLANK)
		i++;
	return i;
}

size_t
screen_limit(const struct screen *s, size_t margin)
{
	return s->r.width > margin ? s->r.width - margin : 0;
}

/* Where the terminal breaks the model's words nothing but its own breaks is joined. */
static size_t
words_limit(const struct screen *s)
{
	return s->page->breaks ? screen_limit(s, s->page->words_margin) + s->page->overhang : SIZE_MAX;
}

char *
screen_joined(const struct screen *s, size_t from, size_t to, size_t skip, size_t indent, size_t limit)
{
	struct buf b = BUF_INIT;

	screen_rows_join(&s->r, from, to, skip, indent, limit, &b);
	return conversation_text(&b);
}

/* ---- what an exchange changes ---- */

struct exchange *
screen_add(struct screen *s, enum role role, enum status status, char *tool, char *input, char *content)
{
	struct exchange *x = conversation_add(s->c, role, tool, input, content);

	x->status = status;
	return x;
}

void
screen_close_calls(struct screen *s)
{
	for (; s->open < s->c->n; s->open++) {
		struct exchange *x = &s->c->v[s->open];

		if (x->status == STATUS_RUNNING || x->status == STATUS_WAITING)
			x->status = STATUS_INTERRUPTED;
	}
	s->spun = false;
}

void
screen_went_on(struct screen *s)
{
	s->spun = false;
	if (!s->page->busy_foot)
		s->busy = false;
}

void
screen_set(char **member, char *text)
{
	free(*member);
	*member = text;
}

/* ---- banners ---- */

/* What was open or unsent in the session before is past. */
static void
new_session(struct screen *s)
{
	screen_close_calls(s);
	screen_set(&s->c->draft, NULL);
	screen_set(&s->c->tasks, NULL);
	screen_set(&s->c->resume_id, NULL);
	s->c->farewell = s->c->limit = s->outside = s->busy = false;
}

/* Takes the version in row i over; false when it names none. */
static bool
take_version(struct screen *s, size_t i)
{
	char *version = screen_group(s, i, 1);

	if (version != NULL)
		screen_set(&s->c->banner, version);
	return version != NULL;
}

/*
 * The picture in front of a banner's words is made of block elements (U+2580 to U+259F) and, in
 * 2.0, of stars.
 */
static size_t
picture_width(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n) {
		if (p[i] == ' ' || p[i] == '*')
			i++;
		else if (i + 2 < n && (unsigned char)p[i] == 0xE2 && (unsigned char)p[i + 1] == 0x96)
			i += 3;
		else
			break;
	}
	return i;
}

static char *
without_picture(const struct screen *s, size_t from, size_t end)
{
	struct buf b = BUF_INIT;

	for (size_t k = from; k < end; k++) {
		size_t n = s->r.v[k].n, cut = picture_width(screen_row_text(&s->r, k), n);

		if (cut == n)
			continue;
		if (b.len > 0)
			buf_chr(&b, '\n');
		buf_add(&b, screen_row_text(&s->r, k) + cut, n - cut);
	}
	return conversation_text(&b);
}

/* A program with a name is told by it and its version; its picture and tips are left out. */
static size_t
read_named_banner(struct screen *s, size_t i)
{
	const char *program = grammar_program(s->r.d);
	bool version = false;

	for (; i < s->r.n; i++) {
		enum row_kind k = screen_row_kind(&s->r, i);

		if (k == ROW_BANNER)
			version = take_version(s, i) || version;
		else if (k != ROW_BANNER_END && !screen_is_text(s, i))
			break;
	}
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL,
	    version ? xasprintf("%s v%s", program, s->c->banner) : xstrdup(program));
	return i;
}

/*
 * Drawn over the input box in row `over`, it is the last one again, with the box's letters between
 * its words.
 */
static char *
repainted_banner(struct screen *s, size_t over)
{
	const char *p = screen_row_text(&s->r, over), *end = p + s->r.v[over].n, *to;
	size_t i = s->c->n;

	s->repainted = true;
	while (i > 0 && !exchange_is_banner(&s->c->v[i - 1]))
		i--;
	if (i > 0)
		return xstrdup(s->c->v[i - 1].content);
	while (end - p > 1 && (p[0] != 'v' || p[1] < '0' || p[1] > '9'))
		p++;
	for (to = ++p; to < end && ((*to >= '0' && *to <= '9') || *to == '.');)
		to++;
	screen_set(&s->c->banner, xasprintf("%.*s", (int)(to - p), p));
	return xasprintf("Claude Code v%s", s->c->banner);
}

static size_t
read_banner(struct screen *s, size_t i)
{
	struct match m;
	bool flat = s->page->goes_on == GOES_ON_FLAT, over_box = match_row(s, i, &m) != ROW_BANNER;
	size_t end = i + over_box, top = i;

	if (!begins_banner(s, i))
		return 0;
	new_session(s);
	if (*grammar_program(s->r.d) != '\0')
		return read_named_banner(s, i);
	for (; end < s->r.n; end++) {
		enum row_kind k = screen_row_kind(&s->r, end);

		if (k == ROW_BANNER && take_version(s, end))
			top = end;	/* older heads of banners that tmux scrolled off stand above */
		else if (k != ROW_BANNER && !(flat && k == ROW_BLANK))
			break;
	}
	if (!flat)
		end = screen_item_end(s, end - 1, 0);
	while (flat && end < s->r.n && end < top + BANNER_ROWS &&
	    (screen_row_kind(&s->r, end) == ROW_BODY || screen_row_kind(&s->r, end) == ROW_STRAY))
		end++;
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL,
	    over_box ? repainted_banner(s, i)
		: flat ? screen_joined(s, top, end, 0, 0, 0)
		       : without_picture(s, top, end));
	return end;
}

static size_t
read_welcome(struct screen *s, size_t i)
{
	struct buf b = BUF_INIT;
	size_t end = i + 1, body;

	new_session(s);
	while (end < s->r.n && end < i + WELCOME_ROWS && screen_row_kind(&s->r, end) != ROW_BLANK &&
	    screen_row_kind(&s->r, end) != ROW_BANNER_END)
		end++;
	if (screen_row_kind(&s->r, end) == ROW_BANNER_END)
		end++;
	buf_str(&b, "Claude Code");
	if (take_version(s, i))
		buf_fmt(&b, " v%s", s->c->banner);
	body = end;
	end = screen_item_end(s, end - 1, 0);
	if (end > body) {
		size_t at = b.len;

		buf_chr(&b, '\n');
		screen_rows_join(&s->r, body, end, 0, 2, 0, &b);
		if (b.len == at + 1)
			buf_cut(&b, at);
	}
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, conversation_text(&b));
	return end;
}

/* ---- what people and models say ---- */

/* The end of a prompt that goes on in column 0. */
static size_t
old_prompt_end(const struct screen *s, size_t i)
{
	size_t end = i + 1;

	for (i++; screen_row_kind(&s->r, i) == ROW_PROMPT_MORE ||
	    (i < s->r.n && screen_row_kind(&s->r, i) == ROW_BLANK);
	    i++)
		if (screen_row_kind(&s->r, i) == ROW_PROMPT_MORE)
			end = i + 1;
	return end;
}

static size_t
read_prompt(struct screen *s, size_t i)
{
	const struct grammar_layout *page = s->page;
	bool column_0 = page->goes_on == GOES_ON_BODY && page->prompt_indent == 0;
	bool waits = screen_row_kind(&s->r, i) == ROW_PROMPT_QUEUED;
	size_t end = column_0 ? old_prompt_end(s, i) : screen_item_end(s, i, page->prompt_indent);
	size_t to = screen_flat_result(s, i, end);
	char *text = screen_joined(s, i, to, screen_start(s, i, 1), page->prompt_indent,
	    screen_limit(s, page->prompt_margin) + page->overhang);

	if (!waits) {
		screen_close_calls(s);
		s->c->limit = false;
		screen_went_on(s);
		if (!page->busy_foot)	/* of a box that was left above */
			screen_set(&s->c->draft, NULL);
	}
	if (screen_row_kind(&s->r, i) == ROW_SHELL)
		screen_set(&text, xasprintf("! %s", text + strspn(text, " ")));
	if (*text == '\0')	/* nobody sends nothing: an old box */
		free(text);
	else
		screen_add(s, ROLE_USER, waits ? STATUS_WAITING : STATUS_COMPLETE, NULL, NULL, text);
	screen_add_headless(s, to, end);
	return end;
}

/*
 * The number in front of row i, which stands right-aligned at column *end; 0: there is none, or
 * it ends elsewhere than at *end > 0.
 */
static unsigned
line_number(const struct screen *s, size_t i, size_t *end)
{
	const char *p = screen_row_text(&s->r, i);
	size_t n = s->r.v[i].n, at = screen_row_indent(&s->r, i), digits = at;
	unsigned number = 0;

	while (digits < n && digits < at + 6 && p[digits] >= '0' && p[digits] <= '9')
		number = number * 10 + (unsigned)(p[digits++] - '0');
	if (digits == at || (digits < n && p[digits] != ' ') || (*end > 0 && digits != *end))
		return 0;
	*end = digits;
	return number;
}

/*
 * The rows of code from i on, of which the first is line 1, without their numbers. The row behind
 * them; i when there is none.
 */
static size_t
add_code(const struct screen *s, size_t i, size_t end, struct buf *out)
{
	size_t column = 0;
	unsigned line = 0;

	if (screen_row_indent(&s->r, i) <= s->page->words_indent || s->r.v[i - 1].n > 0)
		return i;
	for (; i < end; i++) {
		const char *p = screen_row_text(&s->r, i);
		size_t n = s->r.v[i].n;
		bool numbered = line_number(s, i, &column) == line + 1;

		if (!numbered && (line == 0 || screen_row_indent(&s->r, i) <= column || n == 0))
			break;	/* else the row above goes on */
		if (line > 0)
			buf_chr(out, numbered ? '\n' : ' ');
		line += numbered;
		if (n > column + 1)
			buf_add(out, p + column + 1, n - column - 1);
	}
	return i;
}

/* Words, in which code may have numbers in front of its lines. */
static char *
words_of(const struct screen *s, size_t i, size_t end)
{
	size_t from = i, skip = screen_start(s, i, 1), indent = s->page->words_indent;
	struct buf b = BUF_INIT;

	for (size_t k = i + 1; s->page->numbered && k < end;) {
		struct buf code = BUF_INIT;
		size_t next = add_code(s, k, end, &code);

		if (next == k) {
			k++;
			continue;
		}
		screen_rows_join(&s->r, from, k, skip, indent, words_limit(s), &b);
		buf_add(&b, "\n\n", 2);
		buf_add(&b, code.data, code.len);
		buf_release(&code);
		for (k = next; k < end && s->r.v[k].n == 0; k++)
			;
		if (k < end)
			buf_add(&b, "\n\n", 2);
		from = k;
		skip = k < end ? margin_of(s, k) : 0;
	}
	if (from < end)
		screen_rows_join(&s->r, from, end, skip, indent, words_limit(s), &b);
	return conversation_text(&b);
}

static size_t
read_words(struct screen *s, size_t i)
{
	size_t end = screen_item_end(s, i, s->page->words_indent), to = screen_flat_result(s, i, end),
	       below = screen_below(s, end);
	bool limit = s->page->limit_words && below - i <= LIMIT_ROWS && screen_start_has_cue(s, i, CUE_LIMIT);
	char *text = words_of(s, i, to);
	struct exchange *x;

	screen_went_on(s);
	if (*text == '\0') {	/* the first word is not there yet */
		free(text);
		return end;
	}
	x = screen_add(s, limit ? ROLE_SYSTEM : ROLE_ASSISTANT, limit ? STATUS_FAILED : STATUS_COMPLETE, NULL,
	    NULL, text);
	if (s->page->limit_words)	/* the model's words after one: it is over */
		s->c->limit = limit;
	if (screen_row_kind(&s->r, below) == ROW_RESULT && screen_start_has_cue(s, below, CUE_INTERRUPTED) &&
	    !screen_start_has_cue(s, below, CUE_REJECTED_PLAN)) {
		x->status = STATUS_INTERRUPTED;
		return screen_item_end(s, below, s->page->result_indent);
	}
	screen_add_headless(s, to, end);
	return end;
}

/* What the model thought is neither its answer nor lost. Versions since 2.0 do not show it. */
static size_t
read_thought(struct screen *s, size_t i)
{
	char *head = screen_group(s, i, 1);
	struct buf b = BUF_INIT;
	size_t end = i + 1;

	if (head == NULL)
		return end;
	end = screen_item_end(s, i, 0);
	buf_fmt(&b, "%s\n", head);
	screen_rows_join(&s->r, i + 1, end, screen_row_indent(&s->r, i + 1), 2, words_limit(s), &b);
	free(head);
	screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, conversation_text(&b));
	s->spun = false;
	return end;
}

/* ---- the walk ---- */

/* Rows that no rule understood stay where they are, as they are. */
static size_t
read_raw(struct screen *s, size_t i)
{
	size_t from = i, end = i;

	for (; i < s->r.n; i++) {
		enum row_kind k = screen_row_kind(&s->r, i);

		if (s->outside ? k == ROW_BANNER || k == ROW_BANNER_TOP || k == ROW_DEAD
			       : i > from && !screen_is_text(s, i))
			break;
		if (s->r.v[i].n == 0)
			continue;
		end = i + 1;
		s->c->unknown_lines++;
	}
	if (end > from)
		screen_add(s, ROLE_SYSTEM, STATUS_COMPLETE, NULL, NULL, screen_joined(s, from, end, 0, 0, 0));
	return i;
}

/* Reads the item that begins in row i; 0: none does. */
static size_t
read_item(struct screen *s, size_t i)
{
	size_t box;

	switch (screen_row_kind(&s->r, i)) {
	case ROW_BANNER:
		return read_banner(s, i);
	case ROW_BANNER_TOP:
		return read_welcome(s, i);
	case ROW_PROMPT:
		box = screen_read_bare_box(s, i);
		return box != 0 ? box : read_prompt(s, i);
	case ROW_PROMPT_QUEUED:
	case ROW_SHELL:
		return read_prompt(s, i);
	case ROW_WORDS:
		return read_words(s, i);
	case ROW_TOOL:
		return screen_read_call(s, i);
	case ROW_TOOL_MAYBE:
		return screen_is_call(s, i) ? screen_read_call(s, i) : read_words(s, i);
	case ROW_CALLS:
		return screen_read_call_box(s, i);
	case ROW_COLLAPSED:
	case ROW_AGENTS:
		return screen_read_folded(s, i);
	case ROW_RESULT:
		return screen_read_remark(s, i);
	case ROW_ERROR:
	case ROW_RETRY:
	case ROW_NOTICE:
	case ROW_ANSWERS:
	case ROW_COMPACTED:
		return screen_read_notice(s, i);
	case ROW_THOUGHT:
		return read_thought(s, i);
	case ROW_BLANK:
	case ROW_DEAD:
	case ROW_RESUME:
		return i + 1;
	case ROW_BANNER_END:
		return s->page->goes_on == GOES_ON_BODY ? i + 1 : 0;
	default:
		return screen_read_bottom(s, i);
	}
}

/* Only the agent draws such a row: what stands above was its screen, and no shell's. */
static bool
is_agents_row(const struct screen *s, size_t i)
{
	enum row_kind k = screen_row_kind(&s->r, i);

	if (s->page->goes_on != GOES_ON_BODY)
		return !screen_is_text(s, i) && k != ROW_BANNER_END;
	/* some shells' prompts look like the agent's */
	return k == ROW_WORDS || k == ROW_TOOL || k == ROW_BOX || k == ROW_RESULT || k == ROW_TURN_END;
}

/* The banner that the session's text begins with; s->r.n when its beginning was cut off. */
static size_t
first_banner(const struct screen *s)
{
	for (size_t i = 0; i < s->r.n; i++) {
		enum row_kind k = screen_row_kind(&s->r, i);

		if (k == ROW_BANNER_TOP || (k == ROW_BANNER && begins_banner(s, i)))
			return i;
		if (is_agents_row(s, i))
			break;
	}
	return s->r.n;
}

/* The last words run while the agent is at work on them. */
static void
mark_words_running(struct screen *s)
{
	unsigned since = s->page->ends_turns;
	const char *version = s->c->banner;
	bool running = s->busy;

	if (s->page->busy_foot)	/* text that was still streaming has no turn end and no spinner below it */
		running = s->busy && !s->spun;
	else if (since > 0 &&
	    (s->turns > 0 || (version != NULL && grammar_version(version, strlen(version)) >= since)))
		running = !s->spun && !s->busy;
	for (size_t k = s->c->n; k-- > 0 && running;) {
		struct exchange *x = &s->c->v[k];

		if (x->role == ROLE_USER && x->status == STATUS_WAITING)
			continue;
		if (x->role == ROLE_ASSISTANT && x->tool == NULL && x->status == STATUS_COMPLETE)
			x->status = STATUS_RUNNING;
		break;
	}
}

void
screen_walk(struct screen *s)
{
	size_t banner = first_banner(s), i = 0, next;

	if (banner == s->r.n)
		s->c->truncated_at = 0;
	/* what a shell wrote before the agent was started is no conversation */
	s->outside = s->page->goes_on == GOES_ON_BODY && banner < s->r.n;
	for (size_t k = 0; k < s->r.n; k++)
		if (screen_row_kind(&s->r, k) == ROW_PROMPT)
			s->last_prompt = k;
	for (; i < s->r.n; i = next) {
		enum row_kind k = screen_row_kind(&s->r, i);
		bool inside =
		    !s->outside || k == ROW_BANNER || k == ROW_BANNER_TOP || k == ROW_DEAD || k == ROW_BLANK;

		next = inside ? read_item(s, i) : 0;
		if (next == 0)
			next = read_raw(s, i);
	}
	mark_words_running(s);
}
