#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work/bd.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/spawn.h"

#define ASK_MS 10000
#define HOOKED_MS 5000
#define GRUDGE_MS 10000			/* how long a failure that concerns every question is remembered */
#define ANSWER_MAX ((size_t)64 << 20)
#define WORDS 12			/* of one call */

struct hooked {
	char *beads;
	json_t *found;			/* NULL: it failed */
};

struct bd {
	char *port;
	bool plain;			/* this bd has no --readonly */
	struct err trouble;
	int64_t failed_at;		/* monotonic ms of a failure that concerns every question; 0: none */
	struct hooked *v;
	size_t n, cap;
};

struct bd *
bd_new(const char *port)
{
	struct bd *b = xcalloc(1, sizeof *b);

	b->port = port != NULL ? xstrdup(port) : NULL;
	return b;
}

void
bd_free(struct bd *b)
{
	if (b == NULL)
		return;
	for (size_t i = 0; i < b->n; i++) {
		free(b->v[i].beads);
		json_decref(b->v[i].found);
	}
	free(b->v);
	free(b->port);
	free(b);
}

const struct err *
bd_trouble(const struct bd *b)
{
	return &b->trouble;
}

/* --- its environment --- */

/* What another database, or a person's taste, may have left in ours. */
static bool
is_ours(const char *entry, bool port)
{
	static const char *const names[] = { "BEADS_DIR=", "BEADS_DB=", "BEADS_DOLT_SERVER_DATABASE=", "BEADS_DOLT_AUTO_START=", "BD_JSON_ENVELOPE=",
		"BD_BACKUP_ENABLED=", "BD_EXPORT_AUTO=", "BD_DOLT_AUTO_COMMIT=", "NO_COLOR=" };
	static const char *const ports[] = { "GT_DOLT_PORT=", "BEADS_DOLT_PORT=", "BEADS_DOLT_SERVER_PORT=" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (str_starts(entry, names[i]))
			return true;
	for (size_t i = 0; port && i < sizeof ports / sizeof ports[0]; i++)
		if (str_starts(entry, ports[i]))
			return true;
	return false;
}

struct words {
	char **v;
	size_t n, cap;
};

static void
add_word(struct words *w, char *owned)
{
	w->v = vec_room(w->v, w->n, &w->cap, sizeof *w->v);
	w->v[w->n++] = owned;
}

static void
make_environ(const struct bd *b, const char *beads, struct words *out)
{
	static const char *const fixed[] = { "BEADS_DOLT_AUTO_START=0", "BD_BACKUP_ENABLED=false", "BD_EXPORT_AUTO=false",
		"BD_DOLT_AUTO_COMMIT=off", "NO_COLOR=1" };

	for (char **p = environ; *p != NULL; p++)
		if (!is_ours(*p, b->port != NULL))
			add_word(out, xstrdup(*p));
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
		add_word(out, xstrdup(fixed[i]));
	add_word(out, xasprintf("BEADS_DIR=%s", beads));
	if (b->port != NULL) {
		add_word(out, xasprintf("GT_DOLT_PORT=%s", b->port));
		add_word(out, xasprintf("BEADS_DOLT_PORT=%s", b->port));
		add_word(out, xasprintf("BEADS_DOLT_SERVER_PORT=%s", b->port));
	}
	add_word(out, NULL);
}

/* --- its answers --- */

/* The beads in a value that bd printed; takes the reference over. NULL: it is no answer. */
static json_t *
beads_in(json_t *v, int depth)
{
	static const char *const wraps[] = { "data", "issues" };
	json_t *array;

	if (json_is_array(v))
		return v;
	if (json_is_null(v)) {
		json_decref(v);
		return json_array();
	}
	for (size_t i = 0; i < 2 && depth < 3 && json_is_object(v); i++) {
		json_t *inner = json_object_get(v, wraps[i]);

		if (inner != NULL) {
			json_incref(inner);
			json_decref(v);
			return beads_in(inner, depth + 1);
		}
	}
	if (*json_text(v, "id", "") == '\0') {
		json_decref(v);
		return NULL;
	}
	array = json_array();
	json_array_append_new(array, v);
	return array;
}

/* Words of bd's own may stand before the JSON, each on a line. */
static json_t *
read_answer(const struct buf *out)
{
	const char *p = out->len > 0 ? out->data : "", *nl;
	json_t *v;

	for (; *p != '\0' && *p != '[' && *p != '{' && !str_starts(p, "null"); p = nl + 1) {
		if (str_starts(p, "No issues found"))
			return json_array();
		nl = strchr(p, '\n');
		if (nl == NULL)
			return NULL;
	}
	v = *p != '\0' ? json_parse(p, out->len - (size_t)(p - out->data), "bd", NULL) : NULL;
	return v != NULL ? beads_in(v, 0) : NULL;
}

static bool
says(const struct buf *b, const char *what)
{
	return b->len > 0 && strcasestr(b->data, what) != NULL;
}

/* bd's own words are not repeated: they are foreign, and long. */
static int
explain(const struct spawn *s, const char *dir, struct err *e)
{
	const struct buf *b[] = { s->errout, s->out };

	for (size_t i = 0; i < 2; i++)
		if (says(b[i], "connection refused") || says(b[i], "unreachable") || says(b[i], "dial tcp") || says(b[i], "no such host")) {
			err_set(e, GT_FAIL, "dolt-down", "the Dolt server does not answer, so bd cannot read the beads of %s", dir);
			return err_hint(e, "start it (gt dolt start), or look the work up later with bd");
		}
	err_set(e, GT_FAIL, "bd-failed", "bd could not read the beads of %s (status %d)", dir, s->status);
	return err_hint(e, "run bd list there to see why");
}

/* Of `show`: nothing of that name, which is an answer. */
static bool
is_unknown_bead(const struct spawn *s, const char *const *words, size_t n)
{
	if (n < 2 || strcmp(words[0], "show") != 0)
		return false;
	return says(s->errout, "no issue") || says(s->out, "no issue") || (says(s->errout, words[1]) && says(s->errout, "not found")) ||
	    (says(s->out, words[1]) && says(s->out, "not found"));
}

/* --- asking --- */

static int
run(struct bd *b, struct spawn *s, const char *const *words, size_t n, struct err *e)
{
	const char *argv[WORDS + 4] = { "bd" };
	size_t k = 1;
	struct err why = ERR_INIT;

	if (!b->plain)
		argv[k++] = "--readonly";
	for (size_t i = 0; i < n && i < WORDS; i++)
		argv[k++] = words[i];
	argv[k] = "--json";
	s->argv = argv;
	buf_reset(s->out);
	buf_reset(s->errout);
	if (spawn_run(s, &why) == 0)
		return 0;
	if (strcmp(why.name, "not-installed") == 0) {
		err_set(e, GT_FAIL, "no-bd", "the beads live in a Dolt server, and bd, which can read them, is not in PATH");
		return err_hint(e, "put bd into PATH; a timer has the PATH that gt-recover install timer wrote down");
	}
	if (strcmp(why.name, "timeout") == 0) {
		err_set(e, GT_FAIL, "bd-timeout", "bd did not answer within %d s", s->timeout_ms / 1000);
		return err_hint(e, "look whether the Dolt server is well (gt dolt status)");
	}
	err_set(e, GT_FAIL, "bd-failed", "bd cannot be run: %s", why.msg);
	return err_hint(e, "run bd list by hand to see why");
}

/* The answer of one call; NULL with e. */
static json_t *
ask(struct bd *b, struct spawn *s, const char *const *words, size_t n, struct err *e)
{
	json_t *found;

	if (run(b, s, words, n, e) != 0)
		return NULL;
	if (s->status != 0 && !b->plain && says(s->errout, "unknown flag: --readonly")) {
		b->plain = true;
		if (run(b, s, words, n, e) != 0)
			return NULL;
	}
	if (s->status != 0 && is_unknown_bead(s, words, n))
		return json_array();
	if (s->status != 0) {
		explain(s, s->cwd, e);
		return NULL;
	}
	found = read_answer(s->out);
	if (found == NULL) {
		err_set(e, GT_FAIL, "bd-answer", "bd's answer about the beads of %s is not understood", s->cwd);
		err_hint(e, "run bd %s --json there; a bd that is newer than this program may answer otherwise", words[0]);
	}
	return found;
}

static json_t *
ask_for(struct bd *b, const char *beads, const char *const *words, size_t n, int timeout_ms, struct err *e)
{
	const char *slash = strrchr(beads, '/');
	char *dir = slash != NULL && slash > beads ? xstrndup(beads, (size_t)(slash - beads)) : xstrdup("/");
	struct buf out = BUF_INIT, errout = BUF_INIT;
	struct words env = { .v = NULL };
	struct err why = ERR_INIT;
	struct spawn s = { .cwd = dir, .out = &out, .errout = &errout, .max_out = ANSWER_MAX, .timeout_ms = timeout_ms };
	json_t *found = NULL;

	if (b->failed_at == 0 || clock_mono_ms() - b->failed_at > GRUDGE_MS) {
		make_environ(b, beads, &env);
		s.env = (const char *const *)env.v;
		found = ask(b, &s, words, n, &why);
		b->failed_at = 0;
		if (found == NULL) {
			b->trouble = why;
			if (strcmp(why.name, "bd-answer") != 0 && strcmp(why.name, "bd-failed") != 0)
				b->failed_at = clock_mono_ms();
		}
	}
	if (found == NULL && e != NULL)
		*e = b->trouble;
	for (size_t i = 0; i < env.n; i++)
		free(env.v[i]);
	free(env.v);
	buf_release(&out);
	buf_release(&errout);
	free(dir);
	return found;
}

json_t *
bd_ask(struct bd *b, const char *beads, const char *const *words, size_t n, struct err *e)
{
	return ask_for(b, beads, words, n, ASK_MS, e);
}

const json_t *
bd_hooked(struct bd *b, const char *beads, struct err *e)
{
	static const char *const words[] = { "list", "--status=hooked", "--limit=0" };
	struct hooked *h = NULL;

	for (size_t i = 0; i < b->n && h == NULL; i++)
		if (strcmp(b->v[i].beads, beads) == 0)
			h = &b->v[i];
	if (h == NULL) {
		b->v = vec_room(b->v, b->n, &b->cap, sizeof *b->v);
		h = &b->v[b->n++];
		*h = (struct hooked){ .beads = xstrdup(beads), .found = ask_for(b, beads, words, 3, HOOKED_MS, e) };
	} else if (h->found == NULL && e != NULL) {
		*e = b->trouble;
	}
	return h->found;
}
