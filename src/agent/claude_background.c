#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "base/io.h"
#include "base/json.h"
#include "process/proc.h"

#define MAX_JOB ((size_t)256 << 10)
#define MAX_ROSTER ((size_t)16 << 20)

/* NULL: it is not there, or cannot be read; *there tells which. */
static json_t *
read_json(const char *config_dir, const char *name, size_t most, bool *there, time_t *written)
{
	char *path = io_join(config_dir, name);
	struct buf b = BUF_INIT;
	struct stat st;
	json_t *v = NULL;

	*there = stat(path, &st) == 0;
	if (*there && io_read_file(path, most, &b, NULL) == 0)
		v = json_parse(b.data, b.len, path, NULL);
	if (*there && written != NULL)
		*written = st.st_mtime;
	buf_wipe(&b);
	free(path);
	if (v != NULL && !json_is_object(v)) {
		json_decref(v);
		v = NULL;
	}
	return v;
}

/* Where its start is not known the pid alone decides: in doubt it lives. */
static bool
is_alive(const json_t *v, const char *pid_key, const char *start_key)
{
	int64_t pid = json_number(v, pid_key, 0);
	uint64_t start = strtoull(json_text(v, start_key, "0"), NULL, 10);

	return pid > 0 && proc_life((pid_t)pid, start) != LIFE_GONE;
}

/* The service of this user that starts sessions again. A file that cannot be read is one that runs. */
static bool
service_runs(const char *config_dir)
{
	bool there;
	json_t *lock = read_json(config_dir, "daemon.lock", MAX_JOB, &there, NULL);
	bool runs = lock != NULL ? is_alive(lock, "pid", "procStart") : there;

	json_decref(lock);
	return runs;
}

static bool
is_word_of(const char *word, const char *const *list)
{
	for (size_t i = 0; list[i] != NULL; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

/* By what its own file says, the processes of the roster, and the service. */
static enum background_stand
judge_background(const char *config_dir, const char *id, const char *state, pid_t *pid)
{
	static const char *const at_work[] = { "working", "running", "crashed", "resuming", NULL };
	bool there;
	json_t *roster = read_json(config_dir, "daemon/roster.json", MAX_ROSTER, &there, NULL);
	const json_t *one = json_object_get(json_object_get(roster, "workers"), id);
	bool doubt = there && roster == NULL, lives;

	lives = one != NULL && is_alive(one, "replPid", "replProcStart");
	*pid = lives ? (pid_t)json_number(one, "replPid", 0) : 0;
	/* the host of its terminal outlives the agent for a moment, and comes before it */
	doubt = doubt || (one != NULL && !lives && is_alive(one, "pid", "procStart"));
	json_decref(roster);
	if (lives)
		return BACKGROUND_LIVE;
	if (strcmp(state, "failed") == 0)
		return doubt ? BACKGROUND_RESTARTING : BACKGROUND_GIVEN_UP;
	if (!is_word_of(state, at_work))
		return BACKGROUND_ENDED;
	return doubt || service_runs(config_dir) ? BACKGROUND_RESTARTING : BACKGROUND_FAILED;
}

bool
agent_background_read(const char *config_dir, const char *id, struct agent_background *out)
{
	char *name = xasprintf("jobs/%s/state.json", id);
	time_t written = 0;
	bool there;
	json_t *v = read_json(config_dir, name, MAX_JOB, &there, &written);
	const char *session = json_text(v, "sessionId", NULL), *cwd = json_text(v, "cwd", NULL);
	bool found = session != NULL && cwd != NULL && strspn(id, "0123456789abcdef") == strlen(id);

	memset(out, 0, sizeof *out);
	if (found) {
		out->id = xstrdup(id);
		out->session_id = xstrdup(session);
		out->cwd = xstrdup(cwd);
		out->state = xstrdup(json_text(v, "state", ""));
		out->written = (int64_t)written;
		out->needs_key = strcmp(json_text(json_object_get(v, "providerEnv"),
		    "CLAUDE_BG_SESSION_CREDENTIAL", ""), "env-key") == 0;
		out->stand = judge_background(config_dir, id, out->state, &out->pid);
	}
	json_decref(v);
	free(name);
	return found;
}

void
agent_background_release(struct agent_background *b)
{
	free(b->id);
	free(b->session_id);
	free(b->cwd);
	free(b->state);
	memset(b, 0, sizeof *b);
}

void
agent_backgrounds_read(const char *config_dir, struct agent_backgrounds *out)
{
	char *folder = io_join(config_dir, "jobs");
	DIR *dir = opendir(folder);
	struct dirent *d;

	memset(out, 0, sizeof *out);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		struct agent_background one;

		if (*d->d_name == '.' || !agent_background_read(config_dir, d->d_name, &one))
			continue;
		out->v = vec_room(out->v, out->n, &out->cap, sizeof *out->v);
		out->v[out->n++] = one;
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
}

void
agent_backgrounds_release(struct agent_backgrounds *b)
{
	for (size_t i = 0; i < b->n; i++)
		agent_background_release(&b->v[i]);
	free(b->v);
	memset(b, 0, sizeof *b);
}

bool
agent_is_viewer(const struct launch *l)
{
	const char *verb = l->name != NULL && l->entry + 1 < l->n_words ? l->words[l->entry + 1].text : "";

	return l->name != NULL && strcmp(l->name, "claude") == 0 &&
	    (strcmp(verb, "attach") == 0 || strcmp(verb, "agents") == 0);
}
