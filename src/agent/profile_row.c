#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_private.h"
#include "base/err.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "config/config.h"
#include "screen/screen.h"

/* The columns that say how a prompt gets to an agent, and what its command says to it already. */

static const char *const deliver_words[DELIVERS] = { "stdin", "file", "argument", "paste" };

bool
profile_delivers(const struct profile *p, enum deliver way)
{
	for (size_t i = 0; i < p->n_deliver; i++)
		if (p->deliver[i] == way)
			return true;
	return false;
}

const char *
profile_deliver_name(enum deliver d)
{
	return deliver_words[d];
}

/* The way of one word; false: there is none of that name. */
static bool
find_way(const char *word, enum deliver *out)
{
	for (size_t i = 0; i < DELIVERS; i++)
		if (strcmp(word, deliver_words[i]) == 0) {
			*out = (enum deliver)i;
			return true;
		}
	return false;
}

static void profile_strings_release(struct strings *s);

static struct strings profile_strings_split(const char *text);

static int
profile_set_deliver(struct profile_row *r, const char *value, struct err *e)
{
	struct strings s = profile_strings_split(value);
	enum deliver way[DELIVERS];
	size_t n = 0;
	bool good = s.n > 0 && s.n <= DELIVERS;

	for (; good && n < s.n; n++) {
		good = find_way(s.v[n], &way[n]);
		for (size_t k = 0; good && k < n; k++)
			good = way[k] != way[n];
	}
	profile_strings_release(&s);
	if (!good)
		return err_set(e, GT_USAGE, "config",
		    "expected some of stdin, file, argument and paste, each once, separated by commas");
	memcpy(r->view.deliver, way, n * sizeof way[0]);
	r->view.n_deliver = n;
	return 0;
}

/*
 * "-x=0", "--long-name=?"; a command of the program such as codex' "resume=?" or amp's
 * "threads=*" is taken likewise
 */
static bool
is_flag_spec(const char *s, size_t n)
{
	size_t name = n >= 2 ? n - 2 : 0, dashes = 0;

	if (name < 2 || s[name] != '=' || strchr("01?*", s[name + 1]) == NULL)
		return false;
	while (dashes < 2 && s[dashes] == '-')
		dashes++;
	/* a command's value may always be missing, and it may take several words */
	if (dashes == name || (dashes == 0 && s[name + 1] != '?' && s[name + 1] != '*'))
		return false;
	for (size_t i = dashes; i < name; i++) {
		if (!isalnum((unsigned char)s[i]) && (i == dashes || strchr("-_", s[i]) == NULL))
			return false;
	}
	return true;
}

static void profile_row_replace(char **to, const char *text);

static int
set_flags(char **to, const char *value, struct err *e)
{
	for (const char *p = value + strspn(value, " "); *p != '\0'; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (!is_flag_spec(p, n))
			return err_set(e, GT_USAGE, "config",
			    "expected flags such as \"--resume=? --session-id=1 -c=0\": =1 takes a value, =? "
			    "may take one, =0 takes none, =* several");
		p += n;
	}
	profile_row_replace(to, value);
	return 0;
}

static int
profile_set_session_flags(struct profile_row *r, const char *value, struct err *e)
{
	return set_flags(&r->session_flags, value, e);
}

static int
profile_set_prompt_flags(struct profile_row *r, const char *value, struct err *e)
{
	return set_flags(&r->prompt_flags, value, e);
}

static int
profile_set_other_flags(struct profile_row *r, const char *value, struct err *e)
{
	return set_flags(&r->other_flags, value, e);
}

static int
profile_set_resume(struct profile_row *r, const char *value, struct err *e)
{
	for (const char *p = value; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && (*p != ' ' || p == value || p[1] == '\0') &&
		    (*p != '=' || p[1] != '\0'))
			return err_set(e, GT_USAGE, "config",
			    "expected one flag such as \"--resume\" or \"--resume=\", or words, or nothing");
	profile_row_replace(&r->resume, value);
	return 0;
}

static int
profile_set_resume_deliver(struct profile_row *r, const char *value, struct err *e)
{
	enum deliver way;

	if (!find_way(value, &way) || way == DELIVER_ARGUMENT)
		return err_set(e, GT_USAGE, "config", "expected \"stdin\", \"file\" or \"paste\"");
	r->view.resume_deliver = way;
	return 0;
}

