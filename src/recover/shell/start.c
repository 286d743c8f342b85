#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recover/shell/start.h"
#include "app/app.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/sys.h"
#include "base/utf8.h"
#include "process/proc.h"
#include "process/shell.h"
#include "process/terminal.h"
#include "tmux/tmux.h"

/* Milliseconds, all of them measured on two busy cores. */
#define STEP_MS 60			/* between two looks */
#define KEY_MS 150			/* a shell's answer to Ctrl-C begins within it */
#define SETTLE_MS 3000
#define SHOWN_MS 2000
#define CHECK_IN_MS 4000
#define SAMPLE_MS 100
#define BUSY_MS 2000

#define SAMPLES 3
#define INTERRUPTS_LEAST 2		/* the first may only close a menu or a search */
#define INTERRUPTS_MOST 6
#define TYPEABLE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"

#define WAY_OUT "gt-recover --respawn replaces the shell by the agent"

struct typing {
	struct app *w;
	struct tmux *t;
	const struct pane *p;
	pid_t shell;
	enum shell_kind kind;
	char *line;
	struct start_result *out;
};

/* What the pane shows, and where its cursor stands. */
struct view {
	int x, y, width, height;
	bool dead, alternate, input_off, in_mode, moved; /* moved: margins or origin are not the usual */
	int64_t typed;
	char **rows;
	size_t n;
	struct buf text;
};

static void
view_release(struct view *v)
{
	free(v->rows);
	buf_release(&v->text);
	memset(v, 0, sizeof *v);
}

static void
split_rows(struct view *v)
{
	char *p = v->text.data;
	size_t cap = 0;

	while (p != NULL) {
		char *end = strchr(p, '\n');

		if (end != NULL)
			*end = '\0';
		v->rows = vec_room(v->rows, v->n, &cap, sizeof *v->rows);
		v->rows[v->n++] = p;
		p = end != NULL ? end + 1 : NULL;
	}
}

static int
pane_changed(const struct typing *s, struct err *e)
{
	return err_set(
	    e, GT_AGAIN, "changed", "pane %s was replaced, or its process has ended", s->p->id);
}

static int
look(const struct typing *s, struct view *v, struct err *e)
{
	static const char format[] =
	    "#{pid} #{start_time} #{pane_pid} #{?pane_dead,1,0} #{cursor_x} #{cursor_y} #{pane_width} "
	    "#{pane_height} #{?alternate_on,1,0} #{?pane_input_off,1,0} #{?pane_in_mode,1,0} "
	    "#{?origin_flag,1,0} #{scroll_region_upper} #{scroll_region_lower}";
	long long pid = 0, start = 0, shell = 0;
	int dead = 1, alternate = 0, off = 0, mode = 0, origin = 0, upper = 0, lower = 0;
	struct tmux_batch b;
	const char *text;
	size_t n = 0, at, screen;
	int ret;

	memset(v, 0, sizeof *v);
	buf_init(&v->text);
	tmux_batch_init(&b);
	at = tmux_batch_add(&b, "display-message", "-p", "-t", s->p->id, format, NULL);
	screen = tmux_batch_add(&b, "capture-pane", "-p", "-t", s->p->id, NULL);
	ret = tmux_batch_run(s->t, &b, e);
	text = ret == 0 ? tmux_batch_output(&b, at, &n) : NULL;
	if (ret == 0 &&
	    (text == NULL || n == 0 ||
		sscanf(text, "%lld %lld %lld %d %d %d %d %d %d %d %d %d %d %d", &pid, &start, &shell, &dead,
		    &v->x, &v->y, &v->width, &v->height, &alternate, &off, &mode, &origin, &upper,
		    &lower) != 14 ||
		pid != s->p->server_pid || start != s->p->server_start || shell != s->p->pid || dead))
		ret = pane_changed(s, e);
	text = ret == 0 ? tmux_batch_output(&b, screen, &n) : NULL;
	if (ret == 0 && text == NULL)
		ret = pane_changed(s, e);
	if (ret == 0) {
		v->alternate = alternate;
		v->input_off = off;
		v->in_mode = mode;
		v->moved = origin || upper != 0 || lower != v->height - 1;
		buf_add(&v->text, text, n);
		split_rows(v);
	}
	tmux_batch_release(&b);
	return ret;
}

