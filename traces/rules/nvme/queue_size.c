#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	const bool is_cq = e->kind == BF_SEEN_nvm_ring && e->nvm_ring.queue == 1;
	const uint64_t own = e->kind == BF_SEEN_nvm_build ? e->nvm_build.entries : e->nvm_ring.entries;
	const uint64_t told = is_cq ? q->cq_size : q->sq_size;
	struct bf_finding *f;

	/* Sizes of the admin queues that are exchanged are NVME-AQA-SWAPPED's. */
	if (!told || !own || told == own || (!e->queue->number && q->cq_size == own && q->sq_size != q->cq_size))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(
		    f, "%s %" PRIu64 " has %" PRIu64 " entries for the driver and %" PRIu64 " for the controller",
		    is_cq ? "CQ" : "SQ", e->queue->number, own, told);
}

const struct bf_rule bf_rule_nvme_queue_size = {
	.about = {
		.id = "NVME-QUEUE-SIZE",
		.family = "nvme",
		.title = "driver and controller disagree about the size of a queue",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "QSIZE, like all sizes of queues, counts from 0: a queue of n entries has QSIZE n - 1.",
		.wrong = "The controller goes one entry further than the driver, fetches what lies beyond the ring, "
			 "or posts where nobody looks.",
		.fix = "QSIZE = entries - 1, at most CAP.MQES.",
		.sources = "NVM Express Base 2.0, 5.4 and 5.5",
		.example = "run nvme-verify --commands 60 --depth 8 --size 512 --bug qsize-off-by-one",
		.twin = "run nvme-verify --commands 60 --depth 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 1,
	.records = BF_SEES(nvm_build, nvm_ring),
	.needs = BF_SEES(nvm_build, nvme_queue),
	.on = on,
};
