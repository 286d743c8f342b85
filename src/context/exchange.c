#include <stdlib.h>
#include <string.h>

#include "context/exchange.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"

static const char *const roles[] = { "user", "assistant", "system" };
static const char *const statuses[] = { "complete", "running", "waiting", "interrupted", "failed" };
static const char *const sources[] = { "screen", "transcript", "snapshot", "earlier" };

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

const char *
role_name(enum role r)
{
	return roles[r];
}

const char *
status_name(enum status s)
{
	return statuses[s];
}

const char *
source_name(enum source s)
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
valid(char *s)
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
	x->tool = valid(tool);
	x->input = valid(input);
	x->content = content != NULL ? valid(content) : xstrdup("");
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
	size_t from = c->n, sum = 0;

	while (from > 0) {
		const struct exchange *x = &c->v[from - 1];

		sum += strlen(x->content) + (x->input != NULL ? strlen(x->input) : 0);
		if (sum > max && from < c->n)
			break;
		from--;
	}
	if (from == 0)
		return false;
	for (size_t i = 0; i < from; i++)
		exchange_release(&c->v[i]);
	memmove(c->v, c->v + from, (c->n - from) * sizeof *c->v);
	c->n -= from;
	return true;
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
			return xasprintf("%s(%s) %s", x->tool, x->input, status_name(x->status));
		if (x->content[0] != '\0')
			return xasprintf("%s: %.*s, %s", x->tool, (int)strcspn(x->content, "\n"), x->content, status_name(x->status));
		return xasprintf("%s %s", x->tool, status_name(x->status));
	}
	return NULL;
}

size_t
conversation_count(const struct conversation *c, enum role role)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		n += c->v[i].role == role && c->v[i].tool == NULL;
	return n;
}

json_t *
conversation_json(const struct conversation *c)
{
	json_t *o = json_object(), *list = json_array();
	char *action = conversation_last_action(c);

	for (size_t i = 0; i < c->n; i++) {
		json_t *x = json_object();

		json_put(x, "role", role_name(c->v[i].role));
		json_put(x, "tool", c->v[i].tool);
		json_put(x, "input", c->v[i].input);
		json_put(x, "content", c->v[i].content);
		json_put(x, "status", status_name(c->v[i].status));
		json_put(x, "source", source_name(c->v[i].source));
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
	return err_set(e, GT_FAIL, "json", "an exchange has the unknown word \"%.40s\"", name != NULL ? name : "");
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
	new = conversation_add(c, (enum role)role, text_of(x, "tool"), text_of(x, "input"), text_of(x, "content"));
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
