/* What of the driver API is not there: programs link and load, and hear of it when they call. */
#include "tools/cuda/driver.h"

#define BF_CU_ABSENT(version, name, symbol)                                                                            \
	BF_CU_API int symbol(void);                                                                                    \
	int symbol(void)                                                                                               \
	{                                                                                                              \
		return bf_cu_unsupported(#symbol);                                                                     \
	}
#include "tools/cuda/absent.inc"
