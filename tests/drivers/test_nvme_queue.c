/*
 * The NVMe driver's rings and lists by themselves: slots, phases, doorbells and PRPs against walkers written here from
 * the specification.
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "drivers/platform/platform_native.h"

#include "drivers/nvme/device.h"

static uint32_t doorbells[4];

static struct bf_nvme_drv_queue queue(uint32_t entries, void *ring, uint32_t *db)
{
	struct bf_nvme_drv_queue q = { .no = 1, .entries = entries, .phase = 1, .vaddr = ring, .db = db };

	return q;
}

/* The controller of these tests: it fetches up to the doorbell and answers at once, in the ring's own laps. */
struct fake {
	struct bf_nvme_drv_qp *qp;
	uint32_t head, cq_tail, phase;
	uint32_t fetched;
	uint8_t last[64];
};

static void fake_fetch(struct fake *f)
{
	while (f->head != *f->qp->sq.db) {
		memcpy(f->last, f->qp->sq.vaddr + f->head * 64, 64);
		f->head = (f->head + 1) % f->qp->sq.entries;
		f->fetched++;
	}
}

static void fake_post(struct fake *f, uint32_t cid, uint32_t status)
{
	uint8_t *cqe = f->qp->cq.vaddr + f->cq_tail * 16;

	bf_put_le32(cqe, 0x12345678);
	bf_put_le16(cqe + 8, (uint16_t)f->head);
	bf_put_le16(cqe + 12, (uint16_t)cid);
	bf_put_le16(cqe + 14, (uint16_t)(status << 1 | f->phase));
	f->cq_tail = (f->cq_tail + 1) % f->qp->cq.entries;
	f->phase ^= f->cq_tail == 0;
}

/* Rings of any size, through several laps: each entry arrives whole, each completion once. */
START_TEST(rings_wrap)
{
	static const uint32_t sizes[][2] = { { 2, 2 }, { 5, 3 }, { 48, 33 }, { 64, 256 } };
	static _Alignas(64) uint8_t sq[64 * 64], cq[256 * 16];
	struct bf_nvme_drv_ctrl ctrl = { .page = 4096 };
	struct bf_nvme_drv_qp qp;
	struct fake f = { .qp = &qp, .phase = 1 };
	struct bf_nvme_drv_completion done;
	struct bf_nvme_drv_cmd c;

	memset(sq, 0, sizeof(sq));
	memset(cq, 0, sizeof(cq));
	memset(doorbells, 0, sizeof(doorbells));
	qp = (struct bf_nvme_drv_qp){ .sq = queue(sizes[_i][0], sq, &doorbells[0]),
				      .cq = queue(sizes[_i][1], cq, &doorbells[1]) };
	for (uint32_t i = 0; i < 1000; i++) {
		bf_nvme_drv_cmd_header(&ctrl, &c, 0x80 | (i & 1), i);
		bf_nvme_drv_cmd_set(&c, 15, ~i);
		ck_assert_int_eq(bf_nvme_drv_dequeue(NULL, &ctrl, &qp, &done), 0);
		ck_assert_int_eq(bf_nvme_drv_enqueue(NULL, &ctrl, &qp.sq, &c, i & 0xffff), (int)(i % sizes[_i][0]));
		bf_nvme_drv_submit(NULL, &ctrl, &qp.sq);
		fake_fetch(&f);
		ck_assert_uint_eq(f.fetched, i + 1);
		ck_assert_uint_eq(f.last[0], 0x80 | (i & 1));
		ck_assert_uint_eq(bf_get_le16(f.last + 2), i & 0xffff);
		ck_assert_uint_eq(bf_get_le32(f.last + 60), ~i);
		fake_post(&f, i & 0xffff, i % 7 ? 0 : 0x281);
		ck_assert_int_eq(bf_nvme_drv_dequeue(NULL, &ctrl, &qp, &done), 1);
		ck_assert_uint_eq(done.cid, i & 0xffff);
		ck_assert_uint_eq(done.status, i % 7 ? 0 : 0x281);
		ck_assert_uint_eq(done.result, 0x12345678);
		bf_nvme_drv_cq_update(NULL, &ctrl, &qp.cq);
		ck_assert_uint_eq(doorbells[1], f.cq_tail);
		ck_assert_uint_eq(bf_nvme_drv_used(&qp.sq), 0);
	}
}
END_TEST

