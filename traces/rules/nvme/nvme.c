/* Facts of NVMe queue pairs, and the list of their rules. */
#include "traces/rules/nvme/nvme.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/nvme/prm.h"
#include "sim/bytes.h"
#include "sim/grow.h"
#include "traces/devices/points.h"
#include "traces/rules/way.h"

struct bf_nvme_rule_slot *bf_nvme_rule_slot(struct bf_nvme_rule_queue *q, uint64_t slot)
{
	const size_t block = (size_t)(slot / BF_NVME_RULE_BLOCK);

	if (slot >= BF_NVME_RULE_QUEUE_MAX || BF_GROW(q->blocks, q->nblocks, block + 1))
		return NULL;
	if (BF_UNLIKELY(!q->blocks[block])) {
		q->blocks[block] = calloc(BF_NVME_RULE_BLOCK, sizeof(**q->blocks));
		if (!q->blocks[block])
			return NULL;
	}
	return &q->blocks[block][slot % BF_NVME_RULE_BLOCK];
}

bool bf_nvme_rule_stuck_for(struct bf_rule_run *r, enum bf_nvme_rule_stuck why)
{
	const struct bf_nvme_rule_run *run = r->facts;

	return run->timeouts == 1 && run->stuck == why;
}

struct bf_finding *bf_nvme_rule_find_refused(struct bf_rule_run *r, const struct bf_seen *e,
					     const struct bf_nvme_rule_answer *a)
{
	struct bf_finding *f = bf_rule_find(r, e, a->queue);

	if (!f)
		return NULL;
	bf_finding_since(f, a->fetched_ps, a->fetched_record);
	bf_finding_index(f, a->slot);
	return f;
}

void bf_nvme_rule_say_both(struct bf_finding *f, const char *what, uint32_t slot, const struct bf_rule_queue *queue,
			   uint32_t other, const struct bf_rule_queue *other_queue)
{
	if (queue == other_queue)
		bf_finding_say(f, "the %ss in slots %" PRIu32 " and %" PRIu32 " of SQ %" PRIu64, what, slot, other,
			       queue->number);
	else
		bf_finding_say(f, "the %ss in slot %" PRIu32 " of SQ %" PRIu64 " and slot %" PRIu32 " of SQ %" PRIu64,
			       what, slot, queue->number, other, other_queue->number);
}

/* ---- memory ---- */

static uint32_t word_place(uint64_t va)
{
	return (uint32_t)((va / 8 * 0x9e3779b97f4a7c15ull) >> 40) % BF_NVME_RULE_WORDS;
}

const struct bf_nvme_rule_word *bf_nvme_rule_word(const struct bf_rule_run *r, uint64_t va)
{
	const struct bf_nvme_rule_run *run = r->facts;
	const struct bf_nvme_rule_word *w = &run->words[word_place(va)];

	return w->set && w->va == va ? w : NULL;
}

bool bf_nvme_rule_never_stored(const struct bf_rule_run *r, uint64_t va)
{
	const struct bf_nvme_rule_run *run = r->facts;
	const struct bf_nvme_rule_word *w = &run->words[word_place(va)];

	return !w->shared && !(w->set && w->va == va);
}

static void note_word(struct bf_nvme_rule_run *run, const struct bf_seen *e)
{
	struct bf_nvme_rule_word *w = &run->words[word_place(e->store.va)];

	w->shared |= w->set && w->va != e->store.va;
	w->set = true;
	w->va = e->store.va;
	w->value = bf_get_le64(e->tail);
	w->actor = e->actor;
}

static void note_store(struct bf_rules *r, struct bf_nvme_rule_run *run, const struct bf_seen *e)
{
	if (e->store.len == 8 && e->store.va % 8 == 0 && e->tail_len >= 8 && run->present)
		note_word(run, e);
	if (e->store.len == 4 && run->event && e->store.va - run->event < BF_NVME_RULE_PAGE)
		bf_rule_notice(r, BF_NVME_RULE_TO_EVENT);
}

