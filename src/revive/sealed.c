#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "revive/sealed.h"
#include "base/err.h"
#include "base/io.h"
#include "base/sha256.h"

#define FILE_MAX ((size_t)1 << 20)

void
sealed_text(struct buf *out, const char *what, const char *first, const char *rest)
{
	struct buf all = BUF_INIT;
	char sum[65];

	buf_str(&all, first);
	buf_str(&all, rest);
	sha256_hex(all.data, all.len, sum);
	buf_fmt(out, "%s# Written by gt-recover install %s, sha256 %s\n%s", first, what, sum, rest);
	buf_release(&all);
}

bool
sealed_is(const struct buf *text, const char *what)
{
	const char *mark = strchr(text->data, '\n'), *rest = mark != NULL ? strchr(mark + 1, '\n') : NULL;
	struct buf again = BUF_INIT;
	char *first;
	bool same;

	if (rest == NULL)
		return false;
	first = xstrndup(text->data, (size_t)(mark + 1 - text->data));
	sealed_text(&again, what, first, rest + 1);
	same = again.len == text->len && memcmp(again.data, text->data, text->len) == 0;
	free(first);
	buf_release(&again);
	return same;
}

/* 1: there and ours, 0: not there, -1: a person's. */
static int
look_at(const char *path, const char *what, struct buf *old, struct err *e)
{
	struct err how = ERR_INIT;

	if (io_read_file(path, FILE_MAX, old, &how) != 0) {
		if (strcmp(how.name, "not-found") == 0)
			return 0;
		if (e != NULL)
			*e = how;
		return -1;
	}
	if (sealed_is(old, what))
		return 1;
	err_set(e, GT_FAIL, "edited", "%.300s was changed by hand, or is not gt-recover's; nothing was done to it", path);
	return err_hint(e, "move it aside, or compare it with gt-recover install %s --print", what);
}

struct old {
	struct buf text;
	int there;
};

static int
look_at_all(const struct sealed *v, size_t n, const char *what, struct old *old, struct err *e)
{
	for (size_t i = 0; i < SEALED_MAX; i++)
		old[i] = (struct old){ BUF_INIT, 0 };
	for (size_t i = 0; i < n; i++)
		if ((old[i].there = look_at(v[i].path, what, &old[i].text, e)) < 0)
			return -1;
	return 0;
}

static void
release_all(struct old *old)
{
	for (size_t i = 0; i < SEALED_MAX; i++)
		buf_release(&old[i].text);
}

int
sealed_install(const struct sealed *v, size_t n, const char *what, bool *changed, struct err *e)
{
	struct old old[SEALED_MAX];
	int ret = look_at_all(v, n, what, old, e);

	*changed = false;
	for (size_t i = 0; i < n && ret == 0; i++) {
		io_sweep(v[i].path);
		if (old[i].there && strcmp(old[i].text.data, v[i].text.data) == 0)
			continue;
		ret = io_make_parents(v[i].path, e) == 0 ? io_write_durable(v[i].path, v[i].text.data, v[i].text.len, "sealed", e) : -1;
		*changed = true;
	}
	release_all(old);
	return ret;
}

int
sealed_remove(const struct sealed *v, size_t n, const char *what, bool *was, struct err *e)
{
	struct old old[SEALED_MAX];
	int ret = look_at_all(v, n, what, old, e);

	*was = false;
	for (size_t i = n; i > 0 && ret == 0; i--) {
		io_sweep(v[i - 1].path);
		*was = *was || old[i - 1].there;
		if (old[i - 1].there && unlink(v[i - 1].path) != 0 && errno != ENOENT)
			ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be removed", v[i - 1].path);
	}
	release_all(old);
	return ret;
}
