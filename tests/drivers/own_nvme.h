/*
 * An NVMe driver as somebody writes it in the first week: writes of one block over one queue pair of sixteen entries,
 * completions polled one by one. It says nothing of what it does. Each mistake can be switched on.
 */
#ifndef BELFRY_TESTS_OWN_NVME_H
#define BELFRY_TESTS_OWN_NVME_H

#include "drivers/belfry.h"

enum own_nvme_mistake {
	OWN_NVME_NONE,
	OWN_NVME_NO_FENCE,       /* between entry and doorbell */
	OWN_NVME_PLAIN,          /* the entry by memcpy() */
	OWN_NVME_PHASE_STAYS,    /* the expected phase does not turn at the end of the ring */
	OWN_NVME_PHASE_INVERTED, /* the first lap is taken to have phase 0 */
	OWN_NVME_PHASE_IGNORED,  /* whatever is not zero is a completion */
	OWN_NVME_PHASE_BIT,      /* the bit beside it is looked at */
	OWN_NVME_WEAK_POLL,      /* the completion is polled by weak loads */
	OWN_NVME_HEAD_NEVER,     /* the head doorbell is never rung */
	OWN_NVME_HEAD_AHEAD,     /* it is rung for one entry more than was taken */
	OWN_NVME_HEAD_FIRST,     /* it is rung for a batch before its entries were looked at */
	OWN_NVME_HEAD_COUNTS,    /* it is given the count, which does not wrap */
	OWN_NVME_TWENTY,         /* twenty entries under way in a ring of sixteen */
};

struct own_nvme {
	struct bf_trial_nvme_queue hw;
	uint64_t data; /* for entries: a block for each command */
	uint32_t posted, polled, window;
	enum own_nvme_mistake mistake;
};

static inline void own_nvme_put(struct bf_thread *t, struct own_nvme *q)
{
	uint32_t dw[16] = { BF_NVME_IO_WRITE | q->posted << 16, q->hw.nsid };
	uint8_t *slot = q->hw.sq + q->posted % q->hw.entries * 64;

	bf_put_le64(&dw[6], q->data + (uint64_t)q->posted * q->hw.block_bytes);
	bf_put_le64(&dw[10], q->posted);
	q->posted++;
	if (q->mistake == OWN_NVME_PLAIN)
		memcpy(slot, dw, sizeof(dw));
	else
		for (uint32_t i = 0; i < 16; i++)
			bf_st_weak32(t, slot + i * 4, dw[i]);
	if (q->mistake != OWN_NVME_NO_FENCE)
		bf_fence_sys(t);
	bf_mmio_st32(t, q->hw.sq_tail, q->posted % q->hw.entries);
}

static inline bool own_nvme_is_new(const struct own_nvme *q, uint32_t word)
{
	const uint32_t lap = q->mistake == OWN_NVME_PHASE_STAYS ? 0 : q->polled / q->hw.entries & 1;
	const uint32_t phase = q->mistake == OWN_NVME_PHASE_INVERTED ? lap : lap ^ 1;

	return q->mistake == OWN_NVME_PHASE_IGNORED
		   ? word != 0
		   : (word >> (q->mistake == OWN_NVME_PHASE_BIT ? 17 : 16) & 1) == phase;
}

static inline void own_nvme_head(struct bf_thread *t, struct own_nvme *q, uint32_t head)
{
	if (q->mistake != OWN_NVME_HEAD_NEVER)
		bf_mmio_st32(t, q->hw.cq_head, q->mistake == OWN_NVME_HEAD_COUNTS ? head : head % q->hw.entries);
}

/* The status of the next completion; 0 is good. */
static inline uint32_t own_nvme_poll(struct bf_thread *t, struct own_nvme *q)
{
	const uint8_t *last = q->hw.cq + q->polled % q->hw.entries * 16 + 12;
	const bool weak = q->mistake == OWN_NVME_WEAK_POLL;
	uint32_t word = weak ? bf_ld_weak32(t, last) : bf_ld_acquire32(t, last, BF_AT_SYS);

	while (!own_nvme_is_new(q, word)) {
		bf_spin(t, last, "a completion");
		word = weak ? bf_ld_weak32(t, last) : bf_ld_acquire32(t, last, BF_AT_SYS);
	}
	q->polled++;
	if (q->mistake != OWN_NVME_HEAD_FIRST)
		own_nvme_head(t, q, q->polled + (q->mistake == OWN_NVME_HEAD_AHEAD));
	return word >> 17;
}

/* All that is under way. OWN_NVME_HEAD_FIRST takes the last one for proof that the others have come. */
static inline uint32_t own_nvme_drain(struct bf_thread *t, struct own_nvme *q)
{
	uint32_t failed = 0;

	if (q->mistake == OWN_NVME_HEAD_FIRST) {
		q->polled = q->posted - 1;
		failed = own_nvme_poll(t, q);
		own_nvme_head(t, q, q->polled);
	}
	while (q->polled < q->posted && !failed)
		failed = own_nvme_poll(t, q);
	return failed;
}

#endif
