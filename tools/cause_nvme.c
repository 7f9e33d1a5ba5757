/*
 * From the records of an NVMe run to a cause. Each question below is asked in turn; the first that has an answer names
 * it: what the controller did with a wrong entry explains all that came after.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/nvme/records.h"
#include "models/gpu/records.h"
#include "models/nvme/records.h"
#include "sim/iommu.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "sim/view.h"
#include "tools/cause_facts.h"
#include "tools/workload_nvme.h"

/* An entry as the driver meant it, or as the controller fetched it. */
struct entry {
	const struct bf_rec_header *head;
	const uint8_t *bytes; /* 64 */
	uint64_t va;          /* builds */
	uint32_t qid, slot;
	uint32_t order; /* among all of its kind */
};

struct story {
	const struct bf_record_log *log;
	struct bf_facts facts;
	struct entry *builds, *fetches; /* by queue, slot, order */
	size_t nbuilds, nfetches;
};

static void say(struct bf_cause *c, const struct bf_rec_header *head, const char *fmt, ...) BF_PRINTF(3, 4);
static void say(struct bf_cause *c, const struct bf_rec_header *head, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->text, sizeof(c->text), fmt, ap);
	va_end(ap);
	c->begin_ps = c->end_ps = head->time_ps;
	c->records = 1;
}

static const void *fixed_of(const struct bf_rec_header *head)
{
	return head + 1;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->qid != y->qid)
		return x->qid < y->qid ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static int add(struct entry **list, size_t *n, const struct entry *e)
{
	void *grown = *n & (*n - 1) ? *list : realloc(*list, (*n ? *n * 2 : 1) * sizeof(*e));

	if (!grown)
		return -1;
	*list = grown;
	(*list)[*n] = *e;
	(*list)[*n].order = (uint32_t)*n;
	++*n;
	return 0;
}

static int read_entries(struct story *s)
{
	const struct bf_rec_header *head;
	size_t offset = 0;
	int rc = 0;

	while (!rc && (head = bf_record_log_next(s->log, &offset)) != NULL) {
		const struct bf_rec_nvm_build *b = fixed_of(head);
		const struct bf_rec_nvme_fetch *f = fixed_of(head);

		if (head->type == BF_REC_ID_nvm_build)
			rc = add(&s->builds, &s->nbuilds,
				 &(struct entry){ head, (const uint8_t *)b, b->va, b->qid, b->slot, 0 });
		else if (head->type == BF_REC_ID_nvme_fetch && head->tail >= 64)
			rc = add(&s->fetches, &s->nfetches,
				 &(struct entry){ head, (const uint8_t *)(f + 1), 0, f->sqid, f->slot, 0 });
	}
	if (s->nbuilds)
		qsort(s->builds, s->nbuilds, sizeof(*s->builds), compare);
	if (s->nfetches)
		qsort(s->fetches, s->nfetches, sizeof(*s->fetches), compare);
	return rc;
}

/* The last record of `type` at or before `until` (NULL: all), for which `fits` says so. */
typedef bool fits_fn(const struct bf_rec_header *head, uint64_t a, uint64_t b);
static const struct bf_rec_header *find(const struct story *s, uint16_t type, fits_fn *fits, uint64_t a, uint64_t b,
					const struct bf_rec_header *until, bool last)
{
	const struct bf_rec_header *head, *found = NULL;
	size_t offset = 0;

	while ((head = bf_record_log_next(s->log, &offset)) != NULL && head != until) {
		if (head->type != type || (fits && !fits(head, a, b)))
			continue;
		found = head;
		if (!last)
			break;
	}
	return found;
}

/* When the bytes of `va` left memory for the controller to have them at `f`. */
static bool read_covers(const struct bf_rec_header *head, uint64_t va, uint64_t done_ps)
{
	const struct bf_rec_dma_read *r = fixed_of(head);

	return va - r->va < r->len && r->done_ps <= done_ps;
}

static uint64_t sampled(const struct story *s, const struct entry *build, const struct entry *fetch)
{
	const struct bf_rec_header *r =
	    find(s, BF_REC_ID_dma_read, read_covers, build->va, fetch->head->time_ps, fetch->head, true);

	return r ? r->time_ps : fetch->head->time_ps;
}

