/*
 * One queue pair of the model, and at the other end the test itself: it sends and receives raw packets, so it decides
 * what is lost, late or wrong. One test program includes this once: the state is its own.
 */
#ifndef BELFRY_TESTS_MLX5_PEER_H
#define BELFRY_TESTS_MLX5_PEER_H

#include <check.h>

#include "models/fabric/roce.h"
#include "tests/models/mlx5_rig.h"

#define PEER_IPV4 0x0a000009u
#define PEER_QPN 0x4242u
#define SEEN 4096u

struct seen {
	struct bf_roce r;
	uint64_t at_ps;
	uint8_t payload[16]; /* the first bytes */
};

static struct rig rig;
static struct rig_node *n;
static struct rig_cq scq, rcq;
static struct rig_qp q;
static struct rig_qp_opts o;
static struct bf_port *peer;
static struct bf_roce_path path;
static struct seen seen[SEEN];
static uint8_t filler[4096]; /* what packets carry */
static uint32_t nseen, at;   /* packets that came; the next one to look at */

static inline void peer_rx(void *owner, struct bf_packet *pkt)
{
	struct seen *s = &seen[nseen++];
	uint32_t len;

	(void)owner;
	ck_assert_uint_lt(nseen, SEEN);
	ck_assert(!bf_roce_parse(pkt->data, pkt->len, true, &s->r, NULL));
	ck_assert_uint_eq(s->r.dest_qp, PEER_QPN);
	len = s->r.payload_len < sizeof(s->payload) ? s->r.payload_len : (uint32_t)sizeof(s->payload);
	memcpy(s->payload, pkt->data + s->r.payload_offset, len);
	s->at_ps = rig.sim->now_ps;
	bf_packet_free(pkt);
}

static inline void open_peer(void)
{
	struct bf_port_opts opts = {
		.name = "peer", .ipv4 = PEER_IPV4, .latency_ps = 100 * BF_NS, .ps_per_kib = 20480, .rx = peer_rx
	};
	struct bf_roce_path_opts p = { .src_ipv4 = PEER_IPV4, .dst_ipv4 = n->ipv4, .udp_src_port = 0xc001, .ttl = 64 };
	struct bf_port_info info;

	RIG_MUST(!bf_fabric_attach(rig.fabric, &opts, &peer));
	bf_port_info(peer, &info);
	memcpy(p.src_mac, info.mac, 6);
	bf_port_info(bf_mlx5_port(n->dev, 1), &info);
	memcpy(p.dst_mac, info.mac, 6);
	bf_roce_path_init(&path, &p);
}

static inline void step(uint32_t opcode)
{
	struct rig_qp remote = { .node = n, .qpn = PEER_QPN };
	uint8_t in[BF_MODIFY_QP_LEN], out[16];

	rig_modify_fill(in, opcode, &q, &remote, &o);
	bf_put_be32(in + BF_QP_QPC + BF_QPC_PATH + BF_PATH_RGID + 12, PEER_IPV4);
	ck_assert_uint_eq(rig_cmd(n, in, sizeof(in), out, sizeof(out)), 0);
}

static inline void open_all(void)
{
	nseen = at = 0;
	rig_open(&rig, 1, NULL);
	n = &rig.node[0];
	open_peer();
	rig_cq_open(n, &scq, 10, 0);
	rig_cq_open(n, &rcq, 10, 0);
	rig_qp_open(n, &q, &scq, &rcq, &o);
	step(BF_MLX5_CMD_RST2INIT_QP);
	step(BF_MLX5_CMD_INIT2RTR_QP);
	step(BF_MLX5_CMD_RTR2RTS_QP);
	for (uint32_t i = 0; i < RIG_DATA; i++)
		n->data[i] = (uint8_t)(i * 7 + i / 256);
}

static inline void setup(void)
{
	o = (struct rig_qp_opts){
		.log_sq = 7, .log_rq = 5, .log_stride = 0, .mtu = 3, .log_rd = 2, .psn = 0xfffffe, .timeout = 8
	};
	open_all();
}

static inline void teardown(void)
{
	rig_close(&rig);
}

/* Through RESET to ready to send, rings and PSNs from their start. */
static inline void reconnect(void)
{
	step(BF_MLX5_CMD_2RST_QP);
	memset(q.dbr, 0, 8);
	q.sq_pi = q.rq_pi = 0;
	step(BF_MLX5_CMD_RST2INIT_QP);
	step(BF_MLX5_CMD_INIT2RTR_QP);
	step(BF_MLX5_CMD_RTR2RTS_QP);
	nseen = at = 0;
}

static inline void again(void)
{
	teardown();
	open_all();
}

/* PSN `k` counted from the first, which lies just before the end of the circle. */
static inline uint32_t psn(uint32_t k)
{
	return (o.psn + k) & 0xffffff;
}

static inline void send_packet(struct bf_roce r, const void *payload)
{
	struct bf_packet *pkt = bf_packet_alloc(rig.fabric);
	uint32_t offset;

	r.pkey = 0xffff;
	r.dest_qp = q.qpn;
	r.pad = (uint8_t)(-r.payload_len & 3);
	offset = bf_roce_build(pkt->data, &path, &r);
	memcpy(pkt->data + offset, payload, r.payload_len);
	pkt->len = bf_roce_finish(pkt->data, &r, offset, true);
	bf_port_send(peer, pkt);
}

/* Lets everything happen that is not a time-out. */
static inline void settle(void)
{
	bf_sim_run(rig.sim, rig.sim->now_ps + 50 * BF_US);
}

static inline const struct bf_roce *expect(uint8_t opcode, uint32_t k)
{
	ck_assert_uint_lt(at, nseen);
	ck_assert_str_eq(bf_roce_opcode_name(seen[at].r.opcode), bf_roce_opcode_name(opcode));
	ck_assert_uint_eq(seen[at].r.psn, psn(k));
	return &seen[at++].r;
}

static inline void expect_aeth(uint8_t syndrome, uint32_t k)
{
	ck_assert_uint_eq(expect(BF_RC_ACK, k)->aeth_syndrome, syndrome);
}

static inline void expect_nothing(void)
{
	ck_assert_uint_eq(at, nseen);
}

static inline uint32_t state(void)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(n->dev, q.qpn, &info));
	return info.state;
}

static inline void destroy_key(uint32_t key)
{
	ck_assert_uint_eq(rig_simple(n, BF_MLX5_CMD_DESTROY_MKEY, key >> 8), 0);
}

#endif
