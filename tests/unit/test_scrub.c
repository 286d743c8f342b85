#include "golden.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "scrub/scrub_private.h"

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
gives(struct scrub *s, const char *in, int width, const char *want)
{
	struct clean_text *t;

	scrub_forget(s);
	t = scrub_text(s, in, strlen(in), width);
	assert_string_equal(clean_bytes(t), want);
	clean_free(t);
}

static void
keeps(struct scrub *s, const char *in)
{
	gives(s, in, 0, in);
	gives(s, in, -1, in);
	gives(s, in, 80, in);
}

/* A file of rules in a new directory. The caller removes it with drop_rules. */
static char *
rules_file(const char *text)
{
	char dir[] = "/tmp/gt-scrub-XXXXXX";
	char *path;
	struct err e = ERR_INIT;

	assert_non_null(mkdtemp(dir));
	path = io_join(dir, "rules.ini");
	assert_int_equal(io_write_durable(path, text, strlen(text), "test", &e), 0);
	return path;
}

static void
drop_rules(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	free(path);
}

/* ---- the table ---- */

/* The built-in table with all its samples, of which the program has the first alone. */
static void
table_init(struct rule_set *rules)
{
	struct err e = ERR_INIT;
	char *path = tests_path("../config/secrets.ini");

	if (rule_set_init(rules, path, &e) != 0)
		fail_msg("%s", e.msg);
	free(path);
}

static void
each_rule_finds_its_samples_and_spares_the_others(void **state)
{
	struct scrub *s = scrubber();
	struct rule_set rules;
	size_t samples = 0, wrong = 0;

	(void)state;
	table_init(&rules);
	for (size_t i = 0; i < rules.n; i++) {
		const struct rule *r = &rules.v[i];

		for (size_t k = 0; k < r->n_samples; k++, samples++) {
			const char *want = r->samples[k].finds ? r->samples[k].want : r->samples[k].text;
			struct clean_text *t;

			scrub_forget(s);
			t = scrub_string(s, r->samples[k].text);
			if (strcmp(clean_bytes(t), want) != 0) {
				print_error("[%s] line %d: \"%s\" instead of \"%s\"\n", r->name,
				    r->samples[k].line, clean_bytes(t), want);
				wrong++;
			}
			clean_free(t);
		}
	}
	assert_int_equal(wrong, 0);
	assert_true(rules.n >= 150);
	assert_true(samples >= 300);
	rule_set_release(&rules);
	scrub_free(s);
}

/* Each is compiled and finds its canary when it is first asked for: none may fail then. */
static void
no_pattern_of_ours_is_broken(void **state)
{
	struct rule_set rules;
	struct err e = ERR_INIT;
	size_t tried = 0;

	(void)state;
	assert_int_equal(rule_set_init(&rules, NULL, &e), 0);
	for (size_t i = 0; i < rules.n; i++) {
		if (rules.v[i].regex == NULL)
			continue;
		if (rule_set_pattern(&rules, i) == NULL)
			print_error("[%s] does not find its canary\n", rules.v[i].name);
		tried++;
	}
	assert_null(rules.first_broken);
	assert_true(tried >= 150);
	rule_set_release(&rules);
}

/*
 * The marked stretches of a sample are what its wanted text lacks: none may be left in `out`,
 * rows and frames taken away.
 */
static void
assert_secret_gone(const struct rule *r, const struct rule_sample *m, const char *out)
{
	struct buf joined = BUF_INIT;
	size_t head = 0, n = strlen(m->text), tail = 0, w = strlen(m->want);

	while (head < n && m->text[head] == m->want[head])
		head++;
	while (tail < n - head && tail < w - head && m->text[n - 1 - tail] == m->want[w - 1 - tail])
		tail++;
	for (const char *p = out; *p != '\0'; p++) {
		if (str_starts(p, "│"))
			p += 2;
		else if (*p != ' ' && *p != '\n')
			buf_chr(&joined, *p);
	}
	if (n - head - tail >= 8 && memmem(joined.data, joined.len, m->text + head, n - head - tail) != NULL)
		fail_msg("[%s] line %d: the secret is still there when it is cut by a box", r->name, m->line);
	buf_release(&joined);
}

/*
 * Each token alone in a box so narrow that it is cut: Claude Code draws such boxes around
 * commands and files.
 */
static void
tokens_are_found_when_a_box_cuts_them(void **state)
{
	struct scrub *s = scrubber();
	struct rule_set rules;
	struct err e = ERR_INIT;
	size_t tried = 0;

	(void)state;
	assert_int_equal(rule_set_init(&rules, NULL, &e), 0);
	for (size_t i = 0; i < rules.n; i++) {
		const struct rule *r = &rules.v[i];
		struct rule_sample m;
		struct buf box = BUF_INIT;
		struct clean_text *t;
		size_t n;

		if (r->names != NULL || strpbrk(r->finds, "\n ") != NULL)
			continue;
		rule_sample_init(&m, true, r->finds, r->kind, r->finds_line);
		n = strlen(m.text);
		for (size_t at = 0; at < n; at += 44) {
			size_t len = n - at < 44 ? n - at : 44;

			buf_fmt(&box, "│ %.*s%*s │\n", (int)len, m.text + at, (int)(44 - len), "");
		}
		scrub_forget(s);
		t = scrub_text(s, box.data, box.len, 48);
		assert_secret_gone(r, &m, clean_bytes(t));
		clean_free(t);
		rule_sample_release(&m);
		buf_release(&box);
		tried++;
	}
	assert_true(tried >= 10);
	rule_set_release(&rules);
	scrub_free(s);
}

