#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scrub/scrub.h"
#include "scrub/scrub_private.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/pattern.h"
#include "scrub/match/match_private.h"

struct clean_text {
	char *block;		/* what free gets */
	char *bytes;
	size_t len;
};

/* The bytes of b, which pass.c has been through; b is empty then. */
static struct clean_text *
clean_take(struct buf *b)
{
	struct clean_text *t = xmalloc(sizeof *t);

	/* what was cut off is not clean */
	if (b->high > b->len)
		explicit_bzero(b->data + b->len, b->high - b->len);
	t->len = b->len;
	t->block = t->bytes = buf_detach(b);
	return t;
}

const char *
clean_bytes(const struct clean_text *t)
{
	return t != NULL ? t->bytes : "";
}

size_t
clean_len(const struct clean_text *t)
{
	return t != NULL ? t->len : 0;
}

void
clean_free(struct clean_text *t)
{
	if (t != NULL)
		free(t->block);
	free(t);
}

struct clean_text *
clean_slice(const struct clean_text *t, size_t from, size_t to)
{
	size_t n = clean_len(t);
	struct buf b = BUF_INIT;

	to = to < n ? to : n;
	from = from < to ? from : to;
	buf_add(&b, clean_bytes(t) + from, to - from);
	return clean_take(&b);
}

void
clean_narrow(struct clean_text *t, size_t from, size_t to)
{
	to = to < t->len ? to : t->len;
	from = from < to ? from : to;
	t->bytes += from;
	t->len = to - from;
	t->bytes[t->len] = '\0';
}

struct clean_text *
clean_copy(const struct clean_text *t)
{
	return clean_slice(t, 0, clean_len(t));
}

/*
 * What no later stage wants, at p: its bytes, 0 when it may stay. *joined counts what is attached
 * to the character before it.
 */
static size_t
unwanted_len(const char *p, size_t n, size_t *joined)
{
	int32_t r;
	size_t step;

	if (*p == 0x1b)
		return utf8_escape_sgr(p, n) == 0 ? utf8_escape_len(p, n) : 0;
	step = utf8_next(p, n, &r);
	if (r >= 0 && utf8_joins(r))
		return ++*joined > 2 ? step : 0;
	if (r >= 0 && ((r < 0x20 && r != '\n' && r != '\t' && r != '\r') || utf8_hidden(r)))
		return step;
	*joined = r > 0x20 ? 0 : 2;
	return 0;
}

/* Bytes at p that are printable ASCII, newlines or tabs: most of a text, so eight at a time. */
static size_t
plain_run(const char *p, size_t n)
{
	size_t i = 0, end;
	uint64_t eight;

	do {
		for (; i + sizeof eight <= n; i += sizeof eight) {
			memcpy(&eight, p + i, sizeof eight);
			/* a byte above 0x7f, below 0x20, or 0x7f */
			if (((eight | (eight - 0x2020202020202020u) | (eight + 0x0101010101010101u)) &
				0x8080808080808080u) != 0)
				break;
		}
		end = n - i < sizeof eight ? n : i + sizeof eight;
		while (i < end && ((p[i] >= 0x20 && p[i] < 0x7f) || p[i] == '\n' || p[i] == '\t'))
			i++;
	} while (i == end && i < n);
	return i;
}

/* U+2300 to U+27BF at p, what frames, bullets and boxes are drawn with: none of them is unwanted. */
static bool
is_drawing(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;

	return n >= 3 && u[0] == 0xe2 && u[1] >= 0x8c && u[1] <= 0x9e && (u[2] & 0xc0) == 0x80;
}

size_t
scrub_sanitize(struct buf *text)
{
	return scrub_sanitize_noting(text, NULL);
}

