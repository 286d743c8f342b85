#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "gastown/gastown.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/encode.h"

/* A directory of our own: HOME, and a town of two rigs and some polecats. */
struct place {
	char dir[64];
	char *town;
	char *here;		/* to go back to */
};

static void
make_dir(const char *base, const char *name)
{
	char *path = io_join(base, name);

	for (char *s = path + 1; *s != '\0'; s++) {
		if (*s == '/') {
			*s = '\0';
			mkdir(path, 0700);
			*s = '/';
		}
	}
	mkdir(path, 0700);
	assert_int_equal(access(path, X_OK), 0);
	free(path);
}

static void
make_file(const char *base, const char *name, const char *text)
{
	char *path = io_join(base, name), *slash;
	FILE *f;

	slash = strrchr(path, '/');
	*slash = '\0';
	make_dir(path, "");
	*slash = '/';
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	free(path);
}

static int
set_up(void **state)
{
	static const char *const dirs[] = {
		"gastown/polecats/toast/gastown", "gastown/polecats/bullet-farmer",
		"gastown/polecats/.claude", "gastown/crew/max", "gastown/witness",
		"gastown/mayor/rig/.beads", "gastown/.beads", "beads/polecats/nux", "stray/polecats",
		"daemon", "deacon",
		".beads",
	};
	struct place *p = xcalloc(1, sizeof *p);

	strcpy(p->dir, "/tmp/gt-town-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->here = getcwd(NULL, 0);
	p->town = io_join(p->dir, "My Town!");
	setenv("HOME", p->dir, 1);
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("GT_TOWN_ROOT");
	unsetenv("GT_ROOT");
	unsetenv("GT_TMUX_SOCKET");
	unsetenv("GT_TOWN_SOCKET");
	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++)
		make_dir(p->town, dirs[i]);
	make_file(p->town, "mayor/town.json", "{\"type\":\"town\",\"version\":2,\"name\":\"t\"}");
	make_file(p->town, "mayor/rigs.json",
	    "{\"version\":1,\"rigs\":{\"gastown\":{\"beads\":{\"prefix\":\"gt\"}},"
	    "\"beads\":{\"beads\":{\"prefix\":\"gt-bd-\"}},\"../evil\":{\"beads\":{\"prefix\":\"x\"}}}}");
	make_file(p->town, ".beads/routes.jsonl",
	    "# routes\n\n{\"prefix\":\"hq-\",\"path\":\".\"}\n"
	    "{\"prefix\":\"gt-\",\"path\":\"gastown/mayor/"
	    "rig\"}\n{\"prefix\":\"gt-bd-\",\"path\":\"beads\"}\nnot json\n"
	    "{\"prefix\":\"st-\",\"path\":\"stray/mayor/rig\"}\n{\"prefix\":\"e-\",\"path\":\"../x\"}\n");
	*state = p;
	return 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int
tear_down(void **state)
{
	struct place *p = *state;

	assert_int_equal(chdir(p->here), 0);
	assert_int_equal(nftw(p->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(p->town);
	free(p->here);
	free(p);
	return 0;
}

static struct town *
open_town(struct place *p)
{
	struct err e = ERR_INIT;
	struct town *t = town_new(p->town, &e);

	if (t == NULL)
		fail_msg("%s", e.msg);
	return t;
}

static void
expect_root(const char *want)
{
	struct err e = ERR_INIT;
	struct town *t = town_new(NULL, &e);

	if (want == NULL)
		assert_null(town_root(t));
	else
		assert_string_equal(town_root(t), want);
	town_free(t);
}

static void
test_root(void **state)
{
	struct place *p = *state;
	char *inner = io_join(p->town, "gastown/mayor/rig"), *other = io_join(p->dir, "other"),
	     *slashed = xasprintf("%s//", p->town);
	struct err e = ERR_INIT;
	struct town *t;

	/* The outermost wins, though a rig's clone has a town.json of its own. */
	make_file(inner, "mayor/town.json", "{}");
	assert_int_equal(chdir(inner), 0);
	expect_root(p->town);
	make_dir(p->dir, "other/mayor");
	make_dir(p->dir, "plain/deep");
	assert_int_equal(chdir(other), 0);
	expect_root(other);
	assert_int_equal(chdir(p->dir), 0);
	assert_int_equal(chdir("plain/deep"), 0);
	expect_root(NULL);
	setenv("GT_ROOT", p->town, 1);
	expect_root(p->town);
	setenv("GT_TOWN_ROOT", other, 1);
	expect_root(other);
	setenv("GT_TOWN_ROOT", "/nonexistent", 1);
	expect_root(p->town);
	t = town_new(slashed, &e);
	assert_string_equal(town_root(t), p->town);
	town_free(t);
	assert_null(town_new(p->dir, &e));
	assert_int_equal(e.code, GT_USAGE);
	assert_string_equal(e.name, "not-a-town");
	assert_true(e.hint[0] != '\0');
	unsetenv("GT_ROOT");
	unsetenv("GT_TOWN_ROOT");
	free(inner);
	free(other);
	free(slashed);
}

static void
test_rigs(void **state)
{
	struct place *p = *state;
	struct town_list names = TOWN_LIST_INIT;
	struct town *t = open_town(p);

	assert_null(town_warning(t));
	assert_int_equal(town_rigs(t), 3);
	assert_string_equal(town_rig_at(t, 0)->name, "beads");
	assert_string_equal(town_rig(t, "beads")->prefix, "gt-bd");
	assert_string_equal(town_rig(t, "gastown")->prefix, "gt");
	assert_string_equal(town_rig(t, "stray")->prefix, "st");
	assert_true(town_rig(t, "stray")->registered);
	assert_null(town_rig(t, "../evil"));
	town_polecats(t, "gastown", &names);
	assert_int_equal(names.n, 2);
	assert_string_equal(names.v[0], "bullet-farmer");
	assert_string_equal(names.v[1], "toast");
	town_polecats(t, "../x", &names);
	assert_int_equal(names.n, 2);
	town_list_release(&names);
	town_free(t);

	/* No registry that can be read: the directories tell, and a rig's own config.json. */
	make_file(p->town, "mayor/rigs.json", "{ broken");
	make_file(p->town, "beads/config.json", "{\"type\":\"rig\",\"beads\":{\"prefix\":\"bd-\"}}");
	make_file(p->town, ".beads/routes.jsonl", "");
	t = open_town(p);
	assert_non_null(town_warning(t));
	assert_non_null(strstr(town_warning(t), "mayor/rigs.json is not used"));
	assert_int_equal(town_rigs(t), 3);
	assert_string_equal(town_rig(t, "beads")->prefix, "bd");
	assert_string_equal(town_rig(t, "stray")->prefix, "gt");
	assert_false(town_rig(t, "stray")->registered);
	town_free(t);
}

static void
test_gt_role(void **state)
{
	static const struct {
		const char *text;
		enum town_role_kind kind;
		const char *rig, *name;
	} cases[] = {
		{ "gastown/polecats/toast", TOWN_ROLE_POLECAT, "gastown", "toast" },
		{ "gastown/crew/max", TOWN_ROLE_CREW, "gastown", "max" },
		{ "gastown/witness", TOWN_ROLE_WITNESS, "gastown", "" },
		{ "gastown/refinery", TOWN_ROLE_REFINERY, "gastown", "" },
		{ "mayor", TOWN_ROLE_MAYOR, "", "" },
		{ "mayor/", TOWN_ROLE_MAYOR, "", "" },
		{ "deacon", TOWN_ROLE_DEACON, "", "" },
		{ "deacon/boot", TOWN_ROLE_BOOT, "", "" },
		{ "deacon/dogs/rex", TOWN_ROLE_DOG, "", "rex" },
		{ "dog", TOWN_ROLE_DOG, "", "" },
		{ "polecat", TOWN_ROLE_POLECAT, "", "" },
		{ "overseer", TOWN_ROLE_OVERSEER, "", "" },
	};
	static const char *const bad[] = { "", "/", "nobody", "a/b/c", "gastown/toast", "gastown/polecats",
		"gastown/polecats/a/b", "../polecats/x", "gastown/polecats/..", "gastown/polecats/$(x)",
		"deacon/polecats/x", "deacon/x", "gastown/polecats/-n", "gastown/mayor" };
	struct town_role r;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (town_role(cases[i].text, &r) != 0)
			fail_msg("not understood: %s", cases[i].text);
		assert_int_equal(r.kind, cases[i].kind);
		assert_string_equal(r.rig, cases[i].rig);
		assert_string_equal(r.name, cases[i].name);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		if (town_role(bad[i], &r) != -1 || r.kind != TOWN_ROLE_NONE || r.rig[0] != '\0')
			fail_msg("understood: %s", bad[i]);
	}
	assert_int_equal(town_role(NULL, &r), -1);
	assert_true(role_is_infra(TOWN_ROLE_WITNESS));
	assert_true(role_is_infra(TOWN_ROLE_CREW));
	assert_false(role_is_infra(TOWN_ROLE_POLECAT));
	assert_false(role_is_infra(TOWN_ROLE_NONE));
}

static void
test_session_names(void **state)
{
	static const struct { const char *session; const char *address; bool back; } cases[] = {
		{ "hq-mayor", "mayor", true },
		{ "hq-deacon", "deacon", true },
		{ "hq-boot", "deacon/boot", true },
		{ "hq-overseer", "overseer", true },
		{ "hq-dog-rex", "deacon/dogs/rex", true },
		{ "gt-witness", "gastown/witness", true },
		{ "gt-bd-refinery", "beads/refinery", true },
		{ "gt-crew-max", "gastown/crew/max", true },
		{ "gt-toast", "gastown/polecats/toast", true },
		{ "gt-bullet-farmer", "gastown/polecats/bullet-farmer", true },
		{ "gt-bd-nux", "beads/polecats/nux", true },
		{ "gt-unborn", "gastown/polecats/unborn", true },
		{ "st-7", "stray/polecats/7", true },
		/* January 2026 */
		{ "gt-gastown-toast", "gastown/polecats/toast", false },
		{ "gt-gastown-witness", "gastown/witness", false },
		{ "gt-gastown-crew-max", "gastown/crew/max", false },
		{ "gt-gastown-unborn", "gastown/polecats/gastown-unborn", true },
		{ "gt-boot", "deacon/boot", false },
	};
	static const char *const plain[] = { "gs-1923", "work", "hq-", "hq-nobody", "gt-", "gt", "gt-$x",
		"gt-a/b", "" };
	struct town *t = open_town(*state), *none;
	struct err e = ERR_INIT;
	struct town_role r;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *address, *name;

		if (town_session_role(t, cases[i].session, &r) != 0)
			fail_msg("not understood: %s", cases[i].session);
		address = role_address(&r);
		assert_string_equal(address, cases[i].address);
		name = town_session_name(t, &r);
		assert_int_equal(strcmp(name, cases[i].session) == 0, cases[i].back);
		free(address);
		free(name);
	}
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
		if (town_session_role(t, plain[i], &r) != -1 || r.kind != TOWN_ROLE_NONE)
			fail_msg("understood: %s", plain[i]);
	}
	town_free(t);
	assert_int_equal(chdir("/"), 0);
	none = town_new(NULL, &e);
	assert_null(town_root(none));
	assert_int_equal(town_session_role(none, "gt-toast", &r), -1);
	assert_int_equal(town_session_role(none, "gt-boot", &r), -1);
	assert_int_equal(town_session_role(none, "hq-mayor", &r), 0);
	town_free(none);
}

