#include <getopt.h>

#include "cli/cli.h"

#define FLAG(field) OPTION_FLAG, offsetof(struct cli, field)
#define TEXT(field) OPTION_TEXT, offsetof(struct cli, field)
#define PARSED_AGENTS "claude|codex|gemini|opencode|copilot|qwen|auggie|cline|pi|cursor-agent|amp"

const struct cli_option cli_options[] = {
	{ "dry-run", 'n', NULL, NULL, OPT_DRY, FLAG(dry_run), "show what would be done, change nothing" },
	{ "all", 0, NULL, NULL, OPT_ALL, FLAG(all),
	    "everything that can be recovered; asks once, or needs --yes" },
	{ "yes", 'y', NULL, NULL, OPT_ASK, FLAG(yes), "do not ask" },
	{ "no-input", 0, NULL, NULL, OPT_ASK, FLAG(no_input),
	    "never ask; where an answer is needed, fail" },
	{ "via", 0, "WAY", "auto|resume|inject", OPT_VIA, TEXT(via),
	    "how the context goes back: resume goes on with the agent's own conversation, inject "
	    "hands it over as the first prompt, auto resumes when nothing speaks against it" },
	{ "scope", 0, "task|lines", "task|lines", OPT_SCOPE, TEXT(scope),
	    "how much of the conversation is taken" },
	{ "include-infra", 0, NULL, NULL, OPT_INFRA, FLAG(include_infra),
	    "also Gas Town's mayor, deacon, witness, refinery, boot and crew" },
	{ "names", 0, NULL, NULL, OPT_LIST, FLAG(names), "session names alone, one a line" },
	{ "fleet", 0, NULL, NULL, OPT_LIST, FLAG(fleet),
	    "also the agents of the other hosts that share the store, as those saw them last" },
	{ "agent", 0, "NAME", PARSED_AGENTS, OPT_AGENT, TEXT(agent),
	    "whose screen or record it is (claude)" },
	{ "transcript", 0, NULL, NULL, OPT_AGENT, FLAG(transcript),
	    "the input is the agent's own record, not a screen: of claude, codex, gemini, qwen, "
	    "copilot, pi, auggie, cline or opencode" },
	{ "agent", 0, "NAME", "claude|codex|gemini|qwen|copilot|opencode", OPT_HOOKS, TEXT(agent),
	    "whose hooks: claude (the default), codex, gemini, qwen, copilot or opencode" },
	{ "report", 0, NULL, NULL, OPT_SCRUB, FLAG(report),
	    "also kinds, rows and counts as JSON, on standard error" },
	{ "check", 0, NULL, NULL, OPT_SCRUB, FLAG(check),
	    "print nothing; status 7 when something was found" },
	{ "no-known", 0, NULL, NULL, OPT_SCRUB, FLAG(no_known),
	    "the rules alone, not the secrets of your environment and files" },
	{ "print", 0, NULL, NULL, OPT_PRINT, FLAG(print), "write to standard output, touch no file" },
	{ "since", 0, "AGE", NULL, OPT_SINCE, TEXT(since), "only what is younger, as in 7d or 12h" },
	{ "verify", 0, NULL, NULL, OPT_VERIFY, FLAG(verify), "compare events.jsonl with the store" },
	{ "mode", 0, "MODE", "stale|all|none", OPT_RUNS, TEXT(mode),
	    "which runs are settled: stale (the default), all, none" },
	{ "threshold", 0, "SECS", NULL, OPT_RUNS, TEXT(threshold),
	    "a run is stale after so many seconds (300)" },
	{ "undelivered", 0, NULL, NULL, OPT_UNDELIVERED, FLAG(undelivered),
	    "only messages on their way or without their answer" },
	{ "lease", 0, "SECS", NULL, OPT_LEASE, TEXT(lease),
	    "held for so many seconds after it was last renewed (300)" },
	{ "sprints", 0, "LIST", NULL, OPT_SPRINTS, TEXT(sprints),
	    "only the sprints at these places, as in 2,3" },
	{ "output", 0, "FILE", NULL, OPT_OUTPUT, TEXT(output),
	    "write to a private file, not to standard output" },
	{ "socket", 'L', "NAME", NULL, OPT_SOCKET, OPTION_LIST, offsetof(struct cli, sockets),
	    "only this tmux socket (name or path); may be given again" },
	{ "town", 0, "DIR", NULL, OPT_TOWN, TEXT(town), "the Gas Town to work in" },
	{ "config", 0, "FILE", NULL, OPT_CONFIG, TEXT(config), "instead of the town's or your own gt.toml" },
	{ "json", 0, NULL, NULL, 0, FLAG(json), "one JSON object on standard output" },
	{ "quiet", 'q', NULL, NULL, 0, FLAG(quiet), "no progress" },
	{ "verbose", 'v', NULL, NULL, 0, OPTION_COUNT, offsetof(struct cli, verbose), "more progress" },
	{ "color", 0, "WHEN", "auto|always|never", 0, TEXT(color), "auto, always or never" },
	{ "help", 'h', NULL, NULL, 0, FLAG(help), "help, also for a command" },
	{ "version", 'V', NULL, NULL, 0, FLAG(version), "the version" },
	{ .name = NULL },
};

