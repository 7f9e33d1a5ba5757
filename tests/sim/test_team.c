#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/agent.h"
#include "sim/agent_internal.h"
#include "sim/rng.h"
#include "sim/sim.h"
#include "sim/team.h"
#include "sim/view.h"

#define LANES 32u
#define ALL 0xffffffffull

struct world {
	struct bf_sim *sim;
	struct bf_team *team;
	uint64_t got[LANES][8], when[LANES][8];
};

struct lane {
	struct world *w;
	uint32_t id;
};

typedef void lane_fn(struct world *w, struct bf_agent *a, uint32_t id);

struct program {
	lane_fn *fn;
	struct lane lane[LANES];
};

static void lane_main(struct bf_agent *a, void *arg)
{
	struct lane *l = arg;
	struct program *p = BF_CONTAINER_OF(l - l->id, struct program, lane);

	p->fn(l->w, a, l->id);
}

static enum bf_run_end run(struct world *w, lane_fn *fn)
{
	struct program p = { .fn = fn };

	*w = (struct world){ 0 };
	ck_assert_int_eq(bf_sim_create(1, &w->sim), 0);
	ck_assert_int_eq(bf_team_create(w->sim, LANES, "warp0", &w->team), 0);
	for (uint32_t i = 0; i < LANES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "lane%u", i);
		p.lane[i] = (struct lane){ w, i };
		ck_assert_int_eq(
		    bf_agent_create(
			w->sim, &(struct bf_agent_opts){ .name = name, .main = lane_main, .arg = &p.lane[i] }, NULL),
		    0);
	}
	return bf_sim_run(w->sim, BF_NEVER);
}

static void end(struct world *w)
{
	bf_team_destroy(w->team);
	bf_sim_destroy(w->sim);
}

/* Lanes arrive at different times and bring different values; all leave with the last. */
static void meet(struct world *w, struct bf_agent *a, uint32_t id)
{
	bf_agent_delay(a, 10 * id);
	bf_agent_charge(a, id == 3 ? 5000 : 0); /* ahead of the clock */
	w->got[id][0] = bf_team_shuffle(w->team, a, id, ALL, 100 + id, (id + 1) % LANES);
	w->when[id][0] = bf_agent_now(a);
	w->got[id][1] = bf_team_shuffle(w->team, a, id, ALL, id, 40);
	w->got[id][2] = bf_team_ballot(w->team, a, id, ALL, id % 3 == 0 ? 1ull << 40 : 0);
	bf_agent_charge(a, 7 * id);
	bf_team_sync(w->team, a, id, ALL);
	w->when[id][1] = bf_agent_now(a);
}

START_TEST(all_meet)
{
	struct world w;

	ck_assert_int_eq(run(&w, meet), BF_RUN_IDLE);
	for (uint32_t i = 0; i < LANES; i++) {
		ck_assert_uint_eq(w.got[i][0], 100 + (i + 1) % LANES);
		ck_assert_uint_eq(w.got[i][1], i);
		ck_assert_uint_eq(w.got[i][2], 0x49249249);
		ck_assert_uint_eq(w.when[i][0], 5030);
		ck_assert_uint_eq(w.when[i][1], 5030 + 7 * 31);
	}
	end(&w);
}
END_TEST

/* A warp of two halves that meet among themselves, unequally often; one lane of each stays out until the end. */
static void diverge(struct world *w, struct bf_agent *a, uint32_t id)
{
	const uint64_t half = id < 16 ? 0x7fff : 0x7fff0000;

	if (id % 16 != 15) {
		for (uint32_t i = 0; i < (id < 16 ? 3u : 7u); i++) {
			bf_agent_charge(a, id < 16 ? 1000 : 10);
			w->got[id][i] = bf_team_shuffle(w->team, a, id, half, id + 100 * i, id < 16 ? 0 : 16);
		}
		w->when[id][0] = bf_agent_now(a);
	}
	bf_team_sync(w->team, a, id, ALL);
	w->when[id][1] = bf_agent_now(a);
}

