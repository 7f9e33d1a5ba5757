/*
 * The kernels of kernels.h as device code: included by one source file for each platform.
 *
 * A thread works by itself, also when it shares a queue pair: nothing here needs the lanes of a warp to meet. Requests
 * and versions are the thread's own and stand for its registers and local memory: plain C reaches them.
 */
#ifndef BELFRY_DRIVERS_NVME_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_NVME_KERNELS_INTERNAL_H

#include "drivers/nvme/device.h"
#include "drivers/nvme/kernels.h"

enum bf_nvm_kind { BF_NVM_DO_WRITE, BF_NVM_DO_READ, BF_NVM_DO_FLUSH, BF_NVM_DO_ZEROES, BF_NVM_DO_COMPARE,
		   BF_NVM_DO_COMPARE_OTHER };

/* What a thread does in one pass over its commands. */
enum bf_nvm_pass { BF_NVM_PASS_WRITE, BF_NVM_PASS_FLUSH, BF_NVM_PASS_READ, BF_NVM_PASS_READ_ANY, BF_NVM_PASS_MIXED };

#define BF_NVM_NO_CHUNK 0xffffffffu

struct bf_nvm_worker {
	const struct bf_nvm_job *job;
	const struct bf_nvm_shape *shape;
	struct bf_nvm_ctrl *ctrl;
	struct bf_nvm_qp *qp;
	struct bf_nvm_request *request;
	uint32_t thread, cid_base, free, inflight, unsent;
	uint64_t ticket; /* shared: of the last entry */
	struct bf_nvm_result result;
	uint8_t plain; /* data is touched as host code does, not through the platform */
};

/* False when this thread has no part in the work. */
BF_DEVICE int bf_nvm_worker(const struct bf_thread *t, const struct bf_nvm_job *job, struct bf_nvm_worker *w)
{
	const struct bf_nvm_shape *s = &job->shape;
	const uint32_t warp = bf_block(t) * bf_warps(t) + bf_warp(t);
	const struct bf_nvm_result none = { 0 };

	w->thread = warp * s->lanes + bf_lane(t);
	if (bf_lane(t) >= s->lanes || w->thread >= s->threads)
		return 0;
	w->job = job;
	w->shape = s;
	w->ctrl = job->ctrl;
	w->qp = &job->qps[w->thread / s->share];
	w->cid_base = w->qp->share ? w->thread % s->share * s->depth : 0;
	w->request = job->request + (uint64_t)w->thread * job->requests;
	w->free = 0;
	w->inflight = w->unsent = 0;
	w->ticket = BF_NVM_NO_TICKET;
	w->result = none;
	w->plain = 0;
	for (uint32_t i = 0; i < job->requests; i++) {
		w->request[i].busy = 0;
		w->request[i].next = (uint16_t)(i + 1);
	}
	return 1;
}

/* The thread's view of word `i` of a data slot. */
BF_DEVICE uint64_t bf_nvm_get_word(struct bf_thread *t, const struct bf_nvm_worker *w, uint8_t *at, uint64_t i)
{
	const uint8_t *p = bf_nvm_byte(w->job, at, i * 8);

	if (w->plain)
		return *(const uint64_t *)(const void *)p;
	/* Behind a cache that DMA does not keep coherent only loads that pass it by will do. */
	return w->ctrl->invalidate ? bf_ld_relaxed64(t, p, BF_AT_SYS) : bf_ld_weak64(t, p);
}

BF_DEVICE void bf_nvm_fill(struct bf_thread *t, const struct bf_nvm_worker *w, const struct bf_nvm_request *r)
{
	uint8_t *at = bf_nvm_slot(w->job, w->thread, r->slot);

	if (w->job->work == BF_NVM_FILE)
		return; /* the file lies there */
	for (uint64_t i = 0; i < w->shape->bytes / 8; i += 2) {
		const uint64_t lo = bf_nvm_word(r->chunk, r->version, i), hi = bf_nvm_word(r->chunk, r->version, i + 1);
		struct bf_vec128 v;

		v.w[0] = (uint32_t)lo;
		v.w[1] = (uint32_t)(lo >> 32);
		v.w[2] = (uint32_t)hi;
		v.w[3] = (uint32_t)(hi >> 32);
		if (w->plain)
			*(struct bf_vec128 *)(void *)bf_nvm_byte(w->job, at, i * 8) = v;
		else
			bf_st_weak128(t, bf_nvm_byte(w->job, at, i * 8), v);
	}
}

