#ifndef CONVERSATION_CONVERSATION_PRIVATE_H
#define CONVERSATION_CONVERSATION_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conversation/conversation.h"

#define CONVERSATION_NONE ((size_t)-1)

/* ---- similarity ---- */

/*
 * What of an exchange is the same wherever it was read. A screen and a transcript print the same
 * words differently: marks of markdown, wrapping, box drawings, the middle of long prompts, the
 * end of long outputs, redacted values (facts/claude-code.md 2). So texts are compared by their
 * letters alone (letters and digits, in lower case; no blanks, marks, punctuation or emoji;
 * nothing of "[REDACTED:…]", "[Image #1]" and the language behind a code fence): whole, at both
 * ends, and by a sample of their grams.
 */
enum digest_kind { DIGEST_USER, DIGEST_WORDS, DIGEST_CALL, DIGEST_FOLDED, DIGEST_SYSTEM };

#define DIGEST_HEAD 96
#define DIGEST_TAIL 32
#define DIGEST_SAMPLE 24

struct exchange_digest {
	enum digest_kind kind;
	bool open;		/* may go on in the other source: still streaming, waiting, stopped */
	bool gaps;		/* a part was redacted or is an image */
	bool cut;		/* a call's input that ends in "…" */
	bool strict, path, agent;	/* of a call: its input tells it; is a path; it is a sub-agent's */
	unsigned cost;		/* how little the other source may lack it: 0 it often does */
	uint64_t tool;		/* of a call: one number for all the names of a tool (Edit, Update) */
	uint64_t whole;		/* hash of all letters; of a call: of its input's */
	uint64_t line;		/* hash of the first line's */
	uint64_t result;	/* of a call: of its result's first line's; 0: none */
	uint64_t key;		/* hash of the first letters, to look up by; 0: too few to tell anything */
	size_t n;		/* letters, in bytes */
	unsigned n_sample;
	char head[DIGEST_HEAD], tail[DIGEST_TAIL];
	uint32_t sample[DIGEST_SAMPLE];	/* the smallest hashes of its grams, ascending */
};

/* Borrows nothing. Linear in the words; of a call's input and result only the first kilobytes count. */
void exchange_digest_init(struct exchange_digest *l, const struct exchange *x);

/*
 * How surely the two are the same exchange: 0 they are not, 3 to 6 they may be (a few letters, or
 * the tool's name alone), up to 30. Exact copies weigh more than near ones. Constant time.
 * Symmetric.
 */
unsigned exchange_similarity(const struct exchange_digest *a, const struct exchange_digest *b);

#endif