/* ---- how far it has come ---- */

static void count_rung(struct bf_nvme_rule_queue *q, uint64_t slot, uint64_t to, uint64_t entries)
{
	if (slot >= entries || to >= entries || slot == to || entries > BF_NVME_RULE_QUEUE_MAX ||
	    BF_GROW(q->rung, q->nrung, (slot < to ? to : entries)))
		return;
	while (slot != to) {
		q->rung[slot]++;
		slot = slot + 1 == entries ? 0 : slot + 1;
	}
}

/* Slots come round: of each counts how often. */
static inline void came(struct bf_nvme_rule_queue *q, enum bf_nvme_at at, bool device, uint64_t from, uint64_t upto,
			const struct bf_seen *e)
{
	(void)device;
	switch (at) {
	case BF_NVME_AT_BUILD:
		q->built++;
		bf_nvme_rule_slot_known(q, from)->nbuilt++;
		break;
	case BF_NVME_AT_RING:
		q->last_rung = (uint32_t)upto;
		count_rung(q, from, upto, e->nvm_ring.entries);
		break;
	case BF_NVME_AT_FETCH:
	default:
		q->fetches++;
		bf_nvme_rule_slot_known(q, from)->nfetched++;
		break;
	}
}

/* Of a record with a slot it is known that there is one. */
static inline void come(struct bf_nvme_rule_queue *q, const struct bf_seen *e, enum bf_seen_kind kind)
{
#include "traces/devices/nvme_commands.def"
}

/* ---- entries ---- */

static void note_build(struct bf_rules *r, struct bf_nvme_rule_queue *q, const struct bf_seen *e)
{
	struct bf_nvme_rule_slot *s = bf_nvme_rule_slot(q, e->nvm_build.slot);
	const uint64_t base = e->nvm_build.va - e->nvm_build.slot * BF_NVME_RULE_ENTRY;
	struct bf_nvme_rule_built *b;

	if (!s)
		return;
	q->driver_speaks = true;
	q->entries = (uint32_t)e->nvm_build.entries;
	if (q->entries && (!q->ring || q->ring->va != base || q->ring->entries != q->entries))
		q->ring = bf_stores_ring(bf_rule_stores(r), q->ring, e->queue, base, BF_NVME_RULE_ENTRY, q->entries);
	b = &s->built[s->nbuilt % 2];
	b->va = e->nvm_build.va;
	b->at_ps = e->time_ps;
	b->record = e->number;
	b->actor = e->actor;
	b->set = true;
	for (uint32_t i = 0; i < 8; i++)
		bf_put_le64(b->bytes + i * 8, e->field[i]);
	come(q, e, BF_SEEN_nvm_build);
}

static uint32_t data_place(uint64_t data)
{
	return (uint32_t)((data >> 4) * 0x9e3779b97f4a7c15ull >> 54) % BF_NVME_RULE_DATA;
}

static void share(struct bf_rule_queue *queue, uint32_t slot, const struct bf_rule_queue *other, uint32_t other_slot,
		  uint64_t data, const struct bf_seen *e)
{
	struct bf_nvme_rule_queue *q = bf_nvme_rule_of(queue);

	if (q->shared.set)
		return;
	q->shared.set = true;
	q->shared.slot = slot;
	q->shared.other = other_slot;
	q->shared.other_queue = other;
	q->shared.data = data;
	q->shared.at_ps = e->time_ps;
	q->shared.record = e->number;
}

