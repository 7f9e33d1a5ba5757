/* The system calls that a program makes on a device file, in the order of a file's life. */
#include <errno.h>
#include <stdarg.h>

#include "tools/exec/exec_internal.h"
#include "tools/exec/real_internal.h"

#define NETLINK_RDMA_PROTOCOL 20 /* NETLINK_RDMA of linux/netlink.h */
#define SOCKET_REQUESTS 0x89     /* linux/sockios.h: those about interfaces are among them */
#define UVERBS_IOCTL_TYPE 0x1b   /* RDMA_IOCTL_MAGIC of rdma/rdma_user_ioctl_cmds.h */

static int answer(int rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

/* ---- open ---- */

/*
 * The descriptor is one of /dev/null, which the device's name leads to: a character device, so that fstat() says what
 * libibverbs compares with the "dev" file in sysfs.
 */
static int open_device(int fd, uint32_t device)
{
	const int keep = errno;
	struct bf_engine *e = bf_exec_engine();
	struct bf_uverbs_file *file;
	int rc;

	if (!e) {
		rc = -errno;
	} else if (device >= bf_engine_devices(e)) {
		rc = -ENXIO;
	} else {
		rc = bf_engine_open(e, device, &file);
		if (!rc) {
			rc = bf_exec_files_add(fd, e, file, NULL);
			if (rc)
				bf_engine_close(e, file);
		}
	}
	if (rc) {
		BF_CALL_REAL(close)(fd);
		return answer(rc);
	}
	errno = keep;
	return fd;
}

/* Its events make the descriptor readable, which /dev/null cannot be: what was opened is closed again. */
static int open_manager(int fd, int flags)
{
	const int keep = errno;
	struct bf_engine *e = bf_exec_engine();
	struct bf_rdmacm_file *file;
	int rc = e ? 0 : -errno, events;

	BF_CALL_REAL(close)(fd);
	if (!rc)
		rc = bf_engine_cm_open(e, &file, &events);
	if (rc)
		return answer(rc);
	rc = bf_exec_files_add(events, e, NULL, file);
	if (rc) {
		bf_engine_cm_close(e, file);
		BF_CALL_REAL(close)(events);
		return answer(rc);
	}
	if (!(flags & O_CLOEXEC))
		BF_CALL_REAL(fcntl)(events, F_SETFD, 0);
	if (flags & O_NONBLOCK)
		BF_CALL_REAL(fcntl)(events, F_SETFL, O_RDWR | O_NONBLOCK);
	errno = keep;
	return events;
}

static int open_path(int dir, const char *path, int flags, mode_t mode)
{
	char buf[PATH_MAX];
	const char *led = bf_exec_path(path, buf);
	const int device = led == path ? -1 : bf_exec_device_of(led);
	const int fd = BF_CALL_REAL(openat)(dir, led, flags, mode);

	if (fd < 0)
		return fd;
	if (bf_exec_files_maybe(fd) && bf_exec_running())
		bf_exec_files_forget(fd); /* closed behind our back and given out again */
	if (device < 0 || (flags & O_PATH))
		return fd;
	return device == BF_EXEC_MANAGER ? open_manager(fd, flags) : open_device(fd, (uint32_t)device);
}

/* The third argument of open() and the fourth of openat(), where the flags say that there is one. */
#define MODE_ARGUMENT(flags, mode)                                                                                     \
	mode_t mode = 0;                                                                                               \
	if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) {                                                   \
		va_list ap;                                                                                            \
		va_start(ap, flags);                                                                                   \
		mode = (mode_t)va_arg(ap, unsigned);                                                                   \
		va_end(ap);                                                                                            \
	}

