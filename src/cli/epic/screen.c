#include <time.h>

#include "cli/epic/epic.h"

#define PATHS 5				/* files that are named in a row */
#define MINUTE ((int64_t)60000)

void
epic_screen_age(struct buf *out, int64_t ms)
{
	static const struct { int64_t ms; const char *word;
	} units[] = {
		{ 24 * 60 * MINUTE, "day" }, { 60 * MINUTE, "hour" }, { MINUTE, "minute" },
		{ 1000, "second" },
	};
	size_t u = 0;
	int64_t n;

	while (u < 3 && ms < 2 * units[u].ms)
		u++;
	n = ms > 0 ? ms / units[u].ms : 0;
	buf_fmt(out, "%lld %s%s", (long long)n, units[u].word, n == 1 ? "" : "s");
}

/* The same to the next smaller unit: "1 minute 30 seconds". */
static void
put_duration(struct buf *out, int64_t ms)
{
	static const struct {
		int64_t ms, part;
	} units[] = { { 24 * 60 * MINUTE, 60 * MINUTE }, { 60 * MINUTE, MINUTE }, { MINUTE, 1000 } };
	static const char *const words[] = { "day", "hour", "minute", "second" };

	for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
		int64_t n = ms / units[u].ms, rest = ms % units[u].ms / units[u].part;

		if (n <= 0)
			continue;
		if (rest == 0)
			break;
		buf_fmt(out, "%lld %s%s %lld %s%s", (long long)n, words[u], n == 1 ? "" : "s",
		    (long long)rest, words[u + 1], rest == 1 ? "" : "s");
		return;
	}
	epic_screen_age(out, ms);
}

