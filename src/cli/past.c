#include <fcntl.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "agent/agent.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "conversation/conversation.h"
#include "scrub/scrub.h"
#include "tmux/tmux.h"
#include "transcript/locate/locate.h"

/* `list --past`: conversations that agents have recorded, whether anything else knows of them. */

#define SHOWN 20
#define LOOKED_AT 200			/* of each agent, the newest */
#define OLDEST_MS ((int64_t)90 * 24 * 3600 * 1000)
/* Of a transcript its beginning and its end are read. */
#define PART ((size_t)256 << 10)
#define WIDTH_SHOWN 100

struct past {
	const struct profile *profile;
	struct past_session *session;	/* into the list of its agent */
	char *first, *last;		/* what was said; heap, NULL: nothing */
	bool said;			/* TEXT occurs in it */
};

struct past_list {
	struct past *v;
	size_t n, cap;
};

static char *
own_value(const void *arg, const char *name)
{
	const char *value = getenv(name);

	(void)arg;
	return value != NULL ? xstrdup(value) : NULL;
}

static char *
folder_of(const struct profile *p)
{
	if (*p->folder != '\0')
		return profile_folder(p, own_value, NULL);
	return agent_config_dir(getenv("CLAUDE_CONFIG_DIR"), getenv("HOME"));
}

/* ---- what was said ---- */

static bool
is_said(const struct exchange *x)
{
	return x->tool == NULL && x->role != ROLE_SYSTEM && *x->content != '\0';
}

static bool
holds(const char *text, const char *word)
{
	return text != NULL && (word == NULL || strcasestr(text, word) != NULL);
}

static void
note_words(struct past *p, const struct conversation *talk, const char *word)
{
	for (size_t i = 0; i < talk->n; i++) {
		const struct exchange *x = &talk->v[i];

		if (!is_said(x))
			continue;
		if (p->first == NULL && x->role == ROLE_USER)
			p->first = xstrdup(x->content);
		record_set(&p->last, x->content);
		p->said = p->said || holds(x->content, word);
	}
}

