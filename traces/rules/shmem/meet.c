#include <inttypes.h>

#include "traces/rules/shmem/shmem.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_shmem_put *put =
	    e->shmem_call.call == BF_SHMEM_CALL_MEET ? bf_shmem_open_put(r->rules, e, true) : NULL;
	struct bf_finding *f = put ? bf_rule_find(r, e, NULL) : NULL;

	if (!f)
		return;
	bf_finding_since(f, put->at_ps, put->record);
	bf_finding_say(
	    f, "%s came to a barrier with a put by QP 0x%" PRIx32 " under way: whoever leaves it may not find the data",
	    bf_rule_actor(r->rules, e->actor), put->qpn);
}

const struct bf_rule bf_rule_shmem_meet = {
	.about = {
		.id = "SHMEM-MEET-NO-QUIET",
		.family = "shmem",
		.title = "a barrier is entered while puts are in flight",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A barrier is words that PEs send each other, by queue pairs of their own. It waits for "
			    "the other PEs' words and for nothing else.",
		.wrong = "nvshmem_sync() meets without completing anything, so data that were put before it may "
			    "arrive after it.",
		.fix = "nvshmem_barrier(), which is a quiet and a sync.",
		.sources = "OpenSHMEM 1.5, 9.9.1 SHMEM_BARRIER_ALL and 9.9.3 SHMEM_SYNC",
		.example = "run shmem-barrier --size 65536 --bug shmem-sync-only",
		.twin = "run shmem-barrier --size 65536",
	},
	.rank = BF_RANK_DATA - 1,
	.records = BF_SEES(shmem_call),
	.on = on,
};
