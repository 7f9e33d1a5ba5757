/* NVMe workloads on a real controller: which one it is, and what no model is there to tell. */
#include <unistd.h>

#include "drivers/backend/nvme_world.h"
#include "tools/workloads/nvme.h"

#define DOORBELL_PAGE 4096u

void bf_nvme_work_device_describe(const struct bf_backend *be, struct bf_world *world, bool export,
				  struct bf_nvme_work_run_result *out)
{
	const struct bf_nvme_world_ops *ops = bf_nvme_world(be);
	int fd;

	if (be->describe)
		be->describe(world, 0, out->device, sizeof(out->device));
	if (!export || !ops || !ops->bar_dmabuf)
		return;
	fd = ops->bar_dmabuf(world, 0, BF_NVME_DOORBELLS, DOORBELL_PAGE);
	if (fd < 0) {
		out->dmabuf_bytes = fd;
		return;
	}
	out->dmabuf_bytes = lseek(fd, 0, SEEK_END);
	close(fd);
}

/* Commands that move data say so in the lowest bits of their opcode (Base specification, "Submission Queue Entry"). */
static bool moves_data(const uint8_t *sqe)
{
	return (sqe[0] & 3) != 0;
}

bool bf_nvme_work_device_find_unmapped(const struct bf_backend *be, struct bf_world *world,
				       const struct bf_nvme_drv_queue *sq, struct bf_nvme_work_unmapped *out)
{
	for (uint32_t slot = 0; be->reachable && slot < sq->entries; slot++) {
		const uint8_t *sqe = sq->vaddr + (uint64_t)slot * BF_NVME_DRV_SQE;

		for (uint32_t i = 0; i < 2 && moves_data(sqe); i++) {
			const uint64_t prp = bf_get_le64(sqe + 24 + i * 8);

			if (!prp || be->reachable(world, 0, prp, 1))
				continue;
			*out = (struct bf_nvme_work_unmapped){
				.slot = slot, .cid = bf_get_le16(sqe + 2), .prp = i + 1, .iova = prp
			};
			return true;
		}
	}
	return false;
}