START_TEST(halves_proceed_apart)
{
	struct world w;

	ck_assert_int_eq(run(&w, diverge), BF_RUN_IDLE);
	for (uint32_t i = 0; i < LANES; i++) {
		ck_assert_uint_eq(w.when[i][1], 3000);
		if (i % 16 == 15)
			continue;
		ck_assert_uint_eq(w.when[i][0], i < 16 ? 3000 : 70);
		ck_assert_uint_eq(w.got[i][2], 200 + (i < 16 ? 0 : 16));
		ck_assert_uint_eq(w.got[i][6], i < 16 ? 0 : 616);
	}
	end(&w);
}
END_TEST

/* Different masks over common members, one after the other: pairs, then fours, then all, each lane at its own pace. */
static void butterfly(struct world *w, struct bf_agent *a, uint32_t id)
{
	uint64_t sum = id;

	for (uint32_t step = 1; step < LANES; step *= 2) {
		const uint64_t mask = 1ull << id | 1ull << (id ^ step);

		bf_agent_charge(a, (id * 37 + step * 11) % 101);
		sum += bf_team_shuffle(w->team, a, id, mask, sum, id ^ step);
	}
	w->got[id][0] = sum;
}

START_TEST(pairs_over_pairs)
{
	struct world w;

	ck_assert_int_eq(run(&w, butterfly), BF_RUN_IDLE);
	for (uint32_t i = 0; i < LANES; i++)
		ck_assert_uint_eq(w.got[i][0], LANES * (LANES - 1) / 2);
	end(&w);
}
END_TEST

static void many_rounds(struct world *w, struct bf_agent *a, uint32_t id)
{
	uint64_t x = id;

	for (uint32_t i = 0; i < 100; i++)
		x += bf_team_shuffle(w->team, a, id, ALL, x, (id + i) % LANES) & 0xff;
	w->got[id][0] = x;
}

START_TEST(one_switch_a_lane)
{
	struct world w;

	ck_assert_int_eq(run(&w, many_rounds), BF_RUN_IDLE);
	/* The last lane of each round goes on without leaving; each of the others takes one event. */
	ck_assert_uint_le(w.sim->events, LANES + 100 * (LANES - 1) + LANES);
	end(&w);
}
END_TEST

static void desert(struct world *w, struct bf_agent *a, uint32_t id)
{
	if (id >= 16)
		return;
	if (id != 6)
		bf_team_sync(w->team, a, id, 0xffbf);
	if (id == 5)
		return;
	if (id == 6 || id == 7)
		bf_agent_park(a, "nothing");
	bf_team_sync(w->team, a, id, id == 9 ? 1ull << 9 | 1ull << 40 : id < 8 ? 0xff : 0xff00);
}

START_TEST(missing_members_are_named)
{
	struct world w;
	char text[4096];

	ck_assert_int_eq(run(&w, desert), BF_RUN_DEADLOCK);
	bf_agents_describe(w.sim, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "'lane0' waits for its team 'warp0', mask 0xff, without "
					   "5 (lane5 ended), 6 (never came), 7 (lane7 has not come), since"));
	ck_assert_ptr_nonnull(strstr(text, "'lane8' waits for its team 'warp0', mask 0xff00, without 9 (lane9 is at "
					   "another meeting), since"));
	ck_assert_ptr_nonnull(strstr(text, "'lane9' waits for its team 'warp0', mask 0x10000000200, without "
					   "40 (no such member)"));
	ck_assert_ptr_nonnull(strstr(w.sim->error.text, "'lane0' waits for its team 'warp0', mask 0xff, without 5"));
	end(&w);
}
END_TEST

static void wrong_mask(struct world *w, struct bf_agent *a, uint32_t id)
{
	if (id == 4)
		bf_team_sync(w->team, a, id, 0xf);
}

START_TEST(mask_without_self_stops_the_run)
{
	struct world w;

	ck_assert_int_eq(run(&w, wrong_mask), BF_RUN_STOPPED);
	ck_assert_int_eq(w.sim->error.code, -EINVAL);
	end(&w);
}
END_TEST