static void
user_rules_add_and_replace(void **state)
{
	char *path = rules_file("[acme-badge]\nkeyword = 'acme-'\npattern = 'acme-[0-9]{6}(?!\\d)'\nfinds = "
				"'badge «acme-{digit:6}»'\n"
				"spares = 'acme-12'\n\n[github-token]\nkeyword = 'ghx_'\npattern = "
				"'ghx_[a-z]{4}'\nfinds = '«ghx_abcd»'\n\n"
				"[door-code]\nnames = 'door_code'\nvalue = 'any'\nfinds = "
				"'DOOR_CODE=«4711-abcd»'\n");
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(path, &e);

	(void)state;
	if (s == NULL)
		fail_msg("%s", e.msg);
	gives(s, "my acme-123456, frontDoorCode: 'x9-77'", 0,
	    "my [REDACTED:acme-badge], frontDoorCode: '[REDACTED:door-code]'");
	gives(s, "ghx_wxyz ghp_abcdefghijklmnopqrstuvwxyz0123456789", 0,
	    "[REDACTED:github-token] ghp_abcdefghijklmnopqrstuvwxyz0123456789");
	scrub_free(s);
	drop_rules(path);
}

static void
broken_rules_are_refused_with_their_place(void **state)
{
	static const struct {
		const char *text, *says;
	} wrong[] = {
		{ "[acme]\nkeyword = 'a'\npattern = 'a('\nfinds = '«a»'\n", "[acme]" },
		{ "[acme]\nkeyword = 'acme'\npattern = 'acme'\n", "has no sample" },
		{ "[acme]\nkeyword = 'acme'\n", "needs keyword and pattern" },
		{ "[acme]\nkeyword = 'acme'\npattern = 'acme[0-9]+'\nfinds = 'nothing «here»'\n",
		    "rules.ini:4: the rule [acme] for secrets does not find its own sample" },
		{ "[Acme]\nkeyword = 'acme'\n", ":2:" },
		{ "[acme]\nkeyward = 'acme'\n", "keyward" },
		{ "[acme]\nvalue = 'some'\n", "value is one of" },
		{ "[acme]\nback = 4000\n", "back is a number" },
		{ "[acme]\nneeds = '::'\n", "needs is one ASCII character" },
		{ "nonsense\n", "1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		char *path = rules_file(wrong[i].text);
		struct err e = ERR_INIT;

		assert_null(scrub_new(path, &e));
		assert_int_equal(e.code, GT_USAGE);
		if (strstr(e.msg, wrong[i].says) == NULL)
			fail_msg("\"%s\" does not say \"%s\"", e.msg, wrong[i].says);
		drop_rules(path);
	}
	{
		struct err e = ERR_INIT;

		assert_null(scrub_new("/nonexistent/rules.ini", &e));
		assert_int_equal(e.code, GT_USAGE);
		assert_true(e.hint[0] != '\0');
	}
}

/* The pattern does without the "!" itself, so that it is `needs` that is seen. */
static void
what_a_rule_needs_may_stand_in_the_next_row(void **state)
{
	char *path = rules_file("[acme]\nkeyword = 'acme:'\nneeds = '!'\npattern = "
				"'acme:([a-z0-9]{8,})'\nfinds = 'acme:«k3yp4rt0ne7»!'\n");
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(path, &e);

	(void)state;
	if (s == NULL)
		fail_msg("%s", e.msg);
	gives(s, "see acme:q8w2e7r4t1 there! and\n! here", 0, "see acme:[REDACTED:acme] there! and\n! here");
	gives(s, "! see acme:q8w2e7r4t1 there\n! here", 0, "! see acme:q8w2e7r4t1 there\n! here");
	gives(s, "deploy@web-1:~/app$ ./send --now --to acme:k3yp4rt\n0ne7q5!\nnext", 50,
	    "deploy@web-1:~/app$ ./send --now --to acme:[REDACTED:acme]\n[…]!\nnext");
	gives(s, "deploy@web-1:~/app$ git clone https://ci:Zephyr21\n84x@git.example.org/a.git\nnext", 49,
	    "deploy@web-1:~/app$ git clone "
	    "https://ci:[REDACTED:url-password]\n[…]@git.example.org/a.git\nnext");
	scrub_free(s);
	drop_rules(path);
}

/* A rule that gives up has not said "no secret here". */
static void
a_failing_rule_withholds_its_row(void **state)
{
	char *path = rules_file("[bomb]\nkeyword = 'boom'\npattern = 'boom(?:a+)+(?:a+)+(?:a+)+!'\nfinds = "
				"'«boomaaaa!»'\n");
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(path, &e);

	(void)state;
	if (s == NULL)
		fail_msg("%s", e.msg);
	gives(s, "before\nkey boomaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?\nafter",
	    0, "before\n[scrub: row withheld]\nafter");
	assert_int_equal(scrub_withheld(s), 1);
	/* also beside what was replaced before */
	gives(s, "[REDACTED:token] boomaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?",
	    0, "[scrub: row withheld]");
	scrub_free(s);
	drop_rules(path);
}

/*
 * What a rule of ours needs is had when a text needs it: without it nothing is known about that
 * row, and about others it is.
 */
static void
a_broken_rule_withholds_what_needs_it(void **state)
{
	static const struct rule none[] = {
		{ .name = "sample",
		    .kind = "sample",
		    .keyword = "acme",
		    .regex = "acme[0-9]+",
		    .finds = "no «acme» here",
		    .border = true },
		{ .name = "pattern",
		    .kind = "pattern",
		    .keyword = "acme",
		    .regex = "acme(",
		    .finds = "«acme1»",
		    .border = true },
		{ .name = "good",
		    .kind = "good",
		    .keyword = "acme",
		    .regex = "acme[0-9]+",
		    .finds = "one «acme1»",
		    .border = true },
	};
	struct pattern *patterns[3] = { NULL };
	char broken[3] = { 0 };
	struct rule_set rules = { .v = none, .n = 3, .patterns = patterns, .broken = broken };
	struct scrub *s = scrubber();

	(void)state;
	assert_null(rule_set_pattern(&rules, 0));
	assert_null(rule_set_pattern(&rules, 1));
	assert_non_null(rule_set_pattern(&rules, 2));
	assert_string_equal(rules.first_broken, "sample");
	pattern_free(patterns[2]);

	for (size_t i = 0; i < s->rules.n; i++)
		if (strcmp(s->rules.v[i].name, "npm-token") == 0)
			s->rules.broken[i] = true;
	gives(s, "before npm\nkey npm_Xk9aB2cD3eF4gH5iJ6kL7mN8oP9qR0sT1uV2\nafter", 0,
	    "before npm\n[scrub: row withheld]\nafter");
	scrub_free(s);
}

/* A rule that finds more whenever it has replaced something would never end. */
static void
a_rule_without_end_withholds_its_row(void **state)
{
	char *path = rules_file("[eater]\nborder = false\nkeyword = 'q'\npattern = "
				"'q(?=$|\\[REDACTED:eater)'\nfinds = '«q»'\n");
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(path, &e);

	(void)state;
	if (s == NULL)
		fail_msg("%s", e.msg);
	gives(s, "qqq", 0, "[REDACTED:eater][REDACTED:eater][REDACTED:eater]");
	assert_int_equal(scrub_withheld(s), 0);
	gives(s, "before\nqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq\nafter", 0, "before\n[scrub: row withheld]\nafter");
	assert_int_equal(scrub_withheld(s), 1);
	scrub_free(s);
	drop_rules(path);
}

/* What is hexadecimal is a secret behind a secret's name, and again in that line, but nowhere else. */
static void
a_digest_is_sought_in_its_line(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s, "deploy token = '9a1f0c47b2e85d36f04c7be1a92d3568' | '9a1f0c47b2e85d36f04c7be1a92d3568'\n"
		 "checkout 9a1f0c47b2e85d36f04c7be1a92d3568",
	    0, "deploy token = '[REDACTED:token]' | '[REDACTED:token]'\n"
	       "checkout 9a1f0c47b2e85d36f04c7be1a92d3568");
	scrub_free(s);
}

