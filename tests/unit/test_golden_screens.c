#include "test.h"

#include <locale.h>
#include <string.h>

#include "screen/screen.h"
#include "base/json.h"
#include "conversation/conversation.h"
#include "golden.h"
#include "recorded.h"

/*
 * The screens that other agents left when they were killed (tests/golden/agents): what their
 * dialect makes of them is what was said and done, as far as it stands there (`unseen` and `cut`
 * in the truth). What is missed all the same says the file "misses" beside them, exactly.
 */

struct check {
	const char *source;	/* "plain" or "colours" */
	const json_t *items;
	const struct conversation *c;
	struct buf *out;
};

static char *current;		/* "codex/tool" */
static size_t dialects, wholes, differ;

static void
miss(const struct check *k, const char *what, const char *text)
{
	buf_fmt(k->out, "%s: %s: %.*s\n", k->source, what, (int)strcspn(text, "\n"), text);
}

static bool
is_words(const struct exchange *x, const char *role)
{
	return x->tool == NULL && strcmp(exchange_role_name(x->role), role) == 0;
}

/* The exchange is what the truth says was said or called. */
static bool
is_it(const json_t *item, const struct exchange *x)
{
	const char *content = json_text(item, "content", "");
	bool cut = listed(item, "cut", "screen");

	if (item_is(item, "role", "tool"))
		return x->tool != NULL && !x->folded && x->input != NULL &&
		    holds_letters(x->input, json_text(item, "command", ""), cut ? 24 : 0);
	return is_words(x, json_text(item, "role", "")) &&
	    (cut ? piece_of(content, x->content) : same_letters(content, x->content));
}

/* How it stood and, of a call that had ended, what it printed. */
static void
check_state(const struct check *k, const json_t *item, const struct exchange *x)
{
	bool streaming = item_is(item, "status", "streaming"), tool = item_is(item, "role", "tool");
	const char *want = streaming ? "running" : json_text(item, "status", "complete");

	if (strcmp(exchange_status_name(x->status), want) != 0) {
		char *what = xasprintf("%s, not %s", exchange_status_name(x->status), want);

		miss(k, what, tool ? x->input : x->content);
		free(what);
	}
	if (tool && strcmp(want, "complete") == 0 &&
	    !holds_letters(x->content, json_text(item, "content", ""), 0))
		miss(k, "result missing", x->input);
}

static void
check_items(const struct check *k)
{
	bool *taken = xcalloc(k->c->n + 1, sizeof *taken);
	const json_t *item;
	size_t i, from = 0;

	json_array_foreach(k->items, i, item) {
		size_t at = from;

		if (listed(item, "unseen", "screen"))
			continue;
		while (at < k->c->n && !is_it(item, &k->c->v[at]))
			at++;
		if (at == k->c->n) {
			miss(k, "missing",
			    json_text(item, item_is(item, "role", "tool") ? "command" : "content", ""));
			continue;
		}
		taken[at] = true;
		from = at + 1;
		check_state(k, item, &k->c->v[at]);
	}
	for (size_t at = 0; at < k->c->n; at++)
		if (!taken[at] && !k->c->v[at].folded && k->c->v[at].role != ROLE_SYSTEM)
			miss(k, k->c->v[at].tool != NULL ? "false call" : "false words",
			    k->c->v[at].tool != NULL ? k->c->v[at].tool : k->c->v[at].content);
	free(taken);
}

static void
check_end(const struct check *k, const json_t *truth)
{
	const char *draft = json_text(truth, "draft", NULL);
	bool open = false;
	const json_t *item;
	size_t i;

	/* of what was pasted most boxes show no more than a word in brackets */
	if ((draft == NULL) != (k->c->draft == NULL) ||
	    (draft != NULL && k->c->draft[0] != '[' && !same_letters(draft, k->c->draft)))
		miss(k, "draft", k->c->draft != NULL ? k->c->draft : "");
	if (k->c->banner != NULL && !item_is(truth, "version", k->c->banner))
		miss(k, "banner", k->c->banner);
	for (i = 0; i < k->c->n; i++)
		open = open || (k->c->v[i].folded && k->c->v[i].status == STATUS_RUNNING);
	json_array_foreach(k->items, i, item)
		if (open && item_is(item, "role", "tool") && item_is(item, "status", "running"))
			open = false;
	if (open)
		miss(k, "false call", "folded");
	if (k->c->unknown_lines > 0)
		buf_fmt(k->out, "%s: %zu rows not understood\n", k->source, k->c->unknown_lines);
}

