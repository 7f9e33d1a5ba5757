/*
 * Copies and fills that run: each in pieces, which change memory at the moment when their last byte has passed the
 * data path and the link.
 *
 * Pieces of all jobs share both. A job starts some time after its packet was dispatched, a little later or sooner by
 * seed, as the engine's pipelines do; so a copy may overtake the one before it.
 */
#include "models/sdma/engine_internal.h"

#include "sim/train.h"

/* Bytes of a piece: long enough that the host copies them at full speed, short enough to see a copy in progress. */
#define PIECE_BYTES (1ull << 20)
BF_STATIC_ASSERT(PIECE_BYTES % BF_DMA_BURST == 0, "bursts of a copy must not depend on its pieces");

static void on_due(struct bf_event *ev);

void bf_sdma_jobs_init(struct bf_sdma *dev)
{
	dev->free_jobs = dev->profile.copies == 64 ? ~0ull : (1ull << dev->profile.copies) - 1;
	for (uint32_t i = 0; i < dev->profile.copies; i++) {
		dev->jobs[i].dev = dev;
		dev->jobs[i].id = i;
		bf_event_init(&dev->jobs[i].due, on_due);
	}
}

bool bf_sdma_job_free(const struct bf_sdma *dev)
{
	return dev->free_jobs != 0;
}

/* The job's slot is free: queues that wait for one, or for this copy, may go on. In order of their numbers. */
static void release(struct bf_sdma_job *j)
{
	struct bf_sdma *dev = j->dev;
	struct bf_sdma_queue *q = j->q;

	dev->free_jobs |= 1ull << j->id;
	q->running--;
	for (uint32_t i = 0; i < dev->profile.queues; i++) {
		struct bf_sdma_queue *other = dev->queues[i];

		if (other && other->waits && !other->in_packet && (other->for_slot || (other == q && !q->running)))
			bf_sdma_retry(other);
	}
}

void bf_sdma_jobs_cancel(struct bf_sdma_queue *q)
{
	struct bf_sdma *dev = q->dev;

	for (uint32_t i = 0; i < dev->profile.copies; i++) {
		struct bf_sdma_job *j = &dev->jobs[i];

		if (dev->free_jobs >> i & 1 || j->q != q)
			continue;
		bf_sim_cancel(dev->sim, &j->due);
		release(j);
	}
}

/* ---- time ---- */

static uint64_t scaled(uint64_t bytes, uint64_t ps_per_kib)
{
	return (uint64_t)(((bf_u128)bytes * ps_per_kib + 1023) / 1024);
}

/* When a piece that starts now has passed the data path and the link. */
static uint64_t piece_end(struct bf_sdma_job *j)
{
	struct bf_sdma *dev = j->dev;
	const struct bf_sdma_profile *p = &dev->profile;
	const uint64_t bytes = j->piece_bytes * j->piece_rows, copies = j->cast ? 2 : 1;
	const uint64_t work = j->piece_rows * p->row_ps + (bytes >> j->element) * p->element_ps[j->element];
	uint64_t up = j->dst_vram ? 0 : bytes, down = 0, data, end;

	if (j->cast && !j->dst2_vram)
		up += bytes;
	if (!j->fill && !j->src_vram)
		down = bytes;
	data = scaled(bytes * copies, up || down ? p->link_ps_per_kib : p->vram_ps_per_kib);
	if (dev->data_free_ps < dev->sim->now_ps)
		dev->data_free_ps = dev->sim->now_ps;
	dev->data_free_ps += work > data ? work : data;
	end = up || down ? bf_dma_charge(&dev->dma, up, down) + p->link.latency_ps : 0;
	return end > dev->data_free_ps ? end : dev->data_free_ps;
}

/* ---- pieces ---- */

/* What moves next: whole rows, or part of a long one. */
static void plan(struct bf_sdma_job *j)
{
	const struct bf_sdma_box *b = &j->box;

	if (b->bytes > PIECE_BYTES) {
		j->piece_bytes = b->bytes - j->at < PIECE_BYTES ? b->bytes - j->at : PIECE_BYTES;
		j->piece_rows = 1;
	} else {
		const uint64_t most = PIECE_BYTES / b->bytes;

		j->piece_bytes = b->bytes;
		j->piece_rows = b->rows - j->row < most ? b->rows - j->row : most;
	}
}

