#include "plain_mlx5.h"

#include <endian.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define OP_RDMA_WRITE 0x08u
#define CQ_UPDATE 0x08u

void plain_put(struct plain_qp *q, uint64_t to, uint64_t from, uint32_t bytes)
{
	struct plain_wqe *slot = &q->sq[q->posted % q->wqebbs];
	struct plain_wqe w = {
		.opmod_idx_opcode = htobe32((q->posted & 0xffff) << 8 | OP_RDMA_WRITE),
		.qpn_ds = htobe32(q->qpn << 8 | 3),
		.fm_ce_se = htobe32(CQ_UPDATE),
		.raddr_high = htobe32((uint32_t)(to >> 32)),
		.raddr_low = htobe32((uint32_t)to),
		.rkey = q->mistake == PLAIN_RKEY_ORDER ? q->rkey : htobe32(q->rkey),
		.lkey = htobe32(q->lkey),
		.addr_high = htobe32((uint32_t)(from >> 32)),
		.addr_low = htobe32((uint32_t)from),
	};
	uint64_t bell;

	memcpy(slot, &w, sizeof(w));
	slot->bytes = 0;
	slot->bytes |= htobe32(bytes); /* finds its own store */
	q->posted++;
	if (q->mistake != PLAIN_NO_ENTRY_FENCE && q->mistake != PLAIN_NO_FENCES)
		atomic_thread_fence(memory_order_seq_cst);
	*q->dbrec = q->mistake == PLAIN_RECORD_ORDER ? q->posted & 0xffff : htobe32(q->posted & 0xffff);
	if (q->mistake != PLAIN_NO_DOORBELL_FENCE && q->mistake != PLAIN_NO_FENCES)
		atomic_thread_fence(memory_order_seq_cst);
	memcpy(&bell, slot, sizeof(bell));
	*q->doorbell = bell;
}

/* A load as any other; the compiler is kept from taking it out of the loop. */
static uint8_t weak(const struct plain_cqe *cqe)
{
	const uint8_t *at = (const uint8_t *)cqe + offsetof(struct plain_cqe, op_own);

	__asm__ volatile("" : "+r"(at) : : "memory");
	return *at;
}

uint32_t plain_poll(struct plain_qp *q)
{
	struct plain_cqe *cqe = &q->cq[q->polled % q->cqes];
	const uint8_t lap = q->mistake == PLAIN_OWNER_WRAP ? 0 : q->polled / q->cqes & 1;
	uint8_t op_own;

	do
		op_own = q->mistake == PLAIN_WEAK_POLL ? weak(cqe) : cqe->op_own;
	while (op_own >> 4 == 15 || (q->mistake != PLAIN_OWNER_IGNORED && (op_own & 1) != lap));
	atomic_thread_fence(memory_order_acquire);
	q->polled++;
	*q->cq_dbrec = htobe32(q->polled & 0xffffff);
	return op_own >> 4;
}

uint32_t plain_count(uint32_t *at)
{
	return atomic_fetch_add_explicit((_Atomic uint32_t *)at, 1, memory_order_relaxed);
}
