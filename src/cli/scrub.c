#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"
#include "base/io.h"
#include "base/sys.h"
#include "conversation/conversation.h"
#include "screen/screen.h"
#include "config/config.h"
#include "scrub/scrub.h"
#include "transcript/transcript.h"

/* parse: standard input to standard output, without tmux and without state. */

#define MAX_INPUT ((size_t)1 << 30)

/* Filters read standard input: a terminal there is a usage error. */
static int
refuse_terminal(struct err *e)
{
	if (!isatty(STDIN_FILENO))
		return 0;
	err_set(
	    e, GT_USAGE, "usage", "this command is a filter, and standard input is a terminal");
	return err_hint(e, "for example: tmux capture-pane -p -S - | gt-recover scrub");
}

static void
learn_own(const struct app *w, struct scrub *s)
{
	char *dir = config_flag(w->config, "scrub.known_files") ? getcwd(NULL, 0) : NULL;

	for (char **v = environ; config_flag(w->config, "scrub.known_values") && *v != NULL; v++)
		scrub_learn_environ(s, *v, strlen(*v) + 1);
	if (config_flag(w->config, "scrub.known_files"))
		scrub_learn_files(s, getenv("HOME"), dir);
	free(dir);
}

/*
 * A scrubber with the rules of gt.toml; unless no_known it knows the secrets of our own environment
 * and files.
 */
static struct scrub *
open_scrub(const struct cli *cli, struct err *e)
{
	struct app w;
	struct scrub *s;

	if (cli_open_config(cli, &w, e) != 0)
		return NULL;
	s = app_scrub(&w, e);
	if (s != NULL && !cli->no_known)
		learn_own(&w, s);
	cli_close_app(&w);
	return s;
}

static int
read_stdin(struct buf *b, struct err *e)
{
	if (refuse_terminal(e) != 0)
		return -1;
	return io_read_all(STDIN_FILENO, "standard input", MAX_INPUT, b, e);
}

static void
print_conversation(const struct conversation *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct exchange *x = &c->v[i];

		printf("[%s", exchange_role_name(x->role));
		if (x->tool != NULL)
			printf(" %s", x->tool);
		if (x->status != STATUS_COMPLETE)
			printf(", %s", exchange_status_name(x->status));
		printf("]\n%s%s%s\n\n", x->input != NULL ? x->input : "",
		    x->input != NULL && *x->content != '\0' ? "\n" : "", x->content);
	}
	if (c->draft != NULL)
		printf("[draft, not sent]\n%s\n\n", c->draft);
	if (c->tasks != NULL)
		printf("[tasks]\n%s\n\n", c->tasks);
	if (c->question != NULL)
		printf("[open question]\n%s\n\n", c->question);
}

static int
parse_screen(const struct cli *cli, struct scrub *s, struct conversation *talk, struct err *e)
{
	struct buf in = BUF_INIT;
	int ret = read_stdin(&in, e);

	if (ret == 0) {
		struct sgr_rows *style = sgr_strip(&in);
		struct clean_text *text = scrub_text(s, in.data, in.len, -1);

		screen_read(text, style, 0, cli->agent != NULL ? cli->agent : "claude", talk);
		clean_free(text);
		sgr_free(style);
	}
	buf_wipe(&in);
	return ret;
}

int
cmd_parse(const struct cli *cli, struct err *e)
{
	struct conversation talk = CONVERSATION_INIT;
	struct scrub *s = NULL;
	int ret;

	if ((s = scrub_new(NULL, e)) == NULL)
		return -1;
	if (!cli->transcript)
		ret = parse_screen(cli, s, &talk, e);
	else if ((ret = refuse_terminal(e)) == 0)
		ret = transcript_read_fd(
		    STDIN_FILENO, cli->agent != NULL ? cli->agent : "claude", s, 0, &talk, e);
	if (ret == 0 && cli->json) {
		json_t *v = conversation_json(&talk);

		json_put_int(v, "schema_version", OUTPUT_SCHEMA);
		output_json(v);
	} else if (ret == 0) {
		print_conversation(&talk);
	}
	conversation_release(&talk);
	scrub_free(s);
	return ret;
}

/* scrub: standard input to standard output, window by window, without tmux and without state. */

#define PIECE ((size_t)256 << 10)
/* buffers of a window are mappings of their own: they grow without being copied */
#define MAPPED (1 << 20)

static int
write_clean(struct clean_text *t, struct err *e)
{
	int ret = io_write_all(STDOUT_FILENO, clean_bytes(t), clean_len(t));

	if (ret != 0) {
		err_sys(e, GT_FAIL, "write", "cannot write the scrubbed text to standard output");
		err_hint(e, "the output is incomplete");
	}
	clean_free(t);
	return ret;
}

/* All of standard input through the stream; written unless `quiet`. */
static int
pump(struct scrub_stream *st, bool quiet, struct err *e)
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
			ret = err_sys(e, GT_FAIL, "read", "cannot read standard input");
			break;
		}
		more = n > 0;
		most = (size_t)n > most ? (size_t)n : most;
		t = more ? scrub_stream_put(st, piece, (size_t)n) : scrub_stream_end(st);
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
places_json(const struct scrub *s, const struct scrub_stream *st)
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
report(const struct scrub *s, const struct scrub_stream *st)
{
	json_t *v = output_object(), *kinds = json_object();

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
print_report(const struct cli *cli, const struct scrub *s, const struct scrub_stream *st)
{
	struct buf b = BUF_INIT;
	json_t *v = report(s, st);

	if (cli->json) {
		output_json(v);
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
	struct scrub_stream st;
	int ret;

	if (refuse_terminal(e) != 0 || (s = open_scrub(cli, e)) == NULL)
		return -1;
	if (!cli->sanitize)
		scrub_keep_controls(s);
	sys_return_blocks(MAPPED);
	scrub_stream_init(&st, s, -1, STREAM_WINDOW);
	ret = pump(&st, cli->check || cli->json, e);
	if (scrub_broken(s) != NULL)
		fprintf(stderr,
		    "gt-recover: the rule [%s] for secrets does not find its own sample on this machine; "
		    "rows that need it are withheld\n",
		    scrub_broken(s));
	if (ret == 0 && (cli->report || cli->json))
		print_report(cli, s, &st);
	else if (ret == 0 && st.withheld > 0 && !cli->quiet)
		fprintf(stderr,
		    "gt-recover: %zu row%s withheld: a rule failed there, or the row is too long\n",
		    st.withheld, st.withheld == 1 ? " was" : "s were");
	if (ret == 0 && cli->check && st.found + st.withheld > 0)
		ret = GT_FOUND;
	scrub_stream_release(&st);
	scrub_free(s);
	return ret;
}
