/*
 * User queues at work: ring fetch, the front end that takes one packet after the other, and the read pointer.
 *
 * A queue's step event stands for its place in the front end, which all queues of an engine share. A packet that waits
 * leaves the front end to the other queues; who wakes it calls bf_sdma_retry() or bf_sdma_packet_over().
 */
#include "models/sdma/engine_internal.h"
#include "sim/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/train.h"

uint64_t bf_sdma_index(const struct bf_sdma_queue *q)
{
	return q->ring.next;
}

uint64_t bf_sdma_indirect(const struct bf_sdma_queue *q)
{
	return q->from == &q->ib ? q->ib.next + 1 : 0;
}

const uint32_t *bf_sdma_dwords(const struct bf_sdma_queue *q)
{
	return (const uint32_t *)(const void *)(q->from->buf + q->from->head);
}

void bf_sdma_stop_at(struct bf_sdma_queue *q, uint64_t index, uint64_t indirect, enum bf_sdma_reason reason,
		     uint32_t dword, uint32_t value, uint64_t address)
{
	const bool front = index == bf_sdma_index(q) && indirect == bf_sdma_indirect(q) && q->from->len >= 4;

	if (q->fault.reason)
		return;
	q->count.faults++;
	q->waits = NULL;
	q->in_packet = q->for_slot = false;
	q->fault = (struct bf_sdma_fault){
		.reason = reason,
		.index = index,
		.dword = dword,
		.value = value,
		.address = address,
		.in_indirect = indirect != 0,
		.indirect = indirect ? indirect - 1 : 0,
	};
	bf_sim_cancel(q->dev->sim, &q->step);
	bf_sim_cancel(q->dev->sim, &q->timer);
	if (bf_probe(q->dev->sim, BF_CLASS_QUEUE | BF_CLASS_FAULT)) {
		struct bf_rec_sdma_fault rec = { .index = index,
						 .indirect = indirect,
						 .address = address,
						 .dword = dword,
						 .value = value,
						 .reason = (uint32_t)reason,
						 .running = q->running,
						 .header = front ? bf_sdma_dwords(q)[0] : 0 };

		BF_EMIT_MADE(q->dev->sim, q->actor, sdma_fault, rec, NULL, 0);
	}
}

void bf_sdma_stop(struct bf_sdma_queue *q, enum bf_sdma_reason reason, uint32_t dword, uint64_t address)
{
	const uint32_t value = (dword + 1) * 4 <= q->from->len ? bf_sdma_dwords(q)[dword] : 0;

	bf_sdma_stop_at(q, bf_sdma_index(q), bf_sdma_indirect(q), reason, dword, value, address);
}

void bf_sdma_suspect(struct bf_sdma_queue *q, enum bf_sdma_suspicion what, uint32_t dword, uint32_t value,
		     uint64_t address)
{
	q->count.suspects++;
	BF_EMIT(q->dev->sim, q->actor, sdma_suspect, .index = bf_sdma_index(q), .indirect = bf_sdma_indirect(q),
		.address = address, .dword = dword, .value = value, .what = what);
}

/* The front end's next free moment, taken. */
static uint64_t take_slot(struct bf_sdma *dev)
{
	const uint64_t now = dev->sim->now_ps;

	dev->front_free_ps = (dev->front_free_ps > now ? dev->front_free_ps : now) + dev->profile.packet_ps;
	return dev->front_free_ps;
}

void bf_sdma_retry(struct bf_sdma_queue *q)
{
	struct bf_sdma *dev = q->dev;

	if (q->dead || q->paused || q->fault.reason || bf_event_pending(&q->step))
		return;
	q->waits = NULL;
	q->for_slot = false;
	bf_sim_at(dev->sim, &q->step, dev->front_free_ps);
}

/* The read pointer in memory is due to be written. */
void bf_sdma_on_rptr(struct bf_event *ev)
{
	struct bf_sdma_queue *q = BF_CONTAINER_OF(ev, struct bf_sdma_queue, rptr);
	const uint64_t value = q->opts.wrapped ? q->retired & q->mask : q->retired;
	uint8_t bytes[8];

	bf_put_le64(bytes, value);
	q->rptr_written = q->retired;
	q->count.rptr_writes++;
	BF_EMIT(q->dev->sim, q->actor, sdma_rptr, .value = value, .index = q->retired);
	if (bf_dma_write(&q->dev->dma, q->opts.rptr, bytes, q->opts.wrapped ? 4 : 8, 0))
		bf_sdma_stop(q, BF_SDMA_MEMORY, 0, q->opts.rptr);
}

