#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "git/git_private.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/spawn.h"
#include "base/utf8.h"
#include "scrub/scrub.h"

#define OUT_MAX ((size_t)16 << 20)

extern char **environ;

static const char *const base_args[] = {
	"git", "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c",
	"core.hooksPath=/dev/null", "-c", "log.showSignature=false", "-c", "protocol.allow=never", "-C",
};

static void
environment(struct git_run *v)
{
	static const char *const ours[] = { "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none" };
	size_t n = 0;

	while (environ[n] != NULL)
		n++;
	v->env = xcalloc(n + sizeof ours / sizeof ours[0] + sizeof v->settings / sizeof v->settings[0] + 1,
	    sizeof *v->env);
	for (size_t i = 0; i < n; i++)
		if (!str_starts(environ[i], "GIT_") && !str_starts(environ[i], "LC_ALL="))
			v->env[v->n_env++] = environ[i];
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
		v->env[v->n_env++] = ours[i];
}

void
git_run_init(struct git_run *v, const char *dir, int deadline_ms)
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
git_run_release(struct git_run *v)
{
	for (size_t i = 0; i < v->n_settings; i++)
		free(v->settings[i]);
	free(v->env);
	memset(v, 0, sizeof *v);
}

void
git_run_set_config(struct git_run *v, char *setting)
{
	v->env[v->n_env++] = v->settings[v->n_settings++] = setting;
}

bool
git_run_timed_out(const struct git_run *v, struct err *e)
{
	if (clock_mono_ms() < v->until)
		return false;
	err_set(e, GT_AGAIN, "timeout", "git timed out");
	return true;
}

int
git_run_with_input(struct git_run *v, const char *const *more, const struct buf *in, struct buf *out,
    struct buf *errout, struct err *e)
{
	struct spawn s = { .argv = v->args, .env = v->env, .out = out, .errout = errout, .max_out = OUT_MAX };
	size_t n = v->n_args;

