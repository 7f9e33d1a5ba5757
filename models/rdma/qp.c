/* Queue pairs as the transport knows them: beginning, error, reset, end; and what those of a device share. */
#include <errno.h>
#include <stdlib.h>

#include "models/rdma/transport_internal.h"
#include "sim/pool.h"

#define XFER_BLOCK 32u
#define ATOMIC_BLOCK 32u

struct bf_rdma_xfer_block {
	struct bf_rdma_xfer_block *next;
	struct bf_rdma_xfer xfers[XFER_BLOCK];
};

struct bf_rdma_atomic_block {
	struct bf_rdma_atomic_block *next;
	struct bf_rdma_atomic ops[ATOMIC_BLOCK];
};

void bf_rdma_init(struct bf_rdma *dev, struct bf_sim *sim, struct bf_fabric *fabric, struct bf_dma_port *dma,
		  const struct bf_rdma_ops *ops, const struct bf_rdma_profile *profile, uint32_t actor)
{
	dev->sim = sim;
	dev->fabric = fabric;
	dev->dma = dma;
	dev->ops = ops;
	dev->profile = *profile;
	dev->actor = actor;
	dev->tx.pkey = 0xffff; /* the default partition, full member (IBA vol. 1 section 10.9) */
}

void bf_rdma_fini(struct bf_rdma *dev)
{
	while (dev->atomic_blocks) {
		struct bf_rdma_atomic_block *block = dev->atomic_blocks;

		dev->atomic_blocks = block->next;
		bf_pool_give(dev->sim, block, sizeof(*block));
	}
	while (dev->xfer_blocks) {
		struct bf_rdma_xfer_block *block = dev->xfer_blocks;

		dev->xfer_blocks = block->next;
		bf_pool_give(dev->sim, block, sizeof(*block));
	}
}

struct bf_rdma_xfer *bf_rdma_xfer_get(struct bf_rdma *dev)
{
	struct bf_rdma_xfer *x = dev->xfers;
	struct bf_rdma_xfer_block *block;

	if (BF_LIKELY(x != NULL)) {
		dev->xfers = x->next;
		return x;
	}
	block = bf_pool_take(dev->sim, sizeof(*block));
	if (!block)
		return NULL;
	block->next = dev->xfer_blocks;
	dev->xfer_blocks = block;
	for (uint32_t i = 1; i < XFER_BLOCK; i++)
		bf_rdma_xfer_put(dev, &block->xfers[i]);
	return &block->xfers[0];
}

struct bf_rdma_atomic *bf_rdma_atomic_get(struct bf_rdma *dev)
{
	struct bf_rdma_atomic *x = dev->atomics;
	struct bf_rdma_atomic_block *block;

	if (BF_LIKELY(x != NULL)) {
		dev->atomics = x->next;
		return x;
	}
	block = bf_pool_take(dev->sim, sizeof(*block));
	if (!block)
		return NULL;
	block->next = dev->atomic_blocks;
	dev->atomic_blocks = block;
	for (uint32_t i = 1; i < ATOMIC_BLOCK; i++)
		bf_rdma_atomic_put(dev, &block->ops[i]);
	return &block->ops[0];
}

void bf_rdma_qp_init(struct bf_rdma_qp *qp, struct bf_rdma *dev, uint32_t send_size)
{
	qp->dev = dev;
	qp->send_size = send_size;
	bf_event_init(&qp->rto_event, bf_rdma_rto_fired);
	bf_event_init(&qp->pause_event, bf_rdma_pause_fired);
	bf_event_init(&qp->ack_event, bf_rdma_ack_fired);
	qp->rto_deadline = BF_NEVER;
	qp->txq_tail = &qp->txq;
}

/*
 * Room for answers: as many as may be asked for at once, and as many that are repeated. A queue pair that was reset may
 * allow more than in its last life, whose atomics may still be under way.
 */
bool bf_rdma_make_answers(struct bf_rdma_qp *qp)
{
	const uint32_t cap = 2u * qp->max_answers;
	struct bf_rdma_answers *a = qp->answers;

	if (BF_LIKELY(a && a->cap >= cap))
		return true;
	if (a && (qp->inflight || a->tail))
		return false;
	free(a);
	qp->answers = a = calloc(1, sizeof(*a) + cap * sizeof(a->ring[0]));
	if (!a) {
		bf_fail(&qp->dev->sim->error, -ENOMEM, "no memory for answers of a queue pair");
		return false;
	}
	a->qp = qp;
	a->cap = cap;
	bf_event_init(&a->event, bf_rdma_answer_fired);
	return true;
}

static void free_held(struct bf_rdma_qp *qp)
{
	while (qp->hold) {
		struct bf_packet *pkt = qp->hold;

		qp->hold = pkt->next;
		bf_packet_free(pkt);
	}
}

static void stop_timers(struct bf_rdma_qp *qp)
{
	struct bf_sim *sim = qp->dev->sim;

	bf_sim_cancel(sim, &qp->rto_event);
	bf_sim_cancel(sim, &qp->pause_event);
	bf_sim_cancel(sim, &qp->ack_event);
	if (qp->answers)
		bf_sim_cancel(sim, &qp->answers->event);
	qp->rto_deadline = BF_NEVER;
	qp->paused = false;
}

void bf_rdma_stop(struct bf_rdma_qp *qp)
{
	stop_timers(qp);
	bf_rdma_tx_drop(qp, BF_RDMA_TX_REQUEST | BF_RDMA_TX_RESPONSE);
	free_held(qp);
	bf_rdma_answers_void(qp);
	qp->acks_owed = 0;
	qp->nak = 0;
}

void bf_rdma_resume_sends(struct bf_rdma_qp *qp)
{
	qp->halted = false;
	qp->tx_index = qp->ack_index = qp->head;
	qp->tx_packet = 0;
	qp->tx_psn = qp->una_psn = qp->send_psn;
}

static void forget_answers(struct bf_rdma_answers *a)
{
	a->head = a->tail = 0;
	for (uint32_t i = 0; i < a->cap; i++)
		a->ring[i].npsn = 0;
}

void bf_rdma_reset(struct bf_rdma_qp *qp)
{
	stop_timers(qp);
	bf_rdma_tx_drop(qp, ~0u);
	free_held(qp);
	qp->epoch++;
	qp->decoded = qp->tx_index = qp->ack_index = qp->head = 0;
	qp->tx_packet = qp->read_psns = qp->locals = 0;
	qp->rdatomic = 0;
	qp->tx_psn = qp->send_psn = qp->una_psn = qp->expected_psn = qp->msn = 0;
	qp->halted = qp->lost_valid = qp->resending = qp->mute = false;
	qp->acks_owed = 0;
	qp->rx_op = qp->nak = 0;
	qp->nak_sent = qp->refused = qp->rx_has_receive = qp->established = false;
	qp->answers_inflight = 0;
	if (qp->answers)
		forget_answers(qp->answers);
}

void bf_rdma_qp_fini(struct bf_rdma_qp *qp)
{
	while (qp->txq) {
		struct bf_packet *pkt = qp->txq;

		qp->txq = pkt->next;
		bf_packet_free(pkt);
	}
	free_held(qp);
	free(qp->answers);
	free(qp->late);
}
