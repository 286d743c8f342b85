#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tmux/tmux.h"
#include "base/clock.h"
#include "base/err.h"

/*
 * One field a line of this table. Each field of each pane is printed behind "NONCE field-number
 * ", so that whatever stands in a path or a title (newlines too) cannot be taken for another
 * field.
 *
 * QUOTED: a path may hold control characters, which tmux prints as they are up to 3.3a and as
 * \033 from 3.4 on. q: doubles each backslash of the path itself, so that the two can be told
 * apart.
 */
enum field_type { TEXT, QUOTED, NUMBER, FLAG };

/* Options of a pane that was reset. */
#define RESET "@gt-recover-reset"
#define KEPT "@gt-recover-kept"

#define FIELD(member, type, format)                                                                          \
	{ offsetof(struct pane, member), sizeof(((struct pane *)0)->member), type, format }

static const struct {
	size_t offset, size;
	enum field_type type;
	const char *format;
} fields[] = {
	FIELD(socket_path, QUOTED, "#{q:socket_path}"),
	FIELD(server_pid, NUMBER, "#{pid}"),
	FIELD(server_start, NUMBER, "#{start_time}"),
	FIELD(session, TEXT, "#{session_name}"),
	FIELD(session_id, TEXT, "#{session_id}"),
	FIELD(window_id, TEXT, "#{window_id}"),
	FIELD(id, TEXT, "#{pane_id}"),
	FIELD(pid, NUMBER, "#{pane_pid}"),
	FIELD(dead, FLAG, "#{pane_dead}"),
	FIELD(dead_status, NUMBER, "#{pane_dead_status}"),
	FIELD(dead_signal, NUMBER, "#{pane_dead_signal}"),
	FIELD(dead_time, NUMBER, "#{pane_dead_time}"),
	FIELD(activity, NUMBER, "#{window_activity}"),
	FIELD(session_created, NUMBER, "#{session_created}"),
	FIELD(width, NUMBER, "#{pane_width}"),
	FIELD(height, NUMBER, "#{pane_height}"),
	FIELD(history_size, NUMBER, "#{history_size}"),
	FIELD(history_limit, NUMBER, "#{history_limit}"),
	FIELD(history_bytes, NUMBER, "#{history_bytes}"),
	FIELD(cursor_x, NUMBER, "#{cursor_x}"),
	FIELD(cursor_y, NUMBER, "#{cursor_y}"),
	FIELD(alternate, FLAG, "#{alternate_on}"),
	FIELD(in_mode, FLAG, "#{pane_in_mode}"),
	FIELD(scrolled, NUMBER, "#{scroll_position}"),
	FIELD(version, TEXT, "#{version}"),
	FIELD(reset_pid, NUMBER, "#{" RESET "}"),
	FIELD(kept, TEXT, "#{" KEPT "}"),
	FIELD(remain_on_exit, TEXT, "#{remain-on-exit}"),
	FIELD(dead_line, TEXT, "#{?pane_dead,#{E:remain-on-exit-format},}"),
	FIELD(command, TEXT, "#{pane_current_command}"),
	FIELD(start_command, TEXT, "#{pane_start_command}"),
	FIELD(start_list, TEXT, "#{pane_start_command_list}"),
	/* 3.2 has none */
	FIELD(start_path, QUOTED, "#{?#{m:3.2*,#{version}},#{q:session_path},#{q:pane_start_path}}"),
	FIELD(path, QUOTED, "#{q:pane_current_path}"),
	FIELD(tty, TEXT, "#{pane_tty}"),
	FIELD(title, TEXT, "#{pane_title}"),
	FIELD(window_name, TEXT, "#{window_name}"),
	FIELD(default_shell, TEXT, "#{default-shell}"),
	FIELD(window_index, NUMBER, "#{window_index}"),
	FIELD(index, NUMBER, "#{pane_index}"),
	FIELD(active, FLAG, "#{pane_active}"),
	FIELD(window_active, FLAG, "#{window_active}"),
	FIELD(window_last, FLAG, "#{window_last_flag}"),
	FIELD(zoomed, FLAG, "#{window_zoomed_flag}"),
	FIELD(automatic_rename, FLAG, "#{automatic-rename}"),
	FIELD(layout, TEXT, "#{window_layout}"),
	FIELD(session_group, TEXT, "#{session_group}"),
	FIELD(default_command, TEXT, "#{default-command}"),
	FIELD(place, TEXT, "#{" PANE_PLACE "}"),
	FIELD(filled, TEXT, "#{" PANE_FILLED "}"),
	FIELD(window_made, TEXT, "#{" WINDOW_MADE "}"),
	FIELD(session_made, TEXT, "#{" SESSION_MADE "}"),
};

