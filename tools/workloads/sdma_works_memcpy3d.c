/* The SDMA workload of hipMemcpy3D and hipMemcpy2D calls. */
#include "drivers/sdma/memcpy3d.h"

#include <inttypes.h>

#include "tools/workloads/sdma_works.h"

struct sides {
	const struct bf_sdma_work_plan *p;
	uint64_t host, device; /* heap offsets of a call's two areas */
};

static int resolve(void *arg, const void *ptr, struct bf_hip_pointer *out)
{
	const struct sides *s = arg;
	const uint64_t at = (uint64_t)((const uint8_t *)ptr - (const uint8_t *)s->p->heap[0].ptr);

	out->device = at >= s->device && at < s->device + BF_SDMA_WORK_TILES_BYTES;
	out->direct = !out->device;
	out->va = bf_sdma_work_plan_va(s->p, 0, at);
	return 0;
}

/* One draw a statement: the elements of an initialiser are evaluated in any order. */
static void random_pos(struct bf_rng *g, uint32_t step, struct bf_hip_pos *out)
{
	out->x = bf_rng_below(g, 8) * step;
	out->y = bf_rng_below(g, 3);
	out->z = bf_rng_below(g, 2);
}

/* A call drawn by seed: small boxes, pitches that are mostly aligned, positions that mostly are. */
static void random_call(struct bf_sdma_work_plan *p, const struct sides *s, struct bf_hip_parms *call)
{
	struct bf_rng *g = &p->rng;
	uint8_t *const host = (uint8_t *)p->heap[0].ptr + s->host, *const device =
								       (uint8_t *)p->heap[0].ptr + s->device;
	const size_t w = 1 + bf_rng_below(g, 200), h = 1 + bf_rng_below(g, 20), d = 1 + bf_rng_below(g, 4);
	const uint32_t odd = bf_rng_chance(g, 250000) ? 1 : 4;

	*call = (struct bf_hip_parms){ .extent = { w, h, d } };
	call->kind = (enum bf_hip_kind)bf_rng_below(g, 5);
	random_pos(g, odd, &call->src_pos);
	random_pos(g, 4, &call->dst_pos);
	call->src_ptr = (struct bf_hip_pitched_ptr){ host, (w + 32 + odd - 1) / odd * odd, w, h + 4 };
	call->dst_ptr = (struct bf_hip_pitched_ptr){ device, (w + 35) & ~(size_t)3, w, h + 4 };
	if (call->kind == BF_HIP_D2H)
		call->src_ptr.ptr = device, call->dst_ptr.ptr = host;
	else if (call->kind == BF_HIP_H2H)
		call->dst_ptr.ptr = host + BF_SDMA_WORK_TILES_BYTES / 2;
	else if (call->kind == BF_HIP_D2D)
		call->src_ptr.ptr = device, call->dst_ptr.ptr = device + BF_SDMA_WORK_TILES_BYTES / 2;
}

static void memcpy3d_call(struct bf_sdma_work_plan *p, uint32_t thread, const struct bf_hip_plan *plan)
{
	struct bf_sdma_drv_body body, measure;

	bf_sdma_drv_body_begin(&measure, &p->w->caps, 0, NULL, 0);
	bf_hip_packets(plan, &measure);
	bf_sdma_work_plan_body(p, &body, measure.n);
	bf_hip_packets(plan, &body);
	bf_sdma_work_plan_blocking(p, thread, 0, &body, (uint32_t)plan->copies, 0, 0);
}

/* ---- what a call means, whatever is made of it ---- */

/* Heap offset of the call's byte 0 of row `y`, slice `z` on one side (HIP API, hipMemcpy3D). */
static uint64_t byte_at(const struct bf_sdma_work_plan *p, const struct bf_hip_pitched_ptr *side,
			const struct bf_hip_pos *pos, uint64_t y, uint64_t z)
{
	const uint64_t base = (uint64_t)((const uint8_t *)side->ptr - (const uint8_t *)p->heap[0].ptr);

	return base + ((pos->z + z) * side->ysize + pos->y + y) * side->pitch + pos->x;
}

