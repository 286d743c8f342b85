#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/moment.h"
#include "cmd/epic.h"
#include "cmd/epic_screen.h"
#include "cmd/input.h"
#include "cmd/verb.h"
#include "epic/dump.h"
#include "epic/epic.h"
#include "ledger/session.h"
#include "scrub/scrub.h"
#include "store/store.h"

/* The dump of the epic that the argument names; new reference, NULL with err. */
static json_t *
make(struct verb_job *j, struct err *e)
{
	struct epics list;
	struct moment now;
	json_t *dump = NULL;

	if (epic_read(j, j->cli.args[0], &list, &now, e) == 0)
		dump = dump_make(j->store, &list.v[0], now.wall_ms, e);
	epics_release(&list);
	return dump;
}

int
epic_inspect(struct verb_job *j, struct err *e)
{
	json_t *dump = make(j, e);

	if (dump == NULL)
		return -1;
	say_json(dump);
	return GT_OK;
}

int
epic_export(struct verb_job *j, struct err *e)
{
	const char *path = j->cli.output;
	struct buf text = BUF_INIT;
	json_t *dump = make(j, e);
	int ret;

	if (dump == NULL)
		return -1;
	if (path == NULL) {
		say_json(dump);
		return GT_OK;
	}
	json_print(&text, dump, true);
	json_decref(dump);
	ret = io_write_durable(path, text.data, text.len, "epic-export", e);
	buf_release(&text);
	if (ret != 0)
		return -1;
	say_line(&j->say, "It is on disk.");
	return GT_OK;
}

static json_t *
read_dump(const struct verb_job *j, struct err *e)
{
	struct buf text = BUF_INIT;
	json_t *o = NULL;

	if (j->cli.n_args == 0)
		return input_object("epic import", DUMP_MAX, NULL, 0, e);
	if (io_read_file(j->cli.args[0], DUMP_MAX, &text, e) == 0 && (o = json_parse(text.data, text.len, "the export", e)) == NULL)
		e->code = GT_USAGE;
	buf_release(&text);
	return o;
}

int
epic_import(struct verb_job *j, struct err *e)
{
	json_t *dump = read_dump(j, e);
	struct scrub *s = dump != NULL ? world_scrub(&j->w, e) : NULL;
	char *id = NULL;
	int ret = s != NULL ? dump_take(j->store, dump, s, &id, e) : -1;

	if (ret >= 0 && j->cli.json) {
		json_t *v = say_object();

		json_put(v, "id", id);
		json_put_flag(v, "changed", ret == 1);
		say_json(v);
	} else if (ret >= 0) {
		puts(id);
		if (ret == 0)
			say_line(&j->say, "It is there already, the same in all.");
	}
	free(id);
	scrub_free(s);
	json_decref(dump);
	return ret >= 0 ? GT_OK : -1;
}

static bool
confirmed(const struct verb_job *j, const struct epic *x)
{
	struct buf text = BUF_INIT;
	char answer[16];

	if (j->cli.yes)
		return true;
	epic_screen_abandon(&text, x);
	buf_str(&text, "Continue? [y/N]: ");
	fputs(text.data, stdout);
	buf_release(&text);
	fflush(stdout);
	return fgets(answer, sizeof answer, stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

/* Nothing is deleted of what may be at work. */
static int
check_dead(const struct verb_job *j, const struct epic *x, struct err *e)
{
	if (x->alive) {
		err_set(e, GT_REFUSED, "live", "an agent of the epic %.200s is running", x->id);
		return err_hint(e, "End it first; nothing was changed");
	}
	for (size_t i = 0; i < x->n; i++)
		for (size_t k = 0; k < json_array_size(x->sprints[i].agents); k++) {
			const char *agent = json_text(json_array_get(x->sprints[i].agents, k), "agentId", "");
			struct session session;
			int found = session_load(j->store, sprint_session(&x->sprints[i], agent), &session, e);
			bool elsewhere = found > 0 && session_is_elsewhere(&session);

			if (elsewhere) {
				err_set(e, GT_REFUSED, "elsewhere", "its agent %.60s is active on the host %.60s, and nobody here can tell whether it lives",
				    agent, session.host);
				err_hint(e, "Abandon it there, or, if that host is gone for good: gt-recover session suspend %.60s", agent);
			}
			session_release(&session);
			if (found < 0 || elsewhere)
				return -1;
		}
	if (x->young) {
		err_set(e, GT_AGAIN, "young", "something was heard of the epic %.200s just now: it may be running", x->id);
		return err_hint(e, "It counts as interrupted after three times checkpoint_interval without a sign; nothing was changed");
	}
	return 0;
}

int
epic_abandon_one(struct verb_job *j, const struct epic *x, struct err *e)
{
	struct buf id = BUF_INIT;
	size_t n;

	if (check_dead(j, x, e) != 0)
		return -1;
	if (!j->cli.yes && (j->cli.no_input || j->cli.json)) {
		err_set(e, GT_USAGE, "needs-yes", "epic abandon deletes, and nobody can be asked");
		return err_hint(e, "Say --yes to mean it");
	}
	if (!confirmed(j, x)) {
		say_line(&j->say, "Nothing was changed.");
		return GT_NOTHING;
	}
	if (dump_abandon(j->store, x, &n, e) != 0)
		return -1;
	say_foreign(&id, strncmp(x->id, "epic-", 5) == 0 ? x->id + 5 : x->id, 0);
	if (j->cli.json) {
		json_t *v = say_object();

		json_put(v, "id", x->id);
		json_put_int(v, "deleted", (int64_t)n);
		say_json(v);
	} else {
		printf("✅ Epic abandoned\n✅ %zu record%s deleted from the store\n✅ WIP branches preserved (epic-%s/sprint-*-wip)\n", n,
		    n == 1 ? "" : "s", id.data);
	}
	buf_release(&id);
	return GT_OK;
}

int
epic_abandon(struct verb_job *j, struct err *e)
{
	struct epics list;
	struct moment now;
	int ret = epic_read(j, j->cli.args[0], &list, &now, e);

	if (ret == 0)
		ret = epic_abandon_one(j, &list.v[0], e);
	epics_release(&list);
	return ret;
}
