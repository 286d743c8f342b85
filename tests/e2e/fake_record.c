#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "fake_agent.h"

/*
 * Shapes and places as 2.1.197 has them: ~/.claude/projects/SLUG/SESSION.jsonl, one line a
 * content block, linked by parentUuid; ~/.claude/sessions/PID.json while the program lives, left
 * behind by kill -9, and cleared of dead pids by the next start.
 */

#define WHY_SIZE 256

static void
new_uuid(char out[40])
{
	char hex[33];

	io_random_hex(hex, 16);
	hex[12] = '4';
	hex[16] = 'a';
	snprintf(out, 40, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static void
make_dirs(const char *path)
{
	char *copy = xstrdup(path);

	for (char *p = copy + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(copy, 0700);
		*p = '/';
	}
	mkdir(copy, 0700);
	free(copy);
}

static char *
config_dir(void)
{
	const char *dir = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");

	if (dir != NULL && *dir != '\0')
		return xstrdup(dir);
	return xasprintf("%s/.claude", home != NULL ? home : "");
}

static char *
project_dir(const char *config, const char *cwd)
{
	char *dir = xasprintf("%s/projects/%s", config, cwd);

	for (char *p = dir + strlen(config) + strlen("/projects/"); *p != '\0'; p++) {
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9')))
			*p = '-';
	}
	return dir;
}

static void
remove_stale(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH)
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	if (d != NULL)
		closedir(d);
}

/* The session that was written to last in this project, into out. */
static int
newest_session(const char *dir, char out[40])
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	struct timespec best = { 0, 0 };
	int found = -1;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		struct stat st;

		if (strlen(entry->d_name) != 36 + strlen(".jsonl") ||
		    fstatat(dirfd(d), entry->d_name, &st, 0) != 0)
			continue;
		if (st.st_mtim.tv_sec < best.tv_sec ||
		    (st.st_mtim.tv_sec == best.tv_sec && st.st_mtim.tv_nsec < best.tv_nsec))
			continue;
		best = st.st_mtim;
		snprintf(out, 40, "%.36s", entry->d_name);
		found = 0;
	}
	if (d != NULL)
		closedir(d);
	return found;
}

/* Where the chain of a resumed transcript ends. */
static void
last_uuid(const char *path, char out[40])
{
	struct buf text = BUF_INIT;
	char *line, *rest;

	if (io_read_file(path, (size_t)64 << 20, &text, NULL) == 0) {
		for (line = strtok_r(text.data, "\n", &rest); line != NULL;
		    line = strtok_r(NULL, "\n", &rest)) {
			json_t *v = json_loads(line, 0, NULL);

			if (*json_text(v, "uuid", "") != '\0')
				snprintf(out, 40, "%s", json_text(v, "uuid", ""));
			json_decref(v);
		}
	}
	buf_release(&text);
}

int
keeper_init(struct record_keeper *k, const struct options *o, char *why)
{
	char *config = config_dir(), *dir, *sessions;
	struct stat st;
	int ret = -1;

	*k = (struct record_keeper){ .cwd = realpath(".", NULL), .started = clock_wall_ms() };
	if (k->cwd == NULL)
		die("no working directory");
	dir = project_dir(config, k->cwd);
	sessions = xasprintf("%s/sessions", config);
	make_dirs(dir);
	make_dirs(sessions);
	remove_stale(sessions);
	if (o->resume != NULL)
		snprintf(k->session, sizeof(k->session), "%s", o->resume);
	else if (o->session_id != NULL)
		snprintf(k->session, sizeof(k->session), "%s", o->session_id);
	else if (!o->resume_last || newest_session(dir, k->session) != 0)
		new_uuid(k->session);
	k->transcript = xasprintf("%s/%s.jsonl", dir, k->session);
	if (o->resume != NULL && stat(k->transcript, &st) != 0) {
		snprintf(why, WHY_SIZE, "No conversation found with session ID: %s", o->resume);
		goto out;
	}
	if (o->session_id != NULL && stat(k->transcript, &st) == 0) {
		snprintf(why, WHY_SIZE, "Session ID %s is already in use.", o->session_id);
		goto out;
	}
	last_uuid(k->transcript, k->parent);
	if (o->no_transcript) {
		free(k->transcript);
		k->transcript = NULL;
	}
	if (!o->no_session_file)
		k->session_file = xasprintf("%s/%d.json", sessions, (int)getpid());
	ret = 0;
out:
	free(config);
	free(dir);
	free(sessions);
	return ret;
}

/* Field 22 of /proc/self/stat: the start time in clock ticks. */
static void
own_start(char out[32])
{
	struct buf stat = BUF_INIT;
	char *p;
	int field = 2;

	out[0] = '\0';
	if (io_read_file("/proc/self/stat", 4096, &stat, NULL) == 0 &&
	    (p = strrchr(stat.data, ')')) != NULL) {
		for (; *p != '\0' && field < 22; p++)
			field += *p == ' ';
		snprintf(out, 32, "%.*s", (int)strcspn(p, " "), p);
	}
	buf_release(&stat);
}

