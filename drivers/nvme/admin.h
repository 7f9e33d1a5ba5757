/*
 * NVMe: the controller, from reset to shutdown (Base specification, section 3.5, "Controller Initialization", and 3.6,
 * "Shutdown Processing"). One thread, on the CPU or the GPU.
 *
 * Each function returns 0, a status (SCT << 8 | SC, positive) or one of BF_NVME_DRV_* (negative); ctrl->step and
 * step_index say where.
 */
#ifndef BELFRY_DRIVERS_NVME_ADMIN_H
#define BELFRY_DRIVERS_NVME_ADMIN_H

#include "drivers/nvme/cq.h"

BF_DEVICE void bf_nvme_drv_begin(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, enum bf_nvme_drv_step step,
				 uint32_t index)
{
	ctrl->step = step;
	ctrl->step_index = index;
	BF_DRIVER_RECORD(t, nvm_step, .step = step, .index = index);
}

BF_DEVICE int bf_nvme_drv_fail(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, int failure)
{
	ctrl->failure = failure;
	ctrl->csts = bf_mmio_ld32(t, ctrl->regs + BF_NVME_CSTS);
	BF_DRIVER_RECORD(t, nvm_step, .step = ctrl->step, .index = ctrl->step_index, .failure = failure,
			 .csts = ctrl->csts);
	return failure;
}

/*
 * One admin command and its completion. Failure stands in ctrl->failure as well. A late completion of a command that
 * was given up is not mistaken for this one's: the identifier counts on.
 */
BF_DEVICE int bf_nvme_drv_admin(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c,
				uint32_t *result)
{
	struct bf_nvme_drv_qp *qp = &ctrl->admin;
	const uint64_t until = bf_clock_ns(t) + ctrl->timeout_ns;
	const uint32_t cid = qp->sq.tail;
	struct bf_nvme_drv_completion done;
	int code;

	if (bf_nvme_drv_enqueue(t, ctrl, &qp->sq, c, cid) < 0)
		return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_TIMEOUT); /* nothing was fetched for a whole ring */
	bf_nvme_drv_submit(t, ctrl, &qp->sq);
	do {
		if (!bf_nvme_drv_wait(t, ctrl, qp, until, &done)) {
			bf_nvme_drv_tell_timeout(t, ctrl, qp, 1, 1);
			return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_TIMEOUT);
		}
		bf_nvme_drv_cq_update(t, ctrl, &qp->cq);
		if (done.cid >= qp->sq.entries)
			return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_STRAY);
	} while (done.cid != cid);
	if (result)
		*result = done.result;
	code = (int)(done.status & BF_NVME_DRV_STATUS_CODE);
	return code ? bf_nvme_drv_fail(t, ctrl, code) : 0;
}

/* Waits until CSTS under `mask` is `value`, as long as CAP.TO (in units of 500 ms) grants. */
BF_DEVICE int bf_nvme_drv_csts_wait(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, uint32_t mask, uint32_t value)
{
	const uint64_t to = (ctrl->cap & BF_NVME_CAP_TO) >> 24;
	const uint64_t until = bf_clock_ns(t) + (to ? to : 1) * 500000000u;
	uint32_t csts;

	while (((csts = bf_mmio_ld32(t, ctrl->regs + BF_NVME_CSTS)) & mask) != value) {
		if (csts == 0xffffffffu)
			return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_GONE);
		if (value && csts & BF_NVME_CSTS_CFS)
			return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_FATAL);
		if (bf_clock_ns(t) >= until)
			return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_TIMEOUT);
		bf_pause(t, 10000);
	}
	return 0;
}

