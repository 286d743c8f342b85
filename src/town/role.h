#ifndef TOWN_ROLE_H
#define TOWN_ROLE_H

#include <stdbool.h>
#include <stddef.h>

struct town;
struct town_list;

/* Who a session is in Gas Town, told by GT_ROLE, by the session's name or by the directory that it works in. */
enum role_kind {
	ROLE_PLAIN,		/* no role of Gas Town */
	ROLE_POLECAT,
	ROLE_CREW,		/* a person's own */
	ROLE_MAYOR,
	ROLE_DEACON,
	ROLE_WITNESS,
	ROLE_REFINERY,
	ROLE_BOOT,
	ROLE_DOG,
	ROLE_OVERSEER		/* a person */
};

#define ROLE_NAME_MAX 64

struct role_name {
	enum role_kind kind;
	char rig[ROLE_NAME_MAX];	/* "" when the role has none or it is not known */
	char name[ROLE_NAME_MAX];	/* of a polecat, crew or dog */
};

/*
 * GT_ROLE: "<rig>/polecats/<name>", "<rig>/crew/<name>", "<rig>/witness", "<rig>/refinery", "mayor", "deacon", "deacon/boot", "dog",
 * "deacon/dogs/<name>", "overseer", and the bare words of before 2026 ("polecat", with GT_RIG and GT_POLECAT beside it). Trust it
 * before GT_POLECAT, which coordinators may carry from elsewhere (gastown issues 1707, 1708). 0; -1 for anything else, out is then
 * ROLE_PLAIN.
 */
int town_role(const char *gt_role, struct role_name *out);

/*
 * The role that a session's name tells: "hq-mayor", "<prefix>-witness", "<prefix>-crew-<name>", "<prefix>-<name>", and January 2026's
 * "gt-<rig>-<name>" and "gt-boot" where the town's directories bear it out. Only prefixes of known rigs count: -1 (ROLE_PLAIN) otherwise.
 */
int town_session_role(const struct town *t, const char *session, struct role_name *out);
/* The role that a path below the town's root tells, as a pane's start path. -1 (ROLE_PLAIN) when it tells none. */
int town_path_role(const struct town *t, const char *path, struct role_name *out);
/* The name that gt gives the role's session now, heap; NULL when it has none (plain, an unknown rig). */
char *town_session_name(const struct town *t, const struct role_name *role);

bool role_is(const struct role_name *a, const struct role_name *b);	/* the same agent */
const char *role_word(enum role_kind kind);		/* "polecat", …; "agent" for plain */
bool role_is_infra(enum role_kind kind);		/* everything but polecats and plain: only with --include-infra */
/* "<rig>/polecats/<name>" and so on, as GT_ROLE and hooked work have it; heap. "" for plain. */
char *role_address(const struct role_name *role);

/* Where a polecat or crew works, the likeliest first: <town>/<rig>/polecats/<name>/<rig>, then without the last part. Those that exist. */
void town_workdirs(const struct town *t, const struct role_name *role, struct town_list *out);

/*
 * True for n bytes that may be a part of a path and of a session's name: letters, digits, "_", "-" and, unlike gt's own rule for
 * sessions, ".", which rigs may have; not first "." or "-", and shorter than ROLE_NAME_MAX.
 */
bool role_is_part(const char *s, size_t n);

#endif
