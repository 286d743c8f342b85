#include <ctype.h>
#include <string.h>

#include "conversation/conversation_private.h"
#include "base/buf.h"
#include "base/utf8.h"

#define GRAM 12		/* letters of a gram */
#define SHORT 16	/* fewer letters must be the same wholly */
#define KEY 40
#define LEAST 8		/* letters to look up by */
#define MAX_INPUT ((size_t)16384)
#define SEED UINT64_C(0xcbf29ce484222325)

/* The bytes of a text's letters become a digest, one by one. */
struct letter_reader {
	struct exchange_digest *l;
	uint64_t hash, roll, power;
	size_t n;
	unsigned char ring[GRAM > DIGEST_TAIL ? GRAM : DIGEST_TAIL];
};

static uint64_t
mix_hash(uint64_t h)
{
	h ^= h >> 33;
	h *= UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

/*
 * The sample holds the smallest hashes of all grams: of two texts that share half of their grams,
 * about half of it is the same.
 */
static void
add_gram(struct exchange_digest *l, uint32_t h)
{
	unsigned i = l->n_sample;

	if (i == DIGEST_SAMPLE && h >= l->sample[i - 1])
		return;
	while (i > 0 && l->sample[i - 1] > h)
		i--;
	if (i > 0 && l->sample[i - 1] == h)
		return;
	if (l->n_sample < DIGEST_SAMPLE)
		l->n_sample++;
	memmove(l->sample + i + 1, l->sample + i, (l->n_sample - 1 - i) * sizeof l->sample[0]);
	l->sample[i] = h;
}

static void
add_letter(struct letter_reader *s, unsigned char c)
{
	size_t size = sizeof s->ring;

	s->hash = (s->hash ^ c) * UINT64_C(0x100000001b3);
	s->roll = s->roll * 31 + c;
	if (s->n >= GRAM)
		s->roll -= s->power * s->ring[(s->n - GRAM) % size];
	s->ring[s->n % size] = c;
	if (s->n < DIGEST_HEAD)
		s->l->head[s->n] = (char)c;
	s->n++;
	if (s->n == KEY)
		s->l->key = mix_hash(s->hash);
	if (s->n >= GRAM)
		add_gram(s->l, (uint32_t)(mix_hash(s->roll) >> 32));
}

/*
 * Letters of all scripts; not the blocks of punctuation, arrows, boxes, dingbats, private use,
 * presentation forms and emoji.
 */
static bool
is_of_script(int32_t r)
{
	return (r >= 0xaa && r < 0x2000 && r != 0xab && r != 0xac && r != 0xad && r != 0xb7 && r != 0xbb) ||
	    (r >= 0x2c00 && r < 0x2e00) || (r > 0x3020 && r < 0xe000) || (r >= 0xf900 && r < 0xfb00) ||
	    (r > 0xff20 && r < 0xffe0) || (r >= 0x10000 && r < 0x1f000) || (r >= 0x20000 && r < 0x40000);
}

/* r: beyond ASCII; -1: invalid UTF-8 */
static bool
is_letter(int32_t r, enum letter_set set)
{
	switch (set) {
	case LETTERS_OF_SCRIPTS:
		return is_of_script(r);
	case LETTERS_VISIBLE:
		return r >= 0 && !utf8_hidden(r) && r != 0xFFFD && utf8_width_rune(r) != 0;
	default:
		return r >= 0xc0 && (r < 0x2000 || r >= 0x2c00);
	}
}

/* Bytes of a bracket that stands for something which the other source may print in another way; 0: none. */
static size_t
placeholder_len(const char *p, const char *end)
{
	const char *close;

	if (end - p < 7 || (strncmp(p, "[REDACTED:", 10) != 0 && strncasecmp(p, "[image", 6) != 0))
		return 0;
	close = memchr(p, ']', (size_t)(end - p > 60 ? 60 : end - p));
	return close != NULL ? (size_t)(close + 1 - p) : 0;
}

bool
exchange_next_letter(struct letter_walk *w, const char **letter, size_t *n)
{
	while (w->p < w->end) {
		const char *p = w->p;
		unsigned char c = (unsigned char)*p;
		bool inside = w->inside;
		size_t step = 1;
		int32_t rune = c;

		w->inside = c != '\n' && (inside || (c != ' ' && c != '\t'));
		if (c >= 0x80)
			step = utf8_next(p, (size_t)(w->end - p), &rune);
		*letter = p;
		*n = step;
		if (c >= 0x80 ? is_letter(rune, w->set) : isalnum(c) != 0) {
			w->p = p + step;
			w->lower = (char)tolower(c);
			if (w->set == LETTERS_OF_SCRIPTS && c < 0x80)
				*letter = &w->lower;
			return true;
		}
		if (w->set == LETTERS_OF_SCRIPTS && c == '[') {
			step = placeholder_len(p, w->end);
			w->gaps = w->gaps || step > 0;
			step = step > 0 ? step : 1;
		} else if (w->set == LETTERS_OF_SCRIPTS && c == '`' && !inside && w->end - p > 3 &&
		    memcmp(p, "```", 3) == 0) {
			const char *nl = memchr(p, '\n', (size_t)(w->end - p));

			step = (size_t)((nl != NULL ? nl : w->end) - p);
		}
		w->p = p + step;
	}
	return false;
}

void
exchange_letters(struct buf *out, const char *text)
{
	struct letter_walk w = { .p = text, .end = text + strlen(text) };
	const char *letter;
	size_t n;

	while (exchange_next_letter(&w, &letter, &n))
		buf_add(out, letter, n);
}

/* Hash of a short text's letters, 0 when it has none. */
static uint64_t
hash_letters(const char *p, const char *end)
{
	struct letter_walk w = { .p = p, .end = end };
	uint64_t h = SEED;
	const char *letter;
	size_t n;
	bool any = false;

	for (; exchange_next_letter(&w, &letter, &n); any = true)
		for (size_t i = 0; i < n; i++)
			h = (h ^ (unsigned char)letter[i]) * UINT64_C(0x100000001b3);
	return any ? mix_hash(h) : 0;
}

static void
take_text(struct exchange_digest *l, const char *p, size_t max)
{
	size_t n = strnlen(p, max);
	const char *nl = memchr(p, '\n', n);
	struct letter_reader s = { .l = l, .hash = SEED, .power = 1 };
	struct letter_walk w = { .p = p, .end = p + n };
	const char *letter;

	for (int i = 0; i < GRAM; i++)
		s.power *= 31;
	for (size_t k; exchange_next_letter(&w, &letter, &k);)
		for (size_t i = 0; i < k; i++)
			add_letter(&s, (unsigned char)letter[i]);
	l->n = s.n;
	l->gaps = w.gaps;
	l->whole = s.n > 0 ? mix_hash(s.hash) : 0;
	for (size_t i = 0; i < DIGEST_TAIL && i < s.n; i++)
		l->tail[DIGEST_TAIL - 1 - i] = (char)s.ring[(s.n - 1 - i) % sizeof s.ring];
	if (l->kind == DIGEST_CALL)
		l->line = nl != NULL ? hash_letters(p, nl) : l->whole;
	if (s.n < KEY || l->kind == DIGEST_CALL)
		l->key = l->kind == DIGEST_CALL ? l->line : l->whole;
	l->key = s.n >= LEAST && l->cost > 0 && !l->path && !l->cut
	    ? mix_hash(l->key + (uint64_t)l->kind + l->tool)
	    : 0;
}

/* What a tool is called on the screens, and what it is called in the transcript. */
static const char *const names[][2] = {
	{ "Update", "Edit" }, { "MultiEdit", "Edit" }, { "Task", "Agent" }, { "WebFetch", "Fetch" },
	{ "Glob", "Search" }, { "Grep", "Search" }, { "LS", "List" },
	{ "Edit Notebook", "NotebookEdit" }, { "Web Search", "WebSearch" },
	/*
	 * of other agents' shells: on the screen; in the session files of codex, gemini and qwen,
	 * and auggie
	 */
	{ "Shell", "Bash" }, { "Terminal", "Bash" }, { "exec_command", "Bash" },
	{ "run_shell_command", "Bash" }, { "launch-process", "Bash" },
};
/* Tools whose input stands on the screen much as it was: another input is another call. */
static const char *const strict[] = { "Bash", "Edit", "Write", "Read", "Fetch", "Agent", "WebSearch" };
/* Of these it is a path, on the screen relative to the working directory. */
static const char *const paths[] = { "Edit", "Write", "Read", "NotebookEdit" };

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const char *
canonical_tool(const char *name)
{
	for (size_t i = 0; i < COUNT(names); i++)
		if (strcasecmp(name, names[i][0]) == 0)
			return names[i][1];
	return name;
}

static uint64_t
tool_number(const char *name)
{
	size_t n = strlen(name);

	if (str_starts(name, "mcp__"))		/* "server - tool (MCP)" on the screen */
		name += 5;
	else if (str_ends(name, " (MCP)"))
		n -= 6;
	return hash_letters(name, name + strnlen(name, n));
}

static bool
one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(name, list[i]) == 0)
			return true;
	return false;
}

