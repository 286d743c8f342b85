#include <stdlib.h>
#include <string.h>

#include "revive/respawn.h"
#include "agent/launch.h"
#include "base/buf.h"
#include "base/err.h"
#include "scrub/error.h"
#include "tmux/client.h"
#include "tmux/pane.h"
#include "tmux/quote.h"

/*
 * Without job control a shell waits on when its command is stopped (SIGSTOP, Ctrl-Z). With it, as an interactive one has it, it would take
 * the stopped command for done, come to its own end, and end it.
 */
#define NO_JOBS "case $2 in */bash|*/zsh|*/ksh|*/dash|*/sh) set -- \"$1\" \"$2\" \"set +m; $3\" \"set +m; $4\";; esac; "

/* mv is the claim: of any number of starts only one can rename the file. */
static const char wrapper_plain[] =
    "if mv -- \"$1\" \"$1.taken\" 2>/dev/null && [ -r \"$1.taken\" ]; then "
    "exec 3<\"$1.taken\"; rm -f -- \"$1.taken\"; exec \"$2\" -c \"$4\"; fi; "
    "exec \"$2\" -c \"$3\"";

/*
 * A person typed the agent's name into a shell of their own: only a shell that has read the same start-up files finds it
 * again (PATH by a version manager, an alias). The shell comes back when the agent ends; set -m, because an interactive
 * shell that was replaced by its command takes the terminal with it, and only a parent with job control fetches it back.
 */
static const char wrapper_shell[] =
    NO_JOBS
    "set -m; "
    "if mv -- \"$1\" \"$1.taken\" 2>/dev/null && [ -r \"$1.taken\" ]; then "
    "exec 3<\"$1.taken\"; rm -f -- \"$1.taken\"; \"$2\" -l -i -c \"$4\"; exec 3<&-; "
    "else \"$2\" -l -i -c \"$3\"; fi; "
    "set +m; exec \"$2\" -l";

static const char wrapper_login[] =
    NO_JOBS
    "if mv -- \"$1\" \"$1.taken\" 2>/dev/null && [ -r \"$1.taken\" ]; then "
    "exec 3<\"$1.taken\"; rm -f -- \"$1.taken\"; exec \"$2\" -l -i -c \"$4\"; fi; "
    "exec \"$2\" -l -i -c \"$3\"";

static const char *const wrappers[] = { wrapper_plain, wrapper_login, wrapper_shell };

static int
refused(const char *why, const struct pane *p, struct err *e)
{
	struct buf words = BUF_INIT;

	if (strstr(why, "still active") != NULL) {
		err_set(e, GT_AGAIN, "taken", "pane %s was started again by somebody else just now", p->id);
		return err_hint(e, "nothing was changed; run gt-recover list to see what lives there");
	}
	if (strstr(why, "can't find pane") != NULL)
		return err_set(e, GT_FAIL, "gone", "pane %s is gone", p->id);
	error_words(&words, why, 200, NULL);
	err_set(e, GT_FAIL, "tmux", "tmux could not start the pane again: %s", words.data);
	buf_release(&words);
	return -1;
}

void
respawn_command(struct buf *out, const struct respawn *r, enum wrapping how)
{
	const char *argv[] = { "sh", "-c", wrappers[how], "gt-recover", r->prompt_path, r->launch->shell, r->command,
	    r->fed };

	for (size_t i = 0; i < sizeof argv / sizeof argv[0] && argv[i] != NULL; i++) {
		quote_arg(out, argv[i]);
		buf_chr(out, ' ');
	}
}

/* The commands as one text, for if-shell. */
static void
respawn_commands(struct buf *out, const struct pane *p, const struct respawn *r)
{
	const char *argv[8];
	struct buf cwd = BUF_INIT;
	size_t n = 0;

	if (r->zombie && strcmp(p->remain_on_exit, "on") != 0)
		buf_fmt(out, "set-option -p -t %s remain-on-exit on ; ", p->id);
	argv[n++] = "respawn-pane";
	if (r->zombie)
		argv[n++] = "-k";
	argv[n++] = "-t";
	argv[n++] = p->id;
	if (r->cwd != NULL) {
		quote_format(&cwd, r->cwd);
		argv[n++] = "-c";
		argv[n++] = cwd.data;
	}
	for (size_t i = 0; i < n; i++) {
		quote_arg(out, argv[i]);
		buf_chr(out, ' ');
	}
	respawn_command(out, r, r->zombie ? WRAP_SHELL : r->launch->login ? WRAP_LOGIN : WRAP_PLAIN);
	buf_release(&cwd);
}