enum { OPTIONS = sizeof cli_options / sizeof cli_options[0] - 1 };

static int
usage(struct err *e, const char *what)
{
	err_set(e, GT_USAGE, "usage", "%s", what);
	return err_hint(e, "gt-recover help shows the commands and options");
}

static void
store_option(struct cli *cli, const struct cli_option *o, const char *value, size_t most)
{
	void *at = (char *)cli + o->at;

	switch (o->kind) {
	case OPTION_FLAG: *(bool *)at = true; break;
	case OPTION_COUNT: ++*(int *)at; break;
	case OPTION_TEXT: *(const char **)at = value; break;
	case OPTION_LIST:
		if (cli->sockets == NULL)
			cli->sockets = xcalloc(most, sizeof *cli->sockets);
		cli->sockets[cli->n_sockets++] = value;
		break;
	}
}

static bool
is_given(const struct cli *cli, const struct cli_option *o)
{
	const void *at = (const char *)cli + o->at;

	switch (o->kind) {
	case OPTION_FLAG: return *(const bool *)at;
	case OPTION_COUNT: return *(const int *)at > 0;
	case OPTION_TEXT: return *(const char *const *)at != NULL;
	case OPTION_LIST: return cli->n_sockets > 0;
	}
	return false;
}

/* getopt has not moved on behind a bunch of short options: of "-Xn" only optopt tells which one it was. */
static void
describe_mistake(char *what, size_t size, int option, const char *letters, const char *word)
{
	if (option == ':')
		snprintf(what, size, "the option %.100s needs a value", word);
	else if (optopt > ' ' && optopt < 0x7f && strchr(letters, optopt) == NULL)
		snprintf(what, size, "there is no option -%c", optopt);
	else
		snprintf(what, size, "there is no option %.100s", word);
}

int
cli_parse(struct cli *cli, int argc, char **argv, struct err *e)
{
	struct option names[OPTIONS + 1] = { { .name = NULL } };
	char letters[2 * OPTIONS + 2] = ":", what[160] = "";
	int option;

	for (int i = 0, n = 1; i < OPTIONS; i++) {
		const struct cli_option *o = &cli_options[i];

		/* the place of its first row: an abbreviation of a name with two rows is not ambiguous */
		names[i] = (struct option){ o->name, o->argument != NULL, NULL, 256 };
		while (strcmp(cli_options[names[i].val - 256].name, o->name) != 0)
			names[i].val++;
		if (o->letter != '\0')
			n += snprintf(letters + n, sizeof letters - (size_t)n, "%c%s", o->letter,
			    o->argument != NULL ? ":" : "");
	}
	opterr = 0;
	while ((option = getopt_long(argc, argv, letters, names, NULL)) != -1) {
		int i = option - 256;

		if (option == '?' || option == ':') {
			if (what[0] == '\0')
				describe_mistake(what, sizeof what, option, letters, argv[optind - 1]);
			continue;
		}
		for (int k = 0; i < 0 && k < OPTIONS; k++)
			i = cli_options[k].letter == option ? k : i;
		store_option(cli, &cli_options[i], optarg, (size_t)argc);
	}
	cli->args = (const char *const *)argv + optind;
	cli->n_args = (size_t)(argc - optind);
	return what[0] != '\0' ? usage(e, what) : 0;
}

const char *
cli_option_not_taken(const struct cli *cli, unsigned taken)
{
	for (int i = 0; i < OPTIONS; i++) {
		const struct cli_option *o = &cli_options[i];
		unsigned takers = 0;

		for (int k = 0; k < OPTIONS; k++)
			takers |= cli_options[k].at == o->at ? cli_options[k].commands : 0;
		if (takers != 0 && (takers & taken) == 0 && is_given(cli, o))
			return o->name;
	}
	return NULL;
}

int
cli_check_options(const struct cli *cli, const struct command *c, struct err *e)
{
	const char *not_taken = cli_option_not_taken(cli, cli_command_options(c));
	char what[160];

	if (not_taken != NULL) {
		snprintf(what, sizeof what, "the command %s takes no --%s",
		    *c->name != '\0' ? c->name : "gt-recover", not_taken);
		return usage(e, what);
	}
	if (cli->color != NULL && strcmp(cli->color, "auto") != 0 && strcmp(cli->color, "always") != 0 &&
	    strcmp(cli->color, "never") != 0)
		return usage(e, "--color takes auto, always or never");
	return cli->n_args > 0 && c->args == NULL && c->verbs == NULL ? cli_no_arguments(cli, e) : 0;
}
