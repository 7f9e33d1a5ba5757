/*
 * The kernels of kernels.h as device code: included by one source file for each platform.
 *
 * A thread works by itself, also when it shares a queue pair: nothing here needs the lanes of a warp to meet. Requests
 * and versions are the thread's own and stand for its registers and local memory: plain C reaches them.
 */
#ifndef BELFRY_DRIVERS_NVME_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_NVME_KERNELS_INTERNAL_H

#include "drivers/nvme/admin_kernels_internal.h"
#include "drivers/nvme/request_internal.h"

/* Starts command `m` of a pass: 1, 0 when it has to wait for others, or BF_NVME_DRV_*. */
BF_DEVICE int bf_nvme_drv_start(struct bf_thread *t, struct bf_nvme_drv_worker *w, enum bf_nvme_drv_pass pass,
				uint32_t m)
{
	const int by_tail = !w->qp->share && w->ctrl->bugs & BF_NVME_DRV_BUG_CID_BY_TAIL;
	const uint32_t index = by_tail ? w->qp->sq.tail : w->free;
	struct bf_nvme_drv_request *r = &w->request[index];
	const uint64_t until = bf_clock_ns(t) + w->ctrl->timeout_ns;
	struct bf_nvme_drv_cmd c;
	uint32_t control;
	int rc;

	if (!bf_nvme_drv_choose(w, pass, m, r))
		return 0;
	if (!by_tail)
		w->free = r->next;
	r->slot = bf_nvme_drv_data_slot(w, index, r);
	if (BF_UNLIKELY(w->ctrl->bugs & BF_NVME_DRV_BUG_DOORBELL_FIRST) && !w->qp->share)
		bf_nvme_drv_submit_next(t, &w->qp->sq);
	if (r->kind == BF_NVME_DRV_DO_WRITE || r->kind == BF_NVME_DRV_DO_COMPARE ||
	    r->kind == BF_NVME_DRV_DO_COMPARE_OTHER)
		bf_nvme_drv_fill(t, w, r);
	control = pass == BF_NVME_DRV_PASS_MIXED && r->kind == BF_NVME_DRV_DO_WRITE && m % 3 == 0 ? BF_NVME_DRV_FUA : 0;
	rc = bf_nvme_drv_build(t, w, index, control, &c);
	if (!rc && w->qp->share) {
		const uint64_t before = w->unsent ? w->ticket : BF_NVME_DRV_NO_TICKET;

		w->ticket = bf_nvme_drv_share_enqueue(t, w->ctrl, w->qp, &c, w->cid_base + index, before, until);
		rc = w->ticket == BF_NVME_DRV_NO_TICKET ? BF_NVME_DRV_TIMEOUT : 0;
	} else if (!rc && bf_nvme_drv_enqueue(t, w->ctrl, &w->qp->sq, &c, index) < 0) {
		rc = BF_NVME_DRV_TIMEOUT; /* never with as many slots as commands in flight */
	}
	if (rc) {
		bf_nvme_drv_note(w, rc, r);
		return rc;
	}
	r->busy = 1;
	w->inflight++;
	w->unsent++;
	return 1;
}

BF_DEVICE void bf_nvme_drv_announce(struct bf_thread *t, struct bf_nvme_drv_worker *w)
{
	if (!w->unsent || (w->ctrl->bugs & BF_NVME_DRV_BUG_LOST_BATCH && w->unsent < w->shape->batch))
		return;
	if (w->qp->share)
		bf_nvme_drv_share_submit(t, w->ctrl, w->qp, w->ticket);
	else
		bf_nvme_drv_submit(t, w->ctrl, &w->qp->sq);
	w->unsent = 0;
}

/* A completion of this thread's; one that it knows nothing of ends it. */
BF_DEVICE void bf_nvme_drv_finish(struct bf_thread *t, struct bf_nvme_drv_worker *w,
				  const struct bf_nvme_drv_completion *done)
{
	const uint32_t index = done->cid - w->cid_base, code = done->status & BF_NVME_DRV_STATUS_CODE;
	struct bf_nvme_drv_request *r = &w->request[index < w->job->requests ? index : 0];
	uint32_t wanted = 0;

	if (index >= w->job->requests || !r->busy) {
		BF_DRIVER_RECORD(t, nvm_completion, .qid = w->qp->sq.no, .cid = done->cid, .status = done->status,
				 .sqhd = done->sqhd, .stray = 1);
		bf_nvme_drv_note(w, BF_NVME_DRV_STRAY, (struct bf_nvme_drv_request *)0);
		return;
	}
	if (r->kind == BF_NVME_DRV_DO_COMPARE_OTHER && !(w->ctrl->bugs & BF_NVME_DRV_BUG_IGNORE_STATUS))
		wanted = BF_NVME_SC_COMPARE;
	if (code != wanted)
		bf_nvme_drv_note(w, code ? (int)code : BF_NVME_DRV_STRAY, r);
	else if (r->kind == BF_NVME_DRV_DO_READ && w->shape->check)
		bf_nvme_drv_check(t, w, r);
	r->busy = 0;
	r->next = (uint16_t)w->free;
	w->free = index;
	w->inflight--;
	w->result.completed++;
}

