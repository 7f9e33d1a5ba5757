/*
 * NVML as far as communication libraries ask: GPUs on PCI Express, without NVLink. Names, numbers and layouts by
 * NVIDIA's NVML API reference; it sits on our libcuda.so.1.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tools/cuda/driver.h"

enum { OK = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, UNKNOWN = 999 };

/* A device's handle is its number, and never NULL. */
typedef struct nvml_device *nvmlDevice_t;

static nvmlDevice_t handle_of(int device)
{
	return (nvmlDevice_t)(uintptr_t)(device + 1);
}

static int device_of(nvmlDevice_t handle)
{
	return (int)(uintptr_t)handle - 1;
}

static int result(int error)
{
	return !error ? OK : error == BF_CU_INVALID_VALUE || error == BF_CU_INVALID_DEVICE ? INVALID_ARGUMENT : UNKNOWN;
}

BF_CU_API int nvmlInit_v2(void)
{
	return result(cuInit(0));
}

BF_CU_API int nvmlInit(void)
{
	return nvmlInit_v2();
}

BF_CU_API int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return nvmlInit_v2();
}

BF_CU_API int nvmlShutdown(void)
{
	return OK;
}

BF_CU_API const char *nvmlErrorString(int error)
{
	switch (error) {
	case OK:
		return "Success";
	case INVALID_ARGUMENT:
		return "Invalid Argument";
	case NOT_SUPPORTED:
		return "Not Supported";
	case NOT_FOUND:
		return "Not Found";
	default:
		return "Unknown Error";
	}
}

BF_CU_API int nvmlSystemGetDriverVersion(char *text, unsigned len)
{
	snprintf(text, len, "Belfry");
	return OK;
}

BF_CU_API int nvmlDeviceGetCount_v2(unsigned *count)
{
	int n = 0;
	const int rc = cuDeviceGetCount(&n);

	*count = (unsigned)n;
	return result(rc);
}

BF_CU_API int nvmlDeviceGetCount(unsigned *count)
{
	return nvmlDeviceGetCount_v2(count);
}

BF_CU_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out)
{
	int device;
	const int rc = cuDeviceGet(&device, (int)index);

	*out = rc ? NULL : handle_of(device);
	return result(rc);
}

BF_CU_API int nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *out)
{
	return nvmlDeviceGetHandleByIndex_v2(index, out);
}

BF_CU_API int nvmlDeviceGetHandleByPciBusId_v2(const char *text, nvmlDevice_t *out)
{
	int device;
	const int rc = cuDeviceGetByPCIBusId(&device, text);

	*out = rc ? NULL : handle_of(device);
	return rc ? NOT_FOUND : OK;
}

BF_CU_API int nvmlDeviceGetHandleByPciBusId(const char *text, nvmlDevice_t *out)
{
	return nvmlDeviceGetHandleByPciBusId_v2(text, out);
}

BF_CU_API int nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned *index)
{
	*index = (unsigned)device_of(handle);
	return OK;
}

BF_CU_API int nvmlDeviceGetName(nvmlDevice_t handle, char *text, unsigned len)
{
	return result(cuDeviceGetName(text, (int)len, device_of(handle)));
}

BF_CU_API int nvmlDeviceGetUUID(nvmlDevice_t handle, char *text, unsigned len)
{
	struct bf_cu_uuid u;
	const int rc = cuDeviceGetUuid_v2(&u, device_of(handle));
	size_t n = (size_t)snprintf(text, len, "GPU-");

	for (int i = 0; !rc && i < 16 && n + 4 < len; i++)
		n += (size_t)snprintf(text + n, len - n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				      u.bytes[i]);
	return result(rc);
}

BF_CU_API int nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int *major, int *minor)
{
	return result(cuDeviceComputeCapability(major, minor, device_of(handle)));
}

/* nvmlPciInfo_t */
struct pci {
	char legacy[16];
	unsigned domain, bus, device, id, subsystem;
	char text[32];
};

