/*
 * Kernels of many kinds, each (const u32 *in, u32 *out, u32 n); results depend on nothing that hardware leaves open.
 * traces/samples/ptx_kinds_h100.jsonl has launches and what an H100 made of them.
 */
#include "kinds.cuh"

#include <cooperative_groups/memcpy_async.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/std/functional>
#include <cuda/latch>
#include <new>

/* ---- virtual calls ---- */
struct shape {
	u32 a;
	__device__ shape(u32 x) : a(x)
	{
	}
	__device__ virtual u32 area(u32 k) const = 0;
	__device__ virtual u32 more(u32 k)
	{
		return area(k) + a;
	}
};
struct square : shape {
	__device__ square(u32 x) : shape(x)
	{
	}
	__device__ u32 area(u32 k) const override
	{
		return a * a + k;
	}
};
struct circle : shape {
	u32 r;
	__device__ circle(u32 x) : shape(x), r(x >> 3)
	{
	}
	__device__ u32 area(u32 k) const override
	{
		return r * 3u ^ k;
	}
	__device__ u32 more(u32 k) override
	{
		return area(k + 1) * 7u;
	}
};
struct odd : circle {
	__device__ odd(u32 x) : circle(x + 1)
	{
	}
	__device__ u32 area(u32 k) const override
	{
		return k > 5 ? r : circle::area(k) - 2u;
	}
};
KERNEL virtual_calls(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	alignas(16) unsigned char room[3][sizeof(odd)];
	shape *s[3];
	u32 sum = 0;

	if (i >= n)
		return;
	for (u32 k = 0; k < 3; k++) {
		const u32 v = in[i] + k, pick = mix(v) % 3;
		s[k] = pick == 0   ? (shape *)new (room[k]) square(v)
		       : pick == 1 ? (shape *)new (room[k]) circle(v)
				   : new (room[k]) odd(v);
	}
	for (u32 k = 0; k < 9; k++)
		sum = sum * 31u + s[(in[i] >> k) % 3]->more(k);
	out[i] = sum;
}

/* ---- divergent recursion ---- */
__device__ __noinline__ u32 ackermann(u32 m, u32 n)
{
	if (m == 0)
		return n + 1;
	if (n == 0)
		return ackermann(m - 1, 1);
	return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ u32 walk(const u32 *in, u32 at, u32 depth, u32 *leaves)
{
	if (depth == 0 || in[at & 63] % 5 == 0) {
		(*leaves)++;
		return in[at & 63];
	}
	const u32 l = walk(in, at * 2 + 1, depth - 1, leaves);
	return l * 33u + walk(in, at * 2 + 2, depth - 1 - (l & 1 ? depth > 1 : 0), leaves);
}
KERNEL recursion(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	u32 leaves = 0;

	if (i >= n)
		return;
	const u32 a = ackermann(in[i] % 3, in[i] / 3 % 4), b = walk(in, i, in[i] % 7, &leaves);
	const u32 all = __ballot_sync(__activemask(), 1) != 0;
	out[2 * i] = a + leaves * 1000u + all;
	out[2 * i + 1] = b;
}

/* ---- spinning lanes ---- */
KERNEL lane_locks(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();

	if (i < n) {
		u32 *lock = out + 64 + in[i] % 4, *value = out + in[i] % 4;
		bool done = false;
		while (!done) {
			if (atomicCAS(lock, 0, 1) == 0) {
				__threadfence();
				*(volatile u32 *)value = *(volatile u32 *)value + (in[i] & 0xff);
				__threadfence();
				atomicExch(lock, 0);
				done = true;
			}
		}
	}
}
KERNEL lane_spin(const u32 *in, u32 *out, u32 n)
{
	__shared__ volatile u32 turn, sum;
	const u32 t = threadIdx.x, order = (t * 7u + in[0]) % blockDim.x;

	if (t == 0)
		turn = 0, sum = 1;
	__syncthreads();
	while (turn != order)
		;
	sum = sum * 3u + in[blockIdx.x * blockDim.x + t];
	out[blockIdx.x * blockDim.x + t] = sum;
	__threadfence_block();
	turn = order + 1;
}
KERNEL ticket(const u32 *in, u32 *out, u32 n)
{
	cuda::atomic_ref<u32, cuda::thread_scope_device> next(out[0]), serving(out[1]);
	const u32 mine = next.fetch_add(1, cuda::memory_order_relaxed);

	while (serving.load(cuda::memory_order_acquire) != mine)
		;
	out[2] = out[2] + in[me()];
	out[3] = out[3] ^ in[me()];
	serving.store(mine + 1, cuda::memory_order_release);
}

/* ---- partial masks ---- */
KERNEL partial_masks(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), lane = threadIdx.x & 31, v = in[i];
	u32 a = 0, b = 0, c = 0, d = 0;

	if (lane % 3 == 0) {
		const u32 m = 0x49249249u;
		a = __shfl_sync(m, v, (lane + 3) % 33);
		b = __ballot_sync(m, v & 1);
		c = __reduce_add_sync(m, v & 0xffff) + (u32)__reduce_max_sync(m, (int)v);
		d = __match_any_sync(m, v & 3);
	} else if (lane < 16) {
		const u32 m = 0xffff & ~0x49249249u;
		a = __shfl_up_sync(m, v, 1, 8);
		if (__popc(m & ((1u << lane) - 1)) == 0 || !((m >> (lane - 1)) & 1))
			a = 1;
		b = __any_sync(m, v & 4) + 2 * __all_sync(m, v | 1);
		int all;
		c = __match_all_sync(m, v >> 31, &all) + all;
		d = __reduce_xor_sync(m, v);
	} else {
		const u32 m = 0xffff0000u & ~0x49249249u;
		a = __shfl_xor_sync(m, v, 0);
		b = __reduce_and_sync(m, v) ^ __reduce_or_sync(m, v);
		c = __reduce_min_sync(m, v);
		if (v & 1)
			d = 1;
		__syncwarp(m);
	}
	if (lane >= 28)
		return;
	const u32 e = __ballot_sync(0x0fffffff, v & 2);
	out[4 * i] = a, out[4 * i + 1] = b + e, out[4 * i + 2] = c, out[4 * i + 3] = d;
}
KERNEL warp_collectives(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), v = in[i];
	auto warp = cg::tiled_partition<32>(cg::this_thread_block());
	auto quad = cg::tiled_partition<4>(warp);
	u32 r = cg::reduce(warp, v, cg::plus<u32>()) ^ cg::reduce(quad, v, cg::greater<u32>());

	r += cg::exclusive_scan(warp, v & 0xff) * 3u + cg::inclusive_scan(quad, v & 7, cg::bit_xor<u32>());
	if (v % 3) {
		auto some = cg::coalesced_threads();
		r = r * 5u + cg::reduce(some, v, cg::bit_or<u32>()) * 0 + (v % 3 == 1);
		auto same = cg::labeled_partition(some, v & 3);
		r += same.size() + same.thread_rank();
	}
	warp.sync();
	auto bin = cg::binary_partition(warp, (bool)(v & 16));
	r ^= bin.size() << 8 | bin.shfl(v, 0) & 0xf0;
	cg::invoke_one(warp, [&] { r |= 1u; });
	out[i] = r & ~1u;
}

