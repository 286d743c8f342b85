#include "cli/cli_private.h"
#include "config/config.h"
#include "tmux/tmux.h"

/* What a mistyped word may have meant. */

#define MOST 120

const char *
cli_nearest_command(const char *word)
{
	const char *names[MOST];
	size_t n = 0;

	for (const struct command *c = commands; c->name != NULL && n < MOST; c++)
		if (c->now == NULL && *c->name != '\0')
			names[n++] = c->name;
	return config_nearest(word, names, n);
}

int
cli_unknown_command(const char *word, struct err *e)
{
	const char *near = cli_nearest_command(word);

	err_set(e, GT_USAGE, "usage", "unknown command %.60s", word);
	return near != NULL ? err_hint(e, "did you mean gt-recover %s?", near) :
	    err_hint(e, "gt-recover help");
}

int
cli_unknown_option(const char *word, struct err *e)
{
	char *name = xstrndup(word, strcspn(word, "="));
	const char *names[MOST], *near = NULL;
	size_t n = 0;

	for (const struct cli_option *o = cli_options; o->name != NULL && n < MOST; o++)
		names[n++] = o->name;
	/* the rest of a word is nearer than it seems: --dry of --dry-run */
	for (size_t i = 0; i < n && near == NULL && strlen(name) > 4; i++)
		near = strncmp(names[i], name + 2, strlen(name + 2)) == 0 ? names[i] : NULL;
	if (near == NULL && str_starts(name, "--"))
		near = config_nearest(name + 2, names, n);
	err_set(e, GT_USAGE, "usage", "unknown option %.100s", name);
	free(name);
	return near != NULL ? err_hint(e, "did you mean --%s?", near) :
	    err_hint(e, "gt-recover help");
}

/* "work:0.1", as tmux prints it. */
static bool
is_target(const char *word)
{
	const char *colon = strrchr(word, ':'), *dot = colon != NULL ? strchr(colon, '.') : NULL;

	return colon != NULL && colon > word && dot != NULL && dot > colon + 1 && dot[1] != '\0' &&
	    strspn(dot + 1, "0123456789") == strlen(dot + 1);
}

/* Its pane's id, appended; false: no server has it, or a session has that name (tmux 3.7 allows ':'). */
static bool
resolve_target(struct app *w, const char *word, struct buf *out)
{
	char *exact = xasprintf("=%s", word);
	size_t n = strlen(word);
	bool found = false, name = cli_pick_is_there(w, word);

	for (size_t i = 0; i < w->n_servers && !found && !name; i++) {
		struct err none = ERR_INIT;

		buf_reset(out);
		/* tmux falls back to another pane where there is none */
		found = tmux_do(&w->servers[i], false, out, &none, "display-message", "-p", "-t", exact,
		    "#{pane_id} #{session_name}:#{window_index}.#{pane_index}", NULL) == 0 &&
		    out->data[0] == '%' && strncmp(strchrnul(out->data, ' ') + 1, word, n) == 0 &&
		    strcspn(strchrnul(out->data, ' ') + 1, "\n") == n;
	}
	free(exact);
	return found;
}

void
cli_targets_init(struct cli_targets *t, struct app *w, const struct cli *cli)
{
	t->n = cli->n_args;
	t->words = xcalloc(t->n + 1, sizeof *t->words);
	for (size_t i = 0; i < t->n; i++) {
		struct buf id = BUF_INIT;
		bool resolved = is_target(cli->args[i]) && resolve_target(w, cli->args[i], &id);

		t->words[i] = resolved ? xstrndup(id.data, strcspn(id.data, " ")) : xstrdup(cli->args[i]);
		buf_release(&id);
	}
}

void
cli_targets_release(struct cli_targets *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->words[i]);
	free(t->words);
	memset(t, 0, sizeof *t);
}
