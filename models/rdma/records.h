/* Records of the RDMA transport; see records.def. */
#ifndef BELFRY_MODELS_RDMA_RECORDS_H
#define BELFRY_MODELS_RDMA_RECORDS_H

#define BF_RECORDS_DEF "models/rdma/records.def"
#include "sim/record_declare.h"

#endif