/* ---- named barriers ---- */
KERNEL named_barriers(const u32 *in, u32 *out, u32 n)
{
	__shared__ u32 box[2][64];
	const u32 w = threadIdx.x / 32, lane = threadIdx.x & 31;

	if (w < 2) { /* producers fill boxes in turn; 2 warps give, 2 warps take */
		for (u32 k = 0; k < 8; k++) {
			const u32 b = k & 1;
			asm volatile("bar.sync %0, 128;" ::"r"(3 + b) : "memory");
			box[b][threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x] * (k + 1);
			asm volatile("bar.arrive %0, 128;" ::"r"(1 + b) : "memory");
		}
	} else {
		u32 sum = 0;
		asm volatile("bar.arrive 3, 128; bar.arrive 4, 128;" ::: "memory");
		for (u32 k = 0; k < 8; k++) {
			const u32 b = k & 1;
			asm volatile("bar.sync %0, 128;" ::"r"(1 + b) : "memory");
			sum = sum * 17u + box[b][(threadIdx.x - 64) ^ k];
			if (k < 6)
				asm volatile("bar.arrive %0, 128;" ::"r"(3 + b) : "memory");
		}
		out[blockIdx.x * 64 + threadIdx.x - 64] = sum;
	}
	u32 pop, p;
	asm volatile("{.reg .pred q, z; setp.gt.u32 q, %1, 7; bar.red.popc.u32 %0, 5, q; }"
		     : "=r"(pop)
		     : "r"(lane)
		     : "memory");
	asm volatile("{.reg .pred q, z; setp.gt.u32 q, %1, 30; barrier.cta.red.or.pred z, 6, q; selp.u32 %0, 1, 0, z; }"
		     : "=r"(p)
		     : "r"(threadIdx.x)
		     : "memory");
	const u32 low = (u32)__syncthreads_count(lane < 3);
	if (threadIdx.x == 5)
		out[64 * gridDim.x + blockIdx.x] = pop + 1000 * p + 100000 * low;
	out[65 * gridDim.x + me()] = __syncthreads_or(threadIdx.x == n) + 2 * __syncthreads_and(in[0] != 0);
}

/* ---- last block, grid order ---- */
__device__ u32 blocks_done;
KERNEL last_block(const u32 *in, u32 *out, u32 n)
{
	__shared__ bool last;
	__shared__ u32 part;
	u32 sum = 0;

	if (threadIdx.x == 0)
		part = 0;
	__syncthreads();
	for (u32 i = me(); i < n; i += gridDim.x * blockDim.x)
		sum += in[i] * 2654435769u;
	atomicAdd(&part, sum);
	__syncthreads();
	if (threadIdx.x == 0) {
		out[1 + blockIdx.x] = part;
		__threadfence();
		last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last) {
		sum = 0;
		for (u32 b = threadIdx.x; b < gridDim.x; b += blockDim.x)
			sum ^= *(volatile u32 *)&out[1 + b] * (b + 1);
		atomicXor(&out[0], sum);
	}
}
/* Decoupled look-back. */
KERNEL look_back(const u32 *in, u32 *out, u32 n)
{
	__shared__ u32 before;
	const u32 b = blockIdx.x, i = me();
	volatile u64 *state = (volatile u64 *)(out + 1024);
	auto block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	__shared__ u32 sums[32];
	const u32 v = i < n ? in[i] & 0xffff : 0;
	u32 scan = cg::inclusive_scan(warp, v);

	if (warp.thread_rank() == 31)
		sums[threadIdx.x / 32] = scan;
	__syncthreads();
	for (u32 w = 0; w < threadIdx.x / 32; w++)
		scan += sums[w];
	if (threadIdx.x == blockDim.x - 1) {
		if (b == 0) {
			state[0] = 2ull << 32 | scan;
			before = 0;
		} else {
			state[b] = 1ull << 32 | scan;
			u32 sum = 0;
			for (int k = (int)b - 1; k >= 0;) {
				const u64 s = state[k];
				if (s >> 32 == 0)
					continue;
				sum += (u32)s;
				if (s >> 32 == 2)
					break;
				k--;
			}
			state[b] = 2ull << 32 | (sum + scan);
			before = sum;
		}
	}
	__syncthreads();
	if (i < 1024)
		out[i] = before + scan;
}

