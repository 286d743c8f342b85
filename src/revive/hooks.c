#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "revive/hooks.h"
#include "agent/launch.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/json_slice.h"

#define SETTINGS_MAX ((size_t)16 << 20)
#define TIMEOUT_S 5			/* after which Claude Code gives a hook up; ours has long given up itself */
#define NAME "gt-recover"

static const char *const events[] = {
	"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStop", "Stop", "SessionEnd",
};
#define EVENTS (sizeof events / sizeof events[0])
_Static_assert(EVENTS == HOOKS, "hooks.h counts them");

/* --- text --- */

static struct json_slice
whole(const struct buf *text)
{
	struct json_slice v = { NULL, 0 };

	json_slice_whole(text->data, text->len, &v);
	return v;
}

static void
replace(struct buf *text, const char *from, const char *to, const struct buf *by)
{
	struct buf out = BUF_INIT;
	size_t start = (size_t)(from - text->data), end = (size_t)(to - text->data);

	buf_add(&out, text->data, start);
	buf_add(&out, by->data, by->len);
	buf_add(&out, text->data + end, text->len - end);
	buf_release(text);
	*text = out;
}

/* How far the file indents: what stands in front of its first member. */
static void
indent_of(const struct buf *text, struct buf *unit)
{
	const char *p = strchr(text->data, '{');
	size_t n = p != NULL && p[1] == '\n' ? strspn(p + 2, " \t") : 0;

	if (n > 0 && n <= 8)
		buf_add(unit, p + 2, n);
	else
		buf_str(unit, "  ");
}

static void
put_line(struct buf *out, const struct buf *unit, size_t depth)
{
	buf_chr(out, '\n');
	for (size_t i = 0; i < depth; i++)
		buf_add(out, unit->data, unit->len);
}

/* v as it stands at that depth; takes the reference. */
static void
put_value(struct buf *out, json_t *v, const struct buf *unit, size_t depth)
{
	char *text = json_dumps(v, JSON_INDENT(1) | JSON_ENCODE_ANY);

	for (const char *p = text; *p != '\0'; p++) {
		size_t n;

		if (*p != '\n') {
			buf_chr(out, *p);
			continue;
		}
		n = strspn(p + 1, " ");
		put_line(out, unit, depth + n);
		p += n;
	}
	free(text);
	json_decref(v);
}

/* Behind the last child of the container, in which it stands at that depth. key NULL: an element. */
static void
insert(struct buf *text, struct json_slice container, const char *key, json_t *v, size_t depth)
{
	struct json_walk w = json_slice_walk(container);
	struct json_slice child, last = { NULL, 0 };
	struct buf by = BUF_INIT, unit = BUF_INIT;

	while (json_walk_next(&w, NULL, &child))
		last = child;
	indent_of(text, &unit);
	if (last.p != NULL)
		buf_chr(&by, ',');
	put_line(&by, &unit, depth);
	if (key != NULL)
		buf_fmt(&by, "\"%s\": ", key);
	put_value(&by, v, &unit, depth);
	if (last.p == NULL)
		put_line(&by, &unit, depth - 1);
	if (last.p != NULL)
		replace(text, last.p + last.n, last.p + last.n, &by);
	else
		replace(text, container.p + 1, container.p + container.n - 1, &by);
	buf_release(&by);
	buf_release(&unit);
}

/* The child whose value that is, with its key and its comma. */
static void
take_out(struct buf *text, struct json_slice container, const char *value)
{
	struct json_walk w = json_slice_walk(container);
	struct json_slice key, child;
	struct buf none = BUF_INIT;
	const char *before = NULL, *start = NULL, *end = NULL, *next = NULL;

	while (next == NULL && json_walk_next(&w, &key, &child)) {
		const char *from = w.object ? key.p - 1 : child.p;

		if (start != NULL) {
			next = from;
		} else if (child.p == value) {
			start = from;
			end = child.p + child.n;
		} else {
			before = child.p + child.n;
		}
	}
	if (before != NULL)
		replace(text, before, end, &none);
	else if (next != NULL)
		replace(text, start, next, &none);
	else
		replace(text, container.p + 1, container.p + container.n - 1, &none);
}

/* --- hooks --- */

static int
refuse(struct err *e, const char *why)
{
	err_set(e, GT_FAIL, "settings", "Claude Code's settings are left as they are: %s", why);
	return err_hint(e, "mend the file, or put the output of gt-recover install hooks --print into it yourself");
}

static int
check(const struct buf *text, struct err *e)
{
	json_t *o = json_loadb(text->data, text->len, JSON_REJECT_DUPLICATES, NULL), *hooks = json_object_get(o, "hooks"), *list;
	const char *event;
	int ret = 0;

	if (!json_is_object(o) || whole(text).p == NULL)
		ret = refuse(e, "the file is no JSON object, or has a key twice");
	else if (hooks != NULL && !json_is_object(hooks))
		ret = refuse(e, "its \"hooks\" are no object");
	else if (hooks != NULL)
		json_object_foreach(hooks, event, list)
			if (!json_is_array(list))
				ret = refuse(e, "its \"hooks\" hold something else than lists");
	json_decref(o);
	return ret;
}

