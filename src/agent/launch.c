#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/sys.h"
#include "gastown/gastown.h"
#include "process/proc.h"
#include "tmux/tmux.h"

/*
 * A shell command cut into simple commands of words. Only as much of the shell as start commands
 * use; what it does not know makes `certain` false.
 */
struct cutter {
	const char *text;
	size_t at;
	bool certain;
	struct command_word *words;
	size_t n, cap;
};

static void
words_free(struct command_word *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		explicit_bzero(w[i].text, strlen(w[i].text));
		free(w[i].text);
	}
	free(w);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Ends a simple command. */
static bool
is_end(char c)
{
	return c == '\0' || c == ';' || c == '&' || c == '|' || c == '\n';
}

/* A $… or `…` at p, copied as written. Returns its length. */
static size_t
take_expansion(const char *p, struct buf *out)
{
	size_t n = 1, depth = 0;

	if (p[0] == '`') {
		while (p[n] != '\0' && p[n] != '`')
			n++;
		n += p[n] == '`';
	} else if (p[1] == '(' || p[1] == '{') {
		do {
			depth += p[n] == '(' || p[n] == '{';
			depth -= p[n] == ')' || p[n] == '}';
			n++;
		} while (depth > 0 && p[n] != '\0');
	}
	buf_add(out, p, n);
	return n;
}

static void
take_double(struct cutter *c, struct buf *out, bool *literal)
{
	const char *t = c->text;

	for (c->at++; t[c->at] != '"' && t[c->at] != '\0'; ) {
		if (t[c->at] == '\\' && t[c->at + 1] != '\0' && strchr("$`\"\\\n", t[c->at + 1]) != NULL) {
			buf_chr(out, t[c->at + 1]);
			c->at += 2;
		} else if (t[c->at] == '$' || t[c->at] == '`') {
			c->certain = c->certain && t[c->at] == '$' && t[c->at + 1] != '(';
			*literal = false;
			c->at += take_expansion(t + c->at, out);
		} else {
			buf_chr(out, t[c->at++]);
		}
	}
	if (t[c->at] == '"')
		c->at++;
	else
		c->certain = false;
}

static void
take_single(struct cutter *c, struct buf *out)
{
	const char *from = c->text + c->at + 1, *to = strchr(from, '\'');

	if (to == NULL) {
		c->certain = false;
		to = from + strlen(from);
	}
	buf_add(out, from, (size_t)(to - from));
	c->at = (size_t)(to - c->text) + (*to == '\'');
}

static void
take_word(struct cutter *c)
{
	const char *t = c->text;
	struct buf b = BUF_INIT;
	struct command_word w = { .from = c->at, .literal = true };

	while (!is_blank(t[c->at]) && !is_end(t[c->at])) {
		char ch = t[c->at];

		if (ch == '\'') {
			take_single(c, &b);
		} else if (ch == '"') {
			take_double(c, &b, &w.literal);
		} else if (ch == '\\' && t[c->at + 1] != '\0') {
			buf_chr(&b, t[c->at + 1]);
			c->at += 2;
		} else if (ch == '$' || ch == '`') {
			c->certain = c->certain && ch == '$' && t[c->at + 1] != '(';
			w.literal = false;
			c->at += take_expansion(t + c->at, &b);
		} else {
			if (strchr("<>(){}*?[", ch) != NULL || (ch == '#' && b.len == 0))
				c->certain = false;
			buf_chr(&b, ch);
			c->at++;
		}
	}
	w.to = c->at;
	w.text = buf_detach(&b);
	c->words = vec_room(c->words, c->n, &c->cap, sizeof *c->words);
	c->words[c->n++] = w;
}

/* The next simple command into c->words; false at the end of the text. */
static bool
take_command(struct cutter *c)
{
	const char *t = c->text;

	words_free(c->words, c->n);
	c->words = NULL;
	c->n = c->cap = 0;
	while (is_blank(t[c->at]) || (is_end(t[c->at]) && t[c->at] != '\0')) {
		/* a pipe and a lone & give the agent another standard input than ours */
		if (t[c->at] == '|' && t[c->at + 1] != '|')
			c->certain = false;
		if (t[c->at] == '&' && t[c->at + 1] != '&')
			c->certain = false;
		c->at += (t[c->at] == '|' || t[c->at] == '&') && t[c->at + 1] == t[c->at] ? 2 : 1;
	}
	if (t[c->at] == '\0')
		return false;
	while (!is_end(t[c->at])) {
		if (is_blank(t[c->at]))
			c->at++;
		else
			take_word(c);
	}
	return true;
}

