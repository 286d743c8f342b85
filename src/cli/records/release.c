#include "cli/cli.h"
#include "recover/upkeep/upkeep.h"

static json_t *
released_json(const char *session, const struct release_report *r)
{
	json_t *v = json_object(), *ended = json_array();

	json_put(v, "session", session);
	json_put_int(v, "attempts_forgotten", (int64_t)r->forgotten);
	for (size_t i = 0; i < r->ended.n; i++) {
		json_t *a = json_object();

		json_put(a, "recovery_id", r->ended.v[i].id);
		json_put(a, "pane_id", r->ended.v[i].pane_id);
		json_put(a, "phase", attempt_phase_name(r->ended.v[i].phase));
		json_array_append_new(ended, a);
	}
	json_object_set_new(v, "ended", ended);
	return v;
}

static void
report_released(
    struct cli_output *s, const struct cli *cli, const char *session, const struct release_report *r)
{
	const char *would = cli->dry_run ? "would be " : "";
	const char *name = output_shown(session, 60);

	if (r->forgotten > 0)
		output_line(s, "%s: %zu attempt%s %sdeleted", name, r->forgotten,
		    r->forgotten == 1 ? "" : "s", would);
	for (size_t i = 0; i < r->ended.n; i++)
		output_line(s, "%s: the recovery %s (%s) %sended", name, r->ended.v[i].id,
		    attempt_phase_name(r->ended.v[i].phase), would);
}

static int
nothing_held(const char *session, struct err *e)
{
	err_set(e, GT_NOTHING, "not-held", "session \"%s\" is not quarantined",
	    output_shown(session, 80));
	return err_hint(
	    e, "gt-recover list shows why a session is refused; gt-recover log shows earlier attempts");
}

int
cmd_release(struct verb_job *j, struct err *e)
{
	const struct cli *cli = &j->cli;
	json_t *list;
	int ret = 0;

	if (cli->n_args == 0) {
		err_set(e, GT_USAGE, "usage", "release needs a session name");
		return err_hint(e, "gt-recover records release SESSION");
	}
	list = json_array();
	for (size_t i = 0; i < cli->n_args && ret == 0; i++) {
		struct release_report r;

		ret = upkeep_release_session(&j->w, cli->args[i], cli->dry_run, &r, e);
		if (ret == 0 && r.forgotten == 0 && r.ended.n == 0)
			ret = nothing_held(cli->args[i], e);
		if (ret == 0) {
			report_released(&j->say, cli, cli->args[i], &r);
			json_array_append_new(list, released_json(cli->args[i], &r));
		}
		attempt_list_release(&r.ended);
	}
	if (ret == 0 && cli->json) {
		json_t *v = output_object();

		json_put_flag(v, "dry_run", cli->dry_run);
		json_object_set(v, "released", list);
		output_json(v);
	}
	json_decref(list);
	if (!cli->dry_run)
		cli_export_events(&j->w);
	return ret == 0 ? GT_OK : -1;
}
