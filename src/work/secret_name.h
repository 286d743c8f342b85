#ifndef WORK_SECRET_NAME_H
#define WORK_SECRET_NAME_H

#include <stdbool.h>

/* Files that are known to hold secrets by nothing but their names; a path of a repository, "a/b/.env". Case does not matter. */
bool secret_name(const char *path);

/* Examples hold no secrets, but words that stand everywhere: .env.example. */
bool secret_name_is_example(const char *name);

#endif
