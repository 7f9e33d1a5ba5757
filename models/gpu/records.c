#include "models/gpu/records.h"

#define BF_RECORDS_DEF "models/gpu/records.def"
#include "sim/record_define.h"
