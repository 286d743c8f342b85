#include <ctype.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "config/config.h"
#include "scrub/scrub.h"
#include "snapshot/snapshot.h"

/* What a person is asked in the middle of a recovery. */

#define TRIES 3

int
cli_choose_conversation(struct candidate *c, const char *id, struct err *e)
{
	char *path;

	if (id == NULL)
		return 0;
	path = strcmp(id, CONVERSATION_NONE) != 0 && transcript_is_id(id) && c->config_dir != NULL
	    ? transcript_path(c->config_dir, c->cwd, id)
	    : NULL;
	if (path == NULL && strcmp(id, CONVERSATION_NONE) != 0) {
		err_set(e, GT_USAGE, "no-conversation", "no conversation \"%s\" is in the agent's directory",
		    output_shown(id, 60));
		return err_hint(e, "gt-recover SESSION lists the candidates");
	}
	free(path);
	free(c->conversation);
	c->conversation = xstrdup(id);
	return 0;
}

static void
print_rival(size_t i, const struct found_rival *r, const struct rival_words *w)
{
	struct buf line = BUF_INIT;

	buf_fmt(&line, "%3zu. %s  ", i + 1, r->session_id);
	clock_age(&line, w->at > 0 ? clock_wall_ms() - w->at : 0);
	buf_fmt(&line, " ago  \"%s\"", w->first != NULL ? w->first : "");
	if (w->last != NULL && strcmp(w->first, w->last) != 0)
		buf_fmt(&line, " ... \"%s\"", w->last);
	fprintf(stderr, "%s\n", output_shown(line.data, 0));
	buf_release(&line);
}

static json_t *
rival_json(const struct found_rival *r, const struct rival_words *w)
{
	json_t *o = json_object();

	json_put(o, "conversation", r->session_id);
	json_put_int(o, "written_at", w->at);
	json_put(o, "first_message", w->first);
	json_put(o, "last_message", w->last);
	return o;
}

/* 1 to n, 0 for its screen alone, -1 none of it. */
static long
ask_number(size_t n)
{
	char line[64], *end;

	for (int i = 0; i < TRIES; i++) {
		long k;

		if (n == 1)
			fputs("Which conversation is its own? [1, screen, none]: ", stderr);
		else
			fprintf(stderr, "Which conversation is its own? [1-%zu, screen, none]: ", n);
		if (fgets(line, sizeof line, stdin) == NULL)
			return -1;
		line[strcspn(line, "\r\n")] = '\0';
		k = strtol(line, &end, 10);
		if (strcmp(line, "screen") == 0)
			return 0;
		if (strcmp(line, "none") == 0 || strcmp(line, "n") == 0 || *line == '\0')
			return -1;
		if (end != line && *end == '\0' && k >= 1 && (size_t)k <= n)
			return k;
	}
	return -1;
}

bool
cli_ask_conversation(struct candidate *c, struct gathered *g, bool ask, json_t **listed)
{
	const struct transcript_found *f = &g->found;
	struct rival_words *words = gather_rivals(c, g);
	long k = -1;

	*listed = json_array();
	for (size_t i = 0; i < f->rivals; i++) {
		print_rival(i, &f->rival[i], &words[i]);
		json_array_append_new(*listed, rival_json(&f->rival[i], &words[i]));
	}
	if (ask)
		k = ask_number(f->rivals);
	if (k >= 0) {
		free(c->conversation);
		c->conversation = xstrdup(k == 0 ? CONVERSATION_NONE : f->rival[k - 1].session_id);
	}
	gather_rivals_release(words, f->rivals);
	return k >= 0;
}

/* ---- by what it is started ---- */

static const char *const sources[] = {
	[COMMAND_UNKNOWN] = "unknown",
	[COMMAND_SEEN] = "its arguments when last seen alive",
	[COMMAND_SNAPSHOT] = "its command in its last snapshot",
	[COMMAND_RECORD] = "its command in its session record",
	[COMMAND_PANE] = "its pane's start command",
	[COMMAND_GIVEN] = "your answer",
	[COMMAND_CONFIGURED] = "command in gt.toml",
	[COMMAND_ASSUMED] = "its program only: its command was never seen",
};

bool
cli_plan_command(struct app *w, const struct candidate *c, struct buf *out, const char **why)
{
	struct launch_redacted shape;
	struct scrub *s;

	if (c->status == AGENT_RESPAWNED || c->launch.command == NULL || launch_is_shell(&c->launch) ||
	    (s = app_scrub(w, NULL)) == NULL)
		return false;
	candidate_learn(w, s, c);
	launch_redact(&shape, &c->launch, s, NULL, 0);
	if (shape.text != NULL)
		utf8_escape(out, clean_bytes(shape.text), clean_len(shape.text), 0);
	*why = c->launch.wrapper == 0 ? sources[c->command_source]
	    : c->launch.wrapper == WRAPPER_HIDES
	    ? "its wrapper; it takes no arguments, so the conversation is injected"
	    : "its wrapper";
	launch_redacted_release(&shape);
	scrub_free(s);
	return out->len > 0;
}