/* Compares what a read brought: with the chunk's version, or of a file with where it came from. */
BF_DEVICE void bf_nvm_check(struct bf_thread *t, struct bf_nvm_worker *w, const struct bf_nvm_request *r)
{
	const int file = w->job->work == BF_NVM_FILE;
	uint8_t *at = bf_nvm_slot(w->job, w->thread, r->slot);
	uint8_t *from = file ? bf_nvm_slot(w->job, w->thread, r->slot - w->shape->commands) : at;

	if (!file && r->version == BF_NVM_VERSION_UNKNOWN)
		return;
	if (w->ctrl->data_hidden && !w->plain)
		bf_nvm_invalidate(t, w->ctrl);
	for (uint64_t i = 0; i < w->shape->bytes / 8; i++) {
		const uint64_t found = bf_nvm_get_word(t, w, at, i);
		const uint64_t wanted = file ? bf_nvm_get_word(t, w, from, i) : bf_nvm_word(r->chunk, r->version, i);
		const uint32_t blocks = w->shape->bytes >> w->ctrl->lba_shift;

		if (found == wanted)
			continue;
		if (!w->result.mismatches++) {
			w->result.block = (uint64_t)r->chunk * blocks + (i * 8 >> w->ctrl->lba_shift);
			w->result.offset = (uint32_t)i * 8;
			w->result.wanted = wanted;
			w->result.found = found;
			BF_DRIVER_RECORD(t, nvm_mismatch, .block = w->result.block, .wanted = wanted, .found = found,
					 .va = bf_record_va(t, bf_nvm_byte(w->job, at, i * 8)), .qid = w->qp->sq.no,
					 .offset = w->result.offset);
		}
	}
}

BF_DEVICE uint32_t bf_nvm_opcode(enum bf_nvm_kind kind)
{
	switch (kind) {
	case BF_NVM_DO_WRITE:
		return BF_NVME_IO_WRITE;
	case BF_NVM_DO_READ:
		return BF_NVME_IO_READ;
	case BF_NVM_DO_ZEROES:
		return BF_NVME_IO_WRITE_ZEROES;
	case BF_NVM_DO_COMPARE:
	case BF_NVM_DO_COMPARE_OTHER:
		return BF_NVME_IO_COMPARE;
	case BF_NVM_DO_FLUSH:
	default:
		return BF_NVME_IO_FLUSH;
	}
}

/* Which memory of the thread a command's data takes: its request's, or its place in the file. */
BF_DEVICE uint32_t bf_nvm_data_slot(const struct bf_nvm_worker *w, uint32_t request, const struct bf_nvm_request *r)
{
	if (BF_UNLIKELY(w->ctrl->bugs & BF_NVM_BUG_BUFFER_SHARED))
		return 0;
	if (w->job->work != BF_NVM_FILE)
		return request % w->shape->depth;
	return r->chunk % w->shape->span + (r->kind == BF_NVM_DO_READ ? w->shape->commands : 0);
}

/* The entry of a request: opcode, blocks, data pointer. */
BF_DEVICE int bf_nvm_build(struct bf_thread *t, struct bf_nvm_worker *w, uint32_t index, uint32_t control,
			   struct bf_nvm_cmd *c)
{
	const struct bf_nvm_request *r = &w->request[index];
	const struct bf_nvm_job *job = w->job;
	const uint32_t blocks = w->shape->bytes >> w->ctrl->lba_shift;
	uint8_t *at = bf_nvm_slot(job, w->thread, r->slot);
	const uint32_t list_of = w->ctrl->bugs & BF_NVM_BUG_LIST_SHARED ? 0 : index % w->shape->depth;
	const uint64_t place =
	    ((uint64_t)w->thread * w->shape->depth + list_of) * job->list_stride + w->shape->list_offset;
	const bf_nvm_bug_set bugs = w->ctrl->bugs;
	struct bf_nvm_pages data;
	struct bf_nvm_room list;

