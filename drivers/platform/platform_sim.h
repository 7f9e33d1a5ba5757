/*
 * The platform in virtual time: a thread is an agent (sim/agent.h), its stores go through its view (sim/view.h), the
 * lanes of a warp are a team (sim/team.h).
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_SIM_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_SIM_H

#include <assert.h>

#include "drivers/platform/platform.h"
#include "sim/fault.h"
#include "sim/pcie.h"
#include "sim/team.h"
#include "sim/view.h"

#ifdef BF_PLATFORM
#error "one platform a source file"
#endif
#define BF_PLATFORM BF_PLATFORM_SIM

/*
 * Shared by the lanes of a warp. `slot` is where they lay values that more than one sibling reads. While one lane acts
 * for the others (`led`), `followers_ps` is the time that theirs would be.
 */
struct bf_sim_warp {
	struct bf_team *team;
	bool led;
	/* While lane 0 acts for all in the order of each for itself: what the others have spent since they met. */
	bool acts, acts_next; /* the latter: what the first lane to come has found */
	uint32_t come;
	uint64_t others_ps;
	uint32_t stored[BF_LANES], counted[BF_LANES]; /* stores since then; before that, those that views count */
	bool any_stored;
	/* In grids with shared memory (platform_mbarrier_sim.h): lanes for whom another stands; stores of each since.
	 */
	uint32_t stood, stood_stores;
	uint32_t done;
	uint64_t followers_ps;
	uint64_t slot[BF_LANES];
};

struct bf_thread {
	struct bf_agent *agent;
	struct bf_sim_warp *team;
	uint32_t lane, warp, warps, block, blocks;
	uint32_t stall_ns; /* longest stall; 0: never any */
	uint32_t anew;     /* what it said before its kernel was called anew */
	struct bf_rng stalls;
	void *grid; /* its place in a grid that has shared memory (drivers/backend/cluster.h); NULL: there is none */
};

/*
 * A GPU's scheduler may leave a warp where it stands for as long as it likes. Under the weak orderings a lane stalls
 * now and then, by seed, right after an atomic: that is where another thread can slip in between two steps of a
 * protocol. Where somebody chooses, the view asks (sim/view.c).
 */
#define BF_SIM_STALL_PPM 62500u
static BF_ALWAYS_INLINE void bf_sim_stall(struct bf_thread *t)
{
	if (BF_LIKELY(!t->stall_ns))
		return;
	if (BF_LIKELY(!t->agent->sim->chooser) && bf_rng_chance(&t->stalls, BF_SIM_STALL_PPM))
		bf_agent_delay(t->agent, bf_rng_below(&t->stalls, t->stall_ns * BF_NS));
}

BF_STATIC_ASSERT((int)BF_AT_CTA == (int)BF_SCOPE_CTA && (int)BF_AT_GPU == (int)BF_SCOPE_GPU &&
		     (int)BF_AT_SYS == (int)BF_SCOPE_SYS,
		 "the platform's scopes are the view's");

static BF_ALWAYS_INLINE uint32_t bf_lane(const struct bf_thread *t)
{
	return t->lane;
}
static BF_ALWAYS_INLINE uint32_t bf_warp(const struct bf_thread *t)
{
	return t->warp;
}
static BF_ALWAYS_INLINE uint32_t bf_warps(const struct bf_thread *t)
{
	return t->warps;
}
static BF_ALWAYS_INLINE uint32_t bf_block(const struct bf_thread *t)
{
	return t->block;
}
static BF_ALWAYS_INLINE uint32_t bf_blocks(const struct bf_thread *t)
{
	return t->blocks;
}

