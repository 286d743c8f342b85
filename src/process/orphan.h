#ifndef PROCESS_ORPHAN_H
#define PROCESS_ORPHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/proc.h"

struct err;
struct scrub;

/*
 * Processes that a dead agent left behind: since 2.1.197 the commands of Claude Code's Bash tool
 * run in sessions of their own and outlive a kill -9, printing into a file. They are told by what
 * they inherited: CLAUDE_CODE_SESSION_ID (2.1.197, 2.1.330) names the conversation; TMUX and
 * TMUX_PANE beside CLAUDECODE name the pane; where the session is not in tmux's environment, a
 * shell that reads the agent's snapshot ("…/shell-snapshots/…") in the agent's directory may be
 * its. What runs below a living agent or a tmux server is theirs. Nothing is ever ended here, and
 * of an environment only these names are looked at.
 */
struct orphan {
	pid_t pid, pgrp;
	bool sure;		/* it carries the id of the conversation */
	int64_t age_ms;
	/* what the tool was told to run, else the command line; scrubbed, at most ORPHAN_COMMAND bytes */
	char *command;
	char *cwd;		/* scrubbed; NULL: not known */
	char *output;		/* the file that it prints to, scrubbed; NULL: none */
};

#define ORPHAN_COMMAND ((size_t)128 << 10)	/* Linux takes no longer argument */
#define ORPHANS_MAX 5

struct orphans {
	struct orphan v[ORPHANS_MAX];	/* sure ones first, then the youngest */
	size_t n;
	size_t more;			/* that had no room */
};

/* By what they are looked for; borrowed, NULL and 0 are "not known". */
struct orphan_search {
	const char *session_id, *config_dir, *cwd;
	pid_t server_pid;		/* of tmux */
	const char *pane_id;
	proc_is_agent_fn *is_agent;
	const void *arg;
};

/*
 * Only the topmost process of a command is listed. Processes of other users cannot be told. -1:
 * /proc cannot be read.
 */
int orphan_list(const struct orphan_search *by, struct scrub *s, struct orphans *out, struct err *e);
void orphan_list_release(struct orphans *o);

#endif
