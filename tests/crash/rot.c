/*
 * A disk gives back other bytes than were written, under a store in SQLite.
 *
 *   rot [--seed N] [--flips N] [--pages N] [--rest N] [--only N] [--control 1] DIR
 *
 * DIR is an empty directory, best in memory. A store of some hundred records is made, with two
 * backups, and changed after the newest one. Then each case begins with that store and one damage:
 * a single bit, a changed page of an index; a run of random bytes, a cut, two pages in each other's
 * place, a page of an earlier state (--rest). In every second case the times of the file say
 * nothing of it, as when a disk decays. Everything is read, by key, by kind and in part: an answer
 * is the one that the undamaged store gives, or an error, and comes in time (SIGALRM). Then the store is restored: each record of
 * the newest backup is back, as it was there or newer, and what is not as it was last is told.
 * The control reads with checksums that see nothing, and must be caught. Exit status 1: an answer
 * was wrong, or something did not come back; 2: usage.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "store/store.h"
#include "store/store_private.h"

#define PAGE_BYTES 4096
#define RECORDS 420

static bool control;
static long only = -1;
static uint64_t state = 1;

uint64_t __real_store_checksum(const char *key, int64_t version, const char *tag, const char *value);
uint64_t __wrap_store_checksum(const char *key, int64_t version, const char *tag, const char *value);

uint64_t
__wrap_store_checksum(const char *key, int64_t version, const char *tag, const char *value)
{
	return control ? 0 : __real_store_checksum(key, version, tag, value);
}

static uint64_t
pick(uint64_t below)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % below;
}

/* ---- the store ---- */

