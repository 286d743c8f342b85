#ifndef CONFIG_TRUST_H
#define CONFIG_TRUST_H

#include <sys/stat.h>

struct err;

/*
 * Trust: whether another user can decide what a file or directory holds.
 *
 * A path is trusted when it belongs to this user or to root and no other user may write it. For root,
 * SUDO_UID names a user of its own too, as for git. A group that may write counts as another user only
 * when it has another member: one that it lists, or one whose primary group it is. A group that cannot
 * be read has one; so has one in a passwd of 65,536 entries or more.
 *
 * Only mode bits are read. An access control list appears in them as the group's bits, which are its
 * mask: an entry for another user beside a private group is not seen. The directories above the path
 * are the caller's business.
 */
enum {
	TRUST_ABSENT = 1 << 0,		/* nothing there is fine */
	/* a sticky directory may be written: nobody else replaces our entry in it */
	TRUST_STICKY = 1 << 1,
	TRUST_GROUP = 1 << 2,		/* any group may write */
	TRUST_WRITERS = 1 << 3		/* anybody may write: the owner alone counts */
};

/*
 * 0, or -1 with the reason (GT_USAGE, name "not-ours"). Symbolic links are followed. What cannot be
 * examined is not trusted.
 */
int trust_path(const char *path, unsigned allow, struct err *e);
/* The same for a file that is open; `path` names it in messages. */
int trust_stat(const struct stat *st, const char *path, unsigned allow, struct err *e);

#endif