/* One slot stays empty, and room comes back by SQHD alone: completions do not count. */
START_TEST(a_full_ring_waits_for_sqhd)
{
	static _Alignas(64) uint8_t sq[48 * 64], cq[48 * 16];
	struct bf_nvme_drv_ctrl ctrl = { .page = 4096 };
	struct bf_nvme_drv_qp qp = { .sq = queue(48, sq, &doorbells[0]), .cq = queue(48, cq, &doorbells[1]) };
	struct bf_nvme_drv_cmd c;

	memset(doorbells, 0, sizeof(doorbells));
	bf_nvme_drv_cmd_header(&ctrl, &c, 2, 1);
	for (uint32_t lap = 0; lap < 5; lap++) {
		for (uint32_t i = 0; i < 47; i++)
			ck_assert_int_ge(bf_nvme_drv_enqueue(NULL, &ctrl, &qp.sq, &c, i), 0);
		ck_assert_int_eq(bf_nvme_drv_enqueue(NULL, &ctrl, &qp.sq, &c, 0), -1);
		bf_nvme_drv_sq_update(&ctrl, &qp.sq, (qp.sq.head + 10) % 48);
		ck_assert_uint_eq(bf_nvme_drv_used(&qp.sq), 37);
		ck_assert_int_ge(bf_nvme_drv_enqueue(NULL, &ctrl, &qp.sq, &c, 0), 0);
		bf_nvme_drv_sq_update(&ctrl, &qp.sq, qp.sq.tail);
	}
	bf_nvme_drv_sq_update(&ctrl, &qp.sq, 48); /* no slot: nobody's answer */
	ck_assert_uint_eq(bf_nvme_drv_used(&qp.sq), 0);
}
END_TEST

/* Nothing of the slot's last user survives, and with the bug its control bits do. */
START_TEST(a_slot_is_written_whole)
{
	static _Alignas(64) uint8_t sq[4 * 64];
	struct bf_nvme_drv_ctrl ctrl = { .page = 4096 };
	struct bf_nvme_drv_queue q = queue(4, sq, &doorbells[0]);
	struct bf_nvme_drv_cmd c;

	for (int bug = 0; bug < 2; bug++) {
		ctrl.bugs = bug ? BF_NVME_DRV_BUG_STALE_FIELDS : 0;
		memset(sq, 0xee, sizeof(sq));
		q.tail = q.head = 0;
		bf_nvme_drv_cmd_header(&ctrl, &c, BF_NVME_IO_READ, 1);
		bf_nvme_drv_cmd_data(&c, 0x1000, 0);
		bf_nvme_drv_cmd_blocks(&ctrl, &c, 7, 8, 0);
		bf_nvme_drv_enqueue(NULL, &ctrl, &q, &c, 3);
		ck_assert_uint_eq(bf_get_le64(sq + 40), 7);
		ck_assert_uint_eq(bf_get_le32(sq + 48), bug ? 0xeeee0007 : 7);
		ck_assert_uint_eq(bf_get_le32(sq + 60), bug ? 0xeeeeeeee : 0);
	}
}
END_TEST

/* Base specification, section 8.2.3: the register is due when EventIdx lies in [old, new). */
START_TEST(shadow_doorbells_ring_when_asked)
{
	for (uint32_t old = 65530; old < 65546; old++)
		for (uint32_t n = 1; n < 20; n++)
			for (uint32_t event = 65500; event < 65600; event++) {
				const int due = event >= old && event < old + n;

				if (bf_nvme_drv_event_due((uint16_t)event, (uint16_t)(old + n), (uint16_t)old) != due)
					ck_abort_msg("event %u, from %u by %u: due is %d", event, old, n, due);
			}
}
END_TEST

/* A walker after the specification: the address of each page of data that PRP1, PRP2 and the lists name. */
static uint32_t walk(const uint8_t *memory, uint64_t base, uint64_t prp1, uint64_t prp2, uint64_t bytes,
		     uint64_t *pages)
{
	uint64_t left = bytes > 4096 - prp1 % 4096 ? bytes - (4096 - prp1 % 4096) : 0;
	uint32_t n = 0;

	pages[n++] = prp1;
	if (left && left <= 4096) {
		pages[n++] = prp2;
		return n;
	}
	while (left) {
		const uint64_t entry = bf_get_le64(memory + (prp2 - base));

		if (entry % 4096)
			ck_abort_msg("the entry at 0x%" PRIx64 " is 0x%" PRIx64, prp2, entry);
		if (prp2 % 4096 == 4088 && left > 4096) {
			prp2 = entry;
			continue;
		}
		pages[n++] = entry;
		left -= left < 4096 ? left : 4096;
		prp2 += 8;
	}
	return n;
}

