#include "models/mlx5/records.h"

#define BF_RECORDS_DEF "models/mlx5/records.def"
#include "sim/record_define.h"
