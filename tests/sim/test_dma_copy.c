/* Moves between memories: plain, across maps, registers, overlap, faults, a GPU's cache. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/pcie.h"

struct bed {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_link link;
	struct bf_ioas ioas;
	struct bf_dma_port port;
	struct bf_region *a, *b, *regs;
	uint64_t written, stores;
};

static void regs_write(struct bf_region *r, uint64_t offset, const void *data, uint32_t len)
{
	struct bed *bed = r->owner;

	ck_assert_uint_le(len, 64);
	bed->stores++;
	for (uint32_t i = 0; i < len; i++)
		bed->written += ((const uint8_t *)data)[i] * (offset + i + 1);
}

static uint64_t regs_read(struct bf_region *r, uint64_t offset, uint32_t len)
{
	(void)r;
	ck_assert_uint_le(len, 8);
	return 0x0101010101010101u * (offset / 8);
}

static const struct bf_mmio_ops regs_ops = { .write = regs_write, .read = regs_read };

static void open_bed(struct bed *b)
{
	struct bf_region_opts o = { .name = "a", .size = 65536 };

	memset(b, 0, sizeof(*b));
	ck_assert(!bf_sim_create(1, &b->sim) && !bf_space_init(&b->space, b->sim, "host", 0));
	ck_assert(!bf_ioas_init(&b->ioas, b->sim, "ioas", 4096));
	ck_assert(!bf_region_create(&b->space, &o, &b->a));
	o.name = "b";
	ck_assert(!bf_region_create(&b->space, &o, &b->b));
	o = (struct bf_region_opts){ .name = "regs", .kind = BF_MEM_MMIO, .size = 4096, .mmio = &regs_ops, .owner = b };
	ck_assert(!bf_region_create(&b->space, &o, &b->regs));
	ck_assert(!bf_ioas_map_region(&b->ioas, b->a, 3) && !bf_ioas_map_region(&b->ioas, b->b, 3) &&
		  !bf_ioas_map_region(&b->ioas, b->regs, 3));
	ck_assert(!bf_link_init(&b->link, b->sim, "link", &bf_link_profile_gen5_x16));
	ck_assert(!bf_dma_port_init(&b->port, b->sim, "dev", &b->link, &b->ioas));
	for (uint32_t i = 0; i < 65536; i++)
		b->a->bytes[i] = (uint8_t)(i * 7 + i / 256);
}

static void close_bed(struct bed *b)
{
	bf_dma_port_fini(&b->port);
	bf_link_fini(&b->link);
	bf_ioas_fini(&b->ioas);
	bf_space_fini(&b->space);
	bf_sim_destroy(b->sim);
}

START_TEST(rows)
{
	struct bed b;
	struct bf_dma_rows r;

	open_bed(&b);
	r = (struct bf_dma_rows){
		.dst = b.b->va + 5, .src = b.a->va + 3, .bytes = 100, .rows = 50, .dst_pitch = 130, .src_pitch = 700
	};
	ck_assert_int_eq(bf_dma_copy(&b.port, &r), 0);
	for (uint32_t j = 0; j < 50; j++)
		ck_assert_mem_eq(b.b->bytes + 5 + j * 130, b.a->bytes + 3 + j * 700, 100);
	ck_assert_uint_eq(b.b->bytes[105], 0);
	r.rows = 0;
	ck_assert_int_eq(bf_dma_copy(&b.port, &r), 0);
	close_bed(&b);
}
END_TEST

/* A span that no address space has: row by row, which fails where nothing is mapped. */
START_TEST(endless_pitch)
{
	struct bed b;
	struct bf_dma_rows r;

	open_bed(&b);
	r = (struct bf_dma_rows){
		.dst = b.b->va, .src = b.a->va, .bytes = 8, .rows = 1u << 30, .dst_pitch = 1ull << 60, .src_pitch = 0
	};
	ck_assert_int_eq(bf_dma_copy(&b.port, &r), -EFAULT);
	ck_assert_uint_eq(b.ioas.last_fault.iova, b.b->va + (1ull << 60));
	ck_assert_mem_eq(b.b->bytes, b.a->bytes, 8);
	close_bed(&b);
}
END_TEST

START_TEST(fault_keeps_what_came_before)
{
	struct bed b;
	struct bf_dma_rows r;

	open_bed(&b);
	r = (struct bf_dma_rows){ .dst = b.b->va + 65536 - 300, .src = b.a->va, .bytes = 400, .rows = 1 };
	ck_assert_int_eq(bf_dma_copy(&b.port, &r), -EFAULT);
	ck_assert_uint_eq(b.ioas.last_fault.iova, b.b->va + 65536);
	ck_assert_uint_eq(b.ioas.last_fault.access, BF_IOMMU_WRITE);
	ck_assert_mem_eq(b.b->bytes + 65536 - 300, b.a->bytes, 300);
	close_bed(&b);
}
END_TEST