static void
test_roles_of_paths(void **state)
{
	static const struct { const char *path, *address; } cases[] = {
		{ "gastown/polecats/toast", "gastown/polecats/toast" },
		{ "gastown/polecats/toast/gastown/src", "gastown/polecats/toast" },
		{ "gastown/witness/rig", "gastown/witness" },
		{ "gastown/refinery", "gastown/refinery" },
		{ "gastown/crew/max/deep", "gastown/crew/max" },
		{ "mayor", "mayor" },
		{ "mayor/rig", "mayor" },
		{ "deacon/dogs/rex/x", "deacon/dogs/rex" },
		{ "deacon/dogs/boot", "deacon/boot" },
		{ "deacon/tmp", "deacon" },
	};
	static const char *const plain[] = { "", "gastown", "gastown/mayor/rig", "gastown/polecats",
		"polecat", "dog" };
	struct place *p = *state;
	struct town *t = open_town(p);
	struct town_role r;
	char *path, *link = io_join(p->dir, "link");

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char *address;

		path = io_join(p->town, cases[i].path);
		if (town_path_role(t, path, &r) != 0)
			fail_msg("not understood: %s", path);
		address = role_address(&r);
		assert_string_equal(address, cases[i].address);
		free(address);
		free(path);
	}
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
		path = io_join(p->town, plain[i]);
		if (town_path_role(t, path, &r) != -1 || r.kind != TOWN_ROLE_NONE)
			fail_msg("understood: %s", path);
		free(path);
	}
	path = xasprintf("%s2/gastown/polecats/toast", p->town);
	assert_int_equal(town_path_role(t, path, &r), -1);
	assert_int_equal(town_path_role(t, NULL, &r), -1);
	town_free(t);
	free(path);

	/* A town named by a link: panes tell the resolved path. */
	assert_int_equal(symlink(p->town, link), 0);
	t = town_new(link, NULL);
	assert_string_equal(town_root(t), link);
	path = io_join(p->town, "gastown/polecats/toast");
	assert_int_equal(town_path_role(t, path, &r), 0);
	town_free(t);
	free(path);
	free(link);
}

