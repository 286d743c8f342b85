#ifndef REVIVE_GATHER_H
#define REVIVE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "context/capture.h"
#include "context/exchange.h"
#include "context/transcript_find.h"
#include "prompt/prompt.h"
#include "revive/earlier.h"
#include "work/bead.h"

struct candidate;
struct err;
struct scrub;
struct template;
struct world;

/*
 * Drives the reading half for one candidate: capture, scrub, read the screen, the newest snapshot and the transcript, merge them, unfold what an earlier recovery
 * had gathered, bead, git, checkpoint, prompt. Changes nothing anywhere. All strings are clean.
 */
struct gathered {
	struct scrub *scrub;
	struct capture capture;
	struct conversation talk;
	struct bead bead;
	struct clean_text *git;
	struct clean_text *checkpoint;
	char **warnings;
	size_t n_warnings, cap_warnings;
	size_t work_from, work_to;	/* those about the work: bead, git, checkpoint, what was half done */
	struct transcript_found found;	/* the agent's own record that was read */
	size_t records, unknown_records;	/* of it; a last one that the death tore apart is none that anybody knows */
	struct earlier earlier;		/* the recovery whose context was unfolded */
	struct {
		int64_t at;		/* of the newest snapshot of the pane, or of the session; 0: there is none */
		size_t rows;
		bool used;		/* it had what the pane and the transcript had not */
	} snapshot;
	char *reason;			/* "killed by signal 9", for people and the prompt */
	struct buf prompt;		/* after gather_prompt */
	struct prompt_stats stats;
};

/*
 * scope "task": the conversation since the current work began (context/task.h); "lines": all that was captured. NULL: key scope.
 */
int gather(struct world *w, const struct candidate *c, const char *scope, struct gathered *out, struct err *e);
/* Teaches the scrubber everything by whose value a secret can be told on the candidate's screen: its environments, start command
 * and credential files, as far as [recovery.scrub] wants it. */
void gather_learn(struct world *w, struct scrub *s, const struct candidate *c);
/*
 * The bead alone, for lists and snapshots. What cannot be read stays empty. Of beads in Dolt only what is hooked: bd is asked once for each
 * directory and command, not for each agent, so that what the agent's own bead says against a recovery is heard only by the recovery itself.
 */
void gather_bead(struct world *w, const struct candidate *c, struct scrub *s, struct bead *out);
/* Writes out->prompt for this recovery id. */
int gather_prompt(struct world *w, const struct candidate *c, const char *recovery_id, struct gathered *out, struct err *e);
/*
 * The same for an agent that goes on with its own conversation: only what that lacks. Calls without a result (Claude Code 2.1.197 takes
 * them out without a word when it resumes, 2.1.330 gives them a result that says that it is unknown), prompts that were queued, the last
 * rows that the screen or a snapshot has and the transcript has not; draft, question, bead, git, what became of the half-done. Name "budget"
 * when it does not fit into max_tokens.
 */
int gather_nudge(struct world *w, const struct candidate *c, const char *recovery_id, size_t max_tokens, struct gathered *out, struct err *e);
/*
 * The configured template, or the built-in one: of the prompt, or of the nudge. A configured one is scrubbed first; scrub NULL: it is not,
 * and good for a check alone. NULL with err (GT_USAGE). Free with template_free.
 */
struct template *gather_template(struct world *w, bool nudge, struct scrub *scrub, struct err *e);
void gathered_release(struct gathered *g);

/* "killed by signal 9", "exited with status 3", …; heap. */
char *gather_reason(const struct candidate *c);

#endif
