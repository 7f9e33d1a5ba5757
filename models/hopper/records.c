#include "models/hopper/records.h"

#define BF_RECORDS_DEF "models/hopper/records.def"
#include "sim/record_define.h"
