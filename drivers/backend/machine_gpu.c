/*
 * The GPU of a PE: VRAM that DMA does not keep coherent, made when it is first asked for. In live mode threads are real
 * ones of this machine, whose memory is coherent: VRAM is plain memory there, and its registers a page of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/backend/machine_internal.h"

static int open_gpu(struct bf_world *m, uint32_t pe)
{
	struct bf_pe *p = &m->pe[pe];
	char name[16];
	const struct bf_gpu_opts opts = { .name = name, .profile = &m->gpu_profile, .space = &p->space };

	if (p->gpu)
		return 0;
	snprintf(name, sizeof(name), "gpu%u", pe);
	return bf_gpu_create(m->sim, &opts, &p->gpu);
}

int bf_machine_alloc_vram(struct bf_world *m, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
			  struct bf_region **out)
{
	const enum bf_gpu_mtype mtype = place == BF_PLACE_GPU_UC ? BF_GPU_MTYPE_UC : BF_GPU_MTYPE_RW;
	struct bf_region_opts plain = { .name = name, .kind = BF_MEM_DRAM, .size = size };
	struct bf_gpu_bo *bo;
	int rc;

	if (m->live)
		return bf_region_create(&m->pe[pe].space, &plain, out);
	rc = open_gpu(m, pe);
	if (!rc)
		rc = bf_gpu_vram_alloc(m->pe[pe].gpu, name, size, mtype, &bo);
	if (!rc)
		*out = bf_gpu_bo_region(bo);
	return rc;
}

/* Requests are forgotten and acknowledged from the start. */
static int live_regs(struct bf_world *m, uint32_t pe)
{
	struct bf_region_opts opts = { .name = "gpu.regs", .kind = BF_MEM_DRAM, .size = BF_GPU_REGS_SIZE };
	int rc = m->pe[pe].gpu_regs ? 0 : bf_region_create(&m->pe[pe].space, &opts, &m->pe[pe].gpu_regs);

	for (uint32_t i = 0; !rc && i < BF_GPU_INVALIDATE_ENGINES; i++) {
		bf_put_le32(m->pe[pe].gpu_regs->bytes + bf_gpu_gcvm_invalidate_ack(i), UINT16_MAX);
		bf_put_le32(m->pe[pe].gpu_regs->bytes + bf_gpu_mmvm_invalidate_ack(i), UINT16_MAX);
	}
	return rc;
}

int bf_machine_gpu_regs(struct bf_world *m, uint32_t pe, void **out)
{
	int rc = pe < m->npes ? 0 : bf_fail(m->err, -EINVAL, "no PE %u: there are %u", pe, m->npes);

	*out = NULL;
	if (rc)
		return rc;
	rc = m->live ? live_regs(m, pe) : open_gpu(m, pe);
	if (rc)
		return bf_fail(m->err, rc, "PE %u has no GPU: %s", pe, m->sim->error.text);
	*out = m->live ? m->pe[pe].gpu_regs->bytes : bf_gpu_regs(m->pe[pe].gpu)->bytes;
	return 0;
}

void bf_machine_describe_gpus(struct bf_world *m, char *report, size_t cap)
{
	for (uint32_t i = 0; i < m->npes; i++) {
		const size_t used = strlen(report);

		if (m->pe[i].gpu && used < cap / 4)
			bf_gpu_describe(m->pe[i].gpu, report + used, cap - used);
	}
}
