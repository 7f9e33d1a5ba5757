/* Entry points by name and version, as cuGetProcAddress() gives them. */
#include <string.h>

#include "tools/cuda/driver_internal.h"

typedef void entry_fn(void);

/* A name without its variant, the version from which this one is meant, the function. Newer ones come later. */
static const struct {
	const char *name;
	int version;
	entry_fn *fn;
} entries[] = {
#define BF_CU_CALL(version, name, symbol, ...) { #name, version, (entry_fn *)symbol },
#include "tools/cuda/calls.inc"
#undef BF_CU_CALL
};

static entry_fn *find(const char *name, int version, int *status)
{
	entry_fn *found = NULL;
	bool known = false;

	for (size_t i = 0; i < BF_ARRAY_LEN(entries); i++) {
		if (strcmp(entries[i].name, name) != 0)
			continue;
		known = true;
		if (entries[i].version <= version)
			found = entries[i].fn;
	}
	*status = found ? 0 : known ? 2 : 1;
	return found;
}

static int look_up(const char *name, void **fn, int version, int *status)
{
	union {
		entry_fn *function;
		void *object;
	} found;

	if (!name || !fn)
		return BF_CU_INVALID_VALUE;
	found.function = find(name, version, status);
	*fn = found.object;
	return found.function ? BF_CU_OK : BF_CU_NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags)
{
	int status;

	(void)flags; /* per-thread default streams: by their handle */
	return look_up(name, fn, version, &status);
}

int cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *status)
{
	int own;
	const int rc = look_up(name, fn, version, status ? status : &own);

	(void)flags;
	return name && fn && status ? BF_CU_OK : rc;
}

/* Tables without documentation: not answered. It is what the static runtime asks for first. */
int cuGetExportTable(const void **table, const struct bf_cu_uuid *id)
{
	static bool told;

	(void)id;
	if (table)
		*table = NULL;
	if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		bf_cu_say(
		    "%s is linked with the static CUDA runtime, which talks to NVIDIA's own driver only. Link with "
		    "the shared one: nvcc -cudart shared, CMAKE_CUDA_RUNTIME_LIBRARY=Shared, "
		    "CUDARTLIB=cudart for NCCL",
		    bf_cu_caller(__builtin_return_address(0)));
	return BF_CU_NOT_SUPPORTED;
}
