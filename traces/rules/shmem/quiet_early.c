#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"
#include "traces/rules/shmem/shmem.h"

#define WARPS 256u
#define QUEUES 8u

/* What warps have published since their last fence or quiet; the table forgets warps that share a place. */
struct state {
	struct warp {
		uint32_t actor, n;
		struct {
			struct bf_rule_queue *queue;
			uint64_t upto;
		} to[QUEUES];
	} warp[WARPS];
};

static void note_publish(struct warp *w, const struct bf_seen *e)
{
	uint32_t i = 0;

	if (w->actor != e->actor)
		*w = (struct warp){ .actor = e->actor };
	while (i < w->n && w->to[i].queue != e->queue)
		i++;
	if (i == QUEUES)
		return;
	w->n += i == w->n;
	w->to[i].queue = e->queue;
	w->to[i].upto = e->ibgda_publish.base + e->ibgda_publish.count;
}

static void judge(struct bf_rule_run *r, const struct bf_seen *e, const struct warp *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(w->to[i].queue);
		struct bf_finding *f = q->done.upto < w->to[i].upto && !q->failed ? bf_rule_find(r, e, NULL) : NULL;

		if (!f)
			continue;
		bf_finding_index(f, q->done.upto);
		bf_finding_say(f,
			       "%s returned from a fence or quiet when the device had completed the entries of QP "
			       "0x%" PRIx64 " on PE %" PRIu32 " below %" PRIu64
			       ", and it had published those below %" PRIu64 " itself",
			       bf_rule_actor(r->rules, e->actor), w->to[i].queue->number, w->to[i].queue->pe,
			       q->done.upto, w->to[i].upto);
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	struct warp *w = &s->warp[e->actor % WARPS];

	if (e->kind == BF_SEEN_ibgda_publish) {
		if (e->queue && e->queue->family == &bf_rules_mlx5)
			note_publish(w, e);
	} else if (e->shmem_call.call == BF_SHMEM_CALL_COMPLETE && w->actor == e->actor) {
		judge(r, e, w);
		w->n = 0;
	}
}

const struct bf_rule bf_rule_shmem_quiet_early = {
	.about = {
		.id = "SHMEM-QUIET-EARLY",
		.family = "shmem",
		.title = "a fence or quiet left a queue pair out",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Each queue pair completes separately: a completion on one says nothing about another.",
		.wrong = "The call returned while entries that its own warp had posted were in flight: it did not wait "
			 "for their queue pair.",
		.fix = "Fence and quiet go over all queue pairs to all PEs that the caller may have used; lanes may "
		       "share them out, and meet before they return.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh nvshmemi_ibgda_quiet, nvshmemi_ibgda_fence; OpenSHMEM 1.5, "
			   "9.10 Memory Ordering Routines",
		.test = "tests/traces/test_rules_ibgda.c",
		.why = "A queue pair that quiet leaves out is found as MLX5-QUIET-EARLY, which is the root cause.",
	},
	.rank = BF_RANK_DATA - 1,
	.records = BF_SEES(shmem_call, ibgda_publish),
	.state_bytes = sizeof(struct state),
	.on = on,
};
