/* Entry points by name and version, as cuGetProcAddress() gives them. */
#include <string.h>

#include "tools/cuda/driver_internal.h"

typedef void entry_fn(void);

#define PER_THREAD 2u /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */

#define BF_CU_OLD(version, name, symbol, other, params, args) BF_CU_API int symbol params;
#define BF_CU_PER_THREAD(version, name, symbol, other, params, args) BF_CU_API int symbol params;
#define BF_CU_ABSENT(version, name, symbol) BF_CU_API int symbol(void);
#include "tools/cuda/absent.inc"
#include "tools/cuda/names.inc"
#undef BF_CU_OLD
#undef BF_CU_PER_THREAD
#undef BF_CU_ABSENT

/* A name without its variant, the version from which this one is meant, the function. */
static const struct {
	const char *name;
	int version;
	bool per_thread;
	entry_fn *fn;
} entries[] = {
#define BF_CU_CALL(version, name, symbol, ...) { #name, version, false, (entry_fn *)symbol },
#define BF_CU_OLD(version, name, symbol, ...) { #name, version, false, (entry_fn *)symbol },
#define BF_CU_PER_THREAD(version, name, symbol, ...) { #name, version, true, (entry_fn *)symbol },
#define BF_CU_ABSENT(version, name, symbol) { #name, version, false, (entry_fn *)symbol },
#include "tools/cuda/absent.inc"
#include "tools/cuda/calls.inc"
#include "tools/cuda/names.inc"
#undef BF_CU_CALL
#undef BF_CU_OLD
#undef BF_CU_PER_THREAD
#undef BF_CU_ABSENT
};

/* The newest up to that version; of the two of one version, the one for the asked-for default stream. */
static entry_fn *find(const char *name, int version, bool per_thread, int *status)
{
	entry_fn *found = NULL;
	bool known = false;
	int newest = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(entries); i++) {
		if (strcmp(entries[i].name, name) != 0 || (entries[i].per_thread && !per_thread))
			continue;
		known = true;
		if (entries[i].version > version || entries[i].version < newest ||
		    (entries[i].version == newest && !entries[i].per_thread))
			continue;
		newest = entries[i].version;
		found = entries[i].fn;
	}
	*status = found ? 0 : known ? 2 : 1;
	return found;
}

static int look_up(const char *name, void **fn, int version, uint64_t flags, int *status)
{
	union {
		entry_fn *function;
		void *object;
	} found;

	if (!name || !fn)
		return BF_CU_INVALID_VALUE;
	found.function = find(name, version, flags & PER_THREAD, status);
	*fn = found.object;
	return found.function ? BF_CU_OK : BF_CU_NOT_FOUND;
}

int cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags)
{
	int status;

	return look_up(name, fn, version, flags, &status);
}

int cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *status)
{
	int own;
	const int rc = look_up(name, fn, version, flags, status ? status : &own);

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
