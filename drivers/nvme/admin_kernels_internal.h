/* The kernels of the workload of admin commands, as device code. */
#ifndef BELFRY_DRIVERS_NVME_ADMIN_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_NVME_ADMIN_KERNELS_INTERNAL_H

#include "drivers/nvme/request_internal.h"

/*
 * Admin commands, one after the other, whose answers are known: what the bring-up learned must come again. The words
 * behind a log are guarded.
 */
#define BF_NVME_DRV_ADMIN_OPS 13u
#define BF_NVME_DRV_GUARD 0x5a5a5a5au

BF_DEVICE void bf_nvme_drv_expect(struct bf_thread *t, struct bf_nvme_drv_worker *w, uint32_t op, uint64_t wanted,
				  uint64_t found)
{
	if (wanted == found || w->result.mismatches++)
		return;
	w->result.block = op;
	w->result.wanted = wanted;
	w->result.found = found;
	BF_DRIVER_RECORD(t, nvm_mismatch, .block = op, .wanted = wanted, .found = found);
	(void)t;
}

BF_DEVICE int bf_nvme_drv_admin_log(struct bf_thread *t, struct bf_nvme_drv_worker *w, uint32_t op, uint32_t lid,
				    uint32_t bytes)
{
	struct bf_nvme_drv_ctrl *ctrl = w->ctrl;
	struct bf_nvme_drv_cmd c;
	int rc;

	if (bytes < ctrl->page)
		bf_st_weak32(t, ctrl->scratch.vaddr + bytes, BF_NVME_DRV_GUARD);
	bf_nvme_drv_cmd_log(ctrl, &c, lid, BF_NVME_NSID_ALL, ctrl->scratch.ioaddr, bytes);
	rc = bf_nvme_drv_admin(t, ctrl, &c, (uint32_t *)0);
	bf_nvme_drv_invalidate(t, ctrl);
	if (!rc && bytes < ctrl->page)
		bf_nvme_drv_expect(t, w, op, BF_NVME_DRV_GUARD, bf_nvme_drv_scratch32(t, ctrl, bytes));
	return rc;
}

BF_DEVICE int bf_nvme_drv_admin_identify(struct bf_thread *t, struct bf_nvme_drv_worker *w, uint32_t op, uint32_t cns,
					 uint32_t nsid)
{
	struct bf_nvme_drv_ctrl *ctrl = w->ctrl;
	struct bf_nvme_drv_cmd c;
	int rc;

	bf_nvme_drv_cmd_identify(ctrl, &c, cns, nsid, ctrl->scratch.ioaddr);
	rc = bf_nvme_drv_admin(t, ctrl, &c, (uint32_t *)0);
	bf_nvme_drv_invalidate(t, ctrl);
	if (rc)
		return rc;
	if (cns == 0)
		bf_nvme_drv_expect(t, w, op, (uint32_t)ctrl->nsze, bf_nvme_drv_scratch32(t, ctrl, 0));
	if (cns == 1)
		bf_nvme_drv_expect(t, w, op, (uint8_t)ctrl->serial[0], bf_nvme_drv_scratch8(t, ctrl, 4));
	if (cns == 2)
		bf_nvme_drv_expect(t, w, op, ctrl->nsid, bf_nvme_drv_scratch32(t, ctrl, 0));
	return 0;
}

