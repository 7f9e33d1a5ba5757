/* A GPU, an SSD's DMA port and a register writer, for the tests of models/gpu. */
#ifndef BELFRY_TESTS_MODELS_GPU_RIG_H
#define BELFRY_TESTS_MODELS_GPU_RIG_H

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/gpu/gpu.h"
#include "sim/iommufd.h"
#include "sim/rng.h"
#include "sim/view.h"

struct gpu_rig {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_link link;
	struct bf_dma_port ssd;
	struct bf_gpu *gpu;
	struct bf_domain *level, *block;
	struct bf_view *views[16];
	uint32_t nviews;
	enum bf_ordering ordering;
};

static inline void gpu_rig_open(struct gpu_rig *r, uint64_t seed, enum bf_ordering ordering,
				const struct bf_gpu_opts *opts)
{
	struct bf_gpu_opts o = opts ? *opts : (struct bf_gpu_opts){ 0 };

	memset(r, 0, sizeof(*r));
	r->ordering = ordering;
	ck_assert_int_eq(bf_sim_create(seed, &r->sim), 0);
	ck_assert_int_eq(bf_space_init(&r->space, r->sim, "host", 0), 0);
	ck_assert_int_eq(bf_ioas_init(&r->ioas, r->sim, "host", BF_PAGE), 0);
	ck_assert_int_eq(bf_link_init(&r->link, r->sim, "ssd.pcie", &bf_link_profile_gen5_x16), 0);
	ck_assert_int_eq(bf_dma_port_init(&r->ssd, r->sim, "ssd", &r->link, &r->ioas), 0);
	o.name = "gpu0";
	o.space = &r->space;
	ck_assert_int_eq(bf_gpu_create(r->sim, &o, &r->gpu), 0);
	ck_assert_int_eq(bf_domain_create(r->sim, BF_SCOPE_GPU, NULL, &r->level), 0);
	ck_assert_int_eq(bf_domain_create(r->sim, BF_SCOPE_CTA, r->level, &r->block), 0);
}

static inline void gpu_rig_close(struct gpu_rig *r)
{
	for (uint32_t i = 0; i < r->nviews; i++)
		bf_view_destroy(r->views[i]);
	bf_domain_destroy(r->block);
	bf_domain_destroy(r->level);
	bf_gpu_destroy(r->gpu);
	bf_dma_port_fini(&r->ssd);
	bf_ioas_fini(&r->ioas);
	bf_space_fini(&r->space);
	bf_link_fini(&r->link);
	bf_stream_close(&r->sim->rec);
	bf_sim_destroy(r->sim);
}

/* A thread of the GPU, or of the CPU. */
static inline struct bf_agent *gpu_rig_thread(struct gpu_rig *r, bool on_gpu, const char *name, bf_agent_fn *fn,
					      void *arg)
{
	struct bf_view_opts v = { .ordering = r->ordering,
				  .space = &r->space,
				  .domain = on_gpu ? r->block : NULL,
				  .cost = on_gpu ? &bf_cost_gpu : &bf_cost_cpu,
				  .name = name };
	struct bf_agent_opts a = { .name = name, .main = fn, .arg = arg };
	struct bf_agent *agent;

	ck_assert_uint_lt(r->nviews, 16);
	ck_assert_int_eq(bf_view_create(r->sim, &v, &r->views[r->nviews]), 0);
	a.view = r->views[r->nviews++];
	ck_assert_int_eq(bf_agent_create(r->sim, &a, &agent), 0);
	return agent;
}

/* A buffer that the SSD reaches at its GPU address. */
static inline struct bf_region *gpu_rig_vram(struct gpu_rig *r, const char *name, uint64_t size,
					     enum bf_gpu_mtype mtype)
{
	struct bf_gpu_bo *bo;

	ck_assert_int_eq(bf_gpu_vram_alloc(r->gpu, name, size, mtype, &bo), 0);
	ck_assert_int_eq(bf_ioas_map_region(&r->ioas, bf_gpu_bo_region(bo), BF_IOMMU_READ | BF_IOMMU_WRITE), 0);
	return bf_gpu_bo_region(bo);
}

/* A 32-bit store to a register by a CPU thread; spends what the register takes to act. */
static inline void gpu_rig_reg(struct gpu_rig *r, struct bf_agent *a, uint32_t offset, uint32_t value)
{
	bf_mmio_store(a, bf_gpu_regs(r->gpu)->bytes + offset, &value, 4, BF_RELEASE);
	bf_agent_delay(a, 10 * BF_US);
}

/* The request that works. */
#define GPU_RIG_FLUSH                                                                                                  \
	((uint32_t)(BF_FIELD_PREP(BF_GPU_INVALIDATE_FLUSH_TYPE, BF_GPU_FLUSH_HEAVYWEIGHT) |                            \
		    BF_FIELD_PREP(BF_GPU_INVALIDATE_VMIDS, 1)))

static inline uint32_t gpu_rig_load(struct bf_agent *a, const void *p, bool through)
{
	uint32_t v;

	bf_load(a, p, &v, 4, through ? BF_RELAXED : BF_WEAK, through ? BF_SCOPE_SYS : BF_SCOPE_CTA);
	return v;
}

static inline void gpu_rig_store(struct bf_agent *a, void *p, uint32_t v, bool through)
{
	bf_store(a, p, &v, 4, through ? BF_RELAXED : BF_WEAK, through ? BF_SCOPE_SYS : BF_SCOPE_CTA);
}

static inline void gpu_rig_read_done(struct bf_dma_op *op)
{
	*(bool *)(op + 1) = true;
}

/* Self: what the SSD reads at `p`. */
static inline uint32_t gpu_rig_dma_read(struct gpu_rig *r, struct bf_agent *a, uint64_t iova)
{
	struct {
		struct bf_dma_op op;
		bool done;
	} read = { .op = { .iova = iova, .len = 4, .done = gpu_rig_read_done } };
	uint32_t v = 0;

	read.op.dst = &v;
	bf_dma_read(&r->ssd, &read.op);
	while (!read.done)
		bf_agent_delay(a, BF_US);
	ck_assert_int_eq(read.op.status, 0);
	return v;
}

/* Self: the SSD writes, and the write has landed when this returns. */
static inline void gpu_rig_dma_write(struct gpu_rig *r, struct bf_agent *a, uint64_t iova, uint32_t v)
{
	ck_assert_int_eq(bf_dma_write(&r->ssd, iova, &v, 4, 0), 0);
	bf_agent_delay(a, 10 * BF_US);
}

#endif
