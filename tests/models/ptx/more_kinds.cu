/*
 * More kernels of the kinds of kinds.cu, by other ways. traces/samples/ptx_more_kinds_h200.jsonl has launches and what
 * an H200 made of them.
 */
#include "kinds.cuh"

#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cuda/ptx>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>

namespace ptx = cuda::ptx;

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

/* virtual inheritance, several bases, destructors, pointers to members, functors */
struct base_a {
	u32 a;
	__device__ base_a(u32 x) : a(x)
	{
	}
	__device__ virtual u32 f(u32 k)
	{
		return a + k;
	}
	__device__ virtual ~base_a()
	{
	}
};
struct base_b {
	u32 b;
	__device__ base_b(u32 x) : b(x)
	{
	}
	__device__ virtual u32 g(u32 k)
	{
		return b ^ k;
	}
	__device__ virtual ~base_b()
	{
	}
};
struct both : base_a, base_b {
	u32 *log;
	__device__ both(u32 x, u32 *l) : base_a(x), base_b(x * 3), log(l)
	{
	}
	__device__ u32 f(u32 k) override
	{
		return g(k) * 5 + a;
	}
	__device__ u32 g(u32 k) override
	{
		return b - k;
	}
	__device__ ~both()
	{
		*log += a;
	}
};
struct vroot {
	u32 v;
	__device__ vroot() : v(7)
	{
	}
	__device__ virtual u32 h()
	{
		return v;
	}
};
struct vl : virtual vroot {
	u32 l;
	__device__ vl(u32 x) : l(x)
	{
		v += x;
	}
	__device__ u32 h() override
	{
		return v + l;
	}
};
struct vr : virtual vroot {
	u32 r;
	__device__ vr(u32 x) : r(x)
	{
		v ^= x;
	}
};
struct vd : vl, vr {
	__device__ vd(u32 x) : vl(x), vr(x * 2)
	{
	}
	__device__ u32 h() override
	{
		return vl::h() * 3 + r;
	}
};
__device__ __noinline__ u32 call_b(base_b *p, u32 k)
{
	return p->g(k);
}
__device__ __noinline__ u32 call_root(vroot *p)
{
	return p->h();
}
struct counter {
	u32 n;
	__device__ __noinline__ u32 up(u32 k)
	{
		return n += k;
	}
	__device__ __noinline__ u32 down(u32 k)
	{
		return n -= k * 3;
	}
};
KERNEL more_virtual(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	u32 log = 1, sum = 0;
	if (in[i] & 1) {
		both o(in[i], &log);
		base_a *p = &o;
		sum = p->f(3) + call_b(&o, in[i] >> 7);
	} else {
		base_a o(in[i] >> 2);
		base_a *p = in[i] & 2 ? &o : (base_a *)new both(in[i], &log);
		sum = p->f(9);
		if (p != &o)
			delete p;
	}
	vd d(in[i] & 0xff);
	vr e(in[i] & 0xf);
	sum = sum * 7 + call_root(in[i] & 4 ? (vroot *)&d : (vroot *)&e);
	u32 (counter::*step)(u32) = in[i] & 8 ? &counter::up : &counter::down;
	counter c = { in[i] };
	for (u32 k = 0; k < (in[i] >> 4 & 7); k++)
		sum += (c.*step)(k);
	u32 (*fn)(u32, u32) =
	    in[i] & 16 ? +[](u32 x, u32 y) { return x * y; } : +[](u32 x, u32 y) { return x ^ (y >> 3); };
	out[i] = fn(sum, log) + log;
}