/* ---- clusters ---- */
KERNEL __cluster_dims__(4, 1, 1) cluster_hist(const u32 *in, u32 *out, u32 n)
{
	__shared__ u32 bins[64];
	cg::cluster_group c = cg::this_cluster();

	for (u32 k = threadIdx.x; k < 64; k += blockDim.x)
		bins[k] = 0;
	c.sync();
	for (u32 i = me(); i < n; i += gridDim.x * blockDim.x) {
		const u32 bin = in[i] & 255;
		atomicAdd(c.map_shared_rank(bins, bin >> 6) + (bin & 63), 1u);
	}
	c.sync();
	for (u32 k = threadIdx.x; k < 64; k += blockDim.x)
		atomicAdd(out + 64 * c.block_rank() + k, bins[k]);
	if (threadIdx.x == 0)
		atomicAdd(out + 256 + c.block_rank(),
			  c.num_blocks() + 100 * c.dim_blocks().x + 10000 * c.thread_rank() * 0);
}
KERNEL __cluster_dims__(4, 1, 1) cluster_ring(const u32 *in, u32 *out, u32 n)
{
	extern __shared__ u32 ring[];
	cg::cluster_group c = cg::this_cluster();
	const u32 rank = c.block_rank(), t = threadIdx.x, block = blockIdx.y * gridDim.x + blockIdx.x;

	ring[t] = in[block * blockDim.x + t];
	u32 sum = 0;
	for (u32 k = 1; k < 4; k++) {
		c.sync();
		const u32 got = c.map_shared_rank(ring, (rank + k) & 3)[(t + k) % blockDim.x];
		c.barrier_arrive();
		sum = sum * 7u + got;
		c.barrier_wait();
		ring[t] += sum;
	}
	c.sync();
	out[block * blockDim.x + t] = sum + rank;
}

/* ---- bulk copies ---- */
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sh(bar)), "r"(count) : "memory")
#define EXPECT(bar, bytes)                                                                                             \
	asm volatile("{.reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], %1;}" ::"r"(sh(bar)),           \
		     "r"(bytes)                                                                                        \
		     : "memory")
__device__ static void await(u64 *bar, u32 parity)
{
	asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @p "
		     "bra ok; bra again; ok: }" ::"r"(sh(bar)),
		     "r"(parity)
		     : "memory");
}
KERNEL __cluster_dims__(4, 1, 1) multicast(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(128) u32 tile[4][64];
	__shared__ u64 bar;
	cg::cluster_group c = cg::this_cluster();
	const u32 rank = c.block_rank(), cluster = blockIdx.x / 4;

	if (threadIdx.x == 0) {
		INIT(&bar, 1);
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		EXPECT(&bar, 4 * 256);
	}
	c.sync();
	if (threadIdx.x == 0) /* each gives its quarter to all */
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
			     "[%0], [%1], %2, [%3], %4;" ::"r"(sh(tile[rank])),
			     "l"(in + (cluster * 4 + rank) * 64), "r"(256), "r"(sh(&bar)), "h"((uint16_t)0xf)
			     : "memory");
	await(&bar, 0);
	u32 sum = rank;
	for (u32 k = 0; k < 4; k++)
		sum = sum * 5u + tile[k][(threadIdx.x + rank) & 63];
	out[me()] = sum;
	c.sync();
}
KERNEL __cluster_dims__(2, 1, 1) store_async(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(16) u32 box[128];
	__shared__ alignas(16) u64 wide[64];
	__shared__ u64 bar;
	cg::cluster_group c = cg::this_cluster();
	const u32 t = threadIdx.x, peer = c.block_rank() ^ 1;
	u32 to, tobar, towide;

	if (t == 0) {
		INIT(&bar, 1);
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		EXPECT(&bar, 32 * 16 + 64 * 8);
	}
	c.sync();
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(sh(box)), "r"(peer));
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(towide) : "r"(sh(wide)), "r"(peer));
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(tobar) : "r"(sh(&bar)), "r"(peer));
	const u32 *v = in + blockIdx.x * 256;
	if (t < 16)
		asm volatile(
		    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];" ::"r"(
			to + 16 * t),
		    "r"(v[4 * t]), "r"(v[4 * t + 1]), "r"(v[4 * t + 2]), "r"(v[4 * t + 3]), "r"(tobar)
		    : "memory");
	else if (t < 32)
		asm volatile(
		    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.s64 [%0], {%1,%2}, [%3];" ::"r"(
			to + 16 * t),
		    "l"((u64)v[4 * t] << 32 | v[4 * t + 1]), "l"((u64)v[4 * t + 2] << 32), "r"(tobar)
		    : "memory");
	else if (t < 64)
		asm volatile(
		    "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2]; "
		    "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%3], %4, [%2];" ::"r"(towide + 8 * t),
		    "r"(v[t]), "r"(tobar), "r"(towide + 8 * t + 4), "r"(v[t + 64])
		    : "memory");
	else if (t < 96)
		asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(
				 towide + 8 * (t - 64)),
			     "l"((u64)v[t] * v[t + 1]), "r"(tobar)
			     : "memory");
	await(&bar, 0);
	out[blockIdx.x * 256 + t] = box[t];
	out[blockIdx.x * 256 + 128 + t] = ((u32 *)wide)[t];
	c.sync();
}
#define REDUCE(op, type, to, from, bytes)                                                                              \
	asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." op "." type " [%0], [%1], %2;" ::"l"(to),   \
		     "r"(sh(from)), "r"(bytes)                                                                         \
		     : "memory")
