#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "scrub/scrub.h"

static char home[] = "/tmp/gt-credentials-XXXXXX";

static void
put(const char *name, const char *text)
{
	char *path = io_join(home, name);
	struct err e = ERR_INIT;
	FILE *f;

	assert_int_equal(io_make_parents(path, &e), 0);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	free(path);
}

static int
make_home(void **state)
{
	(void)state;
	return mkdtemp(home) != NULL ? 0 : -1;
}

static void
drop(const char *name)
{
	char *path = io_join(home, name);

	unlink(path);
	rmdir(path);
	free(path);
}

/* One secret a file, in the form that its program writes. */
static const struct {
	const char *file, *text, *value;
} files[] = {
	{ ".netrc", "machine api.acme.io\n  login deploy\n  password Maple_Net41!\n", "Maple_Net41!" },
	{ ".pgpass", "db-1.acme.io:5432:orders:app:Maple_Pg42!\n", "Maple_Pg42!" },
	{ ".my.cnf", "[client]\nuser=app\npassword=\"Maple_My43!\"\n", "Maple_My43!" },
	{ ".git-credentials", "https://nux:Maple-Git44x@git.acme.io\n", "Maple-Git44x" },
	{ ".npmrc", "//registry.acme.io/:_authToken=qT7vnk3ZpR45mXw2LbYc\n", "qT7vnk3ZpR45mXw2LbYc" },
	{ ".aws/credentials",
	    "[default]\naws_access_key_id = AKIA0000000000000000\n"
	    "aws_secret_access_key = h4K2mZp9QxT7vRw3LbYcN8sD5fGj6aVe1uXi0oPk\n",
	    "h4K2mZp9QxT7vRw3LbYcN8sD5fGj6aVe1uXi0oPk" },
	{ ".docker/config.json",
	    "{\n\t\"auths\": {\n\t\t\"registry.acme.io\": {\n\t\t\t\"auth\": "
	    "\"bnV4Ok1hcGxlX0RvY2s0NiE=\"\n\t\t}\n\t}\n}\n",
	    "bnV4Ok1hcGxlX0RvY2s0NiE=" },
	{ ".config/gh/hosts.yml", "github.com:\n    user: nux\n    oauth_token: qT7vnk3ZpR47mXw2LbYcHs9D\n",
	    "qT7vnk3ZpR47mXw2LbYcHs9D" },
	{ ".vault-token", "hvs-like-qT7vnk3ZpR48mXw2\n", "hvs-like-qT7vnk3ZpR48mXw2" },
	{ ".claude/.credentials.json",
	    "{\"claudeAiOauth\":{\"accessToken\":\"qT7vnk3ZpR49mXw2LbYcHs9D\",\"scopes\":[\"user:inference\"]"
	    "}}",
	    "qT7vnk3ZpR49mXw2LbYcHs9D" },
	{ "project/.env", "PORT=8080\nDB_PASSWORD=Maple_Env50!\nexport API_TOKEN='qT7vnk3ZpR51mXw2'\n",
	    "Maple_Env50!" },
	{ "project/.env.local", "SMTP_PASS=Maple_Env52!\n", "Maple_Env52!" },
};

static struct scrub *
scrubber(void)
{
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(NULL, &e);

	if (s == NULL)
		fail_msg("scrub_new: %s", e.msg);
	return s;
}

static char *
says(struct scrub *s, const char *value)
{
	char *text = xasprintf("it says %s there", value), *copy;
	struct clean_text *t = scrub_string(s, text);

	copy = xstrdup(clean_bytes(t));
	clean_free(t);
	free(text);
	return copy;
}

static void
each_file_teaches_its_secret(void **state)
{
	struct scrub *s = scrubber();
	char *project = io_join(home, "project");

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		put(files[i].file, files[i].text);
	scrub_learn_files(s, home, project);
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		char *got = says(s, files[i].value);

		if (strstr(got, files[i].value) != NULL || strstr(got, "it says [REDACTED:") == NULL)
			fail_msg("%s: %s", files[i].file, got);
		free(got);
	}
	free(project);
	scrub_free(s);
}

static void
what_is_no_credential_file_is_passed_over(void **state)
{
	static const char *const kept[] = { "Maple_Exa53!", "Maple_Big54!", "postgres", "8080", "deploy",
		"db-1.acme.io" };
	struct scrub *s = scrubber();
	char *project = io_join(home, "project"), *fifo = io_join(project, ".env.fifo"),
	     *zero = io_join(project, ".env.zero");
	struct buf big = BUF_INIT;

	(void)state;
	put("project/.env.example", "DB_PASSWORD=Maple_Exa53!\n");
	put("project/.env.weak", "DB_PASSWORD=postgres\n");
	buf_str(&big, "DB_PASSWORD=Maple_Big54!\n");
	while (big.len < 300000)
		buf_str(&big, "# and so on\n");
	put("project/.env.big", big.data);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("/dev/zero", zero), 0);
	scrub_learn_files(s, home, project);
	scrub_learn_files(s, NULL, NULL);
	scrub_learn_files(s, "/nonexistent", "relative");
	scrub_learn_agent_files(s, NULL);
	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
		char *got = says(s, kept[i]);

		if (strstr(got, kept[i]) == NULL)
			fail_msg("%s: %s", kept[i], got);
		free(got);
	}
	unlink(fifo);
	unlink(zero);
	buf_release(&big);
	free(fifo);
	free(zero);
	free(project);
	scrub_free(s);
}

static int
drop_home(void **state)
{
	static const char *const rest[] = { "project/.env.example", "project/.env.weak", "project/.env.big",
		"project", ".aws", ".docker", ".config/gh", ".config", ".claude" };

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		drop(files[i].file);
	for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
		drop(rest[i]);
	return rmdir(home);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_teaches_its_secret),
		cmocka_unit_test(what_is_no_credential_file_is_passed_over),
	};

	return cmocka_run_group_tests(tests, make_home, drop_home);
}
