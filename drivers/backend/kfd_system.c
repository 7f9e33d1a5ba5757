/* The system's calls for backend "kfd". */
#include <sys/mman.h>

#include "drivers/backend/kfd_internal.h"
#include "drivers/backend/system_internal.h"

static void *sys_mmap(void *arg, void *addr, size_t len, int fd, off_t offset)
{
	const int prot = fd < 0 ? PROT_NONE : PROT_READ | PROT_WRITE;
	const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | (addr ? MAP_FIXED : 0);
	void *p = mmap(addr, len, prot, flags, fd, offset);

	(void)arg;
	return p == MAP_FAILED ? NULL : p;
}

const struct bf_kfd_sys bf_kfd_system = {
	.open = bf_sys_open,
	.close = bf_sys_close,
	.ioctl = bf_sys_ioctl,
	.mmap = sys_mmap,
	.munmap = bf_sys_munmap,
	.read = bf_sys_read,
};
