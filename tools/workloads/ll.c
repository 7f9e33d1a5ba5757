/* ll-dispatch and ll-combine as workloads: tensors, launches, the check, and times next to DeepEP's. */
#include "tools/workloads/ll.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct bf_ll_workload *ll_of(const struct bf_pes *p)
{
	return (const struct bf_ll_workload *)p;
}

static void fill_shape(const struct bf_pes *p, struct bf_ll_shape *s)
{
	const struct bf_ll_workload *w = ll_of(p);

	*s = (struct bf_ll_shape){
		.tokens = w->tokens,
		.hidden = w->hidden,
		.topk = w->topk,
		.experts = w->experts,
		.dtype = (enum bf_ll_dtype)w->dtype,
		.scales = (enum bf_ll_scales)w->scales,
		.routing = (enum bf_ll_routing)w->routing,
		.zipf_milli = w->zipf_milli,
		.seed = p->seed,
		.rounds = w->rounds,
		.blocks = w->blocks,
		.groups = w->groups,
		.group_warps = w->group_warps,
		.zero_copy = w->zero_copy,
		.bugs = p->own_bugs,
	};
}

/* As DeepEP asks for: a queue pair for each expert of a PE, and rings that nobody has to look after. */
static void fill(struct bf_pes *p)
{
	const struct bf_ll_workload *w = ll_of(p);
	const uint32_t local = w->experts / p->pes;

	if (!p->qps)
		p->qps = local ? local : 1;
	if (!p->depth)
		for (p->depth = 64; p->depth < 32768; p->depth *= 2)
			if (p->depth >= 2 * (w->tokens + 1) * ((local + p->qps - 1) / p->qps))
				break;
}

static int check(const struct bf_pes *p, struct bf_error *err)
{
	struct bf_ll_shape s;

	fill_shape(p, &s);
	return bf_ll_shape_check(&s, p->pes, p->qps, p->depth, err);
}

static uint64_t heap_bytes(const struct bf_pes *p)
{
	struct bf_ll_shape s;
	struct bf_ll_heap heap;

	fill_shape(p, &s);
	bf_ll_heap_layout(&s, p->pes, &heap);
	return heap.end;
}

/* What the arena owns: a job and tensors for each PE. */
struct ll_own {
	struct bf_ll_job *jobs;
	uint8_t **tensors;
};

static int launch_pe(struct bf_pes_arena *a, struct ll_own *own, uint32_t pe, struct bf_error *err)
{
	const struct bf_pes *p = a->p;
	struct bf_ll_job *job = &own->jobs[pe];
	struct bf_memory m;
	int rc;

	fill_shape(p, &job->shape);
	bf_ll_heap_layout(&job->shape, p->pes, &job->heap);
	bf_ll_tensor_layout(&job->shape, p->pes, &job->at);
	job->state = bf_ibgda_host_state(a->host, pe);
	rc = p->backend->alloc(a->world, pe, BF_PLACE_GPU, job->at.end, "tensors", &m);
	if (rc)
		return bf_fail(err, rc, "PE %" PRIu32 ": no memory for %" PRIu64 " bytes of tensors", pe, job->at.end);
	job->tensors = m.ptr;
	own->tensors[pe] = m.ptr;
	rc = bf_ll_prepare(&job->shape, p->pes, pe, job->tensors, err);
	if (rc)
		return rc;
	rc = p->backend->launch(a->world, pe, job->shape.blocks, job->shape.groups * job->shape.group_warps,
				bf_ll_kernels(p->backend->platform)->run[p->work], job);
	return rc ? bf_fail(err, rc, "PE %" PRIu32 ": the grid cannot be launched: %s", pe, strerror(-rc)) : 0;
}

static int launch(struct bf_pes_arena *a, struct bf_error *err)
{
	struct ll_own *own = calloc(1, sizeof(*own));
	int rc = 0;

	a->own = own;
	if (own) {
		own->jobs = calloc(a->p->pes, sizeof(*own->jobs));
		own->tensors = calloc(a->p->pes, sizeof(*own->tensors));
	}
	if (!own || !own->jobs || !own->tensors)
		return bf_fail(err, -ENOMEM, "no memory for %" PRIu32 " PEs", a->p->pes);
	for (uint32_t pe = 0; !rc && pe < a->p->pes; pe++)
		rc = launch_pe(a, own, pe, err);
	return rc;
}

