#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/say.h"

/*
 * Gas Town's gt starts no gt-foo programs, so `gt recover` needs a shell function that takes this one word and passes everything else on.
 */
#define MARK "# gt-recover shim"

static const char shim_sh[] =
    MARK ": makes `gt recover` work; everything else goes on to gt.\n"
    "gt() {\n"
    "\tif [ \"${1-}\" = recover ]; then\n"
    "\t\tshift\n"
    "\t\tcommand gt-recover \"$@\"\n"
    "\telse\n"
    "\t\tcommand gt \"$@\"\n"
    "\tfi\n"
    "}\n"
    MARK " ends\n";

static const char shim_fish[] =
    MARK ": makes `gt recover` work; everything else goes on to gt.\n"
    "function gt\n"
    "\tif test (count $argv) -gt 0; and test $argv[1] = recover\n"
    "\t\tcommand gt-recover $argv[2..-1]\n"
    "\telse\n"
    "\t\tcommand gt $argv\n"
    "\tend\n"
    "end\n"
    MARK " ends\n";

/* The start-up file of the person's shell, heap, and the function in its language. NULL: a shell that we do not know. */
static char *
startup_file(const char **shim)
{
	const char *shell = getenv("SHELL"), *home = getenv("HOME"), *zdotdir = getenv("ZDOTDIR"), *config = getenv("XDG_CONFIG_HOME");

	if (shell == NULL || home == NULL)
		return NULL;
	*shim = shim_sh;
	if (str_ends(shell, "/zsh"))
		return io_join(zdotdir != NULL ? zdotdir : home, ".zshrc");
	if (str_ends(shell, "/bash"))
		return io_join(home, ".bashrc");
	if (!str_ends(shell, "/fish"))
		return NULL;
	*shim = shim_fish;
	return config != NULL ? io_join(config, "fish/conf.d/gt-recover.fish") : io_join(home, ".config/fish/conf.d/gt-recover.fish");
}

/* Appends, without touching what stands there and without changing the file's mode or links. */
static int
append_shim(const char *path, const char *shim, struct err *e)
{
	struct buf old = BUF_INIT;
	FILE *f;
	int ret = 0;

	if (io_read_file(path, (size_t)16 << 20, &old, e) != 0) {
		if (strcmp(e->name, "not-found") != 0)
			return -1;
		err_clear(e);
	}
	if (strstr(old.data, MARK) != NULL) {
		printf("%s has the function already.\n", path);
		buf_release(&old);
		return 0;
	}
	/* fish reads a folder that a new home does not have; one that cannot be made shows when the file is opened */
	io_make_parents(path, NULL);
	f = fopen(path, "ae");
	if (f == NULL || fprintf(f, "%s%s", old.len > 0 && old.data[old.len - 1] != '\n' ? "\n\n" : "\n", shim) < 0 || fflush(f) != 0)
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be written", path);
	if (f != NULL && fclose(f) != 0 && ret == 0)
		ret = err_sys(e, GT_FAIL, "unwritable", "%s cannot be written", path);
	if (ret == 0)
		printf("Added the function to %s. It works in new shells; in this one: . %s\n", path, path);
	buf_release(&old);
	return ret;
}

/* timer, or timer patrol. */
static bool
is_timer(const struct cli *cli)
{
	return cli->n_args > 0 && strcmp(cli->args[0], "timer") == 0 &&
	    (cli->n_args == 1 || (cli->n_args == 2 && strcmp(cli->args[1], "patrol") == 0));
}

static int
check_agent(const struct cli *cli, struct err *e)
{
	if (cli->agent == NULL || (cli->n_args == 1 && strcmp(cli->args[0], "hooks") == 0))
		return 0;
	err_set(e, GT_USAGE, "usage", "--agent goes with the word hooks");
	return err_hint(e, "gt-recover install hooks --agent NAME");
}

int
cmd_install(const struct cli *cli, struct err *e)
{
	const char *shim = shim_sh;
	char *path;
	int ret;

	if (check_agent(cli, e) != 0)
		return -1;
	if (is_timer(cli))
		return cmd_timer(cli, true, e);
	if (cli->n_args == 1 && strcmp(cli->args[0], "plugin") == 0)
		return cmd_plugin(cli, true, e);
	if (cli->n_args == 1 && strcmp(cli->args[0], "hooks") == 0)
		return cmd_hooks(cli, true, e);
	if (cli->n_args == 1 && strcmp(cli->args[0], "binding") == 0)
		return cmd_binding(cli, true, e);
	if (cli->n_args != 1 || strcmp(cli->args[0], "shim") != 0) {
		err_set(e, GT_USAGE, "usage", "install takes one of the words shim, timer, plugin, hooks and binding");
		return err_hint(e, "gt-recover install shim [--print]");
	}
	path = startup_file(&shim);
	if (cli->print) {
		free(path);
		fputs(shim, stdout);
		return GT_OK;
	}
	if (path == NULL) {
		err_set(e, GT_FAIL, "shell", "SHELL names no shell that this program knows (bash, zsh, fish)");
		return err_hint(e, "put the output of gt-recover install shim --print where your shell reads it at start");
	}
	ret = append_shim(path, shim, e);
	free(path);
	return ret == 0 ? GT_OK : -1;
}

int
cmd_uninstall(const struct cli *cli, struct err *e)
{
	if (check_agent(cli, e) != 0)
		return -1;
	if (is_timer(cli))
		return cmd_timer(cli, false, e);
	if (cli->n_args == 1 && strcmp(cli->args[0], "plugin") == 0)
		return cmd_plugin(cli, false, e);
	if (cli->n_args == 1 && strcmp(cli->args[0], "hooks") == 0)
		return cmd_hooks(cli, false, e);
	if (cli->n_args == 1 && strcmp(cli->args[0], "binding") == 0)
		return cmd_binding(cli, false, e);
	err_set(e, GT_USAGE, "usage", "uninstall takes one of the words timer, plugin, hooks and binding");
	return err_hint(e, "gt-recover uninstall timer [--print]");
}
