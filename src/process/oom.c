#include <stdlib.h>
#include <string.h>

#include "process/oom.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/spawn.h"
#include "base/sys.h"

#define MAX_LOG ((size_t)64 << 20)
#define JOURNAL_LINES "20000"
#define JOURNAL_MS 3000
#define SLACK_MS 10000
#define DRIFT 20000		/* the clock of the kernel's log is not disciplined: 50 parts in a million */
#define KERNEL 8		/* priorities below are of the facility "kernel" */

void
oom_log_release(struct oom_log *l)
{
	free(l->v);
	*l = (struct oom_log)OOM_LOG_INIT;
}

static bool
skip_word(const char **p, const char *end, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(end - *p) < n || memcmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

/* Digits, and the character behind them. -1 when they are not there. */
static int64_t
skip_number(const char **p, const char *end, char behind)
{
	int64_t v = 0;
	const char *from = *p;

	while (*p < end && **p >= '0' && **p <= '9' && *p - from < 18)
		v = v * 10 + (*(*p)++ - '0');
	if (*p == from || *p == end || **p != behind)
		return -1;
	(*p)++;
	return v;
}

/* "COMM[PID]: segfault …", "traps: COMM[PID] general protection fault …". */
static bool
read_fault(const char *p, const char *end, struct oom_kill *out)
{
	static const char *const words[] = { "segfault at ", "general protection", "trap ", "unhandled " };
	const char *open;
	int64_t pid;

	skip_word(&p, end, "traps: ");
	open = memchr(p, '[', (size_t)(end - p));
	if (open == NULL || open == p || (size_t)(open - p) >= sizeof out->comm)
		return false;
	memcpy(out->comm, p, (size_t)(open - p));
	p = open + 1;
	pid = skip_number(&p, end, ']');
	if (pid <= 0)
		return false;
	skip_word(&p, end, ":");
	if (!skip_word(&p, end, " "))
		return false;
	out->pid = (pid_t)pid;
	for (size_t i = 0; i < sizeof words / sizeof words[0] && !out->fault; i++)
		out->fault = skip_word(&p, end, words[i]);
	return out->fault;
}

static bool
read_kill(const char *p, const char *end, struct oom_kill *out)
{
	static const char *const heads[] = { "Out of memory", "Memory cgroup out of memory" },
				 word[] = "Killed process ";
	const char *close;
	int64_t pid;

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
		if (skip_word(&p, end, heads[i])) {
			p = memmem(p, (size_t)(end - p), word, strlen(word));
			break;
		}
	if (p == NULL || !skip_word(&p, end, word))
		return false;
	pid = skip_number(&p, end, ' ');
	if (pid <= 0 || !skip_word(&p, end, "("))
		return false;
	close = memmem(p, (size_t)(end - p), ") total-vm:", 11);
	if (close == NULL)
		close = memmem(p, (size_t)(end - p), "), UID ", 7);
	if (close == NULL || (size_t)(close - p) >= sizeof out->comm)
		return false;
	memcpy(out->comm, p, (size_t)(close - p));
	out->pid = (pid_t)pid;
	return true;
}

/* A message of the kernel's from its first byte. False: it tells of no death. */
static bool
read_message(const char *p, const char *end, struct oom_kill *out)
{
	memset(out, 0, sizeof *out);
	if (read_kill(p, end, out))
		return true;
	memset(out, 0, sizeof *out);
	return read_fault(p, end, out);
}

static void
add_kill(struct oom_log *l, const struct oom_kill *one)
{
	l->v = vec_room(l->v, l->n, &l->cap, sizeof *l->v);
	l->v[l->n++] = *one;
}

static void
kmsg_line(struct oom_log *l, const char *p, const char *end, int64_t boot)
{
	int64_t priority = skip_number(&p, end, ','), number = skip_number(&p, end, ','),
		us = skip_number(&p, end, ',');
	struct oom_kill one;

	if (priority < 0 || priority >= KERNEL || number < 0 || us < 0)
		return;
	p = memchr(p, ';', (size_t)(end - p));
	if (p == NULL || !read_message(p + 1, end, &one))
		return;
	one.at = boot + us / 1000;
	add_kill(l, &one);
}

static void
journal_line(struct oom_log *l, const char *p, const char *end)
{
	int64_t seconds = skip_number(&p, end, '.'), fraction = seconds >= 0 ? skip_number(&p, end, ' ') : -1;
	struct oom_kill one;

	/* the host's name has no blank in it */
	p = fraction >= 0 ? memchr(p, ' ', (size_t)(end - p)) : NULL;
	if (p == NULL || !skip_word(&p, end, " kernel: ") || !read_message(p, end, &one))
		return;
	one.at = seconds * 1000;
	add_kill(l, &one);
}

static const char *
line_end(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl != NULL ? nl : end;
}

void
oom_log_kmsg(struct oom_log *l, const char *text, size_t n, int64_t boot)
{
	const char *end = text + n;

	for (const char *p = text, *nl; p < end; p = nl + 1) {
		nl = line_end(p, end);
		kmsg_line(l, p, nl, boot);
	}
}

void
oom_log_journal(struct oom_log *l, const char *text, size_t n)
{
	const char *end = text + n;

	for (const char *p = text, *nl; p < end; p = nl + 1) {
		nl = line_end(p, end);
		journal_line(l, p, nl);
	}
}

static bool
read_journal(struct oom_log *l)
{
	const char *const argv[] = { "journalctl", "-k", "-q", "--no-pager", "-o", "short-unix", "-n",
		JOURNAL_LINES, NULL };
	struct buf out = BUF_INIT;
	struct spawn s = { .argv = argv, .out = &out, .max_out = MAX_LOG, .timeout_ms = JOURNAL_MS };

	/* who may not read it is shown nothing, with status 0 */
	bool read = spawn_run(&s, NULL) == 0 && s.status == 0 && out.len > 0;

	if (read)
		oom_log_journal(l, out.data, out.len);
	buf_release(&out);
	return read;
}

void
oom_log_read(struct oom_log *l)
{
	struct buf text = BUF_INIT;
	int64_t now = clock_wall_ms(), up = clock_mono_ms();

	l->n = 0;
	l->read_at = now;
	l->slack_ms = SLACK_MS + up / DRIFT;
	l->readable = sys_kernel_log(&text, MAX_LOG);
	if (l->readable)
		oom_log_kmsg(l, text.data, text.len, now - up);
	else
		l->readable = read_journal(l);
	buf_release(&text);
}

bool
oom_killed(struct oom_log *l, const struct oom_death *d)
{
	if (l->read_at <= d->until)
		oom_log_read(l);
	for (size_t i = 0; i < l->n; i++) {
		const struct oom_kill *x = &l->v[i];

		if (x->pid == d->pid && x->fault == d->fault && x->at >= d->from - l->slack_ms &&
		    x->at <= d->until + l->slack_ms && d->fits(d->arg, x->comm))
			return true;
	}
	return false;
}
