/* Reads and atomics of a DMA port: on their way to memory, sampled there, on their way back. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/dma_internal.h"
#include "sim/pool.h"
#include "sim/records_io.h"
#include "sim/word.h"

static bool reserve_op(struct bf_sim *sim, struct bf_dma_rings *r)
{
	uint32_t cap = r->cap ? r->cap * 2 : 64;
	struct bf_dma_going *grown;

	if (r->tail - r->head < r->cap)
		return true;
	grown = bf_pool_take(sim, cap * sizeof(*grown));
	if (!grown)
		return false;
	for (uint32_t i = r->head; i != r->tail; i++)
		grown[i & (cap - 1)] = r->ops[i & (r->cap - 1)];
	bf_pool_give(sim, r->ops, r->cap * sizeof(*grown));
	r->ops = grown;
	r->cap = cap;
	return true;
}

/*
 * When an atomic that passes relaxed writes that are late changes memory: it passes no strict ones and no earlier read,
 * and is executed where it meets memory, as it arrives.
 */
static uint64_t passing_time(const struct bf_link *l, const struct bf_dma_rings *r, uint64_t at)
{
	const uint64_t before = r->tail != r->mid ? r->ops[(r->tail - 1) & (r->cap - 1)].op->at_ps : 0;

	if (at < l->strict_ps)
		at = l->strict_ps;
	return at > before ? at : before;
}

void bf_dma_read(struct bf_dma_port *p, struct bf_dma_op *op)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_link *l = p->link;
	uint64_t bytes = (uint64_t)link_tlps(op->len, l->profile.max_read_request) * l->profile.tlp_overhead;
	const void *host;
	uint64_t at;

	op->status = 0;
	if (BF_UNLIKELY(!reserve_op(p->sim, r))) {
		op->status = bf_fail(&p->sim->error, -ENOMEM, "DMA port: no memory for a read");
		op->done(op);
		return;
	}
	host = bf_ioas_likely(p->ioas, op->iova);
	__builtin_prefetch(host);
	if (op->modify)
		bytes += op->len; /* an AtomicOp request carries its operands (section 6.15) */
	p->reads++;
	at = link_charge_up(l, bytes) + l->profile.latency_ps;
	if (BF_UNLIKELY(op->passes_relaxed && at < l->posted_ps && l->strict_ps < l->posted_ps)) {
		op->at_ps = passing_time(l, r, at);
	} else {
		if (at < l->posted_ps)
			at = l->posted_ps;
		op->at_ps = at + l->profile.mem_ps;
	}
	r->ops[r->tail++ & (r->cap - 1)] = (struct bf_dma_going){ op, host };
	if (r->tail - r->mid == 1)
		bf_dma_set_due(p, BF_DMA_DUE_READ_AT_MEMORY, op->at_ps);
}

static void read_registers(struct bf_region *region, uint64_t offset, uint8_t *dst, uint32_t len)
{
	for (uint32_t at = 0; at < len; at += 8) {
		uint32_t n = len - at < 8 ? len - at : 8;
		uint64_t value = region->mmio->read ? region->mmio->read(region, offset + at, n) : UINT64_MAX;

		memcpy(dst + at, &value, n);
	}
}

/* Asks a far region for at most `len` bytes. */
static int ask(struct bf_dma_port *p, struct bf_region *region, const void *host, void *dst, uint32_t len)
{
	struct bf_dma_rings *r = p->rings;
	int64_t n = region->far->read(region, (uint64_t)((const uint8_t *)host - region->bytes), dst, len, p);

	if (n < 0)
		return -EFAULT;
	r->asked = (uint32_t)n;
	r->far = region;
	return 0;
}

/* From a far region that answers at once. */
static int get(struct bf_region *region, const void *host, void *dst, uint32_t len)
{
	return region->far->get(region, (uint64_t)((const uint8_t *)host - region->bytes), dst, len);
}

