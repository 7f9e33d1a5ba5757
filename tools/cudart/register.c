/*
 * What compiled programs register before main(): fat binaries, and which of the host's functions and variables stand
 * for which of the device's. Nothing is looked at before it is used.
 *
 * Source: crt/host_runtime.h and bin/crt/link.stub of the CUDA toolkit.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cudart/runtime.h"

struct fat {
	const void *wrapper;
	CUmodule library;
	int failed;
	struct managed {
		struct managed *next;
		void **host;
		const char *name;
	} * managed;
};

/* A host address and what it stands for. */
struct symbol {
	struct symbol *next;
	const void *host;
	struct fat *fat;
	const char *name;
	CUfunction kernel;
	bool managed;
};

#define BUCKETS 4096u

static struct {
	pthread_mutex_t lock;
	struct symbol *functions[BUCKETS], *variables[BUCKETS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint32_t bucket(const void *host)
{
	return (uint32_t)(((uintptr_t)host >> 4) * 0x9e3779b97f4a7c15ull >> 52);
}

static struct symbol *find(struct symbol *const *in, const void *host)
{
	struct symbol *s = in[bucket(host)];

	while (s && s->host != host)
		s = s->next;
	return s;
}

static void add(struct symbol **in, struct fat *fat, const void *host, const char *name, bool managed)
{
	struct symbol *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	*s = (struct symbol){ .next = in[bucket(host)], .host = host, .fat = fat, .name = name, .managed = managed };
	pthread_mutex_lock(&table.lock);
	in[bucket(host)] = s;
	pthread_mutex_unlock(&table.lock);
}

BF_CU_API void **__cudaRegisterFatBinary(void *wrapper)
{
	struct fat *f = calloc(1, sizeof(*f));

	if (f)
		f->wrapper = wrapper;
	return (void **)f;
}

BF_CU_API void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

static void forget(struct symbol **in, const struct fat *fat)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct symbol **link = &in[i]; *link;) {
			struct symbol *s = *link;

			if (s->fat != fat) {
				link = &s->next;
				continue;
			}
			*link = s->next;
			free(s);
		}
}

BF_CU_API void __cudaUnregisterFatBinary(void **handle)
{
	struct fat *f = (struct fat *)handle;

	if (!f)
		return;
	pthread_mutex_lock(&table.lock);
	forget(table.functions, f);
	forget(table.variables, f);
	pthread_mutex_unlock(&table.lock);
	if (f->library)
		cuLibraryUnload(f->library);
	while (f->managed) {
		struct managed *m = f->managed;

		f->managed = m->next;
		free(m);
	}
	free(f);
}

BF_CU_API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads,
				      void *tid, void *bid, void *block, void *grid, int *warp)
{
	(void)device;
	(void)threads;
	(void)tid;
	(void)bid;
	(void)block;
	(void)grid;
	(void)warp;
	if (handle)
		add(table.functions, (struct fat *)handle, host, name, false);
}

BF_CU_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
				 int constant, int global)
{
	(void)device;
	(void)external;
	(void)size;
	(void)constant;
	(void)global;
	if (handle)
		add(table.variables, (struct fat *)handle, host, name, false);
}

BF_CU_API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external,
					size_t size, int constant, int global)
{
	struct fat *f = (struct fat *)handle;
	struct managed *m = f ? calloc(1, sizeof(*m)) : NULL;

	(void)device;
	(void)external;
	(void)size;
	(void)constant;
	(void)global;
	if (!m)
		return;
	*m = (struct managed){ .next = f->managed, .host = host, .name = name };
	f->managed = m;
	add(table.variables, f, host, name, true);
}

BF_CU_API void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
	(void)handle;
	(void)name;
	(void)host;
	(void)size;
	bf_cu_unsupported("__cudaRegisterHostVar");
}

BF_CU_API void __cudaRegisterUnifiedTable(void **handle, void *entries)
{
	(void)handle;
	(void)entries;
	bf_cu_unsupported("__cudaRegisterUnifiedTable");
}

/* ---- use ---- */

