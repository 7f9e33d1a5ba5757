/*
 * The parts that published figures were measured on: profiles of devices, and what software around them takes
 * (software.h). A copy of it can be changed and tried: tools/calibrate/fit_timing does.
 */
#ifndef BELFRY_TOOLS_TIMING_MODEL_H
#define BELFRY_TOOLS_TIMING_MODEL_H

#include "tools/timing/model_copier.h"
#include "tools/timing/model_rdma.h"
#include "tools/timing/model_storage.h"
#include "tools/timing/software.h"

enum bf_basis { BF_BASIS_SOURCED, BF_BASIS_FITTED, BF_BASIS_ASSUMED, BF_BASES };

/* clang-format off */
#define BF_TIMING_SOFTWARE_ALL(X) \
	BF_TIMING_SOFTWARE(X) \
	BF_TIMING_SOFTWARE_BAR(X) \
	BF_TIMING_SOFTWARE_NIC(X) \
	BF_TIMING_SOFTWARE_DRIVE(X) \
	BF_TIMING_SOFTWARE_ENGINE(X)
/* clang-format on */

struct bf_timing_software {
#define BF_SOFTWARE_MEMBER(device, name, value, basis, what) uint64_t name;
	BF_TIMING_SOFTWARE_ALL(BF_SOFTWARE_MEMBER)
#undef BF_SOFTWARE_MEMBER
};

struct bf_timing_model {
	struct bf_timing_nics nics;
	struct bf_timing_drives drives;
	struct bf_timing_engines engines;
	struct bf_timing_software sw;
};

/* As it stands in the tree. */
void bf_timing_model_init(struct bf_timing_model *m);

/* A constant of it, by name ("cx7.pcie.mem_ps", "cpu_poll"). */
struct bf_timing_constant {
	const char *name;
	const char *device; /* whose figures alone it can change; NULL: any */
	size_t offset, size;
	enum bf_basis basis;
	const char *what;
};
/* All of them that figures may speak to; `*n` gets their number. */
const struct bf_timing_constant *bf_timing_constants(size_t *n);

#endif
