#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "scrub/finding.h"
#include "scrub/scrub.h"

/* A value that was found once is found again. */

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
then(struct scrub *s, const char *in, int width, const char *want)
{
	struct clean_text *t = scrub_text(s, in, strlen(in), width), *again;

	assert_string_equal(clean_bytes(t), want);
	again = scrub_text(s, clean_bytes(t), clean_len(t), width);
	assert_string_equal(clean_bytes(again), want);
	clean_free(again);
	clean_free(t);
}

static void
gives(struct scrub *s, const char *in, int width, const char *want)
{
	scrub_forget(s);
	then(s, in, width, want);
}

static void
below_and_above_its_name(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s, "DB_PASSWORD=Maple_Oak77!\nPORT=80\nI log in with Maple_Oak77! now.", 0,
	    "DB_PASSWORD=[REDACTED:password]\nPORT=80\nI log in with [REDACTED:password] now.");
	gives(s, "trying Maple_Oak77! against db-1\nDB_PASSWORD=Maple_Oak77!", 0,
	    "trying [REDACTED:password] against db-1\nDB_PASSWORD=[REDACTED:password]");
	/* far above what the second look at changed rows would see */
	gives(s, "Maple_Oak77!\n1\n2\n3\n4\n5\n6\n7\n8\n9\nDB_PASSWORD=Maple_Oak77!", 0,
	    "[REDACTED:password]\n1\n2\n3\n4\n5\n6\n7\n8\n9\nDB_PASSWORD=[REDACTED:password]");
	scrub_free(s);
}

static void
in_other_spellings(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s, "password: 'k#3 Vn/8\"qT'\n\"k#3 Vn/8\\\"qT\" k%233%20Vn%2F8%22qT ayMzIFZuLzgicVQ= xx", 0,
	    "password: '[REDACTED:password]'\n\"[REDACTED:password]\" [REDACTED:password] "
	    "[REDACTED:password]Q= xx");
	/* found as a spelling, then said as it is */
	gives(s, "postgres://app:qT7%2Fvn%40k3@db/x\nPGPASS is qT7/vn@k3 there", 0,
	    "postgres://app:[REDACTED:url-password]@db/x\nPGPASS is [REDACTED:url-password] there");
	gives(s,
	    "apiVersion: v1\nkind: Secret\ndata:\n  password: TWFwbGVfT2FrNzch\n$ psql asks, I type "
	    "Maple_Oak77! here",
	    0,
	    "apiVersion: v1\nkind: Secret\ndata:\n  password: [REDACTED:password]\n$ psql asks, I type "
	    "[REDACTED:password] here");
	scrub_free(s);
}

static void
over_rows_and_frames(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s, "API_TOKEN=k3yP4rtOne7QwLz9\nnow trying k3yP4\nrtOne7QwLz9 again", 0,
	    "API_TOKEN=[REDACTED:token]\nnow trying [REDACTED:token]\n[…] again");
	gives(s, "API_TOKEN=k3yP4rtOne7QwLz9\n│ it is k3yP4rtO   │\n│ ne7QwLz9 surely  │", 80,
	    "API_TOKEN=[REDACTED:token]\n│ it is [REDACTED:token] │\n│ […] surely       │");
	scrub_free(s);
}

static void
in_later_texts_until_forgotten(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s, "DB_PASSWORD=Maple_Oak77!", 0, "DB_PASSWORD=[REDACTED:password]");
	then(s, "the pool says Maple_Oak77! is wrong", 0, "the pool says [REDACTED:password] is wrong");
	scrub_learn(s, "API_TOKEN", "k3yP4rtOne7QwLz9");
	scrub_forget(s);
	then(s, "the pool says Maple_Oak77! is wrong, not k3yP4rtOne7QwLz9", 0,
	    "the pool says Maple_Oak77! is wrong, not [REDACTED:known-value]");
	scrub_free(s);
}

