#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

#define THREADS 32u

/* What threads have published last; the table forgets threads that share a place. */
struct state {
	struct {
		uint64_t upto;
		uint32_t actor;
	} own[THREADS];
};

/* It did not even wait for what it had published itself: the index that it waited for was wrong. */
static void compare_own(struct bf_rule_run *r, const struct bf_seen *e, uint64_t own)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);

	if (!f)
		return;
	bf_finding_index(f, e->ibgda_quiet.upto);
	bf_finding_say(f,
		       "%s waited in quiet for the entries of QP 0x%" PRIx64 " below %" PRIu64
		       " when it had published those below %" PRIu64 " itself",
		       bf_rule_actor(r->rules, e->actor), e->queue->number, e->ibgda_quiet.upto, own);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	struct state *s = bf_rule_queue_state(r, e->queue);
	const uint32_t place = e->actor % THREADS;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_ibgda_publish) {
		s->own[place].actor = e->actor;
		s->own[place].upto = e->ibgda_publish.base + e->ibgda_publish.count;
		return;
	}
	if (e->ibgda_quiet.status)
		return;
	if (s->own[place].actor == e->actor && s->own[place].upto > e->ibgda_quiet.upto) {
		compare_own(r, e, s->own[place].upto);
		return;
	}
	/* Nothing was posted since it was reset: counters that never go back stand at the next multiple of 2^16. */
	if (e->ibgda_quiet.upto <= q->done.upto || q->begins)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, q->done.upto);
	bf_finding_say(f,
		       "%s returned from quiet for the entries of QP 0x%" PRIx64 " below %" PRIu64
		       " when the device had completed those below %" PRIu64,
		       bf_rule_actor(r->rules, e->actor), e->queue->number, e->ibgda_quiet.upto, q->done.upto);
}

const struct bf_rule bf_rule_mlx5_quiet_early = {
	.about = {
		.id = "MLX5-QUIET-EARLY",
		.family = "mlx5",
		.title = "quiet returned before its entries were complete",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A completion, and nothing else, says that an entry is done.",
		.wrong = "The call returned while the NIC still had entries to execute. What the caller does next may "
			 "overtake its data.",
		.fix = "Wait for the index that was published when quiet began, on every queue pair that was used; "
		       "do not start from an uninitialised counter.",
		.sources = "ROCm/rocm-systems PR#4698; NVIDIA/nvshmem ibgda_device.cuh ibgda_quiet",
		.example = "run shmem-quiet --size 65536 --bug quiet-no-wait",
		.twin = "run shmem-quiet --size 65536",
	},
	.rank = BF_RANK_DATA - 1,
	.records = BF_SEES(ibgda_publish, ibgda_quiet),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
