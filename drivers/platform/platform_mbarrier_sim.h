/*
 * Hopper's primitives in virtual time: each is one request to whoever runs the blocks (drivers/backend/cluster.h),
 * which bf_trial_launch_grid() starts.
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_SIM_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_SIM_H

#include "drivers/platform/platform_mbarrier.h"
#include "drivers/platform/platform_sim.h"
#include "sim/compiler.h"

enum bf_bar_op {
	BF_BAR_INIT,
	BF_BAR_INVAL,
	BF_BAR_ARRIVE,
	BF_BAR_DROP,
	BF_BAR_EXPECT_TX,
	BF_BAR_COMPLETE_TX,
	BF_BAR_TEST_PARITY,
	BF_BAR_TEST_TOKEN,
	BF_BAR_TRY_PARITY,
	BF_BAR_TRY_TOKEN,
};

enum bf_bar_sem { BF_BAR_RELAXED, BF_BAR_CTA, BF_BAR_CLUSTER };

struct bf_bar_request {
	enum bf_bar_op op;
	enum bf_bar_sem sem; /* release of arrivals, acquire of waits that are over */
	uint32_t bar;
	uint32_t count; /* or parity */
	uint32_t tx;
	uint64_t token;
	uint32_t result_wanted; /* the caller uses the token */
};

enum bf_async_op {
	BF_ASYNC_BULK_LOAD,
	BF_ASYNC_BULK_SEND,
	BF_ASYNC_BULK_STORE,
	BF_ASYNC_BULK_COMMIT,
	BF_ASYNC_BULK_WAIT,
	BF_ASYNC_BULK_WAIT_READ,
	BF_ASYNC_PROXY_FENCE,
	BF_ASYNC_LOAD16,
	BF_ASYNC_COMMIT,
	BF_ASYNC_WAIT,
	BF_ASYNC_ARRIVE,
	BF_ASYNC_ARRIVE_NOINC,
};

struct bf_async_request {
	enum bf_async_op op;
	void *global;
	uint32_t shared; /* the end in own shared memory */
	uint32_t peer;   /* SEND: the other end */
	uint32_t bar;
	uint32_t bytes; /* or groups that may be left */
	uint32_t ranks; /* BULK_LOAD: multicast mask; 0: own block only */
};

BF_API_BEGIN

uint64_t bf_sim_cluster_mbar(struct bf_thread *t, const struct bf_bar_request *r);
void bf_sim_cluster_async(struct bf_thread *t, const struct bf_async_request *r);
void bf_sim_cluster_init_fence(struct bf_thread *t);
void bf_sim_cluster_label(struct bf_thread *t, uint32_t bar, const struct bf_bar_label *label);
void bf_sim_cluster_shared_load(struct bf_thread *t, uint32_t address, void *to, uint32_t len);
void bf_sim_cluster_shared_store(struct bf_thread *t, uint32_t address, const void *from, uint32_t len);
void bf_sim_cluster_shared_load_row(struct bf_thread *t, uint32_t address, struct bf_vec128 *to, uint32_t n);
void bf_sim_cluster_shared_store_row(struct bf_thread *t, uint32_t address, const struct bf_vec128 *from, uint32_t n);
void bf_sim_cluster_meet(struct bf_thread *t, uint32_t id, uint32_t threads); /* id 0: the whole block */
void bf_sim_cluster_cluster_arrive(struct bf_thread *t);
void bf_sim_cluster_cluster_wait(struct bf_thread *t);
uint32_t bf_sim_cluster_rank(const struct bf_thread *t);
uint32_t bf_sim_cluster_ranks(const struct bf_thread *t);
void *bf_sim_cluster_pointer(const struct bf_thread *t, uint32_t a);
uint32_t bf_sim_cluster_alive(const struct bf_thread *t);

BF_API_END

static inline uint64_t bf_bar_ask(struct bf_thread *t, enum bf_bar_op op, enum bf_bar_sem sem, uint32_t bar,
				  uint32_t count, uint32_t tx, uint64_t token, uint32_t result_wanted)
{
	const struct bf_bar_request r = { op, sem, bar, count, tx, token, result_wanted };

	return bf_sim_cluster_mbar(t, &r);
}
static inline void bf_async_ask(struct bf_thread *t, enum bf_async_op op, void *global, uint32_t shared, uint32_t peer,
				uint32_t bar, uint32_t bytes, uint32_t ranks)
{
	const struct bf_async_request r = { op, global, shared, peer, bar, bytes, ranks };

	bf_sim_cluster_async(t, &r);
}