	bf_nvm_cmd_header(w->ctrl, c, bf_nvm_opcode((enum bf_nvm_kind)r->kind),
			  bugs & BF_NVM_BUG_NSID ? 0 : w->ctrl->nsid);
	if (BF_UNLIKELY(bugs & BF_NVM_BUG_FUSED_HALF) && r->kind == BF_NVM_DO_COMPARE)
		c->dw[0].w[0] |= 1u << 8;
	if (BF_UNLIKELY(bugs & BF_NVM_BUG_PSDT) && r->kind != BF_NVM_DO_FLUSH)
		c->dw[0].w[0] |= 1u << 14;
	if (r->kind == BF_NVM_DO_FLUSH)
		return 0;
	bf_nvm_cmd_blocks(w->ctrl, c, (uint64_t)r->chunk * blocks, blocks, control);
	if (r->kind == BF_NVM_DO_ZEROES)
		return 0;
	data.first = job->data.ioaddr + (uint64_t)(bf_nvm_byte(job, at, 0) - job->data.vaddr);
	data.step = w->shape->scatter ? -(int64_t)w->ctrl->page : (int64_t)w->ctrl->page;
	list.vaddr = job->lists.vaddr + place;
	list.ioaddr = job->lists.ioaddr + place;
	list.bytes = job->list_stride - w->shape->list_offset;
	return bf_nvm_prp(t, w->ctrl, c, &data, w->shape->bytes, &list);
}

/* A failure is kept if it is the first; the thread then starts nothing new. */
BF_DEVICE void bf_nvm_note(struct bf_nvm_worker *w, int failure, const struct bf_nvm_request *r)
{
	w->result.errors++;
	if (w->result.failure)
		return;
	w->result.failure = failure;
	if (!r)
		return;
	w->result.failed_opcode = bf_nvm_opcode((enum bf_nvm_kind)r->kind);
	w->result.failed_block = (uint64_t)r->chunk * (w->shape->bytes >> w->ctrl->lba_shift);
}

/* True while a command on the chunk is in flight: what order they take is the controller's. */
BF_DEVICE int bf_nvm_chunk_busy(const struct bf_nvm_worker *w, uint32_t chunk)
{
	for (uint32_t i = 0; w->inflight && i < w->job->requests; i++)
		if (w->request[i].busy && w->request[i].chunk == chunk)
			return 1;
	return 0;
}

/* What command `m` of a mixed run does. A controller that lacks an optional command gets a write instead. */
BF_DEVICE enum bf_nvm_kind bf_nvm_mixed_kind(const struct bf_nvm_worker *w, uint32_t m, uint32_t version)
{
	const uint32_t pick = (uint32_t)(bf_nvm_draw(w->shape->seed, w->thread, m) >> 8) % 100;

	if (pick < 40)
		return BF_NVM_DO_WRITE;
	if (pick < 75)
		return BF_NVM_DO_READ;
	if (pick < 80)
		return BF_NVM_DO_FLUSH;
	if (pick < 90)
		return w->ctrl->oncs & 1u << 3 ? BF_NVM_DO_ZEROES : BF_NVM_DO_WRITE;
	if (!(w->ctrl->oncs & 1u) || version == BF_NVM_VERSION_UNKNOWN)
		return BF_NVM_DO_WRITE;
	return pick < 95 ? BF_NVM_DO_COMPARE : BF_NVM_DO_COMPARE_OTHER;
}

/* Chooses kind, chunk and version of command `m`. Returns 0 when its chunk is in use and it must wait. */
BF_DEVICE int bf_nvm_choose(struct bf_nvm_worker *w, enum bf_nvm_pass pass, uint32_t m, struct bf_nvm_request *r)
{
	const struct bf_nvm_shape *s = w->shape;
	uint32_t chunk = w->thread * s->span + m % s->span;
	uint32_t *version;

	r->chunk = BF_NVM_NO_CHUNK;
	r->kind = BF_NVM_DO_FLUSH;
	if (pass == BF_NVM_PASS_FLUSH ||
	    (pass == BF_NVM_PASS_WRITE && BF_UNLIKELY(w->ctrl->bugs & BF_NVM_BUG_FLUSH_EARLY) && m + 1 == s->commands))
		return 1;
	if (pass == BF_NVM_PASS_READ_ANY) {
		const uint64_t chunks = (uint64_t)s->span * s->threads;

		r->kind = BF_NVM_DO_READ;
		r->chunk = (uint32_t)(bf_nvm_draw(s->seed, w->thread, m) % chunks);
		r->version = w->job->version[r->chunk];
		return 1;
	}
	if (pass == BF_NVM_PASS_MIXED)
		chunk = w->thread * s->span + (uint32_t)(bf_nvm_draw(s->seed, w->thread, m) >> 32) % s->span;
	if ((pass == BF_NVM_PASS_MIXED || s->depth > s->span) && bf_nvm_chunk_busy(w, chunk))
		return 0;
	version = &w->job->version[chunk];
	r->kind = pass == BF_NVM_PASS_WRITE  ? BF_NVM_DO_WRITE
		  : pass == BF_NVM_PASS_READ ? BF_NVM_DO_READ
					     : (uint8_t)bf_nvm_mixed_kind(w, m, *version);
	if (r->kind == BF_NVM_DO_FLUSH)
		return 1;
	r->chunk = chunk;
	if (r->kind == BF_NVM_DO_WRITE)
		*version = m / s->span + 1;
	if (r->kind == BF_NVM_DO_WRITE && pass == BF_NVM_PASS_MIXED)
		*version = m + 1;
	if (r->kind == BF_NVM_DO_ZEROES)
		*version = BF_NVM_VERSION_ZERO;
	r->version = r->kind == BF_NVM_DO_COMPARE_OTHER ? m + 0x40000000u : *version;
	return 1;
}