size_t
scrub_sanitize_noting(struct buf *text, struct removed *noted)
{
	const char *p = text->data;
	size_t n = text->len, from = 0, i = 0, joined = 2, removed = 0;
	struct buf out = BUF_INIT;
	int32_t r = 0;

	while (i < n) {
		size_t run = plain_run(p + i, n - i), gone, step;

		i += run;
		if (i == n)
			break;
		if (run > 0)
			joined = p[i - 1] > 0x20 ? 0 : 2;
		if (is_drawing(p + i, n - i)) {
			joined = 0;
			i += 3;
			continue;
		}
		gone = unwanted_len(p + i, n - i, &joined);
		step = p[i] == 0x1b ? utf8_escape_sgr(p + i, n - i) : utf8_next(p + i, n - i, &r);
		if (gone == 0 && (p[i] == 0x1b || r >= 0)) {
			i += step;
			continue;
		}
		if (from == 0)
			buf_grow(&out, n);
		buf_add(&out, p + from, i - from);
		if (noted != NULL)
			scrub_removed_add(noted, out.len, gone == 0 ? 3 : 0, p + i, gone != 0 ? gone : 1);
		if (gone == 0)
			buf_str(&out, "\xef\xbf\xbd");
		removed += gone != 0;
		i += gone != 0 ? gone : 1;
		from = i;
	}
	if (from > 0) {
		buf_add(&out, p + from, n - from);
		buf_wipe(text);
		*text = out;
	}
	return removed;
}

#define MAX_PASSES 8
#define LAST_PASSES 4	/* further ones, in which rows are withheld */
#define NEAR 3		/* rows around a change that are looked at again */

/* One text on its way. */
struct scrub_run {
	struct scrub *s;
	struct scrub_rows rows;
	struct joined_text view;
	struct removed gone;		/* only where controls are kept */
	size_t forms;			/* spellings of values that all rows have been searched for */
};

/* Values that were known before, or are now: a new one may stand in any row, also above. */
static void
find_known(struct scrub_run *run, const char *text, struct scrub_findings *f)
{
	struct scrub *s = run->s;
	struct scrub_rows *rows = &run->rows;

	if (s->known.n_forms == 0)
		return;
	for (size_t i = 0; i < rows->n && s->known.n_forms != run->forms; i++)
		rows->v[i].unchanged = 0;
	run->forms = s->known.n_forms;
	known_find(&s->known, text, rows, &run->view, f);
}

static void
find_all(struct scrub_run *run, const char *text, struct scrub_findings *f)
{
	static const enum joined_mode modes[] = { JOINED_ROWS, JOINED_PAIRS, JOINED_HARD, JOINED_SOFT };
	struct scrub_rows *rows = &run->rows;
	size_t views = rows->width != 0 ? 4 : 2;

	match_prefilter(run->s, text, rows);
	for (size_t i = 0; i < views; i++) {
		joined_show(&run->view, text, rows, modes[i]);
		match_rules(run->s, &run->view, rows, modes[i] != JOINED_ROWS,
		    rows->width < 0 && modes[i] >= JOINED_HARD && modes[i] <= JOINED_SOFT, f);
	}
	match_pem(text, rows, run->s->rules.index->kind_pem, f);
	match_kubernetes_secret(text, rows, run->s->rules.index->kind_manifest, f);
	find_known(run, text, f);
}

static void
withhold_rows(struct scrub_findings *f, const struct scrub_rows *rows)
{
	size_t row = 0;

	for (size_t i = 0; i < f->n; i++) {
		while (f->v[i].from > rows->v[row].to)
			row++;
		f->v[i] = (struct scrub_finding){
			.from = rows->v[row].from, .to = rows->v[row].to, .rank = SCRUB_RANK_WITHHELD
		};
	}
}

static void
log_place(struct scrub *s, const struct scrub_finding *f, size_t row)
{
	if (f->rank == SCRUB_RANK_WITHHELD)
		s->withheld++;
	s->places = vec_room(s->places, s->n_places, &s->cap_places, sizeof *s->places);
	s->places[s->n_places++] = (struct scrub_place){ row,
		f->rank == SCRUB_RANK_WITHHELD ? SCRUB_WITHHELD : f->kind, f->ordinal };
}

/*
 * Which rows the next pass has to look at: those near a change. Rows keep their numbers, as none
 * is ever lost.
 */
