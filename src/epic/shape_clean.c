#include <string.h>

#include "epic/shape_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "scrub/scrub.h"

/*
 * The scrubber costs per call, and a checkpoint's strings are many and short: they are scrubbed together, each followed by a row of its
 * own, and handed out by their line counts, which the scrubber keeps.
 */
#define BETWEEN "#\n"

struct walk {
	struct buf raw;				/* collecting */
	const char *p, *end;			/* handing out; NULL while collecting */
	bool too_deep;
};

/* The member as the shape has it; NULL: the shape does not know it. */
static const struct field *
field_of(const struct field *fields, const char *member)
{
	for (; fields != NULL && fields->name != NULL; fields++)
		if (strcmp(fields->name, member) == 0)
			return fields;
	return NULL;
}

/* What the next run finds things again by, and one of four words: shape_take has seen that it is nothing else. */
static bool
is_kept(const struct field *f, const json_t *v)
{
	if (f == NULL)
		return false;
	return ((f->type == ID || f->type == STATUS) && json_is_string(v)) || (f->type == LINKS && json_is_object(v));
}

static size_t
lines_of(const char *p, size_t n)
{
	size_t lines = 1;

	for (const char *at = p; (at = memchr(at, '\n', n - (size_t)(at - p))) != NULL; at++)
		lines++;
	return lines;
}

/* The next text: collected, or what the scrubber made of it, new reference. */
static json_t *
text(struct walk *w, const char *s, size_t n)
{
	const char *start = w->p, *at = w->p;

	if (w->p == NULL) {
		buf_add(&w->raw, s, n);
		buf_str(&w->raw, "\n" BETWEEN);
		return NULL;
	}
	for (size_t lines = lines_of(s, n); lines > 0 && at < w->end; lines--) {
		const char *eol = memchr(at, '\n', (size_t)(w->end - at));

		at = eol != NULL ? eol + 1 : w->end;
	}
	w->p = at;
	/* the row between */
	at = memchr(w->p, '\n', (size_t)(w->end - w->p));
	n = (size_t)(w->p - start);
	w->p = at != NULL ? at + 1 : w->end;
	return json_bytes(start, n > 0 ? n - 1 : 0);
}

static json_t *value(struct walk *w, json_t *v, size_t depth, const struct field *fields);

/* fields: those of the object, or of the objects of a list; NULL: no shape knows it. */
static json_t *
object(struct walk *w, json_t *o, size_t depth, const struct field *fields)
{
	json_t *made = w->p != NULL ? json_object() : NULL;
	const char *key;
	json_t *v;

	json_object_foreach(o, key, v) {
		const struct field *f = field_of(fields, key);
		bool kept = is_kept(f, v);
		json_t *name = text(w, key, strlen(key));
		json_t *copy = kept ? json_incref(v) : value(w, v, depth + 1, f != NULL ? f->inner : NULL);

		if (made != NULL)
			json_object_set(made, f != NULL ? key : json_string_value(name), copy);
		json_decref(name);
		json_decref(copy);
	}
	return made;
}

static json_t *
value(struct walk *w, json_t *v, size_t depth, const struct field *fields)
{
	json_t *made = NULL;
	size_t i;
	json_t *one;

	if (depth > SHAPE_DEPTH) {
		w->too_deep = true;
		return NULL;
	}
	if (json_is_object(v))
		return object(w, v, depth, fields);
	if (json_is_string(v))
		return text(w, json_string_value(v), json_string_length(v));
	if (!json_is_array(v))
		return json_incref(v);
	if (w->p != NULL)
		made = json_array();
	json_array_foreach(v, i, one) {
		json_t *copy = value(w, one, depth + 1, fields);

		if (made != NULL)
			json_array_append(made, copy);
		json_decref(copy);
	}
	return made;
}

json_t *
shape_clean(enum shape shape, const json_t *o, struct scrub *s, struct err *e)
{
	json_t *from = (json_t *)(uintptr_t)o, *made = NULL;
	struct walk w = { .raw = BUF_INIT };
	struct clean_text *t, *learned;
	struct buf whole = BUF_INIT;

	json_decref(value(&w, from, 1, shape_fields(shape)));
	if (!w.too_deep) {
		/* "password": "…" is only told by its name: what is found here is known to the scrubber below */
		json_print(&whole, from, true);
		learned = scrub_text(s, whole.data, whole.len, 0);
		t = scrub_text(s, w.raw.data, w.raw.len, 0);
		w.p = clean_bytes(t);
		w.end = w.p + clean_len(t);
		made = value(&w, from, 1, shape_fields(shape));
		clean_free(learned);
		clean_free(t);
	} else {
		err_set(e, GT_USAGE, "checkpoint", "a checkpoint has at most %d values within values", SHAPE_DEPTH);
		err_hint(e, "gt-recover help checkpoint");
	}
	buf_wipe(&whole);
	buf_wipe(&w.raw);
	return made;
}
