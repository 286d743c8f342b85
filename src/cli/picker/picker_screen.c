#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "cli/picker/picker_private.h"
#include "base/utf8.h"

#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1		/* musl's feature macros do not ask for it */
#include <curses.h>
#include <term.h>
/* term.h has them as macros */
#undef columns
#undef lines

#define LEAST_ROWS 8
#define LEAST_COLUMNS 30
#define WIDE 110			/* from so many columns on the preview stands beside the list */
#define LEFT 4				/* columns of the two marks in front of a row */
#define ESCAPE_MS 50			/* the rest of a key's sequence comes within this */

enum { PAIR_MARKED = 1, PAIR_WARNING, PAIR_USER };

/* What a handler needs to give the terminal back. */
static struct {
	SCREEN *screen;
	struct termios before;
	char leave[128];
	size_t n;
} terminal;

/* ---- open and close ---- */

static const int fatal_signals[] = { SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
#define FATAL_SIGNALS (sizeof fatal_signals / sizeof fatal_signals[0])

static void
on_fatal_signal(int sig)
{
	if (write(STDOUT_FILENO, terminal.leave, terminal.n) >= 0)
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
	raise(sig);
}

static void
catch_fatal_signals(bool caught)
{
	/* the second time, by raise, the signal does what it does without us */
	struct sigaction sa = { .sa_handler = SIG_DFL, .sa_flags = (int)SA_RESETHAND };

	if (caught)
		sa.sa_handler = on_fatal_signal;
	for (size_t i = 0; i < FATAL_SIGNALS; i++)
		sigaction(fatal_signals[i], &sa, NULL);
}

/* Without the delays that a few old terminals ask for ("$<50>"). */
static void
keep_sequence(const char *name)
{
	const char *s = tigetstr(name);

	if (s == NULL || s == (const char *)-1)
		return;
	for (; *s != '\0' && terminal.n < sizeof terminal.leave; s++) {
		if (s[0] == '$' && s[1] == '<' && strchr(s, '>') != NULL)
			s = strchr(s, '>');
		else
			terminal.leave[terminal.n++] = *s;
	}
}

void
picker_screen_close(void)
{
	if (terminal.screen == NULL)
		return;
	catch_fatal_signals(false);
	/* what was typed ahead is no answer to the next question */
	flushinp();
	endwin();
	delscreen(terminal.screen);
	terminal.screen = NULL;
}

static bool
is_capable(void)
{
	const char *term = getenv("TERM");
	int found;

	if (term == NULL || *term == '\0' || strcmp(term, "dumb") == 0)
		return false;
	/* newterm leaks its screen where the terminal is unknown (ncurses 6.4) */
	if (setupterm(term, STDOUT_FILENO, &found) != OK)
		return false;
	del_curterm(cur_term);
	return true;
}

bool
picker_screen_open(struct picker *p)
{
	static bool registered;

	if (!is_capable() || tcgetattr(STDIN_FILENO, &terminal.before) != 0)
		return false;
	fflush(stdout);
	set_escdelay(ESCAPE_MS);
	if ((terminal.screen = newterm(NULL, stdout, stdin)) == NULL)
		return false;
	if (!registered)
		atexit(picker_screen_close);
	registered = true;
	if (LINES < LEAST_ROWS || COLS < LEAST_COLUMNS) {
		picker_screen_close();
		return false;
	}
	terminal.n = 0;
	keep_sequence("sgr0");
	keep_sequence("cnorm");
	keep_sequence("rmkx");
	keep_sequence("rmcup");
	catch_fatal_signals(true);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	p->color = p->color && has_colors();
	if (p->color) {
		start_color();
		use_default_colors();
		init_pair(PAIR_MARKED, COLOR_GREEN, -1);
		init_pair(PAIR_WARNING, COLOR_YELLOW, -1);
		init_pair(PAIR_USER, COLOR_CYAN, -1);
	}
	return true;
}

/* ---- keys ---- */

static int32_t
special_key(wint_t key)
{
	switch (key) {
	case KEY_UP: return PICKER_UP;
	case KEY_DOWN: return PICKER_DOWN;
	case KEY_PPAGE: return PICKER_PAGE_UP;
	case KEY_NPAGE: return PICKER_PAGE_DOWN;
	case KEY_HOME: return PICKER_FIRST;
	case KEY_END: return PICKER_LAST;
	case KEY_ENTER: return '\n';
	case KEY_BACKSPACE: return PICKER_BACKSPACE;
	case KEY_RESIZE: return PICKER_RESIZED;
	default: return PICKER_OTHER;
	}
}

int32_t
picker_screen_key(int wait_ms)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	wint_t key;
	int kind;

	wtimeout(stdscr, wait_ms);
	kind = wget_wch(stdscr, &key);
	if (kind == KEY_CODE_YES)
		return special_key(key);
	if (kind == ERR)
		return poll(&in, 1, 0) > 0 && (in.revents & (POLLHUP | POLLERR | POLLNVAL)) ? PICKER_GONE
											     : PICKER_NONE;
	return key == 0x7f || key == '\b' ? PICKER_BACKSPACE : (int32_t)key;
}

