/*
 * NVMe, step 1 of 4: the command, built in registers and laid into its slot.
 *
 * All sixteen dwords of an entry are written each time, also those that the command does not use: a slot holds what its
 * last user left there. (libnvm writes DW0, DW1 and what the command needs; FUA or PRINFO of a slot's last user then
 * hold for the next one.)
 */
#ifndef BELFRY_DRIVERS_NVME_CMD_H
#define BELFRY_DRIVERS_NVME_CMD_H

#include "drivers/nvme/nvme.h"
#include "traces/records/nvme_driver.h"
#include "models/nvme/prm.h"
#include "sim/compiler.h"

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

/* Dword i of the entry is dw[i / 4].w[i % 4]; `used` has a bit for each that the command gives a meaning to. */
struct bf_nvme_drv_cmd {
	struct bf_vec128 dw[4];
	uint32_t used;
};

BF_DEVICE void bf_nvme_drv_cmd_set(struct bf_nvme_drv_cmd *c, uint32_t i, uint32_t value)
{
	c->dw[i / 4].w[i % 4] = value;
	c->used |= 1u << i;
}
BF_DEVICE uint32_t bf_nvme_drv_cmd_get(const struct bf_nvme_drv_cmd *c, uint32_t i)
{
	return c->dw[i / 4].w[i % 4];
}
BF_DEVICE void bf_nvme_drv_cmd_set64(struct bf_nvme_drv_cmd *c, uint32_t i, uint64_t value)
{
	bf_nvme_drv_cmd_set(c, i, (uint32_t)value);
	bf_nvme_drv_cmd_set(c, i + 1, (uint32_t)(value >> 32));
}

/* Everything zero but opcode and namespace. The identifier is given when a slot is. */
BF_DEVICE void bf_nvme_drv_cmd_header(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c, uint32_t opcode,
				      uint32_t nsid)
{
	for (uint32_t i = 0; i < 16; i++)
		c->dw[i / 4].w[i % 4] = 0;
	c->used = 0;
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_OPCODE_MASK))
		opcode &= 0x7f;
	bf_nvme_drv_cmd_set(c, 0, opcode);
	bf_nvme_drv_cmd_set(c, 1, nsid);
}

BF_DEVICE void bf_nvme_drv_cmd_data(struct bf_nvme_drv_cmd *c, uint64_t prp1, uint64_t prp2)
{
	bf_nvme_drv_cmd_set64(c, 6, prp1);
	bf_nvme_drv_cmd_set64(c, 8, prp2);
}

/* Which blocks; `blocks` from 1. `control` is bits 31:16 of CDW12 (FUA, LR, PRINFO), as they stand there. */
#define BF_NVME_DRV_FUA (1u << 30)
#define BF_NVME_DRV_PRACT (1u << 29)
BF_DEVICE void bf_nvme_drv_cmd_blocks(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c, uint64_t slba,
				      uint32_t blocks, uint32_t control)
{
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_LBA_UNITS))
		slba <<= ctrl->lba_shift - 9;
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_NLB))
		blocks++;
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_PRACT))
		control |= BF_NVME_DRV_PRACT;
	bf_nvme_drv_cmd_set64(c, 10, slba);
	bf_nvme_drv_cmd_set(c, 12, ((blocks - 1) & 0xffffu) | (control & 0xffff0000u));
	/* libnvm changes the low half only. */
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_STALE_FIELDS) && !(control & 0xffff0000u))
		c->used &= ~(1u << 12);
}

/* Identify: which structure, of which namespace or controller. */
BF_DEVICE void bf_nvme_drv_cmd_identify(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c, uint32_t cns,
					uint32_t nsid, uint64_t page)
{
	bf_nvme_drv_cmd_header(ctrl, c, BF_NVME_ADM_IDENTIFY, nsid);
	bf_nvme_drv_cmd_data(c, page, 0);
	bf_nvme_drv_cmd_set(c, 10, cns);
}

/* Get Log Page: `bytes` (a multiple of 4) within one page. NUMD counts dwords from 0. */
BF_DEVICE void bf_nvme_drv_cmd_log(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c, uint32_t lid,
				   uint32_t nsid, uint64_t page, uint32_t bytes)
{
	const uint32_t numd = bytes / 4 - (ctrl->bugs & BF_NVME_DRV_BUG_NUMD ? 0 : 1);

	bf_nvme_drv_cmd_header(ctrl, c, BF_NVME_ADM_GET_LOG, nsid);
	bf_nvme_drv_cmd_data(c, page, 0);
	bf_nvme_drv_cmd_set(c, 10, lid | (numd & 0xffffu) << 16);
	bf_nvme_drv_cmd_set(c, 11, numd >> 16);
}

BF_DEVICE void bf_nvme_drv_cmd_get_feature(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c, uint32_t fid,
					   uint32_t nsid)
{
	bf_nvme_drv_cmd_header(ctrl, c, BF_NVME_ADM_GET_FEATURES, nsid);
	bf_nvme_drv_cmd_set(c, 10, fid);
}

