/*
 * From the records of an SDMA run to a cause. Each question below is asked in turn; the first that has an answer names
 * it. What was wrong with the ring comes first: packets that nobody meant explain everything that they did.
 */
#include <inttypes.h>
#include <string.h>

#include "drivers/sdma/records.h"
#include "sim/event.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "tools/cause_sdma_facts.h"
#include "tools/workload_sdma.h"

/* Pieces and packets are compared with each other: runs with more of them are not for this. */
#define COMPARED_MAX 20000u

static const char *name_of(const struct bf_sdma_facts *f, uint32_t actor)
{
	return bf_record_log_name(f->log, actor);
}

static const char *queue_name(const struct bf_sdma_facts *f, uint32_t queue)
{
	return name_of(f, f->queues[queue].actor);
}

static const struct bf_sdma_fact_span *reserve_of(const struct bf_sdma_facts *f, uint32_t queue, uint64_t index)
{
	return bf_sdma_facts_span(f->reserves, f->nreserves, queue, index);
}

static const struct bf_sdma_fact_packet *packet_at(const struct bf_sdma_facts *f, uint32_t queue, uint64_t index)
{
	for (size_t i = 0; i < f->npackets; i++)
		if (f->packets[i].queue == queue && f->packets[i].index == index && !f->packets[i].indirect)
			return &f->packets[i];
	return NULL;
}

/* ---- the ring ---- */

/* A reservation that goes over bytes which the engine had not taken. */
static bool overrun(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	for (size_t i = 0; i < f->nreserves; i++) {
		const struct bf_sdma_fact_span *r = &f->reserves[i];
		const uint64_t bytes = f->queues[r->queue].bytes;

		if (r->to <= r->retired + bytes)
			continue;
		bf_cause_say(out, r->at_ps, r->at_ps,
			     "%s reserved bytes %" PRIu64 " to %" PRIu64 " of %s when the engine was at %" PRIu64
			     ": the ring holds %" PRIu64
			     ", so packets that were not fetched yet are overwritten; nobody "
			     "looked at the read pointer",
			     name_of(f, r->actor), r->from, r->to - 1, queue_name(f, r->queue), r->retired, bytes);
		return true;
	}
	return false;
}

/* Who published up to there. */
static const struct bf_sdma_fact_span *published_to(const struct bf_sdma_facts *f, uint32_t queue, uint64_t to)
{
	return to ? bf_sdma_facts_span(f->publishes, f->npublishes, queue, to - 1) : NULL;
}

/* The first store into bytes that were read, by the thread that owns them, after they were read. */
static const struct bf_fact_store *stored_after(const struct bf_sdma_facts *f, const struct bf_sdma_fact_read *d,
						const struct bf_sdma_fact_span **owner)
{
	for (size_t i = 0; i < f->stores.nstores; i++) {
		const struct bf_fact_store *s = &f->stores.stores[i];
		const struct bf_sdma_fact_span *r, *next;

		if (s->va - d->va >= d->len || s->issued_ps <= d->at_ps)
			continue;
		r = reserve_of(f, d->queue, d->index + (s->va - d->va));
		next = reserve_of(f, d->queue, d->index + (s->va - d->va) + f->queues[d->queue].bytes);
		if (!r || r->actor != s->actor || r->at_ps > d->at_ps || (next && next->at_ps <= s->issued_ps))
			continue;
		*owner = r;
		return s;
	}
	return NULL;
}

/* The doorbell that was in force when bytes were read: the last one that reached the engine before. */
static uint64_t in_force(const struct bf_sdma_facts *f, uint32_t queue, uint64_t at_ps)
{
	const struct bf_rec_header *head;
	uint64_t published = 0;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL && head->time_ps <= at_ps)
		if (head->type == BF_REC_ID_sdma_doorbell && bf_sdma_facts_queue(f, head->actor) == queue)
			published = ((const struct bf_rec_sdma_doorbell *)(head + 1))->published;
	return published;
}

