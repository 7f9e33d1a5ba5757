/*
 * Workloads whose PEs are spread over processes: each runs and checks its own, and all come to one result.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/bootstrap.h"
#include "sim/bytes.h"
#include "tools/workloads/ibgda.h"

bool bf_workload_has_pe(const struct bf_workload *w, uint32_t pe)
{
	return !w->ranks || bf_ranks_of(w->pes, w->ranks->npes, pe) == w->ranks->pe;
}

uint64_t bf_run_pes_hash(const uint64_t *pe_hashes, uint32_t pes)
{
	uint64_t hash = pes;

	for (uint32_t i = 0; i < pes; i++) {
		const uint64_t pair[] = { hash, pe_hashes[i] };

		hash = bf_hash_bytes(pair, sizeof(pair));
	}
	return hash;
}

static int come_apart(const struct bf_workload *w, struct bf_error *err, int rc)
{
	if (rc == -ENOMEM)
		w->ranks->abort(w->ranks);
	return err->code == rc ? rc : bf_fail(err, rc, "the results of the ranks do not come together");
}

int bf_workload_fetch_remote(const struct bf_workload *w, uint64_t from, uint64_t to, void **heaps,
			     struct bf_error *err)
{
	const uint32_t ranks = w->ranks->npes, first = bf_ranks_first(w->pes, ranks, w->ranks->pe);
	const uint32_t most = (w->pes + ranks - 1) / ranks;
	const size_t part = (size_t)(to - from), block = part * most;
	uint8_t *mine = calloc(1, block ? block : 1), *all = calloc(ranks, block ? block : 1);
	int rc = mine && all ? 0 : -ENOMEM;

	for (uint32_t pe = 0; !rc && pe < w->pes; pe++) {
		if (bf_workload_has_pe(w, pe))
			memcpy(mine + (pe - first) * part, (uint8_t *)heaps[pe] + from, part);
		else if (!(heaps[pe] = calloc(1, (size_t)to + 1))) /* only what is written takes memory */
			rc = -ENOMEM;
	}
	if (!rc && part)
		rc = w->ranks->allgather(w->ranks, mine, all, block);
	for (uint32_t pe = 0; !rc && pe < w->pes; pe++) {
		const uint32_t rank = bf_ranks_of(w->pes, ranks, pe);

		if (rank != w->ranks->pe)
			memcpy((uint8_t *)heaps[pe] + from,
			       all + rank * block + (pe - bf_ranks_first(w->pes, ranks, rank)) * part, part);
	}
	free(mine);
	free(all);
	return rc ? come_apart(w, err, rc) : 0;
}

int bf_workload_add_up(const struct bf_workload *w, uint64_t *sums, uint32_t n, struct bf_error *err)
{
	uint64_t *all = calloc(w->ranks->npes, n * sizeof(*all));
	int rc = all ? w->ranks->allgather(w->ranks, sums, all, n * sizeof(*all)) : -ENOMEM;

	if (!rc)
		memset(sums, 0, n * sizeof(*sums));
	for (uint32_t i = 0; !rc && i < n * w->ranks->npes; i++)
		sums[i % n] += all[i];
	free(all);
	return rc ? come_apart(w, err, rc) : 0;
}

/* A hang shows everywhere; of what PEs saw themselves, an error completion explains wrong data. */
static int weight(uint32_t v)
{
	switch (v) {
	case BF_VERDICT_GOOD:
		return 0;
	case BF_VERDICT_WRONG_DATA:
		return 1;
	case BF_VERDICT_ERROR:
		return 2;
	case BF_VERDICT_DEADLOCK:
	case BF_VERDICT_LIMIT:
	default:
		return 3;
	}
}

static void merge_one(struct bf_run_result *r, const struct bf_run_result *of)
{
	if (weight(of->base.verdict) > weight(r->base.verdict))
		r->base.verdict = of->base.verdict;
	if (of->mismatch.count && !r->mismatch.count)
		r->mismatch = of->mismatch;
	else
		r->mismatch.count += of->mismatch.count;
	for (uint32_t i = 0; i < of->nqueues && i < BF_RUN_QUEUES && r->nqueues < BF_RUN_QUEUES; i++)
		r->queues[r->nqueues++] = of->queues[i];
	r->unfinished += of->unfinished;
	r->base.wall_ns = of->base.wall_ns > r->base.wall_ns ? of->base.wall_ns : r->base.wall_ns;
}

int bf_workload_merge(const struct bf_workload *w, struct bf_run_result *r, struct bf_error *err)
{
	const uint32_t ranks = w->ranks->npes;
	struct bf_run_result *all = calloc(ranks, sizeof(*all));
	int rc = all ? w->ranks->allgather(w->ranks, r, all, sizeof(*r)) : -ENOMEM;

	if (!rc) {
		*r = (struct bf_run_result){ .world = r->world };
		for (uint32_t i = 0; i < ranks; i++)
			merge_one(r, &all[i]);
	}
	free(all);
	return rc ? come_apart(w, err, rc) : 0;
}
