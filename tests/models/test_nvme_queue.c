/* Queues: creation, deletion, full completion queues, SQHD, phases, arbitration, identifiers, fused pairs. */
#include "tests/models/nvme_rig.h"

static struct host h;
static struct host_opts o;
static struct bf_nvme_profile patient; /* doorbells that arrive together are served together */
static uint8_t *data;

static void setup(void)
{
	memset(&o, 0, sizeof(o));
	o.nvme.profile = &bf_nvme_970pro;
	patient = bf_nvme_instant;
	patient.doorbell_ps = BF_US;
}

static void open_host(void)
{
	host_open(&h, &o);
	data = host_alloc(&h, 65536, 65536);
}

/* A command that takes no data. */
static struct bf_nvme_sqe *put_flush(struct host_queue *q)
{
	return host_slot(&h, q, BF_NVME_IO_FLUSH, 1);
}

static struct bf_nvme_sqe *put_read(struct host_queue *q, uint64_t slba)
{
	return host_rw(&h, q, BF_NVME_IO_READ, 1, slba, 8, host_va(&h, data), 0);
}

START_TEST(test_create_errors)
{
	static const uint32_t sizes[] = { 1, 16386 };
	uint64_t at;

	open_host();
	at = host_va(&h, host_alloc(&h, 65536, 65536));
	ck_assert_uint_eq(rig_create_cq(&h, 0, 16, at, 1, 0), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_create_cq(&h, 129, 16, at, 1, 0), RIG_DNR | BF_NVME_SC_QID);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(rig_create_cq(&h, 1, sizes[i], at, 1, 0), RIG_DNR | BF_NVME_SC_QUEUE_SIZE);
		ck_assert_uint_eq(rig_create_sq(&h, 1, sizes[i], at, 1, 1), RIG_DNR | BF_NVME_SC_QUEUE_SIZE);
	}
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, at, 3, 33), RIG_DNR | BF_NVME_SC_VECTOR);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, at, 0, 0), RIG_DNR | BF_NVME_SC_INVALID_FIELD); /* CQR */
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, at + 8, 1, 0), RIG_DNR | BF_NVME_SC_PRP_OFFSET);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, at, 1, 0), 0);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, at, 1, 0), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_create_sq(&h, 0, 16, at, 1, 1), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_create_sq(&h, 129, 16, at, 1, 1), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, at, 1, 0), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, at, 1, 129), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, at, 1, 2), RIG_DNR | BF_NVME_SC_CQ_INVALID);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, at, 0, 1), RIG_DNR | BF_NVME_SC_INVALID_FIELD);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, at + 2048, 1, 1), RIG_DNR | BF_NVME_SC_PRP_OFFSET);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, at, 1, 1), 0);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, at, 1, 1), RIG_DNR | BF_NVME_SC_QID);
	/* Two errors at once: the first of the documented order. */
	ck_assert_uint_eq(rig_create_sq(&h, 0, 1, at + 8, 0, 0), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_create_sq(&h, 2, 1, at + 8, 0, 0), RIG_DNR | BF_NVME_SC_QUEUE_SIZE);
	/* Deletion. */
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_CQ, 1), RIG_DNR | BF_NVME_SC_QUEUE_DELETION);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_CQ, 0), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, 0), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, 2), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, 70000), RIG_DNR | BF_NVME_SC_QID);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, 1), 0);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_CQ, 1), 0);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_CQ, 1), RIG_DNR | BF_NVME_SC_QID);
	host_close(&h);
}
END_TEST

START_TEST(test_entry_sizes)
{
	uint64_t at;

	open_host();
	at = host_va(&h, host_alloc(&h, 4096, 4096));
	rig_store32(&h, BF_NVME_CC, 0x00000001);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, at, 1, 0), RIG_DNR | BF_NVME_SC_INVALID_FIELD);
	rig_store32(&h, BF_NVME_CC, 0x00400001);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 16, at, 1, 0), 0);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, at, 1, 1), RIG_DNR | BF_NVME_SC_INVALID_FIELD);
	rig_store32(&h, BF_NVME_CC, 0x00460001);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 16, at, 1, 1), 0);
	host_close(&h);
}
END_TEST

