#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "work/wip_private.h"
#include "base/err.h"
#include "base/sha256.h"

#define HEADS "refs/heads/"
#define OURS "refs/gt-recover/"
#define NAME_MAX_BYTES 100
#define FORMAT "--format=%(refname)%00%(objectname)%00%(tree)%00%(committerdate:unix)%00%(trailers:key=" WIP_TREE ",key=" WIP_BASE \
	")%00%(worktreepath)%00"		/* struct ref */

/* ---- names ---- */

/* One part of a ref's name: letters, digits, "_", "-" and "." within; of what was changed a hash tells it apart from others. */
static void
put_part(struct buf *out, const char *text)
{
	size_t n = strlen(text), from = out->len;
	bool changed = n > NAME_MAX_BYTES || n == 0;
	char hash[65];

	for (size_t i = 0; i < n && i < NAME_MAX_BYTES; i++) {
		char c = text[i];
		bool good = (isalnum((unsigned char)c) && (unsigned char)c < 0x80) || c == '_' || c == '-' ||
		    (c == '.' && i > 0 && i + 1 < n && text[i + 1] != '.');

		changed = changed || !good;
		buf_chr(out, good ? c : '-');
	}
	changed = changed || str_ends(out->data + from, ".lock");
	if (!changed)
		return;
	sha256_hex(text, n, hash);
	buf_fmt(out, "-%.8s", hash);
}

static const char *
without(const char *text, const char *front)
{
	return str_starts(text, front) && text[strlen(front)] != '\0' ? text + strlen(front) : text;
}

char *
wip_ref_of_sprint(const char *epic, size_t place, const char *sprint)
{
	struct buf out = BUF_INIT;

	buf_str(&out, HEADS "epic-");
	put_part(&out, without(epic, "epic-"));
	buf_str(&out, "/sprint-");
	if (place > 0)
		buf_fmt(&out, "%zu", place);
	else
		put_part(&out, without(sprint, "sprint-"));
	buf_str(&out, "-wip");
	return buf_detach(&out);
}

char *
wip_ref_of_session(const char *session)
{
	struct buf out = BUF_INIT;

	buf_str(&out, OURS "wip/");
	put_part(&out, session);
	return buf_detach(&out);
}

const char *
wip_ref_short(const char *ref)
{
	return str_starts(ref, HEADS) ? ref + strlen(HEADS) : ref;
}

/* ---- which one ---- */

/* A ref as git tells of it; strings are git's answer. */
struct ref {
	const char *name, *commit, *tree, *seconds, *trailers, *checked_out;
};

/* The next one of the answer, or false. */
static bool
next_ref(char **p, const char *end, struct ref *r)
{
	const char **fields[] = { &r->name, &r->commit, &r->tree, &r->seconds, &r->trailers, &r->checked_out };

	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		size_t n = strnlen(*p, (size_t)(end - *p));

		if (*p + n >= end)
			return false;
		*fields[i] = *p;
		*p += n + 1;
	}
	*p += **p == '\n';
	return true;
}

