#include <unistd.h>

#include "cli/cli.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/utf8.h"
#include "store/store.h"

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
		err_set(e, GT_USAGE, "input", "%s does not take the field \"%s\"", command, shown.data);
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

/* --- what a verb reads --- */

static bool
is_number(const struct verb_field *f)
{
	return f->type == FIELD_NUMBER || f->type == FIELD_NUMBER_OR_NULL || f->type == FIELD_SECONDS ||
	    f->type == FIELD_INPUT_NUMBER;
}

static int
check_member(const struct verb_job *j, const struct verb_field *f, struct err *e)
{
	const json_t *v = json_object_get(j->input, f->name);

	if (f->type == FIELD_FLAG)
		return v == NULL || json_is_boolean(v) ? 0 : bad_field(e, f->name, "true or false");
	if ((v == NULL || json_is_null(v)) && (f->required & j->verb->in) == 0)
		return 0;
	if (is_number(f))
		return json_is_integer(v) && json_integer_value(v) > 0 ? 0 :
		    bad_field(e, f->name, "an integer of at least 1");
	return json_is_string(v) && json_string_length(v) > 0 ? 0 :
	    bad_field(e, f->name, "a non-empty string");
}

static int
read_input(struct verb_job *j, struct err *e)
{
	const struct verb_record *r = j->verb->record;
	char *command = xasprintf("%s %s", j->cli.command, j->verb->name);
	const char **names = xcalloc(r->n, sizeof *names);
	size_t n = 0;
	int ret = 0;

	for (size_t i = 0; i < r->n; i++)
		if (((r->fields[i].in | r->fields[i].raw) & j->verb->in) != 0)
			names[n++] = r->fields[i].name;
	j->input = cli_input_object(command, r->input_max, names, n, e);
	if (j->input == NULL)
		ret = -1;
	for (size_t i = 0; i < r->n && ret == 0; i++)
		if ((r->fields[i].in & j->verb->in) != 0)
			ret = check_member(j, &r->fields[i], e);
	free(names);
	free(command);
	return ret;
}

/* The argument of that name; NULL: it has none, or it was not given. */
static const char *
find_argument(const struct verb_job *j, const char *name)
{
	const char *p = j->verb->arguments;

	for (size_t i = 0; p != NULL && i < j->cli.n_args && *p != '\0'; i++) {
		size_t n = strcspn(p, " ");

		if (strlen(name) == n && strncmp(p, name, n) == 0)
			return j->cli.args[i];
		p += n + strspn(p + n, " ");
	}
	return NULL;
}

static int
check_arguments(const struct verb_job *j, struct err *e)
{
	for (size_t i = 0; j->verb->arguments != NULL && i < j->verb->record->n; i++) {
		const struct verb_field *f = &j->verb->record->fields[i];
		const char *text = f->name != NULL && is_number(f) ? find_argument(j, f->name) : NULL;

		if (text != NULL && (strspn(text, "0123456789") != strlen(text) ||
		    strlen(text) > 15 || strtoll(text, NULL, 10) == 0))
			return err_set(e, GT_USAGE, "usage", "\"%.40s\" is not a valid %s", text, f->name);
	}
	return 0;
}

const char *
cmd_verb_text(const struct verb_job *j, const char *name)
{
	const char *argument = find_argument(j, name);

	return argument != NULL ? argument : json_string_value(json_object_get(j->input, name));
}

int64_t
cmd_verb_number(const struct verb_job *j, const char *name)
{
	const char *argument = find_argument(j, name);

	return argument != NULL ? strtoll(argument, NULL, 10) :
	    json_integer_value(json_object_get(j->input, name));
}

/* --- what it shows --- */

/* New reference; NULL: the member is left out. */
static json_t *
field_value(const struct verb_job *j, const struct verb_field *f, const void *record)
{
	const void *at = (const char *)record + f->at;
	const char *text = f->type == FIELD_TEXT ? *(char *const *)at : at;
	int64_t n = is_number(f) && f->type != FIELD_INPUT_NUMBER ? *(const int64_t *)at : 0;

	switch (f->type) {
	case FIELD_TEXT: return text != NULL ? json_bytes(text, strlen(text)) : json_null();
	case FIELD_CHARS_OR_NONE: return *text != '\0' ? json_bytes(text, strlen(text)) : NULL;
	case FIELD_CHARS: return json_bytes(text, strlen(text));
	case FIELD_NUMBER: return json_integer(n);
	case FIELD_NUMBER_OR_NULL: return n != 0 ? json_integer(n) : json_null();
	case FIELD_SECONDS: return json_integer(n / 1000);
	case FIELD_FLAG: return json_boolean(*(const bool *)at);
	case FIELD_CALL: return f->call(record, j);
	case FIELD_INPUT:
	case FIELD_INPUT_NUMBER: break;
	}
	return NULL;
}

