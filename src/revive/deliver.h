#ifndef REVIVE_DELIVER_H
#define REVIVE_DELIVER_H

struct err;
struct pane;
struct profile;
struct tmux;

/*
 * One paste of the prompt into a living, idle agent. The caller has looked (verify_look says STATE_IDLE) and has committed
 * that it pastes.
 *
 * The text goes into a buffer of its own and from there as one bracketed paste, guarded in the same batch against a dead
 * pane: paste-buffer to a dead pane crashes tmux 3.3a with every session in it (T37). Copy mode is left first, it eats
 * keys (T14). Enter follows only when the input box holds the paste, the paste alone, and no dialog is open: an Enter sent
 * blind accepts whatever is there, and a person may have typed in the same moment. When Enter does not take the text out of
 * the box, a literal CR is tried (tmux 3.7b, T34).
 *
 * 0: the text left the box, or the agent is at work. -1: name "dead", "gone", "not-ready" (nothing was typed), "not-submitted"
 * (the text stands in the box, or beside a person's).
 */
int deliver_paste(struct tmux *t, const struct pane *p, const struct profile *profile, const char *id, const char *prompt,
    struct err *e);

#endif
