/*
 * Backend "rxe": from the RDMA device's completions to CQEs. Entries complete in order, those that the device never saw
 * (NOP, what was refused) among them; who asked for no CQE gets none unless it failed.
 */
#include <errno.h>
#include <string.h>

#include "drivers/backend/rxe_internal.h"
#include "sim/clock.h"

#define BATCH 16u
#define ERROR_OP_OWN 0x02u /* set in every requester-error CQE of ConnectX-4 and later (models/mlx5/cq.c) */
#define LAST_WORD 60u      /* counter, signature, opcode and owner: what pollers look at */

/* ---- CQEs ---- */

/* A CQ that its consumer does not follow takes nothing any more. */
static bool overrun(const struct bf_rxe_cq *cq)
{
	const uint32_t consumer = bf_htobe32(__atomic_load_n(&cq->dbr[BF_MLX5_CQ_DBR_CI], __ATOMIC_ACQUIRE));

	return !cq->ignore_overrun && ((cq->producer - consumer) & 0xffffff) >= cq->entries;
}

/* The last word goes last. */
static void write_cqe(struct bf_rxe_world *w, struct bf_rxe_cq *cq, struct bf_mlx5_cqe *cqe)
{
	uint8_t *to = (uint8_t *)&cq->ring[cq->collapsed ? 0 : cq->producer & (cq->entries - 1)];
	uint8_t *from = (uint8_t *)cqe, sum = 0xff;
	uint32_t last;

	cqe->op_own |= (cq->producer & cq->entries) != 0;
	cq->error |= overrun(cq);
	if (bf_rxe_recorded(w))
		bf_rxe_record_cqe(w, cq, cqe, cq->error);
	if (cq->error)
		return;
	for (uint32_t i = 0; i < sizeof(*cqe); i++)
		sum ^= from[i];
	/* XOR of all bytes is 0xff XOR those of the slot counter (models/mlx5/cq.c). */
	cqe->signature = (uint8_t)(sum ^ cq->producer ^ cq->producer >> 8 ^ cq->producer >> 16 ^ cq->producer >> 24);
	memcpy(&last, from + LAST_WORD, sizeof(last));
	memcpy(to, from, LAST_WORD);
	__atomic_store_n((uint32_t *)(void *)(to + LAST_WORD), last, __ATOMIC_RELEASE);
	cq->producer++;
}

static void begin_cqe(struct bf_mlx5_cqe *cqe, const struct bf_rxe_qp *qp, uint16_t index, uint8_t wqe_opcode)
{
	memset(cqe, 0, sizeof(*cqe));
	cqe->srqn_uidx = bf_to_be32(qp->user_index);
	cqe->sop_drop_qpn = bf_to_be32((uint32_t)wqe_opcode << 24 | qp->qpn);
	cqe->wqe_counter = bf_to_be16(index);
}

static void fail_cqe(struct bf_mlx5_cqe *cqe, uint8_t opcode, uint8_t syndrome, uint8_t vendor)
{
	struct bf_mlx5_err_cqe *e = (void *)cqe;

	e->syndrome = syndrome;
	e->vendor_err_synd = vendor;
	e->op_own = (uint8_t)((uint32_t)opcode << 4 | ERROR_OP_OWN);
}

static void tell_send(struct bf_rxe_world *w, const struct bf_rxe_qp *qp, const struct bf_rxe_entry *e)
{
	struct bf_mlx5_cqe cqe;

	begin_cqe(&cqe, qp, e->index, e->opcode);
	if (e->syndrome) {
		fail_cqe(&cqe, BF_MLX5_CQE_REQ_ERR, e->syndrome, e->vendor);
	} else {
		cqe.byte_cnt = bf_to_be32(e->bytes);
		cqe.timestamp = bf_to_be64(bf_monotonic_ns());
		cqe.op_own = BF_MLX5_CQE_REQ << 4;
	}
	write_cqe(w, qp->send_cq, &cqe);
}

void bf_rxe_retire(struct bf_rxe_world *w, struct bf_rxe_qp *qp)
{
	while (qp->head != qp->tail) {
		struct bf_rxe_entry *e = &qp->entry[qp->head & (qp->depth - 1)];

		if (e->posted)
			return;
		/* What is behind a failure was never done, even if it needed no device. */
		if (!e->syndrome && qp->state == BF_MLX5_QPS_ERR &&
		    (e->opcode == BF_MLX5_OP_NOP || e->opcode == BF_MLX5_OP_DUMP))
			e->syndrome = BF_MLX5_SYND_WR_FLUSH;
		if (e->tell || e->syndrome)
			tell_send(w, qp, e);
		/* What the device did not see fails in its turn, when all before it is done. */
		if (e->syndrome)
			bf_rxe_qp_error(w, qp);
		qp->head++;
	}
}

