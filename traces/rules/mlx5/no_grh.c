#include <inttypes.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	static const char field[] = "rgid_rip";
	struct bf_finding *f;

	if (e->cmd_refused.opcode != BF_MLX5_CMD_INIT2RTR_QP || !memmem(e->tail, e->tail_len, field, sizeof(field) - 1))
		return;
	f = bf_rule_find(r, e, NULL);
	if (f)
		bf_finding_say(f,
			       "a queue pair of PE %" PRIu32
			       " is connected by an address that has no GID, as with a LID alone: on "
			       "Ethernet there is nobody whom it names (%.*s)",
			       e->pe, (int)e->tail_len, (const char *)e->tail);
}

const struct bf_rule bf_rule_mlx5_no_grh = {
	.about = {
		.id = "MLX5-NO-GRH",
		.family = "mlx5",
		.title = "a connection without a GRH",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "RoCE packets are routed by the GIDs of both ends: INIT2RTR needs the peer's, the index of the own one and "
			    "the MAC. On InfiniBand a LID is enough within one subnet, and only there.",
		.wrong = "The address vector is made as for InfiniBand, from a LID, without a global route: RoCE refuses the "
			 "transition (Linux' mlx5_ib by EINVAL before the command, by DEVX the firmware), and InfiniBand across "
			 "subnets connects and never gets an answer.",
		.fix = "Set is_global, dgid, sgid_index and hop_limit of the address vector; in NCCL, NCCL_IB_GID_INDEX.",
		.sources = "NVIDIA/nccl#2237, #1943; Linux drivers/infiniband/hw/mlx5/qp.c mlx5_set_path",
		.test = "tests/traces/test_rules_foreign.c",
		.why = "Its run ends before the first entry: the connection is not made.",
	},
	.rank = BF_RANK_SET_UP - 1,
	.records = BF_SEES(cmd_refused),
	.on = on,
};
