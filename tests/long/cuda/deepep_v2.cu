// DeepEP V2 between processes: deepep_v2 RANK RANKS FILE. Its dispatch, combine and their epilogues as they are,
// compiled from its headers as its JIT does, on NCCL's GIN; this is the host's part alone. Each token goes to the ranks
// of its experts and comes back; what arrives, its weights and its origin are compared, and so is the sum that returns.
//
// -DRANKS=N says for how many ranks the kernels are made; -DHYBRID: the kernels for several domains, of one rank each.
// SPOIL in the environment sends a wrong word.
#include <deep_ep/impls/combine.cuh>
#include <deep_ep/impls/combine_reduce_epilogue.cuh>
#include <deep_ep/impls/dispatch.cuh>
#include <deep_ep/impls/dispatch_copy_epilogue.cuh>
#include <deep_ep/impls/hybrid_combine.cuh>
#include <deep_ep/impls/hybrid_dispatch.cuh>

#include "nccl_start.h"

using namespace deep_ep;
using namespace deep_ep::elastic;

#define SMS 2
#define NOTIFY_WARPS 4
#define WARPS 4
#define QPS 3
#define HIDDEN 512
#define TOKENS 64 // of a rank, at most
#define EXPERTS (RANKS * 4)
#define TOPK 4
#define ROUNDS 2
#define TIMEOUT (1ll << 60)
#define RECEIVED (TOKENS * RANKS)
#define METADATA (2 + TOPK)
#define BYTES (int)(HIDDEN * sizeof(nv_bfloat16))
#ifdef HYBRID
#define DOMAINS RANKS // domains of ranks that reach each other's memory; each has one
#else
#define DOMAINS 1
#endif
#define PEERS (RANKS / DOMAINS) // in a domain
#define CHANNELS (SMS * WARPS)
#define TOKENS_OF_CHANNEL ((TOKENS + CHANNELS - 1) / CHANNELS)
#define FORWARDED (DOMAINS * TOKENS_OF_CHANNEL + 1)

static int tokens_of(int rank)
{
	return TOKENS - rank * 3;
}

// Small integers, so that sums are exact.
static float value_of(int rank, int token, int round, int i)
{
	return (float)((rank * 7 + token * 3 + round + i) % 31);
}

// The experts of a token: distinct, and sometimes one fewer.
static int expert_of(int rank, int token, int round, int k)
{
	return k == TOPK - 1 && token % 3 == 0 ? -1 : (rank + token * 5 + round + k * 3) % EXPERTS;
}

static float weight_of(int rank, int token, int k)
{
	return (float)(1 + rank * 1000 + token * 10 + k);
}

template <typename T> static T *on_device(size_t n)
{
	T *p;

	CK(cudaMalloc(&p, n * sizeof(T)));
	CK(cudaMemset(p, 0, n * sizeof(T)));
	return p;
}

template <typename... P, typename... A> static void start(void (*kernel)(P...), int threads, size_t shared, A... args)
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attributes[1] = {};

	attributes[0].id = cudaLaunchAttributeCooperative;
	attributes[0].val.cooperative = 1;
	config.gridDim = SMS;
	config.blockDim = threads;
	config.dynamicSmemBytes = shared;
	config.attrs = attributes;
	config.numAttrs = 1;
	CK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
	CK(cudaLaunchKernelEx(&config, kernel, P(args)...));
}

struct buffers {
	nv_bfloat16 *x, *received, *combined;
	topk_idx_t *experts, *received_experts;
	float *weights, *received_weights, *combined_weights;
	int *by_rank, *by_expert, *slots, *origin, *forwarded, *lists;
	void *host;
};

static int wrong;

static void expect(bool right, const char *what, int rank, int i)
{
	if (!right && wrong++ < 4)
		printf("rank %d: %s is wrong at %d\n", rank, what, i);
}

