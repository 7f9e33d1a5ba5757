/* One function a packet. */
#include "models/sdma/engine_internal.h"

#include "sim/fault.h"

/* A GCR request walks the caches; as long as a few hundred clocks (assumed). */
#define GCR_PS (500 * BF_NS)
/* TIMESTAMP counts the reference clock of 100 MHz (amdgpu_info clock_counter_freq of discrete parts). */
#define TICK_PS (10 * BF_NS)

bool bf_sdma_may_overlap(enum bf_sdma_kind kind)
{
	return kind == BF_SDMA_KIND_COPY || kind == BF_SDMA_KIND_RECT || kind == BF_SDMA_KIND_FILL ||
	       kind == BF_SDMA_KIND_WRITE || kind == BF_SDMA_KIND_INDIRECT;
}

static void record_result(struct bf_sdma_queue *q, uint64_t before, uint64_t after, uint8_t verdict)
{
	BF_EMIT(q->dev->sim, q->actor, sdma_result, .index = bf_sdma_index(q), .indirect = bf_sdma_indirect(q),
		.address = q->pkt.dst, .before = before, .after = after, .tries = q->tries, .op = q->pkt.op,
		.verdict = verdict);
}

/* The address in dword 1 does not translate. */
static enum bf_sdma_progress memory_fault(struct bf_sdma_queue *q)
{
	bf_sdma_stop(q, BF_SDMA_MEMORY, 1, q->dev->dma.ioas->last_fault.iova & ~(uint64_t)(BF_PAGE - 1));
	return BF_SDMA_STOPPED;
}

static enum bf_sdma_progress store(struct bf_sdma_queue *q, uint64_t value, uint32_t len)
{
	uint8_t bytes[8];

	bf_put_le64(bytes, value);
	if (bf_dma_write(&q->dev->dma, q->pkt.dst, bytes, len, 0))
		return memory_fault(q);
	record_result(q, 0, value, BF_SDMA_DONE);
	return BF_SDMA_OVER;
}

static enum bf_sdma_progress write_data(struct bf_sdma_queue *q)
{
	const uint32_t bytes = (uint32_t)bf_sdma_packet_bytes(&q->pkt);

	q->count.bytes += bytes;
	if (bf_dma_write(&q->dev->dma, q->pkt.dst, bf_sdma_dwords(q) + q->pkt.fixed, bytes, 0))
		return memory_fault(q);
	return BF_SDMA_OVER;
}

static enum bf_sdma_progress timestamp(struct bf_sdma_queue *q)
{
	const uint64_t ticks = q->dev->sim->now_ps / TICK_PS;

	if (q->pkt.sub_op == BF_SDMA_TIMESTAMP_SET) {
		q->timestamp_offset = q->pkt.data - ticks;
		return BF_SDMA_OVER;
	}
	if (q->pkt.dst & 31)
		bf_sdma_suspect(q, BF_SDMA_SUSPECT_TIMESTAMP, 1, (uint32_t)q->pkt.dst, q->pkt.dst);
	return store(q, q->pkt.sub_op == BF_SDMA_TIMESTAMP_GET ? ticks + q->timestamp_offset : ticks, 8);
}

/* ---- packets that wait ---- */

/* Reads `len` bytes at the packet's address, or nothing (a flush of what was posted); `modify` as in pcie.h. */
static enum bf_sdma_progress read_memory(struct bf_sdma_queue *q, uint32_t len,
					 void (*modify)(struct bf_dma_op *op, void *bytes), const char *waits)
{
	q->waits = waits;
	q->op_busy = true;
	q->op_value = 0;
	q->op.iova = q->pkt.dst;
	q->op.len = len;
	q->op.dst = &q->op_value;
	q->op.modify = modify;
	bf_dma_read(&q->dev->dma, &q->op);
	return BF_SDMA_WAITS;
}

static enum bf_sdma_progress poll(struct bf_sdma_queue *q)
{
	q->tries++;
	q->count.polls++;
	return read_memory(q, q->pkt.is64 ? 8 : 4, NULL, "POLL_REGMEM");
}

/* The 64-bit form counts retries in eight bits; ROCr leaves them 0 and waits for ever with it. */
static bool retries_left(const struct bf_sdma_queue *q)
{
	const uint64_t most = q->pkt.retries;

	if (q->pkt.is64 ? most == 0 || most == 0xff : most == BF_SDMA_POLL_FOREVER)
		return true;
	return q->tries <= most;
}

/* One in four of those that have to wait (assumed). */
#define EARLY_PPM 250000u

