#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

#define SENT 16u

/* The last targets that initiators sent to. */
struct state {
	struct {
		uint64_t dct, qpn;
		uint32_t pe;
		struct bf_rule_queue *queue;
		uint64_t index;
	} sent[SENT];
	uint32_t n;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_dc_wqe) {
		const uint32_t i = s->n++ % SENT;

		s->sent[i].dct = e->dc_wqe.dct;
		s->sent[i].pe = e->pe;
		s->sent[i].queue = e->queue;
		s->sent[i].index = e->dc_wqe.index;
		return;
	}
	if (e->rx_drop.why != BF_RDMA_DROP_NO_QP)
		return;
	for (uint32_t i = 0; i < SENT; i++) {
		if (!s->sent[i].queue || s->sent[i].dct != e->rx_drop.qpn)
			continue;
		f = bf_rule_find(r, e, s->sent[i].queue);
		if (!f)
			return;
		bf_finding_index(f, s->sent[i].index);
		bf_finding_say(f,
			       "an entry of DC initiator 0x%" PRIx64 " on PE %" PRIu32 " is for DC target 0x%" PRIx64
			       ", which PE %" PRIu32 " does not have",
			       s->sent[i].queue->number, s->sent[i].pe, s->sent[i].dct, e->pe);
		return;
	}
}

const struct bf_rule bf_rule_mlx5_dc_unknown = {
	.about = {
		.id = "MLX5-DC-UNKNOWN",
		.family = "mlx5",
		.title = "an entry for a DC target that does not exist",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A packet for a number that no queue has is dropped without an answer. The initiator tries "
			    "again until its retries are used up.",
		.wrong = "The number in the address vector is not that of a target: the table of targets is indexed "
			    "in another order than it was filled in, or the target has been destroyed.",
		.fix = "Index the table by PE, then target, then device, as the host side fills it in; destroy "
			    "targets last.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_get_dct_id; NVIDIA/nvshmem#33",
		.example = "run ibgda-put --messages 2 --transport dc --bug dct-swapped",
		.twin = "run ibgda-put --messages 2 --transport dc",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(dc_wqe, rx_drop),
	.state_bytes = sizeof(struct state),
	.on = on,
};
