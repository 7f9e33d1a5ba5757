// NCCL's GIN between processes: nccl_gin RANK RANKS FILE. One kernel for each call of the device API, in both of its
// modes of sharing: puts with signals and counters, values, signals by address, gets, aggregated puts, barriers.
// What arrives is compared word by word.
#include <nccl_device.h>

#include "nccl_start.h"

#define BLOCKS 4
#define WORDS 512 // of a message
#define ROUNDS 40 // more than a queue's depth in entries, with those of signals

struct windows {
	ncclWindow_t in, out;
};

__device__ static uint32_t word_of(int from, int to, int block, int round, int i)
{
	return (uint32_t)(((from * 131 + to) * 131 + block) * 131 + round) * 2654435761u + (uint32_t)i;
}

// A block's messages: one place for each peer.
__device__ static size_t place(int peer)
{
	return ((size_t)blockIdx.x * 64 + peer) * WORDS * sizeof(uint32_t);
}

__device__ static void put_rounds(ncclGin &gin, ncclDevComm const &comm, windows w, int round, unsigned *bad)
{
	const ncclTeam world = ncclTeamWorld(comm);
	const int ranks = comm.nRanks, me = comm.rank;
	uint32_t *out = (uint32_t *)ncclGetLocalPointer(w.out, 0), *in = (uint32_t *)ncclGetLocalPointer(w.in, 0);

	for (int r = 0; r < ranks; r++)
		for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
			out[place(r) / 4 + i] = word_of(me, r, blockIdx.x, round, i);
	__syncthreads();
	for (int r = threadIdx.x; r < ranks; r += blockDim.x)
		gin.put(world, r, w.in, place(me), w.out, place(r), WORDS * 4, ncclGin_SignalInc{ blockIdx.x },
			ncclGin_CounterInc{ blockIdx.x });
	gin.waitSignal(ncclCoopCta(), blockIdx.x, (uint64_t)(round + 1) * ranks);
	gin.waitCounter(ncclCoopCta(), blockIdx.x, (uint64_t)(round + 1) * ranks);
	for (int r = 0; r < ranks; r++)
		for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
			if (in[place(r) / 4 + i] != word_of(r, me, blockIdx.x, round, i))
				atomicAdd(bad, 1);
	__syncthreads();
}

// Behind a barrier: the peers' sources are those of the last round, and are fetched.
__device__ static void get_all(ncclGin &gin, ncclDevComm const &comm, windows w, unsigned *bad)
{
	const int ranks = comm.nRanks, me = comm.rank;
	const uint32_t *in = (const uint32_t *)ncclGetLocalPointer(w.in, 0);

	for (int r = threadIdx.x; r < ranks; r += blockDim.x)
		gin.get(ncclTeamWorld(comm), r, w.out, place(me), w.in, place(r), WORDS * 4);
	gin.flush(ncclCoopCta());
	for (int r = 0; r < ranks; r++)
		for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
			if (in[place(r) / 4 + i] != word_of(r, me, blockIdx.x, ROUNDS - 1, i))
				atomicAdd(bad, 1);
	__syncthreads();
}

// Values with an added signal, aggregated puts that the last one rings for, and a signal by address.
__device__ static void values(ncclGin &gin, ncclDevComm const &comm, windows w, unsigned *bad)
{
	const ncclTeam world = ncclTeamWorld(comm);
	const int ranks = comm.nRanks, me = comm.rank;
	const ncclGinSignal_t signal = BLOCKS + blockIdx.x;
	const size_t va = ((size_t)BLOCKS * 64 * WORDS + blockIdx.x * 2) * sizeof(uint32_t);
	const uint32_t *in = (const uint32_t *)ncclGetLocalPointer(w.in, 0);

	for (int r = threadIdx.x; r < ranks; r += blockDim.x) {
		for (int i = 0; i < 4; i++)
			gin.put(world, r, w.in, place(me) + i * 64, w.out, place(r) + i * 64, 64, ncclGin_None{},
				ncclGin_None{}, ncclCoopThread(), ncclGin_None{}, cuda::thread_scope_thread,
				cuda::thread_scope_device, ncclGinOptFlagsAggregateRequests);
		gin.putValue(world, r, w.in, place(me), 0x1234567800000000ull + me, ncclGin_SignalAdd{ signal, 5 });
		gin.signal(world, r, ncclGin_VASignalAdd{ w.in, va, 3 });
	}
	gin.waitSignal(ncclCoopCta(), signal, 5ull * ranks);
	gin.waitSignal(ncclCoopCta(), w.in, va, 3ull * ranks);
	for (int r = threadIdx.x; r < ranks; r += blockDim.x) {
		if (*(const uint64_t *)(in + place(r) / 4) != 0x1234567800000000ull + r)
			atomicAdd(bad, 1);
		for (int i = 2; i < 64; i++)
			if (in[place(r) / 4 + i] != word_of(r, me, blockIdx.x, ROUNDS - 1, i))
				atomicAdd(bad, 1);
	}
	__syncthreads();
}

