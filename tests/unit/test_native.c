#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/io.h"
#include "temp.h"

static const struct profile row = { .npm_binary = "@x/tool @x/tool-arm/tool @x/tool-linux/tool" },
			    none = { .npm_binary = "" };

static bool
is_tool(const void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "tool") == 0;
}

static void
put_program(const char *dir, const char *name)
{
	char *path = io_join(dir, name);

	assert_int_equal(io_make_parents(path, NULL), 0);
	temp_write(path, "#!/bin/sh\n");
	assert_int_equal(chmod(path, 0755), 0);
	free(path);
}

/* What stands in the place of the program when the command is `command`; NULL: it stays. */
static char *
replaced(const char *command, const struct profile *p, const char *path, const char *fed)
{
	struct launch l;
	char *program, *out = NULL;

	launch_command(&l, command, "/bin/sh", is_tool, NULL);
	program = launch_npm_binary(&l, p, path);
	if (program != NULL)
		out = launch_npm_command(&l, fed != NULL ? fed : command, program);
	free(program);
	launch_release(&l);
	return out;
}

static void
expect(const char *command, const char *path, const char *fed, const char *wanted)
{
	char *got = replaced(command, &row, path, fed);

	if (wanted == NULL)
		assert_null(got);
	else
		assert_string_equal(got, wanted);
	free(got);
}

static void
test_program(void **state)
{
	char *made = temp_dir(), *dir = realpath(made, NULL), *bin = io_join(dir, "node_modules/.bin"),
	     *shim = io_join(bin, "tool");
	char *line, *wanted;

	(void)state;
	put_program(dir, "node_modules/@x/tool/loader.js");
	put_program(dir, "node_modules/.bin/other");
	assert_int_equal(symlink("../@x/tool/loader.js", shim), 0);
	expect("tool -v", bin, NULL, NULL);		/* the program is not there */

	/* beside the package, as npm puts it in a project */
	put_program(dir, "node_modules/@x/tool-linux/tool");
	wanted = xasprintf("%s/node_modules/@x/tool-linux/tool -v", dir);
	expect("tool -v", bin, NULL, wanted);
	line = xasprintf("A=1 exec %s -v", shim);
	free(wanted);
	wanted = xasprintf("A=1 exec %s/node_modules/@x/tool-linux/tool -v", dir);
	expect(line, "", NULL, wanted);
	free(line);
	/*
	 * below it, as npm puts it for the whole machine, is the nearer one; what was fed keeps
	 * what stands behind
	 */
	put_program(dir, "node_modules/@x/tool/node_modules/@x/tool-linux/tool");
	free(wanted);
	wanted = xasprintf(
	    "%s/node_modules/@x/tool/node_modules/@x/tool-linux/tool --resume=7 3<&-; exec sh", dir);
	expect("tool -v; exec sh", bin, "tool --resume=7 3<&-; exec sh", wanted);
	free(wanted);

	/* nothing that is not certain */
	assert_null(replaced("tool -v", &none, bin, NULL));
	expect("tool -v", "/nowhere", NULL, NULL);
	expect("./tool -v", bin, NULL, NULL);
	expect("\"$TOOL\" -v", bin, NULL, NULL);
	expect("tool -v", bin, "env X=1 tool -v", NULL);
	expect("tool", bin, "to", NULL);
	assert_int_equal(unlink(shim), 0);
	assert_int_equal(symlink("other", shim), 0);
	expect("tool -v", bin, NULL, NULL);		/* a script of another package */
	free(shim);
	free(bin);
	free(dir);
	temp_remove(made);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_program) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
