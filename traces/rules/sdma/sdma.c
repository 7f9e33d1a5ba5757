/* Facts of SDMA queues, in the order of their records, and the list of their rules. */
#include "traces/rules/sdma/sdma.h"

#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/mem.h"

#define RECENT 64u /* reservations that a store may belong to */
#define AHEAD 4u   /* packets of a submission come one right after the other */

/* ---- how far it has come ---- */

static inline void came(struct bf_sdma_rule_queue *q, enum bf_sdma_at at, bool device, uint64_t from, uint64_t upto,
			const struct bf_seen *e)
{
	(void)from;
	bf_rule_way_to(at == BF_SDMA_AT_RESERVE    ? &q->reserved
		       : at == BF_SDMA_AT_RING     ? &q->published
		       : at == BF_SDMA_AT_DOORBELL ? &q->announced
						   : &q->decoded,
		       device, upto, e);
}

static inline void come(struct bf_sdma_rule_queue *q, const struct bf_seen *e, enum bf_seen_kind kind)
{
#include "traces/devices/sdma_packets.def"
}

/* ---- the driver's ---- */

static void note_span(struct bf_sdma_rule_queue *q, const struct bf_seen *e)
{
	const bool publish = e->kind == BF_SEEN_sdma_publish;
	struct bf_sdma_rule_span s = { .at_ps = e->time_ps, .record = e->number, .actor = e->actor, .set = true };

	if (!q->w)
		return;
	s.from = publish ? e->sdma_publish.from : e->sdma_reserve.from;
	s.to = publish ? e->sdma_publish.to : e->sdma_reserve.to;
	s.pad = !publish && e->sdma_reserve.pad;
	s.pad_before = q->w->last_pad;
	if (publish) {
		come(q, e, BF_SEEN_sdma_publish);
		q->w->publishes[q->w->npublishes++ % BF_SDMA_RULE_SPANS] = s;
		bf_rule_expect(&q->w->publishes[q->w->npublishes % BF_SDMA_RULE_SPANS], sizeof(s));
	} else {
		come(q, e, BF_SEEN_sdma_reserve);
		q->w->told[q->w->nreserves % BF_SDMA_RULE_SPANS].at_ps = BF_NEVER;
		q->w->reserves[q->w->nreserves++ % BF_SDMA_RULE_SPANS] = s;
		bf_rule_expect(&q->w->told[q->w->nreserves % BF_SDMA_RULE_SPANS], sizeof(q->w->told[0]));
		bf_rule_expect(&q->w->reserves[q->w->nreserves % BF_SDMA_RULE_SPANS], sizeof(s));
		q->w->reservers |= 1ull << e->actor % 64;
	}
	if (s.pad)
		q->w->last_pad = q->w->nreserves;
}

static bool padding_near(const struct bf_sdma_rule_queue *q)
{
	return q->w->last_pad && q->w->nreserves - q->w->last_pad < RECENT;
}

/* What a thread stores into these bytes is what it should: note_store() need not look closer. */
static void note_own(struct bf_sdma_rule_run *run, const struct bf_sdma_rule_queue *q, const struct bf_seen *e)
{
	struct bf_sdma_rule_own *own = &run->own[e->actor % BF_SDMA_RULE_OWN];
	const uint64_t from = e->sdma_reserve.from, to = e->sdma_reserve.to;

	own->len = 0;
	if (!q->w || !q->ring || !q->bytes || to <= from || padding_near(q))
		return;
	own->actor = e->actor;
	own->q = q;
	own->from = from;
	own->va = q->ring->va + from % q->bytes;
	own->len = to - from < q->bytes - from % q->bytes ? to - from : q->bytes - from % q->bytes;
}

static bool is_own(const struct bf_sdma_rule_run *run, uint32_t actor, uint64_t va)
{
	const struct bf_sdma_rule_own *own = &run->own[actor % BF_SDMA_RULE_OWN];

	return va - own->va < own->len && own->actor == actor && own->q->read_to <= own->from;
}

