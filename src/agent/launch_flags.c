#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/launch.h"
#include "base/buf.h"

/* What an agent's start command says to the agent, and the same command saying something else. */

#define FED " <&3 3<&-"
#define CLOSED " 3<&-"
#define READ " \"$(cat <&3)\"" CLOSED

static bool
is_flag(const struct word *w)
{
	return w->text[0] == '-' && w->text[1] != '\0';
}

/* How a flag word is listed: '\0' not at all, else '0', '1', '?' or '*'. A value joined by '=' needs no further word. */
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
	for (size_t most = arity == '*' ? SIZE_MAX : arity == '?'; most > 0 && i + 1 < l->n_words && l->words[i + 1].text[0] != '-'; most--)
		i++;
	return i;
}

/* The command without some words; `in` is put behind the program, `behind` behind the simple command. The command is certain. */
static char *
put_together(const struct launch *l, const bool *out, const char *in, const char *behind)
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
launch_without(const struct launch *l, const char *flags, size_t *left_out)
{
	bool *out;
	char *command;

	*left_out = 0;
	if (!l->certain)
		return xstrdup(l->command);
	out = xcalloc(l->n_words, sizeof *out);
	*left_out = find_flags(l, flags, out);
	command = put_together(l, out, "", "");
	free(out);
	return command;
}

/* Marks the words that are no flags and no flags' values, too. False: they cannot be told. */
static bool
find_prompt(const struct launch *l, const char *known, bool *out)
{
	bool rest = false;	/* behind "--" */

	for (size_t i = l->entry + 1; i < l->n_words; i++) {
		const struct word *w = &l->words[i];
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
		} else if (strchr(w->text, '=') == NULL && i + 1 < l->n_words && l->words[i + 1].text[0] != '-') {
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

/* `in` has what stands behind the program so far, and is released. `words`: those that are no flags go, too. */
static char *
told(const struct launch *l, const struct profile *p, enum deliver way, bool words, struct buf *in)
{
	static const char *const ends[DELIVERS] = { [DELIVER_STDIN] = FED, [DELIVER_FILE] = "", [DELIVER_ARGUMENT] = READ, [DELIVER_PASTE] = CLOSED };
	bool *out = launch_can_feed(l) ? xcalloc(l->n_words, sizeof *out) : NULL;
	struct buf behind = BUF_INIT;
	char *command = NULL;

	if (out != NULL) {
		find_flags(l, p->session_flags, out);
		find_flags(l, p->prompt_flags, out);
		if (way == DELIVER_FILE) {
			put_flag(in, p->file_flag);
			buf_fmt(in, "%s/proc/self/fd/3", str_ends(p->file_flag, "=") ? "" : " ");
		}
		if (way == DELIVER_ARGUMENT)
			put_flag(&behind, p->argument_flag);
		buf_str(&behind, ends[way] + (way == DELIVER_ARGUMENT && str_ends(p->argument_flag, "=")));
		if (!words || find_prompt(l, p->other_flags, out))
			command = put_together(l, out, in->data, behind.data);
	}
	free(out);
	buf_release(in);
	buf_release(&behind);
	return command;
}

char *
launch_fed(const struct launch *l, const struct profile *p, enum deliver way)
{
	struct buf in = BUF_INIT;

	return told(l, p, way, way != DELIVER_STDIN && *p->other_flags != '\0', &in);
}

char *
launch_resumed(const struct launch *l, const struct profile *p, const char *id)
{
	struct buf in = BUF_INIT;

	buf_fmt(&in, " %s%s%s", p->resume, str_ends(p->resume, "=") ? "" : " ", id);
	return told(l, p, p->resume_deliver, true, &in);
}