/* From whatever state to a controller that holds still. */
BF_DEVICE int bf_nvme_drv_disable(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl)
{
	uint32_t cc;

	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_DISABLE, 0);
	ctrl->cap = bf_mmio_ld64(t, ctrl->regs + BF_NVME_CAP);
	ctrl->vs = bf_mmio_ld32(t, ctrl->regs + BF_NVME_VS);
	if (ctrl->cap == ~0ull || bf_mmio_ld32(t, ctrl->regs + BF_NVME_CSTS) == 0xffffffffu)
		return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_GONE);
	ctrl->dstrd = (uint32_t)((ctrl->cap & BF_NVME_CAP_DSTRD) >> 32);
	cc = bf_mmio_ld32(t, ctrl->regs + BF_NVME_CC);
	if (cc & BF_NVME_CC_EN)
		bf_mmio_st32(t, ctrl->regs + BF_NVME_CC, cc & ~(uint32_t)BF_NVME_CC_EN);
	return bf_nvme_drv_csts_wait(t, ctrl, BF_NVME_CSTS_RDY, 0);
}

BF_DEVICE void bf_nvme_drv_queue_start(const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_queue *q, int is_cq)
{
	const uint32_t dstrd = ctrl->bugs & BF_NVME_DRV_BUG_STRIDE ? 0 : ctrl->dstrd;

	q->db = (uint32_t *)(void *)(ctrl->regs +
				     (is_cq ? bf_nvme_cq_doorbell(q->no, dstrd) : bf_nvme_sq_doorbell(q->no, dstrd)));
	q->head = q->tail = q->last = 0;
	q->phase = 1;
}

/* Where the admin queues lie. */
BF_DEVICE void bf_nvme_drv_set_admin(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl)
{
	const uint32_t asqs = ctrl->admin.sq.entries - 1, acqs = ctrl->admin.cq.entries - 1;

	bf_mmio_st32(t, ctrl->regs + BF_NVME_AQA,
		     ctrl->bugs & BF_NVME_DRV_BUG_AQA_SWAPPED ? asqs << 16 | acqs : acqs << 16 | asqs);
	bf_mmio_st64(t, ctrl->regs + BF_NVME_ASQ, ctrl->admin.sq.ioaddr);
	bf_mmio_st64(t, ctrl->regs + BF_NVME_ACQ, ctrl->admin.cq.ioaddr);
}

/* BF_NVME_DRV_BUG_NO_RESET_WAIT: off and on again, and whoever looks at CSTS.RDY sees it as it was. */
BF_DEVICE void bf_nvme_drv_enable_again(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl, uint32_t cc)
{
	bf_mmio_st32(t, ctrl->regs + BF_NVME_CC, cc & ~(uint32_t)BF_NVME_CC_EN);
	bf_mmio_st32(t, ctrl->regs + BF_NVME_CC, cc);
}

/*
 * Admin queues and CC.EN. The configuration is written before it is switched on, as Linux has done since 5.19: some
 * controllers look at it only then.
 */
BF_DEVICE int bf_nvme_drv_enable(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl)
{
	struct bf_nvme_drv_qp *qp = &ctrl->admin;
	const bf_nvme_drv_bug_set bugs = ctrl->bugs;
	/* Entries of 64 and 16 bytes, NVM command set, round robin. */
	uint32_t cc = bugs & BF_NVME_DRV_BUG_IOSQES ? 0 : 6u << 16 | 4u << 20;
	int rc;

	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_ENABLE, 0);
	for (uint32_t mps = 12; 1u << mps < ctrl->page; mps++)
		cc += 1u << 7;
	if (BF_UNLIKELY(bugs & BF_NVME_DRV_BUG_CC_MPS))
		cc |= 0xfu << 7;
	if (BF_UNLIKELY(bugs & BF_NVME_DRV_BUG_ASQ_OFFSET)) {
		qp->sq.vaddr += BF_NVME_DRV_SQE;
		qp->sq.ioaddr += BF_NVME_DRV_SQE;
	}
	bf_nvme_drv_queue_start(ctrl, &qp->sq, 0);
	bf_nvme_drv_queue_start(ctrl, &qp->cq, 1);
	bf_fence_sys(t);
	if (!(bugs & BF_NVME_DRV_BUG_LATE_AQA))
		bf_nvme_drv_set_admin(t, ctrl);
	bf_fence_sys(t);
	bf_mmio_st32(t, ctrl->regs + BF_NVME_CC, cc);
	bf_mmio_ld32(t, ctrl->regs + BF_NVME_CC);
	bf_mmio_st32(t, ctrl->regs + BF_NVME_CC, cc | BF_NVME_CC_EN);
	if (BF_UNLIKELY(bugs & BF_NVME_DRV_BUG_LATE_AQA))
		bf_nvme_drv_set_admin(t, ctrl);
	if (BF_UNLIKELY(bugs & BF_NVME_DRV_BUG_NO_READY_WAIT))
		return 0;
	rc = bf_nvme_drv_csts_wait(t, ctrl, BF_NVME_CSTS_RDY, BF_NVME_CSTS_RDY);
	if (!rc && BF_UNLIKELY(bugs & BF_NVME_DRV_BUG_NO_RESET_WAIT))
		bf_nvme_drv_enable_again(t, ctrl, cc | BF_NVME_CC_EN);
	return rc;
}