BF_DEVICE int bf_nvme_drv_admin_op(struct bf_thread *t, struct bf_nvme_drv_worker *w, uint32_t op)
{
	struct bf_nvme_drv_ctrl *ctrl = w->ctrl;
	struct bf_nvme_drv_cmd c;
	uint32_t result = 0;
	int rc;

	switch (op) {
	case 0:
		return bf_nvme_drv_admin_identify(t, w, op, 1, 0);
	case 1:
		return bf_nvme_drv_admin_identify(t, w, op, 2, 0);
	case 2:
		return bf_nvme_drv_admin_identify(t, w, op, 0, ctrl->nsid);
	case 3:
		return bf_nvme_drv_admin_identify(t, w, op, ctrl->bugs & BF_NVME_DRV_BUG_CNS ? 0x7f : 3, ctrl->nsid);
	case 4:
		return bf_nvme_drv_admin_log(t, w, op, 2, 512);
	case 5:
		return bf_nvme_drv_admin_log(t, w, op, 3, 512);
	case 6:
		return bf_nvme_drv_admin_log(t, w, op, 1, 64);
	case 7: /* Commands Supported and Effects: a whole page */
		return ctrl->lpa & 2 ? bf_nvme_drv_admin_log(t, w, op, 5, 4096) : 0;
	case 8: /* asynchronous event configuration, which controllers let change; arbitration they need not */
		bf_nvme_drv_cmd_set_feature(ctrl, &c, 0xb, 3);
		return bf_nvme_drv_admin(t, ctrl, &c, &result);
	case 9:
		bf_nvme_drv_cmd_get_feature(ctrl, &c, 0xb, 0);
		rc = bf_nvme_drv_admin(t, ctrl, &c, &result);
		bf_nvme_drv_expect(t, w, op, 3, rc ? 3 : result & 7);
		return rc;
	case 10: /* number of queues: not fewer than there are */
		bf_nvme_drv_cmd_get_feature(ctrl, &c, 7, 0);
		return bf_nvme_drv_admin(t, ctrl, &c, &result);
	case 11: /* temperature threshold */
		bf_nvme_drv_cmd_get_feature(ctrl, &c, ctrl->bugs & BF_NVME_DRV_BUG_FEATURE_NSID ? 5 : 4, 0);
		return bf_nvme_drv_admin(t, ctrl, &c, &result);
	default: /* Abort of what is not there: success, and bit 0 says that nothing was aborted */
		bf_nvme_drv_cmd_header(
		    ctrl, &c, ctrl->bugs & BF_NVME_DRV_BUG_AER_WAITED ? BF_NVME_ADM_ASYNC_EVENT : BF_NVME_ADM_ABORT, 0);
		bf_nvme_drv_cmd_set(&c, 10, 0xfffeu << 16);
		rc = bf_nvme_drv_admin(t, ctrl, &c, &result);
		bf_nvme_drv_expect(t, w, op, 1, rc ? 1 : result & 1);
		return rc;
	}
}

BF_DEVICE void bf_nvme_drv_work_admin(struct bf_thread *t, const struct bf_nvme_drv_job *job)
{
	struct bf_nvme_drv_worker w;
	struct bf_nvme_drv_cmd c;
	int rc = 0;

	if (!bf_nvme_drv_worker(t, job, &w) || w.thread != 0)
		return;
	w.ctrl->admin.sq.proxy = job->mailbox;
	for (uint32_t m = 0; !rc && m < job->shape.commands; m++) {
		rc = bf_nvme_drv_admin_op(t, &w, m % BF_NVME_DRV_ADMIN_OPS);
		w.result.completed += !rc;
	}
	if (!rc && job->shape.format && w.ctrl->oacs & 2) {
		/* As it is formatted already; only what opcode arrives matters. */
		bf_nvme_drv_cmd_header(w.ctrl, &c, BF_NVME_ADM_FORMAT, w.ctrl->nsid);
		bf_nvme_drv_cmd_set(&c, 10, w.ctrl->lba_shift == 12);
		rc = bf_nvme_drv_admin(t, w.ctrl, &c, (uint32_t *)0);
		w.result.completed += !rc;
	}
	if (rc) {
		bf_nvme_drv_note(&w, rc, (struct bf_nvme_drv_request *)0);
		w.result.failed_opcode = 0xff;
	}
	w.ctrl->admin.sq.proxy = (uint32_t *)0;
	if (job->mailbox)
		bf_st_release32(t, job->mailbox, BF_NVME_DRV_MAILBOX_CLOSED, BF_AT_SYS);
	bf_nvme_drv_end(t, &w);
}

/* One thread of a GPU that rings the admin queue's doorbell for a thread of the CPU, which does everything else. */
BF_DEVICE void bf_nvme_drv_work_ring(struct bf_thread *t, const struct bf_nvme_drv_job *job)
{
	uint32_t *db = job->ctrl->admin.sq.db;
	uint32_t value, seen = 0;

	if (bf_block(t) || bf_warp(t) || bf_lane(t))
		return;
	while ((value = bf_ld_acquire32(t, job->mailbox, BF_AT_SYS)) != BF_NVME_DRV_MAILBOX_CLOSED) {
		if (value == seen) {
			bf_spin(t, job->mailbox, "a doorbell to ring");
			continue;
		}
		seen = value;
		bf_mmio_st32(t, db, value - 1);
	}
}

#endif
