/* Hopper's primitives in virtual time: requests to the world behind the thread (drivers/backend/cluster.c). */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_SIM_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_MBARRIER_SIM_H

#include "drivers/platform/platform_sim.h"

#define BF_BAR_HOST(name) bf_sim_cluster_##name
#include "drivers/platform/platform_mbarrier_host.h"

#endif
