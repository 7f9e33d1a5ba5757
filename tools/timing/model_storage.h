/* Drives that published figures were measured on, and what software takes that reads them. */
#ifndef BELFRY_TOOLS_TIMING_MODEL_STORAGE_H
#define BELFRY_TOOLS_TIMING_MODEL_STORAGE_H

#include "models/nvme/profile.h"

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

struct bf_timing_drives {
	struct bf_nvme_profile drive[BF_DRIVES];
};

/* clang-format off */
#define BF_TIMING_DRIVE_PROFILES \
	{ .drive = { \
		[BF_DRIVE_970PRO] = bf_nvme_970pro, \
		[BF_DRIVE_980PRO] = bf_nvme_980pro, \
		[BF_DRIVE_PM1733] = bf_nvme_pm1733, \
		[BF_DRIVE_OPTANE] = bf_nvme_optane, \
		[BF_DRIVE_P3700] = bf_nvme_p3700, \
		[BF_DRIVE_M9100] = bf_nvme_m9100, \
		[BF_DRIVE_P4510] = bf_nvme_p4510, \
		[BF_DRIVE_SN850X] = bf_nvme_sn850x, \
		[BF_DRIVE_MTR] = bf_nvme_mtr } }
#define BF_TIMING_DRIVE_DEVICE "nvme" /* as figures name it */

/* Constants that figures may speak to: rows of struct bf_timing_constant. */
#define BF_DRIVE_CONSTANT(short_name, id, member, text) \
	{ short_name "." #member, BF_TIMING_DRIVE_DEVICE, BF_MEMBER(struct bf_timing_model, drives.drive[id].member), BF_BASIS_FITTED, text }
#define BF_DRIVE_PART(short_name, id) \
	BF_DRIVE_CONSTANT(short_name, id, read_ps, "a media page read"), \
	BF_DRIVE_CONSTANT(short_name, id, command_ps, "one command"), \
	BF_DRIVE_CONSTANT(short_name, id, ps_per_kib, "1 KiB of all media")
#define BF_TIMING_DRIVES \
	BF_DRIVE_PART("970pro", BF_DRIVE_970PRO), \
	BF_DRIVE_PART("980pro", BF_DRIVE_980PRO), \
	BF_DRIVE_PART("optane", BF_DRIVE_OPTANE), \
	BF_DRIVE_PART("p3700", BF_DRIVE_P3700), \
	BF_DRIVE_PART("m9100", BF_DRIVE_M9100), \
	BF_DRIVE_PART("mtr-slc", BF_DRIVE_MTR), \
	BF_DRIVE_CONSTANT("sn850x", BF_DRIVE_SN850X, ahead_ps, "a read that follows the last one")

/* As BF_TIMING_SOFTWARE. */
#define BF_TIMING_SOFTWARE_DRIVE(X) \
	X(BF_TIMING_DRIVE_DEVICE, fio_sync, 2500 * BF_NS, FITTED, "fio's and the kernel's share of one request at depth 1") \
	X(BF_TIMING_DRIVE_DEVICE, fio_async, 500 * BF_NS, FITTED, "of one of many: submission; as much behind its completion") \
	X(BF_TIMING_DRIVE_DEVICE, spdk_io, 36101, FITTED, "SPDK's share of one request, submission; as much behind its completion") \
	X(BF_TIMING_DRIVE_DEVICE, gpu_nvme, 16900 * BF_NS, FITTED, "a GPU thread's share of a lone request (rocm-xio)") \
	X(BF_TIMING_DRIVE_DEVICE, gpu_nvme_batch, 1000 * BF_NS, FITTED, "of each of a batch") \
	X(BF_TIMING_DRIVE_DEVICE, gpu_nvme_step, 4700 * BF_NS, FITTED, "a GPU thread's share of each of reads that follow each other (rocm-xio)") \
	X(BF_TIMING_DRIVE_DEVICE, bam_io, 100 * BF_NS, FITTED, "BaM: from one request to the next, all threads of the GPU")
/* clang-format on */

#endif
