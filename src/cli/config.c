#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "base/io.h"
#include "base/spawn.h"
#include "base/utf8.h"
#include "config/config.h"
#include "gastown/gastown.h"

static void
print_one(const struct config *c, size_t i, bool alone)
{
	const struct config_key *k = config_key_at(i);
	struct buf name = BUF_INIT;
	const char *value = output_shown(config_shown(c, i), alone ? 0 : 60);

	buf_fmt(&name, "%s.%s", k->section, k->key);
	if (alone)
		printf("%s\n", value);
	else
		printf("%-34s %-28s %s\n", name.data, value, output_shown(config_origin_at(c, i), 0));
	buf_release(&name);
}

static json_t *
json_one(const struct config *c, size_t i)
{
	const struct config_key *k = config_key_at(i);
	json_t *v = json_object();
	char *name = xasprintf("%s.%s", k->section, k->key);

	json_put(v, "key", name);
	json_put(v, "value", config_shown(c, i));
	json_put(v, "origin", config_origin_at(c, i));
	json_put(v, "help", k->help);
	free(name);
	return v;
}

static int
show_settings(const struct cli *cli, const char *const *names, size_t n, struct err *e)
{
	struct app w;
	int one = -1;

	if (cli_open_config(cli, &w, e) != 0 || cli_open_profiles(&w, e) != 0)
		return -1;
	if (n == 1 && (one = config_find(names[0], e)) < 0) {
		cli_close_app(&w);
		return -1;
	}
	if (cli->json) {
		json_t *v = output_object(), *keys = json_array();

		for (size_t i = 0; i < config_count(); i++)
			if (one < 0 || (size_t)one == i)
				json_array_append_new(keys, json_one(w.config, i));
		json_put(v, "file", config_file(w.config));
		json_object_set_new(v, "settings", keys);
		output_json(v);
	} else {
		for (size_t i = 0; i < config_count(); i++)
			if (one < 0 || (size_t)one == i)
				print_one(w.config, i, one >= 0);
	}
	cli_close_app(&w);
	return GT_OK;
}

/* The file in use; heap. NULL with err. */
static char *
find_place(const struct cli *cli, struct err *e)
{
	struct town *town = town_new(cli->town, e);
	char *path = town != NULL ? config_place(cli->config, town_root(town)) : NULL;

	if (town != NULL && path == NULL) {
		err_set(e, GT_FAIL, "config", "cannot locate gt.toml: HOME is not set");
		err_hint(e, "set HOME, or name a file with --config");
	}
	town_free(town);
	return path;
}

static int
print_place(const struct cli *cli, struct err *e)
{
	char *path = find_place(cli, e);

	if (path == NULL)
		return -1;
	if (cli->json) {
		json_t *v = output_object();

		json_put(v, "file", path);
		json_put_flag(v, "exists", access(path, F_OK) == 0);
		output_json(v);
	} else {
		puts(output_shown(path, 0));
	}
	free(path);
	return GT_OK;
}

/* On our terminal. Its exit status, or -1. */
static int
run_editor(const char *line, const char *path, struct err *e)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		spawn_hand_on_exec();
		execl("/bin/sh", "sh", "-c", line, "sh", path, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return err_sys(e, GT_FAIL, "editor", "cannot start an editor");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A file with mistakes in it is opened, too: that is when one edits it. */
static int
edit_file(const struct cli *cli, struct err *e)
{
	const char *editor = getenv("VISUAL");
	char *path = find_place(cli, e), *line;
	struct app w;
	int ret;

	if (path == NULL)
		return -1;
	if (cli->json) {
		free(path);
		err_set(e, GT_USAGE, "usage", "config edit has no --json");
		return err_hint(e, "gt-recover config set KEY VALUE");
	}
	if (editor == NULL || *editor == '\0')
		editor = getenv("EDITOR");
	line = xasprintf("%s \"$1\"", editor != NULL && *editor != '\0' ? editor : "vi");
	ret = io_make_parents(path, e) == 0 ? run_editor(line, path, e) : -1;
	free(line);
	if (ret > 0) {
		ret = err_set(e, GT_FAIL, "editor", "the editor exited with status %d", ret);
		err_hint(e, "set VISUAL or EDITOR, or edit %s yourself", path);
	}
	free(path);
	if (ret != 0 || cli_open_config(cli, &w, e) != 0 || cli_open_profiles(&w, e) != 0)
		return -1;
	cli_close_app(&w);
	return GT_OK;
}

static int
change_setting(const struct cli *cli, struct err *e)
{
	struct app w;
	int ret;

	if (cli->n_args != 3) {
		err_set(e, GT_USAGE, "usage", "config set needs a key and a value");
		return err_hint(e, "gt-recover config set auto_recover true");
	}
	if (cli_open_config(cli, &w, e) != 0)
		return -1;
	ret = config_set(w.config, cli->args[1], cli->args[2], e);
	cli_close_app(&w);
	if (ret != 0)
		return -1;
	/* what was written is read again, and shown with its place */
	return show_settings(cli, &cli->args[1], 1, e);
}

int
cmd_config(const struct cli *cli, struct err *e)
{
	const char *word = cli->n_args > 0 ? cli->args[0] : "";

	if (strcmp(word, "set") == 0)
		return change_setting(cli, e);
	if (cli->n_args > 1) {
		err_set(e, GT_USAGE, "usage", "config takes at most one key");
		return err_hint(e, "gt-recover config prints all of them");
	}
	if (strcmp(word, "path") == 0)
		return print_place(cli, e);
	if (strcmp(word, "edit") == 0)
		return edit_file(cli, e);
	return show_settings(cli, cli->args, cli->n_args, e);
}
