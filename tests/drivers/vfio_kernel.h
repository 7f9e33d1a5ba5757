/* The stand-in's requests, the calls together, and the NVMe model behind its BAR and address space. */
#ifndef BELFRY_TESTS_DRIVERS_VFIO_KERNEL_H
#define BELFRY_TESTS_DRIVERS_VFIO_KERNEL_H

#include <sched.h>

#include "drivers/backend/backends_internal.h"
#include "tests/drivers/vfio_fake.h"

/* ---- requests ---- */

#define REQUEST(name)                                                                                                  \
	{                                                                                                              \
		name, #name                                                                                            \
	}
static const struct {
	unsigned long request;
	const char *name;
} requests[] = {
	REQUEST(VFIO_GET_API_VERSION),  REQUEST(VFIO_CHECK_EXTENSION),        REQUEST(VFIO_SET_IOMMU),
	REQUEST(VFIO_GROUP_GET_STATUS), REQUEST(VFIO_GROUP_SET_CONTAINER),    REQUEST(VFIO_GROUP_GET_DEVICE_FD),
	REQUEST(VFIO_DEVICE_GET_INFO),  REQUEST(VFIO_DEVICE_GET_REGION_INFO), REQUEST(VFIO_DEVICE_RESET),
	REQUEST(VFIO_IOMMU_GET_INFO),   REQUEST(VFIO_IOMMU_MAP_DMA),          REQUEST(VFIO_IOMMU_UNMAP_DMA),
	REQUEST(VFIO_DEVICE_FEATURE),   REQUEST(VFIO_DEVICE_BIND_IOMMUFD),    REQUEST(VFIO_DEVICE_ATTACH_IOMMUFD_PT),
	REQUEST(IOMMU_IOAS_ALLOC),      REQUEST(IOMMU_IOAS_IOVA_RANGES),      REQUEST(IOMMU_IOAS_MAP),
	REQUEST(IOMMU_IOAS_UNMAP),
};

static const struct vfio_iova_range ranges[] = { { 0, 0xfedfffff }, { 0xfef00000, 0x7fffffffff } };
/* Room for a page and the gap behind it above 4 GiB, and more below. */
static const struct vfio_iova_range tight[] = { { 0, 0xfedfffff }, { 0xfef00000, 0x100001fff } };

static inline int type1_info(const struct fake *k, void *data)
{
	struct {
		struct vfio_iommu_type1_info info;
		struct vfio_info_cap_header other;
		struct vfio_iommu_type1_info_cap_iova_range cap;
		struct vfio_iova_range range[2];
	} *a = data;

	a->info.flags = VFIO_IOMMU_INFO_PGSIZES | (k->no_ranges ? 0 : VFIO_IOMMU_INFO_CAPS);
	a->info.iova_pgsizes = 0x40201000;
	if (k->no_ranges)
		return 0;
	if (a->info.argsz < sizeof(*a)) {
		a->info.argsz = sizeof(*a);
		a->info.cap_offset = 0;
		return 0;
	}
	a->info.cap_offset = offsetof(__typeof__(*a), other);
	a->other = (struct vfio_info_cap_header){ .id = 3, .version = 1, .next = offsetof(__typeof__(*a), cap) };
	a->cap.header = (struct vfio_info_cap_header){ .id = 1, .version = 1 };
	a->cap.nr_iovas = 2;
	memcpy(a->range, k->tight ? tight : ranges, sizeof(ranges));
	return 0;
}

static inline int region_info(const struct fake *k, struct vfio_region_info *r)
{
	r->size = r->index == VFIO_PCI_BAR0_REGION_INDEX ? BAR_BYTES : 4096;
	r->offset = r->index == VFIO_PCI_BAR0_REGION_INDEX ? 0 : CONFIG_AT;
	r->flags = 3 | (r->index == VFIO_PCI_BAR0_REGION_INDEX && !k->unmappable ? VFIO_REGION_INFO_FLAG_MMAP : 0);
	return 0;
}