/* Bytes of the scratch page, which the controller has just written. */
BF_DEVICE uint32_t bf_nvme_drv_scratch32(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl, uint32_t offset)
{
	return bf_ld_relaxed32(t, ctrl->scratch.vaddr + offset, BF_AT_SYS);
}
BF_DEVICE uint32_t bf_nvme_drv_scratch8(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl, uint32_t offset)
{
	return bf_nvme_drv_scratch32(t, ctrl, offset & ~3u) >> offset % 4 * 8 & 0xffu;
}

/* Identify Controller (CNS 01h) and what this driver needs of it. */
BF_DEVICE int bf_nvme_drv_identify(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl)
{
	struct bf_nvme_drv_cmd c;
	uint32_t mdts;
	int rc;

	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_IDENTIFY, 0);
	bf_nvme_drv_cmd_identify(ctrl, &c, 1, 0, ctrl->scratch.ioaddr);
	rc = bf_nvme_drv_admin(t, ctrl, &c, (uint32_t *)0);
	if (rc)
		return rc;
	bf_nvme_drv_invalidate(t, ctrl);
	for (uint32_t i = 0; i < 20; i++)
		ctrl->serial[i] = (char)bf_nvme_drv_scratch8(t, ctrl, 4 + i);
	for (uint32_t i = 0; i < 40; i++)
		ctrl->model[i] = (char)bf_nvme_drv_scratch8(t, ctrl, 24 + i);
	for (uint32_t i = 0; i < 8; i++)
		ctrl->firmware[i] = (char)bf_nvme_drv_scratch8(t, ctrl, 64 + i);
	mdts = bf_nvme_drv_scratch8(t, ctrl, 77);
	ctrl->max_pages = mdts && mdts < 20 ? 1u << mdts : 0;
	ctrl->oacs = bf_nvme_drv_scratch32(t, ctrl, 256) & 0xffffu;
	ctrl->lpa = bf_nvme_drv_scratch8(t, ctrl, 261);
	ctrl->oncs = bf_nvme_drv_scratch32(t, ctrl, 520) & 0xffffu;
	ctrl->vwc = bf_nvme_drv_scratch8(t, ctrl, 525);
	return 0;
}

