#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

#define PLACES 64u

/* The last descriptors that were put into a queue, by number. */
struct state {
	struct put {
		uint64_t index, ps, record;
		uint32_t actor;
		uint32_t sum;
		bool set;
	} put[PLACES];
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	const uint64_t index = e->kind == BF_SEEN_d2p_taken ? e->d2p_taken.index : e->d2p_descriptor.index;
	struct put *p = &s->put[index % PLACES];
	struct bf_finding *f;
	bool there;

	if (e->kind == BF_SEEN_d2p_descriptor) {
		*p = (struct put){ index, e->time_ps, e->number, e->actor, (uint32_t)e->d2p_descriptor.sum, true };
		return;
	}
	there = p->set && p->index == index;
	if ((there && p->sum == e->d2p_taken.sum) || (p->set && p->index > index))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, index);
	if (there)
		bf_finding_since(f, p->ps, p->record);
	bf_finding_say(f, "%s took descriptor %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32,
		       bf_rule_actor(r->rules, e->actor), index, e->queue->number, e->queue->pe);
	if (there)
		bf_finding_say(
		    f,
		    ", and what it found is not what %s put there: words of it had not come, or others had been "
		    "put over them",
		    bf_rule_actor(r->rules, p->actor));
	else
		bf_finding_say(f, ", which nobody had put there: it is the one of the lap before");
}

const struct bf_rule bf_rule_mlx5_descriptor_torn = {
	.about = {
		.id = "MLX5-DESCRIPTOR-TORN",
		.family = "mlx5",
		.title = "a proxy took a request that was not there, or not whole",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A descriptor is many words of memory, which a GPU stores and a CPU loads. Nothing makes "
			    "them arrive together, and slots are used again.",
		.wrong = "The proxy relies on a mark that does not cover all words (an owner that was not released), "
			 "or that an earlier lap left. Or the GPU uses a slot that was not empty.",
		.fix = "Give each word a flag that the proxy waits for and clears, as NCCL does. Or release the owner "
		       "after all fields and change it with each lap, as UCX does. Check the consumer index before "
		       "using a slot.",
		.sources = "openucx/ucx src/uct/ib/mlx5/gdaki/d2p.cuh",
		.example = "run gin-put --handler d2p --messages 60 --bug gin-d2p-lap",
		.twin = "run gin-put --handler d2p --messages 60",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(d2p_descriptor, d2p_taken),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
