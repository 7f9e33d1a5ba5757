/* Records of memory that is shared between devices; see records_share.def. */
#ifndef BELFRY_SIM_RECORDS_SHARE_H
#define BELFRY_SIM_RECORDS_SHARE_H

#define BF_RECORDS_DEF "sim/records_share.def"
#include "sim/record_declare.h"

#endif
