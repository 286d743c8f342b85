#include "test.h"

#include <locale.h>
#include <unistd.h>

#include "screen/screen.h"
#include "transcript/transcript.h"
#include "golden.h"
#include "recorded.h"
#include "scrub/scrub.h"

/*
 * tests/golden/recorded: the real program's screens and transcripts, read by our readers and
 * compared with what was typed and sent (tests/golden/record/README.md). What is known to be read
 * wrong stands in a capture's file `misses` and must be exact: one that is right by now is a
 * failure, too. GT_GOLDEN_UPDATE=1 writes the files anew.
 */

struct check {
	const char *source;		/* "plain", "colours", "joined", "transcript" */
	const char *kind;		/* "screen", "transcript": what the truth calls it */
	const json_t *items;
	const struct conversation *c;
	struct buf *misses;
};

static void
miss(struct check *k, const char *what, const char *text)
{
	char *head = letters(text);

	buf_fmt(k->misses, "%s: %s%s%.40s\n", k->source, what, *head != '\0' ? ": " : "", head);
	free(head);
}

static bool
is_command(const char *text)
{
	return *text == '/' || *text == '!';
}

/* ---- words ---- */

static bool
wanted_words(const struct check *k, const json_t *item, enum role role)
{
	if (!item_is(item, "role", role == ROLE_USER ? "user" : "assistant") ||
	    listed(item, "unseen", k->kind))
		return false;
	return json_object_get(item, "sidechain") == NULL && !item_is(item, "status", "withdrawn") &&
	    !item_is(item, "kind", "api-error") && !is_command(json_text(item, "content", "")) &&
	    *json_text(item, "content", "") != '\0';
}

static bool
words_match(const struct check *k, const json_t *item, const struct exchange *x)
{
	const char *want = json_text(item, "content", "");

	return listed(item, "cut", k->kind) ? piece_of(want, x->content) : same_letters(want, x->content);
}

static bool
read_words(const struct exchange *x, enum role role)
{
	return x->role == role && x->tool == NULL && !(role == ROLE_USER && is_command(x->content));
}

static void
check_status(struct check *k, const json_t *item, const struct exchange *x)
{
	const char *want = json_text(item, "status", "");
	enum status status = strcmp(want, "queued") == 0 ? STATUS_WAITING
	    : strcmp(want, "streaming") == 0             ? STATUS_RUNNING
	    : strcmp(want, "interrupted") == 0           ? STATUS_INTERRUPTED
							 : STATUS_COMPLETE;

	if (x->status != status) {
		char *what = xasprintf(
		    "words are %s, not %s", exchange_status_name(x->status), exchange_status_name(status));

		miss(k, what, x->content);
		free(what);
	}
}

/* In order: what is wanted takes the next exchange that is like it; what nobody takes is false. */
static void
check_words(struct check *k, enum role role)
{
	bool *taken = xcalloc(k->c->n + 1, sizeof *taken);
	size_t i, from = 0;
	const json_t *item;

	json_array_foreach(k->items, i, item) {
		bool needed = !item_is(item, "kind", "thinking");
		size_t at = from;

		if (!wanted_words(k, item, role))
			continue;
		while (
		    at < k->c->n && !(read_words(&k->c->v[at], role) && words_match(k, item, &k->c->v[at])))
			at++;
		if (at < k->c->n) {
			taken[at] = true;
			from = at + 1;
			check_status(k, item, &k->c->v[at]);
		} else if (needed) {
			miss(k, role == ROLE_USER ? "user words missing" : "assistant's words missing",
			    json_text(item, "content", ""));
		}
	}
	for (size_t at = 0; at < k->c->n; at++)
		if (read_words(&k->c->v[at], role) && !taken[at] && *k->c->v[at].content != '\0')
			miss(k, role == ROLE_USER ? "false user words" : "false assistant's words",
			    k->c->v[at].content);
	free(taken);
}

static void
check_errors(struct check *k)
{
	size_t i;
	const json_t *item;

	json_array_foreach(k->items, i, item) {
		bool found = !item_is(item, "kind", "api-error") || listed(item, "unseen", k->kind);

		for (size_t at = 0; at < k->c->n && !found; at++)
			found = k->c->v[at].role != ROLE_USER &&
			    holds_letters(k->c->v[at].content, json_text(item, "content", ""), 0);
		if (!found)
			miss(k, "API error missing", json_text(item, "content", ""));
	}
}

static void
check_last_user(struct check *k)
{
	const char *want = NULL, *got = conversation_last_user(k->c);
	const json_t *last = NULL, *item;
	size_t i;

	json_array_foreach(k->items, i, item)
		if (wanted_words(k, item, ROLE_USER))
			last = item;
	if (last == NULL)
		return;
	want = json_text(last, "content", "");
	if (got == NULL || !(listed(last, "cut", k->kind) ? piece_of(want, got) : same_letters(want, got)))
		miss(k, "last user message", got != NULL ? got : "");
}

