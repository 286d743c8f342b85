#include <string.h>

#include "revive/detect.h"
#include "revive/world.h"
#include "agent/profile.h"
#include "context/exchange.h"
#include "context/screen.h"
#include "tmux/client.h"

/* Rows of the visible screen that hold something, tmux's own dead row left out. */
static size_t
rows_shown(const char *text, size_t n, const struct pane *p)
{
	size_t rows = 0, at = 0, last = 0;

	while (at < n) {
		const char *nl = memchr(text + at, '\n', n - at);
		size_t len = nl != NULL ? (size_t)(nl - text) - at : n - at;

		rows++;
		if (len > 0 && !(p->dead && *p->dead_line != '\0' && strncmp(text + at, p->dead_line, strlen(p->dead_line)) == 0))
			last = rows;
		at += len + 1;
	}
	return last;
}

static bool
shows_limit(const struct candidate *c, const char *text, size_t n)
{
	struct conversation talk = CONVERSATION_INIT;
	bool limit;

	screen_read_bytes(text, n, NULL, c->pane.width, c->profile->dialect, &talk);
	limit = talk.limit;
	conversation_release(&talk);
	return limit;
}

static bool
has_lines(const struct candidate *c)
{
	return c->class == CLASS_DEAD || class_has_shell(c->class);
}

static int
lines_of_server(struct tmux *t, struct candidates *list, struct err *e)
{
	struct batch b;
	int ret = 0;

	batch_init(&b);
	for (size_t i = 0; i < list->n; i++)
		if (has_lines(&list->v[i]) && strcmp(list->v[i].pane.socket, t->socket) == 0)
			batch_add(&b, "capture-pane", "-p", "-t", list->v[i].pane.id, NULL);
	if (b.n > 0)
		ret = batch_run(t, &b, e);
	for (size_t i = 0, k = 0; ret == 0 && b.n > 0 && i < list->n; i++) {
		struct candidate *c = &list->v[i];
		const char *text;
		size_t n;

		if (!has_lines(c) || strcmp(c->pane.socket, t->socket) != 0)
			continue;
		text = batch_out(&b, k++, &n);
		c->lines = (size_t)c->pane.history_size + (text != NULL ? rows_shown(text, n, &c->pane) : 0);
		if (text != NULL && c->reason != REASON_STOPPED && shows_limit(c, text, n))
			c->reason = REASON_LIMIT;
	}
	batch_release(&b);
	return ret;
}

int
detect_lines(struct world *w, struct candidates *list, struct err *e)
{
	for (size_t i = 0; i < w->n_servers; i++)
		if (lines_of_server(&w->servers[i], list, e) != 0)
			return -1;
	return 0;
}
