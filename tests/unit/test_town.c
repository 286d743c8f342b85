#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "town/config.h"
#include "town/town.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/sha256.h"

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
		"gastown/polecats/toast/gastown", "gastown/polecats/bullet-farmer", "gastown/polecats/.claude", "gastown/crew/max",
		"gastown/witness", "gastown/mayor/rig/.beads", "gastown/.beads", "beads/polecats/nux", "stray/polecats", "daemon", "deacon",
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
	make_file(p->town, "mayor/rigs.json", "{\"version\":1,\"rigs\":{\"gastown\":{\"beads\":{\"prefix\":\"gt\"}},"
	    "\"beads\":{\"beads\":{\"prefix\":\"gt-bd-\"}},\"../evil\":{\"beads\":{\"prefix\":\"x\"}}}}");
	make_file(p->town, ".beads/routes.jsonl", "# routes\n\n{\"prefix\":\"hq-\",\"path\":\".\"}\n"
	    "{\"prefix\":\"gt-\",\"path\":\"gastown/mayor/rig\"}\n{\"prefix\":\"gt-bd-\",\"path\":\"beads\"}\nnot json\n"
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
	char *inner = io_join(p->town, "gastown/mayor/rig"), *other = io_join(p->dir, "other"), *slashed = xasprintf("%s//", p->town);
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
	static const struct { const char *text; enum role_kind kind; const char *rig, *name; } cases[] = {
		{ "gastown/polecats/toast", ROLE_POLECAT, "gastown", "toast" },
		{ "gastown/crew/max", ROLE_CREW, "gastown", "max" },
		{ "gastown/witness", ROLE_WITNESS, "gastown", "" },
		{ "gastown/refinery", ROLE_REFINERY, "gastown", "" },
		{ "mayor", ROLE_MAYOR, "", "" },
		{ "mayor/", ROLE_MAYOR, "", "" },
		{ "deacon", ROLE_DEACON, "", "" },
		{ "deacon/boot", ROLE_BOOT, "", "" },
		{ "deacon/dogs/rex", ROLE_DOG, "", "rex" },
		{ "dog", ROLE_DOG, "", "" },
		{ "polecat", ROLE_POLECAT, "", "" },
		{ "overseer", ROLE_OVERSEER, "", "" },
	};
	static const char *const bad[] = { "", "/", "nobody", "a/b/c", "gastown/toast", "gastown/polecats", "gastown/polecats/a/b",
		"../polecats/x", "gastown/polecats/..", "gastown/polecats/$(x)", "deacon/polecats/x", "deacon/x",
		"gastown/polecats/-n", "gastown/mayor" };
	struct role_name r;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (town_role(cases[i].text, &r) != 0)
			fail_msg("not understood: %s", cases[i].text);
		assert_int_equal(r.kind, cases[i].kind);
		assert_string_equal(r.rig, cases[i].rig);
		assert_string_equal(r.name, cases[i].name);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		if (town_role(bad[i], &r) != -1 || r.kind != ROLE_PLAIN || r.rig[0] != '\0')
			fail_msg("understood: %s", bad[i]);
	}
	assert_int_equal(town_role(NULL, &r), -1);
	assert_true(role_is_infra(ROLE_WITNESS));
	assert_true(role_is_infra(ROLE_CREW));
	assert_false(role_is_infra(ROLE_POLECAT));
	assert_false(role_is_infra(ROLE_PLAIN));
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
	static const char *const plain[] = { "gs-1923", "work", "hq-", "hq-nobody", "gt-", "gt", "gt-$x", "gt-a/b", "" };
	struct town *t = open_town(*state), *none;
	struct err e = ERR_INIT;
	struct role_name r;

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
		if (town_session_role(t, plain[i], &r) != -1 || r.kind != ROLE_PLAIN)
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
	static const char *const plain[] = { "", "gastown", "gastown/mayor/rig", "gastown/polecats", "polecat", "dog" };
	struct place *p = *state;
	struct town *t = open_town(p);
	struct role_name r;
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
		if (town_path_role(t, path, &r) != -1 || r.kind != ROLE_PLAIN)
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
	struct role_name r;
	char *got, *want;

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

	got = town_bead_route(t, "gt-bd-12");
	want = io_join(p->town, "beads");
	assert_string_equal(got, want);
	free(got);
	free(want);
	got = town_bead_route(t, "hq-1");
	assert_string_equal(got, p->town);
	free(got);
	assert_null(town_bead_route(t, "e-1"));
	assert_null(town_bead_route(t, "zz-1"));
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
	struct role_name toast, nux, mayor;
	char *estop = io_join(p->town, "ESTOP"), *rig = io_join(p->town, "ESTOP.gastown"), *lock = io_join(p->town, "daemon/shutdown.lock");
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
