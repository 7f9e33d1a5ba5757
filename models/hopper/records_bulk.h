/* Records of bulk copies; see records_bulk.def. */
#ifndef BELFRY_MODELS_HOPPER_RECORDS_BULK_H
#define BELFRY_MODELS_HOPPER_RECORDS_BULK_H

#define BF_RECORDS_DEF "models/hopper/records_bulk.def"
#include "sim/record_declare.h"

#endif
