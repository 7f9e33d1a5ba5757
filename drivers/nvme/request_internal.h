/*
 * A thread of the kernels and its requests, as device code: which command comes next, its entry and data, what is
 * said of it in the end.
 */
#ifndef BELFRY_DRIVERS_NVME_REQUEST_INTERNAL_H
#define BELFRY_DRIVERS_NVME_REQUEST_INTERNAL_H

#include "drivers/nvme/device.h"
#include "drivers/nvme/kernels.h"

enum bf_nvme_drv_kind {
	BF_NVME_DRV_DO_WRITE,
	BF_NVME_DRV_DO_READ,
	BF_NVME_DRV_DO_FLUSH,
	BF_NVME_DRV_DO_ZEROES,
	BF_NVME_DRV_DO_COMPARE,
	BF_NVME_DRV_DO_COMPARE_OTHER
};

/* What a thread does in one pass over its commands. */
enum bf_nvme_drv_pass {
	BF_NVME_DRV_PASS_WRITE,
	BF_NVME_DRV_PASS_FLUSH,
	BF_NVME_DRV_PASS_READ,
	BF_NVME_DRV_PASS_READ_ANY,
	BF_NVME_DRV_PASS_MIXED
};

#define BF_NVME_DRV_NO_CHUNK 0xffffffffu

struct bf_nvme_drv_worker {
	const struct bf_nvme_drv_job *job;
	const struct bf_nvme_drv_shape *shape;
	struct bf_nvme_drv_ctrl *ctrl;
	struct bf_nvme_drv_qp *qp;
	struct bf_nvme_drv_request *request;
	uint32_t thread, cid_base, free, inflight, unsent;
	uint64_t ticket; /* shared: of the last entry */
	struct bf_nvme_drv_result result;
	uint8_t plain; /* data is touched as host code does, not through the platform */
};

/* False when this thread has no part in the work. */
BF_DEVICE int bf_nvme_drv_worker(const struct bf_thread *t, const struct bf_nvme_drv_job *job,
				 struct bf_nvme_drv_worker *w)
{
	const struct bf_nvme_drv_shape *s = &job->shape;
	const uint32_t warp = bf_block(t) * bf_warps(t) + bf_warp(t);
	const struct bf_nvme_drv_result none = { 0 };

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
	w->ticket = BF_NVME_DRV_NO_TICKET;
	w->result = none;
	w->plain = 0;
	for (uint32_t i = 0; i < job->requests; i++) {
		w->request[i].busy = 0;
		w->request[i].next = (uint16_t)(i + 1);
	}
	return 1;
}

/* The thread's view of word `i` of a data slot. */
BF_DEVICE uint64_t bf_nvme_drv_get_word(struct bf_thread *t, const struct bf_nvme_drv_worker *w, uint8_t *at,
					uint64_t i)
{
	const uint8_t *p = bf_nvme_drv_byte(w->job, at, i * 8);

	if (w->plain)
		return *(const uint64_t *)(const void *)p;
	/* Behind a cache that DMA does not keep coherent only loads that pass it by will do. */
	return w->ctrl->invalidate ? bf_ld_relaxed64(t, p, BF_AT_SYS) : bf_ld_weak64(t, p);
}

BF_DEVICE void bf_nvme_drv_fill(struct bf_thread *t, const struct bf_nvme_drv_worker *w,
				const struct bf_nvme_drv_request *r)
{
	uint8_t *at = bf_nvme_drv_slot(w->job, w->thread, r->slot);

	if (w->job->work == BF_NVME_DRV_FILE)
		return; /* the file lies there */
	for (uint64_t i = 0; i < w->shape->bytes / 8; i += 2) {
		const uint64_t lo = bf_nvme_drv_word(r->chunk, r->version, i),
			       hi = bf_nvme_drv_word(r->chunk, r->version, i + 1);
		struct bf_vec128 v;

		v.w[0] = (uint32_t)lo;
		v.w[1] = (uint32_t)(lo >> 32);
		v.w[2] = (uint32_t)hi;
		v.w[3] = (uint32_t)(hi >> 32);
		if (w->plain)
			*(struct bf_vec128 *)(void *)bf_nvme_drv_byte(w->job, at, i * 8) = v;
		else
			bf_st_weak128(t, bf_nvme_drv_byte(w->job, at, i * 8), v);
	}
}

