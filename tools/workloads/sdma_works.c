/* The table of SDMA workloads: what each is called, its own numbers, the memory that it needs. */
#include "tools/workloads/sdma_works.h"

#include <errno.h>
#include <inttypes.h>

#define PAGE 4096u
#define HEAP_MAX (2ull << 30)

static uint64_t align64(uint64_t v)
{
	return (v + 63) & ~63ull;
}

uint32_t bf_sdma_work_queue_of(const struct bf_sdma_work_plan *p, uint32_t producer)
{
	return producer % p->w->queues;
}

uint32_t bf_sdma_work_pieces(uint64_t bytes, uint32_t most)
{
	return (uint32_t)((bytes + most - 1) / most);
}

void bf_sdma_work_plan_blocking(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue,
				const struct bf_sdma_drv_body *body, uint32_t packets, uint64_t dst, uint64_t bytes)
{
	const uint32_t pe = p->nthreads ? p->threads[thread].pe : 0;
	struct bf_sdma_drv_submission how = { .plain = 1 };

	if (p->w->bugs & BF_SDMA_DRV_BUG_RPTR_DONE) {
		bf_sdma_work_plan_submit(p, thread, queue, body, &how, packets);
		bf_sdma_work_plan_idle(p, thread, queue);
		bf_sdma_work_plan_check(p, thread, pe, dst, bytes);
		return;
	}
	how = (struct bf_sdma_drv_submission){ .done = bf_sdma_work_plan_signal(p, pe, 1, 0) };
	bf_sdma_work_plan_submit(p, thread, queue, body, &how, packets);
	bf_sdma_work_plan_wait(p, thread, &how.done, 0);
	bf_sdma_work_plan_check(p, thread, pe, dst, bytes);
}

void bf_sdma_work_plan_random_write(struct bf_sdma_work_plan *p, struct bf_sdma_drv_body *body, uint64_t dst,
				    uint32_t n)
{
	for (uint32_t i = 0; i < n; i += 64) {
		const uint32_t some = n - i < 64 ? n - i : 64;
		uint32_t data[64];

		for (uint32_t k = 0; k < some; k++)
			data[k] = (uint32_t)bf_rng_next(&p->rng);
		bf_sdma_drv_add_write(body, bf_sdma_work_plan_va(p, 0, dst + i * 4ull), data, some);
		bf_sdma_work_plan_stored(p, 0, dst + i * 4ull, data, some * 4ull);
	}
}

/* ---- the table ---- */

const struct bf_work bf_sdma_work_works[] = {
	[BF_SDMA_WORK_RECT] = { "sdma-rect",
				"32 x 32 bytes into the middle of 128 x 128 x 128, for each element size" },
	[BF_SDMA_WORK_TILES] = { "sdma-tiles", "rects drawn by seed, cut into tiles as ROCr does" },
	[BF_SDMA_WORK_COPY] = { "sdma-copy", "linear copies; with --hops each reads what the one before wrote" },
	[BF_SDMA_WORK_FILL] = { "sdma-fill", "constant fills" },
	[BF_SDMA_WORK_WRITE] = { "sdma-write", "data that lie in the ring" },
	[BF_SDMA_WORK_FENCE] = { "sdma-fence", "dependencies, timestamps, completion signals, mailbox and interrupt" },
	[BF_SDMA_WORK_QUEUES] = { "sdma-queues", "many queues at once, each a copy of a page and a marker" },
	[BF_SDMA_WORK_CONCURRENT] = { "sdma-concurrent", "copies of 64 KiB with random delays and idle waits between" },
	[BF_SDMA_WORK_WRAP] = { "sdma-wrap", "more packets than the ring holds, many times over" },
	[BF_SDMA_WORK_PAUSE] = { "sdma-pause", "a paused queue stops and loses nothing" },
	[BF_SDMA_WORK_DOORBELL] = { "sdma-doorbell", "an engine rings another queue's doorbell" },
	[BF_SDMA_WORK_BROADCAST] = { "sdma-broadcast", "fills and broadcasts to this PE and its peer" },
	[BF_SDMA_WORK_RESET] = { "sdma-reset", "a truncated packet hangs one queue; the others keep running" },
	[BF_SDMA_WORK_MEMCPY3D] = { "sdma-memcpy3d",
				    "hipMemcpy3D and 2D calls drawn by seed, and which path does them" },
	[BF_SDMA_WORK_WORKS] = { NULL, NULL },
};