static void retire(struct bf_sdma_queue *q)
{
	q->retired = q->ring.next;
	if (q->retired != q->rptr_written && !bf_event_pending(&q->rptr))
		bf_sim_after(q->dev->sim, &q->rptr, q->dev->profile.rptr_lag_ps);
}

static void consume(struct bf_sdma_stream *s, uint64_t bytes)
{
	const uint32_t here = bytes < s->len ? (uint32_t)bytes : s->len;

	s->next += bytes;
	s->head += here;
	s->len -= here;
	if (s->fetched < s->next)
		s->fetched = s->next;
}

/* Room for `need` bytes in one piece, the present ones first. No fetch is on its way. */
static int make_room(struct bf_sdma_stream *s, uint32_t need)
{
	if (s->head) {
		memmove(s->buf, s->buf + s->head, s->len);
		s->head = 0;
	}
	return BF_GROW(s->buf, s->cap, need);
}

/*
 * Asks for more dwords, if more are published; `want` bytes are needed in one piece. A fetch never passes the doorbell
 * nor the ring's end.
 */
static void fetch(struct bf_sdma_queue *q, struct bf_sdma_stream *s, uint32_t want)
{
	struct bf_sdma *dev = q->dev;
	const bool ring = s == &q->ring;
	const uint64_t end = ring ? q->published : q->ib_bytes;
	const uint64_t at = ring ? s->fetched & q->mask : s->fetched;
	uint64_t n = end - s->fetched;

	if (s->fetching || s->fetched == end)
		return;
	if (n > dev->profile.fetch_bytes)
		n = dev->profile.fetch_bytes;
	if (ring && n > q->opts.bytes - at)
		n = q->opts.bytes - at;
	if (want < s->len + n)
		want = s->len + (uint32_t)n;
	if (make_room(s, want)) {
		bf_fail(&q->dev->sim->error, -ENOMEM, "%s: no memory for what it fetches", q->dev->name);
		bf_sdma_stop(q, BF_SDMA_MEMORY, 0, 0);
		return;
	}
	s->op.iova = (ring ? q->opts.ring : q->ib_base) + at;
	s->op.len = (uint32_t)n;
	s->op.dst = s->buf + s->len;
	s->fetched += n;
	s->fetching = true;
	q->count.fetches++;
	BF_EMIT(dev->sim, q->actor, sdma_fetch, .index = s->fetched - n, .address = s->op.iova, .published = end,
		.len = s->op.len, .ring = ring);
	bf_dma_read(&dev->dma, &s->op);
}

void bf_sdma_on_fetched(struct bf_dma_op *op)
{
	struct bf_sdma_stream *s = BF_CONTAINER_OF(op, struct bf_sdma_stream, op);
	struct bf_sdma_queue *q = s->q;

	s->fetching = false;
	if (q->dead) {
		bf_sdma_queue_bury(q);
	} else if (s->drop) {
		s->drop = false;
		s->fetched = s->next;
		if (!q->in_packet)
			bf_sdma_retry(q);
	} else if (op->status) {
		bf_sdma_stop(q, BF_SDMA_MEMORY, 0, op->iova & ~(uint64_t)(BF_PAGE - 1));
	} else {
		s->len += op->len;
		if (!q->in_packet && !q->waits)
			bf_sdma_retry(q);
	}
}

/* The buffer of an INDIRECT packet is at its end: that packet is over, too. */
static void leave_indirect(struct bf_sdma_queue *q)
{
	q->from = &q->ring;
	q->skip = 0;
	consume(&q->ring, BF_SDMA_INDIRECT_DWORDS * 4);
}

/* Goes past `bytes` of the stream in front. */
static void advance(struct bf_sdma_queue *q, uint64_t bytes)
{
	consume(q->from, bytes);
	if (q->from == &q->ib && q->ib.next >= q->ib_bytes)
		leave_indirect(q);
	retire(q);
	if (q->from->len < q->dev->profile.fetch_bytes && !q->paused)
		fetch(q, q->from, 0);
}

static void record_packet(struct bf_sdma_queue *q)
{
	const struct bf_sdma_packet *p = &q->pkt;
	struct bf_rec_sdma_packet rec = {
		.index = bf_sdma_index(q),
		.indirect = bf_sdma_indirect(q),
		.bytes = bf_sdma_packet_bytes(p),
		.dwords = p->dwords,
		.op = p->op,
		.sub_op = p->sub_op,
		.running = (uint16_t)q->running,
	};
	const uint32_t n = p->dwords < BF_SDMA_RECORD_DWORDS ? p->dwords : BF_SDMA_RECORD_DWORDS;

	strncpy(rec.name, p->name, sizeof(rec.name) - 1);
	BF_EMIT_MADE(q->dev->sim, q->actor, sdma_packet, rec, bf_sdma_dwords(q), n * 4);
}

