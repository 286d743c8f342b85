#include <ctype.h>
#include <unistd.h>

#include "cli/cli_private.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "config/config.h"
#include "recover/upkeep/upkeep.h"

#define NAME_WIDTH 40

/* SESSION:WINDOW.PANE */
static bool
is_place(const struct candidate *c, const char *word)
{
	size_t n = strlen(c->pane.session);
	char place[32];

	snprintf(place, sizeof place, ":%d.%d", c->pane.window_index, c->pane.index);
	return *c->pane.id == '%' && strncmp(word, c->pane.session, n) == 0 && strcmp(word + n, place) == 0;
}

static bool
is_named(const struct candidate *c, const char *word)
{
	return strcmp(c->pane.session, word) == 0 || strcmp(c->pane.id, word) == 0 || is_place(c, word) ||
	    (c->record != NULL && strcmp(c->record->agent_uuid, word) == 0);
}

static bool
is_pane_id(const char *word)
{
	return word[0] == '%' && word[1] != '\0' && strspn(word + 1, "0123456789") == strlen(word + 1);
}

/* A session with one crashed agent is not ambiguous for the living ones and the shells beside it. */
static int
rank(const struct candidate *c)
{
	return detect_status_crashed(c->status) ? 2 : c->status == AGENT_LIVE;
}

/* The only session of an agent whose name begins so; NULL: none, or several. */
static const char *
session_by_prefix(const struct candidate_list *all, const char *word)
{
	const char *found = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const char *name = all->v[i].pane.session;

		if (*word == '\0' || !str_starts(name, word) || (found != NULL && strcmp(found, name) == 0))
			continue;
		if (found != NULL)
			return NULL;
		found = name;
	}
	return found;
}

static int
unknown_session(const struct candidate_list *all, const char *word, struct err *e)
{
	const char **names = xcalloc(all->n + 1, sizeof *names), *near;

	for (size_t i = 0; i < all->n; i++)
		names[i] = all->v[i].pane.session;
	near = config_nearest(word, names, all->n);
	free(names);
	err_set(e, GT_NOTHING, "unknown-session",
	    "no agent session named \"%s\" on the tmux servers searched", output_shown(word, 80));
	return near != NULL ? err_hint(e, "did you mean the session %s?", output_shown(near, 60)) :
	    err_hint(e, "gt-recover list shows the sessions; -L selects another server");
}

struct candidate *
cli_pick_named(struct candidate_list *all, const char *word, struct err *e)
{
	struct candidate *found = NULL;
	const char *name = output_shown(word, 80);
	struct buf others = BUF_INIT;
	const char *longer;
	bool exact = is_pane_id(word);
	size_t same = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct candidate *c = &all->v[i];

		if (!is_named(c, word))
			continue;
		buf_fmt(&others, "%s%s on socket %s", others.len > 0 ? ", " : "", c->pane.id, c->pane.socket);
		/* a pane's id means that pane, dead or not */
		if (found == NULL || (!exact && rank(c) > rank(found))) {
			found = c;
			same = 1;
		} else if (exact || rank(c) == rank(found)) {
			same++;
		}
	}
	if (found == NULL && isatty(STDIN_FILENO) && isatty(STDERR_FILENO) &&
	    (longer = session_by_prefix(all, word)) != NULL && strcmp(longer, word) != 0)
		found = cli_pick_named(all, longer, e);
	else if (found == NULL)
		unknown_session(all, word, e);
	else if (same > 1) {
		err_set(e, GT_USAGE, "ambiguous", "\"%s\" matches more than one agent pane: %.400s",
		    name, others.data);
		err_hint(e, "use a pane id, and -L for the server");
		found = NULL;
	}
	buf_release(&others);
	return found;
}

#define SETTLE_MS 2000
#define ENDING_MS 5000	/* a dying agent writes its files; many at once take their time */
#define LOOK_AGAIN_MS 100

