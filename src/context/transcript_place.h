#ifndef CONTEXT_TRANSCRIPT_PLACE_H
#define CONTEXT_TRANSCRIPT_PLACE_H

#include <stdbool.h>

/*
 * Where Claude Code keeps a conversation: <config>/projects/<slug>/<session id>.jsonl. The slug is the real path of the working directory
 * with every UTF-16 unit that is no ASCII letter or digit turned into "-". Since 2.1.197 (not in 2.1.37) one that is longer than 200 is cut
 * there, and "-" and a hash of the path follow: h = 31 h + unit in 32 bits with a sign, its amount in base 36 (seen: a path of 250).
 */

/* The project folder of a directory, heap; NULL when there is none. */
char *transcript_folder(const char *config_dir, const char *cwd);
/* Path of a session's transcript, heap; NULL when no such file exists. */
char *transcript_in(const char *folder, const char *session_id);
char *transcript_path(const char *config_dir, const char *cwd, const char *session_id);
/* True for the form that session ids have: a UUID. Files of sub-agents (agent-….jsonl, beside the sessions in 2.0.76) have another. */
#define TRANSCRIPT_ID_CHARS 36
bool transcript_is_id(const char *text);

#endif