static bool
is_assignment(const char *w)
{
	size_t n = 0;

	while (isalnum((unsigned char)w[n]) || w[n] == '_')
		n++;
	return n > 0 && w[n] == '=' && !isdigit((unsigned char)w[0]);
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool
one_of(const char *name, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

static const char *const prefixes[] = { "exec", "command", "nohup", "setsid", "env", "nice", "time", "stdbuf",
	"ionice", "chrt", NULL };
static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "fish", NULL };
static const char *const runtimes[] = { "node", "nodejs", "bun", "deno", "python", "python3", NULL };

/* Options of the prefixes that take the next word. */
static bool
takes_next(const char *prefix, const char *option)
{
	static const struct { const char *prefix, *options;
	} table[] = {
		{ "exec", "-a" }, { "env", "-u -C --unset --chdir" }, { "nice", "-n" },
		{ "ionice", "-c -n -p" }, { "stdbuf", "-i -o -e" },
	};

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		const char *hit =
		    strcmp(table[i].prefix, prefix) == 0 ? strstr(table[i].options, option) : NULL;

		if (hit != NULL && (hit[strlen(option)] == ' ' || hit[strlen(option)] == '\0'))
			return true;
	}
	return false;
}

/* Index of the word that is the program, n when there is none. */
static size_t
find_program(const struct command_word *w, size_t n)
{
	const char *prefix = "";
	size_t i = 0;

	while (i < n) {
		if (is_assignment(w[i].text)) {
			i++;
		} else if (*prefix != '\0' && w[i].text[0] == '-') {
			i += takes_next(prefix, w[i].text) ? 2 : 1;
		} else if (one_of(base_name(w[i].text), prefixes)) {
			prefix = base_name(w[i].text);
			i++;
		} else {
			return i;
		}
	}
	return n;
}

/*
 * The name by which a program is known: a script of a runtime by its own, or its package's. Heap.
 * *entry: the word that it is read from.
 */
static char *
program_name(const struct command_word *w, size_t n, size_t program, launch_is_agent_fn *is_agent,
    const void *arg, size_t *entry)
{
	const char *name = base_name(w[program].text);
	char package[64];

	*entry = program;
	if (!is_agent(arg, name) && one_of(name, runtimes))
		for (size_t i = program + 1; i < n; i++) {
			if (w[i].text[0] == '-')
				continue;
			*entry = i;
			if (strstr(w[i].text, "/claude-code/") != NULL)
				return xstrdup("claude");
			if (!is_agent(arg, base_name(w[i].text)) && proc_package(w[i].text, package) &&
			    is_agent(arg, package))
				return xstrdup(package);
			return xstrdup(base_name(w[i].text));
		}
	return xstrdup(name);
}

static void
keep_command(struct launch *l, struct cutter *c, size_t program, size_t entry, char *name)
{
	words_free(l->words, l->n_words);
	free(l->name);
	l->words = c->words;
	l->n_words = c->n;
	l->program = program;
	l->entry = entry;
	l->name = name;
	c->words = NULL;
	c->n = c->cap = 0;
}

/* `sh -c TEXT`: index of TEXT, or n. */
static size_t
inner_text(const struct command_word *w, size_t n, size_t program)
{
	if (!one_of(base_name(w[program].text), shells))
		return n;
	for (size_t i = program + 1; i < n && w[i].text[0] == '-'; i++)
		if (w[i].text[1] != '-' && strchr(w[i].text, 'c') != NULL && i + 1 < n)
			return i + 1;
	return n;
}

static bool read_commands(
    struct launch *l, const char *command, int depth, launch_is_agent_fn *is_agent, const void *arg);

/* One simple command; true when it runs an agent. */
static bool
read_command(struct launch *l, struct cutter *c, int depth, launch_is_agent_fn *is_agent, const void *arg)
{
	size_t program = find_program(c->words, c->n), entry, inner;
	char *name;
	bool found;

	if (program == c->n)
		return false;
	inner = inner_text(c->words, c->n, program);
	if (inner < c->n && depth < 3) {
		char *text = xstrdup(c->words[inner].text);

		/*
		 * the words will be those of the inner text: good for names and values, not for
		 * taking flags out of the command
		 */
		c->certain = false;
		found = read_commands(l, text, depth + 1, is_agent, arg);
		explicit_bzero(text, strlen(text));
		free(text);
		return found;
	}
	name = program_name(c->words, c->n, program, is_agent, arg, &entry);
	found = is_agent(arg, name);
	keep_command(l, c, program, entry, name);
	return found;
}

