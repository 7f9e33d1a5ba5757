/* Records of the low-latency kernels; see ll.def. */
#ifndef BELFRY_TRACES_RECORDS_LL_H
#define BELFRY_TRACES_RECORDS_LL_H

#define BF_RECORDS_DEF "traces/records/ll.def"
#include "sim/record_declare.h"

#endif
