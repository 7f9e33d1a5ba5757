/* Backend "vfio": which device, and what is missing when there is none. Everything from sysfs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/backend/vfio_internal.h"

#define DEVICES "/sys/bus/pci/devices"
#define GROUPS "/sys/kernel/iommu_groups"
/* Mass storage, non-volatile memory, NVM Express (PCI Code and ID Assignment Specification). */
#define NVME_CLASS "0x010802"

static bool is_nvme(const struct bf_vfio_sys *sys, const char *address)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), DEVICES "/%s/class", address);
	return sys->read(sys->arg, path, text, sizeof(text)) == 0 && strncmp(text, NVME_CLASS, strlen(NVME_CLASS)) == 0;
}

/* The name of the driver that a device is bound to; "" for none. */
static void driver_of(const struct bf_vfio_sys *sys, const char *address, char *buf, size_t cap)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "/%s/driver", address);
	if (sys->link(sys->arg, path, buf, cap) != 0)
		buf[0] = '\0';
}

struct census {
	uint32_t all, bound; /* NVMe controllers; those at vfio-pci */
	char first[32];      /* of those; of all when there is none */
};

static struct census count(const struct bf_vfio_sys *sys)
{
	char at[32] = "", name[32], driver[64];
	struct census c = { 0 };

	while (sys->next(sys->arg, DEVICES, at, name, sizeof(name)) == 0) {
		memcpy(at, name, sizeof(at));
		if (!is_nvme(sys, name))
			continue;
		driver_of(sys, name, driver, sizeof(driver));
		if (!c.all++ || (!c.bound && strcmp(driver, "vfio-pci") == 0))
			memcpy(c.first, name, sizeof(c.first));
		c.bound += strcmp(driver, "vfio-pci") == 0;
	}
	return c;
}

static bool iommu_is_on(const struct bf_vfio_sys *sys)
{
	char name[32];

	return sys->next(sys->arg, GROUPS, "", name, sizeof(name)) == 0;
}

static int fail_unbound(const struct bf_vfio_sys *sys, const char *address, struct bf_error *err)
{
	char driver[64];

	driver_of(sys, address, driver, sizeof(driver));
	return bf_fail(err, -ENODEV,
		       "NVMe controller %s is %s%s, not at vfio-pci%s: modprobe vfio-pci, then in " DEVICES
		       "/%s write vfio-pci to driver_override%s, and the address to /sys/bus/pci/drivers_probe",
		       address, driver[0] ? "at driver " : "at no driver", driver,
		       iommu_is_on(sys) ? "" : " (and the IOMMU is off)", address,
		       driver[0] ? ", the address to driver/unbind" : "");
}

static int fail_none(const struct bf_vfio_sys *sys, const struct census *c, struct bf_error *err)
{
	if (!c->all)
		return bf_fail(err, -ENODEV,
			       "this machine has no NVMe controller on PCI (class " NVME_CLASS " in " DEVICES ")");
	return fail_unbound(sys, c->first, err);
}

/* "ADDRESS[,WAY]" taken apart; -EINVAL for another form. */
static int parse(const char *device, struct bf_vfio_spot *spot, bool *any_way, struct bf_error *err)
{
	const size_t len = device ? strcspn(device, ",") : 0;
	const char *way = device && device[len] ? device + len + 1 : "";

	*spot = (struct bf_vfio_spot){ .way = strcmp(way, "cdev") == 0 ? BF_VFIO_CDEV : BF_VFIO_GROUP };
	*any_way = !way[0];
	if (len >= sizeof(spot->address) || (way[0] && strcmp(way, "group") != 0 && strcmp(way, "cdev") != 0) ||
	    (len && (strspn(device, "0123456789abcdefABCDEF:.") != len || !memchr(device, ':', len))))
		return bf_fail(err, -EINVAL,
			       "device \"%.64s\" is not a PCI address such as 0000:01:00.0, "
			       "with \",group\" or \",cdev\" behind it or not",
			       device);
	if (len && memchr(device, ':', len) == memrchr(device, ':', len)) /* the domain is mostly left out */
		snprintf(spot->address, sizeof(spot->address), "0000:%.*s", (int)len, device);
	else
		snprintf(spot->address, sizeof(spot->address), "%.*s", (int)len, len ? device : "");
	return 0;
}