/* Lane 0 acts for all, who come and go on at the same times; then one of them is late. */
static void led(struct world *w, struct bf_agent *a, uint32_t id)
{
	bf_agent_charge(a, 70);
	w->got[id][0] = bf_team_lead(w->team, a, id, ALL, true);
	if (!id) {
		for (uint32_t i = 1; i < LANES; i++)
			ck_assert_uint_eq(w->when[i][0], 0);
		bf_agent_delay(a, 500);
		bf_team_lead_end(w->team, id, bf_agent_now(a));
	}
	w->when[id][0] = bf_agent_now(a);
	bf_agent_charge(a, id == 9 ? 30 : 0);
	w->got[id][1] = bf_team_lead(w->team, a, id, ALL, true);
	w->when[id][1] = bf_agent_now(a);
	if (id < 8)
		w->got[id][2] = bf_team_lead(w->team, a, id, 0xff, id != 3);
	w->got[id][3] = bf_team_shuffle(w->team, a, id, ALL, id, 31);
}

START_TEST(one_leads)
{
	struct world w;

	ck_assert_int_eq(run(&w, led), BF_RUN_IDLE);
	for (uint32_t i = 0; i < LANES; i++) {
		ck_assert_uint_eq(w.got[i][0], i ? BF_TEAM_LED : BF_TEAM_LEADS);
		ck_assert_uint_eq(w.when[i][0], 570);
		ck_assert_uint_eq(w.got[i][1], BF_TEAM_APART);
		ck_assert_uint_eq(w.when[i][1], i == 9 ? 600 : 570);
		ck_assert_uint_eq(w.got[i][2], BF_TEAM_APART);
		ck_assert_uint_eq(w.got[i][3], 31);
	}
	end(&w);
}
END_TEST

/* ---- one acts for all: warps whose steps chance to fall together, each lane for itself and one for all ---- */

#define WARPS 4u
#define MEMBERS 8u
#define STEPS 40u
#define SEEN_MAX (WARPS * (STEPS + 1) * 2)

struct seen {
	uint64_t local;
	uint32_t warp, step;
};

struct acting {
	struct bf_sim *sim;
	struct bf_team *team[WARPS];
	struct bf_view *view[WARPS * MEMBERS];
	uint64_t seed;
	enum how { EACH, ACTS, ACTS_ANEW, STANDS } how; /* ANEW: followers give up their stacks */
	bool polls;                                     /* the others look at the clock between */
	struct seen seen[SEEN_MAX];                     /* what leaders did, in its order */
	uint32_t n;
	uint64_t ended[WARPS]
		      [MEMBERS]; /* of the others the time is enough: nobody sees them but by what the leaders do */
};

struct actor {
	struct acting *w;
	uint32_t warp, lane;
	uint32_t round; /* of a follower: where it goes on when it is called anew */
};

/* Of one step of one warp: what the leader spends, waits and spends again, what the others spend; how they meet. */
struct step {
	uint64_t before, wait, behind, others;
	bool fenced;
};

static struct step step_of(const struct acting *w, uint32_t warp, uint32_t i)
{
	struct bf_rng rng;
	struct step s;
	char name[32];

	snprintf(name, sizeof(name), "%u/%u", warp, i);
	bf_rng_init(&rng, w->seed, name);
	s.before = bf_rng_below(&rng, 3) * BF_NS;
	s.wait = bf_rng_below(&rng, 2) * bf_rng_below(&rng, 4) * BF_NS;
	s.behind = bf_rng_below(&rng, 2) * BF_NS;
	s.others = bf_rng_below(&rng, 4) * BF_NS;
	if (s.wait && s.others > s.before + s.wait + s.behind)
		s.others = s.before;
	s.fenced = bf_rng_below(&rng, 2);
	return s;
}

static void note(struct acting *w, struct bf_agent *a, const struct actor *who, uint32_t step)
{
	ck_assert_uint_lt(w->n, SEEN_MAX);
	w->seen[w->n++] = (struct seen){ bf_agent_now(a), who->warp, step };
}

static void leads(struct acting *w, struct bf_agent *a, const struct actor *who, const struct step *s, uint32_t i)
{
	bf_agent_charge(a, s->before);
	if (s->wait)
		bf_agent_delay(a, s->wait);
	note(w, a, who, i);
	bf_agent_charge(a, s->behind);
}