/* recursion of several kinds, with shuffles between */
__device__ __noinline__ u32 is_odd(u32 n, u32 *calls);
__device__ __noinline__ u32 is_even(u32 n, u32 *calls)
{
	++*calls;
	return n == 0 ? 1 : is_odd(n - 1, calls);
}
__device__ __noinline__ u32 is_odd(u32 n, u32 *calls)
{
	*calls += 2;
	return n == 0 ? 0 : is_even(n - 1, calls);
}
__device__ __noinline__ u32 fib(u32 n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__device__ __noinline__ u32 queens(u32 n, u32 cols, u32 d1, u32 d2)
{
	u32 count = 0, free = ((1u << n) - 1) & ~(cols | d1 | d2);
	if (cols == (1u << n) - 1)
		return 1;
	while (free) {
		const u32 bit = free & -free;
		free ^= bit;
		count += queens(n, cols | bit, (d1 | bit) << 1, (d2 | bit) >> 1);
	}
	return count;
}
__device__ __noinline__ void quicksort(u32 *a, int lo, int hi)
{
	if (lo >= hi)
		return;
	const u32 pivot = a[(lo + hi) / 2];
	int i = lo, j = hi;
	while (i <= j) {
		while (a[i] < pivot)
			i++;
		while (a[j] > pivot)
			j--;
		if (i <= j) {
			const u32 t = a[i];
			a[i++] = a[j], a[j--] = t;
		}
	}
	quicksort(a, lo, j);
	quicksort(a, i, hi);
}
__device__ __noinline__ u32 tree_sum(u32 depth, u32 v, u32 mask)
{
	if (depth == 0)
		return __shfl_xor_sync(mask, v, 1) + v;
	const u32 l = tree_sum(depth - 1, v * 3, mask);
	__syncwarp(mask);
	return l ^ tree_sum(depth - 1, v + l, mask) ^ __ballot_sync(mask, l & 1);
}
KERNEL more_recursion(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	u32 calls = 0, a[24];
	const u32 e = is_even(in[i] % 23, &calls), f = fib(in[i] % 11), q = queens(4 + in[i] % 3, 0, 0, 0);
	for (u32 k = 0; k < 24; k++)
		a[k] = mix(in[i] + k);
	quicksort(a, 0, 7 + (int)(in[i] % 17));
	const u32 s = f + q;
	u32 t;
	if (in[i & ~31] & 1)
		t = tree_sum(1 + (in[i & ~31] >> 1) % 3, in[i], ~0u);
	else if ((threadIdx.x & 31) < 10)
		t = tree_sum(2, in[i], 0x3ff);
	else
		t = tree_sum(3, in[i], 0xfffffc00);
	out[2 * i] = e + calls * 2 + s * 1000;
	out[2 * i + 1] = a[0] ^ a[3] * 3 ^ a[7] * 5 ^ a[23] ^ t;
}

/* lanes that wait for each other */
struct mcs {
	u32 locked, next;
};
KERNEL mcs_lock(const u32 *in, u32 *out, u32 n)
{ /* queue lock, node a thread */
	__shared__ volatile u32 tail, value, nodes[128][2];
	const u32 t = threadIdx.x;
	if (t == 0)
		tail = 0, value = 0;
	nodes[t][0] = nodes[t][1] = 0;
	__syncthreads();
	for (u32 r = 0; r < 2; r++) {
		nodes[t][1] = 0;
		nodes[t][0] = 1;
		__threadfence_block();
		const u32 before = atomicExch((u32 *)&tail, t + 1);
		if (before) {
			nodes[before - 1][1] = t + 1;
			while (nodes[t][0])
				;
		}
		__threadfence_block();
		value = value + in[me()] % 1000;
		__threadfence_block();
		if (nodes[t][1] == 0) {
			if (atomicCAS((u32 *)&tail, t + 1, 0) != t + 1) {
				while (nodes[t][1] == 0)
					;
				nodes[nodes[t][1] - 1][0] = 0;
			}
		} else {
			nodes[nodes[t][1] - 1][0] = 0;
		}
	}
	__syncthreads();
	if (t == 0)
		out[blockIdx.x] = value;
}
KERNEL lane_pipe(const u32 *in, u32 *out, u32 n)
{ /* lane k hands a value to lane k + 1 */
	__shared__ volatile u32 slot[33], full[33];
	const u32 lane = threadIdx.x;
	u32 sum = 0;
	slot[lane] = full[lane] = 0;
	if (lane == 0)
		full[32] = 0;
	__syncwarp();
	for (u32 k = 0; k < 6; k++) {
		u32 v;
		if (lane == 0) {
			v = in[blockIdx.x * 6 + k];
		} else {
			while (full[lane] == 0)
				__nanosleep(20);
			__threadfence_block();
			v = slot[lane];
			full[lane] = 0;
		}
		v = v * 3 + lane;
		sum = sum * 5 + v;
		if (lane < 31) {
			while (full[lane + 1])
				;
			slot[lane + 1] = v;
			__threadfence_block();
			full[lane + 1] = 1;
		}
	}
	out[blockIdx.x * 32 + lane] = sum;
}
KERNEL philosophers(const u32 *in, u32 *out, u32 n)
{
	__shared__ u32 fork[32], eaten[32];
	const u32 t = threadIdx.x, a = t, b = (t + 1) % 32, lo = min(a, b), hi = max(a, b);
	fork[t] = eaten[t] = 0;
	__syncthreads();
	for (u32 k = 0; k < 1 + in[t] % 3; k++) {
		bool done = false;
		while (!done)
			if (!atomicCAS(&fork[lo], 0, 1)) {
				if (!atomicCAS(&fork[hi], 0, 1)) {
					__threadfence_block();
					*(volatile u32 *)&eaten[lo] += in[t] & 15;
					*(volatile u32 *)&eaten[hi] += in[t] >> 4 & 15;
					__threadfence_block();
					done = true;
					atomicExch(&fork[hi], 0);
				}
				atomicExch(&fork[lo], 0);
			}
	}
	__syncthreads();
	out[t] = eaten[t];
}
KERNEL wait_notify(const u32 *in, u32 *out, u32 n)
{
	__shared__ cuda::atomic<u32, cuda::thread_scope_block> phase;
	__shared__ u32 box;
	const u32 w = threadIdx.x / 32;
	if (threadIdx.x == 0)
		new (&phase) cuda::atomic<u32, cuda::thread_scope_block>(0), box = 1;
	__syncthreads();
	u32 now;
	while ((now = phase.load(cuda::memory_order_acquire)) != w)
		phase.wait(now, cuda::memory_order_relaxed);
	if ((threadIdx.x & 31) == 0)
		box = box * 31 + in[blockIdx.x * 8 + w];
	__syncwarp();
	const u32 seen = *(volatile u32 *)&box;
	__syncwarp();
	if ((threadIdx.x & 31) == 0) {
		phase.store(w + 1, cuda::memory_order_release);
		phase.notify_all();
	}
	out[me()] = seen;
}
KERNEL grid_barrier(const u32 *in, u32 *out, u32 n)
{ /* all blocks are resident */
	cuda::atomic_ref<u32, cuda::thread_scope_device> arrived(out[0]);
	u32 v = in[me()];
	for (u32 k = 0; k < 4; k++) {
		out[64 + (k & 1) * gridDim.x * blockDim.x + me()] = v;
		__syncthreads();
		if (threadIdx.x == 0) {
			arrived.fetch_add(1, cuda::memory_order_acq_rel);
			while (arrived.load(cuda::memory_order_acquire) < (k + 1) * gridDim.x)
				;
		}
		__syncthreads();
		v = v * 3 +
		    __ldcg(&out[64 + (k & 1) * gridDim.x * blockDim.x + (me() * 7 + k) % (gridDim.x * blockDim.x)]);
	}
	out[64 + 2 * gridDim.x * blockDim.x + me()] = v;
}
KERNEL work_queue(const u32 *in, u32 *out, u32 n)
{ /* persistent warps take items by one lane's atomic */
	const u32 lane = threadIdx.x & 31;
	for (;;) {
		u32 item = 0;
		if (lane == 0)
			item = atomicAdd(out, 1);
		item = __shfl_sync(~0u, item, 0);
		if (item >= n)
			break;
		u32 x = in[item] ^ lane, steps = 0;
		while (x > 1 && steps < 40)
			x = x & 1 ? (x * 3 + 1) & 0xffff : x >> 1, steps++;
		steps = __reduce_add_sync(~0u, steps);
		if (lane == 0)
			out[64 + item] = steps;
	}
	__syncthreads();
	if (threadIdx.x == 0)
		atomicSub(out, blockDim.x / 32);
}
KERNEL hash_insert(const u32 *in, u32 *out, u32 n)
{
	const u32 key = (in[me()] % 200) + 1;
	u32 at = mix(key) & 255;
	for (;;) {
		const u32 old = atomicCAS(&out[512 + at], 0, key);
		if (old == 0 || old == key)
			break;
		at = (at + 1) & 255;
	}
	atomicAdd(&out[key], 1);
	atomicMax(&out[256 + key % 16], in[me()]);
}

/* partial masks */
KERNEL masks_by_loop(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), lane = threadIdx.x & 31;
	u32 sum = lane;
	u32 left = ~0u;
	for (;;) { /* each turn, the lanes that share the leader's value */
		const u32 lead = __ffs(left) - 1, v = __shfl_sync(left, in[i] & 3, lead);
		const bool mine = v == (in[i] & 3);
		const u32 same = __ballot_sync(left, mine);
		if (mine) {
			sum = sum * 9 + __reduce_add_sync(same, in[i] >> 8) + __popc(same);
			const double d = __shfl_sync(same, (double)in[i] * 0.5, __ffs(same) - 1);
			const long long l = __shfl_up_sync(same, (long long)in[i] << 20, 0);
			sum += (u32)(long long)d ^ (u32)(l >> 20);
			break;
		}
		left &= ~same;
	}
	out[i] = sum;
}
KERNEL masks_at_places(const u32 *in, u32 *out, u32 n)
{ /* the two sides meet in different instructions of one kind */
	const u32 i = me(), lane = threadIdx.x & 31;
	u32 r;
	if (in[i] & 1)
		r = __shfl_sync(~0u, in[i] * 3, (lane + 1) & 31);
	else
		r = __shfl_sync(~0u, in[i] * 5, (lane + 1) & 31);
	if (lane & 2) {
		__syncwarp();
		r += __ballot_sync(~0u, r & 1);
	} else {
		r ^= 7;
		__syncwarp();
		r += __ballot_sync(~0u, r & 2);
	}
	if (lane < 8)
		r += __shfl_xor_sync(0xff, r, 4);
	else if (lane < 24)
		r += __shfl_down_sync(0xffff00, r, 2, 4);
	if (lane % 5 == 4)
		return;
	__syncwarp();
	out[i] = r + __popc(__activemask() & 0);
}
KERNEL half_warp_barriers(const u32 *in, u32 *out, u32 n)
{ /* barrier.sync by lanes that come from different places */
	__shared__ u32 a[128];
	const u32 t = threadIdx.x, i = me();
	a[t] = in[i];
	u32 r = 0;
	if (t & 1) {
		asm volatile("barrier.sync 1;" ::: "memory");
		r = a[t ^ 1];
		asm volatile("barrier.sync 2, 128;" ::: "memory");
	} else {
		r = in[i] * 3;
		asm volatile("barrier.sync 1;" ::: "memory");
		r += a[t ^ 3];
		asm volatile("barrier.sync 2, 128;" ::: "memory");
	}
	if (t % 3)
		asm volatile("barrier.sync %0;" ::"r"(t & 0 | 7) : "memory");
	else
		asm volatile("barrier.sync 7;" ::: "memory");
	a[t] = r;
	u32 c;
	asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; barrier.red.popc.u32 %0, %2, 128, p;}"
		     : "=r"(c)
		     : "r"(r & 3), "r"((in[0] & 7) + 3)
		     : "memory");
	out[i] = a[(t * 5) & 127] + c;
}
KERNEL tiles(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	auto block = cg::this_thread_block();
	auto t16 = cg::tiled_partition<16>(block);
	auto t2 = cg::tiled_partition<2>(t16);
	auto dyn = cg::tiled_partition(block, 8);
	u32 r = t16.shfl_down(in[i], 3) ^ t16.any(in[i] & 1) << 3 ^ t2.shfl_xor(in[i], 1);
	r += dyn.thread_rank() + dyn.size() * 100 + t16.meta_group_rank() * 1000;
	r ^= cg::reduce(t16, (float)(in[i] & 255), cg::plus<float>()) > 2000.f ? 1 : 2;
	r += cg::exclusive_scan(t16, in[i] & 15, cg::plus<u32>()) + dyn.size();
	auto some = cg::coalesced_threads();
	r += some.size();
	if (in[i] & 2) {
		auto c = cg::coalesced_threads();
		const u32 rank = c.thread_rank();
		r += (c.size() * 10 + rank) * 0;
		r ^= c.shfl(in[i], 0) & 0;
	}
	block.sync();
	auto tok = block.barrier_arrive();
	r ^= t16.match_any(in[i] & 1);
	block.barrier_wait(std::move(tok));
	out[i] = r;
}