/* Shared: what others or this thread have found for it. */
BF_DEVICE uint32_t bf_nvme_drv_collect_shared(struct bf_thread *t, struct bf_nvme_drv_worker *w, uint32_t *waiting)
{
	struct bf_nvme_drv_completion done;
	uint32_t n = 0;

	*waiting = w->cid_base;
	for (uint32_t i = 0; i < w->shape->depth; i++) {
		if (!w->request[i].busy)
			continue;
		if (bf_nvme_drv_share_take(t, w->qp, w->cid_base + i, &done)) {
			bf_nvme_drv_finish(t, w, &done);
			n++;
		} else {
			*waiting = w->cid_base + i;
		}
	}
	return n;
}

/* Waits for at least one completion and takes all that are there. 0, or BF_NVME_DRV_TIMEOUT. */
BF_DEVICE int bf_nvme_drv_collect(struct bf_thread *t, struct bf_nvme_drv_worker *w)
{
	const uint64_t until = bf_clock_ns(t) + w->ctrl->timeout_ns;
	struct bf_nvme_drv_completion done;
	uint32_t waiting;

	if (w->qp->share) {
		for (;;) {
			bf_nvme_drv_share_poll(t, w->ctrl, w->qp);
			if (bf_nvme_drv_collect_shared(t, w, &waiting))
				return 0;
			if (bf_clock_ns(t) >= until)
				break;
			bf_nvme_drv_share_sleep(t, w->ctrl, w->qp, waiting, until);
		}
	} else if (bf_nvme_drv_wait(t, w->ctrl, w->qp, until, &done)) {
		do
			bf_nvme_drv_finish(t, w, &done);
		while (w->result.failure != BF_NVME_DRV_STRAY && bf_nvme_drv_dequeue(t, w->ctrl, w->qp, &done));
		bf_nvme_drv_cq_update(t, w->ctrl, &w->qp->cq);
		return 0;
	}
	bf_nvme_drv_tell_timeout(t, w->ctrl, w->qp, w->inflight, w->shape->batch);
	bf_nvme_drv_note(w, BF_NVME_DRV_TIMEOUT, (struct bf_nvme_drv_request *)0);
	return BF_NVME_DRV_TIMEOUT;
}

/*
 * `n` commands of one kind of work, as many in flight as the depth allows, a doorbell for each batch. After a failure
 * nothing new is started, and what is in flight is waited for: its data must not arrive when nobody expects it.
 */
BF_DEVICE int bf_nvme_drv_pass_run(struct bf_thread *t, struct bf_nvme_drv_worker *w, enum bf_nvme_drv_pass pass,
				   uint32_t n)
{
	const struct bf_nvme_drv_shape *s = w->shape;
	uint32_t next = 0;

	for (;;) {
		const uint32_t left = n - next, group = left < s->batch ? left : s->batch;
		uint32_t started = 0;

		if (s->depth - w->inflight >= group)
			while (started < group && !w->result.failure) {
				if (bf_nvme_drv_start(t, w, pass, next) <= 0)
					break;
				next++;
				started++;
			}
		bf_nvme_drv_announce(t, w);
		if (!w->inflight)
			break;
		if (started == group && group && s->depth - w->inflight >= s->batch && !w->result.failure && next < n)
			continue; /* room for another batch */
		if (bf_nvme_drv_collect(t, w) || w->result.failure == BF_NVME_DRV_STRAY)
			break;
	}
	return w->result.failure;
}

