#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cmd/input.h"

static int
bad(struct err *e, const char *command, const char *what)
{
	err_set(e, GT_USAGE, "input", "%s: %s", command, what);
	return err_hint(e, "gt-recover help %.*s", (int)strcspn(command, " "), command);
}

static int
check_fields(const json_t *o, const char *command, const char *const *fields, size_t n, struct err *e)
{
	const char *key;
	json_t *value;

	if (fields == NULL)
		return 0;
	json_object_foreach((json_t *)(uintptr_t)o, key, value) {
		struct buf shown = BUF_INIT;
		bool known = false;

		for (size_t i = 0; i < n && !known; i++)
			known = strcmp(key, fields[i]) == 0;
		if (known)
			continue;
		utf8_escape(&shown, key, strlen(key), 40);
		err_set(e, GT_USAGE, "input", "%s takes no field \"%s\"", command, shown.data);
		buf_release(&shown);
		return err_hint(e, "gt-recover help %.*s", (int)strcspn(command, " "), command);
	}
	return 0;
}

json_t *
input_object(const char *command, size_t max, const char *const *fields, size_t n, struct err *e)
{
	struct buf text = BUF_INIT;
	json_t *o = NULL;

	if (isatty(STDIN_FILENO)) {
		bad(e, command, "expected a JSON object on standard input");
		return NULL;
	}
	if (io_read_all(STDIN_FILENO, "standard input", max, &text, e) == 0)
		o = json_parse(text.data, text.len, "standard input", e);
	else if (e != NULL && strcmp(e->name, "too-large") == 0)
		e->code = GT_USAGE;
	if (o == NULL && e != NULL && strcmp(e->name, "json") == 0)
		e->code = GT_USAGE;
	buf_wipe(&text);
	if (o != NULL && (json_is_object(o) ? check_fields(o, command, fields, n, e) :
	    bad(e, command, "expected a JSON object on standard input, not another value")) != 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static int
bad_field(struct err *e, const char *field, const char *expected)
{
	return err_set(e, GT_USAGE, "input", "the field \"%s\" of the JSON object must be %s", field, expected);
}

int
input_text(const json_t *o, const char *field, bool required, const char **out, struct err *e)
{
	const json_t *v = json_object_get(o, field);

	*out = NULL;
	if ((v == NULL || json_is_null(v)) && !required)
		return 0;
	if (!json_is_string(v) || json_string_length(v) == 0)
		return bad_field(e, field, "a string that is not empty");
	*out = json_string_value(v);
	return 1;
}

int
input_number(const json_t *o, const char *field, int64_t *out, struct err *e)
{
	const json_t *v = json_object_get(o, field);

	*out = 0;
	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < 1)
		return bad_field(e, field, "a whole number of at least 1");
	*out = json_integer_value(v);
	return 1;
}