/* A queue of scattered pages, given as a list that chains over two list pages, works past its first pages. */
START_TEST(test_page_list)
{
	enum { ENTRIES = 40000, SQ_PAGES = 625, CQ_PAGES = 157 };
	uint8_t *sq, *cq, *list;
	struct bf_nvme_cqe c;
	uint64_t va;

	o.nvme.profile = &bf_nvme_instant;
	open_host();
	sq = host_alloc(&h, SQ_PAGES * 4096, 4096);
	cq = host_alloc(&h, CQ_PAGES * 4096, 4096);
	list = host_alloc(&h, 3 * 4096, 4096);
	va = host_va(&h, list);
	for (uint32_t i = 0; i < CQ_PAGES; i++) /* backwards */
		bf_put_le64(list + 8 * i, host_va(&h, cq) + (uint64_t)(CQ_PAGES - 1 - i) * 4096);
	ck_assert_uint_eq(rig_create_cq(&h, 1, ENTRIES, va, 0, 0), 0);
	for (uint32_t i = 0, at = 0; i < SQ_PAGES; i++, at++) {
		if (at == 511)
			bf_put_le64(list + 8 * at++, va + 4096);
		bf_put_le64(list + 8 * at, host_va(&h, sq) + (uint64_t)(SQ_PAGES - 1 - i) * 4096);
	}
	ck_assert_uint_eq(rig_create_sq(&h, 1, ENTRIES, va, 0, 1), 0);
	for (uint32_t i = 0; i < ENTRIES - 1; i++) {
		uint8_t *e = sq + (size_t)(SQ_PAGES - 1 - i / 64) * 4096 + i % 64 * 64;

		e[0] = BF_NVME_IO_FLUSH;
		bf_put_le16(e + 2, (uint16_t)i);
		e[4] = 1;
		if (i % 1000 == 999 || i == ENTRIES - 2)
			rig_tail(&h, 1, i + 1);
	}
	for (uint32_t i = 0; i < ENTRIES - 1; i++) {
		memcpy(&c, cq + (size_t)(CQ_PAGES - 1 - i / 256) * 4096 + i % 256 * 16, 16);
		ck_assert_uint_eq(bf_le16(c.cid), (uint16_t)i);
		ck_assert_uint_eq(bf_le16(c.status), 1);
	}
	/* A page that is not aligned, and a list that cannot be read. */
	bf_put_le64(list + 16, 4);
	ck_assert_uint_eq(rig_create_cq(&h, 2, ENTRIES, va, 0, 0), RIG_DNR | BF_NVME_SC_PRP_OFFSET);
	ck_assert_uint_eq(rig_create_cq(&h, 2, ENTRIES, 0x7000, 0, 0), BF_NVME_SC_DATA_TRANSFER);
	host_close(&h);
}
END_TEST

/* Several submission queues complete into one completion queue; SQID and SQHD tell them apart. */
START_TEST(test_many_to_one)
{
	struct host_queue q[3];
	struct bf_nvme_cqe c;
	uint32_t seen[3] = { 0 };

	open_host();
	host_queue_open(&h, &q[0], 1, 64);
	for (uint16_t i = 1; i < 3; i++) {
		host_queue_memory(&h, &q[i], (uint16_t)(i + 1), 8);
		ck_assert_uint_eq(rig_create_sq(&h, i + 1u, 8, host_va(&h, q[i].sq), 1, 1), 0);
	}
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t j = 0; j < 3; j++)
			put_read(&q[j], 8 * i);
	for (uint32_t j = 0; j < 3; j++)
		host_ring(&h, &q[j]);
	host_run(&h);
	while (host_poll(&h, &q[0], &c)) {
		uint32_t sqid = bf_le16(c.sqid);

		ck_assert_uint_eq(host_status(&c), 0);
		ck_assert(sqid >= 1 && sqid <= 3);
		/* Consumed with one fetch, long before the first completion. */
		ck_assert_uint_eq(bf_le16(c.sqhd), 5);
		seen[sqid - 1]++;
	}
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(seen[i], 5);
	host_run(&h);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, 1), 0);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, 3), 0);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_CQ, 1), RIG_DNR | BF_NVME_SC_QUEUE_DELETION);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, 2), 0);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_CQ, 1), 0);
	host_close(&h);
}
END_TEST