/* Reads memory from where the read has come to; stops early when it must wait for a far region. */
static int sample(struct bf_dma_port *p, struct bf_dma_op *op)
{
	struct bf_dma_rings *r = p->rings;

	while (r->sampled < op->len && !r->far) {
		uint64_t iova = op->iova + r->sampled;
		uint32_t left = op->len - r->sampled;
		uint8_t *dst = (uint8_t *)op->dst + r->sampled;
		struct bf_region *region;
		void *host;
		int64_t run = (r->sampled ? bf_ioas_lookup : bf_ioas_translate)(p->ioas, iova, left, BF_IOMMU_READ,
										p->actor, &host, &region);

		if (run < 0)
			return -EFAULT;
		if (!r->sampled && run < left &&
		    bf_dma_check_rest(p, iova + (uint64_t)run, left - (uint64_t)run, BF_IOMMU_READ))
			return -EFAULT;
		if (BF_UNLIKELY(bf_dma_is_own(p, region)))
			return (int)bf_ioas_fault(p->ioas, iova, left, BF_IOMMU_READ, p->actor, BF_IOMMU_OWN);
		if (!r->sampled)
			r->sampled_va = bf_va(region, host);
		r->vram |= region->kind == BF_MEM_VRAM;
		if (region->far && !region->far->get)
			return ask(p, region, host, dst, (uint32_t)run);
		if (BF_UNLIKELY(p->sim->slow & BF_SLOW_CACHE))
			bf_dma_tell_cache(p, region, host, iova, (uint32_t)run, false);
		if (region->far) {
			if (get(region, host, dst, (uint32_t)run))
				return -EFAULT;
		} else if (region->kind == BF_MEM_MMIO)
			read_registers(region, (uint64_t)((uint8_t *)host - region->bytes), dst, (uint32_t)run);
		else if (run <= BF_DMA_INLINE_MAX)
			bf_words_load(dst, host, (uint32_t)run);
		else
			memcpy(dst, host, (size_t)run);
		bf_mem_seen(region, host, (uint64_t)run, p->actor);
		r->sampled += (uint32_t)run;
	}
	return 0;
}

/* One atomic access to memory, since other threads may be at the same word: again if somebody came between. */
static void modify_word(struct bf_dma_op *op, void *host, struct bf_rec_dma_rmw *rec)
{
	uint8_t was[16], now[16];

	bf_words_load(was, host, op->len);
	do {
		memcpy(now, was, op->len);
		if (op->dst)
			memcpy(op->dst, was, op->len);
		op->modify(op, now);
	} while (!bf_word_swap(host, was, now, op->len));
	memcpy(&rec->before, was, op->len < 8 ? op->len : 8);
	memcpy(&rec->after, now, op->len < 8 ? op->len : 8);
}

/* An atomic for those who come through this port: others that use the far memory may come between. */
static int modify_far(struct bf_dma_op *op, struct bf_region *region, const void *host, struct bf_rec_dma_rmw *rec)
{
	uint8_t bytes[16];

	if (!region->far || !region->far->get || get(region, host, bytes, op->len))
		return -EFAULT;
	memcpy(&rec->before, bytes, op->len < 8 ? op->len : 8);
	if (op->dst)
		memcpy(op->dst, bytes, op->len);
	op->modify(op, bytes);
	memcpy(&rec->after, bytes, op->len < 8 ? op->len : 8);
	region->far->write(region, (uint64_t)((const uint8_t *)host - region->bytes), bytes, op->len);
	return 0;
}

/* The atomic happens now. Registers of other devices are no target for one. */
static int modify(struct bf_dma_port *p, struct bf_dma_op *op, struct bf_rec_dma_rmw *rec)
{
	struct bf_region *region;
	void *host;
	int64_t run;

	if ((op->len != 4 && op->len != 8 && op->len != 16) || op->iova % op->len)
		return -EFAULT;
	run = bf_ioas_translate(p->ioas, op->iova, op->len, BF_IOMMU_READ | BF_IOMMU_WRITE, p->actor, &host, &region);
	if (run < op->len)
		return -EFAULT;
	rec->va = bf_va(region, host);
	if (region->kind == BF_MEM_MMIO)
		return modify_far(op, region, host, rec);
	if (BF_UNLIKELY(p->sim->slow & BF_SLOW_CACHE))
		bf_dma_tell_cache(p, region, host, op->iova, op->len, true);
	bf_mem_seen(region, host, op->len, p->actor);
	modify_word(op, host, rec);
	bf_mem_touched(region, host, op->len);
	return 0;
}

/* GPU memory behind another link is later; reads stay in order, so what comes after it is no earlier. */
static void behind_gpu(struct bf_dma_rings *r, struct bf_link *l, struct bf_dma_op *op)
{
	if (r->vram)
		r->back_ps = op->at_ps = link_from_vram(l, op->len, op->at_ps);
	else if (op->at_ps < r->back_ps)
		op->at_ps = r->back_ps;
}

