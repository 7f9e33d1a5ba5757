#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	struct bf_finding *f = h->event == BF_HAZARD_COPYING ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f,
			       "warp %" PRIu64 " of block %" PRIu64 " read shared memory at 0x%" PRIx64
			       ", where warp %" PRIu64 " lane %" PRIu64
			       " copies to by cp.async: that thread has not waited for the group of the copy",
			       h->warp, h->block, h->address, h->by / 32, h->by % 32);
}

const struct bf_rule bf_rule_hopper_async_group = {
	.about = {
		.id = "HOPPER-ASYNC-GROUP",
		.family = "hopper",
		.title = "bytes of a cp.async are read before its group was waited for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "cp.async.wait_group N waits until at most the N latest groups of the executing thread are " "pending. It does not wait for copies that are in no group, nor for those of other threads.",
		.wrong = "The group was not committed, or the wait leaves it pending, or the thread that copied has "
			 "waited and the reader did not meet it afterwards: what is read is the tile before.",
		.fix = "Commit once for each stage, also for an empty one; with S stages in flight wait for all but "
		       "S - 2 groups before the tile is read, then __syncthreads().",
		.sources = "PTX ISA, cp.async.wait_group; NVIDIA/cutlass "
			   "include/cutlass/gemm/threadblock/mma_multistage.h",
		.example = "run mbarrier-ampere --bug group-less",
		.twin = "run mbarrier-ampere",
	},
	.rank = BF_RANK_DATA - 1,
	.records = BF_SEES(hopper_hazard),
	.on = on,
};