json_t *
cmd_verb_object(const struct verb_job *j, const void *record)
{
	const struct verb_record *r = j->verb->record;
	json_t *o = json_object(), *v;

	for (size_t i = 0; i < r->n; i++)
		if (r->fields[i].name != NULL && (v = field_value(j, &r->fields[i], record)) != NULL)
			json_object_set_new(o, r->fields[i].name, v);
	return o;
}

void
cmd_verb_show(const struct verb_job *j, const void *record)
{
	if (j->cli.json)
		cmd_verb_json(j, j->verb->record->one, cmd_verb_object(j, record));
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

int
cmd_verb_list_begin(struct verb_list *l, const struct verb_job *j, struct err *e)
{
	const struct verb_record *r = j->verb->record;
	bool hosts = false;

	memset(l, 0, sizeof *l);
	l->j = j;
	if (j->cli.json) {
		l->array = json_array();
		return 0;
	}
	for (size_t i = 0; i < r->n; i++) {
		unsigned place = r->fields[i].place;

		if (place == 0)
			continue;
		l->shown[place - 1] = &r->fields[i];
		hosts = hosts || r->fields[i].cell == CELL_HOST;
		l->n_columns++;
	}
	return hosts && j->store != NULL ? record_fleet_read(j->store, &l->fleet, e) : 0;
}

static void
put_field(struct verb_list *l, const struct verb_field *f, const void *record)
{
	json_t *v = field_value(l->j, f, record);
	const char *text = json_string_value(v);
	struct buf b = BUF_INIT;

	if (f->cell == CELL_AGE)
		clock_age(&b, l->j->now.wall_ms - json_integer_value(v));
	else if (f->cell == CELL_DURATION)
		clock_age(&b, json_integer_value(v) * 1000);
	else if (json_is_integer(v))
		buf_fmt(&b, "%lld", (long long)json_integer_value(v));
	else if (f->cell == CELL_HOST)
		text = record_fleet_name(&l->fleet, text);
	l->cells = vec_room(l->cells, l->n_cells, &l->cap, sizeof *l->cells);
	text = b.len > 0 ? b.data : text;
	l->cells[l->n_cells++] = text != NULL ? xstrdup(text) : NULL;
	buf_release(&b);
	json_decref(v);
}

void
cmd_verb_list_add(struct verb_list *l, const void *record)
{
	l->n++;
	if (l->array != NULL)
		json_array_append_new(l->array, cmd_verb_object(l->j, record));
	for (size_t i = 0; i < l->n_columns; i++)
		put_field(l, l->shown[i], record);
}

#define GAP 2			/* columns between two of the table */

/* Foreign text is made safe; nothing is "-", in the last column "". */
static const char *
text_of(const struct verb_list *l, size_t cell)
{
	bool last = cell % l->n_columns + 1 == l->n_columns;

	return l->cells[cell] != NULL ? l->cells[cell] : last ? "" : "-";
}

/* How wide each column wants to be; 0: it is left out. */
static void
measure_columns(const struct verb_list *l, size_t *widths)
{
	for (size_t i = 0; i < l->n_columns; i++)
		widths[i] = l->shown[i]->column.maybe ? 0 : strlen(l->shown[i]->column.head);
	for (size_t i = 0; i < l->n_cells; i++) {
		size_t *width = &widths[i % l->n_columns], n,
		       head = strlen(l->shown[i % l->n_columns]->column.head);
		struct buf b = BUF_INIT;

		if (l->cells[i] == NULL || *l->cells[i] == '\0')
			continue;
		output_foreign(&b, text_of(l, i), l->shown[i % l->n_columns]->column.most);
		n = utf8_width(b.data, b.len);
		n = n > head ? n : head;
		*width = n > *width ? n : *width;
		buf_release(&b);
	}
}

/* The widest one that may lose a column of the terminal; n_columns: none. */
static size_t
widest_column(const struct verb_list *l, const size_t *widths)
{
	size_t best = l->n_columns;

	for (size_t i = 0; i < l->n_columns; i++)
		if (l->shown[i]->column.least > 0 && widths[i] > l->shown[i]->column.least &&
		    (best == l->n_columns || widths[i] > widths[best]))
			best = i;
	return best;
}

static void
fit_columns(const struct verb_list *l, size_t *widths, size_t room)
{
	size_t used = 0, i;

	for (i = 0; i < l->n_columns; i++)
		used += widths[i] > 0 ? widths[i] + (used > 0 ? GAP : 0) : 0;
	while (used > room && (i = widest_column(l, widths)) < l->n_columns) {
		widths[i]--;
		used--;
	}
}

/* Blanks are owed until something follows them. */
static void
put_cell(const char *text, size_t width, bool right, size_t *owed)
{
	struct buf b = BUF_INIT;
	size_t n, left;

	output_foreign(&b, text, width);
	n = utf8_width(b.data, b.len);
	left = n < width ? width - n : 0;
	if (b.len > 0)
		printf("%*s%s", (int)(*owed + (right ? left : 0)), "", b.data);
	*owed = (b.len > 0 ? 0 : *owed + width) + (b.len > 0 && !right ? left : 0) + GAP;
	buf_release(&b);
}

static void
print_table(const struct verb_list *l)
{
	size_t *widths = xcalloc(l->n_columns, sizeof *widths), room = output_columns(STDOUT_FILENO),
	       owed = 0;

	measure_columns(l, widths);
	if (room > 0)
		fit_columns(l, widths, room);
	for (size_t i = 0; i < l->n_columns && l->n_cells > 0; i++)
		if (widths[i] > 0)
			put_cell(l->shown[i]->column.head, widths[i], l->shown[i]->column.right, &owed);
	for (size_t i = 0; i < l->n_cells; i++) {
		size_t k = i % l->n_columns;

		if (k == 0) {
			putchar('\n');
			owed = 0;
		}
		if (widths[k] > 0)
			put_cell(text_of(l, i), widths[k], l->shown[k]->column.right, &owed);
	}
	if (l->n_cells > 0)
		putchar('\n');
	free(widths);
}

int
cmd_verb_list_end(struct verb_list *l, struct verb_job *j, int ret)
{
	const struct verb_record *r = j->verb->record;

	if (ret == 0 && l->array != NULL)
		cmd_verb_json(j, r->many, json_incref(l->array));
	else if (ret == 0 && l->n == 0 && r->none != NULL)
		output_line(&j->say, "%s", r->none);
	else if (ret == 0)
		print_table(l);
	for (size_t i = 0; i < l->n_cells; i++)
		free(l->cells[i]);
	free(l->cells);
	if (l->array == NULL)
		record_fleet_release(&l->fleet);
	json_decref(l->array);
	return ret == 0 ? GT_OK : -1;
}

int
cmd_verb_list(struct verb_job *j, const void *records, size_t n, size_t size, struct err *e)
{
	struct verb_list l;
	int ret = cmd_verb_list_begin(&l, j, e);

	for (size_t i = 0; i < n && ret == 0; i++)
		cmd_verb_list_add(&l, (const char *)records + i * size);
	return cmd_verb_list_end(&l, j, ret);
}

/* --- its run --- */

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
		err_set(e, GT_USAGE, "usage", "%s: expected one of %s", cli->command, names.data);
	else if (cli->n_args - 1 < v->min)
		err_set(e, GT_USAGE, "usage", "%s %s needs %s", cli->command, v->name,
		    v->needs != NULL ? v->needs : "an id");
	else if (cli->n_args - 1 > v->max)
		err_set(e, GT_USAGE, "usage", "%s %s does not take the "
		    "argument \"%.60s\"", cli->command, v->name,
		    cli->args[1 + v->max]);
	else if ((not_taken = cli_option_not_taken(cli, c->options | v->options)) != NULL)
		err_set(e, GT_USAGE, "usage", "%s %s has no --%s", cli->command, v->name, not_taken);
	buf_release(&names);
	if (e->code == 0)
		return v;
	err_hint(e, "gt-recover help %s", cli->command);
	return NULL;
}

