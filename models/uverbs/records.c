#include "models/uverbs/records.h"

#define BF_RECORDS_DEF "models/uverbs/records.def"
#include "sim/record_define.h"
