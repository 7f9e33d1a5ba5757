/* Records of the bootstrap; see bootstrap.def. */
#ifndef BELFRY_TRACES_RECORDS_BOOTSTRAP_H
#define BELFRY_TRACES_RECORDS_BOOTSTRAP_H

#define BF_RECORDS_DEF "traces/records/bootstrap.def"
#include "sim/record_declare.h"

#endif