static void fill(const buffers &b, int rank, int round)
{
	static nv_bfloat16 x[TOKENS * HIDDEN];
	topk_idx_t experts[TOKENS * TOPK];
	float weights[TOKENS * TOPK];

	for (int t = 0; t < TOKENS; t++) {
		for (int i = 0; i < HIDDEN; i++)
			x[t * HIDDEN + i] = __float2bfloat16(value_of(rank, t, round, i));
		for (int k = 0; k < TOPK; k++) {
			experts[t * TOPK + k] = expert_of(rank, t, round, k);
			weights[t * TOPK + k] = weight_of(rank, t, k);
		}
	}
	if (getenv("SPOIL")) // what the check must find
		x[HIDDEN + 5] = __float2bfloat16(99);
	CK(cudaMemcpy(b.x, x, sizeof(x), cudaMemcpyHostToDevice));
	CK(cudaMemcpy(b.experts, experts, sizeof(experts), cudaMemcpyHostToDevice));
	CK(cudaMemcpy(b.weights, weights, sizeof(weights), cudaMemcpyHostToDevice));
}

static bool goes_to(int rank, int token, int round, int to)
{
	for (int k = 0; k < TOPK; k++) {
		const int e = expert_of(rank, token, round, k);

		if (e >= 0 && e / (EXPERTS / RANKS) == to)
			return true;
	}
	return false;
}

// Every token that has an expert here came once, with its bytes and weights, and says where it is from.
static void check_received(const buffers &b, int rank, int round)
{
	static nv_bfloat16 x[RECEIVED * HIDDEN];
	static int origin[RECEIVED * METADATA];
	static float weights[RECEIVED * TOPK];
	int by_rank[RANKS], want = 0, seen[RANKS * TOKENS] = {};

	CK(cudaMemcpy(x, b.received, sizeof(x), cudaMemcpyDeviceToHost));
	CK(cudaMemcpy(origin, b.origin, sizeof(origin), cudaMemcpyDeviceToHost));
	CK(cudaMemcpy(weights, b.received_weights, sizeof(weights), cudaMemcpyDeviceToHost));
	CK(cudaMemcpy(by_rank, b.by_rank, sizeof(by_rank), cudaMemcpyDeviceToHost));
	for (int r = 0; r < RANKS; r++) {
		for (int t = 0; t < tokens_of(r); t++)
			want += goes_to(r, t, round, rank);
		expect(PEERS == 1 || by_rank[r] == want, "a number of tokens", rank, r);
	}
	expect(by_rank[PEERS - 1] == want, "the number of tokens", rank, 0);
	for (int i = 0; i < want; i++) {
		const int from = origin[i * METADATA] / TOKENS, t = origin[i * METADATA] % TOKENS;

		expect(from < RANKS && goes_to(from, t, round, rank) && !seen[from * TOKENS + t]++, "an origin", rank,
		       i);
		for (int j = 0; j < HIDDEN; j++)
			expect(__bfloat162float(x[i * HIDDEN + j]) == value_of(from, t, round, j), "a token", rank, i);
		for (int k = 0; k < TOPK; k++)
			expect(weights[i * TOPK + k] == weight_of(from, t, k), "a weight", rank, i);
	}
}

// Each rank that had the token gave it back as it was.
static void check_combined(const buffers &b, int rank, int round)
{
	static nv_bfloat16 x[TOKENS * HIDDEN];
	float weights[TOKENS * TOPK];

	CK(cudaMemcpy(x, b.combined, sizeof(x), cudaMemcpyDeviceToHost));
	CK(cudaMemcpy(weights, b.combined_weights, sizeof(weights), cudaMemcpyDeviceToHost));
	for (int t = 0; t < tokens_of(rank); t++) {
		int times = 0;

		for (int r = 0; r < RANKS; r++)
			times += goes_to(rank, t, round, r);
		for (int j = 0; j < HIDDEN; j++)
			expect(__bfloat162float(x[t * HIDDEN + j]) == times * value_of(rank, t, round, j), "a sum",
			       rank, t);
		for (int k = 0; k < TOPK; k++)
			expect(weights[t * TOPK + k] == (expert_of(rank, t, round, k) < 0 ? 0 : weight_of(rank, t, k)),
			       "a weight that came back", rank, t);
	}
}

