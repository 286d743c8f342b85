#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "scrub/rules/rules_private.h"
#include "scrub/match/match_private.h"
#include "scrub/scrub.h"

/*
 * Any bytes, any width, with and without rules of a user, in one piece and in windows: as many
 * rows as before, valid UTF-8, the known value gone, nothing left for a second pass, and twice
 * the text costs twice the work. The work is counted, not timed: the linker hands the calls below
 * over to us (Makefile).
 */

#define KNOWN "Tr0ub4dor&3-known"
#define PATTERN_STEPS 64	/* a pattern that is run costs as much as a search through so many bytes */
#define SMALL_WINDOW 4096

static const char user_rules[] =
	"[zz-token]\nkeyword = 'zz_ q'\npattern = '(?:zz|q)_?[a-z0-9]{8,40}'\nfinds = '«zz_{lower:20}»'\n"
	"[zz-behind]\nkeyword = '@@'\npattern = '[a-z]{6,30}+@@'\nback = 30\nfinds = '«abcdefgh@@»'\n"
	"[zz-slow]\nkeyword = 'x'\nborder = false\npattern = 'x((?:a+)+b)'\nfinds = 'x«aaab»'\n"
	"[zz-name]\nnames = 'zz_name'\nvalue = 'any'\nfinds = 'ZZ_NAME=«Cobalt{digit:4}&»'\n";

static size_t steps;

int __real_keyword_scan(const struct keywords *k, const char *text, size_t n,
    int (*hit)(void *, size_t, size_t, size_t), void *arg);
int __wrap_keyword_scan(const struct keywords *k, const char *text, size_t n,
    int (*hit)(void *, size_t, size_t, size_t), void *arg);
void __real_keyword_scan_lanes(const struct keywords *k, const char *text, size_t n,
    void (*hit)(void *, size_t, size_t, size_t), void *const args[KEYWORD_LANES]);
void __wrap_keyword_scan_lanes(const struct keywords *k, const char *text, size_t n,
    void (*hit)(void *, size_t, size_t, size_t), void *const args[KEYWORD_LANES]);
int __real_pattern_find(const struct pattern *p, const char *text, size_t n, size_t from, struct match *m);
int __wrap_pattern_find(const struct pattern *p, const char *text, size_t n, size_t from, struct match *m);
void __real_known_find(const struct known_secrets *k, const char *text, const struct scrub_rows *rows,
    struct joined_text *view, struct scrub_findings *f);
void __wrap_known_find(const struct known_secrets *k, const char *text, const struct scrub_rows *rows,
    struct joined_text *view, struct scrub_findings *f);

int
__wrap_keyword_scan(const struct keywords *k, const char *text, size_t n,
    int (*hit)(void *, size_t, size_t, size_t), void *arg)
{
	steps += n;
	return __real_keyword_scan(k, text, n, hit, arg);
}

void
__wrap_keyword_scan_lanes(const struct keywords *k, const char *text, size_t n,
    void (*hit)(void *, size_t, size_t, size_t), void *const args[KEYWORD_LANES])
{
	steps += n;
	__real_keyword_scan_lanes(k, text, n, hit, args);
}

int
__wrap_pattern_find(const struct pattern *p, const char *text, size_t n, size_t from, struct match *m)
{
	steps += PATTERN_STEPS;
	return __real_pattern_find(p, text, n, from, m);
}

void
__wrap_known_find(const struct known_secrets *k, const char *text, const struct scrub_rows *rows,
    struct joined_text *view, struct scrub_findings *f)
{
	for (size_t i = 0; i < rows->n; i++)
		steps += rows->v[i].unchanged ? 0 : rows->v[i].end - rows->v[i].body + 1;
	__real_known_find(k, text, rows, view, f);
}

static void
must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_scrub: %s\n", what);
	abort();
}

static size_t
newlines(const char *p, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += p[i] == '\n';
	return count;
}