/* The namespace to work with: the one asked for, or the first active one (CNS 02h); then its format (CNS 00h). */
BF_DEVICE int bf_nvme_drv_namespace(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, uint32_t nsid)
{
	struct bf_nvme_drv_cmd c;
	uint32_t format;
	int rc;

	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_NAMESPACES, nsid);
	bf_nvme_drv_cmd_identify(ctrl, &c, 2, nsid ? nsid - 1 : 0, ctrl->scratch.ioaddr);
	rc = bf_nvme_drv_admin(t, ctrl, &c, (uint32_t *)0);
	if (rc)
		return rc;
	bf_nvme_drv_invalidate(t, ctrl);
	ctrl->nsid = bf_nvme_drv_scratch32(t, ctrl, 0);
	if (!ctrl->nsid || (nsid && ctrl->nsid != nsid))
		return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_UNSUITED);
	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_NAMESPACE, ctrl->nsid);
	bf_nvme_drv_cmd_identify(ctrl, &c, 0, ctrl->nsid, ctrl->scratch.ioaddr);
	rc = bf_nvme_drv_admin(t, ctrl, &c, (uint32_t *)0);
	if (rc)
		return rc;
	bf_nvme_drv_invalidate(t, ctrl);
	ctrl->nsze = (uint64_t)bf_nvme_drv_scratch32(t, ctrl, 4) << 32 | bf_nvme_drv_scratch32(t, ctrl, 0);
	format = bf_nvme_drv_scratch32(t, ctrl, 128 + (bf_nvme_drv_scratch8(t, ctrl, 26) & 0xfu) * 4);
	ctrl->lba_shift = format >> 16 & 0xffu;
	/* Metadata would need room of its own. */
	if (!ctrl->nsze || ctrl->lba_shift < 9 || ctrl->lba_shift > 16 || (format & 0xffffu))
		return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_UNSUITED);
	return 0;
}

/* Set Features, Number of Queues (07h): the answer may be fewer than asked for. Counts are from 0. */
BF_DEVICE int bf_nvme_drv_queue_count(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, uint32_t wanted)
{
	const uint64_t mapped = (ctrl->regs_bytes - BF_NVME_DOORBELLS) / (8u << ctrl->dstrd) - 1;
	struct bf_nvme_drv_cmd c;
	uint32_t got = 0;
	int rc;

	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_QUEUE_COUNT, wanted);
	bf_nvme_drv_cmd_set_feature(ctrl, &c, 7, (wanted - 1) << 16 | (wanted - 1));
	rc = bf_nvme_drv_admin(t, ctrl, &c, &got);
	if (rc)
		return rc;
	ctrl->step_index = (got & 0xffffu) < got >> 16 ? (got & 0xffffu) + 1 : (got >> 16) + 1;
	if (ctrl->step_index > mapped) /* doorbells that BAR0 does not reach */
		ctrl->step_index = (uint32_t)mapped;
	return ctrl->step_index < wanted ? bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_UNSUITED) : 0;
}

/* Shadow doorbells for the I/O queues; the layout is the registers', from queue 0 on. */
BF_DEVICE int bf_nvme_drv_dbbuf(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, const struct bf_nvme_drv_boot *boot)
{
	struct bf_nvme_drv_cmd c;

	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_DBBUF, 0);
	if (!(ctrl->oacs & 1u << 8) || bf_nvme_cq_doorbell(boot->nqps, ctrl->dstrd) - BF_NVME_DOORBELLS >= ctrl->page)
		return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_UNSUITED);
	if (BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_SHADOW_KEPT))
		for (uint32_t i = 0; i < ctrl->page / 4; i++)
			bf_st_relaxed32(t, boot->dbbuf + ctrl->page / 4 + i, 0x4000, BF_AT_SYS);
	bf_nvme_drv_cmd_header(ctrl, &c, BF_NVME_ADM_DBBUF, 0);
	if (ctrl->bugs & BF_NVME_DRV_BUG_SHADOW_SWAPPED)
		bf_nvme_drv_cmd_data(&c, boot->dbbuf_ioaddr + ctrl->page, boot->dbbuf_ioaddr);
	else
		bf_nvme_drv_cmd_data(&c, boot->dbbuf_ioaddr, boot->dbbuf_ioaddr + ctrl->page);
	return bf_nvme_drv_admin(t, ctrl, &c, (uint32_t *)0);
}

BF_DEVICE void bf_nvme_drv_use_shadow(const struct bf_nvme_drv_ctrl *ctrl, const struct bf_nvme_drv_boot *boot,
				      struct bf_nvme_drv_queue *q, int is_cq)
{
	const uint32_t at =
	    (is_cq ? bf_nvme_cq_doorbell(q->no, ctrl->dstrd) : bf_nvme_sq_doorbell(q->no, ctrl->dstrd)) -
	    BF_NVME_DOORBELLS;