void
epic_screen_time(struct buf *out, int64_t ms)
{
	time_t at = (time_t)(ms / 1000);
	struct tm tm;
	char text[40];

	if (ms <= 0 || gmtime_r(&at, &tm) == NULL ||
	    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		buf_str(out, "unknown");
	else
		buf_str(out, text);
}

void
epic_screen_bar(struct buf *out, double percent)
{
	int full = (int)(percent / 5);

	for (int i = 0; i < 20; i++)
		buf_str(out, i < full ? "█" : "░");
}

void
epic_screen_name(struct buf *out, const struct epic *x, size_t i, double threshold)
{
	const struct epic_sprint *one = &x->sprints[i];

	buf_str(out, one->state == SPRINT_COMPLETED ? "✓" : one->state == SPRINT_WAITING ? "-" :
	    sprint_starts_over(one, threshold) ? "✗" : "!");
	buf_fmt(out, " Sprint %zu (", i + 1);
	output_foreign(out, json_text(one->record, "name", one->id), 60);
	buf_chr(out, ')');
}

/* ---- what stands below a sprint ---- */

static void
screen_line(struct buf *out, int indent, const char *text)
{
	buf_fmt(out, "%*s└─ %s", indent, "", text);
}

static void
put_path(struct buf *out, const char *path)
{
	output_foreign(out, path, 120);
}

static void
put_paths(struct buf *out, int indent, const struct epic_sprint *x, bool count)
{
	screen_line(out, indent, "Files: ");
	for (size_t i = 0; i < x->n_files && i < PATHS; i++) {
		buf_str(out, i > 0 ? ", " : "");
		put_path(out, x->files[i].path);
	}
	buf_str(out, x->n_files > PATHS ? ", …" : "");
	if (count || x->n_files > PATHS)
		buf_fmt(out, " (%zu file%s)", x->n_files, x->n_files == 1 ? "" : "s");
	buf_chr(out, '\n');
}

void
epic_screen_last_file(struct buf *out, int indent, const struct epic_sprint *x)
{
	const struct epic_file *f = &x->files[x->n_files - 1];

	screen_line(out, indent, "Last file: ");
	put_path(out, f->path);
	if (f->line > 0)
		buf_fmt(out, " (line %lld)", (long long)f->line);
	buf_chr(out, '\n');
}

void
epic_screen_need(struct buf *out, int indent, const struct epic_need *need)
{
	screen_line(out, indent, "Dependency: ");
	if (need->place > 0) {
		buf_fmt(out, "Sprint %zu", need->place);
	} else {
		output_foreign(out, need->id, 60);
	}
	buf_str(out, need->resolved ? " ✓ (resolved)\n" : " (not ready)\n");
}

static void
put_hosts(struct buf *out, int indent, const struct epic_sprint *x)
{
	size_t n = json_array_size(x->hosts);

	if (n == 0)
		return;
	screen_line(out, indent, n == 1 ? "Host: " : "Hosts: ");
	for (size_t i = 0; i < n; i++) {
		buf_str(out, i > 0 ? ", " : "");
		output_foreign(out, json_string_value(json_array_get(x->hosts, i)), 64);
	}
	buf_chr(out, '\n');
}

static void
put_counts(struct buf *out, int indent, const struct epic_sprint *x)
{
	screen_line(out, indent, "Files completed: ");
	buf_fmt(out, "%zu/%zu\n", x->completed, x->n_files);
}

/* The seed shows a sprint in two ways. */
struct manner {
	int indent;
	bool prompt;				/* before a choice, else in the status */
	bool interrupted;
	double threshold;
	int64_t now;
};

static void
put_wip(struct buf *out, int indent, const struct epic_sprint *x, int64_t now)
{
	if (x->wip == NULL)
		return;
	screen_line(out, indent, "WIP: ");
	output_foreign(out, x->wip, 200);
	buf_str(out, " (");
	epic_screen_age(out, now - x->wip_at);
	buf_str(out, " ago)\n");
}

#define STEPS 10				/* that are named in a row */

/* What is done of its steps, and each that is not. */
static void
put_steps(struct buf *out, int below, const struct epic_sprint *x)
{
	const json_t *steps = json_object_get(x->record, "steps");
	size_t n = json_array_size(steps), done = 0, shown = 0;

	for (size_t i = 0; i < n; i++)
		done += strcmp(json_text(json_array_get(steps, i), "status", ""), "completed") == 0;
	if (n == 0)
		return;
	screen_line(out, below, "Steps completed: ");
	buf_fmt(out, "%zu/%zu\n", done, n);
	for (size_t i = 0; i < n; i++) {
		const json_t *step = json_array_get(steps, i), *needs = json_object_get(step, "blockedBy");
		const char *status = json_text(step, "status", ""), *agent = json_text(step, "agent", NULL);

		if (strcmp(status, "completed") == 0 || shown++ >= STEPS)
			continue;
		screen_line(out, below, strcmp(status, "waiting") == 0 ? "- " : "! ");
		output_foreign(out, json_text(step, "title", json_text(step, "id", "")), 70);
		if (agent != NULL) {
			buf_str(out, " (");
			output_foreign(out, agent, 60);
			buf_chr(out, ')');
		}
		for (size_t k = 0; k < json_array_size(needs); k++) {
			buf_str(out, k == 0 ? ", waits for " : ", ");
			output_foreign(out, json_string_value(json_array_get(needs, k)), 40);
		}
		buf_chr(out, '\n');
	}
	if (shown > STEPS) {
		screen_line(out, below, "");
		buf_fmt(out, "… and %zu more\n", shown - STEPS);
	}
}

/* A sprint under way, far enough to go on from. */
static void
put_progress(struct buf *out, int below, const struct epic_sprint *x, bool prompt)
{
	if (x->n_files == 0)
		return;
	if (prompt)
		epic_screen_last_file(out, below, x);
	put_counts(out, below, x);
	if (!prompt)
		epic_screen_last_file(out, below, x);
}

static void
put_sprint(struct buf *out, const struct epic *x, size_t i, const struct manner *m)
{
	static const char *const words[] = { "COMPLETE", "IN PROGRESS", "STARTING", "WAITING" };
	const struct epic_sprint *one = &x->sprints[i];
	bool open = one->state == SPRINT_IN_PROGRESS || one->state == SPRINT_STARTING,
	     early = sprint_starts_over(one, m->threshold);
	int below = m->indent + 3;

	buf_fmt(out, "%*s", m->indent, "");
	epic_screen_name(out, x, i, m->threshold);
	buf_fmt(out, ": %s%s (%d%%)\n",
	    open && m->interrupted && !m->prompt && (!x->alive || one->interrupted) ? "INTERRUPTED"
										    : words[one->state],
	    one->state == SPRINT_COMPLETED && m->prompt ? "D" : "", (int)one->progress);
	if (one->state == SPRINT_COMPLETED && one->n_files > 0)
		put_paths(out, below, one, !m->prompt);
	if (early && m->prompt && one->n_files > 0)
		epic_screen_last_file(out, below, one);
	if (early)
		screen_line(out, below, "Too early to resume, will restart\n");
	if (open && !early)
		put_progress(out, below, one, m->prompt);
	if (open)
		put_steps(out, below, one);
	if (one->confidence >= 0 && one->state != SPRINT_WAITING && !early) {
		screen_line(out, below, "Confidence: ");
		buf_fmt(out, "%.2f\n", one->confidence);
	}
	put_wip(out, below, one, m->now);
	put_hosts(out, below, one);
	for (size_t k = 0; k < one->n_needs && one->state == SPRINT_WAITING; k++)
		epic_screen_need(out, below, &one->needs[k]);
	if (one->state == SPRINT_WAITING && m->prompt && sprint_can_start(one))
		screen_line(out, below, "Ready to start\n");
	buf_chr(out, '\n');
}

/* Up, so that a loss is never shown as none. */
static int
percent_up(double share)
{
	int whole = (int)(share * 100);

	return whole + (share * 100 - whole > 1e-9);
}

static void
put_estimates(struct buf *out, const char *indent, const struct epic *x, double threshold)
{
	struct epic_loss loss = epic_loss(x, threshold);
	int64_t left = epic_remaining(x, threshold);

	buf_fmt(out, "%sEstimated work loss: ", indent);
	if (loss.share < 0)
		buf_str(out, "unknown\n");
	else
		buf_fmt(out, "%d%%\n", percent_up(loss.share));
	if (loss.steps > 0)
		buf_fmt(out, "%sOpen steps: %zu of %zu\n", indent, loss.open, loss.steps);
	buf_fmt(out, "%sEstimated recovery time: ", indent);
	if (left < 0)
		buf_str(out, "unknown");
	else
		epic_screen_age(out, left);
	buf_chr(out, '\n');
}

/* ---- whole screens ---- */

static void
put_title(struct buf *out, const struct epic *x)
{
	buf_str(out, "Epic: ");
	output_foreign(out, json_text(x->record, "name", x->id), 100);
}

static void
put_age(struct buf *out, int64_t at, int64_t now)
{
	epic_screen_time(out, at);
	if (at <= 0)
		return;
	buf_str(out, " (");
	epic_screen_age(out, now - at);
	buf_str(out, " ago)");
}

static void
put_status(struct buf *out, const struct epic *x, int64_t now, double threshold)
{
	/* of one that runs, none is too early for anything */
	struct manner m = { .indent = 4,
		.interrupted = x->interrupted,
		.threshold = x->interrupted ? threshold : -1,
		.now = now };

	put_title(out, x);
	buf_str(out, "\n  ID: ");
	output_foreign(out, x->id, 0);
	buf_str(out, "\n  Started: ");
	epic_screen_time(out, x->started);
	buf_str(out, "\n  Last Activity: ");
	put_age(out, x->last_seen_at, now);
	if (x->interrupted) {
		buf_str(out, "\n  Down for: ");
		put_duration(out, now - x->last_seen_at);
	}
	buf_str(out, "\n\n  Sprints:\n");
	for (size_t i = 0; i < x->n; i++)
		put_sprint(out, x, i, &m);
	if (x->interrupted)
		put_estimates(out, "  ", x, threshold);
	else
		buf_fmt(out, "  %s\n", x->alive ? "An agent is running." : "It is not interrupted.");
}

#define FOUND_KEYS 20			/* that a scan names */

static void
put_key(struct buf *out, size_t *n, enum epic_record_kind at, const char *id, const char *status)
{
	char *key = epic_record_key(at, id);

	if ((*n)++ < FOUND_KEYS) {
		buf_str(out, "  - ");
		output_foreign(out, key, 120);
		buf_fmt(out, " (status: %s)\n", status);
	}
	free(key);
}

static int64_t
newest_heartbeat(const struct epic *x)
{
	int64_t at = 0;

	for (size_t i = 0; i < x->n; i++)
		for (size_t k = 0; k < json_array_size(x->sprints[i].agents); k++) {
			int64_t one = checkpoint_time(
			    json_array_get(x->sprints[i].agents, k), "lastHeartbeat");

			at = one > at ? one : at;
		}
	return at;
}

void
epic_screen_found(struct buf *out, const struct epic_list *list, int64_t now)
{
	int64_t checkpoint = 0, heartbeat = 0;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct epic *x = &list->v[i];

		if (!x->interrupted)
			continue;
		if (n == 0)
			buf_str(out, "Found:\n");
		put_key(out, &n, EPIC_RECORD_EPIC, x->id, json_text(x->record, "status", "unknown"));
		for (size_t k = 0; k < x->n; k++)
			if (x->sprints[k].record != NULL && x->sprints[k].state != SPRINT_COMPLETED)
				put_key(out, &n, EPIC_RECORD_SPRINT, x->sprints[k].id,
				    json_text(x->sprints[k].record, "status", "unknown"));
		checkpoint = x->checkpoint > checkpoint ? x->checkpoint : checkpoint;
		heartbeat = newest_heartbeat(x) > heartbeat ? newest_heartbeat(x) : heartbeat;
	}
	if (n == 0)
		return;
	if (n > FOUND_KEYS)
		buf_fmt(out, "  … and %zu more\n", n - FOUND_KEYS);
	buf_str(out, "Last checkpoint: ");
	put_age(out, checkpoint, now);
	buf_str(out, heartbeat > 0 ? "\nNewest heartbeat: " : "\nNo heartbeats found");
	if (heartbeat > 0)
		put_age(out, heartbeat, now);
	buf_chr(out, '\n');
}

