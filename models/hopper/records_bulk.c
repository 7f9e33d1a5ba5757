#include "models/hopper/records_bulk.h"

#include "models/hopper/bulk.h"

#define BF_RECORDS_DEF "models/hopper/records_bulk.def"
#include "sim/record_define.h"
