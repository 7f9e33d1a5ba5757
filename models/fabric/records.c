#include "models/fabric/records.h"

#define BF_RECORDS_DEF "models/fabric/records.def"
#include "sim/record_define.h"
