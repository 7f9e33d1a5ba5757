/* Records of the IBGDA driver; see ibgda.def. */
#ifndef BELFRY_TRACES_RECORDS_IBGDA_H
#define BELFRY_TRACES_RECORDS_IBGDA_H

#define BF_RECORDS_DEF "traces/records/ibgda.def"
#include "sim/record_declare.h"

#endif