/* Is it one of the directories that stand there, parted by colons? */
static bool
is_among(const char *path, const char *dir, size_t n)
{
	for (size_t len; *path != '\0'; path += len + (path[len] == ':')) {
		len = strcspn(path, ":");
		if (len == n && memcmp(path, dir, n) == 0)
			return true;
	}
	return false;
}

/*
 * "PATH=…" for the pane's command: the session's or the server's, then what ours has besides. Cron has only ours, which finds no agent that a
 * person installed; a server that was started at boot has only its own.
 */
static int
find_path(struct tmux *t, const struct pane *p, struct buf *out, struct err *e)
{
	const char *ours = getenv("PATH");
	size_t theirs;

	buf_str(out, "PATH=");
	theirs = out->len;
	/* tmux looks up a name that is none of its formats in the environment */
	if (tmux_do(t, false, out, e, "display-message", "-p", "-t", p->id, "#{PATH}", NULL) != 0)
		return -1;
	for (size_t n; ours != NULL && *ours != '\0'; ours += n + (ours[n] == ':')) {
		n = strcspn(ours, ":");
		if (n == 0 || is_among(out->data + theirs, ours, n))
			continue;
		if (out->len > theirs)
			buf_chr(out, ':');
		buf_add(out, ours, n);
	}
	return 0;
}

int
respawn_pane(struct tmux *t, const struct pane *p, const struct respawn *r, struct err *e)
{
	struct buf ours = BUF_INIT, commands = BUF_INIT, path = BUF_INIT;
	const char *why, *said;
	struct batch b;
	size_t i, n = 0;
	int ret;

	if (find_path(t, p, &path, e) != 0) {
		buf_release(&path);
		return -1;
	}
	batch_init(&b);
	b.path = path.data;
	b.mutates = true;
	pane_guard(&ours, p);
	respawn_commands(&commands, p, r);
	i = batch_add(&b, "if-shell", "-F", "-t", p->id, ours.data, commands.data, "display-message -p another", NULL);
	ret = batch_run(t, &b, e);
	said = ret == 0 ? batch_out(&b, i, &n) : NULL;
	if (ret == 0 && batch_failed(&b, &why))
		ret = refused(why, p, e);
	else if (said != NULL && n > 0)
		ret = err_set(e, GT_FAIL, "gone", "pane %s is gone: another tmux server answers on its socket", p->id);
	batch_release(&b);
	buf_wipe(&commands);
	buf_release(&ours);
	buf_release(&path);
	return ret;
}

bool
respawn_was_by(const struct pane *p, const char *recovery_id)
{
	return strstr(p->start_command, recovery_id) != NULL;
}

bool
respawn_id(const struct pane *p, char id[21])
{
	const char *at = p->start_command;

	while ((at = strstr(at, "/prompts/gtr-")) != NULL) {
		at += strlen("/prompts/");
		if (strspn(at + 4, "0123456789abcdef") == 16 && strncmp(at + 20, ".txt", 4) == 0) {
			memcpy(id, at, 20);
			id[20] = '\0';
			return true;
		}
	}
	return false;
}

char *
respawn_remains(struct tmux *t, const struct pane *p, struct err *e)
{
	struct buf out = BUF_INIT;

	if (tmux_do(t, false, &out, e, "show-options", "-p", "-q", "-v", "-t", p->id, "remain-on-exit", NULL) != 0) {
		buf_release(&out);
		return NULL;
	}
	buf_cut(&out, strcspn(out.data, "\n"));
	return buf_detach(&out);
}

int
respawn_settle(struct tmux *t, const struct pane *p, const char *before, struct err *e)
{
	struct buf ours = BUF_INIT, command = BUF_INIT;
	char *now = respawn_remains(t, p, e);
	int ret = now != NULL ? 0 : -1;

	if (ret == 0 && strcmp(now, "on") == 0) {
		pane_guard(&ours, p);
		buf_fmt(&command, "set-option -p %s-t %s remain-on-exit ", *before == '\0' ? "-u " : "", p->id);
		if (*before != '\0')
			quote_arg(&command, before);
		ret = tmux_do(t, true, NULL, e, "if-shell", "-F", "-t", p->id, ours.data, command.data, NULL);
	}
	free(now);
	buf_release(&ours);
	buf_release(&command);
	return ret;
}
