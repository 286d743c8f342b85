#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/profile_row.h"
#include "base/err.h"

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
deliver_word(enum deliver d)
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

int
profile_set_deliver(struct profile_row *r, const char *value, struct err *e)
{
	struct strings s = strings_split(value);
	enum deliver way[DELIVERS];
	size_t n = 0;
	bool good = s.n > 0 && s.n <= DELIVERS;

	for (; good && n < s.n; n++) {
		good = find_way(s.v[n], &way[n]);
		for (size_t k = 0; good && k < n; k++)
			good = way[k] != way[n];
	}
	strings_release(&s);
	if (!good)
		return err_set(e, GT_USAGE, "config", "expected some of stdin, file, argument and paste, each once, separated by commas");
	memcpy(r->view.deliver, way, n * sizeof way[0]);
	r->view.n_deliver = n;
	return 0;
}

/* "-x=0", "--long-name=?"; a command of the program such as codex' "resume=?" or amp's "threads=*" is taken likewise */
static bool
is_flag(const char *s, size_t n)
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

static int
set_flags(char **to, const char *value, struct err *e)
{
	for (const char *p = value + strspn(value, " "); *p != '\0'; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		if (!is_flag(p, n))
			return err_set(e, GT_USAGE, "config",
			    "expected flags such as \"--resume=? --session-id=1 -c=0\": =1 takes a value, =? may take one, =0 takes none, =* several");
		p += n;
	}
	profile_row_replace(to, value);
	return 0;
}

int
profile_set_session_flags(struct profile_row *r, const char *value, struct err *e)
{
	return set_flags(&r->session_flags, value, e);
}

int
profile_set_prompt_flags(struct profile_row *r, const char *value, struct err *e)
{
	return set_flags(&r->prompt_flags, value, e);
}

int
profile_set_other_flags(struct profile_row *r, const char *value, struct err *e)
{
	return set_flags(&r->other_flags, value, e);
}

int
profile_set_resume(struct profile_row *r, const char *value, struct err *e)
{
	for (const char *p = value; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && (*p != ' ' || p == value || p[1] == '\0') && (*p != '=' || p[1] != '\0'))
			return err_set(e, GT_USAGE, "config", "expected one flag such as \"--resume\" or \"--resume=\", or words, or nothing");
	profile_row_replace(&r->resume, value);
	return 0;
}

int
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
		if (!isalnum((unsigned char)value[i]) && (i == dashes || (value[i] != '-' && value[i] != '_' && (value[i] != '=' || i + 1 < n))))
			n = 0;
	if (*value != '\0' && (dashes < 1 || dashes > 2 || n <= dashes))
		return err_set(e, GT_USAGE, "config", "expected one flag such as \"--instruction-file\", or nothing");
	profile_row_replace(to, value);
	return 0;
}

/* A package and programs, as names below node_modules. */
int
profile_set_native(struct profile_row *r, const char *value, struct err *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@/._- ";
	size_t n = strlen(value);

	if (n > 0 && (strspn(value, letters) != n || strstr(value, "..") != NULL || *value == ' ' || strchr(value, ' ') == NULL))
		return err_set(e, GT_USAGE, "config", "expected a package of npm and behind it programs, as in \"@x/y @x/y-linux-x64/y\", or nothing");
	profile_row_replace(&r->native, value);
	return 0;
}

int
profile_set_file_flag(struct profile_row *r, const char *value, struct err *e)
{
	return set_flag(&r->file_flag, value, e);
}

int
profile_set_argument_flag(struct profile_row *r, const char *value, struct err *e)
{
	return set_flag(&r->argument_flag, value, e);
}