static void each_for_itself(struct acting *w, struct bf_agent *a, const struct actor *who)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		const struct step s = step_of(w, who->warp, i);

		if (who->lane == 0)
			leads(w, a, who, &s, i);
		else
			bf_agent_charge(a, s.others);
		if (who->lane && w->polls && s.before)
			bf_agent_sync(a);
		if (s.fenced)
			bf_fence(a, BF_SCOPE_CTA);
		bf_team_sync(w->team[who->warp], a, who->lane, (1ull << MEMBERS) - 1);
	}
}

static void one_for_all(struct acting *w, struct bf_agent *a, struct actor *who)
{
	struct bf_team *team = w->team[who->warp];

	if (who->lane) {
		who->round++;
		bf_team_follow(team, a, who->lane, (1ull << MEMBERS) - 1, w->how == ACTS_ANEW);
		ck_assert_int_ne(w->how, ACTS_ANEW);
		return;
	}
	bf_team_act(team, a, 0, (1ull << MEMBERS) - 1);
	for (uint32_t i = 0; i < STEPS; i++) {
		const struct step s = step_of(w, who->warp, i);

		leads(w, a, who, &s, i);
		bf_team_act_meet(team, s.others, s.fenced);
		for (uint32_t lane = 1; w->how == ACTS_ANEW && lane < MEMBERS; lane++)
			ck_assert_ptr_null(bf_team_follower(team, lane)->coro);
	}
	bf_team_act_end(team, 0);
}

/* One of those in the middle stands for all of them. */
static void side_by_side(struct acting *w, struct bf_agent *a, const struct actor *who)
{
	struct bf_team *team = w->team[who->warp];

	if (who->lane > 1 && who->lane < MEMBERS - 1) {
		bf_team_stood(team, a, who->lane);
		return;
	}
	if (who->lane == 1)
		bf_team_stand(team, a, 1, (1ull << (MEMBERS - 1)) - 2);
	each_for_itself(w, a, who);
	if (who->lane == 1)
		bf_team_stand_end(team, a);
}

static void actor_main(struct bf_agent *a, void *arg)
{
	struct actor *who = arg;
	struct acting *w = who->w;

	/* What it does behind a round, it does first when it is called anew. */
	if (who->round)
		w->ended[who->warp][who->lane] += bf_agent_now(a);
	for (uint32_t round = who->round; round < 2; round++) {
		if (w->how == ACTS || w->how == ACTS_ANEW)
			one_for_all(w, a, who);
		else if (w->how == STANDS)
			side_by_side(w, a, who);
		else
			each_for_itself(w, a, who);
		if (who->lane)
			w->ended[who->warp][who->lane] += bf_agent_now(a);
		else
			note(w, a, who, STEPS);
	}
}

static void act(struct acting *w, uint64_t seed, enum how how, bool polls)
{
	static const struct bf_cost cost = { .fence_cta = 1000 };
	struct actor actor[WARPS * MEMBERS];

	*w = (struct acting){ .seed = seed, .how = how, .polls = polls };
	ck_assert_int_eq(bf_sim_create(1, &w->sim), 0);
	for (uint32_t i = 0; i < WARPS * MEMBERS; i++) {
		struct bf_agent_opts opts = { .name = "lane", .main = actor_main, .arg = &actor[i] };
		const struct bf_view_opts view = { .ordering = BF_ORDER_SC, .cost = &cost, .name = "lane" };

		if (i % MEMBERS == 0)
			ck_assert_int_eq(bf_team_create(w->sim, MEMBERS, "warp", &w->team[i / MEMBERS]), 0);
		ck_assert_int_eq(bf_view_create(w->sim, &view, &w->view[i]), 0);
		opts.view = w->view[i];
		actor[i] = (struct actor){ w, i / MEMBERS, i % MEMBERS, 0 };
		ck_assert_int_eq(bf_agent_create(w->sim, &opts, NULL), 0);
	}
	ck_assert_int_eq(bf_sim_run(w->sim, BF_NEVER), BF_RUN_IDLE);
	for (uint32_t i = 0; i < WARPS; i++) {
		ck_assert_uint_eq(bf_team_met(w->team[i], 0), 2 * STEPS);
		ck_assert_uint_eq(bf_team_met(w->team[i], 1), 2 * STEPS);
		bf_team_destroy(w->team[i]);
	}
	for (uint32_t i = 0; i < WARPS * MEMBERS; i++)
		bf_view_destroy(w->view[i]);
	bf_sim_destroy(w->sim);
}

