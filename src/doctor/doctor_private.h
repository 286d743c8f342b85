#ifndef DOCTOR_DOCTOR_PRIVATE_H
#define DOCTOR_DOCTOR_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

/* Small looks at the machine, for the checks of doctor.h. */

/*
 * The path of an executable by that name in a list of directories as PATH has it, heap; NULL when
 * there is none. path may be NULL.
 */
char *doctor_find_program(const char *path, const char *name);
/* The path itself, or the nearest directory above it that exists; heap. */
char *doctor_existing_path(const char *path);
/* Bytes that this user may still write there; -1 when it cannot be told. */
int64_t doctor_free_bytes(const char *path);
/*
 * How many regular files in a directory are open to others than their owner, or are another
 * user's. No such directory: 0.
 */
size_t doctor_open_files(const char *dir);

#endif
