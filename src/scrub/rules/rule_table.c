#include "scrub/rules/rules_private.h"

/* config/secrets.ini as scripts/secrets.c writes it: rule_table_built_in and what it points to. */
#include "secrets.ini.inc"
