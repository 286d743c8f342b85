#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beads/beads_private.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/spawn.h"
#include "gastown/gastown.h"

#define ASK_MS 10000
#define HOOKED_MS 5000
#define GRUDGE_MS 10000			/* how long a failure that concerns every question is remembered */
#define ANSWER_MAX ((size_t)64 << 20)
#define WORDS 12			/* of one call */

struct hooked {
	char *beads;
	json_t *found;			/* NULL: it failed */
};

struct bd {
	char *port;
	bool plain;			/* this bd has no --readonly */
	struct err trouble;
	int64_t failed_at;		/* monotonic ms of a failure that concerns every question; 0: none */
	struct hooked *v;
	size_t n, cap;
};

struct bd *
bd_new(const char *port)
{
	struct bd *b = xcalloc(1, sizeof *b);

	b->port = port != NULL ? xstrdup(port) : NULL;
	return b;
}

void
bd_free(struct bd *b)
{
	if (b == NULL)
		return;
	for (size_t i = 0; i < b->n; i++) {
		free(b->v[i].beads);
		json_decref(b->v[i].found);
	}
	free(b->v);
	free(b->port);
	free(b);
}

const struct err *
bd_last_error(const struct bd *b)
{
	return &b->trouble;
}

/* --- its environment --- */

