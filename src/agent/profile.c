#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/profile.h"
#include "town/config.h"
#include "town/toml.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"
#include "base/utf8.h"

static const unsigned char built_in[] = {
#include "agents.ini.inc"
};

/* Strings and patterns that own themselves, ended by NULL. */
struct strings {
	char **v;
	size_t n;
};

struct patterns {
	struct pattern **v;
	size_t n;
};

struct row {
	struct profile view;		/* points into what follows */
	char *name, *label, *dialect, *transcript, *session_flags, *command;
	struct strings programs, processes;
	struct pattern *ready, *busy, *pasted;
	struct patterns dialogs;
};

struct profiles {
	struct row *rows;
	size_t n, cap;
};

/* Values. */

static void
strings_release(struct strings *s)
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

static bool
strings_have(const struct strings *s, const char *text)
{
	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->v[i], text) == 0)
			return true;
	}
	return false;
}

static void
patterns_release(struct patterns *p)
{
	for (size_t i = 0; i < p->n; i++)
		pattern_free(p->v[i]);
	free(p->v);
	*p = (struct patterns){ .v = NULL };
}

/* The words of "a, b" without the blanks around them. */
static struct strings
split(const char *text)
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
replace(char **to, const char *text)
{
	free(*to);
	*to = xstrdup(text);
}

/* Columns: each checks its value and puts it into the row. */

static int
set_label(struct row *r, const char *value, struct err *e)
{
	if (value[0] == '\0' || strchr(value, '\n') != NULL)
		return err_set(e, GT_USAGE, "config", "expected a name for people, on one line");
	replace(&r->label, value);
	return 0;
}

static int
set_names(struct strings *to, const char *value, struct err *e)
{
	struct strings s = split(value);
	bool good = s.n > 0;

	for (size_t i = 0; i < s.n; i++) {
		for (const char *p = s.v[i]; *p != '\0'; p++)
			good = good && *p != '/' && (unsigned char)*p > ' ' && *p != 0x7f;
	}
	if (!good) {
		strings_release(&s);
		return err_set(e, GT_USAGE, "config", "expected base names without blanks or slashes, separated by commas");
	}
	strings_release(to);
	*to = s;
	return 0;
}

static int
set_programs(struct row *r, const char *value, struct err *e)
{
	return set_names(&r->programs, value, e);
}

static int
set_processes(struct row *r, const char *value, struct err *e)
{
	return set_names(&r->processes, value, e);
}

static int
set_claude_or_none(char **to, const char *value, struct err *e)
{
	if (strcmp(value, "claude") != 0 && strcmp(value, "none") != 0)
		return err_set(e, GT_USAGE, "config", "expected \"claude\" or \"none\"");
	replace(to, value);
	return 0;
}

static int
set_dialect(struct row *r, const char *value, struct err *e)
{
	return set_claude_or_none(&r->dialect, value, e);
}

static int
set_transcript(struct row *r, const char *value, struct err *e)
{
	return set_claude_or_none(&r->transcript, value, e);
}

static const char *const deliver_words[DELIVERS] = { "stdin", "paste", "file" };

const char *
deliver_word(enum deliver d)
{
	return deliver_words[d];
}

static int
set_deliver(struct row *r, const char *value, struct err *e)
{
	struct strings s = split(value);
	enum deliver way[DELIVERS];
	size_t n = 0;
	bool good = s.n > 0 && s.n <= DELIVERS;

	for (size_t i = 0; good && i < s.n; i++) {
		size_t d = 0;

		while (d < DELIVERS && strcmp(s.v[i], deliver_words[d]) != 0)
			d++;
		good = d < DELIVERS;
		for (size_t k = 0; good && k < n; k++)
			good = way[k] != (enum deliver)d;
		if (good)
			way[n++] = (enum deliver)d;
	}
	strings_release(&s);
	if (!good)
		return err_set(e, GT_USAGE, "config", "expected some of stdin, paste and file, each once, separated by commas");
	memcpy(r->view.deliver, way, n * sizeof way[0]);
	r->view.n_deliver = n;
	return 0;
}