static void close_own(struct bf_pes_arena *a)
{
	struct ll_own *own = a->own;

	if (!own)
		return;
	free(own->jobs);
	free(own->tensors);
	free(own);
}

/* ---- figures ---- */

/* Of one kernel over all PEs and rounds: ns. Then what the busiest and the idlest expert got. */
enum {
	FIGURE_DISPATCH,
	FIGURE_COMBINE = FIGURE_DISPATCH + 3,
	FIGURE_LEAST = FIGURE_COMBINE + 3,
	FIGURE_MOST,
	FIGURES,
};
enum { MEAN, LEAST, MOST };

static void measure(const struct bf_pes_arena *a, const struct ll_own *own, uint32_t which, uint64_t *figure)
{
	const struct bf_ll_shape *s = &own->jobs[0].shape;
	uint64_t sum = 0;

	figure[LEAST] = UINT64_MAX;
	for (uint32_t pe = 0; pe < a->p->pes; pe++)
		for (uint32_t round = 0; round < s->rounds; round++) {
			const struct bf_ll_tensors *at = &own->jobs[pe].at;
			const uint8_t *times = own->tensors[pe] + round * at->out_step + at->times + which * 8ull;
			const uint64_t ns = bf_get_le64(times + 8) - bf_get_le64(times);

			sum += ns;
			figure[LEAST] = ns < figure[LEAST] ? ns : figure[LEAST];
			figure[MOST] = ns > figure[MOST] ? ns : figure[MOST];
		}
	figure[MEAN] = sum / ((uint64_t)a->p->pes * s->rounds);
}

static int verify(const struct bf_pes_arena *a, struct bf_pes_result *r)
{
	const struct ll_own *own = a->own;
	struct bf_ll_checked checked;
	int rc = bf_ll_verify((enum bf_ll_work)a->p->work, &own->jobs[0].shape, a->p->pes, own->tensors,
			      &r->run.mismatch, &checked);

	r->run.messages = checked.messages;
	r->run.verified_bytes = checked.bytes;
	r->nfigures = FIGURES;
	measure(a, own, 0, &r->figures[FIGURE_DISPATCH]);
	if (a->p->work == BF_LL_COMBINE)
		measure(a, own, 2, &r->figures[FIGURE_COMBINE]);
	r->figures[FIGURE_LEAST] = checked.least;
	r->figures[FIGURE_MOST] = checked.most;
	return rc;
}

/*
 * What DeepEP publishes for its low-latency kernels: H800, one CX7 InfiniBand 400 Gb/s each, 128 tokens, hidden 7168,
 * top-8, FP8 dispatch and BF16 combine. `rdma` with RDMA alone (deepseek-ai/DeepEP README.md at its first commit,
 * ebfe47e); `nvlink` since PEs of one machine use NVLink (deepseek-ai/DeepEP docs/legacy.md).
 */
static const struct published {
	uint32_t pes;
	uint32_t dispatch_rdma, combine_rdma, dispatch_nvlink, combine_nvlink; /* us */
} published[] = {
	{ 8, 163, 318, 77, 114 },   { 16, 173, 329, 118, 195 },  { 32, 182, 350, 155, 273 },
	{ 64, 186, 353, 173, 314 }, { 128, 192, 369, 192, 369 }, { 256, 194, 360, 194, 360 },
};

static const struct published *find_published(const struct bf_pes *p)
{
	const struct bf_ll_workload *w = ll_of(p);

	if (w->tokens != 128 || w->hidden != 7168 || w->topk != 8)
		return NULL;
	for (size_t i = 0; i < BF_ARRAY_LEN(published); i++)
		if (published[i].pes == p->pes)
			return &published[i];
	return NULL;
}

/* Bytes that a PE sends in a kernel, its own share included, as DeepEP counts them (tests/legacy/test_low_latency.py).
 */
static uint64_t sent_bytes(const struct bf_pes *p, bool combine)
{
	const struct bf_ll_workload *w = ll_of(p);
	struct bf_ll_shape s;

	fill_shape(p, &s);
	return (uint64_t)w->tokens * w->topk * (combine ? w->hidden * 2 : bf_ll_dispatch_bytes(&s));
}