	if (git_run_timed_out(v, e))
		return -1;
	for (size_t i = 0; more[i] != NULL && n < GIT_RUN_ARGS - 1; i++)
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
git_run_command(
    struct git_run *v, const char *const *more, struct buf *out, struct buf *errout, struct err *e)
{
	return git_run_with_input(v, more, NULL, out, errout, e);
}

int
git_run_disable_filters(struct git_run *v, struct err *e)
{
	static const char *const ask[] = { "config", "-z", "--name-only", "--get-regexp",
		"^filter\\..*\\.(clean|smudge|process|required)$", NULL };
	struct buf out = BUF_INIT;
	int ret = git_run_command(v, ask, &out, NULL, e) < 0 ? -1 : 0;
	int n = 0;

	for (char *p = out.data; ret == 0 && p < out.data + out.len; p += strlen(p) + 1, n++) {
		if (n == GIT_RUN_SETTINGS) {
			ret = err_set(
			    e, GT_FAIL, "git", "the repository of %s configures too many filters", v->dir);
			break;
		}
		git_run_set_config(v, xasprintf("GIT_CONFIG_KEY_%d=%s", n, p));
		git_run_set_config(
		    v, xasprintf("GIT_CONFIG_VALUE_%d=%s", n, str_ends(p, ".required") ? "false" : ""));
	}
	git_run_set_config(v, xasprintf("GIT_CONFIG_COUNT=%d", n));
	buf_release(&out);
	return ret;
}

#define DEADLINE_MS 5000
#define FILES_SHOWN 30

/* Scrubbed before it is cut: half of a secret is none that a rule would know. */
static void
put_cut(struct scrub *s, struct buf *b, const char *text, size_t n, size_t columns)
{
	struct clean_text *clean = scrub_text(s, text, n, 0);

	utf8_escape(b, clean_bytes(clean), clean_len(clean), columns);
	clean_free(clean);
}

static void
put_name(struct scrub *s, struct buf *b, const char *name)
{
	put_cut(s, b, name, strlen(name), 300);
}

static const char *
plural(long n)
{
	return n == 1 ? "" : "s";
}

/* --- git status --porcelain=v2 -z --- */

struct git_status {
	struct scrub *s;
	const char *branch, *upstream;
	long ahead, behind, stashes;
	bool initial, compared;
	long changed, untracked, unmerged, shown;
	struct buf files;
};

static void
read_header(struct git_status *st, const char *line)
{
	if (str_starts(line, "# branch.head "))
		st->branch = line + 14;
	else if (str_starts(line, "# branch.upstream "))
		st->upstream = line + 18;
	else if (str_starts(line, "# branch.oid (initial)"))
		st->initial = true;
	else if (str_starts(line, "# branch.ab "))
		st->compared = sscanf(line, "# branch.ab +%ld -%ld", &st->ahead, &st->behind) == 2;
	else if (str_starts(line, "# stash "))
		st->stashes = strtol(line + 8, NULL, 10);
}

const char *
git_skip_fields(const char *line, int n)
{
	while (n > 0 && line != NULL) {
		line = strchr(line, ' ');
		line += line != NULL;
		n--;
	}
	return line;
}

static const char *
change_word(char staged, char unstaged)
{
	char c = unstaged != '.' ? unstaged : staged;

	return c == 'M' ? "modified"
	    : c == 'A'  ? "new file"
	    : c == 'D'  ? "deleted"
	    : c == 'R'  ? "renamed"
	    : c == 'C'  ? "copied"
	    : c == 'T'  ? "new type"
			: "changed";
}

static void
add_file(struct git_status *st, const char *word, const char *path, const char *note)
{
	if (path == NULL || st->shown++ >= FILES_SHOWN)
		return;
	buf_fmt(&st->files, "%-10s ", word);
	put_name(st->s, &st->files, path);
	buf_fmt(&st->files, "%s\n", note);
}

static void
read_entry(struct git_status *st, const char *line)
{
	const char *xy = line + 2;

	switch (line[0]) {
	case '1':
	case '2':
		st->changed++;
		add_file(st, change_word(xy[0], xy[1]), git_skip_fields(line, line[0] == '1' ? 8 : 9),
		    xy[0] == '.' ? "" : xy[1] == '.' ? " (staged)" : " (staged in part)");
		break;
	case 'u':
		st->unmerged++;
		add_file(st, "conflict", git_skip_fields(line, 10), "");
		break;
	case '?':
		st->untracked++;
		add_file(st, "untracked", line + 2, "");
		break;
	default:
		break;
	}
}

static void
read_status(struct git_status *st, const struct buf *out)
{
	for (const char *p = out->data; p < out->data + out->len; p += strlen(p) + 1) {
		bool renamed = p[0] == '2';

		if (p[0] == '#')
			read_header(st, p);
		else if (p[0] != '\0' && p[1] == ' ')
			read_entry(st, p);
		/* the old name of a renamed file is a string of its own */
		if (renamed)
			p += strlen(p) + 1;
	}
}

/* --- words --- */

static void
print_branch(struct buf *b, const struct git_status *st)
{
	if (st->branch == NULL || strcmp(st->branch, "(detached)") == 0) {
		buf_str(b, "No branch (detached HEAD)\n");
		return;
	}
	buf_str(b, "Branch ");
	put_name(st->s, b, st->branch);
	if (st->upstream != NULL && !st->compared) {
		buf_str(b, ", its upstream ");
		put_name(st->s, b, st->upstream);
		buf_str(b, " is gone");
	} else if (st->upstream != NULL && st->ahead == 0 && st->behind == 0) {
		buf_str(b, ", even with ");
		put_name(st->s, b, st->upstream);
	} else if (st->upstream != NULL) {
		if (st->ahead > 0)
			buf_fmt(b, ", %ld commit%s ahead", st->ahead, plural(st->ahead));
		if (st->behind > 0)
			buf_fmt(b, ", %ld commit%s behind", st->behind, plural(st->behind));
		buf_str(b, st->ahead > 0 ? " of " : " ");
		put_name(st->s, b, st->upstream);
	} else {
		buf_str(b, ", no upstream");
	}
	buf_chr(b, '\n');
}

static void
print_files(struct buf *b, const struct git_status *st)
{
	if (st->changed + st->untracked + st->unmerged == 0) {
		buf_str(b, "No changed files\n");
	} else {
		buf_fmt(b, "%ld file%s changed", st->changed, plural(st->changed));
		if (st->unmerged > 0)
			buf_fmt(b, ", %ld in conflict", st->unmerged);
		if (st->untracked > 0)
			buf_fmt(b, ", %ld untracked", st->untracked);
		buf_chr(b, '\n');
		buf_add(b, st->files.data, st->files.len);
		if (st->shown > FILES_SHOWN)
			buf_fmt(b, "… and %ld more\n", st->shown - FILES_SHOWN);
	}
	if (st->stashes > 0)
		buf_fmt(b, "%ld stash%s\n", st->stashes, st->stashes == 1 ? "" : "es");
}

static int
print_head(struct git_run *v, struct scrub *s, struct buf *b, struct err *e)
{
	static const char *const ask[] = { "log", "-1", "--no-show-signature", "--format=%h%x00%s", NULL };
	struct buf out = BUF_INIT;
	int status = git_run_command(v, ask, &out, NULL, e);

	if (status == 0 && out.len > 0) {
		const char *subject = out.data + strlen(out.data) + 1;

		buf_fmt(b, "HEAD %.40s ", out.data);
		if (subject < out.data + out.len)
			put_cut(s, b, subject, strcspn(subject, "\n"), 200);
		buf_chr(b, '\n');
	}
	buf_release(&out);
	return status < 0 ? -1 : 0;
}

/* What was begun and not ended: files in the git directory tell. */
static int
print_unfinished(struct git_run *v, const char *dir, struct buf *b, struct err *e)
{
	static const struct { const char *file, *words;
	} signs[] = {
		{ "MERGE_HEAD", "A merge is not finished" },
		{ "rebase-merge", "A rebase is not finished" },
		{ "rebase-apply", "A rebase or git am is not finished" },
		{ "CHERRY_PICK_HEAD", "A cherry-pick is not finished" },
		{ "REVERT_HEAD", "A revert is not finished" },
		{ "BISECT_LOG", "A bisect is under way" },
		{ "index.lock",
		    "The lock file index.lock is there: a git command is running, or was killed and left it "
		    "behind" },
	};
	const char *ask[2 + 2 * sizeof signs / sizeof signs[0]] = { "rev-parse" };
	struct buf out = BUF_INIT;
	size_t n = 1;
	int status;

	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
		ask[n++] = "--git-path";
		ask[n++] = signs[i].file;
	}
	ask[n] = NULL;
	status = git_run_command(v, ask, &out, NULL, e);
	for (char *p = out.data, *nl; status == 0 && (nl = strchr(p, '\n')) != NULL; p = nl + 1) {
		char *path;

		*nl = '\0';
		path = p[0] == '/' ? xstrdup(p) : io_join(dir, p);
		for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
			if (str_ends(p, signs[i].file) && access(path, F_OK) == 0)
				buf_fmt(b, "%s\n", signs[i].words);
		free(path);
	}
	buf_release(&out);
	return status < 0 ? -1 : 0;
}