/* Rings are powers of two long, but for those of damaged traces. */
static uint64_t in_ring(const struct bf_sdma_rule_queue *q, uint64_t index)
{
	return q->bytes & (q->bytes - 1) ? index % q->bytes : index & (q->bytes - 1);
}

/* The first index from `from` on that is at `offset` of the ring. */
static uint64_t index_from(const struct bf_sdma_rule_queue *q, uint64_t from, uint64_t offset)
{
	return from + in_ring(q, offset + (q->bytes & (q->bytes - 1) ? q->bytes - from % q->bytes : 0 - from));
}

/* A thread stores into padding that it has reserved. */
static void note_padded(const struct bf_sdma_rule_queue *q, uint64_t offset, uint32_t actor)
{
	struct bf_sdma_rule_span *s;

	for (uint64_t n = q->w->last_pad; n && q->w->nreserves - n < RECENT; n = s->pad_before) {
		s = &q->w->reserves[(n - 1) % BF_SDMA_RULE_SPANS];
		if (s->actor == actor && offset >= in_ring(q, s->from))
			s->stored = true;
	}
}

/* The read of a byte, after its owner had reserved it; NULL. */
static const struct bf_sdma_rule_read *read_of(const struct bf_sdma_rule_queue *q,
					       const struct bf_sdma_rule_span *owner, uint64_t index)
{
	for (uint64_t i = 0; i < q->w->nreads && i < BF_SDMA_RULE_READS; i++) {
		const struct bf_sdma_rule_read *d = &q->w->reads[(q->w->nreads - 1 - i) % BF_SDMA_RULE_READS];

		if (index - d->index < d->len && owner->at_ps <= d->at_ps)
			return d;
	}
	return NULL;
}

/* The last reservation of the thread that has the ring's byte at `offset`; NULL. */
static const struct bf_sdma_rule_span *owner_of(const struct bf_sdma_rule_queue *q, uint64_t offset, uint32_t actor,
						uint64_t *index)
{
	const struct bf_sdma_rule_span *s;

	for (uint64_t back = 0; back < RECENT && (s = bf_sdma_rule_reserve(q, back)) != NULL; back++) {
		*index = index_from(q, s->from, offset);
		if (s->actor == actor && *index < s->to)
			return s;
	}
	return NULL;
}

static BF_NOINLINE void note_store(struct bf_rules *r, struct bf_sdma_rule_run *run, const struct bf_seen *e)
{
	const struct bf_ring *ring = bf_stores_ring_at(bf_rule_stores(r), e->store.va);
	const struct bf_sdma_rule_queue *q =
	    ring && ring->queue->family == &bf_rules_sdma ? bf_sdma_rule_of(ring->queue) : NULL;
	const struct bf_sdma_rule_span *s;
	const struct bf_sdma_rule_read *d;
	uint64_t index;

	if (!q || !q->w || !q->bytes)
		return;
	note_padded(q, e->store.va - ring->va, e->actor);
	s = owner_of(q, e->store.va - ring->va, e->actor, &index);
	d = s && index < q->read_to ? read_of(q, s, index) : NULL;
	if (!d)
		return;
	bf_rule_notice(r, BF_SDMA_RULE_STORED_AFTER);
	run->after = (struct bf_sdma_rule_after){ ring->queue, s, bf_sdma_rule_published_to(q, d->in_force), d, index };
}

/* ---- the engine's ---- */