/* What another database, or a person's taste, may have left in ours. */
static bool
is_ours(const char *entry, bool port)
{
	static const char *const names[] = { "BEADS_DIR=", "BEADS_DB=", "BEADS_DOLT_SERVER_DATABASE=",
		"BEADS_DOLT_AUTO_START=", "BD_JSON_ENVELOPE=", "BD_BACKUP_ENABLED=", "BD_EXPORT_AUTO=",
		"BD_DOLT_AUTO_COMMIT=", "NO_COLOR=" };
	static const char *const ports[] = { "GT_DOLT_PORT=", "BEADS_DOLT_PORT=", "BEADS_DOLT_SERVER_PORT=" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (str_starts(entry, names[i]))
			return true;
	for (size_t i = 0; port && i < sizeof ports / sizeof ports[0]; i++)
		if (str_starts(entry, ports[i]))
			return true;
	return false;
}

static void
make_environ(const struct bd *b, const char *beads, struct town_list *out)
{
	static const char *const fixed[] = { "BEADS_DOLT_AUTO_START=0", "BD_BACKUP_ENABLED=false",
		"BD_EXPORT_AUTO=false", "BD_DOLT_AUTO_COMMIT=off", "NO_COLOR=1" };

	for (char **p = environ; *p != NULL; p++)
		if (!is_ours(*p, b->port != NULL))
			town_list_add(out, xstrdup(*p));
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
		town_list_add(out, xstrdup(fixed[i]));
	town_list_add(out, xasprintf("BEADS_DIR=%s", beads));
	if (b->port != NULL) {
		town_list_add(out, xasprintf("GT_DOLT_PORT=%s", b->port));
		town_list_add(out, xasprintf("BEADS_DOLT_PORT=%s", b->port));
		town_list_add(out, xasprintf("BEADS_DOLT_SERVER_PORT=%s", b->port));
	}
	town_list_add(out, NULL);
}

/* --- its answers --- */

/* The beads in a value that bd printed; takes the reference over. NULL: it is no answer. */
static json_t *
beads_in(json_t *v, int depth)
{
	static const char *const wraps[] = { "data", "issues" };
	json_t *array;

	if (json_is_array(v))
		return v;
	if (json_is_null(v)) {
		json_decref(v);
		return json_array();
	}
	for (size_t i = 0; i < 2 && depth < 3 && json_is_object(v); i++) {
		json_t *inner = json_object_get(v, wraps[i]);

		if (inner != NULL) {
			json_incref(inner);
			json_decref(v);
			return beads_in(inner, depth + 1);
		}
	}
	if (*json_text(v, "id", "") == '\0') {
		json_decref(v);
		return NULL;
	}
	array = json_array();
	json_array_append_new(array, v);
	return array;
}

/* Words of bd's own may stand before the JSON, each on a line. */
static json_t *
read_answer(const struct buf *out)
{
	const char *p = out->len > 0 ? out->data : "", *nl;
	json_t *v;

	for (; *p != '\0' && *p != '[' && *p != '{' && !str_starts(p, "null"); p = nl + 1) {
		if (str_starts(p, "No issues found"))
			return json_array();
		nl = strchr(p, '\n');
		if (nl == NULL)
			return NULL;
	}
	v = *p != '\0' ? json_parse(p, out->len - (size_t)(p - out->data), "bd", NULL) : NULL;
	return v != NULL ? beads_in(v, 0) : NULL;
}

static bool
output_contains(const struct buf *b, const char *what)
{
	return b->len > 0 && strcasestr(b->data, what) != NULL;
}

/* bd's own words are not repeated: they are foreign, and long. */
static int
explain(const struct spawn *s, const char *dir, struct err *e)
{
	const struct buf *b[] = { s->errout, s->out };

	for (size_t i = 0; i < 2; i++)
		if (output_contains(b[i], "connection refused") || output_contains(b[i], "unreachable") ||
		    output_contains(b[i], "dial tcp") || output_contains(b[i], "no such host")) {
			err_set(e, GT_FAIL, "dolt-down",
			    "the Dolt server does not answer, so bd cannot read the beads of %s", dir);
			return err_hint(e, "start it (gt dolt start), or look the work up later with bd");
		}
	err_set(e, GT_FAIL, "bd-failed", "bd could not read the beads of %s (status %d)", dir, s->status);
	return err_hint(e, "run bd list there to see why");
}

/* Of `show`: nothing of that name, which is an answer. */
static bool
is_unknown_bead(const struct spawn *s, const char *const *words, size_t n)
{
	if (n < 2 || strcmp(words[0], "show") != 0)
		return false;
	return output_contains(s->errout, "no issue") || output_contains(s->out, "no issue") ||
	    (output_contains(s->errout, words[1]) && output_contains(s->errout, "not found")) ||
	    (output_contains(s->out, words[1]) && output_contains(s->out, "not found"));
}

/* --- asking --- */

static int
run(struct bd *b, struct spawn *s, const char *const *words, size_t n, struct err *e)
{
	const char *argv[WORDS + 4] = { "bd" };
	size_t k = 1;
	struct err why = ERR_INIT;

	if (!b->plain)
		argv[k++] = "--readonly";
	for (size_t i = 0; i < n && i < WORDS; i++)
		argv[k++] = words[i];
	argv[k] = "--json";
	s->argv = argv;
	buf_reset(s->out);
	buf_reset(s->errout);
	if (spawn_run(s, &why) == 0)
		return 0;
	if (strcmp(why.name, "not-installed") == 0) {
		err_set(e, GT_FAIL, "no-bd",
		    "the beads are in a Dolt server, and bd is not in PATH");
		return err_hint(
		    e, "add bd to PATH; the timer uses the PATH of the time of setup: gt-recover setup "
		    "--only timer");
	}
	if (strcmp(why.name, "timeout") == 0) {
		err_set(e, GT_FAIL, "bd-timeout", "bd did not answer within %d s", s->timeout_ms / 1000);
		return err_hint(e, "check the Dolt server: gt dolt status");
	}
	err_set(e, GT_FAIL, "bd-failed", "bd cannot be run: %s", why.msg);
	return err_hint(e, "run bd list by hand to see why");
}

/* The answer of one call; NULL with e. */
static json_t *
ask(struct bd *b, struct spawn *s, const char *const *words, size_t n, struct err *e)
{
	json_t *found;

	if (run(b, s, words, n, e) != 0)
		return NULL;
	if (s->status != 0 && !b->plain && output_contains(s->errout, "unknown flag: --readonly")) {
		b->plain = true;
		if (run(b, s, words, n, e) != 0)
			return NULL;
	}
	if (s->status != 0 && is_unknown_bead(s, words, n))
		return json_array();
	if (s->status != 0) {
		explain(s, s->cwd, e);
		return NULL;
	}
	found = read_answer(s->out);
	if (found == NULL) {
		err_set(
		    e, GT_FAIL, "bd-answer", "cannot parse the output of bd for the beads of %s", s->cwd);
		err_hint(e,
		    "run bd %s --json there; a newer bd may have another format",
		    words[0]);
	}
	return found;
}

static json_t *
ask_for(struct bd *b, const char *beads, const char *const *words, size_t n, int timeout_ms, struct err *e)
{
	const char *slash = strrchr(beads, '/');
	char *dir = slash != NULL && slash > beads ? xstrndup(beads, (size_t)(slash - beads)) : xstrdup("/");
	struct buf out = BUF_INIT, errout = BUF_INIT;
	struct town_list env = TOWN_LIST_INIT;
	struct err why = ERR_INIT;
	struct spawn s = {
		.cwd = dir, .out = &out, .errout = &errout, .max_out = ANSWER_MAX, .timeout_ms = timeout_ms
	};
	json_t *found = NULL;

	if (b->failed_at == 0 || clock_mono_ms() - b->failed_at > GRUDGE_MS) {
		make_environ(b, beads, &env);
		s.env = (const char *const *)env.v;
		found = ask(b, &s, words, n, &why);
		b->failed_at = 0;
		if (found == NULL) {
			b->trouble = why;
			if (strcmp(why.name, "bd-answer") != 0 && strcmp(why.name, "bd-failed") != 0)
				b->failed_at = clock_mono_ms();
		}
	}
	if (found == NULL && e != NULL)
		*e = b->trouble;
	town_list_release(&env);
	buf_release(&out);
	buf_release(&errout);
	free(dir);
	return found;
}

/*
 * The beads that it answers with: an array of objects, whether bd printed an array, one object,
 * an envelope, or "No issues found."; an id that `show` does not know is left out. `beads` is the
 * .beads directory, `words` the n words of the command without --json. New reference. NULL: names
 * "no-bd" (the program is not there), "dolt-down" (no server answers), "bd-timeout", "bd-failed",
 * "bd-answer"; none of these is ever "no work". A program that is not there, a dead server and a
 * timeout are remembered for ten seconds: those who ask after that get the same answer at once.
 */
static json_t *
bd_query(struct bd *b, const char *beads, const char *const *words, size_t n, struct err *e)
{
	return ask_for(b, beads, words, n, ASK_MS, e);
}

/*
 * All that is hooked there; asked once for each directory, at most five seconds long. Borrowed;
 * NULL as above.
 */
static const json_t *
bd_hooked(struct bd *b, const char *beads, struct err *e)
{
	static const char *const words[] = { "list", "--status=hooked", "--limit=0" };
	struct hooked *h = NULL;

	for (size_t i = 0; i < b->n && h == NULL; i++)
		if (strcmp(b->v[i].beads, beads) == 0)
			h = &b->v[i];
	if (h == NULL) {
		b->v = vec_room(b->v, b->n, &b->cap, sizeof *b->v);
		h = &b->v[b->n++];
		*h = (struct hooked){ .beads = xstrdup(beads),
			.found = ask_for(b, beads, words, 3, HOOKED_MS, e) };
	} else if (h->found == NULL && e != NULL) {
		*e = b->trouble;
	}
	return h->found;
}

#define IDS 4			/* that one `bd show` is asked for */

/* --- one bead of an answer --- */

static struct bead_issue
issue_from_json(const json_t *v)
{
	return (struct bead_issue){ .id = json_text(v, "id", NULL),
		.status = json_text(v, "status", NULL),
		.type = json_text(v, "issue_type", NULL),
		.assignee = json_text(v, "assignee", NULL),
		.title = json_text(v, "title", NULL),
		.description = json_text(v, "description", NULL),
		.design = json_text(v, "design", NULL),
		.criteria = json_text(v, "acceptance_criteria", NULL),
		.notes = json_text(v, "notes", NULL) };
}

static int64_t
time_of(const json_t *v, const char *key)
{
	int64_t at = clock_parse_iso(json_text(v, key, ""));

	return at > 0 ? at : 0;
}

static bool
has_label(const json_t *v, const char *label)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(v, "labels"), i, one)
		if (json_is_string(one) && strcmp(json_string_value(one), label) == 0)
			return true;
	return false;
}