static bool read_too_early(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	for (size_t i = 0; i < f->nreads; i++) {
		const struct bf_sdma_fact_read *d = &f->reads[i];
		const struct bf_fact_store *late = bf_facts_late(&f->stores, d->va, d->len, d->at_ps);
		const struct bf_sdma_fact_span *owner = NULL, *rang;

		if (late) {
			const bool never = late->visible_ps == BF_NEVER;

			bf_cause_say(
			    out, late->issued_ps, never ? f->stores.end_ps : late->visible_ps,
			    "store of ring byte %" PRIu64 " of %s by %s became visible %s after the engine, told "
			    "by the doorbell, had fetched it: no fence stands between the packets and the doorbell",
			    d->index + (late->va - d->va), queue_name(f, d->queue), name_of(f, late->actor),
			    never ? "not at all, before or" : bf_span_of(late->visible_ps - d->at_ps).text);
			return true;
		}
		late = stored_after(f, d, &owner);
		if (!late)
			continue;
		rang = published_to(f, d->queue, in_force(f, d->queue, d->at_ps));
		bf_cause_say(
		    out, d->at_ps, late->issued_ps,
		    "the engine fetched ring byte %" PRIu64 " of %s %s before %s stored it there: %s%s",
		    d->index + (late->va - d->va), queue_name(f, d->queue), bf_span_of(late->issued_ps - d->at_ps).text,
		    name_of(f, owner->actor),
		    rang && rang->from != owner->from ? name_of(f, rang->actor) : "the doorbell was rung first",
		    rang && rang->from != owner->from ? " published what comes behind it and did not wait for its turn"
						      : "");
		return true;
	}
	return false;
}

/* Bytes up to the ring's end that were reserved as padding and never stored. */
static bool not_padded(const struct bf_sdma_facts *f, uint32_t queue, uint64_t index, struct bf_cause *out)
{
	const struct bf_sdma_fact_span *r = reserve_of(f, queue, index);
	const struct bf_sdma_fact_queue *q = &f->queues[queue];

	if (!r || !r->pad)
		return false;
	for (size_t i = 0; i < f->stores.nstores; i++) {
		const struct bf_fact_store *s = &f->stores.stores[i];

		if (s->actor == r->actor && s->issued_ps >= r->at_ps && s->va >= q->ring + r->from % q->bytes &&
		    s->va < q->ring + q->bytes)
			return false;
	}
	bf_cause_say(out, r->at_ps, f->stores.end_ps,
		     "%s took bytes %" PRIu64 " to %" PRIu64
		     " of %s, up to the ring's end, as padding and stored no NOPs "
		     "there: at %" PRIu64 " the engine found what an earlier lap had left",
		     name_of(f, r->actor), r->from, r->to - 1, queue_name(f, queue), index);
	return true;
}

/* A packet in the padding, by the packets that began; the one that stopped the queue is told by its fault. */
static bool packet_in_padding(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	for (size_t i = 0; i < f->npackets; i++)
		if (f->packets[i].p.kind != BF_SDMA_KIND_NOP &&
		    not_padded(f, f->packets[i].queue, f->packets[i].index, out))
			return true;
	return false;
}

static bool wrong_doorbell(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL) {
		const struct bf_rec_sdma_doorbell *d = (const void *)(head + 1);
		const size_t q = head->type == BF_REC_ID_sdma_doorbell ? bf_sdma_facts_queue(f, head->actor) : SIZE_MAX;
		const struct bf_sdma_fact_span *p, *before;
		uint64_t lap;

		if (q == SIZE_MAX || (d->verdict != 4 && d->verdict != 5)) /* back, past-ring */
			continue;
		lap = (d->before + f->queues[q].bytes - 1) / f->queues[q].bytes * f->queues[q].bytes;
		p = published_to(f, (uint32_t)q, d->value + lap);
		before = published_to(f, (uint32_t)q, d->before);
		if (d->value < f->queues[q].bytes && p && p->to == d->value + lap) {
			bf_cause_say(
			    out, p->at_ps, head->time_ps,
			    "%s rang the doorbell of %s with %" PRIu64 ", an offset in the ring, after bytes up to "
			    "%" PRIu64 " had been published: this queue's indices grow for ever, and the index of that "
			    "place is %" PRIu64,
			    name_of(f, p->actor), queue_name(f, (uint32_t)q), d->value, d->before, p->to);
			return true;
		}
		p = published_to(f, (uint32_t)q, d->value);
		if (!p || !before)
			continue;
		bf_cause_say(out, before->at_ps, head->time_ps,
			     "%s rang the doorbell of %s for bytes up to %" PRIu64
			     " after %s had rung it for bytes up to %" PRIu64 ": submissions are published out of turn",
			     name_of(f, p->actor), queue_name(f, (uint32_t)q), p->to, name_of(f, before->actor),
			     d->before);
		return true;
	}
	return false;
}

/* ---- order ---- */

static const struct bf_sdma_fact_packet *packet_of(const struct bf_sdma_facts *f, const struct bf_sdma_fact_piece *p)
{
	return p->packet == SIZE_MAX ? NULL : &f->packets[p->packet];
}

static uint64_t extent(uint64_t pitch, const struct bf_rec_sdma_piece *r)
{
	return r->rows ? (r->rows - 1) * pitch + r->len : 0;
}