int open(const char *path, int flags, ...)
{
	MODE_ARGUMENT(flags, mode)
	return open_path(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	MODE_ARGUMENT(flags, mode)
	return open_path(AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	MODE_ARGUMENT(flags, mode)
	return open_path(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
	MODE_ARGUMENT(flags, mode)
	return open_path(dir, path, flags, mode);
}

/* What programs built with _FORTIFY_SOURCE call when they give no mode. */
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
	return open_path(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
	return open_path(AT_FDCWD, path, flags, 0);
}

int __openat_2(int dir, const char *path, int flags);
int __openat_2(int dir, const char *path, int flags)
{
	return open_path(dir, path, flags, 0);
}

int __openat64_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags)
{
	return open_path(dir, path, flags, 0);
}

/*
 * libibverbs asks the kernel by netlink first, and would be told of the machine's real devices; without an answer it
 * looks below SYSFS_PATH.
 */
int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA_PROTOCOL && bf_exec_dir()[0]) {
		bf_exec_note("looked");
		return answer(-EPROTONOSUPPORT);
	}
	return BF_CALL_REAL(socket)(domain, type, protocol);
}

/* ---- requests ---- */

/* Requests of other kinds (FIOCLEX and the like) are the kernel's business for any descriptor. */
int ioctl(int fd, unsigned long request, ...)
{
	struct bf_exec_file *f;
	va_list ap;
	void *arg;
	int rc;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request >> 8 == SOCKET_REQUESTS && bf_exec_interface_ioctl(request, arg, &rc))
		return answer(rc);
	if (((request >> 8) & 0xff) != UVERBS_IOCTL_TYPE || !(f = bf_exec_files_get(fd)))
		return BF_CALL_REAL(ioctl)(fd, request, arg);
	rc = f->file ? bf_engine_ioctl(f->engine, f->file, request, (uintptr_t)arg) : -ENOTTY;
	bf_exec_files_put(f);
	return answer(rc);
}

static void put_file(void *f)
{
	bf_exec_files_put(f);
}

/*
 * A request for an event waits for one in the C library's own call, which knows whether the program wants to wait, what
 * signals do to that, and that threads may be cancelled there.
 */
static int64_t write_manager(struct bf_exec_file *f, const void *from, size_t len)
{
	int64_t n;

	pthread_cleanup_push(put_file, f);
	while ((n = bf_engine_cm_write(f->engine, f->manager, (uintptr_t)from, len)) == -EAGAIN) {
		char byte;
		const ssize_t got = recv(f->events, &byte, 1, MSG_PEEK);

		if (!got) /* the process is ending: there will be no event, and threads that wait end with it */
			for (;;)
				pause();
		if (got < 0) {
			n = -errno;
			break;
		}
	}
	pthread_cleanup_pop(0);
	return n;
}

static ssize_t write_file(struct bf_exec_file *f, const void *from, size_t len)
{
	const int64_t n =
	    f->file ? bf_engine_write(f->engine, f->file, (uintptr_t)from, len) : write_manager(f, from, len);

	if (n >= 0)
		return (ssize_t)n;
	errno = (int)-n;
	return -1;
}

ssize_t write(int fd, const void *from, size_t len)
{
	struct bf_exec_file *f = bf_exec_files_get(fd);
	ssize_t n;

	if (!f)
		return BF_CALL_REAL(write)(fd, from, len);
	n = write_file(f, from, len);
	bf_exec_files_put(f);
	return n;
}

/* Each part is a request of its own, as for every file of the kernel's that knows only write(). */
ssize_t writev(int fd, const struct iovec *parts, int count)
{
	struct bf_exec_file *f = bf_exec_files_get(fd);
	ssize_t all = 0;

	if (!f)
		return BF_CALL_REAL(writev)(fd, parts, count);
	for (int i = 0; i < count; i++) {
		const ssize_t n = write_file(f, parts[i].iov_base, parts[i].iov_len);

		if (n < 0) {
			all = all ? all : n;
			break;
		}
		all += n;
	}
	bf_exec_files_put(f);
	return all;
}

/* True when `fd` is a device file: `*out` is what mmap() answers. */
static bool map_file(void **out, void *hint, size_t len, int prot, int flags, int fd, off_t offset)
{
	struct bf_exec_file *f = flags & MAP_ANONYMOUS ? NULL : bf_exec_files_get(fd);

	if (!f)
		return false;
	*out = MAP_FAILED;
	if (f->file)
		*out = bf_engine_mmap(f->engine, f->file, hint, len, prot, flags, (uint64_t)offset);
	else
		errno = ENODEV;
	bf_exec_files_put(f);
	return true;
}