#define BF_SIM_LOADS(bits)                                                                                             \
	static BF_ALWAYS_INLINE uint##bits##_t bf_ld_weak##bits(struct bf_thread *t, const void *p)                    \
	{                                                                                                              \
		uint##bits##_t v;                                                                                      \
		bf_load(t->agent, p, &v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);                                            \
		return v;                                                                                              \
	}                                                                                                              \
	static BF_ALWAYS_INLINE uint##bits##_t bf_ld_relaxed##bits(struct bf_thread *t, const void *p,                 \
								   enum bf_thread_scope scope)                         \
	{                                                                                                              \
		uint##bits##_t v;                                                                                      \
		bf_load(t->agent, p, &v, sizeof(v), BF_RELAXED, (enum bf_scope)scope);                                 \
		return v;                                                                                              \
	}                                                                                                              \
	static BF_ALWAYS_INLINE uint##bits##_t bf_ld_acquire##bits(struct bf_thread *t, const void *p,                 \
								   enum bf_thread_scope scope)                         \
	{                                                                                                              \
		uint##bits##_t v;                                                                                      \
		bf_load(t->agent, p, &v, sizeof(v), BF_ACQUIRE, (enum bf_scope)scope);                                 \
		return v;                                                                                              \
	}                                                                                                              \
	static BF_ALWAYS_INLINE void bf_st_relaxed##bits(struct bf_thread *t, void *p, uint##bits##_t v,               \
							 enum bf_thread_scope scope)                                   \
	{                                                                                                              \
		bf_store(t->agent, p, &v, sizeof(v), BF_RELAXED, (enum bf_scope)scope);                                \
	}                                                                                                              \
	static BF_ALWAYS_INLINE void bf_st_release##bits(struct bf_thread *t, void *p, uint##bits##_t v,               \
							 enum bf_thread_scope scope)                                   \
	{                                                                                                              \
		bf_store(t->agent, p, &v, sizeof(v), BF_RELEASE, (enum bf_scope)scope);                                \
	}

BF_SIM_LOADS(32)
BF_SIM_LOADS(64)

/* For the simulating processor's caches alone: a simulated thread pays for what it loads. */
static BF_ALWAYS_INLINE void bf_prefetch(struct bf_thread *t, const void *p)
{
	(void)t;
	__builtin_prefetch(p, 1);
}

static BF_ALWAYS_INLINE struct bf_vec128 bf_ld_weak128(struct bf_thread *t, const void *p)
{
	struct bf_vec128 v;

	bf_load(t->agent, p, &v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);
	return v;
}

/* Its latency overlaps with that of the load before: only its issue costs time, as much as that of a store. */
static BF_ALWAYS_INLINE struct bf_vec128 bf_ld_beside128(struct bf_thread *t, const void *p)
{
	struct bf_vec128 v;

	bf_agent_charge(t->agent, t->agent->view->cost->store);
	if (BF_UNLIKELY(t->agent->sim->slow))
		bf_load_slow(t->agent, p, &v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);
	else
		memcpy(&v, p, sizeof(v));
	return v;
}

static BF_ALWAYS_INLINE void bf_st_weak8(struct bf_thread *t, void *p, uint8_t v)
{
	bf_store(t->agent, p, &v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);
}
static BF_ALWAYS_INLINE void bf_st_weak16(struct bf_thread *t, void *p, uint16_t v)
{
	bf_store(t->agent, p, &v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);
}
static BF_ALWAYS_INLINE void bf_st_weak32(struct bf_thread *t, void *p, uint32_t v)
{
	bf_store(t->agent, p, &v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);
}
static BF_ALWAYS_INLINE void bf_st_weak64(struct bf_thread *t, void *p, uint64_t v)
{
	bf_store(t->agent, p, &v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);
}
static BF_ALWAYS_INLINE void bf_st_weak128(struct bf_thread *t, void *p, struct bf_vec128 v)
{
	bf_store(t->agent, p, &v, sizeof(v), BF_WEAK, BF_SCOPE_CTA);
}

static BF_ALWAYS_INLINE void bf_fence_at(struct bf_thread *t, enum bf_thread_scope scope)
{
	bf_fence(t->agent, (enum bf_scope)scope);
}
static BF_ALWAYS_INLINE void bf_fence_cta(struct bf_thread *t)
{
	bf_fence_at(t, BF_AT_CTA);
}
static BF_ALWAYS_INLINE void bf_fence_gpu(struct bf_thread *t)
{
	bf_fence_at(t, BF_AT_GPU);
}
static BF_ALWAYS_INLINE void bf_fence_sys(struct bf_thread *t)
{
	bf_fence_at(t, BF_AT_SYS);
}

