/*
 * Describes the command line from its tables (cli/cli.h, config/config.h): writes the completions of
 * bash, fish and zsh, and the list of options in the manual. make completions runs it in the root of the
 * source; tests/unit/test_describe.c fails when a file is out of date.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "cli/cli.h"
#include "config/config.h"

#define BEGIN ".\\\" Written by make completions, to END:\n"
#define END ".\\\" END\n"
#define EVENTS "SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop Stop SessionEnd"

/* "records KIND" */
static bool
is_kind(const struct command *c)
{
	return c->now != NULL && str_starts(c->now, "records ");
}

static bool
takes(const struct command *c, const struct cli_option *o)
{
	unsigned options = cli_command_options(c);

	for (const struct command *x = commands; x->name != NULL && c->run == cmd_records; x++)
		if (is_kind(x))
			options |= cli_command_options(x);
	return (options & o->commands) != 0;
}

/* "a b" of "a|b" */
static void
put_words(struct buf *out, const char *words)
{
	for (; *words != '\0'; words++)
		buf_chr(out, *words == '|' ? ' ' : *words);
}

/* Up to one of the bytes of `end`, in quotes of the shells. */
static void
put_quoted(struct buf *out, const char *text, const char *end)
{
	for (size_t n = strcspn(text, end); n > 0; n--, text++)
		buf_str(out, *text == '\'' ? "'\\''" : (char[]){ *text, '\0' });
}

/* The words that may stand behind a command, as its usage names them: verbs, or what is in small letters. */
static void
put_verbs(struct buf *out, const struct command *c)
{
	struct buf usage = BUF_INIT;

	for (const struct command *x = commands; x->name != NULL && c->run == cmd_records; x++)
		if (is_kind(x))
			buf_fmt(out, "%s%s", out->len > 0 ? " " : "", x->name);
	if (c->run == cmd_records)
		return;
	cli_command_usage(c, &usage);
	for (const char *p = usage.data; p != NULL && *p != '\0';) {
		size_t n = strcspn(p, " |[]");

		if (n > 0 && islower((unsigned char)*p))
			buf_fmt(out, "%s%.*s", out->len > 0 ? " " : "", (int)n, p);
		p += n + (p[n] != '\0');
	}
	buf_release(&usage);
}

static bool
has_argument(const struct command *c, const char *name)
{
	return c->args != NULL && c->verbs == NULL && strstr(c->args, name) != NULL;
}

/* Rows of words of at most 100 columns. */
static void
put_settings(struct buf *out, const char *indent)
{
	size_t used = 1000;

	for (size_t i = 0; i < config_count(); i++) {
		const struct config_key *k = config_key_at(i);
		const char *section = strchr(k->section, '.');
		size_t n = (section != NULL ? strlen(section) : 0) + strlen(k->key) + 1;

		if (used + n > 100) {
			buf_fmt(out, "\n%s", indent);
			used = 8;
		} else {
			buf_chr(out, ' ');
		}
		buf_fmt(out, "%s%s%s", section != NULL ? section + 1 : "", section != NULL ? "." : "", k->key);
		used += n;
	}
}

static void
put_commands(struct buf *out, const char *between)
{
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++)
		buf_fmt(out, "%s%s", c != commands + 1 ? between : "", c->name);
}

/* What it takes as its next word; NULL: nothing. */
static const char *
needed(const struct cli_option *o)
{
	return o->kind == OPTION_FORMAT ? NULL : o->argument;
}

/* A row whose name has an earlier one. */
static bool
is_second(const struct cli_option *o)
{
	for (const struct cli_option *x = cli_options; x < o; x++)
		if (strcmp(x->name, o->name) == 0)
			return true;
	return false;
}

static void
put_flags(struct buf *out, const struct cli_option *o, const char *between)
{
	if (o->letter != '\0')
		buf_fmt(out, "-%c%s", o->letter, between);
	buf_fmt(out, "--%s", o->name);
}

