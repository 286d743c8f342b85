#ifndef PROMPT_TOKENS_H
#define PROMPT_TOKENS_H

#include <stddef.h>

/*
 * How many tokens a model makes of a text: an estimate. Pure, one pass, no tables of words.
 *
 * Counted are pieces as tokenizers cut them: words with the blank before them, humps of camelCase, numbers, runs of blanks and of one
 * sign, and the runes of other scripts; a word costs more the longer it is and the more of its letter pairs are rare in English
 * and in code (other languages, base64). Each has a price, fitted to real counts.
 *
 * The prices were fitted to the greatest of the counts of three public tokenizers, over 360 texts (2 MB) of other people, and raised by a
 * tenth. The estimate is more than the count by so many percent (mean, and worst on either side, of texts of 1 to 9 KB):
 *
 *				 Claude 2 public	 cl100k_base	 o200k_base
 *	English, markdown	+11   -2  +23	+17  +11  +26	+17  +11  +24
 *	German, French, Spanish	 +5   -7  +27	+16   +5  +40	+28  +11  +55
 *	Polish			+10   +7  +14	+33  +21  +40	+49  +30  +60
 *	Russian, Ukrainian	+14   -3  +25	+34   +3  +55	+85  +28 +130
 *	Greek, Hebrew, Arabic	+11   +6  +23	+28   +6  +41  +131  +11 +232
 *	Hindi, Thai		+10   +6  +12	+60  +19 +105  +247 +122 +317
 *	Chinese			+31   +5  +49	+28  +13  +40	+48  +14  +78
 *	Japanese		+11   -9  +19	+12   -3  +17	+43  +18  +55
 *	Korean			+14   +6  +21	+31  +21  +41	+84  +61 +100
 *	C, Python, JS, shell	+10   -6  +19	+24   +4  +41	+23   +3  +40
 *	minified JS		+14   +8  +31	+30  +14  +40	+31  +18  +51
 *	JSON			+12   +2  +21	+21   +7  +30	+20   +7  +29
 *	diffs			 +6   +3   +7	+24  +18  +30	+24  +17  +29
 *	logs			+15   +7  +21	+21   +9  +39	+21   +8  +38
 *	terminal, dumps		+31   +5 +108	+15   +0  +28	+15   +0  +28
 *	agents' screens		+16  -23  +30	+18   +4  +37	+23   +4  +37
 *	paths			 +9   +2  +13	+51  +45  +59	+44  +36  +58
 *	base64, hex		+13  +10  +16	+15   +7  +20	+16  +13  +19
 *	numbers			+21   +8  +42	+10   +7  +16	+10   +7  +16
 *	tables, box drawing	 +5   -5  +10	 +7   -3  +14	 +9   -3  +17
 *	emoji			+14  +11  +17	+11   +9  +13	+26  +24  +29
 *	all, 4 bytes a token	-20  -70 +383
 *
 * (@anthropic-ai/tokenizer 0.0.4, gpt-tokenizer 4.0.0. -23: a screen of 0.7 KB, mostly rows of signs.) So of text that people and programs
 * write it is never under any of the three by more than a tenth. Long runs of blanks or one sign are given up to three times what
 * they take; ideographs and runes drawn at random up to a third too few.
 *
 * Newer models of Anthropic make more tokens than the old public count: Claude 3 to 4.6 about a tenth more, which the estimate holds;
 * from 4.7 on again about three tenths more (their documentation of token counting). For these a prompt of max_context_tokens
 * 120,000 may have 155,000: the 40 % of 200,000 that R84 leaves free are for that, too.
 */
#define TOKEN ((size_t)100)	/* costs are in hundredths of a token */

/*
 * The cost of a text, any bytes. A line costs the same wherever it stands: for texts that end in a newline
 * tokens_cost(a + b) == tokens_cost(a) + tokens_cost(b), so that a budget can be kept by adding.
 */
size_t tokens_cost(const char *p, size_t n);
/* The same in whole tokens, rounded up. */
size_t tokens_count(const char *p, size_t n);
/* The most bytes that can cost `cost`: a text is never cheaper than a token for TOKEN_BYTES_MOST bytes. */
#define TOKEN_BYTES_MOST ((size_t)16)

/* Where only a size is known: 4 bytes a token (R85), rounded up. */
size_t tokens_of_size(size_t bytes);

#endif