/* clusters */
KERNEL __cluster_dims__(8, 1, 1) cluster_3d(const u32 *in, u32 *out, u32 n)
{
	__shared__ u32 box[32];
	cg::cluster_group c = cg::this_cluster();
	const u32 rank = c.block_rank(), t = threadIdx.x;
	const dim3 at = c.block_index(), of = c.dim_blocks();
	box[t] = in[rank * 32 + t];
	c.sync();
	u32 sum = at.x + 2 * at.y + 4 * at.z + 8 * of.x + 16 * of.y + 32 * of.z;
	for (u32 k = 0; k < 8; k++)
		sum = sum * 3 + *c.map_shared_rank(&box[(t + k) & 31], (rank + k) & 7);
	atomicAdd(c.map_shared_rank(&box[0], 0), 0);
	c.sync();
	out[rank * 32 + t] = sum;
}
KERNEL __cluster_dims__(8, 1, 1) cluster_bulk(const u32 *in, u32 *out, u32 n)
{ /* shared to shared of the next block, several rounds */
	__shared__ alignas(128) u32 box[2][64];
	__shared__ u64 bar[2];
	cg::cluster_group c = cg::this_cluster();
	const u32 rank = c.block_rank(), t = threadIdx.x, next = (rank + 1) & 7;
	u32 to, tobar;
	if (t == 0) {
		INIT(&bar[0], 1);
		INIT(&bar[1], 1);
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	box[0][t] = in[me()];
	c.sync();
	for (u32 k = 0; k < 4; k++) {
		if (t == 0)
			EXPECT(&bar[(k + 1) & 1], 256);
		asm volatile("fence.proxy.async;" ::: "memory");
		c.sync();
		if (t == 0) {
			asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
				     : "=r"(to)
				     : "r"(sh(box[(k + 1) & 1])), "r"(next));
			asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
				     : "=r"(tobar)
				     : "r"(sh(&bar[(k + 1) & 1])), "r"(next));
			asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], "
				     "[%1], 256, [%2];" ::"r"(to),
				     "r"(sh(box[k & 1])), "r"(tobar)
				     : "memory");
		}
		await(&bar[(k + 1) & 1], k / 2 & 1);
		box[(k + 1) & 1][t] += k * 77 + rank;
	}
	c.sync();
	out[me()] = box[0][t] * 3 + box[1][t];
}
KERNEL __cluster_dims__(4, 1, 1) multicast_some(const u32 *in, u32 *out, u32 n)
{ /* block r gives its line to a set that may lack itself; several phases */
	__shared__ alignas(128) u32 box[4][32];
	__shared__ u64 bar;
	cg::cluster_group c = cg::this_cluster();
	const u32 rank = c.block_rank(), t = threadIdx.x;
	const u32 masks[4] = { 0x6, 0xf, 0x9, 0x3 };
	u32 sum = 0, bytes = 0;
	for (u32 r = 0; r < 4; r++)
		bytes += masks[r] >> rank & 1 ? 128 : 0;
	for (u32 r = 0; r < 4; r++)
		box[r][t] = rank + r;
	if (t == 0) {
		INIT(&bar, 1);
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	for (u32 k = 0; k < 3; k++) {
		if (t == 0)
			EXPECT(&bar, bytes);
		asm volatile("fence.proxy.async;" ::: "memory");
		c.sync();
		if (t == 31)
			asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
				     "cluster.L2::cache_hint [%0], [%1], %2, [%3], %4, %5;" ::"r"(sh(box[rank])),
				     "l"(in + (k * 4 + rank) * 32), "r"(128), "r"(sh(&bar)), "h"((uint16_t)masks[rank]),
				     "l"(0x1000000000000000ull)
				     : "memory");
		await(&bar, k & 1);
		for (u32 r = 0; r < 4; r++)
			sum = sum * 5 + box[r][t];
		c.sync();
	}
	out[me()] = sum;
}
KERNEL __cluster_dims__(2, 1, 1) ping_pong(const u32 *in, u32 *out, u32 n)
{ /* st.async back and forth */
	__shared__ alignas(16) u32 box[4];
	__shared__ u64 bar;
	const u32 t = threadIdx.x;
	cg::cluster_group c = cg::this_cluster();
	const u32 rank = c.block_rank();
	if (t == 0) {
		INIT(&bar, 1);
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		EXPECT(&bar, 16);
	}
	c.sync();
	if (t == 0) {
		u32 to, tobar;
		asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(sh(box)), "r"(rank ^ 1));
		asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(tobar) : "r"(sh(&bar)), "r"(rank ^ 1));
		u32 v = in[blockIdx.x];
		for (u32 k = 0; k < 6; k++) {
			if ((k & 1) == rank) {
				if (k > 0) {
					await(&bar, (k - 1) / 2 & 1);
					EXPECT(&bar, 16);
					v = v * 3 + box[0] + box[3];
				}
				asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], "
					     "{%1,%2,%3,%4}, [%5];" ::"r"(to),
					     "r"(v), "r"(v + 1), "r"(v ^ 5), "r"(k), "r"(tobar)
					     : "memory");
			}
		}
		if (rank == 0) {
			await(&bar, 0);
		}
		out[blockIdx.x] = v;
	}
	c.sync();
}
KERNEL __cluster_dims__(4, 1, 1) cluster_arrive_wait(const u32 *in, u32 *out, u32 n)
{
	__shared__ u32 a[64];
	cg::cluster_group c = cg::this_cluster();
	const u32 rank = c.block_rank(), t = threadIdx.x;
	u32 v = in[me()];
	a[t] = v;
	if (t >= 48 && (rank & 1)) { /* some leave early */
		asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
		return;
	}
	asm volatile("barrier.cluster.arrive.release;" ::: "memory");
	v = v * 5;
	asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
	u32 addr, got, r;
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(addr) : "r"(sh(&a[t])), "r"((rank + 1) & 3));
	asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(addr) : "memory");
	asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(r) : "r"(addr));
	asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
	asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
	asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(addr), "r"(v + got) : "memory");
	asm volatile("red.shared::cluster.xor.b32 [%0], %1;" ::"r"(addr & ~4u), "r"(0) : "memory");
	c.sync();
	out[me()] = a[t] + r;
}
KERNEL __cluster_dims__(2, 1, 1) cluster_locks(const u32 *in, u32 *out, u32 n)
{ /* both blocks' lanes take one lock in rank 0 */
	__shared__ u32 lock, value;
	cg::cluster_group c = cg::this_cluster();
	if (threadIdx.x == 0)
		lock = value = 0;
	c.sync();
	u32 *l = c.map_shared_rank(&lock, 0), *v = c.map_shared_rank(&value, 0);
	cuda::atomic_ref<u32, cuda::thread_scope_device> al(*l);
	u32 order = 0;
	for (bool done = false; !done;) {
		if (al.exchange(1, cuda::memory_order_acquire) == 0) {
			*(volatile u32 *)v = *(volatile u32 *)v + (in[me()] & 0xffff);
			al.store(0, cuda::memory_order_release);
			done = true;
		}
	}
	c.sync();
	out[me()] = *(volatile u32 *)v + order;
	c.sync();
}