/* A ring that the controller takes to be longer than the driver does. */
static bool wrong_ring(const struct story *s, struct bf_cause *out)
{
	uint32_t entries[2] = { 0 };

	for (size_t i = 0; i < s->nbuilds; i++)
		if (s->builds[i].qid == 0)
			entries[0] = ((const struct bf_rec_nvm_build *)fixed_of(s->builds[i].head))->entries;
	for (size_t i = 0; entries[0] && i < s->nfetches; i++) {
		const struct entry *f = &s->fetches[i];

		if (f->qid || f->slot < entries[0])
			continue;
		say(out, f->head,
		    "the controller fetched slot %" PRIu32 " of the admin submission queue, which the driver gave %" PRIu32
		    " slots: the sizes in AQA are exchanged (ASQS is bits 11:0, ACQS bits 27:16)",
		    f->slot, entries[0]);
		return true;
	}
	return false;
}

/* The controller has come round its admin completion queue and the driver has not. */
static bool wrong_admin_cq(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	uint32_t posted = 0, most = 0;
	size_t offset = 0;

	while ((head = bf_record_log_next(s->log, &offset)) != NULL) {
		const struct bf_rec_nvme_completion *c = fixed_of(head);
		const struct bf_rec_nvm_timeout *t = fixed_of(head);

		if (head->type == BF_REC_ID_nvme_completion && c->cqid == 0) {
			posted++;
			most = c->cqslot > most ? c->cqslot : most;
		} else if (head->type == BF_REC_ID_nvm_timeout && t->qid == 0 && t->cq_head > most && posted > most + 1) {
			say(out, head,
			    "the driver waits at slot %" PRIu32 " of the admin completion queue, and the controller began "
			    "again at 0 after slot %" PRIu32 ": the sizes in AQA are exchanged (ASQS is bits 11:0, ACQS "
			    "bits 27:16)",
			    t->cq_head, most);
			return true;
		}
	}
	return false;
}

static bool in_ring(const struct story *s, uint64_t va, uint64_t len)
{
	for (size_t i = 0; i < s->nbuilds; i++)
		if (va < s->builds[i].va + 64 && s->builds[i].va < va + len)
			return true;
	return false;
}

/* The controller read a ring while a GPU's L2 held a newer entry. */
static bool late_in_cache(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(s->log, &offset)) != NULL) {
		const struct bf_rec_gpu_late_store *l = fixed_of(head);

		if (head->type != BF_REC_ID_gpu_late_store || !in_ring(s, l->va, l->len))
			continue;
		say(out, head,
		    "the controller fetched a submission queue entry from VRAM while the GPU's L2 held a newer store by %s: "
		    "the queue is mapped cached and no fence of system scope stands before the doorbell",
		    bf_record_log_name(s->log, l->by));
		return true;
	}
	return false;
}

/* The controller fetched other bytes than the driver meant. */
static bool explain_entry(const struct story *s, const struct entry *b, const struct entry *next,
			  const struct entry *f, struct bf_cause *out)
{
	const uint64_t at = sampled(s, b, f);
	const struct bf_fact_store *late = bf_facts_late(&s->facts, b->va, 64, at);
	uint32_t dword = 0;

	while (dword < 15 && memcmp(b->bytes + dword * 4, f->bytes + dword * 4, 4) == 0)
		dword++;
	if (b->head > f->head)
		say(out, f->head,
		    "the controller fetched slot %" PRIu32 " of SQ %" PRIu32 " before the driver had stored an entry there: "
		    "it was announced too early",
		    f->slot, f->qid);
	else if (next && next->head < f->head)
		say(out, f->head,
		    "the entry in slot %" PRIu32 " of SQ %" PRIu32 " was overwritten by %s before the controller had fetched "
		    "it: the ring was full and nobody looked at SQHD",
		    f->slot, f->qid, bf_record_log_name(s->log, next->head->actor));
	else if (late)
		say(out, f->head,
		    "store of bytes %" PRIu64 "-%" PRIu64 " of the entry in slot %" PRIu32 " of SQ %" PRIu32
		    " by %s became visible %s%" PRIu64 " ns after the controller, told by the doorbell, had fetched it: no "
		    "fence stands between entry and doorbell",
		    late->va - b->va, late->va - b->va + late->len - 1, f->slot, f->qid,
		    bf_record_log_name(s->log, late->actor), late->visible_ps == BF_NEVER ? "never, more than " : "",
		    ((late->visible_ps == BF_NEVER ? s->facts.end_ps : late->visible_ps) - at) / (uint64_t)BF_NS);
	else
		say(out, f->head,
		    "dword %" PRIu32 " of the entry in slot %" PRIu32 " of SQ %" PRIu32 " was 0x%08" PRIx32
		    " when the controller fetched it and should have been 0x%08" PRIx32
		    ": the driver did not write that field and the slot's last user had",
		    dword, f->slot, f->qid, bf_get_le32(f->bytes + dword * 4), bf_get_le32(b->bytes + dword * 4));
	return true;
}

