#include "test.h"

#include <locale.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "screen/screen.h"
#include "base/json.h"
#include "conversation/conversation.h"
#include "transcript/transcript.h"
#include "golden.h"
#include "recorded.h"
#include "scrub/scrub.h"
#include "temp.h"

/*
 * The session files that the real programs left (tests/golden/agents): what their reader makes of
 * them is what was said and done, no more and no less. What the agent had not written down when
 * it died says the truth. Merged with the screen that was left it is all of it: with the answer
 * that was streaming and the call that ran, once each, where there is a dialect for that screen.
 */

static struct scrub *scrub;
static char *room, *current;	/* a temporary directory; "codex/tool", for messages */
static size_t recordings, merged;

static int
set_up(void **state)
{
	(void)state;
	scrub = scrub_new(NULL, NULL);
	room = temp_dir();
	return scrub != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	scrub_free(scrub);
	temp_remove(room);
	return 0;
}

/* opencode's tables, as a database of the test's own. Heap. */
static char *
make_database(const char *where)
{
	char *path = io_join(room, "opencode.db");
	struct buf sql = BUF_INIT;
	char *why = NULL;
	sqlite3 *db;

	unlink(path);
	assert_int_equal(golden_read(where, "session.sql", &sql), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql.data, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", current, why);
	sqlite3_close(db);
	buf_release(&sql);
	return path;
}

/* Heap; NULL when there is no session file. */
static char *
session_path(const char *where)
{
	static const char *const names[] = { "session.messages.json", "session.jsonl", "session.json" };
	char *path = io_join(where, "session.sql");
	bool database = access(path, R_OK) == 0;

	free(path);
	if (database)
		return make_database(where);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		path = io_join(where, names[i]);
		if (access(path, R_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

static bool
is_unseen(const json_t *item)
{
	const json_t *sources = json_object_get(item, "unseen");

	for (size_t i = 0; i < json_array_size(sources); i++)
		if (strcmp(json_string_value(json_array_get(sources, i)), "transcript") == 0)
			return true;
	return false;
}

static size_t
without_blanks_behind(const char *s)
{
	size_t n = strlen(s);

	while (n > 0 && strchr(" \t\n", s[n - 1]) != NULL)
		n--;
	return n;
}

static void
compare(const json_t *item, const struct exchange *x)
{
	const char *role = json_text(item, "role", ""), *content = json_text(item, "content", "");
	const char *command = json_text(item, "command", NULL);
	size_t n = without_blanks_behind(content);

	if (strcmp(role, "tool") != 0) {
		assert_null(x->tool);
		if (strcmp(exchange_role_name(x->role), role) != 0 ||
		    without_blanks_behind(x->content) != n || memcmp(x->content, content, n) != 0)
			fail_msg("%s: %s said \"%s\", the reader has %s \"%s\"", current, role, content,
			    exchange_role_name(x->role), x->content);
		return;
	}
	if (x->tool == NULL || strcmp(x->tool, json_text(item, "tool", "")) != 0)
		fail_msg("%s: %s was called, the reader has %s", current, json_text(item, "tool", ""),
		    x->tool != NULL ? x->tool : x->content);
	if (command != NULL && (x->input == NULL || strstr(x->input, command) == NULL))
		fail_msg("%s: \"%s\" was run, the reader has \"%s\"", current, command,
		    x->input != NULL ? x->input : "");
	if (strstr(x->content, content) == NULL)
		fail_msg("%s: it answered \"%s\", the reader has \"%s\"", current, content, x->content);
	assert_string_equal(exchange_status_name(x->status), json_text(item, "status", ""));
}

static void
check(const char *where, const char *agent, const char *path)
{
	struct buf b = BUF_INIT;
	struct conversation c;
	struct err e = ERR_INIT;
	json_t *truth, *items;
	size_t at = 0;

	assert_int_equal(golden_read(where, "truth.json", &b), 0);
	truth = json_parse(b.data, b.len, "truth.json", NULL);
	assert_non_null(truth);
	if (transcript_read(path, agent, scrub, 0, &c, &e) != 0)
		fail_msg("%s: %s", current, e.msg);
	assert_int_equal(c.unknown_lines, 0);
	assert_string_equal(c.session_id, json_text(truth, "session", ""));
	if (c.banner != NULL)
		assert_string_equal(c.banner, json_text(truth, "version", ""));
	items = json_object_get(truth, "items");
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);

		if (is_unseen(item))
			continue;
		if (at == c.n)
			fail_msg("%s: the reader has %zu exchanges, item %zu is missing", current, c.n, i);
		compare(item, &c.v[at++]);
	}
	if (at < c.n)
		fail_msg("%s: nobody said \"%s\"", current, c.v[at].content);
	json_decref(truth);
	buf_release(&b);
	conversation_release(&c);
}

/* Nobody knew of it: neither the file nor the screen, or the screen is not read. */
static bool
is_lost(const json_t *item, const char *agent)
{
	return is_unseen(item) && (!grammar_is_known(agent) || listed(item, "unseen", "screen"));
}

/*
 * Said by a person or the model, or called; not what the screen's program says itself, and no
 * line for calls that it does not show.
 */
static bool
counts(const struct exchange *x)
{
	return x->role != ROLE_SYSTEM && !x->folded;
}

static void
compare_merged(const json_t *item, const struct exchange *x)
{
	const char *content = json_text(item, "content", "");
	bool streaming = item_is(item, "status", "streaming"), same;

	if (item_is(item, "role", "tool"))
		same = x->tool != NULL && x->input != NULL &&
		    holds_letters(x->input, json_text(item, "command", ""), 0) &&
		    holds_letters(x->content, content, 0);
	else
		same = x->tool == NULL && item_is(item, "role", exchange_role_name(x->role)) &&
		    (listed(item, "cut", "screen") ? piece_of(content, x->content)
						   : same_letters(content, x->content));
	if (!same)
		fail_msg("%s, merged: not \"%s%s\" but \"%s\"", current, content,
		    json_text(item, "command", ""), x->tool != NULL ? x->input : x->content);
	assert_string_equal(
	    exchange_status_name(x->status), streaming ? "running" : json_text(item, "status", "complete"));
	/* a half answer is nowhere else */
	assert_int_equal(x->source, is_unseen(item) ? SOURCE_SCREEN : SOURCE_TRANSCRIPT);
}

static void
check_merged(const char *where, const char *agent, const char *path)
{
	struct buf b = BUF_INIT, text = BUF_INIT;
	struct conversation record = CONVERSATION_INIT, screen = CONVERSATION_INIT, all;
	struct sgr_rows *style;
	struct err e = ERR_INIT;
	json_t *truth, *item;
	size_t i, at = 0;

	assert_int_equal(golden_read(where, "truth.json", &b), 0);
	assert_int_equal(golden_read(where, "screen.ansi", &text), 0);
	truth = json_parse(b.data, b.len, "truth.json", NULL);
	if (path != NULL)
		assert_int_equal(transcript_read(path, agent, scrub, 0, &record, &e), 0);
	for (i = 0; i < record.n; i++)
		record.v[i].source = SOURCE_TRANSCRIPT;
	style = sgr_strip(&text);
	screen_read_bytes(text.data, text.len, style, atoi(json_text(truth, "size", "")), agent, &screen);
	conversation_merge(&record, NULL, &screen, &all);
	if (!grammar_is_known(agent)) {	/* the last screen as it is, behind all that its file has */
		assert_true(all.n > 1);
		assert_int_equal(all.v[all.n - 1].source, SOURCE_SCREEN);
		assert_int_equal(all.v[all.n - 1].role, ROLE_SYSTEM);
	}
	json_array_foreach(json_object_get(truth, "items"), i, item) {
		if (is_lost(item, agent))
			continue;
		while (at < all.n && !counts(&all.v[at]))
			at++;
		if (at == all.n)
			fail_msg("%s, merged: \"%s\" is missing", current,
			    json_text(item, "content", json_text(item, "command", "")));
		compare_merged(item, &all.v[at++]);
	}
	for (; at < all.n; at++)
		if (counts(&all.v[at]))
			fail_msg("%s, merged: nobody said \"%s\"", current, all.v[at].content);
	merged++;
	json_decref(truth);
	sgr_free(style);
	conversation_release(&all);
	buf_release(&b);
	buf_release(&text);
}

static void
check_state(const char *where)
{
	char *path = session_path(where), *copy = xstrdup(where), *state = strrchr(copy, '/');
	char *agent;

	*state++ = '\0';
	agent = strrchr(copy, '/') + 1;
	current = xasprintf("%s/%s", agent, state);
	if (path != NULL) {
		recordings++;
		check(where, agent, path);
	} else {
		print_message("skip %s: the agent wrote nothing down\n", current);
	}
	check_merged(where, agent, path);
	free(current);
	free(copy);
	free(path);
}

static void
check_agent(const char *where)
{
	char *rest = xasprintf("golden/agents/%s", strrchr(where, '/') + 1);

	if (strchr(strrchr(where, '/'), '.') == NULL)	/* not one of the tools beside them */
		golden_each(rest, check_state);
	free(rest);
}

static void
recordings_say_what_was_said(void **state)
{
	(void)state;
	golden_each("golden/agents", check_agent);
	assert_true(recordings > 0);
	assert_true(merged >= 32);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(recordings_say_what_was_said) };

	setlocale(LC_CTYPE, "C.UTF-8");	/* as main does: widths of runes come from the C library */
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
