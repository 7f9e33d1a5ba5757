#include "models/sdma/records.h"

#include "models/sdma/prm.h"

#define BF_RECORDS_DEF "models/sdma/records.def"
#include "sim/record_define.h"
