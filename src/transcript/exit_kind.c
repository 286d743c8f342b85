#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "transcript/transcript.h"
#include "transcript/transcript_private.h"

/* The end of a file, by one of the functions of its format; the other is NULL. */
static void
read_tail(const struct transcript_format *how, const char *path, enum exit_kind *kind, enum last_turn *turn)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct transcript_tail t;

	if (fd < 0)
		return;
	if (transcript_tail_init_fd(&t, fd, NULL) == 0) {
		if (kind != NULL)
			*kind = how->exit_kind(&t);
		else
			*turn = how->last_turn(&t);
		transcript_tail_release(&t);
	}
	close(fd);
}

enum last_turn
transcript_last_turn(const struct transcript_format *how, const char *path)
{
	enum last_turn turn = TURN_UNKNOWN;

	if (how->last_turn != NULL)
		read_tail(how, path, NULL, &turn);
	return turn;
}

enum exit_kind
transcript_exit_kind(const char *format, const char *transcript)
{
	const struct transcript_format *how = transcript_format_find(format);
	enum exit_kind kind = EXIT_UNKNOWN;

	if (how != NULL && how->exit_kind != NULL)
		read_tail(how, transcript, &kind, NULL);
	else if (how != NULL && transcript_last_turn(how, transcript) == TURN_RUNS)
		kind = EXIT_KILLED;
	return kind;
}
