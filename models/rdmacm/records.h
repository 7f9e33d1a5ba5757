/* Records of the connection manager; see records.def. */
#ifndef BELFRY_MODELS_RDMACM_RECORDS_H
#define BELFRY_MODELS_RDMACM_RECORDS_H

#define BF_RECORDS_DEF "models/rdmacm/records.def"
#include "sim/record_declare.h"

#endif