void
epic_screen_status(struct buf *out, const struct epic_list *list, bool all, int64_t now, double threshold)
{
	size_t n = 0, shown = 0, unread = 0;

	for (size_t i = 0; i < list->n; i++)
		n += list->v[i].interrupted;
	for (size_t i = 0; i < list->n_sources; i++)
		unread += list->sources[i].error.code != 0;
	if (n > 0)
		buf_fmt(out, "Found %zu interrupted epic%s:\n\n", n, n == 1 ? "" : "s");
	else if (!all)
		buf_str(out, unread == 0 ? "Found no interrupted epic.\n"
					 : "Found no interrupted epic in the sources that could be read.\n");
	for (size_t i = 0; i < list->n; i++) {
		if (!all && !list->v[i].interrupted)
			continue;
		if (shown++ > 0)
			buf_chr(out, '\n');
		put_status(out, &list->v[i], now, threshold);
		if (!list->v[i].interrupted)
			continue;
		buf_str(out, "\nRun 'gt-recover epic resume ");
		output_foreign(out, list->v[i].id, 0);
		buf_str(out, "' to continue\n");
	}
}

void
epic_screen_prompt(struct buf *out, const struct epic *x, int64_t now, double threshold)
{
	struct manner m = {
		.indent = 2, .prompt = true, .interrupted = true, .threshold = threshold, .now = now
	};
	size_t from = 0, to = 0;

	buf_str(out, "Interrupted Execution Detected\n\n");
	put_title(out, x);
	buf_str(out, " (");
	output_foreign(out, x->id, 0);
	buf_str(out, ")\nStarted: ");
	epic_screen_time(out, x->started);
	buf_str(out, "\nLast Checkpoint: ");
	put_age(out, x->checkpoint, now);
	buf_str(out, "\nDown for: ");
	put_duration(out, now - x->last_seen_at);
	buf_str(out, "\n\nSprint Status:\n");
	for (size_t i = 0; i < x->n; i++) {
		put_sprint(out, x, i, &m);
		if (x->sprints[i].state == SPRINT_COMPLETED)
			continue;
		from = from == 0 ? i + 1 : from;
		to = i + 1;
	}
	put_estimates(out, "", x, threshold);
	buf_str(out,
	    "\nRecovery options:\n  1. Resume from checkpoint (recommended)\n  2. Restart failed sprints "
	    "only (sprint");
	buf_fmt(out, from == to ? " %zu)\n" : "s %zu-%zu)\n", from, to);
	buf_str(out, "  3. Inspect state (dry-run, no execution)\n  4. Abandon and start fresh\n\n");
}

