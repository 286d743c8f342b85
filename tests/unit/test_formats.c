#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "scrub/scrub.h"

/*
 * How much the table covers, counted from the table; and formats that it reads by names, which no
 * rule of their own stands for.
 */

#define SECRET "k3yP4rt0ne7QwLzmX9vTb2cRr8"

static struct scrub *
scrubber(void)
{
	struct err e = ERR_INIT;
	struct scrub *s = scrub_new(NULL, &e);

	if (s == NULL)
		fail_msg("%s", e.msg);
	return s;
}

/*
 * The lines that begin so below the headings ("# ---- Clouds ----") that contain `word`. "["
 * begins a rule.
 */
static size_t
count(const char *table, const char *word, const char *line_begins)
{
	bool inside = false;
	size_t n = 0;

	for (const char *p = table; p != NULL; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (str_starts(p, "# ---- ")) {
			const char *at = strstr(p, word);

			inside = at != NULL && at < p + strcspn(p, "\n");
		}
		n += inside && str_starts(p, line_begins);
	}
	return n;
}

static void
the_table_covers_what_it_should(void **state)
{
	static const char *const tokens[] = { "Source hosting", "Clouds", "Models and agents", "Packages",
		"Chat", "Payment", "Products", "More vendors" };
	struct buf table = BUF_INIT;
	struct err e = ERR_INIT;
	size_t n = 0;

	(void)state;
	assert_int_equal(io_read_file("config/secrets.ini", 1 << 20, &table, &e), 0);
	for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
		size_t some = count(table.data, tokens[i], "[");

		if (some == 0)
			fail_msg("no rules below \"%s\"", tokens[i]);
		n += some;
	}
	print_message("rules of prefixed tokens %zu, of headers and URLs %zu, of command lines %zu (%zu "
		      "samples), of lines of files %zu\n",
	    n, count(table.data, "Headers, cookies", "["), count(table.data, "Command lines", "["),
	    count(table.data, "Command lines", "finds"), count(table.data, "Lines of files", "["));
	assert_true(n >= 110);
	assert_true(count(table.data, "Headers, cookies", "[") >= 14);
	assert_true(count(table.data, "Command lines", "[") >= 35);
	assert_true(count(table.data, "Lines of files", "[") >= 20);
	buf_release(&table);
}

static void
is_gone(struct scrub *s, const char *what, const char *text)
{
	struct clean_text *t;

	scrub_forget(s);
	t = scrub_string(s, text);
	if (strstr(clean_bytes(t), SECRET) != NULL || strstr(clean_bytes(t), "[REDACTED:") == NULL)
		fail_msg("%s: %s", what, clean_bytes(t));
	clean_free(t);
}

static void
urls_of_every_scheme(void **state)
{
	static const char *const schemes[] = { "postgres", "postgresql", "postgresql+asyncpg", "mysql",
		"mysql2", "mariadb", "mongodb", "mongodb+srv", "redis", "rediss", "amqp", "amqps",
		"clickhouse", "cockroachdb", "snowflake", "mssql", "sqlserver", "oracle", "sftp", "ftp",
		"smtp", "smtps", "imaps", "ldap", "ldaps", "mqtt", "nats", "ws", "wss", "http", "https",
		"socks5", "socks5h", "svn", "rsync", "neo4j+s", "bolt", "cassandra", "influxdb", "git+https",
		"cloudinary", "rtsp", "hdb", "trino" };
	struct scrub *s = scrubber();

	(void)state;
	assert_true(sizeof schemes / sizeof schemes[0] >= 26);
	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		char *url = xasprintf("see %s://svc:" SECRET "@db-1.acme.io/app?x=1", schemes[i]);

		is_gone(s, schemes[i], url);
		free(url);
	}
	scrub_free(s);
}

