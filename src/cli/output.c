#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/utf8.h"
#include "tmux/tmux.h"

bool
output_has_color(const struct cli *cli, int fd)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	if (cli->color != NULL && strcmp(cli->color, "auto") != 0)
		return strcmp(cli->color, "always") == 0;
	return isatty(fd) && (term == NULL || strcmp(term, "dumb") != 0) &&
	    (no_color == NULL || *no_color == '\0');
}

bool
output_is_utf8(void)
{
	locale_t user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	bool yes = user != (locale_t)0 && strcmp(nl_langinfo_l(CODESET, user), "UTF-8") == 0;

	if (user != (locale_t)0)
		freelocale(user);
	return yes;
}

void
output_ascii(struct buf *out, const char *text)
{
	static const struct { int32_t rune; char sign; } signs[] = {
		{ 0x2026, '~' }, { 0x2190, '<' }, { 0x2192, '>' }, { 0x2013, '-' }, { 0x2014, '-' },
		{ 0x2018, '\'' }, { 0x2019, '\'' }, { 0x201c, '"' }, { 0x201d, '"' }, { 0x2022, '*' },
		{ 0x2713, '+' }, { 0x00a0, ' ' }, { 0x2717, 'x' }, { 0x00d7, 'x' }, { 0x00b7, '.' },
		{ 0x2500, '-' }, { 0x2502, '|' }, { 0x2514, '`' }, { 0x251c, '|' }, { 0x2588, '#' },
		{ 0x2591, '.' },
	};
	size_t len = strlen(text);

	for (size_t i = 0, step; i < len; i += step) {
		char sign = '?';
		int32_t rune;

		step = utf8_next(text + i, len - i, &rune);
		if (rune >= 0 && rune < 0x80) {
			buf_chr(out, (char)rune);
			continue;
		}
		for (size_t k = 0; k < sizeof signs / sizeof signs[0]; k++)
			sign = signs[k].rune == rune ? signs[k].sign : sign;
		for (size_t w = utf8_width(text + i, step); w > 0; w--)
			buf_chr(out, sign);
	}
}

void
output_text(FILE *to, const char *text)
{
	static int utf8 = -1;
	struct buf b = BUF_INIT;

	if (utf8 < 0)
		utf8 = output_is_utf8();
	if (!utf8)
		output_ascii(&b, text);
	fputs(utf8 ? text : b.len > 0 ? b.data : "", to);
	buf_release(&b);
}

static void
put_part(FILE *to, const char *text, size_t n)
{
	char *part = xstrndup(text, n);

	output_text(to, part);
	free(part);
}

void
output_init(struct cli_output *s, const struct cli *cli)
{
	const char *term = getenv("TERM");

	memset(s, 0, sizeof *s);
	s->quiet = cli->quiet;
	s->json = cli->json;
	s->verbose = cli->verbose;
	s->log = -1;
	s->pipe = -1;
	s->live = isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
	s->color = output_has_color(cli, STDERR_FILENO);
}

void
output_release(struct cli_output *s)
{
	if (s->log >= 0)
		close(s->log);
	s->log = -1;
}

int
output_open_log(struct cli_output *s, const char *path, struct err *e)
{
	s->log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->log >= 0)
		return 0;
	err_sys(e, GT_USAGE, "log-file", "cannot open the log file %s", path);
	return err_hint(e, "correct log_file in gt.toml");
}

size_t
output_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 0;
}

static size_t
count_terminal_rows(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
}

static void
end_waiting(struct cli_output *s)
{
	if (s->waiting > 0 && s->live)
		fputs("\r\033[K", stderr);
	for (size_t i = 1; i < s->waiting && s->live; i++)
		fputs("\033[A\033[K", stderr);
	s->waiting = 0;
}

/*
 * Breaks the row at a blank where it would pass the terminal's edge; what follows stands two
 * columns in. `used`: columns in front of it.
 */
