/* Calls by their older names, and by those where stream 0 is the calling thread's own. */
#include "tools/cuda/driver_internal.h"

_Thread_local bool bf_cu_per_thread;

#define BF_CU_OLD(version, name, symbol, other, params, args)                                                          \
	BF_CU_API int symbol params;                                                                                   \
	int symbol params                                                                                              \
	{                                                                                                              \
		return other args;                                                                                     \
	}
#define BF_CU_PER_THREAD(version, name, symbol, other, params, args)                                                   \
	BF_CU_API int symbol params;                                                                                   \
	int symbol params                                                                                              \
	{                                                                                                              \
		int rc;                                                                                                \
                                                                                                                       \
		bf_cu_per_thread = true;                                                                               \
		rc = other args;                                                                                       \
		bf_cu_per_thread = false;                                                                              \
		return rc;                                                                                             \
	}
#include "tools/cuda/names.inc"
