/*
 * User queues: doorbells, ring fetch, the front end that takes one packet after the other, and the read pointer.
 *
 * A queue's step event stands for its place in the front end, which all queues of an engine share. A packet that waits
 * leaves the front end to the other queues; who wakes it calls bf_sdma_retry() or bf_sdma_packet_over().
 */
#include "models/sdma/engine_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/fault.h"
#include "sim/stats.h"
#include "sim/train.h"

/* The engine stopped looking at doorbells for this long, unless the plan says otherwise. */
#define STALL_PS (100 * BF_US)

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
	if (q->fault.reason)
		return;
	q->count.faults++;
	q->waits = NULL;
	q->in_packet = q->for_slot = false;
	q->fault = (struct bf_sdma_fault){
		.reason = reason, .index = index, .dword = dword, .value = value, .address = address,
		.in_indirect = indirect != 0, .indirect = indirect ? indirect - 1 : 0,
	};
	bf_sim_cancel(q->dev->sim, &q->step);
	bf_sim_cancel(q->dev->sim, &q->timer);
	if (bf_probe(q->dev->sim, BF_CLASS_QUEUE | BF_CLASS_FAULT)) {
		struct bf_rec_sdma_fault rec = { .index = index, .indirect = indirect, .address = address,
						 .dword = dword, .value = value, .reason = (uint32_t)reason,
						 .running = q->running };

		bf_record(&q->dev->sim->rec, &bf_rec_sdma_fault_schema, q->actor, &rec, NULL, 0);
	}
}

void bf_sdma_stop(struct bf_sdma_queue *q, enum bf_sdma_reason reason, uint32_t dword, uint64_t address)
{
	const uint32_t value = (dword + 1) * 4 <= q->from->len ? bf_sdma_dwords(q)[dword] : 0;

	bf_sdma_stop_at(q, bf_sdma_index(q), bf_sdma_indirect(q), reason, dword, value, address);
}

