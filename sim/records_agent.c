#include "sim/records_agent.h"

#include "sim/view.h"

#define BF_RECORDS_DEF "sim/records_agent.def"
#include "sim/record_define.h"