/* Addresses are as the Hopper model has them: the rank in bits 31:24. */
#define BF_SHARED_RANK_SHIFT 24
static inline uint32_t bf_rank(const struct bf_thread *t)
{
	return bf_sim_cluster_rank(t);
}
static inline uint32_t bf_ranks(const struct bf_thread *t)
{
	return bf_sim_cluster_ranks(t);
}
static inline uint32_t bf_shared_base(const struct bf_thread *t)
{
	return bf_rank(t) << BF_SHARED_RANK_SHIFT;
}
static inline uint32_t bf_shared_map(const struct bf_thread *t, uint32_t a, uint32_t rank)
{
	(void)t;
	return (a & ((1u << BF_SHARED_RANK_SHIFT) - 1)) | rank << BF_SHARED_RANK_SHIFT;
}

/* Of the simulation alone: what stands at `a` as a pointer, for loads and stores through a view; NULL: past the end. */
static inline void *bf_shared_ptr(const struct bf_thread *t, uint32_t a)
{
	return bf_sim_cluster_pointer(t, a);
}
/* And the lanes of the warp that have not ended. */
static inline uint32_t bf_warp_alive(const struct bf_thread *t)
{
	return bf_sim_cluster_alive(t);
}

static inline uint32_t bf_shared_ld32(struct bf_thread *t, uint32_t a)
{
	uint32_t v;

	bf_sim_cluster_shared_load(t, a, &v, sizeof(v));
	return v;
}
static inline uint64_t bf_shared_ld64(struct bf_thread *t, uint32_t a)
{
	uint64_t v;

	bf_sim_cluster_shared_load(t, a, &v, sizeof(v));
	return v;
}
static inline struct bf_vec128 bf_shared_ld128(struct bf_thread *t, uint32_t a)
{
	struct bf_vec128 v;

	bf_sim_cluster_shared_load(t, a, &v, sizeof(v));
	return v;
}
static inline void bf_shared_st32(struct bf_thread *t, uint32_t a, uint32_t v)
{
	bf_sim_cluster_shared_store(t, a, &v, sizeof(v));
}
static inline void bf_shared_st64(struct bf_thread *t, uint32_t a, uint64_t v)
{
	bf_sim_cluster_shared_store(t, a, &v, sizeof(v));
}
static inline void bf_shared_st128(struct bf_thread *t, uint32_t a, struct bf_vec128 v)
{
	bf_sim_cluster_shared_store(t, a, &v, sizeof(v));
}

/* ---- lanes that do the same ---- */

/*
 * The first and the last lane of a warp are not among those for whom one stands: the first does things of its own, and
 * the last is who comes last to a meeting. That is where the order of events shows.
 */
#define BF_STAND_IN 1u
#define BF_STANDS_FOR 0x7ffffffeu /* itself among them */
#define BF_ROW 30u

/* As for bf_act(), but shared memory may lie behind its cache; and not where waits of each lane are recorded. */
static inline bool bf_sim_may_stand(const struct bf_thread *t)
{
	const struct bf_sim *sim = t->agent->sim;

	return bf_lead_goes_on(t) && t->agent->view->ordering == BF_ORDER_SC &&
	       !(sim->slow & ~(BF_SLOW_WATCH | BF_SLOW_CACHE)) && !sim->faults && !bf_probe(sim, BF_CLASS_AGENT);
}

static inline enum bf_led bf_stand(struct bf_thread *t)
{
	struct bf_sim_warp *w = t->team;

	if (w->come == 0)
		w->acts_next = bf_sim_may_stand(t);
	w->come = (w->come + 1) % BF_LANES;
	if (!w->acts_next || !(BF_STANDS_FOR >> t->lane & 1))
		return BF_APART;
	if (t->lane != BF_STAND_IN) {
		bf_team_stood(w->team, t->agent, t->lane);
		return BF_LED;
	}
	w->stood = BF_STANDS_FOR & ~(1u << BF_STAND_IN);
	bf_team_stand(w->team, t->agent, BF_STAND_IN, BF_STANDS_FOR);
	return BF_LEADS;
}
static inline void bf_stand_end(struct bf_thread *t)
{
	if (t->lane != BF_STAND_IN || !t->team->stood)
		return;
	for (uint32_t left = t->team->stood; left; left &= left - 1)
		bf_view_stored(bf_team_follower(t->team->team, (uint32_t)__builtin_ctz(left)), t->team->stood_stores);
	t->team->stood = t->team->stood_stores = 0;
	bf_team_stand_end(t->team->team, t->agent);
}
/* The lanes whose requests this one makes. */
static inline uint32_t bf_sim_stands_for(const struct bf_thread *t)
{
	return t->lane == BF_STAND_IN && t->team->stood ? BF_STANDS_FOR : 1u << t->lane;
}
static inline uint32_t bf_row(const struct bf_thread *t)
{
	return t->lane == BF_STAND_IN && t->team->stood ? BF_ROW : 1;
}
static inline void bf_shared_ld_row(struct bf_thread *t, uint32_t a, struct bf_vec128 *v)
{
	bf_sim_cluster_shared_load_row(t, a, v, bf_row(t));
}
static inline void bf_shared_st_row(struct bf_thread *t, uint32_t a, const struct bf_vec128 *v)
{
	bf_sim_cluster_shared_store_row(t, a, v, bf_row(t));
}

