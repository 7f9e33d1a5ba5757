/*
 * compare: the kernels of drivers/mbarrier on this machine's GPU and on the model, with the same inputs: every byte is
 * checked on both, and every barrier word, token and answer of the one against the other's.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "drivers/platform/platform_mbarrier_cuda.h"

#include "drivers/mbarrier/kernels_internal.h"
#include "tools/calibrate/mbarrier_model.h"

#define CUDA(call)                                                                                                     \
	do {                                                                                                           \
		const cudaError_t e_ = (call);                                                                         \
		if (e_ != cudaSuccess) {                                                                               \
			fprintf(stderr, "compare: %s: %s\n", #call, cudaGetErrorString(e_));                           \
			exit(e_ == cudaErrorNoDevice || e_ == cudaErrorInsufficientDriver ? 77 : 1);                   \
		}                                                                                                      \
	} while (0)

__global__ void __launch_bounds__(992) work(const __grid_constant__ struct bf_mbar_job job)
{
	struct bf_thread t;

	bf_mbar_work(&t, &job);
}

struct run {
	std::vector<uint8_t> in, out;
	std::vector<struct bf_mbar_note> notes;
	float ms;
};

static void launch(const struct bf_mbar_job &job, uint32_t ranks, uint32_t blocks)
{
	const size_t shared = bf_mbar_shared_bytes(&job) + 1024;
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};

	CUDA(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
	CUDA(cudaFuncSetAttribute(work, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
	config.gridDim = dim3(blocks);
	config.blockDim = dim3(bf_mbar_warps(&job) * 32);
	config.dynamicSmemBytes = shared;
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = ranks;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	config.attrs = &attribute;
	config.numAttrs = 1;
	CUDA(cudaLaunchKernelEx(&config, work, job));
}

static void run_gpu(struct bf_mbar_job job, uint32_t ranks, uint32_t blocks, struct run *r)
{
	const size_t bytes = bf_mbar_data_bytes(&job, blocks), notes = (size_t)bf_mbar_notes(&job) * blocks;
	uint8_t *in, *out;
	struct bf_mbar_note *log;
	cudaEvent_t began, ended;

	r->in.resize(bytes);
	r->out.resize(bytes);
	r->notes.resize(notes);
	bf_mbar_fill(&job, blocks, r->in.data());
	CUDA(cudaMalloc(&in, bytes));
	CUDA(cudaMalloc(&out, bytes));
	CUDA(cudaMalloc(&log, notes * sizeof(*log)));
	CUDA(cudaMemcpy(in, r->in.data(), bytes, cudaMemcpyHostToDevice));
	CUDA(cudaMemset(out, 0, bytes));
	CUDA(cudaMemset(log, 0, notes * sizeof(*log)));
	CUDA(cudaEventCreate(&began));
	CUDA(cudaEventCreate(&ended));
	job.in = in;
	job.out = out;
	job.notes = log;
	CUDA(cudaEventRecord(began));
	launch(job, ranks, blocks);
	CUDA(cudaEventRecord(ended));
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaEventElapsedTime(&r->ms, began, ended));
	CUDA(cudaMemcpy(r->out.data(), out, bytes, cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(r->notes.data(), log, notes * sizeof(*log), cudaMemcpyDeviceToHost));
	CUDA(cudaFree(in));
	CUDA(cudaFree(out));
	CUDA(cudaFree(log));
}

struct shape {
	uint32_t work, style, stages, bytes, producers, consumers, iterations, barriers, by_barrier, lane_waits, ranks,
	    blocks;
};

static const struct shape shapes[] = {
	{ BF_MBAR_PIPELINE, 0, 4, 4096, 0, 4, 64, 0, 0, 0, 1, 1 },
	{ BF_MBAR_PIPELINE, 0, 1, 16384, 0, 2, 33, 0, 0, 1, 1, 2 },
	{ BF_MBAR_PIPELINE, 0, 8, 16384, 0, 8, 100, 0, 0, 0, 1, 4 },
	{ BF_MBAR_PIPELINE, 1, 0, 8192, 0, 4, 40, 0, 0, 0, 1, 2 },
	{ BF_MBAR_RING, 0, 4, 4096, 2, 4, 64, 0, 0, 0, 1, 1 },
	{ BF_MBAR_RING, 0, 2, 2048, 4, 1, 65, 0, 0, 1, 1, 2 },
	{ BF_MBAR_PINGPONG, 0, 4, 4096, 0, 2, 64, 0, 0, 0, 1, 1 },
	{ BF_MBAR_PINGPONG, 0, 3, 8192, 0, 4, 33, 0, 0, 0, 1, 2 },
	{ BF_MBAR_CLUSTER, 0, 4, 4096, 0, 4, 32, 0, 0, 0, 2, 2 },
	{ BF_MBAR_CLUSTER, 0, 3, 8192, 0, 2, 33, 0, 0, 0, 4, 8 },
	{ BF_MBAR_CLUSTER, 0, 2, 4096, 0, 4, 20, 0, 0, 0, 8, 8 },
	{ BF_MBAR_AMPERE, 0, 3, 4096, 0, 4, 32, 0, 0, 0, 1, 1 },
	{ BF_MBAR_AMPERE, 0, 4, 4096, 0, 4, 32, 0, 1, 0, 1, 1 },
	{ BF_MBAR_STRESS, 0, 0, 0, 0, 4, 16, 24, 0, 0, 1, 1 },
	{ BF_MBAR_STRESS, 0, 0, 0, 0, 16, 8, 40, 0, 0, 1, 2 },
	{ BF_MBAR_STRESS, 0, 0, 0, 0, 8, 8, 12, 0, 1, 1, 4 },
};

/* One shape under one seed. Returns false when anything differs. */
static bool compare(const struct shape &s, uint32_t seed, uint64_t *words, uint64_t *tokens, uint64_t *bytes)
{
	struct bf_mbar_job job = {};
	uint32_t ranks = s.ranks, blocks = s.blocks;
	struct bf_mbar_note *model = NULL;
	struct bf_mbar_verdict gpu, both;
	struct bf_error err = {};
	uint64_t cycles = 0;
	struct run r;

	job.work = s.work;
	job.style = s.style;
	job.stages = s.stages;
	job.bytes = s.bytes;
	job.producers = s.producers;
	job.consumers = s.consumers;
	job.iterations = s.iterations;
	job.barriers = s.barriers;
	job.by_barrier = s.by_barrier;
	job.lane_waits = s.lane_waits;
	job.seed = seed;
	bf_mbar_defaults(&job, &ranks, &blocks);
	if (bf_mbar_check(&job, ranks, blocks, &err)) {
		printf("%-9s %s\n", bf_mbar_work_name((enum bf_mbar_work)s.work), err.text);
		return false;
	}
	run_gpu(job, ranks, blocks, &r);
	bf_mbar_verify(&job, ranks, blocks, r.in.data(), r.out.data(), r.notes.data(), &gpu);
	if (bf_calibrate_model(&job, ranks, blocks, &model, &cycles, &err)) {
		printf("%-9s %s\n", bf_mbar_work_name((enum bf_mbar_work)s.work), err.text);
		free(model);
		return false;
	}
	bf_mbar_compare(&job, blocks, r.notes.data(), model, &both);
	free(model);
	printf("%-9s seed %u: %2u x %u blocks, %2u warps, %3u tiles of %5u: %7llu bytes, %5llu words, %5llu tokens; "
	       "GPU %.1f us, "
	       "model %llu cycles%s\n",
	       bf_mbar_work_name((enum bf_mbar_work)s.work), seed, blocks / ranks, ranks, bf_mbar_warps(&job),
	       job.iterations, job.bytes, (unsigned long long)gpu.bytes, (unsigned long long)both.words,
	       (unsigned long long)both.tokens, r.ms * 1000, (unsigned long long)cycles,
	       gpu.wrong || both.wrong ? "" : ", same");
	if (gpu.wrong)
		printf("  GPU: %llu wrong: %s\n", (unsigned long long)gpu.wrong, gpu.text);
	if (both.wrong)
		printf("  differences: %llu: %s\n", (unsigned long long)both.wrong, both.text);
	*words += both.words;
	*tokens += both.tokens;
	*bytes += gpu.bytes;
	return !gpu.wrong && !both.wrong;
}

int main(int argc, char **argv)
{
	const uint32_t seeds = argc > 1 ? (uint32_t)atoi(argv[1]) : 3;
	uint64_t words = 0, tokens = 0, bytes = 0;
	uint32_t runs = 0, wrong = 0;
	cudaDeviceProp prop;

	CUDA(cudaGetDeviceProperties(&prop, 0));
	printf("%s, compute capability %d.%d\n", prop.name, prop.major, prop.minor);
	if (prop.major != 9) {
		fprintf(stderr, "compare: this GPU is no Hopper (sm_90)\n");
		return 77;
	}
	for (uint32_t seed = 1; seed <= seeds; seed++)
		for (const struct shape &s : shapes) {
			runs++;
			wrong += !compare(s, seed, &words, &tokens, &bytes);
		}
	printf("%u runs: %llu bytes, %llu barrier words and answers, %llu tokens compared; %u runs differ\n", runs,
	       (unsigned long long)bytes, (unsigned long long)words, (unsigned long long)tokens, wrong);
	return wrong ? 1 : 0;
}