/*
 * A value in the row below its name, as an editor, a word wrap or a pretty printer leaves it, also
 * in an agent's frame; a command over several rows.
 */
static void
a_value_below_its_name_is_found(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s, "  ⎿  xrayToken =\n     eehew7w2k9q4z1m8b5v3x6c0n7t2r4y8\n", -1,
	    "  ⎿  xrayToken =\n     [REDACTED:token]\n");
	gives(s, "<deployToken>\n    eehew7w2k9q4z1m8b5v3x6c0n7t2r4y8\n</deployToken>", -1,
	    "<deployToken>\n    [REDACTED:token]\n</deployToken>");
	gives(s, "String API_KEY\n    = \"eehew7w2k9q4z1m8b5v3x6c0n7t2r4y8\";", -1,
	    "String API_KEY\n    = \"[REDACTED:api-key]\";");
	gives(s, "curl -k -X POST https://cache:11222/rest \\\n  -H 'Content-type: text/plain' \\\n"
		 "  -d 'world' \\\n  -u developer:yqDVtkqPECriaLRi",
	    -1, "curl -k -X POST https://cache:11222/rest \\\n  -H 'Content-type: text/plain' \\\n"
		"  -d 'world' \\\n  -u developer:[REDACTED:password]");
	keeps(s, "token:\n  name: deploy\nsecret:\n  - my-secret-name\n<token>\n  <name>\n");
	scrub_free(s);
}

/* Base64 of something else than keys: a picture by its rows' length, its head, or what names it. */
static void
pictures_and_certificates_stay(void **state)
{
	static const char letters[] = "k3yP4rtOne7QwLzmX9vTb2cRr8+a/B";
	static const struct {
		const char *before;
		size_t columns, rows;
	} cases[] = { { "", 76, 12 }, { "<X509Certificate>\n", 64, 12 },
		{ "Content-Transfer-Encoding: base64\n\n", 64, 12 }, { "iVBORw0KGgo", 64, 12 },
		{ "MIIDxTCCAq2gAwIBAgI", 64, 12 }, { "", 64, 400 } };
	struct scrub *s = scrubber();
	uint32_t x = 7;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct buf in = BUF_INIT;
		size_t head;

		buf_str(&in, cases[i].before);
		head = in.len > 0 && in.data[in.len - 1] != '\n' ? in.len : 0;
		for (size_t k = head; k < cases[i].columns * cases[i].rows; k++) {
			if (k > 0 && k % cases[i].columns == 0)
				buf_chr(&in, '\n');
			x = x * 1103515245 + 12345;
			buf_chr(&in, letters[(x >> 16) % (sizeof letters - 1)]);
		}
		keeps(s, in.data);
		buf_release(&in);
	}
	scrub_free(s);
}

