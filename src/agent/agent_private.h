#ifndef AGENT_AGENT_PRIVATE_H
#define AGENT_AGENT_PRIVATE_H

#include <stddef.h>

#include "agent/agent.h"

/* A row of config/agents.ini while it is read, column by column. */

/* Ended by NULL, by a dialog without a name. */
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

/* With the defaults of an unknown agent. */
void profile_row_init(struct profile_row *r, const char *name);
void profile_row_release(struct profile_row *r);

/* Checks and sets. GT_USAGE, name "config" or "pattern", the column's name in front. */
int profile_row_set(struct profile_row *r, const char *column, const char *value, struct err *e);

/* Fills in what the name decides, then the view. Set no column afterwards; the row may be moved. */
void profile_row_finish(struct profile_row *r);

#endif
