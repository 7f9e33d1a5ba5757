/* Libraries that a program loads itself, and what it asks the driver for by name. */
#include "tools/cudart/runtime.h"

BF_CU_API int cudaLibraryLoadData(CUmodule *out, const void *code, int *jit, void **jit_values, unsigned jit_count,
				  int *options, void **values, unsigned count)
{
	BF_RT_ENTERED(cuLibraryLoadData(out, code, jit, jit_values, jit_count, options, values, count));
}

BF_CU_API int cudaLibraryLoadFromFile(CUmodule *out, const char *path, int *jit, void **jit_values, unsigned jit_count,
				      int *options, void **values, unsigned count)
{
	BF_RT_ENTERED(cuLibraryLoadFromFile(out, path, jit, jit_values, jit_count, options, values, count));
}

BF_CU_API int cudaLibraryUnload(CUmodule m)
{
	BF_RT_ENTERED(cuLibraryUnload(m));
}

BF_CU_API int cudaLibraryGetKernel(CUfunction *out, CUmodule m, const char *name)
{
	BF_RT_ENTERED(cuLibraryGetKernel(out, m, name));
}

BF_CU_API int cudaLibraryGetKernelCount(unsigned *count, CUmodule m)
{
	BF_RT_ENTERED(cuLibraryGetKernelCount(count, m));
}

BF_CU_API int cudaLibraryEnumerateKernels(CUfunction *kernels, unsigned count, CUmodule m)
{
	BF_RT_ENTERED(cuLibraryEnumerateKernels(kernels, count, m));
}

/* A variable's address. */
static int variable(void **out, size_t *size, CUmodule m, const char *name)
{
	CUdeviceptr at = 0;
	int rc = bf_rt_enter();

	rc = rc ? rc : cuLibraryGetGlobal(&at, size, m, name);
	if (!rc && out)
		*out = (void *)(uintptr_t)at;
	return bf_rt_done(rc);
}

BF_CU_API int cudaLibraryGetGlobal(void **out, size_t *size, CUmodule m, const char *name)
{
	return variable(out, size, m, name);
}

BF_CU_API int cudaLibraryGetManaged(void **out, size_t *size, CUmodule m, const char *name)
{
	return variable(out, size, m, name);
}

BF_CU_API int cudaKernelSetAttributeForDevice(CUfunction kernel, int attribute, int value, int device)
{
	BF_RT_ENTERED(cuKernelSetAttribute(attribute, value, kernel, device));
}