/* A copy read what a copy before it, on the same queue, wrote only later. */
static bool read_before_written(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	if (f->npieces > COMPARED_MAX)
		return false;
	for (size_t i = 0; i < f->npieces; i++) {
		const struct bf_sdma_fact_piece *r = &f->pieces[i];
		const struct bf_sdma_fact_packet *reader = packet_of(f, r);

		for (size_t k = i + 1; reader && r->rec.src && k < f->npieces; k++) {
			const struct bf_sdma_fact_piece *w = &f->pieces[k];
			const struct bf_sdma_fact_packet *writer = packet_of(f, w);

			if (!writer || writer->queue != reader->queue || writer->index >= reader->index ||
			    w->at_ps < r->at_ps || w->rec.dst >= r->rec.src + extent(r->rec.src_pitch, &r->rec) ||
			    r->rec.src >= w->rec.dst + extent(w->rec.dst_pitch, &w->rec))
				continue;
			bf_cause_say(
			    out, reader->at_ps, w->at_ps,
			    "%s at byte %" PRIu64 " of %s read 0x%" PRIx64 " %s before %s at byte %" PRIu64
			    " had written it: consecutive copies overlap in time, and nothing between these two waits "
			    "(FENCE, ATOMIC, TRAP and NOP do)",
			    reader->p.name, reader->index, queue_name(f, reader->queue), r->rec.src,
			    bf_span_of(w->at_ps - r->at_ps).text, writer->p.name, writer->index);
			return true;
		}
	}
	return false;
}

/* The last packet that stored to `va` by then. */
static const struct bf_sdma_fact_packet *signal_to(const struct bf_sdma_facts *f, uint64_t va, uint64_t by_ps)
{
	const struct bf_sdma_fact_packet *found = NULL;

	for (size_t i = 0; i < f->npackets && f->packets[i].at_ps <= by_ps; i++) {
		const struct bf_sdma_packet *p = &f->packets[i].p;

		if (p->dst == va &&
		    (p->kind == BF_SDMA_KIND_ATOMIC || p->kind == BF_SDMA_KIND_FENCE || p->kind == BF_SDMA_KIND_WRITE))
			found = &f->packets[i];
	}
	return found;
}

/* A thread was told that a submission is done while one of its copies ran, or had not begun. */
static bool signalled_early(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL) {
		const struct bf_rec_sdma_waited *w = (const void *)(head + 1);
		const struct bf_sdma_fact_packet *s;
		const struct bf_sdma_fact_span *r;

		if (head->type != BF_REC_ID_sdma_waited)
			continue;
		s = signal_to(f, w->va, head->time_ps);
		r = s ? reserve_of(f, s->queue, s->index) : NULL;
		for (size_t i = 0; r && i < f->npackets; i++) {
			const struct bf_sdma_fact_packet *c = &f->packets[i];

			if (c->queue != s->queue || c->index < r->from || c->index >= r->to ||
			    c->done_ps <= head->time_ps || !bf_sdma_packet_bytes(&c->p))
				continue;
			bf_cause_say(out, s->at_ps, c->done_ps == BF_NEVER ? f->stores.end_ps : c->done_ps,
				     "%s saw the completion of bytes %" PRIu64 " to %" PRIu64
				     " of %s %s before the %s at %" PRIu64 " had written its last byte: %s at %" PRIu64
				     " signals, %s",
				     name_of(f, head->actor), r->from, r->to - 1, queue_name(f, s->queue),
				     c->done_ps == BF_NEVER ? "for ever" : bf_span_of(c->done_ps - head->time_ps).text,
				     c->p.name, c->index, s->p.name, s->index,
				     c->index > s->index
					 ? "and stands in front of the body"
					 : "and may overtake the copies before it; FENCE and ATOMIC wait for them");
			return true;
		}
	}
	return false;
}

/* When the packet's poll was satisfied; BF_NEVER. */
static uint64_t poll_held(const struct bf_sdma_facts *f, const struct bf_sdma_fact_packet *k)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL) {
		const struct bf_rec_sdma_result *r = (const void *)(head + 1);

		if (head->type == BF_REC_ID_sdma_result && r->op == BF_SDMA_OP_POLL_REGMEM && r->verdict == 0 &&
		    r->index == k->index && bf_sdma_facts_queue(f, head->actor) == k->queue &&
		    head->time_ps >= k->at_ps)
			return head->time_ps;
	}
	return BF_NEVER;
}

