#include "tools/cause_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/records.h"
#include "models/mlx5/prm.h"
#include "models/mlx5/records.h"
#include "sim/event.h"
#include "sim/mem.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"

/* A DMA read that a fetch may have come from. */
struct read {
	uint64_t va, sampled_ps, done_ps;
	uint32_t actor, len;
	const uint8_t *bytes; /* NULL when the record has none */
};

/* Where the ring of a queue lies and how far it has been fetched. */
struct ring {
	uint32_t pe, qpn;
	uint64_t base, fetched;
};

/* What is needed while reading only. */
struct reader {
	struct bf_facts *f;
	uint32_t depth;
	struct read *reads;
	struct ring *rings;
	size_t nreads, nrings;
	uint64_t turn; /* stores that became visible so far */
	bool buffered; /* some store was visible later than issued; otherwise all are visible at once */
};

/* Room for one more element in an array of `n`, which grows at powers of two. NULL on lack of memory. */
static void *grown(void *array, size_t n, size_t size)
{
	if (n >= 16 && (n & (n - 1)) != 0)
		return array;
	if (n > 0 && n < 16)
		return array;
	return realloc(array, (n ? 2 * n : 16) * size);
}

#define APPEND(array, n, ...)                                                                                          \
	do {                                                                                                           \
		void *more_ = grown(array, n, sizeof(*(array)));                                                       \
		if (!more_)                                                                                            \
			return -ENOMEM;                                                                                \
		(array) = more_;                                                                                       \
		(array)[(n)++] = __VA_ARGS__;                                                                          \
	} while (0)

/* The number in "pe3.w0.l0" or "nic3.qp0x101": agents and devices of a PE carry it in front. */
uint32_t bf_facts_pe(const struct bf_facts *f, uint32_t actor)
{
	const char *name = bf_record_log_name(f->log, actor);

	return (uint32_t)strtoul(name + strcspn(name, "0123456789"), NULL, 10);
}

static struct ring *ring_of(struct reader *r, uint32_t pe, uint32_t qpn)
{
	for (size_t i = 0; i < r->nrings; i++)
		if (r->rings[i].pe == pe && r->rings[i].qpn == qpn)
			return &r->rings[i];
	return NULL;
}

/* Causes and effects are compared on the simulation's clock; that an agent runs ahead of it does not count. */
static int add_store(struct reader *r, const struct bf_rec_header *head, uint64_t va, uint64_t seq)
{
	struct bf_facts *f = r->f;

	APPEND(f->stores, f->nstores,
	       (struct bf_fact_store){ .actor = head->actor,
				       .seq = seq,
				       .va = va,
				       .len = head->tail,
				       .issued_ps = head->time_ps,
				       .visible_ps = BF_NEVER,
				       .turn = UINT64_MAX,
				       .bytes = (const uint8_t *)(head + 1) + head->fixed });
	return 0;
}

/* Buffers are short: the store is among the last ones. */
static void make_visible(struct reader *r, const struct bf_rec_header *head, uint64_t seq)
{
	struct bf_facts *f = r->f;

	r->buffered = true;
	r->turn++;
	for (size_t i = f->nstores; i-- > 0;) {
		struct bf_fact_store *s = &f->stores[i];

		if (s->actor == head->actor && s->seq == seq) {
			s->visible_ps = head->time_ps;
			s->turn = r->turn;
			return;
		}
	}
}

/*
 * The driver says that it has stored an entry. Its control segment, among the stores just before, tells where the ring
 * is (bytes 4-6 are the QPN, mlx5dv.h struct mlx5_wqe_ctrl_seg).
 */
static int add_build(struct reader *r, const struct bf_rec_header *head, const struct bf_rec_ibgda_build *b)
{
	struct bf_facts *f = r->f;
	const uint32_t pe = bf_facts_pe(f, head->actor);

	APPEND(f->builds, f->nbuilds,
	       (struct bf_fact_build){ .actor = head->actor,
				       .pe = pe,
				       .qpn = b->qpn,
				       .index = b->index,
				       .blocks = (b->ds + 3) / 4,
				       .at_ps = head->time_ps });
	if (ring_of(r, pe, b->qpn))
		return 0;
	for (size_t i = f->nstores; i-- > 0 && f->nstores - i < 64;) {
		const struct bf_fact_store *s = &f->stores[i];

		if (s->actor != head->actor || s->len < 8 || s->va % BF_MLX5_WQEBB != 0 ||
		    bf_get_be24(s->bytes + 4) != b->qpn || bf_get_be16(s->bytes + 1) != (uint16_t)b->index)
			continue;
		APPEND(r->rings, r->nrings,
		       (struct ring){ .pe = pe, .qpn = b->qpn, .base = s->va - b->index % r->depth * BF_MLX5_WQEBB });
		return 0;
	}
	return 0;
}

