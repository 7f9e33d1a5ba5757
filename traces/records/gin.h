/* Records of the GIN driver; see gin.def. */
#ifndef BELFRY_TRACES_RECORDS_GIN_H
#define BELFRY_TRACES_RECORDS_GIN_H

#define BF_RECORDS_DEF "traces/records/gin.def"
#include "sim/record_declare.h"

#endif
