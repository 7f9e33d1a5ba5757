/* Records of the NVMe driver; see nvme_driver.def. */
#ifndef BELFRY_TRACES_RECORDS_NVME_DRIVER_H
#define BELFRY_TRACES_RECORDS_NVME_DRIVER_H

#define BF_RECORDS_DEF "traces/records/nvme_driver.def"
#include "sim/record_declare.h"

#endif