static void
put_row(const char *text, size_t n, size_t used, size_t columns)
{
	while (columns != 0 && used + utf8_width(text, n) > columns) {
		size_t fits = 0, start = strspn(text, " ");

		for (size_t i = start; i < n; i++)
			if (text[i] == ' ' && used + utf8_width(text, i) <= columns)
				fits = i;
		if (fits == 0)
			break;
		put_part(stderr, text, fits);
		fputs("\n  ", stderr);
		text += fits + 1;
		n -= fits + 1;
		used = 2;
	}
	put_part(stderr, text, n);
	putc('\n', stderr);
}

void
output_send(struct cli_output *s, json_t *line)
{
	struct buf text = BUF_INIT;

	json_print(&text, line, false);
	buf_chr(&text, '\n');
	/* the recovery goes on when nobody listens any more */
	(void)io_write_all(s->pipe, text.data, text.len);
	buf_release(&text);
	json_decref(line);
}

static void
put(struct cli_output *s, const char *mark, const char *color, bool exact, const char *fmt, va_list ap)
{
	size_t columns = s->live && !exact ? output_columns(STDERR_FILENO) : 0, used = *mark != '\0' ? 2 : 0;
	struct buf text = BUF_INIT;

	end_waiting(s);
	buf_vfmt(&text, fmt, ap);
	if (s->pipe >= 0) {
		json_t *line = json_object();

		json_put(line, "mark", mark);
		json_put(line, "text", text.data + strspn(text.data, " \n"));
		output_send(s, line);
		buf_release(&text);
		return;
	}
	if (*mark != '\0') {
		fputs(s->color ? color : "", stderr);
		output_text(stderr, mark);
		fputs(s->color ? "\033[0m " : " ", stderr);
	}
	for (const char *row = text.data; row != NULL; used = 0) {
		const char *end = strchr(row, '\n');

		put_row(row, end != NULL ? (size_t)(end - row) : strlen(row), used, columns);
		row = end != NULL ? end + 1 : NULL;
	}
	fflush(stderr);
	buf_release(&text);
}

static void
put_log(struct cli_output *s, bool shown, const char *level, const char *fmt, va_list ap)
{
	struct buf line = BUF_INIT;

	clock_iso(&line, clock_wall_ms());
	buf_chr(&line, ' ');
	buf_str(&line, level);
	buf_vfmt(&line, fmt, ap);
	buf_chr(&line, '\n');
	/* a full disk must not keep an agent from coming back */
	if (s->log >= 0)
		(void)io_write_all(s->log, line.data, line.len);
	if (shown) {
		end_waiting(s);
		fputs(line.data, stderr);
	}
	buf_release(&line);
}

void
output_log(struct cli_output *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_log(s, s->verbose > 0, "", fmt, ap);
	va_end(ap);
}

void
output_level(struct cli_output *s, enum output_level level, const char *fmt, ...)
{
	static const char *const words[] = { "warning: ", "info: ", "debug: " };
	va_list ap;

	if (level == OUTPUT_DEBUG && s->verbose < 2)
		return;
	va_start(ap, fmt);
	put_log(s, level == OUTPUT_WARNING || s->verbose > 0, words[level], fmt, ap);
	va_end(ap);
}

void
output_line(struct cli_output *s, const char *fmt, ...)
{
	va_list ap;

	if (s->quiet)
		return;
	va_start(ap, fmt);
	put(s, "", "", false, fmt, ap);
	va_end(ap);
}

/* used: columns in front of it on its first line. */
static void
wrap(FILE *to, const char *text, int column, size_t used, size_t width)
{
	size_t left = (size_t)column, blanks = strspn(text, " ");

	text += blanks;
	for (size_t n; *text != '\0'; text += n + blanks) {
		n = strcspn(text, " ");
		if (used > left && used + blanks + utf8_width(text, n) > width) {
			fprintf(to, "\n%*s", column, "");
			used = left;
		} else {
			fprintf(to, "%*s", (int)blanks, "");
			used += blanks;
		}
		put_part(to, text, n);
		used += utf8_width(text, n);
		blanks = strspn(text + n, " ");
	}
	putc('\n', to);
}

void
output_wrapped(FILE *to, const char *text, int column, size_t width)
{
	wrap(to, text, column, (size_t)column, width);
}