/* A full completion queue holds completions; each head doorbell lets as many through as it makes room for. */
START_TEST(test_full_cq)
{
	struct host_queue q, small;
	uint32_t posted = 0;

	open_host();
	host_queue_memory(&h, &q, 1, 32);
	host_queue_memory(&h, &small, 1, 4);
	ck_assert_uint_eq(rig_create_cq(&h, 1, 4, host_va(&h, small.cq), 1, 0), 0);
	ck_assert_uint_eq(rig_create_sq(&h, 1, 32, host_va(&h, q.sq), 1, 1), 0);
	for (int i = 0; i < 10; i++)
		put_flush(&q);
	host_ring(&h, &q);
	host_run(&h);
	ck_assert_uint_eq(rig_info(&h, 1).held, 7);
	ck_assert_uint_eq(rig_info(&h, 1).cq_tail, 3);
	ck_assert_uint_eq(bf_le16(small.cq[3].status), 0); /* the last slot stays empty */
	for (uint32_t head = 1; head <= 10; head++) {
		const struct bf_nvme_cqe *c = &small.cq[(head - 1) % 4];

		ck_assert_uint_eq(bf_le16(c->status), (head - 1) / 4 % 2 == 0);
		ck_assert_uint_eq(bf_le16(c->cid), bf_le16(q.sq[head - 1].cid));
		posted = head + 3 < 10 ? head + 3 : 10;
		rig_head(&h, 1, head % 4);
		ck_assert_uint_eq(rig_info(&h, 1).held, 10 - posted);
	}
	ck_assert_uint_eq(rig_counter(&h, "ssd0.held"), 7);
	/* Entries that are announced while completions are held are fetched when they are gone. */
	for (int i = 0; i < 4; i++)
		put_flush(&q);
	host_ring(&h, &q);
	host_run(&h);
	ck_assert_uint_eq(rig_info(&h, 1).held, 1);
	for (int i = 0; i < 5; i++)
		put_flush(&q);
	host_ring(&h, &q);
	host_run(&h);
	ck_assert_uint_eq(rig_info(&h, 1).sq_head, 14);
	rig_head(&h, 1, 1);
	ck_assert_uint_eq(rig_info(&h, 1).sq_head, 19);
	/* The queue and what it holds can be deleted. */
	ck_assert_uint_gt(rig_info(&h, 1).held, 0);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_SQ, 1), 0);
	ck_assert_uint_eq(rig_delete(&h, BF_NVME_ADM_DELETE_CQ, 1), 0);
	host_close(&h);
}
END_TEST

/* On request a completion is two posted writes, the one with the phase tag last. */
START_TEST(test_split_completion)
{
	struct host_queue q;
	uint64_t writes;

	patient.split_completions = true;
	o.nvme.profile = &patient;
	open_host();
	host_queue_open(&h, &q, 1, 8);
	writes = rig_counter(&h, "ssd0.dma.writes");
	for (int i = 0; i < 5; i++)
		put_flush(&q);
	host_ring(&h, &q);
	host_run(&h);
	ck_assert_uint_eq(rig_counter(&h, "ssd0.dma.writes") - writes, 10);
	for (int i = 0; i < 5; i++)
		ck_assert_uint_eq(bf_le16(q.cq[i].status), 1);
	host_close(&h);
}
END_TEST