static bool wrong_entry(const struct story *s, struct bf_cause *out)
{
	const struct entry *first[3] = { NULL };
	size_t i = 0;

	/* Both lists are in the order of queue, slot and use. */
	for (size_t k = 0; k < s->nfetches; k++) {
		const struct entry *f = &s->fetches[k], *b, *next;

		while (i < s->nbuilds && (s->builds[i].qid < f->qid ||
					  (s->builds[i].qid == f->qid && s->builds[i].slot < f->slot)))
			i++;
		if (i == s->nbuilds || s->builds[i].qid != f->qid || s->builds[i].slot != f->slot)
			continue;
		b = &s->builds[i++];
		next = i < s->nbuilds && s->builds[i].qid == f->qid && s->builds[i].slot == f->slot ? &s->builds[i] : NULL;
		if ((memcmp(b->bytes, f->bytes, 64) == 0 && b->head < f->head) || (first[2] && first[2]->head < f->head))
			continue;
		first[0] = b;
		first[1] = next;
		first[2] = f;
	}
	return first[2] && explain_entry(s, first[0], first[1], first[2], out);
}

/* What entries ask for that makes no sense, though the driver meant it. */
static bool wrong_command(const struct story *s, struct bf_cause *out)
{
	for (size_t i = 0; i < s->nfetches; i++) {
		const struct entry *f = &s->fetches[i];
		const uint32_t nsid = bf_get_le32(f->bytes + 4), cdw10 = bf_get_le32(f->bytes + 40);

		if (f->qid)
			continue;
		if (f->bytes[0] == BF_NVME_ADM_DELETE_SQ && nsid) {
			say(out, f->head,
			    "the controller got opcode 00h (Delete I/O Submission Queue) with a namespace: opcode 80h (Format "
			    "NVM) lost its bit 7");
			return true;
		}
		if (f->bytes[0] == BF_NVME_ADM_GET_LOG && cdw10 >> 16 && (cdw10 >> 16) % 16 == 0) {
			say(out, f->head,
			    "Get Log Page asked for NUMD %" PRIu32 ", which is %" PRIu32
			    " bytes: the count is from 0, so the controller writes 4 bytes more than the buffer has",
			    cdw10 >> 16, ((cdw10 >> 16) + 1) * 4);
			return true;
		}
	}
	return false;
}

/* What the controller itself complains of. */
static bool driver_error(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head = find(s, BF_REC_ID_nvme_driver_error, NULL, 0, 0, NULL, false);
	const struct bf_rec_nvme_driver_error *e = head ? fixed_of(head) : NULL;

	if (!e)
		return false;
	switch (e->wrong) {
	case BF_NVME_WRONG_CID:
		say(out, head,
		    "command identifier 0x%" PRIx64 " was used again on SQ %" PRIu32
		    " while a command with it was in flight: a free slot does not mean a free identifier",
		    e->value, e->qid);
		return true;
	case BF_NVME_WRONG_TAIL_OVERRUN:
		say(out, head,
		    "tail %" PRIu64 " on SQ %" PRIu32 " runs over entries that were not fetched: the driver did not look "
		    "whether the ring was full",
		    e->value, e->qid);
		return true;
	case BF_NVME_WRONG_HEAD_PAST_TAIL:
		say(out, head,
		    "head %" PRIu64 " on CQ %" PRIu32 " gives back entries that were never posted: the driver takes old "
		    "entries for new ones, so its phase is wrong",
		    e->value, e->qid);
		return true;
	default:
		say(out, head, "the driver wrote 0x%" PRIx64 " to a doorbell or register of queue %" PRIu32
		    ", which the controller ignores", e->value, e->qid);
		return true;
	}
}