/* Both halves of a counter were polled, the low one first, and the counter borrowed from the high one in between. */
static bool polled_low_first(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	for (size_t i = 0; i + 1 < f->npackets; i++) {
		const struct bf_sdma_fact_packet *low = &f->packets[i], *high = &f->packets[i + 1];
		uint64_t low_ps, high_ps;

		if (low->p.kind != BF_SDMA_KIND_POLL || high->p.kind != BF_SDMA_KIND_POLL ||
		    low->queue != high->queue || high->p.dst != low->p.dst + 4)
			continue;
		low_ps = poll_held(f, low);
		high_ps = poll_held(f, high);
		for (size_t k = 0; high_ps != BF_NEVER && k < f->stores.nstores; k++) {
			const struct bf_fact_store *s = &f->stores.stores[k];

			if (s->va != low->p.dst || s->len != 8 || s->visible_ps <= low_ps || s->visible_ps > high_ps ||
			    !bf_get_le32(s->bytes))
				continue;
			bf_cause_say(
			    out, low_ps, high_ps,
			    "the polls at bytes %" PRIu64 " and %" PRIu64
			    " of %s look at the low half of the signal at 0x%" PRIx64
			    " and then at the high half: the low one was 0 before %s stored 0x%" PRIx64
			    ", the high one after it, and the signal was never 0 as a whole; a counter that falls is "
			    "polled high half first",
			    low->index, high->index, queue_name(f, low->queue), low->p.dst, name_of(f, s->actor),
			    bf_get_le64(s->bytes));
			return true;
		}
	}
	return false;
}

/* A copy read data that a thread had stored and that nobody else could see yet. */
static bool late_source(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	for (size_t i = 0; i < f->npieces; i++) {
		const struct bf_sdma_fact_piece *r = &f->pieces[i];
		const struct bf_fact_store *s =
		    r->rec.src ? bf_facts_late(&f->stores, r->rec.src, extent(r->rec.src_pitch, &r->rec), r->at_ps)
			       : NULL;
		const struct bf_sdma_fact_packet *reader = packet_of(f, r);

		if (!s || !reader)
			continue;
		bf_cause_say(out, s->issued_ps, s->visible_ps == BF_NEVER ? f->stores.end_ps : s->visible_ps,
			     "store at 0x%" PRIx64 " by %s became visible %s after the %s at byte %" PRIu64
			     " of %s had read it: no fence stands between the data and the doorbell",
			     s->va, name_of(f, s->actor),
			     s->visible_ps == BF_NEVER ? "not at all, before or"
						       : bf_span_of(s->visible_ps - r->at_ps).text,
			     reader->p.name, reader->index, queue_name(f, reader->queue));
		return true;
	}
	return false;
}

/* ---- packets ---- */

/* The packet that stopped a queue: who submitted it, and which dword is wrong. */
static bool stopped(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(f->log, &offset)) != NULL) {
		const struct bf_rec_sdma_fault *e = (const void *)(head + 1);
		const size_t q = head->type == BF_REC_ID_sdma_fault ? bf_sdma_facts_queue(f, head->actor) : SIZE_MAX;
		const struct bf_sdma_fact_span *r = q == SIZE_MAX ? NULL : reserve_of(f, (uint32_t)q, e->index);
		const struct bf_sdma_fact_packet *k = r ? packet_at(f, (uint32_t)q, e->index) : NULL;
		char where[64] = "";

		if (!r)
			continue;
		if (not_padded(f, (uint32_t)q, e->index, out))
			return true;
		if (e->reason == BF_SDMA_STRADDLES) {
			bf_cause_say(
			    out, r->at_ps, head->time_ps,
			    "%s reserved bytes %" PRIu64 " to %" PRIu64 " of %s, over the ring's end at %" PRIu64
			    ": the rest of the ring must be filled with NOPs, and the packet begin at offset 0",
			    name_of(f, r->actor), r->from, r->to - 1, queue_name(f, (uint32_t)q),
			    (e->index / f->queues[q].bytes + 1) * f->queues[q].bytes);
			return true;
		}
		if (e->reason == BF_SDMA_MEMORY)
			snprintf(where, sizeof(where), " at 0x%" PRIx64, e->address);
		bf_cause_say(out, r->at_ps, head->time_ps,
			     "%s at byte %" PRIu64 " of %s, submitted by %s: %s%s, by dword %" PRIu32 " (0x%08" PRIx32
			     ")",
			     k ? k->p.name : "the packet", e->index, queue_name(f, (uint32_t)q), name_of(f, r->actor),
			     bf_sdma_reason_name((enum bf_sdma_reason)e->reason), where, e->dword, e->value);
		return true;
	}
	return false;
}

