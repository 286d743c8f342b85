#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"

#define FIRST GRAMMAR_V(1, 0, 0)
#define TWO GRAMMAR_V(2, 0, 0)
#define NBSP "\xC2\xA0"

struct grammar {
	const struct grammar_table *table;
	const struct grammar_layout *page;
	struct pattern *row[GRAMMAR_RULES];	/* NULL: not of this version */
	struct pattern *say[GRAMMAR_CUES];
	struct pattern *list;			/* CUE_LIST: the same for all agents */
	size_t lead[GRAMMAR_RULES];		/* lengths of the leads */
	/*
	 * which rules, one bit each, a row can match that begins with this byte; that has this
	 * byte behind two blanks
	 */
	uint64_t front[256], body[256];
};

unsigned
grammar_version(const char *text, size_t n)
{
	unsigned part[3] = { 0, 0, 0 };
	size_t i = 0;

	for (int k = 0; k < 3; k++) {
		size_t digits = 0;

		for (; i < n && digits < 4 && text[i] >= '0' && text[i] <= '9'; i++, digits++)
			part[k] = part[k] * 10 + (unsigned)(text[i] - '0');
		if (digits == 0 || i >= n || text[i] != '.')
			break;
		i++;
	}
	return GRAMMAR_V(part[0] % 1000, part[1] % 1000, part[2] % 1000);
}

/*
 * The welcome of 2.0 stands in a box, in a narrow pane without the version; that of 1.0.128 names
 * no program.
 */
static bool
is_boxed(const char *text, size_t n)
{
	static const char top[] = "\xE2\x95\xAD\xE2\x94\x80 Claude Code \xE2\x94\x80";
	const char *p = memmem(text, n, top, sizeof top - 1);

	return p != NULL && (p == text || p[-1] == '\n');
}

/* The prompts and boxes of the versions before 2.1 against those since; a person's text may hold either. */
static unsigned
guess_version(const char *text, size_t n)
{
	size_t old = 0, new = 0;

	for (const char *p = text, *end = text + n; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = nl != NULL ? (size_t)(nl - p) : (size_t)(end - p);

		old += len > 1 && p[0] == '>' && (p[1] == ' ' || p[1] == NBSP[0]);
		new += len > 3 && memcmp(p, "\xE2\x9D\xAF", 3) == 0 && (p[3] == ' ' || p[3] == NBSP[0]);
		p += len + 1;
	}
	return old <= new ? 0 : is_boxed(text, n) ? TWO : FIRST;
}

static const char list_cue[] = "(?:(?:[-*+]|\xE2\x80\xA2) |\\d{1,3}[.)] |[{}|]|\xE2\x96\x8E|"
			       "\xE2\x94[\x80-\xBF]|\xE2\x95[\x80-\xBF])";

static const char banner_mark[] = "Claude Code v";

/* The words of the last banner; NULL: there is none. */
static const char *
last_banner(const char *text, size_t n)
{
	const char *end = text + n, *p = text, *last = NULL;

	while (p < end && (p = memmem(p, (size_t)(end - p), banner_mark, sizeof banner_mark - 1)) != NULL) {
		const char *row = p;

		while (row > text && p - row < 60 && row[-1] != '\n')
			row--;
		/*
		 * a banner's row begins with its picture or frame, after a blank, in 2.0 a star
		 * too; in a narrow pane with 11 blanks
		 */
		while (row < p && (*row == ' ' || *row == '*'))
			row++;
		if ((unsigned char)*row == 0xE2 ||
		    (row == p && p - text >= 11 && memcmp(p - 11, "           ", 11) == 0))
			last = p;
		p += sizeof banner_mark - 1;
	}
	return last;
}

unsigned
grammar_find_version(const char *text, size_t n)
{
	const char *last = last_banner(text, n);

	if (last == NULL)
		return guess_version(text, n);
	last += sizeof banner_mark - 1;
	return grammar_version(last, (size_t)(text + n - last));
}

/*
 * Whether the rule can match a row that has byte c at place `at`, as far as its lead and the
 * bytes behind that tell.
 */
static bool
may_have(const struct grammar *d, const struct grammar_rule *rule, size_t at, char c)
{
	size_t n = strlen(rule->lead);

	if (at < n)
		return rule->lead[at] == c;
	for (const struct grammar_next *x = d->table->next; at == n && x != NULL && x->lead != NULL; x++)
		if (x->kind == rule->kind && strcmp(x->lead, rule->lead) == 0)
			return c != '\0' && strchr(x->next, c) != NULL;
	return true;
}

