/* Backend "vfio": looks for an IOMMU, VFIO, and an NVMe controller that is bound to it. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "drivers/backend/absent_internal.h"
#include "drivers/backend/backends_internal.h"

static bool is_nvme(const char *dir, const char *entry)
{
	return bf_absent_file_begins(dir, entry, "class", "0x0108");
}

static int probe(char *why, size_t cap)
{
	char dev[64];

	if (access("/dev/vfio/vfio", F_OK) && access("/dev/iommu", F_OK))
		snprintf(why, cap,
			 "this build does not drive real controllers, and the machine has neither /dev/vfio/vfio "
			 "nor /dev/iommu: switch the IOMMU on and 'modprobe vfio-pci'");
	else if (!bf_absent_first("/sys/bus/pci/drivers/vfio-pci", is_nvme, dev, sizeof(dev)))
		snprintf(why, cap,
			 "this build does not drive real controllers, and no NVMe controller is bound to vfio-pci");
	else
		snprintf(why, cap,
			 "this build does not drive real controllers (NVMe controller %s is bound to vfio-pci)", dev);
	return -ENOTSUP;
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	(void)opts;
	*out = NULL;
	return bf_absent_open("vfio", probe, err);
}

const struct bf_backend bf_backend_vfio = {
	.name = "vfio",
	.summary = "a real NVMe controller through VFIO and IOMMUFD",
	.probe = probe,
	.open = world_open,
	.platform = BF_PLATFORM_NATIVE,
};