/* Bits that nobody defined, in a packet that runs all the same. */
static void report_reserved(struct bf_sdma_queue *q)
{
	for (uint32_t i = 0; i < q->pkt.fixed; i++)
		if (q->pkt.reserved >> i & 1)
			bf_sdma_suspect(q, BF_SDMA_SUSPECT_RESERVED_BITS, i, bf_sdma_dwords(q)[i], 0);
}

/* Fewer dwords are here than the packet has. */
static void want_more(struct bf_sdma_queue *q)
{
	struct bf_sdma_stream *s = q->from;
	const uint64_t end = s == &q->ring ? q->published : q->ib_bytes;

	if (s->fetched < end || s->fetching)
		fetch(q, s, q->pkt.dwords * 4);
	else if (s->len)
		bf_sdma_stop(q, BF_SDMA_TRUNCATED, s->len / 4, 0);
}

/* True when the packet in front may begin. */
static bool may_begin(struct bf_sdma_queue *q)
{
	const enum bf_sdma_kind kind = q->pkt.kind;

	if (q->running && !bf_sdma_may_overlap(kind)) {
		q->waits = "copies before it";
		return false;
	}
	if ((kind == BF_SDMA_KIND_COPY || kind == BF_SDMA_KIND_RECT || kind == BF_SDMA_KIND_FILL) &&
	    !bf_sdma_job_free(q->dev)) {
		q->waits = "a free copy slot";
		q->for_slot = true;
		return false;
	}
	return true;
}

/* True while dwords are left that COND_EXE jumps over. */
static bool skips(struct bf_sdma_queue *q)
{
	const uint64_t n = q->skip < q->from->len ? q->skip : q->from->len;

	if (!q->skip)
		return false;
	q->skip -= n;
	if (n)
		advance(q, n);
	else
		fetch(q, q->from, 0);
	return true;
}

/* One packet. True when the front end may go on to the next one. */
static bool step(struct bf_sdma_queue *q)
{
	struct bf_sdma_stream *s;
	enum bf_sdma_reason why;

	if (skips(q))
		return q->from->len != 0;
	s = q->from;
	why = bf_sdma_decode(&q->dev->dialect, bf_sdma_dwords(q), s->len / 4, &q->pkt);
	if (s->len && s == &q->ring && (s->next & q->mask) + q->pkt.dwords * 4ull > q->opts.bytes) {
		bf_sdma_stop(q, BF_SDMA_STRADDLES, (uint32_t)((q->opts.bytes - (s->next & q->mask)) / 4), 0);
		return false;
	}
	if (why == BF_SDMA_TRUNCATED) {
		want_more(q);
		return false;
	}
	if (why) {
		bf_sdma_stop(q, why, q->pkt.bad, 0);
		return false;
	}
	if (!may_begin(q))
		return false;
	if (bf_probe(q->dev->sim, BF_CLASS_QUEUE))
		record_packet(q);
	if (BF_UNLIKELY(q->pkt.reserved))
		report_reserved(q);
	q->count.packets++;
	q->in_packet = true;
	if (bf_sdma_execute(q) != BF_SDMA_OVER)
		return false;
	q->in_packet = false;
	if (q->pkt.kind != BF_SDMA_KIND_INDIRECT)
		advance(q, q->pkt.dwords * 4ull);
	return true;
}

void bf_sdma_on_step(struct bf_event *ev)
{
	struct bf_sdma_queue *q = BF_CONTAINER_OF(ev, struct bf_sdma_queue, step);
	struct bf_sdma *dev = q->dev;

	while (step(q) && !q->paused && bf_sim_step(dev->sim, ev, take_slot(dev)))
		;
}

void bf_sdma_forget_fetched(struct bf_sdma_stream *s)
{
	s->head = s->len = 0;
	s->fetched = s->next;
	s->drop = s->fetching;
}

void bf_sdma_packet_over(struct bf_sdma_queue *q)
{
	q->in_packet = false;
	q->waits = NULL;
	advance(q, q->pkt.dwords * 4ull);
	if (q->paused && q->from == &q->ring)
		bf_sdma_forget_fetched(&q->ring);
	if (!q->paused && !q->fault.reason && !bf_event_pending(&q->step))
		bf_sim_at(q->dev->sim, &q->step, take_slot(q->dev));
}