void bf_sdma_suspect(struct bf_sdma_queue *q, uint32_t what, uint32_t dword, uint32_t value, uint64_t address)
{
	q->count.suspects++;
	if (bf_probe(q->dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_sdma_suspect rec = { .index = bf_sdma_index(q), .indirect = bf_sdma_indirect(q),
						   .address = address, .dword = dword, .value = value, .what = what };

		bf_record(&q->dev->sim->rec, &bf_rec_sdma_suspect_schema, q->actor, &rec, NULL, 0);
	}
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
static void on_rptr(struct bf_event *ev)
{
	struct bf_sdma_queue *q = BF_CONTAINER_OF(ev, struct bf_sdma_queue, rptr);
	const uint64_t value = q->opts.wrapped ? q->retired & q->mask : q->retired;
	uint8_t bytes[8];

	bf_put_le64(bytes, value);
	q->rptr_written = q->retired;
	q->count.rptr_writes++;
	if (bf_probe(q->dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_sdma_rptr rec = { .value = value, .index = q->retired };

		bf_record(&q->dev->sim->rec, &bf_rec_sdma_rptr_schema, q->actor, &rec, NULL, 0);
	}
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
	uint8_t *grown;

	if (s->head) {
		memmove(s->buf, s->buf + s->head, s->len);
		s->head = 0;
	}
	if (need <= s->cap)
		return 0;
	grown = realloc(s->buf, need);
	if (!grown)
		return -ENOMEM;
	s->buf = grown;
	s->cap = need;
	return 0;
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
		bf_sdma_stop(q, BF_SDMA_MEMORY, 0, 0);
		return;
	}
	s->op.iova = (ring ? q->opts.ring : q->ib_base) + at;
	s->op.len = (uint32_t)n;
	s->op.dst = s->buf + s->len;
	s->fetched += n;
	s->fetching = true;
	q->count.fetches++;
	if (bf_probe(dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_sdma_fetch rec = { .index = s->fetched - n, .address = s->op.iova, .published = end,
						 .len = s->op.len, .ring = ring };

		bf_record(&dev->sim->rec, &bf_rec_sdma_fetch_schema, q->actor, &rec, NULL, 0);
	}
	bf_dma_read(&dev->dma, &s->op);
}

static void on_fetched(struct bf_dma_op *op)
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
		.index = bf_sdma_index(q), .indirect = bf_sdma_indirect(q), .bytes = bf_sdma_packet_bytes(p),
		.dwords = p->dwords, .op = p->op, .sub_op = p->sub_op, .running = (uint16_t)q->running,
	};
	const uint32_t n = p->dwords < BF_SDMA_RECORD_DWORDS ? p->dwords : BF_SDMA_RECORD_DWORDS;

	snprintf(rec.name, sizeof(rec.name), "%s", p->name);
	bf_record(&q->dev->sim->rec, &bf_rec_sdma_packet_schema, q->actor, &rec, bf_sdma_dwords(q), n * 4);
}

/* Bits that nobody defined, in a packet that runs all the same. */
static void report_reserved(struct bf_sdma_queue *q)
{
	for (uint32_t i = 0; i < q->pkt.fixed; i++)
		if (q->pkt.reserved >> i & 1)
			bf_sdma_suspect(q, 1, i, bf_sdma_dwords(q)[i], 0);
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

static void on_step(struct bf_event *ev)
{
	struct bf_sdma_queue *q = BF_CONTAINER_OF(ev, struct bf_sdma_queue, step);
	struct bf_sdma *dev = q->dev;

	while (step(q) && !q->paused && bf_sim_step(dev->sim, ev, take_slot(dev)))
		;
}

/* What was fetched ahead is void: the ring's memory may change while the queue is off. */
static void forget_fetched(struct bf_sdma_stream *s)
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
		forget_fetched(&q->ring);
	if (!q->paused && !q->fault.reason && !bf_event_pending(&q->step))
		bf_sim_at(q->dev->sim, &q->step, take_slot(q->dev));
}

/* ---- doorbells ---- */

enum { BELL_OK, BELL_AGAIN, BELL_WPTR_BEHIND, BELL_UNALIGNED, BELL_BACK, BELL_PAST_RING, BELL_WIDTH, BELL_STOPPED };

/* The write pointer in memory, as the index it means; `published` itself when it cannot be read. */
static uint64_t peek_wptr(struct bf_sdma_queue *q, uint64_t published)
{
	struct bf_region *region;
	void *host;
	uint64_t value, ahead;

	if (!q->opts.wptr || bf_ioas_lookup(q->dev->dma.ioas, q->opts.wptr, 8, BF_IOMMU_READ, q->actor, &host,
					    &region) < 8 || region->kind == BF_MEM_MMIO)
		return published;
	value = __atomic_load_n((const uint64_t *)host, __ATOMIC_ACQUIRE);
	ahead = (value - published) & q->mask;
	if (q->opts.wrapped)
		value = ahead < q->opts.bytes / 2 ? published + ahead : published + ahead - q->opts.bytes;
	return value;
}

/* Takes the doorbell's index; says what is wrong with it. */
static uint32_t judge(struct bf_sdma_queue *q, uint64_t value, uint64_t *published, uint64_t *wptr)
{
	*published = value & ~3ull;
	if (q->opts.wrapped)
		*published = q->published + ((value - q->published) & q->mask & ~3ull);
	*wptr = q->published;
	if (q->fault.reason)
		return BELL_STOPPED;
	if (q->opts.wrapped && value > q->mask)
		return BELL_PAST_RING;
	if (*published < q->published)
		return BELL_BACK;
	if (*published - q->retired > q->opts.bytes)
		return BELL_PAST_RING;
	*wptr = peek_wptr(q, *published);
	if (value & 3)
		return BELL_UNALIGNED;
	if (*wptr < *published)
		return BELL_WPTR_BEHIND;
	return *published == q->published ? BELL_AGAIN : BELL_OK;
}

/* Before the first fetch of an idle queue. */
static void start_after_bell(struct bf_sdma_queue *q)
{
	struct bf_sdma *dev = q->dev;
	struct bf_fault stall = { 0 };
	uint64_t when = dev->sim->now_ps + dev->profile.doorbell_ps;

	if (bf_fault_check(dev->sim, BF_FAULT_DEVICE_STALL, dev->actor, q->id, &stall))
		dev->front_free_ps = dev->sim->now_ps + (stall.delay_ps ? stall.delay_ps : STALL_PS);
	if (q->paused || q->in_packet || q->waits || bf_event_pending(&q->step))
		return;
	bf_sim_at(dev->sim, &q->step, dev->front_free_ps > when ? dev->front_free_ps : when);
}

static void ring_bell(struct bf_sdma_queue *q, uint64_t value, uint32_t len)
{
	uint64_t published, wptr = 0, before = q->published;
	uint32_t verdict = BELL_WIDTH;

	published = before;
	if (len == (q->opts.wrapped ? 4u : 8u))
		verdict = judge(q, value, &published, &wptr);
	q->count.doorbells++;
	q->count.doorbells_early += verdict == BELL_WPTR_BEHIND;
	if (bf_probe(q->dev->sim, BF_CLASS_QUEUE)) {
		struct bf_rec_sdma_doorbell rec = { .value = value, .published = published, .before = before,
						    .wptr = wptr, .retired = q->retired, .len = len,
						    .verdict = verdict };

		bf_record(&q->dev->sim->rec, &bf_rec_sdma_doorbell_schema, q->actor, &rec, NULL, 0);
	}
	if (verdict == BELL_BACK || verdict == BELL_PAST_RING) {
		bf_sdma_stop_at(q, published, 0, BF_SDMA_DOORBELL_BACK, 0, (uint32_t)value, 0);
	} else if (verdict != BELL_WIDTH && verdict != BELL_STOPPED) {
		q->published = published;
		start_after_bell(q);
	}
}

static void bell_write(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	struct bf_sdma *dev = region->owner;
	const bool wrapped = offset >= BF_SDMA_BELL_WRAPPED;
	const uint64_t id = wrapped ? (offset - BF_SDMA_BELL_WRAPPED) / 4 : offset / 8;
	struct bf_sdma_queue *q = id < dev->profile.queues ? dev->queues[id] : NULL;

	if (!q || q->opts.wrapped != wrapped)
		return;
	ring_bell(q, len >= 8 ? bf_get_le64(data) : len >= 4 ? bf_get_le32(data) : 0, offset % (wrapped ? 4 : 8) ? 0 : len);
}

const struct bf_mmio_ops bf_sdma_bell_ops = { .write = bell_write };

struct bf_region *bf_sdma_doorbell(struct bf_sdma_queue *q, uint64_t *offset)
{
	*offset = q->opts.wrapped ? BF_SDMA_BELL_WRAPPED + q->id * 4 : q->id * 8;
	return q->dev->bells;
}

/*
 * A doorbell is a cell in memory then. A look replaces what it found by a value that no doorbell has, so that a write
 * of the old value shows, and so that a queue does not hear the one that had its slot before.
 */
static bool look_at_cell(struct bf_sdma_queue *q, uint64_t *value)
{
	uint64_t offset;
	uint8_t *cell = bf_sdma_doorbell(q, &offset)->bytes;
	uint32_t *narrow = (uint32_t *)(void *)(cell + offset);
	uint64_t *wide = (uint64_t *)(void *)(cell + offset);

	if (q->opts.wrapped) {
		if (__atomic_load_n(narrow, __ATOMIC_RELAXED) == UINT32_MAX)
			return false;
		*value = __atomic_exchange_n(narrow, UINT32_MAX, __ATOMIC_ACQ_REL);
		return *value != UINT32_MAX;
	}
	if (__atomic_load_n(wide, __ATOMIC_RELAXED) == UINT64_MAX)
		return false;
	*value = __atomic_exchange_n(wide, UINT64_MAX, __ATOMIC_ACQ_REL);
	return *value != UINT64_MAX;
}

int bf_sdma_poll_doorbells(void *arg)
{
	struct bf_sdma *dev = arg;
	int rung = 0;

	for (uint32_t i = 0; i < dev->profile.queues; i++) {
		struct bf_sdma_queue *q = dev->queues[i];
		uint64_t value;

		if (!q || !look_at_cell(q, &value) || (!value && !q->published))
			continue;
		ring_bell(q, value, q->opts.wrapped ? 4 : 8);
		rung = 1;
	}
	return rung;
}

/* ---- life ---- */

static void record_queue(struct bf_sdma_queue *q, uint32_t event)
{
	const struct bf_sdma *dev = q->dev;
	uint64_t offset;

	if (!bf_probe(dev->sim, BF_CLASS_QUEUE))
		return;
	bf_sdma_doorbell(q, &offset);
	bf_record(&dev->sim->rec, &bf_rec_sdma_queue_schema, q->actor,
		  &(struct bf_rec_sdma_queue){ .ring = q->opts.ring, .bytes = q->opts.bytes, .rptr = q->opts.rptr,
					       .wptr = q->opts.wptr, .doorbell = (uint32_t)offset,
					       .gen = dev->dialect.gen, .wide_rect = dev->dialect.wide_rect,
					       .wide_count = dev->dialect.wide_count, .wrapped = q->opts.wrapped,
					       .strict = q->opts.strict, .event = event },
		  NULL, 0);
}

/* The ring as sdma.md sections 1 and 8 want it. */
static int check_ring(struct bf_sdma *dev, uint64_t ring, uint64_t bytes)
{
	struct bf_error *err = &dev->sim->error;

	if (!ring || ring & 255)
		return bf_fail(err, -EINVAL, "%s: ring 0x%llx is no multiple of 256", dev->name,
			       (unsigned long long)ring);
	if (bytes < 1024 || bytes & (bytes - 1))
		return bf_fail(err, -EINVAL, "%s: bytes %llu is no power of two from 1024 up", dev->name,
			       (unsigned long long)bytes);
	return 0;
}

static int check_queue(struct bf_sdma *dev, const struct bf_sdma_queue_opts *o)
{
	struct bf_error *err = &dev->sim->error;

	if (!o->rptr || o->rptr & 7)
		return bf_fail(err, -EINVAL, "%s: rptr 0x%llx is no multiple of 8", dev->name,
			       (unsigned long long)o->rptr);
	if (o->wptr & 7)
		return bf_fail(err, -EINVAL, "%s: wptr 0x%llx is no multiple of 8", dev->name,
			       (unsigned long long)o->wptr);
	if (o->wrapped && o->bytes > 1ull << 31)
		return bf_fail(err, -EINVAL, "%s: bytes %llu do not suit 32-bit indices", dev->name,
			       (unsigned long long)o->bytes);
	return check_ring(dev, o->ring, o->bytes);
}

static int attach_stats(struct bf_sdma_queue *q, const char *name)
{
	struct bf_sim *sim = q->dev->sim;
	int status = 0;

#define C(counter) status = status ? status : bf_stats_attach_part(sim, q, name, #counter, "", &q->count.counter);
	BF_SDMA_QUEUE_COUNTERS(C)
#undef C
	return status;
}

static int open_stream(struct bf_sdma_queue *q, struct bf_sdma_stream *s)
{
	s->q = q;
	s->op.done = on_fetched;
	s->cap = 2 * q->dev->profile.fetch_bytes;
	s->buf = malloc(s->cap);
	return s->buf ? 0 : -ENOMEM;
}

int bf_sdma_queue_create(struct bf_sdma *dev, const struct bf_sdma_queue_opts *opts, struct bf_sdma_queue **out)
{
	struct bf_sdma_queue *q;
	char name[48];
	uint32_t id = 0;
	int status = check_queue(dev, opts);

	*out = NULL;
	if (status)
		return status;
	while (id < dev->profile.queues && dev->queues[id])
		id++;
	if (id == dev->profile.queues)
		return bf_fail(&dev->sim->error, -ENOSPC, "%s: all %u queues are in use", dev->name, id);
	snprintf(name, sizeof(name), "%s.q%u", dev->name, id);
	q = calloc(1, sizeof(*q));
	if (!q)
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory", name);
	q->dev = dev;
	q->id = id;
	q->opts = *opts;
	q->mask = opts->bytes - 1;
	q->from = &q->ring;
	bf_event_init(&q->step, on_step);
	bf_event_init(&q->timer, bf_sdma_on_timer);
	q->op.done = bf_sdma_op_done;
	bf_event_init(&q->rptr, on_rptr);
	q->actor = bf_stream_actor(&dev->sim->rec, "queue", name);
	if (open_stream(q, &q->ring) || open_stream(q, &q->ib) || !q->actor || attach_stats(q, name)) {
		bf_sdma_queue_bury(q);
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory", name);
	}
	dev->queues[id] = q;
	record_queue(q, 0);
	*out = q;
	return 0;
}

void bf_sdma_queue_bury(struct bf_sdma_queue *q)
{
	struct bf_sdma_queue **at = &q->dev->zombies;

	if (q->op_busy || q->ring.fetching || q->ib.fetching)
		return;
	for (; *at; at = &(*at)->next_zombie) {
		if (*at == q) {
			*at = q->next_zombie;
			break;
		}
	}
	bf_stats_detach(q->dev->sim, q);
	free(q->ring.buf);
	free(q->ib.buf);
	free(q);
}

void bf_sdma_queue_destroy(struct bf_sdma_queue *q)
{
	struct bf_sdma *dev = q->dev;

	record_queue(q, 3);
	dev->queues[q->id] = NULL;
	bf_sim_cancel(dev->sim, &q->step);
	bf_sim_cancel(dev->sim, &q->timer);
	bf_sim_cancel(dev->sim, &q->rptr);
	bf_sdma_jobs_cancel(q);
	q->dead = true;
	q->next_zombie = dev->zombies;
	dev->zombies = q;
	bf_sdma_queue_bury(q);
}

int bf_sdma_queue_update(struct bf_sdma_queue *q, uint64_t ring, uint64_t bytes)
{
	struct bf_sdma *dev = q->dev;
	int status;

	if (!ring || !bytes) {
		q->paused = true;
		bf_sim_cancel(dev->sim, &q->step);
		if (!q->in_packet && q->from == &q->ring) {
			forget_fetched(&q->ring);
			q->waits = NULL;
			q->for_slot = false;
		}
		record_queue(q, 1);
		return 0;
	}
	status = check_ring(dev, ring, bytes);
	if (status)
		return status;
	q->opts.ring = ring;
	q->opts.bytes = bytes;
	q->mask = bytes - 1;
	q->paused = false;
	record_queue(q, 2);
	if (!q->in_packet)
		bf_sdma_retry(q);
	return 0;
}
