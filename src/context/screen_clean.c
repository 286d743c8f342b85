#include "context/screen.h"
#include "scrub/scrub.h"

/* The door for everybody but tests: the type says that the text has been through the scrubber. */
void
screen_read(const struct clean_text *text, const struct style *style, int width, const char *agent, struct conversation *out)
{
	screen_read_bytes(clean_bytes(text), clean_len(text), style, width, agent, out);
}