static void
mark_changed(struct scrub *s, const struct scrub_findings *f, struct scrub_rows *rows)
{
	size_t row = 0;

	for (size_t i = 0; i < rows->n; i++)
		rows->v[i].unchanged = 1;
	for (size_t i = 0; i < f->n; i++) {
		while (f->v[i].from > rows->v[row].to)
			row++;
		rows->v[row].changed = 1;
		if (!f->v[i].cont)
			log_place(s, &f->v[i], row);
		for (size_t k = row > NEAR ? row - NEAR : 0; k < rows->n && k <= row + NEAR; k++)
			rows->v[k].unchanged = 0;
	}
}

/* The rows of a key, which no view shows as one value. */
static size_t
note_rows(struct scrub *s, const struct scrub_findings *f, size_t i, const char *text)
{
	size_t kind = f->v[i].kind, secret;
	struct buf value = BUF_INIT;

	do
		buf_add(&value, text + f->v[i].from, f->v[i].to - f->v[i].from);
	while (++i < f->n && f->v[i].cont && f->v[i].kind == kind);
	secret = known_add_found(&s->known, value.data, value.len, kind, SCRUB_RANK_FORMAT);
	buf_wipe(&value);
	return secret;
}

static void
name_findings(struct scrub *s, struct scrub_findings *f, const char *text)
{
	for (size_t i = 0; i < f->n && !s->rules_alone; i++) {
		struct scrub_finding *one = &f->v[i];

		if (one->cont || one->rank == SCRUB_RANK_WITHHELD)
			continue;
		if (one->secret == 0)
			one->secret = note_rows(s, f, i, text) + 1;
		if (one->secret != 0 && one->rank != SCRUB_RANK_SEEN)
			known_set_kind(&s->known, one->secret - 1, one->kind, one->rank);
	}
	for (size_t i = 0; i < f->n; i++) {
		struct scrub_finding *one = &f->v[i];

		if (one->cont || one->rank == SCRUB_RANK_WITHHELD)
			continue;
		if (one->secret != 0)
			known_placeholder(&s->known, one->secret - 1, s->ordinals, &one->kind, &one->ordinal);
		else if (!s->rules_alone)
			one->ordinal = s->ordinals[one->kind] += s->ordinals[one->kind] < SCRUB_ORDINAL_MAX;
		s->counts[one->kind]++;
	}
}

/* Replaces once. False when there was nothing to replace; out is untouched then. */
static bool
replace_once(struct scrub_run *run, const char *text, size_t n, bool last, struct buf *out)
{
	struct scrub *s = run->s;
	struct scrub_findings f = { 0 };
	bool any;

	find_all(run, text, &f);
	scrub_findings_merge(&f, text, n, s->kinds, s->n_kinds);
	any = f.n > 0;
	if (any && last) {
		withhold_rows(&f, &run->rows);
		scrub_findings_merge(&f, text, n, s->kinds, s->n_kinds);
	}
	if (any) {
		name_findings(s, &f, text);
		mark_changed(s, &f, &run->rows);
		buf_grow(out, n + n / 64);
		scrub_findings_write(&f, text, &run->rows, s->kinds,
		    s->keep_controls ? &run->gone : NULL, out);
		scrub_rows_reread(&run->rows, out->data, out->len);
	}
	scrub_findings_release(&f);
	return any;
}

/* The text may have been through another scrubber: its placeholders are others than ours. */
static void
take_ordinals(struct scrub *s, const struct buf *text)
{
	const char *p = text->data, *end = p + text->len;

	while ((p = memchr(p, SCRUB_PLACEHOLDER[0], (size_t)(end - p))) != NULL) {
		unsigned ordinal;
		size_t kind;

		if (scrub_placeholder_read(p, (size_t)(end - p), s->kinds, s->n_kinds, &kind, &ordinal) !=
			0 &&
		    ordinal > s->ordinals[kind])
			s->ordinals[kind] = ordinal;
		p++;
	}
}

struct clean_text *
scrub_text(struct scrub *s, const char *p, size_t n, int width)
{
	struct buf text = BUF_INIT;

	buf_add(&text, p, n);
	return scrub_buf(s, &text, width);
}

void
scrub_keep_controls(struct scrub *s)
{
	s->keep_controls = true;
}