#define N_FIELDS (sizeof fields / sizeof fields[0])

/*
 * Last key, attach, and the pane that gets the keys; the window where that may be any of its
 * panes: they are synchronized, or the client has an active pane of its own, which no format
 * tells (3.3a).
 */
static const char client_format[] = "#{?client_readonly,0,#{client_activity}} #{client_created} "
    "#{?#{||:#{pane_synchronized},#{m:*active-pane*,#{client_flags}}},#{window_id},#{pane_id}}";

static char *
unquote(const char *text, size_t n)
{
	char *quoted = xstrndup(text, n);
	struct buf b = BUF_INIT;

	quote_stored(&b, quoted);
	explicit_bzero(quoted, n);
	free(quoted);
	return buf_detach(&b);
}

static void
put_field(struct pane *p, size_t i, const char *text, size_t n)
{
	char *at = (char *)p + fields[i].offset;
	char digits[24];
	long long number;

	if (fields[i].type == TEXT) {
		*(char **)(void *)at = xstrndup(text, n);
		return;
	}
	if (fields[i].type == QUOTED) {
		*(char **)(void *)at = unquote(text, n);
		return;
	}
	snprintf(digits, sizeof digits, "%.*s", (int)(n < 20 ? n : 20), text);
	number = n == 0 ? -1 : strtoll(digits, NULL, 10);
	if (fields[i].type == FLAG)
		*(bool *)at = number == 1;
	else if (fields[i].size == sizeof(int))
		*(int *)(void *)at = (int)number;
	else
		*(int64_t *)(void *)at = number < 0 ? 0 : number;
}

static void
make_format(struct buf *out, const char *nonce)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		buf_fmt(out, "%s %zu %s", nonce, i, fields[i].format);
	buf_fmt(out, "%s end", nonce);
}

/*
 * tmux 3.2: how and when a pane died, and where it began, are in no field. An unknown version counts as
 * later.
 */
static bool
lacks_fields(const struct pane *p)
{
	int n = tmux_number(p->version);

	return n > 0 && n < 30300;
}

/* The start command of 3.8 and later: an argument list, which no escape changes. */
static void
take_list(struct pane *p)
{
	struct buf b = BUF_INIT;

	if (*p->start_list == '\0')
		return;
	quote_list(&b, p->start_list);
	explicit_bzero(p->start_command, strlen(p->start_command));
	free(p->start_command);
	p->start_command = buf_detach(&b);
}

/* What this version of tmux does not tell. */
static void
fill_untold(struct pane *p)
{
	p->start_guessed = lacks_fields(p) && *p->start_path != '\0';
	if (p->dead && p->pid <= 0)
		p->pid = p->dead_time > 0 ? -(pid_t)(p->dead_time & INT32_MAX) : 0;
}

/* Reads one pane at *at; false when there is none left. */
static bool
read_pane(const char *text, size_t n, size_t *at, const char *nonce, struct pane *p)
{
	size_t mark = strlen(nonce);

	for (size_t i = 0; i < N_FIELDS; i++) {
		char head[40], next[40];
		int head_len = snprintf(head, sizeof head, "%s %zu ", nonce, i);
		const char *from = memmem(text + *at, n - *at, head, (size_t)head_len), *to;

		if (from == NULL)
			return false;
		from += head_len;
		snprintf(next, sizeof next, "%s ", nonce);
		to = memmem(from, n - (size_t)(from - text), next, mark + 1);
		if (to == NULL)
			return false;
		put_field(p, i, from, (size_t)(to - from));
		*at = (size_t)(to - text);
	}
	fill_untold(p);
	take_list(p);
	return true;
}

void
pane_release(struct pane *p)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if (fields[i].type == TEXT || fields[i].type == QUOTED) {
			char **s = (char **)(void *)((char *)p + fields[i].offset);

			if (*s != NULL)
				explicit_bzero(*s, strlen(*s));
			free(*s);
		}
	for (size_t i = 0; i < p->n_env; i++) {
		explicit_bzero(p->env[i], strlen(p->env[i]));
		free(p->env[i]);
	}
	free(p->env);
	free(p->socket);
	memset(p, 0, sizeof *p);
}

void
pane_list_release(struct panes *p)
{
	for (size_t i = 0; i < p->n; i++)
		pane_release(&p->v[i]);
	free(p->v);
	memset(p, 0, sizeof *p);
}

static char *
variable(const char *name, size_t name_len, const char *quoted, size_t n)
{
	char *value = unquote(quoted, n), *both = xasprintf("%.*s%s", (int)name_len, name, value);

	explicit_bzero(value, strlen(value));
	free(value);
	return both;
}

