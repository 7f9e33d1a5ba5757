/* A GPU that runs PTX, with memory that tests look at: what the tests of the machine stand on. */
#ifndef BELFRY_TESTS_MODELS_PTX_MACHINE_RIG_H
#define BELFRY_TESTS_MODELS_PTX_MACHINE_RIG_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/launch.h"
#include "sim/agent.h"
#include "sim/sim.h"

#define PTX_HEADER ".version 8.5\n.target sm_90\n.address_size 64\n"

struct ptx_rig {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ptx_device *device;
	struct bf_ptx_library *lib;
	struct bf_region *mem; /* 64 KiB */
	char printed[4096];
	size_t len;
	uint32_t ended, failed;
};

static inline void rig_print(void *arg, const char *text, size_t len)
{
	struct ptx_rig *r = arg;

	if (r->len + len < sizeof(r->printed)) {
		memcpy(r->printed + r->len, text, len + 1);
		r->len += len;
	}
}

static inline void rig_done(void *arg, bool failed)
{
	struct ptx_rig *r = arg;

	r->ended++;
	r->failed += failed;
}

static inline void rig_open(struct ptx_rig *r, uint64_t seed, enum bf_ordering ordering, const char *text)
{
	const struct bf_region_opts mem = { .name = "mem", .kind = BF_MEM_VRAM, .size = 64u << 10 };
	struct bf_ptx_device_opts opts = { .name = "pe0.", .ordering = ordering, .print = rig_print };
	const struct bf_ptx_source source = { .name = "test.ptx", .text = text, .len = strlen(text) };

	memset(r, 0, sizeof(*r));
	ck_assert_int_eq(bf_sim_create(seed, &r->sim), 0);
	ck_assert_int_eq(bf_space_init(&r->space, r->sim, "pe0", 0), 0);
	ck_assert_int_eq(bf_region_create(&r->space, &mem, &r->mem), 0);
	opts.space = &r->space;
	opts.print_arg = r;
	ck_assert_int_eq(bf_ptx_device_create(r->sim, &opts, &r->device), 0);
	ck_assert_msg(bf_ptx_device_load(r->device, &source, 1, &r->lib) == 0, "%s", r->sim->error.text);
}

static inline void rig_close(struct ptx_rig *r)
{
	bf_ptx_device_destroy(r->device);
	bf_space_fini(&r->space);
	bf_sim_destroy(r->sim);
}

/* One dimension, the parameters are 8 bytes each. */
static inline int rig_launch(struct ptx_rig *r, const char *kernel, uint32_t grid, uint32_t block,
			     const uint64_t *params, size_t n)
{
	const struct bf_ptx_launch l = { .kernel = kernel,
					 .grid = { grid },
					 .block = { block },
					 .params = params,
					 .param_bytes = n * 8,
					 .done = rig_done,
					 .arg = r };

	return bf_ptx_device_launch(r->device, r->lib, &l);
}

/* The same, with the memory as the only parameter, to its end. */
static inline enum bf_run_end rig_run(struct ptx_rig *r, const char *kernel, uint32_t grid, uint32_t block)
{
	const uint64_t at = r->mem->va;

	ck_assert_msg(rig_launch(r, kernel, grid, block, &at, 1) == 0, "%s", r->sim->error.text);
	return bf_sim_run(r->sim, BF_S);
}

static inline void rig_good(struct ptx_rig *r, const char *kernel, uint32_t grid, uint32_t block)
{
	const enum bf_run_end end = rig_run(r, kernel, grid, block);
	const struct bf_ptx_fault *f = bf_ptx_device_fault(r->device);

	ck_assert_msg(end == BF_RUN_IDLE && !f, "end %d: %s", end, f ? f->text : r->sim->error.text);
}

static inline uint32_t word_at(const struct ptx_rig *r, uint32_t i)
{
	uint32_t v;

	memcpy(&v, r->mem->bytes + 4u * i, sizeof(v));
	return v;
}

#endif
