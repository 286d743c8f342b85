#ifndef CMD_EPIC_SCREEN_H
#define CMD_EPIC_SCREEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct epic;
struct epic_need;
struct epic_sprint;
struct epics;

/* The screens of seed S3, as text: what they say depends on their arguments alone. Times are UTC, now and ages in ms. */

/* "45 seconds", "2 minutes", "3 hours", "2 days" */
void epic_screen_age(struct buf *out, int64_t ms);
/* "2025-10-10 20:45:37 UTC" */
void epic_screen_time(struct buf *out, int64_t ms);
/* ✅, ⚠️, ❌ or ⏸️ and "Sprint 2 (id)" of the one at that place, from 0. */
void epic_screen_name(struct buf *out, const struct epic *x, size_t i, double threshold);
/* 20 places, "████░░…" */
void epic_screen_bar(struct buf *out, double percent);

/* Lines below a sprint: of its last file (it has one), of something that it waits for. */
void epic_screen_last_file(struct buf *out, int indent, const struct epic_sprint *x);
void epic_screen_need(struct buf *out, int indent, const struct epic_need *need);

/* `epic status`: the interrupted ones of the list, or all of it when one was asked for by its id. */
void epic_screen_status(struct buf *out, const struct epics *list, bool all, int64_t now, double threshold);
/* `epic resume`: what was interrupted, with the four ways on from there. */
void epic_screen_prompt(struct buf *out, const struct epic *x, int64_t now, double threshold);
/* What abandoning deletes, without the question. */
void epic_screen_abandon(struct buf *out, const struct epic *x);

/* One of --json's epics[]. New reference. */
json_t *epic_screen_json(const struct epic *x, int64_t now, double threshold);

#endif