static void note_sharing(struct bf_rules *r, struct bf_nvme_rule_run *run, const struct bf_seen *e)
{
	const uint64_t data = bf_get_le64(e->tail + 24);
	const struct bf_nvme_rule_user me = { (uint32_t)(data / BF_NVME_RULE_PAGE), (uint16_t)(e->queue->place + 1),
					      bf_get_le16(e->tail + 2) };
	struct bf_nvme_rule_user *place = &run->by_data[data_place(data)];
	const struct bf_nvme_rule_user last = *place;
	struct bf_rule_queue *queue;
	const struct bf_nvme_rule_command *c;

	*place = me;
	if (!data || last.page != me.page || !last.queue || (last.queue == me.queue && last.cid == me.cid))
		return;
	queue = bf_rule_queue_at(r, last.queue - 1u);
	if (!queue || queue->family != &bf_rules_nvme || queue->pe != e->pe)
		return;
	c = bf_nvme_rule_command(bf_nvme_rule_of(queue), last.cid);
	if (!c || bf_get_le64(c->entry + 24) != data)
		return;
	share(queue, c->slot, e->queue, (uint32_t)e->nvme_fetch.slot, data, e);
	share(e->queue, (uint32_t)e->nvme_fetch.slot, queue, c->slot, data, e);
	if (c->entry[0] == BF_NVME_IO_READ && e->tail[0] == BF_NVME_IO_READ && queue->number && e->queue->number) {
		run->overlap = queue;
		run->overlap_cid = last.cid;
		bf_rule_notice(r, BF_NVME_RULE_OVERLAP);
	}
}

static void judge(struct bf_rules *r, struct bf_nvme_rule_queue *q, const struct bf_nvme_rule_slot *s,
		  const struct bf_seen *e)
{
	const struct bf_sample *x = q->ring ? bf_ring_sample(q->ring, q->fetch.slot, e->time_ps) : NULL;
	/* Where no store ever waits (ordering sc) none is late, whatever the table still holds. */
	const bool may_wait = x && bf_stores_buffered(bf_rule_stores(r));
	const struct bf_store *late = may_wait ? bf_sample_late(bf_rule_stores(r), x) : NULL;
	/* Use number n of a slot is its n-th entry. */
	const uint64_t behind = s->nbuilt - 1 - s->nfetched;
	const struct bf_nvme_rule_built *own;

	/* A driver that says nothing of its entries: that part of one was late is all that can be known. */
	if (!q->driver_speaks && late) {
		q->fetch.sampled_ps = x->sampled_ps;
		q->fetch.own.va = q->ring->va + (uint64_t)q->fetch.slot * BF_NVME_RULE_ENTRY;
		q->fetch.late = *late;
		q->fetch.what = BF_NVME_RULE_FETCHED_LATE;
		return;
	}
	if (s->nbuilt <= s->nfetched || behind > 1)
		return;
	own = &s->built[s->nfetched % 2];
	if (memcmp(own->bytes, e->tail, BF_NVME_RULE_ENTRY) == 0)
		return;
	q->fetch.sampled_ps = x ? x->sampled_ps : e->time_ps;
	q->fetch.own = *own;
	if (behind == 1)
		q->fetch.next = s->built[(s->nfetched + 1) % 2];
	q->fetch.dword = 0;
	while (q->fetch.dword < 15 &&
	       memcmp(q->fetch.own.bytes + q->fetch.dword * 4, e->tail + q->fetch.dword * 4, 4) == 0)
		q->fetch.dword++;
	if (late)
		q->fetch.late = *late;
	q->fetch.what = behind == 1 ? BF_NVME_RULE_FETCHED_OVERWRITTEN
			: late      ? BF_NVME_RULE_FETCHED_LATE
				    : BF_NVME_RULE_FETCHED_FIELD;
}