KERNEL bulk_reduce(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(128) u32 tile[256];

	for (u32 k = threadIdx.x; k < 256; k += blockDim.x)
		tile[k] = in[blockIdx.x * 256 + k];
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x == 0) {
		REDUCE("add", "u32", out, tile, 1024);
		REDUCE("min", "s32", out + 256, tile, 512);
		REDUCE("max", "u32", out + 512, tile, 1024);
		REDUCE("and", "b32", out + 768, tile, 256);
		REDUCE("or", "b64", out + 1024, tile, 256);
		REDUCE("xor", "b32", out + 1280, tile + 64, 256);
		REDUCE("add", "u64", out + 1536, tile, 512);
		REDUCE("max", "s64", out + 1792, tile, 512);
		REDUCE("inc", "u32", out + 2048, tile, 64);
		REDUCE("add", "s32", out + 2304, tile + 4, 16);
		REDUCE("min", "u64", out + 2560, tile + 8, 64);
		asm volatile("cp.async.bulk.commit_group;" ::: "memory");
	} else if (threadIdx.x == 32) {
		asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
	}
	asm volatile("cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;" ::: "memory");
}
KERNEL bulk_reduce_float(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(128) float f[64];
	__shared__ alignas(128) double d[32];
	__shared__ alignas(128) __half h[64];
	__shared__ alignas(128) __nv_bfloat16 b[64];
	const u32 t = threadIdx.x;

	f[t] = (float)(int)(in[t] % 2001) - 1000.0f + (t == 5 ? 1e-42f : 0);
	if (t < 32)
		d[t] = (double)(int)in[t];
	h[t] = __float2half((float)(int)(in[t] % 64) * 0.25f - 4.0f);
	b[t] = __float2bfloat16((float)(int)(in[t] % 16));
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (t == 0) {
		REDUCE("add", "f32", out, f, 256);
		REDUCE("add", "f64", out + 64, d, 256);
		REDUCE("add.noftz", "f16", out + 128, h, 128);
		REDUCE("add.noftz", "bf16", out + 160, b, 128);
		REDUCE("min", "f16", out + 192, h, 128);
		REDUCE("max", "bf16", out + 224, b, 128);
		asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
	}
}
KERNEL __cluster_dims__(4, 1, 1) bulk_reduce_cluster(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(128) u32 mine[64];
	__shared__ alignas(128) u32 sum[7][64];
	__shared__ u64 bar;
	cg::cluster_group c = cg::this_cluster();
	const u32 t = threadIdx.x, rank = c.block_rank();
	u32 to, tobar;

	mine[t] = in[blockIdx.x * 64 + t];
	for (u32 k = 0; k < 7; k++)
		sum[k][t] = in[blockIdx.x * 64 + ((t + k) & 63)] >> k;
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	if (t == 0) {
		INIT(&bar, 1);
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		EXPECT(&bar, 3 * (256 + 64 * 6));
	}
	c.sync();
	if (t == 0)
		for (u32 r = 0; r < 4; r++) {
			if (r == rank)
				continue;
			asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(tobar) : "r"(sh(&bar)), "r"(r));
			asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(sh(sum)), "r"(r));
#define PEER(op, type, k, bytes)                                                                                       \
	asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." op "." type      \
		     " [%0], [%1], %2, [%3];" ::"r"(to + 256 * k),                                                     \
		     "r"(sh(mine)), "r"(bytes), "r"(tobar)                                                             \
		     : "memory")
			PEER("add", "u32", 0, 256);
			PEER("min", "s32", 1, 64);
			PEER("max", "u32", 2, 64);
			PEER("and", "b32", 3, 64);
			PEER("or", "b32", 4, 64);
			PEER("xor", "b32", 5, 64);
			PEER("add", "u64", 6, 64);
		}
	await(&bar, 0);
	u32 v = 0;
	for (u32 k = 0; k < 7; k++)
		v = v * 3u + sum[k][t];
	out[me()] = v;
	c.sync();
}
KERNEL bulk_ring(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(128) u32 stage[4][128];
	__shared__ u64 full[4], empty[4];
	const u32 w = threadIdx.x / 32, t = threadIdx.x, rounds = 12;

	if (t == 0)
		for (u32 k = 0; k < 4; k++) {
			INIT(&full[k], 1);
			INIT(&empty[k], 4);
		}
	__syncthreads();
	if (w == 4) { /* one warp loads */
#if __CUDA_ARCH_FEAT_SM90_ALL
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
#endif
		if (t == 128)
			for (u32 k = 0; k < rounds; k++) {
				if (k >= 4)
					await(&empty[k & 3], (k / 4 - 1) & 1);
				EXPECT(&full[k & 3], 512);
				asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
					     "[%1], 512, [%2];" ::"r"(sh(stage[k & 3])),
					     "l"(in + ((blockIdx.x * rounds + k) % 16) * 128), "r"(sh(&full[k & 3]))
					     : "memory");
			}
		return;
	}
	if (w > 4) {
#if __CUDA_ARCH_FEAT_SM90_ALL
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
#endif
		return;
	}
	u32 sum = 0;
	for (u32 k = 0; k < rounds; k++) {
		await(&full[k & 3], k / 4 & 1);
		sum = sum * 13u + stage[k & 3][t] + stage[k & 3][t ^ 1];
		__syncwarp();
		if ((t & 31) == 0)
			asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sh(&empty[k & 3])) : "memory");
	}
	out[blockIdx.x * 128 + t] = sum;
}
KERNEL bulk_store(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(128) u32 tile[512];
	const u32 t = threadIdx.x;

	for (u32 k = t; k < 512; k += blockDim.x)
		tile[k] = in[blockIdx.x * 512 + (k ^ 5)] + k;
	asm volatile("fence.proxy.async;" ::: "memory");
	__syncthreads();
	if (t < 4) {
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(
				 out + blockIdx.x * 512 + t * 128),
			     "r"(sh(tile + t * 128))
			     : "memory");
		asm volatile("cp.async.bulk.commit_group;" ::: "memory");
		asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
	}
	__syncthreads();
	tile[t] = 0xdead;
}

/* ---- cp.async ---- */
KERNEL copy_async(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(16) u32 a[2][512];
	__shared__ u64 bar;
	const u32 t = threadIdx.x;
	u32 sum = 0;

	if (t == 0)
		INIT(&bar, blockDim.x);
	__syncthreads();
	for (u32 k = 0; k < 6; k++) {
		const u32 *from = in + (blockIdx.x * 6 + k) % 4 * 512;
		u32 *to = a[k & 1];
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sh(to + 4 * (t & 31))),
			     "l"(from + 4 * (t & 31))
			     : "memory");
		asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(sh(to + 128 + 2 * t)),
			     "l"(from + 128 + 2 * t), "r"(t % 9)
			     : "memory");
		asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4;" ::"r"(sh(to + 384 + t)),
			     "l"(from + 384 + t)
			     : "memory");
		if (k & 1) {
			asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(sh(&bar)) : "memory");
			await(&bar, k / 2 & 1);
		} else {
			asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
			__syncthreads();
		}
		for (u32 j = 0; j < 4; j++)
			sum = sum * 3u + to[(t * 4 + j * 37) & 511];
		__syncthreads();
	}
	out[me()] = sum;
}