/* ---- text ---- */

static attr_t
pair(const struct picker *p, int number, attr_t without)
{
	return p->color ? (attr_t)COLOR_PAIR(number) : without;
}

/* Appends the text in exactly `width` columns. */
static void
add_cell(struct buf *out, const char *text, size_t width)
{
	size_t from = out->len;

	if (width == 0)
		return;
	utf8_escape(out, text, strlen(text), width);
	for (size_t n = utf8_width(out->data + from, out->len - from); n < width; n++)
		buf_chr(out, ' ');
}

/* The same of a path, whose end says more than its beginning. */
static void
add_path(struct buf *out, const char *path, size_t width)
{
	size_t n = utf8_width(path, strlen(path));

	if (n > width && width > 1) {
		buf_str(out, "…");
		width--;
	}
	while (n > width) {
		int32_t rune;
		size_t step = utf8_next(path, strlen(path), &rune);

		n -= utf8_width(path, step);
		path += step;
	}
	add_cell(out, path, width);
}

static void
put_text(const struct picker *p, int y, int x, attr_t attr, const char *text)
{
	struct buf b = BUF_INIT;

	if (p->ascii)
		output_ascii(&b, text);
	else
		buf_str(&b, text);
	wattrset(stdscr, (int)attr);
	mvaddstr(y, x, b.data);
	wattrset(stdscr, A_NORMAL);
	buf_release(&b);
}

/* Cut at the width, and to it filled with blanks. */
static void
put_cell(const struct picker *p, int y, int x, size_t width, attr_t attr, const char *text)
{
	struct buf b = BUF_INIT;

	add_cell(&b, text, width);
	put_text(p, y, x, attr, b.data);
	buf_release(&b);
}

/* ---- list ---- */

struct columns {
	size_t target, age, cause, where;
};

static void
widen(size_t *width, const char *text)
{
	size_t n = utf8_width(text, strlen(text));

	*width = n > *width ? n : *width;
}

static const char *
row_cause(const struct picker_row *row)
{
	return row->no.name != NULL ? row->state : row->cause;
}

/* The target is cut last; the directory goes first. */
static struct columns
measure(const struct picker *p, size_t width)
{
	struct columns c = { .target = 7, .age = 7, .cause = 5 };
	size_t room = width - LEFT;

	for (size_t i = 0; i < p->n; i++) {
		widen(&c.target, p->row[i].target);
		widen(&c.age, p->row[i].age);
		widen(&c.cause, row_cause(&p->row[i]));
	}
	if (c.age + c.cause + 4 + 12 > room)
		c.cause = 0;
	room -= c.age + 2 + c.cause + (c.cause > 0 ? 2 : 0);
	c.target = c.target > room ? room : c.target;
	room -= c.target;
	c.where = room >= 2 + 8 ? room - 2 : 0;
	return c;
}

static void
put_row(const struct picker *p, int y, const struct columns *c, size_t width, attr_t attr, const char *marks,
    const char *const cells[4])
{
	struct buf b = BUF_INIT;

	buf_str(&b, marks);
	add_cell(&b, cells[0], c->target);
	buf_str(&b, "  ");
	add_cell(&b, cells[1], c->age);
	buf_str(&b, c->cause > 0 ? "  " : "");
	add_cell(&b, cells[2], c->cause);
	buf_str(&b, c->where > 0 ? "  " : "");
	add_path(&b, cells[3], c->where);
	put_cell(p, y, 0, width, attr, b.data);
	buf_release(&b);
}

/* Rows from `y` on. */
static void
draw_list(struct picker *p, int y, size_t height, size_t width)
{
	static const char *const heads[] = { "SESSION", "CRASHED", "CAUSE", "DIRECTORY" };
	struct columns c = measure(p, width);

	put_row(p, y, &c, width, A_DIM, "    ", heads);
	if (p->at < p->top)
		p->top = p->at;
	if (p->at >= p->top + height)
		p->top = p->at - height + 1;
	if (p->n_shown == 0)
		put_cell(p, y + 1, 0, width, A_NORMAL, "    No session matches the filter.");
	for (size_t i = 0; i < height && p->top + i < p->n_shown; i++) {
		const struct picker_row *row = &p->row[p->shown[p->top + i]];
		const char *cells[] = { row->target, row->age, row_cause(row), row->where };
		bool here = p->top + i == p->at;
		attr_t attr = here ? A_REVERSE : 0;
		char marks[LEFT + 1];

		snprintf(marks, sizeof marks, "%c %c ", here ? '>' : ' ', row->marked ? '*' : ' ');
		attr |= row->marked ? pair(p, PAIR_MARKED, A_BOLD) : row->no.name != NULL ? A_DIM : 0;
		put_row(p, y + 1 + (int)i, &c, width, attr, marks, cells);
	}
}

