#include <stdlib.h>
#include <string.h>

#include "recover/recover_private.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "detect/detect.h"
#include "scrub/scrub.h"

#define MAX_CONTEXT ((size_t)64 << 20)

int
gather_save(
    struct app *w, const char *session, const char *recovery_id, const struct gathered *g, struct err *e)
{
	char *name = xasprintf("%s.json", recovery_id), *path = app_path(w, "contexts", name, true, e);
	struct buf b = BUF_INIT;
	json_t *v;
	int ret = -1;

	if (path != NULL) {
		v = json_object();
		json_put_int(v, "schema_version", 1);
		json_put(v, "recovery_id", recovery_id);
		json_put(v, "session", session);
		json_put(v, "previous", g->earlier.id);
		json_put(v, "transcript", g->found.path);
		json_put_int(v, "kept_at", clock_wall_ms());
		json_object_set_new(
		    v, "text", json_bytes(clean_bytes(g->capture.text), clean_len(g->capture.text)));
		json_object_set_new(v, "conversation", conversation_json(&g->conversation));
		json_object_set_new(v, "prompt", json_bytes(g->prompt.data, g->prompt.len));
		json_print(&b, v, false);
		json_decref(v);
		ret = io_write_durable(path, b.data, b.len, "context", e);
	}
	buf_release(&b);
	free(path);
	free(name);
	return ret;
}

int
gather_load_saved(
    struct app *w, const char *recovery_id, struct conversation *talk, struct buf *prompt, struct err *e)
{
	char *name = xasprintf("%s.json", recovery_id), *path = app_path(w, "contexts", name, false, e);
	struct buf b = BUF_INIT;
	json_t *v = NULL;
	int ret = -1;

	if (path == NULL)
		goto out;
	if (io_read_private(path, MAX_CONTEXT, &b, e) != 0) {
		ret = strcmp(e->name, "not-found") == 0 ? 0 : -1;
		if (ret == 0)
			err_clear(e);
		goto out;
	}
	v = json_parse(b.data, b.len, path, e);
	if (v == NULL)
		goto out;
	if (prompt != NULL)
		buf_str(prompt, json_text(v, "prompt", ""));
	if (talk != NULL && conversation_from_json(talk, json_object_get(v, "conversation"), e) != 0)
		goto out;
	ret = 1;
out:
	json_decref(v);
	buf_release(&b);
	free(path);
	free(name);
	return ret;
}

#define MOST_LINKS 8	/* recoveries that are followed back when nothing of them is kept */
/* messages with an id that are asked after; a person may quote one of another session */
#define MOST_PROMPTS 64

/*
 * Index of the newest user message before `end` that is one of our own prompts, and its id;
 * talk->n when there is none.
 */
static size_t
own_prompt(const struct conversation *talk, size_t end, char id[PROMPT_ID + 1])
{
	for (size_t i = end; i-- > 0; ) {
		const struct exchange *x = &talk->v[i];
		const char *found;

		if (x->role != ROLE_USER || x->tool != NULL)
			continue;
		found = prompt_find_id(x->content, strlen(x->content));
		if (found != NULL) {
			memcpy(id, found, PROMPT_ID);
			id[PROMPT_ID] = '\0';
			return i;
		}
	}
	return talk->n;
}

/* A start that told nothing is no new conversation: its banner must not part what goes on. */
static void
drop_banners(struct conversation *talk, size_t from)
{
	size_t n = from;

	for (size_t i = from; i < talk->n; i++) {
		if (talk->v[i].role == ROLE_SYSTEM && str_starts(talk->v[i].content, "Claude Code v"))
			exchange_release(&talk->v[i]);
		else
			talk->v[n++] = talk->v[i];
	}
	talk->n = n;
}

/*
 * The exchange with which talk's own record begins to tell of a start at that time, and behind it
 * nothing is older; talk->n: none.
 */
