/* Moves between memories on behalf of an engine: no staging, no time; see pcie.h. */
#include <errno.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/pcie_internal.h"

/* One side of a move: where its bytes are, and how many follow in one piece. */
struct side {
	struct bf_dma_port *port;
	uint32_t access;
	bool asked; /* the fault plan had its say */
	void *host;
	struct bf_region *region;
};

/* The run at `iova`, at most `len` bytes; -EFAULT. */
static int64_t run_at(struct side *s, uint64_t iova, uint64_t len)
{
	struct bf_dma_port *p = s->port;
	const bool first = !s->asked;

	s->asked = true;
	return (first ? bf_ioas_translate : bf_ioas_lookup)(p->ioas, iova, len, s->access, p->actor, &s->host,
							    &s->region);
}

/* Bytes that the host may touch: no registers, no message memory, and nobody who must be told of it. */
static bool is_plain(const struct side *s)
{
	return s->region->kind != BF_MEM_MMIO && !s->region->cache;
}

static bool meet(const void *a, const void *b, uint64_t bytes)
{
	return (uintptr_t)a - (uintptr_t)b < bytes || (uintptr_t)b - (uintptr_t)a < bytes;
}

static void tell_cache(const struct side *s, uint64_t iova, uint64_t len)
{
	const struct bf_visitor by = { .ioas = s->port->ioas, .iova = iova, .actor = s->port->actor };
	struct bf_cache *c = s->region->cache;
	const uint64_t offset = (uint64_t)((uint8_t *)s->host - s->region->bytes);

	if (c)
		(s->access == BF_IOMMU_WRITE ? c->ops->landing : c->ops->sampled)(c, s->region, offset, len, &by);
}

/* From or to registers, at most 64 bytes. Returns how many, or -EFAULT. */
static int64_t move_registers(const struct side *dst, const struct side *src, uint64_t len)
{
	const uint32_t n = len < 64 ? (uint32_t)len : 64;
	const uint64_t from = (uint64_t)((uint8_t *)src->host - src->region->bytes);
	const uint64_t to = (uint64_t)((uint8_t *)dst->host - dst->region->bytes);
	uint8_t bytes[64];

	if (src->region->far)
		return -EFAULT;
	for (uint32_t at = 0; at < n; at += 8) {
		const uint32_t k = n - at < 8 ? n - at : 8;
		uint64_t value = UINT64_MAX;

		if (src->region->kind != BF_MEM_MMIO)
			memcpy(&value, (uint8_t *)src->host + at, k);
		else if (src->region->mmio->read)
			value = src->region->mmio->read(src->region, from + at, k);
		memcpy(bytes + at, &value, k);
	}
	if (dst->region->far)
		dst->region->far->write(dst->region, to, bytes, n);
	else if (dst->region->kind == BF_MEM_MMIO)
		dst->region->mmio->write(dst->region, to, bytes, n);
	else
		memcpy(dst->host, bytes, n);
	return n;
}

/* One run on both sides. Returns how many bytes were moved, or -EFAULT. */
static int64_t move_run(const struct side *dst, const struct side *src, uint64_t dst_iova, uint64_t src_iova,
			uint64_t len)
{
	if (BF_UNLIKELY(dst->port->sim->slow & BF_SLOW_CACHE)) {
		tell_cache(src, src_iova, len);
		tell_cache(dst, dst_iova, len);
	}
	if (src->region->kind == BF_MEM_MMIO || dst->region->kind == BF_MEM_MMIO) {
		const int64_t n = move_registers(dst, src, len);

		if (n > 0 && dst->region->kind != BF_MEM_MMIO)
			bf_mem_touched(dst->region, dst->host, (uint64_t)n);
		return n;
	}
	if (meet(dst->host, src->host, len) && len > BF_DMA_BURST)
		len = BF_DMA_BURST;
	bf_mem_seen(src->region, src->host, len, src->port->actor);
	memmove(dst->host, src->host, len);
	bf_mem_touched(dst->region, dst->host, len);
	return (int64_t)len;
}

static int copy_row(struct side *dst, struct side *src, uint64_t to, uint64_t from, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes;) {
		const int64_t in = run_at(src, from + at, bytes - at);
		const int64_t out = in < 0 ? in : run_at(dst, to + at, (uint64_t)in);
		const int64_t n = out < 0 ? out : move_run(dst, src, to + at, from + at, (uint64_t)out);

		if (n < 0)
			return -EFAULT;
		at += (uint64_t)n;
	}
	return 0;
}

/* The same from the end, burst by burst; runs are found from their starts. */
static int copy_row_back(struct side *dst, struct side *src, uint64_t to, uint64_t from, uint64_t bytes)
{
	while (bytes) {
		const uint64_t n = bytes % BF_DMA_BURST ? bytes % BF_DMA_BURST : BF_DMA_BURST;

		bytes -= n;
		if (copy_row(dst, src, to + bytes, from + bytes, n))
			return -EFAULT;
	}
	return 0;
}