void
output_fitted(FILE *to, const char *head, const char *text, int column)
{
	size_t columns = output_columns(fileno(to)), n = utf8_width(head, strlen(head));

	output_text(to, head);
	if (n < (size_t)column)
		fprintf(to, "%*s", column - (int)n, "");
	wrap(to, text, column, n < (size_t)column ? (size_t)column : n, columns > 0 ? columns : SIZE_MAX);
}

void
output_exact(struct cli_output *s, const char *fmt, ...)
{
	va_list ap;

	if (s->quiet)
		return;
	va_start(ap, fmt);
	put(s, "", "", true, fmt, ap);
	va_end(ap);
}

void
output_done(struct cli_output *s, const char *fmt, ...)
{
	va_list ap;

	if (s->quiet)
		return;
	va_start(ap, fmt);
	put(s, "✓", "\033[32m", false, fmt, ap);
	va_end(ap);
}

void
output_warning(struct cli_output *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(s, "!", "\033[33m", false, fmt, ap);
	va_end(ap);
}

/* To s->pipe: what the recovery does now (cli_batch_overlap). done: it is proven. */
static void
send_state(struct cli_output *s, bool done, int64_t waited_ms, const char *fmt, ...)
{
	json_t *line = json_object();
	struct buf text = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vfmt(&text, fmt, ap);
	va_end(ap);
	json_put(line, "state", text.data);
	json_put_flag(line, "done", done);
	json_put_int(line, "waited_ms", waited_ms);
	output_send(s, line);
	buf_release(&text);
}

static void
send_answered(struct cli_output *s)
{
	json_t *line = json_object();

	json_put_flag(line, "answered", true);
	output_send(s, line);
}

/* When it waits for something else, then every 30 s. */
static void
send_waiting(struct cli_output *s, const char *what, int64_t elapsed_ms)
{
	if (s->waits_for == what && elapsed_ms < s->waiting_told + 30000)
		return;
	s->waits_for = what;
	s->waiting_told = elapsed_ms;
	send_state(s, false, elapsed_ms, "waiting for %s…", what);
}

void
output_rows(struct cli_output *s, const char *const *rows, size_t n)
{
	size_t columns = output_columns(STDERR_FILENO), most = count_terminal_rows() - 1;

	if (s->quiet || !s->live)
		return;
	end_waiting(s);
	for (size_t i = 0; i < n && i < most; i++) {
		struct buf shown = BUF_INIT;

		/* a row that reaches the edge could not be rewritten in place */
		utf8_escape(&shown, rows[i], strlen(rows[i]), columns > 0 ? columns - 1 : 0);
		fprintf(stderr, "%s%s", i > 0 ? "\n" : "", shown.data != NULL ? shown.data : "");
		buf_release(&shown);
		s->waiting++;
	}
	fflush(stderr);
}

/*
 * The line that is rewritten while we wait: "Waiting for … 12s". On no terminal: once when it
 * begins, then every 30 s.
 */
static void
output_waiting(struct cli_output *s, const char *what, int64_t elapsed_ms)
{
	size_t columns = output_columns(STDERR_FILENO);
	struct buf line = BUF_INIT, age = BUF_INIT, shown = BUF_INIT;

	if (s->pipe >= 0) {
		send_waiting(s, what, elapsed_ms);
		return;
	}
	if (s->quiet)
		return;
	clock_age(&age, elapsed_ms);
	buf_fmt(&line, "  Waiting for %s… ", what);
	/* a row that reaches the edge could not be rewritten in place */
	utf8_escape(&shown, line.data, line.len, columns > age.len ? columns - 1 - age.len : 0);
	if (s->live || s->waiting == 0 || elapsed_ms % 30000 < 250) {
		fputs(s->live ? "\r\033[K" : "", stderr);
		output_text(stderr, s->live ? shown.data : line.data);
		fprintf(stderr, "%s%s", age.data, s->live ? "" : "\n");
	}
	fflush(stderr);
	s->waiting = 1;
	buf_release(&line);
	buf_release(&age);
	buf_release(&shown);
}

