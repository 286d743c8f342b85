#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "conversation/conversation.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "gastown/gastown.h"

static const char *const roles[] = { "user", "assistant", "system" };
static const char *const statuses[] = { "complete", "running", "waiting", "interrupted", "failed" };
static const char *const sources[] = { "screen", "transcript", "snapshot", "earlier" };

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

const char *
exchange_role_name(enum role r)
{
	return roles[r];
}

const char *
exchange_status_name(enum status s)
{
	return statuses[s];
}

const char *
exchange_source_name(enum source s)
{
	return sources[s];
}

void
exchange_release(struct exchange *x)
{
	free(x->tool);
	free(x->input);
	free(x->content);
	*x = (struct exchange){ .role = x->role };
}

void
conversation_release(struct conversation *c)
{
	for (size_t i = 0; i < c->n; i++)
		exchange_release(&c->v[i]);
	free(c->v);
	free(c->draft);
	free(c->tasks);
	free(c->question);
	free(c->banner);
	free(c->resume_id);
	free(c->session_id);
	*c = (struct conversation)CONVERSATION_INIT;
}

char *
conversation_text(struct buf *b)
{
	struct buf out = BUF_INIT;
	size_t used;
	int32_t rune;

	if (memchr(b->data, '\0', b->len) == NULL && utf8_valid(b->data, b->len))
		return buf_detach(b);
	for (size_t i = 0; i < b->len; i += used) {
		used = utf8_next(b->data + i, b->len - i, &rune);
		if (rune <= 0)
			buf_str(&out, "\xEF\xBF\xBD");
		else
			buf_add(&out, b->data + i, used);
	}
	buf_release(b);
	return buf_detach(&out);
}

/* Takes s over. */
static char *
valid_utf8(char *s)
{
	struct buf b = BUF_INIT;

	if (s == NULL || utf8_valid(s, strlen(s)))
		return s;
	buf_str(&b, s);
	free(s);
	return conversation_text(&b);
}

struct exchange *
conversation_add(struct conversation *c, enum role role, char *tool, char *input, char *content)
{
	struct exchange *x;

	c->v = vec_room(c->v, c->n, &c->cap, sizeof *c->v);
	x = &c->v[c->n++];
	*x = (struct exchange){ .role = role, .status = STATUS_COMPLETE, .source = SOURCE_SCREEN };
	x->tool = valid_utf8(tool);
	x->input = valid_utf8(input);
	x->content = content != NULL ? valid_utf8(content) : xstrdup("");
	return x;
}

struct exchange *
conversation_take(struct conversation *c, struct exchange *x)
{
	c->v = vec_room(c->v, c->n, &c->cap, sizeof *c->v);
	c->v[c->n] = *x;
	*x = (struct exchange){ .role = x->role };
	return &c->v[c->n++];
}

bool
conversation_limit(struct conversation *c, size_t max)
{
	size_t from = c->n, sum = 0, first;
	bool kept;

	while (from > 0) {
		const struct exchange *x = &c->v[from - 1];

		sum += strlen(x->content) + (x->input != NULL ? strlen(x->input) : 0);
		if (sum > max && from < c->n)
			break;
		from--;
	}
	if (from == 0)
		return false;
	for (first = 0; first < from && !(c->v[first].role == ROLE_USER && c->v[first].tool == NULL); first++)
		;
	for (size_t i = 0; i < from; i++) {
		if (i == first)
			continue;
		exchange_count_older(&c->older, &c->v[i]);
		exchange_release(&c->v[i]);
	}
	kept = first < from;
	if (kept)
		c->v[0] = c->v[first];
	memmove(c->v + kept, c->v + from, (c->n - from) * sizeof *c->v);
	c->n -= from - kept;
	return from > kept;
}

static void
count_text(struct older_count *n, const char *text)
{
	size_t len = text != NULL ? strlen(text) : 0;

	n->bytes += len;
	n->lines += len > 0 && text[len - 1] != '\n';
	for (; len > 0 && (text = strchr(text, '\n')) != NULL; text++)
		n->lines++;
}

void
exchange_count_older(struct older_count *n, const struct exchange *x)
{
	count_text(n, x->content);
	count_text(n, x->input);
	n->all++;
	n->users += x->role == ROLE_USER && x->tool == NULL;
	n->answers += x->role == ROLE_ASSISTANT && x->tool == NULL;
}

