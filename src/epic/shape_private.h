#ifndef EPIC_SHAPE_PRIVATE_H
#define EPIC_SHAPE_PRIVATE_H

#include <stdbool.h>

#include "epic/shape.h"

/* What a member of a shape holds. PAST: a time that is not later than the checkpoint's arrival. */
enum type { TEXT, ID, TIME, PAST, STATUS, PERCENT, COUNT, SHARE, FLAG, TEXTS, OBJECT, OBJECTS, LINKS };

struct field {
	const char *name;			/* NULL: behind the last one */
	enum type type;
	const struct field *inner;		/* of OBJECT and OBJECTS */
	bool required;
};

const struct field *shape_fields(enum shape shape);

#endif
