#include <stdlib.h>
#include <string.h>

#include "screen/screen.h"
#include "base/buf.h"

#define ESC '\033'
#define BEL '\a'
#define PARAMETERS 32		/* of one SGR; tmux writes far fewer */
#define VALUE_MAX 9999

struct sgr_pen {
	uint8_t attributes;	/* bits of enum attribute */
	uint8_t bullet;		/* what the foreground would say of a bullet */
	bool back;
};

enum attribute { BOLD = 1, DIM = 2, ITALIC = 4 };

struct strip {
	const char *p;
	size_t n, at;		/* read so far */
	size_t open_until;	/* no string sequence that begins before this ends in its row */
	struct sgr_pen pen;
	struct sgr_row row;
	size_t column;		/* characters of the row so far */
	bool inked, named;	/* a character that is no blank was seen: at all, behind the marker */
	struct sgr_rows *style;
	bool any;
};

/*
 * Kinds by hue: 114, 65, 32 are all green to a person. Borders are halfway between the hues that
 * the themes use.
 */
static enum bullet
kind_of_colour(int r, int g, int b)
{
	int max = r > g ? (r > b ? r : b) : (g > b ? g : b), min = r < g ? (r < b ? r : b) : (g < b ? g : b),
	    span = max - min;
	int hue;

	if (span * 5 < max || max < 24)
		return max >= 225 || max < 40 ? BULLET_WORDS : BULLET_PENDING;
	if (max == r)
		hue = (60 * (g - b) / span + 360) % 360;
	else if (max == g)
		hue = 120 + 60 * (b - r) / span;
	else
		hue = 240 + 60 * (r - g) / span;
	if (hue >= 290 || hue < 25)
		return BULLET_FAILED;
	if (hue < 72)
		return BULLET_ERROR;
	return hue < 165 ? BULLET_OK : BULLET_UNKNOWN;
}

/*
 * xterm's palette: 16 named colours, a cube of 6 x 6 x 6, 24 greys. Light grey (7) is what an
 * 8-colour theme has for grey.
 */
static enum bullet
kind_of_index(int i)
{
	static const unsigned char named[16][3] = {
		{ 0, 0, 0 }, { 205, 0, 0 }, { 0, 205, 0 }, { 205, 205, 0 }, { 0, 0, 238 },
		{ 205, 0, 205 }, { 0, 205, 205 }, { 192, 192, 192 }, { 127, 127, 127 }, { 255, 0, 0 },
		{ 0, 255, 0 }, { 255, 255, 0 }, { 92, 92, 255 }, { 255, 0, 255 }, { 0, 255, 255 },
		{ 255, 255, 255 },
	};
	static const int step[6] = { 0, 95, 135, 175, 215, 255 };

	if (i < 0 || i > 255)
		return BULLET_UNKNOWN;
	if (i < 16)
		return kind_of_colour(named[i][0], named[i][1], named[i][2]);
	if (i < 232)
		return kind_of_colour(step[(i - 16) / 36], step[(i - 16) / 6 % 6], step[(i - 16) % 6]);
	return kind_of_colour(8 + (i - 232) * 10, 8 + (i - 232) * 10, 8 + (i - 232) * 10);
}

struct sgr_sequence {
	int v[PARAMETERS];
	bool sub[PARAMETERS];	/* it stood behind a colon: belongs to the one before */
	size_t n;
};

/*
 * 38;5;N or 38;2;R;G;B, also with colons, where an empty colour space may stand behind the 2.
 * Answers the last parameter used.
 */
static size_t
read_colour(const struct sgr_sequence *s, size_t i, enum bullet *out)
{
	size_t last = i, at;

	*out = BULLET_UNKNOWN;
	while (last + 1 < s->n && s->sub[last + 1])
		last++;
	if (i + 1 >= s->n)
		return i;
	at = last > i && s->v[i + 1] == 2 && last - i >= 5 ? i + 3 : i + 2;
	if (s->v[i + 1] == 5 && i + 2 < s->n) {
		*out = kind_of_index(s->v[i + 2]);
		return last > i ? last : i + 2;
	}
	if (s->v[i + 1] == 2 && at + 2 < s->n) {
		*out = kind_of_colour(s->v[at] & 255, s->v[at + 1] & 255, s->v[at + 2] & 255);
		return last > i ? last : at + 2;
	}
	return last > i ? last : i + 1;
}

static void
apply_attribute(struct sgr_pen *pen, int v)
{
	static const struct {
		int v;
		uint8_t set, clear;
	} table[] = {
		{ 1, BOLD, 0 }, { 2, DIM, 0 }, { 3, ITALIC, 0 }, { 22, 0, BOLD | DIM }, { 23, 0, ITALIC },
	};

	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (table[i].v == v)
			pen->attributes = (uint8_t)((pen->attributes | table[i].set) & ~table[i].clear);
}

static void
apply_sequence(struct sgr_pen *pen, const struct sgr_sequence *s)
{
	enum bullet kind;

	for (size_t i = 0; i < s->n; i++) {
		int v = s->v[i];

		if (s->sub[i])
			continue;
		if (v == 0)
			*pen = (struct sgr_pen){ .attributes = 0 };
		else if (v == 38 || v == 48 || v == 58) {
			i = read_colour(s, i, &kind);
			if (v == 38)
				pen->bullet = (uint8_t)kind;
			else if (v == 48)
				pen->back = true;
		} else if ((v >= 30 && v <= 37) || (v >= 90 && v <= 97))
			pen->bullet = (uint8_t)kind_of_index(v < 90 ? v - 30 : v - 90 + 8);
		else if (v == 39)
			pen->bullet = BULLET_UNKNOWN;
		else if ((v >= 40 && v <= 47) || (v >= 100 && v <= 107))
			pen->back = true;
		else if (v == 49)
			pen->back = false;
		else
			apply_attribute(pen, v);
	}
}