static const struct { const char *kind, *tags[4];
} kinds[] = {
	{ "run", { "pending", "running", "completed", "failed" } },
	{ "session", { "ACTIVE", "SUSPENDED", "ENDED", "ENDED" } },
	{ "message", { "pending", "delivered", "answered", "answered" } },
	{ "event", { "run", "session", "lock", "agent" } },
	{ "lock", { "held", "free", "free", "free" } },
	{ "epic", { "in_progress", "completed", "waiting", "waiting" } },
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static char *dir, *db, *lock;
static struct buf files[4];		/* the store, its backups, its lock: as they are without damage */
static const char *const names[4] = { "recover.db", "recover.db.backup", "recover.db.backup.old", "recover.lock" };
static struct buf earlier;		/* the store some commits before */
static struct records truth, backup;	/* in key order */

static struct store *
open_well(void)
{
	struct err e = ERR_INIT;
	struct store *s = store_open("sqlite", dir, &e);

	if (s == NULL)
		die("rot: %s", e.msg);
	return s;
}

static char *
value_of(size_t i)
{
	struct buf b = BUF_INIT;

	buf_fmt(&b, "{\"id\":%zu,\"session_id\":\"ses_%016" PRIx64 "\",\"prompt\":\"", i, pick(UINT64_MAX));
	for (uint64_t n = 20 + pick(220); n > 0; n--)
		buf_chr(&b, (char)('a' + pick(26)));
	buf_str(&b, "\"}");
	return buf_detach(&b);
}

static void
change_one(struct store *s, size_t i, bool gone)
{
	size_t kind = i % KINDS;
	char *key = xasprintf("%s:%06zu", kinds[kind].kind, i / KINDS), *value = value_of(i);
	struct change c = { gone ? CHANGE_DELETE : CHANGE_PUT, key, STORE_ANY, kinds[kind].tags[pick(4)], value };
	struct err e = ERR_INIT;

	if (store_commit(s, &c, 1, &e) != COMMIT_DONE)
		die("rot: %s", e.msg);
	free(key);
	free(value);
}

static void
read_into(const char *name, struct buf *out)
{
	char *path = io_join(dir, name);
	struct err e = ERR_INIT;

	if (io_read_file(path, (size_t)64 << 20, out, &e) != 0)
		die("rot: %s", e.msg);
	free(path);
}

static void
write_from(const char *name, const struct buf *b)
{
	char *path = io_join(dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || io_write_all(fd, b->data, b->len) != 0 || close(fd) != 0)
		die("rot: %s cannot be written", path);
	free(path);
}

static void
remove_all(void)
{
	DIR *list = opendir(dir);
	struct dirent *d;

	while (list != NULL && (d = readdir(list)) != NULL) {
		char *path = io_join(dir, d->d_name);

		if (d->d_name[0] != '.' && unlink(path) != 0)
			die("rot: %s cannot be removed", path);
		free(path);
	}
	if (list == NULL)
		die("rot: %s cannot be read", dir);
	closedir(list);
}

static void
read_all(struct records *out)
{
	struct store *s = open_well();
	struct err e = ERR_INIT;

	if (store_scan(s, "", NULL, NULL, 100000, out, &e) != 0)
		die("rot: %s", e.msg);
	store_close(s);
}

/* The state that every case begins with. */
static void
make_store(void)
{
	struct store *s = open_well();
	struct stat st;

	for (size_t i = 0; i < RECORDS; i++)
		change_one(s, i, false);
	for (size_t i = 0; i < 40; i++)
		change_one(s, pick(RECORDS), i % 4 == 0);
	/* the next commit makes the backup */
	unlink(xasprintf("%s.backup", db));
	change_one(s, 0, false);
	read_into("recover.db.backup", &files[1]);
	write_from("recover.db.backup.old", &files[1]);
	store_close(s);
	read_into("recover.db", &earlier);
	s = open_well();
	for (size_t i = 0; i < 60; i++)
		change_one(s, pick(RECORDS + 20), i % 5 == 0);
	store_close(s);
	read_all(&truth);
	for (int i = 0; i < 4; i++) {
		buf_reset(&files[i]);
		read_into(names[i], &files[i]);
	}
	if (stat(db, &st) != 0 || st.st_size % PAGE_BYTES != 0)
		die("rot: %s is not of whole pages", db);
	remove_all();
	write_from("recover.db", &files[1]);
	read_all(&backup);
	remove_all();
}

/* ---- damage ---- */

enum damage { FLIP, INDEX_PAGE, BYTES, CUT, SWAP, STALE, DAMAGES };
static const char *const damage_names[] = { "bit", "index page", "bytes", "cut", "swapped pages", "stale page" };

static size_t
pick_index_page(const struct buf *b)
{
	for (;;) {
		size_t page = 1 + pick(b->len / PAGE_BYTES - 1);
		char type = b->data[page * PAGE_BYTES];

		if (type == 0x0a || type == 0x02)
			return page;
	}
}

static void
spoil_bytes(char *p, size_t n)
{
	for (; n > 0; n--)
		*p++ = (char)pick(256);
}

static void
damage(struct buf *b, enum damage what)
{
	size_t pages = b->len / PAGE_BYTES, one = pick(pages), two = pick(pages), at, n;
	char page[PAGE_BYTES];

	switch (what) {
	case FLIP:
		at = pick(b->len);
		b->data[at] = (char)(b->data[at] ^ 1 << pick(8));
		break;
	case INDEX_PAGE:
		at = pick_index_page(b) * PAGE_BYTES + pick(PAGE_BYTES - 64);
		spoil_bytes(b->data + at, 1 + pick(64));
		break;
	case BYTES:
		at = pick(b->len - 512);
		n = 1 + pick(512);
		spoil_bytes(b->data + at, n);
		break;
	case CUT:
		b->len = pick(2) == 0 ? one * PAGE_BYTES : pick(b->len);
		break;
	case SWAP:
		memcpy(page, b->data + one * PAGE_BYTES, PAGE_BYTES);
		memmove(b->data + one * PAGE_BYTES, b->data + two * PAGE_BYTES, PAGE_BYTES);
		memcpy(b->data + two * PAGE_BYTES, page, PAGE_BYTES);
		break;
	default:
		one = pick(earlier.len / PAGE_BYTES);
		if ((one + 1) * PAGE_BYTES <= b->len)
			memcpy(b->data + one * PAGE_BYTES, earlier.data + one * PAGE_BYTES, PAGE_BYTES);
	}
}

/* The lock file says that the file is as it was left: its times, size and inode are those that are there. */
static void
hide(void)
{
	struct stat st;
	char text[160];
	size_t fixed = files[3].len - 5 * 17 - 1;

	if (stat(db, &st) != 0)
		die("rot: %s is gone", db);
	snprintf(text, sizeof text, "%.*s %016llx %016llx %016llx %016llx %016llx\n", (int)fixed, files[3].data,
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino, (unsigned long long)st.st_size,
	    (unsigned long long)st.st_mtim.tv_sec * 1000000000 + (unsigned long long)st.st_mtim.tv_nsec,
	    (unsigned long long)st.st_ctim.tv_sec * 1000000000 + (unsigned long long)st.st_ctim.tv_nsec);
	if (strlen(text) != files[3].len)
		die("rot: the seal is not understood");
	write_from("recover.lock", &(struct buf){ .data = text, .len = strlen(text) });
}

/* ---- looking ---- */

static int errors, lies;
static char said[400];

static void
lie(const char *how, const char *key)
{
	lies++;
	snprintf(said, sizeof said, "%s %.200s", how, key);
}

static const struct record *
find(const struct records *all, const char *key)
{
	size_t from = 0, to = all->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		int order = strcmp(all->v[mid].key, key);

		if (order == 0)
			return &all->v[mid];
		if (order < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return NULL;
}

static bool
same(const struct record *a, const struct record *b)
{
	return strcmp(a->key, b->key) == 0 && a->version == b->version && strcmp(a->tag, b->tag) == 0 &&
	    strcmp(a->value, b->value) == 0;
}

static void
look_at(struct store *s, const char *key)
{
	const struct record *wanted = find(&truth, key);
	struct err e = ERR_INIT;
	struct record r;
	int found = store_get(s, key, &r, &e);

	if (found < 0)
		errors++;
	else if ((found > 0) != (wanted != NULL))
		lie(found > 0 ? "there is" : "there is no", key);
	else if (found > 0 && !same(&r, wanted))
		lie("changed:", key);
	store_record_release(&r);
}

struct walk {
	const char *prefix, *tag;
	size_t at;			/* in truth */
};

static bool
is_next(const struct walk *w, const struct record *t)
{
	return str_starts(t->key, w->prefix) && (w->tag == NULL || strcmp(t->tag, w->tag) == 0);
}

static int
compare_row(const struct record *r, void *arg, struct err *e)
{
	struct walk *w = arg;

	(void)e;
	while (w->at < truth.n && !is_next(w, &truth.v[w->at]))
		w->at++;
	if (w->at == truth.n || !same(r, &truth.v[w->at]))
		lie("a scan has", r->key);
	else
		w->at++;
	return lies > 0 ? 1 : 0;
}

static void
walk(struct store *s, const char *prefix, const char *tag)
{
	struct walk w = { prefix, tag, 0 };
	struct err e = ERR_INIT;
	int before = lies, ret = store_each(s, prefix, tag, compare_row, &w, &e);

	if (ret < 0) {
		/* what was handed out before the error is not believed */
		lies = before;
		errors++;
		return;
	}
	while (w.at < truth.n && !is_next(&w, &truth.v[w.at]))
		w.at++;
	if (lies == before && w.at < truth.n)
		lie("a scan lacks", truth.v[w.at].key);
}

/* A piece in the middle, as a list of many is read. */
static void
walk_part(struct store *s)
{
	size_t from = pick(truth.n - 30);
	struct records r = { 0 };
	struct err e = ERR_INIT;

	if (store_scan(s, "", NULL, truth.v[from].key, 20, &r, &e) != 0)
		errors++;
	else if (r.n != 20)
		lie("a part is too short after", truth.v[from].key);
	for (size_t i = 0; i < r.n && lies == 0 && e.code == 0; i++)
		if (!same(&r.v[i], &truth.v[from + 1 + i]))
			lie("a part has", r.v[i].key);
	store_records_release(&r);
}

static void
look(struct store *s)
{
	char key[40];

	for (size_t i = 0; i < truth.n; i += 1 + pick(3))
		look_at(s, truth.v[i].key);
	for (int i = 0; i < 30; i++) {
		snprintf(key, sizeof key, "%s:%06d", kinds[pick(KINDS)].kind, (int)pick(RECORDS / KINDS + 9));
		look_at(s, key);
	}
	for (size_t i = 0; i < KINDS; i++) {
		char *prefix = xasprintf("%s:", kinds[i].kind);

		walk(s, prefix, NULL);
		for (int t = 0; t < 3; t++)
			walk(s, prefix, kinds[i].tags[t]);
		free(prefix);
	}
	walk(s, "", NULL);
	for (int i = 0; i < 4; i++)
		walk_part(s);
}

/* ---- after it ---- */

static int missing;

/* Each record of the newest backup is there, and whatever is not as it was last was told. */
static void
check_restored(const struct store_restored *m)
{
	struct records now = { 0 };
	size_t older = 0;

	read_all(&now);
	for (size_t i = 0; i < backup.n; i++) {
		const struct record *was = &backup.v[i], *is = find(&now, was->key), *last = find(&truth, was->key);

		if (is == NULL && last != NULL) {
			missing++;
			snprintf(said, sizeof said, "not restored: %s", was->key);
		} else if (is != NULL && strcmp(is->value, was->value) != 0 &&
		    (last == NULL || strcmp(is->value, last->value) != 0)) {
			missing++;
			snprintf(said, sizeof said, "restored as another: %s", was->key);
		}
	}
	for (size_t i = 0; i < truth.n; i++) {
		const struct record *is = find(&now, truth.v[i].key);

		older += is == NULL || strcmp(is->value, truth.v[i].value) != 0;
	}
	if (older > m->restored + m->lost && m->kept > 0) {
		missing++;
		snprintf(said, sizeof said, "%zu are not as they were, %zu restored and %zu lost are told", older,
		    m->restored, m->lost);
	}
	store_records_release(&now);
}

/*
 * Commits as commands do: where one meets damage, the next one restores. NULL: in vain. *m and
 * *restored: when it had to.
 */
static struct store *
commit_somehow(struct store *s, const struct change *c, struct store_restored *m, bool *restored)
{
	struct err e = ERR_INIT;

	for (int i = 0; i < 3; i++) {
		if (s == NULL)
			s = store_open("sqlite", dir, &e);
		if (s == NULL && store_restore("sqlite", dir, m, &e) >= 0) {
			*restored = true;
			s = open_well();
		}
		if (s != NULL && store_commit(s, c, 1, &e) == COMMIT_DONE)
			return s;
		store_close(s);
		s = NULL;
	}
	missing++;
	snprintf(said, sizeof said, "cannot be restored: %.300s", e.msg);
	return NULL;
}

/* The next commands that record something. True: one had to restore. */
static bool
record_something(void)
{
	struct change c = { CHANGE_PUT, "new:1", STORE_ANY, "t", "{}" };
	struct store_restored m;
	bool restored = false;
	struct store *s = commit_somehow(NULL, &c, &m, &restored);

	c.kind = CHANGE_DELETE;
	if (s != NULL)
		s = commit_somehow(s, &c, &m, &restored);
	store_close(s);
	if (restored && missing == 0)
		check_restored(&m);
	return restored;
}

struct score {
	long cases, seen, restored, lies, missing;
};

static void
run_case(enum damage what, long n, uint64_t seed, struct score *to)
{
	struct buf b = BUF_INIT;
	struct err e = ERR_INIT;
	struct store *s;
	bool restored;

	state = seed * 1000003 + (uint64_t)n * DAMAGES + what;
	remove_all();
	buf_add(&b, files[0].data, files[0].len);
	damage(&b, what);
	write_from(names[0], &b);
	for (int i = 1; i < 4; i++)
		write_from(names[i], &files[i]);
	if (n % 2 == 0)
		hide();
	errors = lies = missing = 0;
	/* a tree that leads back into itself is no reason to read for ever */
	alarm(60);
	s = store_open("sqlite", dir, &e);
	if (s != NULL)
		look(s);
	else
		errors++;
	store_close(s);
	restored = record_something();
	/* what nobody saw is still as it was */
	if (errors == 0 && !restored) {
		s = store_open("sqlite", dir, &e);
		if (s != NULL)
			look(s);
		store_close(s);
	}
	to->cases++;
	to->seen += errors > 0;
	to->restored += restored;
	to->lies += lies > 0;
	to->missing += missing > 0;
	if (lies > 0 || missing > 0)
		printf("seed %" PRIu64 " %s %ld: %s\n", seed, damage_names[what], n, said);
	buf_release(&b);
}

int
main(int argc, char **argv)
{
	long wanted[DAMAGES] = { 1000, 100, 100, 100, 100, 100 }, bad = 0;
	uint64_t seed = 1;
	int i = 1;

	for (; i + 1 < argc - 1 || (i < argc - 1 && argv[i][0] == '-'); i += 2) {
		long n = atol(argv[i + 1]);

		if (strcmp(argv[i], "--seed") == 0)
			seed = (uint64_t)n;
		else if (strcmp(argv[i], "--flips") == 0)
			wanted[FLIP] = n;
		else if (strcmp(argv[i], "--pages") == 0)
			wanted[INDEX_PAGE] = n;
		else if (strcmp(argv[i], "--rest") == 0)
			for (int k = BYTES; k < DAMAGES; k++)
				wanted[k] = n;
		else if (strcmp(argv[i], "--only") == 0)
			only = n;
		else if (strcmp(argv[i], "--control") == 0)
			control = true;
		else
			break;
	}
	if (i != argc - 1 || argv[i][0] != '/') {
		fprintf(stderr,
		    "usage: rot [--seed N] [--flips N] [--pages N] [--rest N] [--only N] [--control 1] "
		    "/EMPTY/DIR\n");
		return GT_USAGE;
	}
	dir = argv[i];
	db = io_join(dir, "recover.db");
	lock = io_join(dir, "recover.lock");
	state = seed;
	make_store();
	for (int k = 0; k < DAMAGES; k++) {
		struct score s = { 0 };

		for (long n = 0; n < wanted[k]; n++)
			if (only < 0 || only == n)
				run_case((enum damage)k, n, seed, &s);
		printf("%s: %ld cases, %ld seen, %ld restored, %ld wrong answers, %ld not restored\n", damage_names[k],
		    s.cases, s.seen, s.restored, s.lies, s.missing);
		bad += s.lies + s.missing;
		fflush(stdout);
	}
	printf("seed %" PRIu64 " records %zu bytes %zu bad %ld\n", seed, truth.n, files[0].len, bad);
	remove_all();
	free(db);
	free(lock);
	return bad != 0;
}
