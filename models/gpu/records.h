/* Records of a GPU's memory; see records.def. */
#ifndef BELFRY_MODELS_GPU_RECORDS_H
#define BELFRY_MODELS_GPU_RECORDS_H

#define BF_RECORDS_DEF "models/gpu/records.def"
#include "sim/record_declare.h"

#endif