/* ---- libcu++ ---- */
KERNEL library_barriers(const u32 *in, u32 *out, u32 n)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	__shared__ alignas(16) u32 tile[256];
	__shared__ u32 sum;
	auto block = cg::this_thread_block();

	if (threadIdx.x == 0) {
		init(&bar, blockDim.x);
		sum = 0;
	}
	block.sync();
	for (u32 k = 0; k < 3; k++) {
		cuda::memcpy_async(block, tile, in + (blockIdx.x * 3 + k) % 8 * 256, cuda::aligned_size_t<16>(1024),
				   bar);
		auto token = bar.arrive();
		bar.wait(std::move(token));
		atomicAdd(&sum, tile[(threadIdx.x * 3 + k) & 255]);
		bar.arrive_and_wait();
	}
	if (threadIdx.x & 1) {
		bar.arrive_and_drop();
		return;
	}
	bar.arrive_and_wait();
	out[blockIdx.x * 256 + threadIdx.x] = sum + tile[threadIdx.x];
}
KERNEL library_pipeline(const u32 *in, u32 *out, u32 n)
{
	constexpr u32 stages = 2;
	__shared__ alignas(16) u32 tile[stages][128];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
	auto block = cg::this_thread_block();
	auto pipe = cuda::make_pipeline(block, &state);
	u32 sum = 0;

	for (u32 k = 0, f = 0; k < 6; k++) {
		for (; f < 6 && f < k + stages; f++) {
			pipe.producer_acquire();
			cuda::memcpy_async(block, tile[f % stages], in + (blockIdx.x + f) % 16 * 128, sizeof(u32) * 128,
					   pipe);
			pipe.producer_commit();
		}
		pipe.consumer_wait();
		sum = sum * 9u + tile[k % stages][threadIdx.x ^ k];
		block.sync();
		pipe.consumer_release();
	}
	out[me()] = sum;
}
KERNEL library_others(const u32 *in, u32 *out, u32 n)
{
	__shared__ cuda::latch<cuda::thread_scope_block> *latch;
	__shared__ alignas(
	    cuda::latch<cuda::thread_scope_block>) char room[sizeof(cuda::latch<cuda::thread_scope_block>)];
	__shared__ cuda::binary_semaphore<cuda::thread_scope_block> *sem;
	__shared__ alignas(8) char room2[64];
	__shared__ u32 sum;

	if (threadIdx.x == 0) {
		latch = new (room) cuda::latch<cuda::thread_scope_block>(blockDim.x);
		sem = new (room2) cuda::binary_semaphore<cuda::thread_scope_block>(1);
		sum = 0;
	}
	__syncthreads();
	sem->acquire();
	sum += in[me()];
	sem->release();
	latch->arrive_and_wait();
	cuda::atomic_ref<u64, cuda::thread_scope_system> wide(*(u64 *)(out + 512));
	wide.fetch_add((u64)in[me()] << 8);
	cuda::atomic_ref<int, cuda::thread_scope_device> low(*(int *)(out + 514));
	low.fetch_min((int)in[me()], cuda::memory_order_acq_rel);
	u32 expected = 0;
	cuda::atomic_ref<u32, cuda::thread_scope_device> cas(out[516]);
	while (!cas.compare_exchange_weak(expected, expected + threadIdx.x))
		;
	out[me()] = sum;
}

/* ---- small floats ---- */
KERNEL fp8_quantise(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), lane = threadIdx.x & 31;
	const float v = __int_as_float((in[i] & 0x807fffff) | (100 + (in[i] >> 8) % 50) << 23);
	float top = fabsf(v);

	for (int d = 16; d; d >>= 1)
		top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
	const float scale = __frcp_rn(fmaxf(top, 1e-4f)) * 448.0f, q = v * scale;
	const __nv_fp8_storage_t e4 = __nv_cvt_float_to_fp8(q, __NV_SATFINITE, __NV_E4M3);
	const __nv_fp8x2_storage_t e5 =
	    __nv_cvt_float2_to_fp8x2(make_float2(q, __int_as_float(in[i])), __NV_SATFINITE, __NV_E5M2);
	const __half_raw back = __nv_cvt_fp8_to_halfraw(e4, __NV_E4M3);
	const __half2_raw back2 = __nv_cvt_fp8x2_to_halfraw2(e5, __NV_E5M2);
	__nv_fp8x4_e4m3 four(make_float4(q, -q, q * 0.5f, v));
	const __nv_fp8_e5m2 one(__float2half(q));
	const float4 un = (float4)four;

	out[4 * i] = e4 | (u32)e5 << 8 | (u32)one.__x << 24;
	out[4 * i + 1] = back.x | (u32)back2.x << 16;
	out[4 * i + 2] = four.__x ^ back2.y;
	out[4 * i + 3] = __float_as_int(un.x + un.y * 2 + un.z) ^ __float_as_int(__fdiv_rn(1.0f, scale)) + lane;
}
KERNEL half_arithmetic(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	const u32 x = in[i], y = in[(i + 1) % n];
	const __half2 a = *(const __half2 *)&x, b = *(const __half2 *)&y;
	const __nv_bfloat162 c = *(const __nv_bfloat162 *)&x, d = *(const __nv_bfloat162 *)&y;
	__half2 r = __hfma2(a, b, __hadd2(a, b));
	__nv_bfloat162 s = __hfma2(c, d, __hmul2(c, __hneg2(d)));
	u32 k = 0;

	r = __hmax2(__hmin2_nan(r, b), __hsub2_sat(a, b));
	r = __hfma2_relu(r, a, __habs2(b));
	s = __hmax2_nan(s, __hsub2(d, c));
	k = __hgt2_mask(a, b) ^ __heq2_mask(c, d) ^ (__hbgeu2(a, b) ? 3 : 0) ^ (__hlt(a.x, b.y) ? 8 : 0) ^
	    (__hisnan(c.x) ? 16 : 0);
	const __half q = __hadd_rn(__int2half_rz((int)x), __ushort2half_ru((unsigned short)y));
	const __half h = __float2half_rd(__half2float(a.x) * 0.3f);
	out[8 * i] = *(u32 *)&r;
	out[8 * i + 1] = *(u32 *)&s;
	out[8 * i + 2] = k;
	out[8 * i + 3] = __half_as_ushort(q) | (u32)__half_as_ushort(h) << 16;
	out[8 * i + 4] = (u32)__half2int_rn(a.x) ^ __half2uint_rz(b.x) ^ (u32)__half2short_rd(b.y);
	out[8 * i + 5] = __bfloat162int_rz(c.x) ^ (u32)__bfloat16_as_ushort(__float2bfloat16_rn(__half2float(b.y)));
	out[8 * i + 6] = (u32)__half2ll_rn(a.y) ^ __half_as_ushort(__ull2half_rn((u64)x * y)) ^
			 __half_as_ushort(__double2half((double)(int)x * 1e-7));
	const __half2 lowhi = __lowhigh2highlow(__halves2half2(hfloor(a.x), hrint(b.y))), tr = h2trunc(__hmul2(a, b));
	out[8 * i + 7] = *(const u32 *)&lowhi ^ *(const u32 *)&tr ^ __half_as_ushort(__hdiv(a.x, b.x)) * 0;
}
KERNEL half_atomics(const u32 *in, u32 *out, u32 n)
{
	__shared__ __half2 h;
	__shared__ __nv_bfloat16 b;
	const u32 i = me();

	if (threadIdx.x == 0)
		h = __float2half2_rn(0), b = __float2bfloat16(0);
	__syncthreads();
	atomicAdd(&h, __halves2half2(__uint2half_rn(in[i] & 3), __uint2half_rn(in[i] >> 2 & 3)));
	atomicAdd(&b, __uint2bfloat16_rn(in[i] >> 4 & 1));
	atomicAdd((__half2 *)out, __halves2half2(__uint2half_rn(in[i] & 1), __uint2half_rn(in[i] >> 1 & 1)));
	atomicAdd((__nv_bfloat162 *)(out + 1),
		  __nv_bfloat162(__uint2bfloat16_rn(in[i] >> 7 & 1), __uint2bfloat16_rn(0)));
	atomicAdd((float *)(out + 2), (float)(in[i] & 255));
	atomicAdd((double *)(out + 4), (double)(in[i] & 0xffff));
	atomicAdd((float4 *)(out + 8), make_float4(1, 2, in[i] & 7, 0.5f));
	atomicMin((unsigned long long *)(out + 12), (unsigned long long)in[i] << 9);
	atomicDec(out + 14, 1000);
	__syncthreads();
	if (threadIdx.x == 0)
		out[16 + 2 * blockIdx.x] = *(u32 *)&h, out[17 + 2 * blockIdx.x] = __bfloat16_as_ushort(b);
	struct alignas(16) two {
		u64 a, b;
	};
#if __CUDA_ARCH__ >= 900
	two *w = (two *)(out + 128), seen = *w, want;
	do {
		want = seen;
		seen = atomicCAS(w, want, two{ want.a + 1, want.b + in[i] });
	} while (seen.a != want.a || seen.b != want.b);
#endif
}

