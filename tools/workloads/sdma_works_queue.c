/* SDMA workloads about queues, after KFDTest's KFDQMTest and its like: signals, many queues, wrap, pause, reset. */
#include "tools/workloads/sdma_works.h"

/* ---- signals ---- */

/*
 * A gang: the members' copies on other queues, which nobody but the leader waits for. Each brings its own signal from 2
 * to 1, and the leader's engine awaits that and takes the last step (ROCr amd_blit_sdma.cpp, SubmitCommand).
 */
static void add_gang(struct bf_sdma_work_plan *p, uint32_t thread, struct bf_sdma_drv_submission *leader)
{
	for (uint32_t i = 0; i < p->w->gang; i++) {
		const struct bf_sdma_drv_signal member = bf_sdma_work_plan_signal(p, 0, 2, 0);
		const struct bf_sdma_drv_submission how = { .done = member };
		const uint64_t src = bf_sdma_work_plan_area(p, 0, p->w->size, "a member's source");
		const uint64_t dst = bf_sdma_work_plan_area(p, 0, p->w->size, "a member's destination");
		struct bf_sdma_drv_body body;

		bf_sdma_work_plan_random(p, 0, src, p->w->size);
		bf_sdma_work_plan_body(
		    p, &body, bf_sdma_work_pieces(p->w->size, p->w->caps.copy_max) * BF_SDMA_COPY_LINEAR_DWORDS);
		bf_sdma_drv_copy(&body, bf_sdma_work_plan_va(p, 0, dst), bf_sdma_work_plan_va(p, 0, src), p->w->size);
		bf_sdma_work_plan_copied(p, 0, dst, 0, src, p->w->size);
		bf_sdma_work_plan_submit(p, thread, 1 % p->w->queues + i % (p->w->queues > 1 ? p->w->queues - 1 : 1),
					 &body, &how, body.n / BF_SDMA_COPY_LINEAR_DWORDS);
		leader->gang[leader->ngang++] = member;
	}
}

/*
 * A copy that depends on a 64-bit signal which another thread counts down past 2^32, and writes the source just before
 * it reaches zero. The engine may not start before; it tells the time, decrements its own signal, stores the event's
 * number and raises it.
 */
void bf_sdma_work_plan_of_fence(struct bf_sdma_work_plan *p)
{
	const uint32_t waiter = bf_sdma_work_plan_thread(p, 0), counter = bf_sdma_work_plan_thread(p, 0);
	const uint64_t mailbox = bf_sdma_work_plan_area(p, 0, 8, "the mailbox");

	for (uint32_t c = 0; c < p->w->commands; c++) {
		const struct bf_sdma_drv_signal dep = bf_sdma_work_plan_signal(p, 0, 1ull << 32, 0);
		struct bf_sdma_drv_submission how = { .ndeps = 1 };
		const uint64_t src = bf_sdma_work_plan_area(p, 0, p->w->size, "a source");
		const uint64_t dst = bf_sdma_work_plan_area(p, 0, p->w->size, "a destination");
		const uint32_t event = BF_SDMA_WORK_PLAN_EVENT;
		const uint64_t word = bf_rng_next(&p->rng);
		struct bf_sdma_drv_body body;

		how.deps[0] = dep;
		how.done = bf_sdma_work_plan_signal(p, 0, 1, 0);
		if (bf_sdma_world(p->w->backend)->traps) { /* elsewhere events are the kernel's to number */
			how.done.mailbox_va = bf_sdma_work_plan_va(p, 0, mailbox);
			how.done.event = event;
			bf_sdma_work_plan_stored(p, 0, mailbox, &event, 4);
			p->traps++;
		}
		bf_sdma_work_plan_timed(p, 0, &how);
		bf_sdma_work_plan_random(p, 0, src, p->w->size);
		bf_sdma_work_plan_delay(p, counter, 2000);
		bf_sdma_work_plan_wait(p, counter, &dep, 1ull << 32);
		bf_sdma_work_plan_store(p, counter, 0, dep.va - p->heap[0].va, UINT32_MAX);
		bf_sdma_work_plan_delay(p, counter, 20000);
		bf_sdma_work_plan_store(p, counter, 0, src, word);
		bf_sdma_work_plan_store(p, counter, 0, dep.va - p->heap[0].va, 0);
		bf_sdma_work_plan_body(
		    p, &body, bf_sdma_work_pieces(p->w->size, p->w->caps.copy_max) * BF_SDMA_COPY_LINEAR_DWORDS);
		bf_sdma_drv_copy(&body, bf_sdma_work_plan_va(p, 0, dst), bf_sdma_work_plan_va(p, 0, src), p->w->size);
		bf_sdma_work_plan_copied(p, 0, dst, 0, src, p->w->size);
		add_gang(p, waiter, &how);
		bf_sdma_work_plan_submit(p, waiter, 0, &body, &how, body.n / BF_SDMA_COPY_LINEAR_DWORDS);
		bf_sdma_work_plan_wait(p, waiter, &how.done, 0);
		bf_sdma_work_plan_check(p, waiter, 0, dst, p->w->size);
		bf_sdma_work_plan_wait(p, counter, &how.done, 0);
	}
}

