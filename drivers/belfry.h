/*
 * Belfry's C API, for programs outside of Belfry: #include <belfry.h>, in C17 or C++17.
 *
 * What one finds here:
 *   drivers/trial/trial.h          tests of submission code on a modelled machine; most need nothing else
 *   drivers/trial/<device>.h       queues of a device for them
 *   drivers/platform/platform.h    the primitives that such code is written in
 *   drivers/backend/backend.h      the machine itself: memory, commands, doorbell pages, grids of threads
 *   traces/container/trace.h       traces, written and read
 *   traces/rules/rules.h           what is wrong with a run, by its records
 *   traces/life/stages.h           how long entries took, stage by stage
 *   models/<device>/prm.h          layouts of entries, completions and registers
 *   models/<device>/profile.h      timing and limits, for bf_world_opts
 *   sim/...                        what all of those speak in, and what a model of another device is made of
 *
 * What is stable: all that is installed, which drivers/api.txt lists; docs/embedding.md says more. Versions are
 * semantic (semver.org). The API is what these headers declare, as source: a program that compiles with x.y.z compiles,
 * and does the same, with every later x.y'.z' of the same x from 1.0.0 on; while x is 0, with every later z of the same
 * y. New members may appear at any place of a struct, so options are set by name and start from zero, which means the
 * default everywhere. Libraries of different versions are not exchanged under a program: compile it again.
 *
 * What is not: records may get new types and new fields: readers look fields up by name. Rules may become better, so
 * that a run may get other findings; ids of rules keep their meaning and are not used again. Virtual times, hashes of
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

#include "drivers/backend/backend.h"
#include "drivers/backend/ptx.h"
#include "drivers/platform/platform.h"
#include "drivers/trial/mlx5.h"
#include "drivers/trial/nvme.h"
#include "drivers/trial/trial.h"
#include "models/gpu/prm.h"
#include "models/gpu/profile.h"
#include "models/mlx5/prm.h"
#include "models/mlx5/profile.h"
#include "models/nvme/prm.h"
#include "models/nvme/profile.h"
#include "models/sdma/prm.h"
#include "models/sdma/profile.h"
#include "sim/bytes.h"
#include "sim/compiler.h"
#include "sim/error.h"
#include "sim/record.h"
#include "sim/view.h"
#include "traces/container/trace.h"
#include "traces/life/stages.h"
#include "traces/rules/rules.h"
#ifndef BF_PLATFORM
#include "drivers/platform/platform_sim.h"
#endif

BF_API_BEGIN

/* The version of the library that the program runs with, "0.1.0". Static; any thread. */
const char *bf_version(void);

BF_API_END

#endif
