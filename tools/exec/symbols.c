/*
 * A GPU's threads ring a doorbell page after cudaHostRegister() with cudaHostRegisterIoMemory has made it theirs. Our
 * pages are memory, for which the driver refuses that flag (and takes the page without it). So the flag goes on its way
 * to the driver when the page is one of ours.
 *
 * And it is noted which of the GPU's memory is made a DMA-BUF, since its descriptor alone does not tell.
 *
 * The way: the CUDA runtime is part of most programs and libraries, and finds the driver's functions by dlsym() and
 * from then on by cuGetProcAddress(). Names and values: CUDA driver API reference, cuda.h of CUDA 13.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "tools/exec/dmabufs.h"
#include "tools/exec/exec_internal.h"

#define IO_MEMORY 4u /* CU_MEMHOSTREGISTER_IOMEMORY */
#define DMABUF 1     /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */

#if defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#else
#define OLDEST "GLIBC_2.2.5"
#endif

typedef void *dlsym_fn(void *handle, const char *name);
typedef int register_fn(void *p, size_t bytes, unsigned flags);
typedef int range_fn(void *handle, uint64_t address, size_t bytes, int type, unsigned long long flags);
typedef int get_fn(const char *name, void **fn, int version, uint64_t flags, void *status);
typedef int get_old_fn(const char *name, void **fn, int version, uint64_t flags);

/* As in real.c: looked up for the whole process, with the same answer for every thread. */
static struct {
	_Atomic(uintptr_t) dlsym, host_register, range, get, get_old;
} real;

/* What symbols_dlsym.S calls. */
dlsym_fn *bf_exec_real_dlsym(void);
void *bf_exec_dlsym(void *handle, const char *name);

/* A sanitizer's runtime asks for symbols before it can look after memory. */
__attribute__((no_sanitize("address", "undefined"))) dlsym_fn *bf_exec_real_dlsym(void)
{
	uintptr_t address = atomic_load_explicit(&real.dlsym, memory_order_relaxed);

	if (!address) {
		address = (uintptr_t)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		address = address ? address : (uintptr_t)dlvsym(RTLD_NEXT, "dlsym", OLDEST);
		atomic_store_explicit(&real.dlsym, address, memory_order_relaxed);
	}
	return (dlsym_fn *)address;
}

static int host_register(void *p, size_t bytes, unsigned flags)
{
	struct bf_engine *e = bf_exec_running();

	if ((flags & IO_MEMORY) && e && bf_engine_has_page(e, p))
		flags &= ~IO_MEMORY;
	return ((register_fn *)atomic_load_explicit(&real.host_register, memory_order_acquire))(p, bytes, flags);
}

static int range(void *handle, uint64_t address, size_t bytes, int type, unsigned long long flags)
{
	range_fn *theirs = (range_fn *)atomic_load_explicit(&real.range, memory_order_acquire);
	const int rc = theirs(handle, address, bytes, type, flags);

	if (!rc && type == DMABUF)
		bf_dmabufs_note(*(int *)handle, address, bytes);
	return rc;
}

static void *instead(_Atomic(uintptr_t) *keep, void *theirs, uintptr_t ours)
{
	if (!theirs || (uintptr_t)theirs == ours)
		return theirs;
	atomic_store_explicit(keep, (uintptr_t)theirs, memory_order_release);
	return (void *)ours;
}

static int get(const char *name, void **fn, int version, uint64_t flags, void *status);
static int get_old(const char *name, void **fn, int version, uint64_t flags);

/* From CUDA 12 on the function of this name has a fifth parameter. */
#define WITH_STATUS 12000

static void replace(const char *name, void **fn, int version)
{
	if (!name || !fn || !*fn)
		return;
	if (!strcmp(name, "cuMemHostRegister"))
		*fn = instead(&real.host_register, *fn, (uintptr_t)host_register);
	else if (!strcmp(name, "cuMemGetHandleForAddressRange"))
		*fn = instead(&real.range, *fn, (uintptr_t)range);
	else if (!strcmp(name, "cuGetProcAddress") && version >= WITH_STATUS)
		*fn = instead(&real.get, *fn, (uintptr_t)get);
	else if (!strcmp(name, "cuGetProcAddress"))
		*fn = instead(&real.get_old, *fn, (uintptr_t)get_old);
}

static int get(const char *name, void **fn, int version, uint64_t flags, void *status)
{
	get_fn *theirs = (get_fn *)atomic_load_explicit(&real.get, memory_order_acquire);
	const int rc = theirs(name, fn, version, flags, status);

	if (!rc)
		replace(name, fn, version);
	return rc;
}

static int get_old(const char *name, void **fn, int version, uint64_t flags)
{
	get_old_fn *theirs = (get_old_fn *)atomic_load_explicit(&real.get_old, memory_order_acquire);
	const int rc = theirs(name, fn, version, flags);

	if (!rc)
		replace(name, fn, version);
	return rc;
}

void *bf_exec_dlsym(void *handle, const char *name)
{
	void *address = bf_exec_real_dlsym()(handle, name);

	if (!name || name[0] != 'c' || name[1] != 'u')
		return address;
	if (!strcmp(name, "cuMemHostRegister_v2"))
		replace("cuMemHostRegister", &address, 0);
	else if (!strcmp(name, "cuGetProcAddress_v2"))
		replace("cuGetProcAddress", &address, WITH_STATUS);
	else if (!strcmp(name, "cuGetProcAddress") || !strcmp(name, "cuMemGetHandleForAddressRange"))
		replace(name, &address, 0);
	return address;
}
