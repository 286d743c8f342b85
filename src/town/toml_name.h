#ifndef TOWN_TOML_NAME_H
#define TOWN_TOML_NAME_H

#include <stddef.h>

#include "base/buf.h"

struct toml_text;

/* A full name, each part followed by a NUL; at most 1,024 bytes and 16 parts. */
struct toml_path {
	struct buf bytes;
	int parts;
};

/* Adds the parts of a key, up to what ends it, to a path. 0 or -1. */
int toml_path_read(struct toml_text *t, struct toml_path *to);
/* The first len bytes of a path as text in place of what out held: "a.b". */
void toml_path_text(const struct toml_path *p, size_t len, struct buf *out);
/* Where the last part of a path begins. */
size_t toml_path_last(const struct toml_path *p);

/*
 * The record of the names that were used, so that TOML's rules about names given twice can be kept. Zeroed at first. Both answer 0, or
 * -1 with the line of the first use.
 */
struct toml_names {
	void *root;
};
/* [a.b] */
int toml_names_table(struct toml_names *names, struct toml_text *t, const struct toml_path *p);
/* A key with a value; the first `from` bytes of the path are its table's. */
int toml_names_key(struct toml_names *names, struct toml_text *t, const struct toml_path *p, size_t from);
void toml_names_release(struct toml_names *names);

#endif