static void
lines_of_known_files(void **state)
{
	static const struct {
		const char *file, *text;
	} files[] = {
		{ ".netrc", "machine h login jdoe password " SECRET },
		{ ".npmrc", "//registry.npmjs.org/:_authToken=" SECRET },
		{ ".yarnrc.yml", "npmAuthToken: \"" SECRET "\"" },
		{ ".pypirc", "[pypi]\nusername = jdoe\npassword = " SECRET },
		{ ".pgpass", "db-1:5432:app:svc:" SECRET },
		{ ".my.cnf", "[client]\nuser=root\npassword=\"" SECRET "\"" },
		{ ".env", "SECRET_TOKEN=" SECRET },
		{ "kubeconfig", "users:\n- name: a\n  user:\n    token: " SECRET },
		{ "Secret", "kind: Secret\nstringData:\n  apiKey: " SECRET },
		{ "config.json", "{\"auths\": {\"r\": {\"auth\": \"" SECRET "\"}}}" },
		{ "terraform.tfvars", "db_password = \"" SECRET "\"" },
		{ "terraform.tfstate", "\"password\": \"" SECRET "\"," },
		{ "inventory", "web-1 ansible_host=192.0.2.1 ansible_ssh_pass=" SECRET },
		{ "group_vars", "vault_db_password: " SECRET },
		{ "wpa_supplicant.conf", "network={\n  ssid=\"home\"\n  psk=\"" SECRET "\"\n}" },
		{ ".s3cfg", "secret_key = " SECRET }, { ".boto", "aws_secret_access_key = " SECRET },
		{ "rclone.conf", "[r]\ntype = sftp\npass = " SECRET },
		{ ".msmtprc", "account x\npassword " SECRET },
		{ ".muttrc", "set imap_pass = \"" SECRET "\"" },
		{ "settings.xml", "<password>" SECRET "</password>" },
		{ "gradle.properties", "signing.password=" SECRET },
		{ "nuget.config", "<add key=\"ClearTextPassword\" value=\"" SECRET "\" />" },
		{ "auth.json",
		    "\"http-basic\": {\"r\": {\"username\": \"a\", \"password\": \"" SECRET "\"}}" },
		{ "credentials.toml", "[registry]\ntoken = \"" SECRET "\"" },
		{ "gem credentials", ":rubygems_api_key: " SECRET },
		{ "values.yaml", "auth:\n  rootPassword: " SECRET },
		{ "compose.yaml", "      POSTGRES_PASSWORD: " SECRET },
		{ "compose.yaml list", "      - MYSQL_ROOT_PASSWORD=" SECRET },
		{ "unit", "Environment=\"DB_PASSWORD=" SECRET "\"" },
		{ "crontab", "0 3 * * * PGPASSWORD=" SECRET " pg_dump app" },
		{ "credentials.xml", "<apiToken>" SECRET "</apiToken>" },
		{ "secrets.yml", "secret_key_base: " SECRET },
		{ "settings.py", "SECRET_KEY = '" SECRET "'" },
		{ "application.properties", "spring.datasource.password=" SECRET },
		{ "application.yml", "    password: " SECRET },
		{ "appsettings.json", "\"Default\": \"Server=db;User Id=svc;Password=" SECRET ";\"" },
		{ "web.config",
		    "<add connectionString=\"Data Source=db;User ID=svc;Password=" SECRET "\" />" },
		{ "wp-config.php", "define( 'DB_PASSWORD', '" SECRET "' );" },
		{ "odbc.ini", "Pwd = " SECRET }, { "winscp.ini", "Password=" SECRET },
		{ "remmina", "password=" SECRET }, { "NetworkManager", "[wifi-security]\npsk=" SECRET },
		{ "ipsec.secrets", ": PSK \"" SECRET "\"" },
		{ "radius clients.conf", "  secret = " SECRET },
		{ "rndc.key", "  secret \"" SECRET "\";" }, { "redis.conf", "requirepass " SECRET },
		{ "haproxy.cfg", "  stats auth admin:" SECRET },
		{ "sasl_passwd", "[smtp.acme.io]:587 mailer:" SECRET },
		{ "slapd.conf", "rootpw " SECRET }, { "ldif", "userPassword: " SECRET },
		{ "git-credentials", "https://jdoe:" SECRET "@github.com" },
		{ "hosts.yml", "    oauth_token: " SECRET }, { "profiles.yml", "      pass: " SECRET },
		{ "vault", "password    " SECRET }, { "pods", "- name: DB_PASSWORD\n  value: " SECRET },
		{ "Info.plist", "<key>APIToken</key>\n<string>" SECRET "</string>" },
		{ "core-site.xml", "<name>fs.s3a.secret.key</name>\n<value>" SECRET "</value>" },
		{ "tomcat-users.xml", "<user username=\"admin\" password=\"" SECRET "\"/>" },
		{ "hibernate.cfg.xml",
		    "<property name=\"hibernate.connection.password\">" SECRET "</property>" },
		{ "key.properties", "storePassword=" SECRET },
		{ "build.gradle", "        storePassword '" SECRET "'" },
		{ "Dockerfile", "ENV API_SECRET " SECRET },
		{ "config.fish", "set -gx API_SECRET " SECRET },
		{ "openvpn", "<auth-user-pass>\nsvc\n" SECRET "\n</auth-user-pass>" },
	};
	struct scrub *s = scrubber();

	(void)state;
	assert_true(sizeof files / sizeof files[0] >= 45);
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		is_gone(s, files[i].file, files[i].text);
	scrub_free(s);
}

/* The same pair of name and value, as strings within strings, URLs, HTML, Markdown and tables spell it. */
static void
spellings_of_a_pair(void **state)
{
	static const char *const texts[] = {
		"{\"api_key\":\"" SECRET "\"}",
		"{\\\"api_key\\\":\\\"" SECRET "\\\"}",
		"{\\\\\\\"api_key\\\\\\\":\\\\\\\"" SECRET "\\\\\\\"}",
		"x%26api_key%3D" SECRET "%26y",
		"%22api_key%22%3A%22" SECRET "%22",
		"&quot;api_key&quot;: &quot;" SECRET "&quot;",
		"- **API key:** `" SECRET "`",
		"| `API_KEY` | `" SECRET "` |",
		"API_KEY=${API_KEY:-" SECRET "}",
		"api_key -> " SECRET,
		"┃ API_KEY ┃ " SECRET " ┃",
		"api_key     " SECRET,
	};
	struct scrub *s = scrubber();

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		is_gone(s, texts[i], texts[i]);
	scrub_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_covers_what_it_should),
		cmocka_unit_test(urls_of_every_scheme),
		cmocka_unit_test(lines_of_known_files),
		cmocka_unit_test(spellings_of_a_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
