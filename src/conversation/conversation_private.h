#ifndef CONVERSATION_CONVERSATION_PRIVATE_H
#define CONVERSATION_CONVERSATION_PRIVATE_H

#include <stddef.h>

struct exchange_digest;

#define CONVERSATION_NONE ((size_t)-1)

#endif
