#include "test.h"
#include "temp.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "scrub/scrub.h"
#include "recover/upkeep/upkeep_private.h"

static int
send(const char *town, const char *command, const char *subject, const char *body, struct err *e)
{
	struct scrub *s = scrub_new(NULL, e);
	struct clean_text *a = scrub_string(s, subject), *b = scrub_string(s, body);
	struct mail m = { .town = town, .command = command, .to = "mayor/", .subject = a, .body = b };
	int ret = mail_send(&m, s, e);

	clean_free(a);
	clean_free(b);
	scrub_free(s);
	return ret;
}

static void
test_the_command_gets_all_and_nothing_is_expanded(void **state)
{
	char *dir = temp_dir(), *out = io_join(dir, "out"), *ran = io_join(dir, "ran");
	char *command = xasprintf("{ printf '%%s|%%s|' \"$GT_MAIL_TO\" \"$GT_MAIL_SUBJECT\"; cat; } >out");
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(
	    send(dir, command, "Recovery failed for $(touch ran)';touch ran;'", "a `touch ran`\nb\n", &e), 0);
	assert_int_equal(io_read_file(out, 4096, &text, &e), 0);
	assert_string_equal(
	    text.data, "mayor/|Recovery failed for $(touch ran)';touch ran;'|a `touch ran`\nb\n");
	assert_int_equal(access(ran, F_OK), -1);
	buf_release(&text);
	free(command);
	free(out);
	free(ran);
	temp_remove(dir);
}

static void
test_a_refusal_is_told_in_one_clean_line(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(send(NULL,
			     "echo \"no\033[31m, api_key=sk-ant-api03-$(printf %095d 7 | tr 0-9 A-J)AA\" "
			     ">&2; echo more >&2; exit 9",
			     "s", "b", &e),
	    -1);
	assert_string_equal(e.name, "mail");
	assert_non_null(strstr(e.msg, "ended with status 9: no"));
	assert_null(strstr(e.msg, "sk-ant-api03-A"));
	assert_null(strstr(e.msg, "more"));
	assert_null(strchr(e.msg, '\033'));
}

static void
test_a_mailer_that_does_not_read_its_input(void **state)
{
	char *body = xmalloc(300001);
	struct err e = ERR_INIT;

	(void)state;
	memset(body, 'x', 300000);
	body[300000] = '\0';
	assert_int_equal(send(NULL, "exit 0", "s", body, &e), 0);
	free(body);
}

static void
test_nobody_to_ask(void **state)
{
	struct err e = ERR_INIT;
	char *path = xstrdup(getenv("PATH")), *dir = temp_dir();

	(void)state;
	assert_int_equal(send(NULL, "", "s", "b", &e), -1);
	assert_string_equal(e.name, "no-mailer");
	setenv("PATH", dir, 1);
	assert_int_equal(send(dir, "", "s", "b", &e), -1);
	assert_string_equal(e.name, "not-installed");
	setenv("PATH", path, 1);
	free(path);
	temp_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_command_gets_all_and_nothing_is_expanded),
		cmocka_unit_test(test_a_refusal_is_told_in_one_clean_line),
		cmocka_unit_test(test_a_mailer_that_does_not_read_its_input),
		cmocka_unit_test(test_nobody_to_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
