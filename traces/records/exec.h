/* Records of a foreign program; see exec.def. */
#ifndef BELFRY_TRACES_RECORDS_EXEC_H
#define BELFRY_TRACES_RECORDS_EXEC_H

#define BF_RECORDS_DEF "traces/records/exec.def"
#include "sim/record_declare.h"

#endif
