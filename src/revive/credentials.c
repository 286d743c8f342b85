#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "revive/credentials.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "scrub/scrub.h"
#include "work/secret_name.h"

#define MOST ((size_t)256 << 10)	/* bytes of a file */
#define MAX_FILES 16			/* .env* of one directory */

/* By the manuals of the programs that write them. `bare`: the file holds one token and nothing else. */
static const struct {
	const char *path;
	bool bare;
} in_home[] = {
	{ ".netrc", false }, { ".pgpass", false }, { ".my.cnf", false }, { ".git-credentials", false }, { ".config/git/credentials", false },
	{ ".npmrc", false }, { ".yarnrc.yml", false }, { ".pypirc", false }, { ".cargo/credentials.toml", false }, { ".gem/credentials", false },
	{ ".m2/settings.xml", false }, { ".gradle/gradle.properties", false }, { ".config/composer/auth.json", false },
	{ ".aws/credentials", false }, { ".azure/accessTokens.json", false }, { ".boto", false }, { ".s3cfg", false },
	{ ".config/gcloud/application_default_credentials.json", false }, { ".config/rclone/rclone.conf", false },
	{ ".config/doctl/config.yaml", false }, { ".fly/config.yml", false }, { ".terraform.d/credentials.tfrc.json", false },
	{ ".docker/config.json", false }, { ".config/containers/auth.json", false }, { ".kube/config", false },
	{ ".config/gh/hosts.yml", false }, { ".config/glab-cli/config.yml", false }, { ".config/hub", false },
	{ ".vault-token", true }, { ".cache/huggingface/token", true }, { ".huggingface/token", true },
	{ ".claude/.credentials.json", false }, { ".codex/auth.json", false }, { ".gemini/oauth_creds.json", false },
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
		if (!str_starts(one->d_name, ".env") || secret_name_is_example(one->d_name))
			continue;
		learn_file(s, dir, one->d_name, false);
		n++;
	}
	closedir(d);
}

void
credentials_learn(struct scrub *s, const char *home, const char *dir)
{
	for (size_t i = 0; home != NULL && *home == '/' && i < sizeof in_home / sizeof in_home[0]; i++)
		learn_file(s, home, in_home[i].path, in_home[i].bare);
	if (dir == NULL || *dir != '/')
		return;
	learn_env_files(s, dir);
	learn_file(s, dir, ".npmrc", false);
}

void
credentials_learn_agent(struct scrub *s, const char *config_dir)
{
	if (config_dir != NULL)
		learn_file(s, config_dir, ".credentials.json", false);
}
