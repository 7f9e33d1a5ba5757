#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/pcie_internal.h"
#include "sim/pool.h"
#include "sim/records_io.h"
#include "sim/stats.h"
#include "sim/train.h"

/*
 * The order of the lanes breaks ties: relaxed writes first (a later strict write must not pass them), reads last (they
 * must not pass any write).
 */
enum { LANE_RELAXED, LANE_RELAXED_LATE, LANE_STRICT, LANES };
enum { DUE_READ_AT_MEMORY = LANES, DUE_READ_RETURNED, DUES };

/* A posted write on its way, followed by its bytes in the lane's buffer. */
struct posted {
	uint64_t at_ps;
	uint64_t iova;
	uint8_t *host; /* of the first run */
	struct bf_region *region;
	uint64_t generation; /* of the IOAS when `host` was translated */
	uint32_t len, run;   /* bytes in all, in the first run */
	uint32_t flags;
	uint32_t kept; /* bytes behind this header: the data, or where lent ones are */
};
BF_STATIC_ASSERT(sizeof(struct posted) % 8 == 0, "payload alignment");

/*
 * Writes in order of landing, back to back in a ring of bytes; each lies in one piece. Once `wrapped`, the writes from
 * `head` to `end` come first and those from 0 to `tail` after them.
 */
struct lane {
	uint8_t *buf;
	size_t cap, head, tail, end;
	uint32_t count;
	bool wrapped;
	uint64_t last_ps; /* when its youngest write lands */
};

struct bf_dma_rings {
	struct bf_event event;
	struct bf_dma_port *port;
	struct lane lanes[LANES];
	/* Reads: [head, mid) are on their way back, [mid, tail) on their way to memory; modulo `cap`. */
	struct bf_dma_op **ops;
	uint32_t head, mid, tail, cap;
	/* The read at `mid`, while it samples: how far it has come, and the far region that it waits for, if any. */
	uint64_t sampled_va;
	uint32_t sampled, asked;
	struct bf_region *far;
	bool busy; /* inside on_due(), which schedules the event itself */
	uint64_t due[DUES];
	struct bf_rng rng;
};

static void on_due(struct bf_event *ev);

static int attach_stats(struct bf_dma_port *p, const char *name)
{
	if (bf_stats_attach_part(p->sim, p, name, "reads", "", &p->reads) ||
	    bf_stats_attach_part(p->sim, p, name, "writes", "", &p->writes))
		return -ENOMEM;
	return bf_stats_attach_part(p->sim, p, name, "faults", "", &p->ioas->faults);
}

int bf_dma_port_init(struct bf_dma_port *p, struct bf_sim *sim, const char *name, struct bf_link *link,
		     struct bf_ioas *ioas)
{
	struct bf_dma_rings *r = bf_pool_take(sim, sizeof(*r));
	uint32_t actor = r ? bf_stream_actor(&sim->rec, "dma", name) : 0;
	char stream[64] = "dma:";

	if (!actor) {
		bf_pool_give(sim, r, sizeof(*r));
		return bf_fail(&sim->error, -ENOMEM, "DMA port '%s': no memory", name);
	}
	strncat(stream, name, sizeof(stream) - 5);
	bf_rng_init(&r->rng, sim->seed, stream);
	bf_event_init(&r->event, on_due);
	r->port = p;
	for (int i = 0; i < DUES; i++)
		r->due[i] = BF_NEVER;
	*p = (struct bf_dma_port){ .sim = sim, .link = link, .ioas = ioas, .actor = actor, .rings = r };
	if (attach_stats(p, name)) {
		bf_dma_port_fini(p);
		return bf_fail(&sim->error, -ENOMEM, "DMA port '%s': no memory", name);
	}
	return 0;
}

void bf_dma_port_fini(struct bf_dma_port *p)
{
	struct bf_dma_rings *r = p->rings;

	if (r) {
		if (r->far)
			r->far->far->cancel(r->far, p);
		bf_stats_detach(p->sim, p);
		bf_sim_cancel(p->sim, &r->event);
		for (int i = 0; i < LANES; i++)
			bf_pool_give(p->sim, r->lanes[i].buf, r->lanes[i].cap);
		bf_pool_give(p->sim, r->ops, r->cap * sizeof(struct bf_dma_op *));
		bf_pool_give(p->sim, r, sizeof(*r));
	}
	*p = (struct bf_dma_port){ 0 };
}

