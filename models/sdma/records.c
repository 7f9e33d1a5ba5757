#include "models/sdma/records.h"

#define BF_RECORDS_DEF "models/sdma/records.def"
#include "sim/record_define.h"