/* Deletion ends what was announced before it completes itself. */
START_TEST(test_delete_outstanding)
{
	struct host_queue q;
	struct bf_nvme_sqe *e;
	struct bf_nvme_cqe c;
	uint32_t aborted = 0, good = 0;

	open_host();
	host_queue_open(&h, &q, 1, 64);
	for (uint64_t i = 0; i < 8; i++)
		host_rw(&h, &q, BF_NVME_IO_WRITE, 1, i * 8, 8, host_va(&h, data), 0);
	host_ring(&h, &q);
	host_run(&h);
	while (host_poll(&h, &q, &c))
		;
	for (uint64_t i = 0; i < 50; i++)
		put_read(&q, i % 8 * 8);
	host_ring(&h, &q);
	bf_sim_run(h.sim, h.sim->now_ps + 30 * BF_US);
	e = host_slot(&h, &h.admin, BF_NVME_ADM_DELETE_SQ, 0);
	bf_put_le32(e->cdw10.b, 1);
	host_ring(&h, &h.admin);
	while (!host_poll(&h, &h.admin, &c))
		bf_sim_run(h.sim, h.sim->now_ps + BF_US);
	ck_assert_uint_eq(host_status(&c), 0);
	while (host_poll(&h, &q, &c)) {
		if (host_status(&c) == BF_NVME_SC_ABORT_SQ_DELETION)
			aborted++;
		else
			good += host_status(&c) == 0;
	}
	ck_assert_uint_eq(aborted + good, 50);
	ck_assert_uint_ge(aborted, 40);
	host_run(&h);
	/* The number is free again. */
	ck_assert_uint_eq(rig_create_sq(&h, 1, 64, host_va(&h, q.sq), 1, 1), 0);
	q.tail = 0;
	put_flush(&q);
	ck_assert_uint_eq(host_do(&h, &q, &c), 0);
	ck_assert_uint_eq(bf_le16(c.sqhd), 1);
	host_close(&h);
}
END_TEST

/* Delete SQ and Delete CQ, one behind the other without waiting. */
START_TEST(test_delete_both_at_once)
{
	struct host_queue q;
	struct bf_nvme_sqe *e;
	struct bf_nvme_cqe c;

	open_host();
	host_queue_open(&h, &q, 1, 64);
	for (int i = 0; i < 20; i++)
		put_read(&q, 0);
	host_ring(&h, &q);
	for (uint8_t op = BF_NVME_ADM_DELETE_SQ; op <= BF_NVME_ADM_DELETE_CQ; op += 4) {
		e = host_slot(&h, &h.admin, op, 0);
		bf_put_le32(e->cdw10.b, 1);
	}
	host_ring(&h, &h.admin);
	host_run(&h);
	for (int i = 0; i < 2; i++) {
		ck_assert(host_poll(&h, &h.admin, &c));
		ck_assert(host_status(&c) == 0 || host_status(&c) == (RIG_DNR | BF_NVME_SC_QUEUE_DELETION));
	}
	host_run(&h);
	host_close(&h);
}
END_TEST

/* Bursts: with queues 1 and 2 full, entries alternate in groups of 2^AB. */
static uint32_t longest_run(const struct rig_sink *k, uint32_t from)
{
	uint32_t best = 0, run = 0;

	for (uint32_t i = from; i < k->norder; i++) {
		run = i > from && k->order[i] == k->order[i - 1] ? run + 1 : 1;
		best = run > best ? run : best;
	}
	return best;
}

START_TEST(test_round_robin)
{
	struct host_queue q[2];
	struct rig_sink k;
	uint32_t from;

	o.nvme.profile = &patient;
	open_host();
	host_queue_open(&h, &q[0], 1, 128);
	host_queue_open(&h, &q[1], 2, 128);
	rig_record(&h, &k);
	for (uint32_t ab = 0; ab < 4; ab++) {
		ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 1, ab, NULL), 0);
		bf_stream_flush(&h.sim->rec);
		from = k.norder;
		for (int j = 0; j < 2; j++) {
			struct bf_nvme_cqe c;

			for (int i = 0; i < 32; i++)
				put_flush(&q[j]);
			while (host_poll(&h, &q[j], &c))
				;
		}
		host_ring(&h, &q[0]);
		host_ring(&h, &q[1]);
		host_run(&h);
		bf_stream_flush(&h.sim->rec);
		ck_assert_uint_eq(k.norder - from, 64);
		ck_assert_uint_eq(longest_run(&k, from), 1u << ab);
	}
	host_close(&h);
}
END_TEST

