#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->ibgda_move.from_qpn == e->ibgda_move.to_qpn ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f,
			       "%s moves the traffic of connection %" PRIu64 " of PE %" PRIu32 " from QP 0x%" PRIx64
			       ", which has failed, to that same queue pair: the table of backups names what is to be "
			       "backed up",
			       bf_rule_actor(r->rules, e->actor), e->ibgda_move.rc, e->pe, e->ibgda_move.from_qpn);
}

const struct bf_rule bf_rule_mlx5_backup_self = {
	.about = {
		.id = "MLX5-BACKUP-SELF",
		.family = "mlx5",
		.title = "traffic of a failed queue pair moves to the same queue pair",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A queue pair in error executes nothing more: entries that are posted to it are flushed.",
		.wrong = "The pointer or index that names the backup leads to the primary queue pair, so what is posted "
			 "again goes where it failed.",
		.fix = "Fill the table of backups from the queue pairs that were made as backups, and check that the two numbers "
		       "differ before traffic moves.",
		.sources = "mlx5 PRM, Error Handling; NVIDIA/nvshmem ibgda.cpp",
		.test = "tests/traces/test_rules_ibgda.c",
		.why = "The driver has no such mistake to switch on.",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(ibgda_move),
	.on = on,
};
