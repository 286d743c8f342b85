#ifndef TRANSCRIPT_FORMAT_FORMAT_PRIVATE_H
#define TRANSCRIPT_FORMAT_FORMAT_PRIVATE_H

#include "transcript/transcript_private.h"

/* ---- claude ---- */

/* The members of a record of Claude Code's that are wanted; those that it lacks have no value. */
struct claude_record {
	struct json_slice type, subtype, uuid, parent, logical, time, session, version, message, content,
	    attachment, operation, result;
	struct json_slice error;
	bool side, meta, summary, api_error;
	struct json_slice loaded_by;	/* of a skill's text: the id of the call that loaded it */
	/* of the message */
	struct json_slice message_id, model, stop, blocks;	/* blocks: a string or an array */
};

/* False: the record has no type. */
bool claude_record_parse(struct json_slice record, struct claude_record *out);
void claude_record_entry(const struct claude_record *p, struct transcript_entry *out);	/* all but at and n */

/* What sub-agents did whose calls have no result, from their own files beside the transcript. */
void claude_agents(struct transcript_reading *r);
/* The last words of a sub-agent in its file, in one line of clean text; heap, NULL: none. */
char *claude_agent_words(const char *file, struct scrub *s);

/* ---- claude_background ---- */

void claude_background(
    struct transcript_tail *t, const char *path, struct scrub *s, struct background_list *out);

/* ---- claude_tasks ---- */

/* The todos of TodoWrite, one a line as the screen shows them: "◼ Fix the fault". */
void claude_todos(struct buf *out, struct json_slice todos);
/* The task list of the Task tools, from their files; nothing where there are none. */
void claude_tasks(struct transcript_reading *r);

/* ---- claude_words ---- */

/*
 * What stands in a user record need not be the person's words: commands, their output, notes for
 * the model come as user messages in tags of the program's own (seen in 1.0.128 to 2.1.330).
 */
enum claude_words {
	WORDS_NONE,		/* for the model only */
	WORDS_PERSON,
	WORDS_COMMAND,		/* the person's, a slash command; what it stands for may follow */
	WORDS_SYSTEM,		/* the output of a command, a sub-agent's notice, what a hook said */
	WORDS_FAILED,		/* of the program as well, and bad news */
	WORDS_INTERRUPTED	/* the person stopped what stands before */
};

/*
 * Turns the text into what a person would have seen: "/name args", "! command", output without
 * its tags. meta: the record is marked as the program's own.
 */
enum claude_words claude_unwrap_words(struct buf *text, bool meta);

/*
 * Appends a JSON string decoded, without the escape sequences of terminals, with "\n" for "\r\n"
 * and "\r". Longer than `most` (0: no limit) the middle is left out, from blank to blank, and the
 * text says so.
 */
void format_decode_text(struct buf *out, struct json_slice v, size_t most);
/* The same for a string or the blocks of a message: texts and "[image]", a line each. */
void format_content_text(struct buf *out, struct json_slice v, size_t most);
/*
 * Does the text begin with that tag, attributes or not, and end with its closing one? Then what
 * stands between them is left.
 */
bool format_untag(struct buf *text, const char *name);
/* "<system-reminder>" at the end, "<tool_use_error>" around it: not the tool's words. */
void format_unwrap_result(struct buf *text);

/* ---- message_parts ---- */

/* The content of a message as several agents write it, told. */

/*
 * Put in by the program, not by the person or the model? text is the caller's no more, then. NULL
 * for "never".
 */
typedef bool format_injected_fn(struct buf *text);

/*
 * Google's (gemini, qwen): a string or a list of text, functionCall, functionResponse. Thoughts
 * are left out; calls: false leaves the calls out as well, they are told from elsewhere.
 */
void format_emit_parts(struct transcript_builder *t, const struct transcript_entry *r, enum role role,
    struct json_slice parts, format_injected_fn *injected, bool calls);
/*
 * The response in a functionResponse: {"output": …}, {"error": …}; anything else as it is. True:
 * it is an error.
 */
bool format_part_response(struct buf *out, struct json_slice response);

/*
 * Blocks (pi, cline, as Anthropic's): a string or a list of text, image, tool_use or toolCall,
 * tool_result; thinking is left out.
 */
void format_emit_blocks(struct transcript_builder *t, const struct transcript_entry *r, enum role role,
    struct json_slice blocks, format_injected_fn *injected);

/* ---- tool_call ---- */

/*
 * A call of one of Claude Code's tools as a person wants to read it. A table says which parts of
 * the input are shown; a tool that it does not know is shown as compact JSON.
 */
void claude_call_input(struct buf *out, struct json_slice name, struct json_slice input);

/*
 * A call of any other agent's tool, of which no table tells: what a command, a path or a text is
 * stands alone, other members behind their names, each from a line of its own. A string holds
 * JSON (codex, auggie), or is shown as it is.
 */
void format_call_members(struct buf *out, struct json_slice input);

/*
 * A result: the words that the model was given. answer: the record's toolUseResult; when it holds
 * a patch (Edit, Write, MultiEdit, NotebookEdit) that is the result, as a unified diff. True
 * then: the input need not repeat the change.
 */
bool claude_call_result(struct buf *out, struct json_slice content, struct json_slice answer);
/* The file that a patch changes, for the input of such a call. */
void claude_patched_file(struct buf *out, struct json_slice answer);

#define CALL_MOST ((size_t)512 << 10)	/* bytes of an input or a result; beyond, the middle is left out */

#endif
