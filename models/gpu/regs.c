/* The registers: which invalidation makes memory visible, and what the others do. */
#include <errno.h>
#include <string.h>

#include "models/gpu/gpu_internal.h"

static uint32_t field(uint64_t mask, uint32_t word)
{
	return (uint32_t)BF_FIELD_GET(mask, word);
}

static enum bf_gpu_invalidate_verdict judge(uint32_t hub, uint32_t engine, uint32_t request)
{
	if (hub != BF_GPU_HUB_GC)
		return BF_GPU_INVALIDATE_OTHER_HUB;
	if (engine != BF_GPU_GART_ENGINE)
		return BF_GPU_INVALIDATE_OTHER_ENGINE;
	if (field(BF_GPU_INVALIDATE_FLUSH_TYPE, request) != BF_GPU_FLUSH_HEAVYWEIGHT)
		return BF_GPU_INVALIDATE_NOT_HEAVYWEIGHT;
	return field(BF_GPU_INVALIDATE_VMIDS, request) ? BF_GPU_INVALIDATE_DONE : BF_GPU_INVALIDATE_NO_VMID;
}

/* The request is through: translations are gone (not modelled), and with the right one so is what was held back. */
static void on_done(struct bf_event *ev)
{
	struct bf_gpu_engine *e = BF_CONTAINER_OF(ev, struct bf_gpu_engine, done);
	struct bf_gpu *gpu = e->gpu;
	const enum bf_gpu_invalidate_verdict verdict = judge(e->hub, e->index, e->request);
	const uint32_t lines = verdict == BF_GPU_INVALIDATE_DONE ? bf_gpu_make_visible(gpu, BF_GPU_BY_REQUEST) : 0;

	e->ack |= field(BF_GPU_INVALIDATE_VMIDS, e->request);
	gpu->stats.invalidations += verdict == BF_GPU_INVALIDATE_DONE;
	gpu->stats.ignored += verdict != BF_GPU_INVALIDATE_DONE;
	BF_EMIT(gpu->sim, gpu->actor, gpu_invalidate, .request = e->request, .lines = lines, .engine = e->index,
		.vmids = (uint16_t)field(BF_GPU_INVALIDATE_VMIDS, e->request),
		.flush_type = (uint16_t)field(BF_GPU_INVALIDATE_FLUSH_TYPE, e->request), .hub = e->hub,
		.verdict = (uint8_t)verdict);
}

/* An engine does one request at a time; a second one finds the first done. */
static void request(struct bf_gpu_engine *e, uint32_t value)
{
	if (bf_event_pending(&e->done)) {
		bf_sim_cancel(e->gpu->sim, &e->done);
		on_done(&e->done);
	}
	e->request = value;
	e->ack &= ~field(BF_GPU_INVALIDATE_VMIDS, value);
	bf_sim_after(e->gpu->sim, &e->done, e->gpu->profile.invalidate_ps);
}

/* The engine whose registers of the block at `first` hold `offset`; NULL: none. */
static struct bf_gpu_engine *engine_at(struct bf_gpu *gpu, uint32_t hub, uint64_t first, uint64_t offset)
{
	const uint64_t n = (offset - first) / 4;

	return offset >= first && n < BF_GPU_INVALIDATE_ENGINES ? &gpu->engine[hub][n] : NULL;
}

static void reset(struct bf_gpu *gpu, uint64_t offset)
{
	bf_fail(&gpu->sim->error, -EIO, "GPU '%s' was reset by a store to %s: its threads are gone", gpu->name,
		offset == BF_GPU_GCVM_L2_CNTL2 ? "GCVM_L2_CNTL2" : "GCR_GENERAL_CNTL");
	bf_sim_stop(gpu->sim);
}

static enum bf_gpu_effect store_other(struct bf_gpu *gpu, uint64_t offset, uint32_t value)
{
	switch (offset) {
	case BF_GPU_HDP_FLUSH_REQ:
		gpu->hdp |= value;
		gpu->stats.hdp_flushes++;
		return BF_GPU_EFFECT_HDP_FLUSH;
	case BF_GPU_HDP_FLUSH_DONE:
		gpu->hdp = value;
		return BF_GPU_EFFECT_NONE;
	case BF_GPU_GCVM_L2_CNTL2:
	case BF_GPU_GCR_GENERAL_CNTL:
		return BF_GPU_EFFECT_RESET;
	default:
		return BF_GPU_EFFECT_NONE;
	}
}

static void regs_write(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	struct bf_gpu *gpu = region->owner;
	struct bf_gpu_engine *e = engine_at(gpu, BF_GPU_HUB_GC, BF_GPU_GCVM_INVALIDATE_ENG0_REQ, offset);
	const uint32_t value = len >= 4 ? bf_get_le32(data) : 0;
	enum bf_gpu_effect effect = BF_GPU_EFFECT_NOT_32_BITS;

	if (!e)
		e = engine_at(gpu, BF_GPU_HUB_MM, BF_GPU_MMVM_INVALIDATE_ENG0_REQ, offset);
	if (len == 4 && offset % 4 == 0) {
		if (e) {
			request(e, value);
			return;
		}
		effect = store_other(gpu, offset, value);
	}
	BF_EMIT(gpu->sim, gpu->actor, gpu_register, .offset = (uint32_t)offset, .value = value, .len = len,
		.effect = effect);
	if (effect == BF_GPU_EFFECT_RESET)
		reset(gpu, offset);
}

static uint64_t regs_read(struct bf_region *region, uint64_t offset, uint32_t len)
{
	struct bf_gpu *gpu = region->owner;
	const struct bf_gpu_engine *e;

	if (len != 4 || offset % 4)
		return UINT64_MAX;
	if ((e = engine_at(gpu, BF_GPU_HUB_GC, BF_GPU_GCVM_INVALIDATE_ENG0_REQ, offset)) ||
	    (e = engine_at(gpu, BF_GPU_HUB_MM, BF_GPU_MMVM_INVALIDATE_ENG0_REQ, offset)))
		return e->request;
	if ((e = engine_at(gpu, BF_GPU_HUB_GC, BF_GPU_GCVM_INVALIDATE_ENG0_ACK, offset)) ||
	    (e = engine_at(gpu, BF_GPU_HUB_MM, BF_GPU_MMVM_INVALIDATE_ENG0_ACK, offset)))
		return e->ack;
	return offset == BF_GPU_HDP_FLUSH_DONE ? gpu->hdp : 0;
}

const struct bf_mmio_ops bf_gpu_regs_ops = { .write = regs_write, .read = regs_read };

void bf_gpu_regs_init(struct bf_gpu *gpu)
{
	for (uint32_t hub = 0; hub < 2; hub++) {
		for (uint32_t i = 0; i < BF_GPU_INVALIDATE_ENGINES; i++) {
			struct bf_gpu_engine *e = &gpu->engine[hub][i];

			*e = (struct bf_gpu_engine){ .gpu = gpu, .hub = (uint8_t)hub, .index = (uint8_t)i };
			bf_event_init(&e->done, on_done);
		}
	}
}

void bf_gpu_regs_fini(struct bf_gpu *gpu)
{
	for (uint32_t hub = 0; hub < 2; hub++)
		for (uint32_t i = 0; i < BF_GPU_INVALIDATE_ENGINES; i++)
			bf_sim_cancel(gpu->sim, &gpu->engine[hub][i].done);
}
