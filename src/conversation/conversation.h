#ifndef CONVERSATION_CONVERSATION_H
#define CONVERSATION_CONVERSATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;

/* ---- exchange ---- */

/*
 * What was said and done, whatever it was read from. Strings are heap, owned by the conversation,
 * UTF-8, and made only from clean text (scrub/scrub.h): the readers take struct clean_text.
 */
enum role { ROLE_USER, ROLE_ASSISTANT, ROLE_SYSTEM };
/*
 * Of a call: RUNNING has no answer yet; WAITING asks for a permission; INTERRUPTED never got an
 * answer although the conversation went on (the agent died and was resumed); FAILED was answered
 * by an error, or refused or stopped by the person, which the model was told. Of words: RUNNING
 * were still streaming; WAITING (user) are queued; INTERRUPTED were stopped by the person.
 */
enum status { STATUS_COMPLETE, STATUS_RUNNING, STATUS_WAITING, STATUS_INTERRUPTED, STATUS_FAILED };
/* EARLIER: context of an earlier recovery */
enum source { SOURCE_SCREEN, SOURCE_TRANSCRIPT, SOURCE_SNAPSHOT, SOURCE_EARLIER };

struct exchange {
	enum role role;
	enum status status;
	enum source source;
	char *tool;		/* the name as the source prints it ("Bash", "Update"), NULL: plain words */
	char *input;		/* of a tool: what it was called with; NULL otherwise */
	char *content;		/* words, or a tool's result; never NULL */
	int64_t at;		/* when it was said, ms of the wall clock; 0: the source does not tell */
	bool folded; /* the screen's summary of calls that it does not show ("Read 3 files"); tool is then a
			guess */
};

/* Exchanges that were left out: all, the user's words, the agent's words; what stood in all of them. */
struct older_count {
	size_t all, users, answers;
	size_t lines, bytes;
};

struct conversation {
	struct exchange *v;
	size_t n, cap;
	struct older_count older;	/* behind the first message of the user, which is v[0] then */
	char *draft;		/* typed and never sent; NULL: none */
	char *tasks;		/* the task list, one task a line as it is shown ("◼ Fix it"); NULL: none */
	char *question;		/* the open dialog's question (permission, plan, choice); NULL: none */
	char *banner;		/* version as the last banner prints it, "2.1.197"; NULL: not seen */
	/* the agent's own id of the conversation, as its transcript names it; NULL: not known */
	char *session_id;
	size_t lines;		/* rows read; of a transcript its records */
	/*
	 * rows that no rule understood, kept in place; of a transcript records of a type that
	 * none knows, left out
	 */
	size_t unknown_lines;
	ssize_t truncated_at;	/* row at which older text was cut away; -1: nothing was cut */
	bool turn_over;		/* the transcript says that the agent's last turn ended */
	bool limit;		/* the last screen shows a usage or auth limit */
	bool farewell;		/* "Resume this session with": the agent was ended on purpose */
	char *resume_id;	/* session id of the farewell, NULL: none */
};

/* How the exchange of the system begins that holds the summary of a compaction. */
#define CONVERSATION_SUMMARY "Summary of the conversation so far:"

#define CONVERSATION_INIT { .truncated_at = -1 }

void conversation_release(struct conversation *c);	/* frees contents, c is empty again */
/*
 * A heap string from any bytes, for tool, input, content and the fields above: NUL and invalid
 * UTF-8 become U+FFFD. b is empty then.
 */
char *conversation_text(struct buf *b);
/* Appends; takes over tool, input and content (heap or NULL). The pointer is valid until the next add. */
struct exchange *conversation_add(struct conversation *c, enum role role, char *tool, char *input,
    char *content);
/* Appends x as it is, with its strings; x is empty then. */
struct exchange *conversation_take(struct conversation *c, struct exchange *x);
/*
 * Drops the oldest exchanges until the words and inputs of the rest are of max bytes at most, and
 * counts them as older; the newest one and the first message of the user stay. True: some were
 * dropped.
 */
bool conversation_limit(struct conversation *c, size_t max);
void exchange_count_older(struct older_count *n, const struct exchange *x);
void exchange_release(struct exchange *x);		/* frees its strings; x is empty then */

/* Borrowed, NULL when there is none. */
const char *conversation_last_user(const struct conversation *c);
/* "Bash(make all) running", or the last line of the agent's words; heap, NULL when there is none. */
char *conversation_last_action(const struct conversation *c);
/* plain words only, no tools; with those that were left out */
size_t conversation_count(const struct conversation *c, enum role role);

/* Is a task of the list not done? */
bool conversation_has_open_task(const struct conversation *c);
/*
 * The task list with words in the place of marks: "- in progress: Fix it", heap; and the same taken
 * back. A line without either stays as it is.
 */
char *conversation_tasks_list(const char *tasks);
char *conversation_tasks_from_list(const char *list);

const char *exchange_role_name(enum role r);		/* "user", "assistant", "system" */
const char *exchange_status_name(enum status s); /* "complete", "running", "waiting", "interrupted",
    "failed" */
const char *exchange_source_name(enum source s); /* "screen", "transcript", "snapshot", "earlier" */

