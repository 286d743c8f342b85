#ifndef REVIVE_KEPT_H
#define REVIVE_KEPT_H

struct buf;
struct conversation;
struct err;
struct gathered;
struct world;

/*
 * What a recovery gathered, on disk: <state>/contexts/<recovery id>.json, 0600, clean text only. It is written before anything that can
 * wipe the pane, and read again when the prompt has to be pasted and when the recovered agent crashes, too.
 */
int kept_write(struct world *w, const char *session, const char *recovery_id, const struct gathered *g, struct err *e);

/* 1 found, 0 not there any more, -1 err. talk (overwritten) and prompt (appended to) may be NULL. */
int kept_read(struct world *w, const char *recovery_id, struct conversation *talk, struct buf *prompt, struct err *e);

#endif
