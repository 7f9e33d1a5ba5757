// NCCL between processes: nccl_sums RANK RANKS FILE COUNT; the file brings the others the identity that rank 0 made.
// Each result is compared with what the sum must be.
#include <vector>

#include "nccl_start.h"

template <typename T> static std::vector<T> mine(int rank, size_t n)
{
	std::vector<T> v(n);
	for (size_t i = 0; i < n; i++)
		v[i] = (T)((i * 7 + rank * 13) % 101);
	return v;
}
// `got` is what `want` gives for each place.
template <typename T, typename F> static void same(const char *what, const T *device, size_t n, F want)
{
	std::vector<T> got(n);
	size_t wrong = 0, first = n;
	CK(cudaMemcpy(got.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
	for (size_t i = n; i-- > 0;)
		if (got[i] != (T)want(i)) {
			wrong++;
			first = i;
		}
	if (wrong)
		printf("%s: %zu of %zu are wrong, the first is %zu: %g instead of %g\n", what, wrong, n, first,
		       (double)got[first], (double)want(first));
	if (wrong)
		exit(1);
}
template <typename T> static void all(ncclComm_t c, ncclDataType_t type, int rank, int ranks, size_t n, cudaStream_t s)
{
	T *in, *out;
	std::vector<T> host = mine<T>(rank, n * ranks);
	auto value = [](int r, size_t i) { return (i * 7 + r * 13) % 101; };
	auto sum = [&](size_t i) {
		size_t v = 0;
		for (int r = 0; r < ranks; r++)
			v += value(r, i);
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
	same("all-gather", out, n * ranks, [&](size_t i) { return value((int)(i / n), i % n); });
	if (type == ncclFloat) {
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
	same("all-to-all", out, n * ranks, [&](size_t i) { return value((int)(i / n), rank * n + i % n); });
	CK(cudaFree(in));
	CK(cudaFree(out));
}
int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	const int rank = atoi(argv[1]), ranks = atoi(argv[2]);
	const size_t n = strtoul(argv[4], nullptr, 0);
	int devices = 0;
	ncclComm_t c;
	cudaStream_t s;
	CK(cudaGetDeviceCount(&devices));
	CK(cudaSetDevice(rank % devices));
	const ncclUniqueId id = identity(rank, argv[3]);
	NK(ncclCommInitRank(&c, ranks, id, rank));
	CK(cudaStreamCreate(&s));
	all<float>(c, ncclFloat, rank, ranks, n, s);
	all<int>(c, ncclInt, rank, ranks, n, s);
	NK(ncclCommDestroy(c));
	printf("ok rank %d of %d, %zu each\n", rank, ranks, n);
	return 0;
}