/* When the bytes at `va` that the device had at `by_ps` left memory. */
static uint64_t sampled(const struct reader *r, uint64_t va, uint64_t by_ps)
{
	for (size_t i = r->nreads; i-- > 0;) {
		const struct read *d = &r->reads[i];

		if (d->done_ps <= by_ps && va >= d->va && va - d->va < d->len)
			return d->sampled_ps;
	}
	return by_ps;
}

static int add_fetch(struct reader *r, const struct bf_rec_header *head, const struct bf_rec_wqe_fetch *w)
{
	struct bf_facts *f = r->f;
	const uint32_t pe = bf_facts_pe(f, head->actor);
	struct ring *ring = ring_of(r, pe, w->qpn);
	struct bf_fact_fetch fetch = {
		.actor = head->actor,
		.pe = pe,
		.qpn = w->qpn,
		.index = w->index,
		.blocks = w->wqebbs,
		.ctrl_index = w->ctrl_index,
		.sampled_ps = head->time_ps,
		.at_ps = head->time_ps,
		.wrong = w->verdict != 0,
	};

	if (ring) {
		fetch.index = ring->fetched + (uint16_t)(w->index - (uint16_t)ring->fetched);
		ring->fetched = fetch.index + w->wqebbs;
		fetch.slot_va = ring->base + fetch.index % r->depth * BF_MLX5_WQEBB;
		fetch.sampled_ps = sampled(r, fetch.slot_va, head->time_ps);
	}
	APPEND(f->fetches, f->nfetches, fetch);
	return 0;
}

/* A record is read in one piece of eight bytes, and the device speaks of it the moment it has it. */
static int add_dbrec(struct reader *r, const struct bf_rec_header *head, const struct bf_rec_dbrec *d)
{
	struct bf_facts *f = r->f;
	struct bf_fact_dbrec fact = {
		.actor = head->actor,
		.pe = bf_facts_pe(f, head->actor),
		.qpn = d->qpn,
		.producer = d->producer,
		.doorbell = d->doorbell,
		.sampled_ps = head->time_ps,
		.at_ps = head->time_ps,
	};

	for (size_t i = r->nreads; i-- > 0;) {
		const struct read *read = &r->reads[i];

		if (read->len != BF_MLX5_DBR_BYTES || !read->bytes || read->done_ps != head->time_ps ||
		    bf_facts_pe(f, read->actor) != fact.pe)
			continue;
		fact.va = read->va + 4 * BF_MLX5_DBR_SND;
		fact.sampled_ps = read->sampled_ps;
		break;
	}
	APPEND(f->dbrecs, f->ndbrecs, fact);
	return 0;
}

static int add_read(struct reader *r, const struct bf_rec_header *head, const struct bf_rec_dma_read *d)
{
	APPEND(r->reads, r->nreads,
	       (struct read){ .va = d->va,
			      .sampled_ps = head->time_ps,
			      .done_ps = d->done_ps,
			      .actor = head->actor,
			      .len = d->len,
			      .bytes = head->tail ? (const uint8_t *)(head + 1) + head->fixed : NULL });
	return 0;
}

static int take(struct reader *r, const struct bf_rec_header *head)
{
	const void *fixed = head + 1;

	switch (head->type) {
	case BF_REC_ID_store: {
		const struct bf_rec_store *s = fixed;

		return add_store(r, head, s->va, s->seq);
	}
	case BF_REC_ID_mmio_store: {
		const struct bf_rec_mmio_store *s = fixed;

		return add_store(r, head, s->va, s->seq);
	}
	case BF_REC_ID_store_visible:
		make_visible(r, head, ((const struct bf_rec_store_visible *)fixed)->seq);
		return 0;
	case BF_REC_ID_ibgda_build:
		return add_build(r, head, fixed);
	case BF_REC_ID_dma_read:
		return add_read(r, head, fixed);
	case BF_REC_ID_wqe_fetch:
		return add_fetch(r, head, fixed);
	case BF_REC_ID_dbrec:
		return add_dbrec(r, head, fixed);
	default:
		return 0;
	}
}