static bool
read_commands(struct launch *l, const char *command, int depth, launch_is_agent_fn *is_agent, const void *arg)
{
	struct cutter c = { .text = command, .certain = depth == 0 };
	struct launch agent = { .name = NULL };
	size_t agents = 0;

	while (take_command(&c)) {
		if (!read_command(l, &c, depth, is_agent, arg))
			continue;
		if (agents++ == 0) {
			agent = (struct launch){ .words = l->words,
				.n_words = l->n_words,
				.program = l->program,
				.entry = l->entry,
				.name = l->name };
			l->words = NULL;
			l->n_words = 0;
			l->name = NULL;
		}
	}
	words_free(c.words, c.n);
	if (agents > 0) {
		words_free(l->words, l->n_words);
		free(l->name);
		l->words = agent.words;
		l->n_words = agent.n_words;
		l->program = agent.program;
		l->entry = agent.entry;
		l->name = agent.name;
	}
	l->certain = agents == 1 && c.certain;
	return agents > 0;
}

static void
unwrap_recovery(struct launch *l, char **argv, int argc, const char *default_shell)
{
	struct buf b = BUF_INIT;

	if ((argc == 7 || argc == 8) && strcmp(argv[0], "sh") == 0 && strcmp(argv[1], "-c") == 0 &&
	    strcmp(argv[3], "gt-recover") == 0) {
		l->wrapped = true;
		l->login = strstr(argv[2], "\"$2\" -l -i -c") != NULL;
		l->shell = xstrdup(argv[5]);
		l->command = xstrdup(argv[6]);
	} else if (argc == 1) {
		l->shell = xstrdup(*default_shell != '\0' ? default_shell : "/bin/sh");
		l->command = xstrdup(argv[0]);
	} else if (argc > 1) {
		buf_str(&b, "exec");
		for (int i = 0; i < argc; i++) {
			buf_chr(&b, ' ');
			quote_sh(&b, argv[i]);
		}
		l->shell = xstrdup("/bin/sh");
		l->command = buf_detach(&b);
	}
}

void
launch_read(struct launch *l, const char *start_command, const char *default_shell,
    launch_is_agent_fn *is_agent, const void *arg)
{
	char **argv;
	int argc = quote_split(start_command, &argv);

	memset(l, 0, sizeof *l);
	if (argc <= 0)
		return;
	unwrap_recovery(l, argv, argc, default_shell);
	quote_free(argv, argc);
	if (l->command != NULL)
		read_commands(l, l->command, 0, is_agent, arg);
}

void
launch_command(
    struct launch *l, const char *command, const char *shell, launch_is_agent_fn *is_agent, const void *arg)
{
	memset(l, 0, sizeof *l);
	l->shell = xstrdup(*shell != '\0' ? shell : "/bin/sh");
	l->command = xstrdup(command);
	read_commands(l, l->command, 0, is_agent, arg);
}

void
launch_release(struct launch *l)
{
	words_free(l->words, l->n_words);
	if (l->command != NULL)
		explicit_bzero(l->command, strlen(l->command));
	free(l->command);
	free(l->shell);
	free(l->name);
	memset(l, 0, sizeof *l);
}

char *
launch_env(const struct launch *l, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = l->program; i-- > 0; ) {
		const struct command_word *w = &l->words[i];

		if (w->literal && strncmp(w->text, name, n) == 0 && w->text[n] == '=')
			return xstrdup(w->text + n + 1);
	}
	return NULL;
}

const char *
launch_flag(const struct launch *l, const char *flag)
{
	const char *value = NULL;
	size_t n = strlen(flag);

	for (size_t i = l->program + 1; i < l->n_words && strcmp(l->words[i].text, "--") != 0; i++) {
		const char *text = l->words[i].text;

		if (strncmp(text, flag, n) == 0 && text[n] == '=')
			value = text + n + 1;
		else if (strcmp(text, flag) == 0 && i + 1 < l->n_words)
			value = l->words[++i].text;
	}
	return value;
}

bool
launch_can_take_prompt(const struct launch *l)
{
	/* fish knows the redirection too; csh and its kin do not */
	static const char *const known[] = { "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish",
		NULL };

	return l->certain && one_of(base_name(l->shell), known);
}

bool
launch_is_shell(const struct launch *l)
{
	if (l->name == NULL || !proc_is_shell(l->name))
		return false;
	for (size_t i = l->program + 1; i < l->n_words; i++)
		if (l->words[i].text[0] != '-')
			return false;
	return true;
}

