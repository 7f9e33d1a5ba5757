/* The system's calls for backend "vfio". */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drivers/backend/system_internal.h"
#include "drivers/backend/vfio_internal.h"

static void *sys_mmap(void *arg, size_t len, int fd, off_t offset)
{
	const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, offset);

	(void)arg;
	if (p == MAP_FAILED)
		return NULL;
	if (fd < 0)
		madvise(p, len, MADV_NOHUGEPAGE);
	return p;
}

static ssize_t sys_pread(void *arg, int fd, void *buf, size_t len, off_t offset)
{
	const ssize_t n = pread(fd, buf, len, offset);

	(void)arg;
	return n < 0 ? -errno : n;
}

static ssize_t sys_pwrite(void *arg, int fd, const void *buf, size_t len, off_t offset)
{
	const ssize_t n = pwrite(fd, buf, len, offset);

	(void)arg;
	return n < 0 ? -errno : n;
}

static int sys_read(void *arg, const char *path, char *buf, size_t cap)
{
	const int n = bf_sys_read(arg, path, buf, cap);

	buf[strcspn(buf, "\n")] = '\0';
	return n < 0 ? n : 0;
}

static int sys_link(void *arg, const char *path, char *buf, size_t cap)
{
	char target[512];
	const ssize_t n = readlink(path, target, sizeof(target) - 1);
	const char *last;

	(void)arg;
	if (n < 0)
		return -errno;
	target[n] = '\0';
	last = strrchr(target, '/');
	snprintf(buf, cap, "%s", last ? last + 1 : target);
	return 0;
}

static int sys_next(void *arg, const char *folder, const char *after, char *buf, size_t cap)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	bool found = false;
	char best[256] = "";

	(void)arg;
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || strcmp(e->d_name, after) <= 0 || (found && strcmp(e->d_name, best) >= 0))
			continue;
		snprintf(best, sizeof(best), "%s", e->d_name);
		found = true;
	}
	if (d)
		closedir(d);
	snprintf(buf, cap, "%s", best);
	return found ? 0 : -ENOENT;
}

static bool sys_exists(void *arg, const char *path)
{
	(void)arg;
	return access(path, F_OK) == 0;
}

static int sys_log_open(void *arg)
{
	const int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int rc = fd;

	(void)arg;
	if (fd < 0)
		return -errno;
	if (lseek(fd, 0, SEEK_END) < 0) {
		rc = -errno;
		close(fd);
	}
	return rc;
}

/* A read gives one record: "priority,number,time,flags;text". */
static int sys_log_read(void *arg, int fd, char *buf, size_t cap)
{
	ssize_t n;

	(void)arg;
	do
		n = read(fd, buf, cap - 1);
	while (n < 0 && (errno == EPIPE || errno == EINTR)); /* EPIPE: some were overwritten */
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return 0;
}

const struct bf_vfio_sys bf_vfio_system = {
	.open = bf_sys_open,
	.close = bf_sys_close,
	.ioctl = bf_sys_ioctl,
	.mmap = sys_mmap,
	.munmap = bf_sys_munmap,
	.pread = sys_pread,
	.pwrite = sys_pwrite,
	.read = sys_read,
	.link = sys_link,
	.next = sys_next,
	.exists = sys_exists,
	.log_open = sys_log_open,
	.log_read = sys_log_read,
};
