#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "revive/plugin.h"
#include "base/err.h"
#include "base/io.h"
#include "base/sha256.h"
#include "tmux/quote.h"
#include "town/town.h"

#define MARK "# Written by gt-recover install plugin, sha256 "
#define FILE_MAX ((size_t)1 << 20)

static const char md_head[] =
    "name = \"gt-recover\"\n"
    "description = \"Bring crashed agents back with their context\"\n"
    "version = 1\n\n"
    "[gate]\ntype = \"cooldown\"\nduration = \"2m\"\n\n"
    "[tracking]\nlabels = [\"plugin:gt-recover\", \"category:health\"]\ndigest = false\n\n"
    "[execution]\ntype = \"script\"\ntimeout = \"30m\"\nnotify_on_failure = false\nseverity = \"medium\"\n"
    "+++\n\n"
    "# gt-recover\n\n"
    "One pass over the agents of this town: `run.sh` runs `gt-recover patrol`. Where nothing died it does nothing. A crash is\n"
    "reported; with `auto_recover = true` in gt.toml the agent is started again in its pane and handed its conversation. Live agents are\n"
    "never touched, nor is a session that the witness has restarted meanwhile.\n\n"
    "Run `run.sh` as it is, once. Do not restart, kill or nudge a session yourself: what cannot be brought back is told to the mayor by\n"
    "mail, once a crash.\n";

static const char run_tail[] =
    "status=$?\n"
    "result=success\n"
    "[ \"$status\" -eq 0 ] || result=failure\n"
    "gt plugin record-run --plugin gt-recover --result \"$result\" --title \"Plugin: gt-recover [$result]\" \\\n"
    "\t--description \"gt-recover patrol ended with status $status\" >/dev/null 2>&1 || :\n"
    "exit \"$status\"\n";

/* The first line, the mark with the sum of all others, the rest. */
static void
seal(struct buf *out, const char *first, const char *rest)
{
	struct buf all = BUF_INIT;
	char sum[65];

	buf_str(&all, first);
	buf_str(&all, rest);
	sha256_hex(all.data, all.len, sum);
	buf_fmt(out, "%s" MARK "%s\n%s", first, sum, rest);
	buf_release(&all);
}

void
plugin_init(struct plugin *p, const char *town, const char *program, const struct town_list *args)
{
	struct buf run = BUF_INIT;

	p->dir = io_join(town, "plugins/gt-recover");
	buf_init(&p->md);
	buf_init(&p->run);
	buf_str(&run, "# The daemon of Gas Town runs this every few minutes; plugin.md tells what it is.\ncd ");
	quote_sh(&run, town);
	buf_str(&run, " || exit 1\n");
	quote_sh(&run, program);
	buf_str(&run, " patrol --quiet");
	for (size_t i = 0; i < args->n; i++) {
		buf_chr(&run, ' ');
		quote_sh(&run, args->v[i]);
	}
	buf_chr(&run, '\n');
	buf_str(&run, run_tail);
	seal(&p->md, "+++\n", md_head);
	seal(&p->run, "#!/bin/sh\n", run.data);
	buf_release(&run);
}

void
plugin_release(struct plugin *p)
{
	free(p->dir);
	buf_release(&p->md);
	buf_release(&p->run);
}

/* A file that still is as some version of us wrote it. */
static bool
is_sealed(const struct buf *text)
{
	const char *mark = strchr(text->data, '\n'), *rest;
	struct buf again = BUF_INIT;
	char *first;
	bool same;

	if (mark == NULL || strncmp(mark + 1, MARK, strlen(MARK)) != 0 || (rest = strchr(mark + 1, '\n')) == NULL)
		return false;
	first = xstrndup(text->data, (size_t)(mark + 1 - text->data));
	seal(&again, first, rest + 1);
	same = again.len == text->len && memcmp(again.data, text->data, text->len) == 0;
	free(first);
	buf_release(&again);
	return same;
}

/* 1: there and ours, 0: not there, -1: a person's. */
static int
look_at(const char *path, struct buf *old, struct err *e)
{
	struct err how = ERR_INIT;

	if (io_read_file(path, FILE_MAX, old, &how) != 0) {
		if (strcmp(how.name, "not-found") == 0)
			return 0;
		if (e != NULL)
			*e = how;
		return -1;
	}
	if (is_sealed(old))
		return 1;
	err_set(e, GT_FAIL, "edited", "%.300s was changed by hand, or is not gt-recover's; nothing was done to it", path);
	return err_hint(e, "move it aside, or compare it with gt-recover install plugin --print");
}

struct part {
	char *path;
	struct buf old;
	int there;
};

/* Nothing is written or removed before both are known to be ours. */
static int
look_at_both(const struct plugin *p, struct part part[2], struct err *e)
{
	part[0] = (struct part){ io_join(p->dir, "run.sh"), BUF_INIT, 0 };
	part[1] = (struct part){ io_join(p->dir, "plugin.md"), BUF_INIT, 0 };
	for (int i = 0; i < 2; i++)
		if ((part[i].there = look_at(part[i].path, &part[i].old, e)) < 0)
			return -1;
	return 0;
}

static void
release_both(struct part part[2])
{
	for (int i = 0; i < 2; i++) {
		free(part[i].path);
		buf_release(&part[i].old);
	}
}

int
plugin_install(const struct plugin *p, bool *changed, struct err *e)
{
	const struct buf *text[2] = { &p->run, &p->md };
	struct part part[2];
	int ret = look_at_both(p, part, e);

	*changed = false;
	if (ret == 0)
		ret = io_make_parents(part[0].path, e);
	/* plugin.md last: a folder without one is no plugin */
	for (int i = 0; i < 2 && ret == 0; i++) {
		if (part[i].there && strcmp(part[i].old.data, text[i]->data) == 0)
			continue;
		ret = io_write_durable(part[i].path, text[i]->data, text[i]->len, "plugin", e);
		*changed = true;
	}
	release_both(part);
	return ret;
}

int
plugin_remove(const struct plugin *p, bool *was, struct err *e)
{
	struct part part[2];
	int ret = look_at_both(p, part, e);

	*was = false;
	for (int i = 1; i >= 0 && ret == 0; i--) {
		*was = *was || part[i].there;
		if (part[i].there && unlink(part[i].path) != 0 && errno != ENOENT)
			ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be removed", part[i].path);
	}
	/* what else a person keeps there stays */
	if (ret == 0)
		rmdir(p->dir);
	release_both(part);
	return ret;
}
