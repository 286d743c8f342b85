#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapshot/snapshot.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/encode.h"
#include "screen/screen.h"
#include "scrub/scrub.h"

#define BULLET_SHIFT 5		/* the marks are below */

/* ---- writing ---- */

static json_t *
json_server(const struct snapshot *s)
{
	json_t *v = json_object();

	json_put_int(v, "pid", s->server_pid);
	json_put_int(v, "start", s->server_start);
	if (s->pid_ns != 0)
		json_put_int(v, "pid_ns", (int64_t)s->pid_ns);
	return v;
}

static json_t *
json_pane(const struct snapshot *s)
{
	json_t *v = json_object();

	json_put(v, "id", s->pane);
	json_put_int(v, "pid", s->pane_pid);
	json_put_int(v, "width", s->width);
	json_put_int(v, "height", s->height);
	json_put_int(v, "history_limit", s->history_limit);
	json_put_flag(v, "alternate", s->alternate);
	json_put_flag(v, "dead", s->dead);
	json_put(v, "title", s->title);
	if (s->place != NULL && *s->place != '\0')
		json_put(v, "place", s->place);
	return v;
}

static json_t *
json_window(const struct snapshot *s)
{
	json_t *v = json_object();

	json_put(v, "id", s->window_id);
	json_put(v, "name", s->window_name);
	return v;
}

static json_t *
json_process(const struct snapshot *s)
{
	json_t *v;

	if (s->pid <= 0)
		return json_null();
	v = json_object();
	json_put_int(v, "pid", s->pid);
	json_put_int(v, "start", (int64_t)s->pid_start);
	return v;
}

static json_t *
json_secrets(const struct snapshot *s)
{
	json_t *v = json_array();

	for (size_t i = 0; i < s->n_secrets; i++)
		json_array_append_new(v, json_bytes(s->secrets[i], strlen(s->secrets[i])));
	return v;
}

static void
put_style(struct buf *out, const struct sgr_rows *style)
{
	static const char digits[] = "0123456789abcdef";

	buf_str(out, ",\"style\":");
	if (style == NULL) {
		buf_str(out, "null");
		return;
	}
	buf_chr(out, '"');
	for (size_t i = 0; i < style->n; i++) {
		unsigned both = style->v[i].marks | (unsigned)style->v[i].bullet << BULLET_SHIFT;

		buf_chr(out, digits[both >> 4 & 15]);
		buf_chr(out, digits[both & 15]);
	}
	buf_chr(out, '"');
}

void
snapshot_body(struct buf *out, const struct snapshot *s)
{
	json_t *v = json_object();
	size_t at = out->len;

	json_put(v, "session", s->session);
	json_put(v, "socket", s->socket);
	json_object_set_new(v, "server", json_server(s));
	json_object_set_new(v, "pane", json_pane(s));
	json_object_set_new(v, "window", json_window(s));
	json_put(v, "agent", s->agent);
	json_put(v, "role", s->role);
	json_put(v, "address", s->address);
	json_put(v, "cwd", s->cwd);
	json_put(v, "config_dir", s->config_dir);
	json_object_set_new(v, "process", json_process(s));
	json_put(v, "session_id", s->session_id);
	json_put(v, "transcript", s->transcript);
	json_put(v, "shell", s->shell);
	json_put(v, "command", s->command);
	json_object_set_new(v, "secrets", json_secrets(s));
	if (s->wrapper != 0)
		json_put_int(v, "wrapper", s->wrapper);
	json_put(v, "git", s->git);
	json_put(v, "bead", s->bead);
	json_put_int(v, "rows", (int64_t)s->rows);
	json_put_flag(v, "cut", s->cut);
	json_print(out, v, false);
	json_decref(v);
	/* the first brace becomes a comma of the whole, the last is written there */
	out->data[at] = ',';
	buf_cut(out, out->len - 1);
	put_style(out, s->style);
	buf_str(out, ",\"text\":");
	json_print_text(out, clean_bytes(s->text), clean_len(s->text));
}