static bool ends_early(struct bf_sdma_queue *q)
{
	const bool again = q->polled == q->pkt.dst && q->polled_end == q->from->next;

	return q->dev->profile.early_polls && !again && bf_rng_chance(&q->dev->rng, EARLY_PPM);
}

/* What follows a poll that ran out of retries runs: no document says that it does not (assumed). */
static void poll_done(struct bf_sdma_queue *q)
{
	const struct bf_sdma_packet *p = &q->pkt;
	const bool holds = bf_sdma_poll_holds((uint32_t)p->func, q->op_value, p->reference, p->mask);

	if (!holds && retries_left(q) && !ends_early(q)) {
		if (q->tries == 1)
			record_result(q, q->op_value, p->reference, BF_SDMA_AGAIN);
		bf_sim_after(q->dev->sim, &q->timer, p->interval * q->dev->profile.poll_ps);
		return;
	}
	if (!holds && !retries_left(q))
		bf_sdma_suspect(q, BF_SDMA_SUSPECT_POLL_TIMEOUT, p->is64 ? 7 : 5, (uint32_t)p->retries, p->dst);
	record_result(q, q->op_value, p->reference, holds || retries_left(q) ? BF_SDMA_DONE : BF_SDMA_TIMED_OUT);
	q->polled = p->dst;
	q->polled_end = q->from->next + p->dwords * 4ull;
	bf_sdma_packet_over(q);
}

static void cond_done(struct bf_sdma_queue *q)
{
	const bool equal = (uint32_t)q->op_value == (uint32_t)q->pkt.reference;

	record_result(q, q->op_value, q->pkt.reference, equal ? BF_SDMA_DONE : BF_SDMA_SKIPS);
	q->skip = equal ? 0 : q->pkt.count * 4;
	bf_sdma_packet_over(q);
}

static void apply(struct bf_dma_op *op, void *bytes)
{
	const struct bf_sdma_queue *q = BF_CONTAINER_OF(op, struct bf_sdma_queue, op);
	const struct bf_sdma_packet *p = &q->pkt;
	const uint32_t operation = (uint32_t)p->operation;

	if (op->len == 8)
		bf_put_le64(bytes, bf_sdma_atomic_apply(operation, bf_get_le64(bytes), p->data, p->compare));
	else
		bf_put_le32(bytes, (uint32_t)bf_sdma_atomic_apply(operation, bf_get_le32(bytes), p->data, p->compare));
}

static enum bf_sdma_progress atomic(struct bf_sdma_queue *q)
{
	q->tries++;
	return read_memory(q, bf_sdma_atomic_bytes((uint32_t)q->pkt.operation), apply, "ATOMIC");
}

/* LOOP repeats a compare-and-swap until it has swapped; other operations have nothing to compare. */
static void atomic_done(struct bf_sdma_queue *q)
{
	const struct bf_sdma_packet *p = &q->pkt;
	const uint64_t after = bf_sdma_atomic_apply((uint32_t)p->operation, q->op_value, p->data, p->compare);
	const uint64_t compare = q->op.len == 8 ? p->compare : (uint32_t)p->compare;

	if (p->loop && (p->operation & 31) == BF_SDMA_ATOMIC_CMPSWAP && q->op_value != compare) {
		if (q->tries == 1)
			record_result(q, q->op_value, after, BF_SDMA_AGAIN);
		bf_sim_after(q->dev->sim, &q->timer, p->interval * q->dev->profile.poll_ps);
		return;
	}
	record_result(q, q->op_value, after, BF_SDMA_DONE);
	bf_sdma_packet_over(q);
}

void bf_sdma_op_done(struct bf_dma_op *op)
{
	struct bf_sdma_queue *q = BF_CONTAINER_OF(op, struct bf_sdma_queue, op);

	q->op_busy = false;
	if (q->dead)
		bf_sdma_queue_bury(q);
	else if (q->fault.reason)
		return;
	else if (op->status)
		bf_sdma_stop(q, BF_SDMA_MEMORY, 1, op->iova & ~(uint64_t)(BF_PAGE - 1));
	else if (q->pkt.kind == BF_SDMA_KIND_POLL)
		poll_done(q);
	else if (q->pkt.kind == BF_SDMA_KIND_COND_EXE)
		cond_done(q);
	else if (q->pkt.kind == BF_SDMA_KIND_ATOMIC)
		atomic_done(q);
	else
		bf_sdma_packet_over(q);
}