/* Starts command `m` of a pass: 1, 0 when it has to wait for others, or BF_NVM_*. */
BF_DEVICE int bf_nvm_start(struct bf_thread *t, struct bf_nvm_worker *w, enum bf_nvm_pass pass, uint32_t m)
{
	const int by_tail = !w->qp->share && w->ctrl->bugs & BF_NVM_BUG_CID_BY_TAIL;
	const uint32_t index = by_tail ? w->qp->sq.tail : w->free;
	struct bf_nvm_request *r = &w->request[index];
	const uint64_t until = bf_clock_ns(t) + w->ctrl->timeout_ns;
	struct bf_nvm_cmd c;
	uint32_t control;
	int rc;

	if (!bf_nvm_choose(w, pass, m, r))
		return 0;
	if (!by_tail)
		w->free = r->next;
	r->slot = bf_nvm_data_slot(w, index, r);
	if (BF_UNLIKELY(w->ctrl->bugs & BF_NVM_BUG_DOORBELL_FIRST) && !w->qp->share)
		bf_nvm_submit_next(t, &w->qp->sq);
	if (r->kind == BF_NVM_DO_WRITE || r->kind == BF_NVM_DO_COMPARE || r->kind == BF_NVM_DO_COMPARE_OTHER)
		bf_nvm_fill(t, w, r);
	control = pass == BF_NVM_PASS_MIXED && r->kind == BF_NVM_DO_WRITE && m % 3 == 0 ? BF_NVM_FUA : 0;
	rc = bf_nvm_build(t, w, index, control, &c);
	if (!rc && w->qp->share) {
		const uint64_t before = w->unsent ? w->ticket : BF_NVM_NO_TICKET;

		w->ticket = bf_nvm_share_enqueue(t, w->ctrl, w->qp, &c, w->cid_base + index, before, until);
		rc = w->ticket == BF_NVM_NO_TICKET ? BF_NVM_TIMEOUT : 0;
	} else if (!rc && bf_nvm_enqueue(t, w->ctrl, &w->qp->sq, &c, index) < 0) {
		rc = BF_NVM_TIMEOUT; /* never with as many slots as commands in flight */
	}
	if (rc) {
		bf_nvm_note(w, rc, r);
		return rc;
	}
	r->busy = 1;
	w->inflight++;
	w->unsent++;
	return 1;
}

BF_DEVICE void bf_nvm_announce(struct bf_thread *t, struct bf_nvm_worker *w)
{
	if (!w->unsent || (w->ctrl->bugs & BF_NVM_BUG_LOST_BATCH && w->unsent < w->shape->batch))
		return;
	if (w->qp->share)
		bf_nvm_share_submit(t, w->ctrl, w->qp, w->ticket);
	else
		bf_nvm_submit(t, w->ctrl, &w->qp->sq);
	w->unsent = 0;
}