/* The last store into the eight bytes at `va` before the entry was fetched; NULL when there was none. */
static const struct bf_fact_store *last_store(const struct story *s, uint64_t va, uint64_t before_ps)
{
	const struct bf_fact_store *found = NULL;

	for (size_t i = 0; i < s->facts.nstores; i++) {
		const struct bf_fact_store *x = &s->facts.stores[i];

		if (x->va <= va && va + 8 <= x->va + x->len && x->issued_ps <= before_ps)
			found = x;
	}
	return found;
}

static bool wrong_list(const struct story *s, struct bf_cause *out)
{
	for (size_t i = 0; i < s->nfetches; i++) {
		const struct entry *f = &s->fetches[i];
		const uint64_t prp1 = bf_get_le64(f->bytes + 24), prp2 = bf_get_le64(f->bytes + 32);
		const uint64_t bytes = f->qid ? (bf_get_le16(f->bytes + 48) + 1ull) << 9 : 0;
		const uint64_t at = f->head->time_ps, end = (prp2 | 4095) - 7;
		const struct bf_fact_store *begin = prp2 ? last_store(s, prp2, at) : NULL, *link, *behind;

		if (!prp2 || !f->qid || (f->bytes[0] != BF_NVME_IO_READ && f->bytes[0] != BF_NVME_IO_WRITE &&
					 f->bytes[0] != BF_NVME_IO_COMPARE))
			continue;
		for (uint64_t va = prp2 + 8; !begin && prp2 % 4096 == 0 && va <= end; va += 8)
			if (last_store(s, va, at) && bytes > 8192) {
				say(out, f->head,
				    "PRP2 of the entry in slot %" PRIu32 " of SQ %" PRIu32 " is 0x%" PRIx64
				    ", where no list was stored: the list begins %" PRIu64 " bytes into that page",
				    f->slot, f->qid, prp2, va - prp2);
				return true;
			}
		link = begin ? last_store(s, end, at) : NULL;
		behind = link ? last_store(s, end + 8, at) : NULL;
		if (!behind || bf_get_le64(link->bytes) == end + 8 || link->actor != begin->actor)
			continue;
		say(out, f->head,
		    "the PRP list at 0x%" PRIx64 " of the entry in slot %" PRIu32 " of SQ %" PRIu32
		    " (PRP1 0x%" PRIx64 ") goes on behind its page, and the last slot of the page, 0x%" PRIx64
		    ", holds 0x%" PRIx64 " instead of a pointer to the next page: the list is not chained",
		    prp2, f->slot, f->qid, prp1, end, bf_get_le64(link->bytes));
		return true;
	}
	return false;
}

static bool posted_there(const struct bf_rec_header *head, uint64_t qid, uint64_t slot)
{
	const struct bf_rec_nvme_completion *c = fixed_of(head);

	return c->cqid == qid && c->cqslot == slot;
}

/* The driver took an entry that the controller had not posted. */
static bool wrong_phase(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(s->log, &offset)) != NULL) {
		const struct bf_rec_nvm_completion *c = fixed_of(head);

		if (head->type != BF_REC_ID_nvm_completion || c->stray)
			continue;
		if (find(s, BF_REC_ID_nvme_completion, posted_there, c->qid, c->slot, head, false))
			continue;
		say(out, head,
		    "%s took slot %" PRIu32 " of CQ %" PRIu32 " for a completion before the controller had posted anything "
		    "there: it waits for the other phase tag",
		    bf_record_log_name(s->log, head->actor), c->slot, c->qid);
		return true;
	}
	return false;
}

static bool of_queue(const struct bf_rec_header *head, uint64_t qid, uint64_t what)
{
	if (head->type == BF_REC_ID_nvm_ring) {
		const struct bf_rec_nvm_ring *r = fixed_of(head);

		return r->qid == qid && r->queue == what;
	}
	if (head->type == BF_REC_ID_nvme_held)
		return ((const struct bf_rec_nvme_held *)fixed_of(head))->cqid == qid;
	if (head->type == BF_REC_ID_nvme_doorbell) {
		const struct bf_rec_nvme_doorbell *d = fixed_of(head);

		return d->qid == qid && d->queue == 0 && d->value == what;
	}
	return false;
}