static void
expect_list(struct place *p, struct town_list *l, const char *const *want, size_t n)
{
	assert_int_equal(l->n, n);
	for (size_t i = 0; i < n; i++) {
		char *path = want[i][0] != '\0' ? io_join(p->town, want[i]) : xstrdup(p->town);

		assert_string_equal(l->v[i], path);
		free(path);
	}
	town_list_release(l);
}

static void
test_places(void **state)
{
	static const char *const toast[] = { "gastown/polecats/toast/gastown", "gastown/polecats/toast" };
	static const char *const farmer[] = { "gastown/polecats/bullet-farmer" };
	static const char *const rig[] = { "gastown", "gastown/mayor/rig", "" };
	static const char *const none[] = { "" };
	struct place *p = *state;
	struct town *t = open_town(p);
	struct town_list l = TOWN_LIST_INIT;
	struct town_role r;

	town_role("gastown/polecats/toast", &r);
	town_workdirs(t, &r, &l);
	expect_list(p, &l, toast, 2);
	town_role("gastown/polecats/bullet-farmer", &r);
	town_workdirs(t, &r, &l);
	expect_list(p, &l, farmer, 1);
	town_role("gastown/polecats/nobody", &r);
	town_workdirs(t, &r, &l);
	expect_list(p, &l, NULL, 0);
	town_bead_dirs(t, "gastown", &l);
	expect_list(p, &l, rig, 3);
	town_bead_dirs(t, NULL, &l);
	expect_list(p, &l, none, 1);
	town_bead_dirs(t, "../x", &l);
	expect_list(p, &l, none, 1);
	town_free(t);
}

