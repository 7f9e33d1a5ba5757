#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/key.h"

#define KEYS 4096u
#define LOCAL 2u /* accesses up to this are the requester's own */

/* The device that a key was used on, and to no complaint; of keys that share a place the last one. */
struct use {
	uint32_t key, actor, pe, unit;
	bool set;
};
struct state {
	struct use lkey[KEYS], rkey[KEYS];
};

static struct use *place_of(struct use *table, uint64_t key)
{
	return &table[(uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) % KEYS];
}

static void note(struct use *table, uint64_t key, const struct bf_seen *e)
{
	struct use *u = place_of(table, key);

	if (key && !(u->set && u->key == key && u->pe == e->pe && u->unit == e->unit))
		*u = (struct use){ (uint32_t)key, e->actor, e->pe, e->unit, true };
}

static void refused(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const bool local = e->mkey_error.access <= LOCAL;
	const struct use *u = place_of(local ? s->lkey : s->rkey, e->mkey_error.key);
	struct bf_finding *f;

	if (!e->mkey_error.key || !u->set || u->key != e->mkey_error.key || u->pe != e->pe || u->unit == e->unit ||
	    e->mkey_error.why < BF_MLX5_KEY_UNKNOWN || e->mkey_error.why > BF_MLX5_KEY_PD)
		return;
	f = bf_rule_found(r, e->queue);
	bf_mlx5_rule_key_finding(r, e);
	if (f)
		return;
	f = bf_rule_found(r, e->queue);
	if (f)
		bf_finding_say(f, "; the key is one of another NIC of PE %" PRIu32 ": %s took it before", e->pe,
			       bf_rule_actor(r->rules, u->actor));
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;

	if (e->kind == BF_SEEN_wqe_done) {
		const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);

		if (!e->wqe_done.syndrome && q->lkey)
			note(s->lkey, q->lkey, e);
	} else if (e->kind == BF_SEEN_request_done) {
		note(s->rkey, e->request_done.rkey, e);
	} else {
		refused(r, e);
	}
}

const struct bf_rule bf_rule_mlx5_key_elsewhere = {
	.about = {
		.id = "MLX5-KEY-ELSEWHERE",
		.family = "mlx5",
		.title = "an access with the memory key of another NIC",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Each NIC has its own table of keys. Memory that several NICs of a PE reach is registered on "
			    "each of them, and has another key on each.",
		.wrong = "The key was looked up for another device than the queue's: a table with a wrong index, or traffic "
			 "that moved to another NIC and kept its old keys.",
		.fix = "Index key tables by the device that the queue is on, at both ends, and look keys up anew when "
		       "traffic moves.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_get_raddr_rkey (device index); mlx5 PRM, Memory Key",
		.example = "run ibgda-put --nics 2 --qp-choice message --messages 8 --bug key-device-0",
		.twin = "run ibgda-put --nics 2 --qp-choice message --messages 8",
	},
	.rank = BF_RANK_REFUSED - 1,
	.records = BF_SEES(wqe_done, request_done, mkey_error),
	.state_bytes = sizeof(struct state),
	.on = on,
};