	q->shadow = boot->dbbuf + at / 4;
	q->event = q->shadow + ctrl->page / 4;
}

BF_DEVICE int bf_nvme_drv_create_cq(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_qp *qp)
{
	struct bf_nvme_drv_cmd c;

	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_CREATE_CQ, qp->cq.no);
	bf_nvme_drv_cmd_create_cq(ctrl, &c, &qp->cq);
	return bf_nvme_drv_admin(t, ctrl, &c, (uint32_t *)0);
}

BF_DEVICE int bf_nvme_drv_create_sq(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_qp *qp)
{
	struct bf_nvme_drv_cmd c;

	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_CREATE_SQ, qp->sq.no);
	bf_nvme_drv_cmd_create_sq(ctrl, &c, &qp->sq, qp->cq.no);
	return bf_nvme_drv_admin(t, ctrl, &c, (uint32_t *)0);
}

/* The completion queue first: the submission queue names it. */
BF_DEVICE int bf_nvme_drv_create_pair(struct bf_thread *t, const struct bf_nvme_drv_boot *boot,
				      struct bf_nvme_drv_qp *qp)
{
	struct bf_nvme_drv_ctrl *ctrl = boot->ctrl;
	int rc = 0;

	bf_nvme_drv_queue_start(ctrl, &qp->cq, 1);
	bf_nvme_drv_queue_start(ctrl, &qp->sq, 0);
	if (boot->dbbuf) {
		bf_nvme_drv_use_shadow(ctrl, boot, &qp->cq, 1);
		bf_nvme_drv_use_shadow(ctrl, boot, &qp->sq, 0);
	}
	if (ctrl->bugs & BF_NVME_DRV_BUG_SQ_FIRST)
		rc = bf_nvme_drv_create_sq(t, ctrl, qp);
	if (!rc)
		rc = bf_nvme_drv_create_cq(t, ctrl, qp);
	if (!rc && !(ctrl->bugs & (BF_NVME_DRV_BUG_SQ_FIRST | BF_NVME_DRV_BUG_NO_QUEUE)))
		rc = bf_nvme_drv_create_sq(t, ctrl, qp);
	return rc;
}

/* Whether this controller can be driven with these pages and queue sizes. */
BF_DEVICE int bf_nvme_drv_suits(struct bf_thread *t, struct bf_nvme_drv_ctrl *ctrl, const struct bf_nvme_drv_boot *boot)
{
	const uint32_t mpsmin = (uint32_t)((ctrl->cap & BF_NVME_CAP_MPSMIN) >> 48);
	const uint32_t mpsmax = (uint32_t)((ctrl->cap & BF_NVME_CAP_MPSMAX) >> 52);
	const uint32_t mqes = (uint32_t)(ctrl->cap & BF_NVME_CAP_MQES) + 1;

	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_PAGE_SIZE, 0);
	ctrl->mpsmin = 4096u << mpsmin;
	ctrl->page = boot->page;
	if (ctrl->page < ctrl->mpsmin || ctrl->page > 4096u << mpsmax)
		return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_UNSUITED);
	for (uint32_t i = 0; i < boot->nqps; i++) {
		ctrl->step_index = i + 1;
		if (boot->qps[i].sq.entries > mqes || boot->qps[i].cq.entries > mqes)
			return bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_UNSUITED);
	}
	return 0;
}