/* The start command in a line that looks as if it had been typed behind a prompt; NULL: it is none. */
static const char *
command_in(struct app *w, const struct candidate *c, const char *line)
{
	static const char *const marks[] = { "$ ", "% ", "> ", "# ", "❯ " };

	for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
		const char *at = strstr(line, marks[i]);
		struct launch l;
		bool yes;

		if (at == NULL)
			continue;
		at += strlen(marks[i]) + strspn(at + strlen(marks[i]), " ");
		launch_command(&l, at, c->pane.default_shell, profile_list_has_program, w->profiles);
		yes = l.certain && l.name != NULL && profile_by_program(w->profiles, l.name) == c->profile;
		launch_release(&l);
		if (yes && strstr(at, "[REDACTED:") == NULL)
			return at;
	}
	return NULL;
}

/* What its screen shows as its last start, heap; NULL: nothing. Anything may have printed that. */
static char *
suggested_command(struct app *w, const struct candidate *c)
{
	struct capture screen;
	struct scrub *s = detect_status_has_screen(c->status) ? app_scrub(w, NULL) : NULL;
	char *found = NULL;

	if (s == NULL)
		return NULL;
	candidate_learn(w, s, c);
	if (capture_pane(app_server(w, c->pane.socket), &c->pane, detect_status_has_shell(c->status),
		(size_t)config_int(w->config, "max_context_lines"), s, &screen, NULL) == 0) {
		const char *p = clean_bytes(screen.text);

		for (size_t n; *p != '\0'; p += n + (p[n] == '\n')) {
			char *line = xstrndup(p, n = strcspn(p, "\n"));
			const char *hit = command_in(w, c, line);

			if (hit != NULL) {
				free(found);
				found = xstrdup(hit);
				for (size_t k = strlen(found); k > 0 && found[k - 1] == ' '; k--)
					found[k - 1] = '\0';
			}
			free(line);
		}
		capture_release(&screen);
	}
	scrub_free(s);
	return found;
}

/* false: the end of input. *line keeps what was typed, without blanks around it. */
static bool
read_answer(char **line, size_t *cap)
{
	ssize_t n = getline(line, cap, stdin);
	size_t blanks;

	if (n < 0)
		return false;
	while (n > 0 && isspace((unsigned char)(*line)[n - 1]))
		(*line)[--n] = '\0';
	blanks = strspn(*line, " \t");
	memmove(*line, *line + blanks, (size_t)n - blanks + 1);
	return true;
}

static bool
is_yes(const char *answer)
{
	return *answer == 'y' || *answer == 'Y';
}

static bool
offer_to_remember(struct app *w, const struct candidate *c, const char *command)
{
	struct err e = ERR_INIT;
	char *line = NULL;
	size_t cap = 0;
	bool kept = false;

	fprintf(stderr, "Save it in gt.toml for every %s with an unknown command? [y/N]: ",
	    c->profile->name);
	if (read_answer(&line, &cap) && is_yes(line)) {
		kept = config_add_command(w->config, c->profile->name, command, &e) == 0;
		if (!kept)
			fprintf(stderr, "Not saved: %s\n", e.msg);
	}
	free(line);
	return kept;
}

static void
use_command(struct app *w, struct candidate *c, const char *command, enum command_source source)
{
	launch_release(&c->launch);
	launch_command(&c->launch, command, c->pane.default_shell, profile_list_has_program, w->profiles);
	c->command_source = source;
}

/* The answer, into *last. Offers to remember what differs from the last answer. */
static void
take_answer(struct app *w, struct candidate *c, const char *command, struct command_answer *last)
{
	bool new = last->command == NULL || strcmp(last->command, command) != 0;
	char *own = xstrdup(command);

	use_command(w, c, own, COMMAND_GIVEN);
	last->kept = new ? offer_to_remember(w, c, own) : last->kept;
	free(last->command);
	last->command = own;
	last->profile = c->profile;
}

static void
ask_command(struct app *w, struct candidate *c, const char *usual, struct command_answer *last)
{
	char *line = NULL, *seen = suggested_command(w, c);
	size_t cap = 0;

	if (seen != NULL && strcmp(seen, usual) == 0) {
		free(seen);
		seen = NULL;
	}
	fprintf(stderr, "%s: the start command of its %s is unknown.\n", output_name(c, 60),
	    c->profile->label);
	if (seen != NULL)
		fprintf(stderr, "Its screen shows this line, which any program may have printed:\n  %s\n",
		    output_shown(seen, 0));
	fprintf(stderr, "Start it with which command? [Enter: %s%s; or type one]: ", usual,
	    seen != NULL ? "; s: that line" : "");
	if (read_answer(&line, &cap))
		take_answer(w, c,
		    seen != NULL && strcmp(line, "s") == 0 ? seen
			: *line != '\0'                    ? line
							   : usual,
		    last);
	free(line);
	free(seen);
}

void
cli_ask_command(struct app *w, struct candidate *c, struct command_answer *last)
{
	const char *program = c->profile->programs[0];
	bool again = last->profile == c->profile;

	if (c->command_source != COMMAND_ASSUMED || !detect_status_crashed(c->status) || program == NULL)
		return;
	if (!again)
		cli_answer_release(last);
	if (last->kept)
		use_command(w, c, last->command, COMMAND_CONFIGURED);
	else
		ask_command(w, c, last->command != NULL ? last->command : program, last);
}

void
cli_answer_release(struct command_answer *a)
{
	free(a->command);
	*a = (struct command_answer){ .profile = NULL };
}