/* A completion of this thread's; one that it knows nothing of ends it. */
BF_DEVICE void bf_nvm_finish(struct bf_thread *t, struct bf_nvm_worker *w, const struct bf_nvm_completion *done)
{
	const uint32_t index = done->cid - w->cid_base, code = done->status & BF_NVM_STATUS_CODE;
	struct bf_nvm_request *r = &w->request[index < w->job->requests ? index : 0];
	uint32_t wanted = 0;

	if (index >= w->job->requests || !r->busy) {
		BF_DRIVER_RECORD(t, nvm_completion, .qid = w->qp->sq.no, .cid = done->cid, .status = done->status,
				 .sqhd = done->sqhd, .stray = 1);
		bf_nvm_note(w, BF_NVM_STRAY, (struct bf_nvm_request *)0);
		return;
	}
	if (r->kind == BF_NVM_DO_COMPARE_OTHER && !(w->ctrl->bugs & BF_NVM_BUG_IGNORE_STATUS))
		wanted = BF_NVME_SC_COMPARE;
	if (code != wanted)
		bf_nvm_note(w, code ? (int)code : BF_NVM_STRAY, r);
	else if (r->kind == BF_NVM_DO_READ && w->shape->check)
		bf_nvm_check(t, w, r);
	r->busy = 0;
	r->next = (uint16_t)w->free;
	w->free = index;
	w->inflight--;
	w->result.completed++;
}

/* Shared: what others or this thread have found for it. */
BF_DEVICE uint32_t bf_nvm_collect_shared(struct bf_thread *t, struct bf_nvm_worker *w, uint32_t *waiting)
{
	struct bf_nvm_completion done;
	uint32_t n = 0;

	*waiting = w->cid_base;
	for (uint32_t i = 0; i < w->shape->depth; i++) {
		if (!w->request[i].busy)
			continue;
		if (bf_nvm_share_take(t, w->qp, w->cid_base + i, &done)) {
			bf_nvm_finish(t, w, &done);
			n++;
		} else {
			*waiting = w->cid_base + i;
		}
	}
	return n;
}

/* Waits for at least one completion and takes all that are there. 0, or BF_NVM_TIMEOUT. */
BF_DEVICE int bf_nvm_collect(struct bf_thread *t, struct bf_nvm_worker *w)
{
	const uint64_t until = bf_clock_ns(t) + w->ctrl->timeout_ns;
	struct bf_nvm_completion done;
	uint32_t waiting;

	if (w->qp->share) {
		for (;;) {
			bf_nvm_share_poll(t, w->ctrl, w->qp);
			if (bf_nvm_collect_shared(t, w, &waiting))
				return 0;
			if (bf_clock_ns(t) >= until)
				break;
			bf_nvm_share_sleep(t, w->ctrl, w->qp, waiting, until);
		}
	} else if (bf_nvm_wait(t, w->ctrl, w->qp, until, &done)) {
		do
			bf_nvm_finish(t, w, &done);
		while (w->result.failure != BF_NVM_STRAY && bf_nvm_dequeue(t, w->ctrl, w->qp, &done));
		bf_nvm_cq_update(t, w->ctrl, &w->qp->cq);
		return 0;
	}
	bf_nvm_tell_timeout(t, w->ctrl, w->qp, w->inflight, w->shape->batch);
	bf_nvm_note(w, BF_NVM_TIMEOUT, (struct bf_nvm_request *)0);
	return BF_NVM_TIMEOUT;
}

/*
 * `n` commands of one kind of work, as many in flight as the depth allows, a doorbell for each batch. After a failure
 * nothing new is started, and what is in flight is waited for: its data must not arrive when nobody expects it.
 */
BF_DEVICE int bf_nvm_pass_run(struct bf_thread *t, struct bf_nvm_worker *w, enum bf_nvm_pass pass, uint32_t n)
{
	const struct bf_nvm_shape *s = w->shape;
	uint32_t next = 0;

	for (;;) {
		const uint32_t left = n - next, group = left < s->batch ? left : s->batch;
		uint32_t started = 0;

		if (s->depth - w->inflight >= group)
			while (started < group && !w->result.failure) {
				if (bf_nvm_start(t, w, pass, next) <= 0)
					break;
				next++;
				started++;
			}
		bf_nvm_announce(t, w);
		if (!w->inflight)
			break;
		if (started == group && group && s->depth - w->inflight >= s->batch && !w->result.failure && next < n)
			continue; /* room for another batch */
		if (bf_nvm_collect(t, w) || w->result.failure == BF_NVM_STRAY)
			break;
	}
	return w->result.failure;
}

