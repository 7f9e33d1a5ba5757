/* The initialization segment: revisions, where the command queue is, its doorbell, time, and that the device lives. */
#include "models/mlx5/hca_internal.h"

#define LOG_STRIDE 6u
#define HARDWARE_ID 0x218u          /* ConnectX-7 (mstflint dev_mgt's device ids) */
#define HEALTH_TICK_PS (10 * BF_MS) /* assumed; the driver looks every other second whether it has moved */

uint32_t bf_hca_seg_read(const struct bf_mlx5_hca *hca, uint32_t offset)
{
	const uint64_t ns = hca->sim->now_ps / BF_NS;

	switch (offset) {
	case BF_SEG_FW_REV:
		return BF_MLX5_FW_MINOR << 16 | BF_MLX5_FW_MAJOR;
	case BF_SEG_CMDIF_REV:
		return BF_CMDIF_REV << 16 | BF_MLX5_FW_SUBMINOR;
	case BF_SEG_CMDQ_HIGH:
		return (uint32_t)(hca->queue >> 32);
	case BF_SEG_CMDQ_LOW:
		return (uint32_t)((hca->queue & BF_SEG_CMDQ_ADDRESS) | BF_FIELD_PREP(BF_SEG_CMDQ_NIC, hca->nic) |
				  BF_FIELD_PREP(BF_SEG_CMDQ_LOG_SIZE, BF_HCA_LOG_ENTRIES) | LOG_STRIDE);
	case BF_SEG_HEALTH_FW_VER:
		return (uint32_t)BF_MLX5_FW_MAJOR << 24 | BF_MLX5_FW_MINOR << 16 | BF_MLX5_FW_SUBMINOR;
	case BF_SEG_HEALTH_HW_ID:
		return HARDWARE_ID;
	case BF_SEG_TIMER_HIGH:
		return (uint32_t)(ns >> 32);
	case BF_SEG_TIMER_LOW:
		return (uint32_t)ns;
	case BF_SEG_HEALTH_COUNTER:
		return (uint32_t)(hca->sim->now_ps / HEALTH_TICK_PS + 1) & 0x7fffffff;
	default:
		return 0; /* initialized, healthy, and what is reserved */
	}
}

/* The low half comes last, and with it what the host wants the function to be. */
static void set_queue_low(struct bf_mlx5_hca *hca, uint32_t value)
{
	const uint8_t nic = (uint8_t)BF_FIELD_GET(BF_SEG_CMDQ_NIC, value);

	if (nic == BF_SEG_NIC_RESET) {
		bf_mlx5_hca_reset(hca);
		hca->nic = BF_SEG_NIC_DISABLED;
		return;
	}
	hca->queue = (hca->queue & ~(uint64_t)UINT32_MAX) | (value & BF_SEG_CMDQ_ADDRESS);
	hca->nic = nic;
	bf_hca_next(hca);
}

void bf_hca_seg_write(struct bf_mlx5_hca *hca, uint32_t offset, uint32_t value)
{
	if (offset == BF_SEG_CMDQ_HIGH)
		hca->queue = (uint64_t)value << 32 | (uint32_t)hca->queue;
	else if (offset == BF_SEG_CMDQ_LOW)
		set_queue_low(hca, value);
	else if (offset == BF_SEG_CMD_DOORBELL)
		bf_hca_ring(hca, value);
}