void *mmap(void *hint, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p;

	return map_file(&p, hint, len, prot, flags, fd, offset)
		   ? p
		   : BF_CALL_REAL(mmap)(hint, len, prot, flags, fd, offset);
}

void *mmap64(void *hint, size_t len, int prot, int flags, int fd, off64_t offset)
{
	return mmap(hint, len, prot, flags, fd, offset);
}

/*
 * UCX puts a jump to its own code into the first bytes of mmap(), which is ours, and makes the system call by this
 * function (src/ucm/bistro, src/ucm/util/replace.c). Others are passed on as they come. How many arguments a call has
 * is not known here, so six are read, as the C library does; those that are not there may lie where AddressSanitizer
 * lets nobody read.
 */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	long a[6];
	va_list ap;
	void *p;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_mmap &&
	    map_file(&p, (void *)(uintptr_t)a[0], (size_t)a[1], (int)a[2], (int)a[3], (int)a[4], a[5]))
		return (long)(uintptr_t)p;
	if (number == SYS_ioctl && bf_exec_files_maybe((int)a[0]))
		return ioctl((int)a[0], (unsigned long)a[1], (void *)(uintptr_t)a[2]);
	if (number == SYS_close && bf_exec_files_maybe((int)a[0]))
		return close((int)a[0]);
	return BF_CALL_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- copies ---- */

static int copied(int from, int to)
{
	if (to >= 0 && (bf_exec_files_maybe(from) || bf_exec_files_maybe(to)) && bf_exec_running())
		bf_exec_files_copy(from, to);
	return to;
}

int dup(int fd)
{
	return copied(fd, BF_CALL_REAL(dup)(fd));
}

int dup2(int from, int to)
{
	return copied(from, BF_CALL_REAL(dup2)(from, to));
}

int dup3(int from, int to, int flags)
{
	return copied(from, BF_CALL_REAL(dup3)(from, to, flags));
}

/* The third argument is a number, a pointer or absent; in a register of its own each travels alike. */
#define FCNTL(fd, command)                                                                                             \
	do {                                                                                                           \
		va_list ap;                                                                                            \
		void *arg;                                                                                             \
		int rc;                                                                                                \
		va_start(ap, command);                                                                                 \
		arg = va_arg(ap, void *);                                                                              \
		va_end(ap);                                                                                            \
		rc = BF_CALL_REAL(fcntl)(fd, command, arg);                                                            \
		return (command) == F_DUPFD || (command) == F_DUPFD_CLOEXEC ? copied(fd, rc) : rc;                     \
	} while (0)

int fcntl(int fd, int command, ...)
{
	FCNTL(fd, command);
}

int fcntl64(int fd, int command, ...)
{
	FCNTL(fd, command);
}

/* ---- close ---- */

/* In the table first: the number may be given out again before close() has returned. */
int close(int fd)
{
	if (bf_exec_files_maybe(fd) && bf_exec_running())
		bf_exec_files_forget(fd);
	return BF_CALL_REAL(close)(fd);
}

int close_range(unsigned first, unsigned last, int flags)
{
	if (!((unsigned)flags & CLOSE_RANGE_CLOEXEC) && bf_exec_running())
		bf_exec_files_forget_range(first, last);
	return BF_CALL_REAL(close_range)(first, last, flags);
}

void closefrom(int first)
{
	if (bf_exec_running())
		bf_exec_files_forget_range(first < 0 ? 0 : (unsigned)first, UINT_MAX);
	BF_CALL_REAL(closefrom)(first);
}

/* ---- doorbells `direct` ---- */

void belfry_exec_ring(void);
void belfry_exec_ring(void)
{
	struct bf_engine *e = bf_exec_running();

	if (e)
		bf_engine_ring(e);
}
