#include <ctype.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "agent/agent.h"
#include "base/clock.h"

/* What a person is asked in the middle of a recovery. */

#define TRIES 3

int
cli_choose_conversation(struct candidate *c, const char *id, struct err *e)
{
	char *path;

	if (id == NULL)
		return 0;
	path = strcmp(id, CONVERSATION_NONE) != 0 && transcript_is_id(id) && c->config_dir != NULL
	    ? transcript_path(c->config_dir, c->cwd, id)
	    : NULL;
	if (path == NULL && strcmp(id, CONVERSATION_NONE) != 0) {
		err_set(e, GT_USAGE, "no-conversation", "no conversation \"%s\" is in the agent's directory",
		    output_shown(id, 60));
		return err_hint(e, "gt-recover SESSION lists those that it could be");
	}
	free(path);
	free(c->conversation);
	c->conversation = xstrdup(id);
	return 0;
}

static void
print_rival(size_t i, const struct found_rival *r, const struct rival_words *w)
{
	struct buf line = BUF_INIT;

	buf_fmt(&line, "%3zu. %s  ", i + 1, r->session_id);
	clock_age(&line, w->at > 0 ? clock_wall_ms() - w->at : 0);
	buf_fmt(&line, " ago  \"%s\"", w->first != NULL ? w->first : "");
	if (w->last != NULL && strcmp(w->first, w->last) != 0)
		buf_fmt(&line, " ... \"%s\"", w->last);
	fprintf(stderr, "%s\n", output_shown(line.data, 0));
	buf_release(&line);
}

static json_t *
rival_json(const struct found_rival *r, const struct rival_words *w)
{
	json_t *o = json_object();

	json_put(o, "conversation", r->session_id);
	json_put_int(o, "written_at", w->at);
	json_put(o, "first_message", w->first);
	json_put(o, "last_message", w->last);
	return o;
}

/* 1 to n, 0 for its screen alone, -1 none of it. */
static long
ask_number(size_t n)
{
	char line[64], *end;

	for (int i = 0; i < TRIES; i++) {
		long k;

		if (n == 1)
			fputs("Which conversation is its own? [1, screen, none]: ", stderr);
		else
			fprintf(stderr, "Which conversation is its own? [1-%zu, screen, none]: ", n);
		if (fgets(line, sizeof line, stdin) == NULL)
			return -1;
		line[strcspn(line, "\r\n")] = '\0';
		k = strtol(line, &end, 10);
		if (strcmp(line, "screen") == 0)
			return 0;
		if (strcmp(line, "none") == 0 || strcmp(line, "n") == 0 || *line == '\0')
			return -1;
		if (end != line && *end == '\0' && k >= 1 && (size_t)k <= n)
			return k;
	}
	return -1;
}

bool
cli_ask_conversation(struct candidate *c, struct gathered *g, bool ask, json_t **listed)
{
	const struct transcript_found *f = &g->found;
	struct rival_words *words = gather_rivals(c, g);
	long k = -1;

	*listed = json_array();
	for (size_t i = 0; i < f->rivals; i++) {
		print_rival(i, &f->rival[i], &words[i]);
		json_array_append_new(*listed, rival_json(&f->rival[i], &words[i]));
	}
	if (ask)
		k = ask_number(f->rivals);
	if (k >= 0) {
		free(c->conversation);
		c->conversation = xstrdup(k == 0 ? CONVERSATION_NONE : f->rival[k - 1].session_id);
	}
	gather_rivals_release(words, f->rivals);
	return k >= 0;
}