/* Weights 4 : 2 : 1 for high, medium and low; urgent strictly first. */
START_TEST(test_weighted_round_robin)
{
	static const uint32_t prio[4] = { 0, 1, 2, 3 };
	uint32_t first[5] = { 0 }, n[5] = { 0 };
	struct host_queue q[4], dummy;
	struct rig_sink k;

	o.nvme.profile = &patient;
	ck_assert_int_eq(host_try_open(&h, &o), 0);
	host_queue_memory(&h, &h.admin, 0, 16);
	data = host_alloc(&h, 4096, 4096);
	rig_store32(&h, BF_NVME_AQA, 15u << 16 | 15u);
	host_write64(&h, BF_NVME_ASQ, host_va(&h, h.admin.sq));
	host_write64(&h, BF_NVME_ACQ, host_va(&h, h.admin.cq));
	rig_store32(&h, BF_NVME_CC, 0x00460001 | 1u << 11);
	ck_assert_uint_eq(rig_read32(&h, BF_NVME_CSTS), 1);
	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_SET_FEATURES, 0, 0, 1, 3u << 24 | 1u << 16 | 0u << 8 | 0, NULL), 0);
	host_queue_memory(&h, &dummy, 9, 1024);
	ck_assert_uint_eq(rig_create_cq(&h, 9, 1024, host_va(&h, dummy.cq), 1, 0), 0);
	for (uint32_t i = 0; i < 4; i++) {
		host_queue_memory(&h, &q[i], (uint16_t)(i + 1), 128);
		ck_assert_uint_eq(rig_create_sq(&h, i + 1, 128, host_va(&h, q[i].sq), 1 | prio[i] << 1, 9), 0);
		for (int j = 0; j < 70; j++)
			put_flush(&q[i]);
	}
	rig_record(&h, &k);
	for (uint32_t i = 4; i-- > 0;) /* the urgent one rings last; all arrive before the first is served */
		host_ring(&h, &q[i]);
	host_run(&h);
	bf_stream_flush(&h.sim->rec);
	ck_assert_uint_eq(k.norder, 280);
	for (uint32_t i = 0; i < 280; i++) {
		uint32_t sqid = k.order[i];

		n[sqid]++;
		first[sqid] = n[sqid] == 1 ? i : first[sqid];
		if (n[2] == 60 && sqid == 2) { /* while all three have entries their shares are as the weights */
			ck_assert_uint_eq(n[3], 28);
			ck_assert_uint_eq(n[4], 14);
			ck_assert_uint_eq(n[1], 70);
		}
	}
	host_close(&h);
}
END_TEST

/* An identifier that is in use: the second command fails, the first does not. */
START_TEST(test_cid_in_use)
{
	struct host_queue q;
	struct bf_nvme_cqe c;
	uint32_t conflicts = 0, good = 0;

	open_host();
	host_queue_open(&h, &q, 1, 64);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, host_va(&h, data), 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	for (int i = 0; i < 3; i++)
		bf_put_le16(put_read(&q, 0)->cid.b, 7);
	host_ring(&h, &q);
	host_run(&h);
	while (host_poll(&h, &q, &c)) {
		ck_assert_uint_eq(bf_le16(c.cid), 7);
		conflicts += host_status(&c) == (RIG_DNR | BF_NVME_SC_CID_CONFLICT);
		good += host_status(&c) == 0;
	}
	ck_assert_uint_eq(conflicts, 2);
	ck_assert_uint_eq(good, 1);
	bf_put_le16(put_read(&q, 0)->cid.b, 7); /* free again */
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	host_close(&h);
}
END_TEST

static uint32_t abort_it(uint32_t sqid, uint32_t cid)
{
	uint32_t dw0 = 77;

	ck_assert_uint_eq(rig_admin(&h, BF_NVME_ADM_ABORT, 0, 0, sqid | cid << 16, 0, &dw0), 0);
	return dw0;
}

