#include "models/pci/records.h"

#define BF_RECORDS_DEF "models/pci/records.def"
#include "sim/record_define.h"
