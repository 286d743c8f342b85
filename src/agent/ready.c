#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/pattern.h"

/*
 * The box, its footer and what may stand below it (notices, rows of sub-agents); permission
 * dialogs are a little taller.
 */
#define ROWS 24

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Where the lowest rows begin; *n is cut to where the last one that is not blank ends. */
static size_t
lowest_rows(const char *screen, size_t *n)
{
	size_t at;

	while (*n > 0 && blank(screen[*n - 1]))
		(*n)--;
	at = *n;
	for (size_t rows = 0; at > 0; at--)
		if (screen[at - 1] == '\n' && ++rows == ROWS)
			break;
	return at;
}

/*
 * What an empty box says in grey; in plain text nothing else tells it from a draft. Seen in
 * 1.0.128 to 2.1.330, gemini 0.61, copilot 1.0.102, codex 0.169.0, cline 3.0.65.
 */
static bool
agent_box_is_hint(const char *text, size_t n)
{
	static const char *const hints[] = { "Try \"", "Press up to edit", "Type your message",
		"Ask anything", "Plan something", "Ask Codex to do anything", "What can I do for you?" };

	while (n > 0 && blank(*text)) {
		text++;
		n--;
	}
	for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
		if (n >= strlen(hints[i]) && memcmp(text, hints[i], strlen(hints[i])) == 0)
			return true;
	return n == 0;
}

enum readiness
agent_readiness(const struct profile *p, const char *screen, size_t n, const char **dialog)
{
	size_t at = lowest_rows(screen, &n), from, to;
	const char *low = screen + at, *name;

	n -= at;
	name = profile_dialog(p, low, n);
	if (dialog != NULL)
		*dialog = name;
	if (name != NULL)
		return READY_DIALOG;
	if (profile_is_busy(p, low, n))
		return READY_BUSY;
	if (!profile_is_ready(p, low, n, &from, &to))
		return READY_UNKNOWN;
	return agent_box_is_hint(low + from, to - from) ? READY_IDLE : READY_DRAFT;
}

bool
agent_box_text(const struct profile *p, const char *screen, size_t n, size_t *from, size_t *to)
{
	size_t at = lowest_rows(screen, &n);

	if (!profile_is_ready(p, screen + at, n - at, from, to) || *to == 0)
		return false;
	*from += at;
	*to += at;
	return true;
}

static void
add_without_blanks(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (n - i >= 2 && memcmp(p + i, "\xc2\xa0", 2) == 0)
			i++;
		else if (!blank(p[i]) && p[i] != '\r')
			buf_chr(out, p[i]);
	}
}

/* What a box shows, its placeholders taken out. */
struct box_state {
	struct buf words;		/* without blanks */
	size_t placeholders;
	size_t lines;			/* line ends that they say they hold */
	bool counted;			/* the agent's placeholders say so */
};

static void
read_box(const struct profile *p, const char *low, size_t from, size_t to, struct box_state *out)
{
	struct match m;

	while (p->pasted != NULL && pattern_find(p->pasted, low, to, from, &m) == 1) {
		add_without_blanks(&out->words, low + from, m.start[0] - from);
		if (m.start[1] != (size_t)-1) {
			out->lines += strtoul(low + m.start[1], NULL, 10);
			out->counted = true;
		}
		from = m.end[0];
		out->placeholders++;
	}
	add_without_blanks(&out->words, low + from, to - from);
}

/* A last line end may be left out of the count. */
static bool
counts_agree(const struct box_state *s, const char *text)
{
	size_t n = strlen(text), lines = 0;

	for (const char *p = strchr(text, '\n'); p != NULL; p = strchr(p + 1, '\n'))
		lines++;
	return s->lines == lines || (n > 0 && text[n - 1] == '\n' && s->lines + 1 == lines);
}

bool
agent_box_holds(const struct profile *p, const char *screen, size_t n, const char *text)
{
	size_t at = lowest_rows(screen, &n), from, to;
	struct box_state box = { .words = BUF_INIT };
	struct buf whole = BUF_INIT;
	bool holds = false;

	if (profile_is_ready(p, screen + at, n - at, &from, &to)) {
		read_box(p, screen + at, from, to, &box);
		add_without_blanks(&whole, text, strlen(text));
		if (box.words.len > 0)
			holds = strstr(whole.data, box.words.data) != NULL;
		else
			holds = box.placeholders > 0 && (!box.counted || counts_agree(&box, text));
	}
	buf_wipe(&box.words);
	buf_wipe(&whole);
	return holds;
}
