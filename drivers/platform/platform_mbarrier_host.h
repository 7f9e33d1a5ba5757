/*
 * Platforms without the hardware: each primitive is one request to whoever runs the blocks (drivers/backend/cluster.h).
 * Include platform_mbarrier_sim.h, not this.
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_HOST_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_HOST_H

#include "drivers/platform/platform_mbarrier.h"

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

#define BF_BAR_HOST_REQUEST(...) BF_BAR_HOST(mbar)(t, &(const struct bf_bar_request){ __VA_ARGS__ })
#define BF_ASYNC_HOST_REQUEST(...) BF_BAR_HOST(async)(t, &(const struct bf_async_request){ __VA_ARGS__ })

uint64_t BF_BAR_HOST(mbar)(struct bf_thread *t, const struct bf_bar_request *r);
void BF_BAR_HOST(async)(struct bf_thread *t, const struct bf_async_request *r);
void BF_BAR_HOST(init_fence)(struct bf_thread *t);
void BF_BAR_HOST(label)(struct bf_thread *t, uint32_t bar, const struct bf_bar_label *label);
void BF_BAR_HOST(shared_load)(struct bf_thread *t, uint32_t address, void *to, uint32_t len);
void BF_BAR_HOST(shared_store)(struct bf_thread *t, uint32_t address, const void *from, uint32_t len);
void BF_BAR_HOST(meet)(struct bf_thread *t, uint32_t id, uint32_t threads); /* id 0: the whole block */
void BF_BAR_HOST(cluster_arrive)(struct bf_thread *t);
void BF_BAR_HOST(cluster_wait)(struct bf_thread *t);
uint32_t BF_BAR_HOST(rank)(const struct bf_thread *t);
uint32_t BF_BAR_HOST(ranks)(const struct bf_thread *t);

