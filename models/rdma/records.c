#include "models/rdma/records.h"

#define BF_RECORDS_DEF "models/rdma/records.def"
#include "sim/record_define.h"
