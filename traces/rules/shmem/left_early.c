#include <inttypes.h>

#include "traces/rules/shmem/shmem.h"

struct state {
	uint32_t left; /* barriers that some warp has left */
	uint32_t actor;
	uint64_t at_ps, record;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_shmem_put *warp = bf_shmem_warp(r->rules, e);
	struct state *s = r->state;
	struct bf_finding *f;

	if (!warp)
		return;
	if (e->shmem_call.call == BF_SHMEM_CALL_LEAVE && warp->leaves > s->left)
		*s = (struct state){ warp->leaves, e->actor, e->time_ps, e->number };
	if (e->shmem_call.call != BF_SHMEM_CALL_MEET || warp->meets > s->left)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_say(f, "%s comes to barrier %" PRIu32 ", which %s left %s ago: it had not waited for everybody",
		       bf_rule_actor(r->rules, e->actor), warp->meets, bf_rule_actor(r->rules, s->actor),
		       bf_span_of(e->time_ps - s->at_ps).text);
}

const struct bf_rule bf_rule_shmem_left_early = {
	.about = {
		.id = "SHMEM-LEFT-EARLY",
		.family = "shmem",
		.title = "a barrier ended before all PEs had arrived",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A barrier of all PEs is made of words that they send each other: in round k of a dissemination " "barrier, PE i tells PE i + 2^k, for all 2^k below the number of PEs.",
		.wrong = "A round was left out, a round's word was not waited for, or warps of a PE did not wait for "
			 "the one that meets the other PEs: who leaves too early finds memory that others are still "
			 "writing.",
		.fix = "Quiet, meet within the PE, all rounds by one warp, each with its own word and the barrier's "
		       "number, and meet within the PE again.",
		.sources = "NVIDIA/nvshmem src/include/non_abi/device/coll/barrier.cuh; Hensgen, Finkel and Manber, Two "
			   "Algorithms for Barrier Synchronization (1988); OpenSHMEM 1.5, 9.9.1 SHMEM_BARRIER_ALL",
		.example = "run shmem-barrier --bug shmem-round-less",
		.twin = "run shmem-barrier",
	},
	.rank = BF_RANK_DATA - 1,
	.records = BF_SEES(shmem_call),
	.state_bytes = sizeof(struct state),
	.on = on,
};