/* Appends the first `columns` columns of a row, filled up with blanks. */
static void
add_columns(struct buf *out, const char *row, int columns)
{
	size_t left = strlen(row);
	int32_t rune;

	while (left > 0 && columns > 0) {
		size_t len = utf8_next(row, left, &rune);
		int width = rune < 0 ? 1 : utf8_width_rune(rune);

		if (width > columns)
			break;
		buf_add(out, row, len);
		columns -= width > 0 ? width : 0;
		row += len;
		left -= len;
	}
	for (; columns > 0; columns--)
		buf_chr(out, ' ');
}

/*
 * The text left of the cursor, of as many rows as `columns` columns and the row before them need:
 * a long line is wrapped. Heap.
 */
static char *
left_of_cursor(const struct view *v, int columns)
{
	int first = v->y, have = v->x;
	struct buf b = BUF_INIT;

	while (have < columns && first > 0) {
		first--;
		have += v->width;
	}
	for (int y = first; y <= v->y && (size_t)y < v->n; y++)
		add_columns(&b, v->rows[y], y < v->y ? v->width : v->x);
	buf_chr(&b, '\0');
	return buf_detach(&b);
}

/* Are two prompts the same? Digits (a clock, a counter) and blanks at the end do not count. */
static bool
is_same_prompt(const char *a, size_t n_a, const char *b, size_t n_b)
{
	while (n_a > 0 && a[n_a - 1] == ' ')
		n_a--;
	while (n_b > 0 && b[n_b - 1] == ' ')
		n_b--;
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++)
		if (a[i] != b[i] && !(isdigit((unsigned char)a[i]) && isdigit((unsigned char)b[i])))
			return false;
	return true;
}

/* Did something stand behind the prompt before it was found? */
static bool
has_text_behind(const char *before, const char *prompt)
{
	size_t n = strlen(prompt), len = strlen(before);

	while (n > 0 && prompt[n - 1] == ' ')
		n--;
	while (len > 0 && before[len - 1] == ' ')
		len--;
	return n > 0 && len > n && is_same_prompt(before, n, prompt, n);
}

/* The last n bytes of the prompt: the row that it ends in; rows above it may differ. */
static bool
ends_with_prompt(const char *text, size_t n, const char *prompt)
{
	size_t len = strlen(prompt);

	return n >= len && is_same_prompt(text + n - len, len, prompt, len);
}

/* Sends bytes to this pane alone. */
static int
send(const struct typing *s, const char *bytes, struct err *e)
{
	struct buf condition = BUF_INIT;
	char *name = xasprintf("gt-recover-%ld", (long)getpid());
	char *paste = xasprintf(
	    "paste-buffer -d -r%s -b %s -t %s", pane_cleans_paste(s->p) ? " -S" : "", name, s->p->id);
	char *drop = xasprintf("delete-buffer -b %s ; display-message -p no", name);
	struct tmux_batch b;
	const char *out;
	size_t at, n = 0;
	int ret;

	tmux_batch_init(&b);
	b.mutates = true;
	buf_str(&condition, "#{&&:#{!=:#{pane_dead},1},");
	pane_guard(&condition, s->p);
	buf_chr(&condition, '}');
	tmux_batch_add(&b, "set-buffer", "-b", name, bytes, NULL);
	at = tmux_batch_add(&b, "if-shell", "-F", "-t", s->p->id, condition.data, paste, drop, NULL);
	ret = tmux_batch_run(s->t, &b, e);
	out = ret == 0 ? tmux_batch_output(&b, at, &n) : NULL;
	if (ret == 0 && (tmux_batch_failed(&b, NULL) || (out != NULL && n >= 2 && memcmp(out, "no", 2) == 0)))
		ret = pane_changed(s, e);
	tmux_batch_release(&b);
	buf_release(&condition);
	free(name);
	free(paste);
	free(drop);
	return ret;
}

static bool
is_same_view(const struct view *a, const struct view *b)
{
	if (a->x != b->x || a->y != b->y || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->rows[i], b->rows[i]) != 0)
			return false;
	return true;
}

