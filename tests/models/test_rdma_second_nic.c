/* The RDMA transport under a NIC that is no mlx5: what it must do for any device. */
#include "sim/fault.h"
#include "tests/models/toy_nic.h"

#define MEM (1u << 20)
#define RECEIVES 0x1000u
#define COMPLETIONS 0x2000u
#define DATA 0x10000u /* the window of key 1: all rights; key 2: a peer may read; key 3: nobody may */
#define WINDOW 0x40000u
#define MTU_SHIFT 10u
#define TIMEOUT 8u /* 1 ms */

static struct bf_sim *sim;
static struct bf_fabric *fabric;
static struct bf_fault_plan *plan;
static struct toy_nic nic[2];

static uint8_t *data(struct toy_nic *n, uint32_t at)
{
	return n->mem->bytes + DATA + at;
}

static void open_nic(uint32_t i)
{
	static const struct bf_rdma_profile profile = { .ack_every = 4, .max_outstanding = 64, .icrc = true };
	struct toy_nic *n = &nic[i];
	char name[16];
	struct bf_region_opts mem = { .name = "host", .kind = BF_MEM_DRAM, .size = MEM };
	struct bf_port_opts port = { .name = name,
				     .ipv4 = 0x0a000001 + i,
				     .latency_ps = 150 * BF_NS,
				     .ps_per_kib = 20480,
				     .rx = toy_rx,
				     .owner = n };
	struct bf_roce_path_opts path = {
		.src_ipv4 = 0x0a000001 + i, .dst_ipv4 = 0x0a000002 - i, .udp_src_port = 0xc000, .ttl = 64
	};
	uint64_t base;

	memset(n, 0, sizeof(*n));
	n->sim = sim;
	snprintf(name, sizeof(name), "toy%u", i);
	ck_assert(!bf_space_init(&n->space, sim, name, i) && !bf_ioas_init(&n->ioas, sim, name, 4096));
	ck_assert(!bf_region_create(&n->space, &mem, &n->mem));
	ck_assert(!bf_ioas_map_region(&n->ioas, n->mem, BF_IOMMU_READ | BF_IOMMU_WRITE));
	ck_assert(!bf_link_init(&n->link, sim, name, &bf_link_profile_gen5_x16));
	ck_assert(!bf_dma_port_init(&n->dma, sim, name, &n->link, &n->ioas));
	ck_assert(!bf_fabric_attach(fabric, &port, &n->port));
	base = n->ring = bf_va(n->mem, n->mem->bytes);
	n->receives = base + RECEIVES;
	n->completions = base + COMPLETIONS;
	n->keys[1] = (struct toy_key){ base + DATA, WINDOW, TOY_LOCAL | 28u };
	n->keys[2] = (struct toy_key){ base + DATA, WINDOW, TOY_LOCAL | BF_RDMA_ACCESS_REMOTE_READ };
	n->keys[3] = (struct toy_key){ base + DATA, WINDOW, TOY_LOCAL };
	bf_rdma_init(&n->rdma, sim, fabric, &n->dma, &toy_ops, &profile, bf_stream_actor(&sim->rec, "device", name));
	bf_rdma_qp_init(&n->qp, &n->rdma, sizeof(struct toy_send));
	n->qp.sends = n->sends;
	n->qp.sq_mask = TOY_SLOTS - 1;
	n->qp.qpn = n->qp.remote_qpn = TOY_QPN;
	n->qp.actor = bf_stream_actor(&sim->rec, "queue", name);
	n->qp.remote_ipv4 = path.dst_ipv4;
	n->qp.port = n->port;
	bf_roce_path_init(&n->qp.path, &path);
	n->qp.mtu_shift = MTU_SHIFT;
	n->qp.log_msg_max = 30;
	n->qp.max_rdatomic = n->qp.max_answers = 4;
	n->qp.access = 28;
	n->qp.atomic_mode = 1;
	n->qp.receives = true;
	n->qp.ack_timeout = TIMEOUT;
	n->qp.retry_count = n->qp.retries_left = 3;
	n->qp.rnr_retry = n->qp.rnr_left = 7;
	n->qp.min_rnr_nak = 1;
	n->qp.state = BF_RDMA_RTS;
	for (uint32_t at = 0; at < WINDOW; at++)
		*data(n, at) = (uint8_t)(at * 7 + i);
}

static void setup(void)
{
	ck_assert(!bf_sim_create(1, &sim) && !bf_fabric_create(sim, &fabric));
	plan = NULL;
	open_nic(0);
	open_nic(1);
}

static void teardown(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct toy_nic *n = &nic[i];

		ck_assert_uint_eq(n->qp.inflight, 0);
		bf_rdma_reset(&n->qp);
		bf_rdma_qp_fini(&n->qp);
		bf_dma_port_fini(&n->dma);
		bf_rdma_fini(&n->rdma);
		bf_port_detach(n->port);
		bf_link_fini(&n->link);
	}
	bf_fabric_destroy(fabric);
	for (uint32_t i = 0; i < 2; i++) {
		bf_ioas_fini(&nic[i].ioas);
		bf_space_fini(&nic[i].space);
	}
	bf_sim_destroy(sim);
	bf_fault_plan_destroy(plan);
}