/*
 * The shape of `parse --json` (DESIGN 7): exchanges[] of {role, tool, input, content, status,
 * source}, last_user_message, last_agent_action, truncated_at, lines, unknown_lines, draft,
 * tasks, question, agent_version, limit, farewell, resume_id, session_id. What is not there is
 * null; an exchange has also "at" and "folded": true where they are known. New reference.
 * from_json reads it back: c need not be initialised, and is empty after -1 (name "json").
 */
json_t *conversation_json(const struct conversation *c);
int conversation_from_json(struct conversation *c, const json_t *v, struct err *e);

/* ---- merge ---- */

/*
 * One conversation from the agent's transcript, an older snapshot of its pane and the pane's last
 * screen. Any of the three may be NULL or empty. Their exchanges are taken over: they are empty
 * afterwards. `out` need not be initialised. Pure, linear (conversation_private.h).
 *
 * What is whose: the transcript is complete for all that had ended and wins there (markdown,
 * whole outputs, calls that the screen folds or never prints). The screen has what the transcript
 * lacks: words that were streaming, how an open call stands and what it had printed, queued
 * prompts, notices, and what was said before a /clear or in an older session, of which the
 * transcript knows nothing. The snapshot fills what had scrolled away since, and stands in for a
 * screen that is gone.
 *
 * - An exchange of both appears once: the transcript's, with its source; of an open call status
 *   and, where the transcript has none, result are the screen's. Of two screens the newer's,
 *   unless its top cut the exchange.
 * - A folded line of the screen ("Read 3 files") goes when the calls that it stands for are
 *   there. So does a fragment at the torn top of a screen that stands whole in the exchange that
 *   it was torn from.
 * - All else is kept, each source in its own order, marked with its source. Between two exchanges
 *   of both, what only the transcript has stands before what only the screen has, but the
 *   program's own remarks stay behind what they remark on.
 * - When transcript and screen have nothing in common, neither is taken for a part of the other:
 *   a screen that shows where a session began is another one and stands before, any other screen
 *   (the rows of a long answer that fill it) goes on behind. Words that are much the same but
 *   contradict each other are kept both.
 * - A last prompt without an answer that stands in the draft again was taken back by the person
 *   (Esc): interrupted.
 *
 * Of `out`: draft, question, limit, farewell, resume_id, lines and unknown_lines are the newest
 * screen's (of the transcript limit, lines and unknown_lines when there is no screen), tasks the
 * transcript's or else the screen's, session_id and turn_over the transcript's, banner the first
 * that is known of screen, transcript, snapshot;
 * truncated_at belongs to the source of the oldest exchange.
 */
void conversation_merge(struct conversation *transcript, struct conversation *snapshot,
    struct conversation *screen, struct conversation *out);

/* ---- letters ---- */

/* Which characters beyond ASCII count; of ASCII its letters and digits do. */
enum letter_set {
	/* letters of all scripts; ASCII in lower case; without placeholders and code fences' languages */
	LETTERS_OF_SCRIPTS,
	LETTERS_VISIBLE,	/* what takes a column and is valid UTF-8 */
	LETTERS_NOT_DRAWN	/* from U+00C0 on, but for U+2000 to U+2BFF: punctuation, boxes, signs */
};

/* The letters of p .. end, one by one; the other members begin as zeroes. */
struct letter_walk {
	const char *p, *end;
	enum letter_set set;
	bool gaps;		/* a placeholder was left out */
	bool inside;		/* not at the beginning of a line */
	char lower;
};

/* False at the end. *letter: n bytes, valid until the next call. */
bool exchange_next_letter(struct letter_walk *w, const char **letter, size_t *n);
/* Appends the LETTERS_OF_SCRIPTS of a text. */
void exchange_letters(struct buf *out, const char *text);

/* True for the first words of the agent's program itself, with which a session begins on a screen. */
bool exchange_is_banner(const struct exchange *x);

/* ---- task ---- */

/*
 * Where in a conversation the current piece of work began (scope "task"). Pure, linear.
 *
 * A conversation falls into stretches. A new one begins
 * - behind a "/clear" ("/reset" and "/new" are the same command in every version measured): what
 *   stands before it was given up by the person and is never taken back;
 * - at a banner (the agent was started anew) behind which anybody says anything, at Gas Town's
 *   first words to a session ("[GAS TOWN] polecat toast …"), and at words that hand out another
 *   work item ("assigned", "hooked", "slung", "handoff" with an id of the same prefix). What an
 *   earlier recovery brought (SOURCE_EARLIER) was cut to its work then: banners in it are none,
 *   and it goes on over that of the agent it was brought to. So does one transcript over a banner
 *   in its midst: it was resumed. The work began where the words of the person or a summary name
 *   its id for the first time in the last stretch that names it: a reminder in the middle of the
 *   work does not begin it anew, an assignment after other work does. An id counts as a whole
 *   word, in any case: "gt-ab" is not in "gt-abc", "gt-ab-2" or "gt-ab.1" (a child). When no
 *   stretch names it, or `bead` is NULL, the last stretch is the work. A summary of a compaction
 *   that stands behind the beginning stays where it is, like all else.
 */
/* index; 0 when nothing tells, c->n when nothing follows */
size_t conversation_task_start(const struct conversation *c, const char *bead);
/* drops what stands before conversation_task_start */
void conversation_cut_to_task(struct conversation *c, const char *bead);

#endif