/* Scrubs a row by itself: true when something is found, which is noted as of `row`. */
static bool
row_has_secret(struct scrub *s, struct buf *words, size_t row)
{
	struct scrub_place *places = s->places;
	size_t n = s->n_places, cap = s->cap_places, found;

	s->places = NULL;
	s->n_places = s->cap_places = 0;
	s->keep_controls = false;
	clean_free(scrub_buf(s, words, 0));
	s->keep_controls = true;
	found = s->n_places;
	for (size_t i = 0; i < found; i++) {
		places = vec_room(places, n, &cap, sizeof *places);
		places[n] = s->places[i];
		places[n++].row = row;
	}
	free(s->places);
	s->places = places;
	s->n_places = n;
	s->cap_places = cap;
	return found > 0;
}

/* Puts back what sanitizing took out, but for escape sequences that hold a secret. */
static void
put_back_removed(struct scrub_run *run, struct buf *text)
{
	struct buf words = BUF_INIT;
	size_t row = 0, counted = 0, end = 0, n, i = 0;

	while ((n = scrub_removed_words(&run->gone, text, &i, &words, &end)) != 0) {
		for (; counted < end; counted++)
			row += text->data[counted] == '\n';
		if (row_has_secret(run->s, &words, row)) {
			size_t before = run->gone.n;

			scrub_removed_forget_words(&run->gone, i - n, i);
			i -= before - run->gone.n;
			run->s->removed += before - run->gone.n;
		}
		buf_wipe(&words);
	}
	if (run->gone.n > 0)
		scrub_removed_restore(&run->gone, text);
}

struct clean_text *
scrub_buf(struct scrub *s, struct buf *taken, int width)
{
	struct scrub_run run = { .s = s, .view = JOINED_INIT, .gone = { .bytes = BUF_INIT } };
	struct buf text = *taken, next = BUF_INIT;
	struct clean_text *t;
	int most = s->rules_alone ? 1 : MAX_PASSES + LAST_PASSES;

	buf_init(taken);
	if (s->keep_controls)
		scrub_sanitize_noting(&text, &run.gone);
	else
		s->removed += scrub_sanitize(&text);
	take_ordinals(s, &text);
	scrub_rows_init(&run.rows, text.data, text.len, width);
	s->n_places = 0;
	/* until nothing is found any more: so a text that was scrubbed once does not change again */
	for (int i = 1; i <= most && replace_once(&run, text.data, text.len, i > MAX_PASSES, &next); i++) {
		struct buf swap = text;

		text = next;
		next = swap;
		explicit_bzero(next.data, next.len);
		buf_reset(&next);
	}
	if (s->keep_controls)
		put_back_removed(&run, &text);
	t = clean_take(&text);
	buf_wipe(&next);
	scrub_removed_release(&run.gone);
	joined_release(&run.view);
	scrub_rows_release(&run.rows);
	return t;
}

void
scrub_learn_text(struct scrub *s, const char *p, size_t n)
{
	struct scrub_run run = { .s = s, .view = JOINED_INIT };
	struct scrub_findings f = { 0 };
	struct buf text = BUF_INIT;

	buf_add(&text, p, n);
	scrub_sanitize(&text);
	scrub_rows_init(&run.rows, text.data, text.len, 0);
	s->learning = true;
	find_all(&run, text.data, &f);
	s->learning = false;
	scrub_findings_release(&f);
	joined_release(&run.view);
	scrub_rows_release(&run.rows);
	buf_wipe(&text);
}

struct clean_text *
scrub_string(struct scrub *s, const char *text)
{
	return text != NULL ? scrub_text(s, text, strlen(text), 0) : NULL;
}

/* ---- making one ---- */

static void
prepare_tables(struct scrub *s)
{
	const struct rule_index *x = s->rules.index;

	s->kinds = x->kinds;
	s->n_kinds = x->n_kinds;
	s->counts = xcalloc(s->n_kinds, sizeof *s->counts);
	s->ordinals = xcalloc(s->n_kinds, sizeof *s->ordinals);
	s->done = xcalloc(s->rules.n, sizeof *s->done);
	s->gate = gate_new(x->keywords);
}