const char *
conversation_last_user(const struct conversation *c)
{
	const char *other = NULL;

	for (size_t i = c->n; i-- > 0;) {
		const struct exchange *x = &c->v[i];

		if (x->role != ROLE_USER || x->tool != NULL || x->content[0] == '\0')
			continue;
		if (x->content[0] != '/' && x->content[0] != '!')
			return x->content;
		if (other == NULL)
			other = x->content;
	}
	return other;
}

/* The last line that holds more than blanks; heap. */
static char *
last_line(const char *s)
{
	size_t end = strlen(s), from;

	while (end > 0 && strchr(" \t\n", s[end - 1]) != NULL)
		end--;
	for (from = end; from > 0 && s[from - 1] != '\n'; from--)
		;
	while (from < end && (s[from] == ' ' || s[from] == '\t'))
		from++;
	return xstrndup(s + from, end - from);
}

char *
conversation_last_action(const struct conversation *c)
{
	for (size_t i = c->n; i-- > 0;) {
		const struct exchange *x = &c->v[i];

		if (x->role != ROLE_ASSISTANT)
			continue;
		if (x->tool == NULL && x->content[0] == '\0')
			continue;
		if (x->tool == NULL)
			return last_line(x->content);
		if (x->input != NULL)
			return xasprintf("%s(%s) %s", x->tool, x->input, exchange_status_name(x->status));
		if (x->content[0] != '\0')
			return xasprintf("%s: %.*s, %s", x->tool, (int)strcspn(x->content, "\n"), x->content,
			    exchange_status_name(x->status));
		return xasprintf("%s %s", x->tool, exchange_status_name(x->status));
	}
	return NULL;
}

size_t
conversation_count(const struct conversation *c, enum role role)
{
	size_t n = role == ROLE_USER ? c->older.users : role == ROLE_ASSISTANT ? c->older.answers : 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].role == role && c->v[i].tool == NULL;
	return n;
}

/* How agents mark a task, and the word for it; the first mark of a word stands for it. */
static const struct task_state {
	const char *mark, *word;
	bool open;
} task_states[] = {
	{ "◻ ", "- open: ", true }, { "□ ", "- open: ", true }, { "☐ ", "- open: ", true },
	{ "◼ ", "- in progress: ", true }, { "✔ ", "- done: ", false }, { "☒ ", "- done: ", false },
	{ "☑ ", "- done: ", false },
};

/* The state that the line begins with, by mark or by word; NULL: none. */
static const struct task_state *
task_state_of(const char *line, bool word)
{
	for (size_t i = 0; i < COUNT(task_states); i++)
		if (str_starts(line, word ? task_states[i].word : task_states[i].mark))
			return &task_states[i];
	return NULL;
}

static char *
swap_task_words(const char *text, bool from_words)
{
	struct buf out = BUF_INIT;

	for (size_t n; *text != '\0'; text += n) {
		const struct task_state *s = task_state_of(text, from_words);

		if (s != NULL) {
			buf_str(&out, from_words ? s->mark : s->word);
			text += strlen(from_words ? s->word : s->mark);
		}
		n = strcspn(text, "\n");
		n += text[n] == '\n';
		buf_add(&out, text, n);
	}
	return buf_detach(&out);
}

char *
conversation_tasks_list(const char *tasks)
{
	return swap_task_words(tasks, false);
}

char *
conversation_tasks_from_list(const char *list)
{
	return swap_task_words(list, true);
}

bool
conversation_has_open_task(const struct conversation *c)
{
	const struct task_state *s;

	for (const char *line = c->tasks; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		s = task_state_of(line, false);
		if (s != NULL && s->open)
			return true;
	}
	return false;
}

