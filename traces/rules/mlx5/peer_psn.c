#include <inttypes.h>

#include "traces/rules/mlx5/far.h"

#define AHEAD "the other end waits for another PSN"
#define BEHIND "the other end takes its packets for old ones"

/* What it takes for old was sent anew, and it had not dropped the first of it: it has carried that out. */
static bool taken_before(const struct bf_mlx5_rule_queue *mine, const struct bf_mlx5_rule_queue *theirs)
{
	return theirs->answers.drop_why == BF_RDMA_DROP_STALE && mine->again_record &&
	       theirs->answers.first_drop_record > mine->again_record;
}

/*
 * Any request was taken, or the one that the other end waits for has been sent: packets in front were lost, or it is
 * asked for a receive that it does not have.
 */
static bool begun_alike(const struct bf_mlx5_rule_queue *mine, const struct bf_mlx5_rule_queue *theirs)
{
	const uint32_t sent = (mine->end_psn - mine->first_psn) & 0xffffff;

	return theirs->answers.taken || mine->rnr.times || taken_before(mine, theirs) ||
	       (mine->started && theirs->answers.drop_why == BF_RDMA_DROP_SEQUENCE &&
		((theirs->answers.drop_expected - mine->first_psn) & 0xffffff) < sent);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_rule_queue *far = bf_mlx5_rule_far(r->rules, e->queue);
	const struct bf_mlx5_rule_queue *theirs = far ? bf_mlx5_rule_of(far) : NULL;

	if (!theirs || begun_alike(bf_mlx5_rule_of(e->queue), theirs))
		return;
	bf_mlx5_rule_dropped_for(r, e, BF_RDMA_DROP_SEQUENCE, AHEAD);
	bf_mlx5_rule_dropped_for(r, e, BF_RDMA_DROP_STALE, BEHIND);
}

/* Packets that are behind are acknowledged as old ones, and nothing of them is carried out. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_rule_queue *far = bf_mlx5_rule_far(r->rules, queue);

	const struct bf_mlx5_rule_queue *mine = bf_mlx5_rule_of(queue), *theirs = far ? bf_mlx5_rule_of(far) : NULL;
	struct bf_finding *f;

	if (!complete || !far)
		return;
	f = theirs->connected && mine->timeout && mine->sent > theirs->answers.taken && !mine->was_reset &&
		    !theirs->was_reset
		? bf_rule_find(r, NULL, queue)
		: NULL;
	if (f) {
		f->found.at_ps = mine->done.at_ps;
		bf_finding_say(f,
			       "%" PRIu64 " messages of QP 0x%" PRIx64 " on PE %" PRIu32
			       " were acknowledged, and the other end carried out %" PRIu64
			       ": its PSN is ahead, so that it takes the first ones for old ones",
			       mine->sent, queue->number, queue->pe, theirs->answers.taken);
		return;
	}
	/* Where anything was answered both had begun alike. */
	if (begun_alike(mine, theirs) || mine->done.upto || !mine->fetched.upto)
		return;
	bf_mlx5_rule_drops_for(r, queue, BF_RDMA_DROP_SEQUENCE, AHEAD);
	bf_mlx5_rule_drops_for(r, queue, BF_RDMA_DROP_STALE, BEHIND);
}

const struct bf_rule bf_rule_mlx5_peer_psn = {
	.about = {
		.id = "MLX5-PEER-PSN",
		.family = "mlx5",
		.title = "retries ran out because both ends count packets differently",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The first packet has the sq_psn of the requester, and the responder takes only what has its rq_psn. One that is ahead is answered once by a NAK and dropped, one that is behind is taken for an old one.",
		.wrong = "sq_psn of one end is not rq_psn of the other: they were exchanged wrongly, or one end was reset and the other was not.",
		.fix = "Exchange starting PSNs with the addresses, use the peer's as rq_psn, and reconnect both ends together.",
		.sources = "InfiniBand Architecture vol. 1, 9.7.1 and 9.7.5.1.1; man ibv_modify_qp",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload does so: the driver sets both ends up from one place.",
	},
	.rank = BF_RANK_EFFECT - 2,
	.records = BF_SEES(qp_error),
	.on = on,
	.end_queue = end_queue,
};