/* ---- queues ---- */

/* KFDTest's pair: a page is copied, then a marker is written; plain packets, no cache control. */
static void copy_and_mark(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue, bool wait)
{
	const uint64_t src = bf_sdma_work_plan_area(p, 0, p->w->size, "a source");
	const uint64_t dst = bf_sdma_work_plan_area(p, 0, p->w->size, "a destination");
	const uint64_t marker = bf_sdma_work_plan_area(p, 0, 8, "a marker");
	struct bf_sdma_drv_submission how = { .plain = 1 };
	struct bf_sdma_drv_body body;

	bf_sdma_work_plan_random(p, 0, src, p->w->size);
	bf_sdma_work_plan_body(p, &body,
			       bf_sdma_work_pieces(p->w->size, p->w->caps.copy_max) * BF_SDMA_COPY_LINEAR_DWORDS +
				   BF_SDMA_WRITE_DWORDS + 2);
	bf_sdma_drv_copy(&body, bf_sdma_work_plan_va(p, 0, dst), bf_sdma_work_plan_va(p, 0, src), p->w->size);
	bf_sdma_work_plan_copied(p, 0, dst, 0, src, p->w->size);
	bf_sdma_work_plan_random_write(p, &body, marker, 2);
	how.done = bf_sdma_work_plan_signal(p, 0, 1, 0);
	bf_sdma_work_plan_submit(p, thread, queue, &body, &how, 2);
	if (wait) {
		bf_sdma_work_plan_wait(p, thread, &how.done, 0);
		bf_sdma_work_plan_check(p, thread, 0, dst, p->w->size);
		bf_sdma_work_plan_check(p, thread, 0, marker, 8);
	}
}

void bf_sdma_work_plan_of_queues(struct bf_sdma_work_plan *p)
{
	for (uint32_t q = 0; q < p->w->queues; q++) {
		const uint32_t thread = bf_sdma_work_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++)
			copy_and_mark(p, thread, q, true);
	}
}

