#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "temp.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "snapshot/snapshot.h"
#include "conversation/conversation.h"
#include "screen/screen.h"
#include "snapshot/pass/pass.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"

#define HOUR ((int64_t)3600000)
#define SOCKET S("/tmp/tmux-1000/default")

#define S(text) ((char *)(text))		/* the structs own their strings elsewhere */

static struct scrub *scrub;

static int
make_scrub(void **state)
{
	(void)state;
	scrub = scrub_new(NULL, NULL);
	return scrub == NULL;
}

static int
free_scrub(void **state)
{
	(void)state;
	scrub_free(scrub);
	return 0;
}

/* ---- the format ---- */

/* Every field set; strings borrowed, text and style owned by the caller. */
static struct snapshot
sample(struct clean_text *text, struct sgr_rows *style)
{
	static char *secrets[] = { S("ANTHROPIC_API_KEY"), S("--token") };

	return (struct snapshot){
		.session = S("we \"ird\"\nname"),
		.socket = SOCKET,
		.server_pid = 77,
		.server_start = 1700000000,
		.pane = S("%5"),
		.pane_pid = 123,
		.width = 100,
		.height = 30,
		.history_limit = 2000,
		.alternate = true,
		.dead = true,
		.title = S("✳ Fix it"),
		.window_id = S("@2"),
		.window_name = S("claude"),
		.agent = S("claude"),
		.role = S("polecat"),
		.address = S("rig/polecats/toast"),
		.cwd = S("/home/u/töwn"),
		.config_dir = S("/home/u/.claude"),
		.pid = 124,
		.pid_start = 18446744073709ull,
		.session_id = S("27ab7c50-4ba4-4bc9-a8dd-e7f59b9042ff"),
		.transcript = S("/home/u/.claude/projects/x/y.jsonl"),
		.shell = S("/bin/bash"),
		.command = S("exec claude --token [REDACTED:value]"),
		.secrets = secrets,
		.n_secrets = 2,
		.git = S("Branch main\nHEAD 1a2b3c4"),
		.bead = S("gt-abc"),
		.rows = 3,
		.cut = true,
		.style = style,
		.text = text,
	};
}

static void
whole(const struct snapshot *s, struct buf *out)
{
	struct buf body = BUF_INIT;

	snapshot_body(&body, s);
	snapshot_whole(out, body.data, body.len, 1795316035435, "older.json");
	buf_release(&body);
}

static void
reads_what_it_wrote(void **state)
{
	struct sgr_row rows[] = { { SGR_BACK | SGR_TAIL_DIM, BULLET_UNKNOWN }, { 0, BULLET_ERROR },
		{ SGR_NAME_BOLD, BULLET_OK } };
	struct sgr_rows style = { .v = rows, .n = 3, .cap = 3 };
	struct clean_text *text = scrub_text(scrub, "● one\n  two \\ \"\tthree\n❯ end", 31, 100);
	struct snapshot was = sample(text, &style), s;
	struct buf b = BUF_INIT, again = BUF_INIT;

	(void)state;
	whole(&was, &b);
	assert_int_equal(b.data[b.len - 1], '\n');
	assert_null(memchr(b.data, '\n', b.len - 1));
	assert_int_equal(snapshot_parse(b.data, b.len, "x", scrub, &s, NULL), 0);
	assert_int_equal(s.taken_at, 1795316035435);
	assert_string_equal(s.base_snapshot, "older.json");
	assert_string_equal(s.session, was.session);
	assert_string_equal(s.command, was.command);
	assert_int_equal(s.n_secrets, 2);
	assert_string_equal(s.secrets[1], "--token");
	assert_int_equal(s.pid_start, was.pid_start);
	assert_string_equal(clean_bytes(s.text), clean_bytes(text));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(sgr_row(s.style, i).marks, rows[i].marks);
		assert_int_equal(sgr_row(s.style, i).bullet, rows[i].bullet);
	}
	/* all the rest: written again it is the same */
	whole(&s, &again);
	assert_int_equal(again.len, b.len);
	assert_memory_equal(again.data, b.data, b.len);
	snapshot_release(&s);
	clean_free(text);
	buf_release(&b);
	buf_release(&again);
}

