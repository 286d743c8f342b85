#include <stdlib.h>
#include <string.h>

#include "revive/kept.h"
#include "revive/gather.h"
#include "revive/world.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "scrub/scrub.h"

#define MAX_CONTEXT ((size_t)64 << 20)

int
kept_write(struct world *w, const char *session, const char *recovery_id, const struct gathered *g, struct err *e)
{
	char *name = xasprintf("%s.json", recovery_id), *path = world_path(w, "contexts", name, true, e);
	struct buf b = BUF_INIT;
	json_t *v;
	int ret = -1;

	if (path != NULL) {
		v = json_object();
		json_put_int(v, "schema_version", 1);
		json_put(v, "recovery_id", recovery_id);
		json_put(v, "session", session);
		json_put(v, "previous", g->earlier.id);
		json_put(v, "transcript", g->found.path);
		json_put_int(v, "kept_at", clock_wall_ms());
		json_object_set_new(v, "text", json_bytes(clean_bytes(g->capture.text), clean_len(g->capture.text)));
		json_object_set_new(v, "conversation", conversation_json(&g->talk));
		json_object_set_new(v, "prompt", json_bytes(g->prompt.data, g->prompt.len));
		json_print(&b, v, false);
		json_decref(v);
		ret = io_write_durable(path, b.data, b.len, "context", e);
	}
	buf_release(&b);
	free(path);
	free(name);
	return ret;
}

int
kept_read(struct world *w, const char *recovery_id, struct conversation *talk, struct buf *prompt, struct err *e)
{
	char *name = xasprintf("%s.json", recovery_id), *path = world_path(w, "contexts", name, false, e);
	struct buf b = BUF_INIT;
	json_t *v = NULL;
	int ret = -1;

	if (path == NULL)
		goto out;
	if (io_read_private(path, MAX_CONTEXT, &b, e) != 0) {
		ret = strcmp(e->name, "not-found") == 0 ? 0 : -1;
		if (ret == 0)
			err_clear(e);
		goto out;
	}
	v = json_parse(b.data, b.len, path, e);
	if (v == NULL)
		goto out;
	if (prompt != NULL)
		buf_str(prompt, json_text(v, "prompt", ""));
	if (talk != NULL && conversation_from_json(talk, json_object_get(v, "conversation"), e) != 0)
		goto out;
	ret = 1;
out:
	json_decref(v);
	buf_release(&b);
	free(path);
	free(name);
	return ret;
}

