#ifndef EPIC_EPIC_PRIVATE_H
#define EPIC_EPIC_PRIVATE_H

#include <stdbool.h>

#include "epic/epic.h"

/* ---- checkpoint_schema_private ---- */

/* What a member of a shape holds. PAST: a time that is not later than the checkpoint's arrival. */
enum member_type {
	MEMBER_TEXT, MEMBER_ID, MEMBER_TIME, MEMBER_PAST, MEMBER_STATUS, MEMBER_PERCENT, MEMBER_COUNT,
	MEMBER_SHARE, MEMBER_FLAG, MEMBER_TEXTS, MEMBER_OBJECT, MEMBER_OBJECTS,
	MEMBER_LINKS
};

struct checkpoint_member {
	const char *name;			/* NULL: behind the last one */
	enum member_type type;
	const struct checkpoint_member *inner;		/* of OBJECT and OBJECTS */
	bool required;
};

/* ---- epic_private ---- */

#endif
