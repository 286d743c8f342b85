#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"

static const struct { unsigned options; const char *text;
} option_help[] = {
	{ OPT_DRY, "  -n, --dry-run          show what would be done, change nothing\n" },
	{ OPT_ACT, "      --all              everything that can be recovered; asks once, or needs --yes\n" },
	{ OPT_ACT,
	    "      --respawn          replace an idle shell by the agent, instead of starting it inside\n" },
	{ OPT_ACT | OPT_EPIC,
	    "  -y, --yes              do not ask\n"
	    "      --no-input         never ask; where an answer is needed, fail\n" },
	{ OPT_ACT | OPT_VIA,
	    "      --via WAY          how the context goes back: resume goes on with the agent's own "
	    "conversation, inject\n"
	    "                         hands it over as the first prompt, auto resumes when nothing speaks "
	    "against it\n" },
	{ OPT_ACT | OPT_SCOPE, "      --scope task|lines how much of the conversation is taken\n" },
	{ OPT_ACT | OPT_LIST | OPT_SCOPE | OPT_INFRA,
	    "      --include-infra    also Gas Town's mayor, deacon, witness, refinery and crew\n" },
	{ OPT_LIST,
	    "      --names            session names alone, one a line\n"
	    "      --fleet            also the agents of the other hosts that share the store, as those saw "
	    "them last\n" },
	{ OPT_AGENT,
	    "      --agent NAME       whose screen or record it is (claude)\n"
	    "      --transcript       the input is the agent's own record, not a screen: of claude, codex, "
	    "gemini, qwen,\n"
	    "                         copilot, pi, auggie, cline or opencode\n" },
	{ OPT_HOOKS,
	    "      --agent NAME       whose hooks: claude (the default), codex, gemini, qwen, copilot or "
	    "opencode\n" },
	{ OPT_SCRUB,
	    "      --report           also kinds, rows and counts as JSON, on standard error\n"
	    "      --check            print nothing; status 7 when something was found\n"
	    "      --no-known         the rules alone, not the secrets of your environment and files\n" },
	{ OPT_PRINT, "      --print            write to standard output, touch no file\n" },
	{ OPT_SINCE, "      --since AGE        only what is younger, as in 7d or 12h\n" },
	{ OPT_VERIFY, "      --verify           compare events.jsonl with the store\n" },
	{ OPT_RUNS,
	    "      --mode MODE        which runs are settled: stale (the default), all, none\n"
	    "      --threshold SECS   a run is stale after so many seconds (300)\n" },
	{ OPT_UNDELIVERED, "      --undelivered      only messages on their way or without their answer\n" },
	{ OPT_LEASE, "      --lease SECS       held for so many seconds after it was last renewed (300)\n" },
	{ OPT_EPIC, "      --sprints LIST     only the sprints at these places, as in 2,3\n" },
	{ OPT_EPIC, "      --output FILE      write to a private file, not to standard output\n" },
	{ OPT_TMUX, "  -L, --socket NAME      only this tmux socket (name or path); may be given again\n" },
	{ OPT_TMUX | OPT_SINCE | OPT_PLACE, "      --town DIR         the Gas Town to work in\n" },
	{ OPT_TMUX | OPT_SCRUB | OPT_SINCE | OPT_PLACE,
	    "      --config FILE      instead of the town's or your own gt.toml\n" },
	{ 0,
	    "      --json             one JSON object on standard output\n"
	    "  -q, --quiet            no progress\n"
	    "  -v, --verbose          more of it\n"
	    "      --color WHEN       auto, always or never\n"
	    "  -h, --help             this text\n"
	    "  -V, --version          the version\n" },
};

static void
print_options(FILE *to, unsigned options)
{
	fputs("\nOptions:\n", to);
	for (size_t i = 0; i < sizeof option_help / sizeof option_help[0]; i++)
		if (option_help[i].options == 0 || (option_help[i].options & options) != 0)
			fputs(option_help[i].text, to);
}

static void
print_overview(FILE *to)
{
	fputs("gt-recover brings crashed coding agents in tmux back with their context.\n\nUsage:\n", to);
	for (const struct command *c = commands; c->name != NULL; c++) {
		char left[80];

		snprintf(left, sizeof left, "gt-recover%s%s%s%s", *c->name != '\0' ? " " : "", c->name,
		    *c->args != '\0' ? " " : "", c->args);
		if (strlen(left) > 30)
			fprintf(to, "  %s\n%33s%s\n", left, "", c->summary);
		else
			fprintf(to, "  %-30s %s\n", left, c->summary);
	}
	print_options(to, ~0u);
	fputs("\nExit status: 0 done, 1 failed, 2 usage or configuration, 3 some done and some not, 4 "
	      "nothing to recover or declined,\n"
	      "5 delivered but not acknowledged in time, 6 refused by a guard, 7 scrub --check found "
	      "something, 75 try again.\n"
	      "More: man gt-recover, man gt.toml\n",
	    to);
}

void
cli_print_help(FILE *to, const struct command *c)
{
	if (c == NULL) {
		print_overview(to);
		return;
	}
	fprintf(to, "Usage: gt-recover%s%s %s\n\n%s\n", *c->name != '\0' ? " " : "", c->name, c->args,
	    c->summary);
	if (c->details != NULL)
		fprintf(to, "%s\n", c->details);
	print_options(to, c->options);
}

int
cmd_help(const struct cli *cli, struct err *e)
{
	const struct command *c = NULL;

	if (cli->n_args > 0) {
		c = cli_find_command(cli->args[0]);
		if (c == NULL) {
			err_set(e, GT_USAGE, "usage", "there is no command %.60s", cli->args[0]);
			return err_hint(e, "gt-recover help lists them");
		}
	}
	cli_print_help(stdout, c);
	return GT_OK;
}

int
cmd_version(const struct cli *cli, struct err *e)
{
	(void)e;
	if (cli->json)
		printf("{\"schema_version\": 1, \"version\": \"%s\"}\n", GT_VERSION);
	else
		printf("gt-recover %s\n", GT_VERSION);
	return GT_OK;
}
