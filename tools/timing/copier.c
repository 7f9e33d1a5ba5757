#include "tools/timing/copier.h"

#include <errno.h>
#include <string.h>

#define RING 65536u
#define MOST (64u << 20)    /* bytes that are copied; what is larger is this many times as long behind the first */
#define COPY_MOST 0x3fffe0u /* ROCr's for counts of 22 bits (amd_blit_sdma.h) */
#define MARK 0x600du

struct bench {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_region *host, *vram, *control;
	struct bf_sdma *dev;
	struct bf_sdma_queue *q;
	uint64_t index;
	struct bf_event look;
	bool opened;
};

static void put(struct bench *b, const uint32_t *dw, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, b->index += 4)
		bf_put_le32(b->control->bytes + (b->index & (RING - 1)), dw[i]);
}

static int open_region(struct bench *b, const char *name, enum bf_mem_kind kind, uint64_t bytes, struct bf_region **out)
{
	const struct bf_region_opts o = { .name = name, .kind = kind, .size = bytes };
	int rc = bf_region_create(&b->space, &o, out);

	return rc ? rc : bf_ioas_map_region(&b->ioas, *out, BF_IOMMU_READ | BF_IOMMU_WRITE);
}

static int bench_open(struct bench *b, const struct bf_sdma_profile *engine, uint64_t bytes, struct bf_error *err)
{
	struct bf_sdma_profile steady = *engine;
	const struct bf_sdma_opts opts = { .name = "sdma0", .profile = &steady, .space = &b->space, .ioas = &b->ioas };
	struct bf_sdma_queue_opts q = { .bytes = RING };
	int rc = bf_sim_create(1, &b->sim);

	steady.jitter_ps = 0; /* a mean, not a seed's */
	if (rc)
		return bf_fail(err, rc, "no memory");
	rc = bf_space_init(&b->space, b->sim, "host", 0);
	if (!rc)
		rc = bf_ioas_init(&b->ioas, b->sim, "gpu", 4096);
	b->opened = !rc;
	if (!rc)
		rc = open_region(b, "host", BF_MEM_DRAM, bytes, &b->host);
	if (!rc)
		rc = open_region(b, "vram", BF_MEM_VRAM, 3 * bytes, &b->vram);
	if (!rc)
		rc = open_region(b, "control", BF_MEM_DRAM, RING + 8192, &b->control);
	if (!rc)
		rc = bf_sdma_create(b->sim, &opts, &b->dev);
	if (!rc) {
		q.ring = b->control->va;
		q.rptr = b->control->va + RING;
		q.wptr = q.rptr + 64;
		rc = bf_sdma_queue_create(b->dev, &q, &b->q);
	}
	return rc ? bf_fail(err, rc, "%s", b->sim->error.text) : 0;
}

static void bench_close(struct bench *b)
{
	if (b->dev)
		bf_sdma_destroy(b->dev);
	if (b->opened) {
		bf_ioas_fini(&b->ioas);
		bf_space_fini(&b->space);
	}
	if (b->sim)
		bf_sim_destroy(b->sim);
}

/* One packet, of `bytes` bytes from `at` on; buffers of `size` bytes follow each other. */
static void put_copy(struct bench *b, const struct bf_copier_run *run, uint64_t at, uint64_t bytes, uint64_t size)
{
	const uint64_t src = (run->from_host ? b->host->va : b->vram->va) + at;
	const uint64_t dst = (run->to_host ? b->host->va : b->vram->va + size) + at,
		       second = b->vram->va + 2 * size + at;
	const uint32_t dw[9] = { BF_SDMA_OP_COPY | (run->broadcast ? (uint32_t)BF_SDMA_COPY_BROADCAST : 0),
				 (uint32_t)bytes - 1,
				 0,
				 (uint32_t)src,
				 (uint32_t)(src >> 32),
				 (uint32_t)dst,
				 (uint32_t)(dst >> 32),
				 (uint32_t)second,
				 (uint32_t)(second >> 32) };

	put(b, dw, run->broadcast ? 9 : BF_SDMA_COPY_LINEAR_DWORDS);
}

/* Fine steps against what is waited for. */
static void on_look(struct bf_event *ev)
{
	struct bench *b = BF_CONTAINER_OF(ev, struct bench, look);

	if (bf_get_le32(b->control->bytes + RING + 4096) == MARK)
		bf_sim_stop(b->sim);
	else
		bf_sim_after(b->sim, ev, 2 * BF_NS + b->sim->now_ps / 2048);
}

static int measure(const struct bf_copier_run *run, uint64_t bytes, uint64_t *ps, struct bf_error *err)
{
	struct bench b = { 0 };
	int rc = bench_open(&b, run->engine, (bytes + 4095) & ~4095ull, err);
	struct bf_region *bells;
	uint64_t offset, fence;
	uint8_t index[8];

	if (!rc) {
		for (uint32_t i = 0; i < run->copies; i++)
			for (uint64_t at = 0; at < bytes; at += COPY_MOST)
				put_copy(&b, run, at, bytes - at < COPY_MOST ? bytes - at : COPY_MOST, bytes);
		fence = b.control->va + RING + 4096;
		put(&b, (const uint32_t[]){ BF_SDMA_OP_FENCE, (uint32_t)fence, (uint32_t)(fence >> 32), MARK }, 4);
		bf_put_le64(index, b.index);
		memcpy(b.control->bytes + RING + 64, index, 8);
		bells = bf_sdma_doorbell(b.q, &offset);
		bf_mmio_post(bells, offset, index, 8);
		bf_event_init(&b.look, on_look);
		bf_sim_after(b.sim, &b.look, BF_NS);
		if (bf_sim_run(b.sim, BF_S) != BF_RUN_STOPPED)
			rc = bf_fail(err, -ETIMEDOUT, "the copies did not end");
		bf_sim_cancel(b.sim, &b.look);
		*ps = b.sim->now_ps;
	}
	bench_close(&b);
	return rc;
}

int bf_copier_measure(const struct bf_copier_run *run, uint64_t *ps, struct bf_error *err)
{
	uint64_t half = 0, whole = 0;
	int rc;

	if (!run->size || !run->copies || run->copies > 64)
		return bf_fail(err, -EINVAL, "%u copies of %llu bytes", run->copies, (unsigned long long)run->size);
	if (run->size <= MOST / 4 || (run->size * run->copies <= MOST && run->copies == 1))
		return measure(run, run->size, ps, err);
	/* Beyond, time grows with size alone: by what the last half took. */
	rc = measure(run, MOST / 8, &half, err);
	if (!rc)
		rc = measure(run, MOST / 4, &whole, err);
	*ps = whole + (uint64_t)((bf_u128)(whole - half) * (run->size - MOST / 4) / (MOST / 8));
	return rc;
}
