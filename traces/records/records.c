/* Records of drivers, of imported files and of programs: their schemas. */
#include "traces/records/cluster.h"
#include "traces/import/ftrace.h"
#include "traces/records/bootstrap.h"
#include "traces/records/ibgda.h"
#include "traces/records/ll.h"
#include "traces/records/gin.h"
#include "traces/records/shmem.h"
#include "traces/records/nvme_driver.h"
#include "traces/records/sdma_driver.h"
#include "traces/records/exec.h"
#include "traces/records/capture.h"
#include "traces/records/ftrace.h"
#include "traces/records/sdma_dump.h"

#define BF_RECORDS_DEF "traces/records/cluster.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/bootstrap.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/ibgda.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/ll.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/gin.def"
#include "sim/record_define.h"
#define BF_RECORDS_DEF "traces/records/shmem.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/nvme_driver.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/sdma_driver.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/exec.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/capture.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/ftrace.def"
#include "sim/record_define.h"

#define BF_RECORDS_DEF "traces/records/sdma_dump.def"
#include "sim/record_define.h"
