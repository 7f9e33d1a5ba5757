/* Backend "rxe": from a ring to the RDMA device. */
#include <errno.h>
#include <string.h>

#include "drivers/backend/rxe_internal.h"

#define SGES 4u
#define NO_KEY 0xffffffffu /* of nobody: the peer refuses it */
#define EVERY_BIT(size) ((size) == 4 ? 0xffffffffull : ~0ull)

/* ---- doorbells ---- */

static uint16_t record(const struct bf_rxe_qp *qp, uint32_t which)
{
	return (uint16_t)bf_htobe32(__atomic_load_n(&qp->dbr[which], __ATOMIC_ACQUIRE));
}

/*
 * A cell that is not zero has rung. Queue pairs may share it, and of two rings between two looks only the last is
 * there: so all of the page's count as rung whose doorbell records have moved on (as in models/mlx5/uar.c).
 */
static bool rang(struct bf_rxe_uar *u)
{
	uint64_t *cell = (uint64_t *)(void *)(u->page + BF_MLX5_UAR_BF);

	return __atomic_load_n(cell, __ATOMIC_RELAXED) && __atomic_exchange_n(cell, 0, __ATOMIC_ACQ_REL);
}

uint32_t bf_rxe_hear(struct bf_rxe_world *w)
{
	uint32_t heard = 0;

	for (uint32_t i = 0; i < w->uars.n; i++) {
		struct bf_rxe_uar *u = w->uars.at[i];

		if (!u || !rang(u))
			continue;
		heard++;
		for (struct bf_rxe_qp *qp = w->qps; qp; qp = qp->next)
			if (qp->uar == u && qp->vqp && qp->state >= BF_MLX5_QPS_RTS)
				qp->producer = record(qp, BF_MLX5_DBR_SND);
	}
	return heard;
}

/* ---- keys ---- */

static const struct bf_rxe_key *key_of(const struct bf_rxe_world *w, uint32_t key)
{
	const struct bf_rxe_key *k = bf_rxe_table_get(&w->keys, key >> 8);

	return k && k->variant == (key & 0xff) ? k : NULL;
}

/* A local key must be this NIC's and span the bytes; what else it must allow the device checks. */
static bool local(const struct bf_rxe_world *w, const struct bf_rxe_qp *qp, const struct bf_mlx5_sge *from,
		  struct bf_verbs_sge *to)
{
	const struct bf_rxe_key *k = key_of(w, from->lkey);

	if (!k || k->nic != qp->nic || from->va < k->va || from->va - k->va > k->len ||
	    from->len > k->len - (from->va - k->va))
		return false;
	*to = (struct bf_verbs_sge){ .va = from->va, .len = from->len, .lkey = k->lkey };
	return true;
}

static uint32_t remote(const struct bf_rxe_world *w, uint32_t key)
{
	const struct bf_rxe_key *k = key_of(w, key);

	return k ? k->rkey : NO_KEY;
}

/* ---- atomics that verbs lack ---- */

/* A 1 bit in `boundary` marks the top bit of a field: carries do not leave it (models/rdma/answer.c). */
static uint64_t masked_add(uint64_t a, uint64_t b, uint64_t boundary)
{
	const uint64_t low = (a & ~boundary) + (b & ~boundary);

	return low ^ ((a ^ b) & boundary);
}

static uint64_t wanted(const struct bf_rxe_emulation *e)
{
	const uint64_t all = EVERY_BIT(e->size), old = e->expected >> e->shift & all;
	uint64_t value = old;

	if (e->opcode == BF_MLX5_OP_ATOMIC_MASKED_FA)
		value = masked_add(old, e->swap_add, e->compare_mask) & all;
	else if (!((old ^ e->compare) & e->compare_mask))
		value = (old & ~e->swap_mask) | (e->swap_add & e->swap_mask);
	return (e->expected & ~(all << e->shift)) | value << e->shift;
}

/*
 * Compare and swap of the eight bytes around the value with what they were last seen to be; the answer says what they
 * are. It is as atomic as the device's own atomics, towards all that go through that device.
 */
int bf_rxe_emulate(struct bf_rxe_world *w, struct bf_rxe_qp *qp, bool fence)
{
	const struct bf_rxe_emulation *e = &qp->emulation;
	const struct bf_verbs_sge sge = { .va = (uintptr_t)qp->scratch, .len = 8, .lkey = qp->scratch_lkey };
	const struct bf_verbs_wr wr = {
		.id = bf_rxe_id(qp, false),
		.opcode = BF_MLX5_OP_ATOMIC_CS,
		.fence = fence,
		.raddr = e->raddr,
		.rkey = e->rkey,
		.compare = e->expected,
		.swap_add = wanted(e),
		.nsge = 1,
		.sge = &sge,
	};

	return w->v.api->send(qp->vqp, &wr);
}

