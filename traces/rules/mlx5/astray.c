#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);

	if (f)
		bf_finding_say(f,
			       "%s looked up queue pair %" PRIu64 " to PE %" PRIu64 " and found QP 0x%" PRIx64
			       ", which leads to PE %" PRIu64 ": host and device code differ about the table's order",
			       bf_rule_actor(r->rules, e->actor), e->ibgda_astray.index, e->ibgda_astray.meant,
			       e->queue->number, e->ibgda_astray.peer);
}

const struct bf_rule bf_rule_mlx5_astray = {
	.about = {
		.id = "MLX5-ASTRAY",
		.family = "mlx5",
		.title = "an operation uses a queue pair that leads to another PE",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A reliable connection has one peer. An entry does not say which PE it is meant for.",
		.wrong = "Tables of queue pairs are ordered by (number, PE) in NVSHMEM 3.5 and by (PE, number) before. "
			 "Code for one order that reads a table of the other sends to the wrong PE, with keys that are "
			 "valid there.",
		.fix = "Compile device code against the headers of the host library in use, compare the state's "
			    "version at the start, and check the peer of a queue pair against the PE that is meant.",
		.sources = "deepseek-ai/DeepEP PR#564, commit ba468e1; NVIDIA/nvshmem ibgda_device.cuh ibgda_get_rc",
		.example = "run ibgda-put --pes 4 --qps 2 --bug rc-order-v1",
		.twin = "run ibgda-put --pes 4 --qps 2",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(ibgda_astray),
	.on = on,
};