START_TEST(test_abort)
{
	struct host_queue q;
	struct bf_nvme_cqe c;
	struct bf_nvme_sqe *e;

	open_host();
	host_queue_open(&h, &q, 1, 64);
	ck_assert_uint_eq(abort_it(1, 5), 1); /* not there */
	ck_assert_uint_eq(abort_it(9, 5), 1);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, host_va(&h, data), 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	/* In the media: 60 us of reading. */
	bf_put_le16(put_read(&q, 0)->cid.b, 0x1234);
	host_ring(&h, &q);
	bf_sim_run(h.sim, h.sim->now_ps + 10 * BF_US);
	e = host_slot(&h, &h.admin, BF_NVME_ADM_ABORT, 0);
	bf_put_le32(e->cdw10.b, 1 | 0x1234u << 16);
	host_ring(&h, &h.admin);
	bf_sim_run(h.sim, h.sim->now_ps + 20 * BF_US); /* before the read would have been done */
	ck_assert(host_poll(&h, &q, &c));
	ck_assert_uint_eq(host_status(&c), BF_NVME_SC_ABORT_REQUESTED);
	ck_assert(host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(bf_le32(c.dw0), 0);
	host_run(&h);
	ck_assert(!host_poll(&h, &q, &c));
	/* An event request. */
	e = host_slot(&h, &h.admin, BF_NVME_ADM_ASYNC_EVENT, 0);
	bf_put_le16(e->cid.b, 0x999);
	host_ring(&h, &h.admin);
	host_run(&h);
	e = host_slot(&h, &h.admin, BF_NVME_ADM_ABORT, 0);
	bf_put_le32(e->cdw10.b, 0x999u << 16);
	host_ring(&h, &h.admin);
	host_run(&h);
	ck_assert(host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(bf_le16(c.cid), 0x999);
	ck_assert_uint_eq(host_status(&c), BF_NVME_SC_ABORT_REQUESTED);
	ck_assert(host_poll(&h, &h.admin, &c));
	ck_assert_uint_eq(bf_le32(c.dw0), 0);
	host_close(&h);
}
END_TEST

/* Compare and Write as one, and halves of it. */
START_TEST(test_fused)
{
	struct host_queue q;
	struct bf_nvme_cqe c;

	open_host();
	host_queue_open(&h, &q, 1, 8);
	memset(data, 0, 65536);
	memset(data + 4096, 0x77, 4096);
	for (int round = 0; round < 12; round++) { /* all places in the ring, the wrap included */
		put_flush(&q);
		ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
		host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, host_va(&h, data), 0);
		ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
		host_rw(&h, &q, BF_NVME_IO_COMPARE, 1, 0, 8, host_va(&h, data), 0)->flags = BF_NVME_FUSE_FIRST;
		host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, host_va(&h, data + 4096), 0)->flags = BF_NVME_FUSE_SECOND;
		host_ring(&h, &q);
		host_run(&h);
		for (int i = 0; i < 2; i++) {
			ck_assert(host_poll(&h, &q, &c));
			ck_assert_uint_eq(host_status(&c), 0);
		}
		host_run(&h);
	}
	/* The first alone, the second alone, the first before another command. */
	host_rw(&h, &q, BF_NVME_IO_COMPARE, 1, 0, 8, host_va(&h, data), 0)->flags = BF_NVME_FUSE_FIRST;
	ck_assert_uint_eq(host_do(&h, &q, NULL), RIG_DNR | BF_NVME_SC_MISSING_FUSED);
	host_rw(&h, &q, BF_NVME_IO_WRITE, 1, 0, 8, host_va(&h, data), 0)->flags = BF_NVME_FUSE_SECOND;
	ck_assert_uint_eq(host_do(&h, &q, NULL), RIG_DNR | BF_NVME_SC_MISSING_FUSED);
	host_rw(&h, &q, BF_NVME_IO_COMPARE, 1, 0, 8, host_va(&h, data), 0)->flags = BF_NVME_FUSE_FIRST;
	put_flush(&q);
	host_ring(&h, &q);
	host_run(&h);
	ck_assert(host_poll(&h, &q, &c));
	ck_assert_uint_eq(host_status(&c), RIG_DNR | BF_NVME_SC_MISSING_FUSED);
	ck_assert(host_poll(&h, &q, &c));
	ck_assert_uint_eq(host_status(&c), 0);
	host_close(&h);
}
END_TEST

