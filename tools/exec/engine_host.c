/* What the kernel's half asks of its surroundings: the program's memory, and descriptors with events. */
#include "tools/exec/engine_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/exec/dmabufs.h"

static int channel_open(void *arg)
{
	struct bf_engine *e = arg;

	return bf_channel_open(e->channels);
}

static int channel_put(void *arg, int fd, const void *event, uint32_t len)
{
	struct bf_engine *e = arg;

	return bf_channel_put(e->channels, fd, event, len);
}

static int channel_take(void *arg, int fd, bool (*match)(const void *event, void *what), void *what)
{
	struct bf_engine *e = arg;

	return bf_channel_take(e->channels, fd, match, what);
}

static void channel_release(void *arg, int fd)
{
	struct bf_engine *e = arg;

	bf_channel_release(e->channels, fd);
}

/*
 * Copies between the program's memory and ours. The system call checks the program's addresses, as copy_from_user()
 * does; where a sandbox forbids it the bytes are copied without a check.
 */
static int copy(void *mine, uint64_t address, uint32_t len, bool in)
{
	struct iovec own = { mine, len }, theirs = { (void *)(uintptr_t)address, len };
	ssize_t done;

	if (!len)
		return 0;
	done = in ? process_vm_readv(getpid(), &own, 1, &theirs, 1, 0)
		  : process_vm_writev(getpid(), &own, 1, &theirs, 1, 0);
	if (done == (ssize_t)len)
		return 0;
	if (done >= 0 || errno == EFAULT)
		return -EFAULT;
	if (in)
		memcpy(mine, theirs.iov_base, len);
	else
		memcpy(theirs.iov_base, mine, len);
	return 0;
}

static int copy_in(void *arg, void *to, uint64_t address, uint32_t len)
{
	(void)arg;
	return copy(to, address, len, true);
}

static int copy_out(void *arg, uint64_t address, const void *from, uint32_t len)
{
	(void)arg;
	return copy((void *)(uintptr_t)from, address, len, false);
}

/* May the program itself use all of this? What it has mapped says so: for kernels and memory that cannot be brought in.
 */
static int look_at_maps(uint64_t first, uint64_t end, bool write)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t cap = 0;

	while (maps && first < end && getline(&line, &cap, maps) > 0) {
		unsigned long long from, to;
		char perm[5];

		if (sscanf(line, "%llx-%llx %4s", &from, &to, perm) == 3 && from <= first && first < to &&
		    perm[0] == 'r' && (!write || perm[1] == 'w'))
			first = to;
	}
	free(line);
	if (maps)
		fclose(maps);
	return first < end ? -EFAULT : 0;
}

static int dmabuf(void *arg, int fd, uint64_t offset, uint64_t len, uint64_t *address)
{
	(void)arg;
	return bf_dmabufs_find(fd, offset, len, address);
}

static int inode(void *arg, int fd, uint64_t id[2])
{
	struct stat s;

	(void)arg;
	if (fstat(fd, &s))
		return -EBADF;
	id[0] = s.st_dev;
	id[1] = s.st_ino;
	return 0;
}

/*
 * Brings the pages in, as pinning does. Memory of GPUs is there, as with nvidia-peermem in the kernel; that of GPUs of
 * ours costs memory of this machine once it is written, which NVSHMEM's heap of half a gigabyte mostly is not.
 */
static int pin(void *arg, uint64_t address, uint64_t len, bool write)
{
	struct bf_engine *e = arg;
	const uint64_t first = address & ~(uint64_t)(BF_PAGE - 1);
	const uint64_t end = (address + len + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1);

	int error;

	if (!len)
		return 0;
	if (end < first || address + len < address)
		return -EFAULT;
	if (bf_engine_ptx_has(e, address, address + len))
		return 0;
	if (!madvise((void *)(uintptr_t)first, end - first, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ)) {
		bf_engine_gpu_forget(e, first, end);
		return 0;
	}
	error = errno;
	if (!bf_engine_gpu_pin(e, first, end))
		return 0;
	errno = error;
	if (errno == EINVAL) /* not before Linux 5.14, nor for memory of devices, nor without the right */
		return look_at_maps(first, end, write);
	return errno == ENOMEM || errno == EFAULT ? -EFAULT : -errno;
}

void bf_engine_host_init(struct bf_engine *e, struct bf_uverbs_host *host)
{
	*host = (struct bf_uverbs_host){
		.arg = e,
		.channel_open = channel_open,
		.channel_put = channel_put,
		.channel_take = channel_take,
		.channel_release = channel_release,
		.pin = pin,
		.dmabuf = dmabuf,
		.inode = inode,
		.copy_in = copy_in,
		.copy_out = copy_out,
	};
}
