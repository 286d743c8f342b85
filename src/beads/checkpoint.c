#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "beads/beads.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "scrub/scrub.h"

#define FILE_NAME ".polecat-checkpoint.json"
#define FILE_MAX ((size_t)1 << 20)
#define FIELD_MAX ((size_t)8 << 10)
#define FILES_SHOWN 30
#define OLD_MS ((int64_t)24 * 3600 * 1000)
#define AHEAD_MS ((int64_t)5 * 60 * 1000)

static void
put_field(struct buf *b, const char *label, const char *text)
{
	size_t n = text != NULL ? strlen(text) : 0;

	if (n == 0)
		return;
	buf_fmt(b, "%s: %.*s%s\n", label, (int)(n < FIELD_MAX ? n : FIELD_MAX), text,
	    n > FIELD_MAX ? " [cut]" : "");
}

static void
put_files(struct buf *b, const json_t *files)
{
	size_t n = json_array_size(files);

	if (n == 0)
		return;
	buf_str(b, "Modified files:\n");
	for (size_t i = 0; i < n && i < FILES_SHOWN; i++)
		if (json_is_string(json_array_get(files, i)))
			buf_fmt(b, "  %.500s\n", json_string_value(json_array_get(files, i)));
	if (n > FILES_SHOWN)
		buf_fmt(b, "  … and %zu more\n", n - FILES_SHOWN);
}

static void
put_checkpoint(struct buf *b, const json_t *v, int64_t age)
{
	static const struct { const char *key, *label;
	} fields[] = {
		{ "molecule_id", "Molecule" }, { "current_step", "Step" },
		{ "step_title", "Step title" }, { "hooked_bead", "Hooked bead" },
		{ "branch", "Branch" }, { "last_commit", "Last commit" }, { "session_id", "Session" },
	};

	buf_str(b, "Written ");
	clock_age(b, age);
	buf_str(b, " before this recovery\n");
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		put_field(b, fields[i].label, json_text(v, fields[i].key, NULL));
	put_files(b, json_object_get(v, "modified_files"));
	put_field(b, "Notes", json_text(v, "notes", NULL));
}

int
bead_checkpoint_read(const char *dir, int64_t now_ms, struct scrub *s, struct clean_text **out, struct err *e)
{
	char *path = io_join(dir, FILE_NAME);
	struct buf raw = BUF_INIT, text = BUF_INIT;
	struct err why = ERR_INIT;
	json_t *v = NULL;
	struct stat st;
	int64_t at;
	int ret = 0;

	*out = NULL;
	if (stat(path, &st) != 0)
		goto out;
	ret = io_read_file(path, FILE_MAX, &raw, &why);
	if (ret == 0)
		v = json_parse(raw.data, raw.len, path, &why);
	if (!json_is_object(v)) {
		ret = err_set(e, GT_FAIL, "checkpoint", "the checkpoint %s cannot be read: %s", path,
		    why.code != 0 ? why.msg : "not a JSON object");
		goto out;
	}
	at = clock_parse_iso(json_text(v, "timestamp", ""));
	if (at < 0)
		at = (int64_t)st.st_mtim.tv_sec * 1000;
	if (now_ms - at > OLD_MS || at - now_ms > AHEAD_MS)
		goto out;
	put_checkpoint(&text, v, now_ms - at);
	*out = scrub_text(s, text.data, text.len, 0);
out:
	json_decref(v);
	buf_release(&raw);
	buf_release(&text);
	free(path);
	return ret;
}
