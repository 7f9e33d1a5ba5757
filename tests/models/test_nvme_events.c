/* Asynchronous events, the error log, interrupts. */
#include "tests/models/nvme_rig.h"

static struct host h;
static struct host_opts o;
static uint8_t *page;
static uint32_t fired[64];
static const struct host_queue *watched;
static uint32_t early; /* interrupts whose completion was not in memory */

static void on_interrupt(void *arg, uint32_t vector)
{
	(void)arg;
	if (vector < 64)
		fired[vector]++;
	if (watched && vector == watched->qid && (bf_le16(watched->cq[watched->head].status) & 1u) != watched->phase)
		early++;
}

static void setup(void)
{
	memset(&o, 0, sizeof(o));
	memset(fired, 0, sizeof(fired));
	early = 0;
	watched = NULL;
	o.nvme.profile = &bf_nvme_970pro;
	o.nvme.interrupt = on_interrupt;
	host_open(&h, &o);
	page = host_alloc(&h, 8192, 4096);
}

static void teardown(void)
{
	host_close(&h);
}

static void request_events(uint32_t n)
{
	while (n--)
		host_slot(&h, &h.admin, BF_NVME_ADM_ASYNC_EVENT, 0);
	host_ring(&h, &h.admin);
	host_run(&h);
}

static uint32_t next_event(void)
{
	struct bf_nvme_cqe c;

	if (!host_poll(&h, &h.admin, &c))
		return 0xffffffff;
	ck_assert_uint_eq(host_status(&c), 0);
	return bf_le32(c.dw0);
}

START_TEST(test_limit)
{
	struct bf_nvme_cqe c;

	request_events(9);
	ck_assert(host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(host_status(&c), RIG_DNR | BF_NVME_SC_AER_LIMIT);
	ck_assert(!host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(rig_info(&h, 0).executing, 8);
	ck_assert_uint_eq(rig_identify(&h, 1, 0, page), 0);
	ck_assert_uint_eq(page[259], 7);
}
END_TEST

/* A temperature threshold below the temperature; told once, and again after the SMART log was read. */
START_TEST(test_smart_event)
{
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 0x0b, 0x1ff, NULL), 0);
	request_events(2);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 4, 300, NULL), 0);
	ck_assert_uint_eq(next_event(), 0x020101);
	ck_assert_uint_eq(rig_log(&h, 2, true, page, 512), 0);
	ck_assert_uint_eq(page[0], 2);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 4, 299, NULL), 0);
	ck_assert_uint_eq(next_event(), 0xffffffff); /* kept */
	ck_assert_uint_eq(rig_log(&h, 2, false, page, 512), 0);
	host_run(&h);
	ck_assert_uint_eq(next_event(), 0x020101);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 4, 343, NULL), 0);
	ck_assert_uint_eq(rig_log(&h, 2, false, page, 512), 0);
	ck_assert_uint_eq(page[0], 0);
}
END_TEST

/* An event that nobody waits for waits itself, once; what the host does not want never comes. */
START_TEST(test_kept_event)
{
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 4, 300, NULL), 0);
	request_events(1);
	ck_assert_uint_eq(next_event(), 0xffffffff); /* feature 0Bh is 0 */
	teardown();
	setup();
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 0x0b, 0xff, NULL), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 4, 300, NULL), 0);
	request_events(2);
	ck_assert_uint_eq(next_event(), 0x020101);
	ck_assert_uint_eq(next_event(), 0xffffffff);
	ck_assert_uint_eq(rig_log(&h, 2, false, page, 512), 0);
	host_run(&h);
	ck_assert_uint_eq(next_event(), 0xffffffff);
}
END_TEST

/* A namespace that is detached: notice, changed list, cleared by reading it. */
START_TEST(test_namespace_notice)
{
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 0x0b, 1u << 8, NULL), 0);
	request_events(2);
	memset(page, 0, 4096);
	bf_put_le16(page, 1);
	bf_put_le16(page + 2, 1);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_NS_ATTACH, 1, host_va(&h, page), 1, 0, NULL), 0);
	host_run(&h);
	ck_assert_uint_eq(next_event(), 0x040002);
	ck_assert_uint_eq(rig_log(&h, 4, true, page, 4096), 0);
	ck_assert_uint_eq(bf_get_le32(page), 1);
	ck_assert_uint_eq(bf_get_le32(page + 4), 0);
	ck_assert_uint_eq(rig_log(&h, 4, false, page, 4096), 0);
	ck_assert_uint_eq(bf_get_le32(page), 1);
	ck_assert_uint_eq(rig_log(&h, 4, false, page, 4096), 0);
	ck_assert_uint_eq(bf_get_le32(page), 0);
}
END_TEST

START_TEST(test_error_log)
{
	ck_assert_uint_eq(rig_log(&h, 1, false, page, 4096), 0);
	for (int i = 0; i < 4096; i++)
		ck_assert_uint_eq(page[i], 0);
	for (uint32_t i = 0; i < 70; i++)
		ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_IDENTIFY, 0, host_va(&h, page), 0x77, 0, NULL),
				  RIG_DNR | BF_NVME_SC_INVALID_FIELD);
	ck_assert_uint_eq(rig_log(&h, 1, false, page, 4096), 0);
	ck_assert_uint_eq(bf_get_le64(page), 70); /* newest first */
	ck_assert_uint_eq(bf_get_le64(page + 63 * 64), 7);
	ck_assert_uint_eq(bf_get_le16(page + 8), 0);
	ck_assert_uint_eq(bf_get_le16(page + 10), h.next_cid - 2u);
	ck_assert_uint_eq(bf_get_le16(page + 12), 0x8004); /* with the phase bit's place: DNR, Invalid Field */
	ck_assert_uint_eq(bf_get_le16(page + 14), 40);     /* CNS */
	/* The count goes on over resets. */
	rig_store32(&h, BF_NVME_CC, 0);
	h.admin.tail = h.admin.head = 0;
	h.admin.phase = 1;
	memset((void *)(uintptr_t)h.admin.cq, 0, 16 * sizeof(*h.admin.cq));
	host_enable(&h, 0);
	ck_assert_uint_eq(rig_log(&h, 1, false, page, 64), 0);
	ck_assert_uint_eq(bf_get_le64(page), 70);
}
END_TEST