/* ---- calls ---- */

static bool
known_tool(const char *tool)
{
	static const char *const names[] = { "Bash", "Update", "Write", "Fetch", "Agent", "Search", "Read" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(shown_name(tool), names[i]) == 0)
			return true;
	return false;
}

/* Nothing that the person or the model said comes after this item. */
static bool
is_open_end(const json_t *items, size_t i)
{
	for (i++; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);

		if (!item_is(item, "role", "tool") && !item_is(item, "status", "queued") &&
		    json_object_get(item, "sidechain") == NULL)
			return false;
	}
	return true;
}

static bool
right_status(const struct check *k, size_t i, const char *want, enum status got, bool dialog)
{
	bool running = got == STATUS_RUNNING;

	if (strcmp(want, "complete") == 0)
		return got == STATUS_COMPLETE;
	if (strcmp(want, "failed") == 0)
		return got == STATUS_FAILED;
	/* what a screen shows as interrupted was not answered, or was by the program itself */
	if (!is_open_end(k->items, i))
		return got == STATUS_INTERRUPTED || (strcmp(want, "lost") == 0 && got == STATUS_FAILED);
	/* a transcript does not tell of a dialog, but there are tools that always ask */
	return dialog ? got == STATUS_WAITING || (running && strcmp(k->kind, "transcript") == 0) : running;
}

static void
check_call(struct check *k, size_t i, const json_t *item, const struct exchange *x, bool dialog)
{
	const char *want = json_text(item, "status", ""), *result = json_text(item, "content", "");
	bool background = json_object_get(json_object_get(item, "input"), "run_in_background") != NULL;
	char first[200],
	    *what = xasprintf("%s is %s, not %s", x->tool, exchange_status_name(x->status), want);

	if (!right_status(k, i, want, x->status, dialog))
		miss(k, what, x->input != NULL ? x->input : "");
	free(what);
	snprintf(first, sizeof first, "%.*s", (int)strcspn(result, "\n"), result);
	if (strcmp(want, "complete") == 0 && strcmp(x->tool, "Bash") == 0 && *first != '(' && !background &&
	    !holds_letters(x->content, first, 40))
		miss(k, "result missing", first);
}

static void
check_calls(struct check *k, bool dialog)
{
	bool *taken = xcalloc(k->c->n + 1, sizeof *taken);
	size_t i, from = 0;
	const json_t *item;
	char text[200];

	json_array_foreach(k->items, i, item) {
		const char *tool = json_text(item, "tool", "");
		size_t at = from;

		if (!item_is(item, "role", "tool") || listed(item, "unseen", k->kind) ||
		    json_object_get(item, "sidechain") != NULL)
			continue;
		call_text(item, text, sizeof text);
		for (; at < k->c->n; at++) {
			const struct exchange *x = &k->c->v[at];

			if (x->tool != NULL && !x->folded &&
			    strcmp(shown_name(x->tool), shown_name(tool)) == 0 &&
			    holds_letters(x->input != NULL ? x->input : "", text, 12))
				break;
		}
		if (at == k->c->n) {
			char *what = xasprintf("call missing: %s", tool);

			miss(k, what, text);
			free(what);
			continue;
		}
		taken[at] = true;
		from = at + 1;
		check_call(k, i, item, &k->c->v[at], dialog);
	}
	for (size_t at = 0; at < k->c->n; at++)
		if (k->c->v[at].tool != NULL && !k->c->v[at].folded && known_tool(k->c->v[at].tool) &&
		    !taken[at])
			miss(k, "false call",
			    k->c->v[at].input != NULL ? k->c->v[at].input : k->c->v[at].tool);
	free(taken);
}

/* ---- one source ---- */

static void
check_bottom(struct check *k, const json_t *truth, const char *plain)
{
	const char *draft = json_text(truth, "draft", NULL), *version = json_text(truth, "version", "");
	bool farewell = strstr(plain, "\nResume this session with:") != NULL,
	     dialog = json_text(truth, "dialog", NULL) != NULL;
	char *banner = xasprintf("Claude Code v%s", version);

	if (draft != NULL ? k->c->draft == NULL || !same_letters(draft, k->c->draft) : k->c->draft != NULL)
		miss(k, "draft", k->c->draft != NULL ? k->c->draft : "");
	if (dialog != (k->c->question != NULL))
		miss(k, "dialog", k->c->question != NULL ? k->c->question : "");
	if (k->c->farewell != farewell ||
	    (farewell && (k->c->resume_id == NULL || !item_is(truth, "session", k->c->resume_id))))
		miss(k, "farewell", k->c->resume_id != NULL ? k->c->resume_id : "");
	if (strstr(plain, banner) != NULL && (k->c->banner == NULL || strcmp(k->c->banner, version) != 0))
		miss(k, "banner", k->c->banner != NULL ? k->c->banner : "");
	if (k->c->unknown_lines > 0)
		miss(k, "rows not understood", "");
	free(banner);
}