/* The path in front of a call's input; 2.1.330 names a notebook's cell behind it: "a.ipynb@c1". */
static size_t
path_length(const char *name, const char *input)
{
	size_t n = strcspn(input, "\n");
	const char *at = strcmp(name, "NotebookEdit") == 0 ? memrchr(input, '@', n) : NULL;

	return at != NULL && memchr(at, '/', (size_t)(input + n - at)) == NULL ? (size_t)(at - input) : n;
}

static void
take_call(struct exchange_digest *l, const struct exchange *x)
{
	const char *name = canonical_tool(x->tool), *input = x->input != NULL ? x->input : "",
		   *nl = strchr(x->content, '\n');
	size_t n = strlen(input), line = nl != NULL ? (size_t)(nl - x->content) : strlen(x->content);

	l->tool = tool_number(name);
	l->strict = one_of(name, strict, COUNT(strict));
	l->path = one_of(name, paths, COUNT(paths));
	l->agent = strcmp(name, "Agent") == 0;
	l->cut = n >= 3 && memcmp(input + n - 3, "\xE2\x80\xA6", 3) == 0;
	take_text(l, input, l->path ? path_length(name, input) : MAX_INPUT);
	l->result = hash_letters(x->content, x->content + (line < 256 ? line : 256));
}

void
exchange_digest_init(struct exchange_digest *l, const struct exchange *x)
{
	memset(l, 0, sizeof *l);
	l->kind = x->folded             ? DIGEST_FOLDED
	    : x->tool != NULL           ? DIGEST_CALL
	    : x->role == ROLE_USER      ? DIGEST_USER
	    : x->role == ROLE_ASSISTANT ? DIGEST_WORDS
					: DIGEST_SYSTEM;
	l->open = x->status != STATUS_COMPLETE;
	if (l->kind == DIGEST_USER || l->kind == DIGEST_WORDS)
		l->cost = 2;
	else if (l->kind == DIGEST_CALL)
		l->cost = 1;
	if (l->kind == DIGEST_CALL)
		take_call(l, x);
	else
		take_text(l, x->content, SIZE_MAX);
	if (l->kind == DIGEST_CALL && x->source == SOURCE_TRANSCRIPT)
		l->cost = 0;
}