void
output_thousands(struct buf *out, size_t n)
{
	char digits[32];
	int len = snprintf(digits, sizeof digits, "%zu", n);

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_chr(out, ',');
		buf_chr(out, digits[i]);
	}
}

void
output_short(struct buf *out, size_t n)
{
	if (n < 1000)
		buf_fmt(out, "%zu", n);
	else if (n < 1000000)
		buf_fmt(out, "%zu.%zuk", n / 1000, n % 1000 / 100);
	else
		buf_fmt(out, "%zu.%zuM", n / 1000000, n % 1000000 / 100000);
}

void
output_foreign(struct buf *out, const char *text, size_t width)
{
	utf8_escape(out, text, strlen(text), width);
}

const char *
output_shown(const char *text, size_t width)
{
	static struct buf ring[8];
	static size_t next;
	struct buf *b = &ring[next++ % (sizeof ring / sizeof ring[0])];

	if (b->data == NULL)
		buf_init(b);
	buf_reset(b);
	output_foreign(b, text, width);
	return b->data;
}

void
output_place(struct buf *out, const struct candidate *c)
{
	if (c->pane.window_index >= 0)
		buf_fmt(out, ":%d.%d", c->pane.window_index, c->pane.index);
	else if (c->namesake)
		buf_fmt(out, " %s", c->pane.id);
}

const char *
output_name(const struct candidate *c, size_t width)
{
	const char *team, *member = candidate_teammate(c, &team);
	static struct buf b;

	if (b.data == NULL)
		buf_init(&b);
	buf_reset(&b);
	output_foreign(&b, c->pane.session, width);
	if (*c->pane.id == '%' && (member != NULL || c->namesake))
		output_place(&b, c);
	if (member != NULL) {
		buf_chr(&b, ' ');
		output_foreign(&b, member, width);
		buf_chr(&b, '@');
		output_foreign(&b, team, width);
	}
	return output_shown(b.data, 0);
}

/* One who asked for resume in words is warned when it is not done; auto chooses, and says why. */
static void
report_delivery(struct cli_output *s, const struct recovery *r)
{
	if (r->not_resumed != NULL && r->via != NULL && strcmp(r->via, "resume") == 0)
		output_warning(s, "not resumed (%s): %s; it starts a new conversation with its context",
		    r->not_resumed->name, r->not_resumed->sentence);
	else if (r->not_resumed != NULL)
		output_line(
		    s, "In a new conversation (%s): %s", r->not_resumed->name, r->not_resumed->sentence);
}

/* Of a recovery that runs beside others. */
static bool
is_brief(const struct cli_output *s)
{
	return s->pipe >= 0 && s->verbose == 0;
}

static void
report_captured(struct cli_output *s, const struct recovery *r)
{
	const struct gathered *g = &r->gathered;
	struct buf lines = BUF_INIT, who = BUF_INIT;
	size_t users = conversation_count(&g->conversation, ROLE_USER),
	       answers = conversation_count(&g->conversation, ROLE_ASSISTANT);
	char *action;

	if (is_brief(s)) {
		for (size_t i = 0; i < g->n_warnings; i++)
			output_warning(s, "%s", output_shown(g->warnings[i], 600));
		report_delivery(s, r);
		return;
	}
	if (r->words != NULL) {
		output_line(s, "Only its record is left: it restarts from that, with a note about the "
		    "restart");
		return;
	}
	action = conversation_last_action(&g->conversation);
	output_thousands(&lines, g->capture.rows);
	output_line(s, "Capturing context... %s lines", lines.data);
	output_line(s, "Parsing exchanges... %zu user message%s, %zu agent response%s", users,
	    users == 1 ? "" : "s", answers, answers == 1 ? "" : "s");
	if (s->verbose > 0 && g->conversation.unknown_lines > 0)
		output_line(s, "%zu of %zu screen lines not recognized",
		    g->conversation.unknown_lines, g->conversation.lines);
	if (action != NULL)
		output_line(s, "Last activity: \"%s\"", output_shown(action, 70));
	if (g->bead.id != NULL) {
		if (*r->c->role.rig != '\0')
			buf_fmt(&who, "%s/", r->c->role.rig);
		buf_str(&who, *r->c->role.name != '\0' ? r->c->role.name : role_word(r->c->role.kind));
		buf_str(&who, " @ ");
		output_foreign(&who, g->bead.id, 60);
		output_line(s, "Handoff bead: %s", who.data);
	}
	for (size_t i = 0; i < g->n_warnings; i++)
		output_warning(s, "%s", output_shown(g->warnings[i], 600));
	report_delivery(s, r);
	buf_release(&lines);
	buf_release(&who);
	free(action);
}