static void
allowed_text_stays(void **state)
{
	struct scrub *s = scrubber();
	struct err e = ERR_INIT;

	(void)state;
	gives(s, "DB_PASSWORD=localdev123", 0, "DB_PASSWORD=[REDACTED:password]");
	assert_int_equal(scrub_allow(s, "^localdev\\d+$", &e), 0);
	gives(s, "DB_PASSWORD=localdev123\nDB_PASSWORD=other77x", 0,
	    "DB_PASSWORD=localdev123\nDB_PASSWORD=[REDACTED:password]");
	assert_int_equal(scrub_allow(s, "(", &e), -1);
	assert_int_equal(e.code, GT_USAGE);
	scrub_free(s);
}

/* ---- what recovery needs ---- */

static void
what_recovery_needs_stays(void **state)
{
	static const char *const lines[] = {
		"claude --resume 0b9c4f0e-6f0b-4f5e-9a77-3f0f6f3c2d11",
		"session_id: 0b9c4f0e-6f0b-4f5e-9a77-3f0f6f3c2d11",
		"session: gt-gastown-polecat-nux  pane %12  agent_id=gastown/polecats/nux",
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8 (HEAD -> polecat/nux-mb1x2)",
		"9fceb02 fix flaky token refresh test",
		"toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL req_011CSHoEeqs5C35K2UUqR7Fy",
		"hooked bead: gt-x7k2m (in_progress), convoy hq-cv-a8f3, epic bd-12.3",
		"bead gt-mol-7fq: rotate the secret key",
		"/home/nux/gt/gastown/polecats/nux/.env and ~/.ssh/id_ed25519",
		"sha256:687d2f8f8ac7802ea3a9a59b6372b3e32ff20c7d45132a2ec07edbc7b652cdc4",
		"\"integrity\": "
		"\"sha512-"
		"AiLYraOlLFpliYE5Yu7odYUh3lwlAFlzqNCI5CzusfMxRR9fLAjcCqyqLJr9i658mZhjwDV9GF2Bc09GChOM5A==\"",
		"github.com/golang-jwt/jwt/v5 v5.2.3 h1:gxMfai/56qmA5rDRtDO3BcLMZMDMhXpTtOOW9NA3+mU=",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBq0kq0m1Yz1QzvV7o5g7j3vYq4m0V8J6m2Zz0rM3n5x nux@host",
		"SHA256:9bXf1vZ6mQkq3cJm0v5u0bq8yQ0q0m1Yz1QzvV7o5g4 nux@host (ED25519)",
		"✻ Cogitating… (42s · ↓ 3.1k tokens · esc to interrupt)",
		"max_tokens=120000 token_count: 43210 tokens: 12",
		"const key = `${user.id}:${hash}`; map.set(key, value);",
		"if (password !== confirmPassword) throw new Error(\"passwords differ\");",
		"password = os.environ[\"DB_PASSWORD\"]",
		"PGPASSWORD=$DB_PASSWORD psql -h db-1 && curl -H \"Authorization: Bearer $TOKEN\"",
		"export ANTHROPIC_API_KEY=<your key here>",
		"token := r.Header.Get(\"X-Auth-Token\")",
		"git push origin HEAD:refs/heads/feature/secret-rotation",
		"ESTOP: 3 panes, 2026-11-21T10:12:44Z, pid 48213, boot 7c9e6679-7425-40de-944b-e07fc1f90ae7",
	};
	struct scrub *s = scrubber();

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		keeps(s, lines[i]);
	assert_int_equal(scrub_total(s), 0);
	scrub_free(s);
}

static void
names_hosts_and_users_stay_beside_the_placeholder(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s, "psql postgresql://etl:kernel-nectar-137@db-3.acme.io:5432/orders?sslmode=require", 0,
	    "psql postgresql://etl:[REDACTED:url-password]@db-3.acme.io:5432/orders?sslmode=require");
	gives(s, "curl -u admin:Zephyr_6552 https://nexus.acme.io/x", 0,
	    "curl -u admin:[REDACTED:password] https://nexus.acme.io/x");
	gives(s, "Server=sql-1;User ID=svc;Password=CUGdFXrxicDZ12yZaK;Encrypt=True;", 0,
	    "Server=sql-1;User ID=svc;Password=[REDACTED:password];Encrypt=True;");
	gives(s, "   96→  \"db_password\": \"Wint3r_Sun\",", 0,
	    "   96→  \"db_password\": \"[REDACTED:password]\",");
	gives(s, "\033[32mDB_PASSWORD=\033[0mWint3r\033[1m_Sun9 x", 0,
	    "\033[32mDB_PASSWORD=\033[0m[REDACTED:password] x");
	gives(s, "a\033]0;DB_PASSWORD=Wint3r_Sun9\007b\033(Bc\033]8;;file:///x\033\\d\033]2;torn\ne\033[3", 0,
	    "abcd\ne");
	scrub_free(s);
}

/* ---- rows ---- */

