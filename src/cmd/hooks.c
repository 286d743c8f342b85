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
#include "revive/binding.h"
#include "revive/hooks.h"
#include "revive/world.h"
#include "tmux/quote.h"
#include "town/town.h"

/* What goes among Claude Code's own files: install hooks, install binding, and away with them. */

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
tell(const struct cli *cli, const char *what, const char *path, const char *words)
{
	struct say s;

	if (cli->json) {
		json_t *v = say_object();

		json_put(v, what, path);
		json_put(v, "result", words);
		say_json(v);
		return;
	}
	say_init(&s, cli);
	say_exact(&s, "%s: %s", path, words);
	say_release(&s);
}

struct place {
	struct buf command, options;		/* for sh */
	char *dir;				/* of Claude Code's settings */
};

static void
warn_of_off(const struct cli *cli, const char *path)
{
	struct say s;

	if (!hooks_are_off(path))
		return;
	say_init(&s, cli);
	say_warning(&s, "\"disableAllHooks\" is true in %s: no hook is called, and so none of these\n  Take it out, or set it to false", path);
	say_release(&s);
}

static int
run_hooks(const struct cli *cli, struct world *w, bool install, const struct place *p, struct err *e)
{
	char *path = io_join(p->dir, "settings.json");
	struct buf text = BUF_INIT;
	size_t n = 0;
	int ret = 0;

	if (cli->print && install) {
		hooks_print(&text, p->command.data, p->options.data);
		fputs(text.data, stdout);
	} else if (cli->print) {
		printf("%s\n", path);
	} else if (install) {
		/* the first hook finds a store, and need not make one while an agent waits */
		ret = world_store(w, true, e) != NULL ? hooks_install(path, p->command.data, p->options.data, &n, e) : -1;
		if (ret == 0)
			tell(cli, "settings", path, n > 0 ? "the hooks are installed; agents that run already do not call them" :
			    "the hooks were installed already");
		if (ret == 0)
			warn_of_off(cli, path);
	} else {
		ret = hooks_uninstall(path, &n, e);
		if (ret == 0)
			tell(cli, "settings", path, n > 0 ? "the hooks are removed" : "there were none");
	}
	buf_release(&text);
	free(path);
	return ret;
}

static int
run_binding(const struct cli *cli, struct world *w, bool install, const struct place *p, struct err *e)
{
	struct binding b;
	bool yes = false;
	int ret = binding_init(&b, p->dir, p->command.data, p->options.data, e);

	(void)w;
	if (ret == 0 && cli->print) {
		for (size_t i = 0; i < BINDING_FILES; i++)
			printf("%s%s\n%s", install ? "# " : "", b.file[i].path, install ? b.file[i].text.data : "");
	} else if (ret == 0 && install) {
		ret = binding_install(&b, &yes, e);
		if (ret == 0)
			tell(cli, "binding", b.dir, yes ? "/recovery:status and /recovery:resume are installed" : "they were installed already");
	} else if (ret == 0) {
		ret = binding_remove(&b, &yes, e);
		if (ret == 0)
			tell(cli, "binding", b.dir, yes ? "/recovery:status and /recovery:resume are removed" : "there were none");
	}
	binding_release(&b);
	return ret;
}

static int
among_claude(const struct cli *cli, bool install, int (*run)(const struct cli *, struct world *, bool, const struct place *, struct err *),
    struct err *e)
{
	struct place p = { BUF_INIT, BUF_INIT, session_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME")) };
	char *program = setup_program();
	struct world w;
	int ret = setup_config(cli, &w, e);

	if (ret == 0 && (p.dir == NULL || program == NULL)) {
		err_set(e, GT_FAIL, "no-home", p.dir == NULL ? "neither CLAUDE_CONFIG_DIR nor HOME says where Claude Code's settings are" :
		    "/proc does not tell where this program is");
		ret = err_hint(e, "set HOME and run it again");
		setup_release(&w);
	} else if (ret == 0) {
		quote_sh(&p.command, program);
		option(&p.options, "--town", cli->town);
		option(&p.options, "--config", cli->config);
		ret = run(cli, &w, install, &p, e);
		setup_release(&w);
	}
	buf_release(&p.command);
	buf_release(&p.options);
	free(p.dir);
	free(program);
	return ret == 0 ? GT_OK : -1;
}

int
cmd_hooks(const struct cli *cli, bool install, struct err *e)
{
	return among_claude(cli, install, run_hooks, e);
}

int
cmd_binding(const struct cli *cli, bool install, struct err *e)
{
	return among_claude(cli, install, run_binding, e);
}