void
snapshot_whole(struct buf *out, const char *body, size_t n, int64_t taken_at, const char *richer)
{
	json_t *v = json_object();

	json_put_int(v, "schema_version", 1);
	json_put_int(v, "taken_at", taken_at);
	json_put(v, "richer", richer);
	json_print(out, v, false);
	json_decref(v);
	buf_cut(out, out->len - 1);
	buf_add(out, body, n);
	buf_str(out, SNAPSHOT_END);
}

/* ---- reading ---- */

static char *
snapshot_text(const json_t *v, const char *key)
{
	const char *s = json_text(v, key, NULL);

	return s != NULL ? xstrdup(s) : NULL;
}

static char *
clean_of(const json_t *v, const char *key, struct scrub *s)
{
	struct clean_text *t = scrub_string(s, json_text(v, key, NULL));
	char *copy = t != NULL ? xstrdup(clean_bytes(t)) : NULL;

	clean_free(t);
	return copy;
}

static void
read_pane(struct snapshot *out, const json_t *v, struct scrub *s)
{
	const json_t *server = json_object_get(v, "server"), *pane = json_object_get(v, "pane"),
		     *window = json_object_get(v, "window");
	const json_t *process = json_object_get(v, "process");

	out->session = snapshot_text(v, "session");
	out->socket = snapshot_text(v, "socket");
	out->server_pid = (pid_t)json_number(server, "pid", 0);
	out->server_start = json_number(server, "start", 0);
	out->pid_ns = (uint64_t)json_number(server, "pid_ns", 0);
	out->pane = snapshot_text(pane, "id");
	out->pane_pid = (pid_t)json_number(pane, "pid", 0);
	out->width = (int)json_number(pane, "width", 0);
	out->height = (int)json_number(pane, "height", 0);
	out->history_limit = json_number(pane, "history_limit", 0);
	out->alternate = json_flag(pane, "alternate", false);
	out->dead = json_flag(pane, "dead", false);
	out->title = clean_of(pane, "title", s);
	out->place = snapshot_text(pane, "place");
	out->window_id = snapshot_text(window, "id");
	out->window_name = clean_of(window, "name", s);
	out->pid = (pid_t)json_number(process, "pid", 0);
	out->pid_start = (uint64_t)json_number(process, "start", 0);
}

static void
read_agent(struct snapshot *out, const json_t *v, struct scrub *s)
{
	const json_t *secrets = json_object_get(v, "secrets");
	size_t cap = 0;

	out->agent = snapshot_text(v, "agent");
	out->role = snapshot_text(v, "role");
	out->address = snapshot_text(v, "address");
	out->cwd = snapshot_text(v, "cwd");
	out->config_dir = snapshot_text(v, "config_dir");
	out->session_id = snapshot_text(v, "session_id");
	out->transcript = snapshot_text(v, "transcript");
	out->shell = snapshot_text(v, "shell");
	out->command = clean_of(v, "command", s);
	for (size_t i = 0; i < json_array_size(secrets); i++) {
		const char *name = json_string_value(json_array_get(secrets, i));

		out->secrets = vec_room(out->secrets, out->n_secrets, &cap, sizeof *out->secrets);
		out->secrets[out->n_secrets++] = xstrdup(name != NULL ? name : "value");
	}
	out->wrapper = (int)json_number(v, "wrapper", 0);
	out->git = clean_of(v, "git", s);
	out->bead = clean_of(v, "bead", s);
}

static int
nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL also for what is no style: it is a hint. */
static struct sgr_rows *
style_of(const char *hex)
{
	struct sgr_rows *style;
	size_t n = hex != NULL ? strlen(hex) / 2 : 0;

	if (n == 0)
		return NULL;
	style = xcalloc(1, sizeof *style);
	style->v = xcalloc(n, sizeof *style->v);
	style->n = style->cap = n;
	for (size_t i = 0; i < n; i++) {
		int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);

		if (high < 0 || low < 0) {
			sgr_free(style);
			return NULL;
		}
		style->v[i].marks = (uint8_t)((high << 4 | low) & ((1 << BULLET_SHIFT) - 1));
		style->v[i].bullet = (uint8_t)(high >> 1);
		if (style->v[i].bullet > BULLET_ERROR)
			style->v[i].bullet = BULLET_UNKNOWN;
	}
	return style;
}

