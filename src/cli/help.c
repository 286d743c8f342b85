#include <ctype.h>

#include "cli/cli.h"
#include "config/config.h"

#define WIDTH 79		/* columns of a line */
#define OPTION_COLUMN 25	/* where the text of an option begins */
#define RECORDS "records "

static const char *const groups[] = {
	[GROUP_RECOVER] = "Recover", [GROUP_PROTECT] = "Protect", [GROUP_HISTORY] = "History",
	[GROUP_FILTERS] = "Filters", [GROUP_PROGRAMS] = "Programs", [GROUP_HELP] = "Help",
};

/* "gt-recover records run" */
static const char *
spelling(const struct command *c)
{
	return c->now != NULL && str_starts(c->now, RECORDS) ? c->now : c->name;
}

/* Of a format behind the first ';' stands what those commands do with it that take one. */
static void
print_option(FILE *to, const struct cli_option *o, const struct command *c)
{
	char letter[] = { '-', o->letter, ',', '\0' };
	bool format = o->kind == OPTION_FORMAT;
	const char *argument = format && !c->streams ? NULL : o->argument;
	char *help;
	int n;

	if (format && c->text_only)
		return;
	n = fprintf(to, "  %3s --%s%s%s%s ", o->letter != '\0' ? letter : "", o->name,
	    argument == NULL ? "" : format ? "[=" : " ", argument != NULL ? argument : "",
	    argument != NULL && format ? "]" : "");
	fprintf(to, "%*s", n > 0 && n < OPTION_COLUMN ? OPTION_COLUMN - n : 0, "");
	help = xstrdup(o->help);
	if (format && argument == NULL)
		help[strcspn(help, ";")] = '\0';
	output_wrapped(to, help, OPTION_COLUMN, WIDTH);
	free(help);
}

static void
print_options(FILE *to, const struct command *c)
{
	unsigned options = cli_command_options(c);
	bool any = false;

	for (const struct cli_option *o = cli_options; o->name != NULL; o++) {
		if ((o->commands & options) == 0)
			continue;
		fputs(any ? "" : "\nOPTIONS\n", to);
		any = true;
		print_option(to, o, c);
	}
	fputs("\nCOMMON OPTIONS\n", to);
	for (const struct cli_option *o = cli_options; o->name != NULL; o++)
		if (o->commands == 0)
			print_option(to, o, c);
}

/* One row for each command, the group in front of its first. */
static void
print_overview(FILE *to)
{
	fputs("gt-recover recovers crashed coding agents in tmux with their conversation.\n\n"
	      "Usage: gt-recover [SESSION...] [options]\n       gt-recover COMMAND [options]\n",
	    to);
	for (const struct command *c = commands; c->now == NULL; c++) {
		bool first = c == commands || c[-1].group != c->group;

		fprintf(to, "%s%-10s%-14s%s\n", first ? "\n" : "", first ? groups[c->group] : "",
		    *c->name != '\0' ? c->name : c->args, c->summary);
	}
	fputs("\nOptions of most commands: -n --dry-run, -y --yes, -L --socket NAME, --json,\n"
	      "-q --quiet, -v --verbose, --config FILE, -h --help\n\n"
	      "gt-recover help COMMAND shows its options and examples, `help recover` those\n"
	      "of gt-recover SESSION and the exit statuses. More: man gt-recover, man gt.toml\n",
	    to);
}

static void
print_paragraphs(FILE *to, const char *text)
{
	char *copy = xstrdup(text), *rest = copy;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;)
		output_wrapped(to, line, 0, WIDTH);
	free(copy);
}

static void
print_section(FILE *to, const char *head, const char *text)
{
	if (text == NULL)
		return;
	fprintf(to, "\n%s\n", head);
	for (size_t n; *text != '\0'; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		fprintf(to, "  %.*s\n", (int)n, text);
	}
}

static void
print_kinds(FILE *to)
{
	fputs("\nKINDS\n", to);
	for (const struct command *c = commands; c->name != NULL; c++)
		if (c->now != NULL && str_starts(c->now, RECORDS))
			fprintf(to, "  %-12s%s\n", c->now + strlen(RECORDS), c->summary);
}

