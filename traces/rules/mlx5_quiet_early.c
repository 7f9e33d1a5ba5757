#include <inttypes.h>

#include "traces/rules/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_queue *q = bf_mlx5_of(e->queue);
	struct bf_finding *f;

	if (e->ibgda_quiet.status || e->ibgda_quiet.upto <= q->done)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, q->done);
	bf_finding_say(f,
		       "%s returned from quiet for the entries of QP 0x%" PRIx64 " below %" PRIu64
		       " when the device had completed those below %" PRIu64,
		       bf_rule_actor(r->rules, e->actor), e->queue->number, e->ibgda_quiet.upto, q->done);
}

const struct bf_rule bf_rule_mlx5_quiet_early = {
	.about = {
		.id = "MLX5-QUIET-EARLY",
		.family = "mlx5",
		.title = "quiet returned before its entries were complete",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A completion, and nothing else, says that an entry is done.",
		.wrong = "The caller was told that all is complete while the NIC still had entries to do: what it "
			 "does next may overtake its data.",
		.fix = "Wait for the index that was published when quiet began, on every queue pair that was used; "
		       "do not start from an uninitialised counter.",
		.sources = "ROCm/rocm-systems PR#4698; NVIDIA/nvshmem ibgda_device.cuh ibgda_quiet",
		.test = "tests/traces/test_rules_errors.c",
	},
	.rank = BF_RANK_COMPLETION + 2,
	.records = (const uint8_t[]){ BF_SEEN_ibgda_quiet, 0 },
	.on = on,
};