/* ---- double, integer, bytes ---- */
KERNEL doubles(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	const double a = (double)(int)in[i] * 1.0009765625e-3, b = (double)in[(i + 7) % n] + 0.125;
	double r = fma(a, b, sqrt(b)) / (a + 3.0) + __dmul_ru(a, b) - __dadd_rz(a, b);

	r += floor(a * 0.37) + ceil(b * 0.11) + trunc(a) + rint(b * 0.5) + fmin(a, b) + copysign(b, a) +
	     remainder(a, 17.0) + fmod(b, 3.5) + ldexp(a, (int)(in[i] & 15)) + (double)(float)a;
	int e;
	r += frexp(b, &e) + e;
	out[2 * i] = (u32)__double_as_longlong(r);
	out[2 * i + 1] =
	    (u32)(__double_as_longlong(r) >> 32) ^ (u32)llrint(a) ^ __double2uint_ru(b) ^ __double2int_rd(a);
}
KERNEL floats(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	const float a = __int_as_float((in[i] & 0x807fffff) | (110 + (in[i] >> 9) % 34) << 23),
		    b = (float)(in[(i + 3) % n] & 0xffffff) * 0.25f + 1.0f;
	float r = __fdiv_rn(a, b) + __fsqrt_ru(b) + __fmaf_rd(a, b, 1.5f) + fmodf(b, 1.7f) + remainderf(a, 3.0f);

	r += nextafterf(a, b) + rintf(a) + roundf(b) + truncf(a) + fmaxf(a, b) * 0.5f + ldexpf(b, -3) + __frcp_rz(b) +
	     scalbnf(a, 4) + hypotf(0.0f, b) * 0;
	out[2 * i] = __float_as_int(r);
	out[2 * i + 1] = (u32)__float2int_rn(a) ^ __float2uint_ru(b) ^ (u32)__float2ll_rz(a * 1e6f) ^
			 __float_as_int(__uint2float_rd(in[i])) ^
			 __float_as_int(__ll2float_ru((long long)in[i] * (int)in[0]));
}
KERNEL wide_integers(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	const u64 a = (u64)in[i] << 32 | in[(i + 1) % n], b = ((u64)in[(i + 2) % n] << 20 | in[(i + 3) % n]) + 1;
	const unsigned __int128 x = (unsigned __int128)a * b + a, y = x / (b | 1) ^ x % ((a >> 5) | 3);
	const __int128 z = -(__int128)x >> 7;
	u64 r = (u64)y ^ (u64)(y >> 64) ^ (u64)z ^ (u64)(z >> 64) ^ a / b ^ a % b ^
		(u64)((long long)a / (long long)(b | 1)) ^ __umul64hi(a, b) ^
		(u64)__mul64hi((long long)a, (long long)b);

	r += __brevll(a) + __popcll(b) + __clzll((long long)(a >> (b & 63))) + __ffsll((long long)a) + (a << (b & 63)) +
	     ((long long)a >> (a & 63));
	out[2 * i] = (u32)r;
	out[2 * i + 1] = (u32)(r >> 32) + in[i] / (in[(i + 1) % n] % 1000 + 1) +
			 (u32)((int)in[i] % (int)(in[(i + 2) % n] | 1)) + __byte_perm(in[i], (u32)a, (u32)b) +
			 __funnelshift_lc(in[i], (u32)b, 40) + __funnelshift_r(in[i], (u32)b, (u32)a);
}
KERNEL packed_bytes(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
	u32 r = __vadd4(a, b) ^ __vsub2(a, c) ^ __vabsdiffu4(a, b) ^ __vmaxs4(a, b) ^ __vminu2(b, c) ^
		__vcmpgtu4(a, b) ^ __vavgu4(a, c) ^ __vsadu4(a, b) ^ __vaddss2(a, b) ^ __vsubus4(a, c) ^ __vabs4(a) ^
		__vnegss2(b) ^ __vseteq4(a, b) ^ __vabsdiffs2(a, b);

	r += __dp4a((int)a, (int)b, (int)c) + __dp4a(a, b, c) + __dp2a_lo((int)a, (int)b, 0) + __dp2a_hi(a, b, c) +
	     __usad(a, b, c) + (u32)__sad((int)a, (int)b, c) + __viaddmax_s32_relu((int)a, (int)b, (int)c) +
	     __vimax3_u16x2(a, b, c) + (u32)__vibmax_s32((int)a, (int)b, (bool *)&out[n] - 0 * i) * 0 + __uhadd(a, b) +
	     (u32)__rhadd((int)a, (int)b) + __mul24((int)a, (int)b) + __umulhi(a, b);
	r ^= __vimin_s16x2_relu(a, b) + __vimin3_s32_relu((int)a, (int)b, (int)c);
	out[i < n ? i : 0] = r;
}