BF_DEVICE void bf_nvme_drv_work_io(struct bf_thread *t, const struct bf_nvme_drv_job *job, enum bf_nvme_drv_work work)
{
	struct bf_nvme_drv_worker w;
	int rc;

	if (!bf_nvme_drv_worker(t, job, &w))
		return;
	switch (work) {
	case BF_NVME_DRV_READ:
		bf_nvme_drv_pass_run(t, &w, BF_NVME_DRV_PASS_READ_ANY, job->shape.commands);
		break;
	case BF_NVME_DRV_MIXED:
		bf_nvme_drv_pass_run(t, &w, BF_NVME_DRV_PASS_MIXED, job->shape.commands);
		break;
	case BF_NVME_DRV_WRITE:
	case BF_NVME_DRV_VERIFY:
	case BF_NVME_DRV_FILE:
	case BF_NVME_DRV_ADMIN:
	case BF_NVME_DRV_WORKS:
	default:
		rc = bf_nvme_drv_pass_run(t, &w, BF_NVME_DRV_PASS_WRITE, job->shape.commands);
		if (rc || work == BF_NVME_DRV_WRITE)
			break;
		if (!(w.ctrl->bugs & BF_NVME_DRV_BUG_FLUSH_EARLY))
			rc = bf_nvme_drv_pass_run(t, &w, BF_NVME_DRV_PASS_FLUSH, 1);
		if (!rc)
			bf_nvme_drv_pass_run(t, &w, BF_NVME_DRV_PASS_READ, job->shape.span);
		break;
	}
	bf_nvme_drv_end(t, &w);
}

/* One thread of the CPU prepares the medium, or looks at what is on it afterwards. */
BF_DEVICE void bf_nvme_drv_work_service(struct bf_thread *t, const struct bf_nvme_drv_job *job,
					enum bf_nvme_drv_pass pass)
{
	struct bf_nvme_drv_worker w;

	if (!bf_nvme_drv_worker(t, job, &w))
		return;
	w.plain = 1;
	bf_nvme_drv_pass_run(t, &w, pass, job->shape.span);
	bf_nvme_drv_end(t, &w);
}

#if !defined(__CUDACC__) && !defined(__HIPCC__)
static void bf_nvme_drv_run_bring_up(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_bring_up(t, (struct bf_nvme_drv_boot *)arg);
}
static void bf_nvme_drv_run_shut_down(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_shut_down(t, (struct bf_nvme_drv_boot *)arg);
}
static void bf_nvme_drv_run_read(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_work_io(t, (const struct bf_nvme_drv_job *)arg, BF_NVME_DRV_READ);
}
static void bf_nvme_drv_run_write(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_work_io(t, (const struct bf_nvme_drv_job *)arg, BF_NVME_DRV_WRITE);
}
static void bf_nvme_drv_run_verify(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_work_io(t, (const struct bf_nvme_drv_job *)arg, BF_NVME_DRV_VERIFY);
}
static void bf_nvme_drv_run_mixed(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_work_io(t, (const struct bf_nvme_drv_job *)arg, BF_NVME_DRV_MIXED);
}
static void bf_nvme_drv_run_file(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_work_io(t, (const struct bf_nvme_drv_job *)arg, BF_NVME_DRV_FILE);
}
static void bf_nvme_drv_run_admin(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_work_admin(t, (const struct bf_nvme_drv_job *)arg);
}
static void bf_nvme_drv_run_ring(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_work_ring(t, (const struct bf_nvme_drv_job *)arg);
}
static void bf_nvme_drv_run_fill(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_work_service(t, (const struct bf_nvme_drv_job *)arg, BF_NVME_DRV_PASS_WRITE);
}
static void bf_nvme_drv_run_read_back(struct bf_thread *t, void *arg)
{
	bf_nvme_drv_work_service(t, (const struct bf_nvme_drv_job *)arg, BF_NVME_DRV_PASS_READ);
}

#define BF_NVME_DRV_KERNEL_TABLE                                                                                       \
	{                                                                                                              \
		.bring_up = bf_nvme_drv_run_bring_up, .shut_down = bf_nvme_drv_run_shut_down,                          \
		.run = { bf_nvme_drv_run_read,  bf_nvme_drv_run_write, bf_nvme_drv_run_verify,                         \
			 bf_nvme_drv_run_mixed, bf_nvme_drv_run_admin, bf_nvme_drv_run_file },                         \
		.ring = bf_nvme_drv_run_ring, .fill = bf_nvme_drv_run_fill, .read_back = bf_nvme_drv_run_read_back     \
	}

extern const struct bf_nvme_drv_kernels bf_nvme_drv_kernels_sim, bf_nvme_drv_kernels_native;
#endif

#endif
