#include "sim/pcie.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/pcie_internal.h"
#include "sim/pool.h"
#include "sim/records_io.h"
#include "sim/stats.h"
#include "sim/train.h"

/*
 * Bandwidth: 32 GT/s on 16 lanes with 128b/130b coding is 63.015 GB/s (PCIe Base Specification 5.0, section 4.2.2), so
 * 1024 bytes take 16250 ps.
 * TLP overhead: 4 bytes of start framing with the sequence number, 16 of header with a 64-bit address, 4 of LCRC
 * (sections 2.2.1 and 3.6); completions need 4 less. DLLPs (acknowledgements, flow control) are not charged.
 * Payload 512 and request 4096 are what servers negotiate with recent adapters: assumed.
 * Latency: 150 ns one way and 200 ns in root complex and memory are assumed; together they give the half microsecond
 * that Neugebauer et al., "Understanding PCIe performance for end host networking" (SIGCOMM 2018), measured for small
 * DMA reads on servers. Lateness of relaxed writes: assumed.
 */
const struct bf_link_profile bf_link_profile_gen5_x16 = {
	.latency_ps = 150 * BF_NS,
	.mem_ps = 200 * BF_NS,
	.ps_per_kib = 16250,
	.max_payload = 512,
	.max_read_request = 4096,
	.tlp_overhead = 24,
	.relaxed_ps = 100 * BF_NS,
};

#define MMIO_MAX 64u

struct mmio_store {
	uint64_t at_ps;
	uint64_t offset;
	struct bf_region *region; /* NULL: forgotten */
	uint32_t len;
	uint8_t data[MMIO_MAX];
};

/* Stores on their way down: slots[head..tail) modulo `cap`, a power of two, in order of arrival. */
struct bf_link_mmio {
	struct bf_event due;
	struct bf_link *link;
	struct mmio_store *slots;
	uint32_t head, tail, cap;
	bool busy; /* inside on_mmio_due(), which schedules the event itself */
};

static void on_mmio_due(struct bf_event *ev);
static void mmio_ahead(const struct bf_event *ev, bool first);

int bf_link_init(struct bf_link *l, struct bf_sim *sim, const char *name, const struct bf_link_profile *profile)
{
	struct bf_link_mmio *m;
	uint32_t actor;

	if (!profile->max_payload || !profile->max_read_request)
		return bf_fail(&sim->error, -EINVAL, "link '%s': payload and request sizes must not be 0", name);
	m = bf_pool_take(sim, sizeof(*m));
	actor = m ? bf_stream_actor(&sim->rec, "link", name) : 0;
	if (!actor || bf_stats_attach_part(sim, l, name, "up_bytes", "B", &l->up_bytes) ||
	    bf_stats_attach_part(sim, l, name, "down_bytes", "B", &l->down_bytes)) {
		bf_stats_detach(sim, l);
		bf_pool_give(sim, m, sizeof(*m));
		return bf_fail(&sim->error, -ENOMEM, "link '%s': no memory", name);
	}
	*l = (struct bf_link){ .sim = sim, .profile = *profile, .actor = actor, .mmio = m };
	m->link = l;
	bf_event_init(&m->due, on_mmio_due);
	bf_sim_look_ahead(sim, on_mmio_due, mmio_ahead);
	return 0;
}

void bf_link_fini(struct bf_link *l)
{
	if (l->mmio) {
		bf_stats_detach(l->sim, l);
		bf_sim_cancel(l->sim, &l->mmio->due);
		bf_pool_give(l->sim, l->mmio->slots, l->mmio->cap * sizeof(struct mmio_store));
		bf_pool_give(l->sim, l->mmio, sizeof(*l->mmio));
	}
	*l = (struct bf_link){ 0 };
}

void bf_link_forget(struct bf_link *l, const struct bf_region *r)
{
	struct bf_link_mmio *m = l->mmio;

	for (uint32_t i = m ? m->head : 0; m && i != m->tail; i++)
		if (m->slots[i & (m->cap - 1)].region == r)
			m->slots[i & (m->cap - 1)].region = NULL;
}

/* The store is at the device. */
static void arrive(struct bf_region *r, uint64_t offset, const void *data, uint32_t len)
{
	struct bf_sim *sim = r->space->sim;
	uint32_t actor = r->link ? r->link->actor : 0;
	struct bf_fault lost;

	if (bf_fault_check(sim, BF_FAULT_LOST_DOORBELL, actor, 0, &lost))
		return;
	BF_EMIT_TAIL(sim, actor, mmio_arrive, data, len, .va = r->va + offset, .offset = offset, .region = r->id,
		     .len = len);
	r->mmio->write(r, offset, data, len);
}

