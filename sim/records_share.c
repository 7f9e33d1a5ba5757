#include "sim/records_share.h"

#define BF_RECORDS_DEF "sim/records_share.def"
#include "sim/record_define.h"
