#include <dirent.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scrub/scrub_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"

/* Examples hold no secrets, but words that stand everywhere: .env.example. */
static bool
scrub_is_example_file(const char *name)
{
	static const char *const ends[] = { "example", "sample", "template", "dist", "tmpl", "defaults" };

	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (str_ends(name, ends[i]))
			return true;
	return false;
}

bool
scrub_is_secret_file(const char *path)
{
	/* of the last part of the path; by the manuals of the programs that read or write them */
	static const char *const names[] = {
		".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass",
		".my.cnf", ".git-credentials", ".dockercfg", ".htpasswd", ".vault-token", ".s3cfg",
		".boto", "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk",
		"*.pem", "*.key", "*.ppk", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
		"*.kdb", "*.agekey", "*.tfstate", "*.tfstate.*", "*.tfvars", "*.ovpn", "credentials",
		".credentials.json", "kubeconfig", "*.kubeconfig", "service-account*.json",
		"client_secret*.json", "wallet.dat", "credentials.json", "credentials.y*ml",
		"credentials.toml", "credentials.xml", "credentials.properties", "secrets.json",
		"secrets.y*ml", "secrets.toml", "secrets.properties",
		"secrets.txt",
	};
	/* a part of the path before it */
	static const char *const folders[] = { ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker",
		".password-store", ".secrets" };
	const char *last = strrchr(path, '/');

	last = last != NULL ? last + 1 : path;
	if (scrub_is_example_file(last))
		return false;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (fnmatch(names[i], last, FNM_CASEFOLD) == 0)
			return true;
	for (const char *p = path; p < last; p += strcspn(p, "/") + 1)
		for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
			if (strcspn(p, "/") == strlen(folders[i]) &&
			    strncmp(p, folders[i], strlen(folders[i])) == 0)
				return true;
	return false;
}

#define MOST ((size_t)256 << 10)	/* bytes of a file */
#define MAX_FILES 16			/* .env* of one directory */

/* By the manuals of the programs that write them. `bare`: the file holds one token and nothing else. */
static const struct {
	const char *path;
	bool bare;
} in_home[] = {
	{ ".netrc", false }, { ".pgpass", false }, { ".my.cnf", false }, { ".git-credentials", false },
	{ ".config/git/credentials", false }, { ".npmrc", false }, { ".yarnrc.yml", false },
	{ ".pypirc", false }, { ".cargo/credentials.toml", false }, { ".gem/credentials", false },
	{ ".m2/settings.xml", false }, { ".gradle/gradle.properties", false },
	{ ".config/composer/auth.json", false }, { ".aws/credentials", false },
	{ ".azure/accessTokens.json", false }, { ".boto", false }, { ".s3cfg", false },
	{ ".config/gcloud/application_default_credentials.json", false },
	{ ".config/rclone/rclone.conf", false }, { ".config/doctl/config.yaml", false },
	{ ".fly/config.yml", false }, { ".terraform.d/credentials.tfrc.json", false },
	{ ".docker/config.json", false }, { ".config/containers/auth.json", false },
	{ ".kube/config", false }, { ".config/gh/hosts.yml", false },
	{ ".config/glab-cli/config.yml", false }, { ".config/hub", false }, { ".vault-token", true },
	{ ".cache/huggingface/token", true }, { ".huggingface/token", true },
	{ ".claude/.credentials.json", false }, { ".codex/auth.json", false },
	{ ".gemini/oauth_creds.json", false },
	{ ".local/share/opencode/auth.json", false },
};

static void
learn_file(struct scrub *s, const char *dir, const char *name, bool bare)
{
	char *path = io_join(dir, name);
	struct buf text = BUF_INIT;
	struct stat st;

	/* a device may do something when it is opened; io_read_file looks again at what it opened */
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && io_read_file(path, MOST, &text, NULL) == 0) {
		if (bare) {
			text.data[strcspn(text.data, "\r\n")] = '\0';
			scrub_learn(s, "TOKEN", text.data);
		} else {
			scrub_learn_text(s, text.data, text.len);
		}
	}
	buf_wipe(&text);
	free(path);
}

static void
learn_env_files(struct scrub *s, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *one;
	size_t n = 0;

	if (d == NULL)
		return;
	while (n < MAX_FILES && (one = readdir(d)) != NULL) {
		if (!str_starts(one->d_name, ".env") || scrub_is_example_file(one->d_name))
			continue;
		learn_file(s, dir, one->d_name, false);
		n++;
	}
	closedir(d);
}

void
scrub_forget_read(struct scrub *s)
{
	while (s->n_read > 0)
		free(s->read[--s->n_read]);
}

#define FRESH_MS 5000

/*
 * The agents of a list share a home, and often a directory: their files are read once, and again
 * in a long run, since an agent renews its token.
 */
static bool
is_first_read(struct scrub *s, const char *what, const char *dir)
{
	char *key = xasprintf("%s %s", what, dir);

	if (clock_mono_ms() - s->read_ms > FRESH_MS) {
		scrub_forget_read(s);
		s->read_ms = clock_mono_ms();
	}

	for (size_t i = 0; i < s->n_read; i++)
		if (strcmp(s->read[i], key) == 0) {
			free(key);
			return false;
		}
	s->read = vec_room(s->read, s->n_read, &s->cap_read, sizeof *s->read);
	s->read[s->n_read++] = key;
	return true;
}

void
scrub_learn_files(struct scrub *s, const char *home, const char *dir)
{
	if (home != NULL && *home == '/' && is_first_read(s, "home", home))
		for (size_t i = 0; i < sizeof in_home / sizeof in_home[0]; i++)
			learn_file(s, home, in_home[i].path, in_home[i].bare);
	if (dir == NULL || *dir != '/' || !is_first_read(s, "work", dir))
		return;
	learn_env_files(s, dir);
	learn_file(s, dir, ".npmrc", false);
}

void
scrub_learn_agent_files(struct scrub *s, const char *config_dir)
{
	if (config_dir != NULL && is_first_read(s, "agent", config_dir))
		learn_file(s, config_dir, ".credentials.json", false);
}