static inline void bf_block_sync(struct bf_thread *t)
{
	bf_sim_cluster_meet(t, 0, 0);
}
static inline void bf_named_sync(struct bf_thread *t, uint32_t id, uint32_t threads)
{
	bf_sim_cluster_meet(t, id, threads);
}
static inline void bf_cluster_arrive(struct bf_thread *t)
{
	bf_sim_cluster_cluster_arrive(t);
}
static inline void bf_cluster_wait(struct bf_thread *t)
{
	bf_sim_cluster_cluster_wait(t);
}
static inline void bf_cluster_sync(struct bf_thread *t)
{
	bf_cluster_arrive(t);
	bf_cluster_wait(t);
}

static inline void bf_peer_st32(struct bf_thread *t, uint32_t c, uint32_t v)
{
	bf_sim_cluster_shared_store(t, c, &v, sizeof(v));
}

/* ---- barriers ---- */

static inline void bf_bar_init(struct bf_thread *t, uint32_t a, uint32_t count)
{
	bf_bar_ask(t, BF_BAR_INIT, BF_BAR_RELAXED, a, count, 0, 0, 0);
}
static inline void bf_bar_inval(struct bf_thread *t, uint32_t a)
{
	bf_bar_ask(t, BF_BAR_INVAL, BF_BAR_RELAXED, a, 0, 0, 0, 0);
}
/* No instruction (ptxas 13.0 emits none): the cluster barrier behind it waits for the inits. */
static inline void bf_bar_init_fence(struct bf_thread *t)
{
	bf_sim_cluster_init_fence(t);
}

static inline void bf_bar_arrive(struct bf_thread *t, uint32_t a, uint32_t n)
{
	bf_bar_ask(t, BF_BAR_ARRIVE, BF_BAR_CTA, a, n, 0, 0, 0);
}
static inline void bf_bar_arrive_relaxed(struct bf_thread *t, uint32_t c, uint32_t n)
{
	bf_bar_ask(t, BF_BAR_ARRIVE, BF_BAR_RELAXED, c, n, 0, 0, 0);
}
static inline void bf_bar_arrive_cluster(struct bf_thread *t, uint32_t c, uint32_t n)
{
	bf_bar_ask(t, BF_BAR_ARRIVE, BF_BAR_CLUSTER, c, n, 0, 0, 0);
}
static inline void bf_bar_arrive_tx(struct bf_thread *t, uint32_t a, uint32_t bytes)
{
	bf_bar_ask(t, BF_BAR_ARRIVE, BF_BAR_CTA, a, 1, bytes, 0, 0);
}
static inline void bf_bar_arrive_tx_cluster(struct bf_thread *t, uint32_t c, uint32_t bytes)
{
	bf_bar_ask(t, BF_BAR_ARRIVE, BF_BAR_CLUSTER, c, 1, bytes, 0, 0);
}
static inline uint64_t bf_bar_arrive_token(struct bf_thread *t, uint32_t a, uint32_t n)
{
	return bf_bar_ask(t, BF_BAR_ARRIVE, BF_BAR_CTA, a, n, 0, 0, 1);
}
static inline uint64_t bf_bar_arrive_tx_token(struct bf_thread *t, uint32_t a, uint32_t bytes)
{
	return bf_bar_ask(t, BF_BAR_ARRIVE, BF_BAR_CTA, a, 1, bytes, 0, 1);
}
static inline uint64_t bf_bar_drop_token(struct bf_thread *t, uint32_t a, uint32_t n)
{
	return bf_bar_ask(t, BF_BAR_DROP, BF_BAR_CTA, a, n, 0, 0, 1);
}
static inline void bf_bar_expect_tx(struct bf_thread *t, uint32_t c, uint32_t bytes)
{
	bf_bar_ask(t, BF_BAR_EXPECT_TX, BF_BAR_RELAXED, c, 0, bytes, 0, 0);
}
static inline void bf_bar_complete_tx(struct bf_thread *t, uint32_t c, uint32_t bytes)
{
	bf_bar_ask(t, BF_BAR_COMPLETE_TX, BF_BAR_RELAXED, c, 0, bytes, 0, 0);
}
static inline int bf_bar_test(struct bf_thread *t, uint32_t a, uint32_t parity)
{
	return (int)bf_bar_ask(t, BF_BAR_TEST_PARITY, BF_BAR_CTA, a, parity, 0, 0, 0);
}
static inline int bf_bar_test_token(struct bf_thread *t, uint32_t a, uint64_t token)
{
	return (int)bf_bar_ask(t, BF_BAR_TEST_TOKEN, BF_BAR_CTA, a, 0, 0, token, 0);
}
static inline int bf_bar_try(struct bf_thread *t, uint32_t a, uint32_t parity)
{
	return (int)bf_bar_ask(t, BF_BAR_TRY_PARITY, BF_BAR_CTA, a, parity, 0, 0, 0);
}
static inline int bf_bar_try_cluster(struct bf_thread *t, uint32_t a, uint32_t parity)
{
	return (int)bf_bar_ask(t, BF_BAR_TRY_PARITY, BF_BAR_CLUSTER, a, parity, 0, 0, 0);
}
static inline int bf_bar_try_token(struct bf_thread *t, uint32_t a, uint64_t token)
{
	return (int)bf_bar_ask(t, BF_BAR_TRY_TOKEN, BF_BAR_CTA, a, 0, 0, token, 0);
}
/* Bits 62:43 hold minus the count (models/hopper/prm.h). Of a token with zero there an H200 says 2^20. */
static inline uint32_t bf_bar_pending_count(struct bf_thread *t, uint64_t token)
{
	(void)t;
	return 0x100000u - ((uint32_t)(token >> 43) & 0xfffffu);
}
static inline void bf_bar_label(struct bf_thread *t, uint32_t a, struct bf_bar_label label)
{
	bf_sim_cluster_label(t, a, &label);
}