/* libcu++ */
KERNEL tx_barrier(const u32 *in, u32 *out, u32 n)
{
	using barrier = cuda::barrier<cuda::thread_scope_block>;
	__shared__ alignas(128) u32 tile[2][256];
	__shared__ barrier bar[2];
	const u32 t = threadIdx.x;
	u32 sum = 0;
	if (t == 0) {
		init(&bar[0], blockDim.x);
		init(&bar[1], blockDim.x);
		cuda::device::experimental::fence_proxy_async_shared_cta();
	}
	__syncthreads();
	barrier::arrival_token tok[2];
	for (u32 k = 0; k < 5; k++) {
		for (u32 f = k == 0 ? 0 : k + 1; f < k + 2 && f < 5; f++)
			if (t == 0) {
				cuda::device::experimental::cp_async_bulk_global_to_shared(tile[f & 1], in + f * 256,
											   1024, bar[f & 1]);
				tok[f & 1] = cuda::device::barrier_arrive_tx(bar[f & 1], 1, 1024);
			} else {
				tok[f & 1] = bar[f & 1].arrive();
			}
		bar[k & 1].wait(std::move(tok[k & 1]));
		sum = sum * 3 + tile[k & 1][(t * 5 + k) & 255];
		__syncthreads();
		tile[k & 1][t] = sum;
		cuda::device::experimental::fence_proxy_async_shared_cta();
		__syncthreads();
		if (t == 0) {
			cuda::device::experimental::cp_async_bulk_shared_to_global(out + 1024 + k * 256, tile[k & 1],
										   1024);
			cuda::device::experimental::cp_async_bulk_commit_group();
			cuda::device::experimental::cp_async_bulk_wait_group_read<0>();
		}
		__syncthreads();
	}
	out[t] = sum;
}
struct count_phases {
	u32 *n;
	__device__ void operator()() noexcept
	{
		*n += 3;
	}
};
KERNEL completion(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(16) char room[sizeof(cuda::barrier<cuda::thread_scope_block, count_phases>)];
	__shared__ u32 phases;
	auto *bar = (cuda::barrier<cuda::thread_scope_block, count_phases> *)room;
	if (threadIdx.x == 0) {
		phases = 0;
		new (bar) cuda::barrier<cuda::thread_scope_block, count_phases>(blockDim.x, count_phases{ &phases });
	}
	__syncthreads();
	u32 sum = 0;
	for (u32 k = 0; k < 4; k++) {
		bar->arrive_and_wait();
		sum = sum * 7 + *(volatile u32 *)&phases;
		__syncthreads();
	}
	out[me()] = sum;
}
KERNEL roles(const u32 *in, u32 *out, u32 n)
{ /* producers and consumers of a pipeline */
	constexpr u32 stages = 3;
	__shared__ alignas(16) u32 tile[stages][64];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
	auto block = cg::this_thread_block();
	const bool giver = threadIdx.x < 32;
	auto pipe =
	    cuda::make_pipeline(block, &state, giver ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
	u32 sum = 0;
	for (u32 k = 0; k < 9; k++)
		if (giver) {
			pipe.producer_acquire();
			cuda::memcpy_async(&tile[k % stages][threadIdx.x * 2],
					   in + (blockIdx.x + k) % 8 * 64 + threadIdx.x * 2, cuda::aligned_size_t<8>(8),
					   pipe);
			pipe.producer_commit();
		} else {
			pipe.consumer_wait();
			sum = sum * 11 + tile[k % stages][(threadIdx.x * 3 + k) & 63];
			pipe.consumer_release();
		}
	out[me()] = sum;
}
KERNEL scoped_barrier(const u32 *in, u32 *out, u32 n)
{ /* a barrier in global memory, of device scope, among blocks */
	__shared__ u32 one;
	auto *bar = (cuda::barrier<cuda::thread_scope_device> *)(out + 1024);
	auto *ready = (cuda::atomic<u32, cuda::thread_scope_device> *)(out + 1020);
	if (threadIdx.x == 0) {
		if (blockIdx.x == 0) {
			new (bar) cuda::barrier<cuda::thread_scope_device>(gridDim.x);
			ready->store(1, cuda::memory_order_release);
		}
		while (ready->load(cuda::memory_order_acquire) == 0)
			;
		for (u32 k = 0; k < 3; k++) {
			out[k * gridDim.x + blockIdx.x] = in[blockIdx.x] * (k + 1);
			bar->arrive_and_wait();
			one = one * (k > 0) * 3 + *(volatile u32 *)&out[k * gridDim.x + (blockIdx.x + 1) % gridDim.x];
		}
	}
	__syncthreads();
	out[256 + me()] = one;
}
KERNEL semaphores(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(16) char room[2][64];
	__shared__ u32 inside, most, sum;
	using sem = cuda::counting_semaphore<cuda::thread_scope_block, 3>;
	if (threadIdx.x == 0)
		new (room[0]) sem(3), inside = most = sum = 0;
	__syncthreads();
	sem *s = (sem *)room[0];
	s->acquire();
	atomicMax(&most, atomicAdd(&inside, 1) + 1);
	atomicAdd(&sum, in[me()]);
	atomicSub(&inside, 1);
	s->release();
	__syncthreads();
	out[me()] = sum + (most <= 3 && most > 0) * 7 + inside;
}
KERNEL library_types(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	cuda::std::array<u32, 5> a = { in[i], in[i] >> 3, 7, 9, in[(i + 1) % n] };
	cuda::std::span<u32> s(a.data(), 4);
	cuda::std::optional<u32> o = in[i] & 1 ? cuda::std::optional<u32>(in[i] >> 1) : cuda::std::nullopt;
	cuda::std::variant<u32, float, u64> v;
	if (in[i] % 3 == 1)
		v = (float)(in[i] & 1023) * 0.5f;
	else if (in[i] % 3 == 2)
		v = (u64)in[i] << 4;
	u32 sum = o.value_or(13);
	for (u32 x : s)
		sum = sum * 3 + x;
	sum += cuda::std::visit([](auto x) { return (u32)x; }, v);
	cuda::std::complex<float> c((float)(in[i] & 15), 2.0f),
	    d = c * c + cuda::std::complex<float>(1, (float)(in[i] >> 4 & 7));
	auto t = cuda::std::make_tuple(sum, d.real(), (short)in[i]);
	out[i] = cuda::std::get<0>(t) + (u32)(int)cuda::std::get<1>(t) + (u32)(int)d.imag() + (u32)cuda::std::get<2>(t);
}
KERNEL ptx_wrappers(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(128) u32 tile[128];
	__shared__ u64 bar;
	const u32 t = threadIdx.x;
	if (t == 0) {
		ptx::mbarrier_init(&bar, 128);
		ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
		ptx::fence_proxy_async(ptx::space_shared);
	}
	__syncthreads();
	u64 tok;
	if (t == 0) {
		ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + blockIdx.x * 128, 512, &bar);
		tok = ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 512);
	} else {
		tok = ptx::mbarrier_arrive(&bar);
	}
	while (!ptx::mbarrier_try_wait(ptx::sem_acquire, ptx::scope_cta, &bar, tok, 100))
		;
	u32 v = tile[t ^ 3];
	v += ptx::mbarrier_test_wait_parity(&bar, 0) ? 5 : 6;
	v += ptx::mbarrier_test_wait_parity(&bar, 1) ? 50 : 60;
	__syncthreads();
	tile[t] = v;
	ptx::fence_proxy_async(ptx::space_shared);
	__syncthreads();
	if (t == 0) {
		ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, tile, 512);
		ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_max, out + 128, tile, 256);
		ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + 256 + blockIdx.x * 128, tile, 512);
		ptx::cp_async_bulk_commit_group();
		ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>{});
	}
}
/* mbarriers by hand */
KERNEL mbarrier_counts(const u32 *in, u32 *out, u32 n)
{
	__shared__ u64 bar;
	__shared__ u32 seen[8];
	const u32 t = threadIdx.x;
	u64 s;
	u32 c, w = 0;
	if (t == 0) {
		INIT(&bar, 40);
		for (u32 k = 0; k < 8; k++)
			seen[k] = 0;
	}
	__syncthreads();
	if (t == 0) {
		asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 3;" : "=l"(s) : "r"(sh(&bar)) : "memory");
		asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(c) : "l"(s));
		seen[0] = c;
		asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], 2;" : "=l"(s) : "r"(sh(&bar)) : "memory");
		asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(c) : "l"(s));
		seen[1] = c;
		asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 4;"
			     : "=l"(s)
			     : "r"(sh(&bar))
			     : "memory");
		asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(c) : "l"(s));
		seen[2] = c;
		asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(sh(&bar)) : "memory");
	}
	__syncthreads();
	if (t >= 32 && t < 63)
		asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sh(&bar)) : "memory");
	__syncthreads();
	asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
		     : "=r"(w)
		     : "r"(sh(&bar))
		     : "memory");
	if (w)
		atomicAdd(&seen[3], 1);
	__syncthreads();
	if (t == 1)
		asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(sh(&bar)) : "memory");
	await(&bar, 0);
	if (t < 38)
		asm volatile("{.reg .b64 q; mbarrier.arrive.shared::cta.b64 q, [%0];}" ::"r"(sh(&bar)) : "memory");
	await(&bar, 1);
	if (t == 5) {
		asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(sh(&bar)) : "memory");
		bar = in[0];
	}
	__syncthreads();
	if (t < 8)
		out[blockIdx.x * 8 + t] = seen[t] + (u32)bar;
}
KERNEL copy_groups(const u32 *in, u32 *out, u32 n)
{ /* several groups in flight, per thread */
	__shared__ alignas(16) u32 box[4][256];
	const u32 t = threadIdx.x;
	u32 sum = 0;
	for (u32 k = 0; k < 3; k++) {
		asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(sh(&box[k][t * 4])),
			     "l"(in + k * 256 + t * 4)
			     : "memory");
		asm volatile("cp.async.commit_group;" ::: "memory");
	}
	for (u32 k = 0; k < 8; k++) {
		asm volatile("cp.async.wait_group 2;" ::: "memory");
		sum = sum * 3 + box[k & 3][t * 4 + (k & 3)] + box[k & 3][t * 4];
		if (k < 5)
			asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(
					 sh(&box[(k + 3) & 3][t * 4])),
				     "l"(in + (k + 3) * 256 + t * 4), "r"(t & 1 ? 16 : 4)
				     : "memory");
		asm volatile("cp.async.commit_group;" ::: "memory");
	}
	asm volatile("cp.async.wait_all;" ::: "memory");
	out[me()] = sum;
}
KERNEL bulk_groups(const u32 *in, u32 *out, u32 n)
{ /* stores and reductions in groups by several threads, sources reused */
	__shared__ alignas(128) u32 box[4][64];
	const u32 t = threadIdx.x, w = t / 32, lane = t & 31;
	for (u32 k = 0; k < 6; k++) {
		if (lane == 0)
			asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
		__syncwarp();
		/* two halves of the warp's box in turn */
		box[w][(k & 1) * 32 + lane] = in[(blockIdx.x * 4 + w) * 32 + lane] >> k;
		asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
		__syncwarp();
		if (lane == 0) {
			asm volatile(
			    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 128;" ::"l"(out +
														w * 32),
			    "r"(sh(&box[w][(k & 1) * 32]))
			    : "memory");
			asm volatile(
			    "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], 128, %2;" ::"l"(
				out + 128 + ((blockIdx.x * 6 + k) * 4 + w) * 32),
			    "r"(sh(&box[w][(k & 1) * 32])), "l"(0x12f0000000000000ull)
			    : "memory");
			asm volatile("cp.async.bulk.commit_group;" ::: "memory");
		}
	}
}
KERNEL __cluster_dims__(2, 1, 1) bulk_inc(const u32 *in, u32 *out, u32 n)
{
	__shared__ alignas(128) u32 mine[32];
	__shared__ alignas(128) u32 theirs[4][32];
	__shared__ u64 bar;
	cg::cluster_group c = cg::this_cluster();
	const u32 t = threadIdx.x, rank = c.block_rank();
	u32 to, tobar;
	mine[t] = in[me()] & 7;
	for (u32 k = 0; k < 4; k++)
		theirs[k][t] = in[me()] >> (k * 3) & 15;
	asm volatile("fence.proxy.async;" ::: "memory");
	if (t == 0) {
		INIT(&bar, 1);
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		EXPECT(&bar, 512);
	}
	c.sync();
	if (t == 0) {
		asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(tobar) : "r"(sh(&bar)), "r"(rank ^ 1));
		asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(sh(theirs)), "r"(rank ^ 1));