static bool
scrubs_to(struct scrub *s, const char *text, const char *want)
{
	struct clean_text *t = scrub_string(s, text);
	bool good = strcmp(clean_bytes(t), want) == 0;

	clean_free(t);
	return good;
}

/* The whole way from a text to its placeholder, with the rule's first sample. */
static bool
canary_works(struct scrub *s, const struct rule *r)
{
	struct rule_sample m;
	bool good;

	rule_sample_init(&m, true, r->finds, r->kind, r->finds_line);
	good = scrubs_to(s, m.text, m.want);
	rule_sample_release(&m);
	return good;
}

/*
 * At the start sing the rules of names, which have no pattern, one rule of each sort of pattern,
 * and all of the user's: a scrubber that finds nothing must not look like clean text. Each other
 * rule of ours is tried when it is first needed (rules_private.h).
 */
static int
run_canaries(struct scrub *s, const char *user_rules, struct err *e)
{
	bool anchored = false, behind = false;

	s->rules_alone = true;
	for (size_t i = 0; i < s->rules.n; i++) {
		const struct rule *r = &s->rules.v[i];
		bool *sort = r->back == 0 ? &anchored : &behind;

		if (r->finds == NULL || (!r->own && r->regex != NULL && *sort))
			continue;
		*sort = *sort || (!r->own && r->regex != NULL);
		if (canary_works(s, r))
			continue;
		err_set(e, r->own ? GT_USAGE : GT_FAIL, "canary",
		    "%s:%d: the rule [%s] for secrets does not find its own sample",
		    r->own ? user_rules : "config/secrets.ini", r->finds_line, r->name);
		return err_hint(
		    e, "correct the rule or its finds; scrub refuses a table with errors");
	}
	s->rules_alone = false;
	memset(s->counts, 0, s->n_kinds * sizeof *s->counts);
	s->withheld = s->removed = s->n_places = 0;
	return 0;
}

struct scrub *
scrub_new(const char *user_rules, struct err *e)
{
	struct scrub *s = xcalloc(1, sizeof *s);

	if (rule_set_init(&s->rules, user_rules, e) != 0) {
		free(s);
		return NULL;
	}
	prepare_tables(s);
	if (run_canaries(s, user_rules, e) != 0) {
		scrub_free(s);
		return NULL;
	}
	return s;
}

void
scrub_free(struct scrub *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n_allow; i++)
		pattern_free(s->allow[i]);
	free(s->allow);
	known_release(&s->known);
	gate_free(s->gate);
	rule_set_release(&s->rules);
	free(s->counts);
	free(s->ordinals);
	free(s->done);
	free(s->places);
	scrub_forget_read(s);
	free(s->read);
	free(s);
}

int
scrub_allow(struct scrub *s, const char *regex, struct err *e)
{
	struct pattern *p = pattern_new(regex, 0, e);

	if (p == NULL)
		return err_add(e, "[recovery.scrub] allow");
	s->allow = vec_room(s->allow, s->n_allow, &s->cap_allow, sizeof *s->allow);
	s->allow[s->n_allow++] = p;
	scrub_forget(s);
	return 0;
}

/* ---- known values ---- */

void
scrub_learn_value(struct scrub *s, const char *value, size_t n)
{
	bool key = n > 11 && memcmp(value, "-----BEGIN ", 11) == 0;

	if ((key || known_is_distinctive(value, n)) && !scrub_allows(s, value, n))
		known_learn(&s->known, value, n, s->rules.index->kind_known);
}

/* The password in a URL, whatever the variable is called. */
static void
learn_url(struct scrub *s, const char *value)
{
	const char *p = strstr(value, "://"), *at, *colon;

	if (p == NULL)
		return;
	p += 3;
	at = p + strcspn(p, "/?# \n");
	at = memrchr(p, '@', (size_t)(at - p));
	colon = at != NULL ? memchr(p, ':', (size_t)(at - p)) : NULL;
	if (colon != NULL && at - colon > 8 && !value_is_placeholder(colon + 1, (size_t)(at - colon - 1)))
		scrub_learn_value(s, colon + 1, (size_t)(at - colon - 1));
}