static void
test_sockets(void **state)
{
	struct place *p = *state;
	struct town *t = open_town(p);
	struct town_list l = TOWN_LIST_INIT;
	char sum[65], *real = realpath(p->town, NULL), *want;

	sha256_hex(real, strlen(real), sum);
	want = xasprintf("my-town-%.6s", sum);
	town_sockets(t, &l);
	assert_int_equal(l.n, 3);
	assert_string_equal(l.v[0], want);
	assert_string_equal(l.v[1], "my-town");
	assert_string_equal(l.v[2], "default");
	town_list_release(&l);
	setenv("GT_TMUX_SOCKET", "mine", 1);
	setenv("GT_TOWN_SOCKET", "my-town", 1);
	town_sockets(t, &l);
	assert_int_equal(l.n, 4);
	assert_string_equal(l.v[0], "mine");
	assert_string_equal(l.v[2], "my-town");
	town_list_release(&l);
	setenv("GT_TMUX_SOCKET", "auto", 1);
	town_sockets(t, &l);
	assert_int_equal(l.n, 3);
	town_list_release(&l);
	unsetenv("GT_TMUX_SOCKET");
	unsetenv("GT_TOWN_SOCKET");
	town_free(t);
	free(real);
	free(want);
}

static void
test_state(void **state)
{
	struct place *p = *state;
	struct town *t = open_town(p), *none;
	struct config *c;
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	struct stat st;
	char *dir = town_state_path(t, &e), *want = io_join(p->town, ".gt"), *path;

	assert_string_equal(dir, want);
	assert_int_equal(access(dir, F_OK), -1);
	free(dir);
	dir = town_state_make(t, &e);
	assert_string_equal(dir, want);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	path = io_join(dir, ".gitignore");
	assert_int_equal(io_read_file(path, 100, &text, &e), 0);
	assert_string_equal(text.data, "*\n");
	free(path);
	free(dir);
	c = config_new(NULL, p->town, &e);
	path = town_snapshot_dir(t, c, &e);
	dir = io_join(want, "snapshots");
	assert_string_equal(path, dir);
	free(path);
	free(dir);
	free(want);
	town_free(t);

	/* A file in the way is an error that says so. */
	make_file(p->dir, "t2/mayor/town.json", "{}");
	make_file(p->dir, "t2/.gt", "");
	path = io_join(p->dir, "t2");
	t = town_new(path, &e);
	assert_null(town_state_make(t, &e));
	assert_string_equal(e.name, "unwritable");
	town_free(t);
	free(path);

	assert_int_equal(chdir("/"), 0);
	none = town_new(NULL, &e);
	assert_null(town_root(none));
	dir = town_state_path(none, &e);
	want = io_join(p->dir, ".local/state/gt-recover");
	assert_string_equal(dir, want);
	free(dir);
	path = town_snapshot_dir(none, c, &e);
	dir = io_join(want, "snapshots");
	assert_string_equal(path, dir);
	free(dir);
	free(path);
	free(want);
	setenv("XDG_STATE_HOME", "/x", 1);
	dir = town_state_path(none, &e);
	assert_string_equal(dir, "/x/gt-recover");
	free(dir);
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	assert_null(town_state_path(none, &e));
	assert_string_equal(e.name, "no-home");
	town_free(none);
	config_free(c);
	buf_release(&text);
}

