#include "models/rdmacm/records.h"

#define BF_RECORDS_DEF "models/rdmacm/records.def"
#include "sim/record_define.h"
