/* Doorbells: wrong values and what the controller says to them, strides, lost ones. */
#include "tests/models/nvme_rig.h"

#include "sim/fault.h"

static struct host h;
static struct host_opts o;
static struct host_queue q;
static struct rig_sink k;

static void setup(void)
{
	memset(&o, 0, sizeof(o));
	o.nvme.profile = &bf_nvme_instant;
	host_open(&h, &o);
	host_queue_open(&h, &q, 1, 8);
	host_run(&h); /* the last head doorbell */
	rig_record(&h, &k);
}

static void teardown(void)
{
	host_close(&h);
}

/* The driver error of `wrong` with `value`, and nothing else happened. */
static void expect(enum bf_nvme_wrong wrong, uint32_t qid, uint32_t value)
{
	uint32_t before = k.wrong[wrong];

	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.wrong[wrong], before + 1);
	ck_assert_uint_eq(k.last_wrong.qid, qid);
	ck_assert_uint_eq(k.last_wrong.value, value);
}

static void put(uint32_t n)
{
	while (n--)
		host_slot(&h, &q, BF_NVME_IO_FLUSH, 1);
}

START_TEST(test_wrong_values)
{
	rig_tail(&h, 1, 8);
	expect(BF_NVME_WRONG_DOORBELL_VALUE, 1, 8);
	rig_tail(&h, 1, 0xffff);
	expect(BF_NVME_WRONG_DOORBELL_VALUE, 1, 0xffff);
	rig_tail(&h, 1, 0);
	expect(BF_NVME_WRONG_UNCHANGED, 1, 0);
	rig_head(&h, 1, 9);
	expect(BF_NVME_WRONG_DOORBELL_VALUE, 1, 9);
	rig_head(&h, 1, 0);
	expect(BF_NVME_WRONG_UNCHANGED, 1, 0);
	rig_head(&h, 1, 1); /* nothing was posted */
	expect(BF_NVME_WRONG_HEAD_PAST_TAIL, 1, 1);
	rig_tail(&h, 2, 1);
	expect(BF_NVME_WRONG_NO_QUEUE, 2, 1);
	rig_head(&h, 65535, 1);
	expect(BF_NVME_WRONG_NO_QUEUE, 65535, 1);
	ck_assert_uint_eq(rig_info(&h, 1).sq_tail, 0);
	ck_assert_uint_eq(rig_info(&h, 1).doorbells, 0);
	/* Bits 31:16 are reserved and do not count. */
	put(1);
	rig_tail(&h, 1, 0xabcd0001);
	ck_assert_uint_eq(rig_info(&h, 1).sq_tail, 1);
	ck_assert_uint_eq(rig_info(&h, 1).completed, 1);
	ck_assert_uint_eq(rig_counter(&h, "ssd0.doorbells_ignored"), 8);
}
END_TEST

/* More entries than there is room for: slots that were not fetched yet would be written over. */
START_TEST(test_tail_overrun)
{
	bf_nvme_bus_master(h.dev, false); /* nothing is fetched */
	put(5);
	rig_tail(&h, 1, 5);
	rig_tail(&h, 1, 4); /* seven more, two are free */
	expect(BF_NVME_WRONG_TAIL_OVERRUN, 1, 4);
	ck_assert_uint_eq(k.last_wrong.limit, 2);
	rig_tail(&h, 1, 7);
	ck_assert_uint_eq(rig_info(&h, 1).sq_tail, 7);
	bf_nvme_bus_master(h.dev, true);
	host_run(&h);
	ck_assert_uint_eq(rig_info(&h, 1).sq_head, 7);
}
END_TEST

START_TEST(test_head_past_tail)
{
	put(3);
	rig_tail(&h, 1, 3);
	ck_assert_uint_eq(rig_info(&h, 1).cq_tail, 3);
	rig_head(&h, 1, 4);
	expect(BF_NVME_WRONG_HEAD_PAST_TAIL, 1, 4);
	ck_assert_uint_eq(k.last_wrong.limit, 3);
	rig_head(&h, 1, 2);
	rig_head(&h, 1, 1); /* back */
	expect(BF_NVME_WRONG_HEAD_PAST_TAIL, 1, 1);
	rig_head(&h, 1, 3);
	ck_assert_uint_eq(rig_info(&h, 1).cq_head, 3);
}
END_TEST

