/*
 * Hopper's primitives on the GPU itself, sm_90 and up: PTX (PTX ISA 9.0, "mbarrier", "cp.async.bulk", "barrier",
 * "barrier.cluster").
 */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_CUDA_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_CUDA_H

#include "drivers/platform/platform_cuda.h"
#include "drivers/platform/platform_mbarrier.h"

BF_DEVICE uint32_t bf_rank(const struct bf_thread *)
{
	uint32_t v;

	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v));
	return v;
}
BF_DEVICE uint32_t bf_ranks(const struct bf_thread *)
{
	uint32_t v;

	asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(v));
	return v;
}

/* Each lane for itself. */
#define BF_ROW 1u
BF_DEVICE enum bf_led bf_stand(struct bf_thread *)
{
	return BF_APART;
}
BF_DEVICE void bf_stand_end(struct bf_thread *)
{
}
BF_DEVICE uint32_t bf_row(const struct bf_thread *)
{
	return 1;
}

/* The first 1024-aligned address: launches ask for as much more than they use. */
BF_DEVICE uint32_t bf_shared_base(const struct bf_thread *)
{
	extern __shared__ uint8_t bf_shared_memory[];

	return ((uint32_t)__cvta_generic_to_shared(bf_shared_memory) + 1023u) & ~1023u;
}
BF_DEVICE uint32_t bf_shared_map(const struct bf_thread *, uint32_t a, uint32_t rank)
{
	uint32_t c;

	asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(rank));
	return c;
}

BF_DEVICE uint32_t bf_shared_ld32(struct bf_thread *, uint32_t a)
{
	uint32_t v;

	asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
	return v;
}
BF_DEVICE uint64_t bf_shared_ld64(struct bf_thread *, uint32_t a)
{
	uint64_t v;

	asm volatile("ld.shared::cta.u64 %0, [%1];" : "=l"(v) : "r"(a) : "memory");
	return v;
}
BF_DEVICE struct bf_vec128 bf_shared_ld128(struct bf_thread *, uint32_t a)
{
	struct bf_vec128 v;

	asm volatile("ld.shared::cta.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
		     : "r"(a)
		     : "memory");
	return v;
}
BF_DEVICE void bf_shared_st32(struct bf_thread *, uint32_t a, uint32_t v)
{
	asm volatile("st.shared::cta.u32 [%0], %1;" ::"r"(a), "r"(v) : "memory");
}
BF_DEVICE void bf_shared_st64(struct bf_thread *, uint32_t a, uint64_t v)
{
	asm volatile("st.shared::cta.u64 [%0], %1;" ::"r"(a), "l"(v) : "memory");
}
BF_DEVICE void bf_shared_st128(struct bf_thread *, uint32_t a, struct bf_vec128 v)
{
	asm volatile("st.shared::cta.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(a), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]),
		     "r"(v.w[3])
		     : "memory");
}

BF_DEVICE void bf_shared_ld_row(struct bf_thread *t, uint32_t a, struct bf_vec128 *v)
{
	*v = bf_shared_ld128(t, a);
}
BF_DEVICE void bf_shared_st_row(struct bf_thread *t, uint32_t a, const struct bf_vec128 *v)
{
	bf_shared_st128(t, a, *v);
}

BF_DEVICE void bf_peer_st32(struct bf_thread *, uint32_t c, uint32_t v)
{
	asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(c), "r"(v) : "memory");
}

/* ---- meetings ---- */