bool
exchange_is_banner(const struct exchange *x)
{
	static const char *const programs[] = { "Claude Code v", "OpenAI Codex v", "Gemini CLI v",
		"Qwen Code v", "Auggie v", "pi v" };

	for (size_t i = 0; i < COUNT(programs); i++)
		if (x->role == ROLE_SYSTEM && x->tool == NULL && str_starts(x->content, programs[i]))
			return true;
	return false;
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* True when the first letters of both are the same, `most` of them at most. */
static bool
same_head(const struct exchange_digest *a, const struct exchange_digest *b, size_t most)
{
	return memcmp(a->head, b->head, smaller(smaller(a->n, b->n), smaller(most, DIGEST_HEAD))) == 0;
}

static bool
same_tail(const struct exchange_digest *a, const struct exchange_digest *b)
{
	size_t n = smaller(smaller(a->n, b->n), DIGEST_TAIL);

	return memcmp(a->tail + DIGEST_TAIL - n, b->tail + DIGEST_TAIL - n, n) == 0;
}

/* True when the text with gaps says no more than the other at both ends, as far as both are known. */
static bool
same_but_gaps(const struct exchange_digest *a, const struct exchange_digest *b)
{
	size_t n = smaller(a->n, b->n), head = 0, tail = 0;

	while (head < n && head < DIGEST_HEAD && a->head[head] == b->head[head])
		head++;
	while (tail < n && tail < DIGEST_TAIL &&
	    a->tail[DIGEST_TAIL - 1 - tail] == b->tail[DIGEST_TAIL - 1 - tail])
		tail++;
	return (a->gaps || b->gaps) && n >= LEAST && head + tail >= smaller(n, DIGEST_HEAD + DIGEST_TAIL) / 2;
}

/*
 * How much of the shorter text's grams stand in the longer, in percent: of those in its sample
 * that would be in the other's if they were there. `all`: of both texts' grams.
 */
static unsigned
shared_grams(const struct exchange_digest *a, const struct exchange_digest *b, bool all)
{
	const struct exchange_digest *s = a->n <= b->n ? a : b, *l = a->n <= b->n ? b : a;
	uint32_t end = l->n_sample == DIGEST_SAMPLE ? l->sample[DIGEST_SAMPLE - 1] : UINT32_MAX;
	unsigned i = 0, k = 0, common = 0, of = 0;

	if (all && s->n_sample == DIGEST_SAMPLE && s->sample[DIGEST_SAMPLE - 1] < end)
		end = s->sample[DIGEST_SAMPLE - 1];
	while (i < s->n_sample && s->sample[i] <= end) {
		while (k < l->n_sample && l->sample[k] < s->sample[i]) {
			of += all;
			k++;
		}
		if (k < l->n_sample && l->sample[k] == s->sample[i]) {
			common++;
			k++;
		}
		of++;
		i++;
	}
	for (; all && k < l->n_sample && l->sample[k] <= end; k++)
		of++;
	return of > 0 ? common * 100 / of : 0;
}

/*
 * Of short prompts every letter is known: neither is a part of the other, so they were two ("fix
 * test 7", "fix test 8").
 */
static bool
are_distinct_prompts(const struct exchange_digest *a, const struct exchange_digest *b)
{
	const struct exchange_digest *s = a->n <= b->n ? a : b, *l = a->n <= b->n ? b : a;

	return s->kind == DIGEST_USER && !a->gaps && !b->gaps && l->n <= DIGEST_HEAD &&
	    memmem(l->head, l->n, s->head, s->n) == NULL;
}

static unsigned
words_weight(const struct exchange_digest *a, const struct exchange_digest *b)
{
	const struct exchange_digest *s = a->n <= b->n ? a : b;
	unsigned weight = 4 + (unsigned)smaller(s->n / 8, 12);
	bool head, tail;

	if (s->n == 0)
		return 0;
	/* a person says the same again, long words of a model are never the same */
	if (a->whole == b->whole && a->n == b->n)
		return s->kind == DIGEST_WORDS ? 6 + (unsigned)smaller(s->n / 4, 24) : weight + 2;
	if (same_but_gaps(a, b))
		return weight;
	if (are_distinct_prompts(a, b))
		return 0;
	head = same_head(a, b, DIGEST_HEAD);
	if (s->n < SHORT)
		return head && (s->kind == DIGEST_SYSTEM ? s->n >= 6 : s->open && s->n >= 4) ? 4 : 0;
	tail = same_tail(a, b);
	if ((head && tail) ||
	    (head && (s->open || s->kind == DIGEST_SYSTEM) &&
		(s->n < DIGEST_HEAD || shared_grams(a, b, false) >= 60)))
		return weight;
	if (((tail || same_head(a, b, 24)) && shared_grams(a, b, true) >= 40) ||
	    shared_grams(a, b, true) >= 80)
		return weight - 2;
	if (head && s->kind == DIGEST_USER && s->n >= 24 &&
	    (s->n < DIGEST_HEAD || shared_grams(a, b, false) >= 60))
		return 4;	/* a prompt whose further rows looked like something else */
	/* or whose frame is not shown */
	return (s->open || s->kind == DIGEST_USER) && s->n >= 48 && shared_grams(a, b, false) >= 80
	    ? weight - 2
	    : 0;
}

static unsigned
call_weight(const struct exchange_digest *a, const struct exchange_digest *b)
{
	size_t n = smaller(a->n, b->n);
	unsigned bonus = a->result != 0 && a->result == b->result ? 4 : 0,
		 weight = 4 + (unsigned)smaller(n / 8, 8) + bonus;

	if (a->tool != b->tool)		/* a sub-agent is called by its own name on the screen */
		return (a->agent || b->agent) && n >= 4 && (a->whole == b->line || a->line == b->whole)
		    ? weight
		    : 0;
	if (n == 0)
		return !a->strict || a->n == b->n || a->open || b->open ? 3 + bonus : 0;
	if (a->whole == b->whole || a->whole == b->line || a->line == b->whole)
		return weight + 2;
	if (a->path)
		return same_tail(a, b) ? weight : 0;
	if (same_but_gaps(a, b))
		return weight;
	if ((a->cut || b->cut || n >= 24) && n >= 4 && same_head(a, b, DIGEST_HEAD))
		return weight;
	return a->strict ? 0 : 3 + bonus;
}

unsigned
exchange_similarity(const struct exchange_digest *a, const struct exchange_digest *b)
{
	if (a->kind != b->kind)
		return 0;
	return a->kind == DIGEST_CALL ? call_weight(a, b) : words_weight(a, b);
}