/* What stands behind that key, up to a newline or the end; "": it is not there. (git 2.39 takes one trailer's key a format.) */
static const char *
trailer(const struct ref *r, const char *key)
{
	for (const char *line = r->trailers; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n')
		if (str_starts(line, key))
			return line + strlen(key);
	return "";
}

struct choice {
	char *base, *mine;			/* as wanted; with the work tree's word in it. Heap */
	char *folder;				/* of base; heap */
	struct ref base_ref, mine_ref;		/* name NULL: there is none */
	bool in_the_way;			/* a branch has the name of the folder */
};

static char *
with_word(const char *ref, const char *word)
{
	size_t n = strlen(ref) - (str_ends(ref, "-wip") ? strlen("-wip") : 0);

	return xasprintf("%.*s-%s%s", (int)n, ref, word, ref + n);
}

static void
choice_init(struct choice *c, char *base, const char *word)
{
	memset(c, 0, sizeof *c);
	c->base = base;
	c->mine = with_word(base, word);
	c->folder = xstrndup(base, (size_t)(strrchr(base, '/') - base));
}

static void
choice_release(struct choice *c)
{
	free(c->base);
	free(c->mine);
	free(c->folder);
}

static int
look(struct wip_work *w, struct choice *c, struct buf *out, struct err *e)
{
	const char *ask[] = { "for-each-ref", FORMAT, c->base, c->mine, c->folder, NULL };
	struct ref r;
	char *p;

	if (wip_git(&w->v, "for-each-ref", ask, NULL, out, e) != 0)
		return -1;
	p = out->data;
	while (next_ref(&p, out->data + out->len, &r)) {
		if (strcmp(r.name, c->base) == 0)
			c->base_ref = r;
		else if (strcmp(r.name, c->mine) == 0)
			c->mine_ref = r;
		c->in_the_way = c->in_the_way || strcmp(r.name, c->folder) == 0;
	}
	return 0;
}

static void
word_of(const char *top, char word[WIP_WORD])
{
	char hash[65];

	sha256_hex(top, strlen(top), hash);
	memcpy(word, hash, WIP_WORD - 1);
	word[WIP_WORD - 1] = '\0';
}

/* 1: that word is another work tree's of this repository, which is there. */
static int
is_other_tree(struct wip_work *w, const char *word, struct err *e)
{
	static const char *const ask[] = { "worktree", "list", "--porcelain", NULL };
	struct buf out = BUF_INIT;
	int ret = wip_git(&w->v, "worktree list", ask, NULL, &out, e);
	char *save = NULL;

	for (char *line = strtok_r(out.data, "\n", &save); line != NULL && ret == 0; line = strtok_r(NULL, "\n", &save)) {
		char other[WIP_WORD];

		if (!str_starts(line, "worktree "))
			continue;
		word_of(line + 9, other);
		ret = strncmp(word, other, WIP_WORD - 1) == 0 && access(line + 9, F_OK) == 0;
	}
	buf_release(&out);
	return ret;
}

static int
take(struct wip_work *w, const char *name, const struct ref *r, struct err *e)
{
	free(w->out->ref);
	w->out->ref = xstrdup(name);
	memset(&w->tip, 0, sizeof w->tip);
	if (r->name == NULL)
		return 0;
	if (*r->checked_out != '\0' && w->ask != NULL) {
		err_set(e, GT_REFUSED, "checked-out", "the branch %.200s, which holds work in progress, is checked out in a work tree",
		    wip_ref_short(name));
		return err_hint(e, "Switch to another branch there; git restore takes files out of it without a switch");
	}
	if (strlen(r->commit) >= sizeof w->tip.commit || strlen(r->tree) >= sizeof w->tip.tree || *r->tree == '\0')
		return err_set(e, GT_FAIL, "git", "the ref %.200s is no commit", name);
	memcpy(w->tip.commit, r->commit, strlen(r->commit) + 1);
	memcpy(w->tip.tree, r->tree, strlen(r->tree) + 1);
	if (wip_hash(trailer(r, WIP_BASE ": "), w->tip.base) != 0)
		*w->tip.base = '\0';
	w->tip.at = (int64_t)strtoll(r->seconds, NULL, 10) * 1000;
	return 0;
}

int
wip_choose_ref(struct wip_work *w, const char *wanted, struct err *e)
{
	struct buf out = BUF_INIT;
	struct choice c;
	int ret, other = 0;

	word_of(w->out->top, w->word);
	choice_init(&c, xstrdup(wanted), w->word);
	ret = look(w, &c, &out, e);
	if (ret == 0 && c.in_the_way && str_starts(wanted, HEADS)) {
		char *elsewhere = xasprintf(OURS "%s", wanted + strlen(HEADS));

		choice_release(&c);
		choice_init(&c, elsewhere, w->word);
		ret = look(w, &c, &out, e);
	}
	if (ret == 0 && c.mine_ref.name == NULL && c.base_ref.name != NULL) {
		const char *word = trailer(&c.base_ref, WIP_TREE ": ");
		size_t n = strcspn(word, "\n");

		other = w->ask != NULL && *c.base_ref.checked_out != '\0';
		if (!other && (n != WIP_WORD - 1 || strncmp(word, w->word, n) != 0))
			other = is_other_tree(w, word, e);
		ret = other < 0 ? -1 : 0;
	}
	if (ret == 0)
		ret = c.mine_ref.name != NULL || other > 0 ? take(w, c.mine, &c.mine_ref, e) : take(w, c.base, &c.base_ref, e);
	choice_release(&c);
	buf_release(&out);
	return ret;
}

int
wip_refs(struct wip_work *w, void (*row)(const char *ref, int64_t at, void *arg), void *arg, struct err *e)
{
	static const char *const ask[] = { "for-each-ref", FORMAT, OURS, HEADS "epic-*/sprint-*-wip", NULL };
	struct buf out = BUF_INIT;
	struct ref r;
	int ret = wip_git(&w->v, "for-each-ref", ask, NULL, &out, e);
	char *p = out.data;

	while (ret == 0 && next_ref(&p, out.data + out.len, &r))
		if (strcspn(trailer(&r, WIP_TREE ": "), "\n") == WIP_WORD - 1)
			row(r.name, (int64_t)strtoll(r.seconds, NULL, 10) * 1000, arg);
	buf_release(&out);
	return ret;
}
