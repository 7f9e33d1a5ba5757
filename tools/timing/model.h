/*
 * The parts that published figures were measured on: profiles of devices, and what software around them takes
 * (software.h). A copy of it can be changed and tried: tools/calibrate/fit_timing does.
 */
#ifndef BELFRY_TOOLS_TIMING_MODEL_H
#define BELFRY_TOOLS_TIMING_MODEL_H

#include "models/mlx5/profile.h"
#include "models/nvme/profile.h"
#include "models/sdma/profile.h"
#include "tools/timing/software.h"

enum bf_basis { BF_BASIS_SOURCED, BF_BASIS_FITTED, BF_BASIS_ASSUMED, BF_BASES };

struct bf_timing_software {
#define BF_SOFTWARE_MEMBER(name, value, basis, what) uint64_t name;
	BF_TIMING_SOFTWARE(BF_SOFTWARE_MEMBER)
#undef BF_SOFTWARE_MEMBER
};

enum bf_timing_nic { BF_NIC_CX5, BF_NIC_CX6, BF_NIC_CX7, BF_NICS };
enum bf_timing_drive {
	BF_DRIVE_970PRO,
	BF_DRIVE_980PRO,
	BF_DRIVE_PM1733,
	BF_DRIVE_OPTANE,
	BF_DRIVE_P3700,
	BF_DRIVE_M9100,
	BF_DRIVE_P4510,
	BF_DRIVE_SN850X,
	BF_DRIVE_MTR,
	BF_DRIVES
};
enum bf_timing_engine { BF_ENGINE_MI50, BF_ENGINE_MI200, BF_ENGINE_MI300X, BF_ENGINE_MI350X, BF_ENGINES };

struct bf_timing_model {
	struct bf_mlx5_profile nic[BF_NICS];
	struct bf_nvme_profile drive[BF_DRIVES];
	struct bf_sdma_profile engine[BF_ENGINES];
	struct bf_timing_software sw;
};

/* As it stands in the tree. */
void bf_timing_model_init(struct bf_timing_model *m);

/* A constant of it, by name ("cx7.pcie.mem_ps", "cpu_poll"). */
struct bf_timing_constant {
	const char *name;
	const char *device; /* whose figures it concerns; NULL: any */
	size_t offset, size;
	enum bf_basis basis;
	const char *what;
};
/* All of them that figures may speak to; `*n` gets their number. */
const struct bf_timing_constant *bf_timing_constants(size_t *n);

/* The device whose figures alone the constant can change; NULL: any. */
const char *bf_timing_constant_home(const struct bf_timing_constant *constant);

#endif
