#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/pattern.h"
#include "base/buf.h"
#include "base/err.h"

#define JIT_AFTER 32	/* runs; to compile a pattern takes as long as some thirty short ones without it */

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	/* how often: the JIT is asked at last, most patterns of a table are run once or never */
	unsigned *used;
};

struct pattern *
pattern_new(const char *regex, unsigned flags, struct err *e)
{
	uint32_t options = PCRE2_DOLLAR_ENDONLY;
	struct pattern *p;
	PCRE2_SIZE at;
	int code;

	if (flags & PATTERN_UTF)
		options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
	if (flags & PATTERN_CASELESS)
		options |= PCRE2_CASELESS;
	if (flags & PATTERN_ANCHORED)
		options |= PCRE2_ANCHORED;
	if (flags & PATTERN_MULTILINE)
		options |= PCRE2_MULTILINE;
	p = xcalloc(1, sizeof *p);
	p->code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
	if (p->code == NULL) {
		PCRE2_UCHAR text[160];

		if (code == PCRE2_ERROR_HEAP_FAILED)
			err_no_memory();
		pcre2_get_error_message(code, text, sizeof text);
		err_set(e, GT_USAGE, "pattern", "the pattern is not valid at character %zu: %s",
		    (size_t)at + 1, (char *)text);
		free(p);
		return NULL;
	}
	p->used = xcalloc(1, sizeof *p->used);
	p->data = pcre2_match_data_create(PATTERN_GROUPS, NULL);
	p->context = pcre2_match_context_create(NULL);
	if (p->data == NULL || p->context == NULL)
		err_no_memory();
	pcre2_set_match_limit(p->context, 100000);
	pcre2_set_heap_limit(p->context, 4096);
	return p;
}

void
pattern_free(struct pattern *p)
{
	if (p == NULL)
		return;
	pcre2_match_context_free(p->context);
	pcre2_match_data_free(p->data);
	pcre2_code_free(p->code);
	free(p->used);
	free(p);
}

int
pattern_find(const struct pattern *p, const char *text, size_t n, size_t from, struct match *m)
{
	PCRE2_SIZE *o;
	int r;

	/* no JIT on this machine is slower, not wrong */
	if (++*p->used == JIT_AFTER)
		(void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
	r = pcre2_match(p->code, (PCRE2_SPTR)text, n, from, 0, p->data, p->context);
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	if (r < 0)
		return -1;
	if (m == NULL)
		return 1;
	o = pcre2_get_ovector_pointer(p->data);
	for (size_t i = 0; i < PATTERN_GROUPS; i++) {
		bool set = r == 0 || i < (size_t)r;

		m->start[i] = set ? o[2 * i] : (size_t)-1;
		m->end[i] = set ? o[2 * i + 1] : (size_t)-1;
	}
	return 1;
}

size_t
pattern_looks_back(const struct pattern *p)
{
	uint32_t back = 0;

	return pcre2_pattern_info(p->code, PCRE2_INFO_MAXLOOKBEHIND, &back) == 0 ? back : SIZE_MAX;
}

bool
pattern_may(const struct pattern *p, const char *text, size_t n, size_t at, bool ends)
{
	return pattern_looks_back(p) > at ||
	    pcre2_match(p->code, (PCRE2_SPTR)text, n, at, (ends ? 0 : PCRE2_PARTIAL_HARD) | PCRE2_NO_JIT,
		p->data, p->context) != PCRE2_ERROR_NOMATCH;
}
