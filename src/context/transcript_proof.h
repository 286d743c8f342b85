#ifndef CONTEXT_TRANSCRIPT_PROOF_H
#define CONTEXT_TRANSCRIPT_PROOF_H

#include "context/transcript.h"

struct err;
struct reader;

/* transcript_ack for the formats of context/transcript_reader.h. What was taken back counts: the agent was told. */
int proof_find(const struct reader *how, const char *path, const char *sought, enum ack *out, struct err *e);

#endif