json_t *
conversation_json(const struct conversation *c)
{
	json_t *o = json_object(), *list = json_array();
	char *action = conversation_last_action(c);

	for (size_t i = 0; i < c->n; i++) {
		json_t *x = json_object();

		json_put(x, "role", exchange_role_name(c->v[i].role));
		json_put(x, "tool", c->v[i].tool);
		json_put(x, "input", c->v[i].input);
		json_put(x, "content", c->v[i].content);
		json_put(x, "status", exchange_status_name(c->v[i].status));
		json_put(x, "source", exchange_source_name(c->v[i].source));
		if (c->v[i].at != 0)
			json_put_int(x, "at", c->v[i].at);
		if (c->v[i].folded)
			json_put_flag(x, "folded", true);
		json_array_append_new(list, x);
	}
	json_object_set_new(o, "exchanges", list);
	json_put(o, "last_user_message", conversation_last_user(c));
	json_put(o, "last_agent_action", action);
	if (c->truncated_at >= 0)
		json_put_int(o, "truncated_at", c->truncated_at);
	else
		json_put(o, "truncated_at", NULL);
	json_put_int(o, "lines", (int64_t)c->lines);
	json_put_int(o, "unknown_lines", (int64_t)c->unknown_lines);
	if (c->older.all > 0) {
		json_put_int(o, "older", (int64_t)c->older.all);
		json_put_int(o, "older_user_messages", (int64_t)c->older.users);
		json_put_int(o, "older_agent_responses", (int64_t)c->older.answers);
		json_put_int(o, "older_lines", (int64_t)c->older.lines);
		json_put_int(o, "older_bytes", (int64_t)c->older.bytes);
	}
	json_put(o, "draft", c->draft);
	json_put(o, "tasks", c->tasks);
	json_put(o, "question", c->question);
	json_put(o, "agent_version", c->banner);
	json_put_flag(o, "limit", c->limit);
	json_put_flag(o, "farewell", c->farewell);
	json_put(o, "resume_id", c->resume_id);
	json_put(o, "session_id", c->session_id);
	free(action);
	return o;
}

static char *
text_of(const json_t *o, const char *key)
{
	const char *s = json_text(o, key, NULL);

	return s != NULL ? xstrdup(s) : NULL;
}

static int
name_of(const char *const *names, size_t n, const char *name, struct err *e)
{
	for (size_t i = 0; name != NULL && i < n; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return err_set(
	    e, GT_FAIL, "json", "an exchange has the unknown word \"%.40s\"", name != NULL ? name : "");
}

static int
read_exchange(struct conversation *c, const json_t *x, struct err *e)
{
	int role = name_of(roles, COUNT(roles), json_text(x, "role", NULL), e);
	int status = name_of(statuses, COUNT(statuses), json_text(x, "status", "complete"), e);
	int source = name_of(sources, COUNT(sources), json_text(x, "source", "screen"), e);
	struct exchange *new;

	if (role < 0 || status < 0 || source < 0)
		return -1;
	new = conversation_add(
	    c, (enum role)role, text_of(x, "tool"), text_of(x, "input"), text_of(x, "content"));
	new->status = (enum status)status;
	new->source = (enum source)source;
	new->at = json_number(x, "at", 0);
	new->folded = json_flag(x, "folded", false);
	return 0;
}

int
conversation_from_json(struct conversation *c, const json_t *v, struct err *e)
{
	const json_t *list = json_object_get(v, "exchanges");
	int64_t lines = json_number(v, "lines", 0), unknown = json_number(v, "unknown_lines", 0);

	*c = (struct conversation)CONVERSATION_INIT;
	if (!json_is_array(list))
		return err_set(e, GT_FAIL, "json", "a conversation without its list of exchanges");
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (read_exchange(c, json_array_get(list, i), e) == 0)
			continue;
		conversation_release(c);
		return -1;
	}
	c->truncated_at = (ssize_t)json_number(v, "truncated_at", -1);
	c->older.all = (size_t)json_number(v, "older", 0);
	c->older.users = (size_t)json_number(v, "older_user_messages", 0);
	c->older.answers = (size_t)json_number(v, "older_agent_responses", 0);
	c->older.lines = (size_t)json_number(v, "older_lines", 0);
	c->older.bytes = (size_t)json_number(v, "older_bytes", 0);
	c->lines = lines > 0 ? (size_t)lines : 0;
	c->unknown_lines = unknown > 0 ? (size_t)unknown : 0;
	c->draft = text_of(v, "draft");
	c->tasks = text_of(v, "tasks");
	c->question = text_of(v, "question");
	c->banner = text_of(v, "agent_version");
	c->limit = json_flag(v, "limit", false);
	c->farewell = json_flag(v, "farewell", false);
	c->resume_id = text_of(v, "resume_id");
	c->session_id = text_of(v, "session_id");
	return 0;
}

static bool
is_id_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* The id ends here, and the text does not go on to one of its children. */
static bool
id_ends(const char *p)
{
	return !is_id_char(p[0]) && !(p[0] == '.' && isalnum((unsigned char)p[1]));
}

