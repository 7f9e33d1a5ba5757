/* Records of memory, links, DMA and faults; see records_io.def. */
#ifndef BELFRY_SIM_RECORDS_IO_H
#define BELFRY_SIM_RECORDS_IO_H

#define BF_RECORDS_DEF "sim/records_io.def"
#include "sim/record_declare.h"

#endif