static size_t
first_since(const struct conversation *talk, int64_t at)
{
	for (size_t i = 0; i < talk->n; i++)
		if (talk->v[i].source == SOURCE_TRANSCRIPT && talk->v[i].at >= at)
			return i;
	return talk->n;
}

/*
 * earlier goes on with talk, of which much may stand in earlier, too: the rows of the screen that
 * no start wiped. What the record of the start at that time tells is new, however alike it
 * sounds.
 */
static void
join_overlapping(struct conversation *talk, struct conversation *earlier, int64_t at)
{
	struct conversation all, new = CONVERSATION_INIT;
	char *session_id = talk->session_id;
	size_t from = first_since(talk, at);

	for (size_t i = from; i < talk->n; i++)
		conversation_take(&new, &talk->v[i]);
	talk->n = from;
	talk->session_id = NULL;
	drop_banners(talk, 0);
	conversation_merge(earlier, NULL, talk, &all);
	free(all.session_id);
	all.session_id = session_id;
	for (size_t i = 0; i < new.n; i++)
		conversation_take(&all, &new.v[i]);
	conversation_release(&new);
	*talk = all;
}

/*
 * Said to the new process before the prompt was pasted into it. A conversation that was resumed
 * has all that before; what stands on the screen alone is of the process before.
 */
static bool
is_before_paste(const struct exchange *x, const struct attempt *a)
{
	bool fresh = a->via == NULL || strcmp(a->via, "resume") != 0,
	     told = strcmp(a->class, detect_status_name(AGENT_RESPAWNED)) == 0;

	return fresh && x->source == SOURCE_TRANSCRIPT && (told || x->at >= a->times[PHASE_RESPAWNED]);
}

/* earlier goes on with what stands behind the prompt at from - 1. */
static void
join_behind(struct conversation *talk, struct conversation *earlier, size_t from, const struct attempt *a)
{
	struct exchange *old = talk->v;
	size_t n = talk->n;

	talk->v = NULL;
	talk->n = talk->cap = 0;
	for (size_t i = 0; i < earlier->n; i++)
		conversation_take(talk, &earlier->v[i]);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == from || (i < from && !is_before_paste(&old[i], a)))
			exchange_release(&old[i]);
		else
			conversation_take(talk, &old[i]);
	free(old);
}

static bool
was_sent(const struct conversation *talk, const char *draft)
{
	for (size_t i = 0; i < talk->n; i++)
		if (talk->v[i].role == ROLE_USER && talk->v[i].tool == NULL &&
		    prompt_find_id(talk->v[i].content, strlen(talk->v[i].content)) == NULL &&
		    strstr(talk->v[i].content, draft) != NULL)
			return true;
	return false;
}

/* What the person had typed before an earlier crash is not sent yet, however often the agent died since. */
static void
keep_draft(struct conversation *talk, const char *draft)
{
	char *both;

	if (draft == NULL || *draft == '\0' || was_sent(talk, draft) ||
	    (talk->draft != NULL && strstr(talk->draft, draft) != NULL))
		return;
	both = talk->draft == NULL ? xstrdup(draft) : xasprintf("%s\n\n%s", draft, talk->draft);
	free(talk->draft);
	talk->draft = both;
}

/*
 * earlier + a note + what is new in talk since the attempt's start; the result becomes talk. from
 * 0: the prompt is not there.
 */
static void
join_conversations(
    struct conversation *talk, struct conversation *earlier, size_t from, bool told, const struct attempt *a)
{
	struct older_count older = earlier->older;
	/* a new conversation's list is empty until the agent makes one */
	char **list = talk->tasks != NULL ? &talk->tasks : &earlier->tasks, *tasks = *list;
	bool turn_over = talk->turn_over;