/* The statement of the thread: stored like everything else, so that it is there when the run is over. */
BF_DEVICE void bf_nvm_end(struct bf_thread *t, struct bf_nvm_worker *w)
{
	struct bf_nvm_result *to = &w->job->result[w->thread];
	const uint64_t *from = (const uint64_t *)(const void *)&w->result;

	w->result.inflight = w->inflight;
	w->result.ended = 1;
	for (uint32_t i = 0; i < sizeof(*to) / 8; i++)
		bf_st_weak64(t, (uint64_t *)(void *)to + i, from[i]);
}

BF_DEVICE void bf_nvm_work_io(struct bf_thread *t, const struct bf_nvm_job *job, enum bf_nvm_work work)
{
	struct bf_nvm_worker w;
	int rc;

	if (!bf_nvm_worker(t, job, &w))
		return;
	switch (work) {
	case BF_NVM_READ:
		bf_nvm_pass_run(t, &w, BF_NVM_PASS_READ_ANY, job->shape.commands);
		break;
	case BF_NVM_MIXED:
		bf_nvm_pass_run(t, &w, BF_NVM_PASS_MIXED, job->shape.commands);
		break;
	case BF_NVM_WRITE:
	case BF_NVM_VERIFY:
	case BF_NVM_FILE:
	case BF_NVM_ADMIN:
	case BF_NVM_WORKS:
	default:
		rc = bf_nvm_pass_run(t, &w, BF_NVM_PASS_WRITE, job->shape.commands);
		if (rc || work == BF_NVM_WRITE)
			break;
		if (!(w.ctrl->bugs & BF_NVM_BUG_FLUSH_EARLY))
			rc = bf_nvm_pass_run(t, &w, BF_NVM_PASS_FLUSH, 1);
		if (!rc)
			bf_nvm_pass_run(t, &w, BF_NVM_PASS_READ, job->shape.span);
		break;
	}
	bf_nvm_end(t, &w);
}

/* One thread of the CPU prepares the medium, or looks at what is on it afterwards. */
BF_DEVICE void bf_nvm_work_service(struct bf_thread *t, const struct bf_nvm_job *job, enum bf_nvm_pass pass)
{
	struct bf_nvm_worker w;

	if (!bf_nvm_worker(t, job, &w))
		return;
	w.plain = 1;
	bf_nvm_pass_run(t, &w, pass, job->shape.span);
	bf_nvm_end(t, &w);
}

/*
 * Admin commands, one after the other, whose answers are known: what the bring-up learned must come again. The words
 * behind a log are guarded.
 */
#define BF_NVM_ADMIN_OPS 13u
#define BF_NVM_GUARD 0x5a5a5a5au

BF_DEVICE void bf_nvm_expect(struct bf_thread *t, struct bf_nvm_worker *w, uint32_t op, uint64_t wanted, uint64_t found)
{
	if (wanted == found || w->result.mismatches++)
		return;
	w->result.block = op;
	w->result.wanted = wanted;
	w->result.found = found;
	BF_DRIVER_RECORD(t, nvm_mismatch, .block = op, .wanted = wanted, .found = found);
	(void)t;
}

BF_DEVICE int bf_nvm_admin_log(struct bf_thread *t, struct bf_nvm_worker *w, uint32_t op, uint32_t lid, uint32_t bytes)
{
	struct bf_nvm_ctrl *ctrl = w->ctrl;
	struct bf_nvm_cmd c;
	int rc;

	if (bytes < ctrl->page)
		bf_st_weak32(t, ctrl->scratch.vaddr + bytes, BF_NVM_GUARD);
	bf_nvm_cmd_log(ctrl, &c, lid, BF_NVME_NSID_ALL, ctrl->scratch.ioaddr, bytes);
	rc = bf_nvm_admin(t, ctrl, &c, (uint32_t *)0);
	bf_nvm_invalidate(t, ctrl);
	if (!rc && bytes < ctrl->page)
		bf_nvm_expect(t, w, op, BF_NVM_GUARD, bf_nvm_scratch32(t, ctrl, bytes));
	return rc;
}