static void
a_secret_cut_by_a_row_break_is_found(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	/* tmux: rows of exactly the pane's width */
	gives(s, "deploy@web-1:~/app$ export CLIENT_SECRET=k3yP4rtOne7QwLz\nmX9vTb2cRr8 && ls\nnext", 51,
	    "deploy@web-1:~/app$ export CLIENT_SECRET=[REDACTED:secret]\n[…] && ls\nnext");
	/* Claude Code: newline and indent */
	gives(s,
	    "⏺ Bash(cat .env)\n  ⎿  API_TOKEN=k3yP4rtOne7QwLzk3yP4rtOne7QwLz12\n     mX9vTb2cRr8\n     "
	    "PORT=8080",
	    46, "⏺ Bash(cat .env)\n  ⎿  API_TOKEN=[REDACTED:token]\n     […]\n     PORT=8080");
	/* the name itself is cut */
	gives(s, "deploy@web-1:/srv/app/services/billing$ ADMIN_PA\nSSWORD=h4z3l634! ./run", 48,
	    "deploy@web-1:/srv/app/services/billing$ ADMIN_PA\nSSWORD=[REDACTED:password] ./run");
	/* the value moved down whole */
	gives(s, "  ⎿  I ran the script again and it printed: db_password:\n     Zephyr_2184\n     ok", 60,
	    "  ⎿  I ran the script again and it printed: db_password:\n     [REDACTED:password]\n     ok");
	/* "NAME=" at the head of a row is no name where a string goes on, or where it is a part of a token */
	gives(s, "deploy@web-1:/srv/app$ export SESSION_TOKEN=\"k3yP4rtOne7QwLz\nmvachmxcg=9x2z61k3yP4rt\"\nok", -1,
	    "deploy@web-1:/srv/app$ export SESSION_TOKEN=\"[REDACTED:token]\n[…]\"\nok");
	gives(s, "deploy@web-1:/srv/app$ export SESSION_TOKEN=k3yP4rtOne7QwLzk\nm_p8398u3hu78fv6uz=x3o9yj\nok", -1,
	    "deploy@web-1:/srv/app$ export SESSION_TOKEN=[REDACTED:token]\n[…]\nok");
	gives(s, "deploy@web-1:/srv/app$ export SESSION_TOKEN=k3yP4rtOne7QwLzk\nregion_v2_name=x3o9yj\nok", -1,
	    "deploy@web-1:/srv/app$ export SESSION_TOKEN=[REDACTED:token]\nregion_v2_name=x3o9yj\nok");
	/* a row of base64 is no name */
	gives(s, "VSJYACPq4xJDKVtHCN2MQWplBqjlIapBtJUhlbl90TSrE9atvNziPTnNvT51cKEY\nWQPJIrSPnNVeKtelttQKbfi3QBFGmh95DmK", -1,
	    "VSJYACPq4xJDKVtHCN2MQWplBqjlIapBtJUhlbl90TSrE9atvNziPTnNvT51cKEY\nWQPJIrSPnNVeKtelttQKbfi3QBFGmh95DmK");
	/* arguments of a call are references, each in its row */
	gives(s, "            key_password=self.key_password,\n            **self.conn_kw", -1,
	    "            key_password=self.key_password,\n            **self.conn_kw");
	/* rows that are not full do not belong together */
	gives(s, "API_TOKEN=k3yP4rtOne7QwLz\nmX9vTb2cRr8", 80, "API_TOKEN=[REDACTED:token]\nmX9vTb2cRr8");
	scrub_free(s);
}

static void
stays(struct scrub *s, const char *in, int width)
{
	struct clean_text *once = scrub_text(s, in, strlen(in), width);

	gives(s, clean_bytes(once), width, clean_bytes(once));
	clean_free(once);
}

/*
 * Where nobody told the width, the first row hides that the third one is full until it is
 * replaced; rows far from it are joined then.
 */
static void
what_a_replaced_row_hid_is_found(void **state)
{
	static const char in[] =
	    "define('SECURE_AUTH_SALT', 'a8B3kd92Lq0ZxT4vN7pR!& a8B3kd92Lq0ZxT4vN7pR');\n"
	    "define('AUTH_KEY', getenv('K'));\n"
	    "$settings['hash_salt'] = 'a9B38B3kd92Lq0ZxT4vN7pR\n"
	    "row a8B3kd92Lq5ZxT4vN7pRJQQJ99a8B3kd92Lq0ZxT4vN7pR\n"
	    "row a8B3kd92Lq0NZ47xvTpR+AStDa8B3kd92Lq0ZxT4vN7pR==\n"
	    "?sv=2024-11-04&se=2026-kd92Lq0ZxT4vN7pR';\n"
	    "$settings['hash_salt'] = ft_contents('x');";
	struct scrub *s = scrubber();

	(void)state;
	gives(s, in, -1,
	    "define('SECURE_AUTH_SALT', '[REDACTED:secret]');\ndefine('AUTH_KEY', getenv('K'));\n"
	    "$settings['hash_salt'] = '[REDACTED:secret#2]\n[…]\n[…]\n[…]';\n$settings['hash_salt'] = "
	    "ft_contents('x');");
	stays(s, in, -1);
	scrub_free(s);
}

/*
 * Each value is full only once the one above it is replaced: a text that asks for as many passes
 * as it has values.
 */
