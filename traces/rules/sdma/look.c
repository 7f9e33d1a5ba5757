/* Facts of SDMA queues looked up for a rule: by index, by packet, by the byte of memory; and sentences about them. */
#include "traces/rules/sdma/sdma.h"

#include <inttypes.h>
#include <string.h>

struct bf_sdma_rule_span *bf_sdma_rule_reserve_of(const struct bf_sdma_rule_queue *q, uint64_t index)
{
	struct bf_sdma_rule_span *s;

	for (uint64_t back = 0; (s = bf_sdma_rule_reserve(q, back)) != NULL; back++)
		if (index >= s->from && index < s->to)
			return s;
	return NULL;
}

const struct bf_sdma_rule_span *bf_sdma_rule_published_to(const struct bf_sdma_rule_queue *q, uint64_t to)
{
	for (uint64_t back = 0; q->w && to && back < q->w->npublishes && back < BF_SDMA_RULE_SPANS; back++) {
		const struct bf_sdma_rule_span *s =
		    &q->w->publishes[(q->w->npublishes - 1 - back) % BF_SDMA_RULE_SPANS];

		if (to - 1 >= s->from && to - 1 < s->to)
			return s;
	}
	return NULL;
}

const struct bf_sdma_rule_begun *bf_sdma_rule_packet_of(const struct bf_sdma_rule_piece *p)
{
	const struct bf_sdma_rule_queue *q = p->done ? bf_sdma_rule_of(p->queue) : NULL;

	if (!q || !q->w || q->w->npackets - p->packet_at > BF_SDMA_RULE_PACKETS)
		return NULL;
	return &q->w->packets[p->packet_at % BF_SDMA_RULE_PACKETS];
}

uint64_t bf_sdma_rule_extent(uint64_t pitch, const struct bf_sdma_rule_piece *p)
{
	return p->rec.rows ? (p->rec.rows - 1) * pitch + p->rec.len : 0;
}

bool bf_sdma_rule_writes(const struct bf_sdma_rule_piece *p, uint64_t va)
{
	const uint64_t at = va - p->rec.dst;

	return va >= p->rec.dst && at < bf_sdma_rule_extent(p->rec.dst_pitch, p) &&
	       (p->rec.rows == 1 || !p->rec.dst_pitch || at % p->rec.dst_pitch < p->rec.len);
}

bool bf_sdma_rule_unpadded(const struct bf_sdma_rule_queue *q, uint64_t index)
{
	const struct bf_sdma_rule_span *s = bf_sdma_rule_reserve_of(q, index);

	return s && s->pad && !s->stored;
}

const struct bf_sdma_rule_begun *bf_sdma_rule_packet_in(const struct bf_sdma_rule_queue *q, uint64_t index,
							uint64_t indirect)
{
	const struct bf_sdma_rule_begun *k;

	for (uint64_t back = 0; (k = bf_sdma_rule_packet_back(q, back)) != NULL; back++)
		if (k->index == index && k->indirect == indirect)
			return k;
	return NULL;
}

bool bf_sdma_rule_in_vram(const struct bf_sdma_rule_run *run, uint64_t va)
{
	for (uint32_t i = 0; i < run->nvram; i++)
		if (va - run->vram[i].va < run->vram[i].size)
			return true;
	return false;
}

bool bf_sdma_rule_is_data(const struct bf_sdma_rule_begun *k)
{
	return k->kind == BF_SDMA_KIND_COPY || k->kind == BF_SDMA_KIND_RECT || k->kind == BF_SDMA_KIND_FILL ||
	       k->kind == BF_SDMA_KIND_WRITE;
}

void bf_sdma_rule_whole(const struct bf_sdma_rule_queue *q, const struct bf_sdma_rule_begun *k,
			struct bf_sdma_packet *p)
{
	uint32_t dw[BF_SDMA_MAX_FIXED] = { 0 };

	memcpy(dw, k->dw, sizeof(k->dw));
	bf_sdma_decode(&q->dialect, dw, k->said, p);
}

static bool side_fits(uint64_t off_x, uint64_t off_y, uint64_t pitch, uint64_t slice, const struct bf_sdma_packet *p)
{
	if (p->y && off_x + p->x >= pitch + 1)
		return false;
	return !slice || ((slice + 1) % (pitch + 1) == 0 && (off_y + p->y + 1) * (pitch + 1) <= slice + 1);
}

bool bf_sdma_rule_rect_fits(const struct bf_sdma_packet *p)
{
	return p->kind == BF_SDMA_KIND_RECT && !p->reserved &&
	       side_fits(p->src_x, p->src_y, p->src_pitch, p->src_slice, p) &&
	       side_fits(p->dst_x, p->dst_y, p->dst_pitch, p->dst_slice, p);
}

/* The copies' pieces that have to do with a byte: its last writer, the last one around it, the nearest one. */
struct near {
	const struct bf_sdma_rule_piece *writer, *around, *nearest;
};

static struct near pieces_near(struct bf_sdma_rule_run *run, uint64_t va)
{
	const struct bf_sdma_rule_piece *p;
	uint64_t least = UINT64_MAX;
	struct near n = { 0 };