void
keeper_status(struct record_keeper *k, const char *status, const char *waiting_for)
{
	json_t *v;
	char start[32], *text, *temporary;
	FILE *f;

	if (k->session_file == NULL)
		return;
	own_start(start);
	v = json_pack("{s:i s:s s:s s:I s:s s:s s:i s:s s:s s:s s:I}", "pid", (int)getpid(), "sessionId",
	    k->session, "cwd", k->cwd, "startedAt", (json_int_t)k->started, "procStart", start, "version",
	    FAKE_VERSION, "peerProtocol", 1, "kind", "interactive", "entrypoint", "cli", "status", status,
	    "updatedAt", (json_int_t)clock_wall_ms());
	if (waiting_for != NULL)
		json_put(v, "waitingFor", waiting_for);
	text = json_dumps(v, JSON_COMPACT);
	temporary = xasprintf("%s.tmp", k->session_file);
	f = fopen(temporary, "we");
	if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0 || rename(temporary, k->session_file) != 0)
		event("session file not written");
	free(temporary);
	free(text);
	json_decref(v);
}

/* Takes v over. Lines without a uuid are no part of the chain. */
static void
append(struct record_keeper *k, json_t *v, bool chained)
{
	struct buf iso = BUF_INIT;
	char uuid[40];
	char *text;
	int fd;

	if (k->transcript != NULL) {
		clock_iso(&iso, clock_wall_ms());
		json_put(v, "timestamp", iso.data);
		if (chained) {
			new_uuid(uuid);
			json_put(v, "parentUuid", k->parent[0] != '\0' ? k->parent : NULL);
			json_put(v, "uuid", uuid);
			json_put_flag(v, "isSidechain", false);
			json_put(v, "userType", "external");
			json_put(v, "entrypoint", "cli");
			json_put(v, "cwd", k->cwd);
			json_put(v, "version", FAKE_VERSION);
			json_put(v, "gitBranch", "main");
			memcpy(k->parent, uuid, sizeof(uuid));
		}
		json_put(v, "sessionId", k->session);
		text = json_dumps(v, JSON_COMPACT);
		buf_reset(&iso);
		buf_fmt(&iso, "%s\n", text);
		free(text);
		fd = open(k->transcript, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || io_write_all(fd, iso.data, iso.len) != 0)
			event("transcript not written");
		if (fd >= 0)
			close(fd);
	}
	buf_release(&iso);
	json_decref(v);
}

void
keeper_user(struct record_keeper *k, const char *p, size_t n, bool typed)
{
	json_t *v = json_pack(
	    "{s:s s:{s:s s:o}}", "type", "user", "message", "role", "user", "content", json_bytes(p, n));

	json_put(v, "permissionMode", "bypassPermissions");
	if (typed)
		json_put(v, "promptSource", "typed");
	append(k, v, true);
}

static void
append_assistant(struct record_keeper *k, json_t *block, const char *stop)
{
	json_t *v = json_pack("{s:s s:{s:s s:s s:s s:s s:[o] s:s s:{s:i s:i}}}", "type", "assistant",
	    "message", "id", "msg_01fake", "type", "message", "role", "assistant", "model", "claude-opus-4-8",
	    "content", block, "stop_reason", stop, "usage", "input_tokens", 1200, "output_tokens", 42);

	append(k, v, true);
}

void
keeper_text(struct record_keeper *k, const char *text)
{
	append_assistant(
	    k, json_pack("{s:s s:o}", "type", "text", "text", json_bytes(text, strlen(text))), "end_turn");
}

/* The API's names and inputs of tools differ from the screen's. */
void
keeper_tool(struct record_keeper *k, const char *name, const char *input, char *id)
{
	bool update = strcmp(name, "Update") == 0;
	const char *key = "input";
	char hex[25];
	json_t *in;

	if (strcmp(name, "Bash") == 0)
		key = "command";
	else if (update || strcmp(name, "Write") == 0 || strcmp(name, "Read") == 0)
		key = "file_path";
	in = json_pack("{s:o}", key, json_bytes(input, strlen(input)));
	if (strcmp(key, "command") == 0)
		json_put(in, "description", "Run a command");
	io_random_hex(hex, 12);
	snprintf(id, 40, "toolu_01%s", hex);
	append_assistant(k,
	    json_pack("{s:s s:s s:s s:o}", "type", "tool_use", "id", id, "name", update ? "Edit" : name,
		"input", in),
	    "tool_use");
}

void
keeper_result(struct record_keeper *k, const char *id, const char *text, bool failed)
{
	json_t *v = json_pack("{s:s s:{s:s s:[{s:s s:s s:o s:b}]}}", "type", "user", "message", "role",
	    "user", "content", "tool_use_id", id, "type", "tool_result", "content",
	    json_bytes(text, strlen(text)), "is_error", failed);

	append(k, v, true);
}

void
keeper_queued(struct record_keeper *k, const char *p, size_t n)
{
	append(k,
	    json_pack("{s:s s:s s:o}", "type", "queue-operation", "operation", "enqueue", "content",
		json_bytes(p, n)),
	    false);
}

void
keeper_goodbye(struct record_keeper *k)
{
	if (k->parent[0] != '\0')
		append(k, json_pack("{s:s s:s}", "type", "last-prompt", "lastPrompt", ""), false);
	if (k->session_file != NULL)
		unlink(k->session_file);
}
