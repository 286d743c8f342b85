#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
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

bool
transcript_background(const char *path, const char *format, struct scrub *s, struct background_list *out)
{
	const struct transcript_format *how = transcript_format_find(format);
	int fd = how != NULL && how->background != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct transcript_tail t;
	bool known;

	*out = (struct background_list){ .n = 0 };
	if (fd < 0)
		return false;
	known = transcript_tail_init_fd(&t, fd, NULL) == 0;
	if (known) {
		how->background(&t, path, s, out);
		transcript_tail_release(&t);
	}
	close(fd);
	return known;
}

void
transcript_background_release(struct background_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct background *x = &l->v[i];
		char *texts[] = { x->id, x->what, x->input, x->when, x->path, x->done };

		for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
			free(texts[k]);
	}
	*l = (struct background_list){ .n = 0 };
}
