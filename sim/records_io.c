#include "sim/records_io.h"

#define BF_RECORDS_DEF "sim/records_io.def"
#include "sim/record_define.h"
