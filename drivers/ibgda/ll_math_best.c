/* Which arithmetic of ll_math.c this processor can run. */
#include "drivers/ibgda/ll_math_internal.h"
#include "sim/vectors.h"

const struct bf_ll_math *bf_ll_math_best(void)
{
	return BF_VECTORS_BEST(bf_ll_math);
}
