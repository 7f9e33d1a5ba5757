#include "models/hopper/ldgsts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/hopper/bulk_internal.h"
#include "models/hopper/records_bulk.h"

#define LANE_BYTES 16u

/* A warp's cp.async under way. */
struct bf_ldgsts_txn {
	struct bf_event event; /* the bytes land */
	struct bf_ldgsts_txn *next, *all;
	struct bf_bulk_sm *from;
	struct bf_hopper_cluster *cluster; /* NULL: idle */
	struct bf_group_item item;
	uint32_t rank, slot, active, bytes;
	uint32_t shared[BF_WARP_LANES];
	uint8_t data[BF_WARP_LANES][LANE_BYTES];
};

/* Lanes whose arrival waits for their copies. */
struct bf_ldgsts_mark {
	struct bf_copy_wait wait;
	struct bf_ldgsts_mark *next, *all;
	struct bf_bulk_sm *from;
	struct bf_hopper_cluster *cluster; /* NULL: idle */
	uint32_t rank, address;
	bool noinc;
	enum bf_ldgsts_barrier barrier;
};

void bf_ldgsts_free(struct bf_bulk *b)
{
	struct bf_sim *sim = b->gpu->sim;

	for (struct bf_ldgsts_txn *t = b->txns, *next; t; t = next) {
		next = t->all;
		bf_sim_cancel(sim, &t->event);
		if (t->cluster)
			bf_hopper_cluster_put(t->cluster);
		free(t);
	}
	for (struct bf_ldgsts_mark *m = b->marks, *next; m; m = next) {
		next = m->all;
		bf_sim_cancel(sim, &m->wait.event);
		if (m->cluster)
			bf_hopper_cluster_put(m->cluster);
		free(m);
	}
}

static void raise(struct bf_bulk_sm *s, enum bf_bulk_fault why, uint32_t slot, uint32_t lane, uint64_t global,
		  uint32_t shared)
{
	const struct bf_bulk_copy copy = { .lane = lane, .global = global, .shared = shared };

	bf_bulk_raise(s, why, &copy, slot);
}

/* ---- copies ---- */

static void landed(struct bf_event *ev)
{
	struct bf_ldgsts_txn *t = BF_CONTAINER_OF(ev, struct bf_ldgsts_txn, event);
	struct bf_bulk_sm *s = t->from;
	struct bf_hopper_cta *cta = t->cluster->cta[t->rank];

	if (s->bulk->gpu->fault.kind)
		return; /* the kernel has ended: nothing happens any more */
	for (uint32_t left = cta ? t->active : 0; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		bf_bulk_plain_store(cta, t->slot - cta->first_warp, t->shared[lane], t->data[lane], t->bytes);
	}
	bf_groups_done(&s->async_groups, &t->item);
	bf_hopper_cluster_put(t->cluster);
	t->cluster = NULL;
	t->next = s->bulk->idle_txns;
	s->bulk->idle_txns = t;
}

static struct bf_ldgsts_txn *take_txn(struct bf_bulk *b)
{
	struct bf_ldgsts_txn *t = b->idle_txns;

	if (t) {
		b->idle_txns = t->next;
		return t;
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		bf_fail(&b->gpu->sim->error, -ENOMEM, "out of memory: an asynchronous copy is lost");
		return NULL;
	}
	bf_event_init(&t->event, landed);
	t->all = b->txns;
	b->txns = t;
	return t;
}

/* Whether `len` bytes at a shared address lie in the own block. */
static bool own(const struct bf_hopper_cta *cta, uint32_t address, uint32_t len)
{
	return address >> BF_HOPPER_RANK_SHIFT == cta->rank && (address & BF_HOPPER_OFFSET) + len <= cta->bytes;
}

/* Reads one lane's source. */
static enum bf_bulk_fault sample(const struct bf_hopper_cta *cta, const struct bf_ldgsts_copy *c, uint32_t lane,
				 uint8_t *data)
{
	const uint32_t n = c->source[lane] < c->bytes ? c->source[lane] : c->bytes;

	memset(data, 0, c->bytes);
	if (c->shared[lane] % c->bytes || c->global[lane] % c->bytes)
		return BF_BULK_FAULT_ALIGN;
	if (!own(cta, c->shared[lane], c->bytes))
		return BF_BULK_FAULT_WINDOW;
	if (n && !bf_bulk_global_read(bf_bulk_sm(cta->sm), c->global[lane], data, n))
		return BF_BULK_FAULT_GLOBAL;
	return BF_BULK_OK;
}

