#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "install/install_private.h"
#include "agent/agent.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "records/hooks/hooks.h"

#define SETTINGS_MAX ((size_t)16 << 20)
#define NAME "gt-recover"

static struct json_slice
is_complete(const struct buf *text)
{
	struct json_slice v = { NULL, 0 };

	json_slice_whole(text->data, text->len, &v);
	return v;
}

/* --- hooks --- */

static int
refuse(const struct hook_adapter *row, struct err *e, const char *why)
{
	bool claude = row == hook_adapter_find(NULL);

	err_set(e, GT_FAIL, "settings", "%s settings are unchanged: %s",
	    claude ? "Claude Code's" : row->file, why);
	return err_hint(e,
	    "repair the file, or add the output of gt-recover install hooks%s%s --print to it",
	    claude ? "" : " --agent ", claude ? "" : row->agent);
}

static int
check(const struct hook_adapter *row, const struct buf *text, struct err *e)
{
	json_t *o = json_loadb(text->data, text->len, JSON_REJECT_DUPLICATES, NULL),
	       *hooks = json_object_get(o, "hooks"), *list;
	const char *event;
	int ret = 0;

	if (!json_is_object(o) || is_complete(text).p == NULL)
		ret = refuse(row, e, "the file is not a JSON object, or has a duplicate key");
	else if (hooks != NULL && !json_is_object(hooks))
		ret = refuse(row, e, "its \"hooks\" is not an object");
	else if (hooks != NULL)
		json_object_foreach(hooks, event, list)
			if (!json_is_array(list))
				ret = refuse(row, e, "its \"hooks\" contains values other than lists");
	json_decref(o);
	return ret;
}

static bool
is_name(const void *unused, const char *program)
{
	(void)unused;
	return strcmp(program, NAME) == 0;
}

/*
 * The one simple command that hooks_add writes; with anything before, around or behind it, it is
 * a person's own.
 */
static bool
is_our_line(const char *line, const char *event)
{
	struct launch l;
	size_t n;
	bool yes;

	launch_command(&l, line, "", is_name, NULL);
	n = l.n_words;
	yes = l.certain && l.program == 0 && n >= 3 && n % 2 == 1 && strcmp(l.words[1].text, "hook") == 0 &&
	    strcmp(l.words[2].text, event) == 0 && l.words[0].from == strspn(line, " ") &&
	    line[l.words[n - 1].to + strspn(line + l.words[n - 1].to, " ")] == '\0';
	for (size_t i = 3; i < n && yes; i += 2)
		yes = strcmp(l.words[i].text, "--town") == 0 || strcmp(l.words[i].text, "--config") == 0 ||
		    strcmp(l.words[i].text, "--agent") == 0;
	launch_release(&l);
	return yes;
}

static bool
is_ours(const struct hook_adapter *row, struct json_slice hook, const char *event)
{
	struct json_slice v = json_slice_get(hook, row->command);
	struct buf command = BUF_INIT;
	bool yes;

	if (json_slice_string(v))
		json_slice_text(&command, v);
	yes = is_our_line(command.data, event);
	buf_release(&command);
	return yes;
}

/*
 * The list of an event, and in it the group, and in that the hook that is ours. Without groups
 * both are the hook. False: there is none.
 */
static bool
find_ours(const struct hook_adapter *row, struct json_slice list, const char *event, struct json_slice *group,
    struct json_slice *hook)
{
	struct json_walk groups = json_slice_walk(list);

	while (json_walk_next(&groups, NULL, group)) {
		struct json_walk hooks = json_slice_walk(json_slice_get(*group, "hooks"));

		*hook = *group;
		if (row->form == HOOK_FORM_LIST && is_ours(row, *hook, event))
			return true;
		while (row->form == HOOK_FORM_GROUPS && json_walk_next(&hooks, NULL, hook))
			if (is_ours(row, *hook, event))
				return true;
	}
	return false;
}

static bool
is_empty(struct json_slice container)
{
	struct json_walk w = json_slice_walk(container);
	struct json_slice child;

	return !json_walk_next(&w, NULL, &child);
}

static bool
is_alone(struct json_slice container)
{
	struct json_walk w = json_slice_walk(container);
	struct json_slice child;

	return json_walk_next(&w, NULL, &child) && !json_walk_next(&w, NULL, &child);
}

