#ifndef CONTEXT_TRANSCRIPT_FIND_H
#define CONTEXT_TRANSCRIPT_FIND_H

/*
 * Where Claude Code keeps a conversation: <config>/projects/<slug>/<session id>.jsonl. The slug is the real path of the working directory
 * with every UTF-16 unit that is no ASCII letter or digit turned into "-"; longer than 200 it is cut there and a hash is added, so the
 * folder is found by its first 200 characters.
 */

/* The project folder of a directory, heap; NULL when there is none. */
char *transcript_folder(const char *config_dir, const char *cwd);
/* Path of a session's transcript, heap; NULL when no such file exists. */
char *transcript_path(const char *config_dir, const char *cwd, const char *session_id);

#endif