#define PEER2(op, type, k)                                                                                             \
	asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." op "." type      \
		     " [%0], [%1], 128, [%2];" ::"r"(to + 128 * k),                                                    \
		     "r"(sh(mine)), "r"(tobar)                                                                         \
		     : "memory")
		PEER2("inc", "u32", 0);
		PEER2("dec", "u32", 1);
		PEER2("max", "s32", 2);
		PEER2("min", "u32", 3);
	}
	await(&bar, 0);
	out[me()] = theirs[0][t] | theirs[1][t] << 8 | theirs[2][t] << 16 | theirs[3][t] << 24;
	c.sync();
}

/* vectors of atomics, wide atomics, volatile and hints */
KERNEL atomics_all(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), v = in[i];
	float4 f4 = make_float4((float)(v & 7), 1, 2, (float)(v >> 3 & 3));
	atomicAdd((float4 *)(out + 0), f4);
	atomicAdd((float2 *)(out + 4), make_float2(1.5f, (float)(v & 1)));
	asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1, %2};" ::"l"(out + 6),
		     "r"(v & 1 ? 0x3c003c00 : 0x3c000000), "r"(0x40003800)
		     : "memory");
	asm volatile("red.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %1, %2};" ::"l"(out + 8), "r"(0x3f803f80),
		     "r"(0x00003f80)
		     : "memory");
	asm volatile("red.global.max.noftz.v2.f16x2 [%0], {%1, %2};" ::"l"(out + 12),
		     "r"((v & 0x3fff) | (v >> 4 & 0x3fff) << 16), "r"(v & 0x3c003c00)
		     : "memory");
	u32 a, b, c, d;
	asm volatile("atom.global.v4.f32.add {%0, %1, %2, %3}, [%4], {%5, %5, %5, %6};"
		     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
		     : "l"(out + 16), "r"(0x3f800000), "r"(0x40000000)
		     : "memory");
	asm volatile("red.release.gpu.global.xor.b64 [%0], %1;" ::"l"(out + 20), "l"((u64)v << 16) : "memory");
	asm volatile("red.relaxed.sys.global.min.s64 [%0], %1;" ::"l"(out + 22), "l"(-(long long)v) : "memory");
	asm volatile("atom.acq_rel.sys.global.and.b64 %0, [%1], %2;"
		     : "=l"(*(u64 *)&f4)
		     : "l"(out + 24), "l"(~(u64)v)
		     : "memory");
	asm volatile("atom.global.cta.max.s64 _, [%0], %1;" ::"l"(out + 26), "l"((long long)(int)v) : "memory");
	asm volatile("atom.global.add.s32 _, [%0], %1;" ::"l"(out + 28), "r"(v) : "memory");
	asm volatile("red.global.inc.u32 [%0], 50;" ::"l"(out + 29) : "memory");
	asm volatile("red.global.add.f64 [%0], %1;" ::"l"(out + 30), "d"((double)(v & 0xfff)) : "memory");
	atomicAdd_block((int *)out + 32 + blockIdx.x, (int)v);
	atomicOr_system(out + 40, v & 0xff00ff);
	unsigned short *h = (unsigned short *)(out + 41), old = *(volatile unsigned short *)h, want;
	do {
		want = old;
		old = atomicCAS(h, want, (unsigned short)(want + (v & 3)));
	} while (old != want);
	__shared__ u64 s64[2];
	__shared__ float sf;
	if (threadIdx.x == 0)
		s64[0] = ~0ull, s64[1] = 0, sf = 0;
	__syncthreads();
	atomicMin((unsigned long long *)&s64[0], (unsigned long long)v << 30);
	atomicAdd((unsigned long long *)&s64[1], (unsigned long long)v);
	atomicAdd(&sf, (float)(v & 31));
	asm volatile("red.shared.add.f64 [%0], %1;" ::"r"(sh(&s64[1])), "d"(0.0) : "memory");
	__syncthreads();
	if (threadIdx.x == 0)
		out[48 + 4 * blockIdx.x] = (u32)(s64[0] >> 30), out[49 + 4 * blockIdx.x] = (u32)(sf),
			     out[50 + 4 * blockIdx.x] = 1;
}
KERNEL hints(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	u32 a, b, c, d, e, f;
	u64 w, pol;
	asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(pol));
	asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0,%1,%2,%3}, [%4];"
		     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
		     : "l"(in + (i & ~3)));
	asm volatile("ld.relaxed.gpu.global.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
		     : "=r"(e)
		     : "l"(in + i), "l"(pol));
	asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(f), "=r"(b) : "l"(in + (i & ~1)));
	asm volatile("ld.acquire.sys.global.b64 %0, [%1];" : "=l"(w) : "l"(in + (i & ~1)) : "memory");
	asm volatile("prefetch.global.L2 [%0]; prefetchu.L1 [%0]; prefetch.global.L2::evict_last [%0];" ::"l"(in));
	asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" ::"l"(in));
	a += __ldg(in + i) + __ldcs(in + i) + __ldlu(in + i) + __ldcv(in + i) + __ldca(in + i);
	asm volatile("st.release.gpu.global.L1::no_allocate.b32 [%0], %1;" ::"l"(out + 8 * i), "r"(a) : "memory");
	asm volatile("st.mmio.relaxed.sys.global.b32 [%0], %1;" ::"l"(out + 8 * i + 1), "r"(b) : "memory");
	__stcs(out + 8 * i + 2, c);
	__stwt(out + 8 * i + 3, d);
	asm volatile("st.global.L1::evict_last.L2::cache_hint.v2.b32 [%0], {%1, %2}, %3;" ::"l"(out + 8 * i + 4),
		     "r"(e), "r"(f), "l"(pol)
		     : "memory");
	asm volatile("st.weak.global.cg.b64 [%0], %1;" ::"l"(out + 8 * i + 6), "l"(w) : "memory");
	asm volatile("fence.acq_rel.cluster; fence.sc.sys; fence.proxy.alias; membar.gl; fence.proxy.async.global; "
		     "applypriority.global.L2::evict_normal [%0], 128;" ::"l"(out)
		     : "memory");
}
KERNEL wide_words(const u32 *in, u32 *out, u32 n)
{ /* 128 bits */
	const u32 i = me();
	u64 lo, hi;
	asm volatile("{.reg .b128 q; ld.global.b128 q, [%2]; mov.b128 {%0, %1}, q;}"
		     : "=l"(lo), "=l"(hi)
		     : "l"(in + (i & ~3))
		     : "memory");
	asm volatile("{.reg .b128 q, r; mov.b128 q, {%1, %2}; st.global.b128 [%0], q;}" ::"l"(out + 4 * i), "l"(hi ^ i),
		     "l"(lo)
		     : "memory");
	u64 ol, oh;
	asm volatile("{.reg .b128 q, r; mov.b128 q, {%3, %4}; atom.global.exch.b128 r, [%2], q; mov.b128 {%0, %1}, r;}"
		     : "=l"(ol), "=l"(oh)
		     : "l"(out + 4 * i), "l"(lo + 1), "l"(hi)
		     : "memory");
	asm volatile("{.reg .b128 q, r, s; mov.b128 q, {%3, %4}; mov.b128 s, {%5, %6}; atom.global.cas.b128 r, [%2], "
		     "q, s; mov.b128 {%0, %1}, r;}"
		     : "=l"(ol), "=l"(oh)
		     : "l"(out + 4 * i), "l"(lo + (i & 1)), "l"(hi), "l"(oh), "l"(ol)
		     : "memory");
}

