/* Records of the fabric; see records.def. */
#ifndef BELFRY_MODELS_FABRIC_RECORDS_H
#define BELFRY_MODELS_FABRIC_RECORDS_H

#define BF_RECORDS_DEF "models/fabric/records.def"
#include "sim/record_declare.h"

#endif