/* Whether verbs have it as it is: eight bytes, and no mask that leaves anything out. */
static bool plain(const struct bf_mlx5_wqe *x)
{
	if (x->opcode == BF_MLX5_OP_ATOMIC_MASKED_FA)
		return x->atomic_size == 8 && !x->compare_mask;
	return x->atomic_size == 8 && x->swap_mask == ~0ull && x->compare_mask == ~0ull;
}

static int begin_emulation(struct bf_rxe_world *w, struct bf_rxe_qp *qp, const struct bf_mlx5_wqe *x,
			   const struct bf_verbs_sge *result)
{
	qp->emulation = (struct bf_rxe_emulation){
		.runs = true,
		.opcode = x->opcode,
		.size = x->atomic_size,
		.shift = (uint8_t)((x->raddr & 7) * 8),
		.swap_add = x->swap_add,
		.compare = x->compare,
		.swap_mask = x->swap_mask,
		.compare_mask = x->compare_mask,
		.raddr = x->raddr & ~7ull,
		.rkey = remote(w, x->rkey),
		.result = (uint8_t *)(uintptr_t)result->va,
	};
	return bf_rxe_emulate(w, qp, x->fm != BF_MLX5_FM_NONE);
}

/* ---- entries ---- */

/* What becomes of an entry: for the device, complete as it is, or refused with a syndrome. */
enum fate { POSTED, COMPLETE, REFUSED };

static enum fate refuse(struct bf_rxe_entry *e, uint8_t syndrome)
{
	e->syndrome = syndrome;
	return REFUSED;
}

static enum fate post_atomic(struct bf_rxe_world *w, struct bf_rxe_qp *qp, const struct bf_mlx5_wqe *x,
			     struct bf_verbs_wr *wr, struct bf_rxe_entry *e)
{
	const bool masked = x->opcode == BF_MLX5_OP_ATOMIC_MASKED_CS || x->opcode == BF_MLX5_OP_ATOMIC_MASKED_FA;

	if (wr->nsge != 1 || wr->sge->len != x->atomic_size)
		return refuse(e, BF_MLX5_SYND_LOCAL_LENGTH);
	if (x->raddr & (x->atomic_size - 1u))
		return refuse(e, BF_MLX5_SYND_REM_INV_REQ);
	e->bytes = x->atomic_size;
	if (masked && !plain(x))
		return begin_emulation(w, qp, x, wr->sge) ? refuse(e, BF_MLX5_SYND_LOCAL_QP_OP) : POSTED;
	wr->opcode = x->opcode == BF_MLX5_OP_ATOMIC_MASKED_CS   ? BF_MLX5_OP_ATOMIC_CS
		     : x->opcode == BF_MLX5_OP_ATOMIC_MASKED_FA ? BF_MLX5_OP_ATOMIC_FA
								: x->opcode;
	wr->swap_add = x->swap_add;
	wr->compare = x->compare;
	return w->v.api->send(qp->vqp, wr) ? refuse(e, BF_MLX5_SYND_LOCAL_QP_OP) : POSTED;
}

static enum fate post(struct bf_rxe_world *w, struct bf_rxe_qp *qp, const uint8_t *bytes, const struct bf_mlx5_wqe *x,
		      struct bf_rxe_entry *e)
{
	struct bf_verbs_sge sge[SGES];
	struct bf_verbs_wr wr = {
		.id = bf_rxe_id(qp, false),
		.opcode = x->opcode,
		.fence = x->fm != BF_MLX5_FM_NONE,
		.solicited = x->solicited,
		.imm = x->imm,
		.raddr = x->raddr,
		.rkey = remote(w, x->rkey),
		.sge = sge,
	};

	e->bytes = x->length;
	if (x->opcode == BF_MLX5_OP_NOP || x->opcode == BF_MLX5_OP_DUMP)
		return COMPLETE; /* a DUMP reads and drops, which by now is in order */
	if (x->nsge > SGES || (x->has_inline && (x->nsge || x->inline_len > BF_RXE_INLINE)))
		return refuse(e, BF_MLX5_SYND_LOCAL_QP_OP);
	if (x->has_inline) {
		wr.inline_data = bytes + x->inline_offset;
		wr.inline_len = x->inline_len;
	}
	for (uint32_t i = 0; i < x->nsge; i++, wr.nsge++)
		if (!local(w, qp, &x->sge[i], &sge[i]))
			return refuse(e, BF_MLX5_SYND_LOCAL_PROT);
	if (x->atomic_size)
		return post_atomic(w, qp, x, &wr, e);
	if (x->opcode == BF_MLX5_OP_SEND_INVAL)
		wr.imm = remote(w, x->imm);
	return w->v.api->send(qp->vqp, &wr) ? refuse(e, BF_MLX5_SYND_LOCAL_QP_OP) : POSTED;
}

