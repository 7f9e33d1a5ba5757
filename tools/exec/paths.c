/*
 * Names. libibverbs looks where SYSFS_PATH says; the other programs and libraries (UCX, hwloc, NCCL, perftest) read
 * /sys/class/infiniband and open /dev/infiniband by their names, and are led into the same folders. What realpath()
 * finds there is told by the name that it stands for.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "tools/exec/exec_internal.h"
#include "tools/exec/gpu.h"
#include "tools/exec/identity.h"
#include "tools/exec/real_internal.h"

static struct {
	char dir[PATH_MAX / 2];
	size_t len;
	char gpu[32]; /* what PCI addresses of GPUs begin with; empty: there are none */
} folder;

const char *bf_exec_dir(void)
{
	return folder.dir;
}

void bf_exec_set_dir(const char *dir)
{
	folder.len = strlen(dir);
	if (folder.len >= sizeof(folder.dir))
		folder.len = 0;
	memcpy(folder.dir, dir, folder.len);
	folder.dir[folder.len] = '\0';
	if (getenv(BF_EXEC_ENV_GPU))
		snprintf(folder.gpu, sizeof(folder.gpu), "%04x:%x", (unsigned)bf_exec_gpu_domain(),
			 BF_EXEC_GPU_BUS >> 4);
}

static bool begins(const char *path, const char *with, const char *then)
{
	const size_t len = strlen(with);

	return strncmp(path, with, len) == 0 && (!then || strchr(then, path[len]));
}

/* The address of a GPU behind a folder's name. */
static bool is_gpu(const char *path, const char *below)
{
	return folder.gpu[0] && begins(path, below, NULL) && begins(path + strlen(below), folder.gpu, NULL);
}

/* The folder of all functions; those of the machine's own are links in ours. */
static bool is_bus(const char *path)
{
	static const char bus[] = "/sys/bus/pci/devices";

	return begins(path, bus, NULL) && strspn(path + sizeof(bus) - 1, "/") == strlen(path + sizeof(bus) - 1);
}

/* strchr() finds the end of a text as well: each of these may also be the last word of a path. */
static bool is_ours(const char *path)
{
	if (begins(path, "/dev/", NULL))
		return begins(path, "/dev/infiniband", "/");
	return begins(path, "/sys/", NULL) &&
	       (begins(path, "/sys/class/infiniband", "/_") || begins(path, "/sys/class/misc/rdma_cm", "/") ||
		begins(path, "/sys/class/net/" BF_EXEC_OWN_INTERFACE, "0123456789") ||
		begins(path, BF_EXEC_PCI_ROOT, NULL) || begins(path, BF_EXEC_PCI_DEVICES, NULL) ||
		begins(path, BF_EXEC_PCI_BUSES BF_EXEC_PCI_DOMAIN ":", NULL) || is_gpu(path, BF_EXEC_PCI_BUSES) ||
		is_gpu(path, "/sys/bus/pci/devices/") || is_bus(path));
}

/* Not inlined: callers are declared to get no NULL, and programs pass it all the same. */
BF_NOINLINE const char *bf_exec_path(const char *path, char buf[PATH_MAX])
{
	const size_t len = path && folder.len && path[0] == '/' && is_ours(path) ? strlen(path) : 0;

	if (!len || folder.len + len >= PATH_MAX)
		return path;
	memcpy(buf, folder.dir, folder.len);
	memcpy(buf + folder.len, path, len + 1);
	return buf;
}

int bf_exec_device_of(const char *path)
{
	static const char file[] = "/dev/infiniband/uverbs";
	int n = 0;

	if (!path || !folder.len || strncmp(path, folder.dir, folder.len))
		return -1;
	if (!strcmp(path + folder.len, "/dev/infiniband/rdma_cm"))
		return BF_EXEC_MANAGER;
	if (!begins(path + folder.len, file, NULL))
		return -1;
	path += folder.len + sizeof(file) - 1;
	if (!*path)
		return -1;
	for (; *path; path++) {
		if (*path < '0' || *path > '9' || n > 99)
			return -1;
		n = 10 * n + (*path - '0');
	}
	return n;
}

