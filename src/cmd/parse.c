#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/say.h"
#include "cmd/setup.h"
#include "context/exchange.h"
#include "context/screen.h"
#include "context/style.h"
#include "context/transcript.h"
#include "scrub/scrub.h"

/* parse: standard input to standard output, without tmux and without state. */

#define MAX_INPUT ((size_t)1 << 30)

static int
read_stdin(struct buf *b, struct err *e)
{
	if (setup_no_terminal(e) != 0)
		return -1;
	return io_read_all(STDIN_FILENO, "standard input", MAX_INPUT, b, e);
}

static void
print_text(const struct conversation *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct exchange *x = &c->v[i];

		printf("[%s", role_name(x->role));
		if (x->tool != NULL)
			printf(" %s", x->tool);
		if (x->status != STATUS_COMPLETE)
			printf(", %s", status_name(x->status));
		printf("]\n%s%s%s\n\n", x->input != NULL ? x->input : "", x->input != NULL && *x->content != '\0' ? "\n" : "", x->content);
	}
	if (c->draft != NULL)
		printf("[draft, never sent]\n%s\n\n", c->draft);
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
		struct style *style = style_strip(&in);
		struct clean_text *text = scrub_text(s, in.data, in.len, -1);

		screen_read(text, style, 0, cli->agent != NULL ? cli->agent : "claude", talk);
		clean_free(text);
		style_free(style);
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

	if (cli->n_args > 0)
		return setup_no_arguments(cli, e);
	if ((s = scrub_new(NULL, e)) == NULL)
		return -1;
	if (!cli->transcript)
		ret = parse_screen(cli, s, &talk, e);
	else if ((ret = setup_no_terminal(e)) == 0)
		ret = transcript_read_fd(STDIN_FILENO, cli->agent != NULL ? cli->agent : "claude", s, 0, &talk, e);
	if (ret == 0 && cli->json) {
		json_t *v = conversation_json(&talk);

		json_put_int(v, "schema_version", 1);
		say_json(v);
	} else if (ret == 0) {
		print_text(&talk);
	}
	conversation_release(&talk);
	scrub_free(s);
	return ret;
}
