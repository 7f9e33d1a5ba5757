/*
 * A driver as somebody writes it in the first week: RDMA WRITEs over one mlx5 queue pair, a ring of sixteen,
 * completions polled one by one. It says nothing of what it does: its stores and what the device sees are all that
 * there is to judge it by. Each mistake can be switched on.
 */
#ifndef BELFRY_TESTS_OWN_MLX5_H
#define BELFRY_TESTS_OWN_MLX5_H

#include "drivers/belfry.h"

enum own_mistake {
	OWN_NONE,
	OWN_NO_ENTRY_FENCE,    /* between entry and doorbell record */
	OWN_NO_DOORBELL_FENCE, /* between record and doorbell */
	OWN_RKEY_ORDER,        /* the remote key in the CPU's byte order */
	OWN_OWNER_WRAP,        /* the owner bit is not expected to turn at the end of the ring */
	OWN_OWNER_IGNORED,     /* any opcode but "invalid" is a completion */
	OWN_WEAK_POLL,         /* the completion is polled by weak loads */
	OWN_RECORD_ORDER,      /* the doorbell record in the CPU's byte order */
	OWN_TWENTY,            /* twenty entries under way in a ring of sixteen */
	OWN_PLAIN,             /* memcpy() and plain stores, no fence */
};

struct own_qp {
	struct bf_trial_mlx5_queue hw;
	uint32_t posted, polled, window;
	enum own_mistake mistake;
};

struct own_wqe {
	uint32_t opmod_idx_opcode, qpn_ds, fm_ce_se, imm;
	uint32_t raddr_high, raddr_low, rkey, reserved;
	uint32_t bytes, lkey, addr_high, addr_low;
};

static inline void own_entry(const struct own_qp *q, uint64_t offset, uint32_t bytes, struct own_wqe *w)
{
	const uint64_t to = q->hw.remote_va + offset, from = q->hw.local_va + offset;

	w->opmod_idx_opcode = bf_htobe32((q->posted & 0xffff) << 8 | BF_MLX5_OP_RDMA_WRITE);
	w->qpn_ds = bf_htobe32(q->hw.qpn << 8 | sizeof(*w) / 16);
	w->fm_ce_se = bf_htobe32(BF_MLX5_CTRL_CQ_UPDATE);
	w->imm = 0;
	w->raddr_high = bf_htobe32((uint32_t)(to >> 32));
	w->raddr_low = bf_htobe32((uint32_t)to);
	w->rkey = q->mistake == OWN_RKEY_ORDER ? q->hw.rkey : bf_htobe32(q->hw.rkey);
	w->reserved = 0;
	w->bytes = bf_htobe32(bytes);
	w->lkey = bf_htobe32(q->hw.lkey);
	w->addr_high = bf_htobe32((uint32_t)(from >> 32));
	w->addr_low = bf_htobe32((uint32_t)from);
}

static inline void own_put(struct bf_thread *t, struct own_qp *q, uint64_t offset, uint32_t bytes)
{
	uint8_t *slot = q->hw.sq + q->posted % q->hw.wqebbs * BF_MLX5_WQEBB;
	const bool plain = q->mistake == OWN_PLAIN;
	struct own_wqe w;
	uint64_t bell;

	own_entry(q, offset, bytes, &w);
	q->posted++;
	if (plain) {
		memcpy(slot, &w, sizeof(w));
		*q->hw.dbrec = bf_htobe32(q->posted & 0xffff);
	} else {
		for (uint32_t i = 0; i < sizeof(w) / 4; i++)
			bf_st_weak32(t, slot + i * 4, (&w.opmod_idx_opcode)[i]);
		if (q->mistake != OWN_NO_ENTRY_FENCE)
			bf_fence_sys(t);
		bf_st_relaxed32(t, q->hw.dbrec,
				q->mistake == OWN_RECORD_ORDER ? q->posted & 0xffff : bf_htobe32(q->posted & 0xffff),
				BF_AT_SYS);
		if (q->mistake != OWN_NO_DOORBELL_FENCE)
			bf_fence_sys(t);
	}
	memcpy(&bell, &w, sizeof(bell));
	bf_mmio_st64(t, q->hw.doorbell, bell);
}

static inline bool own_is_mine(const struct own_qp *q, uint32_t word)
{
	const uint32_t lap = q->mistake == OWN_OWNER_WRAP ? 0 : q->polled / q->hw.cqes & 1;

	return word >> 28 != BF_MLX5_CQE_INVALID &&
	       (q->mistake == OWN_OWNER_IGNORED || (word >> 24 & BF_MLX5_CQE_OWNER) == lap);
}

/* The opcode of the next completion; 0 is good. */
static inline uint32_t own_poll(struct bf_thread *t, struct own_qp *q)
{
	const uint8_t *last = q->hw.cq + q->polled % q->hw.cqes * 64 + 60;
	const bool weak = q->mistake == OWN_WEAK_POLL;
	uint32_t word = weak ? bf_ld_weak32(t, last) : bf_ld_acquire32(t, last, BF_AT_SYS);

	while (!own_is_mine(q, word)) {
		bf_spin(t, last, "a completion");
		word = weak ? bf_ld_weak32(t, last) : bf_ld_acquire32(t, last, BF_AT_SYS);
	}
	q->polled++;
	bf_st_relaxed32(t, q->hw.cq_dbrec, bf_htobe32(q->polled & 0xffffff), BF_AT_SYS);
	return word >> 28;
}

#endif
