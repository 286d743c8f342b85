#include <unistd.h>

#include "cli/cli_private.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/utf8.h"
#include "config/config.h"
#include "git/git.h"
#include "recover/upkeep/upkeep.h"
#include "records/agents/agents.h"

/* Checkpoints of uncommitted work: the refs that `gt-recover snapshot` writes where wip = true. */

#define OLD_MS ((int64_t)30 * 24 * 3600 * 1000)
#define PLACES 200			/* work trees that are looked at */

struct wips {
	struct wip *v;
	size_t n, cap;
	json_t *tops;			/* those that were looked at */
	const char *top;
	json_t *refs;			/* of the work tree at hand */
};

static void
release(struct wips *l)
{
	for (size_t i = 0; i < l->n; i++)
		wip_release(&l->v[i]);
	free(l->v);
	json_decref(l->tops);
}

static void
note_ref(const char *ref, int64_t at, void *arg)
{
	struct wips *l = arg;

	(void)at;
	json_array_append_new(l->refs, json_string(ref));
}

/* Work trees of one repository share its refs: each shows its own. */
static int
look_in(struct wips *l, const char *dir, struct err *e)
{
	char *top = git_in_work_tree(dir) && json_object_size(l->tops) < PLACES ? wip_top(dir) : NULL;
	int ret = 0;

	if (top != NULL && json_object_get(l->tops, top) == NULL) {
		json_object_set_new(l->tops, top, json_true());
		l->refs = json_array();
		ret = wip_each(top, note_ref, l, e);
		for (size_t i = 0; i < json_array_size(l->refs) && ret == 0; i++) {
			const char *ref = json_string_value(json_array_get(l->refs, i));
			struct wip one;
			int found = wip_find(top, ref, &one, e);

			ret = found < 0 ? -1 : 0;
			if (found <= 0 || strcmp(one.ref, ref) != 0) {
				wip_release(&one);
				continue;
			}
			l->v = vec_room(l->v, l->n, &l->cap, sizeof *l->v);
			l->v[l->n++] = one;
		}
		json_decref(l->refs);
	}
	free(top);
	return ret;
}

static int
compare_age(const void *a, const void *b)
{
	const struct wip *x = a, *y = b;

	return x->at < y->at ? 1 : x->at > y->at ? -1 : strcmp(x->ref, y->ref);
}

/* Of the current directory's work tree, and those where recorded agents work; the newest first. */
static int
read_all(struct verb_job *j, struct wips *l, struct err *e)
{
	char *here = getcwd(NULL, 0);
	struct session_list all = { .n = 0 };
	int ret;

	memset(l, 0, sizeof *l);
	l->tops = json_object();
	ret = here != NULL ? look_in(l, here, e) : 0;
	if (ret == 0 && j->store != NULL)
		ret = session_list_read(j->store, SESSION_STATES, &all, e);
	for (size_t i = 0; i < all.n && ret == 0; i++)
		if (all.v[i].workspace_path != NULL && !session_is_elsewhere(&all.v[i]))
			ret = look_in(l, all.v[i].workspace_path, e);
	session_list_release(&all);
	free(here);
	if (l->n > 1)
		qsort(l->v, l->n, sizeof *l->v, compare_age);
	return ret;
}

static bool
is_called(const struct wip *x, const char *name)
{
	char *ref = wip_ref_of_session(name);
	bool same = strcmp(x->ref, name) == 0 || strcmp(wip_ref_short(x->ref), name) == 0 ||
	    strcmp(x->ref, ref) == 0;

	free(ref);
	return same;
}

static int
find_wip(struct wips *l, const char *name, struct wip **out, struct err *e)
{
	*out = NULL;
	for (size_t i = 0; i < l->n; i++) {
		if (!is_called(&l->v[i], name))
			continue;
		if (*out != NULL) {
			err_set(e, GT_USAGE, "ambiguous", "%.60s has checkpoints in %.200s and %.200s",
			    output_shown(name, 60), (*out)->top, l->v[i].top);
			return err_hint(e, "use the full ref, in the right work tree");
		}
		*out = &l->v[i];
	}
	if (*out != NULL)
		return 0;
	err_set(e, GT_NOTHING, "no-checkpoint", "no checkpoint of uncommitted work named \"%.60s\"",
	    output_shown(name, 60));
	return err_hint(e, "gt-recover wip list");
}

