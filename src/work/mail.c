#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work/mail.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/spawn.h"
#include "scrub/error.h"
#include "scrub/scrub.h"

#define TIMEOUT_MS 30000
#define WORDS_MAX 300			/* columns of the mailer's own words in an error */

extern char **environ;

enum { TO, SUBJECT, ACTOR, VARIABLES };

/* Our environment with these in the place of those of the same names. The vector is heap, the strings are borrowed. */
static const char **
environment(char *const own[VARIABLES])
{
	size_t n = 0, k = 0;
	const char **env;

	while (environ[n] != NULL)
		n++;
	env = xcalloc(n + VARIABLES + 1, sizeof *env);
	for (size_t i = 0; i < n; i++) {
		bool ours = false;

		for (int j = 0; j < VARIABLES; j++)
			ours = ours || strncmp(environ[i], own[j], strcspn(own[j], "=") + 1) == 0;
		if (!ours)
			env[k++] = environ[i];
	}
	for (int j = 0; j < VARIABLES; j++)
		env[k++] = own[j];
	return env;
}

/* The first line of what it said. */
static int
refused(const struct mail *m, const struct spawn *run, struct scrub *s, struct err *e)
{
	struct buf shown = BUF_INIT;

	error_words(&shown, run->errout->data, WORDS_MAX, s);
	err_set(e, GT_FAIL, "mail", "%s ended with status %d%s%s", *m->command != '\0' ? "the command of [recovery.mail]" : "gt mail send",
	    run->status, shown.len > 0 ? ": " : "", shown.data);
	buf_release(&shown);
	return -1;
}

int
mail_send(const struct mail *m, struct scrub *s, struct err *e)
{
	const char *const own[] = { "sh", "-c", m->command, NULL };
	const char *const gt[] = { "gt", "mail", "send", m->to, "-s", clean_bytes(m->subject), "--stdin", NULL };
	char *variables[VARIABLES] = { xasprintf("GT_MAIL_TO=%s", m->to), xasprintf("GT_MAIL_SUBJECT=%s", clean_bytes(m->subject)),
		xstrdup("BD_ACTOR=gt-recover") };
	const char **env = environment(variables);
	struct buf words = BUF_INIT;
	struct spawn run = { .argv = *m->command != '\0' ? own : gt, .env = env, .cwd = m->town, .in = clean_bytes(m->body),
		.in_len = clean_len(m->body), .errout = &words, .timeout_ms = TIMEOUT_MS };
	int ret = -1;

	if (*m->command == '\0' && m->town == NULL)
		err_set(e, GT_FAIL, "no-mailer", "there is no town whose gt could send a mail, and [recovery.mail] names no command");
	else if (fault_point("mail") != 0)
		err_sys(e, GT_FAIL, "mail", "the mail cannot be sent");
	else if (spawn_run(&run, e) == 0)
		ret = run.status == 0 ? 0 : refused(m, &run, s, e);
	if (ret == 0 && fault_point("mail-sent") != 0)
		ret = err_sys(e, GT_AGAIN, "timeout", "nobody knows whether the mail was sent");
	for (int i = 0; i < VARIABLES; i++)
		free(variables[i]);
	free(env);
	buf_release(&words);
	return ret;
}
