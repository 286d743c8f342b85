#ifndef CONTEXT_MERGE_H
#define CONTEXT_MERGE_H

struct conversation;

/*
 * One conversation from the agent's transcript, an older snapshot of its pane and the pane's last screen. Any of the three may be NULL
 * or empty. Their exchanges are taken over: they are empty afterwards. `out` need not be initialised. Pure, linear (align.h).
 *
 * What is whose: the transcript is complete for all that had ended and wins there (markdown, whole outputs, calls that the screen
 * folds or never prints). The screen has what the transcript lacks: words that were streaming, how an open call stands and
 * what it had printed, queued prompts, notices, and what was said before a /clear or in an older session, of which the transcript knows
 * nothing. The snapshot fills what had scrolled away since, and stands in for a screen that is gone.
 *
 * - An exchange of both appears once: the transcript's, with its source; of an open call status and, where the transcript has none,
 *   result are the screen's. Of two screens the newer's, unless its top cut the exchange.
 * - A folded line of the screen ("Read 3 files") goes when the calls that it stands for are there. So does a fragment at the torn top
 *   of a screen that stands whole in the exchange that it was torn from.
 * - All else is kept, each source in its own order, marked with its source. Between two exchanges of both, what only the transcript has
 *   stands before what only the screen has, but the program's own remarks stay behind what they remark on.
 * - When transcript and screen have nothing in common, neither is taken for a part of the other: a screen that shows where a session
 *   began is another one and stands before, any other screen (the rows of a long answer that fill it) goes on behind. Words that are much
 *   the same but contradict each other are kept both.
 * - A last prompt without an answer that stands in the draft again was taken back by the person (Esc): interrupted.
 *
 * Of `out`: draft, tasks, question, limit, farewell, resume_id, lines and unknown_lines are the newest screen's (of the transcript
 * limit, lines and unknown_lines when there is no screen), session_id the transcript's, banner the first that is known of screen,
 * transcript, snapshot; truncated_at belongs to the source of the oldest exchange.
 */
void merge(struct conversation *transcript, struct conversation *snapshot, struct conversation *screen, struct conversation *out);

#endif
