/* Records of Hopper's sync unit; see records.def. */
#ifndef BELFRY_MODELS_HOPPER_RECORDS_H
#define BELFRY_MODELS_HOPPER_RECORDS_H

#define BF_RECORDS_DEF "models/hopper/records.def"
#include "sim/record_declare.h"

#endif
