/* Device code as PTX, for those who give a backend modules and launches (struct bf_backend, ptx_load and ptx_launch).
 */
#ifndef BELFRY_DRIVERS_BACKEND_PTX_H
#define BELFRY_DRIVERS_BACKEND_PTX_H

#include "models/ptx/launch.h"

#endif