static void note_fetch(struct bf_rules *r, struct bf_nvme_rule_run *run, struct bf_nvme_rule_queue *q,
		       const struct bf_seen *e)
{
	struct bf_nvme_rule_slot *s = bf_nvme_rule_slot(q, e->nvme_fetch.slot);
	struct bf_nvme_rule_command *c;

	q->fetch.what = BF_NVME_RULE_FETCHED_GOOD;
	if (!s || e->tail_len < BF_NVME_RULE_ENTRY)
		return;
	q->fetch.slot = (uint32_t)e->nvme_fetch.slot;
	judge(r, q, s, e);
	bf_rule_notice(r, (uint8_t)((q->fetch.what != BF_NVME_RULE_FETCHED_GOOD ? BF_NVME_RULE_BAD_FETCH : 0) |
				    (bf_get_le64(e->tail + 32) ? BF_NVME_RULE_SECOND : 0)));
	s->early = s->nbuilt <= s->nfetched;
	come(q, e, BF_SEEN_nvme_fetch);
	s->fetched_ps = e->time_ps;
	s->fetched_record = e->number;
	note_sharing(r, run, e);
	c = bf_nvme_rule_command_begin(q, e->tail);
	if (!c)
		return;
	c->slot = q->fetch.slot;
	c->fetched_ps = e->time_ps;
	c->fetched_record = e->number;
	c->other = q->driver_speaks && (s->early || q->fetch.what != BF_NVME_RULE_FETCHED_GOOD);
	run->admin_other |= c->other && !e->nvme_fetch.sqid;
}

static void note_answer(struct bf_nvme_rule_run *run, struct bf_rule_queue *sq, const struct bf_seen *e)
{
	const struct bf_nvme_rule_command *c =
	    bf_nvme_rule_command_end(bf_nvme_rule_of(sq), (uint16_t)e->nvme_completion.cid);

	if (!c)
		return;
	run->answer = (struct bf_nvme_rule_answer){
		.queue = sq,
		.slot = c->slot,
		.code = (uint32_t)e->nvme_completion.status & 0x7ff,
		.other = c->other,
		.fetched_ps = c->fetched_ps,
		.fetched_record = c->fetched_record,
		.entry = c->entry,
	};
	if (sq->number == 0 && c->entry[0] == BF_NVME_ADM_DBBUF && !run->answer.code) {
		run->shadow = bf_get_le64(c->entry + 24);
		run->event = bf_get_le64(c->entry + 32);
	}
}

static void note_completion(struct bf_rules *r, struct bf_nvme_rule_run *run, struct bf_nvme_rule_queue *q,
			    const struct bf_seen *e)
{
	struct bf_nvme_rule_slot *posted = bf_nvme_rule_slot(q, e->nvme_completion.cqslot);
	struct bf_rule_queue *sq = bf_rule_queue(r, &bf_rules_nvme, e->pe, e->nvme_completion.sqid, false);

	q->completions++;
	q->held = false;
	if (e->nvme_completion.cqslot > q->most_cq_slot)
		q->most_cq_slot = (uint32_t)e->nvme_completion.cqslot;
	if (posted) {
		posted->posted = true;
		posted->posted_phase = (uint8_t)e->nvme_completion.phase;
		posted->posted_ps = e->time_ps;
		posted->posted_record = e->number;
		posted->posted_cid = (uint16_t)e->nvme_completion.cid;
		posted->posted_status = (uint16_t)e->nvme_completion.status;
		posted->posted_sqhd = (uint16_t)e->nvme_completion.sqhd;
		posted->nposted++;
	}
	run->answer.queue = NULL;
	if (sq)
		note_answer(run, sq, e);
	if (run->answer.queue && run->answer.code)
		bf_rule_notice(r, BF_NVME_RULE_REFUSED);
}

/*
 * An entry that is taken again before the driver has been round the queue is taken by two; one lap later it is an old
 * one that looks new.
 */
static void note_taken(struct bf_rules *r, struct bf_nvme_rule_queue *q, const struct bf_seen *e)
{
	struct bf_nvme_rule_slot *s = e->nvm_completion.stray ? NULL : bf_nvme_rule_slot(q, e->nvm_completion.slot);

	if (!s)
		return;
	q->taken++;
	s->ntaken++;
	s->taker[1] = s->taker[0];
	s->taker[0] = e->actor;
	if (s->ntaken > 1 && s->taker[1] != s->taker[0] && q->taken - s->taken_as < q->cq_size &&
	    s->ntaken > s->nposted) {
		s->ntaken--; /* it counts once, so that later laps are judged by themselves */
		bf_rule_notice(r, BF_NVME_RULE_TWICE);
	}
	s->taken_as = q->taken;
}

