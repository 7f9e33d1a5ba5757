/*
 * A sequence of command mailboxes, doorbells and time, as bytes. Each step: one byte kind, one byte length L, L bytes.
 * Kinds: 0-127 a mailbox that begins with the L bytes (zeros follow, 320 in all), 128-191 a doorbell of up to 64 bytes
 * at the offset in its first two, 192-255 time passes. Besides a connected pair there is a DC initiator at work, with
 * four streams, and the target that it works on; a shared receive queue with two queue pairs; and armed event queues.
 */
#include "tests/models/mlx5_dc.h"
#include "tests/models/mlx5_events.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void step(struct rig_pair *p, uint8_t kind, const uint8_t *bytes, uint32_t len)
{
	struct rig_node *n = &p->rig.node[kind & 1];
	uint8_t in[320] = { 0 }, out[320];

	if (kind >= 192) {
		bf_sim_run(p->rig.sim, p->rig.sim->now_ps + (uint64_t)(kind - 191) * BF_US);
	} else if (kind >= 128) {
		if (len > 2)
			bf_mmio_post(bf_mlx5_uar(n->dev, kind >> 1 & 3), bf_get_be16(bytes) & 0xfff, bytes + 2,
				     len - 2 > 64 ? 64 : len - 2);
	} else {
		memcpy(in, bytes, len < sizeof(in) ? len : sizeof(in));
		bf_mlx5_cmd(n->dev, in, 16 + (size_t)kind * 4 > sizeof(in) ? sizeof(in) : 16 + (size_t)kind * 4, out,
			    sizeof(out));
	}
}

/* Two SENDs to queue pairs that share a receive queue with one WQE, and a limit. Whoever finds it empty is asked again
 * a few times only: each time costs as much as a command. */
static void share(struct rig_pair *p, struct rig_srq *srq, struct rig_qp q[4])
{
	static const struct rig_qp_opts o = { .log_sq = 4, .log_rd = 2, .timeout = 2, .rnr_timer = 9, .no_rq = true };
	struct rig_qp_opts to = o;

	rig_srq_open(&p->rig.node[1], srq, true, 3, 6);
	rig_srq_post(srq, 0, 4096);
	rig_srq_limit(srq, true, 1);
	to.srqn = srq->srqn;
	to.cs_res = BF_CS_RES_32;
	for (uint32_t i = 0; i < 4; i += 2) {
		rig_qp_open(&p->rig.node[0], &q[i], &p->scq[0], &p->rcq[0], &o);
		rig_qp_open(&p->rig.node[1], &q[i + 1], &p->scq[1], &p->rcq[1], &to);
		rig_connect(&q[i], &q[i + 1], &o);
		rig_connect(&q[i + 1], &q[i], &to);
		rig_send(&q[i], BF_MLX5_OP_SEND, 0, i ? 3000 : 20, 0, RIG_CQE);
		rig_db(&q[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rig_qp_opts o = { .log_sq = 4, .log_rq = 3, .log_stride = 1, .log_rd = 2, .mtu = 3 };
	static const struct rig_qp_opts dci = { .log_sq = 4, .log_rd = 2, .log_streams = 2, .timeout = 2 };
	struct rig_eq eq[RIG_NODES];
	struct rig_srq srq;
	struct rig_qp sharing[4];
	struct dc_target target;
	struct rig_qp initiator;
	struct rig_pair p;
	size_t at = 0;

	rig_pair_open_with(&p, 1, NULL, &o, 4);
	rig_recv(&p.q[1], 0, 4096);
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 1200, 0, RIG_CQE);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_READ, 0, p.rig.node[1].data_va, p.rig.node[1].key, 1200, RIG_CQE);
	rig_db(&p.q[0]);
	dc_target_open(&p.rig.node[1], &target, &p.rcq[1], DC_KEY, &(struct dc_target_opts){ 0 });
	dc_initiator_open(&p.rig.node[0], &initiator, &p.scq[0], &dci);
	for (uint32_t i = 0; i < 4; i++)
		dc_rdma(&initiator, &target, (i & 1) | i * DC_STREAM, BF_MLX5_OP_RDMA_WRITE, 0, 0, i ? 100 : 5000,
			RIG_CQE);
	rig_db(&initiator);
	share(&p, &srq, sharing);
	for (uint32_t i = 0; i < RIG_NODES; i++) {
		rig_eq_open(&p.rig.node[i], &eq[i], 2, 1, RIG_ALL_EVENTS, 0);
		rig_eq_update(&eq[i], true);
	}
	while (at + 2 <= size) {
		uint32_t len = data[at + 1];

		if (len > size - at - 2)
			len = (uint32_t)(size - at - 2);
		step(&p, data[at], data + at + 2, len);
		at += 2 + len;
	}
	bf_sim_run(p.rig.sim, p.rig.sim->now_ps + BF_MS);
	rig_close(&p.rig);
	return 0;
}
