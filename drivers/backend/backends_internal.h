/* The backends, one file each. */
#ifndef BELFRY_DRIVERS_BACKEND_BACKENDS_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_BACKENDS_INTERNAL_H

#include "drivers/backend/backend.h"

extern const struct bf_backend bf_backend_sim, bf_backend_live, bf_backend_rxe, bf_backend_mlx5, bf_backend_vfio,
    bf_backend_kfd, bf_backend_cuda;

#endif
