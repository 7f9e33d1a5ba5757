#include <inttypes.h>

#include "traces/rules/shmem/shmem.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_shmem_put *put =
	    e->shmem_call.call == BF_SHMEM_CALL_FLAG ? bf_shmem_open_put(r->rules, e, false) : NULL;
	struct bf_finding *f = put && put->qpn != e->shmem_call.qpn ? bf_rule_find(r, e, NULL) : NULL;

	if (!f)
		return;
	bf_finding_since(f, put->at_ps, put->record);
	bf_finding_say(f,
		       "%s put data to PE %" PRIu32 " by QP 0x%" PRIx32 " and %s later a flag by QP 0x%" PRIx64
		       ", with no fence between: nothing orders one queue pair after another",
		       bf_rule_actor(r->rules, e->actor), put->pe, put->qpn, bf_span_of(e->time_ps - put->at_ps).text,
		       e->shmem_call.qpn);
}

const struct bf_rule bf_rule_shmem_flag = {
	.about = {
		.id = "SHMEM-FLAG-NO-FENCE",
		.family = "shmem",
		.title = "no fence between data and the flag that follows",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A reliable connection keeps the order of its own entries. Between two of them there is "
			    "none, whatever the order in which they were posted.",
		.wrong = "Puts rotate over several queue pairs, so the flag may arrive before its data.",
		.fix = "nvshmem_fence() between the puts and the flag, nvshmem_put_signal(), or both on one queue "
			    "pair.",
		.sources = "OpenSHMEM 1.5, 9.10 Memory Ordering; deepseek-ai/DeepEP#74, #137; NVIDIA/nvshmem "
			    "ibgda_device.cuh nvshmemi_ibgda_fence",
		.example = "run shmem-fence --size 65536 --bug shmem-no-fence",
		.twin = "run shmem-fence --size 65536",
	},
	.rank = BF_RANK_DATA - 1,
	.records = BF_SEES(shmem_call),
	.on = on,
};
