/* Memory that a call brings (struct bf_far_ops with `get`): what a DMA port reads, writes and changes there. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "sim/pcie.h"

#define FAR_AT (7ull << 40)
#define FAR_BYTES 8192u

struct bed {
	struct bf_sim *sim;
	struct bf_space space, elsewhere;
	struct bf_link link;
	struct bf_ioas ioas;
	struct bf_dma_port port;
	struct bf_region *near, *far;
	uint8_t memory[FAR_BYTES]; /* what only calls reach */
	uint32_t gets, writes, done;
	bool broken;
	struct bf_dma_op op;
	uint8_t got[4096];
};

static int far_get(struct bf_region *r, uint64_t offset, void *dst, uint32_t len)
{
	struct bed *b = r->owner;

	b->gets++;
	ck_assert_uint_le(offset + len, FAR_BYTES);
	memcpy(dst, b->memory + offset, len);
	return b->broken ? -EFAULT : 0;
}

static void far_write(struct bf_region *r, uint64_t offset, const void *src, uint32_t len)
{
	struct bed *b = r->owner;

	b->writes++;
	ck_assert_uint_le(offset + len, FAR_BYTES);
	memcpy(b->memory + offset, src, len);
}

static void far_store(struct bf_region *r, uint64_t offset, const void *data, uint32_t len)
{
	(void)r, (void)offset, (void)data, (void)len;
	ck_abort_msg("a port makes no stores to far memory");
}

static const struct bf_far_ops far_ops = { .get = far_get, .write = far_write };
static const struct bf_mmio_ops mmio_ops = { .write = far_store };

static void on_done(struct bf_dma_op *op)
{
	BF_CONTAINER_OF(op, struct bed, op)->done++;
}

/* Ordinary memory, and far memory in the middle of its addresses: a hole that the far region's addresses fill. */
static void open_bed(struct bed *b)
{
	struct bf_region_opts o = { .name = "near", .va = FAR_AT - 4096, .size = 4096 + FAR_BYTES };

	memset(b, 0, sizeof(*b));
	ck_assert(!bf_sim_create(1, &b->sim) && !bf_space_init(&b->space, b->sim, "host", 0));
	ck_assert(!bf_space_init(&b->elsewhere, b->sim, "gpu", 1) && !bf_ioas_init(&b->ioas, b->sim, "ioas", 4096));
	ck_assert(!bf_region_create(&b->space, &o, &b->near) && !bf_ioas_map_region(&b->ioas, b->near, 3));
	o = (struct bf_region_opts){ .name = "far",
				     .kind = BF_MEM_MMIO,
				     .va = FAR_AT,
				     .size = FAR_BYTES,
				     .mmio = &mmio_ops,
				     .far = &far_ops,
				     .owner = b };
	ck_assert(!bf_ioas_unmap(&b->ioas, FAR_AT, FAR_BYTES));
	ck_assert(!bf_region_create(&b->elsewhere, &o, &b->far) && !bf_ioas_map_region(&b->ioas, b->far, 3));
	ck_assert(!bf_link_init(&b->link, b->sim, "link", &bf_link_profile_gen5_x16));
	ck_assert(!bf_dma_port_init(&b->port, b->sim, "dev", &b->link, &b->ioas));
	for (uint32_t i = 0; i < FAR_BYTES; i++)
		b->memory[i] = (uint8_t)(i * 3 + i / 256);
	b->op.done = on_done;
}

static void close_bed(struct bed *b)
{
	bf_dma_port_fini(&b->port);
	bf_link_fini(&b->link);
	bf_ioas_fini(&b->ioas);
	bf_space_fini(&b->elsewhere);
	bf_space_fini(&b->space);
	bf_sim_destroy(b->sim);
}

static void read_at(struct bed *b, uint64_t iova, uint32_t len)
{
	b->op.iova = iova;
	b->op.len = len;
	b->op.dst = b->got;
	b->done = 0;
	bf_dma_read(&b->port, &b->op);
	bf_sim_run(b->sim, BF_NEVER);
	ck_assert_uint_eq(b->done, 1);
}

START_TEST(reads_cross_from_near_to_far)
{
	struct bed b;

	open_bed(&b);
	memset(b.near->bytes + 4096 - 16, 0xee, 16);
	read_at(&b, FAR_AT - 16, 2064);
	ck_assert_int_eq(b.op.status, 0);
	ck_assert_uint_eq(b.gets, 1);
	for (uint32_t i = 0; i < 16; i++)
		ck_assert_uint_eq(b.got[i], 0xee);
	ck_assert(!memcmp(b.got + 16, b.memory, 2048));
	b.broken = true;
	read_at(&b, FAR_AT, 8);
	ck_assert_int_eq(b.op.status, -EFAULT);
	close_bed(&b);
}
END_TEST

START_TEST(writes_land_far)
{
	uint8_t bytes[2048];
	struct bed b;

	open_bed(&b);
	memset(bytes, 0x5a, sizeof(bytes));
	ck_assert_int_eq(bf_dma_write(&b.port, FAR_AT - 1024, bytes, sizeof(bytes), 0), 0);
	bf_sim_run(b.sim, BF_NEVER);
	ck_assert(!memcmp(b.near->bytes + 4096 - 1024, bytes, 1024) && !memcmp(b.memory, bytes, 1024));
	ck_assert_uint_ne(b.memory[1024], 0x5a);
	ck_assert_uint_eq(b.near->bytes[4096], 0);
	close_bed(&b);
}
END_TEST

static void add_five(struct bf_dma_op *op, void *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, op->len);
	value += 5;
	memcpy(bytes, &value, op->len);
}

START_TEST(atomics_change_far_memory)
{
	uint64_t before, after = 0, old = 0;
	struct bed b;

	open_bed(&b);
	memcpy(&before, b.memory + 64, 8);
	b.op.modify = add_five;
	read_at(&b, FAR_AT + 64, 8);
	ck_assert_int_eq(b.op.status, 0);
	memcpy(&old, b.got, 8);
	memcpy(&after, b.memory + 64, 8);
	ck_assert(old == before && after == before + 5);
	ck_assert_uint_eq(b.writes, 1);
	b.broken = true;
	read_at(&b, FAR_AT + 64, 8);
	ck_assert_int_eq(b.op.status, -EFAULT);
	ck_assert_uint_eq(b.writes, 1);
	close_bed(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("far");
	TCase *t = tcase_create("far");
	SRunner *r;
	int failed;

	tcase_add_test(t, reads_cross_from_near_to_far);
	tcase_add_test(t, writes_land_far);
	tcase_add_test(t, atomics_change_far_memory);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
