/*
 * NVMe: all device code. Include one of drivers/platform/platform_*.h first.
 *
 *   cmd.h, prp.h   an entry, and where its data lies
 *   sq.h           slots and the doorbell
 *   cq.h           completions
 *   share.h        the same for a queue pair that several threads use
 *   admin.h        the controller: bring-up, admin commands, shutdown
 */
#ifndef BELFRY_DRIVERS_NVME_DEVICE_H
#define BELFRY_DRIVERS_NVME_DEVICE_H

#include "drivers/nvme/admin.h"
#include "drivers/nvme/share.h"

#endif
