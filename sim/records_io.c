#include "sim/records_io.h"

#include "sim/fault.h"
#include "sim/iommu.h"
#include "sim/mem.h"

#define BF_RECORDS_DEF "sim/records_io.def"
#include "sim/record_define.h"
