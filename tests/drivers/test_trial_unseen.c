/*
 * Good is never "not looked at": what a device reads and the code under test wrote by plain stores is a finding, be it
 * an entry, a list of addresses, a packet or data. The same code with the platform's stores is good.
 */
#include "drivers/backend/sdma_world.h"
#include "drivers/platform/platform_mbarrier_sim.h"
#include "drivers/sdma/copy.h"
#include "models/sdma/profile.h"

#include "own_mlx5.h"
#include "trial_rig.h"

#define BYTES 64u
#define PAGE 4096u

enum what { NOTHING, DATA, ENTRY, LIST };

struct config {
	enum what plain;
};

/* To memory of the machine: by plain stores, or by those of the thread. Whole words. */
static void put(struct bf_thread *t, void *to, const void *from, uint32_t bytes, bool plain)
{
	uint32_t word;

	if (plain) {
		memcpy(to, from, bytes);
		return;
	}
	for (uint32_t i = 0; i < bytes; i += 4) {
		memcpy(&word, (const uint8_t *)from + i, 4);
		bf_st_weak32(t, (uint8_t *)to + i, word);
	}
}

static void put_pattern(struct bf_thread *t, void *to, uint32_t bytes, bool plain)
{
	uint8_t line[BYTES];

	for (uint32_t at = 0; at < bytes; at += BYTES) {
		for (uint32_t i = 0; i < BYTES; i++)
			line[i] = (uint8_t)((at + i) * 7 + 1);
		put(t, (uint8_t *)to + at, line, BYTES, plain);
	}
}

static void ends_in(const char *name, uint32_t devices, bf_trial_fn *setup, enum what plain, const char *rule)
{
	const struct config c = { plain };
	struct bf_trial_spec spec = { .name = name,
				      .world = { .seed = 1, .npes = 2, .devices = devices },
				      .setup = setup,
				      .state_bytes = 64 * 1024 };

	spec.arg = (void *)(uintptr_t)&c;
	trial_ends_in(&spec, 3, rule);
}

/* ---- mlx5: what a WRITE gathers ---- */

struct nic {
	struct own_qp qp;
	enum what plain;
};

static void nic_kernel(struct bf_thread *t, void *arg)
{
	struct nic *n = arg;

	if (bf_lane(t))
		return;
	put_pattern(t, n->qp.hw.local, BYTES, n->plain == DATA);
	own_put(t, &n->qp, 0, BYTES);
	own_poll(t, &n->qp);
}

static int nic_setup(struct bf_trial *t, void *state)
{
	const struct config *c = bf_trial_arg(t);
	struct nic *n = state;
	int rc = bf_trial_mlx5(t, NULL);

	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &n->qp.hw);
	n->plain = c->plain;
	n->qp.mistake = c->plain == ENTRY ? OWN_PLAIN : OWN_NONE;
	return rc ? rc : bf_trial_launch(t, 0, 1, 1, nic_kernel, n);
}

START_TEST(mlx5)
{
	ends_in("mlx5", 0, nic_setup, NOTHING, NULL);
	ends_in("mlx5", 0, nic_setup, DATA, "MACHINE-UNSEEN");
	ends_in("mlx5", 0, nic_setup, ENTRY, "MLX5-ENTRY-UNSEEN"); /* the rule that knows more */
}
END_TEST

/* ---- NVMe: a write of three pages, whose PRPs are in a list ---- */

#define PAGES 3u

struct ssd {
	struct bf_trial_nvme_queue q;
	struct bf_memory data, list;
	enum what plain;
};

static void ssd_kernel(struct bf_thread *t, void *arg)
{
	struct ssd *s = arg;
	uint32_t dw[16] = { BF_NVME_IO_WRITE | 5u << 16, s->q.nsid };
	uint64_t prp[PAGES - 1];

	put_pattern(t, s->data.ptr, PAGES * PAGE, s->plain == DATA);
	for (uint32_t i = 1; i < PAGES; i++)
		prp[i - 1] = s->data.va + (uint64_t)i * PAGE;
	put(t, s->list.ptr, prp, sizeof(prp), s->plain == LIST);
	bf_put_le64(&dw[6], s->data.va);
	bf_put_le64(&dw[8], s->list.va);
	dw[12] = PAGES * PAGE / s->q.block_bytes - 1;
	put(t, s->q.sq, dw, sizeof(dw), s->plain == ENTRY);
	bf_fence_sys(t);
	bf_mmio_st32(t, s->q.sq_tail, 1);
	while (!(bf_ld_acquire32(t, s->q.cq + 12, BF_AT_SYS) >> 16 & 1))
		bf_spin(t, s->q.cq + 12, "completion");
	bf_mmio_st32(t, s->q.cq_head, 1);
}

