/*
 * DeepEP's low-latency dispatch and combine over NVSHMEM, called as its class Buffer calls them: each rank sends its
 * tokens to the experts that they chose, and the experts' answers come back as weighted sums. All inputs are functions of
 * rank, token and column, so each rank knows every byte that it has to get. ../exec_nvshmem_gpu.sh runs it:
 *
 *	deepep_ll ID-FILE ROUNDS TOKENS EXPERTS-A-RANK TOPK SMS [fp8]
 */
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "legacy/config.hpp"

#include "tests/long/cuda/nvshmem_start.h"

using namespace deep_ep::legacy;

static const int HIDDEN = 2048;
static int tokens, experts, topk, sms;
static bool fp8;

/* ---- what is sent ---- */

static unsigned hash(unsigned a, unsigned b, unsigned c)
{
	unsigned h = a * 0x9e3779b1u ^ b * 0x85ebca6bu ^ c * 0xc2b2ae35u;

	h ^= h >> 15;
	h *= 0x2c1b3c6du;
	return h ^ h >> 13;
}

/* Small whole numbers: all sums are exact. */
static float value(int from, int token, int column, int round)
{
	return (float)(int)(hash(from * 64 + round, token, column) % 31) - 15;
}

/* Different experts for each token; every fifth choice is left open. */
static int chosen(int from, int token, int k, int round)
{
	const int first = hash(from + 16 * round, token, 77) % experts;

	return hash(from, token, 1000 + k + round) % 5 ? (first + k) % experts : -1;
}

static float weight(int from, int token, int k)
{
	return 0.25f * (1 + hash(from, token, 500 + k) % 4);
}

