/* shmem-... as workloads: launches, the check, and the tables of NVSHMEM's perftest. */
#include "tools/workloads/shmem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void fill_shape(const struct bf_pes *p, struct bf_shmem_shape *s)
{
	const struct bf_shmem_workload *w = (const struct bf_shmem_workload *)p;

	*s = (struct bf_shmem_shape){
		.work = (enum bf_shmem_work)p->work,
		.blocks = w->blocks,
		.warps = w->warps,
		.rounds = w->rounds,
		.bytes = (uint32_t)w->bytes,
		.min_bytes = (uint32_t)w->min_bytes,
		.max_bytes = (uint32_t)w->max_bytes,
		.step = w->step,
		.bugs = p->own_bugs,
	};
}

static void fill(struct bf_pes *p)
{
	p->qps = p->qps ? p->qps : 2;
	p->depth = p->depth ? p->depth : 1024;
}

static int check(const struct bf_pes *p, struct bf_error *err)
{
	struct bf_shmem_shape s;

	fill_shape(p, &s);
	if (p->flavour != BF_IBGDA_NVSHMEM)
		return bf_fail(err, -EINVAL,
			       "--flavour deepep waits neither for room nor for a second poller: NVSHMEM's calls do");
	if ((s.bugs & BF_SHMEM_BUG_SIGNAL_FIRST) && p->qps < 2)
		return bf_fail(err, -EINVAL, "a signal on another queue pair needs two of them");
	return bf_shmem_shape_check(&s, p->pes, err);
}

static uint64_t heap_bytes(const struct bf_pes *p)
{
	struct bf_shmem_shape s;
	struct bf_shmem_layout at;

	fill_shape(p, &s);
	bf_shmem_layout(&s, p->pes, &at);
	return at.end;
}

static int launch(struct bf_pes_arena *a, struct bf_error *err)
{
	const struct bf_pes *p = a->p;
	struct bf_shmem_job *jobs = calloc(p->pes, sizeof(*jobs));
	int rc = 0;

	a->own = jobs;
	if (!jobs)
		return bf_fail(err, -ENOMEM, "no memory for %" PRIu32 " PEs", p->pes);
	for (uint32_t pe = 0; !rc && pe < p->pes; pe++) {
		jobs[pe].state = bf_ibgda_host_state(a->host, pe);
		fill_shape(p, &jobs[pe].shape);
		bf_shmem_layout(&jobs[pe].shape, p->pes, &jobs[pe].at);
		rc = p->backend->launch(a->world, pe, jobs[pe].shape.blocks, jobs[pe].shape.warps,
					bf_shmem_kernel(p->backend->platform), &jobs[pe]);
		if (rc)
			bf_fail(err, rc, "PE %" PRIu32 ": the grid cannot be launched: %s", pe, strerror(-rc));
	}
	if (!rc)
		bf_shmem_prepare(&jobs[0].shape, p->pes, a->heaps);
	return rc;
}

static void close_own(struct bf_pes_arena *a)
{
	free(a->own);
}

/* Figures: ns of all iterations of each size. */
static int verify(const struct bf_pes_arena *a, struct bf_pes_result *r)
{
	const struct bf_shmem_job *job = a->own;
	const struct bf_shmem_shape *s = &job->shape;
	const int rc = bf_shmem_verify(s, a->p->pes, a->heaps, &r->run.mismatch, &r->run.verified_bytes);

	r->run.messages = s->rounds * (uint64_t)s->blocks * s->warps * a->p->pes;
	if (!bf_shmem_measures(s->work))
		return rc;
	r->nfigures = bf_shmem_sizes(s);
	r->run.messages = (uint64_t)s->rounds * r->nfigures;
	for (uint32_t n = 0; n < r->nfigures; n++)
		r->figures[n] = bf_get_le64((const uint8_t *)a->heaps[0] + job->at.times + n * 8ull);
	return rc;
}

/* ---- the table ---- */