static int ssd_setup(struct bf_trial *t, void *state)
{
	const struct config *c = bf_trial_arg(t);
	struct ssd *s = state;
	int rc = bf_trial_nvme(t, 0, NULL);

	if (!rc)
		rc = bf_trial_nvme_queue(t, 0, 0, &s->q);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, PAGES * PAGE, "data", &s->data);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, PAGE, "list", &s->list);
	s->plain = c->plain;
	return rc ? rc : bf_trial_launch_cpu(t, 0, 1, ssd_kernel, s);
}

START_TEST(nvme)
{
	ends_in("nvme", BF_DEVICE_NVME, ssd_setup, NOTHING, NULL);
	ends_in("nvme", BF_DEVICE_NVME, ssd_setup, DATA, "MACHINE-UNSEEN");
	ends_in("nvme", BF_DEVICE_NVME, ssd_setup, LIST, "MACHINE-UNSEEN");
	ends_in("nvme", BF_DEVICE_NVME, ssd_setup, ENTRY, "MACHINE-UNSEEN");
}
END_TEST

/* ---- SDMA: a linear copy, and a fence that says that it is done ---- */

struct engine {
	struct bf_sdma_ring q;
	struct bf_memory data;
	enum what plain;
};

static void engine_kernel(struct bf_thread *t, void *arg)
{
	struct engine *e = arg;
	uint8_t *done = (uint8_t *)e->data.ptr + 2 * BYTES;
	uint32_t dw[64];
	struct bf_sdma_drv_body b;

	put_pattern(t, e->data.ptr, BYTES, e->plain == DATA);
	bf_sdma_drv_body_begin(&b, bf_sdma_drv_caps_of(BF_SDMA_V4), 0, dw, 64);
	bf_sdma_drv_copy(&b, e->data.va + BYTES, e->data.va, BYTES);
	bf_sdma_drv_add_fence(&b, e->data.va + 2 * BYTES, 1);
	put(t, e->q.ring.ptr, dw, b.n * 4, e->plain == ENTRY);
	bf_fence_sys(t);
	bf_st_relaxed64(t, e->q.wptr.ptr, b.n * 4, BF_AT_SYS);
	bf_fence_sys(t);
	bf_mmio_st64(t, e->q.doorbell, b.n * 4);
	while (!bf_ld_acquire32(t, done, BF_AT_SYS))
		bf_spin(t, done, "the copy");
}

static int engine_setup(struct bf_trial *t, void *state)
{
	const struct config *c = bf_trial_arg(t);
	struct engine *e = state;
	int rc = bf_trial_memory(t, 0, BF_PLACE_HOST, PAGE, "ring", &e->q.ring);

	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, PAGE, "read pointer", &e->q.rptr);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, PAGE, "write pointer", &e->q.wptr);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, PAGE, "data", &e->data);
	if (!rc)
		rc = bf_sdma_world(bf_trial_backend(t))->create(bf_trial_world(t), 0, &e->q);
	e->plain = c->plain;
	return rc ? rc : bf_trial_launch_cpu(t, 0, 1, engine_kernel, e);
}

START_TEST(sdma)
{
	ends_in("sdma", BF_DEVICE_SDMA, engine_setup, NOTHING, NULL);
	ends_in("sdma", BF_DEVICE_SDMA, engine_setup, DATA, "MACHINE-UNSEEN");
	ends_in("sdma", BF_DEVICE_SDMA, engine_setup, ENTRY, "MACHINE-UNSEEN");
}
END_TEST

/* ---- bulk copies: what a tile is fetched from ---- */

struct tile {
	struct bf_memory data;
	enum what plain;
};

static void tile_kernel(struct bf_thread *t, void *arg)
{
	const uint32_t a = bf_shared_base(t);
	struct tile *s = arg;

	if (bf_lane(t) == 0) {
		bf_bar_init(t, a, 1);
		bf_bar_init_fence(t);
		bf_proxy_fence(t);
		put_pattern(t, s->data.ptr, 1024, s->plain == DATA);
		bf_fence_sys(t);
		bf_proxy_fence(t);
		bf_bar_arrive_tx(t, a, 1024);
		bf_tma_load(t, a + 1024, s->data.ptr, 1024, a);
		while (!bf_bar_try(t, a, 0))
			;
	}
}

static int tile_setup(struct bf_trial *t, void *state)
{
	const struct bf_grid_opts grid = { .blocks = 1, .threads = 32, .shared_bytes = 2048 };
	const struct config *c = bf_trial_arg(t);
	struct tile *s = state;
	const int rc = bf_trial_memory(t, 0, BF_PLACE_GPU, PAGE, "tile", &s->data);

	s->plain = c->plain;
	return rc ? rc : bf_trial_launch_grid(t, 0, &grid, tile_kernel, s);
}

START_TEST(bulk)
{
	ends_in("bulk", 0, tile_setup, NOTHING, NULL);
	ends_in("bulk", 0, tile_setup, DATA, "MACHINE-UNSEEN");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unseen");

	tcase_add_test(tc, mlx5);
	tcase_add_test(tc, nvme);
	tcase_add_test(tc, sdma);
	tcase_add_test(tc, bulk);
	return trial_rig_run(tc, "bytes that nobody recorded");
}
