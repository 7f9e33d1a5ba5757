#include "tools/cause_sdma_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/sdma/records.h"
#include "sim/event.h"
#include "sim/records_io.h"

/* Room for one more element in an array of `n`, which grows at powers of two. NULL on lack of memory. */
static void *grown(void *array, size_t n, size_t size)
{
	if (n & (n - 1) || (n > 0 && n < 16))
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

size_t bf_sdma_facts_queue(const struct bf_sdma_facts *f, uint32_t actor)
{
	size_t i = f->nqueues;

	while (i-- > 0)
		if (f->queues[i].actor == actor)
			return i;
	return SIZE_MAX;
}

static size_t queue_of_driver(const struct bf_sdma_facts *f, uint32_t actor, uint32_t id)
{
	const uint32_t pe = bf_facts_pe(&f->stores, actor);
	size_t i = f->nqueues;

	while (i-- > 0)
		if (f->queues[i].pe == pe && f->queues[i].id == id)
			return i;
	return SIZE_MAX;
}

/* "sdma1.q3" is queue 3 of PE 1. */
static int add_queue(struct bf_sdma_facts *f, const struct bf_rec_header *head, const struct bf_rec_sdma_queue *r)
{
	const char *dot = strchr(bf_record_log_name(f->log, head->actor), '.');

	if (r->event != 0)
		return 0;
	APPEND(f->queues, f->nqueues,
	       (struct bf_sdma_fact_queue){ .actor = head->actor,
					    .pe = bf_facts_pe(&f->stores, head->actor),
					    .id = dot ? (uint32_t)strtoul(dot + 2, NULL, 10) : 0,
					    .ring = r->ring,
					    .bytes = r->bytes });
	return 0;
}

static int add_span(struct bf_sdma_facts *f, const struct bf_rec_header *head, uint32_t id, uint64_t from, uint64_t to,
		    bool publish, bool pad)
{
	const size_t q = queue_of_driver(f, head->actor, id);
	struct bf_sdma_fact_span span = {
		.queue = (uint32_t)q, .actor = head->actor, .from = from, .to = to, .at_ps = head->time_ps, .pad = pad
	};

	if (q == SIZE_MAX)
		return 0;
	span.retired = f->queues[q].retired;
	if (publish)
		APPEND(f->publishes, f->npublishes, span);
	else
		APPEND(f->reserves, f->nreserves, span);
	return 0;
}

static void note_fetch(struct bf_sdma_facts *f, const struct bf_rec_header *head, const struct bf_rec_sdma_fetch *r)
{
	const size_t q = bf_sdma_facts_queue(f, head->actor);

	if (q == SIZE_MAX || !r->ring)
		return;
	f->queues[q].fetch_index = r->index;
	f->queues[q].fetch_address = r->address;
	f->queues[q].fetch_len = r->len;
}

/* A queue has one fetch of its ring on its way at a time. */
static int add_read(struct bf_sdma_facts *f, const struct bf_rec_header *head, const struct bf_rec_dma_read *r)
{
	for (size_t i = f->nqueues; r->status == 0 && i-- > 0;) {
		const struct bf_sdma_fact_queue *q = &f->queues[i];

		if (r->iova - q->fetch_address >= q->fetch_len || bf_facts_pe(&f->stores, head->actor) != q->pe)
			continue;
		APPEND(f->reads, f->nreads,
		       (struct bf_sdma_fact_read){ .queue = (uint32_t)i,
						   .index = q->fetch_index + (r->iova - q->fetch_address),
						   .va = r->va,
						   .len = r->len,
						   .at_ps = head->time_ps });
		break;
	}
	return 0;
}

static int add_packet(struct bf_sdma_facts *f, const struct bf_rec_header *head, const struct bf_rec_sdma_packet *r,
		      const struct bf_sdma_dialect *dialect)
{
	const size_t q = bf_sdma_facts_queue(f, head->actor);
	struct bf_sdma_fact_packet k = { .index = r->index, .indirect = r->indirect, .at_ps = head->time_ps };
	uint32_t dw[BF_SDMA_MAX_FIXED] = { 0 };

	if (q == SIZE_MAX)
		return 0;
	memcpy(dw, (const uint8_t *)(head + 1) + head->fixed, head->tail < sizeof(dw) ? head->tail : sizeof(dw));
	bf_sdma_decode(dialect, dw, r->dwords, &k.p);
	k.queue = (uint32_t)q;
	k.done_ps = k.p.kind == BF_SDMA_KIND_COPY || k.p.kind == BF_SDMA_KIND_RECT || k.p.kind == BF_SDMA_KIND_FILL
			? BF_NEVER
			: head->time_ps;
	if (!r->indirect)
		f->queues[q].retired = r->index + r->dwords * 4ull;
	APPEND(f->packets, f->npackets, k);
	return 0;
}

static int add_piece(struct bf_sdma_facts *f, const struct bf_rec_header *head, const struct bf_rec_sdma_piece *r)
{
	APPEND(f->pieces, f->npieces,
	       (struct bf_sdma_fact_piece){
		   .pe = bf_facts_pe(&f->stores, head->actor), .packet = SIZE_MAX, .at_ps = head->time_ps, .rec = *r });
	return 0;
}

/* The copy is done: its packet, and the pieces that its job moved since the job's copy before. */
static void end_copy(struct bf_sdma_facts *f, const struct bf_rec_header *head, const struct bf_rec_sdma_copied *r)
{
	const size_t q = bf_sdma_facts_queue(f, head->actor);
	size_t k = f->npackets;

	while (k-- > 0) {
		const struct bf_sdma_fact_packet *p = &f->packets[k];

		if (p->queue == q && p->index == r->index && p->indirect == r->indirect)
			break;
	}
	if (k == SIZE_MAX)
		return;
	f->packets[k].done_ps = head->time_ps;
	for (size_t i = f->npieces; i-- > 0;) {
		struct bf_sdma_fact_piece *piece = &f->pieces[i];

		if (piece->pe != f->queues[q].pe || piece->rec.job != r->job)
			continue;
		if (piece->packet != SIZE_MAX)
			break;
		piece->packet = k;
	}
}

static int take(struct bf_sdma_facts *f, const struct bf_rec_header *head, struct bf_sdma_dialect *dialect)
{
	const void *fixed = head + 1;

	switch (head->type) {
	case BF_REC_ID_sdma_queue: {
		const struct bf_rec_sdma_queue *r = fixed;

		*dialect = (struct bf_sdma_dialect){ (enum bf_sdma_gen)r->gen, r->wide_rect != 0, r->wide_count != 0 };
		return add_queue(f, head, r);
	}
	case BF_REC_ID_sdma_reserve: {
		const struct bf_rec_sdma_reserve *r = fixed;

		return add_span(f, head, r->queue, r->from, r->to, false, r->pad != 0);
	}
	case BF_REC_ID_sdma_publish: {
		const struct bf_rec_sdma_publish *r = fixed;

		return add_span(f, head, r->queue, r->from, r->to, true, false);
	}
	case BF_REC_ID_sdma_fetch:
		note_fetch(f, head, fixed);
		return 0;
	case BF_REC_ID_dma_read:
		return add_read(f, head, fixed);
	case BF_REC_ID_sdma_packet:
		return add_packet(f, head, fixed, dialect);
	case BF_REC_ID_sdma_piece:
		return add_piece(f, head, fixed);
	case BF_REC_ID_sdma_copied:
		end_copy(f, head, fixed);
		return 0;
	default:
		return 0;
	}
}

static int by_index(const void *a, const void *b)
{
	const struct bf_sdma_fact_span *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

int bf_sdma_facts_read(struct bf_sdma_facts *f, const struct bf_record_log *log)
{
	struct bf_sdma_dialect dialect = { .gen = BF_SDMA_V6 };
	const struct bf_rec_header *head;
	size_t offset = 0;
	int rc;

	*f = (struct bf_sdma_facts){ .log = log };
	rc = bf_facts_read(&f->stores, log, 1);
	while (!rc && (head = bf_record_log_next(log, &offset)) != NULL)
		rc = take(f, head, &dialect);
	if (f->nreserves)
		qsort(f->reserves, f->nreserves, sizeof(*f->reserves), by_index);
	if (f->npublishes)
		qsort(f->publishes, f->npublishes, sizeof(*f->publishes), by_index);
	if (rc)
		bf_sdma_facts_free(f);
	return rc;
}

void bf_sdma_facts_free(struct bf_sdma_facts *f)
{
	bf_facts_free(&f->stores);
	free(f->queues);
	free(f->reserves);
	free(f->publishes);
	free(f->reads);
	free(f->packets);
	free(f->pieces);
	*f = (struct bf_sdma_facts){ 0 };
}

const struct bf_sdma_fact_span *bf_sdma_facts_span(const struct bf_sdma_fact_span *list, size_t n, uint32_t queue,
						   uint64_t index)
{
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct bf_sdma_fact_span *s = &list[middle];

		if (s->queue < queue || (s->queue == queue && s->to <= index))
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && list[low].queue == queue && list[low].from <= index ? &list[low] : NULL;
}
