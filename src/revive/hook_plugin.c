#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "revive/hook_plugin.h"
#include "revive/hooks.h"
#include "revive/sealed.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "ledger/hook_row.h"

#define WHAT "hooks --agent opencode"
#define PLUGIN_MAX ((size_t)1 << 20)
#define LINES "const lines = "

/* Behind the comment's first two lines, which are the seal's. */
static const unsigned char body[] = {
#include "opencode.js.inc"
};

void
hook_plugin_print(struct buf *out, const struct hook_call *call)
{
	json_t *lines = json_object();
	struct buf text = BUF_INIT;
	char *said;

	for (size_t i = 0; i < call->row->n_events; i++) {
		struct buf line = BUF_INIT;

		hook_line(&line, call, call->row->events[i].name);
		json_object_set_new(lines, call->row->events[i].name, json_string(line.data));
		buf_release(&line);
	}
	said = json_dumps(lines, JSON_INDENT(1));
	buf_add(&text, (const char *)body, sizeof body);
	buf_fmt(&text, "\n" LINES "%s\n", said);
	sealed_text(out, WHAT, "/*\n", text.data);
	free(said);
	json_decref(lines);
	buf_release(&text);
}

static struct sealed
file_of(const char *path)
{
	return (struct sealed){ xstrdup(path), BUF_INIT };
}

static void
file_release(struct sealed *f)
{
	free(f->path);
	buf_release(&f->text);
}

int
hook_plugin_install(const char *path, const struct hook_call *call, bool *changed, struct err *e)
{
	struct sealed f = file_of(path);
	int ret;

	hook_plugin_print(&f.text, call);
	ret = sealed_install(&f, 1, WHAT, changed, e);
	file_release(&f);
	return ret;
}

int
hook_plugin_remove(const char *path, bool *was, struct err *e)
{
	struct sealed f = file_of(path);
	int ret = sealed_remove(&f, 1, WHAT, was, e);

	file_release(&f);
	return ret;
}

/* The first of the lines that the plugin calls. */
static char *
line_of(const char *text)
{
	const char *from = strstr(text, "\n" LINES);
	json_t *lines = from != NULL ? json_loads(from + strlen("\n" LINES), JSON_DISABLE_EOF_CHECK, NULL) : NULL, *v;
	const char *event;
	char *line = NULL;

	json_object_foreach(lines, event, v)
		if (line == NULL && json_is_string(v))
			line = xstrdup(json_string_value(v));
	json_decref(lines);
	return line;
}

int
hook_plugin_look(const char *path, char **command, bool *edited, struct err *e)
{
	struct buf text = BUF_INIT;
	struct err how = ERR_INIT;

	*command = NULL;
	*edited = false;
	if (io_read_file(path, PLUGIN_MAX, &text, &how) != 0) {
		if (strcmp(how.name, "not-found") == 0)
			return 0;
		if (e != NULL)
			*e = how;
		return -1;
	}
	*edited = !sealed_is(&text, WHAT);
	*command = line_of(text.data);
	if (*command == NULL)
		*edited = true;
	buf_release(&text);
	return 0;
}