static bool
is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

static bool
is_handoff(const json_t *v)
{
	return str_starts(json_text(v, "title", ""), "🤝 HANDOFF:");
}

/* As json_is_work in bead.c; since 2026 agents, rigs and mail are tasks with a label. */
static bool
json_is_work(const json_t *v)
{
	static const char *const types[] = { "agent", "role", "rig", "convoy", "slot", "queue", "event",
		"message", "gate", "merge-request" };
	static const char *const labels[] = { "gt:agent", "gt:role", "gt:rig", "gt:message" };

	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
		if (has_label(v, labels[i]))
			return false;
	return !is_one_of(json_text(v, "issue_type", "task"), types, sizeof types / sizeof types[0]) &&
	    !json_flag(v, "is_template", false) && !is_handoff(v) &&
	    !(strcasecmp(json_text(v, "status", ""), "pinned") == 0 &&
		str_ends(json_text(v, "title", ""), " Handoff"));
}

static bool
is_mine(const struct bead_search *q, const json_t *v)
{
	const char *who = json_text(v, "assignee", "");

	return *who != '\0' && (strcasecmp(who, q->work) == 0 || strcasecmp(who, q->mail) == 0);
}

static const json_t *
find_id(const json_t *list, const char *id)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v)
		if (id != NULL && strcmp(json_text(v, "id", ""), id) == 0)
			return v;
	return NULL;
}