BF_DEVICE int bf_nvm_admin_identify(struct bf_thread *t, struct bf_nvm_worker *w, uint32_t op, uint32_t cns,
				    uint32_t nsid)
{
	struct bf_nvm_ctrl *ctrl = w->ctrl;
	struct bf_nvm_cmd c;
	int rc;

	bf_nvm_cmd_identify(ctrl, &c, cns, nsid, ctrl->scratch.ioaddr);
	rc = bf_nvm_admin(t, ctrl, &c, (uint32_t *)0);
	bf_nvm_invalidate(t, ctrl);
	if (rc)
		return rc;
	if (cns == 0)
		bf_nvm_expect(t, w, op, (uint32_t)ctrl->nsze, bf_nvm_scratch32(t, ctrl, 0));
	if (cns == 1)
		bf_nvm_expect(t, w, op, (uint8_t)ctrl->serial[0], bf_nvm_scratch8(t, ctrl, 4));
	if (cns == 2)
		bf_nvm_expect(t, w, op, ctrl->nsid, bf_nvm_scratch32(t, ctrl, 0));
	return 0;
}

BF_DEVICE int bf_nvm_admin_op(struct bf_thread *t, struct bf_nvm_worker *w, uint32_t op)
{
	struct bf_nvm_ctrl *ctrl = w->ctrl;
	struct bf_nvm_cmd c;
	uint32_t result = 0;
	int rc;

	switch (op) {
	case 0:
		return bf_nvm_admin_identify(t, w, op, 1, 0);
	case 1:
		return bf_nvm_admin_identify(t, w, op, 2, 0);
	case 2:
		return bf_nvm_admin_identify(t, w, op, 0, ctrl->nsid);
	case 3:
		return bf_nvm_admin_identify(t, w, op, ctrl->bugs & BF_NVM_BUG_CNS ? 0x7f : 3, ctrl->nsid);
	case 4:
		return bf_nvm_admin_log(t, w, op, 2, 512);
	case 5:
		return bf_nvm_admin_log(t, w, op, 3, 512);
	case 6:
		return bf_nvm_admin_log(t, w, op, 1, 64);
	case 7: /* Commands Supported and Effects: a whole page */
		return ctrl->lpa & 2 ? bf_nvm_admin_log(t, w, op, 5, 4096) : 0;
	case 8: /* asynchronous event configuration, which controllers let change; arbitration they need not */
		bf_nvm_cmd_set_feature(ctrl, &c, 0xb, 3);
		return bf_nvm_admin(t, ctrl, &c, &result);
	case 9:
		bf_nvm_cmd_get_feature(ctrl, &c, 0xb, 0);
		rc = bf_nvm_admin(t, ctrl, &c, &result);
		bf_nvm_expect(t, w, op, 3, rc ? 3 : result & 7);
		return rc;
	case 10: /* number of queues: not fewer than there are */
		bf_nvm_cmd_get_feature(ctrl, &c, 7, 0);
		return bf_nvm_admin(t, ctrl, &c, &result);
	case 11: /* temperature threshold */
		bf_nvm_cmd_get_feature(ctrl, &c, ctrl->bugs & BF_NVM_BUG_FEATURE_NSID ? 5 : 4, 0);
		return bf_nvm_admin(t, ctrl, &c, &result);
	default: /* Abort of what is not there: success, and bit 0 says that nothing was aborted */
		bf_nvm_cmd_header(ctrl, &c,
				  ctrl->bugs & BF_NVM_BUG_AER_WAITED ? BF_NVME_ADM_ASYNC_EVENT : BF_NVME_ADM_ABORT, 0);
		bf_nvm_cmd_set(&c, 10, 0xfffeu << 16);
		rc = bf_nvm_admin(t, ctrl, &c, &result);
		bf_nvm_expect(t, w, op, 1, rc ? 1 : result & 1);
		return rc;
	}
}

BF_DEVICE void bf_nvm_work_admin(struct bf_thread *t, const struct bf_nvm_job *job)
{
	struct bf_nvm_worker w;
	struct bf_nvm_cmd c;
	int rc = 0;

	if (!bf_nvm_worker(t, job, &w) || w.thread != 0)
		return;
	w.ctrl->admin.sq.proxy = job->mailbox;
	for (uint32_t m = 0; !rc && m < job->shape.commands; m++) {
		rc = bf_nvm_admin_op(t, &w, m % BF_NVM_ADMIN_OPS);
		w.result.completed += !rc;
	}
	if (!rc && job->shape.format && w.ctrl->oacs & 2) {
		/* As it is formatted already; only what opcode arrives matters. */
		bf_nvm_cmd_header(w.ctrl, &c, BF_NVME_ADM_FORMAT, w.ctrl->nsid);
		bf_nvm_cmd_set(&c, 10, w.ctrl->lba_shift == 12);
		rc = bf_nvm_admin(t, w.ctrl, &c, (uint32_t *)0);
		w.result.completed += !rc;
	}
	if (rc) {
		bf_nvm_note(&w, rc, (struct bf_nvm_request *)0);
		w.result.failed_opcode = 0xff;
	}
	w.ctrl->admin.sq.proxy = (uint32_t *)0;
	if (job->mailbox)
		bf_st_release32(t, job->mailbox, BF_NVM_MAILBOX_CLOSED, BF_AT_SYS);
	bf_nvm_end(t, &w);
}