static inline int export_bar(struct fake *k, const struct vfio_device_feature_dma_buf *a)
{
	ck_assert_uint_eq(a->argsz, 40);
	ck_assert_uint_eq(a->flags, 1u << 16 | 11);
	ck_assert_uint_eq(a->nr_ranges, 1);
	note(k, "export region %u 0x%" PRIx64 " %" PRIu64 "\n", a->region_index, a->offset, a->length);
	k->open_fds++;
	return DMABUF;
}

/* By the interface that the descriptor belongs to; what is not expected there is a failure. */
static inline int answer(struct fake *k, int fd, unsigned long request, void *data)
{
	switch (request) {
	case VFIO_GET_API_VERSION:
		return 0;
	case VFIO_CHECK_EXTENSION:
	case VFIO_SET_IOMMU:
		ck_assert_int_eq(fd, CONTAINER);
		ck_assert_uint_eq((uintptr_t)data, 3);
		return request == VFIO_CHECK_EXTENSION;
	case VFIO_GROUP_GET_STATUS:
		((struct vfio_group_status *)data)->flags = k->unviable ? 0 : VFIO_GROUP_FLAGS_VIABLE;
		return 0;
	case VFIO_GROUP_SET_CONTAINER:
		ck_assert_int_eq(*(int *)data, CONTAINER);
		return 0;
	case VFIO_GROUP_GET_DEVICE_FD:
		ck_assert_str_eq(data, "0000:02:00.0");
		k->open_fds++;
		return DEVICE;
	case VFIO_DEVICE_GET_INFO:
		*(struct vfio_device_info *)data =
		    (struct vfio_device_info){ .flags = 3, .num_regions = 9, .num_irqs = 5 };
		return 0;
	case VFIO_DEVICE_GET_REGION_INFO:
		return region_info(k, data);
	case VFIO_DEVICE_RESET:
		ck_assert_int_eq(fd, DEVICE);
		k->command = 0;
		return 0;
	case VFIO_DEVICE_FEATURE:
		return export_bar(k, data);
	case VFIO_DEVICE_BIND_IOMMUFD:
		ck_assert_int_eq(((struct vfio_device_bind_iommufd *)data)->iommufd, IOMMUFD);
		return 0;
	case IOMMU_IOAS_ALLOC:
		((struct iommu_ioas_alloc *)data)->out_ioas_id = 5;
		return 0;
	case VFIO_DEVICE_ATTACH_IOMMUFD_PT:
		ck_assert_uint_eq(((struct vfio_device_attach_iommufd_pt *)data)->pt_id, 5);
		return 0;
	default:
		ck_abort_msg("request 0x%lx is not expected", request);
	}
}

static inline int address_space(struct fake *k, int fd, unsigned long request, void *data)
{
	if (request == VFIO_IOMMU_GET_INFO) {
		return type1_info(k, data);
	} else if (request == VFIO_IOMMU_MAP_DMA) {
		const struct vfio_iommu_type1_dma_map *a = data;

		ck_assert_uint_eq(a->flags, 3);
		map(k, a->vaddr, a->iova, a->size);
	} else if (request == VFIO_IOMMU_UNMAP_DMA) {
		unmap(k, ((struct vfio_iommu_type1_dma_unmap *)data)->iova,
		      ((struct vfio_iommu_type1_dma_unmap *)data)->size);
	} else if (request == IOMMU_IOAS_MAP) {
		const struct iommu_ioas_map *a = data;

		ck_assert_uint_eq(a->flags, 7);
		ck_assert_uint_eq(a->ioas_id, 5);
		map(k, a->user_va, a->iova, a->length);
	} else if (request == IOMMU_IOAS_UNMAP) {
		unmap(k, ((struct iommu_ioas_unmap *)data)->iova, ((struct iommu_ioas_unmap *)data)->length);
	} else if (request == IOMMU_IOAS_IOVA_RANGES) {
		struct iommu_ioas_iova_ranges *a = data;

		ck_assert_uint_ge(a->num_iovas, 2);
		memcpy((void *)(uintptr_t)a->allowed_iovas, ranges, sizeof(ranges));
		a->num_iovas = 2;
		a->out_iova_alignment = 4096;
	} else {
		return answer(k, fd, request, data);
	}
	return 0;
}