static bool
remove_one(const struct hook_adapter *row, struct buf *text, const char *event)
{
	struct json_slice hooks = json_slice_get(is_complete(text), "hooks"),
			  list = json_slice_get(hooks, event), group, hook, inner;

	if (!find_ours(row, list, event, &group, &hook))
		return false;
	/* a group that holds a hook of somebody else stays */
	inner = json_slice_get(group, "hooks");
	if (row->form == HOOK_FORM_GROUPS && !is_alone(inner)) {
		json_edit_remove(text, inner, hook.p);
		return true;
	}
	json_edit_remove(text, list, group.p);
	hooks = json_slice_get(is_complete(text), "hooks");
	list = json_slice_get(hooks, event);
	if (is_empty(list))
		json_edit_remove(text, hooks, list.p);
	hooks = json_slice_get(is_complete(text), "hooks");
	if (is_empty(hooks))
		json_edit_remove(text, is_complete(text), hooks.p);
	return true;
}

int
hooks_remove(const struct hook_adapter *row, struct buf *text, size_t *removed, struct err *e)
{
	*removed = 0;
	if (check(row, text, e) != 0)
		return -1;
	for (size_t i = 0; i < row->n_events; i++)
		while (remove_one(row, text, row->events[i].name))
			++*removed;
	return 0;
}

void
hooks_line(struct buf *out, const struct artifact_call *call, const char *event)
{
	buf_fmt(out, "%s hook %s%s", call->command, event, call->options);
	if (call->row != hook_adapter_find(NULL))
		buf_fmt(out, " --agent %s", call->row->agent);
}

/* What stands in the list of an event. */
static json_t *
entry_json(const struct artifact_call *call, const char *event)
{
	const struct hook_adapter *row = call->row;
	json_t *hook = json_object(), *list, *group;
	struct buf line = BUF_INIT;

	hooks_line(&line, call, event);
	json_put(hook, "type", "command");
	if (row->named)
		json_put(hook, "name", NAME);
	json_put(hook, row->command, line.data);
	json_put_int(hook, row->timeout, row->limit);
	buf_release(&line);
	if (row->form == HOOK_FORM_LIST)
		return hook;
	list = json_array();
	group = json_object();
	json_array_append_new(list, hook);
	json_object_set_new(group, "hooks", list);
	return group;
}

static json_t *
entries_json(const struct artifact_call *call, const char *event)
{
	json_t *list = json_array();

	json_array_append_new(list, entry_json(call, event));
	return list;
}

static json_t *
hooks_json(const struct artifact_call *call)
{
	json_t *o = json_object();

	for (size_t i = 0; i < call->row->n_events; i++)
		json_object_set_new(
		    o, call->row->events[i].name, entries_json(call, call->row->events[i].name));
	return o;
}

static bool
has_all(const struct buf *text, const struct artifact_call *call)
{
	const struct hook_adapter *row = call->row;
	bool all = true;

	for (size_t i = 0; i < row->n_events && all; i++) {
		const char *event = row->events[i].name;
		struct json_slice list = json_slice_get(json_slice_get(is_complete(text), "hooks"), event),
				  group, hook;
		struct buf line = BUF_INIT, has = BUF_INIT;

		hooks_line(&line, call, event);
		all = find_ours(row, list, event, &group, &hook);
		if (all)
			json_slice_text(&has, json_slice_get(hook, row->command));
		all = all && strcmp(has.data, line.data) == 0;
		buf_release(&has);
		buf_release(&line);
	}
	return all;
}

int
hooks_add(struct buf *text, const struct artifact_call *call, size_t *added, struct err *e)
{
	const struct hook_adapter *row = call->row;
	size_t removed;

	*added = 0;
	if (text->len == 0)
		buf_str(text, "{}");
	if (check(row, text, e) != 0)
		return -1;
	if (has_all(text, call))
		return 0;
	/* those with another path, or other options */
	hooks_remove(row, text, &removed, NULL);
	if (json_slice_get(is_complete(text), "hooks").p == NULL)
		json_edit_insert(text, is_complete(text), "hooks", hooks_json(call), 1);
	else
		for (size_t i = 0; i < row->n_events; i++) {
			const char *event = row->events[i].name;
			struct json_slice hooks = json_slice_get(is_complete(text), "hooks"),
					  list = json_slice_get(hooks, event);

			if (list.p == NULL)
				json_edit_insert(text, hooks, event, entries_json(call, event), 2);
			else
				json_edit_insert(text, list, NULL, entry_json(call, event), 3);
		}
	*added = row->n_events;
	return 0;
}

/* What hooks_add puts into an empty file. */
static void
print_hooks(struct buf *out, const struct artifact_call *call)
{
	json_t *o = json_object();
	struct buf unit = BUF_INIT;

	buf_str(&unit, "  ");
	json_object_set_new(o, "hooks", hooks_json(call));
	json_edit_print(out, o, &unit, 0);
	buf_chr(out, '\n');
	buf_release(&unit);
}