/* The interrupt leaves behind all that was written before it, so that the mailbox is in memory when it arrives. */
static enum bf_sdma_progress trap(struct bf_sdma_queue *q)
{
	const struct bf_link *l = &q->dev->link;
	const uint64_t arrives = q->dev->sim->now_ps + l->profile.latency_ps;

	q->waits = "TRAP on its way";
	bf_sim_at(q->dev->sim, &q->timer, arrives > l->posted_ps ? arrives : l->posted_ps);
	return BF_SDMA_WAITS;
}

static void deliver_trap(struct bf_sdma_queue *q)
{
	struct bf_sdma *dev = q->dev;
	struct bf_fault lost;
	const bool gone = bf_fault_check(dev->sim, BF_FAULT_LOST_COMPLETION, q->actor, 0, &lost);

	q->count.traps++;
	record_result(q, 0, q->pkt.data, gone ? BF_SDMA_LOST : BF_SDMA_DONE);
	q->op_busy = true; /* the listener may destroy the queue */
	if (!gone && dev->trap)
		dev->trap(dev->trap_arg, (uint32_t)q->pkt.data);
	q->op_busy = false;
	if (q->dead)
		bf_sdma_queue_bury(q);
	else
		bf_sdma_packet_over(q);
}

static enum bf_sdma_progress gcr(struct bf_sdma_queue *q)
{
	q->waits = "GCR_REQ";
	bf_sim_after(q->dev->sim, &q->timer, GCR_PS);
	return BF_SDMA_WAITS;
}

void bf_sdma_on_timer(struct bf_event *ev)
{
	struct bf_sdma_queue *q = BF_CONTAINER_OF(ev, struct bf_sdma_queue, timer);

	switch (q->pkt.kind) {
	case BF_SDMA_KIND_POLL:
		poll(q);
		break;
	case BF_SDMA_KIND_ATOMIC:
		atomic(q);
		break;
	case BF_SDMA_KIND_TRAP:
		deliver_trap(q);
		break;
	default:
		bf_sdma_packet_over(q);
		break;
	}
}

/* ---- indirect buffers ---- */

/* The packet stays in front of the ring until its buffer is done. It must end on a multiple of eight dwords. */
static enum bf_sdma_progress indirect(struct bf_sdma_queue *q)
{
	const uint64_t end = q->ring.next / 4 + BF_SDMA_INDIRECT_DWORDS;

	if (q->from == &q->ib || end % 8) {
		bf_sdma_stop(q, BF_SDMA_INDIRECT_BAD, 0, q->pkt.src);
		return BF_SDMA_STOPPED;
	}
	if (!q->pkt.count) {
		bf_sdma_stop(q, BF_SDMA_INDIRECT_BAD, 3, q->pkt.src);
		return BF_SDMA_STOPPED;
	}
	q->ib_base = q->pkt.src;
	q->ib_bytes = q->pkt.count * 4;
	q->ib.next = q->ib.fetched = 0;
	q->ib.head = q->ib.len = 0;
	q->from = &q->ib;
	return BF_SDMA_OVER;
}

enum bf_sdma_progress bf_sdma_execute(struct bf_sdma_queue *q)
{
	q->tries = 0;
	switch (q->pkt.kind) {
	case BF_SDMA_KIND_NOP:
	case BF_SDMA_KIND_DUMMY_TRAP:
		return BF_SDMA_OVER;
	case BF_SDMA_KIND_COPY:
	case BF_SDMA_KIND_RECT:
	case BF_SDMA_KIND_FILL:
		return bf_sdma_job_start(q);
	case BF_SDMA_KIND_WRITE:
		return write_data(q);
	case BF_SDMA_KIND_FENCE:
		return store(q, q->pkt.data, q->pkt.is64 ? 8 : 4);
	case BF_SDMA_KIND_TIMESTAMP:
		return timestamp(q);
	case BF_SDMA_KIND_POLL:
		return poll(q);
	case BF_SDMA_KIND_HDP_FLUSH:
		return read_memory(q, 0, NULL, "HDP flush");
	case BF_SDMA_KIND_COND_EXE:
		return read_memory(q, 4, NULL, "COND_EXE");
	case BF_SDMA_KIND_ATOMIC:
		return atomic(q);
	case BF_SDMA_KIND_TRAP:
		return trap(q);
	case BF_SDMA_KIND_GCR:
		return gcr(q);
	case BF_SDMA_KIND_INDIRECT:
		return indirect(q);
	default:
		bf_sdma_stop(q, BF_SDMA_BAD_OPCODE, 0, 0);
		return BF_SDMA_STOPPED;
	}
}