/* The completion is in memory: why does the driver not see it? */
static bool unseen(const struct story *s, const struct bf_rec_header *head, const struct bf_rec_nvm_timeout *t,
		   const struct bf_rec_header *posted, struct bf_cause *out)
{
	const struct bf_rec_header *inv = find(s, BF_REC_ID_gpu_invalidate, NULL, 0, 0, head, true);
	const struct bf_rec_header *stale = find(s, BF_REC_ID_gpu_stale_load, NULL, 0, 0, NULL, true);
	const struct bf_rec_gpu_invalidate *i = inv ? fixed_of(inv) : NULL;
	const struct bf_rec_gpu_stale_load *l = stale ? fixed_of(stale) : NULL;

	if (l && l->from == 1)
		say(out, posted,
		    "the completion in slot %" PRIu32 " of CQ %" PRIu32 " has been in VRAM since %" PRIu64
		    " ns, and %s polls it with loads that the L2 serves from an old copy",
		    t->cq_head, t->qid, posted->time_ps / (uint64_t)BF_NS, bf_record_log_name(s->log, head->actor));
	else if (l && !i)
		say(out, posted,
		    "the completion in slot %" PRIu32 " of CQ %" PRIu32 " has been in VRAM since %" PRIu64
		    " ns, and nobody invalidated what stands between DMA and %s (GCVM_INVALIDATE_ENG17_REQ)",
		    t->cq_head, t->qid, posted->time_ps / (uint64_t)BF_NS, bf_record_log_name(s->log, head->actor));
	else if (l)
		say(out, inv,
		    "the completion in slot %" PRIu32 " of CQ %" PRIu32 " has been in VRAM since %" PRIu64
		    " ns; the invalidations had flush type %u and VMID mask 0x%x on engine %u: only a heavyweight one (2) "
		    "with a VMID on engine 17 makes it visible",
		    t->cq_head, t->qid, posted->time_ps / (uint64_t)BF_NS, (unsigned)i->flush_type, (unsigned)i->vmids,
		    (unsigned)i->engine);
	else
		say(out, posted,
		    "the completion in slot %" PRIu32 " of CQ %" PRIu32 " has been in memory since %" PRIu64
		    " ns, and %s does not take it: its phase tag or its address is wrong",
		    t->cq_head, t->qid, posted->time_ps / (uint64_t)BF_NS, bf_record_log_name(s->log, head->actor));
	return true;
}

static bool timed_out(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head = find(s, BF_REC_ID_nvm_timeout, NULL, 0, 0, NULL, false), *posted = NULL, *next;
	const struct bf_rec_nvm_timeout *t = head ? fixed_of(head) : NULL;
	size_t offset = 0;

	if (!t)
		return false;
	if (t->sq_tail != t->sq_rung) {
		say(out, head,
		    "%s waits for commands that the controller was never told of: slots %" PRIu32 " to %" PRIu32 " of SQ %" PRIu32
		    " are filled, and the doorbell was rung for %" PRIu32 " only",
		    bf_record_log_name(s->log, head->actor), t->sq_rung, t->sq_tail, t->qid, t->sq_rung);
		return true;
	}
	if (find(s, BF_REC_ID_nvme_held, of_queue, t->qid, 0, head, false) &&
	    !find(s, BF_REC_ID_nvm_ring, of_queue, t->qid, 1, head, false)) {
		say(out, head,
		    "the controller holds completions back because CQ %" PRIu32
		    " is full: the driver never rang its head doorbell",
		    t->qid);
		return true;
	}
	while ((next = bf_record_log_next(s->log, &offset)) != NULL && next != head) {
		const struct bf_rec_nvme_completion *c = fixed_of(next);

		if (next->type == BF_REC_ID_nvme_completion && c->cqid == t->qid && c->cqslot == t->cq_head &&
		    c->phase == t->cq_phase)
			posted = next;
	}
	if (posted)
		return unseen(s, head, t, posted, out);
	if (!find(s, BF_REC_ID_nvme_doorbell, of_queue, t->qid, t->sq_rung, head, false)) {
		say(out, head, "doorbell %" PRIu32 " of SQ %" PRIu32 " never reached the controller", t->sq_rung, t->qid);
		return true;
	}
	say(out, head, "the controller knows of all commands on SQ %" PRIu32 " up to slot %" PRIu32
	    " and did not complete %" PRIu32 " of them", t->qid, t->sq_rung, t->inflight);
	return true;
}

/* The region of an address as the records tell it. */
static bool region_has(const struct bf_rec_header *head, uint64_t va, uint64_t unused)
{
	const struct bf_rec_region *r = fixed_of(head);

	(void)unused;
	return va - r->va < r->size;
}

