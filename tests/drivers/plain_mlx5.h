/* A driver that knows nothing of Belfry: plain C, its own structures, C11's fences. */
#ifndef BELFRY_TESTS_PLAIN_MLX5_H
#define BELFRY_TESTS_PLAIN_MLX5_H

#include <stdint.h>

enum plain_mistake {
	PLAIN_NONE,
	PLAIN_NO_ENTRY_FENCE,    /* between entry and doorbell record */
	PLAIN_NO_DOORBELL_FENCE, /* between record and doorbell */
	PLAIN_RKEY_ORDER,        /* the remote key in the CPU's byte order */
	PLAIN_OWNER_WRAP,        /* the owner bit is not expected to turn at the end of the ring */
	PLAIN_OWNER_IGNORED,     /* any opcode but "invalid" is a completion */
	PLAIN_WEAK_POLL,         /* the completion is not polled as volatile */
	PLAIN_RECORD_ORDER,      /* the doorbell record in the CPU's byte order */
	PLAIN_TWENTY,            /* twenty entries under way in a ring of sixteen */
	PLAIN_NO_FENCES,         /* neither of the two */
};

struct plain_wqe {
	uint32_t opmod_idx_opcode, qpn_ds, fm_ce_se, imm;
	uint32_t raddr_high, raddr_low, rkey, reserved;
	uint32_t bytes, lkey, addr_high, addr_low;
	uint32_t unused[4];
};

struct plain_cqe {
	uint8_t bytes[60];
	uint16_t wqe_counter;
	uint8_t signature;
	volatile uint8_t op_own;
};

struct plain_qp {
	struct plain_wqe *sq;
	struct plain_cqe *cq;
	volatile uint32_t *dbrec, *cq_dbrec;
	volatile uint64_t *doorbell;
	uint32_t qpn, wqebbs, cqes, lkey, rkey;
	uint32_t posted, polled, posts; /* posts: how often the driver's own lock was taken */
	enum plain_mistake mistake;
};

void plain_put(struct plain_qp *q, uint64_t to, uint64_t from, uint32_t bytes);
/* The opcode of the next completion; 0 is good. */
uint32_t plain_poll(struct plain_qp *q);
/* Raises a number that others may raise, too; what it was. */
uint32_t plain_count(uint32_t *at);

#endif