/* Something of kind `which` is due at `when` and nothing of that kind is before it. */
static void set_due(struct bf_dma_port *p, int which, uint64_t when)
{
	struct bf_dma_rings *r = p->rings;

	r->due[which] = when;
	if (!r->busy && when < r->event.when)
		bf_sim_at(p->sim, &r->event, when);
}

/*
 * Bytes of memory that other threads may look at (doorbell records, completions) move as atomic words. On x86 and
 * aarch64 these are ordinary loads and stores.
 */
static void store_words(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	uint32_t at = 0;

	if (!(((uintptr_t)dst | len) & 7)) {
		for (; at + 8 < len; at += 8)
			__atomic_store_n((uint64_t *)(void *)(dst + at), bf_get_le64(src + at), __ATOMIC_RELAXED);
		__atomic_store_n((uint64_t *)(void *)(dst + at), bf_get_le64(src + at), __ATOMIC_RELEASE);
	} else if (!(((uintptr_t)dst | len) & 3)) {
		for (; at + 4 < len; at += 4)
			__atomic_store_n((uint32_t *)(void *)(dst + at), bf_get_le32(src + at), __ATOMIC_RELAXED);
		__atomic_store_n((uint32_t *)(void *)(dst + at), bf_get_le32(src + at), __ATOMIC_RELEASE);
	} else {
		memcpy(dst, src, len);
	}
}

static void load_words(uint8_t *dst, const uint8_t *src, uint32_t len)
{
	if (!(((uintptr_t)src | len) & 7)) {
		for (uint32_t at = 0; at < len; at += 8)
			bf_put_le64(dst + at,
				    __atomic_load_n((const uint64_t *)(const void *)(src + at), __ATOMIC_ACQUIRE));
	} else if (!(((uintptr_t)src | len) & 3)) {
		for (uint32_t at = 0; at < len; at += 4)
			bf_put_le32(dst + at,
				    __atomic_load_n((const uint32_t *)(const void *)(src + at), __ATOMIC_ACQUIRE));
	} else {
		memcpy(dst, src, len);
	}
}

static struct posted *lane_head(const struct lane *l)
{
	return (struct posted *)(void *)(l->buf + l->head);
}

/* Twice the size, the writes moved to its start in their order. */
static bool lane_grow(struct bf_sim *sim, struct lane *l, size_t room)
{
	size_t used = l->wrapped ? l->end - l->head + l->tail : l->tail - l->head;
	size_t cap = l->cap ? l->cap : 4096, first = l->wrapped ? l->end - l->head : used;
	uint8_t *buf;

	while (cap < l->cap * 2 || cap - used < room)
		cap *= 2;
	buf = bf_pool_take(sim, cap);
	if (!buf)
		return false;
	if (used) {
		memcpy(buf, l->buf + l->head, first);
		memcpy(buf + first, l->buf, used - first);
	}
	bf_pool_give(sim, l->buf, l->cap);
	l->buf = buf;
	l->cap = cap;
	l->head = 0;
	l->tail = used;
	l->wrapped = false;
	return true;
}

/* What a write of `len` bytes takes in the lane, its header included. */
static size_t room_of(uint32_t len)
{
	return (sizeof(struct posted) + len + 7) & ~(size_t)7;
}

/* Room in one piece behind the youngest write, or NULL. */
static struct posted *lane_push(struct bf_sim *sim, struct lane *l, uint32_t len)
{
	size_t room = room_of(len);
	struct posted *w;

	if (!l->count) {
		l->head = l->tail = 0;
		l->wrapped = false;
	}
	if (!l->wrapped && l->cap - l->tail < room && l->head >= room) {
		l->end = l->tail;
		l->tail = 0;
		l->wrapped = true;
	}
	if ((l->wrapped ? l->head : l->cap) - l->tail < room && !lane_grow(sim, l, room))
		return NULL;
	w = (struct posted *)(void *)(l->buf + l->tail);
	l->tail += room;
	l->count++;
	return w;
}