static int
read_snapshot(const char *p, size_t n, const char *what, bool whole, struct scrub *s, struct snapshot *out,
    struct err *e)
{
	json_t *v = json_parse(p, n, what, e);
	const json_t *text;
	int ret = 0;

	*out = (struct snapshot)SNAPSHOT_INIT;
	if (v == NULL)
		return -1;
	text = json_object_get(v, "text");
	if (json_number(v, "schema_version", 0) != 1 || (whole && !json_is_string(text))) {
		ret = err_set(e, GT_FAIL, "snapshot", "this version cannot read the snapshot %s", what);
		goto out;
	}
	out->taken_at = json_number(v, "taken_at", 0);
	out->base_snapshot = snapshot_text(v, "richer");
	read_pane(out, v, s);
	read_agent(out, v, s);
	out->rows = (size_t)json_number(v, "rows", 0);
	out->cut = json_flag(v, "cut", false);
	out->style = style_of(json_text(v, "style", NULL));
	if (whole)
		out->text = scrub_text(
		    s, json_string_value(text), json_string_length(text), out->width > 0 ? out->width : -1);
	if (out->session == NULL || out->socket == NULL || out->pane == NULL) {
		snapshot_release(out);
		ret = err_set(e, GT_FAIL, "snapshot", "the snapshot %s names no pane", what);
	}
out:
	json_decref(v);
	return ret;
}

int
snapshot_parse(
    const char *p, size_t n, const char *what, struct scrub *s, struct snapshot *out, struct err *e)
{
	return read_snapshot(p, n, what, true, s, out, e);
}

static int
snapshot_parse_head(
    const char *p, size_t n, const char *what, struct scrub *s, struct snapshot *out, struct err *e)
{
	static const char behind[] = ",\"rows\":";	/* in no string: its quotes would be escaped there */
	const char *end = memmem(p, n, behind, strlen(behind));
	struct buf head = BUF_INIT;
	int ret;

	buf_add(&head, p, end != NULL ? (size_t)(end - p) : n);
	if (end != NULL)
		buf_chr(&head, '}');
	ret = read_snapshot(head.data, head.len, what, false, s, out, e);
	buf_release(&head);
	return ret;
}

void
snapshot_release(struct snapshot *s)
{
	char *const strings[] = { s->base_snapshot, s->session, s->socket, s->pane, s->title, s->place,
		s->window_id, s->window_name, s->agent, s->role, s->address, s->cwd, s->config_dir,
		s->session_id, s->transcript, s->shell, s->command, s->git, s->bead };

	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
		free(strings[i]);
	for (size_t i = 0; i < s->n_secrets; i++)
		free(s->secrets[i]);
	free(s->secrets);
	sgr_free(s->style);
	clean_free(s->text);
	*s = (struct snapshot)SNAPSHOT_INIT;
}

#define MS_DIGITS 13
#define MAX_FILE ((size_t)64 << 20)

static void
make_key(char out[SNAPSHOT_KEY], const struct buf *of)
{
	char hex[65];

	sha256_hex(of->data, of->len, hex);
	memcpy(out, hex, SNAPSHOT_KEY - 1);
	out[SNAPSHOT_KEY - 1] = '\0';
}

void
snapshot_session_key(char out[SNAPSHOT_KEY], const char *socket, const char *session)
{
	struct buf b = BUF_INIT;

	buf_add(&b, socket, strlen(socket) + 1);
	buf_str(&b, session);
	make_key(out, &b);
	buf_release(&b);
}

void
snapshot_pane_key(
    char out[SNAPSHOT_KEY], const char *socket, pid_t server_pid, int64_t server_start, const char *pane)
{
	struct buf b = BUF_INIT;

	buf_add(&b, socket, strlen(socket) + 1);
	buf_fmt(&b, "%lld %lld %s", (long long)server_pid, (long long)server_start, pane);
	make_key(out, &b);
	buf_release(&b);
}

