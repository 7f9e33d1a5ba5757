/*
 * One SDMA engine, a ring in host memory and a poster that writes packets, write pointer and doorbell as bytes, the way
 * a driver does. For tests, fuzzers and benchmarks of the model; no agent, no driver code.
 */
#ifndef BELFRY_TESTS_SDMA_RIG_H
#define BELFRY_TESTS_SDMA_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sdma/sdma.h"
#include "sim/fault.h"

#define RIG_MUST(x)                                                                                                    \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

#define RIG_RING 4096u
#define RIG_LIMIT (100 * BF_MS)

struct rig_opts {
	const struct bf_sdma_profile *profile; /* NULL: v6 */
	uint64_t seed;                         /* 0: 1 */
	uint64_t ring, mem;                    /* bytes; 0: RIG_RING and 1 MiB each */
	const char *faults;
	bool wrapped, strict, no_queue, no_jitter;
};

struct rig {
	struct bf_sim *sim;
	struct bf_fault_plan *plan;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_region *host, *vram, *control;
	struct bf_sdma *dev;
	struct bf_sdma_profile profile;
	struct bf_sdma_queue *q;
	uint64_t ring_bytes;
	uint8_t *ring; /* control: ring, then rptr, wptr */
	uint64_t *rptr, *wptr;
	uint64_t index; /* of the next dword, monotonic bytes */
	bool wrapped;
	uint32_t traps, last_trap;
	void (*on_trap)(struct rig *r, uint32_t id);
};

static inline void rig_trap(void *arg, uint32_t id)
{
	struct rig *r = arg;

	r->traps++;
	r->last_trap = id;
	if (r->on_trap)
		r->on_trap(r, id);
}

static inline struct bf_region *rig_region(struct rig *r, const char *name, enum bf_mem_kind kind, uint64_t size)
{
	struct bf_region_opts o = { .name = name, .kind = kind, .size = size };
	struct bf_region *region;

	RIG_MUST(!bf_region_create(&r->space, &o, &region));
	RIG_MUST(!bf_ioas_map_region(&r->ioas, region, BF_IOMMU_READ | BF_IOMMU_WRITE));
	return region;
}

static inline struct bf_sdma_queue_opts rig_queue_opts(const struct rig *r)
{
	return (struct bf_sdma_queue_opts){ .ring = r->control->va,
					    .bytes = r->ring_bytes,
					    .rptr = bf_va(r->control, r->rptr),
					    .wptr = bf_va(r->control, r->wptr) };
}

static inline void rig_open(struct rig *r, const struct rig_opts *o)
{
	struct bf_sdma_opts opts = {
		.name = "sdma0", .space = &r->space, .ioas = &r->ioas, .trap = rig_trap, .trap_arg = r
	};
	struct bf_sdma_queue_opts q;
	struct bf_error err;

	memset(r, 0, sizeof(*r));
	r->ring_bytes = o->ring ? o->ring : RIG_RING;
	r->wrapped = o->wrapped;
	r->profile = *(o->profile ? o->profile : &bf_sdma_v6);
	if (o->no_jitter)
		r->profile.jitter_ps = 0;
	RIG_MUST(!bf_sim_create(o->seed ? o->seed : 1, &r->sim));
	if (o->faults) {
		RIG_MUST(!bf_fault_plan_parse(o->faults, 1, &err, &r->plan));
		r->sim->faults = r->plan;
	}
	RIG_MUST(!bf_space_init(&r->space, r->sim, "host", 0));
	RIG_MUST(!bf_ioas_init(&r->ioas, r->sim, "gpu", 4096));
	r->host = rig_region(r, "host", BF_MEM_DRAM, o->mem ? o->mem : 1u << 20);
	r->vram = rig_region(r, "vram", BF_MEM_VRAM, o->mem ? o->mem : 1u << 20);
	r->control = rig_region(r, "control", BF_MEM_DRAM, r->ring_bytes + 4096);
	r->ring = r->control->bytes;
	r->rptr = (uint64_t *)(void *)(r->ring + r->ring_bytes);
	r->wptr = r->rptr + 8;
	opts.profile = &r->profile;
	RIG_MUST(!bf_sdma_create(r->sim, &opts, &r->dev));
	q = rig_queue_opts(r);
	q.wrapped = o->wrapped;
	q.strict = o->strict;
	if (!o->no_queue)
		RIG_MUST(!bf_sdma_queue_create(r->dev, &q, &r->q));
}

static inline void rig_close(struct rig *r)
{
	bf_sdma_destroy(r->dev);
	bf_ioas_fini(&r->ioas);
	bf_space_fini(&r->space);
	bf_sim_destroy(r->sim);
	bf_fault_plan_destroy(r->plan);
}

/* Writes dwords at the index, without a look at anything. */
static inline void rig_put(struct rig *r, const uint32_t *dw, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, r->index += 4)
		bf_put_le32(r->ring + (r->index & (r->ring_bytes - 1)), dw[i]);
}

/* Zero dwords to the ring's end when `n` dwords would cross it, then the dwords. */
static inline void rig_packet(struct rig *r, const uint32_t *dw, uint32_t n)
{
	while ((r->index & (r->ring_bytes - 1)) + n * 4 > r->ring_bytes)
		rig_put(r, (const uint32_t[]){ 0 }, 1);
	rig_put(r, dw, n);
}

static inline void rig_ring_value(struct rig *r, struct bf_sdma_queue *q, uint64_t value)
{
	uint64_t offset;
	struct bf_region *bells = bf_sdma_doorbell(q, &offset);
	uint8_t bytes[8];

	bf_put_le64(bytes, value);
	bf_mmio_post(bells, offset, bytes, r->wrapped ? 4 : 8);
}

static inline void rig_bell(struct rig *r)
{
	const uint64_t value = r->wrapped ? r->index & (r->ring_bytes - 1) : r->index;

	*r->wptr = value;
	rig_ring_value(r, r->q, value);
}

static inline struct bf_sdma_queue_info rig_info(struct rig *r)
{
	struct bf_sdma_queue_info info;

	bf_sdma_queue_info(r->q, &info);
	return info;
}

/* Rings and runs until nothing happens any more, at most RIG_LIMIT. */
static inline struct bf_sdma_queue_info rig_go(struct rig *r)
{
	rig_bell(r);
	bf_sim_run(r->sim, r->sim->now_ps + RIG_LIMIT);
	return rig_info(r);
}

#define RIG_LO(va) ((uint32_t)(va))
#define RIG_HI(va) ((uint32_t)((uint64_t)(va) >> 32))
#define RIG_PACKET(r, ...)                                                                                             \
	rig_packet(r, (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

static inline void rig_copy(struct rig *r, uint64_t dst, uint64_t src, uint32_t bytes)
{
	RIG_PACKET(r, BF_SDMA_OP_COPY, bytes - 1, 0, RIG_LO(src), RIG_HI(src), RIG_LO(dst), RIG_HI(dst));
}

static inline void rig_fence(struct rig *r, uint64_t va, uint32_t data)
{
	RIG_PACKET(r, BF_SDMA_OP_FENCE, RIG_LO(va), RIG_HI(va), data);
}

#endif