static void record_copy(const struct bf_hopper_cta *cta, const struct bf_ldgsts_copy *c, uint32_t slot)
{
	const uint32_t first = c->active ? (uint32_t)__builtin_ctz(c->active) : 0;
	struct bf_sim *sim = cta->sm->gpu->sim;

	BF_EMIT(sim, cta->sm->actor, hopper_ldgsts, .global = c->global[first], .shared = c->shared[first],
		.lanes = c->active, .warp = slot, .bytes = c->bytes);
}

void bf_ldgsts_issue(struct bf_hopper_cta *cta, struct bf_ldgsts_copy *c)
{
	struct bf_hopper *gpu = cta->sm->gpu;
	const struct bf_hopper_profile *p = &gpu->profile;
	struct bf_bulk_sm *s = bf_bulk_sm(cta->sm);
	const uint32_t slot = cta->first_warp + c->warp;
	enum bf_bulk_fault fault = BF_BULK_OK;
	struct bf_ldgsts_txn *t;
	uint32_t lane = 0;

	c->next_ps = gpu->sim->now_ps + bf_hopper_mc(gpu, p->ldgsts_issue_mc);
	if (!s || gpu->fault.kind)
		return;
	record_copy(cta, c, slot);
	if (c->bytes != 4 && c->bytes != 8 && c->bytes != 16) {
		raise(s, BF_BULK_FAULT_SIZE, slot, 0, c->global[0], c->shared[0]);
		return;
	}
	t = take_txn(s->bulk);
	if (!t)
		return;
	for (uint32_t left = c->active; !fault && left; left &= left - 1) {
		lane = (uint32_t)__builtin_ctz(left);
		t->shared[lane] = c->shared[lane];
		fault = sample(cta, c, lane, t->data[lane]);
	}
	if (fault) {
		t->next = s->bulk->idle_txns;
		s->bulk->idle_txns = t;
		raise(s, fault, slot, lane, c->global[lane], c->shared[lane]);
		return;
	}
	t->from = s;
	t->cluster = cta->cluster;
	t->cluster->holds++;
	t->rank = cta->rank;
	t->slot = slot;
	t->active = c->active;
	t->bytes = c->bytes;
	bf_groups_add(&s->async_groups, &t->item, slot, c->active);
	bf_sim_after(gpu->sim, &t->event,
		     bf_hopper_mc(gpu, p->ldgsts_mc) + bf_rng_below(&s->rng, bf_hopper_mc(gpu, p->bulk_spread_mc) + 1));
}

/* ---- groups ---- */

void bf_ldgsts_commit(struct bf_hopper_cta *cta, uint32_t warp, uint32_t lanes)
{
	bf_bulk_group_commit(cta, BF_GROUPS_ASYNC, warp, lanes);
}

void bf_ldgsts_wait(struct bf_hopper_cta *cta, struct bf_copy_wait *w)
{
	w->read = false;
	bf_bulk_group_wait(cta, BF_GROUPS_ASYNC, w);
}

/* ---- arriving on barriers ---- */

static void barrier_fault(struct bf_hopper_sm *sm, enum bf_mbar_fault why, enum bf_sync_op op, uint32_t slot,
			  uint32_t address, uint64_t word)
{
	const struct bf_hopper_fault f = {
		.kind = BF_HOPPER_FAULT_BARRIER,
		.barrier = why,
		.op = op,
		.sm = sm->id,
		.warp = slot,
		.address = address,
		.word = word,
	};

	bf_hopper_raise(sm->gpu, &f);
}

/* Changes a barrier of the sync unit. */
static void update(struct bf_hopper_cta *cta, enum bf_sync_op op, uint32_t address, uint32_t n, uint32_t slot)
{
	const uint32_t at = cta->base + (address & BF_HOPPER_OFFSET);
	const bool arrives = op == BF_SYNC_ARRIVE;
	enum bf_mbar_fault fault = BF_MBAR_OK;

	bf_sync_update(cta->sm->unit, op, at, arrives ? n : 0, arrives ? 0 : n, slot, &fault);
	if (fault)
		barrier_fault(cta->sm, fault, op, slot, address, bf_sync_peek(cta->sm->unit, at, NULL));
}

