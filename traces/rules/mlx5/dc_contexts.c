#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->dc_context.what == BF_MLX5_DC_ALL_BUSY ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f,
			       "DC target 0x%" PRIx64 " on PE %" PRIu32 " had %" PRIu64
			       " responder contexts, all in use, when initiator 0x%" PRIx64 " wanted one",
			       e->dc_context.dct, e->pe, e->dc_context.contexts, e->dc_context.qpn);
}

const struct bf_rule bf_rule_mlx5_dc_contexts = {
	.about = {
		.id = "MLX5-DC-CONTEXTS",
		.family = "mlx5",
		.title = "a DC target has no responder context left",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "Each initiator that is connected to a target holds one of its contexts. When all are in use the " "target refuses new initiators, and they try again later.",
		.wrong = "More initiators use the target at a time than it has contexts: each message may pay for a " "refusal, a disconnection and a connection, and retries may run out.",
		.fix = "More targets for each PE (NVSHMEM_IBGDA_NUM_DCT), fewer initiators, or reliable connections.",
		.sources = "NVIDIA/nvshmem NVSHMEM_IBGDA_NUM_DCT, NVSHMEM_IBGDA_DCI_MAP_BY; mlx5 PRM, DC Transport",
		.example = "run ibgda-put --pes 3 --route all --messages 2 --transport dc --profile cx7,dct_contexts=1",
		.twin = "run ibgda-put --pes 3 --route all --messages 2 --transport dc --profile cx7,dct_contexts=2",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(dc_context),
	.on = on,
};