/* More commands than the controller works on at a time: they wait, the admin queue does not, all complete. */
START_TEST(test_more_than_fits)
{
	enum { DEEP = 2048, N = 3 };
	struct host_queue q[N];
	struct bf_nvme_cqe c;
	uint32_t done = 0;

	open_host();
	for (uint16_t i = 0; i < N; i++)
		host_queue_open(&h, &q[i], (uint16_t)(i + 1), DEEP);
	host_rw(&h, &q[0], BF_NVME_IO_WRITE, 1, 0, 8, host_va(&h, data), 0);
	ck_assert_uint_eq(host_do(&h, &q[0], NULL), 0);
	for (uint32_t i = 0; i < N; i++) {
		for (uint32_t j = 0; j < 2000; j++)
			put_read(&q[i], 0);
		host_ring(&h, &q[i]);
	}
	/* Reads of one page wait for each other: after 8 ms about 130 are done and 4096 are inside. */
	bf_sim_run(h.sim, h.sim->now_ps + 8 * BF_MS);
	ck_assert_uint_eq(rig_info(&h, 1).executing + rig_info(&h, 2).executing + rig_info(&h, 3).executing, 4096);
	host_slot(&h, &h.admin, BF_NVME_ADM_KEEP_ALIVE, 0);
	host_ring(&h, &h.admin);
	bf_sim_run(h.sim, h.sim->now_ps + BF_MS); /* behind what waits for the command processor already */
	ck_assert_uint_eq(rig_info(&h, 1).executing + rig_info(&h, 2).executing + rig_info(&h, 3).executing, 4096);
	ck_assert(host_poll(&h, &h.admin, &c));
	host_run(&h);
	for (uint32_t i = 0; i < N; i++)
		while (host_poll(&h, &q[i], &c))
			done += host_status(&c) == 0;
	host_run(&h);
	ck_assert_uint_eq(done, N * 2000);
	host_close(&h);
}
END_TEST

/* Thousands of queue pairs are cheap and each works. */
START_TEST(test_4096_queue_pairs)
{
	enum { PAIRS = 4096 };
	uint8_t *rings;
	uint64_t at;

	o.nvme.profile = &bf_nvme_instant;
	o.mem = 128u << 20;
	open_host();
	rings = host_alloc(&h, (uint64_t)PAIRS * 8192, 4096);
	at = host_va(&h, rings);
	for (uint32_t i = 0; i < PAIRS; i++) {
		ck_assert_uint_eq(rig_create_cq(&h, i + 1, 4, at + i * 8192, 1, 0), 0);
		ck_assert_uint_eq(rig_create_sq(&h, i + 1, 4, at + i * 8192 + 4096, 1, i + 1), 0);
	}
	for (uint32_t i = 0; i < PAIRS; i++) {
		uint8_t *e = rings + (size_t)i * 8192 + 4096;

		e[4] = 1; /* Flush of namespace 1 */
		host_write32(&h, bf_nvme_sq_doorbell(i + 1, 0), 1);
	}
	host_run(&h);
	for (uint32_t i = 0; i < PAIRS; i++)
		ck_assert_uint_eq(bf_get_le16(rings + (size_t)i * 8192 + 14), 1);
	host_close(&h);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme queues");
	TCase *c = tcase_create("queues");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, setup, NULL);
	tcase_add_test(c, test_create_errors);
	tcase_add_test(c, test_entry_sizes);
	tcase_add_test(c, test_page_list);
	tcase_add_test(c, test_many_to_one);
	tcase_add_test(c, test_full_cq);
	tcase_add_test(c, test_split_completion);
	tcase_add_test(c, test_delete_outstanding);
	tcase_add_test(c, test_delete_both_at_once);
	tcase_add_test(c, test_round_robin);
	tcase_add_test(c, test_weighted_round_robin);
	tcase_add_test(c, test_cid_in_use);
	tcase_add_test(c, test_abort);
	tcase_add_test(c, test_fused);
	tcase_add_test(c, test_more_than_fits);
	tcase_add_test(c, test_4096_queue_pairs);
	suite_add_tcase(s, c);
	return rig_main(s);
}