static void note_queue(struct bf_sdma_rule_queue *q, const struct bf_seen *e)
{
	if (e->sdma_queue.event == BF_SDMA_QUEUE_PAUSED || e->sdma_queue.event == BF_SDMA_QUEUE_RESUMED)
		q->paused = e->sdma_queue.event == BF_SDMA_QUEUE_PAUSED;
	if (e->sdma_queue.event == BF_SDMA_QUEUE_RESUMED &&
	    q->announced.upto <= q->decoded.upto) { /* it may have moved */
		q->address = e->sdma_queue.ring;
		q->bytes = e->sdma_queue.bytes;
	}
	if (e->sdma_queue.event != BF_SDMA_QUEUE_CREATED || !e->sdma_queue.bytes)
		return;
	free(q->w);
	/* The one that replaces a queue after a reset is another. */
	*q = (struct bf_sdma_rule_queue){ .w = calloc(1, sizeof(*q->w)),
					  .ring = q->ring,
					  .address = e->sdma_queue.ring,
					  .rptr = e->sdma_queue.rptr,
					  .wrapped = e->sdma_queue.wrapped != 0,
					  .bytes = e->sdma_queue.bytes,
					  .dialect = { (enum bf_sdma_gen)e->sdma_queue.gen,
						       e->sdma_queue.wide_rect != 0, e->sdma_queue.wide_count != 0 } };
}

/* A queue has one fetch of its ring on its way at a time. */
static void note_read(struct bf_rules *r, struct bf_sdma_rule_run *run, const struct bf_seen *e)
{
	struct bf_rule_queue *queue;

	run->read_queue = NULL;
	run->read = NULL;
	for (uint32_t i = 0; !e->dma_read.status && (queue = bf_rule_queue_at(r, i)) != NULL; i++) {
		struct bf_sdma_rule_queue *q =
		    queue->family == &bf_rules_sdma && queue->pe == e->pe ? bf_sdma_rule_of(queue) : NULL;
		uint64_t index;

		if (!q || !q->w || e->dma_read.iova - q->fetch_address >= q->fetch_len)
			continue;
		index = q->fetch_index + (e->dma_read.iova - q->fetch_address);
		if (!q->ring || q->ring->va != e->dma_read.va - index % q->bytes)
			q->ring = bf_stores_area(bf_rule_stores(r), q->ring, queue, e->dma_read.va - index % q->bytes,
						 q->bytes);
		run->read = &q->w->reads[q->w->nreads % BF_SDMA_RULE_READS];
		run->read_queue = queue;
		q->w->reads[q->w->nreads++ % BF_SDMA_RULE_READS] =
		    (struct bf_sdma_rule_read){ index,      e->dma_read.va, e->dma_read.len,
						e->time_ps, e->number,      q->announced.upto };
		if (index + e->dma_read.len > q->read_to)
			q->read_to = index + e->dma_read.len;
		return;
	}
}

/* A packet of those that end submissions. */
static bool stores_signal(const struct bf_sdma_rule_begun *k)
{
	return k->kind == BF_SDMA_KIND_ATOMIC || k->kind == BF_SDMA_KIND_FENCE || k->kind == BF_SDMA_KIND_WRITE;
}

static uint32_t signal_place(uint64_t va)
{
	return (uint32_t)(va / 4 ^ va / 64) % BF_SDMA_RULE_SIGNALS;
}

static void shorten(const struct bf_sdma_packet *p, struct bf_sdma_rule_begun *k)
{
	k->src = p->src;
	k->dst = p->dst;
	k->count = p->count;
	k->data = p->kind == BF_SDMA_KIND_GCR ? p->gcr_control : p->data;
	k->bytes = bf_sdma_packet_bytes(p);
	k->name = p->name;
	k->dwords = p->dwords;
	k->kind = (uint8_t)p->kind;
	k->broadcast = p->broadcast;
}

static uint16_t kind_noticed(enum bf_sdma_kind kind)
{
	switch (kind) {
	case BF_SDMA_KIND_NOP:
		return BF_SDMA_RULE_NOP;
	case BF_SDMA_KIND_POLL:
		return BF_SDMA_RULE_POLL;
	case BF_SDMA_KIND_RECT:
		return BF_SDMA_RULE_RECT;
	case BF_SDMA_KIND_ATOMIC:
	case BF_SDMA_KIND_FENCE:
		return BF_SDMA_RULE_SIGNAL;
	case BF_SDMA_KIND_COPY:
		return BF_SDMA_RULE_COPY;
	default:
		return 0;
	}
}

