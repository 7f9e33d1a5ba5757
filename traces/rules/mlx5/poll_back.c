#include <inttypes.h>

#include "sim/bytes.h"
#include "traces/rules/mlx5/mlx5.h"

#define COUNTERS 1024u

/* Words that pollers store what is complete into; of two that share a place the later one is kept. */
struct state {
	struct counter {
		uint64_t va;
		struct bf_rule_queue *queue;
		struct bf_store most; /* the largest that is visible */
		bool set;
	} counter[COUNTERS];
};

static struct counter *place(struct state *s, uint64_t va)
{
	return &s->counter[(va * 0x9e3779b97f4a7c15ull >> 40) % COUNTERS];
}

/* Where the poller has just stored it. */
static void learn(struct bf_rule_run *r, const struct bf_seen *e)
{
	for (uint32_t back = 0; back < 16; back++) {
		const struct bf_store *s = bf_stores_recent(bf_rule_stores(r->rules), back);
		struct counter *c;

		if (!s)
			return;
		if (s->actor != e->actor || s->len != 8 || bf_get_le64(s->bytes) != e->ibgda_consume.to)
			continue;
		c = place(r->state, s->va);
		if (c->va != s->va)
			*c = (struct counter){ .va = s->va, .queue = e->queue };
		return;
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const struct bf_store *now;
	struct counter *c;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_ibgda_consume) {
		bf_rule_spare(r, BF_SEEN_NONE);
		learn(r, e);
		return;
	}
	c = e->store_visible.len == 8 ? place(s, e->store_visible.va) : NULL;
	now = c && c->queue && c->va == e->store_visible.va ? bf_stores_shown(bf_rule_stores(r->rules), 0) : NULL;
	if (!now)
		return;
	if (!c->set || bf_get_le64(now->bytes) >= bf_get_le64(c->most.bytes)) {
		c->most = *now;
		c->set = true;
		return;
	}
	f = bf_rule_find(r, e, c->queue);
	if (!f)
		return;
	bf_finding_index(f, bf_get_le64(now->bytes));
	bf_finding_since(f, c->most.issued_ps, c->most.record);
	bf_finding_say(f,
		       "what is complete of QP 0x%" PRIx64 " on PE %" PRIu32 " went back from %" PRIu64 " to %" PRIu64
		       ": the store by %s became visible %s after the one by %s, and neither takes the maximum",
		       c->queue->number, c->queue->pe, bf_get_le64(c->most.bytes), bf_get_le64(now->bytes),
		       bf_rule_actor(r->rules, now->actor), bf_store_lateness(now, c->most.visible_ps).text,
		       bf_rule_actor(r->rules, c->most.actor));
}

const struct bf_rule bf_rule_mlx5_poll_back = {
	.about = {
		.id = "MLX5-POLL-BACK",
		.family = "mlx5",
		.title = "the completed index went back",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A collapsed CQ shows its pollers the latest completion and no history. Two pollers that look at " "different times see different ones.",
		.wrong = "The one that looked earlier stored later. Whoever uses the counter now waits for a completion " "that is long past, and after 65536 entries takes an old counter for a new one.",
		.fix = "Use one poller per queue pair, or update the counter by an atomic maximum and read it before " "each poll.",
		.sources = "deepseek-ai/DeepEP PR#702; ROCm/mori PR#607; NVIDIA/nvshmem ibgda_device.cuh "
			    "ibgda_poll_cq",
		.example = "run ibgda-put --blocks 2 --warps 4 --qp-choice first --messages 32 --quiet-every 1 "
			    "--seed 4 --ordering adversarial --bug poll-store",
		.twin = "run ibgda-put --blocks 2 --warps 4 --qp-choice first --messages 32 --quiet-every 1 --seed 4 "
			    "--ordering adversarial",
	},
	.rank = BF_RANK_COMPLETION - 1,
	.records = BF_SEES(ibgda_consume, store_visible),
	.spares = BF_SEEN_store_visible, /* until some driver does this at all */
	.state_bytes = sizeof(struct state),
	.on = on,
};