/* ---- preview ---- */

struct preview_rows {
	struct picker_line *v;
	size_t n, cap;
};

static void
add_row(struct preview_rows *rows, enum picker_kind kind, const char *indent, const char *text, size_t n)
{
	struct buf b = BUF_INIT;

	buf_str(&b, indent);
	buf_add(&b, text, n);
	rows->v = vec_room(rows->v, rows->n, &rows->cap, sizeof *rows->v);
	rows->v[rows->n].kind = kind;
	rows->v[rows->n++].text = buf_detach(&b);
}

/* As many bytes of the text as fit into the width: up to a blank where there is one. */
static size_t
fitting(const char *text, size_t width)
{
	size_t n = 0, used = 0, blank = 0, len = strlen(text);

	while (n < len) {
		int32_t rune;
		size_t step = utf8_next(text + n, len - n, &rune), w = utf8_width(text + n, step);

		if (used + w > width)
			return blank > 0 ? blank : n > 0 ? n : step;
		if (text[n] == ' ' && n > 0)
			blank = n;
		used += w;
		n += step;
	}
	return len;
}

static void
wrap(struct preview_rows *rows, const struct picker_line *line, size_t width)
{
	const char *text = line->text;
	size_t n = fitting(text, width);

	add_row(rows, line->kind, "", text, n);
	for (text += n; *text != '\0'; text += n) {
		text += strspn(text, " ");
		n = fitting(text, width - 4);
		if (n > 0)
			add_row(rows, line->kind, "    ", text, n);
	}
}

static void
release_preview_rows(struct preview_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->v[i].text);
	free(rows->v);
}

static void
put_preview_row(const struct picker *p, int y, int x, size_t width, const struct picker_line *line)
{
	attr_t attr = line->kind == PICKER_WARNING ? pair(p, PAIR_WARNING, A_BOLD)
	    : line->kind == PICKER_USER            ? pair(p, PAIR_USER, A_BOLD)
	    : line->kind == PICKER_TOOL            ? (attr_t)A_DIM
						   : (attr_t)A_NORMAL;

	put_cell(p, y, x, width, attr, line->text);
}

/* What is known of it first; below a rule the end of its conversation, or what was scrolled back to. */
static void
draw_preview(struct picker *p, const struct picker_row *row, int y, int x, size_t height, size_t width)
{
	struct preview_rows facts = { .n = 0 }, talk = { .n = 0 };
	size_t shown, room, first;

	for (size_t i = 0; i < row->n_lines; i++)
		wrap(i < row->facts ? &facts : &talk, &row->line[i], width);
	shown = facts.n + 4 > height && talk.n > 0 ? (height > 4 ? height - 4 : height) : facts.n;
	shown = shown > facts.n ? facts.n : shown > height ? height : shown;
	for (size_t i = 0; i < shown; i++)
		put_preview_row(p, y + (int)i, x, width, &facts.v[i]);
	room = height > shown + 1 ? height - shown - 1 : 0;
	if (room > 0 && talk.n > 0) {
		size_t most = talk.n > room ? talk.n - room : 0;

		p->back = p->back > most ? most : p->back;
		first = most - p->back;
		for (size_t i = 0; i < room && first + i < talk.n; i++)
			put_preview_row(p, y + (int)(shown + 1 + i), x, width, &talk.v[first + i]);
	}
	release_preview_rows(&facts);
	release_preview_rows(&talk);
}

static void
draw_help(const struct picker *p, int y, int x, size_t height, size_t width)
{
	static const char *const lines[] = {
		"Up Down  j k         move (also PgUp, PgDn, Home, End, g, G)",
		"Tab      Space       mark or unmark, and move on",
		"a                    mark all sessions shown, or none",
		"/                    filter by session, directory, cause, agent or bead",
		"Enter                recover the marked sessions, or the highlighted one",
		"J K                  scroll the preview",
		"Esc                  clear the filter, close this help, or leave",
		"q        Ctrl-C      leave; nothing is recovered",
	};

	for (size_t i = 0; i < sizeof lines / sizeof lines[0] && i < height; i++)
		put_cell(p, y + (int)i, x, width, A_NORMAL, lines[i]);
}