static void
test_markers(void **state)
{
	struct place *p = *state;
	struct town *t = open_town(p);
	struct town_role toast, nux, mayor;
	char *estop = io_join(p->town, "ESTOP"), *rig = io_join(p->town, "ESTOP.gastown"),
	     *lock = io_join(p->town, "daemon/shutdown.lock");
	int fd;

	town_role("gastown/polecats/toast", &toast);
	town_role("beads/polecats/nux", &nux);
	town_role("mayor", &mayor);
	assert_int_equal(town_halted(t, &toast), TOWN_RUNS);
	make_file(p->town, "ESTOP.gastown", "");
	assert_int_equal(town_halted(t, &toast), TOWN_ESTOP);
	assert_int_equal(town_halted(t, &nux), TOWN_RUNS);
	assert_int_equal(unlink(rig), 0);
	make_file(p->town, "ESTOP", "manual\n");
	assert_int_equal(town_halted(t, &nux), TOWN_ESTOP);
	assert_int_equal(town_halted(t, NULL), TOWN_ESTOP);
	assert_int_equal(town_halted(t, &mayor), TOWN_RUNS);
	assert_int_equal(unlink(estop), 0);

	make_file(p->town, "daemon/shutdown.lock", "");
	assert_int_equal(town_halted(t, &toast), TOWN_RUNS);
	fd = open(lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(town_halted(t, &toast), TOWN_SHUTDOWN);
	assert_int_equal(town_halted(t, &mayor), TOWN_SHUTDOWN);
	close(fd);
	assert_int_equal(town_halted(t, &toast), TOWN_RUNS);
	town_free(t);
	free(estop);
	free(rig);
	free(lock);
}

/* Towns that others can change. Root alone can play another user. */

enum { NOBODY = 65534, LONELY_GROUP = 54321 };

/* The primary group of a user that is not us. */
static gid_t
shared_group(void)
{
	const struct passwd *pw;

	setpwent();
	while ((pw = getpwent()) != NULL && (pw->pw_uid == 0 || pw->pw_gid == 0))
		;
	endpwent();
	assert_non_null(pw);
	return pw->pw_gid;
}

static void
give(const char *base, const char *name, uid_t uid, gid_t gid, mode_t mode)
{
	char *path = name[0] != '\0' ? io_join(base, name) : xstrdup(base);

	assert_int_equal(chown(path, uid, gid), 0);
	assert_int_equal(chmod(path, mode), 0);
	free(path);
}

/* No town is found here; when `what` is not NULL it is said why, else nothing is. */
static void
expect_no_town(const char *what)
{
	struct town *t = town_new(NULL, NULL);

	assert_non_null(t);
	assert_null(town_root(t));
	if (what == NULL) {
		assert_null(town_doubt(t));
	} else {
		assert_non_null(town_doubt(t));
		assert_string_equal(town_doubt(t)->name, "not-ours");
		if (strstr(town_doubt(t)->msg, what) == NULL)
			fail_msg("wanted: %s\ngot:    %s", what, town_doubt(t)->msg);
		assert_non_null(strstr(town_doubt(t)->hint, "safe_directories"));
	}
	town_free(t);
}

static void
must_be_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("another user can be played by root alone\n");
	skip();
}

static void
test_found_towns_are_ours_alone(void **state)
{
	static const char *const parts[] = { "", "mayor", "mayor/town.json" };
	struct place *p = *state;
	gid_t shared = shared_group();

	must_be_root();
	unsetenv("SUDO_UID");
	assert_int_equal(chdir(p->town), 0);
	for (size_t i = 0; i < 3; i++) {
		mode_t mode = i < 2 ? 0755 : 0644;

		give(p->town, parts[i], NOBODY, 0, mode);
		expect_no_town("belongs to the user nobody");
		setenv("SUDO_UID", "65534", 1);
		expect_root(p->town);
		setenv("SUDO_UID", "65533", 1);
		expect_no_town("belongs to the user nobody");
		unsetenv("SUDO_UID");
		give(p->town, parts[i], 0, 0, mode | 0002);
		expect_no_town("can be written by everybody");
		give(p->town, parts[i], 0, shared, mode | 0020);
		expect_no_town("which has another member");
		give(p->town, parts[i], 0, LONELY_GROUP, mode | 0020);
		expect_root(p->town);
		give(p->town, parts[i], 0, shared, mode);
		expect_root(p->town);
	}
}

static void
test_links_are_what_they_lead_to(void **state)
{
	struct place *p = *state;
	char *mayor = io_join(p->town, "mayor"), *moved = io_join(p->dir, "moved");

	must_be_root();
	assert_int_equal(rename(mayor, moved), 0);
	assert_int_equal(symlink(moved, mayor), 0);
	assert_int_equal(chdir(p->town), 0);
	expect_root(p->town);
	give(moved, "", NOBODY, 0, 0755);
	expect_no_town("mayor belongs to the user nobody");
	free(mayor);
	free(moved);
}