static void
check_conversation(struct check *k, const json_t *truth)
{
	check_words(k, ROLE_USER);
	check_words(k, ROLE_ASSISTANT);
	check_errors(k);
	check_last_user(k);
	check_calls(k, json_text(truth, "dialog", NULL) != NULL);
}

/*
 * source "plain" and "colours": the capture without and with its colours; "joined": capture-pane
 * -J, where that gives other rows.
 */
static void
check_screen(const char *dir, const json_t *truth, const char *source, struct buf *misses)
{
	struct buf screen = BUF_INIT, size = BUF_INIT;
	struct conversation c = CONVERSATION_INIT;
	struct check k = { source, "screen", json_object_get(truth, "items"), &c, misses };
	bool joined = strcmp(source, "joined") == 0;
	struct sgr_rows *style;

	if (golden_read(dir, joined ? "joined.txt" : "screen.txt", &screen) != 0) {
		assert_true(joined);
		return;
	}
	assert_int_equal(golden_read(dir, "size", &size), 0);
	style = sgr_strip(&screen);
	screen_read_bytes(screen.data, screen.len, strcmp(source, "colours") == 0 ? style : NULL,
	    atoi(size.data), "claude", &c);
	check_conversation(&k, truth);
	check_bottom(&k, truth, screen.data);
	sgr_free(style);
	conversation_release(&c);
	buf_release(&screen);
	buf_release(&size);
}

static struct scrub *scrub;
static size_t transcripts;

/* Kept with one width of a scenario: nothing to compare elsewhere. */
static void
check_transcript(const char *dir, const json_t *truth, struct buf *misses)
{
	char *path = io_join(dir, "transcript.jsonl");
	struct conversation c = CONVERSATION_INIT;
	struct check k = { "transcript", "transcript", json_object_get(truth, "items"), &c, misses };
	struct err e = ERR_INIT;

	if (access(path, F_OK) == 0) {
		assert_int_equal(transcript_read(path, "claude", scrub, 0, &c, &e), 0);
		check_conversation(&k, truth);
		if (c.session_id == NULL || !item_is(truth, "session", c.session_id))
			miss(&k, "session", c.session_id != NULL ? c.session_id : "");
		if (c.banner == NULL || !item_is(truth, "version", c.banner))
			miss(&k, "version", c.banner != NULL ? c.banner : "");
		if (c.unknown_lines > 0)
			miss(&k, "records not understood", "");
		transcripts++;
	}
	conversation_release(&c);
	free(path);
}

/* ---- the corpus ---- */

static const char *const versions[] = { "1.0.128", "2.0.76", "2.1.37", "2.1.197", "2.1.330" };
static size_t seen[sizeof versions / sizeof *versions], differ;

static void
compare(const char *dir, const struct buf *misses)
{
	struct buf known = BUF_INIT;

	(void)golden_read(dir, "misses", &known);
	if (getenv("GT_GOLDEN_UPDATE") != NULL) {
		char *path = io_join(dir, "misses");
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
		    dir, known.data, misses->data);
		differ++;
	}
	buf_release(&known);
}

static void
check_dir(const char *dir)
{
	struct buf text = BUF_INIT, misses = BUF_INIT;
	struct err e = ERR_INIT;
	json_t *truth;

	assert_int_equal(golden_read(dir, "truth.json", &text), 0);
	truth = json_parse(text.data, text.len, dir, &e);
	assert_non_null(truth);
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		seen[i] += item_is(truth, "version", versions[i]);
	check_screen(dir, truth, "plain", &misses);
	check_screen(dir, truth, "colours", &misses);
	check_screen(dir, truth, "joined", &misses);
	check_transcript(dir, truth, &misses);
	compare(dir, &misses);
	json_decref(truth);
	buf_release(&text);
	buf_release(&misses);
}

static void
reads_what_was_recorded(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	scrub = scrub_new(NULL, &e);
	assert_non_null(scrub);
	assert_true(golden_each("golden/recorded", check_dir) >= 40);
	assert_true(transcripts >= 30);
	scrub_free(scrub);
	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
		assert_true(seen[i] >= 5);
	assert_int_equal(differ, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_recorded),
	};

	setlocale(LC_CTYPE, "C.UTF-8");	/* as main does: widths of runes come from the C library */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