// With contexts of their own, blocks need not share queue pairs.
template <ncclGinResourceSharingMode MODE> __global__ void all(ncclDevComm comm, windows w, unsigned *bad)
{
	const int context = MODE == NCCL_GIN_RESOURCE_SHARING_CTA ? blockIdx.x % comm.ginContextCount : 0;
	ncclGin gin(comm, context, MODE);
	ncclGinBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), gin, ncclTeamTagWorld(), blockIdx.x);

	barrier.sync(ncclCoopCta(), cuda::memory_order_acquire, ncclGinFenceLevel::None);
	for (int round = 0; round < ROUNDS; round++) {
		put_rounds(gin, comm, w, round, bad);
		barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
	}
	get_all(gin, comm, w, bad);
	barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel, ncclGinFenceLevel::None);
	values(gin, comm, w, bad);
	gin.flush(ncclCoopCta());
	barrier.sync(ncclCoopCta(), cuda::memory_order_release, ncclGinFenceLevel::None);
}

static void run(ncclComm_t comm, int ranks, bool exclusive)
{
	const size_t bytes = (size_t)BLOCKS * 64 * WORDS * 4 + 4096;
	ncclDevCommRequirements need = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
	ncclDevComm device;
	unsigned *bad, count;
	windows w;
	void *in, *out;

	NK(ncclMemAlloc(&in, bytes));
	NK(ncclMemAlloc(&out, bytes));
	CK(cudaMemset(in, 0, bytes));
	NK(ncclCommWindowRegister(comm, in, bytes, &w.in, NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING));
	NK(ncclCommWindowRegister(comm, out, bytes, &w.out, NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING));
	need.worldGinBarrierCount = BLOCKS;
	need.ginSignalCount = 2 * BLOCKS;
	need.ginCounterCount = BLOCKS;
	need.ginContextCount = exclusive ? BLOCKS : 1;
	need.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
	NK(ncclDevCommCreate(comm, &need, &device));
	CK(cudaMalloc(&bad, sizeof(*bad)));
	CK(cudaMemset(bad, 0, sizeof(*bad)));
	if (exclusive)
		all<NCCL_GIN_RESOURCE_SHARING_CTA><<<BLOCKS, 64>>>(device, w, bad);
	else
		all<NCCL_GIN_RESOURCE_SHARING_GPU><<<BLOCKS, 64>>>(device, w, bad);
	CK(cudaDeviceSynchronize());
	CK(cudaMemcpy(&count, bad, sizeof(count), cudaMemcpyDeviceToHost));
	if (count) {
		printf("%u words are wrong (%d ranks, %s)\n", count, ranks, exclusive ? "a context a block" : "shared");
		exit(1);
	}
	// The proxy's queue may still hold the last barrier's signals: NCCL drops them with the communicator.
	usleep(getenv("NAP") ? (useconds_t)atoi(getenv("NAP")) : 0);
	NK(ncclDevCommDestroy(comm, &device));
	NK(ncclCommWindowDeregister(comm, w.in));
	NK(ncclCommWindowDeregister(comm, w.out));
	NK(ncclMemFree(in));
	NK(ncclMemFree(out));
	CK(cudaFree(bad));
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const int rank = atoi(argv[1]), ranks = atoi(argv[2]);
	ncclComm_t comm;

	CK(cudaSetDevice(0));
	const ncclUniqueId id = identity(rank, argv[3]);
	NK(ncclCommInitRank(&comm, ranks, id, rank));
	run(comm, ranks, false);
	run(comm, ranks, true);
	NK(ncclCommDestroy(comm));
	printf("ok rank %d of %d\n", rank, ranks);
	return 0;
}
