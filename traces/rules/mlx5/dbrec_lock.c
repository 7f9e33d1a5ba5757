#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "sim/bytes.h"
#include "traces/rules/mlx5/ring.h"

struct state {
	struct bf_store most; /* the furthest index that is visible */
	bool set;
};

static struct bf_rule_queue *record_at(struct bf_rule_run *r, uint64_t va)
{
	const struct bf_ring *ring = bf_stores_ring_at(bf_rule_stores(r->rules), va);
	struct bf_rule_queue *queue = ring ? ring->queue : NULL;

	if (!queue || queue->family != &bf_rules_mlx5 || bf_mlx5_rule_of(queue)->dbrec_ring != ring ||
	    va != ring->va + 4)
		return NULL;
	return queue;
}

static void judge(struct bf_rule_run *r, const struct bf_seen *e, struct bf_rule_queue *queue,
		  const struct bf_store *now)
{
	struct state *s = bf_rule_queue_state(r, queue);
	const uint16_t value = bf_get_be16(now->bytes + 2), most = bf_get_be16(s->most.bytes + 2);
	struct bf_finding *f;

	/* A thread that stores a smaller index itself begins a queue anew; one thread's stores do not cross in order.
	 */
	if (!s->set || (int16_t)(value - most) >= 0 || (now->actor == s->most.actor && now->seq > s->most.seq)) {
		s->most = *now;
		s->set = true;
		return;
	}
	f = bf_rule_find(r, e, queue);
	if (!f)
		return;
	bf_finding_index(f, most);
	bf_finding_since(f, s->most.issued_ps, s->most.record);
	bf_finding_say(f,
		       "the doorbell record of QP 0x%" PRIx64 " on PE %" PRIu32 " went back from %" PRIu16
		       " to %" PRIu16 ": the store by %s became visible %s after the later one by %s",
		       queue->number, queue->pe, most, value, bf_rule_actor(r->rules, now->actor),
		       bf_store_lateness(now, s->most.visible_ps).text, bf_rule_actor(r->rules, s->most.actor));
}

/* The first post, or the device's first look, tells where the record lies: what became visible there before is made up
 * for. */
static void catch_up(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_ring *ring = bf_mlx5_rule_of(e->queue)->dbrec_ring;
	const struct state *s = bf_rule_queue_state(r, e->queue);

	if (!ring || s->set)
		return;
	for (uint32_t back = 64; back-- > 0;) {
		const struct bf_store *shown = bf_stores_shown(bf_rule_stores(r->rules), back);

		if (shown && shown->len == 4 && shown->va == ring->va + 4 &&
		    !bf_mlx5_rule_of_another(bf_mlx5_rule_of(e->queue), shown))
			judge(r, e, e->queue, shown);
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_stores *stores = bf_rule_stores(r->rules);
	struct bf_rule_queue *queue;
	const struct bf_store *shown;
	struct bf_store now;

	if (e->kind == BF_SEEN_qp_state) {
		/* A queue that is reset begins at 0 again, and so does one whose number was another's. */
		if (e->qp_state.to == BF_MLX5_QPS_RST || e->qp_state.from == BF_MLX5_QPS_RST)
			((struct state *)bf_rule_queue_state(r, e->queue))->set = false;
	} else if (e->kind == BF_SEEN_ibgda_post || e->kind == BF_SEEN_dbrec) {
		catch_up(r, e);
	} else if (e->kind == BF_SEEN_store_visible) {
		queue = e->store_visible.len == 4 ? record_at(r, e->store_visible.va) : NULL;
		shown = queue ? bf_stores_shown(stores, 0) : NULL;
		if (shown)
			judge(r, e, queue, shown);
	} else if (e->store.len == 4 && !bf_stores_buffered(stores)) {
		/* Where nothing is buffered, stores are visible when they are issued. */
		queue = record_at(r, e->store.va);
		now = *bf_stores_recent(stores, 0);
		now.visible_ps = now.issued_ps;
		if (queue)
			judge(r, e, queue, &now);
	}
}

/* A device that never had a doorbell does not look. */
static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(f->queue);

	(void)r;
	f->dropped = f->dropped || (q->configured && !q->doorbells && !q->dbrec.set);
}

const struct bf_rule bf_rule_mlx5_dbrec_lock = {
	.about = {
		.id = "MLX5-DBREC-LOCK",
		.family = "mlx5",
		.title = "two threads' stores to one doorbell record became visible in the wrong order",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The record holds one index per queue, and the last store that becomes visible wins. "
			    "The NIC believes whatever it reads.",
		.wrong = "A smaller index was stored over a larger one: entries that had been announced are taken "
			 "back, and the NIC does not fetch them.",
		.fix = "Store record and doorbell while holding the queue's lock, from the index read under the "
		       "lock, and let the lock's release order the stores; or use an atomic maximum.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_post_send (post_send_lock); "
			   "deepseek-ai/DeepEP#181",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --batch 1 --seed 10 --bug no-lock",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --batch 1 --seed 10",
	},
	.rank = BF_RANK_INDEX + 1,
	.records = BF_SEES(store, store_visible, ibgda_post, dbrec, qp_state),
	.when = BF_MLX5_TO_DBREC,
	.whens = 2,
	.needs = BF_SEES(store, ibgda_build),
	.queue_bytes = sizeof(struct state),
	.on = on,
	.tell = tell,
};