void
epic_screen_abandon(struct buf *out, const struct epic *x)
{
	buf_str(out, "! This will permanently delete, of the epic ");
	output_foreign(out, x->id, 0);
	buf_str(out,
	    ":\n  - All sprint state\n  - All agent checkpoints\n  - All file progress data\n  - All "
	    "coordination locks\n\n"
	    "This action cannot be undone.\n\n");
}

/* ---- for programs ---- */

static json_t *
needs_json(const struct epic_sprint *x)
{
	json_t *list = json_array();

	for (size_t i = 0; i < x->n_needs; i++) {
		json_t *o = json_object();

		json_put(o, "id", x->needs[i].id);
		json_object_set_new(o, "place",
		    x->needs[i].place > 0 ? json_integer((json_int_t)x->needs[i].place) : json_null());
		json_put_flag(o, "resolved", x->needs[i].resolved);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *
sprint_json(const struct epic *x, size_t i, double threshold)
{
	static const char *const words[] = { "completed", "in_progress", "starting", "waiting" };
	const struct epic_sprint *one = &x->sprints[i];
	const struct epic_file *last = one->n_files > 0 ? &one->files[one->n_files - 1] : NULL;
	json_t *o = json_object();

	json_put(o, "id", one->id);
	json_put_int(o, "place", (int64_t)i + 1);
	json_put(o, "status", words[one->state]);
	json_object_set_new(o, "progress", json_real(one->progress));
	json_put_int(o, "files_completed", (int64_t)one->completed);
	json_put_int(o, "files", (int64_t)one->n_files);
	json_put(o, "last_file", last != NULL ? last->path : NULL);
	json_object_set_new(o, "last_line",
	    last != NULL && last->line > 0 ? json_integer((json_int_t)last->line) : json_null());
	json_object_set_new(o, "confidence", one->confidence >= 0 ? json_real(one->confidence) : json_null());
	json_put(o, "last_section", last != NULL ? last->last : NULL);
	json_put(o, "next_section", last != NULL ? last->next : NULL);
	json_object_set_new(o, "dependencies", needs_json(one));
	json_put(o, "wip", one->wip);
	json_put_flag(o, "restart", sprint_starts_over(one, threshold));
	json_put_flag(o, "ready", sprint_can_start(one));
	if (json_array_size(one->hosts) > 0)
		json_object_set(o, "hosts", one->hosts);
	return o;
}

json_t *
epic_screen_json(const struct epic *x, int64_t now, double threshold)
{
	struct epic_loss loss = epic_loss(x, threshold);
	int64_t left = epic_remaining(x, threshold);
	json_t *o = json_object(), *sprints = json_array();

	json_put(o, "id", x->id);
	json_put(o, "name", json_text(x->record, "name", NULL));
	json_put(o, "status", x->interrupted ? "interrupted" : json_text(x->record, "status", NULL));
	json_put_flag(o, "alive", x->alive);
	json_put_int(o, "started_at", x->started);
	json_put_int(o, "last_checkpoint", x->checkpoint);
	json_put_int(o, "last_activity", x->last_seen_at);
	json_object_set_new(o, "crash_duration_ms",
	    x->interrupted ? json_integer((json_int_t)(now - x->last_seen_at)) : json_null());
	json_put(o, "source", x->source != NULL ? x->source->name : NULL);
	json_object_set_new(o, "work_loss", loss.share >= 0 ? json_real(100 * loss.share) : json_null());
	json_object_set_new(
	    o, "open_steps", loss.steps > 0 ? json_integer((json_int_t)loss.open) : json_null());
	json_put_int(o, "steps", (int64_t)loss.steps);
	json_object_set_new(o, "remaining_ms", left >= 0 ? json_integer((json_int_t)left) : json_null());
	for (size_t i = 0; i < x->n; i++)
		json_array_append_new(sprints, sprint_json(x, i, threshold));
	json_object_set_new(o, "sprints", sprints);
	return o;
}