/* One interrupt for the completions that are there, never before the first of them is. */
START_TEST(test_interrupts)
{
	struct host_queue q;
	struct bf_nvme_cqe c;
	uint32_t before, n = 0;

	host_queue_memory(&h, &q, 5, 64);
	ck_assert_uint_eq(rig_create_cq(&h, 5, 64, host_va(&h, q.cq), 3, 5), 0);
	ck_assert_uint_eq(rig_create_sq(&h, 5, 64, host_va(&h, q.sq), 1, 5), 0);
	ck_assert_uint_ge(fired[0], 2);
	watched = &q;
	for (int i = 0; i < 20; i++) {
		host_slot(&h, &q, BF_NVME_IO_FLUSH, 1);
		host_ring(&h, &q);
		host_run(&h);
		ck_assert_uint_eq(fired[5], (uint32_t)i + 1);
		ck_assert(host_poll(&h, &q, &c));
	}
	ck_assert_uint_eq(early, 0);
	watched = NULL;
	/* Masked ones wait (pin and MSI). */
	before = fired[5];
	rig_store32(&h, BF_NVME_INTMS, 1u << 5);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_INTMS), 1u << 5);
	for (int i = 0; i < 3; i++)
		host_slot(&h, &q, BF_NVME_IO_FLUSH, 1);
	host_ring(&h, &q);
	host_run(&h);
	ck_assert_uint_eq(fired[5], before);
	rig_store32(&h, BF_NVME_INTMC, 1u << 5);
	ck_assert_uint_eq(fired[5], before + 1);
	while (host_poll(&h, &q, &c))
		n++;
	ck_assert_uint_eq(n, 3);
	host_run(&h);
	/* A queue without interrupts. */
	before = fired[0] + fired[5];
	host_queue_open(&h, &q, 6, 16);
	before = fired[0];
	host_slot(&h, &q, BF_NVME_IO_FLUSH, 1);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	ck_assert_uint_eq(fired[0], before);
	ck_assert_uint_eq(fired[6], 0);
}
END_TEST

/* Aggregation: four completions or 500 us. */
START_TEST(test_coalescing)
{
	struct host_queue q;
	uint64_t start;

	host_queue_memory(&h, &q, 1, 64);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 64, host_va(&h, q.cq), 3, 1), 0);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 64, host_va(&h, q.sq), 1, 1), 0);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 8, 5u << 8 | 3, NULL), 0);
	for (int i = 0; i < 8; i++)
		host_slot(&h, &q, BF_NVME_IO_FLUSH, 1);
	host_ring(&h, &q);
	start = h.sim->now_ps;
	host_run(&h);
	ck_assert_uint_eq(fired[1], 2);
	ck_assert_uint_lt(h.sim->now_ps - start, 400 * BF_US);
	host_slot(&h, &q, BF_NVME_IO_FLUSH, 1);
	host_ring(&h, &q);
	start = h.sim->now_ps;
	host_run(&h);
	ck_assert_uint_eq(fired[1], 3);
	ck_assert_uint_ge(h.sim->now_ps - start, 500 * BF_US);
	/* Not for this vector. */
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 9, 1u << 16 | 1, NULL), 0);
	host_slot(&h, &q, BF_NVME_IO_FLUSH, 1);
	host_ring(&h, &q);
	start = h.sim->now_ps;
	host_run(&h);
	ck_assert_uint_eq(fired[1], 4);
	ck_assert_uint_lt(h.sim->now_ps - start, 100 * BF_US);
}
END_TEST

/* The parts of a command's time add up to the whole of it. */
static void add_up(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *hist)
{
	uint64_t *sum = arg;

	(void)unit;
	(void)counter;
	if (hist && !strncmp(name, "ssd0.", 5) && (strstr(name, "queue.") || strstr(name, "media")))
		*sum += hist->sum;
}

START_TEST(test_parts_of_time)
{
	struct host_queue q;
	uint64_t before = 0, after = 0, start, wire;

	host_queue_open(&h, &q, 1, 16);
	host_run(&h);
	bf_stats_each(h.sim, add_up, &before);
	host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, 8, host_va(&h, page), 0);
	host_ring(&h, &q);
	start = h.sim->now_ps;
	host_run(&h); /* the last event is the completion's landing */
	bf_stats_each(h.sim, add_up, &after);
	wire = (4 + 24) * bf_nvme_970pro.pcie.ps_per_kib / 1024 + bf_nvme_970pro.pcie.latency_ps + 1;
	ck_assert_uint_ge(after - before + wire + 10000, h.sim->now_ps - start);
	ck_assert_uint_le(after - before + wire, h.sim->now_ps - start + 10000);
	ck_assert_uint_gt(rig_counter(&h, "ssd0.media"), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme events");
	TCase *c = tcase_create("events");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_limit);
	tcase_add_test(c, test_smart_event);
	tcase_add_test(c, test_kept_event);
	tcase_add_test(c, test_namespace_notice);
	tcase_add_test(c, test_error_log);
	tcase_add_test(c, test_interrupts);
	tcase_add_test(c, test_coalescing);
	tcase_add_test(c, test_parts_of_time);
	suite_add_tcase(s, c);
	return rig_main(s);
}