/* Compares what a read brought: with the chunk's version, or of a file with where it came from. */
BF_DEVICE void bf_nvme_drv_check(struct bf_thread *t, struct bf_nvme_drv_worker *w, const struct bf_nvme_drv_request *r)
{
	const int file = w->job->work == BF_NVME_DRV_FILE;
	uint8_t *at = bf_nvme_drv_slot(w->job, w->thread, r->slot);
	uint8_t *from = file ? bf_nvme_drv_slot(w->job, w->thread, r->slot - w->shape->commands) : at;

	if (!file && r->version == BF_NVME_DRV_VERSION_UNKNOWN)
		return;
	if (w->ctrl->data_hidden && !w->plain)
		bf_nvme_drv_invalidate(t, w->ctrl);
	for (uint64_t i = 0; i < w->shape->bytes / 8; i++) {
		const uint64_t found = bf_nvme_drv_get_word(t, w, at, i);
		const uint64_t wanted =
		    file ? bf_nvme_drv_get_word(t, w, from, i) : bf_nvme_drv_word(r->chunk, r->version, i);
		const uint32_t blocks = w->shape->bytes >> w->ctrl->lba_shift;

		if (found == wanted)
			continue;
		if (!w->result.mismatches++) {
			w->result.block = (uint64_t)r->chunk * blocks + (i * 8 >> w->ctrl->lba_shift);
			w->result.offset = (uint32_t)i * 8;
			w->result.wanted = wanted;
			w->result.found = found;
			BF_DRIVER_RECORD(t, nvm_mismatch, .block = w->result.block, .wanted = wanted, .found = found,
					 .va = bf_record_va(t, bf_nvme_drv_byte(w->job, at, i * 8)),
					 .qid = w->qp->sq.no, .offset = w->result.offset);
		}
	}
}

BF_DEVICE uint32_t bf_nvme_drv_opcode(enum bf_nvme_drv_kind kind)
{
	switch (kind) {
	case BF_NVME_DRV_DO_WRITE:
		return BF_NVME_IO_WRITE;
	case BF_NVME_DRV_DO_READ:
		return BF_NVME_IO_READ;
	case BF_NVME_DRV_DO_ZEROES:
		return BF_NVME_IO_WRITE_ZEROES;
	case BF_NVME_DRV_DO_COMPARE:
	case BF_NVME_DRV_DO_COMPARE_OTHER:
		return BF_NVME_IO_COMPARE;
	case BF_NVME_DRV_DO_FLUSH:
	default:
		return BF_NVME_IO_FLUSH;
	}
}

/* Which memory of the thread a command's data takes: its request's, or its place in the file. */
BF_DEVICE uint32_t bf_nvme_drv_data_slot(const struct bf_nvme_drv_worker *w, uint32_t request,
					 const struct bf_nvme_drv_request *r)
{
	if (BF_UNLIKELY(w->ctrl->bugs & BF_NVME_DRV_BUG_BUFFER_SHARED))
		return 0;
	if (w->job->work != BF_NVME_DRV_FILE)
		return request % w->shape->depth;
	return r->chunk % w->shape->span + (r->kind == BF_NVME_DRV_DO_READ ? w->shape->commands : 0);
}