/* Until the shell waits and the screen stands still, three looks long; at most SETTLE_MS. The last look. */
static int
settle(const struct typing *s, struct view *out, struct err *e)
{
	int64_t until = clock_mono_ms() + SETTLE_MS;
	struct view now;
	int same = 0;

	if (look(s, out, e) != 0)
		return -1;
	while (same < 2 && clock_mono_ms() < until) {
		clock_sleep_ms(STEP_MS);
		if (look(s, &now, e) != 0)
			return -1;
		same = is_same_view(out, &now) && shell_waits(s->shell, s->kind, s->p->tty) == SHELL_WAITS
		    ? same + 1
		    : 0;
		view_release(out);
		*out = now;
	}
	return 0;
}

/* Ctrl-C, and what the shell makes of it. */
static int
interrupt(const struct typing *s, struct view *after, struct err *e)
{
	if (terminal_repair(s->p->tty, s->kind == SHELL_DASH, e) != 0 || send(s, "\003", e) != 0)
		return -1;
	s->out->interrupts++;
	clock_sleep_ms(KEY_MS);
	return settle(s, after, e);
}

/* 1: the line stands behind the prompt and the cursor behind the line; 0: it did not come to that. */
static int
wait_shown(const struct typing *s, const char *prompt, struct err *e)
{
	int64_t until = clock_mono_ms() + SHOWN_MS;
	size_t n_line = strlen(s->line);
	struct view now;

	do {
		char *left;
		size_t n;
		bool shown;

		clock_sleep_ms(STEP_MS);
		if (look(s, &now, e) != 0)
			return -1;
		left = left_of_cursor(&now, (int)(n_line + strlen(prompt)));
		n = strlen(left);
		shown = n >= n_line && strcmp(left + n - n_line, s->line) == 0 &&
		    ends_with_prompt(left, n - n_line, prompt);
		free(left);
		view_release(&now);
		if (shown)
			return 1;
	} while (clock_mono_ms() < until);
	return 0;
}

/*
 * Ctrl-C until a line that is typed can be seen and taken back without a trace. 1: the edit line is
 * empty, and *prompt (heap) is what stands left of it; 0: it could not be made so.
 */
static int
find_empty_line(struct typing *s, char **prompt, struct err *e)
{
	struct view v = { .n = 0 };
	int interrupts = 0, ret = 0;

	*prompt = NULL;
	for (; ret == 0 && interrupts < INTERRUPTS_LEAST; interrupts++) {
		view_release(&v);
		ret = interrupt(s, &v, e);
	}
	while (ret == 0 && interrupts < INTERRUPTS_MOST) {
		int shown;
		char *left;

		free(*prompt);
		*prompt = left_of_cursor(&v, 1);
		if (send(s, s->line, e) != 0 || (shown = wait_shown(s, *prompt, e)) < 0) {
			ret = -1;
			break;
		}
		view_release(&v);
		ret = interrupt(s, &v, e);
		interrupts++;
		if (ret == 0 && !shown && s->kind == SHELL_BASH && terminal_relearn(s->p->tty, s->shell)) {
			view_release(&v);
			ret = settle(s, &v, e);
		}
		left = left_of_cursor(&v, 1);
		if (ret == 0 && shown && is_same_prompt(left, strlen(left), *prompt, strlen(*prompt)))
			ret = 1;
		free(left);
	}
	if (ret == 1) {
		free(*prompt);
		*prompt = left_of_cursor(&v, 1);
	}
	view_release(&v);
	return ret;
}

static int
refuse_unclean(struct typing *s, struct err *e)
{
	struct view v = { .n = 0 };

	interrupt(s, &v, NULL);
	view_release(&v);
	err_set(e, GT_REFUSED, "shell-unclean",
	    "the shell in pane %s has no empty prompt; nothing was executed", s->p->id);
	return err_hint(e, "finish or clear its command line and try again; or: " WAY_OUT);
}

/* A key that somebody pressed since the first look. */
static int
check_keys(const struct typing *s, struct err *e)
{
	struct pane now = { .pid = 0 };
	int ret = pane_reread(s->t, s->p, &now, e);

	if (ret == 0 && now.typed > s->p->typed) {
		err_set(e, GT_REFUSED, "typing", "refused: someone is typing in pane %s", s->p->id);
		ret = err_hint(e, "nothing was executed; run gt-recover again when the shell is free");
	}
	pane_release(&now);
	return ret;
}