struct call {
	ncclDevComm_t device;
	ncclWindow_t window;
	void *workspace, *buffer;
	int rank, domain, peer; // peer: within its domain
};

static void dispatch(const buffers &b, const call &c)
{
	const layout::TokenLayout token(BYTES, 0, TOPK, true);
	const size_t counts = math::align(RANKS + EXPERTS, NOTIFY_WARPS * 32) * sizeof(int);

#ifdef HYBRID
	start(hybrid_dispatch_impl<false, false, SMS, NOTIFY_WARPS, WARPS, WARPS, DOMAINS, PEERS, BYTES, 0, TOKENS,
				   EXPERTS, TOPK, 1, QPS, TIMEOUT>,
	      (NOTIFY_WARPS + 2 * WARPS) * 32, counts + 2 * WARPS * token.get_num_bytes<true>(), b.x, nullptr,
	      b.experts, b.weights, nullptr, nullptr, b.by_rank, b.by_expert, nullptr, b.slots, b.forwarded,
	      tokens_of(c.rank), 0, 0, c.device, c.window, c.buffer, c.workspace, b.host, c.domain, c.peer);
#else
	start(dispatch_impl<false, false, false, SMS, NOTIFY_WARPS, WARPS, RANKS, BYTES, 0, TOKENS, EXPERTS, TOPK, 1,
			    QPS, TIMEOUT>,
	      (NOTIFY_WARPS + WARPS) * 32, counts + WARPS * token.get_num_bytes<true>(), b.x, nullptr, b.experts,
	      b.weights, nullptr, nullptr, b.by_rank, b.by_expert, nullptr, b.slots, tokens_of(c.rank), 0, 0, c.device,
	      c.window, c.buffer, c.workspace, b.host, c.rank);
#endif
	start(dispatch_copy_epilogue_impl<false, false, false, SMS, CHANNELS, WARPS, DOMAINS, PEERS, BYTES, 0, TOKENS,
					  EXPERTS, TOPK, 1>,
	      WARPS * 32, WARPS * token.get_num_bytes<true>(), c.buffer, c.workspace, b.by_rank, b.by_expert,
	      b.received, nullptr, b.received_experts, b.received_weights, b.origin, b.lists, nullptr, RECEIVED, 0, 0,
	      c.domain, c.peer);
}

static void combine(const buffers &b, const call &c)
{
	const layout::TokenLayout token(BYTES, 0, TOPK, false);
	void *sums = c.buffer;

#ifdef HYBRID
	sums = layout::BufferLayout<false>(token, PEERS, RANKS * TOKENS, c.buffer).get_buffer_end_ptr();
	start(hybrid_combine_impl<false, true, SMS, WARPS, WARPS, DOMAINS, PEERS, HIDDEN, TOKENS, EXPERTS, TOPK, QPS,
				  TIMEOUT>,
	      2 * WARPS * 32, 2 * WARPS * token.get_num_bytes<true>(), b.received, b.received_weights, b.origin,
	      b.by_rank, b.forwarded, b.lists, c.device, c.window, c.buffer, c.workspace, c.domain, c.peer, RECEIVED);
#else
	start(combine_impl<false, false, true, SMS, WARPS, RANKS, HIDDEN, TOKENS, EXPERTS, TOPK, QPS, TIMEOUT>,
	      WARPS * 32, WARPS * token.get_num_bytes<true>(), b.received, b.received_weights, b.origin, b.by_rank,
	      c.device, c.window, c.buffer, c.workspace, c.rank, RECEIVED);
#endif
	start(combine_reduce_epilogue_impl<false, true, SMS, WARPS, DOMAINS, PEERS, HIDDEN, TOKENS, EXPERTS, TOPK>,
	      WARPS * 32, WARPS * BYTES, b.combined, b.combined_weights, b.experts, sums, nullptr, nullptr,
	      tokens_of(c.rank), c.domain, c.peer);
}

