#ifndef AGENT_DIALECT_TABLE_H
#define AGENT_DIALECT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/dialect.h"

/*
 * The tables that dialect.c reads rows by; besides their own files nobody includes this. A dialect is one table: dialect_claude.c has the
 * two of Claude Code, each of the files beside it that of one other agent, or of two that are alike. The rules are counted, the pages end
 * with the newest; every other list ends with an entry that has no text.
 */
#define DIALECT_V(major, minor, patch) ((major) * 1000000u + (minor) * 1000u + (patch))
#define DIALECT_ANY 0u
#define DIALECT_OPEN 0xffffffffu
#define DIALECT_RULES 64	/* at most: a set of them is a word */
#define DIALECT_SAYINGS 64

/* What several of them share. */
#define DIALECT_LINE "(?:\xE2\x94\x80){10,}+"
#define DIALECT_BRAILLE "\xE2[\xA0-\xA3][\x80-\xBF]"	/* a spinner's characters */
#define DIALECT_RULE_DEAD { ROW_DEAD, DIALECT_ANY, DIALECT_OPEN, "Pane is dead", "Pane is dead(?: \\(.*)?$" }
#define DIALECT_RULE_LINE { ROW_RULE, DIALECT_ANY, DIALECT_OPEN, "\xE2\x94\x80", DIALECT_LINE "$" }
#define DIALECT_SAYING_LIST { PHRASE_LIST, DIALECT_ANY, DIALECT_OPEN, \
	"(?:(?:[-*+]|\xE2\x80\xA2) |\\d{1,3}[.)] |[{}|]|\xE2\x96\x8E|\xE2\x94[\x80-\xBF]|\xE2\x95[\x80-\xBF])" }
#define DIALECT_FIRST_LIST { PHRASE_LIST, "-*+\xE2{}|0123456789" }

/* The first rule that matches names the row. */
struct rule {
	enum row_kind kind;
	unsigned from, to;	/* versions, both included */
	const char *lead;	/* a row that does not begin so cannot match: most rows are settled by this */
	const char *regex;	/* anchored */
};

/* Which bytes may stand behind a short lead: text of people and models begins with the same blanks. */
struct rule_next {
	enum row_kind kind;
	const char *lead, *next;
};

struct saying {
	enum phrase what;
	unsigned from, to;
	const char *regex;	/* anchored at the row's first character that is no blank, unless it begins with .* */
};

/* Which bytes a phrase may begin with, for those that many rows are asked for. */
struct saying_first {
	enum phrase what;
	const char *first;
};

struct folded_verb {
	const char *verb, *tool;
	bool running;
};

struct dialog_title {
	const char *title, *tool;
	bool names;		/* the row below tells what the call is about */
};

struct page_until {
	unsigned to;		/* the last version that it holds for; the list ends with DIALECT_OPEN */
	struct page page;
};

struct dialect_table {
	enum layout layout;
	const char *program;
	const char *foreign;	/* drawn by versions alone whose screens are not read; NULL: there are none */
	const struct rule *rules;
	size_t n_rules;
	const struct rule_next *next;
	const struct saying *sayings;
	const struct saying_first *first;
	const struct folded_verb *verbs;
	const struct dialog_title *dialogs;
	const struct page_until *pages;
};

extern const struct dialect_table dialect_claude, dialect_claude_flat;
extern const struct dialect_table dialect_auggie, dialect_codex, dialect_gemini, dialect_pi, dialect_qwen;

#endif
