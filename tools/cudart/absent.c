/* What of the runtime API is not there: programs link and load, and hear of it when they call. */
#include "tools/cudart/runtime.h"

#define BF_RT_ABSENT(name)                                                                                             \
	BF_CU_API int name(void);                                                                                      \
	BF_CU_API int name(void)                                                                                       \
	{                                                                                                              \
		return bf_rt_done(bf_cu_unsupported(#name));                                                           \
	}
#include "tools/cudart/absent.inc"