/*
 * `show-environment -s` prints  NAME="value"; export NAME;  with \ before $ ` " and \ : the only
 * form in which a value with a newline cannot pose as another variable. tmux 3.4 and later print
 * control characters as \033.
 */
static void
read_env(struct pane *p, const char *text, size_t n)
{
	size_t cap = 0, i = 0;

	while (i < n) {
		size_t name = i, value;

		while (i < n && text[i] != '=' && text[i] != '\n')
			i++;
		if (i + 1 < n && text[i] == '=' && text[i + 1] == '"') {
			value = i += 2;
			while (i < n && text[i] != '"')
				i += text[i] == '\\' && i + 1 < n ? 2 : 1;
			p->env = vec_room(p->env, p->n_env, &cap, sizeof *p->env);
			p->env[p->n_env++] = variable(text + name, value - 1 - name, text + value, i - value);
		}
		while (i < n && text[i] != '\n')
			i++;
		i++;
	}
}

int
pane_list_environ(struct tmux *t, struct panes *list, size_t first, struct err *e)
{
	struct tmux_batch b;
	int ret;

	if (first == list->n)
		return 0;
	tmux_batch_init(&b);
	for (size_t i = first; i < list->n; i++)
		tmux_batch_add(&b, "show-environment", "-s", "-t", list->v[i].session_id, NULL);
	ret = tmux_batch_run(t, &b, e);
	for (size_t i = first; ret == 0 && i < list->n; i++) {
		size_t n;
		const char *text = tmux_batch_output(&b, i - first, &n);

		if (text != NULL)
			read_env(&list->v[i], text, n);
	}
	tmux_batch_release(&b);
	return ret;
}