static void note_packet(struct bf_rules *r, struct bf_sdma_rule_run *run, struct bf_sdma_rule_queue *q,
			const struct bf_seen *e)
{
	uint32_t dw[BF_SDMA_MAX_FIXED] = { 0 };
	struct bf_sdma_rule_begun *k;
	struct bf_sdma_packet p;

	if (!q->w)
		return;
	k = &q->w->packets[q->w->npackets++ % BF_SDMA_RULE_PACKETS];
	k->index = e->sdma_packet.index;
	k->indirect = e->sdma_packet.indirect;
	k->at_ps = e->time_ps;
	k->record = e->number;
	k->held_ps = BF_NEVER;
	for (uint32_t i = 0; i < BF_SDMA_MAX_FIXED && 4 * i + 4 <= e->tail_len; i++)
		dw[i] = bf_get_le32(e->tail + 4 * i);
	memcpy(k->dw, dw, sizeof(k->dw));
	k->last = e->tail_len < 4 ? 0 : bf_get_le32(e->tail + (e->tail_len & ~3u) - 4);
	k->said = (uint32_t)e->sdma_packet.dwords;
	bf_sdma_decode(&q->dialect, dw, k->said, &p);
	shorten(&p, k);
	k->done_ps = k->kind == BF_SDMA_KIND_COPY || k->kind == BF_SDMA_KIND_RECT || k->kind == BF_SDMA_KIND_FILL
			 ? BF_NEVER
			 : e->time_ps;
	if (stores_signal(k))
		run->signals[signal_place(k->dst)] =
		    (struct bf_sdma_rule_signalled){ k->dst, q->w->npackets - 1, e->queue };
	bf_rule_notice(r, kind_noticed(p.kind));
	come(q, e, BF_SEEN_sdma_packet);
	bf_rule_expect(&q->w->packets[(q->w->npackets + AHEAD) % BF_SDMA_RULE_PACKETS], sizeof(*k));
}

static void note_piece(struct bf_sdma_rule_run *run, const struct bf_seen *e)
{
	run->pieces[run->npieces++ % BF_SDMA_RULE_PIECES] = (struct bf_sdma_rule_piece){
		.rec = e->sdma_piece, .at_ps = e->time_ps, .record = e->number, .pe = e->pe, .set = true
	};
	bf_rule_expect(&run->pieces[run->npieces % BF_SDMA_RULE_PIECES], sizeof(run->pieces[0]));
}

/* The copy is done: its packet, and the pieces that its job moved since the job's copy before. */
static void note_copied(struct bf_sdma_rule_run *run, struct bf_rule_queue *queue, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	struct bf_sdma_rule_begun *k;
	struct bf_sdma_rule_piece *p;
	uint64_t back = 0;

	run->copied = NULL;
	while ((k = bf_sdma_rule_packet_back(q, back)) != NULL &&
	       (k->index != e->sdma_copied.index || k->indirect != e->sdma_copied.indirect))
		back++;
	if (!k)
		return;
	k->done_ps = e->time_ps;
	run->copied = k;
	for (uint64_t i = 0; (p = bf_sdma_rule_piece_back(run, i)) != NULL; i++) {
		if (p->pe != e->pe || p->rec.job != e->sdma_copied.job)
			continue;
		if (p->done)
			break;
		p->done = true;
		p->queue = queue;
		p->packet_at = q->w->npackets - 1 - back;
		p->packet_index = k->index;
	}
}

/* The last packet of all queues that stored to `va`, by looking at each. */
static struct bf_sdma_rule_signalled search_signal(struct bf_rules *r, uint64_t va)
{
	const struct bf_sdma_rule_begun *signal = NULL, *k;
	struct bf_sdma_rule_signalled found = { .va = va };
	struct bf_rule_queue *queue;

	for (uint32_t i = 0; (queue = bf_rule_queue_at(r, i)) != NULL; i++)
		for (uint64_t back = 0;
		     queue->family == &bf_rules_sdma && (k = bf_sdma_rule_packet_back(bf_sdma_rule_of(queue), back));
		     back++)
			if (k->dst == va && (!signal || k->record > signal->record) && stores_signal(k)) {
				signal = k;
				found.queue = queue;
				found.packet_at = bf_sdma_rule_of(queue)->w->npackets - 1 - back;
			}
	return found;
}

