#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recover/recover_private.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "detect/detect.h"

/* bytes of a rival's transcript that are read */
#define ROOM ((size_t)4 << 20)
#define WIDTH 60

int
gather_check_doubt(const struct gathered *g, struct err *e)
{
	size_t n = g->found.rivals;

	if (g->found.how != FOUND_AMBIGUOUS)
		return 0;
	err_set(e, GT_REFUSED, "ambiguous",
	    n == 1 ? "refused: its conversation is known by its directory only"
		   : "refused: %zu conversations may be its own", n);
	return err_hint(e, "choose one with --conversation ID, or none for its screen only; a terminal "
			   "shows a choice");
}

static int
compare_rivals(const void *a, const void *b)
{
	const struct found_rival *x = a, *y = b;

	return x->written != y->written ? (x->written < y->written ? 1 : -1)
					: strcmp(x->session_id, y->session_id);
}

static char *
short_words(const char *text)
{
	struct buf b = BUF_INIT;

	utf8_escape(&b, text, strcspn(text, "\n"), WIDTH);
	return buf_detach(&b);
}

static void
read_words(
    const struct candidate *c, struct gathered *g, const struct found_rival *r, struct rival_words *out)
{
	struct conversation talk = CONVERSATION_INIT;

	if (transcript_read(r->path, c->profile->transcript, g->scrub, ROOM, &talk, NULL) != 0)
		return;
	for (size_t i = 0; i < talk.n; i++) {
		const struct exchange *x = &talk.v[i];

		if (x->role != ROLE_USER || x->tool != NULL || *x->content == '\0')
			continue;
		if (out->first == NULL)
			out->first = short_words(x->content);
		free(out->last);
		out->last = short_words(x->content);
	}
	conversation_release(&talk);
}

struct rival_words *
gather_rivals(const struct candidate *c, struct gathered *g)
{
	struct transcript_found *f = &g->found;
	struct rival_words *v = xcalloc(f->rivals + 1, sizeof *v);
	struct stat st;

	for (size_t i = 0; i < f->rivals; i++)
		if (f->rival[i].written == 0 && stat(f->rival[i].path, &st) == 0)
			f->rival[i].written = (int64_t)st.st_mtim.tv_sec * 1000;
	if (f->rivals > 1)
		qsort(f->rival, f->rivals, sizeof *f->rival, compare_rivals);
	for (size_t i = 0; i < f->rivals; i++) {
		v[i].at = f->rival[i].written;
		read_words(c, g, &f->rival[i], &v[i]);
	}
	return v;
}

void
gather_rivals_release(struct rival_words *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(v[i].first);
		free(v[i].last);
	}
	free(v);
}