/* Addresses are as the Hopper model has them: the rank in bits 31:24. */
#define BF_SHARED_RANK_SHIFT 24
static inline uint32_t bf_rank(const struct bf_thread *t)
{
	return BF_BAR_HOST(rank)(t);
}
static inline uint32_t bf_ranks(const struct bf_thread *t)
{
	return BF_BAR_HOST(ranks)(t);
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

static inline uint32_t bf_shared_ld32(struct bf_thread *t, uint32_t a)
{
	uint32_t v;

	BF_BAR_HOST(shared_load)(t, a, &v, sizeof(v));
	return v;
}
static inline uint64_t bf_shared_ld64(struct bf_thread *t, uint32_t a)
{
	uint64_t v;

	BF_BAR_HOST(shared_load)(t, a, &v, sizeof(v));
	return v;
}
static inline struct bf_vec128 bf_shared_ld128(struct bf_thread *t, uint32_t a)
{
	struct bf_vec128 v;

	BF_BAR_HOST(shared_load)(t, a, &v, sizeof(v));
	return v;
}
static inline void bf_shared_st32(struct bf_thread *t, uint32_t a, uint32_t v)
{
	BF_BAR_HOST(shared_store)(t, a, &v, sizeof(v));
}
static inline void bf_shared_st64(struct bf_thread *t, uint32_t a, uint64_t v)
{
	BF_BAR_HOST(shared_store)(t, a, &v, sizeof(v));
}
static inline void bf_shared_st128(struct bf_thread *t, uint32_t a, struct bf_vec128 v)
{
	BF_BAR_HOST(shared_store)(t, a, &v, sizeof(v));
}

static inline void bf_block_sync(struct bf_thread *t)
{
	BF_BAR_HOST(meet)(t, 0, 0);
}
static inline void bf_named_sync(struct bf_thread *t, uint32_t id, uint32_t threads)
{
	BF_BAR_HOST(meet)(t, id, threads);
}
static inline void bf_cluster_arrive(struct bf_thread *t)
{
	BF_BAR_HOST(cluster_arrive)(t);
}
static inline void bf_cluster_wait(struct bf_thread *t)
{
	BF_BAR_HOST(cluster_wait)(t);
}
static inline void bf_cluster_sync(struct bf_thread *t)
{
	bf_cluster_arrive(t);
	bf_cluster_wait(t);
}

static inline void bf_peer_st32(struct bf_thread *t, uint32_t c, uint32_t v)
{
	BF_BAR_HOST(shared_store)(t, c, &v, sizeof(v));
}

/* ---- barriers ---- */

static inline void bf_bar_init(struct bf_thread *t, uint32_t a, uint32_t count)
{
	BF_BAR_HOST_REQUEST(.op = BF_BAR_INIT, .bar = a, .count = count);
}
static inline void bf_bar_inval(struct bf_thread *t, uint32_t a)
{
	BF_BAR_HOST_REQUEST(.op = BF_BAR_INVAL, .bar = a);
}
/* No instruction (ptxas 13.0 emits none): the cluster barrier behind it waits for the inits. */
static inline void bf_bar_init_fence(struct bf_thread *t)
{
	BF_BAR_HOST(init_fence)(t);
}

static inline void bf_bar_arrive(struct bf_thread *t, uint32_t a, uint32_t n)
{
	BF_BAR_HOST_REQUEST(.op = BF_BAR_ARRIVE, .sem = BF_BAR_CTA, .bar = a, .count = n);
}
static inline void bf_bar_arrive_relaxed(struct bf_thread *t, uint32_t c, uint32_t n)
{
	BF_BAR_HOST_REQUEST(.op = BF_BAR_ARRIVE, .sem = BF_BAR_RELAXED, .bar = c, .count = n);
}
static inline void bf_bar_arrive_cluster(struct bf_thread *t, uint32_t c, uint32_t n)
{
	BF_BAR_HOST_REQUEST(.op = BF_BAR_ARRIVE, .sem = BF_BAR_CLUSTER, .bar = c, .count = n);
}
static inline void bf_bar_arrive_tx(struct bf_thread *t, uint32_t a, uint32_t bytes)
{
	BF_BAR_HOST_REQUEST(.op = BF_BAR_ARRIVE, .sem = BF_BAR_CTA, .bar = a, .count = 1, .tx = bytes);
}
static inline void bf_bar_arrive_tx_cluster(struct bf_thread *t, uint32_t c, uint32_t bytes)
{
	BF_BAR_HOST_REQUEST(.op = BF_BAR_ARRIVE, .sem = BF_BAR_CLUSTER, .bar = c, .count = 1, .tx = bytes);
}
static inline uint64_t bf_bar_arrive_token(struct bf_thread *t, uint32_t a, uint32_t n)
{
	return BF_BAR_HOST_REQUEST(.op = BF_BAR_ARRIVE, .sem = BF_BAR_CTA, .bar = a, .count = n, .result_wanted = 1);
}
static inline uint64_t bf_bar_arrive_tx_token(struct bf_thread *t, uint32_t a, uint32_t bytes)
{
	return BF_BAR_HOST_REQUEST(.op = BF_BAR_ARRIVE, .sem = BF_BAR_CTA, .bar = a, .count = 1, .tx = bytes,
				   .result_wanted = 1);
}
static inline uint64_t bf_bar_drop_token(struct bf_thread *t, uint32_t a, uint32_t n)
{
	return BF_BAR_HOST_REQUEST(.op = BF_BAR_DROP, .sem = BF_BAR_CTA, .bar = a, .count = n, .result_wanted = 1);
}
static inline void bf_bar_expect_tx(struct bf_thread *t, uint32_t c, uint32_t bytes)
{
	BF_BAR_HOST_REQUEST(.op = BF_BAR_EXPECT_TX, .bar = c, .tx = bytes);
}
static inline void bf_bar_complete_tx(struct bf_thread *t, uint32_t c, uint32_t bytes)
{
	BF_BAR_HOST_REQUEST(.op = BF_BAR_COMPLETE_TX, .bar = c, .tx = bytes);
}
static inline int bf_bar_test(struct bf_thread *t, uint32_t a, uint32_t parity)
{
	return (int)BF_BAR_HOST_REQUEST(.op = BF_BAR_TEST_PARITY, .sem = BF_BAR_CTA, .bar = a, .count = parity);
}
static inline int bf_bar_test_token(struct bf_thread *t, uint32_t a, uint64_t token)
{
	return (int)BF_BAR_HOST_REQUEST(.op = BF_BAR_TEST_TOKEN, .sem = BF_BAR_CTA, .bar = a, .token = token);
}
static inline int bf_bar_try(struct bf_thread *t, uint32_t a, uint32_t parity)
{
	return (int)BF_BAR_HOST_REQUEST(.op = BF_BAR_TRY_PARITY, .sem = BF_BAR_CTA, .bar = a, .count = parity);
}
static inline int bf_bar_try_cluster(struct bf_thread *t, uint32_t a, uint32_t parity)
{
	return (int)BF_BAR_HOST_REQUEST(.op = BF_BAR_TRY_PARITY, .sem = BF_BAR_CLUSTER, .bar = a, .count = parity);
}
static inline int bf_bar_try_token(struct bf_thread *t, uint32_t a, uint64_t token)
{
	return (int)BF_BAR_HOST_REQUEST(.op = BF_BAR_TRY_TOKEN, .sem = BF_BAR_CTA, .bar = a, .token = token);
}
/* Bits 62:43 hold minus the count (models/hopper/prm.h). Of a token with zero there an H200 says 2^20. */
static inline uint32_t bf_bar_pending_count(struct bf_thread *t, uint64_t token)
{
	(void)t;
	return 0x100000u - ((uint32_t)(token >> 43) & 0xfffffu);
}
static inline void bf_bar_label(struct bf_thread *t, uint32_t a, struct bf_bar_label label)
{
	BF_BAR_HOST(label)(t, a, &label);
}

/* ---- asynchronous copies ---- */

static inline void bf_tma_load(struct bf_thread *t, uint32_t a, const void *global, uint32_t bytes, uint32_t bar)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_BULK_LOAD, .shared = a, .global = (void *)(uintptr_t)global,
			      .bytes = bytes, .bar = bar);
}
static inline void bf_tma_load_all(struct bf_thread *t, uint32_t a, const void *global, uint32_t bytes, uint32_t bar,
				   uint32_t ranks)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_BULK_LOAD, .shared = a, .global = (void *)(uintptr_t)global,
			      .bytes = bytes, .bar = bar, .ranks = ranks);
}
static inline void bf_tma_send(struct bf_thread *t, uint32_t c, uint32_t a, uint32_t bytes, uint32_t bar)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_BULK_SEND, .shared = a, .peer = c, .bytes = bytes, .bar = bar);
}
static inline void bf_tma_store(struct bf_thread *t, void *global, uint32_t a, uint32_t bytes)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_BULK_STORE, .shared = a, .global = global, .bytes = bytes);
}
static inline void bf_tma_commit(struct bf_thread *t)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_BULK_COMMIT);
}
static inline void bf_tma_wait(struct bf_thread *t, uint32_t n)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_BULK_WAIT, .bytes = n);
}
static inline void bf_tma_wait_read(struct bf_thread *t, uint32_t n)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_BULK_WAIT_READ, .bytes = n);
}
static inline void bf_proxy_fence(struct bf_thread *t)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_PROXY_FENCE);
}

static inline void bf_async_load16(struct bf_thread *t, uint32_t a, const void *global)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_LOAD16, .shared = a, .global = (void *)(uintptr_t)global, .bytes = 16);
}
static inline void bf_async_commit(struct bf_thread *t)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_COMMIT);
}
static inline void bf_async_wait(struct bf_thread *t, uint32_t n)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_WAIT, .bytes = n);
}
static inline void bf_async_arrive(struct bf_thread *t, uint32_t a)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_ARRIVE, .bar = a);
}
static inline void bf_async_arrive_noinc(struct bf_thread *t, uint32_t a)
{
	BF_ASYNC_HOST_REQUEST(.op = BF_ASYNC_ARRIVE_NOINC, .bar = a);
}

#endif