	*list = NULL;
	free(earlier->tasks);
	earlier->tasks = NULL;
	if (older.all == 0)
		older = talk->older;
	keep_draft(talk, earlier->draft);
	for (size_t i = 0; i < earlier->n; i++)
		earlier->v[i].source = SOURCE_EARLIER;
	conversation_add(earlier, ROLE_SYSTEM, NULL, NULL,
	    xasprintf(told ? "The agent was brought back here (recovery %s) and was told everything above."
			   : "The agent was started again here (recovery %s) and ended before it had read "
			     "what is above.",
		a->id))
	    ->source = SOURCE_EARLIER;
	if (from == 0)
		join_overlapping(talk, earlier, a->times[PHASE_RESPAWNED]);
	else
		join_behind(talk, earlier, from, a);
	talk->older = older;
	talk->tasks = tasks;
	talk->turn_over = turn_over;
}

/*
 * Of a session that is gone nothing but a snapshot remembers the pane: the newest attempt that
 * had started an agent in it when that was taken, and never came to its proof. 1 found, 0 not.
 */
static int
attempt_of_session(const struct previous_input *in, struct store *store, struct attempt *a, struct err *e)
{
	const struct pane *p = &in->c->pane;
	struct attempt_list all = { .n = 0 };
	struct attempt *best = NULL;
	int found = attempt_list_all(store, &all, e);

	for (size_t i = 0; found == 0 && i < all.n; i++) {
		struct attempt *x = &all.v[i];
		int64_t at = x->times[PHASE_RESPAWNED];

		if (at != 0 && at <= in->c->crashed_at && x->pane_pid != p->pid &&
		    strcmp(x->session, p->session) == 0 && strcmp(x->socket, p->socket_path) == 0 &&
		    (best == NULL || at > best->times[PHASE_RESPAWNED]))
			best = x;
	}
	found = found != 0 ? -1 : best != NULL && best->phase != PHASE_ACKNOWLEDGED;
	if (found == 1) {
		*a = *best;
		attempt_init(best);
	}
	attempt_list_release(&all);
	return found;
}

/* Is what died here the agent that the attempt started, as far as anybody can tell? */
static bool
is_of_attempt(const struct previous_input *in, const struct attempt *a)
{
	pid_t died = in->c->pid_record.pid;

	return attempt_started(&in->c->pane, a->id) ||
	    (a->in_shell && (died == 0 || a->new_pid == 0 || died == (pid_t)a->new_pid));
}

/*
 * A newer incarnation may have died before it showed our prompt, or so long after that it
 * scrolled away: then the ledger knows what it was told. An attempt that never came to start
 * anything told nobody anything, and all that it kept still stands on the screen. 1 found, 0 not.
 */
static int
unshown_attempt(const struct previous_input *in, struct store *store, struct attempt *a, struct err *e)
{
	const struct pane *p = &in->c->pane;
	pid_t crash = recovery_crash_pid(in->w, in->c);
	char id[PROMPT_ID + 1];
	int found;

	if (in->c->started_by != NULL)
		return attempt_load(store, in->c->started_by, a, e);
	found = attempt_latest(store, p->socket_path, p->server_pid, p->server_start, p->id, a, e);
	/* an earlier recoverer had begun with this very crash */
	if (found == 1 && a->pane_pid == crash) {
		attempt_release(a);
		found = 0;
	}
	/* the pane of a session that was made again is another than the one that its attempt was for */
	if (found == 0 && attempt_id_of_pane(p, id))
		found = attempt_load(store, id, a, e);
	if (found == 0 && in->c->status == AGENT_MISSING)
		found = attempt_of_session(in, store, a, e);
	if (found == 1 &&
	    (a->pane_pid == crash || (a->phase == PHASE_ACKNOWLEDGED && !is_of_attempt(in, a)))) {
		attempt_release(a);
		return 0;
	}
	return found;
}

/*
 * An id in a user's message may be quoted from another session: only what was told to this pane,
 * this session, or in this transcript, counts.
 */