/* ---- what the controller says of its queues ---- */

/* The driver looks elsewhere when a queue comes or goes, so that it counts anew. */
static void forget_queue(struct bf_nvme_rule_queue *q, bool is_cq)
{
	for (uint32_t b = 0; is_cq && b < q->nblocks; b++)
		for (uint32_t i = 0; q->blocks[b] && i < BF_NVME_RULE_BLOCK; i++)
			q->blocks[b][i].nposted = q->blocks[b][i].ntaken = 0;
	if (!is_cq) {
		bf_nvme_rule_commands_end(q);
		q->ntails = 0;
	}
}

static void note_doorbell(struct bf_nvme_rule_queue *q, const struct bf_seen *e)
{
	struct bf_nvme_rule_slot *s = e->nvme_doorbell.queue == 0 ? bf_nvme_rule_slot(q, e->nvme_doorbell.value) : NULL;

	if (!s)
		return;
	s->rung = true;
	if (!e->nvme_doorbell.accepted)
		return;
	memmove(q->tails + 1, q->tails, sizeof(q->tails) - sizeof(q->tails[0]));
	q->tails[0] = (uint32_t)e->nvme_doorbell.value;
	q->ntails += q->ntails < BF_ARRAY_LEN(q->tails);
}

#define CONTIGUOUS 1u

/* A queue that is created anew begins with nothing in it. */
static void note_queue(struct bf_rules *r, const struct bf_nvme_rule_run *run, struct bf_nvme_rule_queue *q,
		       const struct bf_seen *e)
{
	const bool created = e->nvme_queue.what == BF_NVME_QUEUE_CREATED;
	const bool known = created && !run->admin_other;

	if (e->nvme_queue.queue) {
		q->cq_size = known ? (uint32_t)e->nvme_queue.size : 0;
		q->cq_base = created ? e->nvme_queue.base : 0;
		forget_queue(q, true);
		return;
	}
	if (e->nvme_queue.what == BF_NVME_QUEUE_DELETING)
		return;
	forget_queue(q, false);
	q->sq_size = known ? (uint32_t)e->nvme_queue.size : 0;
	q->sq_base = known ? e->nvme_queue.base : 0;
	/* A driver that says nothing of its entries has its ring where the controller knows it to be. */
	if (known && e->nvme_queue.flags & CONTIGUOUS && !q->driver_speaks)
		q->ring =
		    bf_stores_ring(bf_rule_stores(r), q->ring, e->queue, q->sq_base, BF_NVME_RULE_ENTRY, q->sq_size);
}

/* ---- giving up ---- */

#define PHASE_BIT 16u /* of the last dword of a completion */

/* What the driver saw last is the phase of the lap before. */
static bool looked_old(const struct bf_seen *e)
{
	return (e->nvm_timeout.seen >> PHASE_BIT & 1) != e->nvm_timeout.cq_phase;
}

/* Writes are lost by faults. Where none is known, only the first slot is sure to be where the driver looks. */
static bool may_be_lost(struct bf_rules *r, const struct bf_seen *e)
{
	const char *first;

	return !e->nvm_timeout.cq_head || bf_rules_faults(r, &first);
}

/* The controller has done all that the last doorbell told it of, and there are more entries. */
static bool unannounced(const struct bf_nvme_rule_queue *q)
{
	return !q->in_flight && q->driver_speaks && q->built > q->fetches &&
	       q->last_rung == (q->ntails ? q->tails[0] : 0);
}