BF_DEVICE void bf_nvme_drv_cmd_set_feature(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c, uint32_t fid,
					   uint32_t value)
{
	bf_nvme_drv_cmd_header(ctrl, c, BF_NVME_ADM_SET_FEATURES, 0);
	bf_nvme_drv_cmd_set(c, 10, fid);
	bf_nvme_drv_cmd_set(c, 11, value);
}

/* Where a queue to be created lies, its number, and its size from 0. */
BF_DEVICE void bf_nvme_drv_cmd_ring(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c,
				    const struct bf_nvme_drv_queue *q)
{
	bf_nvme_drv_cmd_data(c, q->ioaddr + (ctrl->bugs & BF_NVME_DRV_BUG_QUEUE_OFFSET ? BF_NVME_DRV_SQE : 0), 0);
	bf_nvme_drv_cmd_set(c, 10, q->no | (q->entries - (ctrl->bugs & BF_NVME_DRV_BUG_QSIZE ? 0 : 1)) << 16);
}

/* A queue in one piece of memory, polled: no interrupt. A submission queue also names its completion queue. */
BF_DEVICE void bf_nvme_drv_cmd_create_cq(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c,
					 const struct bf_nvme_drv_queue *q)
{
	bf_nvme_drv_cmd_header(ctrl, c, BF_NVME_ADM_CREATE_CQ, 0);
	bf_nvme_drv_cmd_ring(ctrl, c, q);
	bf_nvme_drv_cmd_set(c, 11, ctrl->bugs & BF_NVME_DRV_BUG_VECTOR ? 3u | 0xffffu << 16 : 1);
}
BF_DEVICE void bf_nvme_drv_cmd_create_sq(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c,
					 const struct bf_nvme_drv_queue *q, uint32_t cqid)
{
	bf_nvme_drv_cmd_header(ctrl, c, BF_NVME_ADM_CREATE_SQ, 0);
	bf_nvme_drv_cmd_ring(ctrl, c, q);
	bf_nvme_drv_cmd_set(c, 11,
			    (ctrl->bugs & BF_NVME_DRV_BUG_QUEUE_PIECES ? 0 : 1) |
				(ctrl->bugs & BF_NVME_DRV_BUG_CQID ? 0 : cqid) << 16);
}
BF_DEVICE void bf_nvme_drv_cmd_delete_queue(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c,
					    uint32_t opcode, uint32_t qid)
{
	bf_nvme_drv_cmd_header(ctrl, c, opcode, 0);
	bf_nvme_drv_cmd_set(c, 10, qid);
}

/* As libnvm does: the slot keeps what nobody wrote. */
BF_DEVICE void bf_nvme_drv_cmd_store_used(struct bf_thread *t, uint8_t *slot, const struct bf_nvme_drv_cmd *c)
{
	for (uint32_t i = 0; i < 16; i++) {
		const uint32_t value = c->dw[i / 4].w[i % 4];

		if (c->used >> i & 1)
			bf_st_weak32(t, slot + i * 4, value);
		else if (i == 12) /* a transfer without control bits: NLB only */
			bf_st_weak16(t, slot + i * 4, (uint16_t)value);
	}
}

/*
 * Lays the entry into slot `index` of the ring. Weak stores: the submission makes them visible. `head` is where the
 * ring begins, as the caller knows it; `index` itself when it does not.
 */
BF_DEVICE void bf_nvme_drv_cmd_store(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				     const struct bf_nvme_drv_queue *sq, uint32_t index, uint32_t head,
				     const struct bf_nvme_drv_cmd *c)
{
	uint8_t *slot = sq->vaddr + (uint64_t)index * BF_NVME_DRV_SQE;

	if (sq->device)
		for (uint32_t i = 0; i < 8; i++)
			bf_mmio_st64(t, slot + i * 8,
				     (uint64_t)c->dw[i / 2].w[i % 2 * 2 + 1] << 32 | c->dw[i / 2].w[i % 2 * 2]);
	else if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_STALE_FIELDS))
		bf_nvme_drv_cmd_store_used(t, slot, c);
	else
		for (uint32_t i = 0; i < 4; i++)
			bf_st_weak128(t, slot + i * 16, c->dw[i]);
#define BF_NVME_DRV_QWORD_(i) ((uint64_t)c->dw[(i) / 2].w[(i) % 2 * 2 + 1] << 32 | c->dw[(i) / 2].w[(i) % 2 * 2])
	BF_DRIVER_RECORD(t, nvm_build, .q0 = BF_NVME_DRV_QWORD_(0), .q1 = BF_NVME_DRV_QWORD_(1),
			 .q2 = BF_NVME_DRV_QWORD_(2), .q3 = BF_NVME_DRV_QWORD_(3), .q4 = BF_NVME_DRV_QWORD_(4),
			 .q5 = BF_NVME_DRV_QWORD_(5), .q6 = BF_NVME_DRV_QWORD_(6), .q7 = BF_NVME_DRV_QWORD_(7),
			 .va = sq->ioaddr + (uint64_t)index * BF_NVME_DRV_SQE, .qid = sq->no, .slot = index,
			 .head = head, .entries = sq->entries);
#undef BF_NVME_DRV_QWORD_
	(void)head;
}

#endif