static void print_kernel(FILE *out, const struct bf_pes *p, const char *name, const uint64_t *f, bool combine)
{
	const uint64_t bytes = sent_bytes(p, combine), ns = f[MEAN] ? f[MEAN] : 1;

	fprintf(out,
		"%-10s %6" PRIu64 ".%" PRIu64 " us (%" PRIu64 ".%" PRIu64 " to %" PRIu64 ".%" PRIu64 " us), %" PRIu64
		".%" PRIu64 " GB/s\n",
		name, f[MEAN] / 1000, f[MEAN] / 100 % 10, f[LEAST] / 1000, f[LEAST] / 100 % 10, f[MOST] / 1000,
		f[MOST] / 100 % 10, bytes / ns, bytes * 10 / ns % 10);
}

static void print(FILE *out, const struct bf_pes *p, const struct bf_pes_result *r)
{
	const struct published *known = find_published(p);

	print_kernel(out, p, "dispatch", &r->figures[FIGURE_DISPATCH], false);
	if (known)
		fprintf(out,
			"  DeepEP on H800 and CX7, EP%" PRIu32 ": %" PRIu32 " us by RDMA alone, %" PRIu32
			" us with NVLink\n",
			known->pes, known->dispatch_rdma, known->dispatch_nvlink);
	if (p->work == BF_LL_COMBINE)
		print_kernel(out, p, "combine", &r->figures[FIGURE_COMBINE], true);
	if (p->work == BF_LL_COMBINE && known)
		fprintf(out,
			"  DeepEP on H800 and CX7, EP%" PRIu32 ": %" PRIu32 " us by RDMA alone, %" PRIu32
			" us with NVLink\n",
			known->pes, known->combine_rdma, known->combine_nvlink);
	fprintf(out, "tokens of an expert        %" PRIu64 " to %" PRIu64 "\n", r->figures[FIGURE_LEAST],
		r->figures[FIGURE_MOST]);
	if (!known)
		return;
	fprintf(out,
		"modelled: NIC and wire by profile %s, each lane's loads, stores, fences and atomics at an idle\n"
		"H200's latencies. Not modelled: how SMs share issue slots and memory bandwidth, the cost of\n"
		"arithmetic, NVLink, and blocks beyond --blocks.\n",
		p->profile.name);
}

static void json_kernel(struct bf_json *j, const struct bf_pes *p, const char *name, const uint64_t *f, bool combine,
			uint32_t rdma_us, uint32_t nvlink_us)
{
	bf_json_open(j, name, '{');
	bf_json_u64(j, "mean_ns", f[MEAN]);
	bf_json_u64(j, "least_ns", f[LEAST]);
	bf_json_u64(j, "most_ns", f[MOST]);
	bf_json_u64(j, "bytes_of_a_pe", sent_bytes(p, combine));
	if (rdma_us) {
		bf_json_u64(j, "deepep_rdma_us", rdma_us);
		bf_json_u64(j, "deepep_nvlink_us", nvlink_us);
	}
	bf_json_close(j, '}');
}

static void json(struct bf_json *j, const struct bf_pes *p, const struct bf_pes_result *r)
{
	const struct published none = { 0 }, *known = find_published(p);

	known = known ? known : &none;
	json_kernel(j, p, "dispatch", &r->figures[FIGURE_DISPATCH], false, known->dispatch_rdma,
		    known->dispatch_nvlink);
	if (p->work == BF_LL_COMBINE)
		json_kernel(j, p, "combine", &r->figures[FIGURE_COMBINE], true, known->combine_rdma,
			    known->combine_nvlink);
	bf_json_u64(j, "least_tokens_of_an_expert", r->figures[FIGURE_LEAST]);
	bf_json_u64(j, "most_tokens_of_an_expert", r->figures[FIGURE_MOST]);
}

/* ---- the family ---- */

static const struct bf_work works[] = {
	[BF_LL_DISPATCH] = { "ll-dispatch",
			     "tokens to the experts that their router chose, as DeepEP's low-latency kernel" },
	[BF_LL_COMBINE] = { "ll-combine",
			    "the same, then the experts' answers back, added up with the router's weights" },
	{ NULL, NULL },
};

