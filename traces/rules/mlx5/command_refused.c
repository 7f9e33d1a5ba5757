#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	/* What others still use goes later, or is left behind: MLX5-LEAK. */
	struct bf_finding *f = e->cmd_refused.status == BF_MLX5_CMD_RES_BUSY ? NULL : bf_rule_find(r, e, NULL);
	char name[40];

	if (f)
		bf_finding_say(f, "%s (0x%" PRIx64 ") ended with status 0x%" PRIx64 ": %.*s",
			       bf_seen_text(e, "name", name, sizeof(name)), e->cmd_refused.opcode,
			       e->cmd_refused.status, (int)e->tail_len, (const char *)e->tail);
}

const struct bf_rule bf_rule_mlx5_command_refused = {
	.about = {
		.id = "MLX5-COMMAND-REFUSED",
		.family = "mlx5",
		.title = "the device refused a command, for a field that it names",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A command that does not fit ends with a status (3: bad parameter, 5: bad resource) and the "
			    "firmware's own syndrome, whose meaning is not public.",
		.wrong = "A field of the command's context has a value that the device does not take, names an object "
			 "that is not there, or the queue pair is not in the state that the command starts from.",
		.fix = "Look at the field that the finding names. On a card compare the context with that of a driver "
		       "that works, rdma-core's for instance; the kernel prints the syndrome.",
		.sources = "mlx5 PRM, Command Interface; Linux drivers/net/ethernet/mellanox/mlx5/core/cmd.c",
		.test = "tests/traces/test_rules_errors.c",
		.why = "The drivers set their queues up as the device wants it.",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(cmd_refused),
	.on = on,
};