#define BF_SIM_ATOMIC(name, bits, op)                                                                                  \
	static BF_ALWAYS_INLINE uint##bits##_t bf_atomic_##name##bits(struct bf_thread *t, void *p, uint##bits##_t v,  \
								      enum bf_thread_scope scope)                      \
	{                                                                                                              \
		const uint64_t old = bf_atomic(t->agent, p, bits / 8, op, v, 0, BF_RELAXED, (enum bf_scope)scope);     \
                                                                                                                       \
		bf_sim_stall(t);                                                                                       \
		return (uint##bits##_t)old;                                                                            \
	}
#define BF_SIM_CAS(bits)                                                                                               \
	static BF_ALWAYS_INLINE uint##bits##_t bf_atomic_cas##bits(                                                    \
	    struct bf_thread *t, void *p, uint##bits##_t expected, uint##bits##_t desired, enum bf_thread_scope scope) \
	{                                                                                                              \
		const uint64_t old = bf_atomic(t->agent, p, bits / 8, BF_ATOMIC_CAS, desired, expected, BF_RELAXED,    \
					       (enum bf_scope)scope);                                                  \
                                                                                                                       \
		if (old == expected)                                                                                   \
			bf_sim_stall(t);                                                                               \
		return (uint##bits##_t)old;                                                                            \
	}

static BF_ALWAYS_INLINE uint64_t bf_atomic_max_acquire64(struct bf_thread *t, void *p, uint64_t v,
							 enum bf_thread_scope scope)
{
	const uint64_t old = bf_atomic(t->agent, p, 8, BF_ATOMIC_MAX, v, 0, BF_ACQUIRE, (enum bf_scope)scope);

	bf_sim_stall(t);
	return old;
}

BF_SIM_ATOMIC(add, 32, BF_ATOMIC_ADD)
BF_SIM_ATOMIC(add, 64, BF_ATOMIC_ADD)
BF_SIM_ATOMIC(max, 32, BF_ATOMIC_MAX)
BF_SIM_ATOMIC(max, 64, BF_ATOMIC_MAX)
BF_SIM_ATOMIC(exch, 32, BF_ATOMIC_EXCH)
BF_SIM_ATOMIC(exch, 64, BF_ATOMIC_EXCH)
BF_SIM_CAS(32)
BF_SIM_CAS(64)

static BF_ALWAYS_INLINE void bf_mmio_st64(struct bf_thread *t, void *p, uint64_t v)
{
	bf_mmio_store(t->agent, p, &v, sizeof(v), BF_RELAXED);
}

static BF_ALWAYS_INLINE void bf_mmio_st32(struct bf_thread *t, void *p, uint32_t v)
{
	bf_mmio_store(t->agent, p, &v, sizeof(v), BF_RELAXED);
}

static BF_ALWAYS_INLINE uint32_t bf_mmio_ld32(struct bf_thread *t, const void *p)
{
	return (uint32_t)bf_mmio_read(t->agent, p, sizeof(uint32_t));
}
static BF_ALWAYS_INLINE uint64_t bf_mmio_ld64(struct bf_thread *t, const void *p)
{
	return bf_mmio_read(t->agent, p, sizeof(uint64_t));
}

/* A lane that meets only itself need not bother the team. */
static BF_ALWAYS_INLINE int bf_sim_alone(const struct bf_thread *t, uint32_t mask)
{
	return mask == 1u << t->lane;
}

/*
 * A lane acts for its warp only where this cannot be observed: not while accesses are recorded or choices are made. And
 * only for lanes whose buffers are empty, since their fences are not executed.
 */
static BF_ALWAYS_INLINE int bf_lead_goes_on(const struct bf_thread *t)
{
	const struct bf_sim *sim = t->agent->sim;

	return !bf_probe(sim, BF_CLASS_MEM | BF_CLASS_WHERE) && !sim->chooser && !sim->graph;
}

static BF_ALWAYS_INLINE enum bf_led bf_lead(struct bf_thread *t, uint32_t mask, uint32_t *done)
{
	enum bf_team_led led;

	if (!bf_lead_goes_on(t) || bf_sim_alone(t, mask))
		return BF_APART;
	led = bf_team_lead(t->team->team, t->agent, t->lane, mask,
			   !(mask & ((1u << t->lane) - 1)) || !bf_view_ready(t->agent->view));
	if (led == BF_TEAM_LEADS) {
		t->team->led = true;
		t->team->followers_ps = bf_agent_now(t->agent);
		return BF_LEADS;
	}
	*done = t->team->done;
	return led == BF_TEAM_LED ? BF_LED : BF_APART;
}

static BF_ALWAYS_INLINE void bf_lead_end(struct bf_thread *t, uint32_t mask, uint32_t done)
{
	(void)mask;
	assert(t->team->followers_ps == bf_agent_now(t->agent));
	t->team->led = false;
	t->team->done = done;
	bf_team_lead_end(t->team->team, t->lane, t->team->followers_ps);
}

/* Where nobody can tell, as above, and no store waits in any buffer: its order is memory's. */
static inline int bf_sim_may_act(const struct bf_thread *t)
{
	const struct bf_sim *sim = t->agent->sim;

	return bf_lead_goes_on(t) && t->agent->view->ordering == BF_ORDER_SC && !(sim->slow & ~BF_SLOW_WATCH) &&
	       !(sim->faults && bf_fault_plan_weakens(sim->faults));
}

static inline enum bf_led bf_act(struct bf_thread *t, uint32_t next)
{
	struct bf_sim_warp *w = t->team;

	if (w->come == 0)
		w->acts_next = bf_sim_may_act(t);
	w->come = (w->come + 1) % BF_LANES;
	if (!w->acts_next)
		return BF_APART;
	if (t->lane) {
		t->anew = next;
		bf_team_follow(w->team, t->agent, t->lane, BF_FULL_WARP, next != 0);
		return BF_LED;
	}
	w->acts = true;
	w->others_ps = 0;
	bf_team_act(w->team, t->agent, 0, BF_FULL_WARP);
	return BF_LEADS;
}

static BF_ALWAYS_INLINE uint32_t bf_anew(const struct bf_thread *t)
{
	return t->anew;
}

static BF_ALWAYS_INLINE int bf_acts(const struct bf_thread *t)
{
	return t->team->acts && t->lane == 0;
}

/* What the others have stored since they met: views count it, or not. */
static inline void bf_sim_stores_end(struct bf_sim_warp *w, bool counted)
{
	for (uint32_t i = 0; w->any_stored && i < BF_LANES; i++) {
		w->counted[i] += counted ? w->stored[i] : 0;
		w->stored[i] = 0;
	}
	w->any_stored = false;
}

static inline void bf_act_end(struct bf_thread *t)
{
	struct bf_sim_warp *w = t->team;

	bf_sim_stores_end(w, t->agent->sim->slow != 0);
	for (uint32_t i = 1; i < BF_LANES; i++) {
		bf_view_stored(bf_team_follower(w->team, i), w->counted[i]);
		w->counted[i] = 0;
	}
	w->acts = false;
	bf_team_act_end(w->team, w->others_ps);
}

static inline void bf_act_pay(struct bf_thread *t, uint32_t loads, uint32_t stores, uint32_t others_loads,
			      uint32_t others_stores)
{
	const struct bf_cost *c = t->agent->view->cost;

	bf_agent_charge(t->agent, loads * c->load + stores * c->store);
	t->team->others_ps += others_loads * c->load + others_stores * c->store;
}

static inline void bf_act_stored(struct bf_thread *t, const void *p, uint64_t len, uint64_t n)
{
	struct bf_sim *sim = t->agent->sim;
	struct bf_sim_warp *w = t->team;

	w->any_stored = true;
	for (uint32_t i = 0; i < BF_LANES; i++)
		w->stored[i] += (uint32_t)((n + BF_LANES - 1 - i) / BF_LANES);
	if (!sim->slow)
		return;
	bf_view_stored(t->agent, (n + BF_LANES - 1) / BF_LANES);
	bf_agents_touched(sim, p, len);
}

static inline void bf_act_stored_by(struct bf_thread *t, uint32_t lane, const void *p, uint64_t len)
{
	t->team->any_stored = true;
	t->team->stored[lane]++;
	if (t->agent->sim->slow)
		bf_agents_touched(t->agent->sim, p, len);
}

static inline void bf_act_as(struct bf_thread *t, uint32_t lane, struct bf_thread *as)
{
	as->lane = lane;
	as->agent = bf_team_follower(t->team->team, lane);
}

static BF_ALWAYS_INLINE uint32_t bf_ld_warp32(struct bf_thread *t, const void *p)
{
	if (BF_UNLIKELY(bf_acts(t)))
		t->team->others_ps += t->agent->view->cost->load;
	return bf_ld_weak32(t, p);
}
static BF_ALWAYS_INLINE uint64_t bf_ld_warp64(struct bf_thread *t, const void *p)
{
	if (BF_UNLIKELY(bf_acts(t)))
		t->team->others_ps += t->agent->view->cost->load;
	return bf_ld_weak64(t, p);
}

static inline void bf_sim_meet_acted(struct bf_thread *t, bool fenced)
{
	const uint64_t spent_ps = t->team->others_ps;

	t->team->others_ps = 0;
	bf_sim_stores_end(t->team, bf_team_act_meet(t->team->team, spent_ps, fenced));
}

/* The leader meets those whom it leads: whoever is early waits. */
static BF_ALWAYS_INLINE void bf_sim_meet_led(struct bf_thread *t)
{
	const uint64_t now_ps = bf_agent_now(t->agent);

	if (t->team->followers_ps > now_ps)
		bf_agent_charge(t->agent, t->team->followers_ps - now_ps);
	else
		t->team->followers_ps = now_ps;
}

/* CUDA C++ Programming Guide, "__syncwarp": memory ordering among the participating threads. They share a block. */
static BF_ALWAYS_INLINE void bf_warp_sync(struct bf_thread *t, uint32_t mask)
{
	if (bf_sim_alone(t, mask))
		return;
	if (bf_acts(t)) {
		bf_sim_meet_acted(t, true);
		return;
	}
	bf_fence_cta(t);
	if (t->team->led) {
		t->team->followers_ps += t->agent->view->cost->fence_cta;
		bf_sim_meet_led(t);
		return;
	}
	bf_team_sync(t->team->team, t->agent, t->lane, mask);
}

static BF_ALWAYS_INLINE uint64_t bf_shfl64(struct bf_thread *t, uint32_t mask, uint64_t v, uint32_t src)
{
	if (bf_sim_alone(t, mask))
		return v;
	if (bf_acts(t)) {
		bf_sim_meet_acted(t, false);
		return v;
	}
	if (t->team->led) {
		bf_sim_meet_led(t);
		return v;
	}
	return bf_team_shuffle(t->team->team, t->agent, t->lane, mask, v, src);
}

static BF_ALWAYS_INLINE uint32_t bf_shfl32(struct bf_thread *t, uint32_t mask, uint32_t v, uint32_t src)
{
	return (uint32_t)bf_shfl64(t, mask, v, src);
}

static BF_ALWAYS_INLINE uint32_t bf_ballot(struct bf_thread *t, uint32_t mask, int predicate)
{
	if (bf_sim_alone(t, mask))
		return predicate ? mask : 0;
	if (bf_acts(t)) {
		bf_sim_meet_acted(t, false);
		return predicate ? mask : 0;
	}
	if (t->team->led) {
		bf_sim_meet_led(t);
		return predicate ? mask : 0;
	}
	return (uint32_t)bf_team_ballot(t->team->team, t->agent, t->lane, mask, predicate != 0);
}

/* The second meeting keeps a fast lane from laying its next value over one that a sibling has yet to read. */
static BF_ALWAYS_INLINE uint32_t bf_match64(struct bf_thread *t, uint32_t mask, uint64_t v)
{
	uint32_t same = 0;

	if (bf_sim_alone(t, mask))
		return mask;
	if (bf_acts(t)) {
		bf_sim_meet_acted(t, false);
		bf_sim_meet_acted(t, false);
		return mask;
	}
	if (t->team->led) {
		bf_sim_meet_led(t);
		return mask;
	}
	t->team->slot[t->lane] = v;
	bf_team_sync(t->team->team, t->agent, t->lane, mask);
	for (uint32_t i = 0; i < BF_LANES; i++)
		if (mask >> i & 1 && t->team->slot[i] == v)
			same |= 1u << i;
	bf_team_sync(t->team->team, t->agent, t->lane, mask);
	return same;
}

static BF_ALWAYS_INLINE void bf_spin(struct bf_thread *t, const void *addr, const char *what)
{
	bf_agent_wait(t->agent, &addr, 1, BF_NEVER, t->agent->view->cost->poll, what);
}

static BF_ALWAYS_INLINE void bf_spin2(struct bf_thread *t, const void *a, const void *b, const char *what)
{
	const void *const lines[2] = { a, b };

	bf_agent_wait(t->agent, lines, 2, BF_NEVER, t->agent->view->cost->poll, what);
}

static BF_ALWAYS_INLINE uint64_t bf_clock_ns(const struct bf_thread *t)
{
	return bf_agent_now(t->agent) / BF_NS;
}

static BF_ALWAYS_INLINE void bf_spin2_until(struct bf_thread *t, const void *a, const void *b, uint64_t ns,
					    const char *what)
{
	const void *const lines[2] = { a, b };
	const uint64_t now_ps = bf_agent_now(t->agent);

	if (now_ps < ns * BF_NS)
		bf_agent_wait(t->agent, lines, a == b ? 1 : 2, ns * BF_NS - now_ps, t->agent->view->cost->poll, what);
}

static BF_ALWAYS_INLINE void bf_pause(struct bf_thread *t, uint32_t ns)
{
	bf_agent_delay(t->agent, ns * BF_NS);
}

static inline uint64_t bf_record_va(const struct bf_thread *t, const void *p)
{
	struct bf_region *r = bf_space_find_host(t->agent->view->space, p);

	return r ? bf_va(r, p) : 0;
}

#define BF_DRIVER_RECORD(t, type, ...) BF_EMIT((t)->agent->sim, (t)->agent->actor, type, __VA_ARGS__)

#endif
