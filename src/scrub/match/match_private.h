#ifndef SCRUB_MATCH_MATCH_PRIVATE_H
#define SCRUB_MATCH_MATCH_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "scrub/finding.h"
#include "scrub/rows/rows_private.h"
#include "scrub/rules/rules_private.h"

struct gate;

/* ---- assignment ---- */

/*
 * NAME=value, "name": "value", name => 'value', os.environ["NAME"] = "value", --name value, ENV
 * NAME value, <name>value</name>, | NAME | value |, and their like: written by hand, because one
 * regular expression for all of it is slow and wrong at its edges.
 */
struct assignment {
	size_t key_from, key_to;	/* offsets in the line */
	size_t from, to;		/* the value, without its quotes */
	const struct rule *rule;
};

/*
 * A line whose words are looked at from left to right, and what was seen on the way, so that
 * nothing of it is read again for each word.
 */
struct assignment_line {
	const char *p;
	size_t n;
	size_t name_from, name_to;	/* the last stretch of characters that names are made of */
	size_t read, login;  /* so far "login " was looked for; the byte behind the last one, or 0 */
};

/*
 * Looks at the name around [word_from, word_to) of the line, a word of the table. True when a
 * value follows that is a secret.
 */
bool assignment_at(const struct rule_set *rules, struct assignment_line *line, size_t word_from,
    size_t word_to, struct assignment *k);

/*
 * False when no value can follow the name around the word p[at, to), whatever stands before
 * `from` and behind `end`: for most names in a text that is so. Quick.
 */
bool assignment_may_follow(const char *p, size_t from, size_t at, size_t to, size_t end);

/* ---- value ---- */

/*
 * What stands behind a secret's name: is it a secret, or a word about one? `token` is a work word
 * on an agent's screen ("43k tokens", `token: string`, `const token = user.token`), so values
 * that are words, types, references, calls, paths, numbers, dates, versions or placeholders are
 * none. There is no floor of entropy for passwords: people make them.
 */
struct value {
	const char *p;
	size_t n;
	bool quoted;
	bool plain_env;		/* behind UPPER_CASE= or a flag: a word is a value there */
};

bool value_is_secret(const struct value *v, enum value_class class);

/*
 * $NAME, ${NAME}, $(cmd), <token>, {{x}}, %NAME%, xxxx, ****, ..., your-key-here, changeme, null:
 * stands where a secret would.
 */
bool value_is_placeholder(const char *p, size_t n);

/*
 * Eight characters or more that are no word: digits beside capitals or signs. For places that
 * hold words as a rule.
 */
bool value_is_irregular(const char *p, size_t n);

/* Documentation's stand-in for a token: one character over and over, or EXAMPLE in it. */
bool value_is_sample(const char *p, size_t n);

/*
 * At least 16 characters of which a token is made, and no words of a name among them: letters and
 * digits that change all the time, hexadecimal, a UUID. For places that say little.
 */
bool value_is_opaque(const char *p, size_t n);
/* More than half of it is words of a name, as openssl_x509_check, Ed25519PrivateKey, x86-64. */
bool value_has_words(const char *p, size_t n);

/* Nobody typed this: at least 16 characters that change their kind often, or long hexadecimal. */
bool value_is_random(const char *p, size_t n);

/* ---- assignment_private ---- */

/*
 * What keyed.c (the name, and what parts it from its value) and keyed_value.c (words, quotes, the
 * value) share. Nobody else includes it.
 */

/*
 * so much of a value decides; only one that is a secret is followed to its end, so that no text
 * is quadratic
 */
#define ASSIGNMENT_ENOUGH 512

/* A line and a place in it. */
struct assignment_reader {
	const char *p;
	size_t n, at;
	size_t key_from, key_to;
	struct assignment_line *line;
	const char *open;	/* the quote around the key, or "" */
	bool flag;		/* --key */
	bool env;		/* KEY in upper case */
	bool tag;		/* <key>: the value ends at the next tag */
	bool percent;		/* key%3Dvalue%26 */
	bool expansion;		/* ${KEY:-value} */
	bool beside;		/* key "value" without a sign: no sentence in quotes */
	bool loose;		/* "key  value", "key -> value": words stand there, too */
	bool sign;		/* "=", ":" and the like stand between name and value */
	bool listed;		/* "key", "value": such are words of a list, too */
	bool prose;		/* "key value" in a sentence: only what nobody types is a value */
};

/* ---- encodings ---- */