BF_DEVICE void bf_block_sync(struct bf_thread *)
{
	__syncthreads();
}
BF_DEVICE void bf_named_sync(struct bf_thread *, uint32_t id, uint32_t threads)
{
	asm volatile("barrier.cta.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
BF_DEVICE void bf_cluster_arrive(struct bf_thread *)
{
	asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
BF_DEVICE void bf_cluster_wait(struct bf_thread *)
{
	asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
BF_DEVICE void bf_cluster_sync(struct bf_thread *t)
{
	bf_cluster_arrive(t);
	bf_cluster_wait(t);
}

/* ---- barriers ---- */

BF_DEVICE void bf_bar_init(struct bf_thread *, uint32_t a, uint32_t count)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(a), "r"(count) : "memory");
}
BF_DEVICE void bf_bar_inval(struct bf_thread *, uint32_t a)
{
	asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(a) : "memory");
}
BF_DEVICE void bf_bar_init_fence(struct bf_thread *)
{
	asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

BF_DEVICE void bf_bar_arrive(struct bf_thread *, uint32_t a, uint32_t n)
{
	asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(a), "r"(n) : "memory");
}
BF_DEVICE void bf_bar_arrive_relaxed(struct bf_thread *, uint32_t c, uint32_t n)
{
	asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(c), "r"(n) : "memory");
}
BF_DEVICE void bf_bar_arrive_cluster(struct bf_thread *, uint32_t c, uint32_t n)
{
	asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(c), "r"(n) : "memory");
}
BF_DEVICE void bf_bar_arrive_tx(struct bf_thread *, uint32_t a, uint32_t bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(a), "r"(bytes)
		     : "memory");
}
BF_DEVICE void bf_bar_arrive_tx_cluster(struct bf_thread *, uint32_t c, uint32_t bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(c), "r"(bytes)
		     : "memory");
}
BF_DEVICE uint64_t bf_bar_arrive_token(struct bf_thread *, uint32_t a, uint32_t n)
{
	uint64_t token;

	asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;"
		     : "=l"(token)
		     : "r"(a), "r"(n)
		     : "memory");
	return token;
}
BF_DEVICE uint64_t bf_bar_arrive_tx_token(struct bf_thread *, uint32_t a, uint32_t bytes)
{
	uint64_t token;

	asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], %2;"
		     : "=l"(token)
		     : "r"(a), "r"(bytes)
		     : "memory");
	return token;
}
BF_DEVICE uint64_t bf_bar_drop_token(struct bf_thread *, uint32_t a, uint32_t n)
{
	uint64_t token;

	asm volatile("mbarrier.arrive_drop.release.cta.shared::cta.b64 %0, [%1], %2;"
		     : "=l"(token)
		     : "r"(a), "r"(n)
		     : "memory");
	return token;
}
BF_DEVICE void bf_bar_expect_tx(struct bf_thread *, uint32_t c, uint32_t bytes)
{
	asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(c), "r"(bytes)
		     : "memory");
}
BF_DEVICE void bf_bar_complete_tx(struct bf_thread *, uint32_t c, uint32_t bytes)
{
	asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(c), "r"(bytes)
		     : "memory");
}

/* One wait: the instruction, its operand, and the register that says whether it is over. */
#define BF_CUDA_WAIT(name, instruction, type, constraint)                                                              \
	BF_DEVICE int bf_bar_##name(struct bf_thread *, uint32_t a, type v)                                            \
	{                                                                                                              \
		uint32_t over;                                                                                         \
                                                                                                                       \
		asm volatile("{ .reg .pred p; mbarrier." instruction " p, [%1], %2; selp.u32 %0, 1, 0, p; }"           \
			     : "=r"(over)                                                                              \
			     : "r"(a), constraint(v)                                                                   \
			     : "memory");                                                                              \
		return (int)over;                                                                                      \
	}
BF_CUDA_WAIT(test, "test_wait.parity.shared::cta.b64", uint32_t, "r")
BF_CUDA_WAIT(test_token, "test_wait.shared::cta.b64", uint64_t, "l")
BF_CUDA_WAIT(try, "try_wait.parity.shared::cta.b64", uint32_t, "r")
BF_CUDA_WAIT(try_token, "try_wait.shared::cta.b64", uint64_t, "l")
BF_CUDA_WAIT(try_cluster, "try_wait.parity.acquire.cluster.shared::cta.b64", uint32_t, "r")

