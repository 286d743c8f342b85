#ifndef CONTEXT_EXCHANGE_H
#define CONTEXT_EXCHANGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;

/*
 * What was said and done, whatever it was read from. Strings are heap, owned by the conversation, UTF-8, and made only from clean
 * text (scrub/scrub.h): the readers take struct clean_text.
 */
enum role { ROLE_USER, ROLE_ASSISTANT, ROLE_SYSTEM };
/*
 * Of a call: RUNNING has no answer yet; WAITING asks for a permission; INTERRUPTED never got an answer although the conversation went on
 * (the agent died and was resumed); FAILED was answered by an error, or refused or stopped by the person, which the model was told. Of
 * words: RUNNING were still streaming; WAITING (user) are queued; INTERRUPTED were stopped by the person.
 */
enum status { STATUS_COMPLETE, STATUS_RUNNING, STATUS_WAITING, STATUS_INTERRUPTED, STATUS_FAILED };
enum source { SOURCE_SCREEN, SOURCE_TRANSCRIPT, SOURCE_SNAPSHOT, SOURCE_EARLIER };	/* EARLIER: context of an earlier recovery */

struct exchange {
	enum role role;
	enum status status;
	enum source source;
	char *tool;		/* the name as the source prints it ("Bash", "Update"), NULL: plain words */
	char *input;		/* of a tool: what it was called with; NULL otherwise */
	char *content;		/* words, or a tool's result; never NULL */
	int64_t at;		/* when it was said, ms of the wall clock; 0: the source does not tell */
	bool folded;		/* the screen's summary of calls that it does not show ("Read 3 files"); tool is then a guess */
};

struct conversation {
	struct exchange *v;
	size_t n, cap;
	char *draft;		/* typed and never sent; NULL: none */
	char *tasks;		/* the task list as shown, one task a line; NULL: none */
	char *question;		/* the open dialog's question (permission, plan, choice); NULL: none */
	char *banner;		/* version as the last banner prints it, "2.1.197"; NULL: not seen */
	char *session_id;	/* the agent's own id of the conversation, as its transcript names it; NULL: not known */
	size_t lines;		/* rows read; of a transcript its records */
	size_t unknown_lines;	/* rows that no rule understood, kept in place; of a transcript records of a type that none knows, left out */
	ssize_t truncated_at;	/* row at which older text was cut away; -1: nothing was cut */
	bool limit;		/* the last screen shows a usage or auth limit */
	bool farewell;		/* "Resume this session with": the agent was ended on purpose */
	char *resume_id;	/* session id of the farewell, NULL: none */
};

#define CONVERSATION_INIT { .truncated_at = -1 }

void conversation_release(struct conversation *c);	/* frees contents, c is empty again */
/* A heap string from any bytes, for tool, input, content and the fields above: NUL and invalid UTF-8 become U+FFFD. b is empty then. */
char *conversation_text(struct buf *b);
/* Appends; takes over tool, input and content (heap or NULL). The pointer is valid until the next add. */
struct exchange *conversation_add(struct conversation *c, enum role role, char *tool, char *input, char *content);
/* Appends x as it is, with its strings; x is empty then. */
struct exchange *conversation_take(struct conversation *c, struct exchange *x);
/* Drops the oldest exchanges until the words and inputs of the rest are of max bytes at most; the newest one stays. True: some were dropped. */
bool conversation_limit(struct conversation *c, size_t max);
void exchange_release(struct exchange *x);		/* frees its strings; x is empty then */

/* Borrowed, NULL when there is none. */
const char *conversation_last_user(const struct conversation *c);
/* "Bash(make all) running", or the last line of the agent's words; heap, NULL when there is none. */
char *conversation_last_action(const struct conversation *c);
size_t conversation_count(const struct conversation *c, enum role role);	/* plain words only, no tools */

const char *role_name(enum role r);		/* "user", "assistant", "system" */
const char *status_name(enum status s);		/* "complete", "running", "waiting", "interrupted", "failed" */
const char *source_name(enum source s);		/* "screen", "transcript", "snapshot", "earlier" */

/*
 * The shape of `parse --json` (DESIGN 7): exchanges[] of {role, tool, input, content, status, source}, last_user_message,
 * last_agent_action, truncated_at, lines, unknown_lines, draft, tasks, question, agent_version, limit, farewell,
 * resume_id, session_id. What is not there is null; an exchange has also "at" and "folded": true where they are known. New reference. from_json reads it back: c need not be initialised, and is empty
 * after -1 (name "json").
 */
json_t *conversation_json(const struct conversation *c);
int conversation_from_json(struct conversation *c, const json_t *v, struct err *e);

#endif
