/*
 * Operations on barriers of another block of the cluster: from the sender's port over the cluster network to the unit
 * of the other SM. Lanes that name one barrier travel as one request (row kind remote_throughput).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/hopper/hopper_internal.h"
#include "models/hopper/records.h"

/* A remote operation on its way. */
struct bf_hopper_message {
	struct bf_event event;
	struct bf_hopper *gpu;
	struct bf_hopper_cluster *cluster;
	struct bf_hopper_message *next_idle;
	struct bf_hopper_message *next; /* of all */
	uint32_t address;               /* of the barrier, with the rank */
	uint32_t count, tx;
	uint32_t data;
	uint32_t from_sm, warp, lane;
	uint64_t value;
	bf_hopper_combine_fn *combine;
	uint32_t how;
	uint8_t op;
	bool busy;
};

void bf_hopper_messages_free(struct bf_hopper *gpu)
{
	for (struct bf_hopper_message *m = gpu->messages, *next; m; m = next) {
		next = m->next;
		bf_sim_cancel(gpu->sim, &m->event);
		if (m->busy)
			bf_hopper_cluster_put(m->cluster);
		free(m);
	}
	gpu->messages = gpu->idle = NULL;
}

static void record_remote(const struct bf_hopper_message *m, uint32_t actor_sm, uint64_t at_ps, bool arrived)
{
	struct bf_hopper *gpu = m->gpu;

	BF_EMIT(gpu->sim, gpu->sm[actor_sm].actor, hopper_remote, .at_ps = at_ps, .address = m->address,
		.warp = m->warp, .sm = m->from_sm, .op = m->op, .arrived = arrived);
}

static void raise_for(const struct bf_hopper_message *m, enum bf_hopper_fault_kind kind, enum bf_mbar_fault barrier,
		      uint32_t sm, uint64_t word)
{
	const struct bf_hopper_fault f = {
		.kind = kind,
		.barrier = barrier,
		.op = (enum bf_sync_op)m->op,
		.sm = sm,
		.warp = m->warp,
		.lane = m->lane,
		.address = m->address,
		.word = word,
	};

	bf_hopper_raise(m->gpu, &f);
}

/* The request is at the other SM's unit. */
static void arrived(struct bf_event *ev)
{
	struct bf_hopper_message *m = BF_CONTAINER_OF(ev, struct bf_hopper_message, event);
	struct bf_hopper_cta *to = m->cluster->cta[m->address >> BF_HOPPER_RANK_SHIFT];
	struct bf_hopper *gpu = m->gpu;
	enum bf_sync_op op = (enum bf_sync_op)m->op;
	enum bf_mbar_fault fault = BF_MBAR_OK;
	uint32_t address;

	m->busy = false;
	m->next_idle = gpu->idle;
	gpu->idle = m;
	if (gpu->fault.kind) {
		/* the kernel has ended: nothing happens any more */
	} else if (!to) {
		raise_for(m, BF_HOPPER_FAULT_GONE, BF_MBAR_OK, m->from_sm, 0);
	} else {
		record_remote(m, to->sm->id, gpu->sim->now_ps, true);
		address = to->base + (m->address & BF_HOPPER_OFFSET);
		if (op == BF_SYNC_ST_ASYNC) {
			uint8_t *at = to->sm->shared + to->base + (m->data & BF_HOPPER_OFFSET);

			if (m->combine)
				m->combine(m->how, true, at, &m->value, m->tx);
			else
				memcpy(at, &m->value, m->tx);
			op = BF_SYNC_COMPLETE_TX;
		}
		bf_sync_update(to->sm->unit, op, address, m->count, m->tx, m->warp, &fault);
		if (fault)
			raise_for(m, BF_HOPPER_FAULT_BARRIER, fault, to->sm->id,
				  bf_sync_peek(to->sm->unit, address, NULL));
	}
	bf_hopper_cluster_put(m->cluster);
}

static struct bf_hopper_message *take_message(struct bf_hopper *gpu)
{
	struct bf_hopper_message *m = gpu->idle;

	if (m) {
		gpu->idle = m->next_idle;
		return m;
	}
	m = calloc(1, sizeof(*m));
	if (!m) {
		bf_fail(&gpu->sim->error, -ENOMEM, "%s: no memory for a message to another SM", gpu->name);
		return NULL;
	}
	bf_event_init(&m->event, arrived);
	m->gpu = gpu;
	m->next = gpu->messages;
	gpu->messages = m;
	return m;
}

/* Lanes of `lanes` that do the same to the barrier of its first one become one request. */
static uint32_t gather(const struct bf_sync_instr *in, uint32_t lanes, struct bf_hopper_message *m)
{
	const uint32_t first = (uint32_t)__builtin_ctz(lanes);
	uint32_t taken = 0;

	m->op = in->op;
	m->address = in->address[first];
	m->lane = first;
	m->warp = in->warp;
	m->count = m->tx = 0;
	m->data = in->data[first];
	m->value = in->token[first];
	m->combine = in->combine;
	m->how = in->how;
	for (uint32_t left = lanes; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		if (in->address[lane] != m->address)
			continue;
		taken |= 1u << lane;
		m->count += in->count[lane];
		m->tx += in->tx[lane];
		if (in->op == BF_SYNC_ST_ASYNC)
			break; /* each store has its own data */
	}
	return taken;
}

static uint64_t latency_ps(const struct bf_hopper_cta *cta, const struct bf_sync_instr *in)
{
	const struct bf_hopper_profile *p = &cta->sm->gpu->profile;
	uint64_t mc = p->remote_mc;

	mc += cta->cluster->ctas > 2 ? p->remote_far_mc : 0;
	mc += in->op == BF_SYNC_ST_ASYNC ? p->remote_store_mc : 0;
	return bf_hopper_mc(cta->sm->gpu, mc);
}

void bf_hopper_send(struct bf_hopper_cta *cta, struct bf_sync_instr *in, uint32_t own)
{
	struct bf_hopper_sm *sm = cta->sm;
	struct bf_hopper *gpu = sm->gpu;
	const struct bf_hopper_profile *p = &gpu->profile;
	const uint64_t flight = latency_ps(cta, in);
	uint32_t lanes = in->active & ~own;
	uint64_t go = gpu->sim->now_ps + (in->release ? bf_hopper_mc(gpu, p->remote_release_mc) : 0);

	for (uint32_t taken; lanes; lanes &= ~taken) {
		struct bf_hopper_message *m = take_message(gpu);

		if (!m) {
			bf_fail(&gpu->sim->error, -ENOMEM, "out of memory: a remote barrier operation is lost");
			break;
		}
		taken = gather(in, lanes, m);
		m->cluster = cta->cluster;
		m->cluster->holds++;
		m->from_sm = sm->id;
		m->busy = true;
		go = go > sm->send_ps ? go : sm->send_ps;
		sm->send_ps = go + bf_hopper_mc(gpu, p->remote_send_mc);
		record_remote(m, sm->id, go, false);
		bf_sim_at(gpu->sim, &m->event, go + flight);
	}
	bf_sync_issue_sent(sm->unit, in, own, go);
}
