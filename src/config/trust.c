#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/trust.h"
#include "base/buf.h"
#include "base/err.h"

enum { PASSWD_ENTRIES = 65536, PASSWD_TEXT = 16384, GROUP_TEXT = 1 << 20 };

#define UNKNOWN "an unknown user"

/* The last group without another member: with umask 002 the files of a town all have the same one. */
static struct {
	bool known;
	gid_t gid;
	uid_t user;		/* who asked */
} lone;

/* Who ran sudo. False: nobody, or the variable holds no user id. */
static bool
sudo_user(uid_t *uid)
{
	const char *text = getenv("SUDO_UID");
	unsigned long n;
	char *end;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	n = strtoul(text, &end, 10);
	*uid = (uid_t)n;
	return errno == 0 && *end == '\0' && *uid == n && *uid != (uid_t)-1;
}

static bool
is_own_user(uid_t uid)
{
	uid_t sudo = 0;

	return uid == 0 || uid == geteuid() || (geteuid() == 0 && sudo_user(&sudo) && uid == sudo);
}

static char *
user_name(uid_t uid)
{
	char text[PASSWD_TEXT];
	struct passwd entry, *pw;

	if (getpwuid_r(uid, &entry, text, sizeof text, &pw) == 0 && pw != NULL && pw->pw_name[0] != '\0')
		return xstrdup(pw->pw_name);
	return xasprintf("%u", (unsigned)uid);
}

/* Whoever has no entry may be anybody. */
static bool
is_own_name(const char *name)
{
	char text[PASSWD_TEXT];
	struct passwd entry, *pw;

	return getpwnam_r(name, &entry, text, sizeof text, &pw) == 0 && pw != NULL && is_own_user(pw->pw_uid);
}

/* These errors of getgrgid_r say that the group has no entry (getgrnam(3)). */
static bool
is_absent(int error)
{
	return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

/* Another user among those that the group lists, heap; NULL when there is none. *name: the group's, heap. */
static char *
listed_member(gid_t gid, char **name)
{
	size_t room = 1024;
	char *text = NULL, *other = NULL;
	struct group entry, *gr = NULL;
	int error;

	do {
		free(text);
		room *= 4;
		text = xcalloc(room, 1);
		error = getgrgid_r(gid, &entry, text, room, &gr);
	} while (error == ERANGE && room < GROUP_TEXT);
	*name = gr != NULL ? xstrdup(gr->gr_name) : xasprintf("%u", (unsigned)gid);
	if (gr == NULL && !is_absent(error))
		other = xstrdup(UNKNOWN);
	for (char **m = gr != NULL ? gr->gr_mem : NULL; m != NULL && *m != NULL && other == NULL; m++)
		if (!is_own_name(*m))
			other = xstrdup(*m);
	free(text);
	return other;
}

/* Another user whose primary group it is, heap; NULL when there is none. */
static char *
primary_member(gid_t gid)
{
	char *other = NULL;
	const struct passwd *pw = NULL;
	int left = PASSWD_ENTRIES, error = 0;

	setpwent();
	/* the end leaves errno alone, or is ENOENT */
	while (other == NULL && left > 0 && (errno = 0, pw = getpwent()) != NULL) {
		left--;
		if (pw->pw_gid == gid && !is_own_user(pw->pw_uid))
			other = xstrdup(pw->pw_name);
	}
	error = pw == NULL ? errno : 0;
	endpwent();
	if (other == NULL && (left == 0 || (error != 0 && error != ENOENT)))
		other = xstrdup(UNKNOWN);
	return other;
}

static int
check_group(const struct stat *st, const char *path, struct err *e)
{
	char *group, *other;

	if (lone.known && lone.gid == st->st_gid && lone.user == geteuid())
		return 0;
	other = listed_member(st->st_gid, &group);
	if (other == NULL)
		other = primary_member(st->st_gid);
	if (other != NULL)
		err_set(e, GT_USAGE, "not-ours",
		    "%s can be written by the group %s, which has another member: %s", path, group, other);
	free(group);
	if (other != NULL) {
		free(other);
		return -1;
	}
	lone.known = true;
	lone.gid = st->st_gid;
	lone.user = geteuid();
	return 0;
}

int
trust_stat(const struct stat *st, const char *path, unsigned allow, struct err *e)
{
	bool sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0;
	char *user;

	if (!is_own_user(st->st_uid)) {
		user = user_name(st->st_uid);
		err_set(e, GT_USAGE, "not-ours", "%s belongs to the user %s", path, user);
		free(user);
		return -1;
	}
	if ((allow & TRUST_WRITERS) != 0 || ((allow & TRUST_STICKY) != 0 && sticky))
		return 0;
	if ((st->st_mode & S_IWOTH) != 0)
		return err_set(e, GT_USAGE, "not-ours", "%s can be written by everybody", path);
	if ((st->st_mode & S_IWGRP) != 0 && (allow & TRUST_GROUP) == 0)
		return check_group(st, path, e);
	return 0;
}

int
trust_path(const char *path, unsigned allow, struct err *e)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return trust_stat(&st, path, allow, e);
	if ((allow & TRUST_ABSENT) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	return err_sys(e, GT_USAGE, "not-ours", "%s cannot be examined", path);
}

char *
trust_owner_command(const char *path)
{
	char *at = geteuid() == 0 ? xstrdup(path) : NULL, *slash, *user, *command = NULL;
	struct stat st;

	while (at != NULL && lstat(at, &st) != 0) {
		slash = strrchr(at, '/');
		if (slash == NULL || slash == at) {
			free(at);
			at = NULL;
		} else {
			*slash = '\0';
		}
	}
	if (at != NULL && st.st_uid != 0) {
		user = user_name(st.st_uid);
		command = xasprintf(
		    "sudo -u %s%s gt-recover", *user >= '0' && *user <= '9' ? "'#'" : "", user);
		free(user);
	}
	free(at);
	return command;
}
