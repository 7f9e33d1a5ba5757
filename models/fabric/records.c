#include "models/fabric/records.h"

#include "models/fabric/fabric_internal.h"
#include "models/fabric/topology.h"

#define BF_RECORDS_DEF "models/fabric/records.def"
#include "sim/record_define.h"
