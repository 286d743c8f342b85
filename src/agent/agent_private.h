#ifndef AGENT_AGENT_PRIVATE_H
#define AGENT_AGENT_PRIVATE_H

#include <stddef.h>

#include "agent/agent.h"

struct err;

/*
 * One row of config/agents.ini while it is put together, column by column. For profile.c alone;
 * everybody else sees its struct profile.
 */

/* Strings and dialogs that own themselves; ended by NULL, by a dialog without a name. */
struct strings {
	char **v;
	size_t n;
};

struct dialogs {
	struct profile_dialog *v;
	size_t n;
};

struct profile_row {
	struct profile view;		/* points into what follows */
	char *name, *label, *dialect, *transcript, *folder, *session_flags, *prompt_flags, *other_flags,
	    *file_flag, *argument_flag, *resume, *native, *command;
	struct strings programs, processes;
	struct pattern *ready, *busy, *pasted;
	struct dialogs dialogs;
};

/* A row with nothing but its name, and what holds for agents that we know nothing of. */
void profile_row_init(struct profile_row *r, const char *name);
void profile_row_release(struct profile_row *r);

/*
 * Checks the value and keeps it in place of an earlier one; code GT_USAGE, name "config" or
 * "pattern", the column's name in front.
 */
int profile_row_set(struct profile_row *r, const char *column, const char *value, struct err *e);

/*
 * Fills in what the row leaves to its name, then the view. No column may be set afterwards; the
 * row itself may still be moved.
 */
void profile_row_finish(struct profile_row *r);

#endif