void
snapshot_file_name(char out[SNAPSHOT_NAME], int64_t at, const char *session_key, const char *pane_key)
{
	snprintf(out, SNAPSHOT_NAME, "%0*lld-%s-%s.json", MS_DIGITS, (long long)at, session_key, pane_key);
}

/* n characters of `of` at *p, and the character behind them. */
static bool
add_file(const char **p, const char *of, size_t n, char behind)
{
	if (strspn(*p, of) != n || (*p)[n] != behind)
		return false;
	*p += n + 1;
	return true;
}

static bool
read_name(const char *name, struct snapshot_file *out)
{
	static const char hex[] = "0123456789abcdef";
	const char *p = name;

	memset(out, 0, sizeof *out);
	if (!add_file(&p, "0123456789", MS_DIGITS, '-') || !add_file(&p, hex, SNAPSHOT_KEY - 1, '-') ||
	    !add_file(&p, hex, SNAPSHOT_KEY - 1, '.') || strcmp(p, "json") != 0)
		return false;
	out->at = strtoll(name, NULL, 10);
	memcpy(out->session, name + MS_DIGITS + 1, SNAPSHOT_KEY - 1);
	memcpy(out->pane, name + MS_DIGITS + 1 + SNAPSHOT_KEY, SNAPSHOT_KEY - 1);
	memcpy(out->name, name, strlen(name) + 1);
	return true;
}

static int
by_age(const void *a, const void *b)
{
	const struct snapshot_file *x = a, *y = b;

	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : strcmp(x->name, y->name);
}

int
snapshot_index_read(const char *dir, struct snapshot_index *out, struct err *e)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	struct snapshot_file one;

	memset(out, 0, sizeof *out);
	if (d == NULL && errno != ENOENT && errno != ENOTDIR)
		return err_sys(e, GT_FAIL, "read", "the directory of snapshots %s cannot be read", dir);
	out->dir = xstrdup(dir);
	while (d != NULL && (f = readdir(d)) != NULL)
		if (read_name(f->d_name, &one)) {
			out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
			out->v[out->n++] = one;
		}
	if (d != NULL)
		closedir(d);
	if (out->n > 0)
		qsort(out->v, out->n, sizeof *out->v, by_age);
	return 0;
}

void
snapshot_index_release(struct snapshot_index *a)
{
	free(a->dir);
	free(a->v);
	memset(a, 0, sizeof *a);
}

const struct snapshot_file *
snapshot_index_newest(
    const struct snapshot_index *a, const char *session_key, const char *pane_key, int64_t until)
{
	for (size_t i = a->n; i-- > 0; ) {
		const struct snapshot_file *x = &a->v[i];

		if ((session_key == NULL || strcmp(x->session, session_key) == 0) &&
		    (pane_key == NULL || strcmp(x->pane, pane_key) == 0) && (until == 0 || x->at <= until))
			return x;
	}
	return NULL;
}

struct snapshot_file *
snapshot_index_find(struct snapshot_index *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].name, name) == 0)
			return &a->v[i];
	return NULL;
}

static int
by_session(const void *a, const void *b)
{
	const struct snapshot_file *const *x = a, *const *y = b;
	int way = strcmp((*x)->session, (*y)->session);

	/* the newest first */
	return way != 0 ? way : by_age(*y, *x);
}

void
snapshot_index_expire(struct snapshot_index *a, size_t keep, int64_t age_ms, int64_t now)
{
	struct snapshot_file **of = xcalloc(a->n, sizeof *of);
	size_t rank = 0;

	for (size_t i = 0; i < a->n; i++)
		of[i] = &a->v[i];
	if (a->n > 0)
		qsort(of, a->n, sizeof *of, by_session);
	for (size_t i = 0; i < a->n; i++) {
		rank = i > 0 && strcmp(of[i]->session, of[i - 1]->session) == 0 ? rank + 1 : 0;
		of[i]->gone = rank > 0 && !of[i]->held && (rank >= keep || now - of[i]->at > age_ms);
	}
	free(of);
}

