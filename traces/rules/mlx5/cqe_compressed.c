#include <inttypes.h>

#include "traces/rules/mlx5/polls.h"

static void judge(struct bf_rule_run *r, const struct bf_mlx5_rule_poller *t)
{
	struct bf_finding *f = bf_rule_find(r, NULL, t->inside);

	if (!f)
		return;
	f->found.at_ps = t->inside_ps;
	bf_finding_since(f, t->inside_ps, t->inside_record);
	bf_finding_index(f, t->inside_number);
	bf_finding_say(f,
		       "%s looked for completion %" PRIu64 " of CQ 0x%" PRIx32
		       " at its own slot, where the device has put short entries: completions from %" PRIu64
		       " on are one compressed block, whose title says how many they are",
		       bf_rule_actor(r->rules, t->actor), t->inside_number, t->inside_cqn, t->title);
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct bf_mlx5_rule_polls *p = bf_mlx5_rule_polls_of(r->rules);

	(void)complete; /* the look has been taken */
	for (uint32_t i = 0; p->blocks && i < BF_MLX5_POLLERS; i++)
		if (p->poller[i].inside)
			judge(r, &p->poller[i]);
}

const struct bf_rule bf_rule_mlx5_cqe_compressed = {
	.about = {
		.id = "MLX5-CQE-COMPRESSED",
		.family = "mlx5",
		.title = "a poller ignores compressed completions",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A CQ with cqe_comp_en combines completions that come close together into one block. The "
			    "block begins with a title: op_own has 3 in bits 2 and 3, and byte_cnt is the number of "
			    "completions. The slots after it hold short entries of 8 bytes, eight in a slot.",
		.wrong = "The poller takes the title for one completion and reads the short entries as completions. It "
			 "acts on completions that do not exist, or waits forever.",
		.fix = "Create the CQ without cqe_comp_en (QP_CQE_COMPRESSION, "
		       "MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE), or expand the blocks as rdma-core and Linux do.",
		.sources = "linux-rdma/rdma-core providers/mlx5/cq.c mlx5_next_mini_cqe; Linux mlx5 core/en_rx.c "
			   "mlx5e_decompress_cqes_start; docs/exec.md",
		.example = "run ibgda-put --plain-cq --messages 40 --depth 16 --batch 4 --warps 2 --limit 10ms --bug cq-compressed",
		.twin = "run ibgda-put --plain-cq --messages 40 --depth 16 --batch 4 --warps 2 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY - 2, /* before what is made of completions that are none */
	.needs = BF_SEES(cq_config, cqe, store, load),
	.end = end,
};
