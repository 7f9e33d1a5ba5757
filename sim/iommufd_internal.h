/* Inside IOMMUFD: objects, and what the file of areas (iommufd_map.c) gives the file of objects (iommufd.c). */
#ifndef BELFRY_SIM_IOMMUFD_INTERNAL_H
#define BELFRY_SIM_IOMMUFD_INTERNAL_H

#include "sim/iommufd.h"
#include "sim/records_share.h"

/*
 * Where message-signalled interrupts go on x86, and the end of a 48-bit address width: what an Intel IOMMU reserves
 * (Linux drivers/iommu/intel/iommu.c, intel_iommu_get_resv_regions()).
 */
#define BF_MSI_FIRST 0xfee00000ull
#define BF_MSI_LAST 0xfeefffffull
#define BF_APERTURE_LAST 0xffffffffffffull

enum bf_iommufd_kind { BF_IOMMUFD_FREE, BF_IOMMUFD_IOAS, BF_IOMMUFD_HWPT, BF_IOMMUFD_DEVICE };

struct bf_iommufd_object {
	enum bf_iommufd_kind kind;
	uint32_t id;
	uint32_t users; /* other objects that need this one */
};

/* User memory or a DMA-BUF, shared by the areas that copies make of it. */
struct bf_iommufd_pages {
	uint32_t refs;
	struct bf_region *region; /* user memory, from `offset` */
	uint64_t offset;
	struct bf_dmabuf_attach *attach; /* or this */
};

struct bf_iommufd_area {
	uint64_t iova, last;
	struct bf_iommufd_pages *pages;
	uint64_t start; /* of the area within `pages` */
	uint32_t perm;
};

struct bf_iommufd_ioas {
	struct bf_iommufd_object obj;
	struct bf_ioas table;
	struct bf_iommufd *fd;
	struct bf_iommufd_area *areas; /* sorted */
	uint32_t nareas, cap;
	struct bf_iova_range *allowed; /* sorted */
	uint32_t nallowed;
	uint32_t devices; /* attached: each reserves the same */
};

struct bf_iommufd_hwpt {
	struct bf_iommufd_object obj;
	struct bf_iommufd_ioas *ioas;
	bool automatic; /* goes with its last device */
};

struct bf_iommufd_device {
	struct bf_iommufd_object obj;
	struct bf_dma_port *port;
	struct bf_ioas *before; /* what it had when it was bound */
	struct bf_iommufd_hwpt *hwpt;
	char name[24];
};

struct bf_iommufd {
	struct bf_sim *sim;
	struct bf_space *space;
	struct bf_ioas blocked;             /* maps nothing */
	struct bf_iommufd_object **objects; /* by id - 1 */
	uint32_t cap;
};

/* The object of `id` if it is of `kind`; NULL with sim->error set otherwise. */
void *bf_iommufd_find(struct bf_iommufd *fd, uint32_t id, enum bf_iommufd_kind kind);

/* Records a call and returns `rec->status`. */
int bf_iommufd_done(struct bf_iommufd *fd, const struct bf_rec_iommufd *rec, const char *name);

/* Unmaps everything; for the end of an IOAS. */
void bf_iommufd_clear(struct bf_iommufd_ioas *ioas);

/* 0, or -EADDRINUSE when something in `ioas` lies where a device's interrupts go. */
int bf_iommufd_check_reserved(struct bf_iommufd_ioas *ioas);

#endif