/* --- the file --- */

static char *
own_variable(const void *arg, const char *name)
{
	(void)arg;
	return getenv(name) != NULL ? xstrdup(getenv(name)) : NULL;
}

char *
hooks_folder(const struct hook_adapter *row)
{
	struct profile p = { .folder = row->folder };

	if (row == hook_adapter_find(NULL))
		return agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
	return profile_folder(&p, own_variable, NULL);
}

int
hooks_count(const struct hook_adapter *row, const struct buf *text, size_t *n, char **first, struct err *e)
{
	*n = 0;
	if (check(row, text, e) != 0)
		return -1;
	for (size_t i = 0; i < row->n_events; i++) {
		const char *event = row->events[i].name;
		struct json_slice list = json_slice_get(json_slice_get(is_complete(text), "hooks"), event),
				  group, hook;
		struct buf line = BUF_INIT;

		if (!find_ours(row, list, event, &group, &hook))
			continue;
		if ((*n)++ == 0 && first != NULL) {
			json_slice_text(&line, json_slice_get(hook, row->command));
			*first = buf_detach(&line);
		}
	}
	return 0;
}

bool
hooks_are_off(const char *path)
{
	struct buf text = BUF_INIT;
	json_t *o = io_read_file(path, SETTINGS_MAX, &text, NULL) == 0
	    ? json_loadb(text.data, text.len, 0, NULL)
	    : NULL;
	bool off = json_is_true(json_object_get(o, "disableAllHooks"));

	json_decref(o);
	buf_wipe(&text);
	return off;
}

#define LINES "const lines = "

/* Behind the first line of its comment. */
static const unsigned char body[] = {
#include "opencode.js.inc"
};

static void
render_plugin(const struct artifact *a, struct buf *out)
{
	const struct artifact_call *call = a->of;
	json_t *lines = json_object();
	char *said;

	for (size_t i = 0; i < call->row->n_events; i++) {
		struct buf line = BUF_INIT;

		hooks_line(&line, call, call->row->events[i].name);
		json_object_set_new(lines, call->row->events[i].name, json_string(line.data));
		buf_release(&line);
	}
	said = json_dumps(lines, JSON_INDENT(1));
	buf_str(out, "/*\n");
	buf_add(out, (const char *)body, sizeof body);
	buf_fmt(out, "\n" LINES "%s\n", said);
	free(said);
	json_decref(lines);
}

static void
render_hooks(const struct artifact *a, struct buf *out)
{
	print_hooks(out, a->of);
}

void
artifact_hooks(struct artifact_set *in, const char *folder, const struct artifact_call *call)
{
	bool plugin = call->row->form == HOOK_FORM_PLUGIN;
	struct artifact *a;

	*in = (struct artifact_set){ .n = 0 };
	a = artifact_add(in, io_join(folder, call->row->file),
	    plugin ? "hooks --agent opencode" : "hooks", plugin ? render_plugin : render_hooks, call);
	a->mark = plugin ? ARTIFACT_SEAL : ARTIFACT_HOOKS;
	/* a person's repository of settings gets the change */
	a->mode = plugin ? 0600 : 0;
}

/* The first of the lines that the plugin calls. */
static char *
line_of(const char *text)
{
	const char *from = strstr(text, "\n" LINES);
	json_t *lines =
		   from != NULL ? json_loads(from + strlen("\n" LINES), JSON_DISABLE_EOF_CHECK, NULL) : NULL,
	       *v;
	const char *event;
	char *line = NULL;

	json_object_foreach(lines, event, v)
		if (line == NULL && json_is_string(v))
			line = xstrdup(json_string_value(v));
	json_decref(lines);
	return line;
}

int
hooks_status(const struct artifact *a, struct hooks_status *out, struct err *e)
{
	const struct hook_adapter *row = ((const struct artifact_call *)a->of)->row;
	struct buf text = BUF_INIT;
	int ret = artifact_status(a, &out->state, &text, e);

	out->n = 0;
	out->command = NULL;
	if (ret == 0 && out->state != ARTIFACT_ABSENT && a->mark == ARTIFACT_HOOKS) {
		ret = hooks_count(row, &text, &out->n, &out->command, e);
	} else if (ret == 0 && out->state != ARTIFACT_ABSENT) {
		out->n = row->n_events;
		out->command = line_of(text.data);
		if (out->command == NULL)
			out->state = ARTIFACT_EDITED;
	}
	buf_wipe(&text);
	return ret;
}