static void faults(const char *text)
{
	struct bf_error err = { 0 };

	ck_assert_msg(!bf_fault_plan_parse(text, 3, &err, &plan), "%s", err.text);
	sim->faults = plan;
}

/* Posts as a driver of this NIC would: bytes in the ring. */
static void post(uint8_t op, uint8_t key, uint32_t at, uint8_t rkey, uint32_t raddr, uint32_t len, uint64_t operand)
{
	struct toy_nic *n = &nic[0];
	uint8_t *e = n->mem->bytes + TOY_ENTRY * (n->producer++ % TOY_SLOTS);

	memset(e, 0, TOY_ENTRY);
	e[0] = op;
	e[1] = key;
	e[2] = rkey;
	bf_put_le32(e + 4, len);
	bf_put_le64(e + 8, at);
	bf_put_le64(e + 16, raddr);
	bf_put_le64(e + 24, operand);
}

static void post_receive(uint32_t at, uint32_t len)
{
	struct toy_nic *n = &nic[1];
	uint8_t *e = n->mem->bytes + RECEIVES + TOY_RECEIVE * (n->receive_producer++ % TOY_SLOTS);

	bf_put_le64(e, at);
	bf_put_le32(e + 8, len);
	bf_put_le32(e + 12, 1);
}

static void ring(void)
{
	toy_run(&nic[0].qp);
	ck_assert_int_eq(bf_sim_run(sim, BF_NEVER), BF_RUN_IDLE);
}

/* What completion `i` is of, and its end. */
static void expect(struct toy_nic *n, uint32_t i, uint32_t what, uint32_t end)
{
	const uint8_t *c = n->mem->bytes + COMPLETIONS + 8u * i;

	ck_assert_uint_gt(n->completed, i);
	ck_assert_uint_eq(bf_get_le32(c), what);
	ck_assert_uint_eq(bf_get_le32(c + 4), end);
}

START_TEST(send_write_read_atomic)
{
	uint64_t counter = 41;

	memcpy(data(&nic[1], 0x20000), &counter, sizeof(counter));
	post_receive(0x10000, 5000);
	post(BF_RDMA_OP_SEND, 1, 0, 0, 0, 3000, 0);
	post(BF_RDMA_OP_WRITE, 1, 100, 1, 0x18000, 5000, 0);
	post(BF_RDMA_OP_READ, 1, 0x30000, 2, 200, 2500, 0);
	post(BF_RDMA_OP_FETCH_ADD, 1, 0x38000, 1, 0x20000, 8, 1);
	ring();
	for (uint32_t i = 0; i < 4; i++)
		expect(&nic[0], i, i, 0);
	expect(&nic[1], 0, 0x80000000u | 3000, 0);
	ck_assert_mem_eq(data(&nic[1], 0x10000), data(&nic[0], 0), 3000);
	ck_assert_mem_eq(data(&nic[1], 0x18000), data(&nic[0], 100), 5000);
	ck_assert_mem_eq(data(&nic[0], 0x30000), data(&nic[1], 200), 2500);
	ck_assert_uint_eq(bf_get_le64(data(&nic[0], 0x38000)), 41);
	ck_assert_uint_eq(bf_get_le64(data(&nic[1], 0x20000)), 42);
	ck_assert_uint_eq(nic[0].rdma.count.packets_resent, 0);
	ck_assert_uint_eq(nic[0].completed, 4);
}
END_TEST

/* More entries than slots: the ring goes round, in order. */
START_TEST(ring_goes_round)
{
	for (uint32_t i = 0; i < 3 * TOY_SLOTS; i++) {
		post(BF_RDMA_OP_WRITE, 1, i * 64, 1, 0x20000 + i * 64, 64, 0);
		if (i % 5 == 0)
			ring();
	}
	ring();
	for (uint32_t i = 0; i < 3 * TOY_SLOTS; i++)
		expect(&nic[0], i, i, 0);
	ck_assert_mem_eq(data(&nic[1], 0x20000), data(&nic[0], 0), 3 * TOY_SLOTS * 64);
}
END_TEST

static const char *const losses[] = {
	"drop on=toy0 count=1",
	"drop on=toy1 count=1",
	"drop prob=0.1",
	"corrupt prob=0.1",
	"duplicate prob=0.3; reorder prob=0.2",
};

