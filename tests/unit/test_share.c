#include "test.h"

#include <stdlib.h>

#include "base/buf.h"
#include "prompt/prompt_private.h"
#include "prompt/prompt.h"

#define N 500

/* A fixed generator, so that a failure comes again. */
static unsigned
next(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 8;
}

static void
fill(struct budget_share *v, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++) {
		size_t cost = next(&seed) % 8 == 0 ? (size_t)-1 : next(&seed) % 5000 + 100;

		v[i] = (struct budget_share){ .rank = (enum budget_rank)(next(&seed) % BUDGET_CORE),
			.weight = 1 + next(&seed) % 4,
			.age = n - 1 - i };
		v[i].full = (struct budget){ cost, cost == (size_t)-1 ? cost : cost / 40 + 1 };
		v[i].least = (struct budget){ 400, 3 };
	}
	v[n - 1].rank = v[n / 2].rank = BUDGET_CORE;
	v[n - 1].age = v[n / 2].age = 0;
}

static struct budget
taken(const struct budget_share *v, size_t n)
{
	struct budget sum = { 0, 0 };
	bool gap = false, user = false;

	for (size_t i = 0; i < n; i++) {
		struct budget take = { 0, 0 };

		if (v[i].kept) {
			take.cost = v[i].full.cost < v[i].most.cost ? v[i].full.cost : v[i].most.cost;
			take.lines = v[i].full.lines < v[i].most.lines ? v[i].full.lines : v[i].most.lines;
		} else {
			if (!gap)
				take = BUDGET_GAP;
			if (!user && v[i].rank == BUDGET_USER)
				take.cost += BUDGET_GAP_USER;
		}
		sum.cost += take.cost;
		sum.lines += take.lines;
		user = !v[i].kept && (user || v[i].rank == BUDGET_USER);
		gap = !v[i].kept;
	}
	return sum;
}

static void
test_any_room(void **state)
{
	struct budget_share *v = xcalloc(N, sizeof *v);

	(void)state;
	for (unsigned seed = 1; seed < 20; seed++) {
		for (size_t cost = 10000; cost < 3000000; cost = cost * 3 / 2) {
			struct budget room = { cost, cost / 100 }, sum;

			fill(v, N, seed);
			budget_allocate(v, N, room);
			sum = taken(v, N);
			assert_true(sum.cost <= room.cost && sum.lines <= room.lines);
			assert_true(v[N - 1].kept && v[N / 2].kept);
			assert_true(cost < 100000 || sum.cost > cost / 2 || sum.lines > room.lines / 2);
		}
	}
	free(v);
}

/* Equals of one rank go from the old end, and nothing of a later rank goes before all of an earlier one. */
static void
test_order(void **state)
{
	struct budget_share v[90];

	(void)state;
	for (size_t cost = 10000; cost < 95000; cost += 5000) {
		bool seen[BUDGET_RANKS] = { false };
		size_t kept[BUDGET_RANKS] = { 0 };

		for (size_t i = 0; i < 90; i++)
			v[i] = (struct budget_share){ .rank = (enum budget_rank)(BUDGET_OLD + i / 30),
				.weight = 1,
				.age = 29 - i % 30,
				.full = { 1000, 1 },
				.least = { 1000, 1 } };
		budget_allocate(v, 90, (struct budget){ cost, 1000 });
		for (size_t i = 0; i < 90; i++) {
			assert_true(v[i].kept || !seen[v[i].rank]);
			seen[v[i].rank] |= v[i].kept;
			kept[v[i].rank] += v[i].kept;
		}
		assert_true(kept[BUDGET_OLD] == 0 || kept[BUDGET_USER] == 30);
		assert_true(kept[BUDGET_TURN] == 0 || kept[BUDGET_USER] == 30);
	}
}

static void
test_gap(void **state)
{
	static const char line[] = "(99999999 older exchanges left out)\n\n";
	static const char user[] = "(99999999 older exchanges left out, 99999999 of them the user's)\n\n";

	(void)state;
	assert_true(prompt_token_cost(line, sizeof line - 1) <= BUDGET_GAP.cost);
	assert_true(prompt_token_cost(user, sizeof user - 1) <= BUDGET_GAP.cost + BUDGET_GAP_USER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_room), cmocka_unit_test(test_order), cmocka_unit_test(test_gap),
	};

	return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
