#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "scrub/scrub.h"
#include "scrub/stream.h"

/* scrub: standard input to standard output, window by window, without tmux and without state. */

#define PIECE ((size_t)256 << 10)
#define MAPPED (1 << 20)	/* buffers of a window are mappings of their own: they grow without being copied */

static int
write_clean(struct clean_text *t, struct err *e)
{
	int ret = io_write_all(STDOUT_FILENO, clean_bytes(t), clean_len(t));

	if (ret != 0) {
		err_sys(e, GT_FAIL, "write", "the scrubbed text could not be written to standard output");
		err_hint(e, "what arrived there is not the whole text");
	}
	clean_free(t);
	return ret;
}

/* All of standard input through the stream; written unless `quiet`. */
static int
pump(struct stream *st, bool quiet, struct err *e)
{
	char *piece = xmalloc(PIECE);
	struct clean_text *t;
	size_t most = 0;
	int ret = 0;

	for (bool more = true; ret == 0 && more;) {
		ssize_t n = read(STDIN_FILENO, piece, PIECE);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			ret = err_sys(e, GT_FAIL, "read", "standard input cannot be read");
			break;
		}
		more = n > 0;
		most = (size_t)n > most ? (size_t)n : most;
		t = more ? stream_put(st, piece, (size_t)n) : stream_end(st);
		if (quiet)
			clean_free(t);
		else if (t != NULL)
			ret = write_clean(t, e);
	}
	explicit_bzero(piece, most);
	free(piece);
	return ret;
}

static json_t *
places_json(const struct scrub *s, const struct stream *st)
{
	json_t *list = json_array();

	for (size_t i = 0; i < st->n_places; i++) {
		const struct scrub_place *p = &st->places[i];
		json_t *one = json_object();

		json_put_int(one, "row", (int64_t)p->row + 1);
		json_put(one, "kind", p->kind == SCRUB_WITHHELD ? "withheld" : scrub_kind(s, p->kind, NULL));
		if (p->kind != SCRUB_WITHHELD)
			json_put_int(one, "ordinal", p->ordinal);
		json_array_append_new(list, one);
	}
	return list;
}

/* Kinds, rows, counts; never a value. */
static json_t *
report(const struct scrub *s, const struct stream *st)
{
	json_t *v = say_object(), *kinds = json_object();

	for (size_t i = 0; i < scrub_kinds(s); i++)
		if (st->counts[i] > 0)
			json_put_int(kinds, scrub_kind(s, i, NULL), (int64_t)st->counts[i]);
	json_put_int(v, "found", (int64_t)st->found);
	json_put_int(v, "rows", (int64_t)st->changed);
	json_put_int(v, "withheld", (int64_t)st->withheld);
	json_put_int(v, "removed", (int64_t)scrub_removed(s));
	json_object_set_new(v, "kinds", kinds);
	json_object_set_new(v, "places", places_json(s, st));
	return v;
}

static void
print_report(const struct cli *cli, const struct scrub *s, const struct stream *st)
{
	struct buf b = BUF_INIT;
	json_t *v = report(s, st);

	if (cli->json) {
		say_json(v);
		return;
	}
	json_print(&b, v, true);
	fputs(b.data, stderr);
	buf_release(&b);
	json_decref(v);
}

int
cmd_scrub(const struct cli *cli, struct err *e)
{
	struct scrub *s;
	struct stream st;
	int ret;

	if (cli->n_args > 0)
		return setup_no_arguments(cli, e);
	if (setup_no_terminal(e) != 0 || (s = setup_scrub(cli, e)) == NULL)
		return -1;
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED);
	(void)mallopt(M_TRIM_THRESHOLD, MAPPED);
	stream_init(&st, s, -1, STREAM_WINDOW);
	ret = pump(&st, cli->check || cli->json, e);
	if (scrub_broken(s) != NULL)
		fprintf(stderr, "gt-recover: the rule [%s] for secrets does not find its own sample on this machine; rows that need it are withheld\n",
		    scrub_broken(s));
	if (ret == 0 && (cli->report || cli->json))
		print_report(cli, s, &st);
	else if (ret == 0 && st.withheld > 0 && !cli->quiet)
		fprintf(stderr, "gt-recover: %zu row%s withheld: a rule gave up there, or the row is too long\n", st.withheld,
		    st.withheld == 1 ? " was" : "s were");
	if (ret == 0 && cli->check && st.found + st.withheld > 0)
		ret = GT_FOUND;
	stream_release(&st);
	scrub_free(s);
	return ret;
}