/* 1 with the status read into out, 0: nothing to say, -1. */
static int
query_status(struct git_run *v, const char *dir, struct buf *out, struct err *e)
{
	static const char *const ask[] = { "status", "--porcelain=v2", "--branch", "--show-stash", "-z",
		"--ignore-submodules=dirty", "--untracked-files=normal", NULL };
	/* before git 2.35 there is no --show-stash */
	static const char *const ask_old[] = { "status", "--porcelain=v2", "--branch", "-z",
		"--ignore-submodules=dirty", "--untracked-files=normal", NULL };
	struct buf words = BUF_INIT;
	int status = git_run_command(v, ask, out, &words, e), ret;

	if (status == 129) {
		buf_reset(&words);
		status = git_run_command(v, ask_old, out, &words, e);
	}
	if (status == 0)
		ret = 1;
	else if (status < 0)
		ret = -1;
	else if (strstr(words.data, "not a git repository") != NULL ||
	    strstr(words.data, "must be run in a work tree") != NULL)
		ret = 0;
	else if (strstr(words.data, "dubious ownership") != NULL)
		ret = err_set(
		    e, GT_FAIL, "git", "git refuses the repository of %s: it belongs to another user", dir);
	else
		ret = err_set(e, GT_FAIL, "git", "git status failed in %s (exit status %d)", dir, status);
	buf_release(&words);
	return ret;
}

static int
visit_repo(struct git_run *v, const char *dir, struct scrub *s, struct buf *text, struct err *e)
{
	struct git_status st = { .s = s, .files = BUF_INIT };
	struct buf out = BUF_INIT;
	int ret = git_run_disable_filters(v, e);

	if (ret == 0)
		ret = query_status(v, dir, &out, e);
	if (ret == 1) {
		read_status(&st, &out);
		print_branch(text, &st);
		if (st.initial)
			buf_str(text, "No commit yet\n");
		else
			ret = print_head(v, s, text, e);
		if (ret >= 0)
			ret = print_unfinished(v, dir, text, e);
		print_files(text, &st);
	}
	buf_release(&st.files);
	buf_release(&out);
	return ret;
}

bool
git_in_work_tree(const char *cwd)
{
	char *dir = xstrdup(cwd);
	bool yes = false;

	while (!yes && *dir != '\0') {
		char *slash = strrchr(dir, '/');

		yes = io_has(dir, ".git");
		if (slash == NULL)
			break;
		*slash = '\0';
	}
	free(dir);
	return yes;
}

int
git_state(const char *dir, struct scrub *s, struct clean_text **out, struct err *e)
{
	struct git_run v;
	struct buf text = BUF_INIT;
	struct err why = ERR_INIT;
	int ret;

	*out = NULL;
	if (!io_is_dir(dir))
		return 0;
	git_run_init(&v, dir, DEADLINE_MS);
	ret = visit_repo(&v, dir, s, &text, &why);
	if (ret == 0 && text.len > 0)
		*out = scrub_text(s, text.data, text.len, 0);
	else if (ret < 0 && strcmp(why.name, "not-installed") == 0)
		ret = 0;
	else if (ret < 0 && e != NULL)
		*e = why;
	git_run_release(&v);
	buf_release(&text);
	return ret;
}