/* ---- bash ---- */

static void
bash_options(struct buf *out, const struct command *c)
{
	for (const struct cli_option *o = cli_options; o->name != NULL; o++)
		if (c == NULL ? o->commands == 0 : takes(c, o)) {
			if (out->len > 0)
				buf_chr(out, ' ');
			put_flags(out, o, " ");
		}
}

static void
bash_values(struct buf *out)
{
	buf_str(out, "\tcase $prev in\n");
	for (const struct cli_option *o = cli_options; o->name != NULL; o++) {
		if (needed(o) == NULL || is_second(o))
			continue;
		buf_chr(out, '\t');
		put_flags(out, o, " | ");
		if (o->words == NULL && strcmp(needed(o), "DIR") != 0 && strcmp(needed(o), "FILE") != 0) {
			buf_str(out, ") return ;;\n");
			continue;
		}
		buf_str(out, ")\n\t\tmapfile -t COMPREPLY < <(compgen ");
		if (o->words != NULL) {
			buf_str(out, "-W '");
			put_words(out, o->words);
			buf_chr(out, '\'');
		} else {
			buf_str(out, *needed(o) == 'D' ? "-d" : "-f");
		}
		buf_str(out, " -- \"$cur\")\n\t\treturn\n\t\t;;\n");
	}
	buf_str(out, "\tesac\n");
}

/* What stands before the word: the command is the first that is no option and no option's value. */
static void
bash_command(struct buf *out)
{
	bool first = true;

	buf_str(out,
	    "\t# The command is the first word that is no option and no option's value; options that say where "
	    "to look are handed on.\n"
	    "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tword=${COMP_WORDS[i]}\n\t\tcase $word in\n"
	    "\t\t--town | --config | -L | --socket)\n\t\t\targs+=(\"$word\" \"${COMP_WORDS[i + 1]}\")\n"
	    "\t\t\ti=$((i + 1))\n\t\t\t;;\n\t\t");
	for (const struct cli_option *o = cli_options; o->name != NULL; o++)
		if (needed(o) != NULL && !is_second(o) && (o->commands & OPT_TMUX) == 0) {
			buf_str(out, first ? "" : " | ");
			put_flags(out, o, " | ");
			first = false;
		}
	buf_str(out, ") i=$((i + 1)) ;;\n\t\t-*) ;;\n"
		     "\t\t*) [ -n \"$command\" ] || command=$word ;;\n\t\tesac\n\tdone\n\n");
}

static void
bash_words(struct buf *out)
{
	bool first = true;

	buf_str(out, "\tcase $command in\n\t");
	for (const struct command *c = commands; c->now == NULL && c->name != NULL; c++)
		if (has_argument(c, "SESSION")) {
			buf_fmt(out, "%s%s", first ? "" : " | ", *c->name != '\0' ? c->name : "''");
			first = false;
		}
	buf_str(out,
	    ")\n\t\t# names may hold blanks and quotes: one a line, compared and quoted here\n"
	    "\t\tmapfile -t names < <(gt-recover \"${args[@]}\" list --names 2>/dev/null)\n"
	    "\t\tfor word in \"${names[@]}\"; do\n"
	    "\t\t\t[[ $word != \"$cur\"* ]] || COMPREPLY+=(\"$(printf '%q' \"$word\")\")\n\t\tdone\n\t\t;;\n");
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++) {
		struct buf words = BUF_INIT;

		put_verbs(&words, c);
		if (has_argument(c, "KEY"))
			buf_fmt(out, "\t%s) mapfile -t COMPREPLY < <(compgen -W \"%s $settings\" -- \"$cur\") ;;\n",
			    c->name, words.data);
		else if (words.len > 0)
			buf_fmt(out, "\t%s) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\") ;;\n", c->name,
			    words.data);
		buf_release(&words);
		if (has_argument(c, "EVENT"))
			buf_fmt(out, "\t%s) mapfile -t COMPREPLY < <(compgen -W '" EVENTS "' -- \"$cur\") ;;\n",
			    c->name);
		if (has_argument(c, "COMMAND"))
			buf_fmt(out, "\t%s) mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$cur\") ;;\n",
			    c->name);
	}
	buf_str(out, "\tesac\n\tif [ -z \"$command\" ]; then\n\t\twhile read -r word; do\n"
		     "\t\t\tCOMPREPLY+=(\"$word\")\n\t\tdone < <(compgen -W \"$commands\" -- \"$cur\")\n\tfi\n}\n\n"
		     "complete -F _gt_recover gt-recover\n");
}

