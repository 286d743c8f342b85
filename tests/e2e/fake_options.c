#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/io.h"
#include "fake_agent.h"

struct flag {
	const char *name;
	size_t offset;		/* of a bool in struct options */
};

struct value {
	const char *name;
	size_t offset;		/* of a const char * in struct options; (size_t)-1: taken and ignored */
};

static const struct flag flags[] = {
	{ "--never-ready", offsetof(struct options, never_ready) },
	{ "--eat-stdin", offsetof(struct options, eat_stdin) },
	{ "--no-transcript", offsetof(struct options, no_transcript) },
	{ "--no-session-file", offsetof(struct options, no_session_file) },
	{ "--alt-screen", offsetof(struct options, alt_screen) },
	{ "--focus", offsetof(struct options, focus) },
	{ "--no-answer", offsetof(struct options, no_answer) },
	{ "--ignore-paste-first-enter", offsetof(struct options, swallow_enter) },
	{ "--asleep", offsetof(struct options, asleep) },
	{ "--outlives-terminal", offsetof(struct options, outlives) },
	{ "--print", offsetof(struct options, print) },
	{ "-p", offsetof(struct options, print) },
	{ "--continue", offsetof(struct options, resume_last) },
	{ "-c", offsetof(struct options, resume_last) },
	{ "--dangerously-skip-permissions", offsetof(struct options, skip_permissions) },
};

#define IGNORED ((size_t)-1)

static const struct value values[] = {
	{ "--draft", offsetof(struct options, draft) },
	{ "--view", offsetof(struct options, view) },
	{ "--scenario", offsetof(struct options, scenario) },
	{ "--resume", offsetof(struct options, resume) },
	{ "-r", offsetof(struct options, resume) },
	{ "--session-id", offsetof(struct options, session_id) },
	{ "--prompt-file", offsetof(struct options, prompt_file) },
	{ "--say", offsetof(struct options, prompt) },
	{ "--go-to", offsetof(struct options, go_to) },
	{ "--hold", offsetof(struct options, hold) },
	{ "--model", IGNORED },
	{ "--settings", IGNORED },
	{ "--permission-mode", IGNORED },
	{ "--append-system-prompt", IGNORED },
	{ "--agent-id", IGNORED },
	{ "--agent-name", IGNORED },
	{ "--team-name", IGNORED },
	{ "--agent-type", IGNORED },
	{ "--parent-session-id", IGNORED },
	{ "--lead-verify-key", IGNORED },
};

static void
bad_option(const char *arg)
{
	fprintf(stderr, "error: unknown option '%s'\n", arg);
	event("unknown option");
	exit(1);
}

static bool
take_flag(struct options *o, const char *arg)
{
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(arg, flags[i].name) == 0) {
			*(bool *)(void *)((char *)o + flags[i].offset) = true;
			return true;
		}
	}
	return false;
}

/* "--name value" and "--name=value"; true when taken, *used counts the further argument. */
static bool
take_value(struct options *o, char *const *argv, int *used)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		size_t n = strlen(values[i].name);
		const char *value;

		if (strncmp(argv[0], values[i].name, n) != 0 || (argv[0][n] != '\0' && argv[0][n] != '='))
			continue;
		value = argv[0][n] == '=' ? argv[0] + n + 1 : argv[1];
		if (value == NULL)
			bad_option(argv[0]);
		*used = argv[0][n] == '=' ? 0 : 1;
		if (values[i].offset != IGNORED)
			*(const char **)(void *)((char *)o + values[i].offset) = value;
		return true;
	}
	return false;
}

static void
take(struct options *o, int argc, char *argv[])
{
	for (int i = 0; i < argc; i++) {
		int used = 0;

		if (strcmp(argv[i], "--version") == 0) {
			puts(FAKE_VERSION " (Claude Code)");
			exit(0);
		}
		if (take_flag(o, argv[i]))
			continue;
		if (take_value(o, argv + i, &used))
			i += used;
		else if (str_starts(argv[i], "--die-at-once"))
			o->die_status = argv[i][13] == '=' ? atoi(argv[i] + 14) : 1;
		else if (str_starts(argv[i], "--slow="))
			o->slow_ms = atoi(argv[i] + 7);
		else if (strcmp(argv[i], "--slow") == 0 && i + 1 < argc)
			o->slow_ms = atoi(argv[++i]);
		else if (strcmp(argv[i], "--dialog") == 0 || strcmp(argv[i], "--dialog=permission") == 0)
			o->dialog = "permission";
		else if (strcmp(argv[i], "--dialog=trust") == 0)
			o->dialog = "trust";
		else if (argv[i][0] == '-')
			bad_option(argv[i]);
		else
			o->prompt = argv[i];
	}
}

#define PLAN_WORDS 32

/* The first line of the plan is for this start; the others are for later ones. Words are parted by blanks. */
static void
take_plan(struct options *o)
{
	const char *path = getenv("FAKE_AGENT_PLAN");
	struct buf all = BUF_INIT;
	char *words[PLAN_WORDS + 1], *rest = NULL, *line;
	size_t used;
	int n = 0, fd;

	if (path == NULL || (fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		return;
	if (flock(fd, LOCK_EX) == 0 && io_read_all(fd, path, 65536, &all, NULL) == 0 && all.len > 0) {
		used = strcspn(all.data, "\n");
		line = xstrndup(all.data, used);	/* the options point into it: kept until the end */
		for (char *w = strtok_r(line, " ", &rest); w != NULL && n < PLAN_WORDS;
		    w = strtok_r(NULL, " ", &rest))
			words[n++] = w;
		words[n] = NULL;
		used += all.data[used] == '\n';
		if (lseek(fd, 0, SEEK_SET) != 0 || io_write_all(fd, all.data + used, all.len - used) != 0 ||
		    ftruncate(fd, (off_t)(all.len - used)) != 0)
			event("plan not used up");
		take(o, n, words);
	}
	close(fd);
	buf_release(&all);
}

void
options_parse(struct options *o, int argc, char *argv[])
{
	*o = (struct options){ .die_status = -1, .slow_ms = 30 };
	take(o, argc - 1, argv + 1);
	take_plan(o);
}
