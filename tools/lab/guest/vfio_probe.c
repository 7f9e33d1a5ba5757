/*
 * Shows which of VFIO's interfaces a kernel has, on one device: opens it, maps a page for its DMA, reads two
 * registers of BAR 0. Independent of Belfry's own VFIO backend on purpose, so that a guest where that fails can be
 * told from a lab that does not work.
 *
 *	vfio_probe group ADDRESS	the container and group files
 *	vfio_probe cdev ADDRESS		/dev/vfio/devices and /dev/iommu
 *	vfio_probe dmabuf ADDRESS	through the group, and a page of BAR 0 exported as DMA-BUF
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * From the kernel's include/uapi/linux/vfio.h and iommufd.h, under names of our own: Debian 12's headers are older than
 * these interfaces, and newer ones declare them.
 */
struct bind_iommufd {
	uint32_t argsz, flags;
	int32_t iommufd;
	uint32_t out_devid;
};
struct attach_iommufd_pt {
	uint32_t argsz, flags, pt_id, pasid;
};
struct ioas_alloc {
	uint32_t size, flags, out_ioas_id;
};
struct ioas_map {
	uint32_t size, flags, ioas_id, reserved;
	uint64_t user_va, length, iova;
};
struct dma_buf_get {
	uint32_t argsz, feature;
	uint32_t region_index, open_flags, flags, nr_ranges;
	uint64_t offset, length; /* the one range */
};
#define DEVICE_BIND_IOMMUFD _IO(';', 100 + 18)
#define DEVICE_ATTACH_IOMMUFD_PT _IO(';', 100 + 19)
#define IOAS_ALLOC _IO(';', 0x81)
#define IOAS_MAP _IO(';', 0x85)
#define IOAS_MAP_FIXED_READ_WRITE 7u
#define FEATURE_DMA_BUF 11u

#define PAGE 4096u
#define IOVA 0x100000u
#define DOORBELLS 0x1000u /* NVMe over PCIe 1.0, 3.1.2: doorbell registers begin there */

static void fail(const char *what)
{
	fprintf(stderr, "vfio_probe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_or_fail(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fail(path);
	return fd;
}

static void *page_for_dma(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		fail("mmap");
	return page;
}

static int open_by_group(const char *address)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)page_for_dma(),
		.iova = IOVA,
		.size = PAGE,
	};
	char path[PATH_MAX], link[PATH_MAX];
	int container = open_or_fail("/dev/vfio/vfio");
	ssize_t length;
	int group, device;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", address);
	length = readlink(path, link, sizeof(link) - 1);
	if (length < 0)
		fail(path);
	link[length] = '\0';
	snprintf(path, sizeof(path), "/dev/vfio/%d", atoi(strrchr(link, '/') + 1));
	group = open_or_fail(path);
	if (ioctl(group, VFIO_GROUP_GET_STATUS, &status) || !(status.flags & VFIO_GROUP_FLAGS_VIABLE))
		fail("the group is not viable");
	if (ioctl(group, VFIO_GROUP_SET_CONTAINER, &container))
		fail("VFIO_GROUP_SET_CONTAINER");
	if (ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		fail("VFIO_SET_IOMMU");
	if (ioctl(container, VFIO_IOMMU_MAP_DMA, &map))
		fail("VFIO_IOMMU_MAP_DMA");
	device = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, address);
	if (device < 0)
		fail("VFIO_GROUP_GET_DEVICE_FD");
	return device;
}

static int open_by_cdev(const char *address)
{
	struct bind_iommufd bind = { .argsz = sizeof(bind) };
	struct ioas_alloc ioas = { .size = sizeof(ioas) };
	struct attach_iommufd_pt attach = { .argsz = 3 * sizeof(uint32_t) };
	struct ioas_map map = { .size = sizeof(map), .flags = IOAS_MAP_FIXED_READ_WRITE, .length = PAGE, .iova = IOVA };
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;
	int device = -1;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vfio-dev", address);
	folder = opendir(path);
	if (!folder)
		fail(path);
	while ((entry = readdir(folder)))
		if (!strncmp(entry->d_name, "vfio", 4)) {
			snprintf(path, sizeof(path), "/dev/vfio/devices/%s", entry->d_name);
			device = open_or_fail(path);
		}
	closedir(folder);
	bind.iommufd = open_or_fail("/dev/iommu");
	if (ioctl(device, DEVICE_BIND_IOMMUFD, &bind))
		fail("VFIO_DEVICE_BIND_IOMMUFD");
	if (ioctl(bind.iommufd, IOAS_ALLOC, &ioas))
		fail("IOMMU_IOAS_ALLOC");
	attach.pt_id = ioas.out_ioas_id;
	if (ioctl(device, DEVICE_ATTACH_IOMMUFD_PT, &attach))
		fail("VFIO_DEVICE_ATTACH_IOMMUFD_PT");
	map.ioas_id = ioas.out_ioas_id;
	map.user_va = (uintptr_t)page_for_dma();
	if (ioctl(bind.iommufd, IOAS_MAP, &map))
		fail("IOMMU_IOAS_MAP");
	return device;
}

static void read_registers(int device)
{
	struct vfio_region_info bar = { .argsz = sizeof(bar), .index = VFIO_PCI_BAR0_REGION_INDEX };
	struct vfio_region_info config = { .argsz = sizeof(config), .index = VFIO_PCI_CONFIG_REGION_INDEX };
	uint16_t command;
	volatile uint32_t *registers;

	if (ioctl(device, VFIO_DEVICE_GET_REGION_INFO, &bar) || ioctl(device, VFIO_DEVICE_GET_REGION_INFO, &config))
		fail("VFIO_DEVICE_GET_REGION_INFO");
	if (pread(device, &command, sizeof(command), (off_t)config.offset + 4) != sizeof(command))
		fail("reading the command register");
	command |= 6; /* memory space, bus master */
	if (pwrite(device, &command, sizeof(command), (off_t)config.offset + 4) != sizeof(command))
		fail("writing the command register");
	registers = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, device, (off_t)bar.offset);
	if (registers == MAP_FAILED)
		fail("mapping BAR 0");
	printf("BAR0 %" PRIu64 " bytes, CAP 0x%08x%08x, VS 0x%08x\n", (uint64_t)bar.size, registers[1], registers[0],
	       registers[2]);
}

static void export_doorbells(int device)
{
	struct dma_buf_get get = {
		.argsz = sizeof(get),
		.feature = VFIO_DEVICE_FEATURE_GET | FEATURE_DMA_BUF,
		.region_index = VFIO_PCI_BAR0_REGION_INDEX,
		.open_flags = O_RDWR | O_CLOEXEC,
		.nr_ranges = 1,
		.offset = DOORBELLS,
		.length = PAGE,
	};
	int fd = ioctl(device, VFIO_DEVICE_FEATURE, &get);

	if (fd < 0)
		fail("VFIO_DEVICE_FEATURE_DMA_BUF");
	printf("DMA-BUF of %jd bytes\n", (intmax_t)lseek(fd, 0, SEEK_END));
}

int main(int argc, char **argv)
{
	int device;

	if (argc != 3) {
		fprintf(stderr, "usage: vfio_probe group|cdev|dmabuf ADDRESS\n");
		return 2;
	}
	device = strcmp(argv[1], "cdev") ? open_by_group(argv[2]) : open_by_cdev(argv[2]);
	read_registers(device);
	if (!strcmp(argv[1], "dmabuf"))
		export_doorbells(device);
	return 0;
}