void bf_rxe_qp_error(struct bf_rxe_world *w, struct bf_rxe_qp *qp)
{
	if (qp->state == BF_MLX5_QPS_ERR)
		return;
	qp->state = BF_MLX5_QPS_ERR;
	w->v.api->qp_modify(qp->vqp, BF_MLX5_QPS_ERR, &qp->path);
}

/* ---- completions ---- */

/* Old values of four bytes are big-endian, those of eight in the host's order (drivers/ibgda/amo.h). */
static void give_result(const struct bf_rxe_emulation *e)
{
	if (e->size == 4)
		__atomic_store_n((uint32_t *)(void *)e->result, bf_htobe32((uint32_t)(e->expected >> e->shift)),
				 __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint64_t *)(void *)e->result, e->expected, __ATOMIC_RELEASE);
}

/* True when the emulated atomic has another step to go. */
static bool again(struct bf_rxe_world *w, struct bf_rxe_qp *qp, struct bf_rxe_entry *e)
{
	struct bf_rxe_emulation *x = &qp->emulation;
	const uint64_t seen = *(volatile uint64_t *)qp->scratch;

	if (seen == x->expected) {
		give_result(x);
		x->runs = false;
		return false;
	}
	x->expected = seen;
	if (!bf_rxe_emulate(w, qp, false))
		return true;
	e->syndrome = BF_MLX5_SYND_LOCAL_QP_OP;
	x->runs = false;
	return false;
}

static void send_done(struct bf_rxe_world *w, struct bf_rxe_qp *qp, const struct bf_verbs_wc *wc)
{
	uint32_t i = qp->head;
	struct bf_rxe_entry *e;

	while (i != qp->tail && !qp->entry[i & (qp->depth - 1)].posted)
		i++;
	if (i == qp->tail)
		return;
	e = &qp->entry[i & (qp->depth - 1)];
	/* An emulated atomic is the last of what was posted: the queue waits for it. */
	if (qp->emulation.runs && i + 1 == qp->tail) {
		if (wc->syndrome)
			qp->emulation.runs = false;
		else if (again(w, qp, e))
			return;
	}
	e->posted = false;
	qp->sends--;
	bf_rxe_load(w, qp->nic)->sends--;
	if (wc->syndrome) {
		e->syndrome = wc->syndrome;
		e->vendor = wc->vendor;
	}
	if (e->syndrome)
		bf_rxe_qp_error(w, qp);
	bf_rxe_retire(w, qp);
}

static void receive_done(struct bf_rxe_world *w, struct bf_rxe_qp *qp, const struct bf_verbs_wc *wc)
{
	struct bf_mlx5_cqe cqe;

	begin_cqe(&cqe, qp, qp->received++, 0);
	bf_rxe_load(w, qp->nic)->receives--;
	if (wc->syndrome) {
		fail_cqe(&cqe, BF_MLX5_CQE_RESP_ERR, wc->syndrome, wc->vendor);
		bf_rxe_qp_error(w, qp);
	} else {
		cqe.imm_inval_pkey = bf_to_be32(wc->imm);
		cqe.byte_cnt = bf_to_be32(wc->bytes);
		cqe.timestamp = bf_to_be64(bf_monotonic_ns());
		cqe.op_own = (uint8_t)(wc->opcode << 4);
	}
	write_cqe(w, qp->recv_cq, &cqe);
}

static void done(struct bf_rxe_world *w, const struct bf_verbs_wc *wc)
{
	struct bf_rxe_qp *qp = (void *)(uintptr_t)(wc->id & 0xfffffffffffeull);

	if (!qp->vqp || qp->epoch != wc->id >> 48)
		return;
	if (wc->id & 1)
		receive_done(w, qp, wc);
	else
		send_done(w, qp, wc);
}

uint32_t bf_rxe_poll(struct bf_rxe_world *w)
{
	struct bf_verbs_wc wc[BATCH];
	uint32_t total = 0;
	int n;

	for (uint32_t i = 0; i < w->v.m.npes * w->v.m.nics; i++) {
		n = w->v.api->poll(w->v.nic[i].dev, wc, BATCH);
		for (int k = 0; k < n; k++)
			done(w, &wc[k]);
		total += n > 0 ? (uint32_t)n : 0;
	}
	return total;
}
