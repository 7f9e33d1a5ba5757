/* Records of captured events; see capture.def. */
#ifndef BELFRY_TRACES_RECORDS_CAPTURE_H
#define BELFRY_TRACES_RECORDS_CAPTURE_H

#define BF_RECORDS_DEF "traces/records/capture.def"
#include "sim/record_declare.h"

#endif
