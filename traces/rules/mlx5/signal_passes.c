#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "sim/mem.h"
#include "sim/pcie.h"
#include "traces/rules/mlx5/far.h"

#define PLACES 1024u /* of each table; what shares a place is forgotten */

/*
 * A WRITE that the responder has accepted; its last bytes have not reached memory. Addresses are as requests have them:
 * a key that begins at 0 moves them, by whole pages.
 */
struct accepted {
	struct bf_rule_queue *queue; /* the responder's */
	uint64_t end, length, ps, record;
	uint32_t psn;
};

/* An atomic that a requester has sent. */
struct sent {
	struct bf_rule_queue *queue; /* the requester's */
	uint64_t raddr, index;
	uint32_t psn;
};

struct run {
	struct accepted accepted[PLACES];
	struct sent sent[PLACES];
};

struct state {
	struct bf_rule_queue *far;
	/* As the responder: the last atomic of the other end that was executed. */
	struct sent atomic;
	uint64_t atomic_ps;
};

/* Where something stands that ends or lies at `at` on that PE, whatever the page. */
static uint32_t place_of(uint64_t at, uint32_t pe)
{
	return (uint32_t)(at % BF_PAGE / 8 + (uint64_t)pe * 67) % PLACES;
}

static bool same_in_page(uint64_t a, uint64_t b)
{
	return (a - b) % BF_PAGE == 0;
}

static bool after(uint32_t psn, uint32_t other)
{
	return (int32_t)((psn - other) << 8) > 0;
}

static void note_sent(struct bf_rule_run *r, struct run *run, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	const uint64_t op = e->wqe_start.opcode;

	if (op < BF_MLX5_OP_ATOMIC_CS || op > BF_MLX5_OP_ATOMIC_MASKED_FA)
		return;
	if (!s->far)
		s->far = bf_mlx5_rule_far(r->rules, e->queue);
	if (s->far)
		run->sent[place_of(e->wqe_start.raddr, s->far->pe)] =
		    (struct sent){ .queue = e->queue,
				   .raddr = e->wqe_start.raddr,
				   .index = e->wqe_start.index,
				   .psn = (uint32_t)e->wqe_start.psn };
}

static void note_executed(struct bf_rule_run *r, const struct run *run, const struct bf_seen *e)
{
	const struct sent *sent = &run->sent[place_of(e->dma_rmw.iova, e->pe)];
	struct state *theirs, *s = sent->queue ? bf_rule_queue_state(r, sent->queue) : NULL;

	if (!s || !s->far || s->far->pe != e->pe || s->far->unit != e->unit ||
	    !same_in_page(sent->raddr, e->dma_rmw.iova))
		return;
	theirs = bf_rule_queue_state(r, s->far);
	theirs->atomic = *sent;
	theirs->atomic_ps = e->time_ps;
}

static void note_accepted(struct run *run, const struct bf_seen *e)
{
	const uint64_t end = e->request_done.va + e->request_done.length;

	if (e->request_done.rkey)
		run->accepted[place_of(end, e->pe)] = (struct accepted){ .queue = e->queue,
									 .end = end,
									 .length = e->request_done.length,
									 .ps = e->time_ps,
									 .record = e->number,
									 .psn = (uint32_t)e->request_done.psn };
}

static void judge(struct bf_rule_run *r, struct run *run, const struct bf_seen *e)
{
	const uint64_t end = e->dma_write.iova + e->dma_write.len;
	struct accepted *a = &run->accepted[place_of(end, e->pe)];
	struct bf_rule_queue *queue = a->queue;
	const struct state *s;
	struct bf_finding *f;

	if (!queue || queue->pe != e->pe || queue->unit != e->unit || !same_in_page(a->end, end) ||
	    e->dma_write.len > a->length)
		return;
	a->queue = NULL;
	s = bf_rule_queue_state(r, queue);
	if (!(e->dma_write.flags & BF_DMA_RELAXED) || !s->atomic.queue || !after(s->atomic.psn, a->psn))
		return;
	f = bf_rule_find(r, e, s->atomic.queue);
	if (!f)
		return;
	bf_finding_index(f, s->atomic.index);
	bf_finding_since(f, a->ps, a->record);
	bf_finding_say(
	    f,
	    "the atomic of %s was executed on PE %" PRIu32 " %s before %" PRIu64 " bytes at 0x%" PRIx64
	    " landed there, of a WRITE that it follows on the queue pair: the WRITE goes by relaxed ordering, "
	    "and who waits for the atomic's word finds old data",
	    bf_mlx5_rule_entry(s->atomic.queue, s->atomic.index).text, e->pe,
	    bf_span_of(e->time_ps - s->atomic_ps).text, e->dma_write.len, e->dma_write.va);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct run *run = r->state;

	switch (e->kind) {
	case BF_SEEN_wqe_start:
		note_sent(r, run, e);
		break;
	case BF_SEEN_dma_rmw:
		note_executed(r, run, e);
		break;
	case BF_SEEN_request_done:
		note_accepted(run, e);
		break;
	default:
		judge(r, run, e);
		break;
	}
}

const struct bf_rule bf_rule_mlx5_signal_passes = {
	.about = {
		.id = "MLX5-SIGNAL-PASSES",
		.family = "mlx5",
		.title = "a signal was executed before the data in front of it had landed",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A NIC executes an atomic when the WRITEs before it have been accepted. Those that went out with "
			    "relaxed ordering may be on another path through the root complex, and land later.",
		.wrong = "The window of the data is registered with relaxed ordering (or the queue pair places data out of "
			 "order), and the signal is an atomic after them: it passes them.",
		.fix = "Register without relaxed ordering what is signalled by atomics, or let the signal be a write that "
		       "is not relaxed: posted writes do not pass each other then.",
		.sources = "NVIDIA/nccl#2210; deepseek-ai/DeepEP#661; openucx/ucx#11721; PCI Express Base Specification, "
			   "2.4 Transaction Ordering",
		.example = "run gin-signal --messages 4 --bug gin-relaxed-window --profile cx7,pcie.relaxed_ps=3000000",
		.twin = "run gin-signal --messages 4 --profile cx7,pcie.relaxed_ps=3000000",
	},
	.rank = BF_RANK_DATA + 1,
	.records = BF_SEES(dma_write, dma_rmw, wqe_start, request_done),
	.needs = BF_SEES(dma_write),
	.state_bytes = sizeof(struct run),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
