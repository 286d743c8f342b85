#ifndef REVIVE_DELIVER_H
#define REVIVE_DELIVER_H

struct err;
struct pane;
struct profile;
struct world;

/*
 * One paste of the prompt into a living, idle agent, and the Enter that sends it. The caller has looked (verify_look) and has committed that
 * it pastes.
 *
 * Gas Town's nudge lock is held from the first look to the last, so that nobody of the town types in between. Two looks must agree that the
 * agent waits with an empty box: its own note, where it keeps one, and its screen. The text goes into a buffer of its own and from there as
 * one bracketed paste. The batch that pastes is guarded by tmux itself: the pane lives (paste-buffer to a dead one crashes tmux 3.3a with
 * every session in it, T37), the server is the same, and this id was not pasted into it yet; in one breath with the paste the pane is marked
 * with the id (SIGHT_MARK). So of two that are late to paste the same prompt one does, and where the mark is missing nothing arrived.
 * Copy mode is left first, it eats keys (T14).
 *
 * Enter follows only when the input box holds the paste, the paste alone, and no dialog is open: an Enter sent blind accepts whatever is
 * there, and a person may have typed in the same moment. It carries the same guard. When it does not take the text out of the box, a literal
 * CR is tried (tmux 3.7b, T34). A paste that does not show within five seconds: the agent is sent SIGWINCH, which wakes one that does not
 * read its terminal while nobody looks at it, as Gas Town tells of Claude Code; it changes nothing else.
 *
 * A box that holds this paste already, unsent, because an earlier run ended in between, only gets its Enter.
 *
 * 0: it was typed, and the next look tells what became of it: it was sent off, the pane died, the agent went to work before the Enter, a
 * person's text stands beside it, or it did not show yet. In the last three cases the box is looked at again, and the function called again.
 * -1, nothing was typed: name "not-ready" (also when the pane died, another run was faster, or what stands in the box is not this paste
 * alone), "nudge-busy" and "interrupted" (GT_AGAIN), "nudge-lock". -1, name "not-submitted": Enter does not take it out of the box.
 */
int deliver_paste(struct world *w, const struct pane *p, const struct profile *profile, const char *id, const char *prompt,
    struct err *e);

#endif