static bool row_covers(const struct bf_rec_sdma_piece *r, uint64_t va)
{
	const uint64_t at = va - r->dst;

	return va >= r->dst && at < extent(r->dst_pitch, r) && (r->rows == 1 || at % r->dst_pitch < r->len);
}

/* The copies' pieces that have to do with a byte: its last writer, the last one around it, the nearest one. */
struct near {
	const struct bf_sdma_fact_piece *writer, *around, *nearest;
};

static struct near pieces_near(const struct bf_sdma_facts *f, uint64_t va)
{
	struct near n = { 0 };
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < f->npieces; i++) {
		const struct bf_sdma_fact_piece *p = &f->pieces[i];
		const uint64_t end = p->rec.dst + extent(p->rec.dst_pitch, &p->rec);

		const uint64_t away = va < p->rec.dst ? p->rec.dst - va : va - end;

		if (!packet_of(f, p))
			continue;
		if (row_covers(&p->rec, va)) {
			n.writer = p;
		} else if (va >= p->rec.dst && va < end) {
			n.around = p;
		} else if (away < least) {
			n.nearest = p;
			least = away;
		}
	}
	return n;
}

/* What a byte that is wrong has to do with the copies. */
static void blame(const struct bf_sdma_facts *f, uint64_t va, struct bf_cause *out)
{
	const struct near n = pieces_near(f, va);
	const struct bf_sdma_fact_piece *p = n.writer ? n.writer : n.around ? n.around : n.nearest;
	const struct bf_sdma_fact_packet *k = p ? packet_of(f, p) : NULL;
	char what[160];

	if (!k)
		return;
	if (n.writer)
		snprintf(what, sizeof(what), "was last written by");
	else if (n.around)
		snprintf(what, sizeof(what), "lies between rows, %" PRIu64 " bytes apart, that were written by",
			 p->rec.dst_pitch);
	else
		snprintf(what, sizeof(what), "was written by no copy; the nearest is");
	bf_cause_say(out, k->at_ps, k->done_ps == BF_NEVER ? f->stores.end_ps : k->done_ps,
		     "the byte at 0x%" PRIx64 " %s %s at byte %" PRIu64 " of %s, which moves %" PRIu64
		     " bytes to 0x%" PRIx64 ": the packet says something else than what was meant",
		     va, what, k->p.name, k->index, queue_name(f, k->queue), bf_sdma_packet_bytes(&k->p), k->p.dst);
}

/* A copy wrote over the word that a thread waits for. */
static bool overwritten_signal(const struct bf_sdma_facts *f, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while (!out->text[0] && (head = bf_record_log_next(f->log, &offset)) != NULL) {
		const struct bf_rec_deadlock *d = (const void *)(head + 1);

		if (head->type == BF_REC_ID_deadlock)
			for (size_t i = 0; !out->text[0] && i < f->npieces; i++)
				if (row_covers(&f->pieces[i].rec, d->va))
					blame(f, d->va, out);
	}
	return out->text[0] != '\0';
}

void bf_sdma_cause_read(const struct bf_record_log *log, const uint64_t *wrong_va, struct bf_cause *out)
{
	struct bf_sdma_facts f;

	*out = (struct bf_cause){ 0 };
	if (bf_sdma_facts_read(&f, log) != 0)
		return;
	if (!overrun(&f, out) && !wrong_doorbell(&f, out) && !read_too_early(&f, out) && !packet_in_padding(&f, out) &&
	    !stopped(&f, out) && !polled_low_first(&f, out) && !signalled_early(&f, out) &&
	    !read_before_written(&f, out) && !late_source(&f, out) && !overwritten_signal(&f, out) && wrong_va)
		blame(&f, *wrong_va, out);
	bf_cause_mention_faults(log, f.stores.end_ps, out);
	bf_cause_count(log, out);
	bf_sdma_facts_free(&f);
}

void bf_sdma_cause_of(const struct bf_sdma_workload *w, const struct bf_sdma_result *r, struct bf_cause *out)
{
	const bool byte = r->verdict == BF_SDMA_WRONG_DATA && r->wrong_va;
	struct bf_sdma_workload again = *w;
	struct bf_sdma_result result;
	struct bf_record_log log;
	struct bf_error err = { 0 };

	*out = (struct bf_cause){ 0 };
	if (w->backend->platform != BF_PLATFORM_SIM)
		return;
	again.records = BF_CLASS_ALL;
	again.counts = false;
	bf_record_log_init(&log, (size_t)1 << 30);
	if (bf_sdma_workload_run(&again, &log.sink, &result, &err) == 0 && !log.overflow)
		bf_sdma_cause_read(&log, byte ? &r->wrong_va : NULL, out);
	bf_record_log_free(&log);
}