/* The read at `mid` has sampled, or failed to: its data start back, and the next one may sample. */
static void read_sampled(struct bf_dma_port *p, const struct bf_rec_dma_rmw *rmw)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_dma_op *op = r->ops[r->mid & (r->cap - 1)].op;
	struct bf_link *l = p->link;
	uint64_t bytes = l->profile.tlp_overhead;

	if (!op->status)
		bytes = op->len + (uint64_t)link_tlps(op->len, l->profile.max_payload) * l->profile.tlp_overhead;
	op->at_ps = link_charge_down(l, bytes) + l->profile.latency_ps;
	if (BF_UNLIKELY(l->profile.vram_ps | l->profile.vram_ps_per_kib))
		behind_gpu(r, l, op);
	if (bf_probe(p->sim, BF_CLASS_DMA)) {
		struct bf_rec_dma_rmw atomic = *rmw;
		struct bf_rec_dma_read rec = { .iova = op->iova,
					       .va = r->sampled_va,
					       .done_ps = op->at_ps,
					       .len = op->len,
					       .status = op->status };
		uint32_t tail = !op->status && op->len <= BF_DMA_INLINE_MAX ? op->len : 0;

		atomic.done_ps = op->at_ps;
		atomic.status = op->status;
		if (op->modify)
			BF_EMIT_MADE(p->sim, p->actor, dma_rmw, atomic, NULL, 0);
		else
			BF_EMIT_MADE(p->sim, p->actor, dma_read, rec, op->dst, tail);
	}
	if (r->head == r->mid)
		bf_dma_set_due(p, BF_DMA_DUE_READ_RETURNED, op->at_ps);
	r->mid++;
	if (r->mid != r->tail) {
		uint64_t at = r->ops[r->mid & (r->cap - 1)].op->at_ps;

		bf_dma_set_due(p, BF_DMA_DUE_READ_AT_MEMORY, at > p->sim->now_ps ? at : p->sim->now_ps);
	}
}

void bf_dma_read_ahead(const struct bf_dma_rings *r, int which, bool first)
{
	const uint32_t at = which == BF_DMA_DUE_READ_AT_MEMORY ? r->mid : r->head;
	const struct bf_dma_going *going;

	if (r->head == r->tail)
		return;
	going = &r->ops[at & (r->cap - 1)];
	__builtin_prefetch(going);
	if (first)
		return;
	__builtin_prefetch(going->op, 1);
	__builtin_prefetch((const char *)going->op + BF_LINE, 1);
	if (which == BF_DMA_DUE_READ_AT_MEMORY)
		__builtin_prefetch(going->host);
}

/* The read at the head of those on their way is at the memory: it samples. */
void bf_dma_read_at_memory(struct bf_dma_port *p)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_dma_op *op = r->ops[r->mid & (r->cap - 1)].op;
	struct bf_rec_dma_rmw rmw = { .iova = op->iova, .len = op->len };

	r->due[BF_DMA_DUE_READ_AT_MEMORY] = BF_NEVER;
	/* For other threads, too, this read does not pass the writes before it: x86 has loads pass stores otherwise. */
	if (BF_UNLIKELY(p->sim->shared))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	r->sampled = 0;
	r->sampled_va = 0;
	r->vram = false;
	op->status = op->modify ? modify(p, op, &rmw) : sample(p, op);
	if (BF_LIKELY(!r->far))
		read_sampled(p, &rmw);
}

void bf_dma_answer(struct bf_dma_port *p, int status)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_dma_op *op = r->ops[r->mid & (r->cap - 1)].op;
	struct bf_rec_dma_rmw none = { 0 };

	assert(r->far);
	r->far = NULL;
	r->sampled += r->asked;
	op->status = status ? -EFAULT : sample(p, op);
	if (!r->far)
		read_sampled(p, &none);
}

/* The owner may start new operations on this port, so the rings are in order before it is called. */
void bf_dma_read_returned(struct bf_dma_port *p)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_dma_op *op = r->ops[r->head++ & (r->cap - 1)].op;

	r->due[BF_DMA_DUE_READ_RETURNED] = r->head != r->mid ? r->ops[r->head & (r->cap - 1)].op->at_ps : BF_NEVER;
	op->done(op);
}
