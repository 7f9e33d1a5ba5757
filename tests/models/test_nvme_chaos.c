/*
 * Random use, right and wrong: whatever was accepted completes once. Then stores of any size anywhere in BAR0, with
 * resets in the middle: whatever that did, a reset gives a controller that works.
 */
#include "tests/models/nvme_rig.h"

static struct host h;
static struct host_opts o;
static uint8_t *data;

static void setup(void)
{
	memset(&o, 0, sizeof(o));
	o.nvme.profile = &bf_nvme_970pro;
}

static void open_host(void)
{
	host_open(&h, &o);
	data = host_alloc(&h, 65536, 65536);
}

enum { QUEUES = 4, DEPTH = 16 };

struct chaos {
	struct host_queue q[QUEUES];
	uint32_t size[QUEUES], head[QUEUES]; /* head: SQHD as completions tell it */
	uint32_t submitted, completed;
	struct bf_rng r;
};

static void random_entry(struct chaos *k, struct host_queue *q, uint32_t cid)
{
	struct bf_nvme_sqe *e = &q->sq[q->tail];
	static const uint8_t ops[] = { 0, 1, 2, 4, 5, 8, 9, 0xc, 0x19, 0x33 };
	uint8_t *raw = (uint8_t *)e;

	if (bf_rng_chance(&k->r, 200000)) {
		for (int i = 0; i < 64; i++)
			raw[i] = (uint8_t)bf_rng_next(&k->r);
	} else {
		memset(e, 0, sizeof(*e));
		e->opcode = ops[bf_rng_below(&k->r, sizeof(ops))];
		bf_put_le32(e->nsid.b, bf_rng_chance(&k->r, 50000) ? 5 : 1);
		bf_put_le64(e->prp1.b, host_va(&h, data) + bf_rng_below(&k->r, 3) * 4);
		bf_put_le64(e->prp2.b, host_va(&h, data) + 4096);
		bf_put_le32(e->cdw10.b, (uint32_t)bf_rng_below(&k->r, 140000));
		bf_put_le32(e->cdw12.b, (uint32_t)bf_rng_below(&k->r, 20));
		e->flags = bf_rng_chance(&k->r, 100000) ? (uint8_t)bf_rng_below(&k->r, 4) : 0;
	}
	bf_put_le16(e->cid.b, (uint16_t)cid);
}

static void submit(struct chaos *k, uint32_t i)
{
	struct host_queue *q = &k->q[i];
	uint32_t used = (q->tail + q->size - k->head[i]) % q->size, n;

	n = (uint32_t)bf_rng_below(&k->r, q->size - used);
	for (uint32_t j = 0; j < n; j++) {
		random_entry(k, q, k->submitted++ & 0xffff);
		q->tail = (q->tail + 1) % q->size;
	}
	if (n)
		host_ring(&h, q);
}

static void collect(struct chaos *k, uint32_t i)
{
	struct host_queue *q = &k->q[i];
	struct bf_nvme_cqe c;

	while (host_poll(&h, q, &c)) {
		ck_assert_uint_eq(bf_le16(c.sqid), i + 1);
		k->head[i] = bf_le16(c.sqhd);
		k->completed++;
	}
}

static uint64_t run_chaos(uint64_t seed, int rounds)
{
	struct chaos k = { .submitted = 0 };
	uint64_t hash;

	o.seed = seed;
	open_host();
	ck_assert_int_eq(bf_stream_open(&h.sim->rec, &h.sim->now_ps, BF_CLASS_ALL, NULL), 0);
	bf_rng_init(&k.r, seed, "chaos");
	for (uint16_t i = 0; i < QUEUES; i++)
		host_queue_open(&h, &k.q[i], (uint16_t)(i + 1), DEPTH);
	for (int i = 0; i < rounds; i++) {
		uint32_t what = (uint32_t)bf_rng_below(&k.r, 100), j = (uint32_t)bf_rng_below(&k.r, QUEUES);

		if (what < 60)
			submit(&k, j);
		else if (what < 85)
			collect(&k, j);
		else if (what < 90) /* a value that is too high, twice the same, or an absent queue */
			host_write32(&h, 0x1000 + (uint32_t)bf_rng_below(&k.r, 16) * 4,
				     DEPTH + (uint32_t)bf_rng_below(&k.r, 70000) % 60000);
		else if (what < 95)
			host_write32(&h, bf_nvme_sq_doorbell(j + 1, 0), k.q[j].tail);
		bf_sim_run(h.sim, h.sim->now_ps + bf_rng_below(&k.r, 100 * BF_US));
	}
	host_run(&h);
	for (int again = 0; again < 3; again++)
		for (uint32_t i = 0; i < QUEUES; i++) {
			collect(&k, i);
			host_run(&h);
		}
	ck_assert_uint_eq(k.completed, k.submitted);
	ck_assert_uint_gt(k.completed, 100);
	for (uint16_t i = 0; i < QUEUES; i++) {
		struct bf_nvme_queue_info info = rig_info(&h, (uint16_t)(i + 1));

		ck_assert_uint_eq(info.executing, 0);
		ck_assert_uint_eq(info.held, 0);
		ck_assert_uint_eq(info.sq_head, info.sq_tail);
	}
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	hash = bf_stream_hash(&h.sim->rec);
	bf_stream_close(&h.sim->rec);
	host_close(&h);
	return hash;
}

