/*
 * Two processes of NVSHMEM that know nothing of Belfry: puts, signals, atomics and gets from GPU kernels, the data
 * checked; then puts as fast as they go. exec_nvshmem.sh builds and runs it. Rank and count come from BELFRY_RANK and
 * BELFRY_RANKS; argv[1] is the file by which the unique id is handed over, argv[2] how many puts a block makes.
 */
#include "cuda/nvshmem_start.h"

static const int N = 4096;

__global__ void fill(int *p, int n, int seed)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		p[i] = seed + i * 7;
}

__global__ void put(int *dst, const int *src, int n, int peer)
{
	nvshmemx_int_put_nbi_block(dst, src, n, peer);
	if (!threadIdx.x)
		nvshmem_quiet();
}

__global__ void put_signal(int *dst, const int *src, int n, uint64_t *signal, int peer)
{
	nvshmemx_int_put_signal_nbi_block(dst, src, n, signal, 77, NVSHMEM_SIGNAL_SET, peer);
	if (!threadIdx.x)
		nvshmem_quiet();
}

__global__ void add(uint64_t *word, uint64_t *got, int peer)
{
	*got = nvshmem_uint64_atomic_fetch_add(word, 5, peer);
}

__global__ void get(int *dst, const int *src, int n, int peer)
{
	nvshmemx_int_get_block(dst, src, n, peer);
}

__global__ void puts(char *dst, const char *src, size_t bytes, int count, int peer)
{
	for (int i = 0; i < count; i++)
		nvshmemx_putmem_nbi_warp(dst, src, bytes, peer);
	if (!threadIdx.x)
		nvshmem_quiet();
}

/* How many of what is at `p` are not what fill() makes with `seed`. */
static int wrong(const int *p, int seed)
{
	static int host[N];
	int n = 0;

	need(!cudaMemcpy(host, p, sizeof(host), cudaMemcpyDefault), "cudaMemcpy");
	for (int i = 0; i < N; i++)
		n += host[i] != seed + i * 7;
	return n;
}

static void check(int *dst, int *src, uint64_t *words, cudaStream_t s)
{
	const int peer = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
	uint64_t got[3];

	fill<<<1, 256, 0, s>>>(src, N, 1000 * (rank + 1));
	fill<<<1, 256, 0, s>>>(dst, N, 0);
	need(!cudaStreamSynchronize(s), "fill");
	nvshmem_barrier_all();
	put<<<1, 32, 0, s>>>(dst, src, N, peer);
	need(!cudaStreamSynchronize(s), "put");
	nvshmem_barrier_all();
	need(!wrong(dst, 1000 * (from + 1)), "data of the put");
	put_signal<<<1, 32, 0, s>>>(dst, src, 16, words, peer);
	add<<<1, 1, 0, s>>>(words + 1, words + 2, peer);
	need(!cudaStreamSynchronize(s), "signal and atomic");
	nvshmem_barrier_all();
	need(!cudaMemcpy(got, words, sizeof(got), cudaMemcpyDefault), "cudaMemcpy");
	need(got[0] == 77, "value of the signal");
	need(got[1] == 5 && got[2] == 0, "value of the atomic");
	fill<<<1, 256, 0, s>>>(dst, N, 0);
	get<<<1, 32, 0, s>>>(dst, src, N, peer);
	need(!cudaStreamSynchronize(s), "get");
	need(!wrong(dst, 1000 * (peer + 1)), "data of the get");
	nvshmem_barrier_all();
}

static void measure(int *dst, int *src, int count, cudaStream_t s)
{
	cudaEvent_t begin, end;
	float ms;

	need(!cudaEventCreate(&begin) && !cudaEventCreate(&end), "cudaEventCreate");
	for (size_t bytes = 8; bytes <= sizeof(int) * N && !rank; bytes *= 8) {
		for (int blocks = 1; blocks <= 16; blocks *= 16) {
			cudaEventRecord(begin, s);
			puts<<<blocks, 32, 0, s>>>((char *)dst, (char *)src, bytes, count, 1);
			cudaEventRecord(end, s);
			need(!cudaStreamSynchronize(s) && !cudaEventElapsedTime(&ms, begin, end), "puts");
			printf("%6zu bytes, %2d blocks: %.0f puts a second\n", bytes, blocks, blocks * count / ms * 1e3);
		}
	}
	nvshmem_barrier_all();
}

int main(int argc, char **argv)
{
	cudaStream_t s;

	need(argc == 3, "arguments");
	start(argv[1]);
	need(ranks == 2, "two ranks");
	printf("%d: initialized\n", rank);
	need(!cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreate");
	int *dst = (int *)nvshmem_malloc(N * sizeof(int)), *src = (int *)nvshmem_malloc(N * sizeof(int));
	uint64_t *words = (uint64_t *)nvshmem_calloc(4, sizeof(uint64_t));
	need(dst && src && words, "nvshmem_malloc");
	need(!nvshmem_ptr(dst, !rank), "the peer's memory is mapped: puts would not go by the NIC");
	check(dst, src, words, s);
	printf("%d: data are right\n", rank);
	measure(dst, src, atoi(argv[2]), s);
	nvshmem_free(words);
	nvshmem_free(src);
	nvshmem_free(dst);
	nvshmem_finalize();
	printf("%d: good\n", rank);
	return 0;
}