static void
test_the_way_up_ends_at_others(void **state)
{
	struct place *p = *state;
	char *inner = io_join(p->town, "gastown/mayor/rig"), *deep = io_join(p->town, "gastown/polecats");

	must_be_root();
	/* the user's own inner town wins over a stranger's, and over one that others can write */
	make_file(inner, "mayor/town.json", "{}");
	assert_int_equal(chdir(inner), 0);
	expect_root(p->town);
	give(p->town, "", NOBODY, 0, 0755);
	expect_root(inner);
	give(p->town, "", 0, 0, 0777);
	expect_root(inner);
	give(p->town, "", 0, shared_group(), 0775);
	expect_root(inner);
	give(p->town, "", 0, 0, 0755);
	expect_root(p->town);

	/* neither a stranger's directory nor one like /tmp is passed on the way up */
	assert_int_equal(chdir(deep), 0);
	give(p->town, "gastown", NOBODY, 0, 0755);
	expect_no_town("gastown belongs to the user nobody");
	give(p->town, "gastown", 0, 0, 01777);
	expect_no_town(NULL);
	give(p->town, "gastown", 0, 0, 0755);
	expect_root(p->town);

	/* whoever puts a mayor/ into /tmp reaches nobody */
	make_file(p->dir, "mayor/town.json", "{}");
	make_dir(p->dir, "plain/deep");
	assert_int_equal(chdir(p->dir), 0);
	assert_int_equal(chdir("plain/deep"), 0);
	expect_root(p->dir);
	give(p->dir, "", 0, 0, 01777);
	expect_no_town(NULL);
	give(p->dir, "", 0, 0, 0777);
	expect_no_town("can be written by everybody");
	free(inner);
	free(deep);
}

/* The town in use, what commands warn of, and what is noted; NULL: nothing. */
static void
expect_in_use(const char *root, const char *doubt, const char *skipped)
{
	struct town *t = town_new(NULL, NULL);
	const struct err *d = town_doubt(t), *s = town_skipped(t);

	assert_string_equal(town_root(t), root);
	assert_int_equal(d != NULL, doubt != NULL);
	assert_int_equal(s != NULL, skipped != NULL);
	if (doubt != NULL && strstr(d->msg, doubt) == NULL)
		fail_msg("wanted: %s\ngot:    %s", doubt, d->msg);
	if (skipped != NULL && strstr(s->msg, skipped) == NULL)
		fail_msg("wanted: %s\ngot:    %s", skipped, s->msg);
	town_free(t);
}

static void
test_own_town_in_a_strangers(void **state)
{
	static const char no_list[] = "[recovery]\nsafe_directories = []\n";
	struct place *p = *state;
	char *list = xasprintf("[recovery]\nsafe_directories = [\"%s\"]\n", p->town);
	char *inner = io_join(p->town, "gastown/mayor/rig"), *rig = io_join(p->town, "gastown");
	struct err e = ERR_INIT;
	struct town *t;

	must_be_root();
	make_file(inner, "mayor/town.json", "{}");
	give(p->town, "", NOBODY, 0, 0755);
	assert_int_equal(chdir(inner), 0);
	expect_in_use(inner, NULL, "belongs to the user nobody");
	/* a part of one's own that others can change is still told */
	make_file(inner, "mayor/rigs.json", "{}");
	give(inner, "mayor/rigs.json", NOBODY, 0, 0644);
	expect_in_use(inner, "rigs.json belongs to the user nobody", "belongs to the user nobody");
	give(inner, "mayor/rigs.json", 0, 0, 0644);
	make_file(p->dir, ".config/gt-recover/gt.toml", list);
	expect_in_use(inner, NULL, NULL);
	make_file(p->dir, ".config/gt-recover/gt.toml", "[recovery]\nsafe_directories = [\"*\"]\n");
	expect_in_use(inner, NULL, NULL);
	t = town_new(p->town, &e);
	assert_string_equal(town_root(t), p->town);
	town_free(t);

	/* a rig of one's own is no town: its mayor/ comes behind a listed one with a town.json */
	make_file(p->dir, ".config/gt-recover/gt.toml", no_list);
	assert_int_equal(chdir(rig), 0);
	expect_in_use(rig, "belongs to the user nobody", "belongs to the user nobody");
	make_file(p->dir, ".config/gt-recover/gt.toml", list);
	expect_in_use(p->town, NULL, NULL);
	free(list);
	free(inner);
	free(rig);
}