/* One flag, or nothing; "=" at its end joins its value to it. */
static int
set_flag(char **to, const char *value, struct err *e)
{
	size_t dashes = strspn(value, "-"), n = strlen(value);

	for (size_t i = dashes; i < n; i++)
		if (!isalnum((unsigned char)value[i]) &&
		    (i == dashes || (value[i] != '-' && value[i] != '_' && (value[i] != '=' || i + 1 < n))))
			n = 0;
	if (*value != '\0' && (dashes < 1 || dashes > 2 || n <= dashes))
		return err_set(
		    e, GT_USAGE, "config", "expected one flag such as \"--instruction-file\", or nothing");
	profile_row_replace(to, value);
	return 0;
}

/* A package and programs, as names below node_modules. */
static int
profile_set_native(struct profile_row *r, const char *value, struct err *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@/._- ";
	size_t n = strlen(value);

	if (n > 0 &&
	    (strspn(value, letters) != n || strstr(value, "..") != NULL || *value == ' ' ||
		strchr(value, ' ') == NULL))
		return err_set(e, GT_USAGE, "config",
		    "expected a package of npm and behind it programs, as in \"@x/y @x/y-linux-x64/y\", or "
		    "nothing");
	profile_row_replace(&r->native, value);
	return 0;
}

static int
profile_set_file_flag(struct profile_row *r, const char *value, struct err *e)
{
	return set_flag(&r->file_flag, value, e);
}

/*
 * Single columns, of agent/profile_row.c; for profile_row_set, which puts the column's name
 * in front of an error.
 */
static int
profile_set_argument_flag(struct profile_row *r, const char *value, struct err *e)
{
	return set_flag(&r->argument_flag, value, e);
}

static void
profile_strings_release(struct strings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strings){ .v = NULL };
}

static void
strings_add(struct strings *s, char *owned)
{
	s->v = xreallocarray(s->v, s->n + 2, sizeof *s->v);
	s->v[s->n++] = owned;
	s->v[s->n] = NULL;
}

static void
dialogs_release(struct dialogs *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].name);
		pattern_free(d->v[i].pattern);
	}
	free(d->v);
	*d = (struct dialogs){ .v = NULL };
}

/* The words of "a, b" without the blanks around them. */
static struct strings
profile_strings_split(const char *text)
{
	struct strings s = { .v = NULL };

	while (*text != '\0') {
		size_t n = strcspn(text, ","), from = strspn(text, " \t"), to = n;

		while (to > from && (text[to - 1] == ' ' || text[to - 1] == '\t'))
			to--;
		if (from < to)
			strings_add(&s, xstrndup(text + from, to - from));
		text += n;
		text += *text == ',';
	}
	return s;
}

static void
profile_row_replace(char **to, const char *text)
{
	free(*to);
	*to = xstrdup(text);
}

/* Columns: each checks its value and puts it into the row. */

static int
set_label(struct profile_row *r, const char *value, struct err *e)
{
	if (value[0] == '\0' || strchr(value, '\n') != NULL)
		return err_set(e, GT_USAGE, "config", "expected a name for people, on one line");
	profile_row_replace(&r->label, value);
	return 0;
}

static int
set_names(struct strings *to, const char *value, struct err *e)
{
	struct strings s = profile_strings_split(value);
	bool good = s.n > 0;

	for (size_t i = 0; i < s.n; i++) {
		for (const char *p = s.v[i]; *p != '\0'; p++)
			good = good && *p != '/' && (unsigned char)*p > ' ' && *p != 0x7f;
	}
	if (!good) {
		profile_strings_release(&s);
		return err_set(e, GT_USAGE, "config",
		    "expected base names without blanks or slashes, separated by commas");
	}
	profile_strings_release(to);
	*to = s;
	return 0;
}

static int
set_programs(struct profile_row *r, const char *value, struct err *e)
{
	return set_names(&r->programs, value, e);
}

static int
set_processes(struct profile_row *r, const char *value, struct err *e)
{
	return set_names(&r->processes, value, e);
}

static int
set_one_of(char **to, const char *value, const char *const *words, const char *expected, struct err *e)
{
	for (; *words != NULL; words++)
		if (strcmp(*words, value) == 0) {
			profile_row_replace(to, value);
			return 0;
		}
	return err_set(e, GT_USAGE, "config", "expected %s", expected);
}

static int
set_dialect(struct profile_row *r, const char *value, struct err *e)
{
	const char *const dialects[] = { "none", grammar_is_known(value) ? value : "none", NULL };

	return set_one_of(&r->dialect, value, dialects,
	    "\"claude\", \"none\", or another agent with the same screen", e);
}

