/* The DC transport on a network that loses, repeats and changes packets, and brings some that nobody of ours sent. */
#include "models/fabric/roce.h"
#include "sim/fault.h"
#include "sim/rng.h"
#include "tests/models/mlx5_dc_rig.h"

/* Packets that nobody of ours sent: spoofed, random, in any order. The work under way goes on. */
START_TEST(hostile_packets)
{
	const struct bf_port_opts po = {
		.name = "stranger", .ipv4 = 0x0a000063, .ps_per_kib = 20480, .rx = nobody_home
	};
	struct bf_roce_path_opts ro = { .src_ipv4 = po.ipv4, .dst_ipv4 = b->ipv4, .udp_src_port = 0xc001, .ttl = 64 };
	struct bf_roce_path path;
	struct bf_port *port;
	struct dc_target t;
	struct bf_rng rng;
	struct rig_qp q;
	uint32_t added = 0;

	open_pair(&q, &t, false);
	ck_assert(!bf_fabric_attach(rig.fabric, &po, &port));
	bf_rng_init(&rng, 7, "hostile");
	for (uint32_t i = 0; i < 3000; i++) {
		struct bf_packet *pkt = bf_packet_alloc(rig.fabric);
		uint8_t op = (uint8_t)(BF_DC_FIRST + bf_rng_below(&rng, 32));
		struct bf_roce r = {
			.opcode = bf_roce_rc_opcode(op),
			.dc = true,
			.ack_req = true,
			.pkey = 0xffff,
			.dest_qp = bf_rng_chance(&rng, 500000) ? t.dctn : q.qpn,
			.psn = (uint32_t)bf_rng_below(&rng, 4),
			.va = b->data_va + 0x70000,
			.rkey = b->key,
			.dma_len = (uint32_t)bf_rng_below(&rng, 200),
			.atomic_size = 8,
			.src_qp = bf_rng_chance(&rng, 500000) ? t.dctn : (uint32_t)bf_rng_below(&rng, 3),
			.session = (uint32_t)bf_rng_below(&rng, 3),
			.stream = (uint16_t)bf_rng_below(&rng, 2),
			.dc_key = bf_rng_chance(&rng, 800000) ? DC_KEY : 1,
			.dc_flags = (uint8_t)bf_rng_below(&rng, 2),
			.dc_info = (uint32_t)bf_rng_below(&rng, 6),
		};

		if (!bf_roce_opcode_info(op)) {
			bf_packet_free(pkt);
			continue;
		}
		if (bf_roce_opcode_info(op) & BF_ROCE_HAS_PAYLOAD)
			r.payload_len = r.dma_len;
		ro.dst_ipv4 = bf_rng_chance(&rng, 700000) ? b->ipv4 : a->ipv4;
		bf_roce_path_init(&path, &ro);
		pkt->len = bf_roce_finish(pkt->data, &r, bf_roce_build(pkt->data, &path, &r), true);
		bf_port_send(port, pkt);
		if (i % 50 == 0) {
			uint16_t index = dc_add(&q, &t, DC_FULL, 0x6000, 0x9000, 1, RIG_CQE);

			rig_db(&q);
			rig_run(&rig);
			expect_good(index);
			added++;
		}
	}
	rig_run(&rig);
	ck_assert_uint_eq(bf_get_le64(b->data + 0x9000), added);
	ck_assert_uint_eq(state_of(&q), BF_MLX5_QPS_RTS);
}
END_TEST

/* Faults: whatever the network does, data are right and atomics happen once. */

static const char *const plans[] = {
	"drop prob=0.05",
	"duplicate prob=0.1",
	"reorder prob=0.1 delay=3us",
	"corrupt prob=0.05",
	"delay prob=0.05 delay=30us; drop prob=0.02",
	"drop prob=0.03; duplicate prob=0.03; reorder prob=0.03; corrupt prob=0.03; delay prob=0.02",
};
#define PLANS 6

#define ROUNDS 25u

struct chaos {
	struct dc_target t[4];
	struct rig_qp q[3];
	uint64_t sum[4];
	uint64_t writes[3 * ROUNDS * 4]; /* place << 13 | length */
};