/* Loads it, once; its managed variables then are where the device has them. Under the lock. */
static int load(struct fat *f)
{
	Dl_info info;
	const char *file = dladdr(f->wrapper, &info) && info.dli_fname ? info.dli_fname : "the program";

	if (f->library || f->failed)
		return f->failed;
	f->failed = bf_cu_library_load(&f->library, f->wrapper, file);
	for (const struct managed *m = f->managed; !f->failed && m; m = m->next) {
		CUdeviceptr at = 0;

		f->failed = cuLibraryGetManaged(&at, NULL, f->library, m->name);
		if (!f->failed)
			*m->host = (void *)(uintptr_t)at;
	}
	return f->failed;
}

BF_CU_API char __cudaInitModule(void **handle)
{
	int rc = bf_rt_enter();

	pthread_mutex_lock(&table.lock);
	rc = rc || !handle ? rc : load((struct fat *)handle);
	pthread_mutex_unlock(&table.lock);
	bf_rt_done(rc);
	return 0;
}

int bf_rt_kernel(const void *stub, CUfunction *out)
{
	int rc = bf_rt_enter();
	struct symbol *s;

	*out = NULL;
	if (rc || !stub)
		return rc ? rc : BF_RT_INVALID_FUNCTION;
	pthread_mutex_lock(&table.lock);
	s = find(table.functions, stub);
	if (s && !s->kernel) {
		rc = load(s->fat);
		rc = rc ? rc : cuLibraryGetKernel(&s->kernel, s->fat->library, s->name);
	}
	if (s)
		*out = s->kernel;
	pthread_mutex_unlock(&table.lock);
	if (s)
		return rc == BF_CU_NOT_FOUND ? BF_RT_INVALID_FUNCTION : rc;
	/* A handle, for calls that take either. */
	return bf_cu_is_function(stub, out) ? BF_CU_OK : BF_RT_INVALID_FUNCTION;
}

const void *bf_rt_stub(CUfunction f)
{
	const void *stub = f;

	pthread_mutex_lock(&table.lock);
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (const struct symbol *s = table.functions[i]; s; s = s->next)
			if (s->kernel == f)
				stub = s->host;
	pthread_mutex_unlock(&table.lock);
	return stub;
}

int bf_rt_symbol(const void *host, CUdeviceptr *at, size_t *size)
{
	int rc = bf_rt_enter();
	const struct symbol *s;

	if (rc || !host)
		return rc ? rc : BF_RT_INVALID_SYMBOL;
	pthread_mutex_lock(&table.lock);
	s = find(table.variables, host);
	rc = s ? load(s->fat) : BF_RT_INVALID_SYMBOL;
	rc = rc ? rc : cuLibraryGetGlobal(at, size, s->fat->library, s->name);
	pthread_mutex_unlock(&table.lock);
	return rc == BF_CU_NOT_FOUND ? BF_RT_INVALID_SYMBOL : rc;
}

/* ---- launches ---- */

#define DEPTH 16u

struct configuration {
	struct bf_dim3 grid, block;
	size_t shared;
	void *stream;
};

static _Thread_local struct {
	struct configuration at[DEPTH];
	unsigned n;
} pushed;

BF_CU_API unsigned __cudaPushCallConfiguration(struct bf_dim3 grid, struct bf_dim3 block, size_t shared, void *stream)
{
	if (pushed.n == DEPTH)
		return BF_RT_INVALID_CONFIGURATION;
	pushed.at[pushed.n++] = (struct configuration){ grid, block, shared, stream };
	return 0;
}

BF_CU_API int __cudaPopCallConfiguration(struct bf_dim3 *grid, struct bf_dim3 *block, size_t *shared, void *stream)
{
	const struct configuration *c;

	if (!pushed.n)
		return bf_rt_done(BF_RT_MISSING_CONFIGURATION);
	c = &pushed.at[--pushed.n];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	memcpy(stream, &c->stream, sizeof(c->stream));
	return 0;
}

static int launch(CUfunction f, struct bf_dim3 grid, struct bf_dim3 block, void **args, size_t shared, CUstream stream,
		  bool cooperative)
{
	int rc;

	if (shared > UINT32_MAX)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	rc = cooperative ? cuLaunchCooperativeKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
						     (unsigned)shared, stream, args)
			 : cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
					  stream, args, NULL);
	return bf_rt_done(rc);
}

static CUstream of_thread(CUstream stream)
{
	return stream ? stream : BF_CU_STREAM_THREAD;
}

