/* Launches: arguments, shape, and what attributes ask for. */
#include <stdlib.h>
#include <string.h>

#include "tools/cuda/driver_internal.h"

/* CUlaunchAttributeID. The others are hints. */
enum { COOPERATIVE = 2, CLUSTER = 4, PROGRAMMATIC_EVENT = 7, COMPLETION_EVENT = 12 };

/* The ends of `extra`'s pairs, and what they bring. */
#define EXTRA_END ((void *)0)
#define EXTRA_POINTER ((void *)1)
#define EXTRA_SIZE ((void *)2)

#define CLUSTER_USUAL 8u
#define CLUSTER_MOST 16u

static uint64_t volume(const uint32_t v[3])
{
	return (uint64_t)v[0] * v[1] * v[2];
}

static int check_cluster(const struct bf_cu_function *f, const struct bf_cu_config *c, const uint32_t cluster[3])
{
	const uint64_t size = volume(cluster);

	if (!cluster[0])
		return BF_CU_OK;
	if (!size || size > (f->wide_clusters ? CLUSTER_MOST : CLUSTER_USUAL))
		return BF_CU_CLUSTER;
	for (int i = 0; i < 3; i++)
		if (c->grid[i] % cluster[i])
			return BF_CU_INVALID_VALUE;
	return BF_CU_OK;
}

static int check_shape(const struct bf_cu_function *f, const struct bf_cu_config *c, const struct bf_cu_asked *asked)
{
	const uint64_t threads = volume(c->block);
	int rc;

	if (!volume(c->grid) || !threads || c->grid[1] > 65535 || c->grid[2] > 65535 || c->grid[0] > INT32_MAX)
		return BF_CU_INVALID_VALUE;
	if (threads > 1024 || c->block[0] > 1024 || c->block[1] > 1024 || c->block[2] > 64 ||
	    c->shared > f->dynamic_shared)
		return BF_CU_INVALID_VALUE;
	if (threads > f->info.max_threads)
		return BF_CU_LAUNCH_OUT_OF_RESOURCES;
	rc = check_cluster(f, c, asked->cluster);
	if (rc)
		return rc;
	if (asked->cooperative &&
	    volume(c->grid) > (uint64_t)bf_cu_blocks_of_sm(f, (uint32_t)threads, c->shared) * bf_cu.profile->sms)
		return BF_CU_TOO_LARGE;
	return BF_CU_OK;
}

static int take_params(const struct bf_cu_function *f, void **params, void **extra, uint8_t *to)
{
	const void *block = NULL;
	size_t size = 0;

	if (params) {
		for (uint32_t i = 0; i < f->info.params; i++)
			memcpy(to + f->params[i].offset, params[i], f->params[i].size);
		return BF_CU_OK;
	}
	if (!extra)
		return f->info.params ? BF_CU_INVALID_VALUE : BF_CU_OK;
	for (; *extra != EXTRA_END; extra += 2) {
		if (*extra == EXTRA_POINTER)
			block = extra[1];
		else if (*extra == EXTRA_SIZE)
			size = *(size_t *)extra[1];
		else
			return BF_CU_INVALID_VALUE;
	}
	if (!block)
		return BF_CU_INVALID_VALUE;
	/* NCCL gives as much of a parameter of 4 KiB as it uses. */
	memcpy(to, block, size < f->info.param_bytes ? size : f->info.param_bytes);
	return BF_CU_OK;
}