static void
report_started(struct cli_output *s, const struct recovery *r, const char *who)
{
	const char *how = r->taken_up ? "is running" : r->shell != 0 ? "started in its shell" : "started";

	if (is_brief(s))
		send_state(s, true, 0, "%s %s", who, how);
	else
		output_done(s, "%s %s", who, how);
}

void
output_progress(struct recovery *r, enum recovery_progress what, void *arg)
{
	struct cli_output *s = arg;
	const char *who = r->c->profile->label;
	struct buf tokens = BUF_INIT;

	switch (what) {
	case PROGRESS_CAPTURED:
		report_captured(s, r);
		break;
	case PROGRESS_STARTING:
		if (!is_brief(s))
			output_line(s, "\nStarting recovery...");
		if (r->c->command_source == COMMAND_ASSUMED && r->c->profile->programs[0] != NULL)
			output_warning(s, "its start command was never seen; started as %s",
			    r->c->profile->programs[0]);
		break;
	case PROGRESS_STARTED:
		report_started(s, r, who);
		if (r->half_typed)
			output_warning(
			    s, "the unfinished command line in the shell was not run; it is still on the "
			        "screen");
		if (r->lacking != NULL)
			output_warning(
			    s, "its environment lacks %s, which the crashed agent had", r->lacking);
		break;
	case PROGRESS_INJECTED:
		if (is_brief(s))
			break;
		output_short(&tokens, (size_t)r->attempt.tokens);
		output_done(s,
		    r->attempt.via != NULL && strcmp(r->attempt.via, "resume") == 0 ? "Context injected "
										      "(%s tokens) after "
										      "its own "
										      "conversation"
										    : "Context injected (%s "
										      "tokens)",
		    tokens.data);
		break;
	case PROGRESS_RESUMING:
		output_done(s, "Agent resuming work");
		if (s->pipe >= 0)
			send_answered(s);
		break;
	case PROGRESS_PASTING:
		output_line(s,
		    strcmp(r->attempt.delivery, "paste") == 0 && !r->taken_up ? "  Pasting the context"
									      : "  %s is idle without "
										"the context; pasting it "
										"once",
		    who);
		break;
	case PROGRESS_WAITING:
		output_waiting(s, r->waiting_for, r->waited_ms);
		break;
	}
	buf_release(&tokens);
}

void
output_attach_hint(struct cli_output *s, const struct pane *p)
{
	struct buf command = BUF_INIT, shown = BUF_INIT, target = BUF_INIT;
	const char *here = getenv("TMUX");
	size_t n = here != NULL ? strcspn(here, ",") : 0;
	bool plain = strspn(p->session, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
	    strlen(p->session);

	if (n > 0 && p->socket_path != NULL && strlen(p->socket_path) == n &&
	    strncmp(here, p->socket_path, n) == 0) {
		output_line(s, "\nSwitch to it with: tmux switch-client -t %s", p->id);
		return;
	}
	buf_str(&command, "tmux ");
	if (strcmp(p->socket, "default") != 0) {
		buf_str(&command, strchr(p->socket, '/') != NULL ? "-S " : "-L ");
		quote_sh(&command, p->socket);
		buf_chr(&command, ' ');
	}
	buf_str(&command, "attach -t ");
	/* ids are never taken for a prefix; a name that is all letters reads better */
	buf_fmt(&target, plain ? "=%s" : "%s", plain ? p->session : p->session_id);
	quote_sh(&command, target.data);
	utf8_escape(&shown, command.data, command.len, 0);
	output_exact(s, "\nAttach with: %s", shown.data);
	buf_release(&command);
	buf_release(&shown);
	buf_release(&target);
}
