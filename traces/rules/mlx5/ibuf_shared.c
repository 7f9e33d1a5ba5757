#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

struct state {
	uint64_t taken, given; /* slots, all together */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	struct bf_finding *f;

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
			    "know whether anybody still wants what lies there.",
		.wrong = "Slots of the internal buffer were taken before those who had them gave them back: a thread "
			 "reads another one's result.",
		.fix = "Wait until ticket + count - tail fits the number of slots before using them, and give slots "
		       "back in order, after the result was read.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_get_ibuf_addr, ibgda_release_ibuf",
		.example = "run ibgda-amo --messages 2 --fetch --warps 2 --per-lane --ibuf-slots 32 --bug ibuf-no-wait",
		.twin = "run ibgda-amo --messages 2 --fetch --warps 2 --per-lane --ibuf-slots 32",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(ibgda_ibuf),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
