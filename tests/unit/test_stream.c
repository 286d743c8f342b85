#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "scrub/scrub.h"

static struct scrub *
scrubber(void)
{
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(NULL, &e);

	if (s == NULL)
		fail_msg("scrub_new: %s", e.msg);
	return s;
}

static void
take(struct buf *out, struct clean_text *t)
{
	buf_add(out, clean_bytes(t), clean_len(t));
	clean_free(t);
}

/* All of the text in pieces of at most `piece` bytes. The caller releases the stream. */
static void
flow(struct scrub_stream *st, struct scrub *s, const struct buf *in, size_t window, size_t piece,
    struct buf *out)
{
	scrub_forget(s);
	scrub_stream_init(st, s, 0, window);
	for (size_t at = 0; at < in->len; at += piece)
		take(out, scrub_stream_put(st, in->data + at, in->len - at < piece ? in->len - at : piece));
	take(out, scrub_stream_end(st));
}

#define KEY_1 "MIIEowIBAAKCAXnzC0a0TohvpCM5dQljSL9aeTBR9Ps14K87Qwj166n3+0say4cl"
#define KEY_2 "smxC7IxaLIP4gzS9bpjQ02GzKmRCqLcQt+GIhd6H9GrGrsnyi0FnkzcqQTfQqdfl"

/*
 * Secrets everywhere, so that each seam has some beside it: on one row, on several, and values of
 * other places.
 */
static void
busy_text(struct buf *b, size_t rows)
{
	for (size_t i = 0; i < rows; i += 10) {
		buf_fmt(b, "row %zu of a long text, as long as rows are\n\nDB_PASSWORD=Maple_%zuZx!\n", i,
		    i % 70 + 1000);
		buf_str(b,
		    "-----BEGIN RSA PRIVATE KEY-----\n" KEY_1 "\n" KEY_2 "\n" KEY_1 "\nx2+BueJH\n-----END "
										    "RSA PRIVATE KEY-----\n");
		buf_fmt(b, "and Maple_%zuZx! again\n", i % 70 + 1000);
	}
}

static void
seams_are_not_seen(void **state)
{
	struct scrub *s = scrubber();
	struct buf in = BUF_INIT;
	struct clean_text *want;

	(void)state;
	busy_text(&in, 20000);
	want = scrub_text(s, in.data, in.len, 0);
	for (size_t i = 0; i < 6; i++) {
		size_t window = (size_t)32768 + i * 9000, piece = i % 2 == 0 ? 4096 : 177;
		struct buf out = BUF_INIT;
		struct scrub_stream st;
		size_t total = 0;

		flow(&st, s, &in, window, piece, &out);
		assert_int_equal(out.len, clean_len(want));
		assert_memory_equal(out.data, clean_bytes(want), out.len);
		for (size_t k = 0; k < scrub_kinds(s); k++)
			total += st.counts[k];
		assert_int_equal(st.found, total);
		assert_int_equal(st.found, 3 * 2000);	/* the password, the key, the password again */
		assert_int_equal(st.changed, 3 * 2000);
		assert_int_equal(st.withheld, 0);
		scrub_stream_release(&st);
		buf_release(&out);
	}
	clean_free(want);
	buf_release(&in);
	scrub_free(s);
}

static void
places_are_those_of_the_text(void **state)
{
	struct scrub *s = scrubber();
	struct buf in = BUF_INIT, out = BUF_INIT;
	struct scrub_stream st;

	(void)state;
	for (size_t i = 0; i < 30000; i++)
		buf_fmt(&in, i % 1000 == 7 ? "DB_PASSWORD=Maple_%zuZx!\n" : "row %zu\n", i);
	flow(&st, s, &in, 65536, 1000, &out);
	assert_int_equal(st.n_places, 30);
	for (size_t i = 0; i < st.n_places; i++) {
		assert_int_equal(st.places[i].row, i * 1000 + 7);
		assert_int_equal(st.places[i].ordinal, i + 1);
		assert_string_equal(scrub_kind(s, st.places[i].kind, NULL), "password");
	}
	scrub_stream_release(&st);
	buf_release(&out);
	buf_release(&in);
	scrub_free(s);
}

static void
a_value_goes_forward(void **state)
{
	struct scrub *s = scrubber();
	struct buf in = BUF_INIT, out = BUF_INIT;
	struct scrub_stream st;

	(void)state;
	buf_str(&in, "DB_PASSWORD=Maple_Oak77!\n");
	for (size_t i = 0; i < 30000; i++)
		buf_fmt(&in, "row %zu\n", i);
	buf_str(&in, "it says Maple_Oak77! is wrong");
	flow(&st, s, &in, 32768, 5000, &out);
	assert_null(strstr(out.data, "Maple_Oak77!"));
	assert_non_null(strstr(out.data, "it says [REDACTED:password] is wrong"));
	scrub_stream_release(&st);
	buf_release(&out);
	buf_release(&in);
	scrub_free(s);
}

static void
a_row_that_is_too_long_is_withheld(void **state)
{
	struct scrub *s = scrubber();
	struct buf in = BUF_INIT, out = BUF_INIT;
	struct scrub_stream st;

	(void)state;
	buf_str(&in, "first\n");
	for (size_t i = 0; i < 40000; i++)
		buf_str(&in, "DB_PASSWORD=Maple_Oak77!");
	buf_str(&in, "\nDB_PASSWORD=Maple_Oak77!\n");
	for (size_t i = 0; i < 9000; i++)
		buf_chr(&in, 'x');
	flow(&st, s, &in, 32768, 5000, &out);
	assert_string_equal(
	    out.data, "first\n[scrub: row withheld]\nDB_PASSWORD=[REDACTED:password]\n[scrub: row withheld]");
	assert_int_equal(st.withheld, 2);
	assert_int_equal(st.found, 1);
	assert_int_equal(st.changed, 3);
	scrub_stream_release(&st);
	buf_release(&out);
	buf_release(&in);
	scrub_free(s);
}

static void
little_text_passes_as_it_is(void **state)
{
	static const char *const texts[] = { "", "\n", "a", "a\n", "\n\n", "a\r\nb\r\n" };
	struct scrub *s = scrubber();

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct buf in = BUF_INIT, out = BUF_INIT;
		struct scrub_stream st;

		buf_str(&in, texts[i]);
		flow(&st, s, &in, STREAM_WINDOW, 1, &out);
		assert_string_equal(out.data, texts[i]);
		assert_int_equal(st.found + st.changed + st.withheld, 0);
		scrub_stream_release(&st);
		buf_release(&out);
		buf_release(&in);
	}
	scrub_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seams_are_not_seen),
		cmocka_unit_test(places_are_those_of_the_text),
		cmocka_unit_test(a_value_goes_forward),
		cmocka_unit_test(a_row_that_is_too_long_is_withheld),
		cmocka_unit_test(little_text_passes_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