static inline int fake_ioctl(void *arg, int fd, unsigned long request, void *data)
{
	struct fake *k = arg;
	const char *name = "?";

	for (size_t i = 0; i < BF_ARRAY_LEN(requests); i++)
		if (requests[i].request == request)
			name = requests[i].name;
	note(k, "%s\n", name);
	return refuse(k, name) ? k->fail_with : address_space(k, fd, request, data);
}

/* Lives as long as `k`, since worlds keep it. */
static inline const struct bf_vfio_sys *system_of(struct fake *k)
{
	k->sys = (struct bf_vfio_sys){
		.arg = k,
		.open = fake_open,
		.close = fake_close,
		.ioctl = fake_ioctl,
		.mmap = fake_mmap,
		.munmap = fake_munmap,
		.pread = fake_pread,
		.pwrite = fake_pwrite,
		.read = fake_read,
		.link = fake_read,
		.next = fake_next,
		.exists = fake_exists,
		.log_open = fake_log_open,
		.log_read = fake_log_read,
	};
	return &k->sys;
}

static inline struct fake *new_fake(void)
{
	struct fake *k = calloc(1, sizeof(*k));

	k->fail_with = -EPERM;
	pthread_mutex_init(&k->lock, NULL);
	return k;
}

static inline void free_fake(struct fake *k)
{
	ck_assert_int_eq(k->open_fds, 0);
	ck_assert_int_eq(k->mappings, 0);
	ck_assert_uint_eq(k->command & 4, 0);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

/* ---- the device ---- */

static inline void *device_main(void *arg)
{
	struct fake *k = arg;

	while (!atomic_load(&k->stop)) {
		pthread_mutex_lock(&k->lock);
		bf_nvme_poll_bar(k->ssd);
		bf_sim_run(k->sim, BF_NEVER);
		pthread_mutex_unlock(&k->lock);
		sched_yield();
	}
	return NULL;
}

static inline void plug_in(struct fake *k)
{
	struct bf_region *bar;

	ck_assert_int_eq(bf_sim_create(1, &k->sim), 0);
	ck_assert_int_eq(bf_space_init(&k->space, k->sim, "host", 0), 0);
	ck_assert_int_eq(bf_ioas_init(&k->ioas, k->sim, "host", 4096), 0);
	ck_assert_int_eq(
	    bf_nvme_create(k->sim,
			   &(struct bf_nvme_opts){
			       .name = "ssd", .profile = &bf_nvme_instant, .space = &k->space, .ioas = &k->ioas },
			   &k->ssd),
	    0);
	bar = bf_nvme_bar0(k->ssd);
	ck_assert_int_eq(mprotect(bar->bytes, bar->size, PROT_READ | PROT_WRITE), 0);
	bf_nvme_poll_bar(k->ssd);
	ck_assert_int_eq(pthread_create(&k->thread, NULL, device_main, k), 0);
	k->started = true;
}

static inline void unplug(struct fake *k)
{
	atomic_store(&k->stop, true);
	pthread_join(k->thread, NULL);
	bf_nvme_destroy(k->ssd);
	bf_ioas_fini(&k->ioas);
	bf_space_fini(&k->space);
	bf_sim_destroy(k->sim);
	k->ssd = NULL;
}

static inline struct bf_world_opts options(const char *device)
{
	return (struct bf_world_opts){ .devices = BF_DEVICE_NVME, .npes = 1, .limit_ps = 60 * BF_S, .device = device };
}

/* The same device by either interface. */
static const char *const ways[] = { "0000:02:00.0,group", "02:00.0,cdev" };

#endif
