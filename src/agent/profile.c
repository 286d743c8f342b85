#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_private.h"
#include "config/config.h"
#include "config/toml.h"
#include "base/err.h"
#include "base/pattern.h"

static const unsigned char built_in[] = {
#include "agents.ini.inc"
};

struct profile_list {
	struct profile_row *rows;
	size_t n, cap;
};

/* Reading the rows. */

static struct profile_row *
find_row(const struct profile_list *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->rows[i].name, name) == 0)
			return &p->rows[i];
	}
	return NULL;
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
set_column(struct profile_list *p, const char *agent, const char *column, const char *value, struct err *e)
{
	struct profile_row *r = find_row(p, agent);

	if (r == NULL && !is_row_name(agent))
		return err_set(e, GT_USAGE, "config",
		    "the name of an agent: expected letters, digits, - and _, at most 63 bytes");
	if (r == NULL) {
		p->rows = vec_room(p->rows, p->n, &p->cap, sizeof *p->rows);
		r = &p->rows[p->n++];
		profile_row_init(r, agent);
	}
	return profile_row_set(r, column, value, e);
}

static int
take_item(void *arg, const struct toml_item *it, struct err *e)
{
	if (it->section[0] == '\0' || it->type != TOML_STRING)
		return err_set(e, GT_USAGE, "config", "expected a string below the name of an agent");
	return set_column(arg, it->section, it->key, it->value, e);
}

/* A new one whose name is almost a built-in one's, and that does not say so itself, is mistyped. */
static int
check_name(const struct profile_list *p, const struct config *c, const char *agent, struct err *e)
{
	const char **names, *near;

	if (find_row(p, agent) != NULL)
		return 0;
	for (size_t i = 0; i < config_agents(c); i++)
		if (strcmp(config_agent_at(c, i)->agent, agent) == 0 &&
		    strcmp(config_agent_at(c, i)->column, "programs") == 0)
			return 0;
	names = xcalloc(p->n + 1, sizeof *names);
	for (size_t i = 0; i < p->n; i++)
		names[i] = p->rows[i].name;
	near = config_nearest(agent, names, p->n);
	free(names);
	if (near == NULL || strncmp(near, agent, 2) != 0)
		return 0;
	err_set(e, GT_USAGE, "config", "[recovery.agents.%.40s] is not a known agent and has no programs",
	    agent);
	return err_hint(e, "did you mean [recovery.agents.%s]? One of that name needs programs = \"%.40s\"",
	    near, agent);
}

static int
take_overrides(struct profile_list *p, const struct config *c, struct err *e)
{
	for (size_t i = 0; i < config_agents(c); i++) {
		const struct config_agent *a = config_agent_at(c, i);

		if (check_name(p, c, a->agent, e) != 0 ||
		    set_column(p, a->agent, a->column, a->value, e) != 0)
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

static bool
is_one_of(const char *const *words, const char *word)
{
	for (; *words != NULL; words++) {
		if (strcmp(*words, word) == 0)
			return true;
	}
	return false;
}

/* One program, one agent: otherwise it would depend on the order of the rows who is recovered how. */
static int
check_claim(const struct profile *a, const struct profile *other, const struct config *c, struct err *e)
{
	for (size_t k = 0; a->programs[k] != NULL; k++) {
		int line = line_of(c, a->name, "programs");

		if (!is_one_of(other->programs, a->programs[k]))
			continue;
		if (line == 0)
			line = line_of(c, other->name, "programs");
		err_set(e, GT_USAGE, "config",
		    "%s:%d: the program %s belongs to the agents %s and %s; expected one",
		    c != NULL ? config_file(c) : "agents.ini", line, a->programs[k], other->name, a->name);
		return err_hint(e, "change the row of %s instead of adding one", other->name);
	}
	return 0;
}

static int
check_claims(const struct profile_list *p, const struct config *c, struct err *e)
{
	for (size_t i = 0; i < p->n; i++) {
		for (size_t j = 0; j < i; j++) {
			if (check_claim(&p->rows[i].view, &p->rows[j].view, c, e) != 0)
				return -1;
		}
	}
	return 0;
}

struct profile_list *
profile_list_new(const struct config *c, struct err *e)
{
	struct profile_list *p = xcalloc(1, sizeof *p);
	struct err own = ERR_INIT;

	if (toml_items(built_in, sizeof built_in, "agents.ini", take_item, p, &own) != 0)
		die("%s", own.msg);
	if (c != NULL && take_overrides(p, c, e) != 0)
		goto fail;
	for (size_t i = 0; i < p->n; i++)
		profile_row_finish(&p->rows[i]);
	if (check_claims(p, c, e) != 0)
		goto fail;
	return p;
fail:
	profile_list_free(p);
	return NULL;
}

void
profile_list_free(struct profile_list *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->n; i++)
		profile_row_release(&p->rows[i]);
	free(p->rows);
	free(p);
}

/* Looking up. */

size_t
profile_list_count(const struct profile_list *p)
{
	return p->n;
}

const struct profile *
profile_list_at(const struct profile_list *p, size_t i)
{
	return &p->rows[i].view;
}

const struct profile *
profile_find(const struct profile_list *p, const char *name)
{
	const struct profile_row *r = find_row(p, name);

	return r != NULL ? &r->view : NULL;
}

const struct profile *
profile_by_program(const struct profile_list *p, const char *base_name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (is_one_of(p->rows[i].view.programs, base_name))
			return &p->rows[i].view;
	}
	return NULL;
}

const struct profile *
profile_by_process(const struct profile_list *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++) {
		if (is_one_of(p->rows[i].view.processes, name))
			return &p->rows[i].view;
	}
	return NULL;
}

bool
profile_list_has_program(const void *profiles, const char *base_name)
{
	return profile_by_program(profiles, base_name) != NULL;
}

bool
profile_list_has_process(const void *profiles, const char *name)
{
	return profile_by_process(profiles, name) != NULL;
}

bool
profile_is_process(const void *profile, const char *name)
{
	const struct profile *p = profile;

	return is_one_of(p->processes, name);
}

/*
 * Screens. A pattern that ran into its limit must not let a keystroke through: that counts as
 * busy, and as a dialog.
 */

bool
profile_shares_login(const struct profile *p, const char *config_dir)
{
	char *path;
	bool there;

	if (strcmp(p->transcript, "claude") != 0 || config_dir == NULL)
		return true;
	path = xasprintf("%s/.credentials.json", config_dir);
	there = access(path, F_OK) == 0;
	free(path);
	return there;
}

bool
profile_is_busy(const struct profile *p, const char *screen, size_t n)
{
	return p->busy != NULL && pattern_find(p->busy, screen, n, 0, NULL) != 0;
}

const char *
profile_dialog(const struct profile *p, const char *screen, size_t n)
{
	for (const struct profile_dialog *d = p->dialogs; d->name != NULL; d++) {
		if (pattern_find(d->pattern, screen, n, 0, NULL) != 0)
			return d->name;
	}
	return NULL;
}

bool
profile_is_ready(const struct profile *p, const char *screen, size_t n, size_t *from, size_t *to)
{
	struct match m;

	*from = *to = 0;
	if (p->ready == NULL || profile_is_busy(p, screen, n) || profile_dialog(p, screen, n) != NULL ||
	    pattern_find(p->ready, screen, n, 0, &m) != 1)
		return false;
	if (m.start[1] != (size_t)-1) {
		*from = m.start[1];
		*to = m.end[1];
	}
	return true;
}