static bool by_actor(const struct bf_rec_header *head, uint64_t actor, uint64_t unused)
{
	(void)unused;
	return head->actor == actor;
}

/* Data that went somewhere else than the thread looks. */
static bool wrong_place(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head = find(s, BF_REC_ID_nvm_mismatch, NULL, 0, 0, NULL, false), *look, *stray;
	const struct bf_rec_nvm_mismatch *m = head ? fixed_of(head) : NULL;
	const struct bf_rec_header *here, *there;

	stray = find(s, BF_REC_ID_gpu_stray_write, NULL, 0, 0, NULL, false);
	if (stray) {
		const struct bf_rec_gpu_stray_write *w = fixed_of(stray);

		say(out, stray,
		    "the controller wrote to 0x%" PRIx64 ", an address of buffer \"%s\" from before it moved: nothing had "
		    "pinned it",
		    w->iova, w->meant);
		return true;
	}
	look = m ? find(s, BF_REC_ID_load, by_actor, head->actor, 0, head, true) : NULL;
	if (!look)
		return false;
	here = find(s, BF_REC_ID_region, region_has, ((const struct bf_rec_load *)fixed_of(look))->va, 0, NULL, true);
	for (size_t i = 0; here && i < s->nfetches; i++) {
		const struct entry *f = &s->fetches[i];
		const uint64_t prp1 = bf_get_le64(f->bytes + 24);

		if (f->qid != m->qid || f->bytes[0] != BF_NVME_IO_READ)
			continue;
		there = find(s, BF_REC_ID_region, region_has, prp1, 0, NULL, true);
		if (!there || there == here)
			continue;
		say(out, f->head,
		    "%s looks for its data at 0x%" PRIx64 ", and the commands of SQ %" PRIu32 " name 0x%" PRIx64
		    ": the buffer moved after its addresses were taken",
		    bf_record_log_name(s->log, head->actor), ((const struct bf_rec_load *)fixed_of(look))->va, m->qid,
		    prp1);
		return true;
	}
	return false;
}

static bool completes(const struct bf_rec_header *head, uint64_t sqid, uint64_t cid)
{
	const struct bf_rec_nvme_completion *c = fixed_of(head);

	return c->sqid == sqid && c->cid == cid;
}

/* The next command on the queue of `f` that has the same data. */
static const struct entry *next_with_data(const struct story *s, const struct entry *f)
{
	const struct entry *next = NULL;

	for (const struct entry *e = s->fetches; e < s->fetches + s->nfetches; e++)
		if (e->qid == f->qid && e->order > f->order && (!next || e->order < next->order) &&
		    bf_get_le64(e->bytes + 24) == bf_get_le64(f->bytes + 24))
			next = e;
	return next;
}

/* Data are wrong, and two commands that were in flight together had one buffer. */
static bool shared_buffer(const struct story *s, struct bf_cause *out)
{
	enum { COMPARED_MAX = 4096 };
	const struct bf_rec_header *head = find(s, BF_REC_ID_nvm_mismatch, NULL, 0, 0, NULL, false), *done;
	const struct bf_rec_nvm_mismatch *m = head ? fixed_of(head) : NULL;

	for (size_t i = 0; m && s->nfetches <= COMPARED_MAX && i < s->nfetches; i++) {
		const struct entry *f = &s->fetches[i];
		const struct entry *next = f->qid == m->qid && bf_get_le64(f->bytes + 24) ? next_with_data(s, f) : NULL;

		if (!next)
			continue;
		done = find(s, BF_REC_ID_nvme_completion, completes, f->qid, bf_get_le16(f->bytes + 2), next->head, true);
		if (done && done->time_ps >= f->head->time_ps)
			continue;
		say(out, next->head,
		    "the commands in slots %" PRIu32 " and %" PRIu32 " of SQ %" PRIu32
		    " were in flight together and both name 0x%" PRIx64
		    ": a buffer was used again before its command was complete",
		    f->slot, next->slot, f->qid, bf_get_le64(f->bytes + 24));
		return true;
	}
	return false;
}

