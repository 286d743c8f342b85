#include <stdlib.h>
#include <string.h>

#include "agent/profile.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cmd/say.h"
#include "cmd/told.h"
#include "revive/detect.h"
#include "revive/resume.h"
#include "tmux/quote.h"

/* One who asked for resume in words is warned when it is not done; auto chooses. */
static void
tell_way(struct say *s, const struct recovery *r)
{
	if (r->not_resumed != NULL && r->via != NULL && strcmp(r->via, "resume") == 0)
		say_warning(s, "not resumed (%s): %s; it is started afresh and handed its context", r->not_resumed->name, r->not_resumed->sentence);
	else if (r->not_resumed != NULL && s->verbose > 0)
		say_line(s, "Started afresh (%s): %s", r->not_resumed->name, r->not_resumed->sentence);
}

static void
tell_captured(struct say *s, const struct recovery *r)
{
	const struct gathered *g = &r->gathered;
	struct buf lines = BUF_INIT, text = BUF_INIT, who = BUF_INIT;
	size_t users = conversation_count(&g->talk, ROLE_USER), answers = conversation_count(&g->talk, ROLE_ASSISTANT);
	char *action;

	if (r->words != NULL) {
		say_line(s, "Only its record tells of it: it is started by that, and told of the restart");
		return;
	}
	action = conversation_last_action(&g->talk);
	say_thousands(&lines, g->capture.rows);
	say_line(s, "Capturing context... %s lines", lines.data);
	say_line(s, "Parsing exchanges... %zu user message%s, %zu agent response%s", users, users == 1 ? "" : "s", answers,
	    answers == 1 ? "" : "s");
	if (action != NULL) {
		say_foreign(&text, action, 70);
		say_line(s, "Last activity: \"%s\"", text.data);
	}
	if (g->bead.id != NULL) {
		if (*r->c->role.rig != '\0')
			buf_fmt(&who, "%s/", r->c->role.rig);
		buf_str(&who, *r->c->role.name != '\0' ? r->c->role.name : role_word(r->c->role.kind));
		buf_str(&who, " @ ");
		say_foreign(&who, g->bead.id, 60);
		say_line(s, "Handoff bead: %s", who.data);
	}
	for (size_t i = 0; i < g->n_warnings; i++) {
		buf_reset(&text);
		say_foreign(&text, g->warnings[i], 600);
		say_warning(s, "%s", text.data);
	}
	tell_way(s, r);
	buf_release(&lines);
	buf_release(&text);
	buf_release(&who);
	free(action);
}

void
told(struct recovery *r, enum told what, void *arg)
{
	struct say *s = arg;
	const char *who = r->c->profile->label;
	struct buf tokens = BUF_INIT;

	switch (what) {
	case TOLD_CAPTURED:
		tell_captured(s, r);
		break;
	case TOLD_STARTING:
		say_line(s, "\nStarting recovery...");
		break;
	case TOLD_STARTED:
		say_done(s, r->taken_up ? "%s is running" : "%s started", who);
		break;
	case TOLD_INJECTED:
		say_short(&tokens, (size_t)r->attempt.tokens);
		say_done(s, r->attempt.via != NULL && strcmp(r->attempt.via, "resume") == 0 ?
		    "Context injected (%s tokens) behind its own conversation" : "Context injected (%s tokens)", tokens.data);
		break;
	case TOLD_RESUMING:
		say_done(s, "Agent resuming work");
		break;
	case TOLD_PASTING:
		say_line(s, strcmp(r->attempt.delivery, "paste") == 0 && !r->taken_up ? "  Pasting the context" :
		    "  %s sits idle without the context; pasting it once", who);
		break;
	case TOLD_WAITING:
		say_waiting(s, r->waiting_for, r->waited_ms);
		break;
	}
	buf_release(&tokens);
}

void
told_attach(struct say *s, const struct pane *p)
{
	struct buf command = BUF_INIT, shown = BUF_INIT, target = BUF_INIT;
	bool plain = strspn(p->session, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == strlen(p->session);

	buf_str(&command, "tmux ");
	if (strcmp(p->socket, "default") != 0) {
		buf_str(&command, strchr(p->socket, '/') != NULL ? "-S " : "-L ");
		quote_sh(&command, p->socket);
		buf_chr(&command, ' ');
	}
	buf_str(&command, "attach -t ");
	/* ids are never taken for a prefix; a name that is all letters reads better */
	buf_fmt(&target, plain ? "=%s" : "%s", plain ? p->session : p->session_id);
	quote_sh(&command, target.data);
	utf8_escape(&shown, command.data, command.len, 0);
	say_exact(s, "\nAttach with: %s", shown.data);
	buf_release(&command);
	buf_release(&shown);
	buf_release(&target);
}

json_t *
told_json(const struct recovery *r, const struct err *e)
{
	json_t *v = json_object(), *warnings = json_array(), *error;

	json_put(v, "session", r->c->pane.session);
	json_put(v, "pane_id", r->c->pane.id);
	json_put(v, "phase", r->attempt.version > 0 ? phase_name(r->attempt.phase) : NULL);
	json_put(v, "via", r->attempt.via);
	json_put(v, "not_resumed", r->not_resumed != NULL ? r->not_resumed->name : NULL);
	json_put(v, "delivery", r->attempt.delivery);
	json_put(v, "recovery_id", r->attempt.version > 0 ? r->attempt.id : NULL);
	json_put(v, "proof", r->attempt.proof);
	json_put_int(v, "tokens", r->attempt.tokens);
	for (size_t i = 0; i < r->gathered.n_warnings; i++)
		json_array_append_new(warnings, json_bytes(r->gathered.warnings[i], strlen(r->gathered.warnings[i])));
	json_object_set_new(v, "warnings", warnings);
	if (e->code == 0) {
		json_object_set_new(v, "error", json_null());
		return v;
	}
	error = json_object();
	json_put(error, "name", e->name);
	json_put(error, "message", e->msg);
	json_put(error, "hint", e->hint);
	json_object_set_new(v, "error", error);
	return v;
}