START_TEST(registers)
{
	struct bed b;
	uint64_t want = 0;
	struct bf_dma_rows r;

	open_bed(&b);
	r = (struct bf_dma_rows){ .dst = b.regs->va, .src = b.a->va, .bytes = 200, .rows = 1 };
	ck_assert_int_eq(bf_dma_copy(&b.port, &r), 0);
	for (uint32_t i = 0; i < 200; i++)
		want += b.a->bytes[i] * (i + 1ull);
	ck_assert_uint_eq(b.written, want);
	ck_assert_uint_eq(b.stores, 4);
	r = (struct bf_dma_rows){ .dst = b.b->va, .src = b.regs->va, .bytes = 200, .rows = 1 };
	ck_assert_int_eq(bf_dma_copy(&b.port, &r), 0);
	for (uint32_t i = 0; i < 200; i++)
		ck_assert_uint_eq(b.b->bytes[i], i / 8);
	close_bed(&b);
}
END_TEST

/* Reference: bursts of 256 bytes, each read before it is written. */
static void bursts(uint8_t *m, uint32_t to, uint32_t from, uint32_t len, bool backwards)
{
	uint8_t burst[BF_DMA_BURST];

	for (uint32_t i = 0; i < len;) {
		const uint32_t at = backwards ? (len - i - 1) / BF_DMA_BURST * BF_DMA_BURST : i;
		const uint32_t n = len - at < BF_DMA_BURST ? len - at : BF_DMA_BURST;
		const uint32_t k = backwards ? len - i - at : n;

		memcpy(burst, m + from + at, k);
		memcpy(m + to + at, burst, k);
		i += k;
	}
}

START_TEST(overlap_moves_in_bursts)
{
	static const uint32_t from[] = { 1000, 1000, 1000, 1000, 1000 }, to[] = { 1001, 999, 1100, 1256, 2999 };

	for (int backwards = 0; backwards < 2; backwards++) {
		uint8_t want[8192];
		struct bed b;
		struct bf_dma_rows r;

		open_bed(&b);
		memcpy(want, b.a->bytes, sizeof(want));
		bursts(want, to[_i], from[_i], 2000, backwards);
		r = (struct bf_dma_rows){ .dst = b.a->va + to[_i],
					  .src = b.a->va + from[_i],
					  .bytes = 2000,
					  .rows = 1,
					  .backwards = backwards };
		ck_assert_int_eq(bf_dma_copy(&b.port, &r), 0);
		ck_assert_mem_eq(want, b.a->bytes, sizeof(want));
		close_bed(&b);
	}
}
END_TEST

START_TEST(fills)
{
	struct bed b;

	open_bed(&b);
	for (uint32_t unit = 1; unit <= 4; unit *= 2) {
		memset(b.b->bytes, 0, 65536);
		ck_assert_int_eq(bf_dma_fill(&b.port, b.b->va + 4, 20000, 0x44332211, unit), 0);
		for (uint32_t i = 0; i < 20000; i++)
			ck_assert_msg(b.b->bytes[4 + i] == (uint8_t)(0x44332211 >> (i % unit * 8)),
				      "byte %u of unit %u", i, unit);
		ck_assert_uint_eq(b.b->bytes[3] | b.b->bytes[20004], 0);
	}
	ck_assert_int_eq(bf_dma_fill(&b.port, b.regs->va, 100, 1, 1), 0);
	ck_assert_uint_eq(b.written, 100 * 101 / 2);
	ck_assert_int_eq(bf_dma_fill(&b.port, b.b->va + 65000, 1000, 1, 1), -EFAULT);
	close_bed(&b);
}
END_TEST

/* Each move is one opportunity for the fault plan on each side. */
START_TEST(injected)
{
	struct bf_fault_plan *plan;
	struct bf_error err;
	struct bf_dma_rows r;
	struct bed b;

	open_bed(&b);
	ck_assert_int_eq(bf_fault_plan_parse("dma-fault on=dev skip=3", 1, &err, &plan), 0);
	b.sim->faults = plan;
	r = (struct bf_dma_rows){ .dst = b.b->va, .src = b.a->va, .bytes = 8, .rows = 1 };
	ck_assert_int_eq(bf_dma_copy(&b.port, &r), 0);
	ck_assert_int_eq(bf_dma_copy(&b.port, &r), -EFAULT);
	ck_assert_int_eq(bf_dma_copy(&b.port, &r), 0);
	ck_assert_uint_eq(bf_fault_plan_seen(plan, 0), 6);
	close_bed(&b);
	bf_fault_plan_destroy(plan);
}
END_TEST

START_TEST(charges)
{
	struct bed b;
	uint64_t up, both;

	open_bed(&b);
	up = bf_dma_charge(&b.port, 1u << 20, 0);
	ck_assert_uint_ge(up, 1024 * bf_link_profile_gen5_x16.ps_per_kib);
	ck_assert_uint_ge(b.link.up_bytes, 1u << 20);
	ck_assert_uint_eq(b.link.down_bytes, 0);
	both = bf_dma_charge(&b.port, 0, 1u << 20);
	ck_assert_uint_ge(b.link.down_bytes, 1u << 20);
	ck_assert_uint_le(both, up + up / 8); /* the two directions do not wait for each other but for requests */
	close_bed(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dma copy");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(t, rows);
	tcase_add_test(t, endless_pitch);
	tcase_add_test(t, fault_keeps_what_came_before);
	tcase_add_test(t, registers);
	tcase_add_loop_test(t, overlap_moves_in_bursts, 0, 5);
	tcase_add_test(t, fills);
	tcase_add_test(t, injected);
	tcase_add_test(t, charges);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