static enum bf_nvme_rule_stuck why_stuck(struct bf_rules *r, const struct bf_nvme_rule_run *run,
					 struct bf_nvme_rule_queue *q, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *head, *rung;

	if (e->nvm_timeout.sq_tail != e->nvm_timeout.sq_rung)
		return BF_NVME_RULE_STUCK_NOT_RUNG;
	if (q->held)
		return BF_NVME_RULE_STUCK_CQ_NOT_RUNG;
	if (q->shadow_only && (!q->ntails || q->tails[0] != e->nvm_timeout.sq_rung))
		return BF_NVME_RULE_STUCK_SHADOW;
	head = bf_nvme_rule_slot(q, e->nvm_timeout.cq_head);
	if (head && head->posted && head->posted_phase == e->nvm_timeout.cq_phase)
		return run->stale && run->stale_from == 1                     ? BF_NVME_RULE_STUCK_L2
		       : run->stale && run->invalidated_ps <= head->posted_ps ? BF_NVME_RULE_STUCK_NO_INVALIDATE
		       : run->stale                                           ? BF_NVME_RULE_STUCK_FLUSH_TYPE
		       : looked_old(e) && may_be_lost(r, e)                   ? BF_NVME_RULE_STUCK_LOST
									      : BF_NVME_RULE_STUCK_UNSEEN;
	if (unannounced(q))
		return q->entries && q->built - q->fetches >= q->entries ? BF_NVME_RULE_STUCK_FULL
									 : BF_NVME_RULE_STUCK_NOT_RUNG;
	/* Where the controller owes nothing, its answers lie where this driver does not look. */
	if (!q->in_flight && q->fetches)
		return BF_NVME_RULE_STUCK_UNSEEN;
	rung = bf_nvme_rule_slot(q, e->nvm_timeout.sq_rung);
	return rung && rung->rung ? BF_NVME_RULE_STUCK_NO_ANSWER : BF_NVME_RULE_STUCK_DOORBELL;
}

static void note_invalidate(struct bf_nvme_rule_run *run, const struct bf_seen *e)
{
	run->invalidated = true;
	run->flush_type = e->gpu_invalidate.flush_type;
	run->vmids = e->gpu_invalidate.vmids;
	run->engine = e->gpu_invalidate.engine;
	run->invalidated_ps = e->time_ps;
	run->invalidated_record = e->number;
}

static void on_queue(struct bf_rules *r, struct bf_nvme_rule_run *run, struct bf_nvme_rule_queue *q,
		     const struct bf_seen *e)
{
	run->present = true;
	switch (e->kind) {
	case BF_SEEN_nvm_build:
		note_build(r, q, e);
		break;
	case BF_SEEN_nvme_fetch:
		note_fetch(r, run, q, e);
		break;
	case BF_SEEN_nvme_completion:
		note_completion(r, run, q, e);
		break;
	case BF_SEEN_nvme_held:
		q->held = true;
		break;
	case BF_SEEN_nvm_ring:
		if (e->nvm_ring.queue == 0)
			q->shadow_only = !e->nvm_ring.mmio;
		else
			q->cq_rung |= e->nvm_ring.queue == 1;
		come(q, e, BF_SEEN_nvm_ring);
		break;
	case BF_SEEN_nvm_completion:
		note_taken(r, q, e);
		break;
	case BF_SEEN_nvme_doorbell:
		note_doorbell(q, e);
		break;
	case BF_SEEN_nvme_queue:
		note_queue(r, run, q, e);
		break;
	case BF_SEEN_nvm_timeout:
		if (run->timeouts++ == 0)
			run->stuck = why_stuck(r, run, q, e);
		break;
	default:
		break;
	}
}

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct bf_nvme_rule_run *run = facts;

	bf_nvme_rule_note_silent(r, run, e);
	switch (e->kind) {
	case BF_SEEN_store:
		note_store(r, run, e);
		break;
	case BF_SEEN_gpu_invalidate:
		note_invalidate(run, e);
		break;
	case BF_SEEN_gpu_stale_load:
		run->stale = true;
		run->stale_from = e->gpu_stale_load.from;
		break;
	default:
		if (e->queue)
			on_queue(r, run, bf_nvme_rule_of(e->queue), e);
		break;
	}
}

static void forget(void *facts)
{
	struct bf_nvme_rule_queue *q = facts;

	for (uint32_t b = 0; b < q->nblocks; b++)
		free(q->blocks[b]);
	free(q->blocks);
	free(q->rung);
	free(q->commands);
}

