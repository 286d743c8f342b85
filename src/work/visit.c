#include <stdlib.h>
#include <string.h>

#include "work/visit.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/spawn.h"

#define OUT_MAX ((size_t)16 << 20)

extern char **environ;

static const char *const base_args[] = {
	"git", "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
	"-c", "log.showSignature=false", "-c", "protocol.allow=never", "-C",
};

static void
environment(struct visit *v)
{
	static const char *const ours[] = { "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none" };
	size_t n = 0;

	while (environ[n] != NULL)
		n++;
	v->env = xcalloc(n + sizeof ours / sizeof ours[0] + sizeof v->settings / sizeof v->settings[0] + 1, sizeof *v->env);
	for (size_t i = 0; i < n; i++)
		if (!str_starts(environ[i], "GIT_") && !str_starts(environ[i], "LC_ALL="))
			v->env[v->n_env++] = environ[i];
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
		v->env[v->n_env++] = ours[i];
}

void
visit_init(struct visit *v, const char *dir, int deadline_ms)
{
	memset(v, 0, sizeof *v);
	v->dir = dir;
	v->until = clock_mono_ms() + deadline_ms;
	for (size_t i = 0; i < sizeof base_args / sizeof base_args[0]; i++)
		v->args[v->n_args++] = base_args[i];
	v->args[v->n_args++] = dir;
	environment(v);
}

void
visit_release(struct visit *v)
{
	for (size_t i = 0; i < v->n_settings; i++)
		free(v->settings[i]);
	free(v->env);
	memset(v, 0, sizeof *v);
}

void
visit_setting(struct visit *v, char *setting)
{
	v->env[v->n_env++] = v->settings[v->n_settings++] = setting;
}

bool
visit_late(const struct visit *v, struct err *e)
{
	if (clock_mono_ms() < v->until)
		return false;
	err_set(e, GT_AGAIN, "timeout", "git did not answer in time");
	return true;
}

int
visit_feed(struct visit *v, const char *const *more, const struct buf *in, struct buf *out, struct buf *errout, struct err *e)
{
	struct spawn s = { .argv = v->args, .env = v->env, .out = out, .errout = errout, .max_out = OUT_MAX };
	size_t n = v->n_args;

	if (visit_late(v, e))
		return -1;
	for (size_t i = 0; more[i] != NULL && n < VISIT_ARGS - 1; i++)
		v->args[n++] = more[i];
	v->args[n] = NULL;
	s.timeout_ms = (int)(v->until - clock_mono_ms());
	s.timeout_ms = s.timeout_ms > 0 ? s.timeout_ms : 1;
	if (in != NULL) {
		s.in = in->data;
		s.in_len = in->len;
	}
	if (out != NULL)
		buf_reset(out);
	return spawn_run(&s, e) == 0 ? s.status : -1;
}

int
visit_git(struct visit *v, const char *const *more, struct buf *out, struct buf *errout, struct err *e)
{
	return visit_feed(v, more, NULL, out, errout, e);
}

int
visit_silence(struct visit *v, struct err *e)
{
	static const char *const ask[] = { "config", "-z", "--name-only", "--get-regexp",
		"^filter\\..*\\.(clean|smudge|process|required)$", NULL };
	struct buf out = BUF_INIT;
	int ret = visit_git(v, ask, &out, NULL, e) < 0 ? -1 : 0;
	int n = 0;

	for (char *p = out.data; ret == 0 && p < out.data + out.len; p += strlen(p) + 1, n++) {
		if (n == VISIT_SETTINGS) {
			ret = err_set(e, GT_FAIL, "git", "the repository of %s configures too many filters", v->dir);
			break;
		}
		visit_setting(v, xasprintf("GIT_CONFIG_KEY_%d=%s", n, p));
		visit_setting(v, xasprintf("GIT_CONFIG_VALUE_%d=%s", n, str_ends(p, ".required") ? "false" : ""));
	}
	visit_setting(v, xasprintf("GIT_CONFIG_COUNT=%d", n));
	buf_release(&out);
	return ret;
}
