/* Records of the mlx5 model; see records.def. */
#ifndef BELFRY_MODELS_MLX5_RECORDS_H
#define BELFRY_MODELS_MLX5_RECORDS_H

#define BF_RECORDS_DEF "models/mlx5/records.def"
#include "sim/record_declare.h"

#endif
