/*
 * Belfry's C API, for programs outside of Belfry: #include <belfry.h>, in C17 or C++17.
 *
 * What one finds here:
 *   drivers/trial/trial.h        tests of submission code on a modelled machine; most need nothing else
 *   drivers/platform/platform.h  the primitives that such code is written in
 *   drivers/backend/backend.h    the machine itself: memory, commands, doorbell pages, grids of threads
 *   traces/container/trace.h               traces, written and read
 *   traces/rules/rules.h         what is wrong with a run, by its records
 *   traces/life/stages.h              how long entries took, stage by stage
 *   models/<device>/prm.h        layouts of entries, completions and registers
 *   sim/record.h, error.h, bytes.h, view.h   what all of those speak in
 *
 * What is stable. Versions are semantic (semver.org). The API is what the headers above declare, as source: a program
 * that compiles with x.y.z compiles, and does the same, with every later x.y'.z' of the same x from 1.0.0 on; while x
 * is 0, with every later z of the same y. New members may appear at any place of a struct, so options are set by name
 * and start from zero, which means the default everywhere. Libraries of different versions are not exchanged under a
 * program: compile it again.
 *
 * What is not: every other header, installed because the ones above need it or because it shows how a driver is
 * written (drivers/ibgda, drivers/nvme, drivers/sdma, drivers/mbarrier); headers that end in _internal.h are not even
 * installed. Records may get new types and new fields: readers look fields up by name. Rules may become better, so that
 * a run may get other findings; ids of rules keep their meaning and are not used again. Virtual times, hashes of
 * streams, and texts for people may differ from any version to the next.
 *
 * A source file is compiled for one platform (drivers/platform/platform.h): the simulation, unless another platform's
 * header was included before this one.
 */
#ifndef BELFRY_H
#define BELFRY_H

#define BELFRY_VERSION_MAJOR 0
#define BELFRY_VERSION_MINOR 1
#define BELFRY_VERSION_PATCH 0

/* Whether these headers are of that version or a later one. */
#define BELFRY_VERSION_AT_LEAST(major, minor, patch)                                                                   \
	(BELFRY_VERSION_MAJOR > (major) ||                                                                             \
	 (BELFRY_VERSION_MAJOR == (major) &&                                                                           \
	  (BELFRY_VERSION_MINOR > (minor) || (BELFRY_VERSION_MINOR == (minor) && BELFRY_VERSION_PATCH >= (patch)))))

/* System headers first: in C++ they do not belong into the block below. */
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "drivers/backend/backend.h"
#include "drivers/platform/platform.h"
#include "drivers/trial/trial.h"
#include "models/gpu/prm.h"
#include "models/mlx5/prm.h"
#include "models/nvme/prm.h"
#include "models/sdma/prm.h"
#include "sim/bytes.h"
#include "sim/error.h"
#include "sim/record.h"
#include "sim/view.h"
#include "traces/rules/rules.h"
#include "traces/life/stages.h"
#include "traces/container/trace.h"
#ifndef BF_PLATFORM
#include "drivers/platform/platform_sim.h"
#endif

/* The version of the library that the program runs with, "0.1.0". Static; any thread. */
const char *bf_version(void);

#ifdef __cplusplus
}
#endif

#endif
