#ifndef CONTEXT_PARTING_H
#define CONTEXT_PARTING_H

/*
 * Whether the agent of a transcript took its leave or was killed, by the transcript's end alone. `format` as in context/transcript.h.
 *
 * Claude Code that is ended (/exit, SIGTERM, SIGHUP) ends its transcript with a record of the type last-prompt (2.1.197) or cost-state
 * (2.1.330); killed, with neither. Versions before 2.1.197 are not known to write any: of them nothing is told.
 * Copilot 1.0.102 ends with session.shutdown. Codex 0.169.0 writes no farewell: a turn that was begun and neither completed nor given up is
 * all that tells. Of the others nothing is known, and nothing told.
 */
enum parting {
	PARTING_UNKNOWN,	/* no such file, or a version that does not say */
	PARTING_GOODBYE,	/* it was ended */
	PARTING_NONE		/* it was killed, or still runs */
};

enum parting parting_of(const char *format, const char *transcript);
/* The same for a conversation of Claude Code by its id and the directory that it was held in; what of it is NULL is not known. */
enum parting parting_of_session(const char *config_dir, const char *cwd, const char *session_id);

#endif