/* Everything from reset to I/O queues that take commands. */
BF_DEVICE int bf_nvme_drv_bring_up(struct bf_thread *t, struct bf_nvme_drv_boot *boot)
{
	struct bf_nvme_drv_ctrl *ctrl = boot->ctrl;
	int rc = bf_nvme_drv_disable(t, ctrl);

	if (!rc)
		rc = bf_nvme_drv_suits(t, ctrl, boot);
	if (!rc && boot->cmb) {
		/* Base specification, section 3.1.3.16: the buffer has the addresses from CBA on once CRE and CMSE are
		 * set. */
		bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_CMB, 0);
		bf_mmio_st64(t, ctrl->regs + BF_NVME_CMBMSC, boot->cmb | 3);
		if (!bf_mmio_ld32(t, ctrl->regs + BF_NVME_CMBSZ))
			rc = bf_nvme_drv_fail(t, ctrl, BF_NVME_DRV_UNSUITED);
	}
	if (!rc)
		rc = bf_nvme_drv_enable(t, ctrl);
	if (!rc)
		rc = bf_nvme_drv_identify(t, ctrl);
	if (!rc)
		rc = bf_nvme_drv_namespace(t, ctrl, boot->nsid);
	if (!rc && !(ctrl->bugs & BF_NVME_DRV_BUG_LATE_COUNT))
		rc = bf_nvme_drv_queue_count(t, ctrl, boot->nqps);
	if (!rc && boot->dbbuf)
		rc = bf_nvme_drv_dbbuf(t, ctrl, boot);
	for (uint32_t i = 0; !rc && i < boot->nqps; i++)
		rc = bf_nvme_drv_create_pair(t, boot, &boot->qps[i]);
	if (!rc && BF_UNLIKELY(ctrl->bugs & BF_NVME_DRV_BUG_LATE_COUNT))
		rc = bf_nvme_drv_queue_count(t, ctrl, boot->nqps);
	if (!rc)
		bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_READY, 0);
	return rc;
}

/* All queues of a kind. */
BF_DEVICE int bf_nvme_drv_delete_queues(struct bf_thread *t, struct bf_nvme_drv_boot *boot, uint32_t opcode)
{
	const enum bf_nvme_drv_step step =
	    opcode == BF_NVME_ADM_DELETE_SQ ? BF_NVME_DRV_STEP_DELETE_SQ : BF_NVME_DRV_STEP_DELETE_CQ;
	struct bf_nvme_drv_cmd c;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < boot->nqps; i++) {
		bf_nvme_drv_begin(t, boot->ctrl, step, boot->qps[i].sq.no); /* both of a pair have one number */
		bf_nvme_drv_cmd_delete_queue(boot->ctrl, &c, opcode, boot->qps[i].sq.no);
		rc = bf_nvme_drv_admin(t, boot->ctrl, &c, (uint32_t *)0);
	}
	return rc;
}

/* Queues in the order that the controller demands, then a normal shutdown, then CC.EN = 0. */
BF_DEVICE int bf_nvme_drv_shut_down(struct bf_thread *t, struct bf_nvme_drv_boot *boot)
{
	struct bf_nvme_drv_ctrl *ctrl = boot->ctrl;
	const int cq_first = (ctrl->bugs & BF_NVME_DRV_BUG_CQ_DELETED_FIRST) != 0;
	uint32_t cc;
	int rc = bf_nvme_drv_delete_queues(t, boot, cq_first ? BF_NVME_ADM_DELETE_CQ : BF_NVME_ADM_DELETE_SQ);

	if (!rc)
		rc = bf_nvme_drv_delete_queues(t, boot, cq_first ? BF_NVME_ADM_DELETE_SQ : BF_NVME_ADM_DELETE_CQ);
	if (rc)
		return rc;
	bf_nvme_drv_begin(t, ctrl, BF_NVME_DRV_STEP_SHUTDOWN, 0);
	cc = bf_mmio_ld32(t, ctrl->regs + BF_NVME_CC);
	bf_mmio_st32(t, ctrl->regs + BF_NVME_CC, (cc & ~(uint32_t)BF_NVME_CC_SHN) | 1u << 14);
	rc = bf_nvme_drv_csts_wait(t, ctrl, BF_NVME_CSTS_SHST, 2u << 2);
	return rc ? rc : bf_nvme_drv_disable(t, ctrl);
}

#endif
