#ifndef RECOVER_UPKEEP_UPKEEP_PRIVATE_H
#define RECOVER_UPKEEP_UPKEEP_PRIVATE_H

struct app;
struct clean_text;
struct err;
struct scrub;

/*
 * A mail to whoever watches over the agents, by `gt mail send` (run in the town's root, as gt
 * wants it) or by the command that [recovery.mail] names. That command is the user's own word and
 * is run by sh -c as it stands; nothing of ours is put into it: the body comes on standard input,
 * the address and the subject in its environment, GT_MAIL_TO and GT_MAIL_SUBJECT.
 */
struct mail {
	const char *town;		/* its root; NULL: none, then a command is needed */
	const char *command;		/* "" for gt mail send */
	const char *to;
	const struct clean_text *subject;	/* one line */
	const struct clean_text *body;
};

/*
 * Waits for its end, 30 s at most. s cleans what the program says in its defence. Names:
 * "no-mailer" (neither a town nor a command), "not-installed" (there is no gt), "mail" (it ended
 * with another status than 0: not sent), "timeout" (GT_AGAIN: nobody knows). Fault points: "mail"
 * before, "mail-sent" after it.
 */
int mail_send(const struct mail *m, struct scrub *s, struct err *e);

/* ---- tidy ---- */

/* Kept contexts, prompts and starts that are older than snapshot_age. */
void upkeep_tidy_folders(const struct app *w);

#endif
