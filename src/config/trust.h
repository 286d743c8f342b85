#ifndef CONFIG_TRUST_H
#define CONFIG_TRUST_H

#include <sys/stat.h>

struct err;

/*
 * Can another user decide what a file or directory holds?
 *
 * A path is trusted when it belongs to this user or root and no other user may write it. For root,
 * SUDO_UID is a user of its own too, as for git. A group that may write counts as another user when
 * it has another member, listed or by primary group; so does one that cannot be read, and one in a
 * passwd of 65,536 entries or more.
 *
 * Only mode bits are read: an access control list shows as the group's bits, its mask; an entry for
 * another user beside a private group is not seen. Directories above are the caller's business.
 */
enum {
	TRUST_ABSENT = 1 << 0,		/* may be absent */
	/* a sticky directory may be written: nobody replaces our entry */
	TRUST_STICKY = 1 << 1,
	TRUST_GROUP = 1 << 2,		/* any group may write */
	TRUST_WRITERS = 1 << 3		/* anybody may write; only the owner counts */
};

/* -1: GT_USAGE, "not-ours", with the reason; also when it cannot be examined. Follows links. */
int trust_path(const char *path, unsigned allow, struct err *e);
/* For an open file; `path` names it. */
int trust_stat(const struct stat *st, const char *path, unsigned allow, struct err *e);

/*
 * For root alone: the command by which the owner of path, another user, runs this program, "sudo -u
 * ana gt-recover", heap. What is absent is its directory's owner's. NULL: it is root's own.
 */
char *trust_owner_command(const char *path);

#endif