BF_DEVICE uint32_t bf_bar_pending_count(struct bf_thread *, uint64_t token)
{
	uint32_t n;

	asm("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(token));
	return n;
}
BF_DEVICE void bf_bar_label(struct bf_thread *, uint32_t, struct bf_bar_label)
{
}

/* ---- asynchronous copies ---- */

BF_DEVICE void bf_tma_load(struct bf_thread *, uint32_t a, const void *global, uint32_t bytes, uint32_t bar)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(a),
		     "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(bar)
		     : "memory");
}
BF_DEVICE void bf_tma_load_all(struct bf_thread *, uint32_t a, const void *global, uint32_t bytes, uint32_t bar,
			       uint32_t ranks)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
		     "%2, [%3], %4;" ::"r"(a),
		     "l"(__cvta_generic_to_global(global)), "r"(bytes), "r"(bar), "h"((uint16_t)ranks)
		     : "memory");
}
BF_DEVICE void bf_tma_send(struct bf_thread *, uint32_t c, uint32_t a, uint32_t bytes, uint32_t bar)
{
	asm volatile(
	    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(c),
	    "r"(a), "r"(bytes), "r"(bar)
	    : "memory");
}
BF_DEVICE void bf_tma_store(struct bf_thread *, void *global, uint32_t a, uint32_t bytes)
{
	asm volatile(
	    "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(global)),
	    "r"(a), "r"(bytes)
	    : "memory");
}
BF_DEVICE void bf_tma_commit(struct bf_thread *)
{
	asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* The number of groups is part of the instruction. */
#define BF_CUDA_GROUPS(instruction, n)                                                                                 \
	case n:                                                                                                        \
		asm volatile(instruction " " #n ";" ::: "memory");                                                     \
		break
BF_DEVICE void bf_tma_wait(struct bf_thread *, uint32_t n)
{
	switch (n) {
		BF_CUDA_GROUPS("cp.async.bulk.wait_group", 1);
		BF_CUDA_GROUPS("cp.async.bulk.wait_group", 2);
		BF_CUDA_GROUPS("cp.async.bulk.wait_group", 3);
	default:
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
	}
}
BF_DEVICE void bf_tma_wait_read(struct bf_thread *, uint32_t n)
{
	switch (n) {
		BF_CUDA_GROUPS("cp.async.bulk.wait_group.read", 1);
		BF_CUDA_GROUPS("cp.async.bulk.wait_group.read", 2);
		BF_CUDA_GROUPS("cp.async.bulk.wait_group.read", 3);
	default:
		asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
	}
}
BF_DEVICE void bf_proxy_fence(struct bf_thread *)
{
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

BF_DEVICE void bf_async_load16(struct bf_thread *, uint32_t a, const void *global)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(a), "l"(__cvta_generic_to_global(global))
		     : "memory");
}
BF_DEVICE void bf_async_commit(struct bf_thread *)
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}
BF_DEVICE void bf_async_wait(struct bf_thread *, uint32_t n)
{
	switch (n) {
		BF_CUDA_GROUPS("cp.async.wait_group", 1);
		BF_CUDA_GROUPS("cp.async.wait_group", 2);
		BF_CUDA_GROUPS("cp.async.wait_group", 3);
		BF_CUDA_GROUPS("cp.async.wait_group", 4);
		BF_CUDA_GROUPS("cp.async.wait_group", 5);
		BF_CUDA_GROUPS("cp.async.wait_group", 6);
		BF_CUDA_GROUPS("cp.async.wait_group", 7);
	default:
		asm volatile("cp.async.wait_group 0;" ::: "memory");
	}
}
BF_DEVICE void bf_async_arrive(struct bf_thread *, uint32_t a)
{
	asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(a) : "memory");
}
BF_DEVICE void bf_async_arrive_noinc(struct bf_thread *, uint32_t a)
{
	asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(a) : "memory");
}

#endif