/* The piece is in memory: the next one begins behind it. False at the end. */
static bool next_piece(struct bf_sdma_job *j)
{
	const struct bf_sdma_box *b = &j->box;

	j->at += j->piece_bytes;
	if (j->at < b->bytes)
		return true;
	j->at = 0;
	j->row += j->piece_rows;
	if (j->row < b->rows)
		return true;
	j->row = 0;
	return ++j->slice < b->slices;
}

static void record_piece(const struct bf_sdma_job *j, const struct bf_dma_rows *r)
{
	BF_EMIT(j->dev->sim, j->q->actor, sdma_piece, .src = j->fill ? 0 : r->src, .dst = r->dst, .len = r->bytes,
		.src_pitch = r->src_pitch, .dst_pitch = r->dst_pitch, .rows = (uint32_t)r->rows, .job = j->id);
}

/* Which dword held the address that failed. */
static void fail(struct bf_sdma_job *j, uint8_t dword)
{
	const uint64_t iova = j->dev->dma.ioas->last_fault.iova;

	bf_sdma_stop_at(j->q, j->index, j->indirect, BF_SDMA_MEMORY, dword, 0, iova & ~(uint64_t)(BF_PAGE - 1));
}

/* Memory changes now. False when it could not. */
static bool move(struct bf_sdma_job *j)
{
	const struct bf_sdma_box *b = &j->box;
	/* Backwards copies are linear: one row, its pieces from the end. */
	const uint64_t at = j->backwards ? b->bytes - j->at - j->piece_bytes : j->at;
	struct bf_dma_rows r = {
		.dst = b->dst + j->slice * b->dst_slice + j->row * b->dst_pitch + at,
		.src = b->src + j->slice * b->src_slice + j->row * b->src_pitch + at,
		.bytes = j->piece_bytes,
		.rows = j->piece_rows,
		.dst_pitch = b->dst_pitch,
		.src_pitch = b->src_pitch,
		.backwards = j->backwards,
	};
	struct bf_dma_port *port = &j->dev->dma;
	uint64_t faults = port->ioas->faults;

	record_piece(j, &r);
	if (j->fill) {
		if (!bf_dma_fill(port, r.dst, r.bytes, j->pattern, 1u << j->fill_size))
			return true;
		fail(j, j->dword_dst);
		return false;
	}
	if (bf_dma_copy(port, &r)) {
		const bool source = faults != port->ioas->faults && port->ioas->last_fault.access == BF_IOMMU_READ;

		fail(j, source ? j->dword_src : j->dword_dst);
		return false;
	}
	r.dst = b->dst2 + at;
	if (!j->cast || !bf_dma_copy(port, &r))
		return true;
	fail(j, j->dword_dst2);
	return false;
}

static void finish(struct bf_sdma_job *j)
{
	struct bf_sdma *dev = j->dev;

	j->q->count.bytes += j->total;
	BF_EMIT(dev->sim, j->q->actor, sdma_copied, .index = j->index, .indirect = j->indirect, .start_ps = j->start_ps,
		.bytes = j->total, .rows = j->box.rows * j->box.slices, .job = j->id, .running = j->q->running - 1);
	release(j);
}

/* Which memories the copy is between: that decides what its bytes pass. False when an address does not translate. */
static bool locate(struct bf_sdma_job *j, uint64_t iova, uint32_t access, uint8_t dword, bool *vram)
{
	struct bf_dma_port *port = &j->dev->dma;
	struct bf_region *region;
	void *host;

	if (bf_ioas_lookup(port->ioas, iova, 1, access, port->actor, &host, &region) < 0) {
		fail(j, dword);
		return false;
	}
	*vram = region->kind == BF_MEM_VRAM;
	return true;
}

static bool locate_all(struct bf_sdma_job *j)
{
	return (j->fill || locate(j, j->box.src, BF_IOMMU_READ, j->dword_src, &j->src_vram)) &&
	       locate(j, j->box.dst, BF_IOMMU_WRITE, j->dword_dst, &j->dst_vram) &&
	       (!j->cast || locate(j, j->box.dst2, BF_IOMMU_WRITE, j->dword_dst2, &j->dst2_vram));
}

