#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/utf8.h"

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
cli_input_object(const char *command, size_t max, const char *const *fields, size_t n, struct err *e)
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
	return err_set(
	    e, GT_USAGE, "input", "the field \"%s\" of the JSON object must be %s", field, expected);
}

int
cli_input_text(const json_t *o, const char *field, bool required, const char **out, struct err *e)
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
cli_input_number(const json_t *o, const char *field, int64_t *out, struct err *e)
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

static const struct verb *
find(const struct cli *cli, const struct command *c, struct err *e)
{
	const struct verb *v = NULL;
	const char *not_taken;
	struct buf names = BUF_INIT;

	for (const struct verb *x = c->verbs; x->name != NULL; x++) {
		buf_fmt(&names, "%s%s", x == c->verbs ? "" : x[1].name != NULL ? ", " : " or ", x->name);
		if (cli->n_args > 0 && strcmp(x->name, cli->args[0]) == 0)
			v = x;
	}
	if (v == NULL)
		err_set(e, GT_USAGE, "usage", "%s needs one of %s", cli->command, names.data);
	else if (cli->n_args - 1 < v->min)
		err_set(e, GT_USAGE, "usage", "%s %s needs %s", cli->command, v->name,
		    v->needs != NULL ? v->needs : "an id");
	else if (cli->n_args - 1 > v->max)
		err_set(e, GT_USAGE, "usage", "%s %s takes no \"%.60s\"", cli->command, v->name,
		    cli->args[1 + v->max]);
	else if ((not_taken = cli_option_not_taken(cli, c->options | v->options)) != NULL)
		err_set(e, GT_USAGE, "usage", "%s %s takes no --%s", cli->command, v->name, not_taken);
	buf_release(&names);
	if (e->code == 0)
		return v;
	err_hint(e, "gt-recover help %s", cli->command);
	return NULL;
}

int
cmd_verb_run(const struct cli *cli, const struct command *c, struct err *e)
{
	const struct verb *v = find(cli, c, e);
	struct verb_job j = { .cli = *cli };
	int ret = -1;

	if (v == NULL || ((v->options & OPT_SOCKET) != 0 ? cli_open_app(cli, &j.w, e) :
	    cli_open_config(cli, &j.w, e)) != 0)
		return -1;
	j.cli.args++;
	j.cli.n_args--;
	output_init(&j.say, cli);
	if (cli_is_disabled(cli, &j.w)) {
		ret = GT_OK;
	} else if ((j.store = app_store(&j.w, v->writes && !cli->dry_run, e)) != NULL || e->code == 0) {
		ret = v->run(&j, e);
		if (ret < 0 && e->code == GT_USAGE && *e->hint == '\0')
			err_hint(e, "gt-recover help %s", cli->command);
		/*
		 * one that failed has nothing to tell of, and its disk may be at fault: the next
		 * one writes what is missing
		 */
		if (v->writes && ret >= 0)
			cli_export_events(&j.w);
	}
	output_release(&j.say);
	cli_close_app(&j.w);
	return ret;
}

void
cmd_verb_json(const struct verb_job *j, const char *name, json_t *v)
{
	json_t *o;

	if (!j->cli.json) {
		json_decref(v);
		return;
	}
	o = output_object();
	json_object_set_new(o, name, v);
	output_json(o);
}