static void
describe_bash(struct buf *out)
{
	struct buf common = BUF_INIT;

	bash_options(&common, NULL);
	buf_str(out, "# bash completion for gt-recover, written by make completions. Session names come from "
		     "`gt-recover list --names`.\n# shellcheck shell=bash\n\n_gt_recover() {\n"
		     "\tlocal commands='");
	put_commands(out, " ");
	buf_fmt(out, "'\n\tlocal common='%s'\n\tlocal settings='", common.data);
	buf_release(&common);
	put_settings(out, "\t\t");
	buf_str(out, "'\n\tlocal cur prev word command='' options names\n\tlocal -a args=()\n\tlocal i\n\n"
		     "\tcur=${COMP_WORDS[COMP_CWORD]}\n\tprev=${COMP_WORDS[COMP_CWORD - 1]}\n"
		     "\tCOMPREPLY=()\n\n");
	bash_command(out);
	bash_values(out);
	buf_str(out, "\n\tif [[ $cur == -* ]]; then\n\t\tcase $command in\n");
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++) {
		struct buf options = BUF_INIT;

		bash_options(&options, c);
		buf_fmt(out, "\t\t%s) options='%s' ;;\n", c->name, options.len > 0 ? options.data : "");
		buf_release(&options);
	}
	buf_str(out, "\t\t*) options='");
	bash_options(&common, commands);
	buf_fmt(out, "%s' ;;\n\t\tesac\n", common.data);
	buf_release(&common);
	buf_str(out, "\t\tmapfile -t COMPREPLY < <(compgen -W \"$common $options\" -- \"$cur\")\n"
		     "\t\treturn\n\tfi\n\n");
	bash_words(out);
}

/* ---- fish ---- */

#define FISH "complete -c gt-recover"

/* -n CONDITION for the commands that take an option; nothing when all do. */
static void
fish_condition(struct buf *out, const struct cli_option *o)
{
	struct buf names = BUF_INIT;
	bool bare = takes(commands, o);

	if (o->commands == 0)
		return;
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++)
		if (takes(c, o))
			buf_fmt(&names, " %s", c->name);
	buf_fmt(out, " -n '%s%s%s%s'", bare ? "__gt_recover_bare" : "", bare && names.len > 0 ? "; or " : "",
	    names.len > 0 ? "__fish_seen_subcommand_from" : "", names.len > 0 ? names.data : "");
	buf_release(&names);
}

static void
fish_option(struct buf *out, const struct cli_option *o)
{
	buf_str(out, FISH);
	fish_condition(out, o);
	if (o->letter != '\0')
		buf_fmt(out, " -s %c", o->letter);
	buf_fmt(out, " -l %s", o->name);
	if (o->words != NULL) {
		buf_str(out, " -x -a '");
		put_words(out, o->words);
		buf_chr(out, '\'');
	} else if (needed(o) != NULL) {
		buf_str(out, strcmp(needed(o), "DIR") == 0 ? " -x -a '(__fish_complete_directories)'" :
		    strcmp(needed(o), "FILE") == 0 ? " -r -F" : " -x");
	}
	buf_str(out, " -d '");
	put_quoted(out, o->help, ":;");
	buf_str(out, "'\n");
}

