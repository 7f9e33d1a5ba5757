#include <inttypes.h>

#include "traces/rules/mlx5.h"

#define SYNDROME 0x16u

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;
	char why[40];

	if (e->qp_error.syndrome != SYNDROME || e->qp_error.side != 0)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->qp_error.index);
	bf_seen_text(e, "why", why, sizeof(why));
	bf_finding_say(f, "WQE %" PRIu64 " on %s failed with syndrome %02x, vendor %02" PRIx64 ": %s%s%s",
		       e->qp_error.index, bf_rule_actor(r->rules, e->actor), SYNDROME, e->qp_error.vendor,
		       bf_mlx5_syndrome(SYNDROME), why[0] ? ", " : "", why);
}

const struct bf_rule bf_rule_mlx5_rnr_exceeded = {
	.about = {
		.id = "MLX5-RNR-EXCEEDED",
		.family = "mlx5",
		.title = "the peer had no receive buffer for too long",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A SEND or WRITE with immediate takes a receive entry; without one the responder "
			    "answers RNR NAK and the requester waits and sends again, rnr_retry times; 7 means for "
			    "ever.",
		.wrong = "rnr_retry is finite and ran out before the receiver posted buffers.",
		.fix = "Post receives before the sender may send (or use credits), and set rnr_retry to 7.",
		.sources = "spdk/spdk#2429; InfiniBand Architecture vol. 1, 9.7.5.2.8",
		.example = "run ibgda-put --bug write-imm --bug rnr-finite",
		.twin = "run ibgda-put --bug rnr-finite",
	},
	.rank = BF_RANK_EFFECT,
	.records = (const uint8_t[]){ BF_SEEN_qp_error, 0 },
	.on = on,
};
