#include "models/nvme/records.h"

#define BF_RECORDS_DEF "models/nvme/records.def"
#include "sim/record_define.h"