static bool bandwidth(const struct bf_pes *p)
{
	return p->work == BF_SHMEM_PUT_BW || p->work == BF_SHMEM_GET_BW;
}

/* A ping-pong counts half a round trip (perftest: the same). */
static uint64_t iterations(const struct bf_pes *p, const struct bf_shmem_shape *s)
{
	return s->rounds * (p->work == BF_SHMEM_PING_PONG ? 2ull : 1ull);
}

/* "#shmem_put_bw", then columns as print_table_basic() of NVSHMEM's perftest/common/utils.cu has them. */
static void print(FILE *out, const struct bf_pes *p, const struct bf_pes_result *r)
{
	struct bf_shmem_shape s;
	char name[64];

	fill_shape(p, &s);
	if (!r->nfigures)
		return;
	snprintf(name, sizeof(name), "%s", p->name);
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	fprintf(out, "#%s\n%-10s  %-8s  %-16s", name, "size(B)", "scope",
		bandwidth(p) ? "BW (GB/sec)" : "latency (us)");
	fprintf(out, bandwidth(p) ? "  msgrate (MMPS)\n" : "\n");
	for (uint32_t n = 0; n < r->nfigures; n++) {
		const uint32_t bytes = bf_shmem_size(&s, n);
		const double ns = r->figures[n] ? (double)r->figures[n] : 1, count = (double)iterations(p, &s);

		fprintf(out, "%-10" PRIu32 "  %-8s  ", bytes, bandwidth(p) ? "grid" : "warp");
		if (bandwidth(p))
			fprintf(out, "%-16.6f  %-16.6f\n", bytes * count / ns, count * 1000 / ns);
		else
			fprintf(out, "%-16.6f\n", ns / count / 1000);
	}
}

