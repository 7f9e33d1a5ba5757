#include "drivers/backend/system_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* kfd answers so while it is busy (libhsakmt tries for ever); a device that stays busy is an error. */
#define BUSY_TRIES 1000

int bf_sys_open(void *arg, const char *path)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);

	(void)arg;
	return fd < 0 ? -errno : fd;
}

void bf_sys_close(void *arg, int fd)
{
	(void)arg;
	close(fd);
}

int bf_sys_ioctl(void *arg, int fd, unsigned long request, void *data)
{
	int rc, busy = 0;

	(void)arg;
	do
		rc = ioctl(fd, request, data);
	while (rc < 0 && (errno == EINTR || (errno == EAGAIN && busy++ < BUSY_TRIES)));
	return rc < 0 ? -errno : rc;
}

void bf_sys_munmap(void *arg, void *addr, size_t len)
{
	(void)arg;
	munmap(addr, len);
}

int bf_sys_read(void *arg, const char *path, char *buf, size_t cap)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int rc;

	(void)arg;
	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, buf, cap - 1);
	rc = n < 0 ? -errno : (int)n;
	buf[n < 0 ? 0 : n] = '\0';
	close(fd);
	return rc;
}
