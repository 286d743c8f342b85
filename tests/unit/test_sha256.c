#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "base/encode.h"

static void
expect(const char *text, size_t n, const char *want)
{
	char got[65];

	sha256_hex(text, n, got);
	assert_string_equal(got, want);
}

/*
 * The examples of FIPS 180-2, appendix B, and lengths on both sides of the padding's edge
 * (checked with sha256sum).
 */
static void
test_known_sums(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	expect("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
	    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	for (int i = 0; i < 1000000; i++)
		buf_chr(&b, 'a');
	expect(b.data, b.len, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	expect(b.data, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
	expect(b.data, 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
	expect(b.data, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
	expect(b.data, 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