/* small floats */
KERNEL fp8_more(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), v = in[i];
	const float f = __int_as_float(v), g = __int_as_float((v & 0x807fffff) | (110 + (v >> 9) % 28) << 23);
	u32 r = 0;
	r += __nv_cvt_float_to_fp8(g, __NV_NOSAT, __NV_E4M3) + 3 * __nv_cvt_float_to_fp8(g, __NV_NOSAT, __NV_E5M2);
	r += 5 * __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3) +
	     7 * __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2);
	const __half h = __ushort_as_half((unsigned short)v);
	const __nv_bfloat16 b = __ushort_as_bfloat16((unsigned short)(v >> 16));
	const __half2 h2 = *(const __half2 *)&v;
	u32 s = __nv_cvt_halfraw_to_fp8(h, __NV_SATFINITE, __NV_E4M3) +
		3 * __nv_cvt_bfloat16raw_to_fp8(b, __NV_SATFINITE, __NV_E5M2) +
		11 * __nv_cvt_halfraw2_to_fp8x2(h2, __NV_SATFINITE, __NV_E4M3) +
		13 * __nv_cvt_double_to_fp8((double)g * 1.00001, __NV_SATFINITE, __NV_E4M3) +
		17 * __nv_cvt_halfraw2_to_fp8x2(h2, __NV_SATFINITE, __NV_E5M2);
	__nv_fp8_e4m3 e(g), e2((int)(v & 1023));
	__nv_fp8_e5m2 q(g), q2(b);
	__nv_fp8x2_e4m3 p2(make_float2(g, -g * 3));
	__nv_fp8x4_e5m2 p4(make_float4(g, g * 2, g * 4, -g));
	const float4 u4 = (float4)p4;
	const float2 u2 = (float2)p2;
	u32 t = (u32)(int)(float)e ^ (u32)(int)(float)e2 ^ ((bool)q ? 3 : 0) ^ __half_as_ushort((__half)q2) ^
		(u32)(int)(u4.x + u4.z * 2) ^ __float_as_int(u2.x) ^ __float_as_int(u2.y) ^ (u32)(short)q ^
		__bfloat16_as_ushort((__nv_bfloat16)e);
	out[4 * i] = r, out[4 * i + 1] = s, out[4 * i + 2] = t;
	/* 128 values share a scale: DeepSeek's groups */
	float top = fabsf(g);
	for (int d = 16; d; d >>= 1)
		top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
	int e8;
	frexpf(top / 448.0f, &e8);
	const float scale = exp2f((float)-e8);
	out[4 * i + 3] =
	    __nv_cvt_float2_to_fp8x2(make_float2(g * scale, __fdiv_rn(g, top)), __NV_SATFINITE, __NV_E4M3) |
	    (u32)(e8 + 127) << 16;
}
KERNEL half_more(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), x = in[i], y = in[(i + 5) % n];
	const __half2 a = *(const __half2 *)&x, b = *(const __half2 *)&y;
	const __nv_bfloat162 c = *(const __nv_bfloat162 *)&x, d = *(const __nv_bfloat162 *)&y;
	__half2 r1 = __hcmadd(a, b, __hmul2_sat(a, b)), r2 = __hfma2_sat(a, b, a), r3 = __hadd2_rn(a, b),
		r4 = __hmin2(a, b);
	__half2 r5 = __hmul2_rn(__hsub2_rn(a, b), b), r6 = __hmax2_nan(a, b);
	__nv_bfloat162 s1 = __hcmadd(c, d, __hmul2_sat(c, d)), s2 = __hfma2_sat(c, d, c), s3 = __hadd2_rn(c, d),
		       s4 = __hmin2(c, d), s5 = __hfma2_relu(c, d, c), s6 = __hmax2(__hneg2(c), __habs2(d));
	out[8 * i] = *(u32 *)&r1 ^ *(u32 *)&r2 * 3;
	out[8 * i + 1] = *(u32 *)&r3 ^ *(u32 *)&r4 * 3;
	out[8 * i + 2] = *(u32 *)&r5 ^ *(u32 *)&r6 * 3;
	out[8 * i + 3] = *(u32 *)&s1 ^ *(u32 *)&s2 * 3;
	out[8 * i + 4] = *(u32 *)&s3 ^ *(u32 *)&s4 * 3;
	out[8 * i + 5] = *(u32 *)&s5 ^ *(u32 *)&s6 * 3;
	__half2 sum = a;
	for (int k = 16; k; k >>= 1)
		sum = __hadd2(sum, __shfl_xor_sync(~0u, sum, k));
	__nv_bfloat16 lo = c.x;
	for (int k = 1; k < 32; k <<= 1)
		lo = __hmax(lo, __shfl_down_sync(~0u, lo, k));
	out[8 * i + 6] = *(u32 *)&sum ^ __bfloat16_as_ushort(lo);
	u32 m = __hgeu2_mask(a, b) ^ __hltu2_mask(c, d) * 3 ^ __hne2_mask(a, b) * 5 ^ __hleu2_mask(c, d) * 7;
	m += __hbltu2(a, b) + 2 * __hbne2(c, d) + 4 * __hbequ2(a, a) + 8 * (int)__hisinf(a.x) + 16 * __heq(c.x, d.y) +
	     32 * __hgtu(a.y, b.x);
	__half2 cmp = __hgt2(a, b);
	out[8 * i + 7] = m ^ *(u32 *)&cmp;
}
KERNEL half_functions(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), x = in[i];
	const __half h = __ushort_as_half((unsigned short)((x & 0x83ff) | (10 + (x >> 11) % 10) << 10));
	const __nv_bfloat16 b = __float2bfloat16(__half2float(h));
	const __half p = __habs(h);
	out[4 * i] = __half_as_ushort(hsqrt(p)) | (u32)__half_as_ushort(hrcp(h)) << 16;
	out[4 * i + 1] =
	    __half_as_ushort(hrsqrt(p)) | (u32)__half_as_ushort(__h2div(__half2half2(h), __half2half2(p)).x) << 16;
	out[4 * i + 2] = __bfloat16_as_ushort(hsqrt(__habs(b))) | (u32)__bfloat16_as_ushort(hrcp(b)) << 16;
	out[4 * i + 3] = __half_as_ushort(hceil(h)) ^ __bfloat16_as_ushort(hfloor(b)) * 3 ^
			 __half_as_ushort(htrunc(h)) * 5 ^ (u32)__half_as_ushort(__hdiv(h, __hadd(p, p))) << 16;
}
KERNEL half_approx(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), x = in[i];
	const __half h = __ushort_as_half((unsigned short)((x & 0x83ff) | (12 + (x >> 11) % 5) << 10));
	const __nv_bfloat16 b = __float2bfloat16(__half2float(h));
	const __half p = __habs(h);
	out[4 * i] = __half_as_ushort(hexp(h)) | (u32)__half_as_ushort(hexp2(h)) << 16;
	out[4 * i + 1] = __half_as_ushort(hlog(p)) | (u32)__half_as_ushort(hlog2(p)) << 16;
	out[4 * i + 2] = __bfloat16_as_ushort(hexp(b)) | (u32)__bfloat16_as_ushort(hlog(__habs(b))) << 16;
	out[4 * i + 3] = __half_as_ushort(hsin(h)) | (u32)__half_as_ushort(hcos(h)) << 16;
}
KERNEL double_functions(const u32 *in, u32 *out, u32 n)
{ /* approximations inside of them are refined */
	const u32 i = me();
	const double a = (double)(int)in[i] * 3.1e-9 + 0.01, p = fabs(a);
	const double r[8] = { exp(a), log(p), sin(a * 50), pow(p, 1.7), tanh(a), atan2(a, 0.3), sqrt(p), cbrt(a) };
	for (u32 k = 0; k < 8; k++)
		out[8 * i + k] = (u32)__double_as_longlong(r[k]) ^ (u32)(__double_as_longlong(r[k]) >> 32);
}
KERNEL double_rounding(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	const double a = __longlong_as_double((long long)((u64)in[i] << 32 | in[(i + 1) % n]) & 0xbfffffffffffffffll),
		     b = __longlong_as_double(
			 ((long long)((u64)in[(i + 2) % n] << 32 | in[(i + 3) % n]) & 0x800fffffffffffffll) |
			 (1000ll + in[i] % 50) << 52);
	const double r[8] = { __ddiv_ru(a, b),   __ddiv_rz(b, 3.0), __dsqrt_rd(fabs(b)), __drcp_ru(b),
			      __fma_rd(a, b, b), __dadd_ru(a, b),   __dsub_rd(a, b),     __dmul_rz(a, b) };
	for (u32 k = 0; k < 8; k++)
		out[8 * i + k] = (u32)__double_as_longlong(r[k]) ^ (u32)(__double_as_longlong(r[k]) >> 32);
	out[8 * i] ^= (u32)__double2ll_rn(b) ^ (u32)__double2uint_rz(a) ^ __float_as_uint(__double2float_rd(a)) ^
		      __float_as_uint(__double2float_rn(b)) ^ (u32)__double2hiint(a) ^ (u32)ilogb(b) ^ (u32)lround(b) ^
		      (isnan(a) ? 1 : 0);
}
KERNEL float_rounding(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	const float a = __uint_as_float(in[i] & 0xbfffffffu),
		    b = __uint_as_float((in[(i + 1) % n] & 0x807fffff) | (100 + in[i] % 50) << 23);
	const float r[8] = { __fdiv_ru(a, b),    __fdiv_rz(b, 3.0f), __fsqrt_rd(fabsf(b)), __frcp_ru(b),
			     __fmaf_rz(a, b, b), __fadd_ru(a, b),    __fsub_rd(a, b),      __fmul_rz(a, b) };
	for (u32 k = 0; k < 8; k++)
		out[8 * i + k] = __float_as_uint(r[k]);
	out[8 * i] ^= (u32)__float2ll_ru(b) ^ (u32)__float2uint_rn(a) ^ (u32)__float2int_rd(b) ^ (u32)ilogbf(b) ^
		      (u32)lroundf(b) ^ __float_as_uint(__ll2float_rz((long long)in[i] << 13)) ^
		      __float_as_uint(__int2float_ru((int)in[i]));
	float ip;
	out[8 * i + 1] ^= __float_as_uint(modff(b, &ip)) ^ (u32)(int)ip ^ __float_as_uint(fdimf(a, b)) ^
			  __float_as_uint(fmaf(a, b, a)) ^ __float_as_uint(__saturatef(b)) ^
			  __float_as_uint(copysignf(a, b)) ^ __float_as_uint(rintf(b)) ^
			  __float_as_uint(nearbyintf(b * 0.5f));
	int q;
	out[8 * i + 2] ^= __float_as_uint(remquof(b, 1.7f, &q)) ^ (u32)(q & 7) ^ __float_as_uint(frexpf(b, &q)) ^
			  __float_as_uint(ldexpf(b, (int)(in[i] & 63) - 32)) ^ __float_as_uint(logbf(b)) ^
			  (signbit(a) ? 1 : 0);
}