/* A write's data. */
static const uint8_t *bytes_of(const struct posted *w)
{
	const uint8_t *lent;

	if (!(w->flags & BF_DMA_LENT))
		return (const uint8_t *)(w + 1);
	memcpy(&lent, w + 1, sizeof(lent));
	return lent;
}

static void lane_pop(struct lane *l)
{
	l->head += room_of(lane_head(l)->kept);
	l->count--;
	if (l->wrapped && l->head == l->end) {
		l->head = 0;
		l->wrapped = false;
	}
}

/*
 * When a write that leaves now lands, and in which lane it waits. A relaxed one may wait for nobody; half of them, by
 * seed, are late for reasons of their own (another path through the root complex).
 */
static uint64_t landing_time(struct bf_dma_port *p, uint32_t len, uint32_t flags, int *lane)
{
	struct bf_link *l = p->link;
	struct bf_dma_rings *r = p->rings;
	uint64_t tlps = link_tlps(len, l->profile.max_payload);
	uint64_t at = link_charge_up(l, len + tlps * l->profile.tlp_overhead) + l->profile.latency_ps;

	*lane = LANE_STRICT;
	if (BF_UNLIKELY(flags & BF_DMA_RELAXED)) {
		*lane = bf_rng_chance(&r->rng, 500000) ? LANE_RELAXED_LATE : LANE_RELAXED;
		if (*lane == LANE_RELAXED_LATE)
			at += bf_rng_below(&r->rng, l->profile.relaxed_ps + 1);
		if (at < r->lanes[*lane].last_ps)
			at = r->lanes[*lane].last_ps;
	} else if (at < l->posted_ps) {
		at = l->posted_ps;
	}
	r->lanes[*lane].last_ps = at;
	if (l->posted_ps < at)
		l->posted_ps = at;
	return at;
}

/*
 * The device's registers, seen from the device: a request that would come back over the link that it left by is not
 * completed (QEMU's hw/nvme/ctrl.c refuses the same, nvme_addr_is_iomem()).
 */
static inline bool is_own(const struct bf_dma_port *p, const struct bf_region *region)
{
	return region->kind == BF_MEM_MMIO && region->link == p->link && !p->loops;
}

/* Translates the whole range for its checks. The first run was translated; the fault plan had its say there. */
static int check_rest(struct bf_dma_port *p, uint64_t iova, uint64_t len, uint32_t access)
{
	while (len) {
		struct bf_region *region;
		void *host;
		int64_t run = bf_ioas_lookup(p->ioas, iova, len, access, p->actor, &host, &region);

		if (run < 0)
			return -EFAULT;
		if (is_own(p, region))
			return (int)bf_ioas_fault(p->ioas, iova, len, access, p->actor, BF_IOMMU_OWN);
		iova += (uint64_t)run;
		len -= (uint64_t)run;
	}
	return 0;
}

int bf_dma_write(struct bf_dma_port *p, uint64_t iova, const void *src, uint32_t len, uint32_t flags)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_region *region;
	struct posted *w;
	void *host;
	int64_t run;
	int lane = flags & BF_DMA_RELAXED ? LANE_RELAXED : LANE_STRICT;
	uint32_t kept;
	uint64_t at;

	if (BF_UNLIKELY(!len)) {
		link_charge_up(p->link, p->link->profile.tlp_overhead);
		return 0;
	}
	run = bf_ioas_translate(p->ioas, iova, len, BF_IOMMU_WRITE, p->actor, &host, &region);
	if (run < 0 || (run < len && check_rest(p, iova + (uint64_t)run, len - (uint64_t)run, BF_IOMMU_WRITE)))
		return -EFAULT;
	if (BF_UNLIKELY(is_own(p, region)))
		return (int)bf_ioas_fault(p->ioas, iova, len, BF_IOMMU_WRITE, p->actor, BF_IOMMU_OWN);
	__builtin_prefetch(host, 1);
	p->writes++;
	at = landing_time(p, len, flags, &lane);
	kept = flags & BF_DMA_LENT ? (uint32_t)sizeof(src) : len;
	w = lane_push(p->sim, &r->lanes[lane], kept);
	if (!w)
		return bf_fail(&p->sim->error, -ENOMEM, "DMA port: no memory for a write of %u bytes", len);
	w->at_ps = at;
	w->iova = iova;
	w->host = host;
	w->region = region;
	w->generation = p->ioas->generation;
	w->len = len;
	w->run = (uint32_t)run;
	w->flags = flags;
	w->kept = kept;
	memcpy(w + 1, flags & BF_DMA_LENT ? (const void *)&src : src, kept);
	if (r->lanes[lane].count == 1)
		set_due(p, lane, at);
	return 0;
}