static int
set_transcript(struct profile_row *r, const char *value, struct err *e)
{
	static const char *const formats[] = { "claude", "none", "codex", "gemini", "opencode", "copilot",
		"qwen", "auggie", "cline", "pi", NULL };

	return set_one_of(&r->transcript, value, formats,
	    "\"claude\", \"none\", or another agent with the same transcript format", e);
}

/* "$NAME/more, ~/more": entries without a place to begin at would be of our own directory. */
static int
set_folder(struct profile_row *r, const char *value, struct err *e)
{
	struct strings s = profile_strings_split(value);
	bool good = true;

	for (size_t i = 0; i < s.n; i++)
		good = good &&
		    (s.v[i][0] == '$' ? isalpha((unsigned char)s.v[i][1])
				      : s.v[i][0] == '~' && s.v[i][1] == '/');
	profile_strings_release(&s);
	if (!good)
		return err_set(e, GT_USAGE, "config",
		    "expected folders such as \"$CODEX_HOME, ~/.codex\", separated by commas");
	profile_row_replace(&r->folder, value);
	return 0;
}

/* One entry; NULL when its variable is not set. */
static char *
folder_of(const char *entry, char *(*variable)(const void *arg, const char *name), const void *arg)
{
	size_t n = *entry == '$'
	    ? 1 + strspn(entry + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
	    : 1;
	char *name = *entry == '$' ? xstrndup(entry + 1, n - 1) : xstrdup("HOME"),
	     *value = variable(arg, name);
	char *path = value != NULL && *value == '/' ? xasprintf("%s%s", value, entry + n) : NULL;

	free(value);
	free(name);
	return path;
}

char *
profile_folder(const struct profile *p, char *(*variable)(const void *arg, const char *name), const void *arg)
{
	struct strings s = profile_strings_split(p->folder);
	char *path = NULL;

	for (size_t i = 0; i < s.n && path == NULL; i++)
		path = folder_of(s.v[i], variable, arg);
	profile_strings_release(&s);
	return path;
}

static int
set_command(struct profile_row *r, const char *value, struct err *e)
{
	if (strchr(value, '\n') != NULL)
		return err_set(e, GT_USAGE, "config", "expected a command on one line");
	profile_row_replace(&r->command, value);
	return 0;
}

/* "" takes the expression away. */
static int
set_pattern(struct pattern **to, const char *value, struct err *e)
{
	struct pattern *p = NULL;

	if (value[0] != '\0') {
		p = pattern_new(value, PATTERN_UTF | PATTERN_MULTILINE, e);
		if (p == NULL)
			return -1;
	}
	pattern_free(*to);
	*to = p;
	return 0;
}

static int
set_ready(struct profile_row *r, const char *value, struct err *e)
{
	return set_pattern(&r->ready, value, e);
}

static int
set_busy(struct profile_row *r, const char *value, struct err *e)
{
	return set_pattern(&r->busy, value, e);
}

static int
set_pasted(struct profile_row *r, const char *value, struct err *e)
{
	return set_pattern(&r->pasted, value, e);
}

/* "NAME :: REGEX", or the expression alone. */
static int
add_dialog(struct dialogs *to, const char *line, size_t n, struct err *e)
{
	const char *mark = memmem(line, n, " :: ", 4), *regex = mark != NULL ? mark + 4 : line;
	char *text = xstrndup(regex, n - (size_t)(regex - line));
	struct profile_dialog *d;
	int ret;

	to->v = xreallocarray(to->v, to->n + 2, sizeof *to->v);
	d = &to->v[to->n++];
	d[0] = (struct profile_dialog){ .name = mark != NULL ? xstrndup(line, (size_t)(mark - line))
							     : xstrdup("a dialog") };
	d[1] = (struct profile_dialog){ .name = NULL };
	if (*text == '\0' || *d->name == '\0')
		ret = err_set(e, GT_USAGE, "config",
		    "expected an expression on each line, with NAME :: in front or alone");
	else
		ret = set_pattern(&d->pattern, text, e);
	free(text);
	return ret;
}

static int
set_dialogs(struct profile_row *r, const char *value, struct err *e)
{
	struct dialogs made = { .v = NULL };

	while (*value != '\0') {
		size_t n = strcspn(value, "\n");

		if (n > 0 && add_dialog(&made, value, n, e) != 0) {
			dialogs_release(&made);
			return -1;
		}
		value += n;
		value += *value == '\n';
	}
	dialogs_release(&r->dialogs);
	r->dialogs = made;
	return 0;
}

static int
set_background(struct profile_row *r, const char *value, struct err *e)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return err_set(e, GT_USAGE, "config", "expected \"yes\" or \"no\"");
	r->view.background = strcmp(value, "yes") == 0;
	return 0;
}