static void
fish_words(struct buf *out, const struct command *c)
{
	struct buf words = BUF_INIT;

	put_verbs(&words, c);
	if (words.len > 0)
		buf_fmt(out, FISH " -n '__fish_seen_subcommand_from %s' -a '%s'\n", c->name, words.data);
	buf_release(&words);
	if (has_argument(c, "EVENT"))
		buf_fmt(out, FISH " -n '__fish_seen_subcommand_from %s' -a '" EVENTS "'\n", c->name);
	if (has_argument(c, "COMMAND"))
		buf_fmt(out, FISH " -n '__fish_seen_subcommand_from %s' -a \"$__gt_recover_commands\"\n",
		    c->name);
	if (has_argument(c, "KEY")) {
		buf_fmt(out, FISH " -n '__fish_seen_subcommand_from %s' -a '", c->name);
		put_settings(out, "    ");
		buf_str(out, "\n'\n");
	}
}

static void
describe_fish(struct buf *out)
{
	buf_str(out, "# fish completion for gt-recover, written by make completions. Session names come from "
		     "`gt-recover list --names`.\n\nset -g __gt_recover_commands ");
	put_commands(out, " ");
	buf_str(out,
	    "\n\n# True when no command was given yet: sessions of the bare command may stand there.\n"
	    "function __gt_recover_bare\n    not __fish_seen_subcommand_from $__gt_recover_commands\nend\n\n"
	    "# The words that say where to look are handed on.\nfunction __gt_recover_sessions\n"
	    "    set -l words (commandline -opc)\n    set -l where\n    set -l i 2\n"
	    "    while test $i -lt (count $words)\n"
	    "        if contains -- $words[$i] --town --config -L --socket\n"
	    "            set i (math $i + 1)\n"
	    "            set -a where $words[(math $i - 1)] $words[$i]\n        end\n"
	    "        set i (math $i + 1)\n    end\n    gt-recover $where list --names 2>/dev/null\nend\n\n" FISH
	    " -f\n\n");
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++) {
		buf_fmt(out, FISH " -n '__gt_recover_bare' -a %s -d '", c->name);
		put_quoted(out, c->summary, "");
		buf_str(out, "'\n");
	}
	buf_str(out, FISH " -n '__gt_recover_bare; or __fish_seen_subcommand_from");
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++)
		if (has_argument(c, "SESSION"))
			buf_fmt(out, " %s", c->name);
	buf_str(out, "' -a '(__gt_recover_sessions)' -d session\n");
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++)
		fish_words(out, c);
	buf_chr(out, '\n');
	for (const struct cli_option *o = cli_options; o->name != NULL; o++)
		fish_option(out, o);
}

/* ---- zsh ---- */