BF_CU_API int nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, struct pci *out)
{
	int rc, bus = 0, id = 0, domain = 0;

	memset(out, 0, sizeof(*out));
	rc = cuDeviceGetAttribute(&bus, 33, device_of(handle));
	rc = rc ? rc : cuDeviceGetAttribute(&id, 139, device_of(handle));
	rc = rc ? rc : cuDeviceGetAttribute(&domain, 50, device_of(handle));
	out->domain = (unsigned)domain & 0xffff;
	out->bus = (unsigned)bus & 0xff;
	out->id = (unsigned)id;
	snprintf(out->legacy, sizeof(out->legacy), "%04X:%02X:00.0", out->domain, out->bus);
	snprintf(out->text, sizeof(out->text), "%08X:%02X:00.0", out->domain, out->bus);
	return result(rc);
}

BF_CU_API int nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, struct pci *out)
{
	return nvmlDeviceGetPciInfo_v3(handle, out);
}

/* nvmlPciInfoExt_v1_t */
struct pci_more {
	unsigned version, domain, bus, device, id, subsystem, class, subclass;
	char text[32];
};

BF_CU_API int nvmlDeviceGetPciInfoExt(nvmlDevice_t handle, struct pci_more *out)
{
	struct pci p;
	const int rc = nvmlDeviceGetPciInfo_v3(handle, &p);

	out->domain = p.domain;
	out->bus = p.bus;
	out->device = p.device;
	out->id = p.id;
	out->subsystem = p.subsystem;
	out->class = 3; /* a display controller for computing */
	out->subclass = 2;
	memcpy(out->text, p.text, sizeof(out->text));
	return rc;
}

/* Of PCI Express 5.0 with 16 lanes; in MB/s of a lane. */
BF_CU_API int nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t handle, unsigned *speed)
{
	(void)handle;
	*speed = 32000;
	return OK;
}

BF_CU_API int nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t handle, unsigned *generation)
{
	(void)handle;
	*generation = 5;
	return OK;
}

BF_CU_API int nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t handle, unsigned *lanes)
{
	(void)handle;
	*lanes = 16;
	return OK;
}

BF_CU_API int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t handle, unsigned *generation)
{
	return nvmlDeviceGetCurrPcieLinkGeneration(handle, generation);
}

BF_CU_API int nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t handle, unsigned *lanes)
{
	return nvmlDeviceGetCurrPcieLinkWidth(handle, lanes);
}

/* All devices reach each other's memory. */
BF_CU_API int nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, int index, int *status)
{
	(void)one;
	(void)other;
	(void)index;
	*status = 0;
	return OK;
}

/* nvmlFieldValue_t: each has its own result. */
struct field {
	unsigned id, scope;
	long long when, latency;
	int type, result;
	uint64_t value;
};

BF_CU_API int nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count, struct field *fields)
{
	(void)handle;
	for (int i = 0; i < count; i++)
		fields[i].result = NOT_SUPPORTED;
	return OK;
}

/* What GPUs without NVLink, fabrics and confidential computing answer. */
#define WITHOUT(name)                                                                                                  \
	BF_CU_API int name(void);                                                                                      \
	BF_CU_API int name(void)                                                                                       \
	{                                                                                                              \
		return NOT_SUPPORTED;                                                                                  \
	}
WITHOUT(nvmlDeviceGetNvLinkState)
WITHOUT(nvmlDeviceGetNvLinkRemotePciInfo_v2)
WITHOUT(nvmlDeviceGetNvLinkRemotePciInfo)
WITHOUT(nvmlDeviceGetNvLinkCapability)
WITHOUT(nvmlDeviceGetGpuFabricInfo)
WITHOUT(nvmlDeviceGetGpuFabricInfoV)
WITHOUT(nvmlDeviceGetPlatformInfo)
WITHOUT(nvmlSystemGetConfComputeState)
WITHOUT(nvmlSystemGetConfComputeSettings)