/* SdmaConcurrentCopies: submissions with random delays of the processor between them, an idle wait every eighth. */
void bf_sdma_work_plan_of_concurrent(struct bf_sdma_work_plan *p)
{
	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_work_plan_thread(p, 0);
		struct bf_sdma_drv_signal left = { 0 };
		uint64_t src[BF_SDMA_WORK_WINDOW], dst[BF_SDMA_WORK_WINDOW];

		if (p->w->caps.atomics || p->w->bugs & BF_SDMA_DRV_BUG_SHARED_FENCE)
			left = bf_sdma_work_plan_signal(p, 0, p->w->commands, 0);
		for (uint32_t k = 0; k < BF_SDMA_WORK_WINDOW; k++) {
			src[k] = bf_sdma_work_plan_area(p, 0, p->w->size, "a source");
			dst[k] = bf_sdma_work_plan_area(p, 0, p->w->size, "a destination");
			bf_sdma_work_plan_random(p, 0, src[k], p->w->size);
		}
		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint32_t from = (uint32_t)bf_rng_below(&p->rng, BF_SDMA_WORK_WINDOW),
				       to = c % BF_SDMA_WORK_WINDOW;
			struct bf_sdma_drv_submission how = { .plain = 1 };
			struct bf_sdma_drv_body body;

			/* What a FENCE stores is computed too early to be shared. */
			if (!p->w->caps.atomics && !(p->w->bugs & BF_SDMA_DRV_BUG_SHARED_FENCE))
				left = bf_sdma_work_plan_signal(p, 0, 1, 0);
			how.done = left;
			bf_sdma_work_plan_body(p, &body,
					       bf_sdma_work_pieces(p->w->size, p->w->caps.copy_max) *
						   BF_SDMA_COPY_LINEAR_DWORDS);
			bf_sdma_drv_copy(&body, bf_sdma_work_plan_va(p, 0, dst[to]),
					 bf_sdma_work_plan_va(p, 0, src[from]), p->w->size);
			bf_sdma_work_plan_copied(p, 0, dst[to], 0, src[from], p->w->size);
			bf_sdma_work_plan_submit(p, thread, bf_sdma_work_queue_of(p, i), &body, &how, 1);
			bf_sdma_work_plan_delay(p, thread, (uint32_t)bf_rng_below(&p->rng, 2000));
			if (c % BF_SDMA_WORK_WINDOW == BF_SDMA_WORK_WINDOW - 1)
				bf_sdma_work_plan_idle(p, thread, bf_sdma_work_queue_of(p, i));
		}
		bf_sdma_work_plan_wait(p, thread, &left, 0);
	}
}

/* SdmaQueueWraparound: more pairs than the ring holds, then single WRITEs of all lengths. */
void bf_sdma_work_plan_of_wrap(struct bf_sdma_work_plan *p)
{
	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_work_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++)
			copy_and_mark(p, thread, bf_sdma_work_queue_of(p, i), c % 16 == 15);
		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint32_t n = 2 + 2 * (uint32_t)bf_rng_below(&p->rng, 8);
			const uint64_t dst = bf_sdma_work_plan_area(p, 0, n * 4ull, "a write's destination");
			struct bf_sdma_drv_body body;

			bf_sdma_work_plan_body(p, &body, BF_SDMA_WRITE_DWORDS + n);
			bf_sdma_work_plan_random_write(p, &body, dst, n);
			bf_sdma_work_plan_blocking(p, thread, bf_sdma_work_queue_of(p, i), &body, 1, dst, n * 4ull);
		}
	}
}

/* DisableSdmaQueueByUpdateWithNullAddress: what is submitted to a paused queue waits for its return. */
void bf_sdma_work_plan_of_pause(struct bf_sdma_work_plan *p)
{
	const uint32_t first = bf_sdma_work_plan_thread(p, 0);
	uint32_t thread;

	copy_and_mark(p, first, 0, true);
	bf_sdma_work_plan_next_phase(p);
	bf_sdma_work_plan_act(p, BF_SDMA_WORK_ACT_PAUSE, 0, 0);
	thread = bf_sdma_work_plan_thread(p, 0);
	for (uint32_t c = 0; c < p->w->commands; c++)
		copy_and_mark(p, thread, 0, false);
	bf_sdma_work_plan_delay(p, thread, 2000000);
	bf_sdma_work_plan_next_phase(p);
	bf_sdma_work_plan_act(p, BF_SDMA_WORK_ACT_UNTOUCHED, 0, 0);
	if (!(p->w->bugs & BF_SDMA_DRV_BUG_NO_RESUME))
		bf_sdma_work_plan_act(p, BF_SDMA_WORK_ACT_RESUME, 0, 0);
	thread = bf_sdma_work_plan_thread(p, 0);
	copy_and_mark(p, thread, 0, true);
}