/* ---- tables, local memory, switch ---- */
__constant__ u32 table[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
__device__ u32 counter_of[4] = { 10, 20, 30 };
typedef u32 (*step_fn)(u32, u32 *);
__device__ __noinline__ u32 step_a(u32 x, u32 *s)
{
	return s[x & 15] += table[x & 15];
}
__device__ __noinline__ u32 step_b(u32 x, u32 *s)
{
	return s[x >> 4 & 15] ^= x;
}
__device__ __noinline__ u32 step_c(u32 x, u32 *s)
{
	return s[0] * s[x & 15] + x;
}
__device__ __noinline__ u32 step_d(u32 x, u32 *s)
{
	return x & 1 ? step_a(x >> 1, s) : step_b(x >> 1, s);
}
__device__ const step_fn steps[4] = { step_a, step_b, step_c, step_d };
KERNEL function_table(const u32 *in, u32 *out, u32 n)
{
	u32 s[16], v = in[me() % n];

	for (u32 k = 0; k < 16; k++)
		s[k] = k * v;
	for (u32 k = 0; k < 20; k++)
		v = steps[(v >> (k & 7)) & 3](v + k, s) * 5u + counter_of[k & 3];
	out[me()] = v + s[v & 15];
}
KERNEL interpreter(const u32 *in, u32 *out, u32 n)
{
	u32 st[8] = { me() }, pc = me() % n, a = 1;

	for (u32 k = 0; k < 200; k++) {
		const u32 w = in[pc];
		switch (w % 19) {
		case 0:
			a += w;
			break;
		case 1:
			a ^= st[w >> 8 & 7];
			break;
		case 2:
			st[w >> 8 & 7] = a;
			break;
		case 3:
			if (a & 1)
				pc += 3;
			break;
		case 4:
			a *= 3;
			break;
		case 5:
			a = a << 3 | a >> 29;
			break;
		case 6:
			a -= st[a & 7];
			break;
		case 7:
			if (a % 7 == 0)
				k += 5;
			break;
		case 8:
			a = a / (w % 13 + 1);
			break;
		case 9:
			for (u32 j = 0; j < (w >> 4 & 3); j++)
				a += j * a;
			break;
		case 10:
			a = __popc(a);
			break;
		case 11:
			a = a > w ? a - w : w - a;
			break;
		case 12:
			st[a & 7] += 1;
			break;
		case 13:
			if (st[1] > 1000u)
				goto out;
			break;
		case 14:
			a ^= 0x55;
			break;
		case 15:
			a |= st[2];
			break;
		default:
			a += w % 19;
			break;
		}
		pc = (pc + 1) % n;
	}
out:
	out[me()] = a + st[3] * 3;
}
struct record {
	u32 a;
	short b;
	char c[5];
	double d;
	float f[3];
};
__device__ __noinline__ record change(record r, int by)
{
	r.a += by;
	r.b -= by;
	r.c[by & 3] ^= 7;
	r.d *= 2;
	r.f[by % 3] += 1;
	return r;
}
KERNEL structures(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	record r = { in[i], (short)in[i], { 1, 2, 3, 4, 5 }, (double)(in[i] & 255), { 1, 2, 3 } };

	for (int k = 0; k < (int)(in[i] & 7); k++)
		r = change(r, k);
	out[i] = r.a + (u32)r.b + r.c[0] * 3 + r.c[3] + (u32)r.d + (u32)(r.f[0] + r.f[1] * 10 + r.f[2] * 100);
}
KERNEL heap(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	struct node {
		node *next;
		u32 v;
	};
	node *list = NULL;
	u32 sum = 0, k;

	for (k = 0; k < (in[i] & 7) + 1; k++) {
		node *x = (node *)malloc(sizeof(node));
		if (!x)
			break;
		x->next = list, x->v = in[i] * k, list = x;
	}
	while (list) {
		node *x = list;
		sum = sum * 11u + x->v, list = x->next;
		free(x);
	}
	u32 *a = new u32[in[i] % 50 + 1];
	for (k = 0; k < in[i] % 50 + 1; k++)
		a[k] = k ^ sum;
	out[i] = a[in[i] % 50] + k;
	delete[] a;
}
KERNEL gemm(const u32 *in, u32 *out, u32 n)
{
	__shared__ float a[16][17], b[16][16];
	const u32 x = threadIdx.x & 15, y = threadIdx.x >> 4, row = blockIdx.x / 2 * 16 + y,
		  col = blockIdx.x % 2 * 16 + x;
	float sum = 0;

	for (u32 k = 0; k < 32; k += 16) {
		a[y][x] = (float)((int)in[row * 32 + k + x] >> 16) * 0.001f;
		b[y][x] = (float)((int)in[1024 + (k + y) * 32 + col] >> 20);
		__syncthreads();
#pragma unroll
		for (u32 j = 0; j < 16; j++)
			sum = fmaf(a[y][j], b[j][x], sum);
		__syncthreads();
	}
	out[row * 32 + col] = __float_as_uint(sum);
}
KERNEL bitonic(const u32 *in, u32 *out, u32 n)
{
	extern __shared__ u32 s[];
	const u32 t = threadIdx.x;

	s[t] = in[me()];
	__syncthreads();
	for (u32 k = 2; k <= blockDim.x; k <<= 1)
		for (u32 j = k >> 1; j; j >>= 1) {
			const u32 p = t ^ j;
			if (p > t && (s[t] > s[p]) == !(t & k)) {
				const u32 v = s[t];
				s[t] = s[p], s[p] = v;
			}
			__syncthreads();
		}
	out[me()] = s[t];
}
KERNEL elected(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), w = i / 32;
	u32 who = 99, is = 0;

	asm volatile("{.reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p;}" : "=r"(who), "=r"(is));
	if (is)
		atomicAdd(&out[w], in[i] + who);
	asm volatile("griddepcontrol.wait; griddepcontrol.launch_dependents;" ::: "memory");
	__nanosleep(in[i] & 127);
	const u64 from = clock64();
	while (clock64() - from < (in[i] & 1023))
		;
	out[64 + i] = __isShared(&out[i]) + 2 * __isGlobal(&out[i]) + 4 * __isLocal(&who) + 8 * __isConstant(&table[1]);
}