static struct scrub *
scrubber(int with_user_rules)
{
	static struct scrub *all[2];
	char path[] = "/tmp/gt-fuzz-scrub-XXXXXX";
	struct err e = ERR_INIT;
	int fd;

	if (all[with_user_rules] != NULL)
		return all[with_user_rules];
	if (with_user_rules) {
		fd = mkstemp(path);
		must(
		    fd >= 0 && write(fd, user_rules, sizeof user_rules - 1) == (ssize_t)sizeof user_rules - 1,
		    "no file for rules");
		close(fd);
	}
	all[with_user_rules] = scrub_new(with_user_rules ? path : NULL, &e);
	if (with_user_rules)
		unlink(path);
	must(all[with_user_rules] != NULL, e.msg);
	must(!with_user_rules || scrub_allow(all[1], "^zz_allowed", NULL) == 0, "allow");
	scrub_learn(all[with_user_rules], "DB_PASSWORD", KNOWN);
	return all[with_user_rules];
}

static void
good_text(const struct clean_text *t, const char *from, size_t n)
{
	must(newlines(clean_bytes(t), clean_len(t)) == newlines(from, n), "rows were lost or won");
	must(utf8_valid(clean_bytes(t), clean_len(t)), "the text is no UTF-8");
	must(memmem(clean_bytes(t), clean_len(t), KNOWN, strlen(KNOWN)) == NULL,
	    "the known value is still there");
}

static struct clean_text *
scrub_afresh(struct scrub *s, const char *p, size_t n, int width, size_t *cost)
{
	struct clean_text *t;

	scrub_forget(s);
	steps = 0;
	t = scrub_text(s, p, n, width);
	if (cost != NULL)
		*cost = steps;
	return t;
}

/* Twice the text: once more the work of once, and of what the two find of each other. */
static void
twice_as_much(struct scrub *s, const char *p, size_t n, int width, size_t once)
{
	struct buf two = BUF_INIT;
	size_t twice;

	buf_add(&two, p, n);
	buf_chr(&two, '\n');
	buf_add(&two, p, n);
	clean_free(scrub_afresh(s, two.data, two.len, width, &twice));
	buf_release(&two);
	must(twice <= 4 * once + 100 * n + 10000, "twice the text is more than twice the work");
	must(twice <= 4000 * n + 10000, "the work is no small multiple of the text");
}

static void
in_windows(struct scrub *s, const char *p, size_t n, int width)
{
	struct scrub_stream st;
	size_t rows = 0, step = SMALL_WINDOW / 4;

	scrub_forget(s);
	scrub_stream_init(&st, s, width, SMALL_WINDOW);
	for (size_t i = 0; i <= n; i += step) {
		size_t len = n - i < step ? n - i : step;
		struct clean_text *t = len > 0 ? scrub_stream_put(&st, p + i, len) : NULL;

		rows += newlines(clean_bytes(t), clean_len(t));
		must(utf8_valid(clean_bytes(t), clean_len(t)), "a window is no UTF-8");
		clean_free(t);
	}
	{
		struct clean_text *t = scrub_stream_end(&st);

		rows += newlines(clean_bytes(t), clean_len(t));
		must(utf8_valid(clean_bytes(t), clean_len(t)), "the last window is no UTF-8");
		clean_free(t);
	}
	scrub_stream_release(&st);
	must(rows == newlines(p, n), "windows lose or win rows");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct clean_text *once, *twice;
	struct scrub *s;
	const char *p;
	size_t cost;
	int width;

	if (n < 2)
		return 0;
	s = scrubber(data[1] & 1);
	width = data[0] < 128 ? data[0] : -1;
	p = (const char *)data + 2;
	n -= 2;
	once = scrub_afresh(s, p, n, width, &cost);
	good_text(once, p, n);
	twice = scrub_afresh(s, clean_bytes(once), clean_len(once), width, NULL);
	must(clean_len(twice) == clean_len(once) &&
		memcmp(clean_bytes(twice), clean_bytes(once), clean_len(once)) == 0,
	    "a second pass changes something");
	clean_free(once);
	clean_free(twice);
	twice_as_much(s, p, n, width, cost);
	if (data[1] & 2)
		in_windows(s, p, n, width);
	return 0;
}
