/* Records of the SDMA driver; see sdma_driver.def. */
#ifndef BELFRY_TRACES_RECORDS_SDMA_DRIVER_H
#define BELFRY_TRACES_RECORDS_SDMA_DRIVER_H

#define BF_RECORDS_DEF "traces/records/sdma_driver.def"
#include "sim/record_declare.h"

#endif