/* control flow, memory and odd integers */
KERNEL duff(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	u32 v = in[i], count = in[i] % 29 + 1, k = (count + 7) / 8, sum = 0;
	switch (count % 8) {
	case 0:
		do {
			sum = sum * 3 + v;
		case 7:
			v ^= sum >> 3;
		case 6:
			sum += v >> 1;
		case 5:
			v = v * 5 + 1;
		case 4:
			if (sum & 1)
				v++;
		case 3:
			sum ^= v;
		case 2:
			v = v << 3 | v >> 29;
		case 1:
			sum += k;
		} while (--k);
	}
	/* two entries into one loop */
	u32 s = 0;
	if (v & 1)
		goto middle;
again:
	s += v & 0xff;
	if (s > 5000)
		goto out;
middle:
	v = mix(v + s);
	s ^= v & 0x3f;
	if (v % 11)
		goto again;
out:
	out[i] = sum + s * 7;
}
KERNEL nested_breaks(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	u32 sum = 0;
	for (u32 a = 0; a < (in[i] & 7); a++) {
		for (u32 b = 0; b < (in[i] >> 3 & 7); b++) {
			if ((a ^ b) == (in[i] >> 6 & 7))
				continue;
			u32 c = 0;
			while (true) {
				c += 1 + (a & b);
				if (c > (in[i] >> 9 & 31))
					break;
				if (c == 13 && a == 3)
					goto next;
				sum += __popc(__activemask()) * 0 + c;
			}
			sum = sum * 3 + b;
		}
		sum ^= a;
	next:
		sum += 1;
		if (sum % 97 == 5)
			return;
	}
	out[i] = sum;
}
struct bits {
	u32 a : 5, b : 11, c : 16;
	int d : 7;
	unsigned char e;
	u64 f : 40;
};
union mixed {
	u32 w[4];
	unsigned char c[16];
	unsigned short s[8];
	double d[2];
	float f[4];
};
__constant__ struct {
	const char *name;
	u32 v[3];
} names[4] = { { "alpha", { 1, 2, 3 } }, { "beta", { 4, 5 } }, { "", { 7 } }, { "gamma ray", { 8, 9, 10 } } };
__device__ __noinline__ void fill(void *to, int c, size_t len)
{
	memset(to, c, len);
}
__device__ __noinline__ void copy(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}
KERNEL bytes_and_bits(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), v = in[i];
	volatile bits b;
	b.a = v, b.b = v >> 5, b.c = v >> 16, b.d = (int)v >> 3, b.e = (unsigned char)(v >> 8), b.f = (u64)v * v;
	union mixed m;
	char text[40];
	fill(&m, v & 0xff, 16);
	copy(m.c + 3, &v, 4);
	m.s[6] ^= (unsigned short)v;
	const char *name = names[v & 3].name;
	u32 len = 0;
	while (name[len])
		text[len] = name[len], len++;
	text[len] = 0;
	u32 sum = b.a + b.b * 3 + b.c * 5 + (u32)(b.d * 7) + b.e + (u32)(b.f >> 9) + len + text[len / 2];
	for (u32 k = 0; k < 4; k++)
		sum = sum * 3 + m.w[k] + names[v & 3].v[k % 3];
	out[i] = sum + text[0];
}
KERNEL allocas(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me();
	u32 sum = 0;
	for (u32 k = 0; k < 3; k++) {
		const u32 len = in[i] % 13 + 1 + k;
		u32 *a = (u32 *)alloca(len * 4);
		for (u32 j = 0; j < len; j++)
			a[j] = j * in[i] + k;
		for (u32 j = 0; j < len; j++)
			sum = sum * 3 + a[(j * 7) % len];
	}
	out[i] = sum;
}
KERNEL odd_integers(const u32 *in, u32 *out, u32 n)
{
	const u32 i = me(), a = in[i], b = in[(i + 1) % n], c = in[(i + 2) % n];
	u32 r[8];
	asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r[0]) : "r"(a), "r"(b & 63), "r"(c & 63));
	asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r[1]) : "r"(a), "r"(b >> 8 & 63), "r"(c >> 8 & 63));
	asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r[2]) : "r"(a), "r"(b), "r"(b & 63), "r"(c & 63));
	asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r[3]) : "r"(a), "r"(b), "r"(c));
	asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(r[4]) : "r"((int)a >> 12), "r"((int)b >> 17));
	asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(r[5]) : "r"((int)a >> 22), "r"((int)b >> 21), "r"(c));
	asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(r[6]) : "r"(a), "r"(b), "r"(c));
	asm("fns.b32 %0, %1, %2, %3;" : "=r"(r[7]) : "r"(a), "r"(b & 31), "r"((int)(c & 7) - 3));
	u32 s = 0;
	for (u32 k = 0; k < 8; k++)
		s = s * 31 + r[k];
	asm("{.reg .u32 t; add.cc.u32 t, %1, %2; addc.cc.u32 t, t, %3; subc.cc.u32 t, t, %1; madc.hi.cc.u32 t, t, %2, "
	    "%3; addc.u32 %0, t, 0;}"
	    : "=r"(r[0])
	    : "r"(a), "r"(b), "r"(c));
	asm("{.reg .s16 t, u; cvt.s16.s32 t, %1; cvt.u16.u32 u, %2; mul.hi.s16 t, t, u; mad.lo.s16 t, t, u, t; shr.s16 "
	    "t, t, 3; cvt.u32.s16 %0, t;}"
	    : "=r"(r[1])
	    : "r"(a), "r"(b));
	asm("szext.clamp.s32 %0, %1, %2;" : "=r"(r[2]) : "r"(a), "r"(b & 63));
	asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(r[3]) : "r"(a & 63), "r"(b & 63));
	asm("mad24.hi.s32 %0, %1, %2, %3;" : "=r"(r[4]) : "r"(a), "r"(b), "r"(c));
	asm("sad.s64 %0, %1, %2, %1;" : "=l"(*(u64 *)&r[6]) : "l"((u64)a << 20), "l"((u64)b * c));
	asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r[5]) : "r"(a), "r"(b), "r"(c));
	for (u32 k = 0; k < 8; k++)
		s = s * 31 + r[k];
	const u64 w = (u64)a << 32 | b;
	s += __funnelshift_l(a, b, c) ^ __funnelshift_rc(a, b, c & 63) ^ (u32)(w >> (c & 127)) ^
	     (u32)((long long)w >> (c & 63)) ^ __fns(a, b & 31, 1);
	out[i] = s;
}
KERNEL shared_tricks(const u32 *in, u32 *out, u32 n)
{ /* dynamic shared memory cut into pieces, transposed; pointers as values */
	extern __shared__ unsigned char room[];
	float *a = (float *)room;
	unsigned short *b = (unsigned short *)(room + 4096);
	u64 *c = (u64 *)(room + 6144);
	const u32 t = threadIdx.x, x = t & 31, y = t >> 5;
	for (u32 k = 0; k < 32; k += 8)
		a[(y + k) * 32 + (x ^ (y + k))] = (float)(in[(y + k) * 32 + x] & 0xffff);
	for (u32 k = t; k < 1024; k += 256)
		b[k] = (unsigned short)in[k];
	if (t < 32)
		c[t] = (u64)(room + t * 4) - (u64)room;
	__syncthreads();
	u32 sum = 0;
	for (u32 k = 0; k < 32; k += 8)
		sum = sum * 3 + (u32)a[x * 32 + ((y + k) ^ x)];
	uint4 v = *(uint4 *)(b + (t & 127) * 8);
	sum += v.x ^ v.y ^ v.z ^ v.w ^ (u32) * (float *)(room + c[x]);
	u32 *p = t & 1 ? (u32 *)(room + 4 * x) : (u32 *)(in + x);
	sum ^= *p;
	asm volatile("{.reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(v.x) : "l"(p));
	asm volatile("{.reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 2, 0, p;}" : "=r"(v.y) : "l"(p));
	asm volatile("{.reg .pred p; isspacep.const p, %1; selp.u32 %0, 4, 0, p;}" : "=r"(v.z) : "l"(names));
	out[t] = sum + v.x + v.y + v.z;
}
KERNEL sizes(const u32 *in, u32 *out, u32 n)
{
	extern __shared__ u32 dyn[];
	__shared__ u32 st[3];
	u32 r[8];
	asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(r[0]));
	asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(r[1]));
	asm volatile("mov.u32 %0, %%aggr_smem_size;" : "=r"(r[2]));
	asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(r[3]));
	asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(r[4]));
	asm volatile("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}" : "=r"(r[5]));
	asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(r[6]));
	asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(r[7]));
	st[threadIdx.x % 3] = 0;
	dyn[threadIdx.x] = 1;
	for (u32 k = 0; k < 8; k++)
		out[me() * 8 + k] = r[k];
}

