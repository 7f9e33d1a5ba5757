/* Records of the SDMA model; see records.def. */
#ifndef BELFRY_MODELS_SDMA_RECORDS_H
#define BELFRY_MODELS_SDMA_RECORDS_H

/* Of a longer packet sdma_packet has so many dwords. */
#define BF_SDMA_RECORD_DWORDS 1024u

#define BF_RECORDS_DEF "models/sdma/records.def"
#include "sim/record_declare.h"

#endif