static void
a_chain_of_full_rows_ends(void **state)
{
	enum { LINKS = 30, HEAD = 49 };
	static const char letters[] = "k3yP4rtOne7QwLzmX9vTb2cRr8";
	struct scrub *s = scrubber();
	struct buf in = BUF_INIT;
	uint32_t x = 1;

	(void)state;
	for (size_t i = 0; i < LINKS; i++) {
		buf_str(&in, "$settings['hash_salt'] = '");
		for (size_t col = 26; col < HEAD + 80 - i + HEAD - 3; col++) {
			if (col == HEAD)
				buf_chr(&in, '\n');
			if (col == HEAD + 80 - i)
				buf_chr(&in, ' ');
			x = x * 1103515245 + 12345;
			buf_chr(&in, letters[(x >> 16) % (sizeof letters - 1)]);
		}
		buf_str(&in, "';\n");
	}
	stays(s, in.data, -1);
	assert_true(scrub_withheld(s) > 0);
	buf_release(&in);
	scrub_free(s);
}

static void
blocks_of_yaml_are_values(void **state)
{
	static const int widths[] = { 0, -1, 80 };
	struct scrub *s = scrubber();

	(void)state;
	for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
		int width = widths[i];

		gives(s, "stringData:\n  password: |\n    S3cr3tPw1x\n  other: x", width,
		    "stringData:\n  password: |\n    [REDACTED:password]\n  other: x");
		gives(s, "   12  - db_password: >-\n   13      Zephyr_2184", width,
		    "   12  - db_password: >-\n   13      [REDACTED:password]");
		gives(s, "│ \"token\": |2        │\n│   Xk3yP4rtOne7QwLz99 │", width,
		    "│ \"token\": |2        │\n│   [REDACTED:token]   │");
		/* words, a sentence, an expression; a row that is no deeper; a comparison */
		gives(s,
		    "password: |\n  required\ntoken: |\n  must have 8 characters\nrestore-keys: |\n  ${{ "
		    "runner.os }}-pip-",
		    width,
		    "password: |\n  required\ntoken: |\n  must have 8 characters\nrestore-keys: |\n  ${{ "
		    "runner.os }}-pip-");
		gives(s, "password: |\nZephyr_2184", width, "password: |\nZephyr_2184");
		gives(s, "password: > 8 characters\n  Zephyr_2184", width,
		    "password: > 8 characters\n  Zephyr_2184");
	}
	scrub_free(s);
}

static void
boxes_keep_their_bars(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s, "╭──────────────────────────────────────────────────────────╮\n"
	    "│ REDIS_PASSWORD=Winter6962#                               │\n"
	    "│ curl -u a:b1 x                                           │\n"
	    "╰──────────────────────────────────────────────────────────╯", 60,
	    "╭──────────────────────────────────────────────────────────╮\n"
	    "│ REDIS_PASSWORD=[REDACTED:password]                       │\n"
	    "│ curl -u a:[REDACTED:password#2] x                        │\n"
	    "╰──────────────────────────────────────────────────────────╯");
	scrub_free(s);
}

/* ---- private keys ---- */

#define KEY_1 "MIIEowIBAAKCAXnzC0a0TohvpCM5dQljSL9aeTBR9Ps14K87Qwj166n3+0say4cl"
#define KEY_2 "smxC7IxaLIP4gzS9bpjQ02GzKmRCqLcQt+GIhd6H9GrGrsnyi0FnkzcqQTfQqdfl"
#define KEY_3 "SagZKljb6E65jdUWVKOdQ0VMlkZ0vH3bXjeKm7GemRbFLELCgHzm+YTjdCi4XSOM"

static void
private_keys_go_whole_or_cut(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	gives(s,
	    "$ cat k\n-----BEGIN RSA PRIVATE KEY-----\n" KEY_1 "\n" KEY_2 "\nx2+BueJH\n-----END RSA PRIVATE "
									  "KEY-----\n$ ls",
	    0,
	    "$ cat k\n-----BEGIN RSA PRIVATE KEY-----\n[REDACTED:private-key]\n[…]\n[…]\n-----END RSA "
	    "PRIVATE KEY-----\n$ ls");
	gives(s,
	    "  ⎿  -----BEGIN EC PRIVATE KEY-----\n     " KEY_1 "\n     … +15 lines (ctrl+o to expand)\n\n⏺ "
							       "The key is in place.",
	    0,
	    "  ⎿  -----BEGIN EC PRIVATE KEY-----\n     [REDACTED:private-key]\n     … +15 lines (ctrl+o to "
	    "expand)\n\n"
	    "⏺ The key is in place.");
	gives(s, "     " KEY_1 "\n     " KEY_2 "\n     -----END RSA PRIVATE KEY-----\n> run", 0,
	    "     [REDACTED:private-key]\n     […]\n     -----END RSA PRIVATE KEY-----\n> run");
	gives(s, KEY_1 "\n" KEY_2 "\n" KEY_3, 0, "[REDACTED:private-key]\n[…]\n[…]");
	gives(s,
	    "\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n" KEY_1 "\\n" KEY_2 "\\n-----END PRIVATE "
										  "KEY-----\\n\",",
	    0,
	    "\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n[REDACTED:private-key]\\n-----END PRIVATE "
	    "KEY-----\\n\",");
	keeps(s, "-----BEGIN CERTIFICATE-----\n" KEY_1 "\n" KEY_2 "\n" KEY_3 "\n-----END CERTIFICATE-----");
	keeps(s, "if (text.startsWith(\"-----BEGIN RSA PRIVATE KEY-----\")) {\n\treturn parse(text);\n}");
	scrub_free(s);
}