static const char *
age(const struct wip *x, struct buf *out)
{
	buf_reset(out);
	clock_age(out, clock_wall_ms() - x->at);
	return out->data;
}

static json_t *
wip_json(const struct wip *x)
{
	json_t *v = json_object();

	json_put(v, "ref", x->ref);
	json_put(v, "directory", x->top);
	json_put(v, "commit", x->commit);
	json_put(v, "base", *x->base != '\0' ? x->base : NULL);
	json_put_int(v, "committed_at", x->at);
	return v;
}

/* ---- list, show ---- */

static void
print_wips(const struct wips *l)
{
	struct buf when = BUF_INIT;
	size_t width = 3;

	for (size_t i = 0; i < l->n; i++) {
		size_t n = strlen(wip_ref_short(l->v[i].ref));

		width = n > width ? n : width;
	}
	printf("%-*s  %-8s  DIRECTORY\n", (int)width, "REF", "SAVED");
	for (size_t i = 0; i < l->n; i++)
		printf("%-*s  %-8s  %s\n", (int)width, wip_ref_short(l->v[i].ref), age(&l->v[i], &when),
		    output_shown(l->v[i].top, 0));
	buf_release(&when);
}

static int
list_wips(struct verb_job *j, struct err *e)
{
	struct wips l;
	int ret = read_all(j, &l, e);

	if (ret == 0 && j->cli.json) {
		json_t *all = json_array();

		for (size_t i = 0; i < l.n; i++)
			json_array_append_new(all, wip_json(&l.v[i]));
		cmd_verb_json(j, "checkpoints", all);
	} else if (ret == 0 && l.n > 0) {
		print_wips(&l);
	} else if (ret == 0) {
		output_line(&j->say, "No checkpoints of uncommitted work.%s",
		    config_flag(j->w.config, "wip") ? ""
						    : " To enable them: gt-recover config set wip true");
	}
	release(&l);
	return ret == 0 ? GT_OK : -1;
}

static int
show_wip(struct verb_job *j, struct err *e)
{
	struct buf stat = BUF_INIT, when = BUF_INIT;
	struct wip *x = NULL;
	struct wips l;
	int ret = read_all(j, &l, e);

	if (ret == 0)
		ret = find_wip(&l, j->cli.args[0], &x, e);
	if (ret == 0)
		ret = wip_stat(x, &stat, e);
	if (ret == 0 && j->cli.json) {
		json_t *v = wip_json(x);

		json_put(v, "changes", stat.data);
		cmd_verb_json(j, "checkpoint", v);
	} else if (ret == 0) {
		printf("Ref        %s\nSaved      %s ago\nDirectory  %s\n\n", wip_ref_short(x->ref),
		    age(x, &when), output_shown(x->top, 0));
		for (char *save = NULL, *row = strtok_r(stat.data, "\n", &save); row != NULL;
		    row = strtok_r(NULL, "\n", &save))
			puts(output_shown(row, 0));
	}
	release(&l);
	buf_release(&stat);
	buf_release(&when);
	return ret == 0 ? GT_OK : -1;
}

/* ---- restore ---- */

static int
restore_wip(struct verb_job *j, struct err *e)
{
	char *room = app_path(&j->w, "wip", "room", true, e);
	struct wip *x = NULL;
	struct wips l;
	size_t n = 0;
	int ret = read_all(j, &l, e);

	if (ret == 0)
		ret = room != NULL ? find_wip(&l, j->cli.args[0], &x, e) : -1;
	if (ret == 0)
		ret = io_private_dir(room, e);
	if (ret == 0)
		ret = wip_restore(x, j->cli.args + 1, j->cli.n_args - 1, room, j->cli.dry_run, &n, e);
	if (ret == 0 && j->cli.json) {
		json_t *v = wip_json(x);

		json_put_flag(v, "dry_run", j->cli.dry_run);
		json_put_int(v, "files", (int64_t)n);
		cmd_verb_json(j, "restored", v);
	} else if (ret == 0 && n == 0) {
		output_line(&j->say, "Nothing to restore: the files are as in %s.", wip_ref_short(x->ref));
	} else if (ret == 0) {
		output_line(&j->say, "%s %zu file%s in %s from %s.",
		    j->cli.dry_run ? "Would restore" : "Restored", n, n == 1 ? "" : "s",
		    output_shown(x->top, 0), wip_ref_short(x->ref));
	}
	release(&l);
	free(room);
	return ret == 0 ? GT_OK : -1;
}