/* The beginning of one that is too long to be read at once, up to the end of a line. */
static void
read_head(struct past *p, struct scrub *s, const char *word)
{
	struct conversation talk = CONVERSATION_INIT;
	int fd = open(p->session->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	char *text = xmalloc(PART), *end;
	ssize_t n = fd >= 0 ? pread(fd, text, PART, 0) : -1;

	if (n == (ssize_t)PART && (end = memrchr(text, '\n', PART)) != NULL &&
	    transcript_read_bytes(
		text, (size_t)(end - text) + 1, p->profile->transcript, s, PART, &talk, NULL) == 0)
		note_words(p, &talk, word);
	conversation_release(&talk);
	if (fd >= 0)
		close(fd);
	explicit_bzero(text, PART);
	free(text);
}

static void
read_words(struct past *p, struct scrub *s, const char *word)
{
	struct conversation talk = CONVERSATION_INIT;

	read_head(p, s, word);
	if (transcript_read(p->session->path, p->profile->transcript, s, PART, &talk, NULL) == 0)
		note_words(p, &talk, word);
	conversation_release(&talk);
	p->said = p->said || holds(p->session->cwd, word) || holds(p->session->id, word);
}

/* ---- the command ---- */

/* `cd DIR && claude --resume ID`; heap, NULL: that agent goes on with none, or it is not known how. */
static char *
resume_command(const struct past *p)
{
	const struct profile *a = p->profile;
	const char *program = *a->command != '\0' ? a->command : a->programs[0];
	size_t n = strlen(a->resume);
	struct buf out = BUF_INIT;

	if (n == 0 || program == NULL)
		return NULL;
	if (p->session->cwd != NULL) {
		buf_str(&out, "cd ");
		quote_sh(&out, p->session->cwd);
		buf_str(&out, " && ");
	}
	buf_fmt(&out, "%s %s%s", program, a->resume, a->resume[n - 1] == '=' ? "" : " ");
	quote_sh(&out, p->session->id);
	return buf_detach(&out);
}

/* ---- the list ---- */

static int
by_last_use(const void *a, const void *b)
{
	const struct past *x = a, *y = b;

	return x->session->written > y->session->written ? -1 : x->session->written < y->session->written;
}

static void
print_words(const char *what, const char *text)
{
	struct buf line = BUF_INIT;

	utf8_escape(&line, text, strcspn(text, "\n"), WIDTH_SHOWN);
	printf("  %s %s\n", what, line.data);
	buf_release(&line);
}

static void
print_past(const struct past *p, bool open)
{
	char *command = resume_command(p);
	struct buf age = BUF_INIT;

	clock_age(&age, clock_wall_ms() - p->session->written);
	printf("%s, %s ago, %s%s\n",
	    p->session->cwd != NULL ? output_shown(p->session->cwd, 200) : "(directory not known)", age.data,
	    p->profile->name, open ? ", in use by a running process" : "");
	if (p->first != NULL)
		print_words("first:", p->first);
	if (p->last != NULL)
		print_words("last: ", p->last);
	if (command != NULL)
		printf("  %s\n", output_shown(command, 0));
	buf_release(&age);
	free(command);
}

static json_t *
past_json(const struct past *p, bool open)
{
	json_t *v = json_object();
	char *command = resume_command(p);

	json_put(v, "agent", p->profile->name);
	json_put(v, "id", p->session->id);
	json_put(v, "directory", p->session->cwd);
	json_put_int(v, "last_activity", p->session->written);
	json_put(v, "first_message", p->first);
	json_put(v, "last_message", p->last);
	json_put_flag(v, "in_use", open);
	json_put(v, "command", command);
	free(command);
	return v;
}

/* Reads one after the other until there are enough that hold the word. */
static void
print_found(const struct cli *cli, struct past_list *all, struct scrub *s)
{
	const char *word = cli->n_args > 0 ? cli->args[0] : NULL;
	json_t *list = json_array();
	size_t shown = 0;

	for (size_t i = 0; i < all->n && shown < SHOWN && cli_stop_signal() == 0; i++) {
		struct past *p = &all->v[i];
		char *folder;
		bool open;

		read_words(p, s, word);
		if (!p->said || (p->first == NULL && p->last == NULL))
			continue;
		folder = folder_of(p->profile);
		open = transcript_in_use(p->profile, folder, p->session->id);
		if (cli->json)
			json_array_append_new(list, past_json(p, open));
		else
			print_past(p, open);
		free(folder);
		shown++;
	}
	if (cli->json) {
		json_t *v = output_object();

		json_object_set(v, "conversations", list);
		output_json(v);
	} else if (shown == 0) {
		fputs(word != NULL ? "No recent conversation contains that text.\n"
				   : "No recent conversations.\n", stderr);
	} else if (shown == SHOWN) {
		fprintf(stderr, "The newest %d; to search: gt-recover list --past TEXT\n", SHOWN);
	}
	json_decref(list);
}

int
cli_past(const struct cli *cli, struct app *w, struct err *e)
{
	size_t agents = profile_list_count(w->profiles);
	struct past_sessions *of = xcalloc(agents + 1, sizeof *of);
	struct scrub *s = app_scrub(w, e);
	struct past_list all = { .n = 0 };

	for (size_t i = 0; s != NULL && i < agents; i++) {
		const struct profile *p = profile_list_at(w->profiles, i);
		char *folder = strcmp(p->transcript, "none") != 0 ? folder_of(p) : NULL;

		if (folder != NULL)
			transcript_past(
			    p->transcript, folder, clock_wall_ms() - OLDEST_MS, LOOKED_AT, &of[i]);
		for (size_t k = 0; k < of[i].n; k++) {
			all.v = vec_room(all.v, all.n, &all.cap, sizeof *all.v);
			all.v[all.n++] = (struct past){ .profile = p, .session = &of[i].v[k] };
		}
		free(folder);
	}
	if (all.n > 1)
		qsort(all.v, all.n, sizeof *all.v, by_last_use);
	if (s != NULL)
		print_found(cli, &all, s);
	for (size_t i = 0; i < all.n; i++) {
		free(all.v[i].first);
		free(all.v[i].last);
	}
	free(all.v);
	for (size_t i = 0; i < agents; i++)
		transcript_past_release(&of[i]);
	free(of);
	scrub_free(s);
	return s != NULL ? GT_OK : -1;
}

void
cli_past_hint(void)
{
	fputs("  to list recent conversations and how to resume each: gt-recover list --past\n", stderr);
}

bool
cli_no_server(const struct app *w, struct err *e)
{
	if (strcmp(e->name, "no-server") != 0 || w->sockets_named)
		return false;
	err_clear(e);
	return true;
}