int bf_cu_kernel_op(struct bf_cu_function *f, const struct bf_cu_config *c, struct bf_cu_asked *asked, void **params,
		    void **extra, struct bf_cu_op **out)
{
	struct bf_cu_op *op;
	struct bf_ptx_launch *l;
	int rc;

	if (f->refused) {
		if (!__atomic_exchange_n(&f->told, true, __ATOMIC_RELAXED))
			bf_cu_say("%s", f->refused);
		return BF_CU_NOT_SUPPORTED;
	}
	if (!asked->cluster[0] && f->cluster[0])
		memcpy(asked->cluster, f->cluster, sizeof(asked->cluster));
	rc = check_shape(f, c, asked);
	if (rc)
		return rc;
	op = bf_cu_op_make(BF_CU_OP_KERNEL, f->info.param_bytes + 1u);
	if (!op)
		return BF_CU_OUT_OF_MEMORY;
	op->kernel.fn = f;
	op->kernel.params = (uint8_t *)(op + 1);
	rc = take_params(f, params, extra, op->kernel.params);
	if (rc) {
		free(op);
		return rc;
	}
	l = &op->kernel.launch;
	l->kernel = f->name;
	memcpy(l->grid, c->grid, sizeof(l->grid));
	memcpy(l->block, c->block, sizeof(l->block));
	memcpy(l->cluster, f->info.cluster[0] ? (const uint32_t[3]){ 0 } : asked->cluster, sizeof(l->cluster));
	l->shared_bytes = c->shared;
	l->params = op->kernel.params;
	l->param_bytes = f->info.param_bytes;
	l->cooperative = asked->cooperative;
	*out = op;
	return BF_CU_OK;
}

static int launch(const struct bf_cu_config *config, struct bf_cu_asked *asked, CUfunction function, void **params,
		  void **extra)
{
	struct bf_cu_function *f = bf_cu_function_of(function);
	struct bf_cu_context *c;
	struct bf_cu_stream *s;
	struct bf_cu_op *op = NULL;
	int rc = bf_cu_enter(&c);

	if (rc || !f)
		return rc ? rc : BF_CU_INVALID_HANDLE;
	rc = bf_cu_kernel_op(f, config, asked, params, extra, &op);
	if (rc)
		return rc;
	bf_cu_lock();
	s = bf_cu_stream_of(config->stream, c);
	if (!s)
		free(op);
	rc = s ? bf_cu_enqueue(s, op) : BF_CU_INVALID_HANDLE;
	bf_cu_unlock();
	if (!rc && asked->event)
		rc = cuEventRecord(asked->event, config->stream);
	return rc;
}

int cuLaunchKernelEx(const struct bf_cu_config *config, CUfunction f, void **params, void **extra)
{
	struct bf_cu_asked asked = { 0 };

	if (!config || (config->count && !config->attributes))
		return BF_CU_INVALID_VALUE;
	for (uint32_t i = 0; i < config->count; i++) {
		const struct bf_cu_attribute *a = &config->attributes[i];

		if (a->id == COOPERATIVE)
			asked.cooperative = a->value.words[0] != 0;
		else if (a->id == CLUSTER)
			memcpy(asked.cluster, a->value.words, sizeof(asked.cluster));
		else if (a->id == PROGRAMMATIC_EVENT || a->id == COMPLETION_EVENT)
			memcpy(&asked.event, a->value.bytes, sizeof(asked.event));
	}
	return launch(config, &asked, f, params, extra);
}

static int plain(CUfunction f, const uint32_t shape[7], CUstream stream, void **params, void **extra, bool cooperative)
{
	const struct bf_cu_config config = { .grid = { shape[0], shape[1], shape[2] },
					     .block = { shape[3], shape[4], shape[5] },
					     .shared = shape[6],
					     .stream = stream };
	struct bf_cu_asked asked = { .cooperative = cooperative };

	return launch(&config, &asked, f, params, extra);
}

int cuLaunchKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
		   unsigned block_z, unsigned shared, CUstream stream, void **params, void **extra)
{
	return plain(f, (const uint32_t[7]){ grid_x, grid_y, grid_z, block_x, block_y, block_z, shared }, stream,
		     params, extra, false);
}

int cuLaunchCooperativeKernel(CUfunction f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
			      unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params)
{
	return plain(f, (const uint32_t[7]){ grid_x, grid_y, grid_z, block_x, block_y, block_z, shared }, stream,
		     params, NULL, true);
}