START_TEST(prps_name_every_page)
{
	enum { ROOM = 5 * 4096 };
	static _Alignas(4096) uint8_t memory[ROOM];
	static const uint32_t offsets[] = { 0, 8, 2048, 4072, 4080, 4088 };
	static uint64_t seen[2048];
	const struct bf_nvme_drv_ctrl ctrl = { .page = 4096 };
	const uint64_t base = 0x700000;
	struct bf_nvme_drv_cmd c;

	for (uint32_t pages = 1; pages < 1200; pages += pages < 520 ? 1 : 97)
		for (size_t o = 0; o < BF_ARRAY_LEN(offsets); o++)
			for (int back = 0; back < 2; back++) {
				const uint64_t bytes = (uint64_t)pages * 4096 - (pages % 3) * 512;
				const uint32_t skip = pages % 4 * 64;
				const struct bf_nvme_drv_pages data = { 0x10000000 + skip, back ? -4096 : 4096 };
				const struct bf_nvme_drv_room list = { memory + offsets[o], base + offsets[o],
								       ROOM - offsets[o] };
				const uint32_t want = bf_nvme_drv_page_count(&ctrl, data.first, bytes);
				uint32_t n;

				memset(memory, 0xff, sizeof(memory));
				bf_nvme_drv_cmd_header(&ctrl, &c, 2, 1);
				ck_assert_int_eq(bf_nvme_drv_prp(NULL, &ctrl, &c, &data, bytes, &list), 0);
				n = walk(memory, base,
					 (uint64_t)bf_nvme_drv_cmd_get(&c, 7) << 32 | bf_nvme_drv_cmd_get(&c, 6),
					 (uint64_t)bf_nvme_drv_cmd_get(&c, 9) << 32 | bf_nvme_drv_cmd_get(&c, 8), bytes,
					 seen);
				ck_assert_uint_eq(n, want);
				ck_assert_uint_eq(seen[0], data.first);
				for (uint32_t i = 1; i < n; i++)
					if (seen[i] != 0x10000000 + (uint64_t)((int64_t)i * data.step))
						ck_abort_msg("page %u of %u: 0x%" PRIx64, i, n, seen[i]);
			}
}
END_TEST

START_TEST(a_list_needs_room)
{
	static _Alignas(4096) uint8_t memory[4096];
	const struct bf_nvme_drv_ctrl ctrl = { .page = 4096 };
	const struct bf_nvme_drv_pages data = { 0x10000000, 4096 };
	struct bf_nvme_drv_room list = { memory, 0x1000, 8 * 15 };
	struct bf_nvme_drv_cmd c;

	bf_nvme_drv_cmd_header(&ctrl, &c, 2, 1);
	ck_assert_int_eq(bf_nvme_drv_prp(NULL, &ctrl, &c, &data, 16 * 4096, &list), 0);
	ck_assert_int_eq(bf_nvme_drv_prp(NULL, &ctrl, &c, &data, 17 * 4096, &list), BF_NVME_DRV_FULL);
	ck_assert_int_eq(bf_nvme_drv_prp(NULL, &ctrl, &c, &data, 2 * 4096, &(struct bf_nvme_drv_room){ 0 }), 0);
}
END_TEST

/* Base specification, figure 202: NUMD counts from 0; figure 36: both sizes of AQA too, opcodes have 8 bits. */
START_TEST(commands_are_as_specified)
{
	const struct bf_nvme_drv_ctrl ctrl = { .page = 4096 };
	const struct bf_nvme_drv_queue q = { .no = 7, .entries = 1024, .ioaddr = 0x123000 };
	struct bf_nvme_drv_cmd c;

	bf_nvme_drv_cmd_log(&ctrl, &c, 5, 1, 0x5000, 4096);
	ck_assert_uint_eq(bf_nvme_drv_cmd_get(&c, 10), 5 | 0x3ffu << 16);
	bf_nvme_drv_cmd_header(&ctrl, &c, BF_NVME_ADM_FORMAT, 1);
	ck_assert_uint_eq(bf_nvme_drv_cmd_get(&c, 0), 0x80);
	bf_nvme_drv_cmd_create_cq(&ctrl, &c, &q);
	ck_assert_uint_eq(bf_nvme_drv_cmd_get(&c, 10), 7 | 1023u << 16);
	ck_assert_uint_eq(bf_nvme_drv_cmd_get(&c, 11), 1);
	bf_nvme_drv_cmd_create_sq(&ctrl, &c, &q, 9);
	ck_assert_uint_eq(bf_nvme_drv_cmd_get(&c, 11), 1 | 9u << 16);
	ck_assert_uint_eq(bf_nvme_drv_cmd_get(&c, 6), 0x123000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme queue");
	TCase *tc = tcase_create("queue");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, rings_wrap, 0, 4);
	tcase_add_test(tc, a_full_ring_waits_for_sqhd);
	tcase_add_test(tc, a_slot_is_written_whole);
	tcase_add_test(tc, shadow_doorbells_ring_when_asked);
	tcase_add_test(tc, prps_name_every_page);
	tcase_add_test(tc, a_list_needs_room);
	tcase_add_test(tc, commands_are_as_specified);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
