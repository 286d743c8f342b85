#include <stdio.h>
#include <stdlib.h>

#include "agent/session_file.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "revive/hooks.h"
#include "revive/world.h"
#include "tmux/quote.h"
#include "town/town.h"

/* install hooks, uninstall hooks. */

static void
option(struct buf *out, const char *name, const char *path)
{
	char *full;

	if (path == NULL)
		return;
	full = setup_absolute(path);
	buf_fmt(out, " %s ", name);
	quote_sh(out, full);
	free(full);
}

static void
tell(const struct cli *cli, const char *path, const char *words)
{
	struct say s;

	if (cli->json) {
		json_t *v = say_object();

		json_put(v, "settings", path);
		json_put(v, "result", words);
		say_json(v);
		return;
	}
	say_init(&s, cli);
	say_exact(&s, "%s: %s", path, words);
	say_release(&s);
}

static int
run(const struct cli *cli, struct world *w, bool install, const char *program, const char *path, struct err *e)
{
	struct buf command = BUF_INIT, options = BUF_INIT, text = BUF_INIT;
	size_t n = 0;
	int ret = 0;

	quote_sh(&command, program);
	option(&options, "--town", cli->town);
	option(&options, "--config", cli->config);
	if (cli->print && install) {
		hooks_print(&text, command.data, options.data);
		fputs(text.data, stdout);
	} else if (cli->print) {
		printf("%s\n", path);
	} else if (install) {
		/* the first hook finds a store, and need not make one while an agent waits */
		ret = world_store(w, true, e) != NULL ? hooks_install(path, command.data, options.data, &n, e) : -1;
		if (ret == 0)
			tell(cli, path, n > 0 ? "the hooks are installed; agents that run already do not call them" :
			    "the hooks were installed already");
	} else {
		ret = hooks_uninstall(path, &n, e);
		if (ret == 0)
			tell(cli, path, n > 0 ? "the hooks are removed" : "there were none");
	}
	buf_release(&command);
	buf_release(&options);
	buf_release(&text);
	return ret;
}

int
cmd_hooks(const struct cli *cli, bool install, struct err *e)
{
	char *dir = session_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME")), *program = setup_program(), *path;
	struct world w;
	int ret = -1;

	if (setup_config(cli, &w, e) != 0) {
		free(dir);
		free(program);
		return -1;
	}
	if (dir == NULL || program == NULL) {
		err_set(e, GT_FAIL, "no-home", dir == NULL ? "neither CLAUDE_CONFIG_DIR nor HOME says where Claude Code's settings are" :
		    "/proc does not tell where this program is");
		err_hint(e, "set HOME and run it again");
	} else {
		path = io_join(dir, "settings.json");
		ret = run(cli, &w, install, program, path, e);
		free(path);
	}
	free(dir);
	free(program);
	setup_release(&w);
	return ret == 0 ? GT_OK : -1;
}
