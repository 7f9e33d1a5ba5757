#include "models/mlx5/records.h"

#include "models/mlx5/prm.h"
#include "models/mlx5/prm_hca.h"

#define BF_RECORDS_DEF "models/mlx5/records.def"
#include "sim/record_define.h"