/* ---- more of clusters and copies ---- */
KERNEL __cluster_dims__(4, 1, 1) reduce_async(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(16) u32 box[8];
	__shared__ alignas(16) u64 wide;
	__shared__ u64 bar;
	cg::cluster_group c = cg::this_cluster();
	const u32 t = threadIdx.x, v = in[me()];
	u32 to, tobar, towide;

	if (t < 8)
		box[t] = t == 1 ? 0x7fffffff : t == 3 ? 0xffffffff : 0;
	if (t == 0) {
		wide = 0;
		INIT(&bar, 1);
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		EXPECT(&bar, 4 * blockDim.x * (7 * 4 + 8));
	}
	c.sync();
	for (u32 r = 0; r < 4; r++) {
		asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(sh(box)), "r"(r));
		asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(towide) : "r"(sh(&wide)), "r"(r));
		asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(tobar) : "r"(sh(&bar)), "r"(r));
#define RED(op, type, at)                                                                                              \
	asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." op "." type             \
		     " [%0], %1, [%2];" ::"r"(to + 4 * at),                                                            \
		     "r"(v), "r"(tobar)                                                                                \
		     : "memory")
		RED("add", "u32", 0);
		RED("min", "s32", 1);
		RED("max", "u32", 2);
		RED("and", "b32", 3);
		RED("or", "b32", 4);
		RED("xor", "b32", 5);
		RED("inc", "u32", 6);
		asm volatile(
		    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];" ::
			"r"(towide),
		    "l"((u64)v << 7), "r"(tobar)
		    : "memory");
	}
	await(&bar, 0);
	if (t < 6)
		out[blockIdx.x * 8 + t] = box[t];
	else if (t < 8)
		out[blockIdx.x * 8 + t] = (u32)(wide >> (t & 1 ? 32 : 0));
	c.sync();
}
KERNEL __cluster_dims__(2, 1, 1) remote_arrive(const u32 *in, u32 *out, u32 n)
{
	__shared__ u64 full, empty;
	__shared__ u32 box[64];
	cg::cluster_group c = cg::this_cluster();
	const u32 t = threadIdx.x, rank = c.block_rank();
	u32 tofull, toempty, sum = 0;

	if (t == 0) {
		INIT(&full, 64);
		INIT(&empty, 64);
	}
	c.sync();
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(tofull) : "r"(sh(&full)), "r"(rank ^ 1));
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(toempty) : "r"(sh(&empty)), "r"(rank ^ 1));
	u32 *peer = c.map_shared_rank(box, rank ^ 1);
	for (u32 k = 0; k < 5; k++) {
		if (rank == 0) {
			peer[t] = in[blockIdx.x * 64 + t] * (k + 1);
			asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(tofull)
				     : "memory");
			await(&empty, k & 1);
		} else {
			await(&full, k & 1);
			sum = sum * 7u + box[t ^ k];
			__syncwarp();
			asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 1;" ::"r"(toempty)
				     : "memory");
			/* all of the block must have read before the next round is written */
		}
	}
	out[me()] = sum;
	c.sync();
}
KERNEL radix_sort(const u32 *in, u32 *out, u32 n)
{
	typedef cub::BlockRadixSort<u32, 64, 4, u32> sort;
	typedef cub::BlockScan<u32, 64> scan;
	__shared__ union {
		typename sort::TempStorage s;
		typename scan::TempStorage c;
	} room;
	u32 keys[4], values[4];

	for (u32 k = 0; k < 4; k++)
		keys[k] = in[blockIdx.x * 256 + threadIdx.x * 4 + k] >> 11, values[k] = threadIdx.x * 4 + k;
	sort(room.s).Sort(keys, values);
	__syncthreads();
	u32 total;
	scan(room.c).InclusiveSum(values, values, total);
	for (u32 k = 0; k < 4; k++)
		out[blockIdx.x * 512 + threadIdx.x * 4 + k] = keys[k],
							 out[blockIdx.x * 512 + 256 + threadIdx.x * 4 + k] =
							     values[k] + total;
}
KERNEL group_copy(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(16) u32 tile[2][128];
	auto block = cg::this_thread_block();
	u32 sum = 0;

	cg::memcpy_async(block, tile[0], in, sizeof(u32) * 128);
	for (u32 k = 0; k < 5; k++) {
		if (k < 4) {
			cg::memcpy_async(block, tile[(k + 1) & 1], in + (k + 1) * 100, cuda::aligned_size_t<16>(512));
			cg::wait_prior<1>(block);
		} else {
			cg::wait(block);
		}
		sum = sum * 5u + tile[k & 1][(threadIdx.x * 3 + k) & 127];
		block.sync();
	}
	auto pipe = cuda::make_pipeline();
	for (u32 k = 0; k < 3; k++) {
		pipe.producer_acquire();
		cuda::memcpy_async(&tile[0][threadIdx.x], &in[threadIdx.x + k], sizeof(u32), pipe);
		pipe.producer_commit();
		cuda::pipeline_consumer_wait_prior<0>(pipe);
		sum += tile[0][threadIdx.x];
		pipe.consumer_release();
	}
	out[me()] = sum;
}