static int find_address(const struct bf_vfio_sys *sys, struct bf_vfio_spot *spot, struct bf_error *err)
{
	char path[128], driver[64];
	struct census c;

	if (!spot->address[0]) {
		c = count(sys);
		memcpy(spot->address, c.first, sizeof(spot->address));
		return c.bound ? 0 : fail_none(sys, &c, err);
	}
	snprintf(path, sizeof(path), DEVICES "/%s", spot->address);
	if (!sys->exists(sys->arg, path))
		return bf_fail(err, -ENODEV, "there is no PCI device %s (ls " DEVICES ")", spot->address);
	if (!is_nvme(sys, spot->address))
		return bf_fail(err, -ENODEV, "PCI device %s is no NVMe controller: its class is not " NVME_CLASS,
			       spot->address);
	driver_of(sys, spot->address, driver, sizeof(driver));
	return strcmp(driver, "vfio-pci") == 0 ? 0 : fail_unbound(sys, spot->address, err);
}

/* The device's file for IOMMUFD. Kernels without those have the folder, but no device number in it. */
static void find_node(const struct bf_vfio_sys *sys, struct bf_vfio_spot *spot)
{
	char path[128];

	snprintf(path, sizeof(path), DEVICES "/%s/vfio-dev", spot->address);
	if (sys->next(sys->arg, path, "", spot->node, sizeof(spot->node)) != 0)
		spot->node[0] = '\0';
	snprintf(path, sizeof(path), DEVICES "/%s/vfio-dev/%s/dev", spot->address, spot->node);
	if (!sys->exists(sys->arg, path))
		spot->node[0] = '\0';
}

int bf_vfio_find(const struct bf_vfio_sys *sys, const char *device, struct bf_vfio_spot *out, struct bf_error *err)
{
	char path[128];
	bool any_way;
	int rc = parse(device, out, &any_way, err);

	if (!rc)
		rc = find_address(sys, out, err);
	if (rc)
		return rc;
	snprintf(path, sizeof(path), DEVICES "/%s/iommu_group", out->address);
	if (sys->link(sys->arg, path, out->group, sizeof(out->group)) != 0)
		return bf_fail(err, -ENODEV,
			       "%s has no IOMMU group: switch the IOMMU on, in the firmware and with "
			       "intel_iommu=on or amd_iommu=on for the kernel",
			       out->address);
	find_node(sys, out);
	if (any_way && out->node[0] && sys->exists(sys->arg, "/dev/iommu"))
		out->way = BF_VFIO_CDEV;
	if (out->way == BF_VFIO_CDEV && !out->node[0])
		return bf_fail(err, -ENODEV,
			       "%s has no file in /dev/vfio/devices: this kernel's VFIO is built without "
			       "CONFIG_VFIO_DEVICE_CDEV; \"%s,group\" works without",
			       out->address, out->address);
	return 0;
}

void bf_vfio_group_strangers(const struct bf_vfio_sys *sys, const struct bf_vfio_spot *spot, char *buf, size_t cap)
{
	char folder[128], at[32] = "", name[32], driver[64];

	buf[0] = '\0';
	snprintf(folder, sizeof(folder), GROUPS "/%s/devices", spot->group);
	while (sys->next(sys->arg, folder, at, name, sizeof(name)) == 0) {
		const size_t used = strlen(buf);

		memcpy(at, name, sizeof(at));
		driver_of(sys, name, driver, sizeof(driver));
		/* Drivers that do no DMA of their own may keep their devices (Linux: driver_managed_dma). */
		if (driver[0] && strncmp(driver, "vfio", 4) != 0 && strcmp(driver, "pci-stub") != 0 &&
		    strcmp(driver, "pcieport") != 0)
			snprintf(buf + used, cap - used, "%s%s (%s)", used ? ", " : "", name, driver);
	}
}

int bf_vfio_probe(const struct bf_vfio_sys *sys, char *why, size_t cap)
{
	const struct census c = count(sys);
	struct bf_error err = { 0 };
	struct bf_vfio_spot spot;
	const char *file;
	int rc = c.bound ? bf_vfio_find(sys, NULL, &spot, &err) : fail_none(sys, &c, &err);
	int fd;

	if (rc) {
		snprintf(why, cap, "%s", err.text);
		return rc;
	}
	file = spot.way == BF_VFIO_CDEV ? "/dev/iommu" : "/dev/vfio/vfio";
	fd = sys->open(sys->arg, file);
	if (fd < 0) {
		snprintf(why, cap, "NVMe controller %s is at vfio-pci, but %s cannot be opened: %s", spot.address, file,
			 strerror(-fd));
		return fd;
	}
	sys->close(sys->arg, fd);
	snprintf(why, cap, "%" PRIu32 " NVMe controller%s at vfio-pci, the first %s, by %s", c.bound,
		 c.bound == 1 ? "" : "s", spot.address, spot.way == BF_VFIO_CDEV ? "IOMMUFD (cdev) or group" : "group");
	return 0;
}