/* The device's callback may post again, so the store leaves the ring first. */
static void arrive_head(struct bf_link_mmio *m)
{
	struct mmio_store s = m->slots[m->head++ & (m->cap - 1)];

	if (s.region)
		arrive(s.region, s.offset, s.data, s.len);
}

static void on_mmio_due(struct bf_event *ev)
{
	struct bf_link_mmio *m = BF_CONTAINER_OF(ev, struct bf_link_mmio, due);

	m->busy = true;
	do
		arrive_head(m);
	while (m->head != m->tail && bf_sim_step(m->link->sim, ev, m->slots[m->head & (m->cap - 1)].at_ps));
	m->busy = false;
}

static void mmio_ahead(const struct bf_event *ev, bool first)
{
	const struct bf_link_mmio *m = BF_CONTAINER_OF(ev, struct bf_link_mmio, due);
	const struct mmio_store *s;

	if (m->head == m->tail)
		return;
	s = &m->slots[m->head & (m->cap - 1)];
	__builtin_prefetch(s, 1);
	__builtin_prefetch(s + 1, 1);
	if (!first && s->region && s->region->mmio->expect)
		s->region->mmio->expect(s->region, s->data, s->len);
}

static bool reserve_store(struct bf_link_mmio *m)
{
	uint32_t cap = m->cap ? m->cap * 2 : 16;
	struct mmio_store *grown;

	if (m->tail - m->head < m->cap)
		return true;
	grown = bf_pool_take(m->link->sim, cap * sizeof(*grown));
	if (!grown)
		return false;
	for (uint32_t i = m->head; i != m->tail; i++)
		grown[i & (cap - 1)] = m->slots[i & (m->cap - 1)];
	bf_pool_give(m->link->sim, m->slots, m->cap * sizeof(*grown));
	m->slots = grown;
	m->cap = cap;
	return true;
}

void bf_mmio_post(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	struct bf_link *l = region->link;
	struct bf_link_mmio *m;
	struct mmio_store *s;

	if (!region->mmio || !len || len > MMIO_MAX || offset > region->size || len > region->size - offset)
		return;
	if (!l) {
		arrive(region, offset, data, len);
		return;
	}
	m = l->mmio;
	if (!reserve_store(m)) {
		bf_fail(&l->sim->error, -ENOMEM, "region '%s': no memory for a store on its way", region->name);
		return;
	}
	s = &m->slots[m->tail++ & (m->cap - 1)];
	s->at_ps = link_charge_down(l, len + l->profile.tlp_overhead) + l->profile.latency_ps;
	s->offset = offset;
	s->region = region;
	s->len = len;
	memcpy(s->data, data, len);
	if (!m->busy && m->tail - m->head == 1)
		bf_sim_at(l->sim, &m->due, s->at_ps);
}

/* What is on its way now arrives now; what the device's callbacks post meanwhile travels as ever. */
static void flush_stores(struct bf_link_mmio *m)
{
	for (uint32_t n = m->tail - m->head; n && m->head != m->tail; n--)
		arrive_head(m);
	if (m->busy)
		return;
	bf_sim_cancel(m->link->sim, &m->due);
	if (m->head != m->tail)
		bf_sim_at(m->link->sim, &m->due, m->slots[m->head & (m->cap - 1)].at_ps);
}

static uint64_t all_ones(uint32_t len)
{
	return len >= 8 ? UINT64_MAX : (1ull << (8 * len)) - 1;
}

/*
 * The completion's way up is charged in bytes only: reserving the direction for a time that lies ahead would hold up
 * the DMA requests that leave before.
 */
static uint64_t load_done(struct bf_link *l, uint32_t len)
{
	const struct bf_link_profile *p = &l->profile;
	uint64_t at = link_charge_down(l, p->tlp_overhead) + p->latency_ps;
	uint64_t bytes = len + p->tlp_overhead;

	if (at < l->up_free_ps)
		at = l->up_free_ps;
	l->up_bytes += bytes;
	at += (bytes * p->ps_per_kib + 1023) / 1024 + p->latency_ps;
	return at > l->posted_ps ? at : l->posted_ps;
}

uint64_t bf_mmio_load(struct bf_region *region, uint64_t offset, uint32_t len, uint64_t *done_ps)
{
	struct bf_link *l = region->link;
	struct bf_sim *sim = region->space->sim;
	uint64_t value = all_ones(len);

	*done_ps = sim->now_ps;
	if (l) {
		flush_stores(l->mmio);
		*done_ps = load_done(l, len);
	}
	if (region->mmio && region->mmio->read && len && len <= 8 && offset <= region->size &&
	    len <= region->size - offset)
		value &= region->mmio->read(region, offset, len);
	BF_EMIT(sim, l ? l->actor : 0, mmio_load, .va = region->va + offset, .value = value, .done_ps = *done_ps,
		.region = region->id, .len = len);
	return value;
}
