#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "ledger/hook_row.h"
#include "revive/binding.h"
#include "revive/hook_plugin.h"
#include "revive/hooks.h"
#include "revive/world.h"
#include "tmux/quote.h"
#include "town/town.h"

/* What goes among the files of agents: install hooks, install binding, and away with them. */

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
	char *dir;				/* of the agent's settings */
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
install_hooks(const char *path, const struct hook_call *call, bool *changed, struct err *e)
{
	size_t n = 0;
	int ret;

	if (call->row->form == HOOK_PLUGIN)
		return hook_plugin_install(path, call, changed, e);
	ret = hooks_install(path, call, &n, e);
	*changed = n > 0;
	return ret;
}

static int
uninstall_hooks(const char *path, const struct hook_row *row, bool *was, struct err *e)
{
	size_t n = 0;
	int ret;

	if (row->form == HOOK_PLUGIN)
		return hook_plugin_remove(path, was, e);
	ret = hooks_uninstall(row, path, &n, e);
	*was = n > 0;
	return ret;
}

static void
tell_installed(const struct cli *cli, const char *path, bool changed, const struct hook_row *row)
{
	struct say s;

	tell(cli, "settings", path, changed ? "the hooks are installed; agents that run already do not call them" : "the hooks were installed already");
	if (changed && !cli->json && row->first != NULL) {
		say_init(&s, cli);
		say_exact(&s, "%s", row->first);
		say_release(&s);
	}
}

static int
run_hooks(const struct cli *cli, struct world *w, bool install, const struct place *p, struct err *e)
{
	struct hook_call call = { hook_row_find(cli->agent), p->command.data, p->options.data };
	char *path = io_join(p->dir, call.row->file);
	struct buf text = BUF_INIT;
	bool yes = false;
	int ret = 0;

	if (cli->print && install) {
		if (call.row->form == HOOK_PLUGIN)
			hook_plugin_print(&text, &call);
		else
			hooks_print(&text, &call);
		fputs(text.data, stdout);
	} else if (cli->print) {
		printf("%s\n", path);
	} else if (install) {
		/* the first hook finds a store, and need not make one while an agent waits */
		ret = world_store(w, true, e) != NULL ? install_hooks(path, &call, &yes, e) : -1;
		if (ret == 0)
			tell_installed(cli, path, yes, call.row);
		if (ret == 0 && call.row->form != HOOK_PLUGIN)
			warn_of_off(cli, path);
	} else {
		ret = uninstall_hooks(path, call.row, &yes, e);
		if (ret == 0)
			tell(cli, "settings", path, yes ? "the hooks are removed" : "there were none");
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
among_files(const struct cli *cli, bool install, int (*run)(const struct cli *, struct world *, bool, const struct place *, struct err *),
    const struct hook_row *row, struct err *e)
{
	struct place p = { BUF_INIT, BUF_INIT, hooks_folder(row) };
	char *program = setup_program();
	struct world w;
	int ret = setup_config(cli, &w, e);

	if (ret == 0 && (p.dir == NULL || program == NULL)) {
		err_set(e, GT_FAIL, "no-home", p.dir == NULL ? "neither HOME nor a variable of its own says where the settings of %s are" :
		    "/proc does not tell where this program is", row->agent);
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
	const struct hook_row *row = hook_row_find(cli->agent);
	struct buf names = BUF_INIT;

	if (row != NULL)
		return among_files(cli, install, run_hooks, row, e);
	for (size_t i = 0; i < hook_rows(); i++)
		buf_fmt(&names, "%s%s", i == 0 ? "" : i + 1 < hook_rows() ? ", " : " and ", hook_row_at(i)->agent);
	err_set(e, GT_USAGE, "agent", "hooks are known of %s, not of %.100s", names.data, cli->agent);
	buf_release(&names);
	return err_hint(e, "without hooks an agent is brought back by what it writes down itself; gt-recover install timer keeps its screen");
}

int
cmd_binding(const struct cli *cli, bool install, struct err *e)
{
	return among_files(cli, install, run_binding, hook_row_find(NULL), e);
}
