#ifndef WORK_CHECKPOINT_H
#define WORK_CHECKPOINT_H

#include <stdint.h>

struct clean_text;
struct err;
struct scrub;

/*
 * The note that an agent of Gas Town wrote about itself (gt checkpoint write): DIR/.polecat-checkpoint.json, as readable lines, "Step:
 * …". Known fields only; each at most 8 KiB, 30 files.
 *
 * *out is NULL and the answer 0 when there is none, when it is older than 24 h (gas town facts 6) or dated more than five minutes ahead:
 * a clock that jumped makes its age unknown. Its age counts from the field timestamp, else from the file's time of change. -1: name
 * "checkpoint": the file is there and cannot be read as one.
 */
int checkpoint_read(const char *dir, int64_t now_ms, struct scrub *s, struct clean_text **out, struct err *e);

#endif