static bool
names_id(const char *text, const char *id)
{
	size_t n = strlen(id);

	for (const char *p = text; n > 0 && (p = strcasestr(p, id)) != NULL; p++)
		if ((p == text || !is_id_char(p[-1])) && id_ends(p + n))
			return true;
	return false;
}

/* "gt-" of "gt-abc.1": up to the last dash before the children. */
static size_t
prefix_len(const char *id)
{
	size_t n = strcspn(id, ".");

	while (n > 0 && id[n - 1] != '-')
		n--;
	return n;
}

/* True when the text holds an id of the same prefix. */
static bool
names_any(const char *text, const char *bead)
{
	size_t n = prefix_len(bead);
	char *prefix = xstrndup(bead, n);
	bool found = false;

	for (const char *p = text; n > 0 && !found && (p = strcasestr(p, prefix)) != NULL; p++)
		found = (p == text || !is_id_char(p[-1])) && isalnum((unsigned char)p[n]);
	free(prefix);
	return found;
}

static bool
hands_out(const char *text)
{
	static const char *const verbs[] = { "assigned", "hooked", "slung", "handoff" };

	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (names_id(text, verbs[i]))
			return true;
	return false;
}

static bool
is_clear(const struct exchange *x)
{
	static const char *const commands[] = { "/clear", "/reset", "/new" };

	for (size_t i = 0; x->role == ROLE_USER && i < sizeof commands / sizeof commands[0]; i++)
		if (str_starts(x->content, commands[i]) &&
		    strchr(" \n", x->content[strlen(commands[i])]) != NULL)
			return true;
	return false;
}

/* Words with which a session or other work begins. */
static bool
is_start(const struct exchange *x, const char *bead)
{
	if (x->role != ROLE_USER)
		return false;
	if (str_starts(x->content, TOWN_BEACON))
		return true;
	return bead != NULL && hands_out(x->content) && !names_id(x->content, bead) &&
	    names_any(x->content, bead);
}

/* The last that the transcript holds: with a banner before it the same conversation was taken up again. */
static size_t
last_recorded(const struct conversation *c)
{
	size_t i = c->n;

	while (i > 0 && c->v[i - 1].source != SOURCE_TRANSCRIPT)
		i--;
	return i;
}

/* Behind the last words of somebody. */
static size_t
words_end(const struct conversation *c)
{
	size_t i = c->n;

	while (i > 0 && c->v[i - 1].role == ROLE_SYSTEM && c->v[i - 1].tool == NULL)
		i--;
	return i;
}

size_t
conversation_task_start(const struct conversation *c, const char *bead)
{
	size_t stretch = 0, named = c->n, recorded = last_recorded(c), words = words_end(c);
	bool resumed = false;	/* what stands before is of the transcript, and it goes on below */
	bool brought = false, open = bead != NULL;	/* open: the id was not yet named in this stretch */

	for (size_t i = 0; i < c->n; i++) {
		const struct exchange *x = &c->v[i];

		resumed = (resumed || x->source == SOURCE_TRANSCRIPT) && i < recorded;
		if (x->tool != NULL || x->role == ROLE_ASSISTANT) {
			brought = x->source == SOURCE_EARLIER;
			continue;
		}
		if (is_clear(x)) {
			stretch = i + 1;
			named = c->n;
			open = bead != NULL;
		} else if (is_start(x, bead) ||
		    (exchange_is_banner(x) && i < words && !brought && !resumed &&
			x->source != SOURCE_EARLIER)) {
			stretch = i;
			open = bead != NULL;
		}
		if (open && names_id(x->content, bead)) {
			named = i;
			open = false;
		}
		if (x->source == SOURCE_EARLIER || x->role == ROLE_USER)
			brought = x->source == SOURCE_EARLIER;
	}
	return named < c->n ? named : stretch;
}

void
conversation_cut_to_task(struct conversation *c, const char *bead)
{
	size_t begin = conversation_task_start(c, bead);

	for (size_t i = 0; i < begin; i++)
		exchange_release(&c->v[i]);
	if (begin > 0) {
		memmove(c->v, c->v + begin, (c->n - begin) * sizeof *c->v);
		c->older = (struct older_count){ .all = 0 };	/* what was left out stood before the task */
	}
	c->n -= begin;
}