START_TEST(test_random_use)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		run_chaos(seed, 300);
}
END_TEST

START_TEST(test_same_seed_same_records)
{
	uint64_t first = run_chaos(42, 300);

	ck_assert_uint_eq(run_chaos(42, 300), first);
	ck_assert_uint_ne(run_chaos(43, 300), first);
}
END_TEST

/* A store of 1 to 8 bytes; half of them go to the registers, where they do most. */
static void poke(struct chaos *k)
{
	const uint64_t value = bf_rng_next(&k->r), size = bf_nvme_bar0(h.dev)->size;
	const uint32_t len = (uint32_t)bf_rng_below(&k->r, 8) + 1;
	uint32_t reg = (uint32_t)bf_rng_below(&k->r, bf_rng_chance(&k->r, 500000) ? 0x70 : size - 8);

	if (bf_rng_chance(&k->r, 700000))
		reg &= ~3u;
	bf_mmio_post(bf_nvme_bar0(h.dev), reg, &value, bf_rng_chance(&k->r, 600000) ? 4 : len);
}

static void disturb(struct chaos *k)
{
	switch (bf_rng_below(&k->r, 20)) {
	case 0:
		bf_nvme_reset(h.dev);
		break;
	case 1:
		bf_nvme_power_cycle(h.dev);
		break;
	case 2:
	case 3:
		bf_nvme_bus_master(h.dev, bf_rng_chance(&k->r, 500000));
		break;
	case 4: /* a subsystem reset */
		host_write32(&h, BF_NVME_NSSR, BF_NVME_NSSR_RESET);
		break;
	case 5: /* on again, with whatever the registers say */
		host_write32(&h, BF_NVME_CC, 0x00460001);
		break;
	default:
		poke(k);
		break;
	}
}

static void run_disturbed(uint64_t seed)
{
	struct chaos k = { .submitted = 0 };
	uint8_t *page;

	o.seed = seed;
	open_host();
	bf_rng_init(&k.r, seed, "pokes");
	for (uint16_t i = 0; i < QUEUES; i++)
		host_queue_open(&h, &k.q[i], (uint16_t)(i + 1), DEPTH);
	for (int i = 0; i < 400; i++) {
		if (bf_rng_chance(&k.r, 600000))
			submit(&k, (uint32_t)bf_rng_below(&k.r, QUEUES));
		else
			disturb(&k);
		bf_sim_run(h.sim, h.sim->now_ps + bf_rng_below(&k.r, 50 * BF_US));
	}
	bf_nvme_reset(h.dev);
	bf_nvme_bus_master(h.dev, true);
	host_run(&h);
	host_queue_memory(&h, &h.admin, 0, 16);
	host_enable(&h, 0);
	page = host_alloc(&h, 4096, 4096);
	ck_assert_uint_eq(rig_identify(&h, 1, 0, page), 0);
	ck_assert_mem_eq(page + 24, "Belfry NVMe Controller", 22);
	host_close(&h);
}

START_TEST(test_pokes_and_resets)
{
	for (uint64_t seed = 1; seed <= 30; seed++)
		run_disturbed(seed);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme chaos");
	TCase *c = tcase_create("chaos");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, setup, NULL);
	tcase_add_test(c, test_random_use);
	tcase_add_test(c, test_same_seed_same_records);
	tcase_add_test(c, test_pokes_and_resets);
	suite_add_tcase(s, c);
	return rig_main(s);
}