/* ---- asynchronous copies ---- */

static inline void bf_tma_load(struct bf_thread *t, uint32_t a, const void *global, uint32_t bytes, uint32_t bar)
{
	bf_async_ask(t, BF_ASYNC_BULK_LOAD, (void *)(uintptr_t)global, a, 0, bar, bytes, 0);
}
static inline void bf_tma_load_all(struct bf_thread *t, uint32_t a, const void *global, uint32_t bytes, uint32_t bar,
				   uint32_t ranks)
{
	bf_async_ask(t, BF_ASYNC_BULK_LOAD, (void *)(uintptr_t)global, a, 0, bar, bytes, ranks);
}
static inline void bf_tma_send(struct bf_thread *t, uint32_t c, uint32_t a, uint32_t bytes, uint32_t bar)
{
	bf_async_ask(t, BF_ASYNC_BULK_SEND, NULL, a, c, bar, bytes, 0);
}
static inline void bf_tma_store(struct bf_thread *t, void *global, uint32_t a, uint32_t bytes)
{
	bf_async_ask(t, BF_ASYNC_BULK_STORE, global, a, 0, 0, bytes, 0);
}
static inline void bf_tma_commit(struct bf_thread *t)
{
	bf_async_ask(t, BF_ASYNC_BULK_COMMIT, NULL, 0, 0, 0, 0, 0);
}
static inline void bf_tma_wait(struct bf_thread *t, uint32_t n)
{
	bf_async_ask(t, BF_ASYNC_BULK_WAIT, NULL, 0, 0, 0, n, 0);
}
static inline void bf_tma_wait_read(struct bf_thread *t, uint32_t n)
{
	bf_async_ask(t, BF_ASYNC_BULK_WAIT_READ, NULL, 0, 0, 0, n, 0);
}
static inline void bf_proxy_fence(struct bf_thread *t)
{
	bf_async_ask(t, BF_ASYNC_PROXY_FENCE, NULL, 0, 0, 0, 0, 0);
}

static inline void bf_async_load16(struct bf_thread *t, uint32_t a, const void *global)
{
	bf_async_ask(t, BF_ASYNC_LOAD16, (void *)(uintptr_t)global, a, 0, 0, 16, 0);
}
static inline void bf_async_commit(struct bf_thread *t)
{
	bf_async_ask(t, BF_ASYNC_COMMIT, NULL, 0, 0, 0, 0, 0);
}
static inline void bf_async_wait(struct bf_thread *t, uint32_t n)
{
	bf_async_ask(t, BF_ASYNC_WAIT, NULL, 0, 0, 0, n, 0);
}
static inline void bf_async_arrive(struct bf_thread *t, uint32_t a)
{
	bf_async_ask(t, BF_ASYNC_ARRIVE, NULL, 0, 0, a, 0, 0);
}
static inline void bf_async_arrive_noinc(struct bf_thread *t, uint32_t a)
{
	bf_async_ask(t, BF_ASYNC_ARRIVE_NOINC, NULL, 0, 0, a, 0, 0);
}

#endif
