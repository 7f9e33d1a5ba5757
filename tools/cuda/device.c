/* The devices: how many, what they are called, where they are. */
#include <stdio.h>
#include <string.h>

#include "tools/cuda/driver_internal.h"

int bf_cu_check_device(int device)
{
	const int rc = bf_cu_ready();

	return rc ? rc : device >= 0 && (uint32_t)device < bf_cu.count ? BF_CU_OK : BF_CU_INVALID_DEVICE;
}

int cuDeviceGetCount(int *count)
{
	if (!count)
		return BF_CU_INVALID_VALUE;
	*count = (int)bf_cu.count;
	return bf_cu_ready();
}

int cuDeviceGet(int *device, int ordinal)
{
	const int rc = bf_cu_check_device(ordinal);

	if (!device)
		return BF_CU_INVALID_VALUE;
	if (!rc)
		*device = ordinal;
	return rc;
}

int cuDeviceGetName(char *name, int len, int device)
{
	const int rc = bf_cu_check_device(device);

	if (!rc && (!name || len < 1))
		return BF_CU_INVALID_VALUE;
	if (!rc)
		snprintf(name, (size_t)len, "%s", bf_cu.profile->title);
	return rc;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	const int rc = bf_cu_check_device(device);

	if (!rc && bytes)
		*bytes = bf_cu.profile->memory;
	return rc;
}

uint32_t bf_cu_pci_domain(void)
{
	return bf_cu.machine->rank() & 0xffff;
}

/* Different for each device and each of the processes that were launched together. */
int cuDeviceGetUuid_v2(struct bf_cu_uuid *uuid, int device)
{
	const int rc = bf_cu_check_device(device);

	if (rc || !uuid)
		return rc ? rc : BF_CU_INVALID_VALUE;
	memcpy(uuid->bytes, "Belfry GPU\0\0\0\0\0", 16);
	uuid->bytes[13] = (uint8_t)(bf_cu_pci_domain() >> 8);
	uuid->bytes[14] = (uint8_t)bf_cu_pci_domain();
	uuid->bytes[15] = (uint8_t)device;
	return BF_CU_OK;
}

int cuDeviceGetUuid(struct bf_cu_uuid *uuid, int device)
{
	return cuDeviceGetUuid_v2(uuid, device);
}

int cuDeviceGetPCIBusId(char *text, int len, int device)
{
	const int rc = bf_cu_check_device(device);

	if (!rc && (!text || len < 1))
		return BF_CU_INVALID_VALUE;
	if (!rc)
		snprintf(text, (size_t)len, "%04X:%02X:00.0", bf_cu_pci_domain(), 0x40 + device);
	return rc;
}

int cuDeviceGetByPCIBusId(int *device, const char *text)
{
	unsigned domain = 0, bus = 0, slot = 0, function = 0;
	const int rc = bf_cu_ready();

	if (rc || !device || !text)
		return rc ? rc : BF_CU_INVALID_VALUE;
	if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3)
		return BF_CU_INVALID_VALUE;
	if (domain != bf_cu_pci_domain() || bus < 0x40 || bus - 0x40 >= bf_cu.count)
		return BF_CU_INVALID_DEVICE;
	*device = (int)bus - 0x40;
	return BF_CU_OK;
}

int cuDeviceComputeCapability(int *major, int *minor, int device)
{
	const int rc = bf_cu_check_device(device);

	if (!rc) {
		*major = (int)bf_cu.profile->major;
		*minor = (int)bf_cu.profile->minor;
	}
	return rc;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	int rc = bf_cu_check_device(device);

	rc = rc ? rc : bf_cu_check_device(peer);
	if (!rc)
		*can = device != peer;
	return rc;
}

int cuDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
	int rc = bf_cu_check_device(from);

	rc = rc ? rc : bf_cu_check_device(to);
	if (rc || from == to || !value)
		return rc ? rc : !value ? BF_CU_INVALID_VALUE : BF_CU_INVALID_DEVICE;
	switch (attribute) {
	case 1: /* performance rank */
		*value = 0;
		return BF_CU_OK;
	case 2: /* access */
	case 3: /* native atomics */
		*value = 1;
		return BF_CU_OK;
	case 4: /* arrays */
		*value = 0;
		return BF_CU_OK;
	default:
		return BF_CU_INVALID_VALUE;
	}
}
