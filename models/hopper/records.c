#include "models/hopper/records.h"

#include "models/hopper/hopper.h"
#include "models/hopper/unit.h"
#include "models/hopper/word.h"

#define BF_RECORDS_DEF "models/hopper/records.def"
#include "sim/record_define.h"