/* "-x=0", "--long-name=?" */
static bool
is_flag(const char *s, size_t n)
{
	size_t name = n >= 2 ? n - 2 : 0, dashes = 0;

	if (name < 2 || s[name] != '=' || strchr("01?", s[name + 1]) == NULL)
		return false;
	while (dashes < 2 && s[dashes] == '-')
		dashes++;
	if (dashes == 0 || dashes == name)
		return false;
	for (size_t i = dashes; i < name; i++) {
		if (!isalnum((unsigned char)s[i]) && (i == dashes || strchr("-_", s[i]) == NULL))
			return false;
	}
	return true;
}

static int
set_session_flags(struct row *r, const char *value, struct err *e)
{
	for (const char *p = value + strspn(value, " "); *p != '\0'; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (!is_flag(p, n))
			return err_set(e, GT_USAGE, "config",
			    "expected flags such as \"--resume=? --session-id=1 -c=0\": =1 takes a value, =? may take one, =0 takes none");
		p += n;
	}
	replace(&r->session_flags, value);
	return 0;
}

static int
set_command(struct row *r, const char *value, struct err *e)
{
	if (strchr(value, '\n') != NULL)
		return err_set(e, GT_USAGE, "config", "expected a command on one line");
	replace(&r->command, value);
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
set_ready(struct row *r, const char *value, struct err *e)
{
	return set_pattern(&r->ready, value, e);
}

static int
set_busy(struct row *r, const char *value, struct err *e)
{
	return set_pattern(&r->busy, value, e);
}

static int
set_pasted(struct row *r, const char *value, struct err *e)
{
	return set_pattern(&r->pasted, value, e);
}

static int
set_dialogs(struct row *r, const char *value, struct err *e)
{
	struct patterns made = { .v = NULL };

	while (*value != '\0') {
		size_t n = strcspn(value, "\n");

		if (n > 0) {
			char *regex = xstrndup(value, n);

			made.v = xreallocarray(made.v, made.n + 2, sizeof *made.v);
			made.v[made.n] = NULL;
			if (set_pattern(&made.v[made.n], regex, e) != 0) {
				patterns_release(&made);
				free(regex);
				return -1;
			}
			made.v[++made.n] = NULL;
			free(regex);
		}
		value += n;
		value += *value == '\n';
	}
	patterns_release(&r->dialogs);
	r->dialogs = made;
	return 0;
}

static int
set_background(struct row *r, const char *value, struct err *e)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return err_set(e, GT_USAGE, "config", "expected \"yes\" or \"no\"");
	r->view.background = strcmp(value, "yes") == 0;
	return 0;
}

static const struct {
	const char *name;
	int (*set)(struct row *r, const char *value, struct err *e);
} columns[] = {
	{ "label", set_label },
	{ "programs", set_programs },
	{ "processes", set_processes },
	{ "dialect", set_dialect },
	{ "transcript", set_transcript },
	{ "deliver", set_deliver },
	{ "session_flags", set_session_flags },
	{ "command", set_command },
	{ "ready", set_ready },
	{ "busy", set_busy },
	{ "dialogs", set_dialogs },
	{ "pasted", set_pasted },
	{ "background", set_background },
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* Rows. */

static struct row *
find_row(const struct profiles *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->rows[i].name, name) == 0)
			return &p->rows[i];
	}
	return NULL;
}

static struct row *
add_row(struct profiles *p, const char *name)
{
	struct row *r;

	p->rows = vec_room(p->rows, p->n, &p->cap, sizeof *p->rows);
	r = &p->rows[p->n++];
	*r = (struct row){ .name = xstrdup(name), .label = xstrdup(name), .dialect = xstrdup("none"), .transcript = xstrdup("none"),
	    .session_flags = xstrdup(""), .command = xstrdup("") };
	r->view.deliver[0] = DELIVER_PASTE;
	r->view.deliver[1] = DELIVER_FILE;
	r->view.n_deliver = 2;
	return r;
}