static bool
is_name(const void *unused, const char *program)
{
	(void)unused;
	return strcmp(program, NAME) == 0;
}

/* The one simple command that hooks_add writes; with anything before, around or behind it, it is a person's own. */
static bool
is_our_line(const char *line, const char *event)
{
	struct launch l;
	size_t n;
	bool yes;

	launch_command(&l, line, "", is_name, NULL);
	n = l.n_words;
	yes = l.certain && l.program == 0 && n >= 3 && n % 2 == 1 && strcmp(l.words[1].text, "hook") == 0 &&
	    strcmp(l.words[2].text, event) == 0 &&
	    l.words[0].from == strspn(line, " ") && line[l.words[n - 1].to + strspn(line + l.words[n - 1].to, " ")] == '\0';
	for (size_t i = 3; i < n && yes; i += 2)
		yes = strcmp(l.words[i].text, "--town") == 0 || strcmp(l.words[i].text, "--config") == 0;
	launch_release(&l);
	return yes;
}

static bool
is_ours(struct json_slice hook, const char *event)
{
	struct json_slice v = json_slice_get(hook, "command");
	struct buf command = BUF_INIT;
	bool yes;

	if (json_slice_string(v))
		json_slice_text(&command, v);
	yes = is_our_line(command.data, event);
	buf_release(&command);
	return yes;
}

