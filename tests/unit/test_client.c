#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "temp.h"
#include "tmux/client.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(gives_up_on_a_silent_server) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