/* Puts back what the dead agent left switched on, as far as the shell does not do it itself. */
static int
reset_terminal(const struct typing *s, struct view *v, struct err *e)
{
	struct buf b = BUF_INIT;
	int ret;

	if (terminal_repair(s->p->tty, s->kind == SHELL_DASH, e) != 0)
		return -1;
	buf_str(&b, TERMINAL_RESET);
	if (v->moved)
		buf_fmt(&b, "\033[?6l\033[r\033[%d;%dH", v->y + 1, v->x + 1);
	if (v->alternate)
		buf_str(&b, "\033[?1049l\r\n\033[J");
	ret = terminal_put(s->p->tty, b.data, b.len, e);
	buf_release(&b);
	return ret;
}

/* Enter was pressed. */
static int
wait_check_in(const struct typing *s, const char *id, struct err *e)
{
	int64_t until = clock_mono_ms() + CHECK_IN_MS, ticks;
	bool withdrawn = false;
	char *why = NULL;
	pid_t agent;

	for (;;) {
		if (start_ticket_answer(s->w->state_dir, id, &agent, &ticks, &why) == 1)
			break;
		if (clock_mono_ms() >= until && !withdrawn) {
			/* from here on a late start finds nothing; one that has the ticket answers soon */
			int got = start_ticket_withdraw(s->w->state_dir, id, e);

			if (got < 0)
				return -1;
			if (got == 1)
				break;
			withdrawn = true;
			until = clock_mono_ms() + CHECK_IN_MS;
		} else if (clock_mono_ms() >= until) {
			break;
		}
		clock_sleep_ms(STEP_MS);
	}
	if (agent > 0)
		return 0;
	if (why != NULL)
		err_set(e, GT_FAIL, "start", "the agent could not be started in the shell of pane %s: %s",
		    s->p->id, why);
	else
		err_set(e, GT_FAIL, "no-check-in",
		    "the shell of pane %s did not execute the start line", s->p->id);
	free(why);
	return err_hint(e, "check the pane; then run gt-recover for this session again, or: " WAY_OUT);
}

static int
type_and_run(struct typing *s, const char *id, struct err *e)
{
	struct view v;
	char *prompt = NULL, *before;
	int clean, ret = -1;

	if (look(s, &v, e) != 0)
		return -1;
	before = left_of_cursor(&v, 1);
	if (v.in_mode)
		tmux_do(s->t, true, NULL, NULL, "copy-mode", "-q", "-t", s->p->id, NULL);
	clean = reset_terminal(s, &v, e);
	view_release(&v);
	if (clean != 0) {
		free(before);
		return -1;
	}
	clock_sleep_ms(KEY_MS);
	for (int tries = 0; tries < 2; tries++) {
		free(prompt);
		prompt = NULL;
		/* the second time: a paste that was begun and never ended holds every key */
		if (tries > 0 && send(s, "\033[201~", e) != 0)
			goto out;
		clean = find_empty_line(s, &prompt, e);
		if (clean < 0)
			goto out;
		if (clean == 0)
			continue;
		if (check_keys(s, e) != 0 || send(s, s->line, e) != 0 ||
		    (clean = wait_shown(s, prompt, e)) < 0)
			goto out;
		if (clean == 1)
			break;
	}
	if (clean != 1) {
		ret = refuse_unclean(s, e);
		goto out;
	}
	if (check_keys(s, e) != 0) {
		struct view after = { .n = 0 };

		interrupt(s, &after, NULL);
		view_release(&after);
		goto out;
	}
	s->out->half_typed = has_text_behind(before, prompt);
	if (send(s, "\r", e) == 0)
		ret = wait_check_in(s, id, e);
out:
	free(before);
	free(prompt);
	return ret;
}

static bool
is_typeable(const char *path)
{
	return *path == '/' && path[strspn(path, TYPEABLE)] == '\0';
}

/*
 * That of a link in the state directory, by which the program finds the ticket whatever its
 * environment is; else our own path. Heap. NULL: neither can be typed.
 */