/* What a path of the folder is called outside. */
static void take_back(char *path)
{
	if (strncmp(path, folder.dir, folder.len) == 0 && path[folder.len] == '/')
		memmove(path, path + folder.len, strlen(path + folder.len) + 1);
}

/* ---- looking ---- */

int stat(const char *path, struct stat *st)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(stat)(bf_exec_path(path, buf), st);
}

int lstat(const char *path, struct stat *st)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(lstat)(bf_exec_path(path, buf), st);
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(fstatat)(dir, bf_exec_path(path, buf), st, flags);
}

int statx(int dir, const char *path, int flags, unsigned mask, struct statx *st)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(statx)(dir, bf_exec_path(path, buf), flags, mask, st);
}

int access(const char *path, int mode)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(access)(bf_exec_path(path, buf), mode);
}

int faccessat(int dir, const char *path, int mode, int flags)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(faccessat)(dir, bf_exec_path(path, buf), mode, flags);
}

int eaccess(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS);
}

int euidaccess(const char *path, int mode)
{
	return eaccess(path, mode);
}

/* `ls -l` asks for access control lists, and shells for the kind of file system. */
ssize_t getxattr(const char *path, const char *name, void *value, size_t cap)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(getxattr)(bf_exec_path(path, buf), name, value, cap);
}

ssize_t lgetxattr(const char *path, const char *name, void *value, size_t cap)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(lgetxattr)(bf_exec_path(path, buf), name, value, cap);
}

ssize_t listxattr(const char *path, char *list, size_t cap)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(listxattr)(bf_exec_path(path, buf), list, cap);
}

ssize_t llistxattr(const char *path, char *list, size_t cap)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(llistxattr)(bf_exec_path(path, buf), list, cap);
}

int statfs(const char *path, struct statfs *st)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(statfs)(bf_exec_path(path, buf), st);
}

int chdir(const char *path)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(chdir)(bf_exec_path(path, buf));
}

/* Descriptors of devices are ones of /dev/null, and say so; one of the connection manager is a socket. */
int fstat(int fd, struct stat *st)
{
	struct bf_exec_file *f;
	const int rc = BF_CALL_REAL(fstat)(fd, st);

	if (rc || !(f = bf_exec_files_get(fd)))
		return rc;
	if (f->manager) {
		st->st_mode = S_IFCHR | 0666;
		st->st_rdev = makedev(BF_EXEC_CM_MAJOR, BF_EXEC_CM_MINOR);
	}
	bf_exec_files_put(f);
	return 0;
}

/* On 64-bit machines the two kinds of struct stat are one, and so are the versions that old binaries ask for. */
BF_STATIC_ASSERT(sizeof(struct stat) == sizeof(struct stat64), "32-bit machines have two kinds of struct stat");

int stat64(const char *path, struct stat64 *st)
{
	return stat(path, (struct stat *)(void *)st);
}

int fstat64(int fd, struct stat64 *st)
{
	return fstat(fd, (struct stat *)(void *)st);
}

int lstat64(const char *path, struct stat64 *st)
{
	return lstat(path, (struct stat *)(void *)st);
}

int fstatat64(int dir, const char *path, struct stat64 *st, int flags)
{
	return fstatat(dir, path, (struct stat *)(void *)st, flags);
}

#define STAT_OF_OLD_BINARIES(name, ...)                                                                                \
	int name(int version, __VA_ARGS__);                                                                            \
	int name(int version, __VA_ARGS__)

BF_STATIC_ASSERT(sizeof(struct statfs) == sizeof(struct statfs64), "32-bit machines have two kinds of struct statfs");

int statfs64(const char *path, struct statfs64 *st)
{
	return statfs(path, (struct statfs *)(void *)st);
}

