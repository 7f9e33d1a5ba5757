#include "traces/rules/mlx5/far.h"

#include <inttypes.h>

#include "models/mlx5/prm.h"

/* Rights in qp_path's `access`, as in mkey_error's. */
enum { REMOTE_READ = 4, REMOTE_WRITE = 8, REMOTE_ATOMIC = 16 };

void bf_mlx5_rule_note_answer(struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	struct bf_mlx5_rule_answers *a = &q->answers;

	switch (e->kind) {
	case BF_SEEN_qp_error:
		if (e->qp_error.side != BF_MLX5_RESPONDER || a->refused)
			break;
		a->refused = true;
		a->refused_ps = e->time_ps;
		a->refused_record = e->number;
		a->refused_psn = (uint32_t)e->qp_error.psn;
		a->refused_nak = (uint8_t)e->qp_error.nak;
		bf_seen_text(e, "why", a->refused_why, sizeof(a->refused_why));
		break;
	case BF_SEEN_rx_drop:
		if (!a->drops++)
			a->first_drop_record = e->number;
		a->drop_why = (uint8_t)e->rx_drop.why;
		a->drop_psn = (uint32_t)e->rx_drop.psn;
		a->drop_expected = (uint32_t)e->rx_drop.expected;
		a->drop_state = q->state;
		a->drop_ps = e->time_ps;
		a->drop_record = e->number;
		bf_seen_text(e, "why", a->drop_text, sizeof(a->drop_text));
		break;
	default:
		a->naks++;
		a->nak_syndrome = (uint8_t)e->nak_sent.syndrome;
		a->nak_psn = (uint32_t)e->nak_sent.psn;
		break;
	}
}

struct bf_rule_queue *bf_mlx5_rule_far(struct bf_rules *r, const struct bf_rule_queue *queue)
{
	const struct bf_mlx5_rule_queue *mine = bf_mlx5_rule_of(queue);
	struct bf_rule_queue *other, *unheard = NULL;

	for (uint32_t i = 0; mine->connected && (other = bf_rule_queue_at(r, i)) != NULL; i++) {
		const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(other);

		if (other->family != queue->family || other == queue || other->number != mine->remote_qpn)
			continue;
		if (q->ipv4 == mine->remote_ipv4)
			return other;
		/* It never came to be, or never got ready: it is the one that dropped what is not another's. */
		if (!q->ipv4 && (other->pe != queue->pe || mine->remote_ipv4 == mine->ipv4) && q->answers.drops)
			unheard = other;
	}
	return unheard;
}

struct bf_rule_queue *bf_mlx5_rule_meant(struct bf_rules *r, const struct bf_rule_queue *queue)
{
	const struct bf_mlx5_rule_queue *mine = bf_mlx5_rule_of(queue);
	struct bf_rule_queue *other;

	for (uint32_t i = 0; mine->connected && (other = bf_rule_queue_at(r, i)) != NULL; i++) {
		const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(other);

		if (other->family == queue->family && other != queue && q->connected && q->ipv4 == mine->remote_ipv4 &&
		    q->remote_ipv4 == mine->ipv4 && q->remote_qpn == queue->number && other->number != mine->remote_qpn)
			return other;
	}
	return NULL;
}

static const char *state_name(uint8_t state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR" };

	return state < BF_ARRAY_LEN(names) ? names[state] : "?";
}

void bf_mlx5_rule_compare(struct bf_finding *f, const struct bf_rule_queue *queue, const struct bf_rule_queue *far)
{
	const struct bf_mlx5_rule_queue *mine = bf_mlx5_rule_of(queue), *theirs = bf_mlx5_rule_of(far);

	if (!theirs->connected)
		return;
	if (theirs->remote_qpn != queue->number)
		bf_finding_say(f, "; it is connected to QP 0x%" PRIx32 ", not to 0x%" PRIx64, theirs->remote_qpn,
			       queue->number);
	if (theirs->answers.drops && theirs->answers.drop_why == BF_RDMA_DROP_SEQUENCE && mine->started &&
	    !theirs->answers.taken && theirs->answers.drop_expected != mine->first_psn)
		bf_finding_say(f, "; the first PSN is %" PRIu32 " here (sq_psn), %" PRIu32 " there (rq_psn)",
			       mine->first_psn, theirs->answers.drop_expected);
	if (mine->mtu && theirs->mtu && mine->mtu != theirs->mtu)
		bf_finding_say(f, "; path MTU %" PRIu32 " here, %" PRIu32 " there", mine->mtu, theirs->mtu);
	if (mine->max_reads > theirs->max_answers)
		bf_finding_say(f, "; up to %" PRIu32 " READs and atomics here, %" PRIu32 " answered there",
			       mine->max_reads, theirs->max_answers);
	if (!theirs->answers.refused)
		return;
	bf_finding_say(f, "; its remote access is%s%s%s%s", theirs->access & REMOTE_WRITE ? " WRITE" : "",
		       theirs->access & REMOTE_READ ? " READ" : "", theirs->access & REMOTE_ATOMIC ? " ATOMIC" : "",
		       theirs->access & (REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC) ? "" : " none");
}