static int
run_verb(struct verb_job *j, struct err *e)
{
	const struct verb *v = j->verb;
	int ret = -1;

	j->store = app_store(&j->w, v->writes && !j->cli.dry_run, e);
	if (j->store == NULL && e->code != 0)
		return -1;
	if ((v->in == 0 || j->cli.n_args > v->min || read_input(j, e) == 0) && check_arguments(j, e) == 0) {
		store_timestamp(j->store, &j->now);
		ret = v->run(j, e);
	}
	if (ret < 0 && e->code == GT_USAGE && *e->hint == '\0')
		err_hint(e, "gt-recover help %s", j->cli.command);
	/* one that failed has nothing to tell of, and its disk may be at fault: the next one writes it */
	if (v->writes && ret >= 0) {
		err_answered(ret);
		cli_export_events(&j->w);
	}
	return ret;
}

int
cmd_verb_run(const struct cli *cli, const struct command *c, struct err *e)
{
	struct verb_job j = { .cli = *cli };
	unsigned options = c->options;
	int ret = GT_OK;

	if (c->verbs != NULL) {
		if ((j.verb = find(cli, c, e)) == NULL)
			return -1;
		j.cli.args++;
		j.cli.n_args--;
		options = j.verb->options;
	}
	if (((options & OPT_SOCKET) != 0 ? cli_open_app(cli, &j.w, e) : cli_open_config(cli, &j.w, e)) != 0)
		return -1;
	output_init(&j.say, cli);
	if (!cli_is_disabled(cli, &j.w))
		ret = j.verb != NULL ? run_verb(&j, e) : c->job(&j, e);
	json_decref(j.input);
	output_release(&j.say);
	cli_close_app(&j.w);
	return ret;
}
