/* Records of the uverbs device files; see records.def. */
#ifndef BELFRY_MODELS_UVERBS_RECORDS_H
#define BELFRY_MODELS_UVERBS_RECORDS_H

#define BF_RECORDS_DEF "models/uverbs/records.def"
#include "sim/record_declare.h"

#endif