START_TEST(test_not_ready)
{
	rig_store32(&h, BF_NVME_CC, 0);
	rig_tail(&h, 0, 1);
	expect(BF_NVME_WRONG_NOT_READY, 0, 1);
}
END_TEST

/* Each wrong doorbell is told by an outstanding event request: info 1 for a value, 0 for a register. */
START_TEST(test_events_of_wrong_doorbells)
{
	struct bf_nvme_cqe c;
	uint8_t *page = host_alloc(&h, 4096, 4096);

	rig_tail(&h, 1, 9); /* nobody asked */
	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.last_event.fate, 3);
	for (int i = 0; i < 3; i++)
		host_slot(&h, &h.admin, BF_NVME_ADM_ASYNC_EVENT, 0);
	host_ring(&h, &h.admin);
	host_run(&h);
	ck_assert(!host_poll(&h, &h.admin, &c)); /* what was before is not told late */
	rig_tail(&h, 1, 9);
	ck_assert(host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(bf_le32(c.dw0), 0x010100);
	ck_assert_uint_eq(host_status(&c), 0);
	rig_tail(&h, 1, 9); /* masked until the error log is read */
	ck_assert(!host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(rig_log(&h, 1, true, page, 64), 0);
	rig_tail(&h, 1, 9);
	ck_assert(!host_poll(&h, &h.admin, &c)); /* RAE keeps it masked */
	ck_assert_uint_eq(rig_log(&h, 1, false, page, 64), 0);
	rig_tail(&h, 5, 1);
	ck_assert(host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(bf_le32(c.dw0), 0x010000);
}
END_TEST

START_TEST(test_stride)
{
	struct host_opts wide = { 0 };
	struct bf_nvme_profile p = bf_nvme_instant;
	struct host w;
	struct bf_nvme_sqe *e;

	p.dstrd = 2;
	p.max_io_queues = 15;
	wide.nvme.profile = &p;
	host_open(&w, &wide);
	ck_assert_uint_eq(BF_FIELD_GET(BF_NVME_CAP_DSTRD, rig_read(&w, 0, 8)), 2);
	ck_assert_uint_eq(bf_nvme_bar0(w.dev)->size, 8192);
	e = host_slot(&w, &w.admin, BF_NVME_ADM_KEEP_ALIVE, 0);
	ck_assert_uint_eq(e->opcode, 0x18);
	rig_store32(&w, 0x1000, 1);
	ck_assert_uint_eq(rig_info(&w, 0).completed, 1);
	rig_store32(&w, 0x1004, 1); /* between doorbells */
	ck_assert_uint_eq(rig_info(&w, 0).cq_head, 0);
	rig_store32(&w, 0x1010, 1);
	ck_assert_uint_eq(rig_info(&w, 0).cq_head, 1);
	host_close(&w);
}
END_TEST

/* A doorbell that is lost is made good by the next one; a lost completion leaves a hole in the ring. */
START_TEST(test_faults)
{
	struct bf_fault_plan *plan;
	struct bf_error err = { 0 };

	ck_assert_int_eq(bf_fault_plan_parse("lost-doorbell on=ssd0.pcie skip=1; lost-completion on=ssd0.cq1 skip=2", 1,
					     &err, &plan),
			 0);
	h.sim->faults = plan;
	put(1);
	rig_tail(&h, 1, 1);
	ck_assert_uint_eq(rig_info(&h, 1).completed, 1);
	put(1);
	rig_tail(&h, 1, 2);
	ck_assert_uint_eq(rig_info(&h, 1).completed, 1);
	put(1);
	rig_tail(&h, 1, 3);
	ck_assert_uint_eq(rig_info(&h, 1).completed, 3);
	ck_assert_uint_eq(bf_le16(q.cq[1].status), 1);
	ck_assert_uint_eq(bf_le16(q.cq[2].status), 0);
	ck_assert_uint_eq(rig_info(&h, 1).cq_tail, 3);
	h.sim->faults = NULL;
	bf_fault_plan_destroy(plan);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme doorbells");
	TCase *c = tcase_create("doorbells");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_wrong_values);
	tcase_add_test(c, test_tail_overrun);
	tcase_add_test(c, test_head_past_tail);
	tcase_add_test(c, test_not_ready);
	tcase_add_test(c, test_events_of_wrong_doorbells);
	tcase_add_test(c, test_stride);
	tcase_add_test(c, test_faults);
	suite_add_tcase(s, c);
	return rig_main(s);
}
