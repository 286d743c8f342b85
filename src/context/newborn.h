#ifndef CONTEXT_NEWBORN_H
#define CONTEXT_NEWBORN_H

#include <stddef.h>
#include <stdint.h>

/*
 * A conversation known by its beginning alone: an agent was started, heard something, and was gone before anybody had noted which file it
 * writes. A fresh start begins a new file.
 */

/* When the conversation of a transcript began, ms since 1970: the first time in its first 64 KiB. 0: there is none, or it cannot be read. */
int64_t newborn_time(const char *path);

/*
 * The only transcript of the directory's project folder that began at or after `since`, those left out whose ids are in `held` (borrowed).
 * Its path, heap; NULL when there is none, or several.
 */
char *newborn_find(const char *config_dir, const char *cwd, int64_t since, const char *const *held, size_t n_held);

#endif