/* What an agent's start command says to the agent, and the same command saying something else. */

#define FED " <&3 3<&-"
#define CLOSED " 3<&-"
#define READ " \"$(cat <&3)\"" CLOSED

static bool
is_flag(const struct command_word *w)
{
	return w->text[0] == '-' && w->text[1] != '\0';
}

/*
 * How a flag word is listed: '\0' not at all, else '0', '1', '?' or '*'. A value joined by '='
 * needs no further word.
 */
static char
flag_arity(const char *flags, const char *word)
{
	size_t n = strcspn(word, "=");

	for (const char *p = flags; *p != '\0'; p += strspn(p, " ")) {
		size_t len = strcspn(p, " "), name = 0;

		while (name < len && p[name] != '=')
			name++;
		if (name == n && n > 0 && memcmp(p, word, n) == 0)
			return word[n] == '=' ? '0' : name + 1 < len ? p[name + 1] : '0';
		p += len;
	}
	return '\0';
}

/* The last word that the flag at i takes. */
static size_t
last_of_flag(const struct launch *l, size_t i, char arity)
{
	if (arity == '1' && i + 1 < l->n_words)
		return i + 1;
	for (size_t most = arity == '*' ? SIZE_MAX : arity == '?';
	    most > 0 && i + 1 < l->n_words && l->words[i + 1].text[0] != '-'; most--)
		i++;
	return i;
}

/*
 * The command without some words; `in` is put behind the program, `behind` behind the simple
 * command. The command is certain.
 */
static char *
join_parts(const struct launch *l, const bool *out, const char *in, const char *behind)
{
	struct buf b = BUF_INIT;

	buf_add(&b, l->command, l->words[l->entry].to);
	buf_str(&b, in);
	for (size_t i = l->entry + 1; i < l->n_words; i++)
		if (!out[i])
			buf_add(&b, l->command + l->words[i - 1].to, l->words[i].to - l->words[i - 1].to);
	buf_str(&b, behind);
	buf_str(&b, l->command + l->words[l->n_words - 1].to);
	return buf_detach(&b);
}

/* Marks the flags of `flags` with their values. How many there are. */
static size_t
find_flags(const struct launch *l, const char *flags, bool *out)
{
	size_t n = 0;

	for (size_t i = l->entry + 1; i < l->n_words && strcmp(l->words[i].text, "--") != 0; i++) {
		char arity = flag_arity(flags, l->words[i].text);
		size_t last = arity != '\0' ? last_of_flag(l, i, arity) : i;

		n += arity != '\0';
		for (; arity != '\0' && i <= last; i++)
			out[i] = true;
		i = last;
	}
	return n;
}

char *
launch_without_flags(const struct launch *l, const char *flags, size_t *left_out)
{
	bool *out;
	char *command;

	*left_out = 0;
	if (l->command == NULL)
		return NULL;
	if (!l->certain || l->wrapper == WRAPPER_HIDES)
		return xstrdup(l->command);
	out = xcalloc(l->n_words, sizeof *out);
	*left_out = find_flags(l, flags, out);
	command = join_parts(l, out, "", "");
	free(out);
	return command;
}

/* Marks the words that are no flags and no flags' values, too. False: they cannot be told. */
static bool
find_prompt(const struct launch *l, const char *known, bool *out)
{
	bool rest = false;	/* behind "--" */

	for (size_t i = l->entry + 1; i < l->n_words; i++) {
		const struct command_word *w = &l->words[i];
		char arity = !rest && !out[i] && is_flag(w) ? flag_arity(known, w->text) : '\0';

		if (out[i])
			continue;
		if (!w->literal)
			return false;
		if (rest || !is_flag(w)) {
			out[i] = true;
		} else if (strcmp(w->text, "--") == 0) {
			out[i] = rest = true;
		} else if (arity != '\0') {
			i = last_of_flag(l, i, arity);
		} else if (strchr(w->text, '=') == NULL && i + 1 < l->n_words &&
		    l->words[i + 1].text[0] != '-') {
			return false;
		}
	}
	return true;
}

/* A flag and what joins its value to it. */
static void
put_flag(struct buf *out, const char *flag)
{
	if (*flag == '\0')
		return;
	buf_chr(out, ' ');
	buf_str(out, flag);
}

/*
 * `in` has what stands behind the program so far, and is released. `words`: those that are no
 * flags go, too.
 */