BF_CU_API int __cudaGetKernel(CUfunction *kernel, const void *stub)
{
	return bf_rt_done(bf_rt_kernel(stub, kernel));
}

BF_CU_API int cudaGetKernel(CUfunction *kernel, const void *stub)
{
	return bf_rt_done(bf_rt_kernel(stub, kernel));
}

BF_CU_API int cudaGetFuncBySymbol(CUfunction *function, const void *stub)
{
	return bf_rt_done(bf_rt_kernel(stub, function));
}

BF_CU_API int __cudaLaunchKernel(CUfunction kernel, struct bf_dim3 grid, struct bf_dim3 block, void **args,
				 size_t shared, CUstream stream)
{
	const int rc = bf_rt_enter();

	return rc ? bf_rt_done(rc) : launch(kernel, grid, block, args, shared, stream, false);
}

BF_CU_API int __cudaLaunchKernel_ptsz(CUfunction kernel, struct bf_dim3 grid, struct bf_dim3 block, void **args,
				      size_t shared, CUstream stream)
{
	return __cudaLaunchKernel(kernel, grid, block, args, shared, of_thread(stream));
}

BF_CU_API int cudaLaunchKernel(const void *stub, struct bf_dim3 grid, struct bf_dim3 block, void **args, size_t shared,
			       CUstream stream)
{
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return rc ? bf_rt_done(rc) : launch(f, grid, block, args, shared, stream, false);
}

BF_CU_API int cudaLaunchKernel_ptsz(const void *stub, struct bf_dim3 grid, struct bf_dim3 block, void **args,
				    size_t shared, CUstream stream)
{
	return cudaLaunchKernel(stub, grid, block, args, shared, of_thread(stream));
}

BF_CU_API int cudaLaunchCooperativeKernel(const void *stub, struct bf_dim3 grid, struct bf_dim3 block, void **args,
					  size_t shared, CUstream stream)
{
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return rc ? bf_rt_done(rc) : launch(f, grid, block, args, shared, stream, true);
}

BF_CU_API int cudaLaunchCooperativeKernel_ptsz(const void *stub, struct bf_dim3 grid, struct bf_dim3 block, void **args,
					       size_t shared, CUstream stream)
{
	return cudaLaunchCooperativeKernel(stub, grid, block, args, shared, of_thread(stream));
}

/* cudaLaunchConfig_t: as the driver's, but that the shared memory is a size_t. */
struct launch_config {
	struct bf_dim3 grid, block;
	size_t shared;
	CUstream stream;
	struct bf_cu_attribute *attributes;
	unsigned count;
};

static struct bf_cu_config driver_config(const struct launch_config *c)
{
	return (struct bf_cu_config){ .grid = { c->grid.x, c->grid.y, c->grid.z },
				      .block = { c->block.x, c->block.y, c->block.z },
				      .shared = (uint32_t)c->shared,
				      .stream = c->stream,
				      .attributes = c->attributes,
				      .count = c->count };
}

BF_CU_API int cudaLaunchKernelExC(const struct launch_config *c, const void *stub, void **args)
{
	struct bf_cu_config config;
	CUfunction f;
	int rc;

	if (!c || c->shared > UINT32_MAX)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	rc = bf_rt_kernel(stub, &f);
	config = driver_config(c);
	return rc ? bf_rt_done(rc) : bf_rt_done(cuLaunchKernelEx(&config, f, args, NULL));
}

BF_CU_API int cudaLaunchKernelExC_ptsz(const struct launch_config *c, const void *stub, void **args)
{
	struct launch_config own;

	if (!c)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	own = *c;
	own.stream = of_thread(c->stream);
	return cudaLaunchKernelExC(&own, stub, args);
}

BF_CU_API int cudaOccupancyMaxActiveClusters(int *n, const void *stub, const struct launch_config *c)
{
	const struct bf_cu_config config = driver_config(c);
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return bf_rt_done(rc ? rc : cuOccupancyMaxActiveClusters(n, f, &config));
}

BF_CU_API int cudaOccupancyMaxPotentialClusterSize(int *n, const void *stub, const struct launch_config *c)
{
	const struct bf_cu_config config = driver_config(c);
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return bf_rt_done(rc ? rc : cuOccupancyMaxPotentialClusterSize(n, f, &config));
}
