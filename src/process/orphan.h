#ifndef PROCESS_ORPHAN_H
#define PROCESS_ORPHAN_H

#include "process/proc.h"

struct scrub;

/*
 * Processes that a dead agent left: commands of Claude Code's Bash tool (since 2.1.197) run in
 * sessions of their own, survive its kill -9, and print into a file. Known by what they inherited:
 * CLAUDE_CODE_SESSION_ID (2.1.197, 2.1.330) names the conversation; TMUX and TMUX_PANE beside
 * CLAUDECODE the pane; without tmux's session a shell that reads the agent's snapshot
 * ("…/shell-snapshots/…") in its directory may be one. What runs below a living agent or a tmux
 * server is theirs. Ends nothing; reads only these names of an environment.
 */
struct orphan {
	pid_t pid, pgrp;
	bool sure;		/* it has the conversation's id */
	int64_t age_ms;
	/* the tool's command, else the command line; scrubbed, at most ORPHAN_COMMAND bytes */
	char *command;
	char *cwd;		/* scrubbed; NULL: unknown */
	char *output;		/* its output file, scrubbed; NULL: none */
};

#define ORPHAN_COMMAND ((size_t)128 << 10)	/* Linux takes no longer argument */
#define ORPHANS_MAX 5

struct orphans {
	struct orphan v[ORPHANS_MAX];	/* sure ones first, then the youngest */
	size_t n;
	size_t more;			/* that had no room */
};

/* Borrowed; NULL and 0 are unknown. */
struct orphan_search {
	const char *session_id, *config_dir, *cwd;
	pid_t server_pid;		/* of tmux */
	const char *pane_id;
	proc_is_agent_fn *is_agent;
	const void *arg;
};

/* The topmost process of each command, of this user alone. -1: /proc cannot be read. */
int orphan_list(const struct orphan_search *by, struct scrub *s, struct orphans *out, struct err *e);
void orphan_list_release(struct orphans *o);

#endif