/* clang-format off */
#define BF_NVME_RULE_RULES(R)                                                                                               \
	R(lock_held) R(aqa_swapped) R(queue_size) R(queue_base) R(enable_refused) R(config_enabled) R(reset_early)                  \
	R(not_ready) R(bus_master) R(keep_alive) R(queue_unreachable) R(queue_order) R(queue_align)                    \
	R(queue_pieces) R(queue_id) R(vector) R(entry_size) R(sequence) R(no_queue) R(doorbell_stride) R(wrong_data)                 \
	R(doorbell_width) R(sq_cached) R(entry_early) R(sq_overrun) R(entry_order) R(entry_field) R(nlb)               \
	R(prp_offset) R(prp_chain) R(prp_list_shared) R(prp_align) R(sgl) R(fused_half) R(opcode_bit7)                 \
	R(numd) R(cid_in_use) R(doorbell_reordered) R(tail_overrun) R(doorbell_ignored)                                \
	R(doorbell_unchanged) R(shadow_swapped) R(shadow_missed) R(phase) R(phase_wrap) R(cqe_misread)                 \
	R(head_past_tail) R(status_ignored) R(not_rung) R(cq_not_rung) R(l2_poll) R(no_invalidate)                     \
	R(flush_type) R(no_interrupt) R(unseen) R(completion_lost) R(doorbell_lost) R(no_answer)                       \
	R(aer_waited) R(moved_buffer) R(data_stale) R(shared_buffer) R(sqhd_count) R(plain_poll) R(unmapped)           \
	R(mdts) R(lba_range) R(nsid) R(protection) R(cns) R(request_limit) R(error_status) R(flush_early)              \
	R(read_overlap) R(taken_twice) R(doorbell_each) R(depth_one) R(small_io) R(shared_queue) R(captured_status)             \
	R(captured_late) R(queue_overlap) R(left_on) R(queue_count) R(weak_poll) R(cq_freed)
/* clang-format on */

#define DECLARE(name) extern const struct bf_rule bf_rule_nvme_##name;
BF_NVME_RULE_RULES(DECLARE)
#define LIST(name) &bf_rule_nvme_##name,
static const struct bf_rule *const rules[] = { BF_NVME_RULE_RULES(LIST) NULL };

static const uint16_t signs[] = { BF_SEEN_nvm_build,
				  BF_SEEN_nvme_fetch,
				  BF_SEEN_nvme_completion,
				  BF_SEEN_nvme_doorbell,
				  BF_SEEN_ftrace_setup,
				  BF_SEEN_ftrace_complete,
				  0 };

/* Those that name a queue are here whether facts need them or not: that makes them the family's. */
static const uint16_t records[] = {
	BF_SEEN_store,
	BF_SEEN_nvm_build,
	BF_SEEN_nvm_ring,
	BF_SEEN_nvm_completion,
	BF_SEEN_nvm_timeout,
	BF_SEEN_nvm_mismatch,
	BF_SEEN_nvme_fetch,
	BF_SEEN_nvme_doorbell,
	BF_SEEN_nvme_completion,
	BF_SEEN_nvme_held,
	BF_SEEN_nvme_driver_error,
	BF_SEEN_nvme_queue,
	BF_SEEN_gpu_invalidate,
	BF_SEEN_gpu_stale_load,
	BF_SEEN_load,
	BF_SEEN_agent_wait,
	BF_SEEN_agent_wake,
	BF_SEEN_mmio_store,
	0,
};

const struct bf_rule_family bf_rules_nvme = {
	.name = "nvme",
	.classes = BF_CLASS_AGENT | BF_CLASS_MEM | BF_CLASS_MMIO | BF_CLASS_DMA | BF_CLASS_QUEUE | BF_CLASS_FAULT |
		   BF_CLASS_DRIVER,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct bf_nvme_rule_run),
	.queue_bytes = sizeof(struct bf_nvme_rule_queue),
	.on = on,
	.forget = forget,
};
