/*
 * Memory of GPUs among the program's addresses, as kernels give it to a NIC with nvidia-peermem: what a program
 * registers there becomes a region of its own, which the devices' DMA reaches by the CUDA driver's copies.
 *
 * The driver keeps a GPU's addresses from other use for as long as its memory is there; when ordinary memory turns up
 * at one later, the region goes.
 */
#include <errno.h>
#include <stdio.h>

#include "tools/exec/cuda.h"
#include "tools/exec/engine_internal.h"

static int far_get(struct bf_region *region, uint64_t offset, void *dst, uint32_t len)
{
	return bf_cuda_read(region->owner, dst, region->va + offset, len);
}

/* A failure has no way back, as for a posted write on PCIe. */
static void far_write(struct bf_region *region, uint64_t offset, const void *src, uint32_t len)
{
	bf_cuda_write(region->owner, region->va + offset, src, len);
}

static const struct bf_far_ops far_ops = { .get = far_get, .write = far_write };

static void store(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	far_write(region, offset, data, len);
}

static const struct bf_mmio_ops mmio_ops = { .write = store };

/* The first region that ends above `at`, or NULL. */
static struct bf_region *region_above(const struct bf_engine *e, uint64_t at)
{
	for (uint32_t i = 0; i < e->gpus.count; i++)
		if (e->gpus.by_va[i]->va + e->gpus.by_va[i]->size > at)
			return e->gpus.by_va[i];
	return NULL;
}

static int take(struct bf_engine *e, uint64_t first, uint64_t end, struct bf_cuda_device *device)
{
	const struct bf_region_opts opts = {
		.name = "gpu",
		.kind = BF_MEM_MMIO,
		.va = first,
		.bytes = (void *)(uintptr_t)first,
		.size = end - first,
		.mmio = &mmio_ops,
		.far = &far_ops,
		.owner = device,
	};
	struct bf_region *r;
	int rc = bf_region_create(&e->gpus, &opts, &r);

	if (rc)
		return rc;
	rc = bf_ioas_unmap(&e->ioas, first, end - first);
	if (!rc) {
		rc = bf_ioas_map_region(&e->ioas, r, BF_IOMMU_READ | BF_IOMMU_WRITE);
		if (!rc)
			return 0;
		bf_ioas_map(&e->ioas, first, e->program, first - e->program->va, end - first,
			    BF_IOMMU_READ | BF_IOMMU_WRITE);
	}
	bf_region_destroy(r);
	return rc;
}

int bf_engine_gpu_pin(struct bf_engine *e, uint64_t first, uint64_t end)
{
	if (e->opts.gpus) /* theirs is memory of the process */
		return -EFAULT;
	if (!e->cuda)
		e->cuda = bf_cuda_find();
	if (!e->cuda)
		return -EFAULT;
	while (first < end) {
		struct bf_region *next = region_above(e, first);
		struct bf_cuda_device *device;
		uint64_t stop;
		int rc;

		device = bf_cuda_device_at(e->cuda, first, &stop);
		if (!device)
			return -EFAULT; /* what was there once may have been freed */
		stop = (stop + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1);
		stop = stop < end ? stop : end;
		if (next && next->va <= first && next->owner == device) {
			first = next->va + next->size < stop ? next->va + next->size : stop;
			continue;
		}
		if (next && next->va <= first) {
			bf_engine_gpu_forget(e, next->va, next->va + next->size);
			continue;
		}
		stop = next && next->va < stop ? next->va : stop;
		rc = stop > first ? take(e, first, stop, device) : -EFAULT;
		if (rc)
			return rc;
		first = stop;
	}
	return 0;
}

void bf_engine_gpu_forget(struct bf_engine *e, uint64_t first, uint64_t end)
{
	struct bf_region *r;

	while ((r = region_above(e, first)) && r->va < end) {
		const uint64_t va = r->va, size = r->size;

		first = va + size;
		bf_ioas_unmap(&e->ioas, va, size);
		bf_region_destroy(r);
		bf_ioas_map(&e->ioas, va, e->program, va - e->program->va, size, BF_IOMMU_READ | BF_IOMMU_WRITE);
	}
}
