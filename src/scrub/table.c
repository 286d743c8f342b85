#include "scrub/index.h"
#include "scrub/keyword_private.h"

/* config/secrets.ini as scripts/secrets.c writes it: table_built_in and what it points to. */
#include "secrets.ini.inc"
