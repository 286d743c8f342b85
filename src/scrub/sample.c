#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "scrub/finding.h"
#include "scrub/sample.h"

static const struct {
	const char *name, *alphabet;
} alphabets[] = {
	{ "alnum", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" },
	{ "lower", "abcdefghijklmnopqrstuvwxyz0123456789" },
	{ "upper", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" },
	{ "hex", "0123456789abcdef" },
	{ "digit", "0123456789" },
	{ "url64", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_" },
	{ "base64", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/" },
};

/* "{alnum:36}" at p: appends 36 made-up characters. Returns the bytes read, or 0. */
static size_t
expand_one(struct buf *out, const char *p, unsigned *seed)
{
	for (size_t i = 0; i < sizeof alphabets / sizeof alphabets[0]; i++) {
		size_t len = strlen(alphabets[i].name), letters = strlen(alphabets[i].alphabet);
		unsigned long count;
		char *end;

		if (strncmp(p + 1, alphabets[i].name, len) != 0 || p[1 + len] != ':')
			continue;
		count = strtoul(p + len + 2, &end, 10);
		if (*end != '}' || count == 0 || count > 5000)
			return 0;
		for (unsigned long k = 0; k < count; k++) {
			*seed = *seed * 1103515245u + 12345u;
			/* the middle one is a digit, so that a sample never lacks one by chance */
			if (k == count / 2 && i != 2 && i != 4)
				buf_chr(out, (char)('1' + (*seed >> 16) % 9));
			else
				buf_chr(out, alphabets[i].alphabet[(*seed >> 16) % letters]);
		}
		return (size_t)(end + 1 - p);
	}
	return 0;
}

static void
expand(struct sample *m, struct buf *text, struct buf *want, const char *p, const char *kind)
{
	unsigned seed = 7;
	bool inside = false;

	for (const char *k = kind; *k != '\0'; k++)
		seed = seed * 31 + (unsigned char)*k;
	while (*p != '\0') {
		size_t mark = text->len, used = 1;

		if (str_starts(p, "«")) {
			inside = true;
			buf_fmt(want, PLACEHOLDER "%s]", kind);
			m->from[m->n] = m->to[m->n] = text->len;
			p += strlen("«");
			continue;
		}
		if (str_starts(p, "»")) {
			inside = false;
			m->to[m->n] = text->len;
			m->n += m->n + 1 < SAMPLE_MARKS;
			p += strlen("»");
			continue;
		}
		if (*p == '{')
			used = expand_one(text, p, &seed);
		if (text->len == mark) {
			used = 1;
			buf_chr(text, *p);
		}
		if (!inside)
			buf_add(want, text->data + mark, text->len - mark);
		p += used;
	}
}

void
sample_init(struct sample *m, bool finds, const char *marked, const char *kind, int line)
{
	struct buf text = BUF_INIT, want = BUF_INIT;

	*m = (struct sample){ .finds = finds, .line = line };
	expand(m, &text, &want, marked, kind);
	m->text = buf_detach(&text);
	m->want = buf_detach(&want);
}

void
sample_release(struct sample *m)
{
	free(m->text);
	free(m->want);
	*m = (struct sample){ 0 };
}