/* The entry of a request: opcode, blocks, data pointer. */
BF_DEVICE int bf_nvme_drv_build(struct bf_thread *t, struct bf_nvme_drv_worker *w, uint32_t index, uint32_t control,
				struct bf_nvme_drv_cmd *c)
{
	const struct bf_nvme_drv_request *r = &w->request[index];
	const struct bf_nvme_drv_job *job = w->job;
	const uint32_t blocks = w->shape->bytes >> w->ctrl->lba_shift;
	uint8_t *at = bf_nvme_drv_slot(job, w->thread, r->slot);
	const uint32_t list_of = w->ctrl->bugs & BF_NVME_DRV_BUG_LIST_SHARED ? 0 : index % w->shape->depth;
	const uint64_t place =
	    ((uint64_t)w->thread * w->shape->depth + list_of) * job->list_stride + w->shape->list_offset;
	const bf_nvme_drv_bug_set bugs = w->ctrl->bugs;
	struct bf_nvme_drv_pages data;
	struct bf_nvme_drv_room list;

	bf_nvme_drv_cmd_header(w->ctrl, c, bf_nvme_drv_opcode((enum bf_nvme_drv_kind)r->kind),
			       bugs & BF_NVME_DRV_BUG_NSID ? 0 : w->ctrl->nsid);
	if (BF_UNLIKELY(bugs & BF_NVME_DRV_BUG_FUSED_HALF) && r->kind == BF_NVME_DRV_DO_COMPARE)
		c->dw[0].w[0] |= 1u << 8;
	if (BF_UNLIKELY(bugs & BF_NVME_DRV_BUG_PSDT) && r->kind != BF_NVME_DRV_DO_FLUSH)
		c->dw[0].w[0] |= 1u << 14;
	if (r->kind == BF_NVME_DRV_DO_FLUSH)
		return 0;
	bf_nvme_drv_cmd_blocks(w->ctrl, c, (uint64_t)r->chunk * blocks, blocks, control);
	if (r->kind == BF_NVME_DRV_DO_ZEROES)
		return 0;
	data.first = job->data.ioaddr + (uint64_t)(bf_nvme_drv_byte(job, at, 0) - job->data.vaddr);
	data.step = w->shape->scatter ? -(int64_t)w->ctrl->page : (int64_t)w->ctrl->page;
	list.vaddr = job->lists.vaddr ? job->lists.vaddr + place : NULL; /* jobs of one or two pages have no lists */
	list.ioaddr = job->lists.ioaddr + place;
	list.bytes = job->list_stride - w->shape->list_offset;
	return bf_nvme_drv_prp(t, w->ctrl, c, &data, w->shape->bytes, &list);
}

/* A failure is kept if it is the first; the thread then starts nothing new. */
BF_DEVICE void bf_nvme_drv_note(struct bf_nvme_drv_worker *w, int failure, const struct bf_nvme_drv_request *r)
{
	w->result.errors++;
	if (w->result.failure)
		return;
	w->result.failure = failure;
	if (!r)
		return;
	w->result.failed_opcode = bf_nvme_drv_opcode((enum bf_nvme_drv_kind)r->kind);
	w->result.failed_block = (uint64_t)r->chunk * (w->shape->bytes >> w->ctrl->lba_shift);
}

/* True while a command on the chunk is in flight: what order they take is the controller's. */
BF_DEVICE int bf_nvme_drv_chunk_busy(const struct bf_nvme_drv_worker *w, uint32_t chunk)
{
	for (uint32_t i = 0; w->inflight && i < w->job->requests; i++)
		if (w->request[i].busy && w->request[i].chunk == chunk)
			return 1;
	return 0;
}