/* What is lost is sent again, and nothing happens twice. */
START_TEST(losses_are_made_good)
{
	uint64_t counter = 0;

	faults(losses[_i]);
	nic[0].qp.retry_count = nic[0].qp.retries_left = 7;
	memcpy(data(&nic[1], 0x20000), &counter, sizeof(counter));
	for (uint32_t i = 0; i < 3; i++) {
		post_receive(0x10000 + i * 0x1000, 0x1000);
		post(BF_RDMA_OP_SEND, 1, i * 0x1000, 0, 0, 0x1000, 0);
		post(BF_RDMA_OP_FETCH_ADD, 1, 0x38000, 1, 0x20000, 8, 1);
		post(BF_RDMA_OP_READ, 1, 0x30000 + i * 0x1000, 2, 0x8000 + i * 0x1000, 0x1000, 0);
	}
	ring();
	for (uint32_t i = 0; i < 9; i++)
		expect(&nic[0], i, i, 0);
	ck_assert_mem_eq(data(&nic[1], 0x10000), data(&nic[0], 0), 0x3000);
	ck_assert_mem_eq(data(&nic[0], 0x30000), data(&nic[1], 0x8000), 0x3000);
	ck_assert_uint_eq(bf_get_le64(data(&nic[1], 0x20000)), 3);
	ck_assert_uint_gt(bf_fault_plan_fired(plan, 0), 0);
	if (_i == 0) /* a request; of answers, later ones may tell what an earlier one would have */
		ck_assert_uint_gt(nic[0].rdma.count.packets_resent, 0);
}
END_TEST

static void post_late(struct bf_event *ev)
{
	(void)ev;
	post_receive(0x10000, 0x1000);
}

/* The receiver is not ready: the sender waits, and tries again until a receive is there. */
START_TEST(receiver_not_ready)
{
	struct bf_event late;

	bf_event_init(&late, post_late);
	bf_sim_after(sim, &late, 50 * BF_US);
	post(BF_RDMA_OP_SEND, 1, 0, 0, 0, 2000, 0);
	ring();
	expect(&nic[0], 0, 0, 0);
	expect(&nic[1], 0, 0x80000000u | 2000, 0);
	ck_assert_mem_eq(data(&nic[1], 0x10000), data(&nic[0], 0), 2000);
	ck_assert_uint_gt(nic[0].qp.rnr_naks, 2);
	ck_assert_uint_eq(nic[1].rdma.count.naks_sent[0], nic[0].qp.rnr_naks);
}
END_TEST

START_TEST(patience_ends)
{
	nic[0].qp.rnr_retry = nic[0].qp.rnr_left = 2;
	post(BF_RDMA_OP_SEND, 1, 0, 0, 0, 2000, 0);
	post(BF_RDMA_OP_WRITE, 1, 0, 1, 0, 8, 0);
	ring();
	expect(&nic[0], 0, 0, BF_RDMA_RNR_OUT);
	expect(&nic[0], 1, 1, TOY_FLUSHED);
	ck_assert_uint_eq(nic[0].qp.rnr_naks, 3);
	ck_assert_uint_eq(nic[0].qp.state, BF_RDMA_ERR);
}
END_TEST

START_TEST(nobody_answers)
{
	bf_port_set_link(nic[1].port, false);
	post(BF_RDMA_OP_WRITE, 1, 0, 1, 0, 8, 0);
	ring();
	expect(&nic[0], 0, 0, BF_RDMA_RETRIES_OUT);
	ck_assert_uint_eq(nic[0].rdma.count.timeouts, 4);
}
END_TEST

static const struct refusal {
	uint8_t op, key, rkey;
	uint32_t len, cause;
	bool there; /* refused by the responder */
} refusals[] = {
	{ BF_RDMA_OP_WRITE, 1, 2, 8, BF_RDMA_REMOTE_ACCESS, true },
	{ BF_RDMA_OP_READ, 1, 3, 8, BF_RDMA_REMOTE_ACCESS, true },
	{ BF_RDMA_OP_WRITE, 1, 1, WINDOW, BF_RDMA_REMOTE_ACCESS, true },
	{ BF_RDMA_OP_SEND, 1, 0, 0x800, BF_RDMA_REMOTE_INVALID, true },
	{ BF_RDMA_OP_WRITE, 0, 1, 8, TOY_BAD_KEY, false },
	{ BF_RDMA_OP_FETCH_ADD, 1, 2, 8, BF_RDMA_REMOTE_ACCESS, true },
};

/* A cause for each refusal, and both ends in error. */
START_TEST(what_is_refused)
{
	const struct refusal *x = &refusals[_i];

	post_receive(0, 0x400);
	post(x->op, x->key, 0, x->rkey, 8, x->len, 0);
	ring();
	expect(&nic[0], 0, 0, x->cause);
	ck_assert_uint_eq(nic[1].refused, x->there);
	ck_assert_uint_eq(nic[0].qp.state, BF_RDMA_ERR);
	ck_assert_uint_eq(nic[1].qp.state, x->there ? BF_RDMA_ERR : BF_RDMA_RTS);
	if (x->op == BF_RDMA_OP_SEND)
		expect(&nic[1], 0, 0x80000000u, BF_RDMA_RECEIVE_SHORT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rdma_second_nic");
	TCase *tc = tcase_create("a NIC of nobody's make");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, send_write_read_atomic);
	tcase_add_test(tc, ring_goes_round);
	tcase_add_loop_test(tc, losses_are_made_good, 0, (int)BF_ARRAY_LEN(losses));
	tcase_add_test(tc, receiver_not_ready);
	tcase_add_test(tc, patience_ends);
	tcase_add_test(tc, nobody_answers);
	tcase_add_loop_test(tc, what_is_refused, 0, (int)BF_ARRAY_LEN(refusals));
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