static char *
put_redirection(const struct launch *l, const struct profile *p, enum deliver way, bool words, struct buf *in)
{
	static const char *const ends[DELIVERS] = { [DELIVER_STDIN] = FED,
		[DELIVER_FILE] = "",
		[DELIVER_ARGUMENT] = READ,
		[DELIVER_PASTE] = CLOSED };
	bool hides = l->wrapper == WRAPPER_HIDES;
	bool fits = !hides || way == DELIVER_STDIN || way == DELIVER_PASTE;
	bool *out = fits && launch_can_take_prompt(l) ? xcalloc(l->n_words, sizeof *out) : NULL;
	struct buf behind = BUF_INIT;
	char *command = NULL;

	if (out != NULL && hides) {
		command = join_parts(l, out, "", ends[way]);
	} else if (out != NULL) {
		find_flags(l, p->session_flags, out);
		find_flags(l, p->prompt_flags, out);
		if (way == DELIVER_FILE) {
			char *file = sys_fd_path(3);

			put_flag(in, p->file_flag);
			buf_fmt(in, "%s%s", str_ends(p->file_flag, "=") ? "" : " ", file);
			free(file);
		}
		if (way == DELIVER_ARGUMENT)
			put_flag(&behind, p->argument_flag);
		buf_str(&behind, ends[way] + (way == DELIVER_ARGUMENT && str_ends(p->argument_flag, "=")));
		if (!words || find_prompt(l, p->other_flags, out))
			command = join_parts(l, out, in->data, behind.data);
	}
	free(out);
	buf_release(in);
	buf_release(&behind);
	return command;
}

static bool
has_beacon(const struct launch *l)
{
	for (size_t i = l->entry + 1; i < l->n_words; i++)
		if (str_starts(l->words[i].text, TOWN_BEACON))
			return true;
	return false;
}

char *
launch_with_prompt(const struct launch *l, const struct profile *p, enum deliver way, bool told)
{
	bool listed = *p->other_flags != '\0', stdin_alone = way == DELIVER_STDIN;
	struct buf in = BUF_INIT;
	char *command = NULL;

	if (stdin_alone && told && listed && !has_beacon(l))
		command = put_redirection(l, p, way, true, &in);
	return command != NULL ? command : put_redirection(l, p, way, !stdin_alone && listed, &in);
}

char *
launch_with_resume(const struct launch *l, const struct profile *p, const char *id)
{
	struct buf in = BUF_INIT;

	if (l->wrapper == WRAPPER_HIDES)
		return NULL;
	buf_fmt(&in, " %s%s%s", p->resume, str_ends(p->resume, "=") ? "" : " ", id);
	return put_redirection(l, p, p->resume_deliver, true, &in);
}

char *
launch_with_exec(const struct launch *l, const char *fed)
{
	struct buf b = BUF_INIT;
	size_t first = 0, at;
	const char *rest;

	while (first < l->n_words && is_assignment(l->words[first].text))
		first++;
	rest = l->n_words > 0 ? l->command + l->words[l->n_words - 1].to : "";
	if (!l->certain || first >= l->n_words || first > l->entry || rest[strspn(rest, " \t\n;")] != '\0' ||
	    strcmp(l->words[first].text, "exec") == 0)
		return xstrdup(fed);
	at = l->words[first].from;
	buf_add(&b, fed, at);
	buf_str(&b, "exec ");
	buf_str(&b, fed + at);
	return buf_detach(&b);
}

static bool
reads_case(const char *shell)
{
	static const char *const names[] = { "sh", "bash", "dash", "ksh", "zsh" };
	const char *slash = strrchr(shell, '/'), *name = slash != NULL ? slash + 1 : shell;
	bool yes = false;

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		yes = yes || strcmp(name, names[i]) == 0;
	return yes;
}

char *
launch_with_checked_exec(const struct launch *l, const char *fed)
{
	bool checks = l->shell != NULL && reads_case(l->shell);
	char *direct = checks ? launch_with_exec(l, fed) : xstrdup(fed), *both;
	size_t first = 0;
	const char *name, *sign;

	while (first < l->n_words && is_assignment(l->words[first].text))
		first++;
	if (strcmp(direct, fed) == 0)
		return direct;
	name = fed + l->words[first].from;
	sign = name + (*name == '\'' || *name == '"');
	if (*sign == '/')
		return direct;
	both = xasprintf("case $(command -v %.*s) in /*) %s\n;; *) %s\n;; esac",
	    (int)strcspn(name, " \t<;"), name, direct, fed);
	explicit_bzero(direct, strlen(direct));
	free(direct);
	return both;
}