/* qsort_r(): both arrays hold places, and a place decides where nothing else does, so the order is one only. */
static int compare_va(const void *a, const void *b, void *arg)
{
	const struct bf_facts *f = arg;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (f->stores[i].va != f->stores[j].va)
		return f->stores[i].va < f->stores[j].va ? -1 : 1;
	return i < j ? -1 : i > j;
}

static int compare_key(const struct bf_fact_build *a, uint32_t pe, uint32_t qpn, uint64_t index)
{
	if (a->pe != pe)
		return a->pe < pe ? -1 : 1;
	if (a->qpn != qpn)
		return a->qpn < qpn ? -1 : 1;
	return a->index < index ? -1 : a->index > index;
}

static int compare_index(const void *a, const void *b, void *arg)
{
	const struct bf_facts *f = arg;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct bf_fact_build *second = &f->builds[j];
	const int order = compare_key(&f->builds[i], second->pe, second->qpn, second->index);

	return order ? order : i < j ? -1 : i > j;
}

static uint32_t *sorted(struct bf_facts *f, size_t n, int (*compare)(const void *, const void *, void *))
{
	uint32_t *places = malloc((n ? n : 1) * sizeof(*places));

	if (!places)
		return NULL;
	for (size_t i = 0; i < n; i++)
		places[i] = (uint32_t)i;
	qsort_r(places, n, sizeof(*places), compare, f);
	return places;
}

int bf_facts_read(struct bf_facts *f, const struct bf_record_log *log, uint32_t depth)
{
	struct reader r = { .f = f, .depth = depth };
	const struct bf_rec_header *head;
	size_t offset = 0;
	int rc = 0;

	*f = (struct bf_facts){ .log = log };
	while (rc == 0 && (head = bf_record_log_next(log, &offset)) != NULL) {
		f->end_ps = head->time_ps;
		rc = take(&r, head);
	}
	free(r.reads);
	free(r.rings);
	for (size_t i = 0; !r.buffered && i < f->nstores; i++) {
		f->stores[i].visible_ps = f->stores[i].issued_ps;
		f->stores[i].turn = i;
	}
	f->by_va = sorted(f, f->nstores, compare_va);
	f->by_index = sorted(f, f->nbuilds, compare_index);
	if (rc == 0 && (!f->by_va || !f->by_index))
		rc = -ENOMEM;
	if (rc)
		bf_facts_free(f);
	return rc;
}

void bf_facts_free(struct bf_facts *f)
{
	free(f->stores);
	free(f->builds);
	free(f->fetches);
	free(f->dbrecs);
	free(f->by_va);
	free(f->by_index);
	*f = (struct bf_facts){ 0 };
}

const struct bf_fact_build *bf_facts_build(const struct bf_facts *f, uint32_t pe, uint32_t qpn, uint64_t index)
{
	size_t low = 0, high = f->nbuilds;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct bf_fact_build *b = &f->builds[f->by_index[middle]];
		const int order = compare_key(b, pe, qpn, index);

		if (order == 0)
			return b;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct bf_fact_store *bf_facts_late(const struct bf_facts *f, uint64_t va, uint64_t len, uint64_t at_ps)
{
	const struct bf_fact_store *late = NULL;
	const uint64_t from = va >= BF_LINE ? va - BF_LINE + 1 : 0; /* a store is at most a line long */
	size_t low = 0, high = f->nstores;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (f->stores[f->by_va[middle]].va < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < f->nstores && f->stores[f->by_va[low]].va < va + len; low++) {
		const struct bf_fact_store *s = &f->stores[f->by_va[low]];

		if (s->va + s->len > va && s->issued_ps <= at_ps && s->visible_ps > at_ps &&
		    (!late || s->visible_ps > late->visible_ps))
			late = s;
	}
	return late;
}
