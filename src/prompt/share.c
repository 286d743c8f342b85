#include "prompt/share.h"

#define WHOLE ((size_t)1 << 30)		/* a level at which nothing is cut */
#define UNIT ((size_t)1 << 16)		/* the level at which the newest of weight 1 may have the whole room */

struct sharing {
	struct share *v;
	size_t n;
	struct room room;
	bool cost_binds, lines_bind;	/* all together would take more than there is */
	size_t level[RANKS];
};

static size_t
add(size_t a, size_t b)
{
	return a + b < a ? (size_t)-1 : a + b;
}

/* room * level * weight / age, in doubles: exactness is of no use here. */
static size_t
part(size_t room, size_t level, const struct share *s)
{
	double share = (double)room * (double)level / (double)UNIT * (double)s->weight * (double)SHARE_AGE / (double)(SHARE_AGE + s->age);

	return share < (double)room ? (size_t)share : room;
}

/* Sets what one may have at its rank's level. */
static void
allow(const struct sharing *g, struct share *s)
{
	size_t level = g->level[s->rank];

	s->most = ROOM_ALL;
	s->kept = true;
	if (level == WHOLE)
		return;
	if (g->cost_binds)
		s->most.cost = part(g->room.cost, level, s);
	if (g->lines_bind)
		s->most.lines = part(g->room.lines, level, s);
	if (room_holds(s->most, s->full))
		return;
	if (s->rank == RANK_CORE) {
		if (s->most.cost < s->least.cost)
			s->most.cost = s->least.cost;
		if (s->most.lines < s->least.lines)
			s->most.lines = s->least.lines;
	} else if (!room_holds(s->most, s->least)) {
		s->kept = false;
	}
}

static void
take(struct room *sum, size_t cost, size_t lines)
{
	sum->cost = add(sum->cost, cost);
	sum->lines = add(sum->lines, lines);
}

static void
takes(struct room *sum, const struct share *s)
{
	size_t lines = room_holds(s->most, s->full) ? s->full.lines : add(s->full.lines, SHARE_TORN);

	take(sum, s->full.cost < s->most.cost ? s->full.cost : s->most.cost, lines < s->most.lines ? lines : s->most.lines);
}

/* True when everything at its level fits. */
static bool
fits(const struct sharing *g)
{
	struct room sum = { 0, 0 };
	bool gap = false, user = false;		/* something is missing before this place; of the user */

	for (size_t i = 0; i < g->n; i++) {
		struct share *s = &g->v[i];

		allow(g, s);
		if (s->kept) {
			takes(&sum, s);
			gap = user = false;
			continue;
		}
		if (!gap)
			take(&sum, SHARE_GAP.cost, SHARE_GAP.lines);
		if (!user && s->rank == RANK_USER)
			take(&sum, SHARE_GAP_USER, 0);
		gap = true;
		user |= s->rank == RANK_USER;
	}
	return room_holds(g->room, sum);
}

static void
measure(struct sharing *g)
{
	struct room sum = { 0, 0 };

	for (size_t i = 0; i < g->n; i++) {
		sum.cost = add(sum.cost, g->v[i].full.cost);
		sum.lines = add(sum.lines, add(g->v[i].full.lines, SHARE_TORN));
	}
	g->cost_binds = sum.cost > g->room.cost;
	g->lines_bind = sum.lines > g->room.lines;
}

/* Finds the highest level of the rank, `least` or above, at which everything fits; `least` when there is none. */
static void
sink(struct sharing *g, enum rank r, size_t least)
{
	size_t low = least, high = g->level[r];

	while (high > low + 1) {
		g->level[r] = low + (high - low) / 2;
		if (fits(g))
			low = g->level[r];
		else
			high = g->level[r];
	}
	g->level[r] = low;
}

void
share_out(struct share *v, size_t n, struct room room)
{
	/* a giant of the last turn shrinks to an eighth of the room before small old things go */
	static const struct {
		enum rank rank;
		size_t least;
	} steps[] = {
		{ RANK_OLD, UNIT / 256 }, { RANK_TURN, UNIT / 8 }, { RANK_OLD, 0 }, { RANK_TURN, 0 }, { RANK_USER, 0 }, { RANK_CORE, 0 },
	};
	struct sharing g = { .v = v, .n = n, .room = room };

	measure(&g);
	for (int r = 0; r < RANKS; r++)
		g.level[r] = WHOLE;
	for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !fits(&g); i++)
		sink(&g, steps[i].rank, steps[i].least);
	fits(&g);
}
