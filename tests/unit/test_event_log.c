#include "test.h"

#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "records/records.h"
#include "store/store.h"
#include "temp.h"

#define EVENTS 20

struct log {
	char *dir, *path;
	struct store *s;
	struct buf whole;		/* what the file must hold */
	struct err e;
};

static int
setup(void **state)
{
	static const struct event ev = {
		.kind = "test.done", .subject = "log", .text = "sectors of it may be lost"
	};
	struct log *l = xcalloc(1, sizeof *l);

	l->dir = temp_dir();
	l->path = io_join(l->dir, EVENT_LOG);
	l->s = store_open("sqlite", l->dir, &l->e);
	for (int i = 0; i < EVENTS; i++)
		assert_int_equal(event_commit(l->s, NULL, 0, &ev, &l->e), COMMIT_DONE);
	assert_int_equal(event_export(l->s, l->path, NULL, &l->e), 0);
	assert_int_equal(io_read_file(l->path, 1 << 20, &l->whole, &l->e), 0);
	assert_true(l->whole.len > 3 * 512);
	*state = l;
	return 0;
}

static int
teardown(void **state)
{
	struct log *l = *state;

	store_close(l->s);
	temp_remove(l->dir);
	buf_release(&l->whole);
	free(l->path);
	free(l);
	return 0;
}

static int
export_over(struct log *l, const char *p, size_t n)
{
	memset(&l->e, 0, sizeof l->e);
	assert_int_equal(io_write_durable(l->path, p, n, "test", &l->e), 0);
	return event_export(l->s, l->path, NULL, &l->e);
}

static void
assert_mended(struct log *l, const char *p, size_t n)
{
	struct buf now = BUF_INIT;

	assert_int_equal(export_over(l, p, n), 0);
	assert_int_equal(io_read_file(l->path, 1 << 20, &now, &l->e), 0);
	assert_int_equal(now.len, l->whole.len);
	assert_memory_equal(now.data, l->whole.data, now.len);
	buf_release(&now);
}

static void
each_length_is_mended(void **state)
{
	struct log *l = *state;

	for (size_t n = 0; n <= l->whole.len; n += 7)
		assert_mended(l, l->whole.data, n);
}

/* The first append to a new file is the one of which nothing before it says whose it is. */
static void
each_torn_sector_is_mended(void **state)
{
	struct log *l = *state;

	for (size_t at = 0; at < l->whole.len; at += 512) {
		for (int fill = 0; fill < 4; fill++) {
			char *torn = xmalloc(l->whole.len);
			size_t n = l->whole.len - at < 512 ? l->whole.len - at : 512;

			memcpy(torn, l->whole.data, l->whole.len);
			for (size_t i = 0; i < n; i++)
				torn[at + i] = fill == 0 ? '\0'
				    : fill == 1          ? (char)(0x80 + i % 0x40)
							 : (char)(i * 37 + fill);
			/* a newline before any byte that text cannot hold */
			if (fill >= 2)
				torn[at + (fill == 2 ? 0 : 3)] = '\n';
			assert_mended(l, torn, l->whole.len);
			free(torn);
		}
	}
}

static void
what_is_no_log_stays(void **state)
{
	static const char *const files[] = { "\n", "notes of a person\n", "{\"seq\":1}\nmore\n",
		"{\"seq\":0,\"kind\":\"x\"}\n", "[]\n[]\n" };
	struct log *l = *state;

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		struct buf now = BUF_INIT;

		assert_int_equal(export_over(l, files[i], strlen(files[i])), -1);
		assert_string_equal(l->e.name, "event-log");
		assert_int_equal(io_read_file(l->path, 1 << 20, &now, &l->e), 0);
		assert_string_equal(now.data, files[i]);
		buf_release(&now);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_length_is_mended, setup, teardown),
		cmocka_unit_test_setup_teardown(each_torn_sector_is_mended, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_log_stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
