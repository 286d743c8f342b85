#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "tmux/tmux.h"

/* As execvp would find it. Heap, NULL. */
static char *
find_in_path(const char *name, const char *path)
{
	if (strchr(name, '/') != NULL)
		return access(name, X_OK) == 0 ? xstrdup(name) : NULL;
	for (size_t n; path != NULL && *path != '\0'; path += n + (path[n] == ':')) {
		char *file;

		n = strcspn(path, ":");
		file = xasprintf("%.*s/%s", (int)n, path, name);
		if (n > 0 && access(file, X_OK) == 0)
			return file;
		free(file);
	}
	return NULL;
}

/* npm puts a package's own below it, or beside it. */
static char *
program_beside(const char *script, const char *package, const char *program)
{
	char *inside = xasprintf("/node_modules/%s/", package), *found = NULL;
	const char *at = strstr(script, inside);
	size_t n = at != NULL ? (size_t)(at - script) + strlen("/node_modules/") : 0;

	for (int below = 1; below >= 0 && at != NULL && found == NULL; below--) {
		found = xasprintf("%.*s%s%s%s", (int)n, script, below ? package : "",
		    below ? "/node_modules/" : "", program);
		if (access(found, X_OK) != 0) {
			free(found);
			found = NULL;
		}
	}
	free(inside);
	return found;
}

char *
launch_npm_binary(const struct launch *l, const struct profile *p, const char *path)
{
	char real[PATH_MAX], *script, *package, *found = NULL;
	const char *programs = p->npm_binary + strcspn(p->npm_binary, " ");

	if (*p->npm_binary == '\0' || !l->certain || !l->words[l->entry].literal)
		return NULL;
	/* a relative name starts where the agent will run, not here */
	script = l->words[l->entry].text[0] == '/' || strchr(l->words[l->entry].text, '/') == NULL
	    ? find_in_path(l->words[l->entry].text, path)
	    : NULL;
	package = xstrndup(p->npm_binary, (size_t)(programs - p->npm_binary));
	for (size_t n; script != NULL && realpath(script, real) != NULL && *programs != '\0' && found == NULL;
	    programs += n) {
		char *program;

		programs += strspn(programs, " ");
		n = strcspn(programs, " ");
		program = xstrndup(programs, n);
		if (n > 0)
			found = program_beside(real, package, program);
		free(program);
	}
	free(package);
	free(script);
	return found;
}

char *
launch_npm_command(const struct launch *l, const char *fed, const char *program)
{
	size_t from = l->words[l->program].from, to = l->words[l->entry].to;
	struct buf out = BUF_INIT;
	char *made;

	/* what stands before it is as it was, or this is another word */
	if (strlen(fed) < to || strncmp(fed, l->command, to) != 0)
		return NULL;
	buf_add(&out, fed, from);
	quote_sh(&out, program);
	buf_str(&out, fed + to);
	made = xstrndup(out.data, out.len);
	buf_wipe(&out);
	return made;
}