static int
delivered_here(
    const struct previous_input *in, struct store *store, const char *id, struct attempt *a, struct err *e)
{
	const struct pane *p = &in->c->pane;
	int found = attempt_load(store, id, a, e);

	if (found != 1)
		return found;
	if (a->server_pid == p->server_pid && a->server_start == p->server_start &&
	    strcmp(a->pane_id, p->id) == 0)
		return 1;
	if (strcmp(a->session, p->session) == 0 && strcmp(a->socket, p->socket_path) == 0)
		return 1;
	if (a->transcript != NULL && in->transcript != NULL && strcmp(a->transcript, in->transcript) == 0)
		return 1;
	attempt_release(a);
	return 0;
}

static int rebuild_previous(const struct previous_input *in, struct store *store, const struct attempt *a,
    const char *message, unsigned depth, struct conversation *out, bool *lost, struct err *e);

/* The transcript that an attempt was gathered from, with the attempt before that in its turn taken apart. */
static int
older_transcript(const struct previous_input *in, struct store *store, const struct attempt *a,
    unsigned depth, struct conversation *out, struct err *e)
{
	struct conversation before = CONVERSATION_INIT;
	char id[PROMPT_ID + 1];
	struct attempt older;
	size_t at;
	bool lost;
	int found;

	/* it may be gone as well: what is left of the prompt's words remains */
	if (a->source == NULL ||
	    transcript_read(a->source, in->c->profile->transcript, in->scrub, in->room, out, NULL) != 0)
		return 0;
	at = own_prompt(out, out->n, id);
	if (at == out->n || depth == 0 || a->previous == NULL || strcmp(id, a->previous) != 0)
		return 0;
	found = attempt_load(store, id, &older, e);
	if (found != 1)
		return found;
	found = rebuild_previous(in, store, &older, out->v[at].content, depth - 1, &before, &lost, e);
	if (found == 0)
		join_conversations(out, &before, at + 1, true, &older);
	conversation_release(&before);
	attempt_release(&older);
	return found;
}

/*
 * What an attempt had gathered: as it was kept, or put together from the older transcript and
 * from what the agent was told (message).
 */
static int
rebuild_previous(const struct previous_input *in, struct store *store, const struct attempt *a,
    const char *message, unsigned depth, struct conversation *out, bool *lost, struct err *e)
{
	struct conversation record = CONVERSATION_INIT, prompt = CONVERSATION_INIT;
	struct err soft = ERR_INIT;

	/* one that cannot be read is as good as none: the session is not lost with it */
	*lost = gather_load_saved(in->w, a->id, out, NULL, &soft) != 1;
	if (!*lost) {
		transcript_rescrub(out, in->scrub);
		return 0;
	}
	if (older_transcript(in, store, a, depth, &record, e) != 0) {
		conversation_release(&record);
		return -1;
	}
	if (message != NULL)
		prompt_parse(message, strlen(message), &prompt);
	conversation_merge(&record, NULL, &prompt, out);
	return 0;
}

/*
 * The newest message in which this agent was told something by a recovery; *at is behind the end
 * when there is none. 1 found, 0 not.
 */
static int
find_delivered(const struct previous_input *in, struct store *store, const struct conversation *talk,
    size_t *at, struct attempt *a, struct err *e)
{
	char id[PROMPT_ID + 1];
	int found = 0;

	*at = talk->n;
	for (int i = 0; i < MOST_PROMPTS && found == 0; i++) {
		*at = own_prompt(talk, *at, id);
		if (*at == talk->n)
			return 0;
		found = delivered_here(in, store, id, a, e);
	}
	return found;
}

static bool
is_via(const struct attempt *a, const char *via)
{
	return a->via != NULL && strcmp(a->via, via) == 0;
}

/* For one that was only told of a restart nothing was gathered. */
static bool
keeps_prompt(const struct previous_input *in, const struct attempt *a)
{
	struct conversation kept = CONVERSATION_INIT;
	struct err soft = ERR_INIT;
	bool yes = !is_via(a, "restart") && gather_load_saved(in->w, a->id, &kept, NULL, &soft) == 1;

	conversation_release(&kept);
	return yes;
}

static void
drop(struct conversation *talk, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		exchange_release(&talk->v[i]);
	memmove(&talk->v[from], &talk->v[to], (talk->n - to) * sizeof *talk->v);
	talk->n -= to - from;
}