/* --- what an answer says --- */

static bool
is_better(const json_t *a, const json_t *b)
{
	const char *sa = json_text(a, "status", ""), *sb = json_text(b, "status", "");
	int ra = (int)bead_rank_of(sa) * 2 +
	    (bead_rank_of(sa) == BEAD_RANK_OPEN && strcasecmp(sa, "open") != 0);
	int rb = (int)bead_rank_of(sb) * 2 +
	    (bead_rank_of(sb) == BEAD_RANK_OPEN && strcasecmp(sb, "open") != 0);

	if (ra != rb)
		return ra < rb;
	if (json_flag(a, "ephemeral", false) != json_flag(b, "ephemeral", false))
		return json_flag(b, "ephemeral", false);
	return time_of(a, "updated_at") > time_of(b, "updated_at");
}

static void
add_json_work(struct bead_search *q, const json_t *v, const char *dir, enum bead_rank rank)
{
	struct bead_issue issue = issue_from_json(v);

	bead_search_add_work(q, &issue, dir, rank);
}

/* The best of what is assigned to us; what is closed is only noted. */
static void
take_assigned(struct bead_search *q, const json_t *list, const char *dir)
{
	const json_t *best = NULL, *v;
	size_t i;

	json_array_foreach(list, i, v) {
		if (!json_is_object(v) || *json_text(v, "id", "") == '\0' || !is_mine(q, v) ||
		    !json_is_work(v))
			continue;
		if (bead_is_closed(json_text(v, "status", NULL)))
			bead_search_add_closed(q, json_text(v, "id", ""),
			    (double)(json_text(v, "closed_at", NULL) != NULL ? time_of(v, "closed_at")
									     : time_of(v, "updated_at")));
		else if (best == NULL || is_better(v, best))
			best = v;
	}
	if (best != NULL && bead_rank_of(json_text(best, "status", NULL)) < q->best)
		add_json_work(q, best, dir, bead_rank_of(json_text(best, "status", NULL)));
}

static void
take_hint(struct bead_search *q, const json_t *shown, const char *dir)
{
	const json_t *v = find_id(shown, q->hint);
	enum bead_rank rank = v != NULL && bead_is_closed(json_text(v, "status", NULL))
	    ? BEAD_RANK_CLOSED_HINT
	    : BEAD_RANK_HINT;

	if (v != NULL && rank < q->best)
		add_json_work(q, v, dir, rank);
}

static void
take_handoff(struct bead_search *q, const json_t *list)
{
	char *own = xasprintf("%s Handoff", q->name);
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v) {
		const char *title = json_text(v, "title", "");
		bool pinned = strcasecmp(json_text(v, "status", ""), "pinned") == 0;
		struct bead_issue issue = issue_from_json(v);
		int rank = is_handoff(v) && is_mine(q, v) ? 1 : pinned && strcasecmp(title, own) == 0 ? 2 :
		    pinned && strcasecmp(title, "polecat Handoff") == 0 ? 3 : 0;

		if (rank > 0 && *json_text(v, "description", "") != '\0' && !bead_is_closed(issue.status))
			bead_search_add_handoff(q, &issue, rank);
	}
	free(own);
}

/* --- the questions --- */

/* What may stand among bd's words without being taken for an option. */
static bool
is_id(const char *s)
{
	size_t n =
	    s != NULL ? strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") : 0;

	return n > 0 && n < 128 && s[n] == '\0' && isalnum((unsigned char)s[0]);
}

/* Nobody's beads are never asked for: without a name bd would list all. */
static json_t *
ask_assigned(const struct bead_cli *c, const char *dir, const char *who, bool all, struct err *e)
{
	char *assignee = xasprintf("--assignee=%s", who);
	const char *words[] = { "list", "--limit=0", assignee, "--all" };
	json_t *found = *who != '\0' ? bd_query(c->bd, dir, words, all ? 4 : 3, e) : json_array();

	free(assignee);
	return found;
}

static json_t *
ask_pinned(const struct bead_cli *c, const char *dir, struct err *e)
{
	static const char *const words[] = { "list", "--limit=0", "--status=pinned" };

	return bd_query(c->bd, dir, words, 3, e);
}

static json_t *
ask_shown(const struct bead_cli *c, const char *dir, const char *const *ids, size_t n, struct err *e)
{
	const char *words[IDS + 1] = { "show" };
	size_t k = 1;

	for (size_t i = 0; i < n && k <= IDS; i++)
		if (is_id(ids[i]))
			words[k++] = ids[i];
	return k > 1 ? bd_query(c->bd, dir, words, k, e) : json_array();
}