/* The parameters of an SGR, without "m". An empty one is 0. */
static void
read_sgr(struct sgr_pen *pen, const char *p, size_t n)
{
	struct sgr_sequence s = { .n = 1 };

	for (size_t i = 0; i < n; i++) {
		int *v = &s.v[s.n - 1];

		if (p[i] >= '0' && p[i] <= '9')
			*v = *v > VALUE_MAX ? *v : *v * 10 + (p[i] - '0');
		else if ((p[i] != ';' && p[i] != ':') || s.n == PARAMETERS)
			break;
		else
			s.sub[s.n++] = p[i] == ':';
	}
	apply_sequence(pen, &s);
}

/* At the byte behind "ESC [". A line end inside breaks it off. */
static void
skip_control(struct strip *s)
{
	size_t from = s->at;

	while (s->at < s->n && s->p[s->at] >= 0x20 && s->p[s->at] <= 0x3F)
		s->at++;
	if (s->at < s->n && s->p[s->at] >= 0x40 && s->p[s->at] <= 0x7E) {
		if (s->p[s->at] == 'm')
			read_sgr(&s->pen, s->p + from, s->at - from);
		s->at++;
	}
}

/* OSC, DCS and their like: up to BEL or ESC \ in the same row. */
static void
skip_string(struct strip *s)
{
	size_t i;

	if (s->at < s->open_until)
		return;
	for (i = s->at; i < s->n && s->p[i] != '\n'; i++) {
		if (s->p[i] == BEL || (s->p[i] == ESC && i + 1 < s->n && s->p[i + 1] == '\\')) {
			s->at = i + (s->p[i] == BEL ? 1 : 2);
			return;
		}
	}
	s->open_until = i;
}

/* At the byte behind ESC. */
static void
skip_escape(struct strip *s)
{
	char c = s->at < s->n ? s->p[s->at] : 0;

	if (c == '[') {
		s->at++;
		skip_control(s);
	} else if (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_') {
		s->at++;
		skip_string(s);
	} else {
		while (s->at < s->n && s->p[s->at] >= 0x20 && s->p[s->at] <= 0x2F)
			s->at++;
		if (s->at < s->n && s->p[s->at] >= 0x30 && s->p[s->at] <= 0x7E)
			s->at++;
	}
}

static void
end_row(struct strip *s)
{
	struct sgr_rows *y = s->style;

	if (!s->inked)
		s->row.marks = 0;
	y->v = vec_room(y->v, y->n, &y->cap, sizeof *y->v);
	y->v[y->n++] = s->row;
	s->any = s->any || s->row.marks != 0 || s->row.bullet != BULLET_UNKNOWN;
	s->row = (struct sgr_row){ .marks = 0 };
	s->column = 0;
	s->inked = s->named = false;
}

/* One character that stays; the bytes behind a rune's first are no cells. */
static void
put_char(struct strip *s, unsigned char c)
{
	uint8_t marks = s->row.marks;

	if ((c & 0xC0) == 0x80)
		return;
	if (s->column == 0)
		marks |= (uint8_t)((s->pen.back ? SGR_BACK : 0) | (s->pen.attributes & DIM ? SGR_DIM : 0) |
			(s->pen.attributes & ITALIC ? SGR_ITALIC : 0));
	if (c != ' ' && !s->inked) {
		s->row.bullet = s->pen.bullet;
		s->inked = true;
	}
	if (c != ' ' && s->column >= 2 && !s->named) {
		marks |= s->pen.attributes & BOLD ? SGR_NAME_BOLD : 0;
		s->named = true;
	}
	if (c != ' ')
		marks = (uint8_t)((marks & ~SGR_TAIL_DIM) | (s->pen.attributes & DIM ? SGR_TAIL_DIM : 0));
	s->row.marks = marks;
	s->column++;
}

struct sgr_rows *
sgr_strip(struct buf *text)
{
	struct strip s = { .p = text->data, .n = text->len };
	size_t kept = 0;

	if (memchr(text->data, ESC, text->len) == NULL && memchr(text->data, '\016', text->len) == NULL &&
	    memchr(text->data, '\017', text->len) == NULL)
		return NULL;
	s.style = xcalloc(1, sizeof *s.style);
	while (s.at < s.n) {
		char c = text->data[s.at++];

		if (c == ESC)
			skip_escape(&s);
		else if (c == '\n') {
			text->data[kept++] = c;
			end_row(&s);
		} else if (c != '\016' && c != '\017') {
			text->data[kept++] = c;
			put_char(&s, (unsigned char)c);
		}
	}
	if (kept > 0 && text->data[kept - 1] != '\n')
		end_row(&s);
	buf_cut(text, kept);
	if (!s.any) {
		sgr_free(s.style);
		return NULL;
	}
	return s.style;
}

void
sgr_free(struct sgr_rows *s)
{
	if (s == NULL)
		return;
	free(s->v);
	free(s);
}

void
sgr_keep_head(struct sgr_rows *s, size_t n)
{
	if (s != NULL && n < s->n)
		s->n = n;
}

void
sgr_keep_tail(struct sgr_rows *s, size_t n)
{
	if (s == NULL || n >= s->n)
		return;
	memmove(s->v, s->v + (s->n - n), n * sizeof *s->v);
	s->n = n;
}

struct sgr_row
sgr_row(const struct sgr_rows *s, size_t i)
{
	return s != NULL && i < s->n ? s->v[i] : (struct sgr_row){ .marks = 0 };
}