static void
print_command_help(FILE *to, const struct command *c)
{
	const char *name = spelling(c);
	struct buf usage = BUF_INIT, args = BUF_INIT;

	cli_command_usage(c, &args);
	buf_fmt(&usage, "gt-recover%s%s%s%s [options]", *name != '\0' ? " " : "", name,
	    args.len > 0 ? " " : "", args.data);
	fputs("USAGE\n  ", to);
	output_wrapped(to, usage.data, 2, WIDTH);
	putc('\n', to);
	if (name == c->name && c->now != NULL)
		fprintf(to, "Another spelling of: gt-recover %s\n\n", c->now);
	fprintf(to, "%c%s.\n", toupper((unsigned char)*c->summary), c->summary + 1);
	if (c->details != NULL) {
		putc('\n', to);
		print_paragraphs(to, c->details);
	}
	if (c->run == cmd_records)
		print_kinds(to);
	print_options(to, c);
	print_section(to, "EXAMPLES", c->examples);
	print_section(to, "EXIT STATUS", c->statuses);
	buf_release(&args);
	buf_release(&usage);
}

void
cli_print_help(FILE *to, const struct command *c)
{
	if (c == NULL)
		print_overview(to);
	else
		print_command_help(to, c);
}

int
cmd_help(const struct cli *cli, struct err *e)
{
	const struct command *c = NULL;
	size_t taken = 0;

	if (cli->n_args > 0 && strcmp(cli->args[0], "recover") == 0) {
		c = commands;
	} else if (cli->n_args > 0) {
		c = cli_find_command(cli->args, cli->n_args, &taken);
		if (c == NULL || cli->n_args > 2)
			return cli_unknown_command(cli->args[0], e);
	}
	cli_print_help(stdout, c);
	return GT_OK;
}

/* "records" takes one of these. */
int
cmd_records(const struct cli *cli, struct err *e)
{
	const char *words[40], *near;
	struct buf names = BUF_INIT;
	size_t n = 0;

	for (const struct command *c = commands; c->name != NULL; c++)
		if (c->now != NULL && str_starts(c->now, RECORDS)) {
			words[n++] = c->now + strlen(RECORDS);
			buf_fmt(&names, "%s%s", n > 1 ? ", " : "", words[n - 1]);
		}
	err_set(e, GT_USAGE, "usage", "records: expected one of %s%s%.60s%s", names.data,
	    cli->n_args > 0 ? ", not \"" : "", cli->n_args > 0 ? cli->args[0] : "",
	    cli->n_args > 0 ? "\"" : "");
	buf_release(&names);
	near = cli->n_args > 0 ? config_nearest(cli->args[0], words, n) : NULL;
	return near != NULL ? err_hint(e, "did you mean gt-recover records %s?", near) :
	    err_hint(e, "gt-recover help records");
}

/* The files in completions/, which are written from the tables of the command line. */
static const char bash_completion[] = {
#include "gt-recover.bash.inc"
};
static const char fish_completion[] = {
#include "gt-recover.fish.inc"
};
static const char zsh_completion[] = {
#include "gt-recover.zsh.inc"
};

int
cmd_completion(const struct cli *cli, struct err *e)
{
	static const struct { const char *shell, *text; size_t n;
	} shells[] = {
		{ "bash", bash_completion, sizeof bash_completion },
		{ "fish", fish_completion, sizeof fish_completion },
		{ "zsh", zsh_completion, sizeof zsh_completion },
	};

	for (size_t i = 0; i < sizeof shells / sizeof shells[0] && cli->n_args == 1; i++)
		if (strcmp(cli->args[0], shells[i].shell) == 0) {
			fwrite(shells[i].text, 1, shells[i].n, stdout);
			return GT_OK;
		}
	err_set(e, GT_USAGE, "usage", "completion: expected one of bash, fish, zsh");
	return err_hint(e, "eval \"$(gt-recover completion bash)\"");
}

int
cmd_version(const struct cli *cli, struct err *e)
{
	(void)e;
	if (cli->json)
		printf("{\"schema_version\": %d, \"version\": \"%s\"}\n", OUTPUT_SCHEMA, GT_VERSION);
	else
		printf("gt-recover %s\n", GT_VERSION);
	return GT_OK;
}