/* cub */
KERNEL cub_blocks(const u32 *in, u32 *out, u32 n)
{
	typedef cub::BlockMergeSort<u32, 64, 3> sort;
	typedef cub::BlockReduce<u64, 64, cub::BLOCK_REDUCE_RAKING> reduce;
	typedef cub::BlockExchange<u32, 64, 3> exchange;
	typedef cub::BlockHistogram<unsigned char, 64, 3, 256> histogram;
	typedef cub::WarpMergeSort<u32, 2, 32> wsort;
	__shared__ union {
		typename sort::TempStorage s;
		typename reduce::TempStorage r;
		typename exchange::TempStorage e;
		typename histogram::TempStorage h;
		typename wsort::TempStorage w[2];
	} room;
	__shared__ u32 counts[256];
	const u32 t = threadIdx.x;
	u32 v[3];
	unsigned char c[3];
	for (u32 k = 0; k < 3; k++)
		v[k] = in[blockIdx.x * 192 + t * 3 + k], c[k] = (unsigned char)v[k];
	sort(room.s).Sort(v, [](u32 a, u32 b) { return (a ^ 0x55) < (b ^ 0x55); });
	__syncthreads();
	const u64 all = reduce(room.r).Sum((u64)v[0] * v[1] + v[2]);
	__syncthreads();
	exchange(room.e).BlockedToStriped(v);
	__syncthreads();
	histogram(room.h).Histogram(c, counts);
	__syncthreads();
	u32 w[2] = { v[0] ^ v[2], v[1] };
	wsort(room.w[t / 32]).Sort(w, [](u32 a, u32 b) { return a > b; });
	out[blockIdx.x * 512 + t] = v[0] + v[1] * 3 + v[2] * 7 + w[0] + w[1] * 5;
	for (u32 k = t; k < 256; k += 64)
		out[blockIdx.x * 512 + 64 + k] = counts[k];
	if (t == 0)
		out[blockIdx.x * 512 + 400] = (u32)all ^ (u32)(all >> 32);
}