static void record_write(struct bf_dma_port *p, uint64_t iova, uint64_t va, const void *bytes, uint32_t len,
			 uint32_t flags)
{
	struct bf_rec_dma_write rec = { .iova = iova, .va = va, .len = len, .flags = flags & BF_DMA_RELAXED };

	bf_record(&p->sim->rec, &bf_rec_dma_write_schema, p->actor, &rec, bytes, len <= BF_DMA_INLINE_MAX ? len : 0);
}

/* Memory behind a GPU's cache is about to be changed, or read. */
static void BF_NOINLINE tell_cache(struct bf_dma_port *p, struct bf_region *region, const void *host, uint64_t iova,
				   uint32_t len, bool write)
{
	const struct bf_visitor by = { .ioas = p->ioas, .iova = iova, .actor = p->actor };
	struct bf_cache *c = region->cache;

	if (c)
		(write ? c->ops->landing : c->ops->sampled)(c, region, bf_va(region, host) - region->va, len, &by);
}

/* One run of a write changes memory. */
static void land_run(struct bf_dma_port *p, uint64_t iova, struct bf_region *region, uint8_t *host,
		     const uint8_t *bytes, uint32_t len, uint32_t flags)
{
	if (BF_UNLIKELY(p->sim->slow & BF_SLOW_CACHE))
		tell_cache(p, region, host, iova, len, true);
	if (len <= BF_DMA_INLINE_MAX)
		store_words(host, bytes, len);
	else
		memcpy(host, bytes, len);
	if (bf_probe_type(p->sim, dma_write))
		record_write(p, iova, bf_va(region, host), bytes, len, flags);
	bf_mem_touched(region, host, len);
}

/*
 * Writes that span runs, target another device's registers, or were overtaken by an unmap. The other device's callback
 * may write on this port and move the lane's buffer, so nothing keeps a pointer into it over that call.
 */
static void BF_NOINLINE land_slowly(struct bf_dma_port *p, struct lane *l)
{
	uint32_t done = 0;

	while (done < lane_head(l)->len) {
		struct posted *w = lane_head(l);
		const uint8_t *bytes = bytes_of(w) + done;
		uint64_t iova = w->iova + done;
		struct bf_region *region;
		void *host;
		int64_t run = bf_ioas_lookup(p->ioas, iova, w->len - done, BF_IOMMU_WRITE, p->actor, &host, &region);

		if (run < 0)
			return;
		if (region->far) {
			region->far->write(region, (uint64_t)((uint8_t *)host - region->bytes), bytes, (uint32_t)run);
			if (bf_probe(p->sim, BF_CLASS_DMA))
				record_write(p, iova, bf_va(region, host), bytes, (uint32_t)run, w->flags);
		} else if (region->kind == BF_MEM_MMIO) {
			uint8_t store[64];

			run = run < 64 ? run : 64;
			memcpy(store, bytes, (size_t)run);
			if (bf_probe(p->sim, BF_CLASS_DMA))
				record_write(p, iova, bf_va(region, host), store, (uint32_t)run, w->flags);
			region->mmio->write(region, (uint64_t)((uint8_t *)host - region->bytes), store, (uint32_t)run);
		} else {
			land_run(p, iova, region, host, bytes, (uint32_t)run, w->flags);
		}
		done += (uint32_t)run;
	}
}

static void land(struct bf_dma_port *p, int lane)
{
	struct lane *l = &p->rings->lanes[lane];
	struct posted *w = lane_head(l);

	if (BF_LIKELY(w->generation == p->ioas->generation && w->run == w->len && w->region->kind != BF_MEM_MMIO))
		land_run(p, w->iova, w->region, w->host, bytes_of(w), w->len, w->flags);
	else
		land_slowly(p, l);
	lane_pop(l);
	p->rings->due[lane] = l->count ? lane_head(l)->at_ps : BF_NEVER;
}