/* The hook of the agent's own bead, as older towns have it: a bead that is ours, or nobody's. */
static int
take_hook(
    struct bead_search *q, const struct bead_cli *c, const char *dir, const json_t *agent, struct err *e)
{
	char *line = bead_line(json_text(agent, "description", NULL), "hook_bead");
	const char *id = line != NULL ? line : json_text(agent, "hook_bead", NULL);
	json_t *shown = NULL;
	const json_t *v;
	int ret = 0;

	if (is_id(id) && q->best > BEAD_RANK_HOOK_BEAD) {
		shown = ask_shown(c, dir, &id, 1, e);
		ret = shown != NULL ? 0 : -1;
		v = find_id(shown, id);
		if (v != NULL && !bead_is_closed(json_text(v, "status", NULL)) &&
		    (*json_text(v, "assignee", "") == '\0' || is_mine(q, v)))
			add_json_work(q, v, dir, BEAD_RANK_HOOK_BEAD);
	}
	json_decref(shown);
	free(line);
	return ret;
}

/* The beads of the agent and of the rig themselves, which are not the town's, and the hint, in one call. */
static int
find_named(struct bead_search *q, const struct bead_cli *c, size_t i, struct err *e)
{
	const char *dir = c->dirs[i];
	bool named = c->rig != NULL && c->prefix != NULL && (i + 1 < c->n || i == 0);
	char *agent_id = !named              ? NULL
	    : strcmp(c->prefix, c->rig) == 0 ? xasprintf("%s-polecat-%s", c->rig, c->name)
					     : xasprintf("%s-%s-polecat-%s", c->prefix, c->rig, c->name);
	char *rig_id = named ? xasprintf("%s-rig-%s", c->prefix, c->rig) : NULL;
	const char *ids[] = { q->best > BEAD_RANK_HINT ? q->hint : NULL, agent_id, rig_id };
	json_t *shown = ask_shown(c, dir, ids, 3, e);
	const json_t *agent = find_id(shown, agent_id), *rig = find_id(shown, rig_id);
	int ret = shown != NULL ? 0 : -1;

	if (q->best > BEAD_RANK_HINT)
		take_hint(q, shown, dir);
	if (rig != NULL && (has_label(rig, "status:parked") || has_label(rig, "status:docked")))
		q->out->rig_stopped = true;
	if (agent != NULL) {
		bead_search_set_agent(q, json_text(agent, "description", NULL),
		    json_text(agent, "agent_state", NULL), time_of(agent, "updated_at"));
		ret = take_hook(q, c, dir, agent, e);
	}
	json_decref(shown);
	free(agent_id);
	free(rig_id);
	return ret;
}

static int
bd_find_handoff(struct bead_search *q, const struct bead_cli *c, const char *dir, struct err *e)
{
	json_t *mail = ask_assigned(c, dir, q->mail, false, e),
	       *pinned = mail != NULL ? ask_pinned(c, dir, e) : NULL;
	int ret = pinned != NULL ? 0 : -1;

	take_handoff(q, mail);
	take_handoff(q, pinned);
	json_decref(mail);
	json_decref(pinned);
	return ret;
}

static int
bd_search_dir(struct bead_search *q, const struct bead_cli *c, size_t i, struct err *e)
{
	const char *dir = c->dirs[i];
	json_t *mine = ask_assigned(c, dir, q->work, true, e);
	int ret = -1;

	if (mine == NULL)
		return -1;
	if (find_named(q, c, i, e) == 0) {
		if (q->best >= BEAD_RANK_CLOSED_HINT || q->best == BEAD_RANK_HINT ||
		    q->best == BEAD_RANK_HOOK_BEAD)
			take_assigned(q, mine, dir);
		ret = i + 1 == c->n ? bd_find_handoff(q, c, dir, e) : 0;
	}
	json_decref(mine);
	return ret;
}

int
bead_cli_find(const struct bead_cli *c, struct scrub *s, struct bead *out, struct err *e)
{
	struct bead_search q;
	int ret = 0;

	bead_search_init(&q, c->rig, c->name, c->hint, s, out);
	for (size_t i = 0; i < c->n && ret == 0 && !(c->quick && q.best == BEAD_RANK_HOOKED); i++) {
		const json_t *hooked = c->quick ? bd_hooked(c->bd, c->dirs[i], e) : NULL;

		if (!c->quick)
			ret = bd_search_dir(&q, c, i, e);
		else if (hooked == NULL)
			ret = -1;
		else
			take_assigned(&q, hooked, c->dirs[i]);
	}
	return bead_search_end(&q, ret);
}
