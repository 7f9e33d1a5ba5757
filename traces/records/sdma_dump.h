/* Records of a dump of an SDMA ring; see sdma_dump.def. */
#ifndef BELFRY_TRACES_RECORDS_SDMA_DUMP_H
#define BELFRY_TRACES_RECORDS_SDMA_DUMP_H

#define BF_RECORDS_DEF "traces/records/sdma_dump.def"
#include "sim/record_declare.h"

#endif