/* text: a line of client_format for each client. */
static void
read_clients(const char *text, size_t n, struct panes *list, size_t first)
{
	char *lines = xstrndup(text, n), *rest = NULL;

	for (char *line = strtok_r(lines, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		long long typed, attached;
		char target[32];

		if (sscanf(line, "%lld %lld %31s", &typed, &attached, target) != 3 || typed <= attached)
			continue;
		for (size_t i = first; i < list->n; i++) {
			struct pane *p = &list->v[i];

			if (strcmp(p->id, target) != 0 && strcmp(p->window_id, target) != 0)
				continue;
			p->typed = typed > p->typed ? typed : p->typed;
		}
	}
	free(lines);
}

static bool
end_unknown(const struct pane *p)
{
	return p->dead && p->dead_status < 0 && p->dead_signal < 0;
}

void
pane_read_dead_row(struct pane *p, const char *row, size_t n)
{
	char *line = xstrndup(row, n), how[8];
	struct tm at = { .tm_isdst = -1 };
	const char *rest;
	int number, end = 0;

	if (sscanf(line, "Pane is dead (%7[a-z] %d, %n", how, &number, &end) == 2 && end > 0 &&
	    (rest = strptime(line + end, "%a %b %d %H:%M:%S %Y", &at)) != NULL && strcmp(rest, ")") == 0) {
		p->dead_time = mktime(&at);
		if (strcmp(how, "signal") == 0)
			p->dead_signal = number;
		else
			p->dead_status = number;
		free(p->dead_line);
		p->dead_line = line;
		return;
	}
	free(line);
}

/* Of dead panes whose tmux writes how they ended into their last row, and tells it nowhere else. */
static int
read_dead_rows(struct tmux *t, struct panes *list, size_t first, struct err *e)
{
	struct tmux_batch b;
	size_t *of = xcalloc(list->n - first + 1, sizeof *of);
	int ret = 0;

	tmux_batch_init(&b);
	for (size_t i = first; i < list->n; i++)
		if (list->v[i].dead && lacks_fields(&list->v[i])) {
			char row[24];

			snprintf(row, sizeof row, "%d", list->v[i].height - 1);
			of[b.n] = i;
			tmux_batch_add(
			    &b, "capture-pane", "-p", "-t", list->v[i].id, "-S", row, "-E", row, NULL);
		}
	if (b.n > 0)
		ret = tmux_batch_run(t, &b, e);
	for (size_t i = 0; ret == 0 && i < b.n; i++) {
		size_t n;
		const char *text = tmux_batch_output(&b, i, &n);

		if (text != NULL)
			pane_read_dead_row(&list->v[of[i]], text, n);
	}
	tmux_batch_release(&b);
	free(of);
	return ret;
}

static int
list_once(struct tmux *t, bool wake, struct panes *out, struct err *e)
{
	struct buf format = BUF_INIT;
	struct tmux_batch b;
	size_t i, clients, n, at = 0, first = out->n;
	const char *text;
	int ret;

	tmux_batch_init(&b);
	make_format(&format, b.nonce);
	if (wake)
		/* without -b it can hang for good in 3.3a */
		tmux_batch_add(&b, "run-shell", "-b", "true", NULL);
	i = tmux_batch_add(&b, "list-panes", "-a", "-F", format.data, NULL);
	clients = tmux_batch_add(&b, "list-clients", "-F", client_format, NULL);
	ret = tmux_batch_run(t, &b, e);
	text = ret == 0 ? tmux_batch_output(&b, i, &n) : NULL;
	while (text != NULL) {
		struct pane p = { .pid = 0 };

		if (!read_pane(text, n, &at, b.nonce, &p)) {
			pane_release(&p);
			break;
		}
		p.socket = xstrdup(t->socket);
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = p;
	}
	text = ret == 0 ? tmux_batch_output(&b, clients, &n) : NULL;
	if (text != NULL)
		read_clients(text, n, out, first);
	tmux_batch_release(&b);
	buf_release(&format);
	return ret == 0 ? read_dead_rows(t, out, first, e) : ret;
}

static bool
any_end_unknown(const struct panes *list, size_t first)
{
	for (size_t i = first; i < list->n; i++)
		if (end_unknown(&list->v[i]))
			return true;
	return false;
}

int
pane_list_bare(struct tmux *t, struct panes *out, struct err *e)
{
	size_t first = out->n;
	int64_t until = clock_mono_ms() + 1000;

	if (list_once(t, false, out, e) != 0)
		return -1;
	while (any_end_unknown(out, first) && clock_mono_ms() < until) {
		while (out->n > first)
			pane_release(&out->v[--out->n]);
		clock_sleep_ms(20);
		if (list_once(t, true, out, e) != 0)
			return -1;
	}
	return 0;
}

int
pane_list(struct tmux *t, struct panes *out, struct err *e)
{
	size_t first = out->n;

	return pane_list_bare(t, out, e) == 0 ? pane_list_environ(t, out, first, e) : -1;
}

static int
pick_same(struct panes *list, const struct pane *was, struct pane *now)
{
	for (size_t i = 0; i < list->n; i++) {
		struct pane *p = &list->v[i];

		if (strcmp(p->id, was->id) != 0 || p->server_pid != was->server_pid ||
		    p->server_start != was->server_start)
			continue;
		*now = *p;
		list->v[i] = list->v[--list->n];
		if (now->dead && now->pid <= 0 && (!was->dead || was->dead_time == now->dead_time))
			now->pid = was->pid;
		return 0;
	}
	return -1;
}

int
pane_reread(struct tmux *t, const struct pane *was, struct pane *now, struct err *e)
{
	int64_t until = clock_mono_ms() + 1000;

	for (bool wake = false; ; wake = true) {
		struct panes list = { .n = 0 };
		int ret = list_once(t, wake, &list, e);

		if (ret == 0 && pick_same(&list, was, now) != 0)
			ret = err_set(e, GT_FAIL, "gone", "pane %s of the tmux server on socket %s is gone",
			    was->id, t->socket);
		pane_list_release(&list);
		if (ret != 0 || !end_unknown(now) || clock_mono_ms() >= until)
			return ret;
		pane_release(now);
		clock_sleep_ms(20);
	}
}

void
pane_guard(struct buf *out, const struct pane *p)
{
	buf_fmt(out, "#{==:#{pid} #{start_time},%lld %lld}", (long long)p->server_pid,
	    (long long)p->server_start);
}

bool
pane_is_reset(const struct pane *p)
{
	return p->dead && p->reset_pid > 0 && p->reset_pid == p->pid;
}

bool
pane_has_fault(const struct pane *p)
{
	int n = tmux_number(p->version);

	if (*p->version == '\0')
		return false;
	/* what came before 3.5 was called next-3.5 */
	return n == 0 || (n >= 30300 && n < 30500) || strcmp(p->version, "next-3.5") == 0;
}

bool
pane_may_miss_death(const struct pane *p)
{
	int n = tmux_number(p->version);

	return *p->version != '\0' && (n == 0 || (n >= 30300 && n < 30600));
}

bool
pane_cleans_paste(const struct pane *p)
{
	int n = tmux_number(p->version);

	return n == 0 || n >= 30700;
}

bool
pane_exposed(const struct pane *p)
{
	return p->dead && !pane_is_reset(p) && pane_has_fault(p);
}

static void
add_words(struct buf *out, const char *const *argv)
{
	buf_str(out, out->len > 0 ? "; " : "");
	for (size_t i = 0; argv[i] != NULL; i++) {
		quote_arg(out, argv[i]);
		buf_chr(out, ' ');
	}
}

#define WORDS(out, ...) add_words(out, (const char *const[]){ __VA_ARGS__, NULL })

size_t
pane_reset(struct tmux_batch *b, const struct pane *p, const char *kept)
{
	struct buf guard = BUF_INIT, commands = BUF_INIT;
	char pid[24], rows[24];
	size_t i;

	snprintf(pid, sizeof pid, "%lld", (long long)p->pid);
	snprintf(rows, sizeof rows, "%lld", (long long)p->height + p->scrolled);
	buf_str(&guard, "#{&&:");
	pane_guard(&guard, p);
	buf_fmt(&guard, ",#{&&:#{pane_dead},#{&&:#{==:#{pane_pid},%s},#{!=:#{" RESET "},%s}}}}", pid, pid);
	/* beneath another mode the rows would not go into the history */
	WORDS(&commands, "copy-mode", "-q", "-t", p->id);
	WORDS(&commands, "set-option", "-p", "-t", p->id, KEPT, kept);
	WORDS(&commands, "set-option", "-p", "-t", p->id, RESET, pid);
	WORDS(&commands, "send-keys", "-R", "-t", p->id);
	WORDS(&commands, "display-message", "-p", PANE_WAS_RESET);
	if (!p->alternate) {
		WORDS(&commands, "copy-mode", "-t", p->id);
		WORDS(&commands, "send-keys", "-X", "-t", p->id, "goto-line", rows);
	}
	i = tmux_batch_add(
	    b, "if-shell", "-F", "-t", p->id, guard.data, commands.data, "display-message -p another", NULL);
	buf_release(&commands);
	buf_release(&guard);
	return i;
}

char *
pane_place(pid_t server_pid, int64_t server_start, const char *id)
{
	return xasprintf("%lld:%lld:%s", (long long)server_pid, (long long)server_start, id);
}

#define MOST_PLACES 16	/* the newest, and always the first of all */

char *
pane_place_add(const char *place, const char *older)
{
	size_t n = strlen(place), kept = 1;
	struct buf out = BUF_INIT;

	buf_str(&out, place);
	for (size_t len; older != NULL && *older != '\0'; older += len + strspn(older + len, " ")) {
		len = strcspn(older, " ");
		if ((len == n && memcmp(older, place, n) == 0) ||
		    (kept >= MOST_PLACES - 1 && older[len] != '\0'))
			continue;
		buf_fmt(&out, " %.*s", (int)len, older);
		kept++;
	}
	return buf_detach(&out);
}

char *
pane_places(const struct pane *p)
{
	char *own = pane_place(p->server_pid, p->server_start, p->id), *all = pane_place_add(own, p->place);

	free(own);
	return all;
}

static bool
has_place(const char *all, const char *place, size_t n)
{
	for (size_t len; *all != '\0'; all += len + strspn(all + len, " ")) {
		len = strcspn(all, " ");
		if (len == n && memcmp(all, place, n) == 0)
			return true;
	}
	return false;
}

bool
pane_place_is_same(const char *a, const char *b)
{
	for (size_t len; *a != '\0'; a += len + strspn(a + len, " ")) {
		len = strcspn(a, " ");
		if (has_place(b, a, len))
			return true;
	}
	return false;
}

bool
pane_place_read(const char **places, pid_t *server_pid, int64_t *server_start, char **pane_id)
{
	const char *at = *places;
	size_t len = strcspn(at, " ");
	char *end, *next;
	long long pid = strtoll(at, &end, 10), start;

	*places += len + strspn(at + len, " ");
	if (pid <= 0 || *end != ':')
		return false;
	start = strtoll(end + 1, &next, 10);
	if (*next != ':' || next[1] != '%' || next + 2 + strspn(next + 2, "0123456789") != at + len)
		return false;
	*server_pid = (pid_t)pid;
	*server_start = start;
	*pane_id = xstrndup(next + 1, (size_t)(at + len - next - 1));
	return true;
}

const char *
pane_env(const struct pane *p, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < p->n_env; i++)
		if (strncmp(p->env[i], name, n) == 0 && p->env[i][n] == '=')
			return p->env[i] + n + 1;
	return NULL;
}

const struct pane *
pane_list_only(const struct panes *all, const char *id)
{
	const struct pane *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->v[i].id, id) == 0)
			found = &all->v[i];
	for (size_t i = 0; found != NULL && i < all->n; i++)
		n += strcmp(all->v[i].session_id, found->session_id) == 0;
	return n == 1 ? found : NULL;
}