static void
test_named_towns_of_others_are_refused(void **state)
{
	static const char *const variables[] = { "GT_TOWN_ROOT", "GT_ROOT" };
	struct place *p = *state;
	struct err e = ERR_INIT;

	must_be_root();
	assert_int_equal(chdir(p->dir), 0);
	give(p->town, "", 0, 0, 0777);
	town_free(open_town(p));
	give(p->town, "", NOBODY, 0, 0755);
	assert_null(town_new(p->town, &e));
	assert_int_equal(e.code, GT_USAGE);
	assert_string_equal(e.name, "not-ours");
	assert_non_null(strstr(e.msg, "belongs to the user nobody"));
	assert_non_null(strstr(e.hint, "safe_directories"));
	/* a directory that is no town at all is nobody's concern */
	make_dir(p->dir, "plain");
	give(p->dir, "plain", NOBODY, 0, 0755);
	setenv("GT_ROOT", "plain", 1);
	expect_no_town(NULL);
	for (size_t i = 0; i < 2; i++) {
		setenv(variables[i], p->town, 1);
		assert_null(town_new(NULL, &e));
		assert_string_equal(e.name, "not-ours");
		assert_true(str_starts(e.msg, variables[i]));
		unsetenv(variables[i]);
	}
}

static void
test_safe_directories(void **state)
{
	struct place *p = *state;
	char *list = xasprintf("[recovery]\nsafe_directories = [\"%s\"]\n", p->town);
	char *above = xasprintf("[recovery]\nsafe_directories = [\"%s/*\"]\n", p->dir);
	char *deep = io_join(p->town, "gastown/polecats");
	struct err e = ERR_INIT;
	struct config *c;
	struct town *t;

	must_be_root();
	give(p->town, "", NOBODY, 0, 0777);
	give(p->town, "gastown", NOBODY, 0, 0777);
	give(p->town, "mayor/rigs.json", NOBODY, 0, 0666);
	make_file(p->town, "gt.toml", "[recovery]\nmax_attempts = 9\n");
	give(p->town, "gt.toml", NOBODY, 0, 0666);
	assert_int_equal(chdir(deep), 0);
	expect_no_town(p->town);
	assert_null(config_new(NULL, p->town, &e));
	assert_string_equal(e.name, "not-ours");

	make_file(p->dir, ".config/gt-recover/gt.toml", list);
	expect_root(p->town);
	t = open_town(p);
	assert_null(town_doubt(t));
	assert_non_null(town_rig(t, "gastown"));
	town_free(t);
	c = config_new(NULL, p->town, &e);
	assert_non_null(c);
	assert_int_equal(config_int(c, "max_attempts"), 9);
	config_free(c);
	make_file(p->dir, ".config/gt-recover/gt.toml", above);
	expect_root(p->town);
	make_file(p->dir, ".config/gt-recover/gt.toml", "[recovery]\nsafe_directories = [\"/elsewhere\"]\n");
	expect_no_town("gastown belongs to the user nobody");
	make_file(p->dir, ".config/gt-recover/gt.toml", "[recovery]\nsafe_directories = [\"*\"]\n");
	expect_root(p->town);
	/* a stranger's file says nothing */
	give(p->dir, ".config/gt-recover/gt.toml", NOBODY, 0, 0644);
	t = town_new(NULL, &e);
	assert_null(town_root(t));
	town_free(t);
	assert_null(town_new(p->town, &e));
	assert_non_null(strstr(e.msg, ".config/gt-recover/gt.toml belongs to"));
	free(list);
	free(above);
	free(deep);
}

static size_t
count_bead_dirs(const struct town *t, const char *rig)
{
	struct town_list l = TOWN_LIST_INIT;
	size_t n;

	town_bead_dirs(t, rig, &l);
	n = l.n;
	town_list_release(&l);
	return n;
}

static void
test_parts_that_others_can_change(void **state)
{
	struct place *p = *state;
	struct town *t;

	must_be_root();
	t = open_town(p);
	assert_int_equal(count_bead_dirs(t, "gastown"), 3);
	assert_string_equal(town_rig(t, "beads")->prefix, "gt-bd");
	assert_null(town_doubt(t));
	town_free(t);

	give(p->town, "mayor/rigs.json", 0, 0, 0666);
	give(p->town, ".beads/routes.jsonl", 0, shared_group(), 0664);
	t = open_town(p);
	assert_non_null(town_rig(t, "beads"));
	assert_false(town_rig(t, "beads")->registered);
	assert_non_null(town_doubt(t));
	town_free(t);
	give(p->town, "mayor/rigs.json", 0, 0, 0644);
	give(p->town, ".beads/routes.jsonl", 0, 0, 0644);

	give(p->town, "gastown", NOBODY, 0, 0755);
	t = open_town(p);
	assert_null(town_rig(t, "gastown"));
	assert_non_null(town_rig(t, "beads"));
	assert_int_equal(count_bead_dirs(t, "gastown"), 1);
	assert_non_null(strstr(town_doubt(t)->msg, "gastown belongs to the user nobody"));
	town_free(t);
	give(p->town, "gastown", 0, 0, 0755);

	give(p->town, "gastown/.beads", NOBODY, 0, 0755);
	t = open_town(p);
	assert_non_null(town_rig(t, "gastown"));
	assert_int_equal(count_bead_dirs(t, "gastown"), 2);
	assert_non_null(strstr(town_doubt(t)->msg, "gastown/.beads belongs to the user nobody"));
	town_free(t);
}