static void
index_rule(struct grammar *d, size_t i)
{
	const struct grammar_rule *rule = &d->table->rules[i];

	for (int c = 0; c < 256; c++) {
		if (may_have(d, rule, 0, (char)c) && (c != ' ' || rule->lead[0] != '\0'))
			d->front[c] |= UINT64_C(1) << i;
		if (rule->lead[0] == ' ' && may_have(d, rule, 1, ' ') && may_have(d, rule, 2, (char)c))
			d->body[c] |= UINT64_C(1) << i;
	}
}

static struct pattern *
compile_pattern(const char *regex)
{
	struct err e = ERR_INIT;
	struct pattern *p = pattern_new(regex, PATTERN_ANCHORED, &e);

	if (p == NULL)
		die("a rule of the grammar table is broken: %s", e.msg);
	return p;
}

static struct grammar *
make_grammar(const struct grammar_table *table, unsigned version)
{
	struct grammar *d = xcalloc(1, sizeof *d);
	const struct grammar_layout_until *page = table->pages;

	while (page->to < version)
		page++;
	d->page = &page->page;
	d->table = table;
	for (size_t i = 0; i < table->n_rules; i++) {
		d->lead[i] = strlen(table->rules[i].lead);
		if (version < table->rules[i].from || version > table->rules[i].to)
			continue;
		d->row[i] = compile_pattern(table->rules[i].regex);
		index_rule(d, i);
	}
	d->list = compile_pattern(list_cue);
	for (size_t i = 0; table->sayings[i].regex != NULL; i++)
		if (version >= table->sayings[i].from && version <= table->sayings[i].to)
			d->say[i] = compile_pattern(table->sayings[i].regex);
	return d;
}

static const struct {
	const char *name;
	const struct grammar_table *table;
} grammars[] = {
	{ "claude", &grammar_claude }, { "codex", &grammar_codex }, { "gemini", &grammar_gemini },
	{ "qwen", &grammar_qwen }, { "auggie", &grammar_auggie }, { "pi", &grammar_pi },
};

static const struct grammar_table *
table_of(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof grammars / sizeof *grammars; i++)
		if (strcmp(name, grammars[i].name) == 0)
			return grammars[i].table;
	return NULL;
}

bool
grammar_is_known(const char *name)
{
	return table_of(name) != NULL;
}

struct grammar *
grammar_new(const char *agent, unsigned version)
{
	const struct grammar_table *table = table_of(agent);

	return table == NULL ? NULL : make_grammar(table, version != 0 ? version : GRAMMAR_OPEN);
}

/*
 * What was typed ahead stands in front of the mark, echoed by the terminal; then the program's
 * name below tells.
 */
static bool
is_accessible_mark(const char *text, const char *end, const char *p)
{
	const char *nl;

	if (p == text || p[-1] == '\n')
		return true;
	nl = memchr(p, '\n', (size_t)(end - p));
	return nl != NULL && nl[-1] == ']' && (size_t)(end - nl) > sizeof banner_mark &&
	    memcmp(nl + 1, banner_mark, sizeof banner_mark - 1) == 0;
}

static const char *
last_accessible_mark(const char *text, size_t n)
{
	static const char *const marks[] = { "[Accessible screen reader mode: on",
		"[Screen Reader Mode: on" };
	const char *last = NULL;

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		const char *p = text;

		while ((p = memmem(p, (size_t)(text + n - p), marks[i], strlen(marks[i]))) != NULL) {
			if ((last == NULL || p > last) && is_accessible_mark(text, text + n, p))
				last = p;
			p += strlen(marks[i]);
		}
	}
	return last;
}

/* The banner scrolled away: rows that say who speaks, against rows that begin with a marker. */
static bool
looks_accessible(const char *text, size_t n)
{
	static const char *const names[] = { "you: ", "claude: ", "tool: ", "tool error: " };
	static const char *const markers[] = { "\xE2\x97\x8F ", "\xE2\x8F\xBA ", "\xE2\x9D\xAF",
		"\xE2\x9C\xBB ", "> ", (">" NBSP) };
	size_t flat = 0, classic = 0;

	for (const char *p = text, *end = text + n; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = nl != NULL ? (size_t)(nl - p) : (size_t)(end - p);

		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			flat += len > strlen(names[i]) && memcmp(p, names[i], strlen(names[i])) == 0;
		for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
			classic +=
			    len >= strlen(markers[i]) && memcmp(p, markers[i], strlen(markers[i])) == 0;
		p += len + 1;
	}
	return flat > 1 && flat > classic;
}