static void
draw_detail(struct picker *p, int y, int x, size_t height, size_t width)
{
	const struct picker_row *row = picker_current(p);

	if (p->help)
		draw_help(p, y, x, height, width);
	else if (row != NULL && row->read)
		draw_preview(p, row, y, x, height, width);
	else if (row != NULL)
		put_cell(p, y, x, width, A_DIM, "Reading its context...");
}

/* ---- frame ---- */

static void
draw_title(const struct picker *p)
{
	struct buf left = BUF_INIT, right = BUF_INIT;
	size_t refused = 0, marked = 0, width = (size_t)COLS, used;

	for (size_t i = 0; i < p->n; i++) {
		refused += p->row[i].no.name != NULL;
		marked += p->row[i].marked;
	}
	buf_fmt(&left, "gt-recover: %zu recoverable", p->n - refused);
	if (refused > 0)
		buf_fmt(&left, ", %zu not now", refused);
	if (p->filter.len > 0 && !p->typing)
		buf_fmt(&right, "filter: %s", p->filter.data);
	if (marked > 0)
		buf_fmt(&right, "%s%zu marked", right.len > 0 ? "   " : "", marked);
	put_cell(p, 0, 0, width, A_BOLD, left.data);
	used = utf8_width(right.data, right.len);
	if (used + left.len + 2 <= width)
		put_text(p, 0, (int)(width - used), pair(p, PAIR_MARKED, A_BOLD), right.data);
	buf_release(&left);
	buf_release(&right);
}

static void
draw_keys(const struct picker *p)
{
	static const char *const keys[] = {
		"Tab mark  a mark all  / filter  J/K scroll  ? keys  q quit",
		"Tab mark  a all  / filter  ? keys  q quit",
		"? keys  q quit",
	};
	static const char typing[] = "Enter recover  Down keep filter  Esc clear";
	size_t k = 0, marked = 0, width = (size_t)COLS - 1;
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < p->n; i++)
		marked += p->row[i].marked;
	curs_set(p->typing);
	if (p->typing) {
		buf_fmt(&b, "Filter: %s", p->filter.data);
		put_cell(p, LINES - 1, 0, width, A_NORMAL, b.data);
		if (b.len + 2 + strlen(typing) < width)
			put_text(p, LINES - 1, (int)(width - strlen(typing)), A_DIM, typing);
		wmove(stdscr, LINES - 1, (int)utf8_width(b.data, b.len));
	} else if (p->message.len > 0) {
		put_cell(p, LINES - 1, 0, width, pair(p, PAIR_WARNING, A_BOLD), p->message.data);
	} else {
		buf_str(&b, "Enter recover  ");
		if (marked > 0)
			buf_fmt(&b, "%zu marked  ", marked);
		while (k < 2 && b.len + strlen(keys[k]) > width)
			k++;
		buf_str(&b, keys[k]);
		put_cell(p, LINES - 1, 0, width, A_DIM, b.data);
	}
	buf_release(&b);
}

static size_t
list_height(const struct picker *p)
{
	size_t body = (size_t)LINES - 4, most = body * 2 / 5;

	if (COLS >= WIDE)
		return (size_t)LINES - 3;
	most = most < 3 ? 3 : most;
	return p->n < most ? (p->n > 0 ? p->n : 1) : most;
}

size_t
picker_screen_page(const struct picker *p)
{
	return list_height(p);
}

void
picker_screen_draw(struct picker *p)
{
	size_t height = list_height(p);
	int below = (int)height + 2;

	werase(stdscr);
	if (LINES < LEAST_ROWS || COLS < LEAST_COLUMNS) {
		mvaddnstr(0, 0, "window too small", COLS);
	} else if (COLS >= WIDE) {
		int left = COLS * 45 / 100;

		draw_title(p);
		draw_list(p, 1, height, (size_t)left);
		for (int y = 1; y < LINES - 1; y++)
			put_text(p, y, left + 1, A_DIM, p->ascii ? "|" : "│");
		draw_detail(p, 1, left + 3, (size_t)LINES - 2, (size_t)(COLS - left - 4));
		draw_keys(p);
	} else {
		draw_title(p);
		draw_list(p, 1, height, (size_t)COLS);
		for (int x = 0; x < COLS; x++)
			put_text(p, below, x, A_DIM, p->ascii ? "-" : "─");
		draw_detail(p, below + 1, 0, (size_t)(LINES - below - 2), (size_t)COLS);
		draw_keys(p);
	}
	wrefresh(stdscr);
}
