/* Records of the NVMe model; see records.def. */
#ifndef BELFRY_MODELS_NVME_RECORDS_H
#define BELFRY_MODELS_NVME_RECORDS_H

#define BF_RECORDS_DEF "models/nvme/records.def"
#include "sim/record_declare.h"

#endif
