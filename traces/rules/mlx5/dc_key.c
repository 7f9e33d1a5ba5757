#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->dc_context.what == BF_MLX5_DC_KEY_VIOLATION ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f,
			       "DC target 0x%" PRIx64 " on PE %" PRIu32 " refused initiator 0x%" PRIx64
			       ": the access key in its address vector is not the target's",
			       e->dc_context.dct, e->pe, e->dc_context.qpn);
}

const struct bf_rule bf_rule_mlx5_dc_key = {
	.about = {
		.id = "MLX5-DC-KEY",
		.family = "mlx5",
		.title = "the access key of an address vector is not the DC target's",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A DC target has a 64-bit access key. Each entry for it carries one in its address "
			    "vector, and the target answers another one with a refusal that fails the initiator.",
		.wrong = "The key in the entry is not the one that the target was created with.",
		.fix = "Use the same key on all PEs (NVSHMEM: 0x5623CEAF), big-endian in both contexts and vectors.",
		.sources = "NVIDIA/nvshmem ibgda.cpp ibgda_create_dct; mlx5dv.h struct mlx5_wqe_av",
		.example = "run ibgda-put --messages 2 --transport dc --bug dc-key",
		.twin = "run ibgda-put --messages 2 --transport dc",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(dc_context),
	.on = on,
};