	for (uint64_t back = 0; (p = bf_sdma_rule_piece_back(run, back)) != NULL; back++) {
		const uint64_t end = p->rec.dst + bf_sdma_rule_extent(p->rec.dst_pitch, p);
		const uint64_t away = va < p->rec.dst ? p->rec.dst - va : va - end;

		if (!bf_sdma_rule_packet_of(p))
			continue;
		if (bf_sdma_rule_writes(p, va)) {
			n.writer = n.writer ? n.writer : p;
		} else if (va >= p->rec.dst && va < end) {
			n.around = n.around ? n.around : p;
		} else if (away < least) {
			n.nearest = p;
			least = away;
		}
	}
	return n;
}

const struct bf_sdma_rule_begun *bf_sdma_rule_near(struct bf_rule_run *r, uint64_t va, struct bf_sdma_packet *whole,
						   bool *written)
{
	const struct near n = pieces_near(bf_sdma_rule_run(r), va);
	const struct bf_sdma_rule_piece *p = n.writer ? n.writer : n.around ? n.around : n.nearest;
	const struct bf_sdma_rule_begun *k = p ? bf_sdma_rule_packet_of(p) : NULL;

	*written = n.writer != NULL;
	if (k)
		bf_sdma_rule_whole(bf_sdma_rule_of(p->queue), k, whole);
	return k;
}

/* ---- findings ---- */

bool bf_sdma_rule_fault_header(const struct bf_seen *e, uint32_t *header)
{
	const struct bf_sdma_rule_begun *k =
	    bf_sdma_rule_packet_in(bf_sdma_rule_of(e->queue), e->sdma_fault.index, e->sdma_fault.indirect);

	*header = k ? k->dw[0] : (uint32_t)(e->sdma_fault.dword ? e->sdma_fault.header : e->sdma_fault.value);
	return k || e->sdma_fault.header;
}

struct bf_finding *bf_sdma_rule_find_fault(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_span *s = bf_sdma_rule_reserve_of(q, e->sdma_fault.index);
	struct bf_finding *f = bf_rule_find(r, e, e->queue);
	struct bf_sdma_packet p;
	uint32_t header;

	if (!f)
		return NULL;
	bf_sdma_rule_fault_header(e, &header);
	bf_sdma_decode(&q->dialect, &header, 1, &p);
	bf_finding_index(f, e->sdma_fault.index);
	bf_finding_say(f, "%s at byte %" PRIu64 " of %s", p.form ? p.name : "the packet", e->sdma_fault.index,
		       bf_rule_queue_name(r->rules, e->queue));
	if (s) {
		bf_finding_since(f, s->at_ps, s->record);
		bf_finding_say(f, ", submitted by %s", bf_rule_actor(r->rules, s->actor));
	}
	bf_finding_say(f, ": %s", bf_sdma_reason_name((enum bf_sdma_reason)e->sdma_fault.reason));
	if (e->sdma_fault.reason == BF_SDMA_MEMORY)
		bf_finding_say(f, " at 0x%" PRIx64, e->sdma_fault.address);
	bf_finding_say(f, ", by dword %" PRIu64 " (0x%08" PRIx64 ")", e->sdma_fault.dword, e->sdma_fault.value);
	return f;
}

bool bf_sdma_rule_blame(struct bf_rule_run *r, struct bf_finding *f, uint64_t va)
{
	const struct near n = pieces_near(bf_sdma_rule_run(r), va);
	const struct bf_sdma_rule_piece *p = n.writer ? n.writer : n.around ? n.around : n.nearest;
	const struct bf_sdma_rule_begun *k = p ? bf_sdma_rule_packet_of(p) : NULL;

	if (!k)
		return false;
	bf_finding_say(f, "the byte at 0x%" PRIx64 " ", va);
	if (n.writer)
		bf_finding_say(f, "was last written by");
	else if (n.around)
		bf_finding_say(f, "lies between rows, %" PRIu64 " bytes apart, that were written by", p->rec.dst_pitch);
	else
		bf_finding_say(f, "was written by no copy; the nearest is");
	bf_finding_say(f,
		       " %s at byte %" PRIu64 " of %s, which moves %" PRIu64 " bytes to 0x%" PRIx64
		       ": the packet says something else than what was meant",
		       k->name, k->index, bf_rule_queue_name(r->rules, p->queue), k->bytes, k->dst);
	f->found.at_ps = k->at_ps;
	bf_finding_since(f, k->at_ps, k->record);
	bf_finding_index(f, k->index);
	return true;
}

struct bf_finding *bf_sdma_rule_find_after(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_after *a = &bf_sdma_rule_run(r)->after;
	struct bf_finding *f = bf_rule_find(r, e, a->queue);

	if (!f)
		return NULL;
	f->found.at_ps = a->read->at_ps;
	bf_finding_since(f, a->read->at_ps, a->read->record);
	bf_finding_index(f, a->index);
	bf_finding_say(f, "the engine fetched ring byte %" PRIu64 " of %s %s before %s stored it there: ", a->index,
		       bf_rule_queue_name(r->rules, a->queue), bf_span_of(e->time_ps - a->read->at_ps).text,
		       bf_rule_actor(r->rules, a->owner->actor));
	return f;
}