static const struct {
	void (*plan)(struct bf_sdma_work_plan *p);
	uint32_t commands, queues, producers, pes, hops;
	uint64_t size, ring;
} plans[BF_SDMA_WORK_WORKS] = {
	[BF_SDMA_WORK_RECT] = { bf_sdma_work_plan_of_rect, 1, 1, 1, 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_TILES] = { bf_sdma_work_plan_of_tiles, 64, 1, 1, 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_COPY] = { bf_sdma_work_plan_of_copy, 16, 1, 1, 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_FILL] = { bf_sdma_work_plan_of_fill, 16, 1, 1, 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_WRITE] = { bf_sdma_work_plan_of_write, 16, 1, 1, 1, 1, 256, 1u << 20 },
	[BF_SDMA_WORK_FENCE] = { bf_sdma_work_plan_of_fence, 16, 1, 1, 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_QUEUES] = { bf_sdma_work_plan_of_queues, 4, 8, 1, 1, 1, PAGE, 1u << 16 },
	[BF_SDMA_WORK_CONCURRENT] = { bf_sdma_work_plan_of_concurrent, 1000, 1, 1, 1, 1, 1u << 16, 1u << 16 },
	[BF_SDMA_WORK_WRAP] = { bf_sdma_work_plan_of_wrap, 200, 1, 1, 1, 1, 256, 4096 },
	[BF_SDMA_WORK_PAUSE] = { bf_sdma_work_plan_of_pause, 8, 1, 1, 1, 1, PAGE, 1u << 16 },
	[BF_SDMA_WORK_DOORBELL] = { bf_sdma_work_plan_of_doorbell, 100, 2, 1, 1, 1, 8, 4096 },
	[BF_SDMA_WORK_BROADCAST] = { bf_sdma_work_plan_of_broadcast, 8, 1, 1, 2, 1, 1u << 16, 1u << 16 },
	[BF_SDMA_WORK_RESET] = { bf_sdma_work_plan_of_reset, 8, 4, 1, 1, 1, PAGE, 1u << 16 },
	[BF_SDMA_WORK_MEMCPY3D] = { bf_sdma_work_plan_of_memcpy3d, 64, 1, 1, 1, 1, 4096, 1u << 20 },
};

int bf_sdma_work_defaults(struct bf_sdma_workload *w, struct bf_error *err)
{
	w->commands = w->commands ? w->commands : plans[w->work].commands;
	w->queues = w->queues ? w->queues : plans[w->work].queues;
	w->producers = w->producers ? w->producers : plans[w->work].producers;
	w->pes = w->pes ? w->pes : plans[w->work].pes;
	w->hops = w->hops ? w->hops : plans[w->work].hops;
	w->size = w->size ? w->size : plans[w->work].size;
	w->ring = w->ring ? w->ring : plans[w->work].ring;
	if (w->size % 8)
		return bf_fail(err, -EINVAL, "--size %" PRIu64 " is not a multiple of 8", w->size);
	if (w->ring & (w->ring - 1))
		return bf_fail(err, -EINVAL, "--ring %" PRIu64 " is not a power of two", w->ring);
	if ((w->work == BF_SDMA_WORK_DOORBELL || w->work == BF_SDMA_WORK_RESET) && w->queues < 2)
		return bf_fail(err, -EINVAL, "%s needs at least 2 queues", bf_sdma_work_works[w->work].name);
	if (bf_sdma_work_heap(w) > HEAP_MAX)
		return bf_fail(err, -EINVAL, "this needs %" PRIu64 " bytes of memory on each PE, more than 2 GiB",
			       bf_sdma_work_heap(w));
	return 0;
}

uint64_t bf_sdma_work_heap(const struct bf_sdma_workload *w)
{
	const uint64_t slot = align64(w->size), n = (uint64_t)w->commands * w->producers;
	const uint64_t threads = 64ull * (w->producers + w->queues + 8);

	switch (w->work) {
	case BF_SDMA_WORK_RECT:
		return BF_SDMA_WORK_RECT_BYTES * 6 + 8192;
	case BF_SDMA_WORK_TILES:
	case BF_SDMA_WORK_MEMCPY3D:
		return threads + n * (2 * BF_SDMA_WORK_TILES_BYTES + 64);
	case BF_SDMA_WORK_COPY:
		return threads + n * (slot * (w->hops + 1) + 64);
	case BF_SDMA_WORK_CONCURRENT:
		return threads + w->producers * (BF_SDMA_WORK_WINDOW * 2 * slot + 64) + n * 64;
	case BF_SDMA_WORK_QUEUES:
	case BF_SDMA_WORK_RESET:
		return threads + ((uint64_t)w->commands * w->queues + 2) * (2 * slot + 256);
	case BF_SDMA_WORK_BROADCAST:
		return threads + n * (3 * slot + 256);
	case BF_SDMA_WORK_FENCE:
		return threads + (n + 4) * ((w->gang + 1) * (2 * slot + 512));
	case BF_SDMA_WORK_FILL:
	case BF_SDMA_WORK_WRITE:
	case BF_SDMA_WORK_WRAP:
	case BF_SDMA_WORK_PAUSE:
	case BF_SDMA_WORK_DOORBELL:
	case BF_SDMA_WORK_WORKS:
	default:
		return threads + (n + 4) * (2 * slot + 512);
	}
}

void bf_sdma_work_plan(struct bf_sdma_work_plan *p)
{
	plans[p->w->work].plan(p);
}
