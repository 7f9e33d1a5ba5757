#include <inttypes.h>

#include "traces/rules/mlx5/far.h"

#define FOR_EVER 7u

/* A capture has the receives that were posted before it ended, and a replay of it no others. */
struct state {
	bool captured;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	(void)e;
	((struct state *)r->state)->captured = true;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct state *s = r->state;
	const struct bf_rule_queue *far;
	struct bf_finding *f;

	/* Once may be a receiver that is late. */
	if (!complete || s->captured || q->rnr.times < 2 || q->failed || q->done.upto >= q->fetched.upto)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->rnr.first_ps;
	bf_finding_since(f, q->rnr.first_ps, q->rnr.first_record);
	bf_finding_until(f, q->rnr.last_ps, q->rnr.last_record);
	bf_finding_index(f, q->done.upto);
	bf_finding_say(f,
		       "%s was sent %" PRIu64 " times, from PSN %" PRIu32
		       " on, and each time the other end answered that it has no receive for it (RNR NAK)%s",
		       bf_mlx5_rule_entry(queue, q->done.upto).text, q->rnr.times + 1, q->rnr.psn,
		       q->rnr_retries == FOR_EVER ? "; with rnr_retry 7 this goes on forever" : "");
	far = bf_mlx5_rule_far(r->rules, queue);
	if (far)
		bf_finding_say(f, ". That is %s: no receive is left there that the device knows of",
			       bf_rule_queue_name(r->rules, far));
}

const struct bf_rule bf_rule_mlx5_rnr_endless = {
	.about = {
		.id = "MLX5-RNR-ENDLESS",
		.family = "mlx5",
		.title = "the peer never posts the receive that it is asked for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A SEND or WRITE with immediate takes a receive entry. Without one the responder answers RNR "
			    "NAK, and the requester waits and sends again; with rnr_retry 7 it never gives up, so that no "
			    "completion comes, neither a good one nor an error. What is sent after it is dropped as out "
			    "of sequence.",
		.wrong = "No receive is posted, or the device was not told of it: receives have no doorbell, the index in "
			 "the receive word of the doorbell record (bytes 0 to 3, big-endian) is all that it looks at.",
		.fix = "Post receives before the peer may send, store their count into the receive word after their "
		       "bytes, and make rnr_retry finite where a hang is worse than an error.",
		.sources = "InfiniBand Architecture vol. 1, 9.7.5.2.8; rdma-core providers/mlx5/qp.c mlx5_post_recv; "
			   "spdk/spdk#2429",
		.example = "run ibgda-put --bug write-imm --limit 10ms",
		.twin = "run ibgda-put --limit 10ms",
	},
	.rank = BF_RANK_STUCK - 2,
	.records = BF_SEES(capture_wqe, capture_doorbell),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end_queue = end_queue,
};