/* What names and recovery need is not taken with a weak password. */
static void
it_does_not_reach_further(void **state)
{
	static const struct {
		const char *in, *want;
	} texts[] = {
		/* part of a longer name, path, host */
		{ "password: postgres1X\npostgres1X-data /var/postgres1X/log postgres1Xy apostgres1X "
		  "postgres1X.local\nis postgres1X.",
		    "password: [REDACTED:password]\npostgres1X-data /var/postgres1X/log postgres1Xy "
		    "apostgres1X postgres1X.local\n"
		    "is [REDACTED:password]." },
		/* too short, words alone, or as one names a volume */
		{ "password: postgres1x\nis postgres1x.", "password: [REDACTED:password]\nis postgres1x." },
		{ "password=ab12cd3\nab12cd3 is there", "password=[REDACTED:password]\nab12cd3 is there" },
		{ "DB_PASSWORD=mountains\nthe mountains are high",
		    "DB_PASSWORD=[REDACTED:password]\nthe mountains are high" },
		/* a commit, a session */
		{ "API_TOKEN=9fceb02d0ae598e95dc970b74767f19372d61af8\ncommit "
		  "9fceb02d0ae598e95dc970b74767f19372d61af8",
		    "API_TOKEN=[REDACTED:token]\ncommit 9fceb02d0ae598e95dc970b74767f19372d61af8" },
		{ "API_KEY=0b9c4f0e-6f0b-4f5e-9a77-3f0f6f3c2d11\nclaude --resume "
		  "0b9c4f0e-6f0b-4f5e-9a77-3f0f6f3c2d11",
		    "API_KEY=[REDACTED:api-key]\nclaude --resume 0b9c4f0e-6f0b-4f5e-9a77-3f0f6f3c2d11" },
	};
	struct scrub *s = scrubber();

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		gives(s, texts[i].in, 0, texts[i].want);
	scrub_free(s);
}

static void
an_allowed_value_is_not_remembered(void **state)
{
	struct scrub *s = scrubber();
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(scrub_allow(s, "^localdev\\d+$", &e), 0);
	scrub_learn(s, "DB_PASSWORD", "localdev123");
	gives(s, "DB_PASSWORD=localdev123\nlocaldev123 is for all", 0,
	    "DB_PASSWORD=localdev123\nlocaldev123 is for all");
	scrub_free(s);
}

/* One secret has one name, whatever it is called and wherever it stands; two have two. */
static void
ordinals_tell_secrets_apart(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s, "DB_PASSWORD=a1b2c3d4 SMTP_PASS=E5f6g7h8\nOLD_PASSWORD=a1b2c3d4\nAPI_TOKEN=E5f6g7h8", 0,
	    "DB_PASSWORD=[REDACTED:password] "
	    "SMTP_PASS=[REDACTED:password#2]\nOLD_PASSWORD=[REDACTED:password]\nAPI_TOKEN=[REDACTED:password#"
	    "2]");
	then(s, "PASSWORD=x9y8z7 PASSWORD=E5f6g7h8 E5f6g7h8", 0,
	    "PASSWORD=[REDACTED:password#3] PASSWORD=[REDACTED:password#2] [REDACTED:password#2]");
	/* short ones, which are not sought, too */
	gives(s, "PGPASSWORD=ab12x PGPASSWORD=cd34y PGPASSWORD=ab12x", 0,
	    "PGPASSWORD=[REDACTED:password] PGPASSWORD=[REDACTED:password#2] PGPASSWORD=[REDACTED:password]");
	/* cut and whole are one */
	gives(s, "x API_TOKEN=k3yP4rtOne7QwLzk3yP4rtOne7QwLz12\nmX9vTb2cRr8\nAPI_TOKEN=zz9yP4rtOne7QwL", 40,
	    "x API_TOKEN=[REDACTED:token]\n[…]\nAPI_TOKEN=[REDACTED:token#2]");
	/* those of another scrubber keep theirs */
	gives(s, "PASSWORD=[REDACTED:password#4] PASSWORD=x9y8z7w6", 0,
	    "PASSWORD=[REDACTED:password#4] PASSWORD=[REDACTED:password#5]");
	gives(s, "PASSWORD=x9y8z7w6", 0, "PASSWORD=[REDACTED:password]");
	scrub_free(s);
}

