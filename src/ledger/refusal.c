#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/refusal.h"
#include "ledger/event.h"
#include "ledger/key.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "store/store.h"

static bool
same(const struct record *old, const struct refused *r)
{
	json_t *v = json_parse(old->value, strlen(old->value), old->key, NULL);
	bool yes = strcmp(old->tag, r->name) == 0 && json_number(v, "pane_pid", -1) == r->pane_pid;

	json_decref(v);
	return yes;
}

int
refusal_note(struct store *s, const struct refused *r, struct err *e)
{
	char *key = key_on_server("refused", r->server_pid, r->server_start, r->pane_id, r->socket);
	char *value = xasprintf("{\"pane_pid\":%lld}", (long long)r->pane_pid), *kind = xasprintf("refusal.%s", r->name);
	struct event ev = { .kind = kind, .subject = r->pane_id, .session = r->session, .text = r->sentence };
	struct record old;
	int found = store_get(s, key, &old, e), ret = found < 0 ? -1 : 0;

	if (found == 0 || (found > 0 && !same(&old, r))) {
		struct change c = { CHANGE_PUT, key, old.version, r->name, value };
		enum commit answer = event_commit(s, &c, 1, &ev, e);

		/* another run that notes the same at this moment is as good */
		ret = answer == COMMIT_DONE || answer == COMMIT_CONFLICT ? 0 : -1;
	}
	record_release(&old);
	free(key);
	free(value);
	free(kind);
	return ret;
}