static void on_due(struct bf_event *ev)
{
	struct bf_sdma_job *j = BF_CONTAINER_OF(ev, struct bf_sdma_job, due);

	do {
		if (!(j->piece_rows ? move(j) : locate_all(j))) {
			release(j);
			return;
		}
		if (j->piece_rows && !next_piece(j)) {
			finish(j);
			return;
		}
		plan(j);
	} while (bf_sim_step(j->dev->sim, ev, piece_end(j)));
}

/* ---- start ---- */

/*
 * The engine's fast path moves dwords; anything else goes byte by byte (Mesa src/amd/common/ac_cmdbuf_sdma.c cuts a
 * copy into an aligned body and a tail for that reason).
 */
static uint32_t linear_element(const struct bf_sdma_packet *p, uint64_t bytes)
{
	return ((p->src | p->dst | p->dst2 | bytes) & 3) ? 0 : 4;
}

static void set_job(struct bf_sdma_job *j, struct bf_sdma_queue *q, const struct bf_sdma_box *box)
{
	const struct bf_sdma_packet *p = &q->pkt;
	const bool large = p->dwords == BF_SDMA_RECT_LARGE_DWORDS;

	j->q = q;
	j->index = bf_sdma_index(q);
	j->indirect = bf_sdma_indirect(q);
	j->start_ps = q->dev->sim->now_ps;
	j->box = *box;
	j->total = bf_sdma_packet_bytes(p);
	j->slice = j->row = j->at = 0;
	j->piece_rows = 0;
	j->fill = p->kind == BF_SDMA_KIND_FILL;
	j->cast = p->broadcast != 0;
	j->backwards = p->backwards != 0;
	j->pattern = (uint32_t)p->data;
	j->fill_size = (uint32_t)p->fill_size;
	j->element = p->kind == BF_SDMA_KIND_RECT ? (uint32_t)p->element : linear_element(p, j->total);
	j->dword_src = p->kind == BF_SDMA_KIND_RECT ? 1 : 3;
	j->dword_dst = j->fill ? 1 : large ? 9 : p->kind == BF_SDMA_KIND_RECT ? 6 : 5;
	j->dword_dst2 = 7;
}

/* What no document defines: strict queues stop at it, others do it in the order that is documented here. */
static bool stops_at_undefined(struct bf_sdma_queue *q, const struct bf_sdma_box *box, bool overlap)
{
	uint32_t dword;

	if (BF_UNLIKELY(bf_sdma_leaves_surface(&q->pkt, &dword))) {
		bf_sdma_suspect(q, BF_SDMA_SUSPECT_OUT_OF_SURFACE, dword, bf_sdma_dwords(q)[dword], 0);
		if (q->opts.strict) {
			bf_sdma_stop(q, BF_SDMA_OUT_OF_SURFACE, dword, 0);
			return true;
		}
	}
	/* Backwards towards higher addresses is what the bit is for. */
	if (BF_UNLIKELY(overlap) && !(q->pkt.backwards && box->dst > box->src)) {
		dword = q->pkt.kind == BF_SDMA_KIND_RECT ? 6 : 5;
		bf_sdma_suspect(q, BF_SDMA_SUSPECT_OVERLAP, dword, bf_sdma_dwords(q)[dword], box->dst);
		if (q->opts.strict) {
			bf_sdma_stop(q, BF_SDMA_OVERLAP, dword, box->dst);
			return true;
		}
	}
	return false;
}

enum bf_sdma_progress bf_sdma_job_start(struct bf_sdma_queue *q)
{
	struct bf_sdma *dev = q->dev;
	struct bf_sdma_job *j = &dev->jobs[__builtin_ctzll(dev->free_jobs)];
	struct bf_sdma_box box;
	bool overlap;

	bf_sdma_box_of(&q->pkt, &box);
	overlap = q->pkt.kind != BF_SDMA_KIND_FILL && bf_sdma_box_overlaps(&box);
	if (stops_at_undefined(q, &box, overlap))
		return BF_SDMA_STOPPED;
	if (!overlap)
		bf_sdma_box_merge(&box);
	set_job(j, q, &box);
	dev->free_jobs &= ~(1ull << j->id);
	q->running++;
	bf_sim_after(dev->sim, &j->due, dev->profile.copy_ps + bf_rng_below(&dev->rng, dev->profile.jitter_ps + 1));
	return BF_SDMA_OVER;
}
