#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "revive/plugin.h"
#include "revive/world.h"
#include "tmux/quote.h"
#include "town/town.h"

/* install plugin, uninstall plugin. */

/* The options that patrol is to run with: the town, and what was given here. */
static void
collect(const struct cli *cli, const struct world *w, struct town_list *args)
{
	town_list_add(args, xstrdup("--town"));
	town_list_add(args, xstrdup(town_root(w->town)));
	if (cli->config != NULL) {
		town_list_add(args, xstrdup("--config"));
		town_list_add(args, setup_absolute(cli->config));
	}
	for (size_t i = 0; i < cli->n_sockets; i++) {
		town_list_add(args, xstrdup("-L"));
		town_list_add(args, xstrdup(cli->sockets[i]));
	}
}

/* For whoever has no daemon: the same pass as a line of a hook, or a step of the witness's patrol. */
static void
hook_line(struct buf *out, const char *program, const struct town_list *args)
{
	quote_sh(out, program);
	buf_str(out, " patrol --quiet");
	for (size_t i = 0; i < args->n; i++) {
		buf_chr(out, ' ');
		quote_sh(out, args->v[i]);
	}
}

static void
tell(const struct cli *cli, const struct plugin *p, const char *words, const char *line)
{
	struct say s;

	if (cli->json) {
		json_t *v = say_object();

		json_put(v, "plugin", p->dir);
		json_put(v, "result", words);
		json_put(v, "hook", line);
		say_json(v);
		return;
	}
	say_init(&s, cli);
	say_exact(&s, "%s: %s", p->dir, words);
	if (line != NULL)
		say_exact(&s, "The same pass as a line of a hook, or a step of the witness's patrol:\n  %s", line);
	say_release(&s);
}

static int
run(const struct cli *cli, const struct plugin *p, bool install, const char *line, struct err *e)
{
	bool yes = false;

	if (cli->print) {
		if (install)
			printf("# %s/plugin.md\n%s\n# %s/run.sh\n%s\n# a hook, or a step of the witness's patrol\n%s\n", p->dir, p->file[PLUGIN_MD].text.data, p->dir,
			    p->file[PLUGIN_RUN].text.data, line);
		else
			printf("%s\n", p->dir);
		return 0;
	}
	if (install) {
		if (plugin_install(p, &yes, e) != 0)
			return -1;
		tell(cli, p, yes ? "installed" : "was installed already", line);
	} else {
		if (plugin_remove(p, &yes, e) != 0)
			return -1;
		tell(cli, p, yes ? "removed" : "there was none", NULL);
	}
	return 0;
}

int
cmd_plugin(const struct cli *cli, bool install, struct err *e)
{
	struct town_list args = TOWN_LIST_INIT;
	struct buf line = BUF_INIT;
	struct plugin p;
	struct world w;
	char *program;
	int ret = -1;

	if (setup_config(cli, &w, e) != 0)
		return -1;
	program = setup_program();
	if (town_root(w.town) == NULL) {
		err_set(e, GT_USAGE, "no-town", "there is no Gas Town here that could run a plugin");
		err_hint(e, "name its root with --town; without a town gt-recover install timer runs things regularly");
	} else if (program == NULL) {
		err_set(e, GT_FAIL, "program", "/proc does not tell where this program is");
	} else {
		collect(cli, &w, &args);
		hook_line(&line, program, &args);
		plugin_init(&p, town_root(w.town), program, &args);
		ret = run(cli, &p, install, line.data, e);
		plugin_release(&p);
	}
	free(program);
	buf_release(&line);
	town_list_release(&args);
	setup_release(&w);
	return ret == 0 ? GT_OK : -1;
}