/* A thread was told that a submission is done: by the last packet that stored to where it looked. */
static void note_waited(struct bf_rules *r, const struct bf_sdma_rule_run *run, const struct bf_seen *e)
{
	struct bf_sdma_rule_signalled last = run->signals[signal_place(e->sdma_waited.va)];
	const struct bf_sdma_rule_begun *signal;
	const struct bf_sdma_rule_queue *q;
	const struct bf_sdma_rule_span *s;

	if (last.queue && last.va != e->sdma_waited.va)
		last = search_signal(r, e->sdma_waited.va);
	if (!last.queue)
		return;
	q = bf_sdma_rule_of(last.queue);
	/* A queue that was created anew has forgotten its packets. */
	signal = q->w && last.packet_at < q->w->npackets
		     ? bf_sdma_rule_packet_back(q, q->w->npackets - 1 - last.packet_at)
		     : NULL;
	s = signal && signal->dst == last.va ? bf_sdma_rule_reserve_of(q, signal->index) : NULL;
	if (!s)
		return;
	q->w->told[s - q->w->reserves] =
	    (struct bf_sdma_rule_told){ e->time_ps, e->number, signal->index, signal->name, e->actor };
}

/* Packets of an indirect buffer share the index of the packet that called for it. */
static void note_result(struct bf_sdma_rule_queue *q, const struct bf_seen *e)
{
	struct bf_sdma_rule_begun *k;

	for (uint64_t back = 0;
	     e->sdma_result.verdict == BF_SDMA_DONE && (k = bf_sdma_rule_packet_back(q, back)) != NULL; back++)
		if (k->index == e->sdma_result.index && k->kind == BF_SDMA_KIND_POLL) {
			k->held_ps = e->time_ps;
			return;
		} else if (!k->indirect && k->index <= e->sdma_result.index) {
			return;
		}
}

static void on_queue(struct bf_rules *r, struct bf_sdma_rule_run *run, const struct bf_seen *e)
{
	struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);

	switch (e->kind) {
	case BF_SEEN_sdma_queue:
		note_queue(q, e);
		break;
	case BF_SEEN_sdma_reserve:
		q->reserved_retired = q->decoded.upto;
		note_span(q, e);
		note_own(run, q, e);
		break;
	case BF_SEEN_sdma_publish:
		note_span(q, e);
		break;
	case BF_SEEN_sdma_doorbell:
		come(q, e, BF_SEEN_sdma_doorbell);
		q->doorbells++;
		break;
	case BF_SEEN_sdma_fetch:
		if (e->sdma_fetch.ring) {
			q->fetch_index = e->sdma_fetch.index;
			q->fetch_address = e->sdma_fetch.address;
			q->fetch_len = e->sdma_fetch.len;
		}
		break;
	case BF_SEEN_sdma_packet:
		note_packet(r, run, q, e);
		break;
	case BF_SEEN_sdma_copied:
		note_copied(run, e->queue, e);
		break;
	case BF_SEEN_sdma_result:
		note_result(q, e);
		break;
	case BF_SEEN_sdma_fault:
		q->stopped = true;
		break;
	default:
		break;
	}
}

/* Memory may be there before the engine is. */
static void note_region(struct bf_sdma_rule_run *run, const struct bf_seen *e)
{
	if (e->region.kind != BF_MEM_VRAM || run->nvram == BF_SDMA_RULE_VRAMS)
		return;
	run->vram[run->nvram].va = e->region.va;
	run->vram[run->nvram++].size = e->region.size;
}