/* ---- known values ---- */

static void
known_values_go_in_every_spelling(void **state)
{
	static const char block[] = "HOME=/root\0DB_PASSWORD=p\"w/9 \\x=Qz!\0GITHUB_TOKEN=abcDEF123456ghi\0"
	    "DATABASE_URL=postgres://u:s3cr3t-in-url@h/db";
	struct scrub *s = scrubber();

	(void)state;
	scrub_learn_environ(s, block, sizeof block);
	gives(s, "I log in with abcDEF123456ghi now", 0, "I log in with [REDACTED:known-value] now");
	gives(s, "the pool says s3cr3t-in-url is wrong", 0, "the pool says [REDACTED:known-value] is wrong");
	gives(s, "raw p\"w/9 \\x=Qz! end", 0, "raw [REDACTED:known-value] end");
	gives(s, "json p\\\"w/9 \\\\x=Qz! end", 0, "json [REDACTED:known-value] end");
	gives(s, "url p%22w%2F9%20%5Cx%3DQz%21 end", 0, "url [REDACTED:known-value] end");
	gives(s, "url p%22w%2f9%20%5cx%3dQz%21 end", 0, "url [REDACTED:known-value] end");
	/* "abcDEF123456ghi" in base64, alone and behind "u:" */
	gives(s, "b64 YWJjREVGMTIzNDU2Z2hp end", 0, "b64 [REDACTED:known-value] end");
	gives(s, "b64 dTphYmNERUYxMjM0NTZnaGk= end", 0, "b64 dTp[REDACTED:known-value]k= end");
	scrub_free(s);
}

static void
known_values_go_across_rows_and_frames(void **state)
{
	struct scrub *s = scrubber();

	(void)state;
	scrub_learn(s, "API_TOKEN", "abcDEF123456ghiJKL789");
	gives(s, "trying abcDEF12\n3456ghiJKL789 now", 15, "trying [REDACTED:known-value]\n[…] now");
	gives(s, "  ⎿  trying abcDEF123456\n     ghiJKL789 now", 24,
	    "  ⎿  trying [REDACTED:known-value]\n     […] now");
	gives(s, "│ trying abcDEF1  │\n│ 23456ghiJKL789  │", 19,
	    "│ trying [REDACTED:known-value] │\n│ […]             │");
	/* two words in one row are not the value */
	gives(s, "abcDEF123456 ghiJKL789", 0, "abcDEF123456 ghiJKL789");
	scrub_free(s);
}

static void
only_secrets_are_learned(void **state)
{
	static const struct {
		const char *name, *value;
	} no[] = {
		{ "HOME", "/home/nux7" }, { "SESSION_ID", "0b9c4f0e-6f0b-4f5e-9a77" },
		{ "DB_PASSWORD", "short1" }, { "SECRET_FILE", "/run/secrets/db1" },
		{ "API_TOKEN", "/run/secrets/db1" }, { "GITHUB_TOKEN", "" },
		{ "SSH_AUTH_SOCK", "/tmp/ssh-x1/agent.12" },
	};
	struct scrub *s = scrubber();

	(void)state;
	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
		char *line = xasprintf("see %s there", no[i].value);

		scrub_learn(s, no[i].name, no[i].value);
		keeps(s, line);
		free(line);
	}
	scrub_free(s);
}

/* ---- promises about any text ---- */

static void
placeholders_are_counted_and_stay(void **state)
{
	struct scrub *s = scrubber();
	size_t count = 0;
	bool seen = false;

	(void)state;
	gives(s, "DB_PASSWORD=a1b2c3d4 SMTP_PASS=e5f6g7h8", 0,
	    "DB_PASSWORD=[REDACTED:password] SMTP_PASS=[REDACTED:password#2]");
	assert_int_equal(scrub_total(s), 2);
	keeps(s,
	    "DB_PASSWORD=[REDACTED:password] SMTP_PASS=[REDACTED:password#17]\ntoken: "
	    "[REDACTED:github-token]\n"
	    "[…]\n[scrub: row withheld]");
	assert_int_equal(scrub_total(s), 2);
	for (size_t i = 0; i < scrub_kinds(s); i++) {
		if (strcmp(scrub_kind(s, i, &count), "password") == 0) {
			seen = true;
			assert_int_equal(count, 2);
		}
	}
	assert_true(seen);
	/* a name of no kind of ours protects nothing */
	gives(s, "x [REDACTED:acme] DB_PASSWORD=a1b2c3d4", 0,
	    "x [REDACTED:acme] DB_PASSWORD=[REDACTED:password]");
	scrub_free(s);
}

static void
odd_bytes_come_out_as_valid_text(void **state)
{
	static const char odd[] = "a\xff\xfe DB_PASSWORD=x1\xc3y2z3w4\n\xe2\x94 \xf0\x9f token\0ghi\n";
	struct scrub *s = scrubber();
	struct clean_text *t = scrub_text(s, odd, sizeof odd - 1, -1), *part, *copy;

	(void)state;
	assert_true(utf8_valid(clean_bytes(t), clean_len(t)));
	assert_null(strstr(clean_bytes(t), "y2z3"));
	part = clean_slice(t, 0, 1);
	copy = clean_copy(part);
	assert_string_equal(clean_bytes(copy), "a");
	assert_int_equal(clean_len(copy), 1);
	clean_free(part);
	clean_free(copy);
	clean_free(t);
	t = clean_slice(NULL, 3, 9);
	assert_int_equal(clean_len(t), 0);
	clean_free(t);
	assert_string_equal(clean_bytes(NULL), "");
	assert_null(scrub_string(s, NULL));
	gives(s, "", -1, "");
	scrub_free(s);
}