static void
tells_nothing_as_null(void **state)
{
	struct snapshot was = { .session = S("s"), .socket = SOCKET, .pane = S("%0") }, s;
	struct buf b = BUF_INIT;

	(void)state;
	whole(&was, &b);
	assert_non_null(strstr(b.data, "\"process\":null"));
	assert_non_null(strstr(b.data, "\"command\":null"));
	assert_int_equal(snapshot_parse(b.data, b.len, "x", scrub, &s, NULL), 0);
	assert_null(s.command);
	assert_null(s.git);
	assert_null(s.style);
	assert_int_equal(s.pid, 0);
	assert_int_equal(clean_len(s.text), 0);
	snapshot_release(&s);
	buf_release(&b);
}

static void
refuses_what_is_none(void **state)
{
	static const struct { const char *text, *name;
	} cases[] = {
		{ "", "json" },
		{ "{\"schema_version\":1", "json" },
		{ "[]", "snapshot" },
		{ "null", "snapshot" },
		{ "{}", "snapshot" },
		{ "{\"schema_version\":2,\"text\":\"x\",\"session\":\"s\",\"socket\":\"/"
		  "s\",\"pane\":{\"id\":\"%1\"}}",
		    "snapshot" },
		{ "{\"schema_version\":1,\"text\":7,\"session\":\"s\",\"socket\":\"/"
		  "s\",\"pane\":{\"id\":\"%1\"}}",
		    "snapshot" },
		{ "{\"schema_version\":1,\"text\":\"x\",\"session\":\"s\",\"socket\":\"/s\",\"pane\":\"%1\"}",
		    "snapshot" },
		{ "{\"schema_version\":1,\"text\":\"x\",\"socket\":\"/s\",\"pane\":{\"id\":\"%1\"}}",
		    "snapshot" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct err e = ERR_INIT;
		struct snapshot s;

		assert_int_equal(
		    snapshot_parse(cases[i].text, strlen(cases[i].text), "x", scrub, &s, &e), -1);
		assert_string_equal(e.name, cases[i].name);
		assert_null(s.text);
		assert_null(s.session);
	}
}

/* Somebody wrote it by hand: escapes, secrets, a style that is none. */
static void
trusts_no_file(void **state)
{
	static const char text[] = "{\"schema_version\":1,\"session\":\"s\",\"socket\":\"/"
				   "s\",\"pane\":{\"id\":\"%1\",\"width\":80,"
				   "\"title\":\"\\u001b]0;x\\u0007t\"},\"style\":\"zz\",\"git\":\"a\\u001b["
				   "2Jb\","
				   "\"text\":\"one\\u001b[201~\\u001b]52;c;eA==\\u0007\\nAWS_SECRET_ACCESS_"
				   "KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzYQ2kL9\\n\"}";
	struct snapshot s;

	(void)state;
	assert_int_equal(snapshot_parse(text, sizeof text - 1, "x", scrub, &s, NULL), 0);
	assert_null(strchr(clean_bytes(s.text), '\033'));
	assert_null(strstr(clean_bytes(s.text), "wJalr"));
	assert_non_null(strstr(clean_bytes(s.text), "[REDACTED:"));
	assert_null(strchr(s.title, '\033'));
	assert_null(strchr(s.git, '\033'));
	assert_null(s.style);
	snapshot_release(&s);
}

/* ---- the directory ---- */

static void
put(const char *dir, int64_t at, const char *session, const char *pane, const char *text)
{
	char name[SNAPSHOT_NAME];

	snapshot_file_name(name, at, session, pane);
	assert_int_equal(snapshot_file_write(dir, name, text, strlen(text), NULL), 0);
}

/* Whenever it was taken and whatever it refers to: the same is the same, and nothing less. */
static void
knows_what_a_file_tells(void **state)
{
	struct clean_text *text = scrub_text(scrub, "one\ntwo", 7, 100),
			  *longer = scrub_text(scrub, "one\ntwo!", 8, 100);
	struct snapshot was = sample(text, NULL), other = sample(longer, NULL);
	struct buf body = BUF_INIT, file = BUF_INIT, else_body = BUF_INIT;
	char *dir = temp_dir(), name[SNAPSHOT_NAME], *path;

	(void)state;
	snapshot_body(&body, &was);
	snapshot_body(&else_body, &other);
	snapshot_whole(&file, body.data, body.len, 1795316035435, "older.json");
	put(dir, 1795316035435, "aaaaaaaaaaaa", "bbbbbbbbbbbb", file.data);
	snapshot_file_name(name, 1795316035435, "aaaaaaaaaaaa", "bbbbbbbbbbbb");
	assert_int_equal(snapshot_dir_sync(dir, NULL), 0);
	assert_true(snapshot_file_equals(dir, name, body.data, body.len));
	assert_false(snapshot_file_equals(dir, name, else_body.data, else_body.len));
	assert_false(snapshot_file_equals(dir, name, body.data, body.len - 1));
	assert_false(
	    snapshot_file_equals(dir, "1795316035436-aaaaaaaaaaaa-bbbbbbbbbbbb.json", body.data, body.len));
	path = io_join(dir, name);
	assert_int_equal(chmod(path, 0644), 0);
	/* no private file: somebody else may have written it */
	assert_false(snapshot_file_equals(dir, name, body.data, body.len));
	unlink(path);
	free(path);
	temp_remove(dir);
	buf_release(&body);
	buf_release(&file);
	buf_release(&else_body);
	clean_free(text);
	clean_free(longer);
}

static void
lists_and_finds(void **state)
{
	char *dir = temp_dir(), *missing = io_join(dir, "none"), *path, a[SNAPSHOT_KEY], b[SNAPSHOT_KEY],
	     p1[SNAPSHOT_KEY], p2[SNAPSHOT_KEY];
	struct snapshot_index all;
	struct stat st;

	(void)state;
	snapshot_session_key(a, SOCKET, "toast");
	snapshot_session_key(b, SOCKET, "toas");
	snapshot_pane_key(p1, SOCKET, 77, 1700000000, "%5");
	snapshot_pane_key(p2, SOCKET, 77, 1700000001, "%5");
	assert_int_equal(strlen(a), 12);
	assert_string_not_equal(a, b);
	assert_string_not_equal(p1, p2);
	assert_int_equal(snapshot_index_read(missing, &all, NULL), 0);
	assert_int_equal(all.n, 0);
	snapshot_index_release(&all);
	put(dir, 1795316035435, a, p1, "2");
	put(dir, 1795316035434, a, p2, "1");
	put(dir, 1795316035436, b, p1, "3");
	path = io_join(dir, "1795316035436-nothex.json");
	temp_write(path, "x");
	free(path);
	assert_int_equal(snapshot_index_read(dir, &all, NULL), 0);
	assert_int_equal(all.n, 3);
	assert_int_equal(all.v[0].at, 1795316035434);
	assert_string_equal(all.v[0].pane, p2);
	assert_int_equal(snapshot_index_newest(&all, a, NULL, 0)->at, 1795316035435);
	assert_int_equal(snapshot_index_newest(&all, NULL, p1, 0)->at, 1795316035436);
	assert_int_equal(snapshot_index_newest(&all, a, NULL, 1795316035434)->at, 1795316035434);
	assert_null(snapshot_index_newest(&all, b, p2, 0));
	assert_null(snapshot_index_newest(&all, a, NULL, 1));
	path = io_join(dir, all.v[0].name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	free(path);
	snapshot_index_release(&all);
	free(missing);
	temp_remove(dir);
}

static void
glances(void **state)
{
	char *dir = temp_dir();
	struct snapshot was = { .session = S("s"),
		.socket = SOCKET,
		.pane = S("%0"),
		.pane_pid = 4711,
		.rows = 812,
		.command = S("echo \"rows\":9") };
	struct buf b = BUF_INIT;
	size_t rows;
	pid_t pid;

	(void)state;
	whole(&was, &b);
	put(dir, 1795316035435, "aaaaaaaaaaaa", "bbbbbbbbbbbb", b.data);
	assert_true(
	    snapshot_file_peek(dir, "1795316035435-aaaaaaaaaaaa-bbbbbbbbbbbb.json", &rows, &pid, NULL));
	assert_int_equal(rows, 812);
	assert_int_equal(pid, 4711);
	assert_false(snapshot_file_peek(dir, "nothing.json", &rows, &pid, NULL));
	buf_release(&b);
	temp_remove(dir);
}

/* "session age-in-hours [h]": of which what the rules keep is told in the same order as + and -. */
static void
expires(const char *what, size_t keep, int64_t age_hours, const char *want)
{
	const int64_t now = 1000 * HOUR;
	struct snapshot_index a = { .n = 0 };
	char got[64];

	for (const char *p = what; *p != '\0'; p += strcspn(p, ","), p += *p == ',') {
		struct snapshot_file x = { .at = now - strtol(p + 2, NULL, 10) * HOUR };

		snprintf(x.session, sizeof x.session, "%c", p[0]);
		x.held = p[strcspn(p, ",") - 1] == 'h';
		a.v = vec_room(a.v, a.n, &a.cap, sizeof *a.v);
		a.v[a.n++] = x;
	}
	snapshot_index_expire(&a, keep, age_hours * HOUR, now);
	for (size_t i = 0; i < a.n; i++)
		got[i] = a.v[i].gone ? '-' : '+';
	got[a.n] = '\0';
	assert_string_equal(got, want);
	snapshot_index_release(&a);
}

static void
keeps_by_count_and_age(void **state)
{
	(void)state;
	expires("", 3, 24, "");
	expires("a 5,a 4,a 3,a 2,a 1", 3, 24, "--+++");
	expires("a 5,b 5,a 4,b 4,a 3,a 2", 2, 24, "-+-+++");	/* each session for itself */
	expires("a 50,a 30,a 1", 20, 24, "--+");
	expires("a 500", 1, 24, "+");				/* the newest of a session stays at any age */
	expires("a 500,a 400", 20, 24, "-+");
	expires("a 500 h,a 400,a 300 h,a 1", 1, 24, "+-++");	/* what something refers to stays */
	expires("a 25,a 24,a 23", 20, 24, "-++");
	expires("a -5,a 1", 1, 24, "+-");			/* a clock that was ahead */
}

static void
removes_and_tidies(void **state)
{
	char *dir = temp_dir(), *left, *state_file, *other;
	struct snapshot_index a;

	(void)state;
	put(dir, 1795316035434, "aaaaaaaaaaaa", "bbbbbbbbbbbb", "1");
	put(dir, 1795316035435, "aaaaaaaaaaaa", "bbbbbbbbbbbb", "2");
	left = io_join(dir, ".1795316035434-aaaaaaaaaaaa-bbbbbbbbbbbb.json.99.abcd1234");
	state_file = io_join(dir, "state-aaaaaaaaaaaa.json");
	other = io_join(dir, ".hidden");
	temp_write(left, "x");
	temp_write(state_file, "x");
	temp_write(other, "x");
	assert_int_equal(snapshot_index_read(dir, &a, NULL), 0);
	snapshot_index_expire(&a, 1, HOUR, 1795316035436);
	assert_int_equal(snapshot_index_prune(&a), 1);
	snapshot_index_release(&a);
	assert_int_equal(snapshot_index_read(dir, &a, NULL), 0);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.v[0].at, 1795316035435);
	assert_int_not_equal(access(left, F_OK), 0);
	assert_int_equal(access(state_file, F_OK), 0);
	assert_int_equal(access(other, F_OK), 0);
	snapshot_index_release(&a);
	free(left);
	free(state_file);
	free(other);
	temp_remove(dir);
}

/* ---- what the last pass saw ---- */

static struct pane
a_pane(void)
{
	return (struct pane){ .socket_path = SOCKET,
		.server_pid = 77,
		.server_start = 1700000000,
		.session = S("toast"),
		.id = S("%5"),
		.pid = 123,
		.activity = 1700000100,
		.width = 100,
		.height = 30,
		.history_size = 200,
		.history_bytes = 40000,
		.cursor_x = 2,
		.cursor_y = 20,
		.title = S("✳ Claude Code") };
}

static void
knows_the_unchanged(void **state)
{
	struct pane_states s = { .n = 0 };
	struct pane p = a_pane(), was = p;
	struct pane_state *x = snapshot_pane_put(&s, &p, 1700000101);

	(void)state;
	assert_true(snapshot_pane_same(x, &p));
#define DIFFERS(field, value)                                                                                \
	do {                                                                                                 \
		p.field = (value);                                                                           \
		assert_false(snapshot_pane_same(x, &p));                                                     \
		p = was;                                                                                     \
	} while (0)
	DIFFERS(pid, 124);
	DIFFERS(activity, 1700000101);
	DIFFERS(activity, 1700000099);
	DIFFERS(history_size, 199);
	DIFFERS(history_bytes, 40001);
	DIFFERS(cursor_x, 3);
	DIFFERS(cursor_y, 21);
	DIFFERS(width, 99);
	DIFFERS(height, 31);
	DIFFERS(alternate, true);
	DIFFERS(dead, true);
	DIFFERS(dead_time, 1);
	DIFFERS(session, S("toast2"));
	DIFFERS(title, S("⠂ Claude Code"));
#undef DIFFERS
	assert_true(snapshot_pane_same(x, &p));
	/* output in the second of the look, or later, may have come after it */
	x = snapshot_pane_put(&s, &p, 1700000100);
	assert_false(snapshot_pane_same(x, &p));
	x = snapshot_pane_put(&s, &p, 0);
	assert_false(snapshot_pane_same(x, &p));
	snapshot_panes_release(&s);
}

static void
remembers_by_file(void **state)
{
	char *dir = temp_dir();
	struct pane p = a_pane(), other = p;
	struct pane_states s;
	struct pane_state *x;
	struct snapshot_index a = { .dir = dir };

	(void)state;
	snapshot_panes_read(&s, dir, &p);
	assert_null(snapshot_pane_find(&s, &p));
	/* nothing changed: nothing is written */
	assert_int_equal(snapshot_panes_write(&s, NULL), 0);
	assert_int_not_equal(access(s.path, F_OK), 0);
	x = snapshot_pane_put(&s, &p, 1700000101);
	x->agent = true;
	x->file = xstrdup("1795316035435-aaaaaaaaaaaa-bbbbbbbbbbbb.json");
	x->base_snapshot = xstrdup("1795316035434-aaaaaaaaaaaa-bbbbbbbbbbbb.json");
	x->bytes = 99;
	other.id = S("%6");
	snapshot_pane_put(&s, &other, 1700000101);
	assert_int_equal(snapshot_panes_write(&s, NULL), 0);
	snapshot_panes_release(&s);

	snapshot_panes_read(&s, dir, &p);
	x = snapshot_pane_find(&s, &p);
	assert_non_null(x);
	assert_true(snapshot_pane_same(x, &p));
	assert_true(x->agent);
	assert_int_equal(x->bytes, 99);
	assert_string_equal(x->base_snapshot, "1795316035434-aaaaaaaaaaaa-bbbbbbbbbbbb.json");
	assert_false(snapshot_pane_find(&s, &other)->agent);
	/* another process in the pane: its snapshots are not this one's */
	p.pid = 999;
	x = snapshot_pane_put(&s, &p, 1700000102);
	assert_null(x->file);
	assert_null(x->base_snapshot);
	assert_int_equal(x->bytes, 0);
	snapshot_panes_release(&s);

	put(dir, 1795316035433, "aaaaaaaaaaaa", "bbbbbbbbbbbb", "1");
	put(dir, 1795316035434, "aaaaaaaaaaaa", "bbbbbbbbbbbb", "1");
	put(dir, 1795316035435, "aaaaaaaaaaaa", "bbbbbbbbbbbb", "1");
	assert_int_equal(snapshot_index_read(dir, &a, NULL), 0);
	snapshot_panes_hold(&a, 0);
	assert_false(a.v[0].held);
	assert_true(a.v[1].held);
	assert_true(a.v[2].held);
	snapshot_index_release(&a);

	/* another life of the server: its ids are others' */
	p = a_pane();
	p.server_start++;
	snapshot_panes_read(&s, dir, &p);
	assert_int_equal(s.n, 0);
	/* a pane that is gone is forgotten at the next write */
	snapshot_panes_release(&s);
	p = a_pane();
	snapshot_panes_read(&s, dir, &p);
	snapshot_pane_find(&s, &p)->here = true;
	assert_int_equal(snapshot_panes_write(&s, NULL), 0);
	snapshot_panes_release(&s);
	snapshot_panes_read(&s, dir, &p);
	assert_int_equal(s.n, 1);
	/* a damaged one: nothing is known */
	temp_write(s.path, "{\"schema_version\":1,\"server_pid\":77,");
	snapshot_panes_release(&s);
	snapshot_panes_read(&s, dir, &p);
	assert_int_equal(s.n, 0);
	snapshot_panes_release(&s);
	temp_remove(dir);
}

/* What a server held when it died is known as long as its snapshots count, whatever came after it. */
static void
remembers_lives(void **state)
{
	char *dir = temp_dir();
	struct pane p = a_pane();
	int64_t first = p.server_start;
	struct snapshot_index a = { .dir = dir };
	struct pane_states s;

	(void)state;
	for (int life = 0; life < 4; life++, p.server_start++) {
		snapshot_panes_read(&s, dir, &p);
		snapshot_pane_put(&s, &p, 1700000101)->agent = true;
		assert_int_equal(snapshot_panes_write(&s, NULL), 0);
		snapshot_panes_release(&s);
	}
	for (int life = 0; life < 4; life++) {
		assert_true(snapshot_panes_of_server(&s, dir, p.socket_path, p.server_pid, first + life));
		assert_int_equal(s.n, 1);
		snapshot_panes_release(&s);
	}
	assert_false(snapshot_panes_of_server(&s, dir, p.socket_path, p.server_pid, first + 4));
	snapshot_panes_release(&s);
	assert_int_equal(snapshot_index_read(dir, &a, NULL), 0);
	snapshot_panes_hold(&a, 1);
	assert_true(snapshot_panes_of_server(&s, dir, p.socket_path, p.server_pid, first));
	snapshot_panes_release(&s);
	/* all were written before the end of time: only the present one stays */
	snapshot_panes_hold(&a, INT64_MAX);
	assert_false(snapshot_panes_of_server(&s, dir, p.socket_path, p.server_pid, first));
	snapshot_panes_release(&s);
	assert_true(snapshot_panes_of_server(&s, dir, p.socket_path, p.server_pid, first + 3));
	snapshot_panes_release(&s);
	snapshot_index_release(&a);
	temp_remove(dir);
}

/* ---- whether it is needed ---- */

static struct clean_text *
rows(const char *name, int from, int to)
{
	struct buf b = BUF_INIT;
	struct clean_text *t;

	buf_str(&b, "Claude Code v2.1.197\n/home/u\n\n");
	for (int i = from; i < to; i++)
		buf_fmt(&b, "● %s %d, a row that goes on for a while\n", name, i);
	t = scrub_text(scrub, b.data, b.len, 100);
	buf_release(&b);
	return t;
}

static bool
adds(bool own, struct clean_text *kept, struct clean_text *pane, size_t said, int64_t at, ssize_t truncated)
{
	struct snapshot_lookup r = {
		.found = true, .own = own, .snapshot = { .taken_at = 1000, .text = kept }
	};
	struct exchange x[1] = { { .at = at } };
	struct conversation record = { .v = x, .n = said, .truncated_at = truncated },
			    screen = { .n = clean_len(pane) > 0 };
	bool yes = snapshot_lookup_adds(&r, pane, &screen, &record);

	clean_free(kept);
	clean_free(pane);
	return yes;
}

static void
tells_when_it_is_needed(void **state)
{
	(void)state;
	/* all of it still stands there, whatever was drawn at the bottom since */
	assert_false(adds(true, rows("row", 0, 100), rows("row", 0, 200), 0, 0, -1));
	assert_false(adds(true, rows("row", 0, 3), rows("row", 0, 3), 0, 0, -1));
	assert_false(adds(true, rows("row", 0, 100), rows("row", 0, 98), 0, 0, -1));
	/* cut above, cleared with the banner printed anew, wiped */
	assert_true(adds(true, rows("row", 0, 100), rows("row", 50, 200), 0, 0, -1));
	assert_true(adds(true, rows("row", 0, 100), rows("other", 0, 20), 0, 0, -1));
	assert_true(adds(true, rows("row", 0, 100), scrub_text(scrub, "", 0, 100), 0, 0, -1));
	/* a transcript that goes on behind it, one that ends before it, one that was cut */
	assert_false(adds(true, rows("row", 0, 100), rows("other", 0, 20), 1, 2000, -1));
	assert_true(adds(true, rows("row", 0, 100), rows("other", 0, 20), 1, 900, -1));
	assert_true(adds(true, rows("row", 0, 100), rows("other", 0, 20), 1, 2000, 0));
	/* of an older life of the server: only where nothing else is */
	assert_false(adds(false, rows("row", 0, 100), rows("other", 0, 20), 0, 0, -1));
	assert_false(adds(false, rows("row", 0, 100), scrub_text(scrub, "", 0, 100), 1, 2000, -1));
	assert_true(adds(false, rows("row", 0, 100), scrub_text(scrub, "", 0, 100), 0, 0, -1));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_it_wrote), cmocka_unit_test(tells_nothing_as_null),
		cmocka_unit_test(refuses_what_is_none), cmocka_unit_test(trusts_no_file),
		cmocka_unit_test(knows_what_a_file_tells), cmocka_unit_test(lists_and_finds),
		cmocka_unit_test(glances),
		cmocka_unit_test(keeps_by_count_and_age), cmocka_unit_test(removes_and_tidies),
		cmocka_unit_test(knows_the_unchanged),
		cmocka_unit_test(remembers_by_file),
		cmocka_unit_test(remembers_lives),
		cmocka_unit_test(tells_when_it_is_needed),
	};

	return cmocka_run_group_tests(tests, make_scrub, free_scrub);
}