static void
test_state_where_others_can_move_it(void **state)
{
	struct place *p = *state;
	char *above = io_join(p->dir, "above"), *dir;
	struct err e = ERR_INIT;
	struct town *t;

	make_dir(p->dir, "above");
	setenv("XDG_STATE_HOME", above, 1);
	assert_int_equal(chdir("/"), 0);
	t = town_new(NULL, &e);
	assert_int_equal(chmod(above, 0777), 0);
	assert_null(town_state_make(t, &e));
	assert_string_equal(e.name, "not-ours");
	assert_non_null(strstr(e.hint, "XDG_STATE_HOME"));
	assert_int_equal(chmod(above, 01777), 0);
	dir = town_state_make(t, &e);
	assert_non_null(dir);
	unsetenv("XDG_STATE_HOME");
	town_free(t);
	free(dir);
	free(above);
}

static void
expect_state(const char *why)
{
	struct err e = ERR_INIT, made = ERR_INIT;
	struct town *t = town_new(NULL, &e);
	char *dir = town_state_path(t, &e), *path;

	assert_int_equal(town_state_check(t, dir, &e), why != NULL ? -1 : 0);
	path = town_state_make(t, &made);
	assert_int_equal(path == NULL, why != NULL);
	if (why != NULL) {
		assert_string_equal(e.name, "not-ours");
		if (strstr(e.msg, why) == NULL || strstr(made.msg, why) == NULL)
			fail_msg("wanted: %s\ngot:    %s\nand:    %s", why, e.msg, made.msg);
		assert_non_null(strstr(e.hint, "XDG_STATE_HOME"));
	}
	free(path);
	free(dir);
	town_free(t);
}

static void
test_every_directory_above_the_state_counts(void **state)
{
	struct place *p = *state;
	char *deep = io_join(p->dir, "pub/x/y"), *other = io_join(p->dir, "other/in"),
	     *link = io_join(p->dir, "pub/link"),
	     *list = xasprintf("[recovery]\nsafe_directories = [\"%s/pub\"]\n", p->dir);

	make_dir(p->dir, "pub/x");
	make_dir(p->dir, "other/in");
	assert_int_equal(chdir("/"), 0);
	setenv("XDG_STATE_HOME", deep, 1);
	expect_state(NULL);
	give(p->dir, "pub", geteuid(), (gid_t)-1, 0777);
	expect_state("pub can be written by everybody");
	make_file(p->dir, ".config/gt-recover/gt.toml", list);
	expect_state(NULL);
	make_file(p->dir, ".config/gt-recover/gt.toml", "");
	give(p->dir, "pub", geteuid(), (gid_t)-1, 01777);
	expect_state(NULL);
	/* neither the way that a link leads nor the way to it may be in the hands of others */
	assert_int_equal(symlink(other, link), 0);
	setenv("XDG_STATE_HOME", link, 1);
	expect_state(NULL);
	give(p->dir, "pub", geteuid(), (gid_t)-1, 0777);
	expect_state("pub can be written by everybody");
	give(p->dir, "pub", geteuid(), (gid_t)-1, 0755);
	give(p->dir, "other", geteuid(), (gid_t)-1, 0777);
	expect_state("other can be written by everybody");
	if (geteuid() == 0) {
		unsetenv("SUDO_UID");
		give(p->dir, "other", 0, 0, 0755);
		give(p->dir, "pub", 0, 0, 01777);
		assert_int_equal(lchown(link, NOBODY, 0), 0);
		expect_state("link belongs to the user nobody");
		setenv("XDG_STATE_HOME", deep, 1);
		give(p->dir, "pub/x", NOBODY, 0, 0755);
		expect_state("pub/x belongs to the user nobody");
	}
	unsetenv("XDG_STATE_HOME");
	free(deep);
	free(other);
	free(link);
	free(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rigs, set_up, tear_down),
		cmocka_unit_test(test_gt_role),
		cmocka_unit_test_setup_teardown(test_session_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_roles_of_paths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sockets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_markers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_found_towns_are_ours_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links_are_what_they_lead_to, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_way_up_ends_at_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_own_town_in_a_strangers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_named_towns_of_others_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_safe_directories, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_parts_that_others_can_change, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_state_where_others_can_move_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_every_directory_above_the_state_counts, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