bool
cli_pick_is_there(struct app *w, const char *word)
{
	bool found = false;

	for (size_t i = 0; i < w->n_servers && !found; i++) {
		struct panes panes = { .n = 0 };

		if (pane_list_bare(&w->servers[i], &panes, NULL) == 0)
			for (size_t k = 0; k < panes.n && !found; k++)
				found = strcmp(panes.v[k].session, word) == 0 ||
				    strcmp(panes.v[k].id, word) == 0;
		pane_list_release(&panes);
	}
	return found;
}

bool
cli_pick_again(
    struct app *w, struct candidate_list *all, const char *const *words, size_t n, int64_t *until)
{
	bool again = false, ending = false;

	for (size_t i = 0; i < n && !again; i++) {
		struct err none = ERR_INIT;
		const struct candidate *c = cli_pick_named(all, words[i], &none);

		again = c != NULL ? c->unsettled : none.code == GT_NOTHING && cli_pick_is_there(w, words[i]);
	}
	for (size_t i = 0; i < all->n && n == 0; i++)
		ending = ending || all->v[i].ending;
	again = again || ending;
	if (*until == 0)
		*until = clock_mono_ms() + (ending ? ENDING_MS : SETTLE_MS);
	if (!again || clock_mono_ms() >= *until || cli_stop_signal() != 0)
		return false;
	clock_sleep_ms(LOOK_AGAIN_MS);
	return true;
}

/* "[crashed 5m ago]" */
void
cli_pick_age(struct buf *out, const struct candidate *c)
{
	buf_str(out, c->record != NULL && c->record->state == SESSION_SUSPENDED ? "[suspended" : "[crashed");
	if (c->crashed_at > 0) {
		buf_chr(out, ' ');
		clock_age(out, clock_wall_ms() - c->crashed_at);
		buf_str(out, " ago");
	}
	buf_chr(out, ']');
}

/* The three columns of an offer, and how wide they are. */
struct offer {
	struct buf name, age, lines;
};

static void
offer_init(struct offer *o, const struct candidate *c)
{
	buf_init(&o->name);
	buf_init(&o->age);
	buf_init(&o->lines);
	buf_str(&o->name, output_name(c, NAME_WIDTH));
	cli_pick_age(&o->age, c);
	if (c->record != NULL) {
		buf_str(&o->lines, "record only");
		return;
	}
	output_short(&o->lines, candidate_lines(c));
	buf_str(&o->lines, candidate_lines(c) == 1 ? " line" : " lines");
}

static void
offer_release(struct offer *o)
{
	buf_release(&o->name);
	buf_release(&o->age);
	buf_release(&o->lines);
}

static void
print_offer(const struct candidate_list *all, const bool *offered)
{
	size_t names = 0, ages = 0, n = 0, columns = output_columns(STDOUT_FILENO);
	struct offer o;
	bool narrow;

	for (size_t i = 0; i < all->n; i++)
		if (offered[i]) {
			size_t w;

			offer_init(&o, &all->v[i]);
			w = utf8_width(o.name.data, o.name.len);
			names = w > names ? w : names;
			ages = o.age.len > ages ? o.age.len : ages;
			offer_release(&o);
		}
	/* 5 before the name, 4 and 2 between the columns, and "1000.9k lines context" */
	narrow = columns != 0 && 5 + names + 4 + ages + 2 + 21 > columns;
	fputs("\nRecoverable Sessions:\n", stdout);
	for (size_t i = 0; i < all->n; i++) {
		if (!offered[i])
			continue;
		offer_init(&o, &all->v[i]);
		n++;
		if (narrow)
			fprintf(stdout, "%3zu. %s\n     %s  %s\n", n, o.name.data, o.age.data, o.lines.data);
		else
			fprintf(stdout, "%3zu. %s%*s    %-*s  %s%s\n", n, o.name.data,
			    (int)(names - utf8_width(o.name.data, o.name.len)), "", (int)ages, o.age.data,
			    o.lines.data, all->v[i].record == NULL ? " context" : "");
		offer_release(&o);
	}
	fputc('\n', stdout);
}

