/* Shadow doorbells: a host that rings the register only when the event index says so never gets stuck. */
#include <sys/mman.h>

#include "tests/models/nvme_rig.h"

static struct host h;
static struct host_opts o;
static struct host_queue q;
static uint8_t *shadow, *event;
static uint32_t rings;

static void setup(void)
{
	memset(&o, 0, sizeof(o));
	o.nvme.profile = &bf_nvme_970pro;
	host_open(&h, &o);
	shadow = host_alloc(&h, 4096, 4096);
	event = host_alloc(&h, 4096, 4096);
	rings = 0;
}

static void teardown(void)
{
	host_close(&h);
}

static uint32_t config(uint64_t prp1, uint64_t prp2)
{
	struct bf_nvme_sqe *e = host_slot(&h, &h.admin, BF_NVME_ADM_DBBUF, 0);

	bf_put_le64(e->prp1.b, prp1);
	bf_put_le64(e->prp2.b, prp2);
	return host_do(&h, &h.admin, NULL);
}

/* As Linux does it: store, look at the event index, ring if it lies in [old, new). */
static void update(uint32_t at, uint32_t reg, uint16_t value)
{
	uint16_t old = bf_get_le16(shadow + at), index;

	bf_put_le32(shadow + at, value);
	index = bf_get_le16(event + at);
	if ((uint16_t)(value - index - 1) < (uint16_t)(value - old)) {
		host_write32(&h, reg, value);
		rings++;
	}
}

START_TEST(test_config_errors)
{
	uint64_t a = host_va(&h, shadow), b = host_va(&h, event);

	ck_assert_uint_eq(config(a + 4, b), RIG_DNR | BF_NVME_SC_INVALID_FIELD);
	ck_assert_uint_eq(config(a, b + 8), RIG_DNR | BF_NVME_SC_INVALID_FIELD);
	ck_assert_uint_eq(config(a, a), RIG_DNR | BF_NVME_SC_INVALID_FIELD);
	ck_assert_uint_eq(config(0, b), RIG_DNR | BF_NVME_SC_INVALID_FIELD);
	ck_assert_uint_eq(config(a, b), 0);
}
END_TEST

/* A ring of entries in random portions at random moments: all complete, and far fewer rings than portions. */
START_TEST(test_no_doorbell_is_missed)
{
	struct bf_rng r;
	uint32_t done = 0, sent = 0, portions = 0, free_slots = 31;
	struct bf_nvme_cqe c;
	uint8_t *data = host_alloc(&h, 4096, 4096);

	bf_rng_init(&r, 3, "dbbuf");
	ck_assert_uint_eq(config(host_va(&h, shadow), host_va(&h, event)), 0);
	host_queue_open(&h, &q, 1, 32);
	while (done < 3000) {
		uint32_t n = (uint32_t)bf_rng_below(&r, 6);
		bool collect = bf_rng_chance(&r, 500000);

		n = n < free_slots ? n : free_slots;
		for (uint32_t i = 0; i < n; i++)
			host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 1, host_va(&h, data), 0);
		sent += n;
		free_slots -= n;
		if (n) {
			update(8, 0x1008, (uint16_t)q.tail);
			portions++;
		}
		if (bf_rng_chance(&r, 50000))
			host_run(&h); /* the controller goes to sleep */
		else
			bf_sim_run(h.sim, h.sim->now_ps + bf_rng_below(&r, 20 * BF_US));
		while (collect) {
			const struct bf_nvme_cqe *e = &q.cq[q.head];

			if ((bf_le16(e->status) & 1u) != q.phase)
				break;
			c = *e;
			ck_assert_uint_eq(host_status(&c), 0);
			q.head = (q.head + 1) % 32;
			q.phase ^= !q.head;
			done++;
			free_slots++;
			update(12, 0x100c, (uint16_t)q.head);
		}
	}
	host_run(&h);
	ck_assert_uint_eq(rig_info(&h, 1).completed, sent);
	ck_assert_uint_lt(rings, portions);
	ck_assert_uint_eq(rig_counter(&h, "ssd0.driver_errors"), 0);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
}
END_TEST

START_TEST(test_wrong_shadow)
{
	struct rig_sink k;

	ck_assert_uint_eq(config(host_va(&h, shadow), host_va(&h, event)), 0);
	host_queue_open(&h, &q, 1, 32);
	rig_record(&h, &k);
	bf_put_le32(shadow + 8, 32);
	rig_tail(&h, 1, 1); /* look */
	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.wrong[BF_NVME_WRONG_SHADOW], 1);
	ck_assert_uint_eq(rig_info(&h, 1).sq_tail, 0);
	/* After a reset the registers are what counts. */
	bf_nvme_reset(h.dev);
	h.admin.tail = h.admin.head = 0;
	h.admin.phase = 1;
	memset((void *)(uintptr_t)h.admin.cq, 0, 16 * sizeof(*h.admin.cq));
	host_enable(&h, 0);
	host_queue_open(&h, &q, 1, 32);
	host_slot(&h, &q, BF_NVME_IO_FLUSH, 1);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
}
END_TEST

/* Live, where the register is memory: a host that rings with the value of a lap ago is heard, and heard once. */
START_TEST(test_equal_values_are_seen)
{
	struct bf_region *bar = bf_nvme_bar0(h.dev);

	ck_assert_uint_eq(config(host_va(&h, shadow), host_va(&h, event)), 0);
	host_queue_open(&h, &q, 1, 32);
	ck_assert_int_eq(mprotect(bar->bytes, bar->size, PROT_READ | PROT_WRITE), 0);
	bf_nvme_poll_bar(h.dev);
	bf_nvme_poll_bar(h.dev);
	for (uint32_t lap = 0; lap < 3; lap++) {
		bf_put_le32(bar->bytes + bf_nvme_sq_doorbell(1, 0), 5);
		ck_assert_int_eq(bf_nvme_poll_bar(h.dev), 1);
		ck_assert_int_eq(bf_nvme_poll_bar(h.dev), 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme shadow doorbells");
	TCase *c = tcase_create("dbbuf");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_config_errors);
	tcase_add_test(c, test_no_doorbell_is_missed);
	tcase_add_test(c, test_wrong_shadow);
	tcase_add_test(c, test_equal_values_are_seen);
	suite_add_tcase(s, c);
	return rig_main(s);
}