static void chaos_post(struct chaos *c, struct bf_rng *rng, uint32_t i, uint32_t *at)
{
	struct rig_qp *q = &c->q[i % 3];

	for (uint32_t k = 0; k < 4; k++) {
		uint32_t to = (uint32_t)bf_rng_below(rng, 4), len = 1 + (uint32_t)bf_rng_below(rng, 6000);
		uint32_t form = bf_rng_chance(rng, 500000) ? DC_FULL : 0;
		uint64_t value = bf_rng_next(rng) >> 8;

		if (i % 3 == 2)
			form |= (uint32_t)bf_rng_below(rng, 4) * DC_STREAM;
		if (bf_rng_chance(rng, 400000)) {
			dc_add(q, &c->t[to], form, 0x6000 + 8 * (i % 64), 0x9000 + 8 * to, value, RIG_CQE);
			c->sum[to] += value;
		} else {
			dc_rdma(q, &c->t[to], form, BF_MLX5_OP_RDMA_WRITE, 0xc0000 + *at % 0x1000, 0x40000 + *at, len,
				RIG_CQE);
			c->writes[i * 4 + k] = (uint64_t)*at << 13 | len;
			*at += len;
		}
	}
	rig_db(q);
}

static uint64_t chaos_run(const char *plan_text, uint64_t seed, bool full)
{
	struct rig_qp_opts o = { .log_sq = 6, .log_rd = 3, .retry = 7, .timeout = 5, .full = full };
	static struct chaos c;
	struct bf_fault_plan *plan;
	struct bf_rng rng;
	uint32_t at = 0, done = 0;
	uint64_t end;

	teardown();
	memset(&c, 0, sizeof(c));
	profile = bf_mlx5_cx7;
	profile.dct_contexts = 16;
	rig_open_ports(&rig, seed, &profile, 2);
	a = &rig.node[0];
	b = &rig.node[1];
	rig_cq_open(a, &acq, 10, 0);
	rig_cq_open(b, &bcq, 10, 0);
	for (uint32_t i = 0; i < 0x8000; i++)
		a->data[0xc0000 + i] = (uint8_t)(i * 7 + i / 256);
	ck_assert(!bf_fault_plan_parse(plan_text, seed, NULL, &plan));
	rig.sim->faults = plan;
	bf_rng_init(&rng, seed, "dc");
	for (uint32_t i = 0; i < 4; i++)
		dc_target_open(b, &c.t[i], &bcq, DC_KEY + i, &plain);
	for (uint32_t i = 0; i < 3; i++) {
		o.log_streams = i == 2 ? 2 : 0;
		dc_initiator_open(a, &c.q[i], &acq, &o);
	}
	for (uint32_t i = 0; i < 3 * ROUNDS; i++) {
		chaos_post(&c, &rng, i, &at);
		if (i % 3 == 2 && i % 6 == 5)
			rig_run(&rig);
	}
	rig_run(&rig);
	for (const struct bf_mlx5_cqe *e; (e = rig_poll(&acq)); done++)
		ck_assert_msg(e->op_own >> 4 == BF_MLX5_CQE_REQ, "%s, seed %llu: syndrome 0x%x", plan_text,
			      (unsigned long long)seed, ((const struct bf_mlx5_err_cqe *)(const void *)e)->syndrome);
	ck_assert_uint_eq(done, 3 * ROUNDS * 4);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_msg(bf_get_le64(b->data + 0x9000 + 8 * i) == c.sum[i], "%s, seed %llu: sum %u", plan_text,
			      (unsigned long long)seed, i);
	for (uint32_t i = 0; i < BF_ARRAY_LEN(c.writes); i++)
		ck_assert(!memcmp(b->data + 0x40000 + (c.writes[i] >> 13),
				  a->data + 0xc0000 + (c.writes[i] >> 13) % 0x1000, c.writes[i] & 0x1fff));
	end = rig.sim->now_ps;
	rig.sim->faults = NULL;
	bf_fault_plan_destroy(plan);
	return end;
}

START_TEST(faults)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		for (int full = 0; full < 2; full++)
			ck_assert_uint_eq(chaos_run(plans[_i], seed, full), chaos_run(plans[_i], seed, full));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, hostile_packets);
	tcase_add_loop_test(tc, faults, 0, PLANS);
}

int main(void)
{
	return dc_main("mlx5_dc_faults", add);
}