/* No dialect: the screen as it is, in one piece. */
static void
check_whole(const struct buf *text, const struct conversation *c)
{
	size_t n = text->len;

	while (n > 0 && strchr(" \n", text->data[n - 1]) != NULL)
		n--;
	assert_int_equal(c->n, 1);
	assert_int_equal(c->v[0].role, ROLE_SYSTEM);
	assert_int_equal(strlen(c->v[0].content), n);
	assert_memory_equal(c->v[0].content, text->data, n);
	wholes++;
}

static void
check_screen(const char *where, const char *agent, const json_t *truth, bool colours, struct buf *misses)
{
	struct conversation c = CONVERSATION_INIT;
	struct check k = { colours ? "colours" : "plain", json_object_get(truth, "items"), &c, misses };
	struct buf text = BUF_INIT;
	struct sgr_rows *style;

	assert_int_equal(golden_read(where, colours ? "screen.ansi" : "screen.txt", &text), 0);
	style = sgr_strip(&text);
	screen_read_bytes(text.data, text.len, style, atoi(json_text(truth, "size", "")), agent, &c);
	if (grammar_is_known(agent)) {
		check_items(&k);
		check_end(&k, truth);
		dialects++;
	} else {
		check_whole(&text, &c);
	}
	sgr_free(style);
	conversation_release(&c);
	buf_release(&text);
}

static void
compare(const char *where, const struct buf *misses)
{
	struct buf known = BUF_INIT;

	(void)golden_read(where, "misses", &known);
	if (getenv("GT_GOLDEN_UPDATE") != NULL) {
		char *path = io_join(where, "misses");
		FILE *f = misses->len > 0 ? fopen(path, "w") : NULL;

		if (f != NULL) {
			assert_int_equal(fwrite(misses->data, 1, misses->len, f), misses->len);
			assert_int_equal(fclose(f), 0);
		} else {
			(void)remove(path);
		}
		free(path);
	} else if (strcmp(known.data, misses->data) != 0) {
		print_error("%s: known misses:\n%sbut now these are:\n%s(GT_GOLDEN_UPDATE=1 writes them "
			    "down, when all is for the better)\n",
		    current, known.data, misses->data);
		differ++;
	}
	buf_release(&known);
}

static void
check_recording(const char *where)
{
	char *copy = xstrdup(where), *state = strrchr(copy, '/'), *agent;
	struct buf b = BUF_INIT, misses = BUF_INIT;
	json_t *truth;

	*state++ = '\0';
	agent = strrchr(copy, '/') + 1;
	current = xasprintf("%s/%s", agent, state);
	assert_int_equal(golden_read(where, "truth.json", &b), 0);
	truth = json_parse(b.data, b.len, "truth.json", NULL);
	assert_non_null(truth);
	check_screen(where, agent, truth, false, &misses);
	check_screen(where, agent, truth, true, &misses);
	compare(where, &misses);
	json_decref(truth);
	buf_release(&b);
	buf_release(&misses);
	free(current);
	free(copy);
}

static void
check_agent(const char *where)
{
	char *rest = xasprintf("golden/agents/%s", strrchr(where, '/') + 1);

	if (strchr(strrchr(where, '/'), '.') == NULL)	/* not one of the tools beside them */
		golden_each(rest, check_recording);
	free(rest);
}

static void
screens_say_what_was_said(void **state)
{
	(void)state;
	golden_each("golden/agents", check_agent);
	assert_true(dialects >= 2 * 20);
	assert_true(wholes >= 2 * 12);
	assert_int_equal(differ, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(screens_say_what_was_said) };

	setlocale(LC_CTYPE, "C.UTF-8");	/* as main does: widths of runes come from the C library */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
