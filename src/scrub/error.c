#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "scrub/error.h"
#include "scrub/scrub.h"

static void
replace(char *words, size_t room, struct scrub *s)
{
	struct clean_text *clean = scrub_string(s, words);

	snprintf(words, room, "%s", clean_bytes(clean));
	clean_free(clean);
}

void
error_scrub(struct err *e, struct scrub *s)
{
	struct err broken = ERR_INIT;
	struct scrub *own = NULL;

	if (e == NULL || (e->msg[0] == '\0' && e->hint[0] == '\0'))
		return;
	if (s == NULL && (s = own = scrub_new(NULL, &broken)) == NULL) {
		snprintf(e->msg, sizeof e->msg, "what went wrong is withheld, as it cannot be searched for secrets: %.400s", broken.msg);
		e->hint[0] = '\0';
		return;
	}
	replace(e->msg, sizeof e->msg, s);
	replace(e->hint, sizeof e->hint, s);
	scrub_free(own);
}

void
error_words(struct buf *out, const char *said, size_t columns, struct scrub *s)
{
	struct scrub *own = NULL;
	struct clean_text *clean;

	if (said == NULL || (s == NULL && (s = own = scrub_new(NULL, NULL)) == NULL))
		return;
	clean = scrub_text(s, said, strcspn(said, "\n"), 0);
	utf8_escape(out, clean_bytes(clean), clean_len(clean), columns);
	clean_free(clean);
	scrub_free(own);
}