/* Rows on plain memory, in one run each side, that do not meet: as fast as the host copies rows. */
static void copy_plain(const struct side *dst, const struct side *src, const struct bf_dma_rows *c)
{
	uint8_t *to = dst->host;
	const uint8_t *from = src->host;

	for (uint64_t i = 0; i < c->rows; i++) {
		bf_mem_seen(src->region, from, c->bytes, src->port->actor);
		memcpy(to, from, c->bytes);
		bf_mem_touched(dst->region, to, c->bytes);
		to += c->dst_pitch;
		from += c->src_pitch;
	}
}

/* From the first to behind the last byte of all rows; 0 when that is more than an address space. */
static uint64_t span_of(const struct bf_dma_rows *c, uint64_t pitch)
{
	uint64_t span;

	if (__builtin_mul_overflow(c->rows - 1, pitch, &span) || __builtin_add_overflow(span, c->bytes, &span))
		return 0;
	return span;
}

int bf_dma_copy(struct bf_dma_port *p, const struct bf_dma_rows *c)
{
	struct side src = { .port = p, .access = BF_IOMMU_READ }, dst = { .port = p, .access = BF_IOMMU_WRITE };
	const uint64_t in = span_of(c, c->src_pitch), out = span_of(c, c->dst_pitch);

	if (!c->bytes || !c->rows)
		return 0;
	p->reads++;
	p->writes++;
	if (in && out) {
		const int64_t have_in = run_at(&src, c->src, in);
		const int64_t have_out = have_in < 0 ? have_in : run_at(&dst, c->dst, out);

		if (have_out < 0)
			return -EFAULT;
		if ((uint64_t)have_in == in && (uint64_t)have_out == out && is_plain(&src) && is_plain(&dst) &&
		    !meet(src.host, dst.host, in > out ? in : out)) {
			copy_plain(&dst, &src, c);
			return 0;
		}
	}
	for (uint64_t i = 0; i < c->rows; i++) {
		const uint64_t row = c->backwards ? c->rows - 1 - i : i;
		const uint64_t from = c->src + row * c->src_pitch, to = c->dst + row * c->dst_pitch;

		if ((c->backwards ? copy_row_back : copy_row)(&dst, &src, to, from, c->bytes))
			return -EFAULT;
	}
	return 0;
}

/* Sets a run; `phase` is how many bytes of the pattern came before. */
static void fill_run(uint8_t *to, uint64_t len, const uint8_t unit[4], uint32_t phase)
{
	uint64_t done = len < 4 ? len : 4;

	for (uint64_t i = 0; i < done; i++)
		to[i] = unit[(phase + i) & 3];
	if (unit[0] == unit[1] && unit[0] == unit[2] && unit[0] == unit[3]) {
		memset(to, unit[0], len);
		return;
	}
	/* Twice as much each time, up to a block that stays in the cache. */
	while (done < len) {
		uint64_t n = done < 4096 ? done : 4096;

		n = n < len - done ? n : len - done;
		memcpy(to + done, to, n);
		done += n;
	}
}

int bf_dma_fill(struct bf_dma_port *p, uint64_t iova, uint64_t len, uint32_t pattern, uint32_t unit)
{
	struct side dst = { .port = p, .access = BF_IOMMU_WRITE };
	uint8_t bytes[4];

	pattern = unit == 1 ? (pattern & 0xff) * 0x01010101u : unit == 2 ? (pattern & 0xffff) * 0x10001u : pattern;
	bf_put_le32(bytes, pattern);
	p->writes++;
	for (uint64_t at = 0; at < len;) {
		int64_t n = run_at(&dst, iova + at, len - at);
		uint8_t store[64];
		uint64_t offset;

		if (n < 0)
			return -EFAULT;
		if (BF_UNLIKELY(p->sim->slow & BF_SLOW_CACHE))
			tell_cache(&dst, iova + at, (uint64_t)n);
		offset = (uint64_t)((uint8_t *)dst.host - dst.region->bytes);
		if (dst.region->kind == BF_MEM_MMIO) {
			n = n < 64 ? n : 64;
			fill_run(store, (uint64_t)n, bytes, (uint32_t)at & 3);
			if (dst.region->far)
				dst.region->far->write(dst.region, offset, store, (uint32_t)n);
			else
				dst.region->mmio->write(dst.region, offset, store, (uint32_t)n);
		} else {
			fill_run(dst.host, (uint64_t)n, bytes, (uint32_t)at & 3);
			bf_mem_touched(dst.region, dst.host, (uint64_t)n);
		}
		at += (uint64_t)n;
	}
	return 0;
}

static uint64_t with_headers(uint64_t len, uint32_t max, uint32_t overhead)
{
	return len + (len + max - 1) / max * overhead;
}

uint64_t bf_dma_charge(struct bf_dma_port *p, uint64_t up, uint64_t down)
{
	struct bf_link *l = p->link;
	const struct bf_link_profile *f = &l->profile;
	const uint64_t requests = (down + f->max_read_request - 1) / f->max_read_request * f->tlp_overhead;
	uint64_t at = l->sim->now_ps, end;

	if (up || requests)
		at = link_charge_up(l, with_headers(up, f->max_payload, f->tlp_overhead) + requests);
	if (down) {
		end = link_charge_down(l, with_headers(down, f->max_payload, f->tlp_overhead));
		at = end > at ? end : at;
	}
	return at;
}