static buffers make_buffers(size_t workspace)
{
	buffers b = {};

	CK(cudaMallocHost(&b.host, workspace));
	b.x = on_device<nv_bfloat16>(TOKENS * HIDDEN);
	b.received = on_device<nv_bfloat16>(RECEIVED * HIDDEN);
	b.combined = on_device<nv_bfloat16>(TOKENS * HIDDEN);
	b.experts = on_device<topk_idx_t>(TOKENS * TOPK);
	b.received_experts = on_device<topk_idx_t>(RECEIVED * TOPK);
	b.weights = on_device<float>(TOKENS * TOPK);
	b.received_weights = on_device<float>(RECEIVED * TOPK);
	b.combined_weights = on_device<float>(TOKENS * TOPK);
	b.by_rank = on_device<int>(RANKS);
	b.by_expert = on_device<int>(EXPERTS + 1);
	b.slots = on_device<int>(CHANNELS * DOMAINS * TOKENS_OF_CHANNEL * TOPK + TOKENS * TOPK);
	b.origin = on_device<int>(RECEIVED * METADATA);
	b.forwarded = on_device<int>(CHANNELS * FORWARDED * (2 + 2 * TOPK));
	b.lists = on_device<int>(CHANNELS * FORWARDED * PEERS);
	return b;
}

static void run(ncclComm_t comm, int rank)
{
	const size_t workspace = layout::WorkspaceLayout::get_num_bytes();
	const size_t bytes = workspace + (size_t)(4 * RANKS + TOPK) * (TOKENS + CHANNELS) * (HIDDEN * 2 + 256);
	ncclDevCommRequirements need = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
	const buffers b = make_buffers(workspace);
	call c = {};
	void *memory;

	need.ginContextCount = QPS;
	need.ginExclusiveContexts = true;
	need.ginQueueDepth = kGinQPDepth;
	need.ginSignalCount = RANKS + 4;
	need.ginConnectionType = DOMAINS > 1 ? NCCL_GIN_CONNECTION_RAIL : NCCL_GIN_CONNECTION_FULL;
	NK(ncclDevCommCreate(comm, &need, &c.device));
	NK(ncclMemAlloc(&memory, bytes));
	NK(ncclCommWindowRegister(comm, memory, bytes, &c.window, NCCL_WIN_STRICT_ORDERING));
	NK(ncclGetLsaDevicePointer(c.window, 0, 0, &c.workspace));
	CK(cudaMemset(c.workspace, 0, workspace));
	CK(cudaDeviceSynchronize());
	c.buffer = (uint8_t *)c.workspace + workspace;
	c.rank = rank;
	c.domain = rank / PEERS % DOMAINS;
	c.peer = rank % PEERS;
	for (int round = 0; round < ROUNDS; round++) {
		fill(b, rank, round);
		dispatch(b, c);
		CK(cudaDeviceSynchronize());
		check_received(b, rank, round);
		combine(b, c);
		CK(cudaDeviceSynchronize());
		check_combined(b, rank, round);
	}
	NK(ncclDevCommDestroy(comm, &c.device));
	NK(ncclCommWindowDeregister(comm, c.window));
	NK(ncclMemFree(memory));
}

int main(int argc, char **argv)
{
	if (argc < 4 || atoi(argv[2]) != RANKS)
		return 2;
	const int rank = atoi(argv[1]);
	ncclComm_t comm;

	CK(cudaSetDevice(0));
	const ncclUniqueId id = identity(rank, argv[3]);
	NK(ncclCommInitRank(&comm, RANKS, id, rank));
	run(comm, rank);
	NK(ncclCommDestroy(comm));
	if (wrong)
		return 1;
	printf("ok rank %d of %d\n", rank, RANKS);
	return 0;
}