/*
 * The ways in which one secret is written: as it is, escaped as in JSON, percent-encoded, in
 * base64. Each function calls `each` with a spelling, which is valid for that call only; memory
 * is overwritten.
 */
struct secret_encoding {
	const char *p;
	size_t n;
	bool inside;	/* base64: what stands before and behind it is part of the same run of characters */
};

/* All spellings of a value, the value itself first. The same one may come twice. */
void match_encodings(
    const char *value, size_t n, void (*each)(void *arg, const struct secret_encoding *s), void *arg);

/*
 * What the value says when it is itself a spelling (JSON, percent, base64 of printable text):
 * what a program would use.
 */
void match_decodings(const char *value, size_t n, void (*each)(void *arg, const char *p, size_t n),
    void *arg);

/* ---- gate ---- */

/*
 * Keywords are common words, what stands around them is not: "http" is no reason to run the
 * pattern of a command called http when "://" stands behind it. The gate asks the patterns of a
 * keyword once whether they could match with the bytes behind it, and remembers the answer, which
 * depends on those bytes and the one before them alone.
 */

enum { GATE_AHEAD = 2 };	/* bytes behind the keyword */

struct gate *gate_new(const struct keywords *k);
void gate_free(struct gate *g);				/* NULL is fine; overwrites what it remembers */

/*
 * A keyword at [at, to) of the text, which is known from `from` to `end`; what stands beyond is
 * not. `whole`: the row or line is not cut in mid-word at `end`; `closed`: it does not go on
 * elsewhere at all, which is asked within GATE_AHEAD bytes of `end`.
 */
struct gate_place {
	const char *text;
	size_t from, at, to, end;
	bool whole, closed;
};

/*
 * Which of the ids of a word (keyword_ids) are worth a look at such a place, a bit for each:
 * rules whose pattern may match there, and all that are no rules. What is not there is certain to
 * find nothing.
 */
uint64_t gate_open(struct gate *g, struct rule_set *rules, size_t word, const struct gate_place *p);

/* ---- known_secrets ---- */

/*
 * Secrets known by their value: learned from an environment or a file, or found by a rule in a
 * text of the same scrubber. They are looked for in every spelling (match_private.h), without regard
 * to row breaks, indent and frames in between, in memory only, and overwritten.
 *
 * A learned value is sought anywhere. One that was found is sought only when nobody would write
 * it otherwise (known.c, worth_seeking), and as a word of its own, so that a weak password does
 * not take the names with it that it is a part of.
 */
struct known_secrets {
	struct secret *secrets;
	size_t n, cap, bytes;
	size_t learned, sought;
	struct form *forms;
	size_t n_forms, cap_forms;
	uint32_t *by_value;		/* secret + 1, or 0 */
	/* form + 1, or 0: the first of those that may end with these 8 bytes */
	uint32_t *by_tail;
	size_t value_slots, tail_slots;
	size_t longest;			/* bytes of a form */
	/* two maps with a bit for each two bytes with which a form may end (match_private.h) */
	unsigned char *pairs;
	bool blanks;			/* a form has blanks */
};

/* Two kinds of characters, and at least 8: not a word that stands everywhere. */
bool known_is_distinctive(const char *value, size_t n);

#define KNOWN_NONE ((size_t)-1)

void known_release(struct known_secrets *k);
/* Forgets what was found; what was learned stays. */
void known_forget(struct known_secrets *k);

/* At least 8 bytes without blanks; beyond 512 values or 16 KiB a value is not taken. */
void known_learn(struct known_secrets *k, const char *value, size_t n, size_t kind);
size_t known_room(const struct known_secrets *k);	/* how many more values are taken */

/*
 * A value that a rule found. Its number, the same for each spelling of it; KNOWN_NONE when it
 * cannot be kept: there are 16,384 values or 4 MiB of them already, or it is no value but a part
 * of a placeholder. Of those, 2,048 are sought.
 */
size_t known_add_found(struct known_secrets *k, const char *value, size_t n, size_t kind,
    enum scrub_rank rank);

/*
 * What a placeholder calls a secret: its kind is that of its format, or that it was learned, or
 * else that of the first call; its ordinal the next of that kind. Once named it keeps both. Of
 * all places in a text known_set_kind comes first, then known_placeholder; `last` holds the last
 * ordinal of each kind.
 */