static const struct {
	const char *name;
	int (*set)(struct profile_row *r, const char *value, struct err *e);
} columns[] = {
	{ "label", set_label },
	{ "programs", set_programs },
	{ "processes", set_processes },
	{ "dialect", set_dialect },
	{ "transcript", set_transcript },
	{ "folder", set_folder },
	{ "deliver", profile_set_deliver },
	{ "file_flag", profile_set_file_flag },
	{ "argument_flag", profile_set_argument_flag },
	{ "session_flags", profile_set_session_flags },
	{ "prompt_flags", profile_set_prompt_flags },
	{ "other_flags", profile_set_other_flags },
	{ "resume", profile_set_resume },
	{ "resume_deliver", profile_set_resume_deliver },
	{ "native", profile_set_native },
	{ "command", set_command },
	{ "ready", set_ready },
	{ "busy", set_busy },
	{ "dialogs", set_dialogs },
	{ "pasted", set_pasted },
	{ "background", set_background },
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static int
unknown_column(const char *column, struct err *e)
{
	const char *words[COLUMNS], *near;
	struct buf shown = BUF_INIT;

	for (size_t i = 0; i < COLUMNS; i++)
		words[i] = columns[i].name;
	utf8_escape(&shown, column, strlen(column), 60);
	err_set(e, GT_USAGE, "config", "%s is not a column of an agent", shown.data);
	buf_release(&shown);
	near = config_nearest(column, words, COLUMNS);
	if (near != NULL)
		return err_hint(e, "did you mean %s?", near);
	return err_hint(e, "config/agents.ini explains every column");
}

int
profile_row_set(struct profile_row *r, const char *column, const char *value, struct err *e)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		if (strcmp(columns[i].name, column) != 0)
			continue;
		if (columns[i].set(r, value, e) == 0)
			return 0;
		if (e != NULL)
			e->code = GT_USAGE;
		return err_add(e, "%s", column);
	}
	return unknown_column(column, e);
}

void
profile_row_init(struct profile_row *r, const char *name)
{
	*r = (struct profile_row){ .name = xstrdup(name),
		.label = xstrdup(name),
		.dialect = xstrdup("none"),
		.transcript = xstrdup("none"),
		.folder = xstrdup(""),
		.session_flags = xstrdup(""),
		.prompt_flags = xstrdup(""),
		.other_flags = xstrdup(""),
		.file_flag = xstrdup(""),
		.argument_flag = xstrdup(""),
		.resume = xstrdup(""),
		.native = xstrdup(""),
		.command = xstrdup("") };
	r->view.deliver[0] = DELIVER_PASTE;
	r->view.n_deliver = 1;
}

void
profile_row_finish(struct profile_row *r)
{
	struct profile *v = &r->view;

	if (r->programs.n == 0)
		strings_add(&r->programs, xstrdup(r->name));
	for (size_t i = 0, n = r->processes.n == 0 ? r->programs.n : 0; i < n; i++)
		strings_add(&r->processes, xstrdup(r->programs.v[i]));
	if (r->dialogs.v == NULL)
		r->dialogs.v = xcalloc(1, sizeof *r->dialogs.v);
	v->name = r->name;
	v->label = r->label;
	v->programs = (const char *const *)r->programs.v;
	v->processes = (const char *const *)r->processes.v;
	v->grammar = r->dialect;
	v->transcript = r->transcript;
	v->folder = r->folder;
	v->session_flags = r->session_flags;
	v->prompt_flags = r->prompt_flags;
	v->other_flags = r->other_flags;
	v->file_flag = r->file_flag;
	v->argument_flag = r->argument_flag;
	v->resume = r->resume;
	v->npm_binary = r->native;
	v->command = r->command;
	v->ready = r->ready;
	v->busy = r->busy;
	v->pasted = r->pasted;
	v->dialogs = r->dialogs.v;
}

void
profile_row_release(struct profile_row *r)
{
	free(r->name);
	free(r->label);
	free(r->dialect);
	free(r->transcript);
	free(r->folder);
	free(r->session_flags);
	free(r->prompt_flags);
	free(r->other_flags);
	free(r->file_flag);
	free(r->argument_flag);
	free(r->resume);
	free(r->native);
	free(r->command);
	profile_strings_release(&r->programs);
	profile_strings_release(&r->processes);
	pattern_free(r->ready);
	pattern_free(r->busy);
	pattern_free(r->pasted);
	dialogs_release(&r->dialogs);
}