static char *
program_path(struct app *w)
{
	char *own = sys_program_path(), *link, *temporary;

	if (own == NULL)
		return NULL;
	link = app_path(w, "bin", "gt-recover", true, NULL);
	if (link != NULL && is_typeable(link)) {
		temporary = xasprintf("%s.%ld", link, (long)getpid());
		unlink(temporary);
		if (symlink(own, temporary) == 0 && rename(temporary, link) == 0) {
			free(temporary);
			free(own);
			return link;
		}
		unlink(temporary);
		free(temporary);
	}
	free(link);
	if (is_typeable(own))
		return own;
	free(own);
	return NULL;
}

static int
refuse_shell(struct err *e, const char *name, const char *id, const char *why, const char *then)
{
	err_set(e, GT_REFUSED, name, "refused: the shell in pane %s %s", id, why);
	return err_hint(e, "%s; or: " WAY_OUT, then);
}

/* SHELL_WAITS: in three looks in a row, for which it has BUSY_MS: a prompt may be drawn just now. */
static enum shell_wait
sample(pid_t shell, enum shell_kind kind, const char *tty)
{
	int64_t until = clock_mono_ms() + BUSY_MS;
	int in_a_row = 0;

	for (;;) {
		enum shell_wait waits = shell_waits(shell, kind, tty);

		in_a_row = waits == SHELL_WAITS ? in_a_row + 1 : 0;
		if (waits == SHELL_UNSEEN || in_a_row == SAMPLES)
			return waits;
		if (clock_mono_ms() >= until)
			return SHELL_BUSY;
		clock_sleep_ms(SAMPLE_MS);
	}
}

int
start_check_shell(struct app *w, const struct pane *p, pid_t *shell, struct err *e)
{
	struct typing s = { .w = w, .t = app_server(w, p->socket), .p = p };
	struct procs procs = { .n = 0 };
	enum shell_kind kind;
	char *program;
	struct view v;

	if (proc_list(&procs, e) != 0)
		return -1;
	*shell = proc_list_waiting_shell(&procs, p->pid);
	proc_list_release(&procs);
	if (*shell == 0)
		return refuse_shell(e, "shell-busy", p->id, "is at work", "wait until it is done");
	kind = shell_kind(*shell);
	if (kind == SHELL_UNKNOWN)
		return refuse_shell(e, "shell-unknown", p->id, "is not bash, zsh, fish or dash",
		    "start the agent there by hand");
	/* dash leaves the terminal as the dead agent had it */
	if (kind == SHELL_DASH && terminal_repair(p->tty, true, e) != 0)
		return -1;
	switch (sample(*shell, kind, p->tty)) {
	case SHELL_UNSEEN:
		return refuse_shell(e, "shell-busy", p->id, "does not show whether it is idle",
		    "start the agent there by hand");
	case SHELL_BUSY: return refuse_shell(e, "shell-busy", p->id, "is at work", "wait until it is done");
	case SHELL_WAITS: break;
	}
	if (look(&s, &v, e) != 0)
		return -1;
	if (v.input_off || shell_ignores_interrupt(*shell, p->tty)) {
		view_release(&v);
		return refuse_shell(e, "shell-deaf", p->id,
		    "cannot be interrupted (input is off, or Ctrl-C means nothing)", "enable it again");
	}
	view_release(&v);
	program = program_path(w);
	if (program == NULL) {
		err_set(e, GT_REFUSED, "path",
		    "refused: the path of gt-recover has characters that cannot be typed safely");
		return err_hint(e, "install it under a path of letters, "
		    "digits and . _ - / only; or: " WAY_OUT);
	}
	free(program);
	return 0;
}

int
start_in_shell(struct app *w, const struct pane *p, pid_t shell, const char *id, struct start_result *out,
    struct err *e)
{
	struct typing s = { .w = w, .t = app_server(w, p->socket), .p = p, .shell = shell, .out = out };
	char *program = program_path(w);
	pid_t now;
	int ret;

	memset(out, 0, sizeof *out);
	if (program == NULL || start_check_shell(w, p, &now, e) != 0) {
		free(program);
		return -1;
	}
	if (now != shell) {
		free(program);
		return pane_changed(&s, e);
	}
	s.kind = shell_kind(shell);
	s.line = xasprintf(" %s start %s", program, id);
	ret = type_and_run(&s, id, e);
	free(s.line);
	free(program);
	return ret;
}