static void
zsh_option(struct buf *out, const struct cli_option *o)
{
	if (o->letter != '\0' && (o->kind == OPTION_COUNT || o->kind == OPTION_LIST))
		buf_fmt(out, "'*'{-%c,--%s}'[", o->letter, o->name);
	else if (o->letter != '\0')
		buf_fmt(out, "'(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter, o->name);
	else
		buf_fmt(out, "'--%s[", o->name);
	put_quoted(out, o->help, ":;");
	buf_chr(out, ']');
	if (needed(o) != NULL) {
		buf_chr(out, ':');
		for (const char *p = needed(o); *p != '\0' && *p != '|'; p++)
			buf_chr(out, (char)tolower((unsigned char)*p));
		buf_chr(out, ':');
		if (o->words != NULL) {
			buf_chr(out, '(');
			put_words(out, o->words);
			buf_chr(out, ')');
		} else {
			buf_str(out, strcmp(needed(o), "DIR") == 0 ? "_files -/" :
			    strcmp(needed(o), "FILE") == 0 ? "_files" : " ");
		}
	}
	buf_chr(out, '\'');
}

/* c NULL: those that every command takes. */
static void
zsh_options(struct buf *out, const struct command *c, const char *indent)
{
	for (const struct cli_option *o = cli_options; o->name != NULL; o++)
		if (c == NULL ? o->commands == 0 : takes(c, o)) {
			buf_str(out, indent);
			zsh_option(out, o);
			buf_chr(out, '\n');
		}
}

static void
zsh_words(struct buf *out)
{
	buf_str(out, "\t\tcase $line[1] in\n");
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++) {
		struct buf words = BUF_INIT;

		put_verbs(&words, c);
		buf_fmt(out, "\t\t%s)", c->name);
		if (has_argument(c, "KEY"))
			buf_fmt(out, " _gt_recover_settings %s", words.data);
		else if (words.len > 0)
			buf_fmt(out, " _wanted words expl 'word' compadd %s", words.data);
		else if (has_argument(c, "EVENT"))
			buf_str(out, " _wanted events expl 'event' compadd " EVENTS);
		else if (has_argument(c, "COMMAND"))
			buf_str(out, " _gt_recover_commands");
		else if (has_argument(c, "SESSION"))
			buf_str(out, " _gt_recover_sessions");
		buf_str(out, " ;;\n");
		buf_release(&words);
	}
	buf_str(out, "\t\t*) _gt_recover_sessions ;;\n\t\tesac\n\t\t;;\n\tesac\n}\n\n_gt_recover \"$@\"\n");
}

static void
describe_zsh(struct buf *out)
{
	buf_str(out,
	    "#compdef gt-recover\n# zsh completion for gt-recover, written by make completions. Session names come "
	    "from `gt-recover list --names`.\n\n"
	    "_gt_recover_sessions() {\n\tlocal -a names where\n\tlocal option\n\n"
	    "\tfor option in --town --config -L --socket; do\n"
	    "\t\t(( ${+opt_args[$option]} )) && where+=($option ${(Q)opt_args[$option]})\n\tdone\n"
	    "\tnames=(${(f)\"$(_call_program sessions gt-recover ${(q)where} list --names 2>/dev/null)\"})\n"
	    "\t_wanted sessions expl 'session' compadd -a names\n}\n\n"
	    "_gt_recover_commands() {\n\tlocal -a commands=(\n");
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++) {
		buf_fmt(out, "\t\t'%s:", c->name);
		put_quoted(out, c->summary, "");
		buf_str(out, "'\n");
	}
	buf_str(out, "\t)\n\n\t_describe -t commands 'command' commands\n}\n\n"
		     "_gt_recover_settings() {\n\tlocal -a settings=(");
	put_settings(out, "\t\t");
	buf_str(out, "\n\t)\n\n\t_wanted settings expl 'setting' compadd -- $@ $settings\n}\n\n"
		     "_gt_recover() {\n\tlocal curcontext=$curcontext state line\n\tlocal -A opt_args\n"
		     "\tlocal -a options common=(\n");
	zsh_options(out, NULL, "\t\t");
	buf_str(out, "\t)\n\n\tcase ${words[(r)(");
	put_commands(out, "|");
	buf_str(out, ")]} in\n");
	for (const struct command *c = commands + 1; c->now == NULL && c->name != NULL; c++) {
		buf_fmt(out, "\t%s) options=(\n", c->name);
		zsh_options(out, c, "\t\t");
		buf_str(out, "\t) ;;\n");
	}
	buf_str(out, "\t*) options=(\n");
	zsh_options(out, commands, "\t\t");
	buf_str(out,
	    "\t) ;;\n\tesac\n\t_arguments -C -s -S $common $options '1: :->first' '*: :->rest' && return\n\n"
		     "\tcase $state in\n\tfirst)\n\t\t_alternative 'commands:command:_gt_recover_commands' "
		     "'sessions:session:_gt_recover_sessions'\n\t\t;;\n\trest)\n");
	zsh_words(out);
}

