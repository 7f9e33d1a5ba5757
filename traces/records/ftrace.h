/* Records of a Linux NVMe trace; see ftrace.def. */
#ifndef BELFRY_TRACES_RECORDS_FTRACE_H
#define BELFRY_TRACES_RECORDS_FTRACE_H

#define BF_RECORDS_DEF "traces/records/ftrace.def"
#include "sim/record_declare.h"

#endif
