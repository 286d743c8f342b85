#include "test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "records/hooks/hooks.h"
#include "install/install_private.h"
#include "temp.h"

#define COMMAND "'/opt/a b/gt-recover'"
#define TOLD "{\"type\":\"command\",\"command\":\"/x/gt-recover hook Stop --town /t\"}"

static struct artifact_call here = { NULL, COMMAND, " --town /t", NULL }, bare = { NULL, COMMAND, "", NULL },
			moved = { NULL, "/usr/bin/gt-recover", "", NULL }, newer = { NULL, "/new/gt-recover", "", NULL };

static int
choose_claude(void **state)
{
	(void)state;
	here.row = bare.row = moved.row = newer.row = hook_adapter_find(NULL);
	return 0;
}

static void
put(struct buf *b, const char *text)
{
	buf_reset(b);
	buf_str(b, text);
}

static const char *
command_of(const json_t *o, const char *event, size_t group)
{
	const json_t *list = json_object_get(json_object_get(o, "hooks"), event);

	return json_text(
	    json_array_get(json_object_get(json_array_get(list, group), "hooks"), 0), "command", "none");
}

/*
 * What is added is JSON that says what it said before, and ours; what is taken out again leaves
 * the bytes that were there.
 */
static void
test_there_and_back(void **state)
{
	static const char *const files[] = {
		"{}", "{\n}\n", "{\"a\":1}",
		"{\n  \"model\": \"opus\",\n  \"env\": {\"X\": \"y\"}\n}\n",
		"{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": [{\"type\": \"command\", \"command\": "
		"\"say done\"}]}\n\t\t]\n\t},\n\t\"z\": 1.5\n}\n",
		"{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\","
		"\"command\":\"guard hook PreToolUse\"}]}]}}",
		"{\n    \"hooks\": {\n        \"Notification\": [\n            {\n                \"hooks\": "
		"[]\n            }\n        ]\n    }\n}",
		"  {\"n\":12345678901234567.25,\"u\":\"\\u00e9\\/\"}  \n",
	};
	struct buf b = BUF_INIT;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		json_t *old = json_loads(files[i], 0, NULL), *new;
		char *once;

		put(&b, files[i]);
		assert_int_equal(hooks_add(&b, &here, &n, NULL), 0);
		assert_int_equal(n, 7);
		new = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(new);
		n = json_array_size(json_object_get(json_object_get(new, "hooks"), "PostToolUse"));
		assert_int_equal(n, 1);
		assert_string_equal(command_of(new, "PostToolUse", 0), COMMAND " hook PostToolUse --town /t");
		/* all that was there is there, and before ours */
		json_object_del(new, "hooks");
		json_object_del(old, "hooks");
		assert_true(json_equal(old, new));
		once = xstrdup(b.data);
		assert_int_equal(hooks_add(&b, &here, &n, NULL), 0);
		assert_int_equal(n, 0);
		assert_string_equal(b.data, once);
		/* another program's path, or other options, take its place */
		assert_int_equal(hooks_add(&b, &moved, &n, NULL), 0);
		assert_int_equal(n, 7);
		assert_null(strstr(b.data, "/opt/a b"));
		assert_int_equal(hooks_remove(bare.row, &b, &n, NULL), 0);
		assert_int_equal(n, 7);
		if (strcmp(files[i], "{\n}\n") != 0)
			assert_string_equal(b.data, files[i]);
		else
			assert_string_equal(b.data, "{}\n");
		assert_int_equal(hooks_remove(bare.row, &b, &n, NULL), 0);
		assert_int_equal(n, 0);
		free(once);
		json_decref(old);
		json_decref(new);
	}
	buf_release(&b);
}

/* Ours in a group with somebody else's, first, in the middle, last. */
static void
test_mixed(void **state)
{
	struct buf b = BUF_INIT;
	size_t n;

	(void)state;
	put(&b,
	    "{\"hooks\":{\"Stop\":[{\"hooks\":[" TOLD ",{\"command\":\"a\"}, " TOLD " ,{\"command\":\"b\"}"
										    "," TOLD "]}]}}");
	assert_int_equal(hooks_remove(bare.row, &b, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_string_equal(
	    b.data, "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"a\"} ,{\"command\":\"b\"}]}]}}");
	put(&b, "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"gt-recover hook Stopped\"}]}]}}");
	assert_int_equal(hooks_remove(bare.row, &b, &n, NULL), 0);
	assert_int_equal(n, 0);
	buf_release(&b);
}

/* A hook of a person's own in which our name stands is his: it is neither taken out nor counted as ours. */
static void
test_not_ours(void **state)
{
	static const char *const lines[] = {
		"gt-recover hook Stop && notify-send done", "logger gt-recover saw my hook Stop",
		"gt-recover hook Stop; say done", "gt-recover hook Stop &",
		"gt-recover hook Stop | tee /tmp/x", "gt-recover hook Stop >/tmp/x",
		"gt-recover hook Stop # mine", "nice gt-recover hook Stop", "X=1 gt-recover hook Stop",
		"sh -c 'gt-recover hook Stop'", "cd /x && gt-recover hook Stop",
		"/x/not-gt-recover hook Stop", "gt-recover hook Stop --verbose yes",
		"gt-recover hook Stop --town", "gt-recover hook Stop --town $(cat /t)",
		"gt-recover hook Stop\nsay done", "gt-recover -v hook Stop", "gt-recover hook",
		"gt-recover hook SessionEnd", "gt-recover hook Stop --town /t --config /c more",
		"gt-recover hook 'Stop", "",
	};
	static const char *const ours[] = {
		"gt-recover hook Stop", "'/a b/gt-recover' hook Stop --town '/it'\\''s' --config /c",
		"/x/gt-recover hook Stop --config /c ",
		"gt-recover hook Stop --agent qwen",
	};
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0] + sizeof ours / sizeof ours[0]; i++) {
		bool is_ours = i >= sizeof lines / sizeof lines[0];
		const char *line = is_ours ? ours[i - sizeof lines / sizeof lines[0]] : lines[i];
		json_t *o = json_pack("{s:{s:[{s:[{s:s,s:s}]}]}}", "hooks", "Stop", "hooks", "type",
		    "command", "command", line);
		char *text = json_dumps(o, JSON_COMPACT);
		struct buf b = BUF_INIT;

		put(&b, text);
		assert_int_equal(hooks_remove(bare.row, &b, &n, NULL), 0);
		if (n != is_ours)
			fail_msg("%s: %zu", line, n);
		if (!is_ours)
			assert_string_equal(b.data, text);
		put(&b, text);
		assert_int_equal(hooks_add(&b, &newer, &n, NULL), 0);
		assert_int_equal(n, 7);
		json_decref(o);
		o = json_loads(b.data, 0, NULL);
		assert_string_equal(command_of(o, "Stop", 0), is_ours ? "/new/gt-recover hook Stop" : line);
		assert_string_equal(command_of(o, "Stop", 1), is_ours ? "none" : "/new/gt-recover hook Stop");
		free(text);
		json_decref(o);
		buf_release(&b);
	}
}

static void
test_refused(void **state)
{
	static const char *const files[] = { "[]", "{", "{} x", "// my settings\n{}", "{\"a\":1,\"a\":2}",
		"{\"hooks\":[]}", "{\"hooks\":{\"Stop\":{}}}", "\xff", "{\"a\":1,}" };
	struct buf b = BUF_INIT;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		struct err e = ERR_INIT;

		put(&b, files[i]);
		assert_int_equal(hooks_add(&b, &bare, &n, &e), -1);
		assert_string_equal(e.name, "settings");
		assert_string_equal(b.data, files[i]);
	}
	buf_release(&b);
}