static uint64_t get_word(const struct bf_hopper_cta *cta, uint32_t address)
{
	return bf_get_le64(cta->sm->shared + cta->base + (address & BF_HOPPER_OFFSET));
}

/* An Ampere-style arrival in memory. */
static uint64_t arrive_in_memory(struct bf_hopper_cta *cta, uint32_t slot, uint32_t address, uint32_t n)
{
	const uint64_t before = get_word(cta, address);
	uint64_t word = before;
	const enum bf_mbar_fault fault = bf_mbar_arrive(&word, n, false, 0, NULL);

	if (fault)
		barrier_fault(cta->sm, fault, BF_SYNC_ARRIVE, slot, address, before);
	else
		bf_bulk_plain_store(cta, slot - cta->first_warp, address, &word, sizeof(word));
	return before;
}

/* One more arrival is pending: ATOMS.ADD, which checks nothing. */
static void add_pending(struct bf_hopper_cta *cta, uint32_t slot, uint32_t address, uint32_t n)
{
	const uint64_t word = get_word(cta, address);
	const uint64_t minus = BF_FIELD_GET(BF_MBAR_PENDING, word) - n;
	const uint64_t sum = (word & ~BF_MBAR_PENDING) | BF_FIELD_PREP(BF_MBAR_PENDING, minus);

	bf_bulk_plain_store(cta, slot - cta->first_warp, address, &sum, sizeof(sum));
}

static void record_arrive(const struct bf_bulk_sm *s, uint32_t slot, uint32_t address, uint32_t lanes, bool noinc,
			  uint16_t event)
{
	struct bf_sim *sim = s->bulk->gpu->sim;

	BF_EMIT(sim, s->sm->actor, hopper_ldgsts_arrive, .address = address, .lanes = lanes, .warp = slot,
		.noinc = noinc, .event = event);
}

/* The copies of the mark's lanes have ended. */
static void triggered(struct bf_copy_wait *w)
{
	struct bf_ldgsts_mark *m = BF_CONTAINER_OF(w, struct bf_ldgsts_mark, wait);
	struct bf_bulk_sm *s = m->from;
	struct bf_hopper_cta *cta = m->cluster->cta[m->rank];
	const uint32_t n = (uint32_t)__builtin_popcount(w->lanes);

	if (cta && !s->bulk->gpu->fault.kind) {
		record_arrive(s, w->slot, m->address, w->lanes, m->noinc, 1);
		if (m->barrier == BF_LDGSTS_ATOMS)
			arrive_in_memory(cta, w->slot, m->address, n);
		else
			update(cta, m->noinc ? BF_SYNC_ARRIVE : BF_SYNC_COMPLETE_TX, m->address, n, w->slot);
	}
	bf_hopper_cluster_put(m->cluster);
	m->cluster = NULL;
	m->next = s->bulk->idle_marks;
	s->bulk->idle_marks = m;
}

static struct bf_ldgsts_mark *take_mark(struct bf_bulk *b)
{
	struct bf_ldgsts_mark *m = b->idle_marks;

	if (m) {
		b->idle_marks = m->next;
		return m;
	}
	m = calloc(1, sizeof(*m));
	if (!m) {
		bf_fail(&b->gpu->sim->error, -ENOMEM, "out of memory: an arrival of asynchronous copies is lost");
		return NULL;
	}
	bf_event_init(&m->wait.event, NULL);
	m->all = b->marks;
	b->marks = m;
	return m;
}

/* Of `lanes`, those that name the first one's barrier and wait for the same copies. */
static uint32_t alike(const struct bf_groups_warp *gw, const struct bf_ldgsts_arrive *a, uint32_t lanes)
{
	const uint32_t first = (uint32_t)__builtin_ctz(lanes);
	uint32_t same = 0;

	for (uint32_t left = lanes; left; left &= left - 1)
		if (a->address[__builtin_ctz(left)] == a->address[first])
			same |= left & -left;
	for (const struct bf_group_item *i = gw->items; i; i = i->next)
		same &= i->lanes >> first & 1 ? i->lanes : ~i->lanes;
	return same;
}