STAT_OF_OLD_BINARIES(__xstat, const char *path, struct stat *st)
{
	(void)version;
	return stat(path, st);
}

STAT_OF_OLD_BINARIES(__xstat64, const char *path, struct stat *st)
{
	(void)version;
	return stat(path, st);
}

STAT_OF_OLD_BINARIES(__fxstat, int fd, struct stat *st)
{
	(void)version;
	return fstat(fd, st);
}

STAT_OF_OLD_BINARIES(__fxstat64, int fd, struct stat *st)
{
	(void)version;
	return fstat(fd, st);
}

STAT_OF_OLD_BINARIES(__lxstat, const char *path, struct stat *st)
{
	(void)version;
	return lstat(path, st);
}

STAT_OF_OLD_BINARIES(__lxstat64, const char *path, struct stat *st)
{
	(void)version;
	return lstat(path, st);
}

STAT_OF_OLD_BINARIES(__fxstatat, int dir, const char *path, struct stat *st, int flags)
{
	(void)version;
	return fstatat(dir, path, st, flags);
}

STAT_OF_OLD_BINARIES(__fxstatat64, int dir, const char *path, struct stat *st, int flags)
{
	(void)version;
	return fstatat(dir, path, st, flags);
}

/* ---- reading ---- */

FILE *fopen(const char *path, const char *mode)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(fopen)(bf_exec_path(path, buf), mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	return fopen(path, mode);
}

DIR *opendir(const char *path)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(opendir)(bf_exec_path(path, buf));
}

int scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
	    int (*order)(const struct dirent **, const struct dirent **))
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(scandir)(bf_exec_path(path, buf), list, filter, order);
}

BF_STATIC_ASSERT(sizeof(struct dirent) == sizeof(struct dirent64), "32-bit machines have two kinds of struct dirent");

int scandir64(const char *path, struct dirent64 ***list, int (*filter)(const struct dirent64 *),
	      int (*order)(const struct dirent64 **, const struct dirent64 **))
{
	/* Function pointers of one shape: the two structs are one. */
	union {
		int (*of64)(const struct dirent64 *);
		int (*of)(const struct dirent *);
	} f = { .of64 = filter };
	union {
		int (*of64)(const struct dirent64 **, const struct dirent64 **);
		int (*of)(const struct dirent **, const struct dirent **);
	} o = { .of64 = order };

	return scandir(path, (struct dirent ***)(void *)list, f.of, o.of);
}

/* ---- links ---- */

ssize_t readlink(const char *path, char *to, size_t cap)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(readlink)(bf_exec_path(path, buf), to, cap);
}

ssize_t readlinkat(int dir, const char *path, char *to, size_t cap)
{
	char buf[PATH_MAX];

	return BF_CALL_REAL(readlinkat)(dir, bf_exec_path(path, buf), to, cap);
}

char *realpath(const char *path, char *to)
{
	char buf[PATH_MAX];
	const char *led = bf_exec_path(path, buf);
	char *found = BF_CALL_REAL(realpath)(led, to);

	if (found && led != path)
		take_back(found);
	return found;
}

char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

/* What headers turn calls into under _FORTIFY_SOURCE. */
ssize_t __readlink_chk(const char *path, char *to, size_t cap, size_t room);
ssize_t __readlink_chk(const char *path, char *to, size_t cap, size_t room)
{
	if (cap > room)
		abort();
	return readlink(path, to, cap);
}

ssize_t __readlinkat_chk(int dir, const char *path, char *to, size_t cap, size_t room);
ssize_t __readlinkat_chk(int dir, const char *path, char *to, size_t cap, size_t room)
{
	if (cap > room)
		abort();
	return readlinkat(dir, path, to, cap);
}

char *__realpath_chk(const char *path, char *to, size_t room);
char *__realpath_chk(const char *path, char *to, size_t room)
{
	if (to && room < PATH_MAX)
		abort();
	return realpath(path, to);
}
