#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "context/transcript_place.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/utf8.h"

#define SLUG_MAX 200

/* The slug in full, and the number behind one that is cut. */
static void
make_slug(struct buf *out, const char *cwd, uint32_t *hash)
{
	char *real = realpath(cwd, NULL);
	const char *p = real != NULL ? real : cwd;
	size_t n = strlen(p), step;
	uint32_t h = 0;
	int32_t r;

	for (size_t i = 0; i < n; i += step) {
		step = utf8_next(p + i, n - i, &r);
		if (r < 0)
			r = 0xFFFD;
		if (r > 0xFFFF)
			h = h * 31 + 0xD800 + (uint32_t)((r - 0x10000) >> 10);
		h = h * 31 + (r > 0xFFFF ? 0xDC00 + (uint32_t)((r - 0x10000) & 0x3FF) : (uint32_t)r);
		if (r < 0x80 && isalnum(r))
			buf_chr(out, (char)r);
		else
			buf_str(out, r > 0xFFFF ? "--" : "-");
	}
	*hash = h > INT32_MAX ? -h : h;
	free(real);
}

static void
put_base36(struct buf *out, uint32_t n)
{
	char digits[8];
	size_t at = sizeof digits;

	do
		digits[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[n % 36];
	while ((n /= 36) > 0);
	buf_add(out, digits + at, sizeof digits - at);
}

static char *
existing(const char *folder, const char *name)
{
	char *path = io_join(folder, name);
	struct stat st;

	if (stat(path, &st) == 0)
		return path;
	free(path);
	return NULL;
}

char *
transcript_folder(const char *config_dir, const char *cwd)
{
	char *projects = io_join(config_dir, "projects"), *found = NULL;
	struct buf slug = BUF_INIT, cut = BUF_INIT;
	uint32_t hash;

	make_slug(&slug, cwd, &hash);
	if (slug.len > SLUG_MAX) {
		buf_add(&cut, slug.data, SLUG_MAX);
		buf_chr(&cut, '-');
		put_base36(&cut, hash);
		found = existing(projects, cut.data);
	}
	if (found == NULL)
		found = existing(projects, slug.data);
	free(projects);
	buf_release(&slug);
	buf_release(&cut);
	return found;
}

char *
transcript_in(const char *folder, const char *session_id)
{
	char *path = xasprintf("%s/%s.jsonl", folder, session_id);
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return path;
	free(path);
	return NULL;
}

char *
transcript_path(const char *config_dir, const char *cwd, const char *session_id)
{
	char *folder = transcript_folder(config_dir, cwd), *path;

	if (folder == NULL)
		return NULL;
	path = transcript_in(folder, session_id);
	free(folder);
	return path;
}

bool
transcript_is_id(const char *text)
{
	for (size_t i = 0; i < TRANSCRIPT_ID_CHARS; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	return text[TRANSCRIPT_ID_CHARS] == '\0';
}