static void mark(struct bf_bulk_sm *s, struct bf_hopper_cta *cta, const struct bf_ldgsts_arrive *a, uint32_t lanes)
{
	const uint32_t slot = cta->first_warp + a->warp, address = a->address[__builtin_ctz(lanes)];
	const uint32_t n = (uint32_t)__builtin_popcount(lanes);
	struct bf_ldgsts_mark *m = take_mark(s->bulk);

	if (!m)
		return;
	record_arrive(s, slot, address, lanes, a->noinc, 0);
	if (!a->noinc && a->barrier == BF_LDGSTS_ATOMS)
		add_pending(cta, slot, address, n);
	else if (!a->noinc)
		update(cta, BF_SYNC_EXPECT_TX, address, n, slot);
	m->from = s;
	m->cluster = cta->cluster;
	m->cluster->holds++;
	m->rank = cta->rank;
	m->address = address;
	m->noinc = a->noinc;
	m->barrier = a->barrier;
	m->wait.slot = slot;
	m->wait.lanes = lanes;
	m->wait.read = false;
	m->wait.killed = false;
	m->wait.done = triggered;
	bf_groups_wait(&s->async_groups, &m->wait, true, 0);
}

void bf_ldgsts_arrive(struct bf_hopper_cta *cta, struct bf_ldgsts_arrive *a)
{
	struct bf_hopper *gpu = cta->sm->gpu;
	struct bf_bulk_sm *s = bf_bulk_sm(cta->sm);
	const uint32_t slot = cta->first_warp + a->warp;
	uint32_t left = a->active;

	a->next_ps = gpu->sim->now_ps + bf_hopper_mc(gpu, gpu->profile.issue_mc);
	while (s && left && !gpu->fault.kind) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left),
			       lanes = alike(&s->async_groups.warp[slot], a, left);

		if (a->address[lane] % 8 || !own(cta, a->address[lane], 8)) {
			raise(s, a->address[lane] % 8 ? BF_BULK_FAULT_ALIGN : BF_BULK_FAULT_WINDOW, slot, lane, 0,
			      a->address[lane]);
			return;
		}
		mark(s, cta, a, lanes);
		left &= ~lanes;
	}
}

/* ---- Ampere's barriers ---- */

/* Whether the address will do; else the kernel ends. */
static bool good_address(struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, enum bf_sync_op op)
{
	const struct bf_hopper_fault f = {
		.kind = BF_HOPPER_FAULT_ADDRESS,
		.op = op,
		.sm = cta->sm->id,
		.warp = cta->first_warp + warp,
		.address = address,
	};

	if (address % 8 == 0 && own(cta, address, 8))
		return true;
	bf_hopper_raise(cta->sm->gpu, &f);
	return false;
}

uint64_t bf_atoms_init(struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, uint32_t count)
{
	struct bf_hopper *gpu = cta->sm->gpu;
	uint64_t word = 0;
	const enum bf_mbar_fault fault = bf_mbar_init(&word, count);

	if (fault)
		barrier_fault(cta->sm, fault, BF_SYNC_INIT, cta->first_warp + warp, address, 0);
	else
		bf_bulk_plain_store(cta, warp, address, &word, sizeof(word));
	return gpu->sim->now_ps + bf_hopper_mc(gpu, gpu->profile.issue_mc);
}

uint64_t bf_atoms_arrive(struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, uint32_t count, uint64_t *token)
{
	struct bf_hopper *gpu = cta->sm->gpu;

	*token = 0;
	if (good_address(cta, warp, address, BF_SYNC_ARRIVE))
		*token = arrive_in_memory(cta, cta->first_warp + warp, address, count);
	return gpu->sim->now_ps + bf_hopper_mc(gpu, gpu->profile.atomic_mc);
}

uint64_t bf_atoms_test(struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, uint32_t parity, bool *done)
{
	struct bf_hopper *gpu = cta->sm->gpu;

	*done = good_address(cta, warp, address, BF_SYNC_TEST_PARITY) &&
		bf_mbar_phase(get_word(cta, address)) != (parity & 1);
	return gpu->sim->now_ps + bf_hopper_mc(gpu, gpu->profile.load_mc);
}
