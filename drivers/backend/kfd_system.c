/* The system's calls for backend "kfd". */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drivers/backend/kfd_internal.h"

static int sys_open(void *arg, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	(void)arg;
	return fd < 0 ? -errno : fd;
}

static void sys_close(void *arg, int fd)
{
	(void)arg;
	close(fd);
}

static int sys_ioctl(void *arg, int fd, unsigned long request, void *data)
{
	int rc;

	(void)arg;
	do
		rc = ioctl(fd, request, data);
	while (rc < 0 && (errno == EINTR || errno == EAGAIN));
	return rc < 0 ? -errno : rc;
}

static void *sys_mmap(void *arg, void *addr, size_t len, int fd, off_t offset)
{
	const int prot = fd < 0 ? PROT_NONE : PROT_READ | PROT_WRITE;
	const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | (addr ? MAP_FIXED : 0);
	void *p = mmap(addr, len, prot, flags, fd, offset);

	(void)arg;
	return p == MAP_FAILED ? NULL : p;
}

static void sys_munmap(void *arg, void *addr, size_t len)
{
	(void)arg;
	munmap(addr, len);
}

static int sys_read(void *arg, const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	(void)arg;
	if (fd < 0)
		return -errno;
	n = read(fd, buf, cap - 1);
	if (n >= 0)
		buf[n] = '\0';
	close(fd);
	return n < 0 ? -errno : (int)n;
}

const struct bf_kfd_sys bf_kfd_system = {
	.open = sys_open,
	.close = sys_close,
	.ioctl = sys_ioctl,
	.mmap = sys_mmap,
	.munmap = sys_munmap,
	.read = sys_read,
};