static void
what_is_a_placeholder(void **state)
{
	static const char *const kinds[] = { "token", "token-x" };
	static const struct {
		const char *text;
		size_t len, kind;
		unsigned ordinal;
	} texts[] = {
		{ "[REDACTED:token] y", 16, 0, 1 }, { "[REDACTED:token-x#2]", 20, 1, 2 },
		{ "[REDACTED:token#999999]]", 23, 0, 999999 }, { "[REDACTED:token#1000000]", 0, 0, 0 },
		{ "[REDACTED:token#0]", 0, 0, 0 }, { "[REDACTED:token#]", 0, 0, 0 },
		{ "[REDACTED:token#2x]", 0, 0, 0 }, { "[REDACTED:token#2", 0, 0, 0 },
		{ "[REDACTED:tok]", 0, 0, 0 }, { "[REDACTED:", 0, 0, 0 },
		{ "[REDACTED:token#99999999999999999999999999]", 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		unsigned ordinal = 0;
		size_t kind = 0;

		assert_int_equal(
		    scrub_placeholder_read(texts[i].text, strlen(texts[i].text), kinds, 2, &kind, &ordinal),
		    texts[i].len);
		if (texts[i].len == 0)
			continue;
		assert_int_equal(kind, texts[i].kind);
		assert_int_equal(ordinal, texts[i].ordinal);
	}
}

#define KEY_1 "MIIEowIBAAKCAXnzC0a0TohvpCM5dQljSL9aeTBR9Ps14K87Qwj166n3+0say4cl"
#define KEY_2 "smxC7IxaLIP4gzS9bpjQ02GzKmRCqLcQt+GIhd6H9GrGrsnyi0FnkzcqQTfQqdfl"

static void
ordinals_of_keys(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s,
	    "-----BEGIN RSA PRIVATE KEY-----\n" KEY_1 "\n" KEY_2 "\n-----END RSA PRIVATE KEY-----\n\n"
	    "-----BEGIN RSA PRIVATE KEY-----\n" KEY_2 "\n" KEY_1 "\n-----END RSA PRIVATE KEY-----\n\n"
	    "-----BEGIN RSA PRIVATE KEY-----\n" KEY_1 "\n" KEY_2 "\n-----END RSA PRIVATE KEY-----",
	    0,
	    "-----BEGIN RSA PRIVATE KEY-----\n[REDACTED:private-key]\n[…]\n-----END RSA PRIVATE KEY-----\n\n"
	    "-----BEGIN RSA PRIVATE KEY-----\n[REDACTED:private-key#2]\n[…]\n-----END RSA PRIVATE "
	    "KEY-----\n\n"
	    "-----BEGIN RSA PRIVATE KEY-----\n[REDACTED:private-key]\n[…]\n-----END RSA PRIVATE KEY-----");
	scrub_free(s);
}

/* More values than are kept: the rules still find each at its name. */
static void
too_many_values(void **state)
{
	struct scrub *s = scrubber();
	struct buf b = BUF_INIT;
	struct clean_text *t;

	(void)state;
	for (int i = 0; i < 20000; i++)
		buf_fmt(&b, "DB_PASSWORD=pass%dZ!x%d\n", i * 7919, i);
	buf_str(&b, "first pass0Z!x0 here\n");
	t = scrub_text(s, b.data, b.len, 0);
	assert_null(strstr(clean_bytes(t), "Z!x"));
	clean_free(t);
	buf_release(&b);
	scrub_free(s);
}

/*
 * Values that end alike or nearly stand everywhere: the limit of time is the test's own, far
 * below a quadratic run.
 */
static void
no_values_are_slow(void **state)
{
	static const char *const units[] = { "-a1", "a1", " -a1!", "\n-a1" };

	(void)state;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		struct scrub *s = scrubber();
		struct buf b = BUF_INIT;
		struct clean_text *t;

		for (int n = 8; n < 3000; n += 30) {
			buf_str(&b, "password: '");
			for (int k = 0; k < n; k++)
				buf_chr(&b, "-a1"[k % 3]);
			buf_fmt(&b, "'\npassword: '%*s-a1-a1-a1'\n", n % 50, "x");
		}
		while (b.len < 2000000)
			buf_str(&b, units[i]);
		t = scrub_text(s, b.data, b.len, 80);
		assert_true(clean_len(t) > 0);
		clean_free(t);
		buf_release(&b);
		scrub_free(s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_and_above_its_name),
		cmocka_unit_test(in_other_spellings),
		cmocka_unit_test(over_rows_and_frames),
		cmocka_unit_test(in_later_texts_until_forgotten),
		cmocka_unit_test(it_does_not_reach_further),
		cmocka_unit_test(an_allowed_value_is_not_remembered),
		cmocka_unit_test(ordinals_tell_secrets_apart),
		cmocka_unit_test(ordinals_of_keys),
		cmocka_unit_test(what_is_a_placeholder),
		cmocka_unit_test(too_many_values),
		cmocka_unit_test(no_values_are_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
