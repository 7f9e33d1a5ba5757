/*
 * The platform's part for Hopper: blocks of a cluster with shared memory, barriers in it (PTX's mbarrier), bulk copies,
 * and Ampere's asynchronous copies.
 *
 * A source file includes one of platform_mbarrier_sim.h and platform_mbarrier_cuda.h, which include platform_sim.h and
 * platform_cuda.h. Sources of the rules below: PTX ISA 9.0, "mbarrier", "cp.async.bulk", "cp.async",
 * "Async proxy".
 *
 * Shared memory is addressed by 32 bits, as PTX addresses it: `a` below is an address in the calling block's own window
 * (shared::cta), `c` may also be one in a peer's (shared::cluster).
 *   uint32_t bf_shared_base(t)           where the block's dynamic shared memory begins, aligned to 1024 bytes
 *   uint32_t bf_shared_map(t, a, rank)   what stands at `a` here, in the block of that rank (mapa)
 *   uint32_t bf_rank(t), bf_ranks(t)     index in the cluster; blocks of the cluster
 *   uint32_t bf_shared_ld32, uint64_t bf_shared_ld64(t, a), struct bf_vec128 bf_shared_ld128(t, a)
 *   void bf_shared_st32, bf_shared_st64, bf_shared_st128(t, a, v)
 *   void bf_peer_st32(t, c, v)           (a load through a shared::cluster address takes an H200 five times as long)
 *
 * Meetings of threads; each orders the memory of those who take part.
 *   void bf_block_sync(t)                all threads of the block (bar.sync 0)
 *   void bf_named_sync(t, id, threads)   that many threads of the block, id 1..15 (bar.sync)
 *   void bf_cluster_arrive(t), bf_cluster_wait(t)   all threads of the cluster: the two halves (release, acquire)
 *   void bf_cluster_sync(t)              both
 *
 * Barriers. Arrivals release and waits acquire at block scope; the forms with _cluster do so at cluster scope, those
 * with _relaxed not at all. Forms that return a token wait for it; the others need not.
 *   void bf_bar_init(t, a, count), bf_bar_inval(t, a)
 *   void bf_bar_init_fence(t)           fence.mbarrier_init.release.cluster
 *   void bf_bar_arrive(t, a, n), bf_bar_arrive_relaxed(t, c, n), bf_bar_arrive_cluster(t, c, n)
 *   void bf_bar_arrive_tx(t, a, bytes), bf_bar_arrive_tx_cluster(t, c, bytes)   arrive.expect_tx
 *   uint64_t bf_bar_arrive_token(t, a, n), bf_bar_arrive_tx_token(t, a, bytes), bf_bar_drop_token(t, a, n)
 *   void bf_bar_expect_tx(t, c, bytes), bf_bar_complete_tx(t, c, bytes)
 *   int bf_bar_test(t, a, parity), bf_bar_test_token(t, a, token)          never wait
 *   int bf_bar_try(t, a, parity), bf_bar_try_token(t, a, token), bf_bar_try_cluster(t, a, parity)
 *       may suspend the warp for a while; 0 means nothing but that time has passed: they stand in a loop
 *   uint32_t bf_bar_pending_count(t, token)
 *   void bf_bar_label(t, a, label)      nothing but a name and its parties for reports (struct bf_bar_label)
 *
 * Lanes that do the same. Where all lanes of a warp but its first and last would do the same, one of them may stand for
 * the others: its requests to barriers and its meetings with the whole warp are theirs, too. It spares a simulator
 * their steps, and nothing that can be seen depends on it; elsewhere no lane stands for another. enum bf_led
 * bf_stand(t)             all lanes of the warp call. BF_LED: another stood for this lane and is done void
 * bf_stand_end(t)                all other lanes call, once they have met. In between they call nothing but
 *                                       bf_warp_sync(), barriers' arrivals and waits, bf_proxy_fence() and the next
 * two; the first and the last lane what they like besides uint32_t bf_row(t)                  how many lanes this one
 * stands for, itself among them; BF_ROW at most void bf_shared_ld_row, bf_shared_st_row(t, a, v)   bf_shared_ld128(),
 * bf_shared_st128() of each of these, side by side from `a` on; v[bf_row(t)]
 *
 * Asynchronous copies. Bulk ones go through the async proxy: it sees a thread's plain stores after bf_proxy_fence(),
 * and a thread sees its writes after a wait on the barrier that they complete bytes on. Sizes and addresses are
 * multiples of 16 bytes. void bf_tma_load(t, a, global, bytes, bar)                 to own shared memory void
 * bf_tma_load_all(t, a, global, bytes, bar, ranks)      the same offset of each block in the mask (multicast) void
 * bf_tma_send(t, c, a, bytes, bar)                      own shared memory to a peer's; `bar` of the peer void
 * bf_tma_store(t, global, a, bytes)                     own shared memory to global void bf_tma_commit(t),
 * bf_tma_wait(t, n), bf_tma_wait_read(t, n) stores in groups: all but the last `n` groups are done, or (read) have read
 * their source; n is a constant 0..3 void bf_proxy_fence(t) fence.proxy.async.shared::cta
 *
 *   void bf_async_load16(t, a, global)                          cp.async, 16 bytes
 *   void bf_async_commit(t), bf_async_wait(t, n)                groups of the thread; n is a constant 0..7
 *   void bf_async_arrive(t, a), bf_async_arrive_noinc(t, a)     arrives once this thread's copies so far are done
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_H

#include "drivers/platform/platform.h"

/* Who has business with a barrier: for reports of runs that hang. Texts are literals. */
struct bf_bar_label {
	const char *name; /* "full" */
	const char *who;  /* "producer": who arrives */
	uint32_t index;   /* of several with that name */
	uint32_t ranks;   /* blocks of the cluster whose threads arrive, as a mask */
	uint32_t warps;   /* and warps of each of them */
	uint32_t each;    /* arrivals of one such warp in a phase */
	uint32_t free;    /* the first wait is over at once: something that begins empty */
};

#endif
