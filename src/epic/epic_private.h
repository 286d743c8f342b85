#ifndef EPIC_EPIC_PRIVATE_H
#define EPIC_EPIC_PRIVATE_H

#include "epic/epic.h"

/*
 * The files of a sprint: those of its own record and those of sprint:<id>:files (NULL: none), of each path the newest. Sets files, n_files,
 * completed and confidence.
 */
void files_read(struct epic_sprint *x, const json_t *files);

#endif
