#include "test.h"

#include <locale.h>

#include "base/json.h"
#include "conversation/conversation.h"
#include "screen/screen.h"
#include "golden.h"

/*
 * tests/golden/screen/NAME: in.txt is what capture-pane -p gave, want.json what is read from it,
 * and joined.txt, where there is one, what capture-pane -p -J gave: it must read the same. Either
 * may hold the colours of -e. GT_GOLDEN_UPDATE=1 writes want.json anew.
 */

#include "../fuzz/fuzz_screen.c"

static json_t *
read_screen(struct buf *in)
{
	struct sgr_rows *style = sgr_strip(in);
	struct conversation c = CONVERSATION_INIT, again;
	struct err e = ERR_INIT;
	json_t *v, *second;

	screen_read_bytes(in->data, screen_without_shell(in->data, in->len, 0), style, 0, "claude", &c);
	sgr_free(style);
	v = conversation_json(&c);
	assert_int_equal(conversation_from_json(&again, v, &e), 0);
	second = conversation_json(&again);
	assert_true(json_equal(v, second));
	json_decref(second);
	conversation_release(&again);
	conversation_release(&c);
	return v;
}

static void
compare(const char *dir, const struct buf *want, json_t *got)
{
	struct buf text = BUF_INIT;

	json_print(&text, got, true);
	if (getenv("GT_GOLDEN_UPDATE") != NULL) {
		char *path = io_join(dir, "want.json");
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		assert_int_equal(fwrite(text.data, 1, text.len, f), text.len);
		assert_int_equal(fclose(f), 0);
		free(path);
	} else if (text.len != want->len || memcmp(text.data, want->data, text.len) != 0) {
		print_error("%s: read this instead of want.json:\n%s", dir, text.data);
		fail();
	}
	buf_release(&text);
}

static void
check_dir(const char *dir)
{
	struct buf in = BUF_INIT, joined = BUF_INIT, want = BUF_INIT;
	json_t *v, *j;

	assert_int_equal(golden_read(dir, "in.txt", &in), 0);
	(void)golden_read(dir, "want.json", &want);
	v = read_screen(&in);
	compare(dir, &want, v);
	if (golden_read(dir, "joined.txt", &joined) == 0) {
		j = read_screen(&joined);
		json_object_set(j, "lines", json_object_get(v, "lines"));
		if (!json_equal(v, j))
			fail_msg("%s: capture-pane -J reads differently", dir);
		json_decref(j);
	}
	json_decref(v);
	buf_release(&in);
	buf_release(&joined);
	buf_release(&want);
}

static void
test_golden(void **state)
{
	(void)state;
	assert_true(golden_each("golden/screen", check_dir) >= 10);
}

/* Every screen cut at many places, and with bytes changed: nothing may break. */
static void
mangle_dir(const char *dir)
{
	struct buf in = BUF_INIT;
	uint32_t seed = 7;

	assert_int_equal(golden_read(dir, "in.txt", &in), 0);
	for (size_t cut = 0; cut < in.len; cut += 1 + in.len / 60) {
		LLVMFuzzerTestOneInput((const uint8_t *)in.data, cut);
		LLVMFuzzerTestOneInput((const uint8_t *)in.data + cut, in.len - cut);
	}
	for (int round = 0; round < 60; round++) {
		for (int k = 0; k < 12; k++) {
			seed = seed * 1664525u + 1013904223u;
			in.data[seed % in.len] = "\n \xE2\x97\x8F\xC2\xA0(ab\0)\xFF"[(seed >> 24) % 13];
		}
		LLVMFuzzerTestOneInput((const uint8_t *)in.data, in.len);
	}
	buf_release(&in);
}

static void
test_mangled(void **state)
{
	(void)state;
	assert_true(golden_each("golden/screen", mangle_dir) >= 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_mangled),
	};

	setlocale(LC_CTYPE, "C.UTF-8");	/* as main does: widths of runes come from the C library */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