static unsigned short bf16(float f)
{
	unsigned u;

	memcpy(&u, &f, 4);
	return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static std::vector<unsigned short> row_of(int from, int token, int round)
{
	std::vector<unsigned short> row(HIDDEN);

	for (int c = 0; c < HIDDEN; c++)
		row[c] = bf16(value(from, token, c, round));
	return row;
}

/* ---- memory ---- */

template <typename T> static T *device(size_t n)
{
	T *p = NULL;

	need(!cudaMalloc(&p, n * sizeof(T)) && !cudaMemset(p, 0, n * sizeof(T)), "cudaMalloc");
	return p;
}

template <typename T> static std::vector<T> host(const T *p, size_t n)
{
	std::vector<T> v(n);

	need(!cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
	return v;
}

template <typename T> static void fill(T *p, const std::vector<T> &v)
{
	need(!cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
}

static struct {
	unsigned short *x, *received, *combined;
	unsigned char *received8;
	float *scales, *weights;
	deep_ep::topk_idx_t *idx;
	int *source, *count;
	int64_t *range;
	char *workspace;
	cudaStream_t stream;
} m;

/* ---- what must arrive ---- */

static int wrong_rows;

static void check_row(const unsigned short *got, const unsigned char *got8, const float *scale, size_t stride, int from,
		      int token, int round)
{
	const std::vector<unsigned short> want = row_of(from, token, round);

	if (!fp8) {
		wrong_rows += memcmp(got, want.data(), HIDDEN * 2) != 0;
		return;
	}
	/* e4m3 of three bits of mantissa: within a sixteenth of the value, and of the smallest step beside zero. */
	for (int c = 0; c < HIDDEN; c++) {
		__nv_fp8_e4m3 v;
		float f, w = value(from, token, c, round);

		memcpy(&v, got8 + c, 1);
		f = (float)v * scale[c / 128 * stride];
		if (!(fabsf(f - w) <= fabsf(w) / 16 + 1e-4f)) {
			wrong_rows++;
			return;
		}
	}
}

static int check_dispatch(int round)
{
	const int local = experts / ranks, room = ranks * tokens;
	const std::vector<int> count = host(m.count, local), source = host(m.source, (size_t)local * room);
	const std::vector<int64_t> range = host(m.range, local * ranks);
	const size_t cells = (size_t)local * room;
	const std::vector<unsigned short> x = host(m.received, fp8 ? 0 : cells * HIDDEN);
	const std::vector<unsigned char> x8 = host(m.received8, fp8 ? cells * HIDDEN : 0);
	const std::vector<float> scales = host(m.scales, fp8 ? cells * (HIDDEN / 128) : 0);
	int rows = 0;

	for (int e = 0; e < local; e++) {
		int all = 0;

		for (int from = 0; from < ranks; from++) {
			const int n = (int)range[e * ranks + from], begin = (int)(range[e * ranks + from] >> 32);
			int expected = 0;

			for (int t = 0; t < tokens; t++)
				for (int k = 0; k < topk; k++)
					expected += chosen(from, t, k, round) == rank * local + e;
			need(n == expected, "number of tokens from a rank");
			for (int i = 0; i < n; i++) {
				const size_t at = (size_t)e * room + begin + i;
				const float *scale = fp8 ? &scales[(size_t)e * (HIDDEN / 128) * room + begin + i]
							 : NULL;

				check_row(fp8 ? NULL : &x[at * HIDDEN], fp8 ? &x8[at * HIDDEN] : NULL, scale, room, from,
					  source[at], round);
				rows++;
			}
			all += n;
		}
		need(count[e] == all, "number of tokens of an expert");
	}
	return rows;
}

/* What is wrong with a token: how much of it, and the choice whose answer explains it. */
static void describe(int round, int t, const unsigned short *got)
{
	int first = -1, last = 0, count = 0;

	for (int c = 0; c < HIDDEN; c++) {
		float sum = 0;

		for (int k = 0; k < topk; k++)
			if (chosen(rank, t, k, round) >= 0)
				sum += weight(rank, t, k) * value(rank, t, c, round);
		if (got[c] == bf16(sum))
			continue;
		first = first < 0 ? c : first;
		last = c;
		count++;
	}
	printf("%d: round %d: token %d is wrong in %d of %d columns, %d to %d; its experts:", rank, round, t, count,
	       HIDDEN, first, last);
	for (int k = 0; k < topk; k++)
		printf(" %d (weight %.2f)", chosen(rank, t, k, round), weight(rank, t, k));
	printf("\n");
	for (int c = first; c < first + 4 && c < HIDDEN; c++)
		printf("    column %d: %04x, sent %.0f\n", c, got[c], value(rank, t, c, round));
}

static void check_combine(int round)
{
	const std::vector<unsigned short> got = host(m.combined, (size_t)tokens * HIDDEN);

	for (int t = 0; t < tokens; t++) {
		for (int c = 0; c < HIDDEN; c++) {
			float sum = 0;

			for (int k = 0; k < topk; k++)
				if (chosen(rank, t, k, round) >= 0)
					sum += weight(rank, t, k) * value(rank, t, c, round);
			if (got[(size_t)t * HIDDEN + c] != bf16(sum)) {
				if (wrong_rows++ < 4)
					describe(round, t, &got[(size_t)t * HIDDEN]);
				break;
			}
		}
	}
}

/* ---- a round ---- */

static LowLatencyLayout *plan;
static int turn;

static double seconds(void)
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void inputs(int round)
{
	std::vector<unsigned short> x;
	std::vector<deep_ep::topk_idx_t> idx;
	std::vector<float> weights;

	for (int t = 0; t < tokens; t++) {
		const std::vector<unsigned short> row = row_of(rank, t, round);

		x.insert(x.end(), row.begin(), row.end());
		for (int k = 0; k < topk; k++) {
			idx.push_back(chosen(rank, t, k, round));
			weights.push_back(weight(rank, t, k));
		}
	}
	fill(m.x, x);
	fill(m.idx, idx);
	fill(m.weights, weights);
}

static void dispatch(void)
{
	LowLatencyBuffer *b = &plan->buffers[turn], *next = &plan->buffers[turn ^= 1];

	internode_ll::dispatch(fp8 ? (void *)m.received8 : (void *)m.received, m.scales, m.source, m.range, m.count,
			       nullptr, nullptr, nullptr, b->dispatch_rdma_recv_data_buffer,
			       b->dispatch_rdma_recv_count_buffer, b->dispatch_rdma_send_buffer, m.x, m.idx,
			       next->clean_meta().first, next->clean_meta().second, tokens, HIDDEN, tokens, topk, experts,
			       rank, ranks, fp8, false, false, m.workspace, sms, m.stream, 3);
	need(!cudaStreamSynchronize(m.stream), "dispatch");
}

static void combine(void)
{
	LowLatencyBuffer *b = &plan->buffers[turn], *next = &plan->buffers[turn ^= 1];

	internode_ll::combine(m.combined, b->combine_rdma_recv_data_buffer, b->combine_rdma_recv_flag_buffer,
			      b->combine_rdma_send_buffer, m.received, m.idx, m.weights, m.source, m.range, nullptr, nullptr,
			      next->clean_meta().first, next->clean_meta().second, tokens, HIDDEN, tokens, topk, experts,
			      rank, ranks, false, m.workspace, sms, m.stream, 3, false);
	need(!cudaStreamSynchronize(m.stream), "combine");
}

int main(int argc, char **argv)
{
	int rounds, rows = 0;
	size_t cells;

	need(argc > 6, "arguments");
	start(argv[1]);
	rounds = atoi(argv[2]);
	tokens = atoi(argv[3]);
	experts = atoi(argv[4]) * ranks;
	topk = atoi(argv[5]);
	sms = atoi(argv[6]);
	fp8 = argc > 7 && !strcmp(argv[7], "fp8");
	cells = (size_t)experts / ranks * ranks * tokens;
	LowLatencyLayout sizes(nullptr, tokens, HIDDEN, ranks, experts), real(
		nvshmem_align(128, sizes.total_bytes), tokens, HIDDEN, ranks, experts);
	plan = &real;
	need(plan->buffers[0].dispatch_rdma_recv_count_buffer, "nvshmem_align");
	m.x = device<unsigned short>((size_t)tokens * HIDDEN);
	m.combined = device<unsigned short>((size_t)tokens * HIDDEN);
	m.received = device<unsigned short>(cells * HIDDEN);
	m.received8 = device<unsigned char>(cells * HIDDEN);
	m.scales = device<float>(cells * (HIDDEN / 128));
	m.weights = device<float>((size_t)tokens * topk);
	m.idx = device<deep_ep::topk_idx_t>((size_t)tokens * topk);
	m.source = device<int>(cells);
	m.count = device<int>(experts / ranks);
	m.range = device<int64_t>(experts);
	m.workspace = device<char>(1 << 20);
	need(!cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking), "cudaStreamCreate");
	nvshmem_barrier_all();
	internode_ll::clean_low_latency_buffer(plan->buffers[0].clean_meta().first,
					       plan->buffers[0].clean_meta().second,
					       plan->buffers[1].clean_meta().first,
					       plan->buffers[1].clean_meta().second, rank, ranks, nullptr, nullptr,
					       m.stream);
	need(!cudaStreamSynchronize(m.stream), "clean_low_latency_buffer");
	nvshmem_barrier_all();
	for (int round = 0; round < rounds; round++) {
		double begin, middle;

		inputs(round);
		nvshmem_barrier_all();
		begin = seconds();
		dispatch();
		middle = seconds();
		rows += check_dispatch(round);
		nvshmem_barrier_all();
		if (fp8) /* there is nothing to send back */
			continue;
		const double again = seconds();
		combine();
		const double end = seconds();
		check_combine(round);
		if (!rank)
			printf("round %d: dispatch %.2f s, combine %.2f s\n", round, middle - begin, end - again);
	}
	printf("%d: %d rows, %s\n", rank, rows, wrong_rows ? "WRONG" : "good");
	nvshmem_barrier_all();
	nvshmem_finalize();
	return wrong_rows ? 1 : 0;
}