static bool reserve_op(struct bf_sim *sim, struct bf_dma_rings *r)
{
	uint32_t cap = r->cap ? r->cap * 2 : 64;
	struct bf_dma_op **grown;

	if (r->tail - r->head < r->cap)
		return true;
	grown = bf_pool_take(sim, cap * sizeof(struct bf_dma_op *));
	if (!grown)
		return false;
	for (uint32_t i = r->head; i != r->tail; i++)
		grown[i & (cap - 1)] = r->ops[i & (r->cap - 1)];
	bf_pool_give(sim, r->ops, r->cap * sizeof(struct bf_dma_op *));
	r->ops = grown;
	r->cap = cap;
	return true;
}

void bf_dma_read(struct bf_dma_port *p, struct bf_dma_op *op)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_link *l = p->link;
	uint64_t bytes = (uint64_t)link_tlps(op->len, l->profile.max_read_request) * l->profile.tlp_overhead;
	uint64_t at;

	op->status = 0;
	if (BF_UNLIKELY(!reserve_op(p->sim, r))) {
		op->status = bf_fail(&p->sim->error, -ENOMEM, "DMA port: no memory for a read");
		op->done(op);
		return;
	}
	bf_ioas_prefetch(p->ioas, op->iova);
	if (op->modify)
		bytes += op->len; /* an AtomicOp request carries its operands (section 6.15) */
	p->reads++;
	at = link_charge_up(l, bytes) + l->profile.latency_ps;
	if (at < l->posted_ps)
		at = l->posted_ps;
	op->at_ps = at + l->profile.mem_ps;
	r->ops[r->tail++ & (r->cap - 1)] = op;
	if (r->tail - r->mid == 1)
		set_due(p, DUE_READ_AT_MEMORY, op->at_ps);
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
		    check_rest(p, iova + (uint64_t)run, left - (uint64_t)run, BF_IOMMU_READ))
			return -EFAULT;
		if (BF_UNLIKELY(is_own(p, region)))
			return (int)bf_ioas_fault(p->ioas, iova, left, BF_IOMMU_READ, p->actor, BF_IOMMU_OWN);
		if (!r->sampled)
			r->sampled_va = bf_va(region, host);
		if (region->far && !region->far->get)
			return ask(p, region, host, dst, (uint32_t)run);
		if (BF_UNLIKELY(p->sim->slow & BF_SLOW_CACHE))
			tell_cache(p, region, host, iova, (uint32_t)run, false);
		if (region->far) {
			if (get(region, host, dst, (uint32_t)run))
				return -EFAULT;
		} else if (region->kind == BF_MEM_MMIO)
			read_registers(region, (uint64_t)((uint8_t *)host - region->bytes), dst, (uint32_t)run);
		else if (run <= BF_DMA_INLINE_MAX)
			load_words(dst, host, (uint32_t)run);
		else
			memcpy(dst, host, (size_t)run);
		r->sampled += (uint32_t)run;
	}
	return 0;
}

/*
 * One atomic access to memory, since other threads may be at the same word: the change is made to a copy, again if
 * somebody came between. (Those of 16 bytes are not for words that are shared so.)
 */
