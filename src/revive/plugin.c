#include <stdlib.h>
#include <unistd.h>

#include "revive/plugin.h"
#include "base/io.h"
#include "tmux/quote.h"
#include "town/town.h"

static const char md_head[] =
    "name = \"gt-recover\"\n"
    "description = \"Bring crashed agents back with their context\"\n"
    "version = 1\n\n"
    "[gate]\ntype = \"cooldown\"\nduration = \"2m\"\n\n"
    "[tracking]\nlabels = [\"plugin:gt-recover\", \"category:health\"]\ndigest = false\n\n"
    "[execution]\ntype = \"script\"\ntimeout = \"30m\"\nnotify_on_failure = false\nseverity = \"medium\"\n"
    "+++\n\n"
    "# gt-recover\n\n"
    "One pass over the agents of this town: `run.sh` runs `gt-recover patrol`. Where nothing died it does nothing. A crash is\n"
    "reported; with `auto_recover = true` in gt.toml the agent is started again in its pane and handed its conversation. Live agents are\n"
    "never touched, nor is a session that the witness has restarted meanwhile.\n\n"
    "Run `run.sh` as it is, once. Do not restart, kill or nudge a session yourself: what cannot be brought back is told to the mayor by\n"
    "mail, once a crash.\n";

static const char run_tail[] =
    "status=$?\n"
    "result=success\n"
    "[ \"$status\" -eq 0 ] || result=failure\n"
    "gt plugin record-run --plugin gt-recover --result \"$result\" --title \"Plugin: gt-recover [$result]\" \\\n"
    "\t--description \"gt-recover patrol ended with status $status\" >/dev/null 2>&1 || :\n"
    "exit \"$status\"\n";

void
plugin_init(struct plugin *p, const char *town, const char *program, const struct town_list *args)
{
	struct buf run = BUF_INIT;

	p->dir = io_join(town, "plugins/gt-recover");
	/* plugin.md last: a folder without one is no plugin */
	p->file[PLUGIN_RUN] = (struct sealed){ io_join(p->dir, "run.sh"), BUF_INIT };
	p->file[PLUGIN_MD] = (struct sealed){ io_join(p->dir, "plugin.md"), BUF_INIT };
	buf_str(&run, "# The daemon of Gas Town runs this every few minutes; plugin.md tells what it is.\ncd ");
	quote_sh(&run, town);
	buf_str(&run, " || exit 1\n");
	quote_sh(&run, program);
	buf_str(&run, " patrol --quiet");
	for (size_t i = 0; i < args->n; i++) {
		buf_chr(&run, ' ');
		quote_sh(&run, args->v[i]);
	}
	buf_chr(&run, '\n');
	buf_str(&run, run_tail);
	sealed_text(&p->file[PLUGIN_MD].text, "plugin", "+++\n", md_head);
	sealed_text(&p->file[PLUGIN_RUN].text, "plugin", "#!/bin/sh\n", run.data);
	buf_release(&run);
}

void
plugin_release(struct plugin *p)
{
	for (size_t i = 0; i < PLUGIN_FILES; i++) {
		free(p->file[i].path);
		buf_release(&p->file[i].text);
	}
	free(p->dir);
}

int
plugin_install(const struct plugin *p, bool *changed, struct err *e)
{
	return sealed_install(p->file, PLUGIN_FILES, "plugin", changed, e);
}

int
plugin_remove(const struct plugin *p, bool *was, struct err *e)
{
	int ret = sealed_remove(p->file, PLUGIN_FILES, "plugin", was, e);

	/* what else a person keeps there stays */
	if (ret == 0)
		rmdir(p->dir);
	return ret;
}