/* What command `m` of a mixed run does. A controller that lacks an optional command gets a write instead. */
BF_DEVICE enum bf_nvme_drv_kind bf_nvme_drv_mixed_kind(const struct bf_nvme_drv_worker *w, uint32_t m, uint32_t version)
{
	const uint32_t pick = (uint32_t)(bf_nvme_drv_draw(w->shape->seed, w->thread, m) >> 8) % 100;

	if (pick < 40)
		return BF_NVME_DRV_DO_WRITE;
	if (pick < 75)
		return BF_NVME_DRV_DO_READ;
	if (pick < 80)
		return BF_NVME_DRV_DO_FLUSH;
	if (pick < 90)
		return w->ctrl->oncs & 1u << 3 ? BF_NVME_DRV_DO_ZEROES : BF_NVME_DRV_DO_WRITE;
	if (!(w->ctrl->oncs & 1u) || version == BF_NVME_DRV_VERSION_UNKNOWN)
		return BF_NVME_DRV_DO_WRITE;
	return pick < 95 ? BF_NVME_DRV_DO_COMPARE : BF_NVME_DRV_DO_COMPARE_OTHER;
}

/* Chooses kind, chunk and version of command `m`. Returns 0 when its chunk is in use and it must wait. */
BF_DEVICE int bf_nvme_drv_choose(struct bf_nvme_drv_worker *w, enum bf_nvme_drv_pass pass, uint32_t m,
				 struct bf_nvme_drv_request *r)
{
	const struct bf_nvme_drv_shape *s = w->shape;
	uint32_t chunk = w->thread * s->span + m % s->span;
	uint32_t *version;

	r->chunk = BF_NVME_DRV_NO_CHUNK;
	r->kind = BF_NVME_DRV_DO_FLUSH;
	if (pass == BF_NVME_DRV_PASS_FLUSH ||
	    (pass == BF_NVME_DRV_PASS_WRITE && BF_UNLIKELY(w->ctrl->bugs & BF_NVME_DRV_BUG_FLUSH_EARLY) &&
	     m + 1 == s->commands))
		return 1;
	if (pass == BF_NVME_DRV_PASS_READ_ANY) {
		const uint64_t chunks = (uint64_t)s->span * s->threads;

		r->kind = BF_NVME_DRV_DO_READ;
		r->chunk = (uint32_t)(bf_nvme_drv_draw(s->seed, w->thread, m) % chunks);
		r->version = w->job->version[r->chunk];
		return 1;
	}
	if (pass == BF_NVME_DRV_PASS_MIXED)
		chunk = w->thread * s->span + (uint32_t)(bf_nvme_drv_draw(s->seed, w->thread, m) >> 32) % s->span;
	if ((pass == BF_NVME_DRV_PASS_MIXED || s->depth > s->span) && bf_nvme_drv_chunk_busy(w, chunk))
		return 0;
	version = &w->job->version[chunk];
	r->kind = pass == BF_NVME_DRV_PASS_WRITE  ? BF_NVME_DRV_DO_WRITE
		  : pass == BF_NVME_DRV_PASS_READ ? BF_NVME_DRV_DO_READ
						  : (uint8_t)bf_nvme_drv_mixed_kind(w, m, *version);
	if (r->kind == BF_NVME_DRV_DO_FLUSH)
		return 1;
	r->chunk = chunk;
	if (r->kind == BF_NVME_DRV_DO_WRITE)
		*version = m / s->span + 1;
	if (r->kind == BF_NVME_DRV_DO_WRITE && pass == BF_NVME_DRV_PASS_MIXED)
		*version = m + 1;
	if (r->kind == BF_NVME_DRV_DO_ZEROES)
		*version = BF_NVME_DRV_VERSION_ZERO;
	r->version = r->kind == BF_NVME_DRV_DO_COMPARE_OTHER ? m + 0x40000000u : *version;
	return 1;
}

/* The statement of the thread: stored like everything else, so that it is there when the run is over. */
BF_DEVICE void bf_nvme_drv_end(struct bf_thread *t, struct bf_nvme_drv_worker *w)
{
	struct bf_nvme_drv_result *to = &w->job->result[w->thread];
	const uint64_t *from = (const uint64_t *)(const void *)&w->result;

	w->result.inflight = w->inflight;
	w->result.ended = 1;
	for (uint32_t i = 0; i < sizeof(*to) / 8; i++)
		bf_st_weak64(t, (uint64_t *)(void *)to + i, from[i]);
}

#endif
