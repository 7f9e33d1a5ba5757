/* Records of agents and of their memory operations; see records_agent.def. */
#ifndef BELFRY_SIM_RECORDS_AGENT_H
#define BELFRY_SIM_RECORDS_AGENT_H

/* The `build_id` of an image that is the source of an interpreted program. */
#define BF_IMAGE_IS_TEXT UINT64_MAX

#define BF_RECORDS_DEF "sim/records_agent.def"
#include "sim/record_declare.h"

#endif
