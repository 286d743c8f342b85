#include <stdlib.h>
#include <string.h>

#include "context/snapshot.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "context/style.h"
#include "scrub/scrub.h"

#define BULLET_SHIFT 5		/* the marks are below */

/* ---- writing ---- */

static json_t *
json_server(const struct snapshot *s)
{
	json_t *v = json_object();

	json_put_int(v, "pid", s->server_pid);
	json_put_int(v, "start", s->server_start);
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
put_style(struct buf *out, const struct style *style)
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
text_of(const json_t *v, const char *key)
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
	const json_t *server = json_object_get(v, "server"), *pane = json_object_get(v, "pane"), *window = json_object_get(v, "window");
	const json_t *process = json_object_get(v, "process");

	out->session = text_of(v, "session");
	out->socket = text_of(v, "socket");
	out->server_pid = (pid_t)json_number(server, "pid", 0);
	out->server_start = json_number(server, "start", 0);
	out->pane = text_of(pane, "id");
	out->pane_pid = (pid_t)json_number(pane, "pid", 0);
	out->width = (int)json_number(pane, "width", 0);
	out->height = (int)json_number(pane, "height", 0);
	out->history_limit = json_number(pane, "history_limit", 0);
	out->alternate = json_flag(pane, "alternate", false);
	out->dead = json_flag(pane, "dead", false);
	out->title = clean_of(pane, "title", s);
	out->window_id = text_of(window, "id");
	out->window_name = clean_of(window, "name", s);
	out->pid = (pid_t)json_number(process, "pid", 0);
	out->pid_start = (uint64_t)json_number(process, "start", 0);
}

static void
read_agent(struct snapshot *out, const json_t *v, struct scrub *s)
{
	const json_t *secrets = json_object_get(v, "secrets");
	size_t cap = 0;

	out->agent = text_of(v, "agent");
	out->role = text_of(v, "role");
	out->address = text_of(v, "address");
	out->cwd = text_of(v, "cwd");
	out->config_dir = text_of(v, "config_dir");
	out->session_id = text_of(v, "session_id");
	out->transcript = text_of(v, "transcript");
	out->shell = text_of(v, "shell");
	out->command = clean_of(v, "command", s);
	for (size_t i = 0; i < json_array_size(secrets); i++) {
		const char *name = json_string_value(json_array_get(secrets, i));

		out->secrets = vec_room(out->secrets, out->n_secrets, &cap, sizeof *out->secrets);
		out->secrets[out->n_secrets++] = xstrdup(name != NULL ? name : "value");
	}
	out->git = clean_of(v, "git", s);
	out->bead = clean_of(v, "bead", s);
}

static int
nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL also for what is no style: it is a hint. */
static struct style *
style_of(const char *hex)
{
	struct style *style;
	size_t n = hex != NULL ? strlen(hex) / 2 : 0;

	if (n == 0)
		return NULL;
	style = xcalloc(1, sizeof *style);
	style->v = xcalloc(n, sizeof *style->v);
	style->n = style->cap = n;
	for (size_t i = 0; i < n; i++) {
		int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);

		if (high < 0 || low < 0) {
			style_free(style);
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
read_snapshot(const char *p, size_t n, const char *what, bool whole, struct scrub *s, struct snapshot *out, struct err *e)
{
	json_t *v = json_parse(p, n, what, e);
	const json_t *text;
	int ret = 0;

	*out = (struct snapshot)SNAPSHOT_INIT;
	if (v == NULL)
		return -1;
	text = json_object_get(v, "text");
	if (json_number(v, "schema_version", 0) != 1 || (whole && !json_is_string(text))) {
		ret = err_set(e, GT_FAIL, "snapshot", "%s is no snapshot that this version can read", what);
		goto out;
	}
	out->taken_at = json_number(v, "taken_at", 0);
	out->richer = text_of(v, "richer");
	read_pane(out, v, s);
	read_agent(out, v, s);
	out->rows = (size_t)json_number(v, "rows", 0);
	out->cut = json_flag(v, "cut", false);
	out->style = style_of(json_text(v, "style", NULL));
	if (whole)
		out->text = scrub_text(s, json_string_value(text), json_string_length(text), out->width > 0 ? out->width : -1);
	if (out->session == NULL || out->socket == NULL || out->pane == NULL) {
		snapshot_release(out);
		ret = err_set(e, GT_FAIL, "snapshot", "%s does not say of which pane it is", what);
	}
out:
	json_decref(v);
	return ret;
}

int
snapshot_parse(const char *p, size_t n, const char *what, struct scrub *s, struct snapshot *out, struct err *e)
{
	return read_snapshot(p, n, what, true, s, out, e);
}

int
snapshot_parse_head(const char *p, size_t n, const char *what, struct scrub *s, struct snapshot *out, struct err *e)
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
	char *const strings[] = { s->richer, s->session, s->socket, s->pane, s->title, s->window_id, s->window_name, s->agent, s->role,
	    s->address, s->cwd, s->config_dir, s->session_id, s->transcript, s->shell, s->command, s->git, s->bead };

	for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
		free(strings[i]);
	for (size_t i = 0; i < s->n_secrets; i++)
		free(s->secrets[i]);
	free(s->secrets);
	style_free(s->style);
	clean_free(s->text);
	*s = (struct snapshot)SNAPSHOT_INIT;
}