static void as_each_for_itself(enum how how, bool polls)
{
	static struct acting apart, together;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		act(&apart, seed, EACH, polls);
		act(&together, seed, how, polls);
		ck_assert_uint_eq(together.n, apart.n);
		ck_assert_mem_eq(together.ended, apart.ended, sizeof(apart.ended));
		for (uint32_t i = 0; i < apart.n; i++) {
			const struct seen *a = &apart.seen[i], *b = &together.seen[i];

			ck_assert_msg(a->local == b->local && a->warp == b->warp && a->step == b->step,
				      "seed %u, %u: %llu ps warp %u step %u, not %llu ps warp %u step %u",
				      (unsigned)seed, i, (unsigned long long)b->local, b->warp, b->step,
				      (unsigned long long)a->local, a->warp, a->step);
		}
	}
}

/* Two lanes in three have run before when one after the other comes to where it needs no stack. */
static void comes_anew(struct world *w, struct bf_agent *a, uint32_t id)
{
	const struct bf_agents *ags = w->sim->agents;

	if (w->got[id][0]++ == 2)
		return;
	if (w->got[id][0] == 1 && id % 3)
		bf_agent_delay(a, 10);
	if (id)
		bf_team_follow(w->team, a, id, ALL, true);
	for (uint32_t round = 0; round < 2; round++) {
		bf_team_act(w->team, a, id, ALL);
		bf_agent_delay(a, 20);
		bf_team_act_meet(w->team, 0, false);
		w->got[id][1 + round] = ags->stacks.count + (ags->quit != NULL);
		bf_team_act_end(w->team, 0);
	}
}

START_TEST(no_stack_is_lost)
{
	const uint32_t waited = LANES - 1 - (LANES - 1) / 3;
	struct world w;

	ck_assert_int_eq(run(&w, comes_anew), BF_RUN_IDLE);
	ck_assert_uint_eq(bf_agents_alive(w.sim), 0);
	for (uint32_t i = 1; i < LANES; i++)
		ck_assert_uint_eq(w.got[i][0], 3);
	ck_assert_uint_eq(w.got[0][1], waited);
	ck_assert_uint_eq(w.got[0][2], waited);
	end(&w);
}
END_TEST

START_TEST(one_acts_for_all)
{
	as_each_for_itself(ACTS, false);
	as_each_for_itself(ACTS_ANEW, false);
}
END_TEST

START_TEST(one_stands_for_its_neighbours)
{
	as_each_for_itself(STANDS, false);
	as_each_for_itself(STANDS, true);
}
END_TEST

START_TEST(sizes)
{
	struct bf_sim *sim;
	struct bf_team *t;

	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_team_create(sim, 0, "none", &t), -EINVAL);
	ck_assert_int_eq(bf_team_create(sim, BF_TEAM_MAX + 1, "many", &t), -EINVAL);
	ck_assert_ptr_null(t);
	ck_assert_int_eq(bf_team_create(sim, BF_TEAM_MAX, "most", &t), 0);
	bf_team_destroy(t);
	bf_sim_destroy(sim);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("team");
	TCase *t = tcase_create("team");
	SRunner *r;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, all_meet);
	tcase_add_test(t, halves_proceed_apart);
	tcase_add_test(t, pairs_over_pairs);
	tcase_add_test(t, one_switch_a_lane);
	tcase_add_test(t, missing_members_are_named);
	tcase_add_test(t, mask_without_self_stops_the_run);
	tcase_add_test(t, one_leads);
	tcase_add_test(t, one_acts_for_all);
	tcase_add_test(t, no_stack_is_lost);
	tcase_add_test(t, one_stands_for_its_neighbours);
	tcase_add_test(t, sizes);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