/* Entries may wrap around the end of the ring. */
static void copy_entry(const struct bf_rxe_qp *qp, uint8_t to[BF_MLX5_MAX_WQEBBS * BF_MLX5_WQEBB])
{
	for (uint32_t i = 0; i < BF_MLX5_MAX_WQEBBS; i++)
		memcpy(to + (size_t)i * BF_MLX5_WQEBB,
		       qp->sq + (size_t)((qp->fetched + i) & (qp->depth - 1)) * BF_MLX5_WQEBB, BF_MLX5_WQEBB);
}

static void fetch(struct bf_rxe_world *w, struct bf_rxe_qp *qp)
{
	const uint16_t rung = (uint16_t)(qp->producer - qp->fetched);
	struct bf_rxe_entry *e = &qp->entry[qp->tail++ & (qp->depth - 1)];
	uint8_t bytes[BF_MLX5_MAX_WQEBBS * BF_MLX5_WQEBB];
	const uint32_t most = rung < BF_MLX5_MAX_WQEBBS ? rung : BF_MLX5_MAX_WQEBBS;
	struct bf_mlx5_wqe x;
	enum fate fate;
	int rc;

	copy_entry(qp, bytes);
	rc = bf_mlx5_wqe_decode(bytes, most * BF_MLX5_WQEBB, &x, NULL);
	*e = (struct bf_rxe_entry){ .index = qp->fetched, .opcode = x.opcode };
	e->tell = x.ce == BF_MLX5_CTRL_CQ_UPDATE >> 2;
	if (bf_rxe_recorded(w))
		bf_rxe_record_fetch(w, qp, bytes, &x, rc);
	if (qp->state != BF_MLX5_QPS_RTS)
		fate = refuse(e, BF_MLX5_SYND_WR_FLUSH);
	else if (rc || x.qpn != qp->qpn)
		fate = refuse(e, BF_MLX5_SYND_LOCAL_QP_OP);
	else
		fate = post(w, qp, bytes, &x, e);
	e->posted = fate == POSTED;
	if (e->posted) {
		qp->sends++;
		bf_rxe_load(w, qp->nic)->sends++;
	}
	qp->emulation.runs &= e->posted;
	qp->fetched = (uint16_t)(qp->fetched + (rc || !x.wqebbs ? 1 : x.wqebbs));
	qp->refused |= fate == REFUSED;
}

uint32_t bf_rxe_send(struct bf_rxe_world *w, struct bf_rxe_qp *qp)
{
	const struct bf_rxe_nic *load = bf_rxe_load(w, qp->nic);
	const uint32_t most = qp->depth < BF_RXE_SENDS_MAX ? qp->depth : BF_RXE_SENDS_MAX;
	uint32_t n = 0;

	while ((int16_t)(uint16_t)(qp->producer - qp->fetched) > 0 && !qp->emulation.runs &&
	       (!qp->refused || qp->state == BF_MLX5_QPS_ERR) && qp->sends < most && load->sends < BF_RXE_NIC_SENDS &&
	       qp->tail - qp->head < qp->depth) {
		fetch(w, qp);
		n++;
	}
	return n;
}

/* ---- receives ---- */

uint32_t bf_rxe_receive(struct bf_rxe_world *w, struct bf_rxe_qp *qp)
{
	struct bf_rxe_nic *load = bf_rxe_load(w, qp->nic);
	uint32_t n = 0;

	while (qp->rq_depth && qp->vqp && qp->state >= BF_MLX5_QPS_INIT && qp->state <= BF_MLX5_QPS_RTS &&
	       qp->given != record(qp, BF_MLX5_DBR_RCV) && load->receives < BF_RXE_NIC_RECEIVES) {
		const uint8_t *entry = qp->rq + (size_t)(qp->given & (qp->rq_depth - 1)) * qp->rq_stride;
		struct bf_mlx5_sge from[SGES];
		struct bf_verbs_sge to[SGES];
		uint64_t total;
		const uint32_t nsge = bf_mlx5_recv_decode(entry, qp->rq_stride, from, SGES, &total);

		for (uint32_t i = 0; i < nsge && i < SGES; i++)
			if (!local(w, qp, &from[i], &to[i]))
				to[i] = (struct bf_verbs_sge){ from[i].va, from[i].len, NO_KEY };
		if (w->v.api->receive(qp->vqp, bf_rxe_id(qp, true), to, nsge < SGES ? nsge : SGES))
			break;
		qp->given++;
		load->receives++;
		n++;
	}
	return n;
}