static bool
is_row_name(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)s[i]) && (i == 0 || strchr("-_", s[i]) == NULL))
			return false;
	}
	return n > 0 && n < 64;
}

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

static int
set_column(struct profiles *p, const char *agent, const char *column, const char *value, struct err *e)
{
	struct row *r = find_row(p, agent);

	if (r == NULL && !is_row_name(agent))
		return err_set(e, GT_USAGE, "config", "the name of an agent: expected letters, digits, - and _, at most 63 bytes");
	for (size_t i = 0; i < COLUMNS; i++) {
		if (strcmp(columns[i].name, column) != 0)
			continue;
		if (columns[i].set(r != NULL ? r : add_row(p, agent), value, e) == 0)
			return 0;
		if (e != NULL)
			e->code = GT_USAGE;
		return err_add(e, "%s", column);
	}
	return unknown_column(column, e);
}

/* Fills in what a row leaves to its name. */
static void
complete_row(struct row *r)
{
	if (r->programs.n == 0)
		strings_add(&r->programs, xstrdup(r->name));
	for (size_t i = 0, n = r->processes.n == 0 ? r->programs.n : 0; i < n; i++)
		strings_add(&r->processes, xstrdup(r->programs.v[i]));
}

/* When every row stands where it will stay. */
static void
make_view(struct row *r)
{
	struct profile *v = &r->view;

	v->name = r->name;
	v->label = r->label;
	v->programs = (const char *const *)r->programs.v;
	v->processes = (const char *const *)r->processes.v;
	v->dialect = r->dialect;
	v->transcript = r->transcript;
	v->session_flags = r->session_flags;
	v->command = r->command;
	v->ready = r->ready;
	v->busy = r->busy;
	v->pasted = r->pasted;
	if (r->dialogs.v == NULL)
		r->dialogs.v = xcalloc(1, sizeof *r->dialogs.v);
	v->dialogs = (const struct pattern *const *)r->dialogs.v;
}

static int
take_item(void *arg, const struct toml_item *it, struct err *e)
{
	if (it->section[0] == '\0' || it->type != TOML_STRING)
		return err_set(e, GT_USAGE, "config", "expected a string below the name of an agent");
	return set_column(arg, it->section, it->key, it->value, e);
}

static int
take_overrides(struct profiles *p, const struct config *c, struct err *e)
{
	for (size_t i = 0; i < config_agents(c); i++) {
		const struct config_agent *a = config_agent_at(c, i);

		if (set_column(p, a->agent, a->column, a->value, e) != 0)
			return err_add(e, "%s:%d", config_file(c), a->line);
	}
	return 0;
}

/* The line of gt.toml that gave the row this column, or any column; 0 when none did. */
static int
line_of(const struct config *c, const char *agent, const char *column)
{
	int any = 0;

	for (size_t i = 0; c != NULL && i < config_agents(c); i++) {
		const struct config_agent *a = config_agent_at(c, i);

		if (strcmp(a->agent, agent) != 0)
			continue;
		if (strcmp(a->column, column) == 0)
			return a->line;
		any = any == 0 ? a->line : any;
	}
	return any;
}

/* One program, one agent: otherwise it would depend on the order of the rows who is recovered how. */
static int
check_claims(const struct profiles *p, const struct config *c, struct err *e)
{
	for (size_t i = 0; i < p->n; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct row *r = &p->rows[i], *other = &p->rows[j];

			for (size_t k = 0; k < r->programs.n; k++) {
				int line = line_of(c, r->name, "programs");

				if (!strings_have(&other->programs, r->programs.v[k]))
					continue;
				if (line == 0)
					line = line_of(c, other->name, "programs");
				err_set(e, GT_USAGE, "config", "%s:%d: the program %s belongs to the agents %s and %s; expected one",
				    c != NULL ? config_file(c) : "agents.ini", line, r->programs.v[k], other->name, r->name);
				return err_hint(e, "change the row of %s instead of adding one", other->name);
			}
		}
	}
	return 0;
}