/*
 * An agent that was resumed, or restarted, has all before our words in its own transcript: where
 * what was gathered then is not kept any more, only the words themselves go. True: they went.
 */
static bool
drop_nudge(const struct previous_input *in, const struct attempt *a, struct conversation *talk, size_t at)
{
	struct conversation told = CONVERSATION_INIT;
	char *draft = NULL;

	if (!(is_via(a, "resume") || is_via(a, "restart")) || keeps_prompt(in, a))
		return false;
	if (prompt_parse(talk->v[at].content, strlen(talk->v[at].content), &told))
		draft = told.draft;
	told.draft = NULL;
	drop(talk, at, at + 1);
	keep_draft(talk, draft);
	free(draft);
	conversation_release(&told);
	return true;
}

/*
 * The agent was started once more since it had been told that, and its newest start told it
 * nothing. 1 found, 0 not.
 */
static int
started_since(const struct previous_input *in, struct store *store, const struct attempt *told,
    struct attempt *a, struct err *e)
{
	int found = unshown_attempt(in, store, a, e);

	if (found == 1 &&
	    (a->times[PHASE_RESPAWNED] <= told->times[PHASE_RESPAWNED] || a->times[PHASE_DELIVERED] != 0)) {
		attempt_release(a);
		found = 0;
	}
	return found;
}

/*
 * What the agent's newest start was to be told: from the message at *at of talk, or, with *at
 * behind the end, from the ledger alone. Nudges of which nothing is kept are dropped on the way.
 * 1 found, 0 not.
 */
static int
find_newest(const struct previous_input *in, struct store *store, struct conversation *talk, size_t *at,
    struct attempt *a, struct err *e)
{
	struct attempt newer;
	bool dropped = false;
	int found = find_delivered(in, store, talk, at, a, e), since;

	while (found == 1 && drop_nudge(in, a, talk, *at)) {
		attempt_release(a);
		dropped = true;
		found = find_delivered(in, store, talk, at, a, e);
	}
	if (found == 0)
		return dropped ? 0 : unshown_attempt(in, store, a, e);
	if (found < 0 || (since = started_since(in, store, a, &newer, e)) == 0)
		return found;
	if (since == 1 && !keeps_prompt(in, &newer)) {
		drop_banners(talk, *at + 1);
		attempt_release(&newer);
		return found;
	}
	attempt_release(a);
	if (since < 0)
		return -1;
	/* all up to there is in what was kept for that start */
	drop(talk, 0, *at + 1);
	*at = talk->n;
	*a = newer;
	return 1;
}

int
gather_previous(
    const struct previous_input *in, struct conversation *talk, struct previous_recovery *out, struct err *e)
{
	struct store *store = app_store(in->w, false, e);
	struct conversation earlier = CONVERSATION_INIT;
	struct attempt a;
	size_t at;
	bool shown;
	int found;

	memset(out, 0, sizeof *out);
	if (store == NULL)
		return e->code != 0 ? -1 : 0;
	found = find_newest(in, store, talk, &at, &a, e);
	if (found != 1)
		return found;
	shown = at < talk->n;
	found = rebuild_previous(
	    in, store, &a, shown ? talk->v[at].content : NULL, MOST_LINKS, &earlier, &out->lost, e);
	if (found == 0 && (shown || earlier.n > 0)) {
		bool told = shown || a.times[PHASE_DELIVERED] != 0;

		out->id = xstrdup(a.id);
		out->untold = !told;
		out->empty = earlier.n == 0;
		join_conversations(talk, &earlier, shown ? at + 1 : 0, told, &a);
		/* every recovery keeps what those before it had kept */
		if (conversation_limit(talk, in->room))
			talk->truncated_at = 0;
	}
	conversation_release(&earlier);
	attempt_release(&a);
	return found;
}

void
gather_previous_release(struct previous_recovery *x)
{
	free(x->id);
	memset(x, 0, sizeof *x);
}
