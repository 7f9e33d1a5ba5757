/*
 * Preloaded into belfry by kfd_tinygrad.sh: /dev/kfd, render nodes and the compute topology are not the kernel's but a
 * Python program's, which runs in this process and so sees the memory that packets name. What is asked of these files
 * goes to kfd_tinygrad.py; every other call goes on to libc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* CPython's, from its stable interface: no header of it is needed. */
void Py_InitializeEx(int handlers);
int PyRun_SimpleString(const char *text);
void *PyEval_SaveThread(void);

/* The Python program's answers: negative errno for a refusal. Its descriptors are far above the kernel's. */
struct bridge {
	int (*open)(const char *path);
	int (*close)(int fd);
	int (*ioctl)(int fd, unsigned long request, void *data);
	ssize_t (*read)(int fd, void *buf, size_t cap);
	long (*mmap)(void *addr, size_t len, int fd, off_t offset);
};
static struct bridge bridge;

void kfd_bridge(const struct bridge *b)
{
	bridge = *b;
}

#define FIRST_FD (1 << 30)
#define NEXT(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void)
{
	unsetenv("LD_PRELOAD");
	Py_InitializeEx(0);
	if (PyRun_SimpleString("import sys, os; sys.path.insert(0, os.environ['KFD_BRIDGE']); import kfd_tinygrad\n"
			       "kfd_tinygrad.attach()")) {
		fprintf(stderr, "the bridge does not start\n");
		_exit(70);
	}
	PyEval_SaveThread();
}

static int answer(long rc)
{
	if (rc >= 0)
		return (int)rc;
	errno = (int)-rc;
	return -1;
}

static int is_ours(const char *path)
{
	return bridge.open && (strcmp(path, "/dev/kfd") == 0 || strncmp(path, "/dev/dri/renderD", 16) == 0 ||
			       strncmp(path, "/sys/class/kfd/", 15) == 0);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (flags & (O_CREAT | O_TMPFILE)) {
		va_list args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return is_ours(path) ? answer(bridge.open(path)) : NEXT(open64)(path, flags, mode);
}

int open(const char *path, int flags, ...) __attribute__((alias("open64")));

int close(int fd)
{
	return fd >= FIRST_FD ? answer(bridge.close(fd)) : NEXT(close)(fd);
}

ssize_t read(int fd, void *buf, size_t cap)
{
	return fd >= FIRST_FD ? answer(bridge.read(fd, buf, cap)) : NEXT(read)(fd, buf, cap);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *data;

	va_start(args, request);
	data = va_arg(args, void *);
	va_end(args);
	return fd >= FIRST_FD ? answer(bridge.ioctl(fd, request, data)) : NEXT(ioctl)(fd, request, data);
}

void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	long at;

	if (fd < FIRST_FD)
		return NEXT(mmap64)(addr, len, prot, flags, fd, offset);
	at = bridge.mmap(addr, len, fd, offset);
	if (at < 0 && at >= -4095) {
		errno = (int)-at;
		return (void *)-1;
	}
	return (void *)at;
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset) __attribute__((alias("mmap64")));