/*
 * Whether an engine does it. Host to host and, without `d2d`, device to device it does not; and not a box whose rows
 * and slices are whole dwords apart, but which begins within one: ROCr's rect copy refuses that, and a shader takes it.
 */
static bool by_engine(const struct bf_sdma_work_plan *p, const struct bf_hip_parms *call, bool d2d)
{
	const bool dwords = call->src_ptr.pitch % 4 == 0 && call->dst_ptr.pitch % 4 == 0;
	const bool begins = byte_at(p, &call->src_ptr, &call->src_pos, 0, 0) % 4 == 0 &&
			    byte_at(p, &call->dst_ptr, &call->dst_pos, 0, 0) % 4 == 0;

	return call->kind != BF_HIP_H2H && (d2d || call->kind != BF_HIP_D2D) && (!dwords || begins);
}

static void expect(struct bf_sdma_work_plan *p, const struct bf_hip_parms *call)
{
	for (uint64_t z = 0; z < call->extent.depth; z++)
		for (uint64_t y = 0; y < call->extent.height; y++)
			bf_sdma_work_plan_copied(p, 0, byte_at(p, &call->dst_ptr, &call->dst_pos, y, z), 0,
						 byte_at(p, &call->src_ptr, &call->src_pos, y, z), call->extent.width);
}

/* The same as a call that has neither positions nor slices. */
static void make_2d(struct bf_hip_parms *call)
{
	call->src_pos = call->dst_pos = (struct bf_hip_pos){ 0, 0, 0 };
	call->extent.depth = 1;
}

void bf_sdma_work_plan_of_memcpy3d(struct bf_sdma_work_plan *p)
{
	const uint32_t thread = bf_sdma_work_plan_thread(p, 0);
	struct sides s = { .p = p };
	struct bf_hip_plan_opts opts = { .caps = &p->w->caps, .resolve = resolve, .resolve_arg = &s };

	for (uint32_t c = 0; c < p->w->commands && !p->rc; c++) {
		struct bf_error err = { 0 };
		struct bf_hip_memcpy3d d;
		struct bf_hip_parms call;
		struct bf_hip_plan plan;

		s.host = bf_sdma_work_plan_area(p, 0, BF_SDMA_WORK_TILES_BYTES, "host memory of a call");
		s.device = bf_sdma_work_plan_area(p, 0, BF_SDMA_WORK_TILES_BYTES, "device memory of a call");
		bf_sdma_work_plan_random(p, 0, s.host, BF_SDMA_WORK_TILES_BYTES);
		bf_sdma_work_plan_random(p, 0, s.device, BF_SDMA_WORK_TILES_BYTES);
		random_call(p, &s, &call);
		opts.d2d_by_engine = bf_rng_chance(&p->rng, 500000);
		if (bf_rng_chance(&p->rng, 250000)) {
			make_2d(&call);
			bf_hip_describe_2d(call.dst_ptr.ptr, call.dst_ptr.pitch, call.src_ptr.ptr, call.src_ptr.pitch,
					   call.extent.width, call.extent.height, call.kind, &d);
		} else {
			bf_hip_describe(&call, &d);
		}
		if (by_engine(p, &call, opts.d2d_by_engine))
			expect(p, &call);
		if (bf_hip_plan(&d, &opts, &plan, &err))
			continue;
		p->result->paths[plan.path]++;
		if (plan.path == BF_HIP_PATH_RECT || plan.path == BF_HIP_PATH_ROWS)
			memcpy3d_call(p, thread, &plan);
	}
	for (uint32_t i = 0; i < BF_HIP_PATHS; i++)
		if (p->result->paths[i])
			bf_sdma_work_plan_say(p, "%-23s %" PRIu64 " calls%s\n", bf_hip_path_name((enum bf_hip_path)i),
					      p->result->paths[i],
					      i == BF_HIP_PATH_HOST || i == BF_HIP_PATH_SHADER ? ", not the engine's"
											       : "");
}
