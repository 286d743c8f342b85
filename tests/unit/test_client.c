#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "temp.h"
#include "tmux/tmux.h"

/* A server that accepts and never answers, as a stopped one does (T23). */
static int
make_silent_server(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && strlen(path) < sizeof a.sun_path);
	memcpy(a.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

static void
gives_up_on_a_silent_server(void **state)
{
	char *dir = temp_dir(), *path = xasprintf("%s/s", dir);
	int fd = make_silent_server(path);
	struct err e = ERR_INIT;
	struct tmux t;

	(void)state;
	tmux_init(&t, path);
	t.timeout_ms = 300;
	assert_int_equal(tmux_do(&t, false, NULL, &e, "list-panes", "-a", NULL), -1);
	assert_string_equal(e.name, "server-silent");
	assert_int_equal(e.code, GT_AGAIN);
	/* who does not ask why gets no crash either */
	assert_int_equal(tmux_do(&t, false, NULL, NULL, "list-panes", "-a", NULL), -1);
	tmux_release(&t);
	close(fd);
	unlink(path);
	free(path);
	temp_remove(dir);
}

/* A tmux that answers the first command and goes on only when somebody has read that. */
static char *
make_waiting_tmux(const char *dir, const char *seen)
{
	char *path = xasprintf("%s/tmux", dir);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f,
	    "#!/bin/sh\nwhile read -r line; do\n\tcase $line in\n\tdisplay-message*)\n\t\tmark=${line#*\\'} "
	    "&& mark=${mark%%\\'}\n"
	    "\t\tprintf 'row %%s\\nrow\\n%%s\\n' \"${mark#* }\" \"$mark\"\n"
	    "\t\twhile [ ! -e '%s' ]; do sleep 0.01; done ;;\n\tesac\ndone\n",
	    seen);
	assert_int_equal(fchmod(fileno(f), 0700), 0);
	assert_int_equal(fclose(f), 0);
	return path;
}

struct follower {
	struct tmux_batch *b;
	const char *seen;
	size_t n;
};

static void
follow(void *arg, size_t i)
{
	struct follower *f = arg;
	char want[32];
	size_t n;
	const char *text = tmux_batch_output(f->b, i, &n);
	FILE *seen = fopen(f->seen, "w");

	assert_non_null(seen);
	fclose(seen);
	assert_int_equal(i, f->n++);
	snprintf(want, sizeof want, "row %zu\nrow", i);
	assert_int_equal(n, strlen(want));
	assert_memory_equal(text, want, n);
	/* of what has not come there is nothing yet */
	if (i == 0)
		assert_null(tmux_batch_output(f->b, 2, &n));
}

static void
hands_out_answers_as_they_come(void **state)
{
	char *dir = temp_dir(), *path = xasprintf("%s/s", dir), *seen = xasprintf("%s/seen", dir),
	     *tmux = make_waiting_tmux(dir, seen);
	char *before = xstrdup(getenv("PATH")), *with = xasprintf("%s:%s", dir, before);
	int fd = make_silent_server(path);
	struct tmux_batch b;
	struct follower f = { .b = &b, .seen = seen };
	struct err e = ERR_INIT;
	struct tmux t;

	(void)state;
	setenv("PATH", with, 1);
	tmux_init(&t, path);
	tmux_batch_init(&b);
	b.each = follow;
	b.arg = &f;
	for (int i = 0; i < 3; i++)
		tmux_batch_add(&b, "capture-pane", "-p", NULL);
	assert_int_equal(tmux_batch_run(&t, &b, &e), 0);
	assert_int_equal(f.n, 3);
	tmux_batch_release(&b);
	tmux_release(&t);
	setenv("PATH", before, 1);
	close(fd);
	unlink(path);
	unlink(seen);
	unlink(tmux);
	free(with);
	free(before);
	free(tmux);
	free(seen);
	free(path);
	temp_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_up_on_a_silent_server),
		cmocka_unit_test(hands_out_answers_as_they_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
