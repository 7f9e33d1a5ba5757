#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

#define RESULTS 1024u

/* Where the last entry with a result in an internal buffer puts it; by hash of the address. */
struct result {
	struct bf_rule_queue *queue;
	uint64_t va, index;
};

struct run {
	struct result result[RESULTS];
};

struct state {
	uint64_t taken, given; /* slots, all together */
};

/* An atomic begins whose result goes where another queue pair's, which is not done, goes as well. */
static void on_start(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct state *s = bf_rule_queue_state(r, e->queue);
	const uint64_t va = e->wqe_start.va;
	struct run *run = r->state;
	struct result *last = &run->result[(va >> 3) * 0x9e3779b97f4a7c15ull >> 54];
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue), *other;
	struct bf_finding *f;

	if (!s->taken || e->wqe_start.opcode < BF_MLX5_OP_ATOMIC_CS ||
	    e->wqe_start.opcode > BF_MLX5_OP_ATOMIC_MASKED_FA)
		return;
	other = last->queue && last->queue != e->queue && last->queue->pe == e->queue->pe && last->va == va
		    ? bf_mlx5_rule_of(last->queue)
		    : NULL;
	f = other && other->done.upto <= last->index && !other->failed ? bf_rule_find(r, e, e->queue) : NULL;
	if (f)
		bf_finding_say(
		    f,
		    "an atomic of QP 0x%" PRIx64 " on PE %" PRIu32 " writes its old value to 0x%" PRIx64
		    ", where %s, which is not done, does so, too: both queue pairs have the same internal buffer",
		    e->queue->number, e->queue->pe, va, bf_mlx5_rule_entry(last->queue, last->index).text);
	last->queue = e->queue;
	last->va = va;
	last->index = q->done.upto + (uint16_t)((uint16_t)e->wqe_start.index - (uint16_t)q->done.upto);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	struct bf_finding *f;

	if (e->kind == BF_SEEN_wqe_start) {
		on_start(r, e);
		return;
	}
	if (e->ibgda_ibuf.given) {
		s->given += e->ibgda_ibuf.count;
		return;
	}
	s->taken += e->ibgda_ibuf.count;
	if (s->taken - s->given <= e->ibgda_ibuf.slots)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_say(f,
		       "%s took slots %" PRIu64 " and up of the internal buffer of QP 0x%" PRIx64 " on PE %" PRIu32
		       ", and %" PRIu64 " are taken now: it has %" PRIu64
		       ", so two fetching operations wait for results in one place",
		       bf_rule_actor(r->rules, e->actor), e->ibgda_ibuf.base, e->queue->number, e->queue->pe,
		       s->taken - s->given, e->ibgda_ibuf.slots);
}

const struct bf_rule bf_rule_mlx5_ibuf_shared = {
	.about = {
		.id = "MLX5-IBUF-SHARED",
		.family = "mlx5",
		.title = "two fetching operations share one result slot",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC writes an atomic's old value, or a READ's data, where the entry says. It does not "
			    "know whether the old contents are still needed.",
		.wrong = "Slots of the internal buffer were taken before their last users had given them back: a "
			 "thread reads another one's result.",
		.fix = "Wait until ticket + count - tail fits the number of slots before using them, and give slots "
		       "back in order, after the result was read.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_get_ibuf_addr, ibgda_release_ibuf",
		.example = "run ibgda-amo --messages 2 --fetch --warps 2 --per-lane --ibuf-slots 32 --bug ibuf-no-wait",
		.twin = "run ibgda-amo --messages 2 --fetch --warps 2 --per-lane --ibuf-slots 32",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(ibgda_ibuf, wqe_start),
	.state_bytes = sizeof(struct run),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
