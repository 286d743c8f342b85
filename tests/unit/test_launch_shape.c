#include <string.h>

#include "test.h"
#include "agent/agent.h"
#include "base/buf.h"
#include "scrub/scrub.h"

#define KEY "sk-ant-api03-Zk3vQ9xT7bLm2RfYw8HcNd5GpJs4AeUo6iXt1VqBnM0"
#define ODD "zX9!kQ27-pLm_vv31Rt"

/* The command's secrets become marks, and the marks have these names, in order. */
static void
is_shaped(const char *command, const char *block, size_t n, const char *want_names)
{
	struct scrub *s = scrub_new(NULL, NULL);
	struct launch l = { .command = (char *)command };
	struct launch_redacted shape;
	struct buf names = BUF_INIT;
	size_t marks = 0;

	if (block != NULL)
		scrub_learn_environ(s, block, n);
	launch_redact(&shape, &l, s, block, n);
	for (size_t i = 0; i < shape.n; i++)
		buf_fmt(&names, "%s%s", i > 0 ? " " : "", shape.names[i]);
	assert_string_equal(names.data, want_names);
	for (const char *p = clean_bytes(shape.text); (p = strstr(p, "[REDACTED:")) != NULL; p++)
		marks++;
	assert_int_equal(marks, shape.n);
	assert_null(strstr(clean_bytes(shape.text), KEY));
	assert_null(strstr(clean_bytes(shape.text), ODD));
	launch_redacted_release(&shape);
	buf_release(&names);
	scrub_free(s);
}

static void
names_the_secrets(void **state)
{
	static const char block[] = "HOME=/home/u\0MY_SECRET_TOKEN=" ODD "\0ANTHROPIC_API_KEY=" KEY;

	(void)state;
	is_shaped("exec claude --dangerously-skip-permissions", NULL, 0, "");
	is_shaped("exec env GT_ROLE=rig/polecats/toast ANTHROPIC_API_KEY=" KEY " claude", NULL, 0,
	    "ANTHROPIC_API_KEY");
	is_shaped("ANTHROPIC_API_KEY='" KEY "' claude", NULL, 0, "ANTHROPIC_API_KEY");
	is_shaped("env A=1 ANTHROPIC_API_KEY=" KEY " GITHUB_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345 "
						   "claude 'go on'",
	    NULL, 0, "ANTHROPIC_API_KEY GITHUB_TOKEN");
	/* known by the environment alone */
	is_shaped("claude --settings /x.json " ODD " \"start\"", block, sizeof block, "MY_SECRET_TOKEN");
	is_shaped("claude 'use " ODD " for the upload' && echo " KEY, block, sizeof block,
	    "MY_SECRET_TOKEN ANTHROPIC_API_KEY");
	/* by the flag */
	is_shaped("claude --api-key " KEY " --verbose", NULL, 0, "--api-key");
	is_shaped("claude --api-key=" KEY, NULL, 0, "--api-key");
	is_shaped("claude " KEY " end", NULL, 0, "value");
}

static void
takes_no_command(void **state)
{
	struct scrub *s = scrub_new(NULL, NULL);
	struct launch l = { .command = NULL };
	struct launch_redacted shape;

	(void)state;
	launch_redact(&shape, &l, s, NULL, 0);
	assert_null(shape.text);
	assert_int_equal(shape.n, 0);
	launch_redacted_release(&shape);
	scrub_free(s);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(names_the_secrets),
		cmocka_unit_test(takes_no_command) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
