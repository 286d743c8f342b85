#include <unistd.h>

#include "cli/cli.h"
#include "doctor/doctor.h"
#include "install/install.h"

/* Whether recovery would work here. The checks are in doctor/doctor.c; this prints them. */

#define WIDTH 80
#define WIDEST 110
#define COLUMN 17			/* where sentences begin: a mark, and the longest name */

static const char *const marks[] = { "✓", "·", "!", "✗", "-" };

/* A name at the left and words beside it, broken at blanks. */
static void
print_wrapped(const char *mark, const char *name, const char *words, size_t columns)
{
	fputs("  ", stdout);
	output_text(stdout, mark);
	printf(" %-*s", COLUMN - 4, name);
	output_wrapped(stdout, output_shown(words, 0), COLUMN, columns);
}

static bool
is_trouble(const struct doctor_finding *f)
{
	return f->verdict == VERDICT_WARNING || f->verdict == VERDICT_ERROR;
}

static void
print_finding(const struct cli *cli, const struct doctor_finding *f, size_t columns)
{
	print_wrapped(marks[f->verdict], f->check->name, f->sentence, columns);
	if (f->hint != NULL && (is_trouble(f) || cli->verbose > 0)) {
		char *hint = xasprintf("→ %s", f->hint);

		print_wrapped(" ", "", hint, columns);
		free(hint);
	}
	if (cli->verbose > 0) {
		char *looked = xasprintf("(%s)", f->check->looked);

		print_wrapped(" ", "", looked, columns);
		free(looked);
	}
}

/* Under the name of each group: with all, every finding, else the problems. */
static bool
print_groups(const struct cli *cli, const struct doctor *d, bool all, size_t columns)
{
	const char *group = "";

	for (size_t i = 0; i < d->n; i++) {
		const struct doctor_finding *f = &d->v[i];

		if (!all && !is_trouble(f))
			continue;
		if (strcmp(group, f->check->group) != 0)
			printf("%s%s\n", *group != '\0' ? "\n" : "", f->check->group);
		group = f->check->group;
		print_finding(cli, f, columns);
	}
	return *group != '\0';
}

/* "6 checks, 2 notes" for each group without a problem. */
static void
print_sound_groups(const struct doctor *d, size_t columns)
{
	for (size_t i = 0, end; i < d->n; i = end) {
		const char *group = d->v[i].check->group;
		size_t done = 0, notes = 0, troubles = 0;

		for (end = i; end < d->n && strcmp(d->v[end].check->group, group) == 0; end++) {
			done += d->v[end].verdict != VERDICT_SKIPPED;
			notes += d->v[end].verdict == VERDICT_NOTE;
			troubles += is_trouble(&d->v[end]);
		}
		if (troubles > 0 || done == 0)
			continue;
		struct buf counts = BUF_INIT;

		buf_fmt(&counts, "%zu check%s", done, done == 1 ? "" : "s");
		if (notes > 0)
			buf_fmt(&counts, ", %zu note%s", notes, notes == 1 ? "" : "s");
		print_wrapped(marks[VERDICT_OK], group, counts.data, columns);
		buf_release(&counts);
	}
}

static void
print_counts(const struct doctor *d)
{
	size_t errors = doctor_count(d, VERDICT_ERROR), warnings = doctor_count(d, VERDICT_WARNING);
	char *line = errors + warnings == 0 ? xstrdup("No problems.") :
	    xasprintf("%zu error%s, %zu warning%s.", errors, errors == 1 ? "" : "s", warnings,
	        warnings == 1 ? "" : "s");

	output_fitted(stdout, "", line, 0);
	free(line);
}

/* What is wrong comes first, then a line for each group in which nothing is. */
static void
print_findings(const struct cli *cli, const struct doctor *d)
{
	size_t columns = output_columns(STDOUT_FILENO);

	columns = columns == 0 ? WIDTH : columns > WIDEST ? WIDEST : columns;
	if (print_groups(cli, d, cli->verbose > 0, columns) && !cli->quiet)
		putchar('\n');
	if (cli->quiet)
		return;
	if (cli->verbose == 0) {
		print_sound_groups(d, columns);
		putchar('\n');
	}
	print_counts(d);
}

static void
print_findings_json(const struct doctor *d)
{
	json_t *v = output_object(), *checks = json_array(), *counts = json_object();

	for (size_t i = 0; i < d->n; i++) {
		const struct doctor_finding *f = &d->v[i];
		json_t *o = json_object();

		json_put(o, "group", f->check->group);
		json_put(o, "name", f->check->name);
		json_put(o, "looked_at", f->check->looked);
		json_put(o, "result", doctor_verdict_name(f->verdict));
		json_put(o, "sentence", f->sentence);
		json_put(o, "hint", f->hint);
		json_array_append_new(checks, o);
	}
	for (enum verdict r = VERDICT_OK; r <= VERDICT_SKIPPED; r++)
		json_put_int(counts, doctor_verdict_name(r), (int64_t)doctor_count(d, r));
	json_object_set_new(v, "counts", counts);
	json_object_set_new(v, "checks", checks);
	output_json(v);
}

static int
answer(const struct cli *cli, struct doctor *d)
{
	int status = doctor_count(d, VERDICT_ERROR) > 0 ? GT_FAIL : GT_OK;

	if (cli->json)
		print_findings_json(d);
	else
		print_findings(cli, d);
	doctor_release(d);
	return status;
}

/* What the command line says wrongly is no matter of the doctor's. */
static bool
is_finding(const struct err *e)
{
	return strcmp(e->name, "usage") != 0 && strcmp(e->name, "not-a-town") != 0;
}

int
cmd_doctor(const struct cli *cli, struct err *e)
{
	struct err no_timer = ERR_INIT;
	struct doctor d;
	struct timer t;
	struct app w;
	int status;

	if (cli_open_app(cli, &w, e) != 0) {
		if (!is_finding(e))
			return -1;
		doctor_refused(&d, e);
		return answer(cli, &d);
	}
	if (cli_is_disabled(cli, &w)) {
		cli_close_app(&w);
		return GT_OK;
	}
	status = cli_timer_today(cli, &w, "snapshot", &t, &no_timer);
	doctor_run(&d, &w, status == 0 ? &t : NULL, &no_timer);
	status = answer(cli, &d);
	timer_release(&t);
	cli_close_app(&w);
	return status;
}
