#ifndef TOWN_STARTS_H
#define TOWN_STARTS_H

#include <stdbool.h>
#include <stdint.h>

struct role_name;
struct town;

/*
 * Which conversations an agent of the town began, and whether the step from the one before to the last was meant. `gt prime` logs a
 * session_start in the agent's SessionStart hook, with the provider's id and the directory; two of them without anything between that ends
 * or gives out work on purpose say that the first one crashed and that its successor knows nothing (facts: gas-town.md 5).
 *
 * Read once for all agents: what is older than the log's last 4 MiB is not known, and an agent without a start there has none. The hook
 * also runs after a compaction and a --resume, with the same id: starts that follow each other with one id are one start, the oldest.
 * After /clear the same process logs a new id: who takes two starts for a crash looks first whether the process is younger than
 * before->at.
 */
struct starts;

struct starts *starts_new(const struct town *t);	/* never NULL; empty without a town or a log */
void starts_free(struct starts *s);

struct start {
	char *session_id;	/* foreign; of gt before 2026-02 also "mayor-18592" (actor and pid), which is no conversation's */
	char *cwd;		/* foreign; "" when it was not said */
	int64_t at;		/* ms since 1970; -1: not known */
};

struct starts_of {
	const struct start *last, *before;	/* lent by starts; NULL: none in reach */
	/*
	 * What came between the two and parts them (also when only the last one is in reach): "handoff",
	 * "done", "sling", "spawn", "kill", "halt", "session_end", or "session_death" for one that gt itself brought about (its own notes of
	 * a crash, and the removal of what was dead already, part nothing). NULL: nothing, so that the one before ended without being asked.
	 */
	const char *between;
	const char *after;	/* the same behind the last start; NULL: nothing */
	bool successor;		/* <cwd>/.runtime/handoff_to_successor is there: a handoff is under way, gt prime has not run yet */
};

/*
 * Of this role; of ROLE_PLAIN, or where the log names nobody whom we know, of this directory (may be NULL; its .runtime is looked at).
 */
void starts_of(const struct starts *s, const struct role_name *role, const char *cwd, struct starts_of *out);

#endif