/*
 * The last banner says that the screen-reader mode is on; without any banner, most of the rows
 * that a marker could begin do.
 */
static bool
is_accessible(const char *text, size_t n)
{
	const char *mark = last_accessible_mark(text, n);

	if (mark == NULL)
		return last_banner(text, n) == NULL && looks_accessible(text, n);
	return last_banner(mark, (size_t)(text + n - mark)) == NULL;
}

struct grammar *
grammar_for_text(const char *agent, const char *text, size_t n)
{
	const struct grammar_table *table = table_of(agent);

	if (table != NULL && table->foreign != NULL &&
	    memmem(text, n, table->foreign, strlen(table->foreign)) != NULL)
		return NULL;
	if (table != &grammar_claude)
		return grammar_new(agent, 0);
	return is_accessible(text, n) ? make_grammar(&grammar_claude_accessible, GRAMMAR_OPEN)
				      : grammar_new(agent, grammar_find_version(text, n));
}

void
grammar_free(struct grammar *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < GRAMMAR_RULES; i++)
		pattern_free(d->row[i]);
	for (size_t i = 0; i < GRAMMAR_CUES; i++)
		pattern_free(d->say[i]);
	pattern_free(d->list);
	free(d);
}

enum row_kind
grammar_row(const struct grammar *d, const char *row, size_t n, struct match *m)
{
	bool body = n > 2 && row[0] == ' ' && row[1] == ' ';

	if (n == 0)
		return ROW_BLANK;
	for (uint64_t set = body ? d->body[(unsigned char)row[2]] : d->front[(unsigned char)row[0]]; set != 0;
	    set &= set - 1) {
		size_t i = (size_t)__builtin_ctzll(set);

		if (n >= d->lead[i] && memcmp(row, d->table->rules[i].lead, d->lead[i]) == 0 &&
		    pattern_find(d->row[i], row, n, 0, m) == 1)
			return d->table->rules[i].kind;
	}
	return body ? ROW_BODY : ROW_STRAY;
}

const struct grammar_layout *
grammar_layout(const struct grammar *d)
{
	return d->page;
}

enum screen_format
grammar_screen_format(const struct grammar *d)
{
	return d->table->layout;
}

const char *
grammar_program(const struct grammar *d)
{
	return d->table->program;
}

bool
grammar_has_cue(const struct grammar *d, enum cue what, const char *row, size_t n)
{
	while (n > 0 && *row == ' ') {
		row++;
		n--;
	}
	/* many rows are asked for these: the first byte settles most of them */
	if (what == CUE_LIST)
		return n > 0 && strchr("-*+\xE2{}|0123456789", *row) != NULL &&
		    pattern_find(d->list, row, n, 0, NULL) == 1;
	if (what == CUE_OPTION && (n == 0 || (*row != '\xE2' && *row != '>')))
		return false;
	for (size_t i = 0; d->table->sayings[i].regex != NULL; i++) {
		enum cue here = d->table->sayings[i].what;

		/* who is not logged in is stopped as by a limit */
		if ((here == what || (here == CUE_LOGIN && what == CUE_LIMIT)) && d->say[i] != NULL &&
		    pattern_find(d->say[i], row, n, 0, NULL) == 1)
			return true;
	}
	return false;
}

const char *
grammar_folded_tool(const struct grammar *d, const char *text, size_t n, bool *running)
{
	const char *blank = memchr(text, ' ', n);
	size_t verb = blank != NULL ? (size_t)(blank - text) : n;

	for (const struct folded_verb *x = d->table->verbs; x != NULL && x->verb != NULL; x++) {
		if (strlen(x->verb) != verb || memcmp(text, x->verb, verb) != 0)
			continue;
		*running = x->running;
		return x->tool;
	}
	return NULL;
}

const char *
grammar_dialog_tool(const struct grammar *d, const char *title, size_t n, bool *names)
{
	for (const struct dialog_title *x = d->table->dialogs; x != NULL && x->title != NULL; x++) {
		size_t len = strlen(x->title);

		if (n >= len && memcmp(title, x->title, len) == 0) {
			*names = x->names && n == len;
			return x->tool;
		}
	}
	return NULL;
}
