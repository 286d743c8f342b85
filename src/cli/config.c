#include "cli/cli.h"
#include "base/utf8.h"
#include "config/config.h"

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

int
cmd_config(const struct cli *cli, struct err *e)
{
	struct app w;
	int one = -1;

	if (cli->n_args > 1) {
		err_set(e, GT_USAGE, "usage", "config takes one key at most");
		return err_hint(e, "gt-recover config prints all of them");
	}
	if (cli_open_config(cli, &w, e) != 0 || cli_open_profiles(&w, e) != 0)
		return -1;
	if (cli->n_args == 1 && (one = config_find(cli->args[0], e)) < 0) {
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