static void json(struct bf_json *j, const struct bf_pes *p, const struct bf_pes_result *r)
{
	struct bf_shmem_shape s;

	fill_shape(p, &s);
	if (!r->nfigures)
		return;
	bf_json_open(j, "sizes", '[');
	for (uint32_t n = 0; n < r->nfigures; n++) {
		bf_json_open(j, NULL, '{');
		bf_json_u64(j, "bytes", bf_shmem_size(&s, n));
		bf_json_u64(j, "iterations", iterations(p, &s));
		bf_json_u64(j, "ns", r->figures[n]);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

/* ---- the family ---- */

static const struct bf_work works[] = {
	[BF_SHMEM_PUT] = { "shmem-put", "each warp puts a block to every PE; quiet, barrier" },
	[BF_SHMEM_GET] = { "shmem-get", "each warp gets a block from every PE" },
	[BF_SHMEM_PUT_SIGNAL] = { "shmem-put-signal",
				  "puts with signal to every PE: after the signal the data are there" },
	[BF_SHMEM_AMO] = { "shmem-amo", "tickets by fetching adds, sums by others" },
	[BF_SHMEM_FENCE] = { "shmem-fence", "data, fence, flag to one PE: after the flag the data are there" },
	[BF_SHMEM_QUIET] = { "shmem-quiet", "after a quiet the source may be overwritten" },
	[BF_SHMEM_BARRIER] = { "shmem-barrier", "after a barrier every PE has what was put before it" },
	[BF_SHMEM_ALLTOALL] = { "shmem-alltoall", "block j of PE i becomes block i of PE j" },
	[BF_SHMEM_BROADCAST] = { "shmem-broadcast", "PE 0's block to all PEs, along a binomial tree" },
	[BF_SHMEM_RING] = { "shmem-ring", "ring all-reduce of 64-bit words" },
	[BF_SHMEM_PUT_LATENCY] = { "shmem-put-latency", "measures put and quiet, one after the other" },
	[BF_SHMEM_GET_LATENCY] = { "shmem-get-latency", "measures blocking gets" },
	[BF_SHMEM_P_LATENCY] = { "shmem-p-latency", "measures 4-byte puts of all lanes, and quiet" },
	[BF_SHMEM_G_LATENCY] = { "shmem-g-latency", "measures 4-byte gets of all lanes" },
	[BF_SHMEM_AMO_LATENCY] = { "shmem-amo-latency", "measures fetching adds; the size does not matter" },
	[BF_SHMEM_PING_PONG] = { "shmem-put-signal-ping-pong-latency", "measures half a round of puts with signal" },
	[BF_SHMEM_PUT_BW] = { "shmem-put-bw", "measures puts of all warps, quiet at the end" },
	[BF_SHMEM_GET_BW] = { "shmem-get-bw", "measures gets of all warps, quiet at the end" },
	[BF_SHMEM_WORKS] = { NULL, NULL },
};

static const struct bf_opt options[] = {
	BF_OPT_OF(struct bf_shmem_workload, "blocks", U64, "N", "1", "blocks of warps on each PE", 1, 1024, blocks),
	BF_OPT_OF(struct bf_shmem_workload, "warps", U64, "N", "1", "warps in a block", 1, 32, warps),
	BF_OPT_OF(struct bf_shmem_workload, "rounds", U64, "N", "4",
		  "number of rounds; measurements: iterations of each size, after one to warm up", 1, 100000, rounds),
	BF_OPT_OF(struct bf_shmem_workload, "size", U64, "BYTES", "64", "a block, a multiple of 16 (checks)", 16,
		  1u << 28, bytes),
	BF_OPT_OF(struct bf_shmem_workload, "min-size", U64, "BYTES", "4",
		  "the smallest block, a power of two (measurements)", 4, 1u << 30, min_bytes),
	BF_OPT_OF(struct bf_shmem_workload, "max-size", U64, "BYTES", "65536", "the largest", 4, 1u << 30, max_bytes),
	BF_OPT_OF(struct bf_shmem_workload, "step", U64, "N", "2",
		  "each block is this many times as large as the one before", 2, 1024, step),
	BF_PES_OPTIONS(struct bf_shmem_workload, "2", "0", "nvshmem", "0"),
	{ .name = NULL },
};

static const struct bf_words words[] = {
	{ BF_WORDS("bug", "Bugs", bf_shmem_bugs, struct bf_ibgda_bug, struct bf_shmem_workload, pes.own_bugs) },
	BF_PES_WORDS(struct bf_shmem_workload),
};

#define PART(member, least)                                                                                            \
	{                                                                                                              \
		BF_MEMBER(struct bf_shmem_workload, member), least                                                     \
	}

static const struct bf_search_part parts[] = {
	PART(rounds, 1), PART(blocks, 1), PART(warps, 1), PART(pes.pes, 2), PART(pes.qps, 1), PART(bytes, 16),
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

const struct bf_family bf_shmem_family = {
	BF_PES_ROW(struct bf_shmem_workload, parts),
	.prefix = "shmem-",
	.works = works,
	.options = options,
	.words = words,
	.own = &family,
	.run = { .summary = "check what NVSHMEM's one-sided calls promise, or measure them",
		 .details = "Those with -bw and -latency measure, and print the tables of NVSHMEM's perftest; the "
			    "others check. Each\n"
			    "warp uses the queue pairs to a PE in turn, as NVSHMEM does: only fence, quiet, signals "
			    "and barriers order\n"
			    "one put behind another.",
		 .examples =
		     "  belfry run shmem-ring --pes 8 --warps 2 --size 4096\n"
		     "  belfry run shmem-fence --bug shmem-no-fence --size 65536\n"
		     "  belfry run shmem-put-bw --max-size 4M --blocks 4 --warps 4 --records none --ordering sc" },
	.explore = { .summary = "find a seed and an ordering with which NVSHMEM-style calls fail",
		     .examples = "  belfry explore shmem-fence --bug shmem-no-fence --size 65536 --seeds 20\n"
				 "  belfry explore shmem-ring --pes 4 --bug no-dbrec-fence" },
};
