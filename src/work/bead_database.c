/* Where a directory's beads are (gas town facts 7.1, 7.3, 7.4). */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "work/bead.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"

#define REDIRECTS 4
#define SMALL 65536			/* of a redirect or metadata file */

static bool
is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool
is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool
has(const char *dir, const char *name, bool (*test)(const char *))
{
	char *path = io_join(dir, name);
	bool yes = test(path);

	free(path);
	return yes;
}

/* The .beads directory of dir or of the nearest parent that has one. Heap, NULL. */
static char *
beads_dir(const char *dir, bool walk_up)
{
	char *at = realpath(dir, NULL), *slash;

	if (at != NULL && str_ends(at, "/.beads") && is_dir(at))
		return at;
	while (at != NULL) {
		char *beads = io_join(at, ".beads");

		if (is_dir(beads)) {
			free(at);
			return beads;
		}
		free(beads);
		slash = strrchr(at, '/');
		if (!walk_up || slash == NULL || at[1] == '\0')
			break;
		slash[slash == at] = '\0';
	}
	free(at);
	return NULL;
}

/* Where .beads/redirect leads: one path, relative to the directory that holds .beads. Heap; NULL when it leads nowhere else. */
static char *
redirected(const char *beads)
{
	char *file = io_join(beads, "redirect"), *above = NULL, *joined = NULL, *target = NULL, *line;
	struct buf b = BUF_INIT;

	if (io_read_file(file, SMALL, &b, NULL) == 0) {
		line = b.data + strspn(b.data, " \t\r\n");
		line[strcspn(line, "\r\n")] = '\0';
		while (str_ends(line, " ") || str_ends(line, "\t"))
			line[strlen(line) - 1] = '\0';
		above = xstrndup(beads, (size_t)(strrchr(beads, '/') - beads));
		joined = line[0] == '/' ? xstrdup(line) : io_join(above[0] != '\0' ? above : "/", line);
		if (line[0] != '\0')
			target = realpath(joined, NULL);
	}
	if (target != NULL && (strcmp(target, beads) == 0 || !is_dir(target))) {
		free(target);
		target = NULL;
	}
	free(above);
	free(joined);
	free(file);
	buf_release(&b);
	return target;
}

/* What metadata.json (or the older config.json) says. *name: a plain file name, heap, or NULL. */
static void
read_metadata(const char *beads, bool *dolt, bool *sqlite, char **name)
{
	static const char *const files[] = { "metadata.json", "config.json" };
	const char *key, *backend, *database;
	json_t *v = NULL, *value;

	for (size_t i = 0; i < 2 && v == NULL; i++) {
		char *path = io_join(beads, files[i]);
		struct buf b = BUF_INIT;

		if (io_read_file(path, SMALL, &b, NULL) == 0)
			v = json_parse(b.data, b.len, path, NULL);
		buf_release(&b);
		free(path);
	}
	backend = json_text(v, "backend", "");
	*sqlite = strcasecmp(backend, "sqlite") == 0;
	*dolt = strcasecmp(backend, "dolt") == 0;
	json_object_foreach(v, key, value)
		if (str_starts(key, "dolt_") && !*sqlite)
			*dolt = true;
	database = json_text(v, "database", "");
	/* a name only: the file must not send us to some other place */
	*name = database[0] != '\0' && strchr(database, '/') == NULL ? xstrdup(database) : NULL;
	json_decref(v);
}

static char *
first_db(const char *beads)
{
	struct dirent **names;
	char *found = NULL;
	int n = scandir(beads, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (found == NULL && names[i]->d_name[0] != '.' && str_ends(names[i]->d_name, ".db") &&
		    has(beads, names[i]->d_name, is_file))
			found = io_join(beads, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return found;
}

/* The .beads directory that counts, behind its redirects, heap; NULL when there is none. *name: of the database file, as in read_metadata. */
static char *
locate(const char *dir, bool walk_up, bool *dolt, char **name)
{
	char *beads = beads_dir(dir, walk_up), *next;
	bool sqlite;

	*dolt = false;
	*name = NULL;
	if (beads == NULL)
		return NULL;
	for (int i = 0; i < REDIRECTS && (next = redirected(beads)) != NULL; i++) {
		free(beads);
		beads = next;
	}
	read_metadata(beads, dolt, &sqlite, name);
	if (!sqlite && (has(beads, "dolt", is_dir) || has(beads, "embeddeddolt", is_dir)))
		*dolt = true;
	return beads;
}

char *
bead_database(const char *dir, bool walk_up, bool *dolt)
{
	char *name, *beads = locate(dir, walk_up, dolt, &name), *found = NULL;

	if (beads != NULL && !*dolt && name != NULL && has(beads, name, is_file))
		found = io_join(beads, name);
	else if (beads != NULL && !*dolt)
		found = has(beads, "beads.db", is_file) ? io_join(beads, "beads.db") : first_db(beads);
	free(name);
	free(beads);
	return found;
}

char *
bead_dolt(const char *dir, bool walk_up)
{
	bool dolt;
	char *name, *beads = locate(dir, walk_up, &dolt, &name);

	free(name);
	if (dolt)
		return beads;
	free(beads);
	return NULL;
}