struct profiles *
profiles_new(const struct config *c, struct err *e)
{
	struct profiles *p = xcalloc(1, sizeof *p);
	struct err own = ERR_INIT;

	if (toml_parse((const char *)built_in, sizeof built_in, "agents.ini", take_item, p, &own) != 0)
		die("%s", own.msg);
	if (c != NULL && take_overrides(p, c, e) != 0)
		goto fail;
	for (size_t i = 0; i < p->n; i++)
		complete_row(&p->rows[i]);
	if (check_claims(p, c, e) != 0)
		goto fail;
	for (size_t i = 0; i < p->n; i++)
		make_view(&p->rows[i]);
	return p;
fail:
	profiles_free(p);
	return NULL;
}

void
profiles_free(struct profiles *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->n; i++) {
		struct row *r = &p->rows[i];

		free(r->name);
		free(r->label);
		free(r->dialect);
		free(r->transcript);
		free(r->session_flags);
		free(r->command);
		strings_release(&r->programs);
		strings_release(&r->processes);
		pattern_free(r->ready);
		pattern_free(r->busy);
		pattern_free(r->pasted);
		patterns_release(&r->dialogs);
	}
	free(p->rows);
	free(p);
}

/* Looking up. */

size_t
profiles_count(const struct profiles *p)
{
	return p->n;
}

const struct profile *
profiles_at(const struct profiles *p, size_t i)
{
	return &p->rows[i].view;
}

const struct profile *
profiles_find(const struct profiles *p, const char *name)
{
	const struct row *r = find_row(p, name);

	return r != NULL ? &r->view : NULL;
}

const struct profile *
profiles_by_program(const struct profiles *p, const char *base_name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (strings_have(&p->rows[i].programs, base_name))
			return &p->rows[i].view;
	}
	return NULL;
}

const struct profile *
profiles_by_process(const struct profiles *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (strings_have(&p->rows[i].processes, name))
			return &p->rows[i].view;
	}
	return NULL;
}

bool
profiles_is_program(const void *profiles, const char *base_name)
{
	return profiles_by_program(profiles, base_name) != NULL;
}

bool
profiles_is_process(const void *profiles, const char *name)
{
	return profiles_by_process(profiles, name) != NULL;
}

bool
profile_is_process(const void *profile, const char *name)
{
	const struct profile *p = profile;

	for (size_t i = 0; p->processes[i] != NULL; i++) {
		if (strcmp(p->processes[i], name) == 0)
			return true;
	}
	return false;
}

/* Screens. A pattern that ran into its limit must not let a keystroke through: that counts as busy, and as a dialog. */

bool
profile_is_busy(const struct profile *p, const char *screen, size_t n)
{
	return p->busy != NULL && pattern_find(p->busy, screen, n, 0, NULL) != 0;
}

bool
profile_has_dialog(const struct profile *p, const char *screen, size_t n)
{
	for (size_t i = 0; p->dialogs[i] != NULL; i++) {
		if (pattern_find(p->dialogs[i], screen, n, 0, NULL) != 0)
			return true;
	}
	return false;
}

bool
profile_is_ready(const struct profile *p, const char *screen, size_t n, size_t *from, size_t *to)
{
	struct match m;

	*from = *to = 0;
	if (p->ready == NULL || profile_is_busy(p, screen, n) || profile_has_dialog(p, screen, n) ||
	    pattern_find(p->ready, screen, n, 0, &m) != 1)
		return false;
	if (m.start[1] != (size_t)-1) {
		*from = m.start[1];
		*to = m.end[1];
	}
	return true;
}