static const struct bf_opt options[] = {
	BF_OPT_OF(struct bf_ll_workload, "tokens", U64, "N", "8", "tokens of each PE", 1, 1024, tokens),
	BF_OPT_OF(struct bf_ll_workload, "hidden", U64, "N", "512", "elements of a token, a multiple of 512", 512, 8192,
		  hidden),
	BF_OPT_OF(struct bf_ll_workload, "topk", U64, "N", "2", "experts that each token goes to", 1, 16, topk),
	BF_OPT_OF(struct bf_ll_workload, "experts", U64, "N", "8", "experts in all, a multiple of the PEs", 2, 4096,
		  experts),
	BF_OPT_OF(struct bf_ll_workload, "dtype", ENUM, "fp8|bf16", "fp8",
		  "how a dispatch sends tokens; a combine sends BF16", 0, 0, dtype),
	BF_OPT_OF(struct bf_ll_workload, "scales", ENUM, "f32|pow2|ue8m0", "f32",
		  "FP8: scales are any floats, powers of two, or their exponents", 0, 0, scales),
	BF_OPT_OF(struct bf_ll_workload, "routing", ENUM, "uniform|zipf|hot", "uniform",
		  "how experts are chosen: alike, by Zipf's law, or one of "
		  "them by every token",
		  0, 0, routing),
	BF_OPT_OF(struct bf_ll_workload, "zipf", U64, "N", "1000", "exponent of Zipf's law, in thousandths", 0, 4000,
		  zipf_milli),
	BF_OPT_OF(struct bf_ll_workload, "rounds", U64, "N", "1", "exchanges, one after the other", 1, 1000, rounds),
	BF_OPT_OF(struct bf_ll_workload, "blocks", U64, "N", "1",
		  "blocks of warps on each PE (DeepEP: as many as SMs or experts)", 1, 1024, blocks),
	BF_OPT_OF(struct bf_ll_workload, "groups", U64, "N", "2", "warp groups in a block; each looks after experts", 1,
		  16, groups),
	BF_OPT_OF(struct bf_ll_workload, "warps", U64, "N", "2", "warps in a group", 1, 32, group_warps),
	BF_OPT_OF(struct bf_ll_workload, "zero-copy", FLAG, NULL, NULL,
		  "ll-combine: experts write their answers where they are sent from", 0, 0, zero_copy),
	BF_PES_OPTIONS(struct bf_ll_workload, "4", "0", "deepep", "0"),
	{ .name = NULL },
};

static const struct bf_words words[] = {
	{ BF_WORDS("bug", "Bugs", bf_ll_bugs, struct bf_ibgda_bug, struct bf_ll_workload, pes.own_bugs) },
	BF_PES_WORDS(struct bf_ll_workload),
};

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_ll_workload, member), least                                                        \
	}

static const struct bf_search_part parts[] = {
	PART(rounds, 1), PART(tokens, 1), PART(topk, 1),        PART(experts, 2), PART(pes.pes, 2),
	PART(blocks, 1), PART(groups, 1), PART(group_warps, 1), PART(pes.qps, 1), PART(hidden, 512),
};

static const struct bf_pes_family family = {
	.fill = fill,
	.check = check,
	.heap_bytes = heap_bytes,
	.launch = launch,
	.close = close_own,
	.verify = verify,
	.print = print,
	.json = json,
};

const struct bf_family bf_ll_family = {
	BF_PES_ROW(struct bf_ll_workload, parts),
	.prefix = "ll-",
	.works = works,
	.options = options,
	.words = words,
	.own = &family,
	.run = { .summary = "run DeepEP's low-latency exchange and check every byte and sum",
		 .details =
		     "Roles of warps, message format, buffers, counts and batches of doorbells are those of DeepEP's\n"
		     "internode_ll.cu. Every token of every expert is compared with a plain computation of the same "
		     "routing, and\n"
		     "every sum bit for bit.\n"
		     "\n"
		     "--qps 0 creates a queue pair for each expert of a PE, as DeepEP does. --depth 0 makes rings so "
		     "large that they cannot overflow.",
		 .examples = "  belfry run ll-dispatch --routing hot --rounds 3\n"
			     "  belfry run ll-combine --bug ll-no-clean --rounds 2\n"
			     "  belfry run ll-combine --pes 8 --tokens 128 --hidden 7168 --topk 8 --experts 256 "
			     "--blocks 8 --warps 5\n"
			     "      --ordering sc --records none --profile cx7,icrc=0" },
	.explore = { .summary = "find a seed and an ordering with which the low-latency exchange fails",
		     .examples = "  belfry explore ll-dispatch --bug ll-no-barrier --seeds 20\n"
				 "  belfry explore ll-combine --bug no-wqe-fence --rounds 2" },
};