/*
 * One megabyte of what a scanner fears. The limit is far above what it takes (tens of ms), and
 * far below a quadratic run.
 */
static void
no_text_is_slow(void **state)
{
	static const char *const units[] = { "password", "eyJ", "token=", "secret: \"",
		"-----BEGIN PRIVATE KEY-----\n", "[REDACTED:", "://a:", "mysql -p ", "'\"'\"",
		"key=value key2=value2\n", "│ x │\n", "a", "cookie: a=b; ", "echo x | sudo ", "bearer 1" };
	struct scrub *s = scrubber();

	(void)state;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		struct buf b = BUF_INIT;
		struct clean_text *t;

		while (b.len < 1000000)
			buf_str(&b, units[i]);
		t = scrub_text(s, b.data, b.len, 80);
		assert_true(clean_len(t) > 0);
		clean_free(t);
		buf_release(&b);
	}
	scrub_free(s);
}

/* ---- golden files ---- */

static void
read_golden(const char *dir, const char *name, struct buf *out)
{
	char *path = io_join(dir, name);
	struct err e = ERR_INIT;

	if (io_read_file(path, 1 << 20, out, &e) != 0)
		fail_msg("%s", e.msg);
	free(path);
}

static void
write_golden(const char *dir, const struct clean_text *t, struct buf *want)
{
	char *path = io_join(dir, "want");
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fwrite(clean_bytes(t), 1, clean_len(t), f);
	assert_int_equal(fclose(f), 0);
	buf_reset(want);
	buf_add(want, clean_bytes(t), clean_len(t));
	free(path);
}

/* tests/golden/scrub/NAME: in, want, and width (a number). GT_GOLDEN_UPDATE=1 writes want anew. */
static void
golden_screens(void **state)
{
	struct scrub *s = scrubber();
	DIR *d = opendir("tests/golden/scrub");
	struct dirent *one;
	size_t seen = 0;

	(void)state;
	assert_non_null(d);
	while ((one = readdir(d)) != NULL) {
		struct buf in = BUF_INIT, want = BUF_INIT, width = BUF_INIT;
		struct clean_text *t;
		char *dir;

		if (one->d_name[0] == '.')
			continue;
		dir = io_join("tests/golden/scrub", one->d_name);
		read_golden(dir, "in", &in);
		read_golden(dir, "want", &want);
		read_golden(dir, "width", &width);
		scrub_forget(s);
		t = scrub_text(s, in.data, in.len, atoi(width.data));
		if (getenv("GT_GOLDEN_UPDATE") != NULL)
			write_golden(dir, t, &want);
		if (strcmp(clean_bytes(t), want.data) != 0)
			fail_msg("%s: got\n%s", dir, clean_bytes(t));
		clean_free(t);
		t = scrub_text(s, want.data, want.len, atoi(width.data));
		if (strcmp(clean_bytes(t), want.data) != 0)
			fail_msg("%s: a second pass gives\n%s", dir, clean_bytes(t));
		clean_free(t);
		buf_release(&in);
		buf_release(&want);
		buf_release(&width);
		free(dir);
		seen++;
	}
	closedir(d);
	assert_true(seen >= 5);
	scrub_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_finds_its_samples_and_spares_the_others),
		cmocka_unit_test(no_pattern_of_ours_is_broken),
		cmocka_unit_test(tokens_are_found_when_a_box_cuts_them),
		cmocka_unit_test(user_rules_add_and_replace),
		cmocka_unit_test(broken_rules_are_refused_with_their_place),
		cmocka_unit_test(what_a_rule_needs_may_stand_in_the_next_row),
		cmocka_unit_test(a_failing_rule_withholds_its_row),
		cmocka_unit_test(a_broken_rule_withholds_what_needs_it),
		cmocka_unit_test(a_rule_without_end_withholds_its_row),
		cmocka_unit_test(a_digest_is_sought_in_its_line),
		cmocka_unit_test(a_value_below_its_name_is_found),
		cmocka_unit_test(pictures_and_certificates_stay),
		cmocka_unit_test(allowed_text_stays),
		cmocka_unit_test(what_recovery_needs_stays),
		cmocka_unit_test(names_hosts_and_users_stay_beside_the_placeholder),
		cmocka_unit_test(a_secret_cut_by_a_row_break_is_found),
		cmocka_unit_test(what_a_replaced_row_hid_is_found),
		cmocka_unit_test(a_chain_of_full_rows_ends),
		cmocka_unit_test(blocks_of_yaml_are_values),
		cmocka_unit_test(boxes_keep_their_bars),
		cmocka_unit_test(private_keys_go_whole_or_cut),
		cmocka_unit_test(known_values_go_in_every_spelling),
		cmocka_unit_test(known_values_go_across_rows_and_frames),
		cmocka_unit_test(only_secrets_are_learned),
		cmocka_unit_test(placeholders_are_counted_and_stay),
		cmocka_unit_test(odd_bytes_come_out_as_valid_text),
		cmocka_unit_test(no_text_is_slow),
		cmocka_unit_test(golden_screens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
