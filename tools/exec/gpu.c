/* The calls of gpu.h, for the CUDA libraries of this process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/exec/dmabufs.h"
#include "tools/exec/engine_internal.h"
#include "tools/exec/exec_internal.h"
#include "tools/exec/identity.h"

static uint32_t count(void)
{
	const char *text = getenv(BF_EXEC_ENV_GPU);
	char why[128];
	uint32_t n;

	return text && *text && !bf_exec_gpu_parse(text, &n, NULL, why, sizeof(why)) ? n : 0;
}

static const struct bf_exec_gpu_profile *profile(void)
{
	const char *text = getenv(BF_EXEC_ENV_GPU);
	const struct bf_exec_gpu_profile *is;
	char why[128];

	return text && *text && !bf_exec_gpu_parse(text, NULL, &is, why, sizeof(why)) ? is : NULL;
}

static uint32_t rank(void)
{
	return bf_exec_gpu_domain();
}

static int start(void)
{
	return bf_exec_engine() ? 0 : -errno;
}

static int give(void *at, uint64_t size, enum bf_exec_gpu_memory kind)
{
	struct bf_engine *e = bf_exec_running();

	return e ? bf_engine_ptx_give(e, at, size, kind) : -EIO;
}

static void take(void *at)
{
	struct bf_engine *e = bf_exec_running();

	if (e)
		bf_engine_ptx_take(e, at);
}

static int give_doorbell(void *at, uint64_t size)
{
	struct bf_engine *e = bf_exec_running();

	return e ? bf_engine_ptx_give_doorbell(e, at, size) : -EIO;
}

static int load(uint32_t device, const struct bf_ptx_source *sources, uint32_t n, struct bf_ptx_library **out,
		char *why, size_t cap)
{
	struct bf_engine *e = bf_exec_running();

	return e ? bf_engine_ptx_load(e, device, sources, n, out, why, cap) : -EIO;
}

static int launch(uint32_t device, struct bf_ptx_library *lib, const struct bf_ptx_launch *l, char *why, size_t cap)
{
	struct bf_engine *e = bf_exec_running();

	return e ? bf_engine_ptx_launch(e, device, lib, l, why, cap) : -EIO;
}

static int unload(uint32_t device, struct bf_ptx_library *lib)
{
	struct bf_engine *e = bf_exec_running();

	return e ? bf_engine_ptx_unload(e, device, lib) : -EIO;
}

static void renew(struct bf_ptx_library *lib)
{
	struct bf_engine *e = bf_exec_running();

	if (e)
		bf_engine_ptx_renew(e, lib);
}

static int limits(uint32_t device, uint64_t heap, uint32_t stack)
{
	struct bf_engine *e = bf_exec_running();

	return e ? bf_engine_ptx_limits(e, device, heap, stack) : -EIO;
}

static const struct bf_ptx_fault *fault(uint32_t device)
{
	struct bf_engine *e = bf_exec_running();

	return e ? bf_engine_ptx_fault(e, device) : NULL;
}

static void wait_for(const uint32_t *word, uint32_t value, uint64_t most_ns)
{
	struct bf_engine *e = bf_exec_running();

	if (e)
		bf_engine_ptx_wait(e, word, value, most_ns);
}

static size_t printed(char *to, size_t cap)
{
	struct bf_engine *e = bf_exec_running();

	return e ? bf_engine_ptx_printed(e, to, cap) : 0;
}

const struct bf_exec_gpu_calls *belfry_exec_gpu(void)
{
	static const struct bf_exec_gpu_calls calls = {
		.version = BF_EXEC_GPU_CALLS,
		.count = count,
		.profile = profile,
		.rank = rank,
		.start = start,
		.give = give,
		.take = take,
		.give_doorbell = give_doorbell,
		.note_dmabuf = bf_dmabufs_note,
		.load = load,
		.launch = launch,
		.unload = unload,
		.renew = renew,
		.program = bf_ptx_library_program,
		.variable = bf_ptx_library_variable,
		.kernel = bf_ptx_library_kernel,
		.param = bf_ptx_library_param,
		.refusal = bf_ptx_library_refusal,
		.limits = limits,
		.fault = fault,
		.wait = wait_for,
		.printed = printed,
	};

	return count() ? &calls : NULL;
}
