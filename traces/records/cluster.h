/* Records of threads of a cluster; see cluster.def. */
#ifndef BELFRY_TRACES_RECORDS_CLUSTER_H
#define BELFRY_TRACES_RECORDS_CLUSTER_H

#define BF_RECORDS_DEF "traces/records/cluster.def"
#include "sim/record_declare.h"

#endif