/* Slots freed otherwise than SQHD says. */
static bool wrong_count(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(s->log, &offset)) != NULL) {
		const struct bf_rec_nvm_completion *c = fixed_of(head);

		if (head->type != BF_REC_ID_nvm_completion || c->stray || c->freed == c->sqhd)
			continue;
		say(out, head,
		    "%s took a completion on SQ %" PRIu32 " that says SQHD %" PRIu32 ", and goes on with head %" PRIu32
		    ": it counts completions, which tell nothing of what was fetched",
		    bf_record_log_name(s->log, head->actor), c->qid, c->sqhd, c->freed);
		return true;
	}
	return false;
}

/* An acquiring load of the dword that tells a completion; MMIO when the queue lies in the controller. */
static bool polls(const struct bf_rec_header *head, uint64_t actor, uint64_t unused)
{
	const struct bf_rec_load *l = fixed_of(head);

	(void)unused;
	return head->actor == actor && l->sem == BF_ACQUIRE && l->va % 16 == 12;
}

/* A completion that was found with a load which caches may serve: harmless only by chance. */
static bool plain_poll(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(s->log, &offset)) != NULL) {
		const struct bf_rec_nvm_completion *c = fixed_of(head);

		if (head->type != BF_REC_ID_nvm_completion || c->stray)
			continue;
		if (find(s, BF_REC_ID_load, polls, head->actor, 0, head, false) ||
		    find(s, BF_REC_ID_mmio_load, by_actor, head->actor, 0, head, false))
			continue;
		say(out, head,
		    "%s took a completion from CQ %" PRIu32 " and never polled with an acquiring load: nothing keeps a cache "
		    "from serving what was there before, or later loads from being older",
		    bf_record_log_name(s->log, head->actor), c->qid);
		return true;
	}
	return false;
}

static bool for_reason(const struct bf_rec_header *head, uint64_t unused, uint64_t reason)
{
	(void)unused;
	return ((const struct bf_rec_iommu_fault *)fixed_of(head))->reason == reason;
}

/* An address that the driver never mapped, or unmapped too early. */
static bool unmapped(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head = find(s, BF_REC_ID_iommu_fault, for_reason, 0, BF_IOMMU_UNMAPPED, NULL, false);
	const struct bf_rec_iommu_fault *f = head ? fixed_of(head) : NULL;

	for (size_t i = 0; f && i < s->nfetches; i++)
		for (uint32_t prp = 1; prp <= 2; prp++) {
			const struct entry *e = &s->fetches[i];

			if (bf_get_le64(e->bytes + 16 + prp * 8) != f->iova)
				continue;
			say(out, e->head,
			    "PRP%" PRIu32 " of the entry in slot %" PRIu32 " of SQ %" PRIu32 " is 0x%" PRIx64
			    ", and nothing is mapped there for the controller: its IOMMU refused the access",
			    prp, e->slot, e->qid, f->iova);
			return true;
		}
	return false;
}

/* An error that nobody caused but the medium, a limit or a fault. */
static bool error_status(const struct story *s, struct bf_cause *out)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(s->log, &offset)) != NULL) {
		const struct bf_rec_nvme_completion *c = fixed_of(head);
		const uint32_t code = c->status & 0x7ff;
		char buf[32];

		if (head->type != BF_REC_ID_nvme_completion || !code || code == BF_NVME_SC_COMPARE)
			continue;
		say(out, head, "the controller answered opcode %02xh in slot %u of SQ %u with status 0x%03" PRIx32 ", %s",
		    (unsigned)c->opcode, (unsigned)c->sqslot, (unsigned)c->sqid, code,
		    bf_nvm_failure_text((int)code, buf, sizeof(buf)));
		return true;
	}
	return false;
}

void bf_nvme_cause_read(const struct bf_record_log *log, struct bf_cause *out)
{
	static bool (*const questions[])(const struct story *s, struct bf_cause *out) = {
		wrong_ring,    wrong_admin_cq, late_in_cache, wrong_entry, wrong_phase,
		wrong_list,    wrong_command,  driver_error,  timed_out,   wrong_place,
		shared_buffer, wrong_count,    plain_poll,    unmapped,    error_status,
	};
	struct story s = { .log = log };

	*out = (struct bf_cause){ 0 };
	if (bf_facts_read(&s.facts, log, 1) != 0)
		return;
	if (read_entries(&s) == 0)
		for (size_t i = 0; i < BF_ARRAY_LEN(questions) && !questions[i](&s, out); i++)
			;
	free(s.builds);
	free(s.fetches);
	bf_facts_free(&s.facts);
}