void known_set_kind(struct known_secrets *k, size_t secret, size_t kind, enum scrub_rank rank);
void known_placeholder(struct known_secrets *k, size_t secret, unsigned *last, size_t *kind,
    unsigned *ordinal);

/*
 * Finds them in all rows that are not quiet. Linear: text that was made so that values nearly
 * stand everywhere has its rows withheld when the comparing takes more than a multiple of its
 * length. `view` is room to work in: it shows so many rows at a time as stay near the processor.
 */
void known_find(const struct known_secrets *k, const char *text, const struct scrub_rows *rows,
    struct joined_text *view, struct scrub_findings *f);

/* ---- known_secrets_private ---- */

/*
 * What known.c (the values and their spellings) and known_find.c (the search) share. Nobody else
 * includes this.
 */

#define KNOWN_LEAST 8		/* bytes of a form; its last ones are its key */

/* Where a form may stand. */
enum border { BORDER_NONE, BORDER_WORD, BORDER_STRICT };

struct secret {
	char *text;		/* without blanks */
	size_t n;
	char *raw;		/* as it was learned, or NULL */
	size_t n_raw, raw_kind;
	size_t kind;
	enum scrub_rank rank;
	unsigned ordinal;	/* 0: not named yet */
	enum border border;
	bool sought;
};

/* One spelling of a secret, without blanks. */
struct form {
	char *text;
	size_t n;
	size_t secret;
	uint64_t tail;
	uint32_t next;		/* form + 1 with the same slot */
	enum border border;
	bool blanks;		/* it has blanks: they may stand between its characters on the screen */
};

/*
 * The two last bytes of a form as they stand on the screen, a bit in `pairs`. The first map is
 * for rows of which nothing is hidden, and forms without blanks: the last byte stands behind the
 * one before it or begins a row. The second is for all others: any blank may lie between the two.
 */
#define KNOWN_PAIRS ((size_t)0x10000 / 8)

static inline size_t
known_pair(const unsigned char *two)
{
	uint16_t pair;

	memcpy(&pair, two, sizeof pair);
	return pair;
}

/* Where by_tail keeps the forms that end with these 8 bytes, among others. */
static inline size_t
known_slot(const struct known_secrets *k, uint64_t tail)
{
	return (size_t)(tail * 0x9e3779b97f4a7c15 >> 32) & (k->tail_slots - 1);
}

/* ---- kubernetes_secret ---- */

/*
 * Secrets that only their place in a file tells: the values under "data:" of a Kubernetes Secret,
 * whatever their names (base64, at least 4 characters, one row each), and the second row of
 * OpenVPN's <auth-user-pass>. Names and the rest of the file stay.
 */
void match_kubernetes_secret(
    const char *text, const struct scrub_rows *rows, size_t kind, struct scrub_findings *f);

/* ---- pem_line ---- */

/*
 * Private keys that stand on many rows: PEM, OpenSSH, PGP and PuTTY blocks, also with their head
 * or tail scrolled away or folded by the agent ("… +15 lines"), and PEM in one string with \n in
 * it. The lines that say what it is stay; so do certificates and public keys.
 */
void match_pem(const char *text, const struct scrub_rows *rows, size_t kind, struct scrub_findings *f);

/* ---- word ---- */

/* A letter, digit or "_". */
static inline bool
match_is_word_char(unsigned char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26 || (unsigned char)(c - '0') < 10 || c == '_';
}

/* What tokens are made of, and nearly all passwords. */
static inline bool
match_is_value_char(unsigned char c)
{
	return match_is_word_char(c) || c == '-' || c == '+' || c == '/' || c == '=' || c == '.' || c == '~';
}

/*
 * True only where no word begins at text[at], strict or not; a line that begins right there is
 * not thought of. Quick: asked at every keyword.
 */
static inline bool
match_is_inside_word(const char *text, size_t at)
{
	return at >= 3 && match_is_word_char((unsigned char)text[at - 1]) && text[at - 1] != 'm' &&
	    text[at - 2] != '\\' && text[at - 3] != '%';
}

/*
 * Does a word begin at text[at], of a line that begins at `from`; does one end before it, of a
 * text of n bytes? Nothing of a word stands on the other side, but an escape may stand before it:
 * \n, %3D, [31m. `strict`: what is part of a longer name, path or host ("-", ".", "/" beside it)
 * is no word.
 */
bool match_word_begins(const char *text, size_t from, size_t at, bool strict);
bool match_word_ends(const char *text, size_t n, size_t at, bool strict);

#endif
