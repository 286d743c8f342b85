#ifndef TMUX_QUOTE_H
#define TMUX_QUOTE_H

#include <stddef.h>

struct buf;

/*
 * Appends one argument in the syntax of tmux's own command language, so that tmux reads back exactly these bytes. Runs of single quotes
 * (nothing is expanded there), a newline as "\n" in double quotes: inside quotes tmux drops the blanks that follow a raw newline.
 * Read on 3.3a. Formats (#{…}, #(…)) are a matter of the command, not of quoting: see quote_format.
 */
void quote_arg(struct buf *out, const char *arg);

/* Appends text with every # doubled: for the few arguments that tmux expands as a format (respawn-pane -c; fact T3). */
void quote_format(struct buf *out, const char *text);

/*
 * Appends the name that tmux stored as that one (#{session_name}): a backslash and control characters stand in it as vis(3) escapes, which
 * tmux would escape once more (T1).
 */
void quote_given(struct buf *out, const char *stored);

/* Appends one argument in the syntax of sh. */
void quote_sh(struct buf *out, const char *arg);

/*
 * Reads #{pane_start_command} back into the arguments that it was made of: tmux prints each in a form of its own (args_escape: double or
 * single quotes or none, and inside them vis(3) escapes). Returns the number of arguments, *argv is heap (free with quote_free);
 * -1 when the text is not of that form.
 */
int quote_split(const char *text, char ***argv);
void quote_free(char **argv, int argc);

#endif