/* GPUDoorbellWrite: one queue's engine stores the write pointer and rings the doorbell of another. */
void bf_sdma_work_plan_of_doorbell(struct bf_sdma_work_plan *p)
{
	const struct bf_sdma_ring *ring = bf_sdma_drv_host_ring(p->host, 0, 1);
	const uint32_t thread = bf_sdma_work_plan_thread(p, 0);
	uint64_t index = 0;

	if (!ring->doorbell_va) {
		bf_sdma_work_plan_refuse(p, "the engine cannot reach doorbells on backend %s", p->w->backend->name);
		return;
	}
	for (uint32_t c = 0; c < p->w->commands; c++) {
		const uint64_t dst = bf_sdma_work_plan_area(p, 0, 8, "a write's destination");
		const struct bf_sdma_drv_signal done = bf_sdma_work_plan_signal(p, 0, 1, 0);
		const struct bf_sdma_drv_submission how = { .plain = 1 };
		struct bf_sdma_drv_body quiet, rings;
		uint32_t at[2];

		bf_sdma_work_plan_body(p, &quiet, BF_SDMA_WRITE_DWORDS + 2 + BF_SDMA_ATOMIC_DWORDS);
		bf_sdma_work_plan_random_write(p, &quiet, dst, 2);
		bf_sdma_drv_add_atomic_add(&quiet, done.va, ~0ull);
		bf_sdma_work_plan_quietly(p, thread, 1, &quiet, 2);
		/* The place is known: nobody else uses that queue. ROCr's rule of padding applies to it as to any. */
		if (p->w->ring - index % p->w->ring <= quiet.n * 4)
			index += p->w->ring - index % p->w->ring;
		index += quiet.n * 4;
		at[0] = (uint32_t)(p->w->wrapped ? index % p->w->ring : index);
		at[1] = (uint32_t)(p->w->wrapped ? 0 : index >> 32);
		bf_sdma_work_plan_body(p, &rings, 2 * (BF_SDMA_WRITE_DWORDS + 2) + 1);
		bf_sdma_drv_add_write(&rings, ring->wptr.va, at, 2);
		bf_sdma_drv_order(&rings);
		bf_sdma_drv_add_write(&rings, ring->doorbell_va, at, p->w->wrapped ? 1 : 2);
		bf_sdma_work_plan_submit(p, thread, 0, &rings, &how, 3);
		bf_sdma_work_plan_wait(p, thread, &done, 0);
		bf_sdma_work_plan_check(p, thread, 0, dst, 8);
	}
}

/* BasicSDMAReset: a WRITE that ends too early hangs one queue; the others go on, and the hung one is replaced. */
void bf_sdma_work_plan_of_reset(struct bf_sdma_work_plan *p)
{
	const struct bf_sdma_drv_submission plain = { .plain = 1 };
	const uint32_t guilty = bf_sdma_work_plan_thread(p, 0);
	const uint64_t never = bf_sdma_work_plan_area(p, 0, 64, "what the truncated write would store");
	const uint32_t data[4] = { 1, 2, 3, 4 };
	struct bf_sdma_drv_body body;

	bf_sdma_work_plan_body(p, &body, BF_SDMA_WRITE_DWORDS + 4);
	bf_sdma_drv_add_write(&body, bf_sdma_work_plan_va(p, 0, never), data, 4);
	if (!p->rc)
		body.n -= 2;
	bf_sdma_work_plan_submit(p, guilty, 0, &body, &plain, 1);
	for (uint32_t q = 1; q < p->w->queues; q++) {
		const uint32_t thread = bf_sdma_work_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++)
			copy_and_mark(p, thread, q, true);
	}
	bf_sdma_work_plan_next_phase(p);
	bf_sdma_work_plan_act(p, BF_SDMA_WORK_ACT_HUNG, 0, 0);
	bf_sdma_work_plan_act(p, BF_SDMA_WORK_ACT_RESET, 0, 0);
	copy_and_mark(p, bf_sdma_work_plan_thread(p, 0), 0, true);
}
