#include <stdlib.h>
#include <string.h>

#include "recover/recover_private.h"
#include "app/app.h"
#include "base/clock.h"
#include "base/fault.h"
#include "config/config.h"
#include "conversation/conversation.h"
#include "detect/detect.h"
#include "scrub/scrub.h"
#include "transcript/transcript.h"

/* Who lived so long is no crash loop. */
#define LIVED_MS (10 * 60 * 1000)
/* Of the end of a transcript. */
#define READ_MOST ((size_t)256 << 10)

/*
 * The start that a killed recoverer was about to make for this very crash is no further one: its
 * attempt is taken up.
 */
static bool
left_open(struct store *s, const struct pane *p)
{
	struct attempt a;
	bool open = attempt_latest(s, p->socket_path, p->server_pid, p->server_start, p->id, &a, NULL) == 1 &&
	    !attempt_phase_is_final(a.phase) && a.phase >= PHASE_RESPAWNED;

	attempt_release(&a);
	return open;
}

/* Whose restarts are counted, and when it crashed, or now. */
struct restarted {
	const char *socket, *session;
	int64_t end;
};

static bool
is_of_session(const struct attempt *a, const struct restarted *x)
{
	return strcmp(a->session, x->session) == 0 && strcmp(a->socket, x->socket) == 0;
}

/*
 * Does it show a last word of the agent after the prompt, with no call under way? A prompt that
 * lies before all that was read has many answers behind it.
 */
static bool
shows_turn(const struct conversation *talk, const char *id)
{
	bool told = false, done = talk->truncated_at == 0;

	for (size_t i = 0; i < talk->n; i++) {
		const struct exchange *x = &talk->v[i];
		bool words = x->tool == NULL && x->role == ROLE_ASSISTANT && x->status == STATUS_COMPLETE;

		if (x->role == ROLE_USER && strstr(x->content, id) != NULL) {
			told = true;
			done = false;
		} else if (told && done && x->role == ROLE_USER && x->tool == NULL) {
			return true;
		} else if (told) {
			done = words;
		}
	}
	return done;
}

static bool
finished_turn(struct app *w, const struct attempt *a)
{
	const struct profile *p = a->agent != NULL ? profile_find(w->profiles, a->agent) : NULL;
	struct conversation talk = CONVERSATION_INIT;
	struct scrub *s;
	bool done;

	if (p == NULL || a->phase != PHASE_ACKNOWLEDGED || a->transcript == NULL ||
	    (s = app_scrub(w, NULL)) == NULL)
		return false;
	done = transcript_read(a->transcript, p->transcript, s, READ_MOST, &talk, NULL) == 0 &&
	    shows_turn(&talk, a->id);
	conversation_release(&talk);
	scrub_free(s);
	return done;
}

/* When what it had started was dead: the next crash of that pane or session. */
static int64_t
ended_at(const struct attempt *a, const struct attempt_list *all, const struct restarted *x)
{
	int64_t end = x->end, began = a->times[PHASE_RESPAWNED];

	for (size_t i = 0; i < all->n; i++) {
		const struct attempt *b = &all->v[i];

		if (is_of_session(b, x) && b->times[PHASE_DETECTED] > began && b->crashed_at > 0 &&
		    b->crashed_at < end)
			end = b->crashed_at;
	}
	return end;
}

/* A failed one was seen to have ended when it was closed. */
static bool
lived_long(const struct attempt *a, const struct attempt_list *all, const struct restarted *x)
{
	int64_t end = ended_at(a, all, x), closed = a->times[PHASE_FAILED];

	if (a->phase == PHASE_FAILED && closed < end)
		end = closed;
	return end - a->times[PHASE_RESPAWNED] >= fault_wait_ms("GT_LIVED_MS", LIVED_MS);
}

static bool
counts(struct app *w, int64_t at, const struct attempt_list *all, const struct restarted *x)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct attempt *a = &all->v[i];

		if (a->times[PHASE_RESPAWNED] == at && is_of_session(a, x))
			return !lived_long(a, all, x) && !finished_turn(w, a);
	}
	return true;
}

size_t
recovery_count_restarts(struct app *w, const char *socket, const char *session, int64_t end)
{
	struct restarted x = { socket, session, end };
	struct store *s = app_store(w, false, NULL);
	size_t most = (size_t)config_int(w->config, "max_attempts"), n = 0;
	struct attempt_list all = { .n = 0 };
	struct crash_times times = { .n = 0 };

	if (s == NULL ||
	    crash_times(s, socket, session, end - config_ms(w->config, "attempt_window"), &times, NULL) != 0)
		return 0;
	/* fewer are no quarantine, whatever became of them */
	if (times.n >= most)
		attempt_list_all(s, &all, NULL);
	for (size_t i = 0; times.n >= most && i < times.n; i++)
		n += counts(w, times.v[i], &all, &x);
	attempt_list_release(&all);
	free(times.v);
	return n;
}

bool
recovery_is_quarantined(struct app *w, const struct candidate *c)
{
	const struct pane *p = &c->pane;
	struct store *s = detect_status_crashed(c->status) ? app_store(w, false, NULL) : NULL;
	int64_t crashed = c->crashed_at > 0 ? c->crashed_at : clock_wall_ms();
	size_t most = (size_t)config_int(w->config, "max_attempts"), n;

	if (s == NULL)
		return false;
	n = recovery_count_restarts(w, p->socket_path, p->session, crashed);
	return n > most || (n > 0 && n == most && !left_open(s, p));
}