void
scrub_learn(struct scrub *s, const char *name, const char *value)
{
	struct value v = { .p = value, .n = strlen(value), .quoted = true, .plain_env = true };
	const struct rule *rule = rule_set_by_name(&s->rules, name, strlen(name));

	learn_url(s, value);
	if (rule == NULL || v.n < 8)
		return;
	if (value_is_secret(&v, rule->value) || strncmp(value, "-----BEGIN ", 11) == 0)
		scrub_learn_value(s, value, v.n);
}

void
scrub_forget(struct scrub *s)
{
	known_forget(&s->known);
	memset(s->ordinals, 0, s->n_kinds * sizeof *s->ordinals);
}

size_t
scrub_searched(const struct scrub *s)
{
	return s->known.sought;
}

size_t
scrub_room(const struct scrub *s)
{
	return known_room(&s->known);
}

void
scrub_learn_environ(struct scrub *s, const char *block, size_t n)
{
	struct buf name = BUF_INIT, value = BUF_INIT;

	for (size_t i = 0; i < n;) {
		size_t len = strnlen(block + i, n - i);
		const char *eq = memchr(block + i, '=', len);

		if (eq != NULL) {
			size_t name_len = (size_t)(eq - block) - i;

			buf_reset(&name);
			buf_reset(&value);
			buf_add(&name, block + i, name_len);
			buf_add(&value, eq + 1, len - name_len - 1);
			scrub_learn(s, name.data, value.data);
			explicit_bzero(value.data, value.len);
		}
		i += len + 1;
	}
	buf_release(&name);
	buf_wipe(&value);
}

bool
scrub_allows(const struct scrub *s, const char *p, size_t n)
{
	for (size_t i = 0; i < s->n_allow; i++)
		if (pattern_find(s->allow[i], p, n, 0, NULL) == 1)
			return true;
	return false;
}

/* ---- what was replaced ---- */

const struct scrub_place *
scrub_places(const struct scrub *s, size_t *n)
{
	*n = s->n_places;
	return s->places;
}

const char *
scrub_broken(const struct scrub *s)
{
	return s->rules.first_broken;
}

size_t
scrub_withheld(const struct scrub *s)
{
	return s->withheld;
}

size_t
scrub_removed(const struct scrub *s)
{
	return s->removed;
}

size_t
scrub_kinds(const struct scrub *s)
{
	return s->n_kinds;
}

const char *
scrub_kind(const struct scrub *s, size_t i, size_t *count)
{
	if (count != NULL)
		*count = s->counts[i];
	return s->kinds[i];
}

size_t
scrub_total(const struct scrub *s)
{
	size_t total = 0;

	for (size_t i = 0; i < s->n_kinds; i++)
		total += s->counts[i];
	return total;
}

static void
replace_words(char *words, size_t room, struct scrub *s)
{
	struct clean_text *clean = scrub_string(s, words);

	snprintf(words, room, "%s", clean_bytes(clean));
	clean_free(clean);
}

void
scrub_error(struct err *e, struct scrub *s)
{
	struct err broken = ERR_INIT;
	struct scrub *own = NULL;

	if (e == NULL || (e->msg[0] == '\0' && e->hint[0] == '\0'))
		return;
	if (s == NULL && (s = own = scrub_new(NULL, &broken)) == NULL) {
		snprintf(e->msg, sizeof e->msg,
		    "an error text is withheld because it could not "
		        "be searched for secrets: %.400s", broken.msg);
		e->hint[0] = '\0';
		return;
	}
	replace_words(e->msg, sizeof e->msg, s);
	replace_words(e->hint, sizeof e->hint, s);
	scrub_free(own);
}

void
scrub_first_line(struct buf *out, const char *said, size_t columns, struct scrub *s)
{
	struct scrub *own = NULL;
	struct clean_text *clean;

	if (said == NULL || (s == NULL && (s = own = scrub_new(NULL, NULL)) == NULL))
		return;
	clean = scrub_text(s, said, strcspn(said, "\n"), 0);
	utf8_escape(out, clean_bytes(clean), clean_len(clean), columns);
	clean_free(clean);
	scrub_free(own);
}
