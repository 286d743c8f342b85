#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "work/bead_cli.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "work/bd.h"
#include "work/bead.h"
#include "work/bead_search.h"

#define IDS 4			/* that one `bd show` is asked for */

/* --- one bead of an answer --- */

static struct issue
issue_of(const json_t *v)
{
	return (struct issue){ .id = json_text(v, "id", NULL), .status = json_text(v, "status", NULL), .type = json_text(v, "issue_type", NULL),
	    .assignee = json_text(v, "assignee", NULL), .title = json_text(v, "title", NULL), .description = json_text(v, "description", NULL),
	    .design = json_text(v, "design", NULL), .criteria = json_text(v, "acceptance_criteria", NULL), .notes = json_text(v, "notes", NULL) };
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

/* As is_work in bead.c; since 2026 agents, rigs and mail are tasks with a label. */
static bool
is_work(const json_t *v)
{
	static const char *const types[] = { "agent", "role", "rig", "convoy", "slot", "queue", "event", "message", "gate", "merge-request" };
	static const char *const labels[] = { "gt:agent", "gt:role", "gt:rig", "gt:message" };

	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
		if (has_label(v, labels[i]))
			return false;
	return !is_one_of(json_text(v, "issue_type", "task"), types, sizeof types / sizeof types[0]) && !json_flag(v, "is_template", false) &&
	    !is_handoff(v) && !(strcasecmp(json_text(v, "status", ""), "pinned") == 0 && str_ends(json_text(v, "title", ""), " Handoff"));
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
	int ra = bead_rank_of(sa) * 2 + (bead_rank_of(sa) == RANK_OPEN && strcasecmp(sa, "open") != 0);
	int rb = bead_rank_of(sb) * 2 + (bead_rank_of(sb) == RANK_OPEN && strcasecmp(sb, "open") != 0);

	if (ra != rb)
		return ra < rb;
	if (json_flag(a, "ephemeral", false) != json_flag(b, "ephemeral", false))
		return json_flag(b, "ephemeral", false);
	return time_of(a, "updated_at") > time_of(b, "updated_at");
}

static void
take(struct bead_search *q, const json_t *v, const char *dir, enum rank rank)
{
	struct issue issue = issue_of(v);

	bead_search_take(q, &issue, dir, rank);
}

/* The best of what is assigned to us; what is closed is only noted. */
static void
take_assigned(struct bead_search *q, const json_t *list, const char *dir)
{
	const json_t *best = NULL, *v;
	size_t i;

	json_array_foreach(list, i, v) {
		if (!json_is_object(v) || *json_text(v, "id", "") == '\0' || !is_mine(q, v) || !is_work(v))
			continue;
		if (bead_is_closed(json_text(v, "status", NULL)))
			bead_search_close(q, json_text(v, "id", ""), (double)(json_text(v, "closed_at", NULL) != NULL ? time_of(v, "closed_at") :
			    time_of(v, "updated_at")));
		else if (best == NULL || is_better(v, best))
			best = v;
	}
	if (best != NULL && bead_rank_of(json_text(best, "status", NULL)) < q->best)
		take(q, best, dir, bead_rank_of(json_text(best, "status", NULL)));
}

static void
take_hint(struct bead_search *q, const json_t *shown, const char *dir)
{
	const json_t *v = find_id(shown, q->hint);
	enum rank rank = v != NULL && bead_is_closed(json_text(v, "status", NULL)) ? RANK_CLOSED_HINT : RANK_HINT;

	if (v != NULL && rank < q->best)
		take(q, v, dir, rank);
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
		struct issue issue = issue_of(v);
		int rank = is_handoff(v) && is_mine(q, v) ? 1 : pinned && strcasecmp(title, own) == 0 ? 2 :
		    pinned && strcasecmp(title, "polecat Handoff") == 0 ? 3 : 0;

		if (rank > 0 && *json_text(v, "description", "") != '\0' && !bead_is_closed(issue.status))
			bead_search_hand_over(q, &issue, rank);
	}
	free(own);
}

/* --- the questions --- */

/* What may stand among bd's words without being taken for an option. */
static bool
is_id(const char *s)
{
	size_t n = s != NULL ? strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") : 0;

	return n > 0 && n < 128 && s[n] == '\0' && isalnum((unsigned char)s[0]);
}

/* Nobody's beads are never asked for: without a name bd would list all. */
static json_t *
ask_assigned(const struct bead_cli *c, const char *dir, const char *who, bool all, struct err *e)
{
	char *assignee = xasprintf("--assignee=%s", who);
	const char *words[] = { "list", "--limit=0", assignee, "--all" };
	json_t *found = *who != '\0' ? bd_ask(c->bd, dir, words, all ? 4 : 3, e) : json_array();

	free(assignee);
	return found;
}