/* One number or range at *p. */
static int
take_range(const char **p, size_t n, bool *chosen)
{
	char *end;
	unsigned long from = strtoul(*p, &end, 10), to = from;

	if (end == *p || !isdigit((unsigned char)**p))
		return -1;
	if (*end == '-') {
		const char *second = end + 1;

		to = strtoul(second, &end, 10);
		if (end == second || !isdigit((unsigned char)*second))
			return -1;
	}
	if (from < 1 || to > n || from > to)
		return -1;
	for (unsigned long i = from; i <= to; i++)
		chosen[i - 1] = true;
	*p = end;
	return 0;
}

/* The one that is named so alone; n: none, or more than one. */
static size_t
find_offered(const struct candidate *const *offered, size_t n, const char *word)
{
	size_t found = n;

	for (size_t i = 0; i < n; i++)
		if (is_named(offered[i], word)) {
			if (found != n)
				return n;
			found = i;
		}
	return found;
}

/* Numbers, ranges and names, with commas or blanks between them. */
static int
take_words(const char *answer, const struct candidate *const *offered, size_t n, bool *chosen)
{
	while (*answer != '\0') {
		const char *end = answer;

		if (take_range(&end, n, chosen) != 0 || (*end != '\0' && strchr(", \t\r\n", *end) == NULL)) {
			char *word;
			size_t i;

			end = answer + strcspn(answer, ", \t\r\n");
			word = xstrndup(answer, (size_t)(end - answer));
			i = find_offered(offered, n, word);
			free(word);
			if (i == n)
				return -1;
			chosen[i] = true;
		}
		answer = end + strspn(end, ", \t\r\n");
	}
	return 0;
}

int
cli_pick_parse(const char *answer, const struct candidate *const *offered, size_t n, bool *chosen)
{
	char word[16];

	memset(chosen, 0, n * sizeof *chosen);
	while (isspace((unsigned char)*answer))
		answer++;
	snprintf(word, sizeof word, "%.*s", (int)strcspn(answer, " \t\r\n"), answer);
	for (char *p = word; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	if (strcmp(word, "none") == 0 || strcmp(word, "n") == 0 || strcmp(word, "q") == 0)
		return 0;
	if (strcmp(word, "all") == 0 || strcmp(word, "a") == 0) {
		memset(chosen, 1, n * sizeof *chosen);
		return 0;
	}
	return *answer == '\0' ? -1 : take_words(answer, offered, n, chosen);
}

static int
bad_answers(struct err *e)
{
	err_set(e, GT_USAGE, "answer", "invalid answer");
	return err_hint(e, "answer with numbers (2, 1-3, 1,3), names, all or none");
}

int
cli_pick_ask(
    const struct candidate_list *all, const bool *offered, bool *chosen, bool terminal, struct err *e)
{
	size_t n = 0, k = 0, cap = 0;
	const struct candidate **asked = xcalloc(all->n, sizeof *asked);
	bool *picked = xcalloc(all->n, sizeof *picked);
	char *line = NULL;
	int ret = -1, count = 0;

	for (size_t i = 0; i < all->n; i++)
		if (offered[i])
			asked[n++] = &all->v[i];
	print_offer(all, offered);
	for (int tries = 0; ret != 0; tries++) {
		if (tries == (terminal ? 3 : 1)) {
			bad_answers(e);
			goto out;
		}
		if (tries > 0)
			fprintf(stdout, "Numbers (2, 1-3, 1,3), names, all or none.\n");
		if (n == 1)
			fputs("Recover which session? [1, all, none]: ", stdout);
		else
			fprintf(stdout, "Recover which session? [1-%zu, all, none]: ", n);
		fflush(stdout);
		if (getline(&line, &cap, stdin) < 0) {
			fputc('\n', stdout);
			ret = 0;
			break;
		}
		if (!terminal)
			fputc('\n', stdout);
		ret = cli_pick_parse(line, asked, n, picked);
	}
	for (size_t i = 0; i < all->n; i++)
		if (offered[i]) {
			chosen[i] = picked[k++];
			count += chosen[i];
		}
out:
	free(line);
	free(picked);
	free(asked);
	return ret == 0 ? count : -1;
}