/* One thread of a GPU that rings the admin queue's doorbell for a thread of the CPU, which does everything else. */
BF_DEVICE void bf_nvm_work_ring(struct bf_thread *t, const struct bf_nvm_job *job)
{
	uint32_t *db = job->ctrl->admin.sq.db;
	uint32_t value, seen = 0;

	if (bf_block(t) || bf_warp(t) || bf_lane(t))
		return;
	while ((value = bf_ld_acquire32(t, job->mailbox, BF_AT_SYS)) != BF_NVM_MAILBOX_CLOSED) {
		if (value == seen) {
			bf_spin(t, job->mailbox, "a doorbell to ring");
			continue;
		}
		seen = value;
		bf_mmio_st32(t, db, value - 1);
	}
}

#if !defined(__CUDACC__) && !defined(__HIPCC__)
static void bf_nvm_run_bring_up(struct bf_thread *t, void *arg)
{
	bf_nvm_bring_up(t, (struct bf_nvm_boot *)arg);
}
static void bf_nvm_run_shut_down(struct bf_thread *t, void *arg)
{
	bf_nvm_shut_down(t, (struct bf_nvm_boot *)arg);
}
static void bf_nvm_run_read(struct bf_thread *t, void *arg)
{
	bf_nvm_work_io(t, (const struct bf_nvm_job *)arg, BF_NVM_READ);
}
static void bf_nvm_run_write(struct bf_thread *t, void *arg)
{
	bf_nvm_work_io(t, (const struct bf_nvm_job *)arg, BF_NVM_WRITE);
}
static void bf_nvm_run_verify(struct bf_thread *t, void *arg)
{
	bf_nvm_work_io(t, (const struct bf_nvm_job *)arg, BF_NVM_VERIFY);
}
static void bf_nvm_run_mixed(struct bf_thread *t, void *arg)
{
	bf_nvm_work_io(t, (const struct bf_nvm_job *)arg, BF_NVM_MIXED);
}
static void bf_nvm_run_file(struct bf_thread *t, void *arg)
{
	bf_nvm_work_io(t, (const struct bf_nvm_job *)arg, BF_NVM_FILE);
}
static void bf_nvm_run_admin(struct bf_thread *t, void *arg)
{
	bf_nvm_work_admin(t, (const struct bf_nvm_job *)arg);
}
static void bf_nvm_run_ring(struct bf_thread *t, void *arg)
{
	bf_nvm_work_ring(t, (const struct bf_nvm_job *)arg);
}
static void bf_nvm_run_fill(struct bf_thread *t, void *arg)
{
	bf_nvm_work_service(t, (const struct bf_nvm_job *)arg, BF_NVM_PASS_WRITE);
}
static void bf_nvm_run_read_back(struct bf_thread *t, void *arg)
{
	bf_nvm_work_service(t, (const struct bf_nvm_job *)arg, BF_NVM_PASS_READ);
}

#define BF_NVM_KERNEL_TABLE                                                                                            \
	{                                                                                                              \
		.bring_up = bf_nvm_run_bring_up, .shut_down = bf_nvm_run_shut_down,                                    \
		.run = { bf_nvm_run_read, bf_nvm_run_write, bf_nvm_run_verify, bf_nvm_run_mixed, bf_nvm_run_admin,     \
			 bf_nvm_run_file },                                                                            \
		.ring = bf_nvm_run_ring, .fill = bf_nvm_run_fill, .read_back = bf_nvm_run_read_back                                             \
	}

extern const struct bf_nvm_kernels bf_nvm_kernels_sim, bf_nvm_kernels_native;
#endif

#endif