static json_t *
ask_pinned(const struct bead_cli *c, const char *dir, struct err *e)
{
	static const char *const words[] = { "list", "--limit=0", "--status=pinned" };

	return bd_ask(c->bd, dir, words, 3, e);
}

static json_t *
ask_shown(const struct bead_cli *c, const char *dir, const char *const *ids, size_t n, struct err *e)
{
	const char *words[IDS + 1] = { "show" };
	size_t k = 1;

	for (size_t i = 0; i < n && k <= IDS; i++)
		if (is_id(ids[i]))
			words[k++] = ids[i];
	return k > 1 ? bd_ask(c->bd, dir, words, k, e) : json_array();
}

/* The hook of the agent's own bead, as older towns have it: a bead that is ours, or nobody's. */
static int
take_hook(struct bead_search *q, const struct bead_cli *c, const char *dir, const json_t *agent, struct err *e)
{
	char *line = bead_line(json_text(agent, "description", NULL), "hook_bead");
	const char *id = line != NULL ? line : json_text(agent, "hook_bead", NULL);
	json_t *shown = NULL;
	const json_t *v;
	int ret = 0;

	if (is_id(id) && q->best > RANK_HOOK_BEAD) {
		shown = ask_shown(c, dir, &id, 1, e);
		ret = shown != NULL ? 0 : -1;
		v = find_id(shown, id);
		if (v != NULL && !bead_is_closed(json_text(v, "status", NULL)) && (*json_text(v, "assignee", "") == '\0' || is_mine(q, v)))
			take(q, v, dir, RANK_HOOK_BEAD);
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
	char *agent_id = !named ? NULL : strcmp(c->prefix, c->rig) == 0 ? xasprintf("%s-polecat-%s", c->rig, c->name) :
	    xasprintf("%s-%s-polecat-%s", c->prefix, c->rig, c->name);
	char *rig_id = named ? xasprintf("%s-rig-%s", c->prefix, c->rig) : NULL;
	const char *ids[] = { q->best > RANK_HINT ? q->hint : NULL, agent_id, rig_id };
	json_t *shown = ask_shown(c, dir, ids, 3, e);
	const json_t *agent = find_id(shown, agent_id), *rig = find_id(shown, rig_id);
	int ret = shown != NULL ? 0 : -1;

	if (q->best > RANK_HINT)
		take_hint(q, shown, dir);
	if (rig != NULL && (has_label(rig, "status:parked") || has_label(rig, "status:docked")))
		q->out->rig_stopped = true;
	if (agent != NULL) {
		bead_search_agent(q, json_text(agent, "description", NULL), json_text(agent, "agent_state", NULL), time_of(agent, "updated_at"));
		ret = take_hook(q, c, dir, agent, e);
	}
	json_decref(shown);
	free(agent_id);
	free(rig_id);
	return ret;
}

static int
find_handoff(struct bead_search *q, const struct bead_cli *c, const char *dir, struct err *e)
{
	json_t *mail = ask_assigned(c, dir, q->mail, false, e), *pinned = mail != NULL ? ask_pinned(c, dir, e) : NULL;
	int ret = pinned != NULL ? 0 : -1;

	take_handoff(q, mail);
	take_handoff(q, pinned);
	json_decref(mail);
	json_decref(pinned);
	return ret;
}

static int
search_in(struct bead_search *q, const struct bead_cli *c, size_t i, struct err *e)
{
	const char *dir = c->dirs[i];
	json_t *mine = ask_assigned(c, dir, q->work, true, e);
	int ret = -1;

	if (mine == NULL)
		return -1;
	if (find_named(q, c, i, e) == 0) {
		if (q->best >= RANK_CLOSED_HINT || q->best == RANK_HINT || q->best == RANK_HOOK_BEAD)
			take_assigned(q, mine, dir);
		ret = i + 1 == c->n ? find_handoff(q, c, dir, e) : 0;
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
	for (size_t i = 0; i < c->n && ret == 0 && !(c->quick && q.best == RANK_HOOKED); i++) {
		const json_t *hooked = c->quick ? bd_hooked(c->bd, c->dirs[i], e) : NULL;

		if (!c->quick)
			ret = search_in(&q, c, i, e);
		else if (hooked == NULL)
			ret = -1;
		else
			take_assigned(&q, hooked, c->dirs[i]);
	}
	return bead_search_end(&q, ret);
}
