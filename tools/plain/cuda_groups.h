/* CUDA by source, part of cuda.h: cooperative groups, the block and tiles of a warp. */
#ifndef BELFRY_TOOLS_PLAIN_CUDA_GROUPS_H
#define BELFRY_TOOLS_PLAIN_CUDA_GROUPS_H

namespace cooperative_groups
{

struct thread_block {
	static void sync()
	{
		__syncthreads();
	}
	static unsigned thread_rank()
	{
		const uint3 i = threadIdx;

		return (i.z * blockDim.y + i.y) * blockDim.x + i.x;
	}
	static unsigned size()
	{
		return blockDim.x * blockDim.y * blockDim.z;
	}
	static unsigned num_threads()
	{
		return size();
	}
	static dim3 group_index()
	{
		return blockIdx;
	}
	static dim3 thread_index()
	{
		return threadIdx;
	}
	static dim3 group_dim()
	{
		return blockDim;
	}
};
static __forceinline__ thread_block this_thread_block()
{
	return {};
}
static __forceinline__ void sync(const thread_block &b)
{
	b.sync();
}

template <unsigned N, class Parent = thread_block> struct thread_block_tile {
	static unsigned mask()
	{
		return (N == 32 ? 0xffffffffu : (1u << N % 32) - 1) << (belfry_cuda_lane() & ~(N - 1));
	}
	static void sync()
	{
		__syncwarp(mask());
	}
	static unsigned thread_rank()
	{
		return belfry_cuda_lane() & (N - 1);
	}
	static constexpr unsigned size()
	{
		return N;
	}
	static constexpr unsigned num_threads()
	{
		return N;
	}
	static unsigned meta_group_rank()
	{
		return thread_block::thread_rank() / N;
	}
	static unsigned meta_group_size()
	{
		return (thread_block::size() + N - 1) / N;
	}
	template <class T> static T shfl(T v, int lane)
	{
		return __shfl_sync(mask(), v, lane, (int)N);
	}
	template <class T> static T shfl_up(T v, unsigned delta)
	{
		return __shfl_up_sync(mask(), v, delta, (int)N);
	}
	template <class T> static T shfl_down(T v, unsigned delta)
	{
		return __shfl_down_sync(mask(), v, delta, (int)N);
	}
	template <class T> static T shfl_xor(T v, int lanes)
	{
		return __shfl_xor_sync(mask(), v, lanes, (int)N);
	}
	static unsigned ballot(int predicate)
	{
		return __ballot_sync(mask(), predicate) >> (belfry_cuda_lane() & ~(N - 1));
	}
	static int any(int predicate)
	{
		return __any_sync(mask(), predicate);
	}
	static int all(int predicate)
	{
		return __all_sync(mask(), predicate);
	}
};
template <unsigned N, class Parent> static __forceinline__ thread_block_tile<N, Parent> tiled_partition(const Parent &)
{
	static_assert(N && N <= 32 && (N & (N - 1)) == 0, "1, 2, 4, 8, 16 or 32 threads");
	return {};
}
template <unsigned N, class P> static __forceinline__ void sync(const thread_block_tile<N, P> &t)
{
	t.sync();
}

} // namespace cooperative_groups

#endif