/* ---- prune ---- */

static bool
is_to_go(const struct verb_job *j, const struct wip *x)
{
	/* branches of epics are left to whoever merges them */
	if (j->cli.n_args == 0)
		return clock_wall_ms() - x->at > OLD_MS && strcmp(wip_ref_short(x->ref), x->ref) == 0;
	for (size_t i = 0; i < j->cli.n_args; i++)
		if (is_called(x, j->cli.args[i]))
			return true;
	return false;
}

/* True: the refs are to be deleted. */
static bool
may_delete(const struct verb_job *j, size_t n)
{
	char answer[16];

	if (j->cli.yes || j->cli.dry_run)
		return true;
	printf("Delete %s? [y/N] ", n == 1 ? "it" : "them");
	fflush(stdout);
	return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

static int
delete_refs(struct verb_job *j, struct wips *l, size_t n, struct err *e)
{
	json_t *all = json_array();
	int ret = 0;

	if (n > 0 && !j->cli.yes && !j->cli.dry_run &&
	    (j->cli.no_input || j->cli.json || !isatty(STDIN_FILENO))) {
		json_decref(all);
		err_set(e, GT_USAGE, "needs-yes", "wip prune needs --yes without a terminal");
		return err_hint(e, "use --yes, or --dry-run to see what would be deleted");
	}
	for (size_t i = 0; i < l->n && !j->cli.json; i++)
		if (is_to_go(j, &l->v[i]))
			printf("%s  %.12s  %s\n", wip_ref_short(l->v[i].ref), l->v[i].commit,
			    output_shown(l->v[i].top, 0));
	if (n > 0 && !may_delete(j, n)) {
		json_decref(all);
		output_line(&j->say, "Nothing was deleted.");
		return GT_NOTHING;
	}
	for (size_t i = 0; i < l->n && ret == 0; i++) {
		if (!is_to_go(j, &l->v[i]))
			continue;
		ret = j->cli.dry_run ? 0 : wip_delete(&l->v[i], e);
		if (ret == 0)
			json_array_append_new(all, wip_json(&l->v[i]));
	}
	n = json_array_size(all);
	cmd_verb_json(j, "deleted", all);
	if (ret == 0 && !j->cli.json)
		output_line(&j->say, "%s %zu checkpoint%s%s.", j->cli.dry_run ? "Would delete" : "Deleted",
		    n, n == 1 ? "" : "s",
		    n > 0 && !j->cli.dry_run ? "; git keeps the commits for some weeks" : "");
	return ret == 0 ? GT_OK : -1;
}

static int
prune_wips(struct verb_job *j, struct err *e)
{
	struct wip *x;
	struct wips l;
	size_t n = 0;
	int ret = read_all(j, &l, e);

	for (size_t i = 0; i < j->cli.n_args && ret == 0; i++)
		ret = find_wip(&l, j->cli.args[i], &x, e);
	for (size_t i = 0; i < l.n; i++)
		n += is_to_go(j, &l.v[i]);
	if (ret == 0)
		ret = delete_refs(j, &l, n, e);
	release(&l);
	return ret;
}

const struct verb wip_verbs[] = {
	{ "list", list_wips, 0, 0, .options = 0 },
	{ "show", show_wip, 1, 1, .needs = "a ref or session" },
	{ "restore", restore_wip, 1, 20, .needs = "a ref or session", .options = OPT_DRY },
	{ "prune", prune_wips, 0, 20, .options = OPT_DRY | OPT_ASK },
	{ .name = NULL },
};
