#ifndef CMD_CHOOSE_H
#define CMD_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

struct candidate;
struct candidates;
struct err;
struct say;

/*
 * Which candidates a person means.
 */

/*
 * The one that a word on the command line names: a session's exact name, or a pane id. NULL with err: "unknown-session",
 * "ambiguous" (GT_USAGE).
 */
struct candidate *choose_named(struct candidates *all, const char *word, struct err *e);

/*
 * The picker of seed S2: the numbered list and the question on stdout, an answer from standard input. chosen[i] is set for
 * those taken; returns how many, 0 for none (also at the end of input), -1 with err when the answers made no sense (three
 * times, or once when nobody sits there).
 */
int choose_ask(const struct candidates *all, const bool *offered, bool *chosen, bool terminal, struct err *e);

/* "1", "1-3", "1,3 5", "all", "none": sets chosen; -1 when it is none of these. n: how many are offered. */
int choose_answer(const char *answer, size_t n, bool *chosen);

/* "[crashed 5m ago]" */
struct buf;
void choose_age(struct buf *out, const struct candidate *c);

#endif
