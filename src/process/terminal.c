#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "process/terminal.h"
#include "base/clock.h"
#include "base/err.h"

#define CTRL_C 3

static int
terminal_open(const char *tty, struct err *e)
{
	int fd = open(tty, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		err_set(e, GT_FAIL, "terminal", "the terminal %s cannot be opened: %s", tty, strerror(errno));
	return fd;
}

static int
terminal_failed(const char *tty, const char *what, struct err *e)
{
	return err_set(
	    e, GT_FAIL, "terminal", "the terminal %s cannot be %s: %s", tty, what, strerror(errno));
}

int
terminal_mode(const char *tty, struct terminal_mode *out, struct err *e)
{
	int fd = terminal_open(tty, e), ret = fd < 0 ? -1 : 0;
	struct termios t;

	if (ret == 0 && tcgetattr(fd, &t) != 0)
		ret = terminal_failed(tty, "read", e);
	if (ret == 0)
		*out = (struct terminal_mode){ .canonical = (t.c_lflag & ICANON) != 0,
			.echo = (t.c_lflag & ECHO) != 0,
			.interrupt = t.c_cc[VINTR] };
	if (fd >= 0)
		close(fd);
	return ret;
}

int
terminal_repair(const char *tty, bool cooked, struct err *e)
{
	int fd = terminal_open(tty, e), ret = fd < 0 ? -1 : 0;
	struct termios t;
	tcflag_t flow;

	if (ret == 0 && tcgetattr(fd, &t) != 0)
		ret = terminal_failed(tty, "read", e);
	if (ret == 0) {
		/* only switching IXON off and on lets a stopped output go on; tcflow does not */
		flow = t.c_iflag & IXON;
		t.c_iflag &= ~(tcflag_t)IXON;
		tcsetattr(fd, TCSANOW, &t);
		t.c_iflag |= flow;
		t.c_oflag |= OPOST | ONLCR;
		t.c_lflag |= ISIG;
		if (cooked) {
			t.c_iflag |= ICRNL;
			t.c_lflag |= ICANON | ECHO | ECHOE | ECHOK | IEXTEN;
		}
		if (tcsetattr(fd, TCSANOW, &t) != 0)
			ret = terminal_failed(tty, "set", e);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

#define RELEARN_TRIES 40
#define RELEARN_MS 60

bool
terminal_relearn(const char *tty, pid_t shell)
{
	int fd = terminal_open(tty, NULL);
	bool done = false;
	struct termios t;

	for (int i = 0; fd >= 0 && i < RELEARN_TRIES && !done && kill(shell, SIGINT) == 0; i++) {
		int64_t until = clock_mono_ms() + RELEARN_MS;

		/* no ISIG: not the line editor's; no IEXTEN: its own, begun with the bad settings */
		while (!done && clock_mono_ms() < until && tcgetattr(fd, &t) == 0) {
			if ((t.c_lflag & ISIG) == 0)
				terminal_make_sane(fd);
			done = (t.c_lflag & (ISIG | IEXTEN | ICANON)) == (ISIG | IEXTEN);
		}
	}
	if (fd >= 0)
		close(fd);
	return done;
}

int
terminal_put(const char *tty, const char *bytes, size_t n, struct err *e)
{
	int fd = terminal_open(tty, e), ret = fd < 0 ? -1 : 0;

	if (ret == 0 && write(fd, bytes, n) != (ssize_t)n)
		ret = terminal_failed(tty, "written to", e);
	if (fd >= 0)
		close(fd);
	return ret;
}

int
terminal_make_sane(int fd)
{
	struct termios t;

	if (tcgetattr(fd, &t) != 0)
		return -1;
	t.c_iflag |= ICRNL | IXON;
	t.c_iflag &= ~(tcflag_t)(INLCR | IGNCR | ISTRIP);
	t.c_oflag |= OPOST | ONLCR;
	t.c_lflag |= ICANON | ECHO | ECHOE | ECHOK | ISIG | IEXTEN;
	t.c_lflag &= ~(tcflag_t)(NOFLSH | ECHONL);
	t.c_cc[VINTR] = CTRL_C;
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	return tcsetattr(fd, TCSADRAIN, &t);
}