static BF_NOINLINE void on_other(struct bf_rules *r, struct bf_sdma_rule_run *run, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_region)
		note_region(run, e);
	run->present |= e->queue != NULL;
	if (!run->present)
		return;
	if (run->nvram)
		bf_rule_notice(r, BF_SDMA_RULE_HAS_VRAM);
	switch (e->kind) {
	case BF_SEEN_dma_read:
		note_read(r, run, e);
		break;
	case BF_SEEN_sdma_piece:
		note_piece(run, e);
		break;
	case BF_SEEN_sdma_waited:
		note_waited(r, run, e);
		break;
	default:
		if (e->queue)
			on_queue(r, run, e);
		break;
	}
}

/* Stores are by far the most. */
static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct bf_sdma_rule_run *run = facts;

	if (e->kind != BF_SEEN_store) {
		on_other(r, run, e);
		return;
	}
	if (run->present && run->nvram)
		bf_rule_notice(r, BF_SDMA_RULE_HAS_VRAM);
	if (run->present && !is_own(run, e->actor, e->store.va))
		note_store(r, run, e);
}

static void forget(void *facts)
{
	free(((struct bf_sdma_rule_queue *)facts)->w);
}

/* clang-format off */
#define BF_SDMA_RULE_RULES(R)                                                                                               \
	R(ring_view) R(ring_overrun) R(reserved_twice) R(unfenced) R(signal_value) R(ring_full) R(doorbell_width)                   \
	R(doorbell_wrap) R(index_unit) R(index_grows) R(index_bits) R(commit_order) R(doorbell_first)                  \
	R(ring_order) R(wptr_order) R(padding) R(straddle) R(nop_count) R(write_count) R(copy_dcc)                     \
	R(count_limit) R(copy_count) R(fill_count) R(rect_pitch) R(surface) R(rect_limit) R(rect_layout)               \
	R(rect_base) R(overlap) R(broadcast_bit) R(align) R(unmapped) R(opcode) R(privileged) R(truncated)             \
	R(packet) R(reserved_bits) R(poll_mask) R(poll_timeout) R(poll_early) R(poll_halves) R(poll_stuck)             \
	R(gcr_pair) R(hdp_flush) R(trap_first) R(time_align) R(signal_early) R(gang_poll) R(rptr_done)                 \
	R(copy_order) R(data_order) R(fence_shared) R(signal_overwritten) R(signal_nobody) R(wrong_bytes)              \
	R(doorbell_lost) R(not_rung) R(paused) R(not_paused) R(room) R(leak) R(row_copies) R(small_element)            \
	R(doorbell_each)
/* clang-format on */

#define DECLARE(name) extern const struct bf_rule bf_rule_sdma_##name;
BF_SDMA_RULE_RULES(DECLARE)
#define LIST(name) &bf_rule_sdma_##name,
static const struct bf_rule *const rules[] = { BF_SDMA_RULE_RULES(LIST) NULL };

static const uint16_t signs[] = { BF_SEEN_sdma_queue, BF_SEEN_sdma_packet, BF_SEEN_sdma_reserve, 0 };

static const uint16_t records[] = {
	BF_SEEN_store,       BF_SEEN_dma_read,     BF_SEEN_sdma_queue,   BF_SEEN_sdma_doorbell,
	BF_SEEN_sdma_fetch,  BF_SEEN_sdma_packet,  BF_SEEN_sdma_copied,  BF_SEEN_sdma_piece,
	BF_SEEN_sdma_fault,  BF_SEEN_sdma_result,  BF_SEEN_sdma_reserve, BF_SEEN_sdma_publish,
	BF_SEEN_sdma_waited, BF_SEEN_sdma_suspect, BF_SEEN_region,       0,
};

const struct bf_rule_family bf_rules_sdma = {
	.name = "sdma",
	.classes = BF_CLASS_AGENT | BF_CLASS_MEM | BF_CLASS_MMIO | BF_CLASS_DMA | BF_CLASS_QUEUE | BF_CLASS_FAULT |
		   BF_CLASS_DRIVER,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct bf_sdma_rule_run),
	.queue_bytes = sizeof(struct bf_sdma_rule_queue),
	.on = on,
	.forget = forget,
};