void bf_mlx5_rule_say_far(struct bf_rules *r, struct bf_finding *f, struct bf_rule_queue *queue)
{
	struct bf_rule_queue *far = bf_mlx5_rule_far(r, queue);
	const struct bf_mlx5_rule_queue *theirs = far ? bf_mlx5_rule_of(far) : NULL;
	const struct bf_mlx5_rule_answers *a = theirs ? &theirs->answers : NULL,
					  *own = &bf_mlx5_rule_of(queue)->answers;

	if (own->refused) { /* the error is of a receive */
		bf_finding_say(f, ". It refused PSN %" PRIu32 " (NAK %02x) of its peer: %s", own->refused_psn,
			       own->refused_nak, own->refused_why);
		return;
	}
	if (!far) {
		const struct bf_rule_queue *meant = bf_mlx5_rule_meant(r, queue);

		if (meant)
			bf_finding_say(f, ". It sends to QP 0x%" PRIx32 ", and it is %s that is connected to it",
				       bf_mlx5_rule_of(queue)->remote_qpn, bf_rule_queue_name(r, meant));
		else
			bf_finding_say(f, ". What the other end saw is not in this trace");
		return;
	}
	bf_finding_say(f, ". The other end, %s, in state %s, ", bf_rule_queue_name(r, far), state_name(theirs->state));
	if (a->refused) {
		bf_finding_say(f, "refused PSN %" PRIu32 " (NAK %02x): %s", a->refused_psn, a->refused_nak,
			       a->refused_why);
		bf_finding_since(f, a->refused_ps, a->refused_record);
	} else if (bf_mlx5_rule_of(queue)->rnr.times && a->naks) {
		bf_finding_say(f, "had no receive entry, and said so %" PRIu64 " times, the last for PSN %" PRIu32,
			       a->naks, a->nak_psn);
	} else if (a->drops) {
		bf_finding_say(f, "dropped %" PRIu64 " packets, the last for \"%s\": PSN %" PRIu32, a->drops,
			       a->drop_text, a->drop_psn);
		if (a->drop_why == BF_RDMA_DROP_SEQUENCE || a->drop_why == BF_RDMA_DROP_STALE)
			bf_finding_say(f, ", when it expected %" PRIu32, a->drop_expected);
		bf_finding_since(f, a->drop_ps, a->drop_record);
	} else if (a->naks) {
		bf_finding_say(f, "sent %" PRIu64 " NAKs, the last with syndrome %02x for PSN %" PRIu32, a->naks,
			       a->nak_syndrome, a->nak_psn);
	} else {
		bf_finding_say(f, "recorded no packet that it refused or dropped");
	}
	bf_mlx5_rule_compare(f, queue, far);
}

void bf_mlx5_rule_dropped_for(struct bf_rule_run *r, const struct bf_seen *e, uint8_t why, const char *sentence)
{
	struct bf_rule_queue *far =
	    e->qp_error.syndrome == BF_MLX5_SYND_RETRY_EXC && e->qp_error.side == BF_MLX5_REQUESTER
		? bf_mlx5_rule_far(r->rules, e->queue)
		: NULL;
	const struct bf_mlx5_rule_answers *a = far ? &bf_mlx5_rule_of(far)->answers : NULL;
	struct bf_finding *f = a && a->drops && a->drop_why == why ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, e->qp_error.index);
	bf_finding_say(f, "WQE %" PRIu64 " on %s failed with syndrome 15: %s", e->qp_error.index,
		       bf_rule_actor(r->rules, e->actor), sentence);
	bf_mlx5_rule_say_far(r->rules, f, e->queue);
}

void bf_mlx5_rule_drops_for(struct bf_rule_run *r, struct bf_rule_queue *queue, uint8_t why, const char *sentence)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_rule_queue *far = q->failed || !q->fetched.upto ? NULL : bf_mlx5_rule_far(r->rules, queue);
	const struct bf_mlx5_rule_answers *a = far ? &bf_mlx5_rule_of(far)->answers : NULL;
	struct bf_finding *f = a && a->drops && a->drop_why == why ? bf_rule_find(r, NULL, queue) : NULL;

	if (!f)
		return;
	f->found.at_ps = a->drop_ps;
	bf_finding_index(f, q->done.upto);
	bf_finding_say(f, "%s and what follows are sent for nothing: %s", bf_mlx5_rule_entry(queue, q->done.upto).text,
		       sentence);
	bf_mlx5_rule_say_far(r->rules, f, queue);
}