static void
test_file(void **state)
{
	char *dir = temp_dir(), *folder = io_join(dir, "new"), *link, *real = io_join(dir, "real.json");
	struct artifact_set in;
	struct buf b = BUF_INIT;
	struct stat st;
	bool yes;
	size_t n;

	(void)state;
	artifact_hooks(&in, folder, &bare);
	link = in.v[0].path;
	/* none: made, and gone again */
	assert_int_equal(artifact_remove(&in, &yes, NULL), 0);
	assert_int_equal(artifact_install(&in, &yes, NULL), 0);
	assert_true(yes);
	assert_int_equal(io_read_file(link, 4096, &b, NULL), 0);
	assert_int_equal(hooks_count(bare.row, &b, &n, NULL, NULL), 0);
	assert_int_equal(n, 7);
	assert_int_equal(stat(link, &st), 0);
	assert_int_equal(artifact_remove(&in, &yes, NULL), 0);
	assert_int_equal(stat(link, &st), -1);
	/* one that says nothing, and was there, stays */
	for (size_t i = 0; i < 3; i++) {
		static const char *const nothing[] = { "{}", "{}\n", "" };

		temp_write(link, nothing[i]);
		assert_int_equal(artifact_install(&in, &yes, NULL), 0);
		assert_int_equal(artifact_remove(&in, &yes, NULL), 0);
		buf_reset(&b);
		assert_int_equal(io_read_file(link, 4096, &b, NULL), 0);
		assert_string_equal(b.data, i == 1 ? "{}\n" : "{}");
	}
	assert_int_equal(unlink(link), 0);
	/* one that we made, and somebody wrote into, does, too */
	put(&b, "{\"a\":1}\n\n");
	assert_int_equal(hooks_add(&b, &bare, &n, NULL), 0);
	temp_write(link, b.data);
	assert_int_equal(artifact_remove(&in, &yes, NULL), 0);
	buf_reset(&b);
	assert_int_equal(io_read_file(link, 4096, &b, NULL), 0);
	assert_string_equal(b.data, "{\"a\":1}\n\n");
	assert_int_equal(unlink(link), 0);
	buf_reset(&b);
	/* a link into a person's own files, readable by others */
	temp_write(real, "{\n  \"a\": 1\n}\n");
	assert_int_equal(chmod(real, 0644), 0);
	assert_int_equal(symlink(real, link), 0);
	assert_int_equal(artifact_install(&in, &yes, NULL), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(real, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(artifact_remove(&in, &yes, NULL), 0);
	assert_int_equal(io_read_file(real, 4096, &b, NULL), 0);
	assert_string_equal(b.data, "{\n  \"a\": 1\n}\n");
	buf_release(&b);
	artifact_release(&in);
	free(folder);
	free(real);
	temp_remove(dir);
}

/*
 * Every agent with hooks in its settings: what was there comes back to the byte, and each event
 * has one entry that calls us by name.
 */
static void
test_others(void **state)
{
	static const char *const files[] = {
		"",
		"{}",
		"{\n  \"hooks\": {\n    \"preToolUse\": [\n      {\"type\": \"command\", \"bash\": "
		"\"say\"}\n    ]\n  }\n}\n",
		"{\"hooks\":{\"BeforeTool\":[{\"matcher\":\"x\",\"hooks\":[{\"type\":\"command\",\"command\":"
		"\"guard\"}]}]},\"a\":[1, 2]}",
	};
	struct buf b = BUF_INIT;
	size_t n, seen = 0;

	(void)state;
	for (size_t r = 0; r < hook_adapter_count(); r++) {
		struct artifact_call call = { hook_adapter_at(r), COMMAND, " --town /t", NULL };

		for (size_t i = 0; i < sizeof files / sizeof files[0] && call.row->form != HOOK_FORM_PLUGIN;
		    i++, seen++) {
			json_t *o;

			put(&b, files[i]);
			assert_int_equal(hooks_add(&b, &call, &n, NULL), 0);
			assert_int_equal(n, call.row->n_events);
			o = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
			assert_non_null(o);
			for (size_t k = 0; k < call.row->n_events; k++) {
				const json_t *list =
				    json_object_get(json_object_get(o, "hooks"), call.row->events[k].name);
				const json_t *entry = json_array_get(list, json_array_size(list) - 1);
				const json_t *hook = call.row->form == HOOK_FORM_LIST
				    ? entry
				    : json_array_get(json_object_get(entry, "hooks"), 0);
				struct buf line = BUF_INIT;

				hooks_line(&line, &call, call.row->events[k].name);
				assert_string_equal(json_text(hook, call.row->command, ""), line.data);
				assert_int_equal(strstr(line.data, "--agent") != NULL,
				    call.row != hook_adapter_find(NULL));
				assert_int_equal(json_number(hook, call.row->timeout, 0), call.row->limit);
				buf_release(&line);
			}
			json_decref(o);
			assert_int_equal(hooks_add(&b, &call, &n, NULL), 0);
			assert_int_equal(n, 0);
			assert_int_equal(hooks_remove(call.row, &b, &n, NULL), 0);
			assert_int_equal(n, call.row->n_events);
			assert_string_equal(b.data, *files[i] != '\0' ? files[i] : "{}");
		}
	}
	assert_int_equal(seen, 5 * 4);
	buf_release(&b);
}

/* A file of our own: there and away, and a person's changes stay. */
static void
test_plugin(void **state)
{
	char *dir = temp_dir();
	struct artifact_call call = { hook_adapter_find("opencode"), COMMAND, " --town '/t \"x'", NULL };
	struct artifact_set in;
	const struct artifact *a = &in.v[0];
	struct hooks_status f;
	struct buf b = BUF_INIT;
	struct err e = ERR_INIT;
	bool yes;

	(void)state;
	artifact_hooks(&in, dir, &call);
	assert_int_equal(hooks_status(a, &f, NULL), 0);
	assert_null(f.command);
	assert_int_equal(f.state, ARTIFACT_ABSENT);
	assert_int_equal(artifact_install(&in, &yes, NULL), 0);
	assert_true(yes);
	assert_int_equal(artifact_install(&in, &yes, NULL), 0);
	assert_false(yes);
	assert_int_equal(hooks_status(a, &f, NULL), 0);
	assert_string_equal(f.command, COMMAND " hook SessionStart --town '/t \"x' --agent opencode");
	assert_int_equal(f.state, ARTIFACT_CURRENT);
	free(f.command);
	/* another program takes its place */
	call.command = "/usr/bin/gt-recover";
	assert_int_equal(hooks_status(a, &f, NULL), 0);
	assert_int_equal(f.state, ARTIFACT_OTHER);
	free(f.command);
	assert_int_equal(artifact_install(&in, &yes, NULL), 0);
	assert_true(yes);
	assert_int_equal(io_read_file(a->path, 65536, &b, NULL), 0);
	buf_str(&b, "// mine\n");
	temp_write(a->path, b.data);
	assert_int_equal(hooks_status(a, &f, NULL), 0);
	assert_int_equal(f.state, ARTIFACT_EDITED);
	free(f.command);
	assert_int_equal(artifact_install(&in, &yes, &e), -1);
	assert_string_equal(e.name, "edited");
	assert_int_equal(artifact_remove(&in, &yes, &e), -1);
	buf_reset(&b);
	artifact_print(a, &b);
	temp_write(a->path, b.data);
	assert_int_equal(artifact_remove(&in, &yes, NULL), 0);
	assert_true(yes);
	assert_int_equal(access(a->path, F_OK), -1);
	buf_release(&b);
	artifact_release(&in);
	temp_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_plugin),
	};

	return cmocka_run_group_tests(tests, choose_claude, NULL);
}
