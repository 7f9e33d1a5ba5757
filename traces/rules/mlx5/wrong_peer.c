#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

#define REMOTE 4u /* accesses from here on are a requester's, at the other end */

/* The queue pairs of a run, by address and number of this end. */
#define ENDS 4096u

struct end {
	struct bf_rule_queue *queue;
	uint64_t at_ps, record;
};

struct state {
	struct end ends[ENDS]; /* by hash of address and number; later ones replace earlier ones */
};

static uint32_t place(uint64_t ipv4, uint64_t qpn)
{
	return (uint32_t)((ipv4 << 24 ^ qpn) * 0x9e3779b97f4a7c15ull >> 40) % ENDS;
}

/*
 * A queue pair may well be connected to itself. One whose requests then ask for a key that its own NIC never gave out
 * was meant to be connected to whoever did.
 */
static void refused(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = e->queue ? bf_mlx5_rule_of(e->queue) : NULL;
	struct bf_finding *f;

	if (!q || e->mkey_error.access < REMOTE || e->mkey_error.why < BF_MLX5_KEY_UNKNOWN ||
	    e->mkey_error.why > BF_MLX5_KEY_FREE || !q->ipv4 || q->remote_ipv4 != q->ipv4 ||
	    q->remote_qpn != e->queue->number)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_say(f,
		       "QP 0x%" PRIx64 " on PE %" PRIu32 " is connected to itself (address 0x%08" PRIx32
		       ", its own), and its requests ask for key 0x%" PRIx64
		       ", which this NIC never gave out: the address is not the peer's",
		       e->queue->number, e->queue->pe, q->ipv4, e->mkey_error.key);
}

static void connected(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const struct bf_mlx5_rule_queue *mine = bf_mlx5_rule_of(e->queue);
	const struct end *far = &s->ends[place(mine->remote_ipv4, mine->remote_qpn)];
	const struct bf_mlx5_rule_queue *theirs = far->queue ? bf_mlx5_rule_of(far->queue) : NULL;
	struct bf_finding *f;

	s->ends[place(mine->ipv4, e->queue->number)] = (struct end){ e->queue, e->time_ps, e->number };
	if (!theirs || theirs->ipv4 != mine->remote_ipv4 || far->queue->number != mine->remote_qpn ||
	    (theirs->remote_qpn == e->queue->number && theirs->remote_ipv4 == mine->ipv4))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, far->at_ps, far->record);
	bf_finding_say(f,
		       "QP 0x%" PRIx64 " on PE %" PRIu32 " is connected to QP 0x%" PRIx64 " on PE %" PRIu32
		       ", which is connected to QP 0x%" PRIx32 " at address 0x%08" PRIx32
		       ": each end must name the other (handles were taken from a table in another order than "
		       "they were put there, or a number was exchanged wrongly)",
		       e->queue->number, e->queue->pe, far->queue->number, far->queue->pe, theirs->remote_qpn,
		       theirs->remote_ipv4);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_qp_path)
		connected(r, e);
	else
		refused(r, e);
}

const struct bf_rule bf_rule_mlx5_wrong_peer = {
	.about = {
		.id = "MLX5-WRONG-PEER",
		.family = "mlx5",
		.title = "a queue pair's peer is connected to another queue pair",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A reliable connection has two ends, each of which names the other's QPN and address.",
		.wrong = "The other end names another peer: tables of handles were read in another order than they "
			 "were written (RC tables by PE and by index differ between NVSHMEM versions), and traffic "
			 "goes to the wrong PE or is dropped.",
		.fix = "Compute the table index of (pe, i) in one place for writer and reader, and check the "
		       "version of the state's layout.",
		.sources = "deepseek-ai/DeepEP PR#564, commit ba468e1; docs/hardware/mlx5.md#variants-3",
		.test = "tests/traces/test_rules_errors.c",
		.why = "The host side connects both ends from one table.",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(qp_path, mkey_error),
	.on = on,
	.needs = BF_SEES(qp_path),
	.state_bytes = sizeof(struct state),
};
