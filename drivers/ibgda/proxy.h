/*
 * IBGDA: the CPU proxy, for machines whose GPU cannot reach the doorbell registers. GPU threads leave the producer
 * index of each send queue in a slot (bf_ibgda_hand_over()); a CPU thread looks at all slots in turn and does what
 * bf_ibgda_post_send() would (NVSHMEM ibgda_dci_progress, ibgda_rc_progress).
 */
#ifndef BELFRY_DRIVERS_IBGDA_PROXY_H
#define BELFRY_DRIVERS_IBGDA_PROXY_H

#include "drivers/ibgda/ibgda.h"
#include "traces/records/ibgda.h"
#include "models/mlx5/prm.h"

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

/* Rings for one queue if there is more than the device was told. The GPU fenced before it stored the slot. */
BF_DEVICE int bf_ibgda_progress_queue(struct bf_thread *t, struct bf_ibgda_proxy_queue *q)
{
	const uint64_t prod = bf_ld_acquire64(t, q->slot, BF_AT_SYS);
	const uint64_t lo = bf_htobe32(((uint32_t)prod & 0xffffu) << 8);
	const uint64_t hi = bf_htobe32(q->qpn << 8);

	if (prod <= q->posted)
		return 0;
	bf_st_release32(t, q->dbrec, bf_htobe32((uint32_t)prod & 0xffffu), BF_AT_SYS);
	bf_fence_sys(t);
	bf_mmio_st64(t, q->bf, hi << 32 | lo);
	BF_DRIVER_RECORD(t, ibgda_post, .from = q->posted, .to = prod, .qpn = q->qpn,
			 .dbrec = (uint32_t)prod & 0xffffu);
	q->posted = prod;
	return 1;
}

/* One look at every queue. Returns for how many it rang. */
BF_DEVICE uint32_t bf_ibgda_progress(struct bf_thread *t, struct bf_ibgda_proxy *p)
{
	const uint32_t n = bf_ld_acquire32(t, &p->nqueues, BF_AT_SYS); /* the host may add some at the end meanwhile */
	uint32_t rang = 0;

	for (uint32_t i = 0; i < n; i++)
		rang += (uint32_t)bf_ibgda_progress_queue(t, &p->queues[i]);
	return rang;
}

/* A proxy thread's life. */
BF_DEVICE void bf_ibgda_proxy_run(struct bf_thread *t, struct bf_ibgda_proxy *p)
{
	while (!bf_ld_acquire32(t, &p->stop, BF_AT_SYS))
		if (!bf_ibgda_progress(t, p))
			bf_pause(t, p->idle_ns);
}

#endif
