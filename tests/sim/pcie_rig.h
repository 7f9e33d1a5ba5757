/* A port, a link and some memory for tests of PCIe. A picosecond a byte makes times readable. */
#ifndef BELFRY_TESTS_SIM_PCIE_RIG_H
#define BELFRY_TESTS_SIM_PCIE_RIG_H

#include <check.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/pcie.h"

static const struct bf_link_profile profile = {
	.latency_ps = 100000,
	.mem_ps = 50000,
	.ps_per_kib = 1024,
	.max_payload = 256,
	.max_read_request = 512,
	.tlp_overhead = 20,
	.relaxed_ps = 30000,
};

#define RAM_PAGES 64u
#define IOVA 0x10000000ull

static struct bf_sim *sim;
static struct bf_space space;
static struct bf_link link_;
static struct bf_ioas ioas;
static struct bf_dma_port port;
static struct bf_region *ram;

static inline void start(const struct bf_link_profile *p)
{
	struct bf_region_opts opts = { .name = "ram", .size = RAM_PAGES * BF_PAGE };

	ck_assert_int_eq(bf_sim_create(1, &sim), 0);
	ck_assert_int_eq(bf_space_init(&space, sim, "host0", 0), 0);
	ck_assert_int_eq(bf_region_create(&space, &opts, &ram), 0);
	ck_assert_int_eq(bf_link_init(&link_, sim, "link0", p), 0);
	ck_assert_int_eq(bf_ioas_init(&ioas, sim, "ioas0", BF_PAGE), 0);
	ck_assert_int_eq(bf_dma_port_init(&port, sim, "dev0", &link_, &ioas), 0);
}

static inline void setup(void)
{
	start(&profile);
	ck_assert_int_eq(bf_ioas_map(&ioas, IOVA, ram, 0, RAM_PAGES * BF_PAGE, 3), 0);
}

static inline void teardown(void)
{
	bf_dma_port_fini(&port);
	bf_ioas_fini(&ioas);
	bf_space_fini(&space);
	bf_link_fini(&link_);
	bf_sim_destroy(sim);
}

/* A read that notes when it was done, as the how-manieth. */
struct noted {
	struct bf_dma_op op;
	uint64_t done_ps;
	uint32_t order;
	uint32_t runs;
};
static uint32_t noted_count;

static inline void note(struct bf_dma_op *op)
{
	struct noted *n = BF_CONTAINER_OF(op, struct noted, op);

	n->done_ps = sim->now_ps;
	n->order = noted_count++;
	n->runs++;
}

static inline void read_into(struct noted *n, uint64_t iova, void *dst, uint32_t len)
{
	*n = (struct noted){ .op = { .iova = iova, .len = len, .dst = dst, .done = note } };
	bf_dma_read(&port, &n->op);
}

#endif