/* The list of an event, and in it the group, and in that the hook that is ours. False: there is none. */
static bool
find_ours(struct json_slice list, const char *event, struct json_slice *group, struct json_slice *hook)
{
	struct json_walk groups = json_slice_walk(list);

	while (json_walk_next(&groups, NULL, group)) {
		struct json_walk hooks = json_slice_walk(json_slice_get(*group, "hooks"));

		while (json_walk_next(&hooks, NULL, hook))
			if (is_ours(*hook, event))
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
remove_one(struct buf *text, const char *event)
{
	struct json_slice hooks = json_slice_get(whole(text), "hooks"), list = json_slice_get(hooks, event), group, hook, inner;
	struct json_walk w;

	if (!find_ours(list, event, &group, &hook))
		return false;
	/* a group that holds a hook of somebody else stays */
	inner = json_slice_get(group, "hooks");
	w = json_slice_walk(inner);
	json_walk_next(&w, NULL, &hook);
	if (json_walk_next(&w, NULL, &hook)) {
		find_ours(list, event, &group, &hook);
		take_out(text, inner, hook.p);
		return true;
	}
	take_out(text, list, group.p);
	hooks = json_slice_get(whole(text), "hooks");
	list = json_slice_get(hooks, event);
	if (is_empty(list))
		take_out(text, hooks, list.p);
	hooks = json_slice_get(whole(text), "hooks");
	if (is_empty(hooks))
		take_out(text, whole(text), hooks.p);
	return true;
}

int
hooks_remove(struct buf *text, size_t *removed, struct err *e)
{
	*removed = 0;
	if (check(text, e) != 0)
		return -1;
	for (size_t i = 0; i < EVENTS; i++)
		while (remove_one(text, events[i]))
			++*removed;
	return 0;
}

static json_t *
group_json(const char *command, const char *options, const char *event)
{
	json_t *hook = json_object(), *list = json_array(), *group = json_object();
	char *line = xasprintf("%s hook %s%s", command, event, options);

	json_put(hook, "type", "command");
	json_put(hook, "command", line);
	json_put_int(hook, "timeout", TIMEOUT_S);
	json_array_append_new(list, hook);
	json_object_set_new(group, "hooks", list);
	free(line);
	return group;
}

static json_t *
list_json(const char *command, const char *options, const char *event)
{
	json_t *list = json_array();

	json_array_append_new(list, group_json(command, options, event));
	return list;
}

static json_t *
hooks_json(const char *command, const char *options)
{
	json_t *o = json_object();

	for (size_t i = 0; i < EVENTS; i++)
		json_object_set_new(o, events[i], list_json(command, options, events[i]));
	return o;
}

static bool
has_all(const struct buf *text, const char *command, const char *options)
{
	bool all = true;

	for (size_t i = 0; i < EVENTS && all; i++) {
		struct json_slice list = json_slice_get(json_slice_get(whole(text), "hooks"), events[i]), group, hook;
		char *line = xasprintf("%s hook %s%s", command, events[i], options);
		struct buf has = BUF_INIT;

		all = find_ours(list, events[i], &group, &hook);
		if (all)
			json_slice_text(&has, json_slice_get(hook, "command"));
		all = all && strcmp(has.data, line) == 0;
		buf_release(&has);
		free(line);
	}
	return all;
}

int
hooks_add(struct buf *text, const char *command, const char *options, size_t *added, struct err *e)
{
	size_t removed;

	*added = 0;
	if (text->len == 0)
		buf_str(text, "{}");
	if (check(text, e) != 0)
		return -1;
	if (has_all(text, command, options))
		return 0;
	/* those with another path, or other options */
	hooks_remove(text, &removed, NULL);
	if (json_slice_get(whole(text), "hooks").p == NULL)
		insert(text, whole(text), "hooks", hooks_json(command, options), 1);
	else
		for (size_t i = 0; i < EVENTS; i++) {
			struct json_slice hooks = json_slice_get(whole(text), "hooks"), list = json_slice_get(hooks, events[i]);

			if (list.p == NULL)
				insert(text, hooks, events[i], list_json(command, options, events[i]), 2);
			else
				insert(text, list, NULL, group_json(command, options, events[i]), 3);
		}
	*added = EVENTS;
	return 0;
}

void
hooks_print(struct buf *out, const char *command, const char *options)
{
	json_t *o = json_object();
	struct buf unit = BUF_INIT;

	buf_str(&unit, "  ");
	json_object_set_new(o, "hooks", hooks_json(command, options));
	put_value(out, o, &unit, 0);
	buf_chr(out, '\n');
	buf_release(&unit);
}

/* --- the file --- */

/* Links are followed, so that a person's repository of settings gets the change. mode: of the file that is there, else 0600. */
static int
read_settings(const char *path, struct buf *text, char **real, mode_t *mode, struct err *e)
{
	struct stat st;

	*real = realpath(path, NULL);
	*mode = 0600;
	io_sweep(*real != NULL ? *real : path);
	if (*real == NULL) {
		*real = xstrdup(path);
		return 0;
	}
	if (stat(*real, &st) == 0)
		*mode = st.st_mode & 07777;
	return io_read_file(*real, SETTINGS_MAX, text, e);
}

static int
write_settings(const char *real, const struct buf *text, mode_t mode, struct err *e)
{
	if (io_make_parents(real, e) != 0 || io_write_durable(real, text->data, text->len, "hooks-settings", e) != 0)
		return -1;
	return mode == 0600 || chmod(real, mode) == 0 ? 0 : err_sys(e, GT_FAIL, "unwritable", "the mode of %s cannot be set", real);
}

int
hooks_look(const char *path, size_t *n, char **command, struct err *e)
{
	struct buf text = BUF_INIT;
	struct err how = ERR_INIT;
	int ret = io_read_file(path, SETTINGS_MAX, &text, &how);

	*n = 0;
	*command = NULL;
	if (ret == 0) {
		ret = check(&text, e);
	} else if (strcmp(how.name, "not-found") == 0) {
		ret = 0;
	} else if (e != NULL) {
		*e = how;
	}
	for (size_t i = 0; i < EVENTS && ret == 0 && text.len > 0; i++) {
		struct json_slice list = json_slice_get(json_slice_get(whole(&text), "hooks"), events[i]), group, hook;
		struct buf line = BUF_INIT;

		if (find_ours(list, events[i], &group, &hook)) {
			json_slice_text(&line, json_slice_get(hook, "command"));
			if ((*n)++ == 0)
				*command = xstrdup(line.data);
		}
		buf_release(&line);
	}
	buf_wipe(&text);
	return ret;
}

/* What stands behind the last brace of a file that hooks_install made; whoever writes into it by a program takes it away. */
#define MADE "\n\n"

int
hooks_install(const char *path, const char *command, const char *options, size_t *added, struct err *e)
{
	struct buf text = BUF_INIT;
	mode_t mode;
	char *real;
	int ret = read_settings(path, &text, &real, &mode, e);
	bool missing = ret == 0 && access(real, F_OK) != 0;

	if (ret == 0)
		ret = hooks_add(&text, command, options, added, e);
	if (ret == 0 && *added > 0 && missing)
		buf_str(&text, MADE);
	if (ret == 0 && *added > 0)
		ret = write_settings(real, &text, mode, e);
	free(real);
	buf_wipe(&text);
	return ret;
}

int
hooks_uninstall(const char *path, size_t *removed, struct err *e)
{
	struct buf text = BUF_INIT;
	mode_t mode;
	char *real;
	int ret = read_settings(path, &text, &real, &mode, e);

	*removed = 0;
	if (ret == 0 && text.len > 0)
		ret = hooks_remove(&text, removed, e);
	if (ret == 0 && *removed > 0 && strcmp(text.data, "{}" MADE) == 0)
		ret = unlink(real) == 0 && io_sync_parent(real) == 0 ? 0 : err_sys(e, GT_FAIL, "unwritable", "%s cannot be removed", real);
	else if (ret == 0 && *removed > 0)
		ret = write_settings(real, &text, mode, e);
	free(real);
	buf_wipe(&text);
	return ret;
}

bool
hooks_are_off(const char *path)
{
	struct buf text = BUF_INIT;
	json_t *o = io_read_file(path, SETTINGS_MAX, &text, NULL) == 0 ? json_loadb(text.data, text.len, 0, NULL) : NULL;
	bool off = json_is_true(json_object_get(o, "disableAllHooks"));

	json_decref(o);
	buf_wipe(&text);
	return off;
}
