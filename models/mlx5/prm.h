/*
 * mlx5 layouts: WQE segments, CQEs, doorbells, commands, contexts, capabilities. What includes them includes this
 * header.
 *
 * Sources: rdma-core providers/mlx5/mlx5dv.h, mlx5_ifc.h, wqe.h, cq.c; Linux include/linux/mlx5/{qp,cq,device}.h;
 * NVSHMEM src/modules/transport/common/mlx5_prm.h. Drivers include this header too; it has layouts and names only.
 * C and C++ (CUDA) clean.
 */
#ifndef BELFRY_MODELS_MLX5_PRM_H
#define BELFRY_MODELS_MLX5_PRM_H

#include "models/mlx5/prm_caps.h"
#include "models/mlx5/prm_command.h"
#include "models/mlx5/prm_context.h"
#include "models/mlx5/prm_cqe.h"
#include "models/mlx5/prm_wqe.h"

#endif
