// NCCL between processes: nccl_sums RANK RANKS FILE COUNT [every]; the file brings the others the identity that rank 0
// made. FILE "-": RANKS threads of one process with a GPU each. Each result is compared with what the sum must be; `every`:
// sums of all of NCCL's types, not of float and int alone.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cstring>
#include <thread>
#include <vector>

#include "nccl_start.h"

// Small enough that each type holds the sum of four exactly.
template <typename T> static unsigned value(int rank, size_t i)
{
	return (unsigned)((i * 7 + (unsigned)rank * 13) % (sizeof(T) == 1 ? 4 : sizeof(T) == 2 ? 51 : 101));
}
template <typename T> static std::vector<T> mine(int rank, size_t n)
{
	std::vector<T> v(n);
	for (size_t i = 0; i < n; i++)
		v[i] = (T)(float)value<T>(rank, i);
	return v;
}
// `got` is what `want` gives for each place.
template <typename T, typename F> static void same(const char *what, const T *device, size_t n, F want)
{
	std::vector<T> got(n);
	size_t wrong = 0, first = n;
	CK(cudaMemcpy(got.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
	for (size_t i = n; i-- > 0;)
		if ((float)got[i] != (float)want(i)) {
			wrong++;
			first = i;
		}
	if (wrong)
		printf("%s: %zu of %zu are wrong, the first is %zu: %g instead of %g\n", what, wrong, n, first,
		       (double)(float)got[first], (double)want(first));
	if (wrong)
		exit(1);
}
template <typename T>
static void all(ncclComm_t c, ncclDataType_t type, int rank, int ranks, size_t n, cudaStream_t s, bool scatter = true)
{
	T *in, *out;
	std::vector<T> host = mine<T>(rank, n * ranks);
	auto sum = [&](size_t i) {
		unsigned v = 0;
		for (int r = 0; r < ranks; r++)
			v += value<T>(r, i);
		return v;
	};
	CK(cudaMalloc(&in, n * ranks * sizeof(T)));
	CK(cudaMalloc(&out, n * ranks * sizeof(T)));
	CK(cudaMemcpy(in, host.data(), n * ranks * sizeof(T), cudaMemcpyHostToDevice));
	NK(ncclAllReduce(in, out, n, type, ncclSum, c, s));
	CK(cudaStreamSynchronize(s));
	same("all-reduce", out, n, sum);
	NK(ncclAllGather(in, out, n, type, c, s));
	CK(cudaStreamSynchronize(s));
	same("all-gather", out, n * ranks, [&](size_t i) { return value<T>((int)(i / n), i % n); });
	if (scatter) {
		NK(ncclReduceScatter(in, out, n, type, ncclSum, c, s));
		CK(cudaStreamSynchronize(s));
		same("reduce-scatter", out, n, [&](size_t i) { return sum(rank * n + i); });
	}
	NK(ncclGroupStart());
	for (int r = 0; r < ranks; r++) {
		NK(ncclSend(in + r * n, n, type, r, c, s));
		NK(ncclRecv(out + r * n, n, type, r, c, s));
	}
	NK(ncclGroupEnd());
	CK(cudaStreamSynchronize(s));
	same("all-to-all", out, n * ranks, [&](size_t i) { return value<T>((int)(i / n), rank * n + i % n); });
	CK(cudaFree(in));
	CK(cudaFree(out));
}
static void run(int rank, int ranks, const ncclUniqueId &id, size_t n, bool every)
{
	int devices = 0;
	ncclComm_t c;
	cudaStream_t s;
	CK(cudaGetDeviceCount(&devices));
	CK(cudaSetDevice(rank % devices));
	NK(ncclCommInitRank(&c, ranks, id, rank));
	CK(cudaStreamCreate(&s));
	all<float>(c, ncclFloat, rank, ranks, n, s);
	all<int>(c, ncclInt, rank, ranks, n, s, every); // its sums by reduce-scatter are built with those of all types
	if (every) {
		all<int8_t>(c, ncclInt8, rank, ranks, n, s);
		all<uint8_t>(c, ncclUint8, rank, ranks, n, s);
		all<uint32_t>(c, ncclUint32, rank, ranks, n, s);
		all<int64_t>(c, ncclInt64, rank, ranks, n, s);
		all<uint64_t>(c, ncclUint64, rank, ranks, n, s);
		all<double>(c, ncclDouble, rank, ranks, n, s);
		all<__half>(c, ncclHalf, rank, ranks, n, s);
		all<__nv_bfloat16>(c, ncclBfloat16, rank, ranks, n, s);
		all<__nv_fp8_e4m3>(c, ncclFloat8e4m3, rank, ranks, n, s);
		all<__nv_fp8_e5m2>(c, ncclFloat8e5m2, rank, ranks, n, s);
	}
	NK(ncclCommDestroy(c));
	printf("ok rank %d of %d, %zu each\n", rank, ranks, n);
}
int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	const int rank = atoi(argv[1]), ranks = atoi(argv[2]);
	const size_t n = strtoul(argv[4], nullptr, 0);
	const bool every = argc > 5;
	std::vector<std::thread> threads;
	ncclUniqueId id;
	if (strcmp(argv[3], "-")) {
		run(rank, ranks, identity(rank, argv[3]), n, every);
		return 0;
	}
	NK(ncclGetUniqueId(&id));
	for (int r = 0; r < ranks; r++)
		threads.emplace_back(run, r, ranks, id, n, every);
	for (std::thread &t : threads)
		t.join();
	return 0;
}