void
snapshot_index_expire_gone(struct snapshot_index *a, int64_t age_ms, int64_t now)
{
	for (size_t i = 0; i < a->n; i++)
		if (age_ms > 0 && !a->v[i].held && now - a->v[i].at > age_ms)
			a->v[i].gone = true;
}

/* ".MS-SESSION-PANE.json.PID.RANDOM", as io_write_durable calls its temporary files. */
static bool
is_leftover(const char *name)
{
	return name[0] == '.' && isalnum((unsigned char)name[1]) && strstr(name, ".json.") != NULL;
}

size_t
snapshot_index_prune(struct snapshot_index *a)
{
	int fd = open(a->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *f;
	size_t removed = 0;

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].gone && unlinkat(fd, a->v[i].name, 0) == 0)
			removed++;
	while ((f = readdir(d)) != NULL)
		if (is_leftover(f->d_name))
			unlinkat(fd, f->d_name, 0);
	closedir(d);
	return removed;
}

int
snapshot_file_write(const char *dir, const char *name, const char *p, size_t n, struct err *e)
{
	char *path = io_join(dir, name);
	int ret = io_write_synced(path, p, n, "snapshot", e);

	free(path);
	return ret;
}

static int
load(const char *dir, const char *name, bool whole, struct scrub *s, struct snapshot *out, struct err *e)
{
	char *path = io_join(dir, name);
	struct buf b = BUF_INIT;
	int ret = io_read_private(path, MAX_FILE, &b, e);

	*out = (struct snapshot)SNAPSHOT_INIT;
	if (ret == 0)
		ret = (whole ? snapshot_parse : snapshot_parse_head)(b.data, b.len, path, s, out, e);
	buf_release(&b);
	free(path);
	return ret;
}

int
snapshot_dir_sync(const char *dir, struct err *e)
{
	char *path = io_join(dir, "lock");
	int ret = io_sync_parent(path);

	free(path);
	return ret == 0 ? 0
			: err_sys(e, GT_FAIL, "write", "the directory of snapshots %s cannot be synced", dir);
}

int
snapshot_file_read(const char *dir, const char *name, struct scrub *s, struct snapshot *out, struct err *e)
{
	return load(dir, name, true, s, out, e);
}

int
snapshot_file_read_head(
    const char *dir, const char *name, struct scrub *s, struct snapshot *out, struct err *e)
{
	return load(dir, name, false, s, out, e);
}

bool
snapshot_file_equals(const char *dir, const char *name, const char *body, size_t n)
{
	char *path = io_join(dir, name);
	struct buf b = BUF_INIT;
	size_t tail = n + strlen(SNAPSHOT_END);
	bool yes = io_read_private(path, MAX_FILE, &b, NULL) == 0 && b.len >= tail &&
	    memcmp(b.data + b.len - tail, body, n) == 0;

	buf_release(&b);
	free(path);
	return yes;
}

static long
number_of(struct json_slice object, const char *key)
{
	struct json_slice v = json_slice_get(object, key);

	/* a NUL stands behind the text */
	return v.p != NULL ? strtol(v.p, NULL, 10) : 0;
}

bool
snapshot_file_peek(const char *dir, const char *name, size_t *rows, pid_t *pane_pid, struct buf *text)
{
	char *path = io_join(dir, name);
	struct buf b = BUF_INIT;
	struct json_slice whole;
	bool yes = io_read_private(path, MAX_FILE, &b, NULL) == 0 && json_slice_whole(b.data, b.len, &whole);

	*rows = yes ? (size_t)number_of(whole, "rows") : 0;
	*pane_pid = yes ? (pid_t)number_of(json_slice_get(whole, "pane"), "pid") : 0;
	if (yes && text != NULL)
		json_slice_text(text, json_slice_get(whole, "text"));
	buf_release(&b);
	free(path);
	return yes;
}