static void modify_word(struct bf_dma_op *op, void *host, struct bf_rec_dma_rmw *rec)
{
	uint8_t bytes[16];
	bool stored = false;

	while (!stored) {
		uint64_t old64 = op->len == 8 ? __atomic_load_n((uint64_t *)host, __ATOMIC_ACQUIRE) : 0;
		uint32_t old32 = op->len == 4 ? __atomic_load_n((uint32_t *)host, __ATOMIC_ACQUIRE) : 0;

		if (op->len == 4)
			bf_put_le32(bytes, old32);
		else if (op->len == 8)
			bf_put_le64(bytes, old64);
		else
			memcpy(bytes, host, op->len);
		memcpy(&rec->before, bytes, op->len < 8 ? op->len : 8);
		if (op->dst)
			memcpy(op->dst, bytes, op->len);
		op->modify(op, bytes);
		if (op->len == 4)
			stored = __atomic_compare_exchange_n((uint32_t *)host, &old32, bf_get_le32(bytes), false,
							     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
		else if (op->len == 8)
			stored = __atomic_compare_exchange_n((uint64_t *)host, &old64, bf_get_le64(bytes), false,
							     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
		else
			memcpy(host, bytes, op->len), stored = true;
		memcpy(&rec->after, bytes, op->len < 8 ? op->len : 8);
	}
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
		tell_cache(p, region, host, op->iova, op->len, true);
	modify_word(op, host, rec);
	bf_mem_touched(region, host, op->len);
	return 0;
}

/* The read at `mid` has sampled, or failed to: its data start back, and the next one may sample. */
static void read_sampled(struct bf_dma_port *p, const struct bf_rec_dma_rmw *rmw)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_dma_op *op = r->ops[r->mid & (r->cap - 1)];
	struct bf_link *l = p->link;
	uint64_t bytes = l->profile.tlp_overhead;

	if (!op->status)
		bytes = op->len + (uint64_t)link_tlps(op->len, l->profile.max_payload) * l->profile.tlp_overhead;
	op->at_ps = link_charge_down(l, bytes) + l->profile.latency_ps;
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
			bf_record(&p->sim->rec, &bf_rec_dma_rmw_schema, p->actor, &atomic, NULL, 0);
		else
			bf_record(&p->sim->rec, &bf_rec_dma_read_schema, p->actor, &rec, op->dst, tail);
	}
	if (r->head == r->mid)
		set_due(p, DUE_READ_RETURNED, op->at_ps);
	r->mid++;
	if (r->mid != r->tail) {
		uint64_t at = r->ops[r->mid & (r->cap - 1)]->at_ps;

		set_due(p, DUE_READ_AT_MEMORY, at > p->sim->now_ps ? at : p->sim->now_ps);
	}
}

/* The read at the head of those on their way is at the memory: it samples. */
static void read_at_memory(struct bf_dma_port *p)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_dma_op *op = r->ops[r->mid & (r->cap - 1)];
	struct bf_rec_dma_rmw rmw = { .iova = op->iova, .len = op->len };

	r->due[DUE_READ_AT_MEMORY] = BF_NEVER;
	/* For other threads, too, this read does not pass the writes before it: x86 has loads pass stores otherwise. */
	if (BF_UNLIKELY(p->sim->shared))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	r->sampled = 0;
	r->sampled_va = 0;
	op->status = op->modify ? modify(p, op, &rmw) : sample(p, op);
	if (BF_LIKELY(!r->far))
		read_sampled(p, &rmw);
}

void bf_dma_answer(struct bf_dma_port *p, int status)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_dma_op *op = r->ops[r->mid & (r->cap - 1)];
	struct bf_rec_dma_rmw none = { 0 };

	assert(r->far);
	r->far = NULL;
	r->sampled += r->asked;
	op->status = status ? -EFAULT : sample(p, op);
	if (!r->far)
		read_sampled(p, &none);
}

/* The owner may start new operations on this port, so the rings are in order before it is called. */
static void read_returned(struct bf_dma_port *p)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_dma_op *op = r->ops[r->head++ & (r->cap - 1)];

	r->due[DUE_READ_RETURNED] = r->head != r->mid ? r->ops[r->head & (r->cap - 1)]->at_ps : BF_NEVER;
	op->done(op);
}

/* What is due first, by the order of the lanes at equal times; `*when` gets its time, BF_NEVER if nothing is due. */
static int earliest(const struct bf_dma_rings *r, uint64_t *when)
{
	uint64_t least = r->due[0];
	int first = 0;

	for (int i = 1; i < DUES; i++) {
		first = r->due[i] < least ? i : first;
		least = r->due[i] < least ? r->due[i] : least;
	}
	*when = least;
	return first;
}

static void on_due(struct bf_event *ev)
{
	struct bf_dma_rings *r = BF_CONTAINER_OF(ev, struct bf_dma_rings, event);
	struct bf_dma_port *p = r->port;
	uint64_t when;
	int which = earliest(r, &when);

	r->busy = true;
	do {
		if (which < LANES)
			land(p, which);
		else if (which == DUE_READ_AT_MEMORY)
			read_at_memory(p);
		else
			read_returned(p);
		which = earliest(r, &when);
		/* On a link where nothing takes time, what is due now goes on in this event. */
	} while (when != BF_NEVER &&
		 ((!p->link->profile.latency_ps && bf_sim_again(p->sim, when)) || bf_sim_step(p->sim, ev, when)));
	r->busy = false;
}