/* ---- the manual ---- */

/* Its first letter a capital, and every hyphen one that can be copied. */
static void
man_sentence(struct buf *out, const char *text)
{
	buf_chr(out, (char)toupper((unsigned char)*text));
	for (const char *p = text + 1; *p != '\0'; p++)
		buf_str(out, *p == '-' ? "\\-" : (char[]){ *p, '\0' });
	buf_str(out, ".\n");
}

/* The commands that take the option, or, of most, those that do not. */
static void
man_commands(struct buf *out, const struct cli_option *o)
{
	size_t n = 0, all = 0;
	bool most, first = true, bare = false;

	for (const struct command *c = commands; c->now == NULL && c->name != NULL; c++, all++)
		n += takes(c, o);
	if (o->commands == 0)
		return;
	most = n > all / 2;
	buf_str(out, most ? ".br\nTaken by all but\n" : ".br\nTaken by\n");
	for (const struct command *c = commands; c->now == NULL && c->name != NULL; c++)
		if (takes(c, o) != most) {
			buf_str(out, first ? "" : bare ? ",\n" : " ,\n");
			bare = *c->name == '\0';
			buf_fmt(out, "%s%s", bare ? ".Nm\nalone" : ".Cm ", c->name);
			first = false;
		}
	buf_str(out, bare ? ".\n" : " .\n");
}

static void
describe_options(struct buf *out)
{
	buf_str(out, BEGIN ".Bl -tag -width Ds\n");
	for (const struct cli_option *o = cli_options; o->name != NULL; o++) {
		buf_str(out, ".It ");
		if (o->letter != '\0')
			buf_fmt(out, "Fl %c , ", o->letter);
		buf_fmt(out, "Fl -%s", o->name);
		if (o->kind == OPTION_FORMAT)
			buf_str(out, " Ns Op = Ns Cm ");
		else if (o->argument != NULL)
			buf_str(out, islower((unsigned char)*o->argument) ? " Cm " : " Ar ");
		for (const char *p = o->argument; p != NULL && *p != '\0'; p++)
			buf_str(out, *p == '|' ? " | " : (char[]){ *p, '\0' });
		buf_chr(out, '\n');
		man_sentence(out, o->help);
		man_commands(out, o);
	}
	buf_str(out, ".El\n" END);
}

/* ---- files ---- */

static const struct { const char *path; void (*describe)(struct buf *out);
} described[] = {
	{ "completions/gt-recover.bash", describe_bash }, { "completions/gt-recover.fish", describe_fish },
	{ "completions/gt-recover.zsh", describe_zsh }, { "man/gt-recover.1", describe_options },
};

/* What the file should hold; old: what it holds. Of a manual all but the marked part stays. */
static void
describe(size_t i, const char *old, struct buf *out)
{
	const char *begin = strstr(old, BEGIN), *end = begin != NULL ? strstr(begin, END) : NULL;

	if (end != NULL)
		buf_fmt(out, "%.*s", (int)(begin - old), old);
	described[i].describe(out);
	if (end != NULL)
		buf_str(out, end + strlen(END));
}

#ifndef DESCRIBE_TEST
int
main(void)
{
	for (size_t i = 0; i < sizeof described / sizeof described[0]; i++) {
		struct buf old = BUF_INIT, new = BUF_INIT;
		struct err e = ERR_INIT;
		FILE *f;

		if (io_read_file(described[i].path, (size_t)1 << 24, &old, &e) != 0) {
			fprintf(stderr, "describe: %s\n", e.msg);
			return 1;
		}
		describe(i, old.data, &new);
		f = fopen(described[i].path, "w");
		if (f == NULL || fwrite(new.data, 1, new.len, f) != new.len || fclose(f) != 0) {
			perror(described[i].path);
			return 1;
		}
		buf_release(&old);
		buf_release(&new);
	}
	return 0;
}
#endif
